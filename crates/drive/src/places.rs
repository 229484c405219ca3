//! Where the pages of an FTL's blocks lie in the drive.
//!
//! ```text
//! PPN ─┬─ block ──▶ the dies of its stripe
//!      └─ page  ──▶ die and plane within the stripe, page type
//! ```
//! A block of the FTL is a stripe over some dies: one physical block in each of their planes.
//! Consecutive pages go to the places of the stripe in turn; the letters of `order` say which part
//! of a place changes first, as in MQSim. Pages that one program command writes in a plane stay
//! together. Schemes know nothing of this.

use core::ops::Range;

use nand::{BlockId, Geometry, Ppn};

use crate::profile::{Axis, Profile};

/// The place of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The die, numbered over the whole drive, channel by channel.
    pub die: u16,
    /// The plane within the die.
    pub plane: u16,
    /// Which of the dies of its block's stripe it is.
    pub nth: u16,
    /// The row: pages of the same block, die and row can be programmed by one command.
    pub row: u32,
    /// The number of the page in its physical block.
    pub index: u32,
    /// Whether the page is the last of its row in this die.
    pub ends_row: bool,
}

impl Place {
    /// The first place of a drive whose dies program single pages.
    pub(crate) const FIRST: Place =
        Place { die: 0, plane: 0, nth: 0, row: 0, index: 0, ends_row: true };
}

/// The places of all pages of a drive.
#[derive(Clone, Debug)]
pub struct Places {
    pages_per_block: u32,
    dies_per_channel: u32,
    dies_per_stripe: u32,
    /// All dies in the order of the profile's letters, twice, so that every stripe is a slice.
    dies: Vec<u16>,
    /// The places of the pages of the first blocks; those of later blocks repeat them.
    places: Vec<Place>,
}

impl Places {
    /// The places of a drive whose FTL uses blocks of this geometry.
    pub fn new(profile: &Profile, geometry: &Geometry) -> Places {
        let in_order = in_order(profile);
        let dies: Vec<u16> =
            in_order.iter().filter(|(_, plane)| *plane == 0).map(|&(die, _)| die).collect();
        let count = dies.len();
        let dies_per_stripe = profile.stripe.map_or(count, |stripe| (stripe as usize).min(count));
        let dies_per_channel = profile.ways * profile.dies_per_way;
        let places = (0..stripes(dies_per_stripe, count)).flat_map(|block| {
            let first = block * dies_per_stripe;
            let members: Vec<u16> =
                (first..first + dies_per_stripe).map(|at| dies[at % count]).collect();
            let place = |&(die, plane): &(u16, u16)| {
                let nth = members.iter().position(|&member| member == die)? as u16;
                Some(Place { die, plane, nth, row: 0, index: 0, ends_row: false })
            };
            let places: Vec<Place> = in_order.iter().filter_map(place).collect();
            pages_of_stripe(&places, profile.pages_at_once, geometry.pages_per_block())
        });
        Places {
            pages_per_block: geometry.pages_per_block(),
            dies_per_channel,
            dies_per_stripe: dies_per_stripe as u32,
            places: places.collect(),
            dies: dies.repeat(2),
        }
    }

    /// The memory that the places of a drive take, in bytes.
    pub fn memory_bytes(profile: &Profile, geometry: &Geometry) -> u64 {
        let dies = profile.dies() as usize;
        let dies_per_stripe = profile.stripe.map_or(dies, |stripe| (stripe as usize).min(dies));
        let pages = stripes(dies_per_stripe, dies) as u64 * u64::from(geometry.pages_per_block());
        pages * size_of::<Place>() as u64
    }

    /// The channel of each die.
    pub fn channels(&self) -> impl Iterator<Item = u16> {
        (0..self.dies.len() as u32 / 2).map(|die| (die / self.dies_per_channel) as u16)
    }

    /// The block of a page.
    #[inline]
    pub fn block(&self, ppn: Ppn) -> u32 {
        ppn.0 / self.pages_per_block
    }

    /// The place of a page.
    #[inline]
    pub fn place(&self, ppn: Ppn) -> Place {
        self.places[ppn.0 as usize % self.places.len()]
    }

    /// The number of dies over which a block is striped.
    pub fn dies_per_stripe(&self) -> u32 {
        self.dies_per_stripe
    }

    /// The dies of a block's stripe, as numbers for [`Places::die`].
    #[inline]
    pub fn stripe(&self, block: BlockId) -> Range<u32> {
        let (count, length) = (self.dies.len() as u64 / 2, self.dies_per_stripe);
        let first = (u64::from(block.0) * u64::from(length) % count) as u32;
        first..first + length
    }

    /// A die of a stripe.
    #[inline]
    pub fn die(&self, number: u32) -> u16 {
        self.dies[number as usize]
    }

    /// The whole part of a block that lies in the first die of its stripe.
    #[inline]
    pub fn first_part(&self, block: BlockId) -> Place {
        let die = self.die(self.stripe(block).start);
        Place { die, plane: 0, nth: 0, row: u32::MAX, index: 0, ends_row: false }
    }
}

/// Number of blocks after which stripes of `dies_per_stripe` dies start at die 0 again.
fn stripes(dies_per_stripe: usize, dies: usize) -> usize {
    dies / greatest_common_divisor(dies_per_stripe, dies)
}

fn greatest_common_divisor(mut a: usize, mut b: usize) -> usize {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The places of the pages of a block whose stripe has these planes.
fn pages_of_stripe(places: &[Place], pages_at_once: u32, pages: u32) -> Vec<Place> {
    let per_row = pages_at_once * places.len() as u32;
    let place = |page: u32| {
        let (row, in_row) = (page / per_row, page % per_row);
        let index = row * pages_at_once + page % pages_at_once;
        Place { row, index, ..places[(in_row / pages_at_once) as usize] }
    };
    let mut all: Vec<Place> = (0..pages).map(place).collect();
    for at in 0..all.len() {
        let Place { die, row, .. } = all[at];
        let later = all[at + 1..].iter().take_while(|later| later.row == row);
        all[at].ends_row = !later.into_iter().any(|later| later.die == die);
    }
    all
}

/// All places of the drive as (die, plane), in the order of the profile's letters.
fn in_order(profile: &Profile) -> Vec<(u16, u16)> {
    let Profile { channels, ways, dies_per_way, planes, .. } = *profile;
    let sizes = [channels, ways, dies_per_way, planes];
    let place = |number: u32| {
        let (mut at, mut rest) = ([0; 4], number);
        for axis in profile.order {
            at[axis as usize] = rest % sizes[axis as usize];
            rest /= sizes[axis as usize];
        }
        let die = |[channel, way, die, _]: [u32; 4]| (channel * ways + way) * dies_per_way + die;
        (die(at) as u16, at[Axis::Plane as usize] as u16)
    };
    (0..sizes.iter().product()).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nand::ProgramOrder;

    fn places(drive: &str) -> Places {
        let profile: Profile = drive.parse().unwrap();
        let geometry = Geometry::new(2048, 64, 16, 64, ProgramOrder::Ascending).unwrap();
        Places::new(&profile, &geometry)
    }

    fn dies(places: &Places, pages: core::ops::Range<u32>) -> Vec<u16> {
        pages.map(|ppn| places.place(Ppn(ppn)).die).collect()
    }

    #[test]
    fn the_first_letter_changes_first() {
        let channels_first = places("ideal:channels=2,ways=2,order=CWDP");
        assert_eq!(dies(&channels_first, 0..5), [0, 2, 1, 3, 0]);
        let ways_first = places("ideal:channels=2,ways=2,order=WCDP");
        assert_eq!(dies(&ways_first, 0..5), [0, 1, 2, 3, 0]);
        let planes = places("ideal:channels=2,planes=2,order=PCWD");
        let pairs: Vec<_> = (0..4).map(|ppn| planes.place(Ppn(ppn))).collect();
        let pairs: Vec<_> = pairs.iter().map(|place| (place.die, place.plane)).collect();
        assert_eq!(pairs, [(0, 0), (0, 1), (1, 0), (1, 1)]);
    }

    #[test]
    fn a_stripe_of_one_die_keeps_a_block_together() {
        let places = places("ideal:channels=2,ways=2,stripe=1");
        for block in 0..8 {
            let expected = [0, 2, 1, 3][block as usize % 4];
            assert_eq!(dies(&places, block * 16..block * 16 + 16), [expected; 16]);
            assert_eq!(
                (places.dies_per_stripe(), places.first_part(BlockId(block)).die),
                (1, expected)
            );
        }
    }

    #[test]
    fn pages_of_one_command_share_a_die_and_a_row() {
        let places = places("ideal:channels=2,planes=2,order=PCWD,pages_at_once=3");
        let first_row = (0..12).map(|ppn| places.place(Ppn(ppn)));
        let rows: Vec<_> = first_row.map(|place| (place.die, place.plane, place.index)).collect();
        let expected = [
            (0, 0, 0),
            (0, 0, 1),
            (0, 0, 2),
            (0, 1, 0),
            (0, 1, 1),
            (0, 1, 2),
            (1, 0, 0),
            (1, 0, 1),
            (1, 0, 2),
            (1, 1, 0),
            (1, 1, 1),
            (1, 1, 2),
        ];
        assert_eq!(rows, expected);
        let ends: Vec<u32> = (0..16).filter(|&ppn| places.place(Ppn(ppn)).ends_row).collect();
        assert_eq!(ends, [5, 11, 15], "the last row is not full");
        let stripe: Vec<u16> = places.stripe(BlockId(3)).map(|number| places.die(number)).collect();
        assert_eq!(stripe, [0, 1]);
    }
}
