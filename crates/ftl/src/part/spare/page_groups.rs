//! Groups of the pages of logical blocks.
//!
//! ```text
//! logical block   0                1                4 groups of 2 pages; in blocks of other sizes
//! group           0  1  2  3       4  5  6  7       the last groups have fewer pages, or none
//! pages           01 23 45 67      89 ab cd ef
//! ```

use core::ops::Range;

use nand::{Lpn, Ppn};

use crate::part::map::flat_map::FlatMap;
use crate::part::spare::spare_map::Lbn;

/// How logical blocks are divided into groups. Groups are counted over the device.
#[derive(Clone, Copy, Debug)]
pub struct PageGroups {
    /// Pages per logical block.
    pub pages_per_block: u32,
    /// Groups per logical block.
    per_block: u32,
    /// Pages per group.
    pages: u32,
    /// log2 of the pages per block and per group, if both are integers. They save every write some
    /// divisions.
    shifts: Option<[u32; 2]>,
}

impl PageGroups {
    /// Logical blocks of `pages_per_block` pages, each in `per_block` groups of `pages` pages.
    pub fn new(pages_per_block: u32, per_block: u32, pages: u32) -> PageGroups {
        let sizes = [pages_per_block, pages];
        let whole = pages_per_block == per_block * pages && pages_per_block.is_power_of_two();
        let shifts = whole.then(|| sizes.map(u32::trailing_zeros));
        PageGroups { pages_per_block, per_block, pages, shifts }
    }

    /// The group of a page.
    #[inline]
    pub fn of(&self, lpn: Lpn) -> u32 {
        if let Some([_, pages]) = self.shifts {
            return lpn.0 >> pages;
        }
        let (lbn, offset) = (lpn.0 / self.pages_per_block, lpn.0 % self.pages_per_block);
        lbn * self.per_block + offset / self.pages
    }

    /// The first page of a group.
    #[inline]
    pub fn first(&self, group: u32) -> Lpn {
        if let Some([_, pages]) = self.shifts {
            return Lpn(group << pages);
        }
        let (lbn, number) = (group / self.per_block, group % self.per_block);
        Lpn(lbn * self.pages_per_block + (number * self.pages).min(self.pages_per_block))
    }

    /// Number of pages of a group.
    #[inline]
    pub fn pages_in(&self, group: u32) -> u32 {
        if self.shifts.is_some() {
            return self.pages;
        }
        let before = group % self.per_block * self.pages;
        self.pages.min(self.pages_per_block.saturating_sub(before))
    }

    /// The logical block of a page.
    #[inline]
    pub fn lbn_of(&self, lpn: Lpn) -> Lbn {
        match self.shifts {
            Some([block, _]) => lpn.0 >> block,
            None => lpn.0 / self.pages_per_block,
        }
    }

    /// The logical block of a page, and its offset there.
    #[inline]
    pub fn place_of(&self, lpn: Lpn) -> (Lbn, u16) {
        let lbn = self.lbn_of(lpn);
        (lbn, (lpn.0 - lbn * self.pages_per_block) as u16)
    }

    /// The groups of a logical block.
    pub fn of_block(&self, lbn: Lbn) -> Range<u32> {
        lbn * self.per_block..(lbn + 1) * self.per_block
    }

    /// The groups to which these pages belong.
    pub fn between(&self, pages: &Range<u32>) -> Range<u32> {
        self.of(Lpn(pages.start))..self.of(Lpn(pages.end - 1)) + 1
    }

    /// The entries of a group, mapped or not.
    pub fn entries<'a>(&self, flat: &'a FlatMap, group: u32) -> &'a [Ppn] {
        let first = self.first(group).0;
        flat.entries(first..first + self.pages_in(group))
    }

    /// Whether no page of a group is mapped.
    pub fn is_empty(&self, flat: &FlatMap, group: u32) -> bool {
        self.entries(flat, group).iter().all(|&ppn| ppn == Ppn::NONE)
    }
}
