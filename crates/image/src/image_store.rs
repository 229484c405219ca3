//! An open image, as the storage of a chip.
//!
//! ```text
//! change   page bytes ──▶ slot     operation ──▶ buffer
//! sync     buffer ──▶ frames of the journal, then one sync of the file; another thread may do it
//! journal full     block table ──▶ sync ──▶ superblock ──▶ sync ──▶ its copy ──▶ sync
//! ```
//! After a write or a sync that failed, nothing can be changed any more and no sync succeeds. Pages
//! can still be read.

use std::cell::RefCell;
use std::io;
use std::path::Path;

use nand::page_store::{
    Area, BlockRecord, Extent, Fault, Health, PageRecord, PageStore, Shape, SyncBy, SyncJob,
};
use nand::payload::Mode;
use nand::spare::{HEADER_BYTES, Header};
use nand::{BlockId, Cells, MemoryStore, Ppn};

use crate::error::Result;
use crate::format::block_table::BlockTable;
use crate::format::checksum::checksum;
use crate::format::journal::{Entry, Frame, Operation};
use crate::format::layout::{FRAME_ENTRIES, Layout, SUPERBLOCK_BYTES};
use crate::format::page_codec::{self, Encoded, Record};
use crate::format::superblock::Superblock;
use crate::medium::Medium;
use crate::medium::disk_file::DiskFile;
use crate::medium::view::View;
use crate::recipe::Recipe;
use crate::recovery::{Recovered, recover};
use crate::salvage::{Damage, salvage};
use crate::slots::Slots;

/// An open image.
pub struct ImageStore {
    medium: Box<dyn Medium>,
    layout: Layout,
    superblock: Superblock,
    /// The copy of the superblock that is known to be whole and current.
    copy: usize,
    /// The chip after the last operation.
    table: BlockTable,
    slots: Slots,
    /// The last operation.
    operation: u64,
    /// The last operation that is durable.
    durable: u64,
    /// The last operation that the file says to be durable.
    settled: u64,
    /// The latest operations, which are in no frame yet.
    buffer: Vec<Operation>,
    /// The next frame of the journal.
    frame: u32,
    /// Whether the file was changed since it was opened.
    writing: bool,
    /// What the journal promises, durable or not.
    journal: Promise,
    /// What the journal promised when the pending sync began; none if no sync is pending.
    pending: Option<Promise>,
    /// Whether all of the file is durable, as far as is known, or will be after the pending sync.
    synced: bool,
    /// Whether this kind of file gives space back.
    punches: bool,
    /// Why nothing can be changed any more.
    failed: Option<String>,
    /// A page on its way to the file.
    encoded: Encoded,
    records: RefCell<Records>,
}

/// What frames of the journal promise when they are durable.
#[derive(Clone, Copy, Debug)]
struct Promise {
    /// The journal has all operations up to this one.
    operation: u64,
    /// It says that all operations up to this one are durable.
    durable: u64,
}

impl Promise {
    /// That of a blank journal after this operation.
    fn blank(operation: u64) -> Promise {
        Promise { operation, durable: operation }
    }
}

/// The page records of one slot. A scan of spare areas reads them together.
#[derive(Default)]
struct Records {
    slot: Option<u32>,
    bytes: Vec<u8>,
}

impl ImageStore {
    /// Opens an image. Nothing is written before the first change of the chip.
    ///
    /// # Errors
    /// The file is no image, is damaged, or cannot be read.
    pub fn open(medium: Box<dyn Medium>) -> Result<ImageStore> {
        let recovered = recover(&*medium)?;
        Ok(ImageStore::new(medium, recovered))
    }

    /// Opens a damaged image as far as that is possible, without ever changing it: changes are kept
    /// in memory. Returns what is damaged. A page whose bytes are damaged is in
    /// [`damaged_pages`](Self::damaged_pages).
    ///
    /// # Errors
    /// The file is no image, its superblocks are both damaged, it ends before its first page, or
    /// the disk fails.
    pub fn salvage(medium: Box<dyn Medium>) -> Result<(ImageStore, Vec<Damage>)> {
        let (recovered, damages) = salvage(&*medium)?;
        Ok((ImageStore::new(Box::new(View::of(medium)?), recovered), damages))
    }

    fn new(medium: Box<dyn Medium>, recovered: Recovered) -> ImageStore {
        let Recovered { superblock, copy, table, operation } = recovered;
        let layout = superblock.layout();
        ImageStore {
            slots: Slots::new(&layout, &table, !superblock.clean),
            durable: superblock.operation,
            settled: superblock.operation,
            journal: Promise::blank(superblock.operation),
            pending: None,
            synced: superblock.clean,
            buffer: Vec::new(),
            frame: 0,
            writing: false,
            punches: true,
            failed: None,
            encoded: Encoded::default(),
            records: RefCell::default(),
            medium,
            layout,
            superblock,
            copy,
            table,
            operation,
        }
    }

    /// Opens the image in a file.
    ///
    /// # Errors
    /// As for [`open`](Self::open), or the file is in use.
    pub fn open_at(path: &Path) -> Result<ImageStore> {
        ImageStore::open(Box::new(DiskFile::open(path)?))
    }

    /// The same image on a copy of its file.
    fn copy_on(&self, medium: Box<dyn Medium>) -> ImageStore {
        ImageStore {
            medium,
            superblock: self.superblock.clone(),
            table: self.table.clone(),
            slots: self.slots.clone(),
            buffer: self.buffer.clone(),
            failed: self.failed.clone(),
            synced: self.is_synced(),
            pending: None,
            encoded: Encoded::default(),
            records: RefCell::default(),
            ..*self
        }
    }

    /// The file, without a further sync.
    pub fn into_medium(self) -> Box<dyn Medium> {
        self.medium
    }

    /// What the image was made for.
    pub fn recipe(&self) -> &Recipe {
        &self.superblock.recipe
    }

    /// The name of this image among all.
    pub fn uuid(&self) -> [u8; 16] {
        self.superblock.uuid
    }

    /// Where things are in the file.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Whether the image was closed in order, and not changed since.
    pub fn is_clean(&self) -> bool {
        self.superblock.clean
    }

    /// The number of the last change of the chip: a program, an erase or a fault.
    pub fn operation(&self) -> u64 {
        self.operation
    }

    /// How often the head of the file was changed.
    pub fn generation(&self) -> u64 {
        self.superblock.generation
    }

    /// The pages whose bytes are damaged, with the part that is: the record, which holds the spare
    /// area, or the data area. Data areas are looked at only if `with_data`. A page that a power
    /// cut has torn is not damaged.
    pub fn damaged_pages(&self, with_data: bool) -> impl Iterator<Item = (Ppn, PagePart)> + '_ {
        let pages = (0..self.layout.geometry.pages()).map(Ppn);
        let whole = pages.filter(|ppn| damaged(self.table.health(*ppn)) != self.table.health(*ppn));
        whole.filter_map(move |ppn| Some((ppn, self.damage_of(ppn, with_data)?)))
    }

    /// The positions of a page's data area and of its record in the file; none if it was not
    /// written since its block was erased.
    pub fn places(&self, ppn: Ppn) -> Option<(u64, u64)> {
        let slot = self.table.slot(self.layout.geometry.block_of(ppn))?;
        Some((self.layout.data(slot, ppn), self.layout.record(slot, ppn)))
    }

    fn damage_of(&self, ppn: Ppn, with_data: bool) -> Option<PagePart> {
        let Ok(Some(Found { slot, record })) = self.look(ppn) else {
            return Some(PagePart::Record);
        };
        let Some(record) = Record::check(&record, &self.layout.geometry, ppn) else {
            return Some(PagePart::Record);
        };
        let mut data =
            vec![0; if with_data { self.layout.geometry.page_bytes() as usize } else { 0 }];
        let read = self.medium.read_at(&mut data, self.layout.data(slot, ppn));
        (with_data && !(read.is_ok() && record.fits(&data))).then_some(PagePart::Data)
    }

    // ---- Changes ---------------------------------------------------------------------------

    /// Makes a change. After a failure no other is made.
    fn change<T>(&mut self, act: impl FnOnce(&mut Self) -> io::Result<T>) -> nand::Result<T> {
        if let Some(why) = &self.failed {
            let why = format!("the image can only be read since an earlier failure: {why}");
            return Err(nand::Error::Storage(why));
        }
        act(self).map_err(|error| {
            self.failed = Some(error.to_string());
            storage(error)
        })
    }

    /// Makes a change that consists of one operation and no page.
    fn note(&mut self, operation: Operation) -> nand::Result<()> {
        self.change(|image| {
            image.prepare()?;
            image.perform(operation)
        })
    }

    /// Makes sure that the file may be changed, and that the journal has room for an operation.
    fn prepare(&mut self) -> io::Result<()> {
        let frames = (self.buffer.len() + 1).div_ceil(FRAME_ENTRIES) as u32;
        if !self.writing || self.frame + frames > self.layout.room.frames {
            self.write_table(false)?;
            self.writing = true;
        }
        Ok(())
    }

    /// Performs a prepared operation.
    fn perform(&mut self, operation: Operation) -> io::Result<()> {
        let entry = Entry { number: self.operation + 1, operation };
        self.table.apply(&entry).map_err(io::Error::other)?;
        self.operation = entry.number;
        self.buffer.push(operation);
        Ok(())
    }

    fn program(&mut self, ppn: Ppn, page: &PageRecord, area: Area) -> io::Result<()> {
        let cells = match (area, &page.cells) {
            (Area::Lent(bytes), _) => bytes,
            (_, Cells::Bytes(bytes)) => bytes,
            _ => panic!("an image keeps bytes"),
        };
        let slot = self.slot_for(ppn)?;
        self.prepare()?;
        let mut encoded = std::mem::take(&mut self.encoded);
        page_codec::encode(&self.layout, self.operation + 1, ppn, page, cells, &mut encoded)
            .map_err(io::Error::other)?;
        self.synced = false;
        self.medium.write_at(&encoded.data, self.layout.data(slot, ppn))?;
        self.write_record(slot, ppn, page.health, &encoded.record)?;
        self.encoded = encoded;
        Ok(())
    }

    /// Writes a page record, behind its data, and performs the operation.
    fn write_record(
        &mut self,
        slot: u32,
        ppn: Ppn,
        health: Health,
        record: &[u8],
    ) -> io::Result<()> {
        self.records.get_mut().slot = None;
        self.medium.write_at(record, self.layout.record(slot, ppn))?;
        let record_crc = page_codec::record_crc(record);
        self.perform(Operation::Program { ppn, health, slot, record_crc })
    }

    /// The slot of a page's block. A block without pages takes a free one, for which the erases of
    /// other blocks may have to be settled.
    fn slot_for(&mut self, ppn: Ppn) -> io::Result<u32> {
        if let Some(slot) = self.table.slot(self.layout.geometry.block_of(ppn)) {
            return Ok(slot);
        }
        self.prepare()?;
        if let Some(slot) = self.slots.take() {
            return Ok(slot);
        }
        self.commit()?;
        if let Some(slot) = self.slots.take() {
            return Ok(slot);
        }
        self.settle()?;
        self.slots.take().ok_or_else(|| io::Error::other("no slot of the image is free"))
    }

    /// Replaces a header in place. All earlier operations are settled before, so that a crash can
    /// at most make this page unreadable.
    fn replace_header(&mut self, ppn: Ppn, header: [u8; HEADER_BYTES]) -> io::Result<()> {
        self.prepare()?;
        self.commit()?;
        self.settle()?;
        self.prepare()?;
        self.synced = false;
        match self.look(ppn)? {
            Some(Found { slot, record })
                if Record::check(&record, &self.layout.geometry, ppn).is_some() =>
            {
                let record = page_codec::with_header(&record, &header);
                self.write_record(slot, ppn, self.table.health(ppn), &record)
            }
            _ => {
                let blank = PageRecord::new(Mode::Bytes);
                let header = Header::of_bytes(header, ppn, &blank.extra);
                let page = PageRecord { health: Health::Good, header, ..blank };
                self.program(ppn, &page, Area::Recorded)
            }
        }
    }

    // ---- Durability ------------------------------------------------------------------------

    /// Makes all operations durable, with one sync. It does not rely on a pending one.
    fn commit(&mut self) -> io::Result<()> {
        self.write_buffer()?;
        if self.is_synced() {
            return Ok(());
        }
        self.sync_medium()?;
        self.keep(self.journal)
    }

    /// Whether all of the file is durable already.
    fn is_synced(&self) -> bool {
        self.synced && self.pending.is_none()
    }

    /// Begins to make all operations durable; nothing is to be done if they are.
    fn begin(&mut self) -> io::Result<Option<SyncJob>> {
        self.write_buffer()?;
        if self.synced {
            return Ok(None);
        }
        self.pending = Some(self.journal);
        self.synced = true;
        let job = self.medium.begin_sync();
        Ok(Some(Box::new(move || job().map_err(storage))))
    }

    /// Writes the buffered operations to the journal.
    fn write_buffer(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::new();
        let mut first = self.operation + 1 - self.buffer.len() as u64;
        for operations in self.buffer.chunks(FRAME_ENTRIES) {
            let generation = self.superblock.generation;
            bytes.extend(Frame::encode(generation, first, self.durable, operations));
            first += operations.len() as u64;
        }
        self.append(&bytes, self.buffer.len().div_ceil(FRAME_ENTRIES) as u32)?;
        self.buffer.clear();
        self.journal = Promise { operation: self.operation, durable: self.durable };
        Ok(())
    }

    /// Notes that frames with this promise are durable. A later sync, or a new journal, may have
    /// made more durable.
    fn keep(&mut self, promise: Promise) -> io::Result<()> {
        if promise.operation <= self.durable && promise.durable <= self.settled {
            return Ok(());
        }
        self.durable = self.durable.max(promise.operation);
        self.settled = self.settled.max(promise.durable);
        self.slots.settle(self.settled);
        self.punch(false)
    }

    /// Lets the file say that all durable operations are durable. The buffer is empty.
    fn settle(&mut self) -> io::Result<()> {
        if self.settled == self.durable {
            return Ok(());
        }
        if self.frame == self.layout.room.frames {
            return self.write_table(false);
        }
        let frame = Frame::encode(self.superblock.generation, self.durable + 1, self.durable, &[]);
        self.append(&frame, 1)?;
        self.journal.durable = self.durable;
        self.sync_medium()?;
        self.keep(self.journal)
    }

    /// Writes frames.
    fn append(&mut self, bytes: &[u8], frames: u32) -> io::Result<()> {
        self.synced = false;
        self.medium.write_at(bytes, self.layout.frame(self.frame))?;
        self.frame += frames;
        Ok(())
    }

    fn sync_medium(&mut self) -> io::Result<()> {
        self.medium.sync()?;
        self.synced = true;
        Ok(())
    }

    /// Writes the block table and begins the journal anew. The table and all pages are durable
    /// before a superblock names the table. One superblock is durable before the other is written.
    fn write_table(&mut self, clean: bool) -> io::Result<()> {
        let table = self.table.encode();
        let which = 1 - self.superblock.table;
        self.medium.write_at(&table, self.layout.table(which))?;
        self.sync_medium()?;

        self.superblock.generation += 1;
        self.superblock.operation = self.operation;
        self.superblock.table = which;
        self.superblock.table_crc = checksum(&table);
        self.superblock.clean = clean;
        let head = self.superblock.encode().map_err(io::Error::other)?;
        for copy in [1 - self.copy, self.copy] {
            self.medium.write_at(&head, copy as u64 * SUPERBLOCK_BYTES as u64)?;
            self.sync_medium()?;
        }
        self.buffer.clear();
        self.frame = 0;
        self.durable = self.operation;
        self.settled = self.operation;
        self.journal = Promise::blank(self.operation);
        self.slots.settle(self.settled);
        Ok(())
    }

    /// Gives back the space of slots that are free beyond doubt.
    fn punch(&mut self, all: bool) -> io::Result<()> {
        if !self.punches {
            return Ok(());
        }
        for slot in self.slots.take_for_punching(all) {
            let (at, bytes) = (self.layout.slot(slot), self.layout.slot_bytes());
            self.punches &= self.medium.punch(at, bytes)?;
        }
        Ok(())
    }

    /// Makes all changes durable and leaves the file in order. Nothing is changed afterwards.
    ///
    /// # Errors
    /// The disk fails; what was changed since the last sync may be lost.
    pub fn close(&mut self) -> nand::Result<()> {
        self.change(|image| {
            if !image.writing {
                return image.commit();
            }
            image.write_table(true)?;
            image.writing = false;
            image.punch(true)
        })
    }

    /// The same image; changes are kept in memory from now on. For reading on after a failure.
    ///
    /// # Errors
    /// The disk fails.
    pub fn into_view(self) -> nand::Result<ImageStore> {
        let (synced, pending) = (self.is_synced(), None);
        let medium = Box::new(View::of(self.medium).map_err(storage)?);
        Ok(ImageStore { medium, failed: None, synced, pending, ..self })
    }

    // ---- Reading ---------------------------------------------------------------------------

    /// The record of a page. The first record of a slot brings all of them into memory.
    fn read_record(&self, slot: u32, ppn: Ppn) -> io::Result<Vec<u8>> {
        let record_bytes = self.layout.record_bytes();
        let offset = self.layout.geometry.offset_of(ppn) as usize;
        let mut records = self.records.borrow_mut();
        if offset == 0 && records.slot != Some(slot) {
            records.slot = None;
            records.bytes.resize(self.layout.records_bytes(), 0);
            self.medium.read_at(&mut records.bytes, self.layout.slot(slot))?;
            records.slot = Some(slot);
        }
        if records.slot == Some(slot) {
            return Ok(records.bytes[offset * record_bytes..][..record_bytes].to_vec());
        }
        let mut record = vec![0; record_bytes];
        self.medium.read_at(&mut record, self.layout.record(slot, ppn))?;
        Ok(record)
    }

    /// Where a page is; none if it is erased, or was never written.
    fn look(&self, ppn: Ppn) -> io::Result<Option<Found>> {
        let slot = self.table.slot(self.layout.geometry.block_of(ppn));
        let Some(slot) = slot.filter(|_| self.table.health(ppn) != Health::Erased) else {
            return Ok(None);
        };
        Ok(Some(Found { slot, record: self.read_record(slot, ppn)? }))
    }
}

/// A part of a page in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PagePart {
    /// The record, with the spare area.
    Record,
    /// The data area.
    Data,
}

/// The slot of a page, and its record.
struct Found {
    slot: u32,
    record: Vec<u8>,
}

/// The health of a page whose record is damaged.
fn damaged(health: Health) -> Health {
    match health {
        Health::Good | Health::Unstable | Health::DataLost => Health::Torn,
        other => other,
    }
}

/// The health of a page whose record is whole, but whose data area is damaged.
fn without_data(health: Health) -> Health {
    match health {
        Health::Good | Health::Unstable => Health::DataLost,
        other => other,
    }
}

fn storage(error: io::Error) -> nand::Error {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            nand::Error::StorageFull(error.to_string())
        }
        _ => nand::Error::Storage(error.to_string()),
    }
}

/// The reason of a failure of the storage.
fn reason(error: nand::Error) -> io::Error {
    match error {
        nand::Error::Storage(why) | nand::Error::StorageFull(why) => io::Error::other(why),
        other => io::Error::other(other),
    }
}

fn unread(page: Ppn) -> impl Fn(io::Error) -> nand::Error {
    move |error| {
        nand::Error::ReadFailed(format!("page {} of the flash cannot be read: {error}", page.0))
    }
}

impl PageStore for ImageStore {
    fn shape(&self) -> Shape {
        Shape { geometry: self.layout.geometry, mode: Mode::Bytes, takes_runs: false }
    }

    fn load(&self, ppn: Ppn, page: &mut PageRecord, extent: Extent) -> nand::Result<Option<&[u8]>> {
        let (health, found) = (self.table.health(ppn), self.look(ppn).map_err(unread(ppn))?);
        let geometry = &self.layout.geometry;
        let found = found.as_ref();
        let found = found.and_then(|it| Some((it.slot, Record::check(&it.record, geometry, ppn)?)));
        (page.health, page.header) = (damaged(health), Header::ERASED);
        page.extra.clear();
        if let Some((_, record)) = &found {
            page.health = health;
            page.header = Header::of_bytes(record.header(), ppn, record.extra());
            page.extra.extend_from_slice(record.extra());
        }
        if extent == Extent::Spare {
            return Ok(None);
        }
        page.meta.clear();
        let Cells::Bytes(data) = &mut page.cells else { panic!("an image keeps bytes") };
        data.clear();
        data.resize(geometry.page_bytes() as usize, 0);
        let Some((slot, record)) = found else { return Ok(None) };
        self.medium.read_at(data, self.layout.data(slot, ppn)).map_err(unread(ppn))?;
        if !record.fits(data) {
            page.health = without_data(health);
        }
        record.take_meta(data, &mut page.meta);
        Ok(None)
    }

    fn save(&mut self, ppn: Ppn, page: &PageRecord, area: Area) -> nand::Result<()> {
        self.change(|image| image.program(ppn, page, area))
    }

    fn erase(&mut self, block: BlockId) -> nand::Result<()> {
        let slot = self.table.slot(block);
        self.note(Operation::Erase(block))?;
        if let Some(slot) = slot {
            self.slots.free(self.operation, slot);
        }
        Ok(())
    }

    fn block(&self, block: BlockId) -> nand::Result<BlockRecord> {
        Ok(self.table.record(block))
    }

    fn sync(&mut self, by: SyncBy) -> nand::Result<Option<SyncJob>> {
        if by == SyncBy::Store {
            return self.change(ImageStore::commit).map(|()| None);
        }
        assert!(self.pending.is_none(), "a sync of the image began before an earlier one ended");
        self.change(ImageStore::begin)
    }

    fn end_sync(&mut self, done: nand::Result<()>) -> nand::Result<()> {
        let promise = self.pending.take().expect("a sync of the image ended that had not begun");
        self.synced &= done.is_ok();
        self.change(|image| {
            done.map_err(reason)?;
            image.keep(promise)
        })
    }

    fn inject(&mut self, fault: Fault) -> nand::Result<()> {
        self.note(match fault {
            Fault::Header(ppn, header) => {
                return self.change(|image| image.replace_header(ppn, header));
            }
            Fault::Health(ppn, health) => Operation::Health(ppn, health),
            Fault::HalfErased(block) => Operation::HalfErase(block),
            Fault::Decay => Operation::Decay,
        })
    }

    /// An image on a copy of the file, or else a copy in memory.
    fn try_clone(&self) -> nand::Result<Box<dyn PageStore>> {
        match self.medium.fork() {
            Some(medium) => Ok(Box::new(self.copy_on(medium))),
            None => Ok(Box::new(MemoryStore::copy_of(self)?)),
        }
    }

    /// An image on a view of the file, or else a copy.
    fn view(&self) -> nand::Result<Box<dyn PageStore>> {
        match self.medium.reader() {
            Some(reader) => {
                let view = View::of(reader).map_err(storage)?;
                Ok(Box::new(self.copy_on(Box::new(view))))
            }
            None => self.try_clone(),
        }
    }
}
