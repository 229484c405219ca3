//! The tracks of a timeline: processes for the host, the FTL, channels and dies, and in them a
//! track for each place of the queue, each channel and each die.

use std::collections::BTreeSet;
use std::io;

use drive::Profile;
use serde::Serialize;

use crate::run::timeline::format::{Document, Event};

/// The host: places of the queue, and counters of the drive.
pub const HOST: u32 = 1;
/// The FTL: its counters.
pub const FTL: u32 = 2;
/// Channels.
pub const CHANNELS: u32 = 3;
/// Dies.
pub const DIES: u32 = 4;

/// Tracks count from here, because a track with the number of its process is special to viewers.
const FIRST: u32 = 10;

/// The track with this number in its process.
pub fn track(number: impl Into<u32>) -> u32 {
    FIRST.saturating_add(number.into())
}

/// What metadata says.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Label {
    Name(String),
    SortIndex(u32),
}

/// Names the processes, and the tracks of channels and dies.
///
/// # Errors
/// The names cannot be written.
pub fn name_all(out: &mut Document, profile: &Profile) -> io::Result<()> {
    for (pid, name) in [(HOST, "host"), (FTL, "FTL"), (CHANNELS, "channels"), (DIES, "dies")] {
        let args = Label::Name(name.to_owned());
        out.event(&Event::Metadata { name: "process_name", pid, tid: 0, args })?;
        let args = Label::SortIndex(pid);
        out.event(&Event::Metadata { name: "process_sort_index", pid, tid: 0, args })?;
    }
    for channel in 0..profile.channels {
        name(out, CHANNELS, track(channel), format!("channel {channel}"))?;
    }
    let Profile { channels, ways, dies_per_way, .. } = *profile;
    for number in 0..channels * ways * dies_per_way {
        let (way, die) = (number / dies_per_way, number % dies_per_way);
        let (channel, way) = (way / ways, way % ways);
        name(out, DIES, track(number), format!("die {channel}/{way}/{die}"))?;
    }
    Ok(())
}

fn name(out: &mut Document, pid: u32, tid: u32, name: String) -> io::Result<()> {
    let args = Label::Name(name);
    out.event(&Event::Metadata { name: "thread_name", pid, tid, args })?;
    let args = Label::SortIndex(tid);
    out.event(&Event::Metadata { name: "thread_sort_index", pid, tid, args })
}

/// The tracks of the host. They are named when they are first used.
#[derive(Debug, Default)]
pub struct HostTracks {
    named: BTreeSet<u32>,
}

impl HostTracks {
    /// The track of a place in the queue.
    ///
    /// # Errors
    /// Its name cannot be written.
    pub fn of_slot(&mut self, slot: u32, out: &mut Document) -> io::Result<u32> {
        self.named(track(slot.saturating_add(1)), out, || format!("slot {}", slot + 1))
    }

    /// The track of reads from the drive's buffer.
    ///
    /// # Errors
    /// Its name cannot be written.
    pub fn of_buffer(&mut self, out: &mut Document) -> io::Result<u32> {
        self.named(track(0_u32), out, || "reads from the buffer".to_owned())
    }

    fn named(
        &mut self,
        tid: u32,
        out: &mut Document,
        text: impl FnOnce() -> String,
    ) -> io::Result<u32> {
        if self.named.insert(tid) {
            name(out, HOST, tid, text())?;
        }
        Ok(tid)
    }
}
