//! The memory that a mount takes above the map: the difference between the largest heap during the
//! mount and the heap after it.

use crate::device::{Device, forms};
use crate::heap;

/// Bytes for each physical page.
const MOST: f64 = 24.0;

/// 64 MiB in pages of 4 KiB.
const CHIP: &str = "slc-lsb:page=4KiB";
const LOGICAL_BLOCKS: u32 = 256;

/// The corners of the layers, in sizes that suit this device.
const STACKS: &[&[(&str, &str)]] = &[
    &[("buffer", "1MiB")],
    &[("buffer", "2MiB,reads=true,evict=run")],
    &[("sector_log", "2MiB")],
    &[("buffer", "1MiB"), ("sector_log", "1MiB")],
    &[("dram", "1MiB"), ("split", "20%")],
    &[("dram", "512KiB"), ("split", "adaptive")],
];

#[test]
fn every_layer_is_in_a_stack() {
    for layer in ftl::layer::LAYERS {
        let mut given = STACKS.iter().flat_map(|stack| stack.iter());
        let is_tried = given.any(|(name, _)| layer.options.iter().any(|it| it.name == *name));
        assert!(is_tried, "add a stack with {} in a size that suits the device", layer.name);
    }
}

/// Mounts a device again. Returns the bytes for each physical page that the mount took above the
/// map.
fn remounted(device: Device) -> (Device, f64) {
    let (device, heap) = heap::measured(|| device.power_cycle());
    let per_page = |bytes: f64| bytes / f64::from(device.nand.geometry().pages());
    let growth = per_page(heap.growth as f64);
    assert!(growth < 1.0, "a mount leaves {growth} bytes a page behind");
    let above = per_page(heap.peak_above_rest as f64);
    (device, above)
}

/// Fills the device, then writes to it at random places.
fn wear_in(device: &mut Device) {
    let pages = device.pages;
    (0..pages).step_by(256).for_each(|first| device.write(first, 256, u64::MAX));
    for request in 0..pages / 4 {
        let first = device.below(pages);
        let most = device.below(8).min(pages - first - 1) + 1;
        match request % 16 {
            0 => device.trim(first, most),
            1..4 => device.write(first, 1, 0b11),
            _ => device.write(first, most, u64::MAX),
        }
    }
    device.flush();
}

#[test]
fn no_mount_takes_more_than_24_bytes_a_page_above_the_map() {
    let mut worst = 0.0f64;
    for form in forms(CHIP, LOGICAL_BLOCKS, STACKS) {
        let mut device = Device::new(&form);
        wear_in(&mut device);
        let (mut device, worn) = remounted(device);
        // Every other page is trimmed. Free blocks hold pages, and these are void.
        (0..device.pages).step_by(2).for_each(|page| device.trim(page, 1));
        device.flush();
        let (mut device, trimmed) = remounted(device);
        device.trim(0, device.pages);
        device.flush();
        let (_, empty) = remounted(device);
        println!("{worn:6.1} {trimmed:6.1} {empty:6.1}  {}", form.name);
        worst = worst.max(worn).max(trimmed).max(empty);
    }
    assert!(worst <= MOST, "a mount takes {worst} bytes a page above the map");
}
