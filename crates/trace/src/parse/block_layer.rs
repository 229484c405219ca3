//! Events of the Linux block layer, shared by blkparse's text and blktrace's records.
//!
//! An event has an action (such as D, issued) and RWBS, a word of the form `F?(D|W|R|N)F?A?S?M?`:
//! preflush; discard, write, read or none; then FUA, readahead, sync, metadata. A request with
//! preflush and without data is a flush. One with preflush and data stays a single request with
//! [`Flags::PREFLUSH`].

use spec::{Kind, Param};

use crate::error::{Error, Result};
use crate::input::stored_trace::StoredTrace;
use crate::request::{Flags, Op};

pub(crate) static ACTION_PARAMS: &[Param] = &[Param::key(
    "action",
    Kind::Choice(&["Q", "G", "I", "D", "C"]),
    "",
    "the events to replay; default: D (issued) if the file has any, else Q (queued)",
)];

/// The action whose events are replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Replayed {
    pub(crate) action: u8,
    /// Whether it stands in for D, of which the trace has no event.
    stands_in: bool,
}

impl Replayed {
    /// An action that the user has chosen.
    pub(crate) fn given(action: u8) -> Replayed {
        Replayed { action, stands_in: false }
    }

    /// D if it was seen, else Q; an error if neither was.
    pub(crate) fn choose(
        trace: &StoredTrace,
        format: &'static str,
        seen: &[bool; 128],
    ) -> Result<Replayed> {
        let found: Vec<_> = (0..128).filter(|&action| seen[usize::from(action)]).collect();
        match [b'D', b'Q'].into_iter().find(|action| found.contains(action)) {
            Some(action) => Ok(Replayed { action, stands_in: action != b'D' }),
            None => Err(no_events(trace, format, &found)),
        }
    }

    /// What was used, and what is missing.
    pub(crate) fn note(self) -> String {
        let action = char::from(self.action);
        let meaning = match action {
            'Q' => "(queued)",
            'G' => "(request allocated)",
            'I' => "(inserted)",
            'D' => "(issued to the device)",
            _ => "(completed); their times are those of completion",
        };
        let missing = match self.stands_in {
            true => {
                " The trace has no event D (issued to the device): what the kernel merged or \
                 split is not replayed as the device got it."
            }
            false => "",
        };
        format!("The requests are the events with action {action} {meaning}.{missing}")
    }
}

fn no_events(trace: &StoredTrace, format: &'static str, found: &[u8]) -> Error {
    let found = found.iter().map(|&action| char::from(action)).collect();
    Error::NoEvents { name: trace.name().to_owned(), format, found }
}

/// Events that a tracer lost.
#[derive(Clone, Copy, Default)]
pub(crate) struct LostEvents {
    /// Their number.
    pub lost: u64,
    /// The number of events that were not lost; 0 if it is not known.
    pub kept: u64,
}

impl LostEvents {
    /// A sentence about them, if there are any.
    pub(crate) fn note(self) -> Option<String> {
        let LostEvents { lost, kept } = self;
        let percent = 100.0 * lost as f64 / (lost as f64 + kept as f64);
        let share = match kept {
            0 => String::new(),
            _ if percent < 0.1 => " (less than 0.1 %)".to_owned(),
            _ => format!(" ({percent:.1} %)"),
        };
        let (events, were) = if lost == 1 { ("event", "was") } else { ("events", "were") };
        (lost > 0).then(|| {
            format!(
                "{lost} {events}{share} {were} lost when the trace was recorded, so requests are \
                 missing; larger buffers of the tracer keep them."
            )
        })
    }
}

/// The letter of the operation, and the flags, of an RWBS word.
#[inline]
pub(crate) fn rwbs(word: &[u8]) -> Option<(u8, Flags)> {
    let mut flags = Flags::empty();
    let (letter, rest) = match word {
        [b'F', letter @ (b'D' | b'W' | b'R' | b'N' | b'F'), rest @ ..] => {
            flags |= Flags::PREFLUSH;
            (*letter, rest)
        }
        [letter @ (b'D' | b'W' | b'R' | b'N' | b'F'), rest @ ..] => (*letter, rest),
        _ => return None,
    };
    for &letter in rest {
        flags |= match letter {
            b'F' => Flags::FUA,
            b'A' => Flags::READAHEAD,
            b'S' => Flags::SYNC,
            b'M' => Flags::META,
            _ => return None,
        };
    }
    Some((letter, flags))
}

/// The operation that a letter means; `None` for a request that has no data and is not a flush.
#[inline]
pub(crate) fn op_of(letter: u8, flags: Flags, bytes: u64) -> Option<Op> {
    match letter {
        // Newer kernels print a flush request as F.
        b'F' => Some(Op::Flush),
        _ if flags.contains(Flags::PREFLUSH) && (bytes == 0 || letter == b'N') => Some(Op::Flush),
        b'R' => Some(Op::Read),
        b'W' => Some(Op::Write),
        b'D' => Some(Op::Trim),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rwbs_words() {
        assert_eq!(rwbs(b"WSM"), Some((b'W', Flags::SYNC | Flags::META)));
        assert_eq!(rwbs(b"FF"), Some((b'F', Flags::PREFLUSH)));
        assert_eq!(rwbs(b"FWFS").unwrap().1, Flags::PREFLUSH | Flags::FUA | Flags::SYNC);
        assert_eq!(rwbs(b"RAM"), Some((b'R', Flags::READAHEAD | Flags::META)));
        assert_eq!(rwbs(b""), None);
        assert_eq!(rwbs(b"S"), None);
        assert_eq!(op_of(b'N', Flags::empty(), 0), None);
    }
}
