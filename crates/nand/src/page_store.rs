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

use alloc::borrow::Cow;
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
    /// Readable until it [decays](PageStore::decay).
    Unstable,
    /// Programmed completely, but error correction fails in the data area. The spare area can be
    /// read.
    DataLost,
}

/// The spare area of a page as a store returns it.
#[derive(Clone, Debug)]
pub struct SpareRecord<'a> {
    /// The state of the page. A store need not look at the data area: a page that it returns here
    /// as good may turn out as [`Health::DataLost`] when it is loaded.
    pub health: Health,
    /// The header; meaningless in an erased page.
    pub header: Header,
    /// Scheme bytes of the spare area.
    pub extra: Cow<'a, [u8]>,
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

impl SpareRecord<'_> {
    /// A page that is not programmed.
    pub const ERASED: SpareRecord<'static> =
        SpareRecord { health: Health::Erased, header: Header::ERASED, extra: Cow::Borrowed(&[]) };

    /// The state that a reader finds.
    pub fn state(&self) -> PageState {
        state(self.health, &self.header)
    }
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
        state(self.health, &self.header)
    }
}

fn state(health: Health, header: &Header) -> PageState {
    match health {
        Health::Erased | Health::LooksErased => PageState::Erased,
        Health::Torn => PageState::Unreadable,
        Health::Good | Health::Unstable | Health::DataLost => match header {
            Header::Intact(spare) => PageState::Programmed(*spare),
            Header::Damaged(_) => PageState::Unreadable,
        },
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
    /// Pages, blocks and program order of the chip.
    fn geometry(&self) -> &Geometry;

    /// The payload that it keeps: stamps or bytes.
    fn mode(&self) -> Mode;

    /// Reads the spare area of a page.
    ///
    /// # Errors
    /// The storage failed.
    fn load_spare(&self, ppn: Ppn) -> Result<SpareRecord<'_>>;

    /// Reads a page into `page`. Only the health of an erased page has a meaning.
    ///
    /// # Errors
    /// The storage failed.
    fn load(&self, ppn: Ppn, page: &mut PageRecord) -> Result<()>;

    /// Writes a page.
    ///
    /// # Errors
    /// The storage failed; the page may be left torn.
    fn save(&mut self, ppn: Ppn, page: &PageRecord) -> Result<()>;

    /// Reads the page that [`save_copy`](Self::save_copy) is to copy. A store that copies from
    /// place to place leaves the data area of `page` as it is.
    ///
    /// # Errors
    /// The storage failed.
    fn load_to_copy(&self, from: Ppn, page: &mut PageRecord) -> Result<()> {
        self.load(from, page)
    }

    /// Writes a page with the data area of the page that was [loaded](Self::load_to_copy) to
    /// `page`. Health and spare area are those of `page`. A store that copies from place to place
    /// leaves the data area to [`copy_data`](Self::copy_data).
    ///
    /// # Errors
    /// As for [`save`](Self::save).
    fn save_copy(&mut self, to: Ppn, page: &PageRecord) -> Result<()> {
        self.save(to, page)
    }

    /// Copies the data areas of `pages` consecutive pages of one block to consecutive pages of one
    /// block. Every [`save_copy`](Self::save_copy) is followed by it before anybody looks at the
    /// data area. It cannot fail: a store that may fail copies in `save_copy`.
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

    /// Makes all changes so far durable.
    ///
    /// # Errors
    /// The storage failed; what was changed since the last success may be lost.
    fn sync(&mut self) -> Result<()>;

    /// Begins to make all changes so far durable. The caller runs the job and passes its result to
    /// [`end_sync`](Self::end_sync); meanwhile it may use the store in every other way. Without a
    /// job, all changes are durable already.
    ///
    /// The caller guarantees that no other sync is between its begin and its end.
    ///
    /// # Errors
    /// As for [`sync`](Self::sync).
    fn begin_sync(&mut self) -> Result<Option<SyncJob>> {
        self.sync()?;
        Ok(None)
    }

    /// Ends a sync that was begun. From now on, the changes before its begin are durable; later
    /// ones need another sync.
    ///
    /// # Errors
    /// As for [`sync`](Self::sync): its job or a later change has failed.
    fn end_sync(&mut self, done: Result<()>) -> Result<()> {
        done
    }

    /// Makes all changes durable and leaves the storage in order. Nothing is changed afterwards.
    ///
    /// # Errors
    /// As for [`sync`](Self::sync).
    fn close(&mut self) -> Result<()> {
        self.sync()
    }

    /// Changes the health of a page, as a fault does.
    ///
    /// # Errors
    /// The storage failed.
    fn set_health(&mut self, ppn: Ppn, health: Health) -> Result<()>;

    /// Changes the header of a page, as a fault does. Of an erased page it makes a good one.
    ///
    /// # Errors
    /// The storage failed.
    fn set_header(&mut self, ppn: Ppn, header: [u8; HEADER_BYTES]) -> Result<()>;

    /// Marks a block as half erased, as a fault does.
    ///
    /// # Errors
    /// The storage failed.
    fn set_half_erased(&mut self, block: BlockId) -> Result<()>;

    /// Makes all unstable pages unreadable.
    ///
    /// # Errors
    /// The storage failed.
    fn decay(&mut self) -> Result<()>;

    /// The same pages; changes are kept in memory from now on. For reading on after a failure.
    ///
    /// # Errors
    /// The storage failed.
    fn into_view(self: Box<Self>) -> Result<Box<dyn PageStore>>;

    /// An independent store with the same pages.
    ///
    /// # Errors
    /// The storage failed, or its pages cannot be copied.
    fn try_clone(&self) -> Result<Box<dyn PageStore>>;
}
