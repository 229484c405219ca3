//! A choice among a few items with weights.

use crate::generate::random::Random;

/// Draws items by weight.
pub(crate) struct WeightedChoice<T> {
    /// Each item with the sum of its weight and of all weights before it.
    items: Vec<(u64, T)>,
    total: u64,
}

impl<T: Copy> WeightedChoice<T> {
    /// The caller guarantees that at least one weight is not 0.
    pub(crate) fn new(weights: impl Iterator<Item = (u64, T)>) -> WeightedChoice<T> {
        let mut total = 0;
        let add = |(weight, item)| {
            total += weight;
            (total, item)
        };
        let items: Vec<_> = weights.map(add).collect();
        assert!(total > 0, "all weights are 0");
        WeightedChoice { items, total }
    }

    /// Draws an item.
    #[inline]
    pub(crate) fn draw(&self, random: &mut Random) -> T {
        let items = self.items.as_slice();
        if let [(_, only)] = items {
            return *only;
        }
        let weight = random.below(self.total);
        let found = items.iter().find(|(up_to, _)| weight < *up_to);
        found.unwrap_or(&items[items.len() - 1]).1
    }
}
