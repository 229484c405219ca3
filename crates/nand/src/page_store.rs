//! The storage behind a chip: the bytes, the spare area and the health of every page.
//!
//! ```text
//! FlashArray ── rules of flash, owners, fill levels
//!     └─ StoredPages ── composes pages, checks spare areas
//!            └─ PageStore ── keeps page records:  MemoryStore, …
//! ```
//! A store keeps what it is given and gives it back; it knows no rule of flash. Everything that a
//! chip must remember without power lies in its store, so [`FlashArray::from_store`] can rebuild a
//! chip from it. A chip in count mode has no store.
//!
//! [`FlashArray::from_store`]: crate::FlashArray::from_store

use core::any::Any;

use crate::address::{BlockId, Ppn};
use crate::cells::Cells;
use crate::error::Result;
use crate::geometry::Geometry;
use crate::payload::Mode;
use crate::spare::{HEADER_BYTES, Header, PageState, Spare};

/// The physical state of a page. Readers see only part of it: [`PageState`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// Not programmed since the last erase of its block.
    Erased,
    /// Programmed completely.
    Good,
    /// Programmed in part, or damaged: nothing can be read.
    Torn,
    /// Programmed in part, but every bit still reads as one.
    LooksErased,
    /// Readable until it [decays](Fault::Decay).
    Unstable,
    /// Programmed completely, but error correction fails in the data area. The spare area can be
    /// read.
    DataLost,
}

impl Health {
    /// All states in the order of their numbers.
    pub(crate) const ALL: [Health; 6] = [
        Health::Erased,
        Health::Good,
        Health::Torn,
        Health::LooksErased,
        Health::Unstable,
        Health::DataLost,
    ];
}

/// A page, spare area and data area, on its way into or out of a store.
#[derive(Clone, Debug)]
pub struct PageRecord {
    /// The state of the page.
    pub health: Health,
    /// The header; meaningless in an erased page.
    pub header: Header,
    /// Scheme bytes of the spare area.
    pub extra: Vec<u8>,
    /// Sectors of the host in the data area: one page of cells.
    pub cells: Cells,
    /// Metadata of the FTL in the data area. It never needs more room than the sectors leave.
    pub meta: Vec<u8>,
}

impl PageRecord {
    /// An erased page without any memory of its own yet.
    pub fn new(mode: Mode) -> PageRecord {
        PageRecord {
            health: Health::Erased,
            header: Header::ERASED,
            extra: Vec::new(),
            cells: Cells::new(mode, 0, 0),
            meta: Vec::new(),
        }
    }

    /// Makes this a page without metadata and with all sectors zero.
    pub(crate) fn clear(&mut self, sectors_per_page: u32) {
        self.meta.clear();
        self.cells.clear_to_page(sectors_per_page);
    }

    /// Sets the spare area and marks the page as completely programmed.
    pub(crate) fn set_spare(&mut self, spare: Spare, extra: &[u8]) {
        self.extra.clear();
        self.extra.extend_from_slice(extra);
        self.renew_header(spare);
    }

    /// Changes the header and keeps the scheme bytes.
    pub(crate) fn renew_header(&mut self, spare: Spare) {
        self.health = Health::Good;
        self.header = Header::Intact(spare);
    }

    /// Marks a page that was programmed completely as one whose data are lost.
    pub(crate) fn lose_data(&mut self, sectors_per_page: u32) {
        self.clear(sectors_per_page);
        self.health = Health::DataLost;
    }

    /// The state that a reader of the spare area finds.
    pub fn state(&self) -> PageState {
        match self.health {
            Health::Erased | Health::LooksErased => PageState::Erased,
            Health::Torn => PageState::Unreadable,
            Health::Good | Health::Unstable | Health::DataLost => match self.header {
                Header::Intact(spare) => PageState::Programmed(spare),
                Header::Damaged(_) => PageState::Unreadable,
            },
        }
    }
}

/// The part of a block's state that its pages do not show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockRecord {
    /// Erases since the block was made.
    pub erases: u32,
    /// Whether a power cut interrupted the last erase; the next erase repairs it.
    pub half_erased: bool,
}

/// What a store keeps.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Pages, blocks and program order of the chip.
    pub geometry: Geometry,
    /// The payload: stamps or bytes.
    pub mode: Mode,
    /// Whether the store takes the data areas of consecutive pages at once, apart from their spare
    /// areas: [lent](Area::Lent), or [copied](PageStore::copy_data) from other pages.
    pub takes_runs: bool,
}

/// The part of a page that is loaded or saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// The spare area.
    Spare,
    /// Spare area and data area.
    Whole,
    /// The same. A store that has the data area in memory as bytes may lend it instead of copying
    /// it into the page.
    Lent,
}

/// The data area that is saved with a spare area.
#[derive(Clone, Copy, Debug)]
pub enum Area<'a> {
    /// None. It came with the page before, or follows by [`PageStore::copy_data`] before the next
    /// load of the page.
    Apart,
    /// Cells and metadata of the record.
    Recorded,
    /// These bytes, and no metadata. More than a page of them are those of the next pages, too,
    /// whose spare areas follow.
    Lent(&'a [u8]),
}

/// What a fault does to a store.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// A page gets another health.
    Health(Ppn, Health),
    /// A page gets another header. An erased page becomes a good one.
    Header(Ppn, [u8; HEADER_BYTES]),
    /// A block counts as half erased.
    HalfErased(BlockId),
    /// All unstable pages become unreadable.
    Decay,
}

/// Who does the slow part of a sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncBy {
    /// The store, before it returns.
    Store,
    /// The caller, who gets it as a job.
    Caller,
}

/// The slow part of a sync. Another thread may do it, while the owner of the store goes on.
pub type SyncJob = Box<dyn FnOnce() -> Result<()> + Send>;

/// A keeper of pages.
///
/// The chip guarantees that pages and blocks exist, that it saves a page once between two erases of
/// its block, and that records have the mode and the page size of the store.
///
/// A page that cannot be read is an [`Error::ReadFailed`](crate::Error::ReadFailed), every other
/// error an [`Error::Storage`](crate::Error::Storage). A damaged page is no error: the store
/// returns it with [`Health::Torn`] or, if its spare area is whole, [`Health::DataLost`].
pub trait PageStore: Any + Send {
    /// What it keeps. It never changes.
    fn shape(&self) -> Shape;

    /// Reads a page into `page`. Only the health of an erased page has a meaning. Of a spare area
    /// alone it leaves cells and metadata of `page` as they are, and it need not look at the data
    /// area: a page that is good by its spare area may turn out as [`Health::DataLost`]. Returns
    /// the data area if it was to be [lent](Extent::Lent) and is.
    ///
    /// # Errors
    /// The storage failed.
    fn load(&self, ppn: Ppn, page: &mut PageRecord, extent: Extent) -> Result<Option<&[u8]>>;

    /// Writes a page: the spare area of the record, and a data area. A spare area is written alone
    /// only if the store [takes runs](Shape::takes_runs), and bytes are lent only to a store that
    /// keeps bytes.
    ///
    /// # Errors
    /// The storage failed; the page may be left torn.
    fn save(&mut self, ppn: Ppn, page: &PageRecord, area: Area) -> Result<()>;

    /// Copies the data areas of `pages` consecutive pages of one block to consecutive pages of one
    /// block, whose spare areas were saved. It cannot fail: a store that may fail does not
    /// [take runs](Shape::takes_runs), and the chip never calls this.
    fn copy_data(&mut self, _from: Ppn, _to: Ppn, _pages: u32) {}

    /// Erases a block and counts the erase. A half-erased block is whole again.
    ///
    /// # Errors
    /// The storage failed; the block may be left half erased.
    fn erase(&mut self, block: BlockId) -> Result<()>;

    /// The state of a block apart from its pages.
    ///
    /// # Errors
    /// The storage failed.
    fn block(&self, block: BlockId) -> Result<BlockRecord>;

    /// Makes all changes so far durable. If the slow part is left to the caller, the caller runs
    /// the job and passes its result to [`end_sync`](Self::end_sync); meanwhile the store may be
    /// used in every other way, and may sync by itself. Without a job, all changes are durable
    /// already.
    ///
    /// The caller guarantees that no other sync by the caller has begun and not ended.
    ///
    /// # Errors
    /// The storage failed; what was changed since the last success may be lost.
    fn sync(&mut self, by: SyncBy) -> Result<Option<SyncJob>>;

    /// Ends a sync of the caller. From now on, the changes before its begin are durable; later ones
    /// need another sync.
    ///
    /// # Errors
    /// As for [`sync`](Self::sync): its job or a later change has failed.
    fn end_sync(&mut self, done: Result<()>) -> Result<()> {
        done
    }

    /// Changes pages or a block as a fault does.
    ///
    /// # Errors
    /// The storage failed.
    fn inject(&mut self, fault: Fault) -> Result<()>;

    /// Whether any page is [unstable](Health::Unstable).
    ///
    /// # Errors
    /// The storage failed.
    fn has_unstable(&self) -> Result<bool> {
        let Shape { geometry, mode, .. } = self.shape();
        let mut page = PageRecord::new(mode);
        for ppn in (0..geometry.pages()).map(Ppn) {
            self.load(ppn, &mut page, Extent::Spare)?;
            if page.health == Health::Unstable {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// An independent store with the same pages.
    ///
    /// # Errors
    /// The storage failed, or its pages cannot be copied.
    fn try_clone(&self) -> Result<Box<dyn PageStore>>;

    /// A store with the same pages that keeps its changes in memory. This one must not be changed
    /// while the other is in use.
    ///
    /// # Errors
    /// As for [`try_clone`](Self::try_clone).
    fn view(&self) -> Result<Box<dyn PageStore>> {
        self.try_clone()
    }
}

/// The spare area of a page of a store, in a record of its own.
///
/// # Errors
/// The storage failed.
pub fn load_spare(store: &dyn PageStore, ppn: Ppn) -> Result<PageRecord> {
    let mut page = PageRecord::new(store.shape().mode);
    store.load(ppn, &mut page, Extent::Spare)?;
    Ok(page)
}
