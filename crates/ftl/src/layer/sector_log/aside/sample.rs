//! The share of the host's steps that a miniature sees.
//!
//! ```text
//! scale 4    LPN   0 1 2 3 │ 4 5 6 7 │ 8 9 …     one page of each group, chosen by a hash,
//!                      ↓       ↓         ↓       is page 0, 1, 2 … of the miniature
//!            a run of pages 1 to 5 is pages 0 and 1 there
//! ```
//! A sampled page keeps all its writes, so it is overwritten as often, and as long after its last
//! write in relation to the size of the device, as in the device itself. One page per group, and
//! not one group of many pages, because hot pages often lie side by side. A run remains a run.
//!
//! A flush programs the sectors that wait. In a miniature fewer sectors wait, so it sees one flush
//! of as many as its scale.

use core::ops::Range;

use nand::{Data, Lpn, SectorMask};

use super::scale::Scale;
use crate::contract::{Run, Step};
use crate::part::index::sample::mixed;

/// One page of each group.
#[derive(Clone, Debug)]
pub struct Sample {
    scale: Scale,
    /// Pages in the sample. A last group that is not whole has none.
    pages: u32,
    full: SectorMask,
    /// Flushes seen since the last one in the sample.
    flushes: u32,
}

impl Sample {
    /// One of `scale.pages` pages of a device with `logical_pages`; `full` is the mask of a whole
    /// page.
    pub fn new(scale: Scale, logical_pages: u32, full: SectorMask) -> Sample {
        Sample { scale, pages: logical_pages / scale.pages, full, flushes: 0 }
    }

    /// The scale.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// Number of pages in the sample.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// The part of a step that is in the sample.
    pub fn of<'a>(&mut self, step: &Step<'a>) -> Option<Step<'a>> {
        match step {
            Step::Read(run) => self.run(run).map(Step::Read),
            Step::Write(run) => self.run(run).map(Step::Write),
            Step::FlushRun(run) => self.run(run).map(Step::FlushRun),
            Step::Trim(first, pages) => {
                let span = self.span(*first, *pages);
                (!span.is_empty()).then(|| Step::Trim(Lpn(span.start), span.len() as u32))
            }
            Step::Flush => {
                self.flushes = (self.flushes + 1) % self.scale.pages;
                (self.flushes == 0).then_some(Step::Flush)
            }
        }
    }

    fn run<'a>(&self, run: &Run<'a>) -> Option<Run<'a>> {
        let span = self.span(run.first, run.pages);
        let last = span.clone().last()?;
        let mask = |page| run.mask(self.chosen(page) - run.first.0, self.full);
        let (first, pages) = (Lpn(span.start), span.len() as u32);
        let (head, tail) = (mask(span.start), mask(last));
        Some(Run { first, pages, head, tail, data: Data::None, ..*run })
    }

    /// The pages of the sample among consecutive pages of the device.
    fn span(&self, first: Lpn, pages: u32) -> Range<u32> {
        let end = first.0 + pages;
        let group_of_last = (end - 1) / self.scale.pages;
        let start = first.0 / self.scale.pages;
        let start = start + u32::from(self.chosen(start) < first.0);
        let end = group_of_last + u32::from(self.chosen(group_of_last) < end);
        start.min(self.pages)..end.min(self.pages)
    }

    /// The page of the device that is chosen in a group.
    fn chosen(&self, group: u32) -> u32 {
        group * self.scale.pages + mixed(group) % self.scale.pages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: SectorMask = 0b1111;

    fn run(first: u32, pages: u32, head: SectorMask, tail: SectorMask) -> Run<'static> {
        Run { head, tail, ..Run::whole(Lpn(first), pages, 2048, Data::None) }
    }

    #[test]
    fn a_run_is_sampled_page_by_page() {
        for scale in [1, 2, 3, 7] {
            let mut sample = Sample::new(Scale::new(scale, 4), 40, FULL);
            let place = |lpn: u32| (0..40 / scale).find(|&page| sample.chosen(page) == lpn);
            let places: Vec<Option<u32>> = (0..40).map(place).collect();
            assert_eq!(places.iter().flatten().count() as u32, 40 / scale);
            for (first, pages) in
                (0..39).flat_map(|first| (1..41 - first).map(move |it| (first, it)))
            {
                let tail = if pages == 1 { 0b0011 } else { 0b1000 };
                let run = run(first, pages, 0b0011, tail);
                let of_run = (0..pages).filter_map(|page| {
                    Some((places[(first + page) as usize]?, run.mask(page, FULL)))
                });
                let expected: Vec<(u32, SectorMask)> = of_run.collect();
                let sampled = match sample.of(&Step::Write(run)) {
                    Some(Step::Write(it)) => {
                        (0..it.pages).map(|page| (it.first.0 + page, it.mask(page, FULL))).collect()
                    }
                    _ => Vec::new(),
                };
                assert_eq!(sampled, expected, "scale {scale}, {pages} pages from {first} on");
            }
        }
    }

    #[test]
    fn the_chosen_page_is_any_of_its_group() {
        let sample = Sample::new(Scale::new(4, 4), 4000, FULL);
        let mut groups = [0; 4];
        (0..1000).for_each(|group| groups[(sample.chosen(group) - 4 * group) as usize] += 1);
        assert!(groups.iter().all(|groups| (200..300).contains(groups)), "{groups:?}");
    }

    #[test]
    fn as_many_sectors_wait_for_a_flush() {
        let mut sample = Sample::new(Scale::new(3, 4), 40, FULL);
        let sampled: Vec<bool> = (0..7).map(|_| sample.of(&Step::Flush).is_some()).collect();
        assert_eq!(sampled, [false, false, true, false, false, true, false]);
    }
}
