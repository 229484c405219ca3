//! What can go wrong with a run. Every message is a sentence with its numbers, and every error
//! knows the code that a command ends with.

use std::io;
use std::path::PathBuf;

use crate::mismatch::Mismatch;

/// The result of a simulation's step.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an experiment cannot be run, or was not run to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option's value.
    #[error(transparent)]
    Spec(#[from] spec::Error),
    /// A chip that cannot be built.
    #[error(transparent)]
    Chip(#[from] nand::Error),
    /// A trace that cannot be read or made.
    #[error(transparent)]
    Trace(#[from] trace::Error),
    /// A device that the scheme refuses, or a scheme that gave up.
    #[error(transparent)]
    Ftl(#[from] ftl::Error),
    /// An experiment that contradicts itself.
    #[error("{0}")]
    Impossible(String),
    /// Option `--timing parallel`.
    #[error(
        "there is no parallel clock yet: serial time ranks FTLs, as the papers use it; it does not \
         predict the latency of an SSD with channels and queues. Take `--timing serial`"
    )]
    ParallelTiming,
    /// A request that the device has no room for.
    #[error(
        "{trace}: request {number} ends at byte {end}, beyond the capacity of {capacity_bytes} \
         bytes; give a larger `--capacity`, or `--fit wrap` or `--fit compact`"
    )]
    BeyondCapacity {
        /// The trace.
        trace: String,
        /// The request, counted from 1.
        number: u64,
        /// The byte behind its last one, volumes laid end to end.
        end: u64,
        /// What the device has.
        capacity_bytes: u64,
    },
    /// The FTL returned what it was not given, or contradicts itself.
    #[error("{ftl}: {mismatch}")]
    Violation {
        /// The scheme.
        ftl: &'static str,
        /// What was found.
        mismatch: Mismatch,
    },
    /// A plan that says what cannot be meant.
    #[error("{name}:{line}:{column}: {what}")]
    Plan {
        /// The plan.
        name: String,
        /// The line, from 1.
        line: usize,
        /// The character in the line, from 1.
        column: usize,
        /// What is wrong.
        what: String,
    },
    /// The journal of a sweep cannot be written or read.
    #[error("cannot write {}: {source}", path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Somebody else writes the journal.
    #[error("another sweep is writing {}; wait for it, or write to another file", path.display())]
    JournalInUse {
        /// The journal.
        path: PathBuf,
    },
    /// A journal that was begun by another plan.
    #[error(
        "{} was begun by another plan, another version of ftlab, or with other traces; finish that \
         sweep as it was begun, or delete the file and begin anew",
        path.display()
    )]
    OtherPlan {
        /// The journal.
        path: PathBuf,
    },
    /// The log of operations cannot be written.
    #[error("cannot write the log of operations: {0}")]
    OpLog(#[source] io::Error),
    /// The system gives no threads.
    #[error("cannot start as many threads as jobs: {0}")]
    Threads(String),
    /// Somebody asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// The code that a command ends with: 1 the run failed, 2 wrong usage or an impossible device,
    /// 3 a violation, 130 interrupted.
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Spec(_) | Error::Chip(_) | Error::Impossible(_) | Error::ParallelTiming => 2,
            Error::Plan { .. } | Error::OtherPlan { .. } => 2,
            Error::Trace(error) if error.is_usage() => 2,
            Error::Ftl(
                ftl::Error::Spec(_) | ftl::Error::TooFewExtra { .. } | ftl::Error::Refused { .. },
            ) => 2,
            Error::Journal { .. } | Error::JournalInUse { .. } => 1,
            Error::OpLog(_) | Error::Threads(_) => 1,
            Error::Trace(_) | Error::Ftl(_) | Error::BeyondCapacity { .. } => 1,
            Error::Violation { .. } => 3,
            Error::Interrupted => 130,
        }
    }
}
