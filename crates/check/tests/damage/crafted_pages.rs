//! Pages with contents that no FTL wrote, under a right checksum: a file can contain them. A mount
//! succeeds or returns an error, but never panics.

use check::case::Case;
use check::device_model::DEVICE_MODELS;
use check::rng::Rng;
use check::subject::Subject;
use ftl::{Durability, LAYERS, Layers, SCHEMES};
use nand::page_store::{Area, Extent, Health, PageRecord, PageStore};
use nand::spare::Header;
use nand::{FlashArray, Mode, Nand, Ppn};

use crate::host::{Host, Request};
use crate::models;

/// Crafted copies of the flash of each device.
const ROUNDS: u32 = 40;

/// The flash of a device after random requests.
fn used_flash(case: &Case, rng: &mut Rng) -> Box<dyn PageStore> {
    let mut host = Host::new(case);
    for number in 0..host.pages() + 10 + rng.below(400) {
        let request = match number < host.pages() {
            true => Request::fill(number),
            false => host.draw(rng, number),
        };
        host.perform(&request);
    }
    host.nand.into_array().into_store().unwrap()
}

/// Changes one field of a page, and seals it again.
fn change_a_page(store: &mut dyn PageStore, rng: &mut Rng) {
    let ppn = Ppn(rng.below(store.shape().geometry.pages()));
    let mut page = PageRecord::new(Mode::Stamps);
    store.load(ppn, &mut page, Extent::Whole).unwrap();
    if page.health == Health::Erased {
        return;
    }
    let mut header = page.header.bytes(ppn, &page.extra);
    let kinds = if rng.one_in(4) { 256 } else { 50 };
    match rng.below(7) {
        0 => header[0..4].copy_from_slice(&number(rng, 32).to_le_bytes()[..4]),
        1 => header[4..9].copy_from_slice(&number(rng, 40).to_le_bytes()[..5]),
        2 => header[9..14].copy_from_slice(&number(rng, 40).to_le_bytes()[..5]),
        3 => header[14] = rng.below(kinds) as u8,
        4 => header[15] ^= 1 << 7,
        5 => change_bytes(&mut page.extra, rng, store.shape().geometry.scheme_bytes() as usize),
        _ => change_bytes(&mut page.meta, rng, store.shape().geometry.page_bytes() as usize),
    }
    let crc = crc32fast::hash(&[&header[..16], &page.extra, &ppn.0.to_le_bytes()].concat());
    header[16..].copy_from_slice(&crc.to_le_bytes());
    page.header = Header::of_bytes(header, ppn, &page.extra);
    store.save(ppn, &page, Area::Recorded).unwrap();
}

/// A number that is small, or near the largest that fits, or any.
fn number(rng: &mut Rng, bits: u32) -> u64 {
    let most = (1 << bits) - 1;
    match rng.below(4) {
        0 => u64::from(rng.below(64)),
        1 => u64::from(rng.below(5000)),
        2 => most - u64::from(rng.below(4)),
        _ => rng.next_u64() & most,
    }
}

/// Changes some bytes, or the length.
fn change_bytes(bytes: &mut Vec<u8>, rng: &mut Rng, most: usize) {
    match rng.below(4) {
        0 => bytes.resize(rng.below(most as u32 + 1) as usize, rng.next_u64() as u8),
        1 => {
            let at = rng.below(most as u32 / 4) as usize * 4;
            bytes.resize(bytes.len().max(at + 4), 0);
            bytes[at..at + 4].copy_from_slice(&number(rng, 32).to_le_bytes()[..4]);
        }
        _ => {
            for _ in 0..=rng.below(4) {
                let length = bytes.len() as u32;
                if length > 0 {
                    bytes[rng.below(length) as usize] = rng.next_u64() as u8;
                }
            }
        }
    }
}

/// Mounts copies of used flash after changes of some pages. Returns how many mounts succeeded.
fn mount_crafted(case: &Case, rng: &mut Rng) -> u32 {
    let mut succeeded = 0;
    let used = used_flash(case, rng);
    for _ in 0..ROUNDS {
        let mut store = used.try_clone().unwrap();
        for _ in 0..=rng.below(3) {
            change_a_page(&mut *store, rng);
        }
        let mut nand = Nand::power_up(FlashArray::from_store(store).unwrap());
        succeeded += u32::from(case.mount(&mut nand).is_ok());
    }
    succeeded
}

/// Every scheme in all its forms, and under every layer that it accepts.
fn subjects() -> Vec<Subject> {
    let chip = DEVICE_MODELS[0].chip();
    let corners = LAYERS.iter().flat_map(|layer| layer.corners);
    let layers: Vec<Layers> = corners.map(|corner| Layers::from_texts(corner).unwrap()).collect();
    let mut subjects = Vec::new();
    for scheme in SCHEMES {
        subjects.extend(Subject::single_changes(scheme));
        for layers in layers.iter().filter(|layers| layers.check(scheme, &[], &chip).is_ok()) {
            subjects.push(Subject::of(scheme, &[]).unwrap().under(layers));
        }
    }
    subjects
}

#[test]
fn no_crafted_page_makes_a_mount_panic() {
    let (mut mounts, mut succeeded) = (0, 0);
    let mut rng = Rng::new(1);
    for subject in subjects() {
        for model in models() {
            let made = Case::new(&subject, model, "random", 1, Durability::Full);
            let Ok(case) = made else { continue };
            // The last line that a failed test prints names the case.
            println!("{} on {}", subject.name(), model.name);
            succeeded += mount_crafted(&case, &mut rng);
            mounts += ROUNDS;
        }
    }
    println!("{succeeded} of {mounts} mounts succeeded");
    assert!(mounts > 40_000 && (mounts / 4..mounts).contains(&succeeded));
}
