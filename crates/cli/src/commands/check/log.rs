//! `--log-writes`: a log of a real disk as a workload of the check.

use std::fs::File;
use std::io::BufReader;

use check::campaign::{LogSample, WindowChoice};
use check::workload::logged::{self, Logged, LoggedWorkload};
use report::number_format::count;
use trace::log_writes::entry::{LogEntry, LogFlags};
use trace::log_writes::reader::LogReader;

use crate::failure::{Failure, Result};

/// The device model on which a log is tried if none is named.
pub const GEOMETRY: &str = "small";

/// Reads what became durable, without the data: the check writes its own.
///
/// # Errors
/// The file cannot be read, or is no log with an operation.
pub fn read(path: &str) -> Result<Vec<Logged>> {
    let opened = File::open(path);
    let file = opened.map_err(|source| trace::Error::Open { name: path.to_owned(), source })?;
    let mut all = Vec::new();
    for entry in LogReader::new(path, BufReader::new(file))? {
        all.extend(logged(&entry?));
    }
    match all.iter().any(|one| *one != Logged::Mark) {
        true => Ok(all),
        false => Err(Failure::failed(format!("{path}: the log has no write, discard or flush"))),
    }
}

/// The operations of an entry: a write with a flush is a flush before a write.
fn logged(entry: &LogEntry) -> Vec<Logged> {
    let has = |flag| entry.flags.contains(flag);
    if has(LogFlags::MARK) {
        return vec![Logged::Mark];
    }
    let flush = has(LogFlags::FLUSH).then_some(Logged::Flush);
    let sectors = entry.range();
    let own = match (sectors.is_empty(), entry.is_discard()) {
        (true, _) => None,
        (false, true) => Some(Logged::Discard(sectors)),
        (false, false) => Some(Logged::Write { sectors, is_forced: has(LogFlags::FUA) }),
    };
    flush.into_iter().chain(own).collect()
}

/// How the log was cut, and which parts of it were tried.
pub fn summary(sample: &LogSample) -> String {
    sample.of_models.iter().map(|logged| line(logged, &sample.windows)).collect()
}

fn line(logged: &LoggedWorkload, choice: &WindowChoice) -> String {
    let LoggedWorkload { log, model, windows } = logged;
    let operations = windows.iter().map(|window| window.operations.len() as u64).sum();
    let marks = windows.iter().filter(|window| window.ends_at_mark).count() as u64;
    let all = windows.len();
    let tried = match choice {
        WindowChoice::Drawn(most) if *most < all => format!("{most} drawn from each seed"),
        WindowChoice::Drawn(_) => "all".to_owned(),
        WindowChoice::Numbered(numbers) => format!("{} that were named", numbers.len()),
    };
    format!(
        "{log} on {}: {} operations in {} windows of at most {} operations and {} pages, {} of \
         them up to a mark; tried: {tried}\n",
        model.name,
        count(operations),
        count(all as u64),
        logged::OPERATIONS_MAX,
        logged::PAGES_MAX,
        count(marks),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_become_operations() {
        let write = |flags| logged(&LogEntry::write(8, vec![0; 1024], flags));
        let written = |is_forced| Logged::Write { sectors: 8..10, is_forced };
        assert_eq!(write(LogFlags::METADATA), [written(false)]);
        assert_eq!(write(LogFlags::FUA), [written(true)]);
        assert_eq!(write(LogFlags::FLUSH), [Logged::Flush, written(false)]);
        assert_eq!(logged(&LogEntry::discard(1..9)), [Logged::Discard(1..9)]);
        assert_eq!(logged(&LogEntry::flush()), [Logged::Flush]);
        assert_eq!(logged(&LogEntry::mark("m")), [Logged::Mark]);
    }
}
