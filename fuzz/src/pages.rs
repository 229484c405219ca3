//! Chips with pages that no FTL wrote, under a right checksum. A mount succeeds or fails; it does
//! not panic.
//!
//! ```text
//! base │ change, change, …        change:  page │ field │ offset │ length │ bytes
//! ```

use image::{ImageStore, LossyDisk};
use nand::page_store::{Area, Extent, Health, PageRecord, PageStore};
use nand::spare::Header;
use nand::{FlashArray, MemoryStore, Mode, Nand, PageState, Ppn};

use crate::bases;
use crate::script::{Script, overwrite};

/// Decodes arbitrary bytes as a spare area, sealed and not.
pub fn decode(bytes: &[u8]) {
    let mut script = Script(bytes);
    let ppn = Ppn(script.number() as u32);
    let mut header = [0; 20];
    overwrite(&mut header, 0, script.take(20));
    let _ = state(header, script.0, ppn);
    seal(&mut header, script.0, ppn);
    if let PageState::Programmed(spare) = state(header, script.0, ppn) {
        assert_eq!(spare.owner.0.to_le_bytes(), header[..4]);
        assert_eq!(spare.kind, header[14]);
    }
}

fn state(header: [u8; 20], extra: &[u8], ppn: Ppn) -> PageState {
    let header = Header::of_bytes(header, ppn, extra);
    PageRecord { health: Health::Good, header, ..PageRecord::new(Mode::Bytes) }.state()
}

/// Sets the checksum of a spare area.
fn seal(header: &mut [u8; 20], extra: &[u8], ppn: Ppn) {
    let crc = crc32fast::hash(&[&header[..16], extra, &ppn.0.to_le_bytes()].concat());
    header[16..].copy_from_slice(&crc.to_le_bytes());
}

/// Changes pages of a used chip, and mounts its FTL.
pub fn mount(script: &[u8]) {
    let mut script = Script(script);
    let base = bases::chosen(script.byte());
    let image = ImageStore::open(Box::new(LossyDisk::of(base.used().0.clone())));
    let mut store = MemoryStore::copy_of(&image.expect("the base is whole")).expect("it is read");
    while !script.is_empty() {
        change(&mut store, &mut script);
    }
    let flash = FlashArray::from_store(Box::new(store)).expect("memory does not fail");
    let mut nand = Nand::power_up(flash);
    if let Ok(ftl) = base.device.mount(&mut nand) {
        let _ = ftl.audit(&nand);
    }
}

/// Changes a field of a page, and seals the page.
fn change(store: &mut MemoryStore, script: &mut Script) {
    let ppn = Ppn(u32::from(script.byte()) % store.shape().geometry.pages());
    let (field, offset) = (script.byte(), script.number());
    let length = usize::from(script.byte());
    let piece = script.take(length);
    let mut page = PageRecord::new(Mode::Bytes);
    store.load(ppn, &mut page, Extent::Whole).expect("memory does not fail");
    if page.health == Health::Erased {
        return;
    }
    let mut header = page.header.bytes(ppn, &page.extra);
    match field % 4 {
        0 => overwrite(&mut header, offset % 16, piece),
        1 => change_bytes(&mut page.extra, offset, piece, store.shape().geometry.scheme_bytes()),
        2 => change_bytes(&mut page.meta, offset, piece, store.shape().geometry.page_bytes()),
        _ => page.extra.truncate(offset % 64),
    }
    seal(&mut header, &page.extra, ppn);
    page.header = Header::of_bytes(header, ppn, &page.extra);
    store.save(ppn, &page, Area::Recorded).expect("memory does not fail");
}

/// Changes bytes within a room of `most` bytes, and appends what is missing.
fn change_bytes(bytes: &mut Vec<u8>, offset: usize, piece: &[u8], most: u32) {
    let offset = offset % most as usize;
    let piece = &piece[..piece.len().min(most as usize - offset)];
    bytes.resize(bytes.len().max(offset + piece.len()), 0);
    overwrite(bytes, offset, piece);
}
