//! The speed of log-block and superblock schemes compared with a bare loop, on the 8 GB device of
//! the FASTer paper. Superblock schemes are also measured on the 80 GB device of the LSB paper.
//!
//! A merge takes many flash operations for one write, so the unit is flash operations per second:
//! reads of pages and spare areas, programs and erases. The bare loop uses page mapping, and its
//! operations are counted in the same way.
//!
//! `cargo bench -p ftlab-benches --bench log_block`

use ftlab_benches::bare_loop::{BareLoop, PAGES_PER_BLOCK};
use ftlab_benches::simulated_device::SimulatedDevice;
use ftlab_benches::{Contender, XorShift, compare};

/// The device of the FASTer paper, 8 GB.
const FASTER_BLOCKS: u32 = 65_536;
/// The device of the LSB paper, 80 GB: 655,360 blocks, 2.5 % of them extra.
const LSB_BLOCKS: u32 = 638_976;
const LSB_EXTRA_BLOCKS: u32 = 16_384;
/// Number of pages that the FASTer paper's workloads touch.
const TOUCHED: u32 = 1_400_000;
const SUPERBLOCKS: [&str; 2] = ["superblock", "lsb"];
const SCHEMES: [&str; 7] = ["bast", "fmax", "fast", "faster", "last", "superblock", "lsb"];

/// The 70/30 workload of the FASTer paper: 70 % of the writes go to 30 % of the touched pages,
/// which are scattered over the device.
fn skewed(rng: &mut XorShift, pages: u32) -> u32 {
    let hot = TOUCHED / 10 * 3;
    let page = match rng.below(10) {
        0..7 => rng.below(hot),
        _ => hot + rng.below(TOUCHED - hot),
    };
    page.wrapping_mul(2_654_435_761) % pages
}

fn compare_with_bare_loop(schemes: &[&'static str], blocks: u32, extra_blocks: u32, writes: u32) {
    let pages = blocks * PAGES_PER_BLOCK;
    let mut bare = BareLoop::filled(pages, blocks + extra_blocks);
    let mut rng = XorShift::new(1);
    let bare_loop = move || {
        let before = bare.programs + bare.reads_and_erases;
        (0..writes).for_each(|_| bare.write(skewed(&mut rng, pages)));
        bare.programs + bare.reads_and_erases - before
    };
    let mut contenders: Vec<Contender> = vec![("bare loop", Box::new(bare_loop))];
    for &scheme in schemes {
        let mut device = SimulatedDevice::filled(scheme, blocks, extra_blocks);
        let mut rng = XorShift::new(1);
        let round = move || {
            let before = device.operations();
            device.write(writes, || skewed(&mut rng, pages));
            device.operations() - before
        };
        contenders.push((scheme, Box::new(round)));
    }
    let gibibytes = (u64::from(pages) * 2048) >> 30;
    let title = format!("70/30 writes, {gibibytes} GiB, {extra_blocks} extra blocks");
    compare(&title, "operations", &mut contenders);
}

fn main() {
    compare_with_bare_loop(&SCHEMES, FASTER_BLOCKS, FASTER_BLOCKS * 3 / 100, 200_000);
    compare_with_bare_loop(&SCHEMES, FASTER_BLOCKS, FASTER_BLOCKS * 15 / 100, 200_000);
    compare_with_bare_loop(&SUPERBLOCKS, LSB_BLOCKS, LSB_EXTRA_BLOCKS, 200_000);
}
