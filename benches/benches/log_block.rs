//! Log-block schemes and those with superblocks against a bare loop, by flash operation, on the
//! 8 GB device of FASTer.
//!
//! A merge is many operations for one write, so what is compared is operations a second: reads, of
//! pages or spare areas, programs and erases. The bare loop is page-mapped; its operations are
//! counted alike.
//!
//! `cargo bench -p ftlab-benches --bench log_block`

use ftlab_benches::bare::{Bare, PAGES_PER_BLOCK};
use ftlab_benches::simulated::Simulated;
use ftlab_benches::{Contender, Dice, compare};

const LOGICAL_BLOCKS: u32 = 65_536;
const PAGES: u32 = LOGICAL_BLOCKS * PAGES_PER_BLOCK;
/// Pages that FASTer's workloads ever touch.
const TOUCHED: u32 = 1_400_000;
const SCHEMES: [&str; 7] = ["bast", "fmax", "fast", "faster", "last", "superblock", "lsb"];

/// FASTer's 70/30: 70 % of the writes to 30 % of the touched pages, which lie scattered.
fn skewed(dice: &mut Dice) -> u32 {
    let hot = TOUCHED / 10 * 3;
    let page = match dice.below(10) {
        0..7 => dice.below(hot),
        _ => hot + dice.below(TOUCHED - hot),
    };
    // An odd factor permutes the pages of a device whose size is a power of two.
    page.wrapping_mul(2_654_435_761) % PAGES
}

fn against_the_bare_loop(extra_blocks: u32, writes: u32) {
    let mut bare = Bare::filled(PAGES, LOGICAL_BLOCKS + extra_blocks);
    let mut dice = Dice::new(1);
    let bare_loop = move || {
        let before = bare.programs + bare.reads_and_erases;
        (0..writes).for_each(|_| bare.write(skewed(&mut dice)));
        bare.programs + bare.reads_and_erases - before
    };
    let mut contenders: Vec<Contender> = vec![("bare loop", Box::new(bare_loop))];
    for scheme in SCHEMES {
        let mut device = Simulated::filled(scheme, LOGICAL_BLOCKS, extra_blocks);
        let mut dice = Dice::new(1);
        let round = move || {
            let before = device.operations();
            device.write(writes, || skewed(&mut dice));
            device.operations() - before
        };
        contenders.push((scheme, Box::new(round)));
    }
    let title = format!("70/30 writes, 8 GiB, {extra_blocks} extra blocks");
    compare(&title, "operations", &mut contenders);
}

fn main() {
    against_the_bare_loop(LOGICAL_BLOCKS * 3 / 100, 200_000);
    against_the_bare_loop(LOGICAL_BLOCKS * 15 / 100, 200_000);
}
