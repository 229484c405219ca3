//! Log blocks are found again, whenever the power comes and goes.

use nand::{BlockId, Cut, Outcome};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::device::Mortal;

const FORMS: [&str; 7] = [
    "bast",
    "fmax",
    "fast",
    "faster",
    "faster:merges_per_write=0",
    "faster:second_chance=false",
    "faster:isolation=false",
];

/// Trims need not survive here, so that pages come back from copies that were stale for long. They
/// must not come back from where a mount would not expect a log block.
#[test]
fn the_power_may_come_and_go_at_any_time() {
    for form in FORMS {
        for order in ["any", "ascending", "sequential"] {
            let mut device = Mortal::new(form, order, [4, 4], &[]);
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
            // Nothing is promised of trimmed pages where trims need not survive.
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
}

#[test]
fn a_mount_erases_what_holds_nothing_but_stale_copies() {
    // The log block holds all of LBN 0; its old data block is dead.
    let mut device = Mortal::new("bast", "ascending", [3, 2], &[0, 1, 2, 3]);
    device.mount(None).unwrap();
    let nand = &device.real.nand;
    let blocks = (0..nand.geometry().blocks()).map(BlockId);
    let holds_0 = blocks.filter(|&block| nand.owners(block).contains(&0));
    assert_eq!(holds_0.count(), 1);
}

/// Two log blocks of LBN 0, one after the other, keep their stale copies because the power fails as
/// they are to be erased: together they are twins of all pages of the data block that the second
/// merge has made. If a mount gave that one up, LBN 0 would have two log blocks.
///
/// ```text
/// first merge    D [0 1 2 3]   F [3 1 0 0]   ─▶ E [0 1 2 3]        2 came from D alone
/// second merge   E [0 1 2 3]   L [2 2 2 2]   ─▶ B [0 1 2 3]        2 from L, the others from E
/// found          B [0 1 2 3]   F [3 1 0 0]   L [2 2 2 2]           D and E are erased
/// ```
#[test]
fn a_complete_merge_is_kept_though_all_its_pages_have_old_twins() {
    for form in ["bast", "fmax"] {
        for order in ["any", "ascending", "sequential"] {
            let mut device = Mortal::durable(form, order, [2, 4]);
            [3, 1, 0, 0].iter().for_each(|&page| device.write(page, 1, 2).unwrap());
            fail_at_the_last_erase(&mut device, 0, 5);
            device.mount(None).unwrap();
            // F is free, and the last to be taken, since the suspect page could fall back to it.
            [2, 2, 2, 2].iter().for_each(|&page| device.write(page, 1, 3).unwrap());
            fail_at_the_last_erase(&mut device, 2, 6);
            let found = blocks_of_lbn_0(&device);
            let (complete, stale): (Vec<_>, Vec<_>) =
                found.into_iter().partition(|owners| owners == &[0, 1, 2, 3]);
            assert_eq!(complete.len(), 1, "{form}, {order}");
            assert_eq!(stale, [[3, 1, 0, 0], [2, 2, 2, 2]], "{form}, {order}");
            device.mount(None).unwrap();
            assert_eq!(device.found(), [2, 2, 3, 2, 1, 1, 1, 1], "{form}, {order}");
        }
    }
}

/// Writes a page of LBN 0, whose log block is full: the power fails as the merge, which has copied
/// four pages and erased the old data block, is about to erase the log block. After a mount it has
/// erased the clean block first, too.
fn fail_at_the_last_erase(device: &mut Mortal, page: u32, after: u64) {
    device.real.nand.cut_after(Cut { after, outcome: Outcome::Untouched });
    device.write(page, 1, 9).unwrap_err();
}

/// The owners of the pages of each block that holds copies of LBN 0, in the order of the blocks.
fn blocks_of_lbn_0(device: &Mortal) -> Vec<Vec<u32>> {
    let nand = &device.real.nand;
    let owners = (0..nand.geometry().blocks()).map(|block| nand.owners(BlockId(block)).to_vec());
    owners.filter(|owners| owners.iter().any(|&owner| owner < 4)).collect()
}
