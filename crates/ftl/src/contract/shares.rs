//! Costs at each of the shares by which a budget may be divided.

use core::ops::Range;

/// Shares are compared in steps of 1 / `SHARE_STEPS`.
pub const SHARE_STEPS: usize = 32;
/// Number of shares that are compared, from none to the whole.
pub const SHARES: usize = SHARE_STEPS + 1;

/// A value for each share, ascending.
pub type Shares<T> = [T; SHARES];

/// The cost of some requests at each share, in nanoseconds. Only differences between neighbours are
/// kept, so adding to a range of shares takes constant time.
#[derive(Clone, Debug)]
pub struct ShareCosts([f64; SHARES + 1]);

impl ShareCosts {
    /// No costs.
    pub const ZERO: ShareCosts = ShareCosts([0.0; SHARES + 1]);

    /// Adds a cost at a range of shares. A cost at all shares is left out: it is no reason to
    /// prefer one of them.
    #[inline]
    pub fn add(&mut self, shares: Range<usize>, ns: f64) {
        if shares.start < shares.end && shares != (0..SHARES) {
            self.0[shares.start] += ns;
            self.0[shares.end] -= ns;
        }
    }

    /// Multiplies all costs by a factor.
    pub fn fade(&mut self, factor: f64) {
        self.0.iter_mut().for_each(|difference| *difference *= factor);
    }

    /// The cost at each share.
    pub fn by_share(&self) -> Shares<f64> {
        let mut sum = 0.0;
        core::array::from_fn(|share| {
            sum += self.0[share];
            sum
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_add_up_at_each_share_and_fade() {
        let mut costs = ShareCosts::ZERO;
        costs.add(3..10, 4.0);
        costs.add(9..SHARES, 2.0);
        costs.add(7..7, 100.0);
        costs.add(0..SHARES, 100.0);
        costs.fade(0.5);
        let found = costs.by_share();
        assert_eq!((found[2], found[3], found[9], found[10], found[32]), (0.0, 2.0, 3.0, 1.0, 1.0));
    }
}
