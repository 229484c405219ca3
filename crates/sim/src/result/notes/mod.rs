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

use crate::config::setup::Setup;
use crate::result::run_result::RunResult;

pub use shared::SharedNotes;

/// The sentences about a result, which is complete except for them.
pub fn of(result: &RunResult, setup: &Setup) -> Vec<String> {
    let notes = steady_state::notes(result, setup);
    let of_time = growing_queue::note(result).into_iter().chain(idle_dies::note(result));
    let of_ftl = map_cache::note(result).into_iter().chain(guest::notes(result, setup));
    notes.into_iter().chain(of_time).chain(of_ftl).collect()
}
