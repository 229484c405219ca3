//! Which pages are mapped, and where they are: in every scheme, under every layer, after random
//! requests and mounts.

use std::collections::HashMap;

use ftl::{Extent, LAYERS};
use nand::{Cause, Lpn, Op, Ppn, Spare};

use crate::device::{Device, Form, forms};

/// Blocks of eight pages of two sectors.
const CHIP: &str = "slc-lsb:page=1KiB,pages_per_block=8";
const LOGICAL_BLOCKS: u32 = 24;

/// Operations of the chip by cause.
fn operations(device: &Device) -> Vec<u64> {
    let tally = device.nand.tally();
    let of_op = |op| Cause::ALL.iter().map(move |&cause| tally.count(op, cause));
    Op::ALL.iter().flat_map(|&op| of_op(op)).collect()
}

/// Compares the extents with the pages that the host has written and not trimmed since.
fn agree(device: &mut Device, written: &[bool], form: &Form) {
    let before = operations(device);
    let mapped = device.mapped();
    let first = device.below(device.pages);
    let Extent { is_mapped, pages } = device.ftl.extent(first..device.pages);
    assert!(mapped[first as usize..][..pages as usize].iter().all(|&state| state == is_mapped));
    assert_eq!(operations(device), before, "{}: operations were counted", form.name);
    for (lpn, (&mapped, &written)) in (0..).map(Lpn).zip(mapped.iter().zip(written)) {
        assert!(mapped || !written, "{}: {lpn:?} was written and is not mapped", form.name);
        if mapped && !written {
            // The mount of a sector log may write zeroes to trimmed pages.
            let version = device.ftl.version(&mut device.nand, lpn).unwrap();
            let is_zeroed = form.has_sector_log() && version.is_some();
            assert!(is_zeroed, "{}: {lpn:?} is mapped and was not written", form.name);
        }
    }
}

fn extents_agree_with_the_host(form: &Form) {
    let mut device = Device::new(form);
    let mut written = vec![false; device.pages as usize];
    for step in 0..600 {
        let first = device.below(device.pages);
        let pages = (1 + device.below(12)).min(device.pages - first);
        let range = first as usize..(first + pages) as usize;
        match device.below(10) {
            0 | 1 => {
                device.trim(first, pages);
                written[range].fill(false);
            }
            2 => device.flush(),
            3 if step % 5 == 0 => {
                device.flush();
                device = device.power_cycle();
            }
            kind => {
                device.write(first, pages, if kind < 6 { 0b01 } else { u64::MAX });
                written[range].fill(true);
            }
        }
        agree(&mut device, &written, form);
        if step % 10 == 0 {
            places_agree(&mut device, form);
        }
    }
}

/// Compares the places of all pages with the spare areas there, and with the newest version of each
/// page on the chip.
fn places_agree(device: &mut Device, form: &Form) {
    let before = operations(device);
    let places: Vec<_> =
        (0..device.pages).map(|lpn| device.ftl.place(&device.nand, Lpn(lpn))).collect();
    assert_eq!(operations(device), before, "{}: operations were counted", form.name);
    let newest = newest_spares(device);
    for (lpn, place) in (0..).map(Lpn).zip(places) {
        let known = device.ftl.version(&mut device.nand, lpn).unwrap();
        let spare =
            place.map(|ppn| device.nand.array().peek_spare(ppn).unwrap().expect("readable").0);
        assert_eq!(spare.map(|it| it.version), known, "{}: {lpn:?} at {place:?}", form.name);
        match spare {
            Some(spare) if form.has_sector_log() && spare.owner == Lpn::SYSTEM => {}
            Some(spare) => assert_eq!(Some(&spare), newest.get(&lpn.0), "{}", form.name),
            None => {}
        }
    }
}

/// The spare area of the newest copy of each page.
fn newest_spares(device: &Device) -> HashMap<u32, Spare> {
    let mut newest = HashMap::<u32, Spare>::new();
    let pages = (0..device.nand.geometry().pages()).map(Ppn);
    for (spare, _) in pages.filter_map(|ppn| device.nand.array().peek_spare(ppn).unwrap()) {
        let known = newest.entry(spare.owner.0).or_insert(spare);
        if (known.version, known.sequence) < (spare.version, spare.sequence) {
            *known = spare;
        }
    }
    newest
}

#[test]
fn the_extents_are_those_of_the_pages_that_the_host_wrote() {
    let corners: Vec<_> = LAYERS.iter().flat_map(|layer| layer.corners).copied().collect();
    let forms = forms(CHIP, LOGICAL_BLOCKS, &corners);
    assert!(forms.len() > 50, "only {} forms", forms.len());
    forms.iter().for_each(extents_agree_with_the_host);
}

/// Every other page is mapped, and a buffer holds a page far behind.
#[test]
fn short_extents_in_a_large_range_are_found_without_looking_far_ahead() {
    let buffer: &[(&str, &str)] = &[("buffer", "8KiB")];
    let forms = forms(CHIP, 1 << 14, &[buffer]);
    let form = forms.iter().find(|form| form.name == "page --buffer 8KiB").unwrap();
    let mut device = Device::new(form);
    (0..device.pages).step_by(2).for_each(|page| device.write(page, 1, u64::MAX));
    let mapped = device.mapped();
    assert!((0..).zip(&mapped).all(|(page, &mapped)| mapped == (page % 2 == 0)));
}
