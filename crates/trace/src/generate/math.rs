//! Logarithm and exponential, computed by additions, multiplications and divisions only.
//!
//! IEEE 754 defines the results of these operations to the last bit, unlike those of mathematical
//! libraries. So a Zipf workload is the same on every machine. The results are accurate to about
//! 1e-15.

use std::f64::consts::{LN_2, SQRT_2};

/// The natural logarithm of a positive number; minus infinity at 0.
pub(crate) fn ln(x: f64) -> f64 {
    if x <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if x < f64::MIN_POSITIVE || x == f64::INFINITY {
        return if x > 1.0 { x } else { ln(x * TWO_TO_64) - 64.0 * LN_2 };
    }
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i64 - 1023;
    let mut mantissa = f64::from_bits(bits & !(0x7ff << 52) | 1023 << 52);
    if mantissa > SQRT_2 {
        mantissa /= 2.0;
        exponent += 1;
    }
    twice_artanh((mantissa - 1.0) / (mantissa + 1.0)) + exponent as f64 * LN_2
}

const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;

/// `2 artanh(s)` for |s| up to 0.18, by its series: `2 (s + s³/3 + s⁵/5 …)`.
fn twice_artanh(s: f64) -> f64 {
    let square = s * s;
    let series = (0..=12).rev().fold(0.0, |sum, k| sum * square + 1.0 / f64::from(2 * k + 1));
    2.0 * s * series
}

/// `e^x`; infinity or 0 outside the range of `f64`.
pub(crate) fn exp(x: f64) -> f64 {
    if x > 700.0 {
        return f64::INFINITY;
    }
    if x < -700.0 {
        return 0.0;
    }
    let halvings = (x / LN_2).round();
    // ln 2 is split in two parts so that the product with the first is exact.
    let rest = x - halvings * 0.693_147_180_369_123_8 - halvings * 1.908_214_929_270_587_7e-10;
    let power = f64::from_bits(((halvings as i64 + 1023) as u64) << 52);
    (1.0 + rest * exp_m1_over(rest)) * power
}

/// `(e^x - 1) / x`, accurate also near 0; 1 at 0.
pub(crate) fn exp_m1_over(x: f64) -> f64 {
    if x.abs() > 0.4 {
        return (exp(x) - 1.0) / x;
    }
    (2..=16).rev().fold(1.0, |sum, k| 1.0 + sum * x / f64::from(k))
}

/// `ln(1 + x) / x`, accurate also near 0; 1 at 0, infinity at -1.
pub(crate) fn ln_1p_over(x: f64) -> f64 {
    if x.abs() > 0.3 {
        return ln(1.0 + x) / x;
    }
    if x == 0.0 {
        return 1.0;
    }
    twice_artanh(x / (2.0 + x)) / x
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(ours: f64, library: f64, what: &str) {
        let error = (ours - library).abs() / library.abs().max(1e-300);
        assert!(error < 4e-15 || (ours - library).abs() < 4e-15, "{what}: {ours} for {library}");
    }

    #[test]
    fn results_agree_with_the_library() {
        for step in -3000..3000 {
            let x = f64::from(step) * 0.21 + 0.005;
            assert_close(exp(x), x.exp(), &format!("exp {x}"));
            assert_close(ln(x.abs()), x.abs().ln(), &format!("ln {x}"));
            let small = f64::from(step) * 0.0003;
            assert_close(exp_m1_over(small) * small, small.exp_m1(), &format!("expm1 {small}"));
            assert_close(ln_1p_over(small) * small, small.ln_1p(), &format!("ln1p {small}"));
        }
        for x in [1e-300, 1e-9, 0.5, 1.0, 2.0, 1e18, 1e300, f64::MIN_POSITIVE / 8.0] {
            assert_close(ln(x), x.ln(), &format!("ln {x}"));
        }
    }

    #[test]
    fn limits_are_defined() {
        assert_eq!(exp_m1_over(0.0), 1.0);
        assert_eq!(ln_1p_over(0.0), 1.0);
        assert_eq!(ln_1p_over(-1.0), f64::INFINITY);
        assert_eq!(exp(f64::INFINITY), f64::INFINITY);
        assert_eq!(exp(f64::NEG_INFINITY), 0.0);
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(ln(1.0), 0.0);
        assert_eq!(ln(f64::INFINITY), f64::INFINITY);
    }
}
