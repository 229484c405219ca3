//! The shape of a log-structured merge tree, and the room that it needs.

use spec::Params;

use super::keys::{COMPACTION, DATA, ENTRY, FANOUT, LEVEL, LEVELS, MEMTABLE, SPACE, TABLE, YOUNG};

/// How runs become fewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compaction {
    Leveled,
    Tiered,
}

/// The sizes of a tree, in entries.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    pub(super) compaction: Compaction,
    pub(super) keys: u32,
    pub(super) memtable_entries: u32,
    pub(super) table_entries: usize,
    level_entries: u64,
    pub(super) fanout: usize,
    /// The runs of level 0 from which on they are merged into level 1.
    pub(super) young_runs: usize,
    pub(super) last_level: usize,
    entry_bytes: u64,
    page_bytes: u64,
}

/// The most entries that a store may have in all tables: each takes 4 bytes of memory.
const ENTRIES_MAX: u128 = 1 << 25;

/// The most puts for each key that a memtable may hold. With more, nearly all of them repeat a key,
/// and drawing them takes minutes.
const PUTS_A_KEY_MAX: u64 = 8;

/// The highest number of a level. Streams are few, too.
const LEVEL_MAX: u64 = 60;

impl Shape {
    /// The shape that a spec asks for; an error says what is impossible.
    pub(super) fn of(
        params: &Params,
        page_bytes: u32,
        has_log: bool,
    ) -> std::result::Result<Shape, String> {
        let entry_bytes = params.size(ENTRY.name).max(1);
        let keys = params.share(DATA.name).floor_of(params.size(SPACE.name)) / entry_bytes;
        let entries = |bytes: u64| (bytes / entry_bytes).min(u64::from(u32::MAX));
        let [memtable, table] = [MEMTABLE, TABLE].map(|key| (key, entries(params.size(key.name))));
        for (key, entries) in [memtable, table] {
            if entries == 0 {
                let (name, bytes) = (key.name, params.size(key.name));
                return Err(format!("{name}={bytes} has no room for an entry of {entry_bytes}"));
            }
        }
        if keys == 0 || u128::from(keys) > ENTRIES_MAX {
            return Err(format!(
                "the data are {keys} entries of {entry_bytes} bytes; at least one is needed, and \
                 {ENTRIES_MAX} are possible: change entry=, data= or space="
            ));
        }
        if memtable.1 / PUTS_A_KEY_MAX > keys {
            return Err(format!(
                "a memtable holds {} puts, but the data are {keys} entries; {PUTS_A_KEY_MAX} puts \
                 for each are possible: reduce memtable=, or enlarge data= or space=",
                memtable.1
            ));
        }
        let within = |key: &str, range: std::ops::RangeInclusive<u64>| match params.count(key) {
            count if range.contains(&count) => Ok(count),
            count => {
                let (least, most) = (range.start(), range.end());
                Err(format!("{key}={count} is not between {least} and {most}"))
            }
        };
        let compaction = match params.choice(COMPACTION.name) {
            "tiered" => Compaction::Tiered,
            _ => Compaction::Leveled,
        };
        let mut shape = Shape {
            compaction,
            keys: keys as u32,
            memtable_entries: memtable.1 as u32,
            table_entries: table.1 as usize,
            level_entries: params.size(LEVEL.name) / entry_bytes,
            fanout: within(FANOUT.name, 2..=1000)? as usize,
            young_runs: within(YOUNG.name, 1..=1000)? as usize,
            last_level: 1,
            entry_bytes,
            page_bytes: page_bytes.into(),
        };
        shape.last_level = match params.opt_count(LEVELS.name) {
            Some(_) => within(LEVELS.name, 1..=LEVEL_MAX)? as usize,
            None => shape.least_last_level(),
        };
        shape.check_room(params.size(SPACE.name), has_log)?;
        Ok(shape)
    }

    /// The least number of the last level with which it is not larger than it should be.
    fn least_last_level(&self) -> usize {
        let suffices = |level: usize| match self.compaction {
            Compaction::Leveled => self.target_entries(level),
            Compaction::Tiered => self.run_entries(level + 1),
        };
        let keys = u64::from(self.keys);
        let levels = 1..LEVEL_MAX as usize;
        levels.into_iter().find(|level| suffices(*level) >= keys).unwrap_or(LEVEL_MAX as usize)
    }

    /// The size above which a leveled level is compacted.
    pub(super) fn target_entries(&self, level: usize) -> u64 {
        self.grown(self.level_entries, level - 1)
    }

    /// The largest run that a tiered level gets from the one above.
    fn run_entries(&self, level: usize) -> u64 {
        self.grown(self.memtable_entries.into(), level).min(self.keys.into())
    }

    fn grown(&self, entries: u64, levels: usize) -> u64 {
        (0..levels).fold(entries, |entries, _| entries.saturating_mul(self.fanout as u64))
    }

    /// The most tables of a level that are merged at a time: as many as one of the level above
    /// usually overlaps.
    pub(super) fn merged_tables(&self) -> usize {
        self.fanout + 2
    }

    /// The pages of a table or log.
    pub(super) fn pages(&self, entries: u64) -> u64 {
        let bytes = u128::from(entries) * u128::from(self.entry_bytes);
        u64::try_from(bytes.div_ceil(u128::from(self.page_bytes))).unwrap_or(u64::MAX)
    }

    /// Refuses a store that could outgrow its space or the memory.
    fn check_room(&self, space: u64, has_log: bool) -> std::result::Result<(), String> {
        let parts = match self.compaction {
            Compaction::Leveled => self.leveled_parts(),
            Compaction::Tiered => self.tiered_parts(),
        };
        let entries: u128 = parts.iter().map(|(entries, _)| entries).sum();
        let tables: u128 = parts.iter().map(|(_, tables)| tables).sum();
        if entries > ENTRIES_MAX {
            return Err(format!(
                "up to {entries} entries would be in tables at a time; {ENTRIES_MAX} are \
                 possible: enlarge entry="
            ));
        }
        let logs = match has_log {
            true => 2 * u128::from(self.pages(self.memtable_entries.into())),
            false => 0,
        };
        let (entry, page) = (u128::from(self.entry_bytes), u128::from(self.page_bytes));
        // Entries that are whole pages leave no page of a table half empty.
        let waste = if self.entry_bytes.is_multiple_of(self.page_bytes) { 0 } else { tables };
        let need = (logs + waste) * page + entries * entry;
        if need > u128::from(space) {
            return Err(format!(
                "the store may need {need} bytes while it compacts, but has space={space}: reduce \
                 data=, memtable= or level=, or enlarge space="
            ));
        }
        Ok(())
    }

    /// Bounds of the entries and tables of each level, and of what a merge writes before it
    /// discards.
    fn leveled_parts(&self) -> Vec<(u128, u128)> {
        let keys = u128::from(self.keys);
        let (memtable, table) = (self.memtable_entries.into(), self.table_entries as u128);
        let moved = self.young_runs as u128 * memtable;
        let mut parts =
            vec![(moved, self.young_runs as u128 * self.tables_of(memtable)), (keys, 0)];
        for level in 1..self.last_level {
            // Each level passes on what it gets, and up to a table more.
            let most = u128::from(self.target_entries(level)) + moved + table * level as u128;
            parts.push((most.min(keys), 0));
        }
        parts.push((self.merged_tables() as u128 * table + moved, 0));
        // All tables of a sorted run but one are at least half full.
        let half_full = |(entries, tables)| match tables {
            0 => (entries, 2 * entries / table + 2),
            _ => (entries, tables),
        };
        parts.into_iter().map(half_full).collect()
    }

    /// The same for runs that are merged as a whole.
    fn tiered_parts(&self) -> Vec<(u128, u128)> {
        let keys = u128::from(self.keys);
        let mut parts = vec![(keys, self.tables_of(keys)); 2];
        for level in 0..=self.last_level {
            let (run, runs) = (u128::from(self.run_entries(level)), self.fanout as u128);
            parts.push((runs * run, runs * self.tables_of(run)));
        }
        parts
    }

    fn tables_of(&self, entries: u128) -> u128 {
        entries.div_ceil(self.table_entries as u128)
    }
}

#[cfg(test)]
impl Shape {
    /// A tree of 1000 keys whose memtables are merged into level 1 at once, and tables of up to 4.
    pub(super) fn tiny() -> Shape {
        Shape {
            compaction: Compaction::Leveled,
            keys: 1000,
            memtable_entries: 1,
            table_entries: 4,
            level_entries: 40,
            fanout: 4,
            young_runs: 1,
            last_level: 3,
            entry_bytes: 1,
            page_bytes: 1,
        }
    }
}
