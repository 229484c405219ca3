//! Log blocks are found again, whenever the power comes and goes.

use nand::BlockId;
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
