//! A timeline to look at: what happened when in a drive, in Chrome's trace-event format.
//!
//! ```text
//! journal of the drive ─▶ tracker ─▶ records ─▶ window ─▶ drawing ─▶ document
//!   FTL's counters ───────────┘
//! ```
//! Each request lies on the track of its place in the queue, so slices on a track never overlap.
//! Each die and each channel has a track. Arrows lead from requests to their operations.
//!
//! * [`tracker`]           follows the journal, and makes records of its entries
//! * [`record`]            something to draw
//! * [`slots`]             places of the queue
//! * [`counters`]          values of counters, thinned
//! * [`first_operations`]  the window of the first operations
//! * [`slowest_requests`]  the windows around the slowest requests
//! * [`drawing`]           from records to events
//! * [`arrows`]            arrows that wait for the slices at their ends
//! * [`tracks`]            processes and tracks, and their names
//! * [`mod@format`]        the events, and the document around them

pub mod arrows;
pub mod counters;
pub mod drawing;
pub mod first_operations;
pub mod format;
pub mod record;
pub mod slots;
pub mod slowest_requests;
pub mod tracker;
pub mod tracks;

use std::io::Write;

use drive::{Drive, Entry, Profile};
use serde::Serialize;

use crate::clock::DRIVE_CAVEAT;
use crate::config::experiment::DEFAULT_DRIVE;
use crate::config::setup::Setup;
use crate::error::{Error, Result};
use crate::run::timeline::drawing::Drawing;
use crate::run::timeline::first_operations::FirstOperations;
use crate::run::timeline::format::Document;
use crate::run::timeline::record::Record;
use crate::run::timeline::slowest_requests::SlowestRequests;
use crate::run::timeline::tracker::{IssuedRequest, Tracker};

/// Where a timeline goes, and what it shows.
pub struct TimelineOutput<'a> {
    /// Receives the document.
    pub out: &'a mut dyn Write,
    /// The part of the measured pass that it shows.
    pub extent: Extent,
}

impl<'a> TimelineOutput<'a> {
    /// The same output for a shorter time.
    pub fn shortened<'b>(self) -> TimelineOutput<'b>
    where
        'a: 'b,
    {
        TimelineOutput { out: self.out, extent: self.extent }
    }
}

/// The part of the measured pass that a timeline shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// From the beginning until N operations have ended.
    FirstOperations(u64),
    /// Around the N slowest requests.
    AroundSlowest(usize),
}

/// A timeline of a measured pass.
pub struct Timeline<'a> {
    tracker: Tracker,
    window: Window,
    drawing: Drawing<'a>,
    about: About,
    extent: Extent,
    /// The request that was issued last.
    issued: IssuedRequest,
    entries: Vec<Entry>,
    records: Vec<Record>,
}

/// Chooses the records that are drawn.
enum Window {
    First(FirstOperations),
    Slowest(Box<SlowestRequests>),
}

/// What is said about a timeline.
#[derive(Debug, Serialize)]
struct About {
    ftlab: &'static str,
    drive: String,
    ftl: String,
    trace: String,
    shows: String,
    caveat: &'static str,
}

/// Refuses a timeline of a run without a drive.
///
/// # Errors
/// Time is serial.
pub fn needs_drive(setup: &Setup) -> Result<&Profile> {
    setup.drive.as_ref().ok_or_else(|| {
        Error::Impossible(
            "a timeline shows what happens in a drive; give `--timing drive` with `--timeline`"
                .into(),
        )
    })
}

impl<'a> Timeline<'a> {
    /// A timeline of the drive from now on. The drive is idle.
    ///
    /// # Errors
    /// Time is serial, or the head cannot be written.
    pub fn new(
        output: TimelineOutput<'a>,
        setup: &Setup,
        drive: &mut Drive,
    ) -> Result<Timeline<'a>> {
        let profile = needs_drive(setup)?;
        drive.keep_journal();
        let TimelineOutput { out, extent } = output;
        let document = Document::new(out).map_err(Error::Timeline)?;
        let drawing = Drawing::new(document, profile, drive.now_ns()).map_err(Error::Timeline)?;
        let window = match extent {
            Extent::FirstOperations(count) => Window::First(FirstOperations::new(count)),
            Extent::AroundSlowest(count) => Window::Slowest(Box::new(SlowestRequests::new(count))),
        };
        let experiment = &setup.experiment;
        Ok(Timeline {
            tracker: Tracker::new(profile.dies() as usize),
            window,
            drawing,
            about: About {
                ftlab: env!("CARGO_PKG_VERSION"),
                drive: experiment.drive.as_deref().unwrap_or(DEFAULT_DRIVE).to_owned(),
                ftl: experiment.ftl.clone(),
                trace: experiment.trace_names().join(" + "),
                shows: String::new(),
                caveat: DRIVE_CAVEAT,
            },
            extent,
            issued: IssuedRequest::default(),
            entries: Vec::new(),
            records: Vec::new(),
        })
    }

    /// Follows the drive until a request was issued.
    ///
    /// # Errors
    /// The timeline cannot be written.
    pub fn issued(&mut self, request: IssuedRequest, drive: &mut Drive) -> Result<()> {
        self.issued = request;
        self.follow(drive)
    }

    /// Follows the drive until it has finished everything, and writes the end. Returns a sentence
    /// if the timeline shows only the beginning of the pass.
    ///
    /// # Errors
    /// The timeline cannot be written.
    pub fn finish(mut self, drive: &mut Drive) -> Result<Option<String>> {
        self.follow(drive)?;
        self.tracker.finish(&mut self.records);
        self.take_records(drive.now_ns())?;
        let Timeline { window, mut drawing, mut about, extent, .. } = self;
        about.shows = shows(&window, extent);
        let note = match window {
            Window::First(first) => first.went_on.then(|| about.shows.clone()),
            Window::Slowest(slowest) => {
                let (records, ranks) = slowest.finish();
                drawing.mark(ranks);
                records.iter().try_for_each(|it| drawing.draw(it)).map_err(Error::Timeline)?;
                None
            }
        };
        drawing.finish(&about).map_err(Error::Timeline)?;
        Ok(note)
    }

    fn follow(&mut self, drive: &mut Drive) -> Result<()> {
        let mut entries = core::mem::take(&mut self.entries);
        drive.drain_journal(&mut entries);
        for entry in entries.drain(..) {
            if let Window::Slowest(slowest) = &mut self.window {
                slowest.follow(&entry);
            }
            self.tracker.follow(&entry, &self.issued, &mut self.records);
        }
        self.entries = entries;
        self.take_records(drive.now_ns())
    }

    /// Lets the window choose among the records.
    fn take_records(&mut self, now_ns: u64) -> Result<()> {
        match &mut self.window {
            Window::First(first) => {
                for record in self.records.drain(..).filter(|record| first.takes(record)) {
                    self.drawing.draw(&record).map_err(Error::Timeline)?;
                }
            }
            Window::Slowest(slowest) => {
                self.records.drain(..).for_each(|record| slowest.take(record));
                slowest.retire(now_ns);
            }
        }
        Ok(())
    }
}

/// The sentence about what a timeline shows.
fn shows(window: &Window, extent: Extent) -> String {
    let went_on = matches!(window, Window::First(first) if first.went_on);
    match extent {
        Extent::FirstOperations(count) if went_on => format!(
            "The timeline shows the first {count} operations; the run went on after them \
             (`--timeline-operations` shows more)."
        ),
        Extent::FirstOperations(_) => "The timeline shows the whole measured pass.".into(),
        Extent::AroundSlowest(count) => format!(
            "The timeline shows the {count} slowest requests, with 5 ms before the issue and 5 ms \
             after the answer of each."
        ),
    }
}
