//! The falling curve that fits measured values best.
//!
//! ```text
//! measured   1.9   1.7   1.4   1.6   1.2
//! falling    1.9   1.7   1.5   1.5   1.2     a value that rises shares its mean with those before
//! ```
//! Write amplification cannot rise with the extra blocks, but what a short run measures can. The
//! least squares fit that never rises (isotonic regression) needs no assumption about the form of
//! the curve, so it also fits a step, such as where all hot pages suddenly fit.

/// The values of the falling curve that fits these best (least squares).
pub fn falling(values: &[f64]) -> Vec<f64> {
    // Runs of values that share their mean: the sum, and how many there are.
    let mut runs: Vec<(f64, usize)> = Vec::new();
    for &value in values {
        let (mut sum, mut count) = (value, 1);
        while let Some(&(other, others)) = runs.last()
            && sum / count as f64 > other / others as f64
        {
            runs.pop();
            (sum, count) = (sum + other, count + others);
        }
        runs.push((sum, count));
    }
    runs.into_iter().flat_map(|(sum, count)| vec![sum / count as f64; count]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_rise_share_their_mean() {
        assert_eq!(falling(&[1.9, 1.7, 1.4, 1.6, 1.2]), [1.9, 1.7, 1.5, 1.5, 1.2]);
        assert_eq!(falling(&[1.0, 2.0, 3.0, 6.0]), [3.0; 4]);
        assert_eq!(falling(&[4.0, 1.0, 3.0, 2.0]), [4.0, 2.0, 2.0, 2.0]);
        assert_eq!(falling(&[3.0, 2.0, 1.0]), [3.0, 2.0, 1.0], "a falling curve fits itself");
        assert!(falling(&[]).is_empty());
    }

    /// Of all falling curves with values on a grid, none is nearer.
    #[test]
    fn no_falling_curve_fits_better() {
        let distance = |fit: &[f64], values: &[f64]| -> f64 {
            fit.iter().zip(values).map(|(fit, value)| (fit - value).powi(2)).sum()
        };
        for drawn in 0..256_u32 {
            let values: Vec<f64> = (0..4).map(|at| f64::from(drawn >> (2 * at) & 3)).collect();
            let fit = falling(&values);
            assert!(fit.windows(2).all(|pair| pair[0] >= pair[1]), "{values:?}: {fit:?}");
            for other in 0..256_u32 {
                let other: Vec<f64> = (0..4).map(|at| f64::from(other >> (2 * at) & 3)).collect();
                if other.windows(2).all(|pair| pair[0] >= pair[1]) {
                    let nearer = distance(&other, &values) + 1e-9 < distance(&fit, &values);
                    assert!(!nearer, "{values:?}: {other:?} fits better than {fit:?}");
                }
            }
        }
    }
}
