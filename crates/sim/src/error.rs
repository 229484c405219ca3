//! What can go wrong with a run. Every message is a sentence with its numbers, and every error
//! knows the code that a command ends with.

use crate::verify::Mismatch;

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
            Error::Trace(error) if error.is_usage() => 2,
            Error::Ftl(
                ftl::Error::Spec(_) | ftl::Error::TooFewExtra { .. } | ftl::Error::Refused { .. },
            ) => 2,
            Error::Trace(_) | Error::Ftl(_) | Error::BeyondCapacity { .. } => 1,
            Error::Violation { .. } => 3,
            Error::Interrupted => 130,
        }
    }
}
