//! Errors of runs, plans and sweeps. Every message is a sentence with its numbers, and every error
//! has the exit code of the command.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use ftl::contract::guest::GuestFaultKind;

use crate::mismatch::Mismatch;

/// A result with an error of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an experiment cannot be run, or did not finish.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The value of an option is wrong.
    #[error(transparent)]
    Spec(#[from] spec::Error),
    /// The chip cannot exist.
    #[error(transparent)]
    Chip(#[from] nand::Error),
    /// The trace cannot be read or generated.
    #[error(transparent)]
    Trace(#[from] trace::Error),
    /// The scheme refuses the device, or gave up.
    #[error(transparent)]
    Ftl(#[from] ftl::Error),
    /// The options contradict each other, or describe something that cannot exist.
    #[error("{0}")]
    Impossible(String),
    /// A request ends beyond the capacity of the device.
    #[error(
        "{trace}: request {number} ends at byte {end}, beyond the capacity of {capacity_bytes} \
         bytes; give a larger `--capacity`, or `--fit wrap` or `--fit compact`"
    )]
    BeyondCapacity {
        /// The trace.
        trace: String,
        /// The number of the request, from 1.
        number: u64,
        /// The end of its last byte; volumes are laid end to end.
        end: u64,
        /// The capacity of the device.
        capacity_bytes: u64,
    },
    /// The run would take more memory than it may.
    #[error(
        "this run would take about {} of memory ({parts}) for a device of {} in pages of {}; the \
         limit is {}{}. {remedy}: `--memory-limit {}` or `unlimited`",
        spec::round_size(*needs_bytes), spec::round_size(*capacity_bytes),
        spec::print_size((*page_bytes).into()), spec::round_size(*limit_bytes),
        of_which_cached(*cache_bytes), spec::print_size(*enough_bytes)
    )]
    TooMuchMemory {
        /// The estimate.
        needs_bytes: u64,
        /// Its largest parts.
        parts: String,
        /// The capacity of the device.
        capacity_bytes: u64,
        /// The page size of the chip.
        page_bytes: u32,
        /// The limit.
        limit_bytes: u64,
        /// The part of the limit that is for cached requests.
        cache_bytes: u64,
        /// What makes the device smaller, if that helps.
        remedy: &'static str,
        /// A limit that is enough.
        enough_bytes: u64,
    },
    /// The FTL returned wrong data or violates an invariant.
    #[error("{ftl}: {mismatch}")]
    Violation {
        /// The scheme.
        ftl: &'static str,
        /// The mismatch.
        mismatch: Mismatch,
    },
    /// A plan has a mistake.
    #[error("{name}:{line}:{column}: {what}")]
    Plan {
        /// The plan.
        name: String,
        /// The line, from 1.
        line: usize,
        /// The character in the line, from 1.
        column: usize,
        /// The mistake.
        what: String,
    },
    /// The journal of a sweep cannot be written or read.
    #[error("cannot read or write {}: {source}", path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Another sweep is writing the journal.
    #[error("another sweep is writing {}; wait for it, or write to another file", path.display())]
    JournalInUse {
        /// The journal.
        path: PathBuf,
    },
    /// The journal changed while this sweep was writing it.
    #[error(
        "{} was deleted or written by another program while this sweep was writing it; start the \
         sweep again",
        path.display()
    )]
    JournalLost {
        /// The journal.
        path: PathBuf,
    },
    /// The journal belongs to another sweep.
    #[error(
        "{} {other}; finish that sweep first, or delete the file to start again", path.display()
    )]
    OtherPlan {
        /// The journal.
        path: PathBuf,
        /// In what the sweep that began it differs.
        other: OtherSweep,
    },
    /// No row of a plan has a trace that exists.
    #[error("{}", no_traces(name, *why))]
    NoTraces {
        /// The trace of the first row.
        name: String,
        /// Why it cannot be read.
        why: NoTrace,
    },
    /// There is no journal beside the file for the rows of a sweep.
    #[error("{}", nothing_to_merge(output))]
    NothingToMerge {
        /// The file for the rows.
        output: PathBuf,
    },
    /// The journals of the shards of a sweep lack rows.
    #[error("{}{}", sentences(warnings), rows_missing(output, *all, rows, shards, *of))]
    RowsMissing {
        /// The file for the rows.
        output: PathBuf,
        /// The number of rows of the plan.
        all: usize,
        /// The missing rows, from 0.
        rows: Vec<usize>,
        /// The numbers of the shards that have them, from 1; empty if no shard was begun.
        shards: Vec<u32>,
        /// The number of shards.
        of: u32,
        /// What the user should know of the journals, such as lines that are damaged.
        warnings: Vec<String>,
    },
    /// The operation log cannot be written.
    #[error("cannot write the operation log: {0}")]
    OpLog(#[source] io::Error),
    /// The timeline cannot be written.
    #[error("cannot write the timeline: {0}")]
    Timeline(#[source] io::Error),
    /// The system provides too few threads.
    #[error("cannot start as many threads as jobs: {0}")]
    Threads(String),
    /// The run was stopped.
    #[error("interrupted")]
    Interrupted,
}

/// Why the trace of a row cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoTrace {
    /// There is none of this name.
    Missing,
    /// It may not be read, or its folder may not.
    Denied,
    /// It is a folder without traces.
    Empty,
}

impl NoTrace {
    /// Why the trace of this name cannot be read; none if its files can be opened.
    pub(crate) fn of(name: &str) -> Option<NoTrace> {
        let opened = |path: &Path| match fs::metadata(path)? {
            // To open a pipe would wait for its writer.
            about if about.is_file() || about.is_dir() => File::open(path).map(drop),
            _ => Ok(()),
        };
        let is_denied = |path: &Path| {
            opened(path).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
        };
        let files = trace::stored_files(name);
        match Path::new(name) {
            path if is_denied(path) || files.iter().any(|file| is_denied(file)) => {
                Some(NoTrace::Denied)
            }
            path if files.is_empty() && path.is_dir() => Some(NoTrace::Empty),
            _ if files.is_empty() => Some(NoTrace::Missing),
            _ => None,
        }
    }
}

/// In what the sweep that began a journal differs from this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OtherSweep {
    /// The version or build of ftlab.
    #[error("was begun by another version or build of ftlab")]
    Build,
    /// The options of its rows, or the names of their traces.
    #[error(
        "was begun with other rows: by another plan, at another scale, or with other names of \
         traces, such as another spelling of their folder"
    )]
    Plan,
    /// The contents of a trace.
    #[error("was begun with other traces: a file of them has changed since, or was or is missing")]
    Traces,
    /// Its first line cannot be read.
    #[error("was begun by an older version of ftlab, or its first line is damaged")]
    Unknown,
}

impl Error {
    /// A policy of a plan is made in Python, and is not here.
    pub(crate) fn no_policy(name: &str) -> Error {
        Error::Impossible(format!(
            "no policy is called `{name}`: policies are made in Python, so run the plan there, \
             with `ftlab.sweep(plan, policies={{\"{name}\": …}})`"
        ))
    }

    /// The exit code of the command: 1 the run failed, 2 wrong usage or an impossible device,
    /// 3 a violation, 130 interrupted.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Chip(error) if !error.is_of_construction() => 1,
            Error::Spec(_) | Error::Chip(_) | Error::Impossible(_) => 2,
            Error::Plan { .. } | Error::OtherPlan { .. } | Error::TooMuchMemory { .. } => 2,
            Error::Trace(error) if error.is_usage() => 2,
            Error::Ftl(
                ftl::Error::Spec(_)
                | ftl::Error::TooFewExtra { .. }
                | ftl::Error::Refused { .. }
                | ftl::Error::Impossible(_),
            ) => 2,
            Error::Ftl(ftl::Error::Guest(fault)) if fault.kind == GuestFaultKind::Invalid => 2,
            Error::Journal { .. } | Error::JournalInUse { .. } => 1,
            Error::JournalLost { .. }
            | Error::NoTraces { .. }
            | Error::RowsMissing { .. }
            | Error::NothingToMerge { .. } => 1,
            Error::OpLog(_) | Error::Timeline(_) | Error::Threads(_) => 1,
            Error::Trace(_) | Error::Ftl(_) | Error::BeyondCapacity { .. } => 1,
            Error::Violation { .. } => 3,
            Error::Interrupted => 130,
        }
    }
}

fn of_which_cached(bytes: u64) -> String {
    match bytes {
        0 => String::new(),
        _ => format!(", of which {} are for cached requests of traces", spec::round_size(bytes)),
    }
}

/// Sentences before another one.
fn sentences(warnings: &[String]) -> String {
    warnings.iter().map(|warning| format!("{warning}. ")).collect()
}

/// The largest number of missing rows that a message lists.
const ROWS_LISTED: usize = 10;

fn rows_missing(output: &Path, all: usize, rows: &[usize], shards: &[u32], of: u32) -> String {
    let listed: Vec<String> = rows.iter().take(ROWS_LISTED).map(usize::to_string).collect();
    let more = if rows.len() > ROWS_LISTED { ", …" } else { "" };
    let (missing, listed) = (rows.len(), listed.join(", "));
    let numbers: Vec<String> = shards.iter().map(u32::to_string).collect();
    let remedy = match shards {
        [] => "Run".to_owned(),
        [shard] => format!("Run shard {shard} of {of} again, or run"),
        _ => format!("Run shards {} of {of} again, or run", numbers.join(",")),
    };
    format!(
        "{missing} of {all} rows are missing beside {}: rows {listed}{more}. {remedy} the missing \
         rows here: the same command without `--merge`",
        output.display()
    )
}

fn no_traces(name: &str, why: NoTrace) -> String {
    let why = match why {
        NoTrace::Missing => {
            return format!(
                "there is no trace `{name}`, and no other row of the plan has one that exists; \
                 names of traces are relative to `--traces`, or to the current folder"
            );
        }
        NoTrace::Denied => format!("the permission to read the trace `{name}` is missing"),
        NoTrace::Empty => format!(
            "no file in the folder `{name}` is a trace: hidden and empty files are left out"
        ),
    };
    format!("{why}; and no other row of the plan has a trace that exists and can be read")
}

fn nothing_to_merge(output: &Path) -> String {
    let name = output.display();
    let state = match output.exists() {
        true => format!("{name} stays as it is; if a merge wrote it, its journals are merged"),
        false => format!("run the shards of the plan first, which keep their rows beside {name}"),
    };
    format!(
        "no journal of a sweep is beside {name}, so there is nothing to merge: {state}. To run all \
         rows here, give the same command without `--merge`"
    )
}
