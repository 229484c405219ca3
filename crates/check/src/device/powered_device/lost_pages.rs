//! Requests that may fail: for pages that the media have lost, and at the end of a device whose FTL
//! handles failures. And what the device must hold then.

use ftl::Error;
use ftl::contract::guest::{GuestFault, GuestFaultKind};
use nand::{BlockId, Media, SectorMask, Stamp};

use super::{PoweredDevice, Result, Stop, unless_stopped};
use crate::finding::{Defect, Finding};
use crate::oracle::{Expect, Oracle};
use crate::workload::host_operation::{Extent, HostOperation};

impl PoweredDevice<'_> {
    /// Tells the oracle which pages the media have lost.
    pub(super) fn note_losses(&mut self) {
        let lost = self.nand.media().map_or(&[][..], Media::lost);
        // A page of the map has an owner beyond them. It can be made again.
        let pages = self.case.dimensions().pages;
        let of_host = lost[self.losses_noted..].iter().filter(|lpn| lpn.0 < pages);
        of_host.for_each(|lpn| self.oracle.lose(lpn.0));
        self.losses_noted = lost.len();
    }

    /// The pages of which the operation writes a part, and whose other sectors may be lost.
    pub(super) fn lost_in_part(&self, operation: HostOperation, before: &Oracle) -> Vec<u32> {
        let full = self.case.dimensions().full();
        let Some(extent) = operation.changed(full) else { return Vec::new() };
        let last = extent.first + extent.pages - 1;
        let mut ends = vec![(extent.first, extent.head), (last, extent.tail)];
        ends.retain(|&(page, mask)| {
            let may_be_lost = |oracle: &Oracle| oracle.may_be_lost(page, Expect::Newest);
            mask != full && (may_be_lost(before) || may_be_lost(&self.oracle))
        });
        ends.into_iter().map(|(page, _)| page).collect()
    }

    /// Whether an operation may end with this error, because a page that it needs is lost. A write
    /// needs the old data of the pages of which it writes a part; a layer finds out at a flush that
    /// sectors in it are lost.
    pub(super) fn is_for_loss(&self, error: &Error, in_part: &[u32]) -> bool {
        match error {
            Error::Lost(_) => !self.case.subject.layers.is_empty() && self.oracle.knows_losses(),
            error => error.is_of_request() && !in_part.is_empty(),
        }
    }

    /// Whether the FTL handles blocks that fail.
    pub(super) fn has_raw_media(&self) -> bool {
        self.nand.media().is_some_and(Media::is_raw)
    }

    /// Whether an FTL that handles failures may refuse to write now: as many blocks are bad as were
    /// added for that.
    pub(super) fn is_at_its_end(&self, error: &Error) -> bool {
        let Error::Guest(GuestFault { kind: GuestFaultKind::ReadOnly, .. }) = error else {
            return false;
        };
        self.bad_blocks().is_some_and(|bad| bad >= self.case.model.media.reserve as usize)
    }

    /// The number of blocks that are bad or have failed, if the FTL handles that.
    fn bad_blocks(&self) -> Option<usize> {
        let media = self.nand.media().filter(|media| media.is_raw())?;
        let blocks = (0..self.nand.geometry().blocks()).map(BlockId);
        let bad = blocks.filter(|&block| self.nand.is_bad(block) || media.has_failed(block));
        Some(bad.count())
    }

    /// A refusal with the number of blocks that are bad, if the FTL handles that.
    pub(super) fn with_bad_blocks(&self, stop: Stop) -> Stop {
        match (stop, self.bad_blocks()) {
            (Stop::Found(found), Some(bad)) if found.defect == Defect::Refused => {
                let reserve = self.case.model.media.reserve;
                let sentence = format!(
                    "{}; bad blocks: {bad}, blocks that were added for them: {reserve}",
                    found.sentence
                );
                Stop::Found(Finding { sentence, ..found })
            }
            (stop, _) => stop,
        }
    }

    /// The operation was refused. A flush has not happened. Of a write, each page has its old value
    /// or its new one; the next checks expect what it has now.
    pub(super) fn settle(
        &mut self,
        operation: HostOperation,
        error: &Error,
        before: &Oracle,
    ) -> Result<(), Stop> {
        let full = self.case.dimensions().full();
        let Some(extent) = operation.changed(full) else { return Ok(()) };
        self.pages_refused += u64::from(extent.pages);
        if matches!(error, Error::Lost(_)) {
            return Ok(());
        }
        let per_page = self.case.dimensions().sectors_per_page;
        for page in extent.first..extent.first + extent.pages {
            let was_lost = before.may_be_lost(page, Expect::Newest);
            let lost = self.read_page(page, Expect::Newest, was_lost)?;
            for (at, sector) in (page * per_page..(page + 1) * per_page).enumerate() {
                let old = before.newest(sector as usize);
                if lost >> at & 1 == 1 || self.buffer.stamps()[at].write() == old {
                    self.oracle.keep(sector, old);
                }
            }
            if lost != 0 {
                self.oracle.lose(page);
            }
        }
        Ok(())
    }

    /// Reads page by page. Returns the pages with sectors that are lost; these sectors look as if
    /// they had their newest values.
    pub(super) fn read_by_page(
        &mut self,
        extent: &Extent,
        expect: Expect,
    ) -> Result<Vec<u32>, Stop> {
        let (mut stamps, mut lost) = (Vec::new(), Vec::new());
        for page in extent.first..extent.first + extent.pages {
            if self.read_page(page, expect, false)? != 0 {
                lost.push(page);
            }
            stamps.extend(self.buffer.stamps());
        }
        self.buffer.set(stamps);
        Ok(lost)
    }

    /// Reads a page into the buffer, sector by sector if it cannot be read as a whole: a layer may
    /// have some of them. Returns the sectors that are lost.
    fn read_page(&mut self, page: u32, expect: Expect, was_lost: bool) -> Result<SectorMask, Stop> {
        let full = self.case.dimensions().full();
        if self.can_read(&Extent::whole(page, 1, full), expect, was_lost)? {
            return Ok(0);
        }
        let mut stamps: Vec<Stamp> = self.oracle.newest_stamps(page).collect();
        let mut lost = 0;
        for (at, stamp) in stamps.iter_mut().enumerate() {
            let sector = 1 << at;
            let one = Extent { first: page, pages: 1, head: sector, tail: sector };
            if self.can_read(&one, expect, was_lost)? {
                *stamp = self.buffer.stamps()[at];
            } else {
                lost |= sector;
            }
        }
        self.buffer.set(stamps);
        Ok(lost)
    }

    /// Reads sectors of one page into the buffer. Returns whether they can be read: they must,
    /// unless a copy of the page may be lost.
    fn can_read(&mut self, one: &Extent, expect: Expect, was_lost: bool) -> Result<bool, Stop> {
        let done = self.read_at_once(one);
        let may_be_lost = was_lost || self.oracle.may_be_lost(one.first, expect);
        match done {
            Err(error) if error.is_of_request() && may_be_lost => Ok(false),
            done => {
                unless_stopped(done, Defect::Unreadable)?;
                self.buffer.take(one)?;
                Ok(true)
            }
        }
    }
}
