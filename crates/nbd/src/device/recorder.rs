//! Records what is done to a disk: a record that `ftlab run` repeats, and the log of
//! dm-log-writes, with which file systems are tested against power cuts.

use std::fs::File;
use std::io::BufWriter;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Instant;

use disk::{Disk, recipe};
use nand::{Op, Tally};
use serde_json::{Value, json};
use trace::log_writes::entry::MARK_NAME_BYTES_MAX;
use trace::log_writes::order::{FlushTicket, LogOrder};
use trace::log_writes::writer::LogWriter;
use trace::writer::{OutputFormat, TraceWriter};
use trace::{Flags, Request};

use crate::device::bytes::SECTOR;

/// Records what is done to a disk.
pub struct Recorder {
    began: Instant,
    record: Option<Record>,
    log: Option<Log>,
    /// Why something could not be written. From then on nothing is.
    failure: Option<String>,
}

/// The record.
struct Record {
    writer: TraceWriter<BufWriter<File>>,
    path: PathBuf,
    requests: u64,
    /// The command that repeats the record.
    command: Vec<String>,
    /// Programs and erases of the first mount, which `run` does not count.
    before: [u64; 3],
}

/// The log of writes.
struct Log {
    writer: LogWriter<BufWriter<File>>,
    order: LogOrder,
    /// Forced writes that no sync covers yet, and those that the running sync covers.
    forced: Vec<Forced>,
    syncing: Vec<Forced>,
    /// The flush that the running sync ends.
    flush: Option<FlushTicket>,
    /// Bytes that were written since the last flush.
    unflushed_bytes: u64,
}

/// Bytes of writes that a log keeps in memory until they are flushed.
const UNFLUSHED_BYTES_MAX: u64 = 1 << 30;

/// A forced write: its number in the log, its first sector, and its data.
type Forced = (u64, u64, Vec<u8>);

type Written = Result<(), String>;

impl Recorder {
    /// A recorder that keeps nothing yet.
    pub fn idle() -> Recorder {
        Recorder { began: Instant::now(), record: None, log: None, failure: None }
    }

    /// Begins a record of everything that is done to a device.
    ///
    /// # Errors
    /// The file exists, or cannot be written.
    pub fn begin_record(&mut self, path: PathBuf, disk: &Disk) -> Written {
        let sentence = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let file = File::create_new(&path).map_err(|error| sentence(&error))?;
        let beside = beside(&path);
        if beside.exists() {
            return Err(format!("{} exists; delete it, or choose another name", beside.display()));
        }
        let writer = TraceWriter::new(BufWriter::new(file), OutputFormat::Csv);
        let command = recipe::run_command(disk.device(), &path);
        let writer = writer.map_err(|error| sentence(&error))?;
        let before = counts(&disk.tally());
        self.record = Some(Record { writer, path, requests: 0, command, before });
        self.describe(&disk.tally(), 0)
    }

    /// Begins a log of writes.
    ///
    /// # Errors
    /// The file exists, or cannot be written.
    pub fn begin_log(&mut self, path: PathBuf) -> Written {
        let sentence = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let file = File::create_new(&path).map_err(|error| sentence(&error))?;
        let writer = LogWriter::new(BufWriter::new(file)).map_err(|error| sentence(&error))?;
        self.log = Some(Log {
            writer,
            order: LogOrder::new(),
            forced: Vec::new(),
            syncing: Vec::new(),
            flush: None,
            unflushed_bytes: 0,
        });
        Ok(())
    }

    // ---- What was done ---------------------------------------------------------------------

    /// Bytes were read.
    pub fn read(&mut self, offset: u64, bytes: u64) {
        self.record(trace::Op::Read, offset, bytes, Flags::empty());
    }

    /// Bytes were written.
    pub fn wrote(&mut self, offset: u64, bytes: &[u8], force: bool) {
        let flags = if force { Flags::FUA } else { Flags::empty() };
        self.record(trace::Op::Write, offset, bytes.len() as u64, flags);
        let Some(log) = &mut self.log else { return };
        if force {
            let number = log.order.forced_write_performed();
            return log.forced.push((number, offset / SECTOR, bytes.to_vec()));
        }
        log.unflushed_bytes += bytes.len() as u64;
        if log.unflushed_bytes > UNFLUSHED_BYTES_MAX {
            let max = UNFLUSHED_BYTES_MAX;
            return self.note(Err(format!("{max} bytes were written without a flush")));
        }
        log.order.completed_write(offset / SECTOR, bytes.to_vec(), false);
    }

    /// Pages were trimmed.
    pub fn trimmed(&mut self, range: Range<u64>) {
        self.record(trace::Op::Trim, range.start, range.end - range.start, Flags::empty());
        if let Some(log) = &mut self.log {
            log.order.completed_discard(range.start / SECTOR..range.end / SECTOR);
        }
    }

    /// The FTL was flushed. The sync that follows makes that durable.
    pub fn flushed(&mut self) {
        self.record(trace::Op::Flush, 0, 0, Flags::PREFLUSH);
        if let Some(record) = &mut self.record {
            let written = record.writer.flush().map_err(|error| error.to_string());
            self.note(written);
        }
        if let Some(log) = &mut self.log {
            log.flush = Some(log.order.flush_issued());
            log.unflushed_bytes = 0;
        }
    }

    /// A sync of the file begins.
    pub fn sync_began(&mut self) {
        if let Some(log) = &mut self.log {
            log.syncing.append(&mut log.forced);
        }
    }

    /// A sync of the file has succeeded.
    pub fn synced(&mut self) {
        let Some(log) = &mut self.log else { return };
        for (number, sector, data) in log.syncing.drain(..) {
            log.order.completed_forced_write(number, sector, data);
        }
        if let Some(flush) = log.flush.take() {
            log.order.flush_completed(flush);
        }
        let written = log.write();
        self.note(written);
    }

    /// The power failed. What was not flushed may be gone, so it is never logged.
    pub fn power_failed(&mut self) {
        if let Some(log) = &mut self.log {
            log.forget();
        }
    }

    /// Somebody names this point of the log.
    ///
    /// # Errors
    /// There is no log, or the name cannot be written.
    pub fn mark(&mut self, name: &str) -> Written {
        let Some(log) = &mut self.log else {
            let why = "this server writes no log of writes; start it with `--log-writes`";
            return Err(why.to_owned());
        };
        if name.len() > MARK_NAME_BYTES_MAX || name.contains('\0') {
            let max = MARK_NAME_BYTES_MAX;
            return Err(format!("a mark has a name of at most {max} bytes without zeros"));
        }
        log.order.mark(name);
        let written = log.write();
        self.note(written.clone());
        written
    }

    // ---- Files -----------------------------------------------------------------------------

    fn record(&mut self, op: trace::Op, offset: u64, bytes: u64, flags: Flags) {
        let Some(record) = self.record.as_mut().filter(|_| self.failure.is_none()) else { return };
        let time_ns = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let request = Request { time_ns, offset, bytes, device: 0, op, flags, stream: 0 };
        record.requests += 1;
        let written = record.writer.write(&request).map_err(|error| error.to_string());
        self.note(written);
    }

    /// After a failure nothing more is written: a file with a gap would tell lies.
    fn note(&mut self, written: Written) {
        if let Err(why) = written {
            self.failure.get_or_insert(why);
            self.log = None;
        }
    }

    /// Writes the file beside the record: the command that repeats it, and what it must count.
    fn describe(&mut self, tally: &Tally, cuts: u64) -> Written {
        let Some(record) = &mut self.record else { return Ok(()) };
        let [reads, programs, erases] = counts(tally);
        let [reads_before, programs_before, erases_before] = record.before;
        let description: Value = json!({
            "schema": "ftlab.record/1",
            "command": record.command,
            "requests": record.requests,
            "counts": {
                "reads": reads.saturating_sub(reads_before),
                "programs": programs.saturating_sub(programs_before),
                "erases": erases.saturating_sub(erases_before),
            },
            "power_cuts": cuts,
        });
        let path = beside(&record.path);
        let sentence = |error| format!("{}: {error}", path.display());
        std::fs::write(&path, format!("{description:#}\n")).map_err(sentence)
    }

    /// Ends record and log.
    ///
    /// # Errors
    /// Something could not be written, now or before.
    pub fn close(mut self, tally: &Tally, cuts: u64) -> Written {
        let described = self.describe(tally, cuts);
        self.note(described);
        let sentence = |error: trace::Error| error.to_string();
        if let Some(record) = self.record.take() {
            let written = record.writer.finish().map(drop).map_err(sentence);
            self.note(written);
        }
        if let Some(log) = self.log.take() {
            let written = log.writer.finish().map(drop).map_err(sentence);
            self.note(written);
        }
        match self.failure {
            Some(why) => Err(format!("the record is incomplete: {why}")),
            None => Ok(()),
        }
    }
}

impl Log {
    /// Forgets everything that is not durable yet.
    fn forget(&mut self) {
        self.order = LogOrder::new();
        self.forced.clear();
        self.syncing.clear();
        self.flush = None;
        self.unflushed_bytes = 0;
    }

    /// Writes the entries that may be written.
    fn write(&mut self) -> Written {
        let sentence = |error: trace::Error| error.to_string();
        while let Some(entry) = self.order.next_entry() {
            self.writer.append(&entry).map_err(sentence)?;
        }
        self.writer.flush().map_err(sentence)
    }
}

/// The file beside a record.
fn beside(record: &Path) -> PathBuf {
    let mut path = record.as_os_str().to_owned();
    path.push(".json");
    path.into()
}

fn counts(tally: &Tally) -> [u64; 3] {
    [Op::Read, Op::Program, Op::Erase].map(|op| tally.total(op))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files cannot be written: they were opened to be read.
    #[test]
    fn a_record_with_a_gap_is_told_at_the_end() {
        let unwritable = || BufWriter::new(File::open("/dev/null").unwrap());
        let tally = Tally::default();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record");
        let writer = TraceWriter::new(unwritable(), OutputFormat::Csv).unwrap();
        let record = Record { writer, path, requests: 0, command: Vec::new(), before: [0; 3] };
        let mut recorder = Recorder { record: Some(record), ..Recorder::idle() };
        recorder.read(0, 512);
        recorder.flushed();
        recorder.read(0, 512);
        assert_eq!(recorder.record.as_ref().unwrap().requests, 2, "nothing follows a gap");
        let told = recorder.close(&tally, 0).unwrap_err();
        assert!(told.starts_with("the record is incomplete: "), "{told}");
    }
}
