//! Log-block schemes and those with superblocks against a bare loop, by flash operation, on the
//! 8 GB device of FASTer; those with superblocks also on the 80 GB of LSB.
//!
//! A merge is many operations for one write, so what is compared is operations a second: reads, of
//! pages or spare areas, programs and erases. The bare loop is page-mapped; its operations are
//! counted alike.
//!
//! `cargo bench -p ftlab-benches --bench log_block`

use ftlab_benches::bare::{Bare, PAGES_PER_BLOCK};
use ftlab_benches::simulated::Simulated;
use ftlab_benches::{Contender, Dice, compare};

/// FASTer's device, 8 GB.
const FASTER_BLOCKS: u32 = 65_536;
/// LSB's device, 80 GB: 655,360 blocks, 2.5 % of them free when it is filled.
const LSB_BLOCKS: u32 = 638_976;
const LSB_EXTRA_BLOCKS: u32 = 16_384;
/// Pages that FASTer's workloads ever touch.
const TOUCHED: u32 = 1_400_000;
const SUPERBLOCKS: [&str; 2] = ["superblock", "lsb"];
const SCHEMES: [&str; 7] = ["bast", "fmax", "fast", "faster", "last", "superblock", "lsb"];

/// FASTer's 70/30: 70 % of the writes to 30 % of the touched pages, which lie scattered.
fn skewed(dice: &mut Dice, pages: u32) -> u32 {
    let hot = TOUCHED / 10 * 3;
    let page = match dice.below(10) {
        0..7 => dice.below(hot),
        _ => hot + dice.below(TOUCHED - hot),
    };
    page.wrapping_mul(2_654_435_761) % pages
}

fn against_the_bare_loop(schemes: &[&'static str], blocks: u32, extra_blocks: u32, writes: u32) {
    let pages = blocks * PAGES_PER_BLOCK;
    let mut bare = Bare::filled(pages, blocks + extra_blocks);
    let mut dice = Dice::new(1);
    let bare_loop = move || {
        let before = bare.programs + bare.reads_and_erases;
        (0..writes).for_each(|_| bare.write(skewed(&mut dice, pages)));
        bare.programs + bare.reads_and_erases - before
    };
    let mut contenders: Vec<Contender> = vec![("bare loop", Box::new(bare_loop))];
    for &scheme in schemes {
        let mut device = Simulated::filled(scheme, blocks, extra_blocks);
        let mut dice = Dice::new(1);
        let round = move || {
            let before = device.operations();
            device.write(writes, || skewed(&mut dice, pages));
            device.operations() - before
        };
        contenders.push((scheme, Box::new(round)));
    }
    let gibibytes = (u64::from(pages) * 2048) >> 30;
    let title = format!("70/30 writes, {gibibytes} GiB, {extra_blocks} extra blocks");
    compare(&title, "operations", &mut contenders);
}

fn main() {
    against_the_bare_loop(&SCHEMES, FASTER_BLOCKS, FASTER_BLOCKS * 3 / 100, 200_000);
    against_the_bare_loop(&SCHEMES, FASTER_BLOCKS, FASTER_BLOCKS * 15 / 100, 200_000);
    against_the_bare_loop(&SUPERBLOCKS, LSB_BLOCKS, LSB_EXTRA_BLOCKS, 200_000);
}
