//! Programs of host operations: by name and seed, or written out step by step.
//!
//! ```text
//! hot              the workload `hot`, drawn from the seed
//! ace-w0.f.t0.g    write page 0 · flush · trim page 0 · make garbage collection run
//! ```
//! A program is a value: the same name, device and seed give the same steps for ever.

use crate::ace;
use crate::dice::Dice;
use crate::step::{Extent, Space, Step};

/// The steps of the program `name`.
///
/// # Errors
/// No such workload, or steps that do not read as such.
pub fn program(name: &str, space: Space, seed: u64) -> spec::Result<Vec<Step>> {
    if let Some(word) = name.strip_prefix(ace::PREFIX) {
        return ace::steps(word, space);
    }
    let known: Vec<&str> = WORKLOADS.iter().map(|workload| workload.name).collect();
    let workload = WORKLOADS.iter().find(|workload| workload.name == name);
    let workload = workload.ok_or_else(|| spec::unknown("workload", name, &known))?;
    let mut script = Script::new(space, seed);
    (workload.write)(&mut script);
    Ok(script.steps)
}

/// What the host goes on to do with a device that came back: a few steps of every sort.
pub fn aftermath(space: Space, seed: u64) -> Vec<Step> {
    let mut script = Script::new(space, seed);
    for _ in 0..6 {
        match script.dice.below(8) {
            0 => script.trim_anywhere(2),
            1 => script.flush(),
            2 => script.patch_anywhere(3),
            _ => script.write_anywhere(space.pages_per_block),
        }
    }
    script.steps
}

/// A program under construction.
#[derive(Debug)]
pub struct Script {
    space: Space,
    dice: Dice,
    steps: Vec<Step>,
}

impl Script {
    fn new(space: Space, seed: u64) -> Script {
        Script { space, dice: Dice::new(seed), steps: Vec::new() }
    }

    fn write(&mut self, first: u32, pages: u32) {
        let pages = pages.min(self.space.pages - first);
        self.steps.push(Step::Write(Extent::whole(first, pages, self.space.full())));
    }

    /// Makes the last write a forced one.
    fn force(&mut self) {
        if let Some(Step::Write(extent)) = self.steps.last().copied() {
            self.steps.pop();
            self.steps.push(Step::Force(extent));
        }
    }

    /// Writes part of the first and of the last page.
    fn patch(&mut self, first: u32, pages: u32) {
        let (full, sectors) = (self.space.full(), self.space.sectors_per_page);
        let cut = self.dice.below(sectors);
        let head = full & (full << cut);
        let tail = full >> self.dice.below(sectors);
        let pages = pages.min(self.space.pages - first);
        let extent = match pages {
            1 if head & tail == 0 => Extent { first, pages, head, tail: head },
            1 => Extent { first, pages, head: head & tail, tail: head & tail },
            _ => Extent { first, pages, head, tail },
        };
        self.steps.push(Step::Write(extent));
    }

    fn trim(&mut self, first: u32, pages: u32) {
        let pages = pages.min(self.space.pages - first);
        self.steps.push(Step::Trim { first, pages });
    }

    fn read(&mut self, first: u32, pages: u32) {
        let pages = pages.min(self.space.pages - first);
        self.steps.push(Step::Read(Extent::whole(first, pages, self.space.full())));
    }

    fn flush(&mut self) {
        self.steps.push(Step::Flush);
    }

    /// A place and a length of at most `most` pages.
    fn draw(&mut self, most: u32) -> (u32, u32) {
        (self.dice.below(self.space.pages), 1 + self.dice.below(most))
    }

    fn write_anywhere(&mut self, most: u32) {
        let (first, pages) = self.draw(most);
        self.write(first, pages);
    }

    fn patch_anywhere(&mut self, most: u32) {
        let (first, pages) = self.draw(most);
        self.patch(first, pages);
    }

    fn trim_anywhere(&mut self, most: u32) {
        let (first, pages) = self.draw(most);
        self.trim(first, pages);
    }

    /// Everything once, in runs of `pages`.
    fn fill(&mut self, pages: u32) {
        for first in (0..self.space.pages).step_by(pages as usize) {
            self.write(first, pages);
        }
    }

    /// Single-page writes after a fill that make garbage collection run a few times.
    fn rounds(&self) -> u32 {
        self.space.extra_pages + 2 * self.space.pages_per_block
    }
}

/// A named program.
#[derive(Debug)]
pub struct Workload {
    /// The name that users write.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    write: fn(&mut Script),
}

/// All workloads that `--workload` knows.
pub static WORKLOADS: &[Workload] = &[
    Workload {
        name: "sequential",
        summary: "front to end in runs of three pages, twice, and half again",
        write: |script| {
            for _ in 0..2 {
                script.fill(3);
            }
            for first in (0..script.space.pages / 2).step_by(3) {
                script.write(first, 3);
            }
        },
    },
    Workload {
        name: "random",
        summary: "short runs anywhere on a device that was never filled",
        write: |script| {
            for _ in 0..script.space.pages / 2 + script.rounds() / 2 {
                script.write_anywhere(3);
                occasionally_flush(script);
            }
        },
    },
    Workload {
        name: "fill-random",
        summary: "one run over everything, then single pages anywhere",
        write: |script| {
            script.fill(script.space.pages);
            for _ in 0..script.rounds() {
                script.write_anywhere(1);
                occasionally_flush(script);
            }
        },
    },
    Workload {
        name: "hot",
        summary: "a fill, then most writes to three pages of two blocks",
        write: |script| {
            script.fill(5);
            let next = script.space.pages_per_block;
            for _ in 0..script.rounds() {
                match script.dice.below(8) {
                    0..=2 => script.write(1, 1),
                    3..=4 => script.write(2, 1),
                    5..=6 => script.write(next, 1),
                    _ => script.write_anywhere(1),
                }
                occasionally_flush(script);
            }
        },
    },
    Workload {
        name: "trims",
        summary: "writes and trims of a few pages, some flushed and some not",
        write: |script| {
            script.fill(4);
            for _ in 0..script.rounds() / 2 {
                script.trim_anywhere(3);
                occasionally_flush(script);
                script.write_anywhere(2);
            }
        },
    },
    Workload {
        name: "trim-rewrite",
        summary: "a run is trimmed and part of it written again at once",
        write: |script| {
            script.fill(4);
            for _ in 0..script.rounds() / 2 {
                let (first, pages) = script.draw(4);
                script.trim(first, pages);
                script.write(first, pages.div_ceil(2));
                occasionally_flush(script);
            }
        },
    },
    Workload {
        name: "trim-all",
        summary: "fill, trim everything, flush, write a little, fill again, trim again",
        write: |script| {
            for _ in 0..2 {
                script.fill(script.space.pages_per_block);
                script.trim(0, script.space.pages);
                script.flush();
                for _ in 0..4 {
                    script.write_anywhere(2);
                }
            }
        },
    },
    Workload {
        name: "trim-flush",
        summary: "one page trimmed and flushed at a time: tombstones outgrow their block",
        write: |script| {
            script.fill(script.space.pages);
            for _ in 0..script.rounds() {
                script.trim_anywhere(1);
                script.flush();
                if script.dice.one_in(2) {
                    script.write_anywhere(1);
                }
            }
        },
    },
    Workload {
        name: "flush-each",
        summary: "single pages, each flushed",
        write: |script| {
            script.fill(6);
            for _ in 0..script.rounds() {
                script.write_anywhere(1);
                script.flush();
            }
        },
    },
    Workload {
        name: "never-flush",
        summary: "writes and trims, and never a flush",
        write: |script| {
            for _ in 0..script.space.pages / 2 + script.rounds() / 2 {
                match script.dice.below(4) {
                    0 => script.trim_anywhere(2),
                    _ => script.write_anywhere(3),
                }
            }
        },
    },
    Workload {
        name: "partial",
        summary: "sectors here and there, in pages written and not written before",
        write: |script| {
            script.fill(script.space.pages / 2);
            for _ in 0..script.rounds() {
                script.patch_anywhere(2);
                occasionally_flush(script);
            }
        },
    },
    Workload {
        name: "large",
        summary: "runs longer than a block, across its borders",
        write: |script| {
            let block = script.space.pages_per_block;
            for _ in 0..6 {
                let first = script.dice.below(script.space.pages - block);
                let beyond = script.dice.below(block);
                script.write(first, block + 1 + beyond);
                occasionally_flush(script);
            }
        },
    },
    Workload {
        name: "borders",
        summary: "the last page of a block and the first of the next, alone and together",
        write: |script| {
            let (block, pages) = (script.space.pages_per_block, script.space.pages);
            for round in 0..script.rounds() / 2 {
                let border = block * (1 + script.dice.below(pages / block - 1));
                script.write(border - 1, 1 + round % 2);
                script.write(border, 1);
                occasionally_flush(script);
            }
        },
    },
    Workload {
        name: "streams",
        summary: "two sequential streams in turn, with reads between",
        write: |script| {
            let half = script.space.pages / 2;
            for first in (0..half * 2).map(|at| at % half) {
                script.write(first, 1);
                script.write(half + first, 1);
                script.read(first / 2, 2);
                occasionally_flush(script);
            }
        },
    },
    Workload {
        name: "sectors",
        summary: "parts of pages, mostly of a few of them; now and then a whole page, or a trim",
        write: |script| {
            for _ in 0..script.space.pages + script.rounds() {
                let near = script.dice.below(script.space.pages / 2);
                match script.dice.below(12) {
                    0 => script.write_anywhere(1),
                    1..=2 => script.trim(near, 2),
                    3..=8 => script.patch(near, 1),
                    _ => script.patch_anywhere(1),
                }
                occasionally_flush(script);
            }
        },
    },
    Workload {
        name: "forced",
        summary: "writes and patches here and there, one in four forced, and no flush",
        write: |script| {
            script.fill(script.space.pages / 2);
            for _ in 0..script.rounds() / 2 {
                script.write_anywhere(2);
                script.patch_anywhere(2);
                if script.dice.one_in(2) {
                    script.force();
                }
            }
        },
    },
];

fn occasionally_flush(script: &mut Script) {
    if script.dice.one_in(5) {
        script.flush();
    }
}

#[cfg(test)]
mod tests {
    use nand::SectorMask;

    use super::*;

    const SPACE: Space =
        Space { pages: 24, pages_per_block: 4, sectors_per_page: 2, extra_pages: 12 };

    #[test]
    fn every_step_of_every_workload_lies_in_the_device_and_concerns_something() {
        let tight = Space { pages: 4, pages_per_block: 2, sectors_per_page: 1, extra_pages: 4 };
        for (workload, space) in
            WORKLOADS.iter().flat_map(|workload| [(workload, SPACE), (workload, tight)])
        {
            for seed in 0..20 {
                for step in program(workload.name, space, seed).unwrap() {
                    assert!(is_lawful(&step, &space), "{}: {step}", workload.name);
                }
            }
        }
    }

    fn is_lawful(step: &Step, space: &Space) -> bool {
        let within = |first: u32, pages: u32| pages > 0 && first + pages <= space.pages;
        match *step {
            Step::Flush => true,
            Step::Trim { first, pages } => within(first, pages),
            Step::Write(extent) | Step::Force(extent) | Step::Read(extent) => {
                let possible = |mask: SectorMask| mask != 0 && mask & !space.full() == 0;
                within(extent.first, extent.pages)
                    && possible(extent.head)
                    && possible(extent.tail)
                    && (extent.pages > 1 || extent.head == extent.tail)
            }
        }
    }

    #[test]
    fn seeds_make_the_difference_and_nothing_else() {
        let steps = |seed| program("random", SPACE, seed).unwrap();
        assert_eq!(steps(1), steps(1));
        assert_ne!(steps(1), steps(2));
        assert_ne!(aftermath(SPACE, 1), aftermath(SPACE, 2));
    }

    #[test]
    fn workloads_with_partial_writes_have_all_sorts_of_masks() {
        let steps = program("partial", SPACE, 3).unwrap();
        for mask in [0b01, 0b10, 0b11] {
            let of_mask = |step: &Step| matches!(step, Step::Write(it) if it.head == mask);
            assert!(steps.iter().any(of_mask), "{mask:b}");
        }
    }

    #[test]
    fn an_extent_lists_its_sectors() {
        let extent = Extent { first: 2, pages: 3, head: 0b10, tail: 0b01 };
        let sectors: Vec<_> = extent.sectors(2, 0b11).collect();
        assert_eq!(sectors, [(5, 1), (6, 0), (7, 1), (8, 0)]);
    }

    #[test]
    fn an_unknown_workload_is_refused_with_the_nearest() {
        let message = program("hto", SPACE, 0).unwrap_err().to_string();
        assert!(message.starts_with("unknown workload `hto`; did you mean `hot`?"), "{message}");
    }
}
