//! Named workloads: each aims at one weakness of FTLs.

use crate::workload::host_operation::{Dimensions, HostOperation};
use crate::workload::script::Script;

/// A workload with a name. Its operations are drawn from a seed.
#[derive(Debug)]
pub struct NamedWorkload {
    /// The name that users write.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    write: fn(&mut Script),
}

/// The operations of a named workload.
///
/// # Errors
/// The name is unknown.
pub fn operations(
    name: &str,
    dimensions: Dimensions,
    seed: u64,
) -> spec::Result<Vec<HostOperation>> {
    let known: Vec<&str> = WORKLOADS.iter().map(|workload| workload.name).collect();
    let workload = WORKLOADS.iter().find(|workload| workload.name == name);
    let workload = workload.ok_or_else(|| spec::unknown("workload", name, &known))?;
    let mut script = Script::new(dimensions, seed);
    (workload.write)(&mut script);
    Ok(script.into_operations())
}

/// All workloads that `--workload` accepts by name.
pub static WORKLOADS: &[NamedWorkload] = &[
    NamedWorkload {
        name: "sequential",
        summary: "the whole device twice in runs of three pages, then its first half",
        write: |script| {
            for _ in 0..2 {
                script.fill(3);
            }
            for first in (0..script.dimensions.pages / 2).step_by(3) {
                script.write(first, 3);
            }
        },
    },
    NamedWorkload {
        name: "random",
        summary: "short runs anywhere, on a device that was never filled",
        write: |script| {
            for _ in 0..script.dimensions.pages / 2 + script.rounds() / 2 {
                script.write_anywhere(3);
                script.flush_sometimes();
            }
        },
    },
    NamedWorkload {
        name: "fill-random",
        summary: "one run over the whole device, then single pages anywhere",
        write: |script| {
            script.fill(script.dimensions.pages);
            for _ in 0..script.rounds() {
                script.write_anywhere(1);
                script.flush_sometimes();
            }
        },
    },
    NamedWorkload {
        name: "hot",
        summary: "a fill, then most writes to three pages of two blocks",
        write: |script| {
            script.fill(5);
            let next = script.dimensions.pages_per_block;
            for _ in 0..script.rounds() {
                match script.rng.below(8) {
                    0..=2 => script.write(1, 1),
                    3..=4 => script.write(2, 1),
                    5..=6 => script.write(next, 1),
                    _ => script.write_anywhere(1),
                }
                script.flush_sometimes();
            }
        },
    },
    NamedWorkload {
        name: "trims",
        summary: "writes and trims of a few pages, some flushed and some not",
        write: |script| {
            script.fill(4);
            for _ in 0..script.rounds() / 2 {
                script.trim_anywhere(3);
                script.flush_sometimes();
                script.write_anywhere(2);
            }
        },
    },
    NamedWorkload {
        name: "trim-rewrite",
        summary: "trims a run and at once rewrites part of it",
        write: |script| {
            script.fill(4);
            for _ in 0..script.rounds() / 2 {
                let (first, pages) = script.draw(4);
                script.trim(first, pages);
                script.write(first, pages.div_ceil(2));
                script.flush_sometimes();
            }
        },
    },
    NamedWorkload {
        name: "trim-all",
        summary: "fill, trim everything, flush, write a little; all of it twice",
        write: |script| {
            for _ in 0..2 {
                script.fill(script.dimensions.pages_per_block);
                script.trim(0, script.dimensions.pages);
                script.flush();
                for _ in 0..4 {
                    script.write_anywhere(2);
                }
            }
        },
    },
    NamedWorkload {
        name: "trim-flush",
        summary: "single-page trims, each flushed: the tombstones outgrow their block",
        write: |script| {
            script.fill(script.dimensions.pages);
            for _ in 0..script.rounds() {
                script.trim_anywhere(1);
                script.flush();
                if script.rng.one_in(2) {
                    script.write_anywhere(1);
                }
            }
        },
    },
    NamedWorkload {
        name: "flush-each",
        summary: "single-page writes, each flushed",
        write: |script| {
            script.fill(6);
            for _ in 0..script.rounds() {
                script.write_anywhere(1);
                script.flush();
            }
        },
    },
    NamedWorkload {
        name: "never-flush",
        summary: "writes and trims without any flush",
        write: |script| {
            for _ in 0..script.dimensions.pages / 2 + script.rounds() / 2 {
                match script.rng.below(4) {
                    0 => script.trim_anywhere(2),
                    _ => script.write_anywhere(3),
                }
            }
        },
    },
    NamedWorkload {
        name: "partial",
        summary: "partial writes anywhere, half of them to pages that were never written",
        write: |script| {
            script.fill(script.dimensions.pages / 2);
            for _ in 0..script.rounds() {
                script.patch_anywhere(2);
                script.flush_sometimes();
            }
        },
    },
    NamedWorkload {
        name: "large",
        summary: "runs longer than a block, which cross block borders",
        write: |script| {
            let block = script.dimensions.pages_per_block;
            for _ in 0..6 {
                let first = script.rng.below(script.dimensions.pages - block);
                let beyond = script.rng.below(block);
                script.write(first, block + 1 + beyond);
                script.flush_sometimes();
            }
        },
    },
    NamedWorkload {
        name: "borders",
        summary: "the last page of a block and the first of the next, alone and together",
        write: |script| {
            let (block, pages) = (script.dimensions.pages_per_block, script.dimensions.pages);
            for round in 0..script.rounds() / 2 {
                let border = block * (1 + script.rng.below(pages / block - 1));
                script.write(border - 1, 1 + round % 2);
                script.write(border, 1);
                script.flush_sometimes();
            }
        },
    },
    NamedWorkload {
        name: "streams",
        summary: "two sequential streams that alternate, with reads between them",
        write: |script| {
            let half = script.dimensions.pages / 2;
            for first in (0..half * 2).map(|at| at % half) {
                script.write(first, 1);
                script.write(half + first, 1);
                script.read(first / 2, 2);
                script.flush_sometimes();
            }
        },
    },
    NamedWorkload {
        name: "sectors",
        summary: "partial writes, mostly to one half of the device; some whole pages and trims",
        write: |script| {
            for _ in 0..script.dimensions.pages + script.rounds() {
                let near = script.rng.below(script.dimensions.pages / 2);
                match script.rng.below(12) {
                    0 => script.write_anywhere(1),
                    1..=2 => script.trim(near, 2),
                    3..=8 => script.patch(near, 1),
                    _ => script.patch_anywhere(1),
                }
                script.flush_sometimes();
            }
        },
    },
    NamedWorkload {
        name: "forced",
        summary: "whole and partial writes anywhere, one in four forced, without any flush",
        write: |script| {
            script.fill(script.dimensions.pages / 2);
            for _ in 0..script.rounds() / 2 {
                script.write_anywhere(2);
                script.patch_anywhere(2);
                if script.rng.one_in(2) {
                    script.force();
                }
            }
        },
    },
    NamedWorkload {
        name: "merges",
        summary: "partial writes and partial reads of three pages, some flushed, some forced",
        write: |script| {
            let third = script.dimensions.pages / 3;
            script.fill(script.dimensions.pages);
            for _ in 0..script.rounds() {
                let page = third * script.rng.below(3);
                script.patch(page, 1);
                if script.rng.one_in(4) {
                    script.force();
                }
                script.read_part(page, 2);
                script.flush_sometimes();
            }
        },
    },
    NamedWorkload {
        name: "windows",
        summary: "writes and flushed trims at the borders of the windows of checkpoints",
        write: |script| {
            let (pages, window) = (script.dimensions.pages, script.dimensions.window());
            let windows: Vec<u32> = (0..pages).step_by(window as usize).collect();
            // One page of each window stays trimmed, so that checkpoints name all windows.
            for first in &windows {
                script.write(first + 1, 1);
                script.trim(first + 1, 1);
            }
            let mut runs = vec![(0, 1), (pages - 1, 1)];
            for border in &windows[1..] {
                runs.extend([(border - 1, 1), (*border, 1), (border - 1, 2)]);
            }
            for _ in 0..6 {
                for &(first, pages) in &runs {
                    script.write(first, pages);
                    script.trim(first, pages);
                    script.flush();
                }
                for &(first, pages) in &runs {
                    script.write(first, pages);
                    script.flush_sometimes();
                }
            }
        },
    },
];
