//! The course of a life: moments at even distances, and those at which blocks were retired.
//!
//! ```text
//! pages written  0 ──── fill ──┬──┬──┬──┬── first block retired ──┬──┬──┬── last block, end
//! ```
//! A look behind each batch of requests costs two comparisons. When there are more than
//! `POINTS_MAX` moments, every second one is dropped, and the distance doubles.

use nand::{Media, Op};
use serde::Serialize;

use crate::result::media_part::MediaPart;
use crate::run::simulator::Simulator;

/// Moments at even distances, at most.
pub(super) const POINTS_MAX: usize = 400;

/// Distances between two moments in a drive write, at first.
const POINTS_PER_DRIVE_WRITE: u64 = 32;

/// A moment of a life.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LifePoint {
    /// Bytes that the host has written.
    pub host_bytes: u64,
    /// The same as a multiple of the capacity.
    pub drive_writes: f64,
    /// Blocks that the FTL uses.
    pub in_use: u64,
    /// Blocks left in reserve.
    pub in_reserve: u64,
    /// Blocks that have failed and were replaced: the sum of the next three.
    pub retired: u64,
    /// Blocks of them in which a program failed.
    pub program_failures: u64,
    /// Blocks of them in which an erase failed before they were worn out.
    pub erase_failures: u64,
    /// Blocks of them that were worn out.
    pub worn_out: u64,
    /// Pages programmed for a page of the host, since the last point.
    pub write_amplification: f64,
}

/// Sizes of a device that do not change during its life.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// Pages of the capacity.
    pub logical_pages: u32,
    /// Bytes of the capacity.
    pub capacity_bytes: u64,
    /// Blocks that the FTL uses.
    pub blocks: u32,
}

/// What has been counted up to a moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// Pages that the host wrote, partly or whole.
    written: u64,
    /// Bytes that the host wrote.
    pub host_bytes: u64,
    programs: u64,
    blocks: MediaPart,
}

impl Moment {
    fn of(simulator: &Simulator, host_bytes: u64) -> Moment {
        let nand = simulator.nand();
        let media = nand.media().expect("a life is on media that can fail");
        Moment {
            written: simulator.asked().written,
            host_bytes,
            programs: nand.tally().total(Op::Program),
            blocks: MediaPart::of(media, simulator.failed_requests()),
        }
    }

    /// The point, with the write amplification since `before`, or since the device was new.
    fn point_since(&self, before: Option<&Moment>, sizes: &Sizes) -> LifePoint {
        let host_pages = self.written - before.map_or(0, |before| before.written);
        let programs = self.programs - before.map_or(0, |before| before.programs);
        LifePoint {
            host_bytes: self.host_bytes,
            drive_writes: self.host_bytes as f64 / sizes.capacity_bytes as f64,
            in_use: sizes.blocks.into(),
            in_reserve: self.blocks.in_reserve,
            retired: self.blocks.retired,
            program_failures: self.blocks.program_failures,
            erase_failures: self.blocks.erase_failures,
            worn_out: self.blocks.worn_out,
            write_amplification: programs as f64 / host_pages as f64,
        }
    }
}

/// A course under way.
#[derive(Debug)]
pub(super) struct Course {
    sizes: Sizes,
    /// Moments at even distances. The first one is the beginning of the load.
    even: Vec<Moment>,
    /// Pages that the host writes between two of them.
    step: u64,
    /// Pages written at the next of them.
    next: u64,
    /// Blocks in reserve when somebody looked last.
    in_reserve: u64,
    /// When the first block was retired.
    pub first_retired: Option<Moment>,
    /// When the last block was retired.
    pub last_retired: Option<Moment>,
}

impl Course {
    /// A course that has not begun.
    pub fn new(sizes: Sizes) -> Course {
        Course {
            sizes,
            even: Vec::with_capacity(POINTS_MAX + 1),
            step: (u64::from(sizes.logical_pages) / POINTS_PER_DRIVE_WRITE).max(1),
            next: 0,
            in_reserve: 0,
            first_retired: None,
            last_retired: None,
        }
    }

    /// Takes a moment if one is due, or if a block was retired since the last look.
    #[inline]
    pub fn look(&mut self, simulator: &Simulator, host_bytes: u64) {
        // A block that is retired takes one from the reserve. To count reasons takes longer.
        let in_reserve = simulator.nand().media().map_or(0, Media::in_reserve);
        if simulator.asked().written >= self.next || in_reserve != self.in_reserve {
            self.take(Moment::of(simulator, host_bytes));
        }
    }

    #[inline(never)]
    fn take(&mut self, now: Moment) {
        self.in_reserve = now.blocks.in_reserve;
        self.note_retired(now);
        if now.written < self.next {
            return;
        }
        self.even.push(now);
        if self.even.len() > POINTS_MAX {
            let mut at = 0;
            self.even.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.step *= 2;
        }
        let since_first = now.written - self.even[0].written;
        self.next = now.written + self.step - since_first % self.step;
    }

    fn note_retired(&mut self, now: Moment) {
        let before = self.last_retired.map_or(0, |last| last.blocks.retired);
        if now.blocks.retired > before {
            self.first_retired.get_or_insert(now);
            self.last_retired = Some(now);
        }
    }

    /// The points of the whole life, in their order; the last one is its end. A moment at an even
    /// distance is left out if it is less than half a distance from one of the others.
    pub fn end(mut self, simulator: &Simulator, host_bytes: u64) -> Ended {
        let end = Moment::of(simulator, host_bytes);
        self.note_retired(end);
        let points = self.points(end);
        let [first_retired, last_retired] =
            [self.first_retired, self.last_retired].map(|it| it.map(|moment| moment.host_bytes));
        Ended { points, first_retired, last_retired }
    }

    fn points(&self, end: Moment) -> Vec<LifePoint> {
        let kept = [self.first_retired, self.last_retired, Some(end)];
        let is_apart = |moment: &&Moment| {
            let distances = kept.iter().flatten().map(|it| it.written.abs_diff(moment.written));
            distances.min().is_none_or(|least| 2 * least >= self.step)
        };
        let even = self.even.iter().filter(is_apart).copied();
        let mut moments: Vec<Moment> = even.chain(kept.into_iter().flatten()).collect();
        moments.sort_by_key(|moment| moment.written);
        // Of moments between which the host wrote nothing, the last one has counted most.
        moments.reverse();
        moments.dedup_by_key(|moment| moment.written);
        moments.reverse();
        moments.retain(|moment| moment.written > 0);
        let before = [None].into_iter().chain(moments.iter().map(Some));
        let pairs = before.zip(&moments);
        pairs.map(|(before, moment)| moment.point_since(before, &self.sizes)).collect()
    }
}

/// A course that has ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// The points in their order.
    pub points: Vec<LifePoint>,
    /// Bytes that the host had written when the first block was retired.
    pub first_retired: Option<u64>,
    /// The same for the last block.
    pub last_retired: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: Sizes = Sizes { logical_pages: 3200, capacity_bytes: 3200 * 2048, blocks: 60 };

    fn moment(written: u64, worn_out: u64) -> Moment {
        let blocks = MediaPart {
            factory_bad: 0,
            retired: worn_out,
            program_failures: 0,
            erase_failures: 0,
            worn_out,
            moved_pages: 0,
            unreadable_pages: 0,
            failed_requests: 0,
            in_reserve: 9 - worn_out,
            read_only: false,
        };
        Moment { written, host_bytes: 2048 * written, programs: 2 * written, blocks }
    }

    /// The points of a load of this many batches of 64 pages, in which blocks retire behind these
    /// batches.
    fn points(batches: u64, retiring: &[u64]) -> Vec<LifePoint> {
        let mut course = Course::new(SIZES);
        let retired = |batch: u64| retiring.iter().filter(|&&at| at <= batch).count() as u64;
        (50..batches).for_each(|batch| {
            let now = moment(64 * batch, retired(batch));
            if now.written >= course.next || now.blocks.in_reserve != course.in_reserve {
                course.take(now);
            }
        });
        let end = moment(64 * batches, retired(batches));
        course.note_retired(end);
        course.points(end)
    }

    #[test]
    fn points_are_even_and_there_are_some_hundreds_at_most() {
        for batches in [100, 700, 5000, 100_000] {
            let points = points(batches, &[]);
            let most = POINTS_MAX + 1;
            assert!(points.len() <= most && points.len() >= most.min(30), "{}", points.len());
            assert!(batches < 1000 || points.len() > POINTS_MAX / 2, "{}", points.len());
            let gaps = points.windows(2).map(|pair| pair[1].host_bytes - pair[0].host_bytes);
            let gaps: Vec<u64> = gaps.collect();
            let (least, most) = (gaps.iter().min().unwrap(), gaps.iter().max().unwrap());
            assert!(*most <= 3 * least + 64 * 2048, "{batches}: {least} to {most}");
            assert!(points.iter().all(|point| point.write_amplification == 2.0));
        }
    }

    #[test]
    fn the_first_and_the_last_block_that_are_retired_have_points() {
        for (first, last) in [(51, 52), (333, 4999), (1234, 5000), (5000, 5000)] {
            let points = points(5000, &[first, (first + last) / 2, last]);
            let at = |batch: u64| points.iter().find(|point| point.host_bytes == batch * 64 * 2048);
            let of_first = at(first).expect("the first block");
            assert_eq!(of_first.retired > 0, first > 0);
            assert_eq!(at(last).expect("the last block").retired, 3);
            let earlier = points.iter().filter(|point| point.host_bytes < of_first.host_bytes);
            assert!(earlier.into_iter().all(|point| point.retired == 0));
            assert_eq!(points.last().map(|end| end.host_bytes), Some(5000 * 64 * 2048));
        }
    }

    #[test]
    fn a_batch_longer_than_the_distance_is_a_point() {
        let mut course = Course::new(SIZES);
        (0..50).for_each(|batch| course.take(moment(1000 * batch, 0)));
        let points = course.points(moment(50_000, 0));
        assert_eq!(points.len(), 50, "one a batch; before the first one nothing was written");
        assert_eq!(points[0].drive_writes, 1000.0 / 3200.0);
    }
}
