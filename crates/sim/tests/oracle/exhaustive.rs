//! Copies that an optimal placement needs, found by trying everything: any number of blocks may be
//! open, any page may go to any of them, and blocks are collected at any time. As in ftlab's
//! schemes, at least one block is erased whenever no victim is being emptied.

use std::collections::{HashMap, HashSet};

/// A block: its programmed pages in order; a page that is superseded is `None`. The order of
/// blocks and of pages in a block does not matter, so both are sorted.
type Block = Vec<Option<u8>>;
type Device = Vec<Block>;

fn sorted(mut device: Device) -> Device {
    device.iter_mut().for_each(|block| block.sort_unstable());
    device.sort_unstable();
    device
}

/// All ways to put a page into a block with room.
fn placed(np: usize, device: &Device, page: u8) -> HashSet<Device> {
    let with_room = (0..device.len()).filter(|&at| device[at].len() < np);
    let put = |at: usize| {
        let mut device = device.clone();
        device[at].push(Some(page));
        sorted(device)
    };
    with_room.map(put).collect()
}

/// All ways to collect a block: its valid pages go to any others, then it is erased.
fn collected(np: usize, device: &Device) -> Vec<(Device, u32)> {
    let mut all = Vec::new();
    for victim in (0..device.len()).filter(|&at| device[at].contains(&None)) {
        let valid: Vec<u8> = device[victim].iter().flatten().copied().collect();
        let mut others = device.clone();
        others.remove(victim);
        let mut ways = HashSet::from([others]);
        for &page in &valid {
            ways = ways.iter().flat_map(|way| placed(np, way, page)).collect();
        }
        let erased = |mut way: Device| {
            way.push(Vec::new());
            (sorted(way), valid.len() as u32)
        };
        all.extend(ways.into_iter().map(erased));
    }
    all
}

/// The fewest copies with which each device can be reached by collections.
fn with_collections(np: usize, devices: HashMap<Device, u32>) -> HashMap<Device, u32> {
    let mut best = devices.clone();
    let mut new = devices;
    while !new.is_empty() {
        let mut next: HashMap<Device, u32> = HashMap::new();
        for (device, copies) in &new {
            for (after, more) in collected(np, device) {
                let known = best.entry(after.clone()).or_insert(u32::MAX);
                if copies + more < *known {
                    *known = copies + more;
                    next.insert(after, copies + more);
                }
            }
        }
        new = next;
    }
    best
}

/// The fewest copies for these writes on a new device.
pub fn fewest_copies(np: usize, blocks: usize, writes: &[u8]) -> u32 {
    let mut devices = HashMap::from([(vec![Block::new(); blocks], 0)]);
    for &page in writes {
        let mut next: HashMap<Device, u32> = HashMap::new();
        for (mut device, copies) in with_collections(np, devices) {
            for slot in device.iter_mut().flatten().filter(|slot| **slot == Some(page)) {
                *slot = None;
            }
            let has_reserve = |device: &Device| device.iter().any(Vec::is_empty);
            for after in placed(np, &device, page).into_iter().filter(has_reserve) {
                let known = next.entry(after).or_insert(u32::MAX);
                *known = copies.min(*known);
            }
        }
        devices = next;
    }
    devices.into_values().min().expect("there is always room")
}
