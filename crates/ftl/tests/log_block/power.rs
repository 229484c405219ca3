//! Log blocks survive power cycles at any time.

use nand::{BlockId, Cause, Cut, Lpn, Outcome};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::device::Mortal;

const FORMS: [&str; 9] = [
    "bast",
    "fmax",
    "fast",
    "faster:as=table2",
    "faster:as=paper",
    "faster:as=firmware,merges_per_write=0",
    "faster:second_chance=false",
    "faster:isolation=false,carried=own",
    "faster:as=paper,sequential=false",
];

#[test]
fn random_power_cycles_lose_nothing() {
    FORMS.iter().for_each(|form| survives_many_power_cycles(form));
}

/// Writes, trims and power cycles in any order. Trims need not survive here, so pages may come back
/// from copies that were stale for a long time. They must not come back from places where a mount
/// expects no log block.
pub fn survives_many_power_cycles(form: &str) {
    for order in ["any", "ascending", "sequential"] {
        let mut device = Mortal::new(form, order, [4, 4], &[]);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
        // Nothing is guaranteed for trimmed pages if trims need not survive.
        let mut expected = vec![Some(1); 16];
        for round in 2..20_000 {
            let page = rng.next_u32() % 16;
            match rng.next_u32() % 16 {
                0 => {
                    device.mount(None).unwrap();
                    for (found, expected) in device.found().into_iter().zip(&expected) {
                        let right = expected.is_none_or(|expected| expected == found);
                        assert!(right, "{form}, {order}, round {round}: {found}");
                    }
                }
                1..4 => {
                    device.real.trim(page, 1);
                    expected[page as usize] = None;
                }
                _ => {
                    device.write(page, 1, round).unwrap();
                    expected[page as usize] = Some(round);
                }
            }
        }
    }
}

#[test]
fn a_mount_erases_blocks_with_only_stale_copies() {
    // The log block holds all of LBN 0; its old data block is dead.
    let mut device = Mortal::new("bast", "ascending", [3, 2], &[0, 1, 2, 3]);
    device.mount(None).unwrap();
    let nand = &device.real.nand;
    let blocks = (0..nand.geometry().blocks()).map(BlockId);
    let holds_0 = blocks.filter(|&block| nand.owners(block).contains(&0));
    assert_eq!(holds_0.count(), 1);
}

/// A log block of LBN 0 keeps its stale copies, because the power fails when it is about to be
/// erased. It holds twins of all pages of the data block that the merge has made. If a mount gave
/// up this data block, the merge would have to be repeated.
///
/// ```text
/// merge          E [0 1 2 3]   L [0 1 2 2]   ─▶ B [0 1 2 3]        3 was trimmed
/// found          B [0 1 2 _]   L [0 1 2 2]                         E is erased
/// ```
#[test]
fn a_complete_merge_is_kept_even_if_all_its_pages_have_old_twins() {
    for form in ["bast", "fmax"] {
        for order in ["any", "ascending", "sequential"] {
            let mut device = Mortal::durable(form, order, [2, 4], &[1, 0, 2, 2]);
            device.real.trim(3, 1);
            fail_at_the_last_erase(&mut device, 2, 7);
            let mut found = blocks_of_lbn_0(&device);
            found.sort();
            assert_eq!(found, [vec![0, 1, 2, Lpn::NONE.0], vec![1, 0, 2, 2]], "{form}, {order}");
            device.mount(None).unwrap();
            assert_eq!(device.found(), [2, 2, 2, 0, 1, 1, 1, 1], "{form}, {order}");
            let copies = device.real.nand.tally().copies(Cause::Merge);
            device.write(1, 1, 3).unwrap();
            let merged = device.real.nand.tally().copies(Cause::Merge) - copies;
            assert_eq!(merged, 0, "{form}, {order}: the log block was kept and is full");
        }
    }
}

/// The page that completes a merge may become unreadable, and with it the merge would count as
/// unfinished: its sources would be needed. So a mount must not erase them before it commits, even
/// if the next mount finds a wrong picture of them, because the pages of a source decay later.
#[test]
fn the_sources_of_a_merge_outlive_a_mount_that_finds_its_last_page_suspect() {
    for form in ["bast", "fmax", "fast", "last"] {
        for decay_after in 0..60 {
            let mut device = Mortal::durable(form, "sequential", [2, 4], &[]);
            // The log fills up with copies of page 3. The fourth program of the write that merges
            // is the last copy: page 3 again, whose twin is in the log.
            let mut round = 1;
            while {
                device.real.nand.power().cut_after(Cut { after: 3, outcome: Outcome::Unstable });
                device.write(3, 1, round + 1).is_ok()
            } {
                round += 1;
            }
            let erased = device.mount(Some(Cut { after: 0, outcome: Outcome::Intact }));
            assert!(erased.is_err(), "the power fails at the first operation");
            device.mount_decaying(decay_after).unwrap();
            let found = device.found();
            assert!((round..=round + 1).contains(&found[3]), "{form}: {found:?}");
            let others = [&found[..3], &found[4..]].concat();
            assert_eq!(others, [1; 7], "{form}, decay after {decay_after} operations");
        }
    }
}

/// Writes a page of LBN 0, whose log block is full. The power fails when the merge has copied four
/// pages and erased the old data block, and is about to record that the log block is void.
fn fail_at_the_last_erase(device: &mut Mortal, page: u32, after: u64) {
    device.real.nand.power().cut_after(Cut { after, outcome: Outcome::Untouched });
    device.write(page, 1, 9).unwrap_err();
}

/// The owners of all pages in each block that holds copies of LBN 0, in the order of blocks.
fn blocks_of_lbn_0(device: &Mortal) -> Vec<Vec<u32>> {
    let nand = &device.real.nand;
    let owners = (0..nand.geometry().blocks()).map(|block| nand.owners(BlockId(block)).to_vec());
    owners.filter(|owners| owners.iter().any(|&owner| owner < 4)).collect()
}
