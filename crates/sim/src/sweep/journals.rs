//! The journals of a sweep: one for all rows, and one for each shard that was begun.
//!
//! ```text
//! rows.csv.journal                all rows, or what a plain sweep has done so far
//! rows.csv.3of8.journal           shard 3 of 8
//! ```
//! They lie beside the output, which machines share. Each has one writer. A sweep over all rows
//! first *gathers*: it locks the journals of all shards, copies their rows into its own journal,
//! and deletes them. So wherever it is killed, each finished row is in a journal, until the output
//! is complete.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::progress::Progress;
use crate::sweep::journal::Journal;
use crate::sweep::key::{JournalKey, journal_key, plan_key};
use crate::sweep::shard::{Shard, digits};
use crate::sweep::trace_digests::TraceDigests;

const ENDING: &str = "journal";

/// The journals beside an output.
#[derive(Clone, Copy)]
pub struct Journals<'a> {
    /// The file for the rows of the whole plan.
    pub output: &'a Path,
    /// The plan.
    pub plan: &'a Plan,
    /// The digests of its traces.
    pub digests: &'a TraceDigests,
    /// Receives the progress of reading the traces.
    pub progress: &'a dyn Progress,
}

impl Journals<'_> {
    /// The path of the journal of a shard.
    pub fn path(&self, shard: Shard) -> PathBuf {
        Journals::path_beside(self.output, shard)
    }

    /// The path of the journal of a shard beside this output.
    pub fn path_beside(output: &Path, shard: Shard) -> PathBuf {
        let mut name = output.as_os_str().to_owned();
        match shard {
            Shard::WHOLE => name.push(format!(".{ENDING}")),
            _ => name.push(format!(".{}of{}.{ENDING}", shard.number(), shard.of())),
        }
        name.into()
    }

    /// Opens or creates the journal of a shard.
    ///
    /// # Errors
    /// As for [`Journal::open`]; a sweep is running all rows; another journal beside the output is
    /// of another plan; or the reading of a trace was stopped.
    pub fn open(&self, shard: Shard) -> Result<Journal> {
        if shard != Shard::WHOLE {
            Journal::refuse_if_in_use(&self.path(Shard::WHOLE))?;
            self.refuse_other_plans()?;
        }
        self.open_beside(shard)
    }

    /// The same, whatever the other journals are.
    fn open_beside(&self, shard: Shard) -> Result<Journal> {
        Journal::open(&self.path(shard), &self.key(shard)?, self.plan.rows.len())
    }

    /// Refuses journals with which the rows of a shard could not be merged.
    fn refuse_other_plans(&self) -> Result<()> {
        let plan = plan_key(self.plan);
        let beside = self.shards()?.into_iter().chain([Shard::WHOLE]);
        beside
            .map(|shard| self.path(shard))
            .try_for_each(|path| Journal::refuse_other_plan(&path, &plan, self.plan.rows.len()))
    }

    fn key(&self, shard: Shard) -> Result<JournalKey> {
        journal_key(self.plan, &shard.rows(self.plan), self.digests, self.progress)
    }

    /// The shards whose journals exist.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn shards(&self) -> Result<Vec<Shard>> {
        let folder = self.output.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let failed = |source| Error::Journal { path: folder.to_owned(), source };
        let mut listed = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            listed.extend(self.shard_of(&entry.map_err(failed)?.file_name().to_string_lossy()));
        }
        // A listing of a network file system may be old. Names that are asked for are not.
        listed.sort_unstable_by_key(|shard| shard.of());
        listed.dedup_by_key(|shard| shard.of());
        let all = listed.into_iter().flat_map(Shard::all);
        Ok(all.filter(|&shard| self.path(shard).exists()).collect())
    }

    /// The shard to which a file beside the output belongs, if it is the journal of one.
    fn shard_of(&self, name: &str) -> Option<Shard> {
        let output = self.output.file_name()?.to_string_lossy();
        let rest = name.strip_prefix(&*output)?.strip_prefix('.')?;
        let (number, of) = rest.strip_suffix(ENDING)?.strip_suffix('.')?.split_once("of")?;
        Shard::new(digits(number)?, digits(of)?).filter(|&shard| shard != Shard::WHOLE)
    }

    /// Opens the journal of all rows and moves the rows of all shards into it.
    ///
    /// # Errors
    /// A journal cannot be opened, as one of a shard that is still running.
    pub fn gather(&self) -> Result<Journal> {
        let shards = self.open_shards()?;
        self.gather_from(shards)
    }

    /// The same if the journals together have all rows. Otherwise they stay as they are.
    ///
    /// # Errors
    /// As for [`Journals::gather`]; or rows are missing, or there is no journal.
    pub fn gather_complete(&self) -> Result<Journal> {
        let shards = self.open_shards()?;
        let whole = match self.path(Shard::WHOLE).exists() {
            true => Some(self.open(Shard::WHOLE)?),
            false if shards.is_empty() => {
                return Err(Error::NothingToMerge { output: self.output.to_owned() });
            }
            false => None,
        };
        let all = || shards.iter().map(|(_, journal)| journal).chain(&whole);
        let is_missing = |row: &usize| !all().any(|journal| journal.has(*row));
        let missing: Vec<usize> = (0..self.plan.rows.len()).filter(is_missing).collect();
        if !missing.is_empty() {
            let warnings = all().flat_map(|journal| journal.warnings().to_vec()).collect();
            return Err(self.missing(missing, shards.first().map(|&(shard, _)| shard), warnings));
        }
        drop(whole);
        self.gather_from(shards)
    }

    fn open_shards(&self) -> Result<Vec<(Shard, Journal)>> {
        let shards = self.shards()?.into_iter();
        shards.map(|shard| Ok((shard, self.open_beside(shard)?))).collect()
    }

    fn gather_from(&self, shards: Vec<(Shard, Journal)>) -> Result<Journal> {
        let mut whole = self.open(Shard::WHOLE)?;
        for (_, shard) in &shards {
            whole.keep_all(shard)?;
        }
        shards.into_iter().try_for_each(|(_, shard)| shard.delete())?;
        Ok(whole)
    }

    /// The error about missing rows, and about the shards that have them, if there are shards.
    fn missing(&self, rows: Vec<usize>, shard: Option<Shard>, warnings: Vec<String>) -> Error {
        let all = shard.into_iter().flat_map(Shard::all);
        let lacks =
            |shard: &Shard| shard.rows(self.plan).iter().any(|row| rows.binary_search(row).is_ok());
        Error::RowsMissing {
            output: self.output.to_owned(),
            warnings,
            shards: all.filter(lacks).map(Shard::number).collect(),
            of: shard.map_or(0, Shard::of),
            all: self.plan.rows.len(),
            rows,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Scale;
    use crate::progress::NoProgress;
    use crate::sweep::row::RowState;

    const PLAN: &str = "[base]\ncapacity = \"1MiB\"\n[[grid]]\nseed = [1, 2, 3, 4, 5]";

    /// Calls a function with the journals of a plan in an empty folder.
    fn beside_output(test: impl Fn(&Journals)) {
        let directory = tempfile::tempdir().unwrap();
        let plan = Plan::parse("p", PLAN, Scale::Full).unwrap();
        test(&Journals {
            output: &directory.path().join("rows.csv"),
            plan: &plan,
            digests: &TraceDigests::default(),
            progress: &NoProgress,
        });
    }

    fn shard(number: u32, of: u32) -> Shard {
        Shard::new(number, of).unwrap()
    }

    /// Finishes all rows of a shard.
    fn finish(journals: &Journals, shard: Shard) {
        let mut journal = journals.open(shard).unwrap();
        for row in shard.rows(journals.plan) {
            journal.keep(row, &format!("{{\"row\":{row}}}"), RowState::Done).unwrap();
        }
    }

    #[test]
    fn shards_are_found_by_the_names_of_their_journals() {
        beside_output(|journals| {
            let folder = journals.output.parent().unwrap();
            for name in ["1of1", "01of2", "0of2", "3of2", "1of2of3", "of", "x.1of2", "1of2.journal"]
            {
                std::fs::write(folder.join(format!("rows.csv.{name}.journal")), "").unwrap();
            }
            std::fs::write(folder.join("rows.csv2.1of2.journal"), "").unwrap();
            std::fs::write(folder.join("ows.csv.1of2.journal"), "").unwrap();
            assert_eq!(journals.shards().unwrap(), []);
            let begun = [shard(2, 3), shard(3, 3), shard(1, 12)];
            begun.iter().for_each(|&shard| drop(journals.open(shard).unwrap()));
            assert_eq!(journals.shards().unwrap(), begun);
        });
    }

    #[test]
    fn no_shard_begins_while_a_sweep_over_all_rows_is_running() {
        beside_output(|journals| {
            let whole = journals.open(Shard::WHOLE).unwrap();
            let refused = journals.open(shard(1, 2)).err();
            assert!(matches!(refused, Some(Error::JournalInUse { .. })), "{refused:?}");
            drop(whole);
            journals.open(shard(1, 2)).unwrap();
        });
    }

    #[test]
    fn no_shard_begins_beside_a_journal_of_another_plan() {
        for begun in [shard(2, 2), shard(1, 3), Shard::WHOLE] {
            beside_output(|journals| {
                drop(journals.open(begun).unwrap());
                journals.open(shard(1, 2)).unwrap();
                let other = PLAN.replace("1MiB", "2MiB");
                let other = Plan::parse("p", &other, Scale::Full).unwrap();
                let refused = Journals { plan: &other, ..*journals }.open(shard(1, 4)).err();
                let Some(Error::OtherPlan { path, .. }) = &refused else { panic!("{refused:?}") };
                assert!(path.exists() && !journals.path(shard(1, 4)).exists());
            });
        }
    }

    /// Wherever gathering is killed, all rows are still there for the next attempt.
    #[test]
    fn gathering_can_be_killed_anywhere() {
        for (copied, deleted) in [(0, 0), (1, 0), (3, 0), (3, 1), (3, 2), (3, 3)] {
            beside_output(|journals| {
                let shards: Vec<Shard> = shard(1, 3).all().collect();
                shards.iter().for_each(|&shard| finish(journals, shard));
                if copied > 0 {
                    let mut whole = journals.open(Shard::WHOLE).unwrap();
                    for &shard in &shards[..copied] {
                        let shard =
                            Journal::open(&journals.path(shard), &journals.key(shard).unwrap(), 5);
                        whole.keep_all(&shard.unwrap()).unwrap();
                    }
                }
                for &shard in &shards[..deleted] {
                    std::fs::remove_file(journals.path(shard)).unwrap();
                }
                let whole = journals.gather_complete().unwrap();
                for row in 0..5 {
                    assert_eq!(whole.row(row).unwrap(), format!("{{\"row\":{row}}}"));
                }
                assert_eq!(journals.shards().unwrap(), []);
            });
        }
    }

    #[test]
    fn missing_rows_and_their_shards_are_listed() {
        beside_output(|journals| {
            finish(journals, shard(1, 3));
            finish(journals, shard(3, 3));
            let why = journals.gather_complete().err().unwrap();
            assert_eq!(why.exit_code(), 1);
            let Error::RowsMissing { rows, shards, of, .. } = &why else { panic!("{why}") };
            assert_eq!((rows, &shards[..], *of), (&shard(2, 3).rows(journals.plan), &[2][..], 3));
            assert!(!journals.path(Shard::WHOLE).exists());
            // What a plain sweep has done counts, too.
            finish(journals, Shard::WHOLE);
            assert_eq!(journals.gather_complete().unwrap().count(), 5);
        });
    }
}
