//! Images with changed bytes. They are refused or opened; nothing panics, and no memory is taken
//! that the length of the file does not justify.
//!
//! ```text
//! base │ change, change, …        change:  part │ seal │ number │ offset │ length │ bytes
//! ```
//! A sealed part gets right checksums again, so that its new contents are believed.

use std::collections::BTreeSet;

use disk::remains::Remains;
use disk::{Disk, recipe};
use image::layout::{FRAME_BYTES, Layout, RECORD_HEAD_BYTES, SUPERBLOCK_BYTES};
use image::medium::shared_bytes::SharedBytes;
use image::{ImageStore, LossyDisk};

use crate::bases;
use crate::script::Script;

/// A part of an image with a checksum of its own. They are sealed in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// The record of a page, by slot and page of the slot, with the spare area and data in it.
    Record(u32, u32),
    Frame(u32),
    Table(u32),
    Superblock(u32),
}

/// An image that is being changed.
struct Changed<'a> {
    layout: &'a Layout,
    bytes: SharedBytes,
    sealed: BTreeSet<Part>,
}

/// Changes an image, opens it in all ways, and uses it.
pub fn check(script: &[u8]) {
    let mut script = Script(script);
    let (bytes, layout) = bases::chosen(script.byte()).used();
    let mut changed = Changed { layout, bytes: bytes.clone(), sealed: BTreeSet::new() };
    while !script.is_empty() {
        changed.change(&mut script);
    }
    let bytes = changed.finish();
    open(&bytes);
    salvage(&bytes);
}

impl Changed<'_> {
    fn change(&mut self, script: &mut Script) {
        let (part, seal, number) = (script.byte(), script.byte(), script.number() as u32);
        let offset = script.number();
        let length = usize::from(script.byte());
        let Layout { geometry, room } = *self.layout;
        let page = number % geometry.pages_per_block();
        let slot = number / geometry.pages_per_block() % self.layout.slots();
        let (start, bytes, part) = match part % 8 {
            0 => return self.truncate(offset * 64 + number as usize),
            1 => (0, SUPERBLOCK_BYTES, Part::Superblock(0)),
            2 => (SUPERBLOCK_BYTES as u64, SUPERBLOCK_BYTES, Part::Superblock(1)),
            3 => {
                (self.layout.table(number % 2), self.layout.table_bytes(), Part::Table(number % 2))
            }
            4 => {
                let frame = number % room.frames;
                (self.layout.frame(frame), FRAME_BYTES, Part::Frame(frame))
            }
            5 => {
                let data = self.data(slot, page);
                (data, geometry.page_bytes() as usize, Part::Record(slot, page))
            }
            _ => (self.record(slot, page), self.layout.record_bytes(), Part::Record(slot, page)),
        };
        let offset = offset % bytes;
        let piece = script.take(length.min(bytes - offset));
        self.write(piece, start as usize + offset);
        if seal % 4 != 0 {
            self.sealed.insert(part);
        }
    }

    fn truncate(&mut self, length: usize) {
        self.bytes.resize(length % (self.layout.file_bytes() as usize + 9000));
    }

    fn record(&self, slot: u32, page: u32) -> u64 {
        self.layout.slot(slot) + u64::from(page) * self.layout.record_bytes() as u64
    }

    fn data(&self, slot: u32, page: u32) -> u64 {
        self.layout.data(slot, nand::Ppn(page))
    }

    /// Writes what lies within the file.
    fn write(&mut self, piece: &[u8], at: usize) {
        let room = self.bytes.len().saturating_sub(at);
        self.bytes.write(&piece[..piece.len().min(room)], at);
    }

    /// Reads; behind the end of the file there are zeroes.
    fn read(&self, at: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        let room = self.bytes.len().saturating_sub(at as usize).min(length);
        self.bytes.read(&mut bytes[..room], at as usize);
        bytes
    }

    /// Seals what is to be sealed.
    fn finish(mut self) -> SharedBytes {
        if self.sealed.iter().any(|part| matches!(part, Part::Table(_))) {
            self.sealed.extend([Part::Superblock(0), Part::Superblock(1)]);
        }
        for part in std::mem::take(&mut self.sealed) {
            match part {
                Part::Record(slot, page) => self.seal_record(slot, page),
                Part::Frame(frame) => {
                    let at = self.layout.frame(frame);
                    let crc = checksum(&self.read(at, FRAME_BYTES)[8..]);
                    self.write(&crc, at as usize + 4);
                }
                Part::Table(which) => self.seal_table(which),
                Part::Superblock(copy) => self.seal_superblock(copy),
            }
        }
        self.bytes
    }

    /// Seals the data area, the spare area and the record.
    fn seal_record(&mut self, slot: u32, page: u32) {
        let at = self.record(slot, page) as usize;
        let mut record = self.read(at as u64, self.layout.record_bytes());
        let data = self.read(self.data(slot, page), self.layout.geometry.page_bytes() as usize);
        record[4..8].copy_from_slice(&checksum(&data));
        let length = usize::from(u16::from_le_bytes([record[20], record[21]]));
        let extra = record[RECORD_HEAD_BYTES..].iter().take(length);
        let covered = record[32..48].iter().chain(extra).chain(&record[16..20]);
        let crc = crc32fast::hash(&covered.copied().collect::<Vec<u8>>());
        record[48..52].copy_from_slice(&crc.to_le_bytes());
        let crc = checksum(&record[4..]);
        record[..4].copy_from_slice(&crc);
        self.write(&record, at);
    }

    /// Seals a table in those superblocks that name it.
    fn seal_table(&mut self, which: u32) {
        let table = self.read(self.layout.table(which), self.layout.table_bytes());
        for copy in [0, SUPERBLOCK_BYTES] {
            if self.read(copy as u64 + 48, 4) == which.to_le_bytes() {
                self.write(&checksum(&table), copy + 52);
            }
        }
    }

    fn seal_superblock(&mut self, copy: u32) {
        let at = copy as usize * SUPERBLOCK_BYTES;
        let bytes = self.read(at as u64, SUPERBLOCK_BYTES);
        self.write(&checksum(&[&bytes[..12], &bytes[16..]].concat()), at + 12);
    }
}

/// The checksum of an image's parts.
fn checksum(bytes: &[u8]) -> [u8; 4] {
    crc32fast::hash(bytes).wrapping_mul(0x9E37_79B1).to_le_bytes()
}

fn open(bytes: &SharedBytes) {
    match ImageStore::open(Box::new(LossyDisk::of(bytes.clone()))) {
        Ok(store) => use_disk(store),
        Err(error) => assert!(error.to_string().len() < 9000),
    }
}

fn salvage(bytes: &SharedBytes) {
    let salvage = || ImageStore::salvage(Box::new(LossyDisk::of(bytes.clone())));
    let Ok((store, _)) = salvage() else { return };
    if let Ok(device) = recipe::device(store.recipe()) {
        let mut page = vec![0; device.geometry().page_bytes() as usize];
        let pages = device.logical_pages();
        let mut remains = Remains::of(store, pages);
        (0..pages).for_each(|lpn| drop(remains.read(lpn, &mut page)));
    }
    if let Ok((store, _)) = salvage() {
        use_disk(store);
    }
}

/// Looks through an image, mounts its disk, reads everything, and goes on writing.
fn use_disk(store: ImageStore) {
    let Ok(device) = recipe::device(store.recipe()) else { return };
    let _ = store.damaged_pages(true).count();
    let Ok(mut disk) = Disk::on_image(store, device) else { return };
    if let (Some(ftl), Some(nand)) = (disk.ftl(), disk.nand()) {
        // The flash contradicts itself, and so may the FTL.
        if ftl.audit(nand).is_err() {
            return;
        }
    }
    let (capacity, mut page) = (disk.device().capacity_bytes(), [0; 1024]);
    for offset in (0..capacity).step_by(page.len()) {
        let _ = disk.read(offset, &mut page);
    }
    let _ = disk.extents(0, capacity);
    for number in 40..80 {
        let _ = bases::request(&mut disk, number);
    }
    let _ = disk.close();
}
