//! A look at a trace before anything is simulated: what it writes, rewrites and discards, how fast,
//! and which questions it can answer.

use std::sync::Arc;

use serde::Serialize;
use trace::analysis::survey::{Survey, survey};
use trace::{RequestTable, Trace, go_on};

use crate::advise::answer::Refusal;
use crate::error::Result;

/// What a trace does.
#[derive(Clone, Debug, Default, Serialize)]
#[expect(missing_docs, reason = "docs/advise.md documents every field")]
pub struct Look {
    pub trace: String,
    pub reads: u64,
    pub writes: u64,
    pub trims: u64,
    pub flushes: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    pub trimmed_bytes: u64,
    /// None if the trace has no times.
    pub span_s: Option<f64>,
    pub page_bytes: u64,
    /// Distinct pages.
    pub touched_pages: u64,
    pub written_pages: u64,
    pub trimmed_pages: u64,
    /// Writes of pages: a request of ten pages counts as ten.
    pub page_writes: u64,
    /// Those to pages that the trace wrote earlier.
    pub rewrites: u64,
    pub volumes: u64,
    pub has_streams: bool,
    /// Sentences about how the trace was read.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// A rate is not extrapolated to years from a shorter trace.
const SHORTEST_S: f64 = 60.0;
/// Seconds of a day.
const DAY_S: f64 = 86_400.0;

impl Look {
    /// Looks at requests in memory, in pages of this size.
    ///
    /// # Errors
    /// The requests cannot be read.
    pub fn at(table: &Arc<RequestTable>, page_bytes: u64) -> Result<Look> {
        let found = survey(&Trace::of_table(table), page_bytes, go_on)?;
        let has_streams = table.has_streams();
        Ok(Look { trace: table.name().to_owned(), has_streams, ..Look::of(&found) })
    }

    fn of(found: &Survey) -> Look {
        let bytes = |bytes: u128| u64::try_from(bytes).unwrap_or(u64::MAX);
        let span_s = (found.requests() > 1 && found.span_ns > 0).then_some(found.span_ns);
        Look {
            reads: found.reads.requests(),
            writes: found.writes.requests(),
            trims: found.trims.requests(),
            flushes: found.flushes,
            read_bytes: bytes(found.reads.bytes()),
            written_bytes: bytes(found.writes.bytes()),
            trimmed_bytes: bytes(found.trims.bytes()),
            span_s: span_s.map(|ns| ns as f64 / 1e9),
            page_bytes: found.page_bytes,
            touched_pages: found.pages.touched,
            written_pages: found.pages.written,
            trimmed_pages: found.pages.trimmed,
            page_writes: found.pages.written + found.pages.rewritten,
            rewrites: found.pages.rewritten,
            volumes: found.devices.len() as u64,
            notes: found.notes.clone(),
            ..Look::default()
        }
    }

    /// Reads and writes.
    pub fn data_requests(&self) -> u64 {
        self.reads + self.writes
    }

    /// Bytes that are written in a day at the mean rate of the trace; none without times.
    pub fn bytes_per_day(&self) -> Option<f64> {
        self.span_s.map(|span_s| self.written_bytes as f64 * DAY_S / span_s)
    }

    /// Days in which a capacity is written once, at the mean rate of the trace.
    pub fn days_to_write(&self, capacity_bytes: u64) -> Option<f64> {
        let per_day = self.bytes_per_day().filter(|&bytes| bytes > 0.0);
        per_day.map(|bytes| capacity_bytes as f64 / bytes)
    }

    /// Why the trace says nothing about a device with this number of extra pages, if it does not.
    ///
    /// On a full device each write makes a page stale, but only a rewrite shows which pages live
    /// short. A trace with fewer rewrites than a drive has extra pages would say how it is
    /// repeated, not how it rewrites.
    pub fn without_collection(&self, extra_pages: u64) -> Option<Refusal> {
        if self.data_requests() == 0 {
            return Some(Refusal::day("The trace has neither reads nor writes.".into()));
        }
        if self.writes == 0 {
            let why = "The trace only reads, so nothing about writing follows from it.";
            return Some(Refusal::day(why.into()));
        }
        if self.rewrites >= extra_pages {
            return None;
        }
        let why = format!(
            "The trace does not reach collection: {} of its {} page writes go to pages that it \
             wrote before, and the extra blocks of the drive hold {extra_pages} pages. Repeated, \
             it would tell how it is repeated",
            self.rewrites, self.page_writes
        );
        let why = format!("{why}, not how the load rewrites its data.");
        Some(match self.seconds_to_collection(extra_pages) {
            Some(seconds) => Refusal::recording(why, seconds),
            None => Refusal::day(why),
        })
    }

    /// Seconds in which the load would rewrite three times the extra pages, at least an hour, if it
    /// rewrites at all.
    fn seconds_to_collection(&self, extra_pages: u64) -> Option<u64> {
        let span_s = self.span_s.filter(|_| self.rewrites > 0)?;
        let seconds = span_s * 3.0 * extra_pages as f64 / self.rewrites as f64;
        Some((seconds / 3600.0).ceil().max(1.0) as u64 * 3600)
    }

    /// Why the trace has no rate, if it has none.
    pub fn without_rate(&self) -> Option<Refusal> {
        match self.span_s {
            None => {
                let why = "The trace has no times, so nothing is known about the rate of its \
                           writes.";
                Some(Refusal::day(why.into()))
            }
            Some(span_s) if span_s < SHORTEST_S => Some(Refusal::day(format!(
                "The trace lasts {span_s:.1} s, which is too short for a rate over years."
            ))),
            Some(_) => None,
        }
    }

    /// Why the trace says nothing about discards, if it does not.
    pub fn without_trims(&self) -> Option<Refusal> {
        (self.trims == 0).then(|| {
            Refusal::with(
                "The trace has no discards.".into(),
                "Mount the file system with `discard`, or run `fstrim` while you record; blktrace \
                 records discards by itself.",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(rewrites: u64) -> Look {
        Look { writes: 100, page_writes: 100, rewrites, span_s: Some(7200.0), ..Look::default() }
    }

    #[test]
    fn a_trace_that_rewrites_less_than_the_spare_is_refused() {
        assert!(look(10).without_collection(10).is_none());
        let refused = look(10).without_collection(11).unwrap();
        assert!(refused.why.contains("10 of its 100 page writes"), "{refused:?}");
        assert!(refused.instead.contains("-w 25200 "), "7 hours: {refused:?}");
        assert!(look(0).without_collection(1).unwrap().instead.contains("-w 86400 "));
        let reads = Look { reads: 5, ..Look::default() };
        assert!(reads.without_collection(0).unwrap().why.contains("only reads"));
    }

    #[test]
    fn a_rate_needs_times_and_a_minute() {
        assert!(look(0).without_rate().is_none());
        for (span_s, why) in [(None, "no times"), (Some(59.0), "59.0 s")] {
            let refused = Look { span_s, ..look(0) }.without_rate().unwrap();
            assert!(refused.why.contains(why), "{refused:?}");
        }
        let look = Look { written_bytes: 7200, ..look(0) };
        assert_eq!(
            (look.bytes_per_day(), look.days_to_write(172_800)),
            (Some(86_400.0), Some(2.0))
        );
    }
}
