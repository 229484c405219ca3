//! The states of numbered things, such as data blocks, of which a sample is observed.
//!
//! There is room for the states of a fixed number of them. When it is used up, those that matter no
//! more are forgotten. If too few of them do, the sample is halved; if few states are left, it is
//! doubled.

use nand::Lpn;

use crate::contract::{Violation, ensure};
use crate::part::index::sample::Sample;
use crate::part::index::slot_table::SlotTable;

/// The observed members of a sample, and the state of each.
#[derive(Clone, Debug)]
pub struct Observed<T> {
    sample: Sample,
    most: usize,
    slot_of: SlotTable,
    members: Vec<(u32, T)>,
}

impl<T> Observed<T> {
    /// Nothing was observed yet. There is room for the states of `most` members.
    pub fn new(most: usize) -> Observed<T> {
        let members = Vec::with_capacity(most);
        Observed { sample: Sample::ALL, most, slot_of: SlotTable::new(), members }
    }

    /// How many things a member stands for.
    pub fn weight(&self) -> f64 {
        self.sample.weight() as f64
    }

    /// The state of a member that is observed.
    pub fn get_mut(&mut self, n: u32) -> Option<&mut T> {
        let slot = self.slot_of.get(Lpn(n))?;
        Some(&mut self.members[slot as usize].1)
    }

    /// The state of something, a new one if it is not observed yet; none if it does not belong to
    /// the sample. To make room, states of which `stays` is false are forgotten.
    pub fn observe(
        &mut self,
        n: u32,
        new: impl FnOnce() -> T,
        mut stays: impl FnMut(&T) -> bool,
    ) -> Option<&mut T> {
        if !self.sample.contains(n) {
            return None;
        }
        if self.slot_of.get(Lpn(n)).is_none() {
            self.make_room(&mut stays);
            if !self.sample.contains(n) {
                return None;
            }
            self.slot_of.insert(Lpn(n), self.members.len() as u32);
            self.members.push((n, new()));
        }
        self.get_mut(n)
    }

    fn make_room(&mut self, stays: &mut impl FnMut(&T) -> bool) {
        if self.members.len() < self.most {
            return;
        }
        self.retain(|_, state| stays(state));
        if self.members.len() < self.most / 4 {
            self.sample = self.sample.double();
        }
        while self.members.len() == self.most {
            self.sample = self.sample.half();
            let sample = self.sample;
            self.retain(|n, _| sample.contains(n));
        }
    }

    fn retain(&mut self, mut stays: impl FnMut(u32, &T) -> bool) {
        self.members.retain(|(n, state)| stays(*n, state));
        self.slot_of = SlotTable::new();
        for (slot, (n, _)) in (0..).zip(&self.members) {
            self.slot_of.insert(Lpn(*n), slot);
        }
    }

    /// Bytes of RAM if a state has `outside` bytes outside of its own fields.
    pub fn bytes(&self, outside: usize) -> u64 {
        (self.most * (size_of::<(u32, T)>() + outside)) as u64 + self.slot_of.bytes()
    }

    /// Checks that the table finds each member.
    ///
    /// # Errors
    /// The contradiction.
    pub fn audit(&self) -> Result<(), Violation> {
        for (slot, (n, _)) in (0..).zip(&self.members) {
            let known = self.slot_of.get(Lpn(*n));
            ensure!(known == Some(slot), "member {n} has slot {slot}, not {known:?}");
        }
        let (found, known) = (self.members.len() as u32, self.slot_of.len());
        ensure!(found == known, "{found} members are observed, but {known} are in the table");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observe(observed: &mut Observed<u32>, n: u32, forgets: bool) -> bool {
        let found = observed.observe(n, || n, |_| !forgets);
        found.is_some_and(|state| *state == n)
    }

    #[test]
    fn all_are_observed_while_there_is_room() {
        let mut observed = Observed::new(8);
        assert!((0..8).all(|n| observe(&mut observed, 7 * n, false)));
        *observed.get_mut(14).unwrap() = 99;
        assert_eq!(observed.observe(14, || 0, |_| false), Some(&mut 99));
        assert_eq!(observed.get_mut(15), None);
        assert_eq!(observed.weight(), 1.0);
        observed.audit().unwrap();
    }

    #[test]
    fn the_sample_is_halved_until_all_its_members_have_room() {
        let mut observed = Observed::new(64);
        let taken = (0..10_000).filter(|&n| observe(&mut observed, n, false)).count();
        observed.audit().unwrap();
        assert!(taken > 64 && observed.members.len() <= 64, "{taken} were taken at first");
        let weight = observed.weight();
        let estimate = weight * observed.members.len() as f64;
        assert!((7_000.0..13_000.0).contains(&estimate), "{estimate} with a weight of {weight}");
        assert!(observed.members.iter().all(|(n, state)| n == state));
    }

    #[test]
    fn the_sample_is_doubled_when_nearly_all_may_be_forgotten() {
        let mut observed = Observed::new(64);
        (0..10_000).for_each(|n| _ = observe(&mut observed, n, false));
        let before = observed.weight();
        (10_000..100_000).for_each(|n| _ = observe(&mut observed, n, true));
        assert_eq!((observed.weight(), before > 64.0), (1.0, true));
        observed.audit().unwrap();
    }
}
