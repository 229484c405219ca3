//! Sentences that a reader of the figures should know.
//!
//! * `steady_state`  the device was not in a steady state
//! * `growing_queue` requests came faster than they were served
//! * `idle_dies`     most dies of a drive did nothing
//! * `guest`         the FTL comes from outside
//! * `map_cache`     a small cache of the map costs much
//! * `shared`        the notes of several results, each sentence once

mod growing_queue;
mod guest;
mod idle_dies;
mod map_cache;
mod shared;
mod steady_state;

use crate::config::setup::{CONVERTED_DRIVE, Setup};
use crate::result::run_result::RunResult;

pub use shared::SharedNotes;
pub use steady_state::{NOT_STEADY, REPEATED, SWAMPED, read_up_to};

/// The sentences about a result, which is complete except for them.
pub fn of(result: &RunResult, setup: &Setup) -> Vec<String> {
    let notes = steady_state::notes(result, setup);
    let of_time = growing_queue::note(result).into_iter().chain(idle_dies::note(result));
    let of_ftl = map_cache::note(result).into_iter().chain(guest::notes(result, setup));
    notes.into_iter().chain(of_time).chain(of_ftl).collect()
}

/// What a note is about, so that a report can say it beside these numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concern {
    /// The device is not in a steady state, so a longer run has another write amplification.
    State,
    /// The times of requests.
    Times,
    /// Anything else: what was run, and how.
    Run,
}

/// What a note of a result is about.
pub fn concern(note: &str) -> Concern {
    match note {
        _ if steady_state::is_of_state(note) => Concern::State,
        _ if TIMES.iter().any(|start| note.starts_with(start)) => Concern::Times,
        _ => Concern::Run,
    }
}

/// How notes about times begin.
const TIMES: [&str; 5] = [
    growing_queue::START,
    idle_dies::START,
    map_cache::START,
    steady_state::UNMAPPED_READS,
    CONVERTED_DRIVE,
];
