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

    /// Adds a cost at a set of shares. A cost at all shares is left out.
    pub fn add_at(&mut self, shares: ShareSet, ns: f64) {
        if shares != ALL_SHARES {
            members(shares).for_each(|share| self.add(share..share + 1, ns));
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

// ---- Sets of shares ---------------------------------------------------------------------------

/// A set of shares, one bit each.
pub type ShareSet = u64;

/// All shares.
pub const ALL_SHARES: ShareSet = (1 << SHARES) - 1;

/// The shares from one on.
pub fn shares_from(first: usize) -> ShareSet {
    ALL_SHARES << first & ALL_SHARES
}

/// The shares of which something is true.
pub fn shares_where(is: impl Fn(usize) -> bool) -> ShareSet {
    (0..SHARES).fold(0, |set, share| set | u64::from(is(share)) << share)
}

/// The shares of a set, ascending.
pub fn members(set: ShareSet) -> impl Iterator<Item = usize> {
    (0..SHARES).filter(move |share| set >> share & 1 == 1)
}

/// The shares at which something still has members in a cache or log, such as dirty entries or
/// valid pages.
#[derive(Clone, Copy, Debug)]
pub struct Presence {
    /// None of them has left.
    pub stays: ShareSet,
    /// One of them has left.
    pub left: ShareSet,
}

impl Presence {
    /// The presence if members have left together at these times, by share. `oldest` is when the
    /// oldest member since then was used; `has_left` tells at which shares it has left.
    pub fn new(
        times: &Shares<u32>,
        oldest: impl Fn(u32) -> Option<u32>,
        has_left: impl Fn(u32, usize) -> bool,
    ) -> Presence {
        let mut presence = Presence { stays: 0, left: 0 };
        let (mut known, mut used) = (times[0], oldest(times[0]));
        for (share, &since) in times.iter().enumerate() {
            // Neighbouring shares mostly have the same time.
            if known != since {
                (known, used) = (since, oldest(since));
            }
            match used {
                Some(used) if has_left(used, share) => presence.left |= 1 << share,
                Some(_) => presence.stays |= 1 << share,
                None => {}
            }
        }
        presence
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

    #[test]
    fn a_cost_is_added_at_each_share_of_a_set() {
        let mut costs = ShareCosts::ZERO;
        costs.add_at(shares_from(30) | 1 << 4, 3.0);
        costs.add_at(ALL_SHARES, 100.0);
        costs.add_at(shares_where(|share| share == 31), 1.0);
        let found = costs.by_share();
        assert_eq!((found[3], found[4], found[5], found[29]), (0.0, 3.0, 0.0, 0.0));
        assert_eq!((found[30], found[31], found[32]), (3.0, 4.0, 3.0));
        assert_eq!(members(shares_from(31)).collect::<Vec<_>>(), [31, 32]);
    }
}
