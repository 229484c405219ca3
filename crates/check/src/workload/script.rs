//! Builds lists of host operations.

use crate::rng::Rng;
use crate::workload::host_operation::{Dimensions, Extent, HostOperation};

/// A list of host operations under construction.
#[derive(Debug)]
pub struct Script {
    pub dimensions: Dimensions,
    pub rng: Rng,
    operations: Vec<HostOperation>,
}

impl Script {
    pub fn new(dimensions: Dimensions, seed: u64) -> Script {
        Script { dimensions, rng: Rng::new(seed), operations: Vec::new() }
    }

    /// The finished list.
    pub fn into_operations(self) -> Vec<HostOperation> {
        self.operations
    }

    pub fn write(&mut self, first: u32, pages: u32) {
        self.operations.push(HostOperation::Write(self.whole(first, pages)));
    }

    /// Turns the last write into a forced one.
    pub fn force(&mut self) {
        if let Some(HostOperation::Write(extent)) = self.operations.last().copied() {
            self.operations.pop();
            self.operations.push(HostOperation::Force(extent));
        }
    }

    /// Writes a run whose first and last page are written in part.
    pub fn patch(&mut self, first: u32, pages: u32) {
        let extent = self.draw_part(first, pages);
        self.operations.push(HostOperation::Write(extent));
    }

    /// Reads a run whose first and last page are read in part.
    pub fn read_part(&mut self, first: u32, pages: u32) {
        let extent = self.draw_part(first, pages);
        self.operations.push(HostOperation::Read(extent));
    }

    /// Draws which sectors of the first and the last page of a run are covered.
    fn draw_part(&mut self, first: u32, pages: u32) -> Extent {
        let (full, sectors) = (self.dimensions.full(), self.dimensions.sectors_per_page);
        let cut = self.rng.below(sectors);
        let head = full & (full << cut);
        let tail = full >> self.rng.below(sectors);
        let pages = pages.min(self.dimensions.pages - first);
        match pages {
            1 if head & tail == 0 => Extent { first, pages, head, tail: head },
            1 => Extent { first, pages, head: head & tail, tail: head & tail },
            _ => Extent { first, pages, head, tail },
        }
    }

    pub fn trim(&mut self, first: u32, pages: u32) {
        let pages = pages.min(self.dimensions.pages - first);
        self.operations.push(HostOperation::Trim { first, pages });
    }

    pub fn read(&mut self, first: u32, pages: u32) {
        self.operations.push(HostOperation::Read(self.whole(first, pages)));
    }

    /// A run of whole pages that ends at the end of the device at the latest.
    fn whole(&self, first: u32, pages: u32) -> Extent {
        let pages = pages.min(self.dimensions.pages - first);
        Extent::whole(first, pages, self.dimensions.full())
    }

    pub fn flush(&mut self) {
        self.operations.push(HostOperation::Flush);
    }

    /// Flushes one time in five.
    pub fn flush_sometimes(&mut self) {
        if self.rng.one_in(5) {
            self.flush();
        }
    }

    /// Draws a first page and a length of at most `pages_max` pages.
    pub fn draw(&mut self, pages_max: u32) -> (u32, u32) {
        (self.rng.below(self.dimensions.pages), 1 + self.rng.below(pages_max))
    }

    pub fn write_anywhere(&mut self, pages_max: u32) {
        let (first, pages) = self.draw(pages_max);
        self.write(first, pages);
    }

    pub fn patch_anywhere(&mut self, pages_max: u32) {
        let (first, pages) = self.draw(pages_max);
        self.patch(first, pages);
    }

    pub fn read_part_anywhere(&mut self, pages_max: u32) {
        let (first, pages) = self.draw(pages_max);
        self.read_part(first, pages);
    }

    pub fn trim_anywhere(&mut self, pages_max: u32) {
        let (first, pages) = self.draw(pages_max);
        self.trim(first, pages);
    }

    /// Writes the whole device once, in runs of `pages`.
    pub fn fill(&mut self, pages: u32) {
        for first in (0..self.dimensions.pages).step_by(pages as usize) {
            self.write(first, pages);
        }
    }

    /// Number of single-page writes after a fill that make garbage collection run a few times.
    pub fn rounds(&self) -> u32 {
        self.dimensions.extra_pages + 2 * self.dimensions.pages_per_block
    }
}
