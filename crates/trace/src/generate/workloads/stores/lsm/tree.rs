//! The tables of a log-structured merge tree, and what its compactions do to the device.
//!
//! Entries are numbers of keys. An entry is written again as it is, so the newest version of a key
//! is in the table that was written last, and a merge is a union of keys.

use std::collections::VecDeque;

use super::free_space::{Extent, FreeSpace};
use super::shape::{Compaction, Shape};

/// Something to do with pages of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    Read(Extent),
    /// Writes a part of a table of this level.
    Write(Extent, usize),
    Discard(Extent),
}

/// A table: its keys in order, and its place.
struct Table {
    keys: Vec<u32>,
    extents: Vec<Extent>,
}

impl Table {
    fn first(&self) -> u32 {
        self.keys[0]
    }

    fn last(&self) -> u32 {
        self.keys[self.keys.len() - 1]
    }
}

/// A sorted run: tables without common keys, in the order of their keys.
type Run = Vec<Table>;

/// A level. If levels are leveled, every level but the first has a single run.
#[derive(Default)]
struct Level {
    runs: Vec<Run>,
    /// The last key that was moved to the next level; the next table begins behind it.
    moved: Option<u32>,
}

impl Level {
    fn entries(&self) -> u64 {
        self.runs.iter().flatten().map(|table| table.keys.len() as u64).sum()
    }
}

/// All levels, and the work that is still to be done for them.
pub(super) struct Tree {
    shape: Shape,
    levels: Vec<Level>,
    space: FreeSpace,
    /// In order.
    pub(super) work: VecDeque<Work>,
}

impl Tree {
    /// A tree that is to be loaded: all keys, in order, go straight to the last level.
    pub(super) fn load(shape: Shape, space_pages: u64) -> Tree {
        let levels = (0..=shape.last_level).map(|_| Level::default()).collect();
        let (space, work) = (FreeSpace::new(space_pages), VecDeque::new());
        let mut tree = Tree { shape, levels, space, work };
        let run = tree.write((0..shape.keys).collect(), shape.last_level);
        tree.levels[shape.last_level].runs.push(run);
        tree
    }

    /// Takes pages for a log.
    pub(super) fn take(&mut self, pages: u64) -> Vec<Extent> {
        self.space.take(pages)
    }

    /// Writes the keys of a full memtable, which may repeat, as a run of level 0. Nothing needs
    /// the log any more. Then compacts what is too large.
    pub(super) fn flush(&mut self, keys: Vec<u32>, log: Vec<Extent>) {
        let run = self.write(united(keys), 0);
        self.levels[0].runs.push(run);
        self.discard(log);
        match self.shape.compaction {
            Compaction::Leveled => self.compact_leveled(),
            Compaction::Tiered => self.compact_tiered(),
        }
    }

    /// All runs of level 0 are merged into level 1 when they are enough. From every other level
    /// but the last, tables are merged into the next one until it is as small as it should be.
    fn compact_leveled(&mut self) {
        if self.levels[0].runs.len() >= self.shape.young_runs {
            let young = std::mem::take(&mut self.levels[0].runs).into_iter().flatten().collect();
            self.merge_into(1, young);
        }
        for level in 1..self.shape.last_level {
            while self.levels[level].entries() > self.shape.target_entries(level) {
                let table = self.next_table(level);
                self.merge_into(level + 1, vec![table]);
            }
        }
    }

    /// The table of a level that is moved next: the first one behind the key that was moved last.
    fn next_table(&mut self, level: usize) -> Table {
        let Level { runs, moved } = &mut self.levels[level];
        let run = &mut runs[0];
        let behind = run.partition_point(|table| Some(table.first()) <= *moved);
        let table = run.remove(if behind == run.len() { 0 } else { behind });
        *moved = Some(table.last());
        table
    }

    /// Merges tables of the level above into a leveled one, with the tables whose ranges they
    /// overlap. If these are many, they are merged part by part, so that the old ones never need
    /// much room beside the new ones.
    fn merge_into(&mut self, level: usize, above: Vec<Table>) {
        let mut keys = united(above.iter().flat_map(|table| table.keys.iter().copied()).collect());
        above.iter().for_each(|table| self.read(&table.extents));
        let runs = &mut self.levels[level].runs;
        let mut run = runs.pop().unwrap_or_default();
        let is_small = 2 * keys.len() < self.shape.table_entries;
        let overlap = overlap(&run, keys[0], keys[keys.len() - 1], is_small);
        let (at, mut old) = (overlap.start, run.drain(overlap).collect::<VecDeque<_>>());
        let mut new = Vec::new();
        loop {
            let part: Run = old.drain(..old.len().min(self.shape.merged_tables())).collect();
            let count = match (old.is_empty(), part.last()) {
                (false, Some(last)) => keys.partition_point(|key| *key <= last.last()),
                _ => keys.len(),
            };
            let rest = keys.split_off(count);
            new.append(&mut self.merge(part, keys, level));
            keys = rest;
            if old.is_empty() {
                break;
            }
        }
        run.splice(at..at, new);
        self.levels[level].runs.push(run);
        above.into_iter().for_each(|table| self.discard(table.extents));
    }

    /// When a level has enough runs, they are merged into a run of the next level; those of the
    /// last one, into its only run.
    fn compact_tiered(&mut self) {
        for level in 0..=self.shape.last_level {
            if self.levels[level].runs.len() >= self.shape.fanout {
                let runs = std::mem::take(&mut self.levels[level].runs);
                let next = (level + 1).min(self.shape.last_level);
                let run = self.merge(runs.into_iter().flatten().collect(), Vec::new(), next);
                self.levels[next].runs.push(run);
            }
        }
    }

    /// Replaces tables by new ones with their keys and some more.
    fn merge(&mut self, old: Vec<Table>, mut keys: Vec<u32>, level: usize) -> Run {
        for table in &old {
            self.read(&table.extents);
            keys.extend_from_slice(&table.keys);
        }
        let new = self.write(united(keys), level);
        old.into_iter().for_each(|table| self.discard(table.extents));
        new
    }

    /// Writes tables with these keys. They are as equal as possible, so that none is less than half
    /// full if there are several.
    fn write(&mut self, keys: Vec<u32>, level: usize) -> Run {
        let tables = keys.len().div_ceil(self.shape.table_entries);
        let border = |table: usize| (keys.len() as u128 * table as u128 / tables as u128) as usize;
        let mut run = Vec::with_capacity(tables);
        for table in 0..tables {
            let keys = keys[border(table)..border(table + 1)].to_vec();
            let extents = self.space.take(self.shape.pages(keys.len() as u64));
            self.work.extend(extents.iter().map(|extent| Work::Write(*extent, level)));
            run.push(Table { keys, extents });
        }
        run
    }

    fn read(&mut self, extents: &[Extent]) {
        self.work.extend(extents.iter().copied().map(Work::Read));
    }

    fn discard(&mut self, extents: Vec<Extent>) {
        for extent in extents {
            self.work.push_back(Work::Discard(extent));
            self.space.give(extent);
        }
    }
}

/// Keys in order, each once.
#[expect(clippy::stable_sort_primitive, reason = "only this sort takes advantage of runs")]
fn united(mut keys: Vec<u32>) -> Vec<u32> {
    keys.sort();
    keys.dedup();
    keys
}

/// The tables of a run whose ranges overlap the keys from `first` to `last`. If there are none,
/// keys that would be a small table join a neighbour, so that small tables do not accumulate.
fn overlap(run: &Run, first: u32, last: u32, is_small: bool) -> std::ops::Range<usize> {
    let start = run.partition_point(|table| table.last() < first);
    let end = run.partition_point(|table| table.first() <= last);
    match (start < end || !is_small, start < run.len()) {
        (true, _) => start..end,
        (false, true) => start..start + 1,
        (false, false) => run.len().saturating_sub(1)..run.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Single keys that overlap no table join a neighbour; and a run is always in order.
    #[test]
    fn all_tables_of_a_run_but_one_are_half_full() {
        let mut tree = Tree::load(Shape::tiny(), 5000);
        for put in 0..4000u32 {
            tree.flush(vec![put * 379 % 1000], Vec::new());
            tree.work.clear();
            for level in &tree.levels[1..] {
                let run = level.runs.iter().flatten();
                let small = run.clone().filter(|table| table.keys.len() < 2).count();
                assert!(small <= 1, "put {put}: {small} small tables");
                let keys: Vec<u32> = run.flat_map(|table| table.keys.iter().copied()).collect();
                assert!(keys.is_sorted_by(|a, b| a < b), "put {put}: {keys:?}");
            }
        }
        let entries: Vec<u64> = tree.levels.iter().map(Level::entries).collect();
        assert!(entries[1] <= 40 && entries[2] <= 160 && entries[3] == 1000, "{entries:?}");
    }

    /// A table that overlaps very many is merged part by part: what a part has read is discarded
    /// before the next one is written.
    #[test]
    fn a_wide_merge_is_made_part_by_part() {
        let mut shape = Shape::tiny();
        shape.last_level = 1;
        let mut tree = Tree::load(shape, 5000);
        tree.work.clear();
        tree.flush(vec![0, 999], Vec::new());
        let (mut extra, mut most) = (0i64, 0);
        for work in &tree.work {
            match work {
                Work::Write(extent, _) => extra += extent.pages as i64,
                Work::Discard(extent) => extra -= extent.pages as i64,
                Work::Read(_) => {}
            }
            most = most.max(extra);
        }
        assert_eq!(extra, 0, "nothing but the keys of the last level remains");
        // Six tables of up to four entries, and the two entries of the memtable.
        assert!(most <= 6 * 4 + 2, "{most}");
    }
}
