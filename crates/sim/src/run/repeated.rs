//! A pass over the traces that begins again at their end, for runs that end with something else.

use trace::Request;

use crate::error::{Error, Result};
use crate::progress::Stage;
use crate::run::Stages;
use crate::run::pass::Pass;

/// A round of a trace without writes would never end.
pub(super) const NO_WRITES: &str = "the trace writes no page, so rounds of writes would never end; \
                                    lives and `--until` need a trace that writes";

/// A pass that begins again at the end of the trace.
pub(super) struct Repeated<'a> {
    pub pass: Pass<'a, 'static>,
    /// Requests of a batch that belong to the next round.
    held: Vec<Request>,
    /// The time at which the current repetition began.
    began_ns: u64,
    /// The time of the last request.
    last_ns: u64,
    /// Requests of the window that were served.
    pub served: u64,
    /// Whether the trace has begun again.
    pub is_repeated: bool,
    /// Whether the current repetition has written a page.
    pub has_written: bool,
}

impl<'a> Repeated<'a> {
    /// A pass that has not been repeated yet.
    pub fn new(pass: Pass<'a, 'static>) -> Repeated<'a> {
        Repeated {
            has_written: pass.delivered > 0,
            pass,
            held: Vec::new(),
            began_ns: 0,
            last_ns: 0,
            served: 0,
            is_repeated: false,
        }
    }
}

impl<'a> Stages<'a> {
    /// Gets the next requests, up to the one with which the host has written `pages` pages.
    pub(super) fn next_batch(&self, repeated: &mut Repeated<'a>, pages: u64) -> Result<()> {
        match repeated.held.is_empty() {
            true => self.fill(repeated)?,
            false => repeated.pass.batch.replace(core::mem::take(&mut repeated.held)),
        }
        let Repeated { pass, held, .. } = repeated;
        self.cut(pass)?;
        let requests = pass.batch.requests_until(pages);
        if requests < pass.batch.len() {
            *held = pass.batch.split_off(requests);
            self.cut(pass)?;
        }
        Ok(())
    }

    /// Reads the next requests of the trace, at its end those of its beginning.
    fn fill(&self, repeated: &mut Repeated<'a>) -> Result<()> {
        while repeated.pass.fill(u64::MAX)? == 0 {
            if !repeated.has_written {
                // A file that is parsed in each pass may have changed.
                return Err(Error::Impossible(NO_WRITES.into()));
            }
            repeated.pass.order = self.input.order(self.setup, Stage::Measure, self.progress)?;
            repeated.pass.delivered = 0;
            repeated.is_repeated = true;
            (repeated.has_written, repeated.began_ns) = (false, repeated.last_ns);
        }
        let batch = &mut repeated.pass.batch;
        if repeated.began_ns > 0 {
            batch.delay(repeated.began_ns);
        }
        if let Some((_, last)) = batch.requests().last() {
            repeated.last_ns = last.time_ns;
        }
        Ok(())
    }
}
