//! An answer, or the reason why the trace gives none.

use serde::Serialize;

/// An answer to a question about a trace.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer<T> {
    /// The trace answers.
    Found(T),
    /// It does not.
    Refused(Refusal),
}

/// Why a trace does not answer, and what to record instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// A sentence that says why.
    pub why: String,
    /// A sentence that says what to record.
    pub instead: String,
}

impl<T> Answer<T> {
    /// The answer, if there is one.
    pub fn found(&self) -> Option<&T> {
        match self {
            Answer::Found(answer) => Some(answer),
            Answer::Refused(_) => None,
        }
    }

    /// The reason why there is none.
    pub fn refused(&self) -> Option<&Refusal> {
        match self {
            Answer::Found(_) => None,
            Answer::Refused(refusal) => Some(refusal),
        }
    }

    /// The answer that `question` finds, unless the trace cannot answer.
    ///
    /// # Errors
    /// That of `question`.
    pub fn unless<E>(
        refusal: Option<Refusal>,
        question: impl FnOnce() -> Result<T, E>,
    ) -> Result<Answer<T>, E> {
        match refusal {
            Some(refusal) => Ok(Answer::Refused(refusal)),
            None => question().map(Answer::Found),
        }
    }
}

/// The command that records a load with blktrace: requests as they are issued to the device.
fn record(seconds: u64) -> String {
    format!("`blktrace -d /dev/DEVICE -a issue -w {seconds} -o load`, then `ftlab advise load`")
}

/// Seconds of a day.
const DAY_S: u64 = 86_400;

impl Refusal {
    /// A refusal with this reason, and the advice to record a day.
    pub fn day(why: String) -> Refusal {
        Refusal::recording(why, DAY_S)
    }

    /// A refusal with this reason, and the advice to record for this time.
    pub fn recording(why: String, seconds: u64) -> Refusal {
        Refusal { why, instead: format!("Record with {}.", record(seconds)) }
    }

    /// A refusal with this reason, and this advice.
    pub fn with(why: String, instead: &str) -> Refusal {
        Refusal { why, instead: instead.to_owned() }
    }
}
