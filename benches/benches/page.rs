//! `page` against a bare loop: programs a second, bytes a page, and time against device size.
//!
//! `cargo bench -p ftlab-benches --bench page`

use ftlab_benches::bare::{Bare, PAGES_PER_BLOCK};
use ftlab_benches::simulated::Simulated;
use ftlab_benches::{Dice, compare};

/// Uniform random single-page writes; returns the programs they took.
fn uniform(device: &mut Simulated, writes: u32, pages: u32, dice: &mut Dice) -> u64 {
    let before = device.programs();
    device.write(writes, || dice.below(pages));
    device.programs() - before
}

fn speed() {
    for (logical_blocks, extra_blocks) in [(1024, 72), (65_536, 4588)] {
        let pages = logical_blocks * PAGES_PER_BLOCK;
        let mut bare = Bare::filled(pages, logical_blocks + extra_blocks);
        let mut page = Simulated::filled("page", logical_blocks, extra_blocks);
        let mut two = Simulated::filled("page:frontiers=2", logical_blocks, extra_blocks);
        let mut benefit =
            Simulated::filled("page:victim=cost_benefit", logical_blocks, extra_blocks);
        let mut dice = [1, 1, 1, 1].map(Dice::new);
        let [d0, d1, d2, d3] = &mut dice;
        const WRITES: u32 = 400_000;
        compare(
            &format!("uniform random writes, {} MiB, 7 % extra", pages / 512),
            "programs",
            &mut [
                (
                    "bare loop",
                    Box::new(move || {
                        let before = bare.programs;
                        (0..WRITES).for_each(|_| bare.write(d0.below(pages)));
                        bare.programs - before
                    }),
                ),
                ("page, greedy", Box::new(move || uniform(&mut page, WRITES, pages, d1))),
                (
                    "page, greedy, two frontiers",
                    Box::new(move || uniform(&mut two, WRITES, pages, d2)),
                ),
                ("page, cost-benefit", Box::new(move || uniform(&mut benefit, WRITES, pages, d3))),
            ],
        );
    }
}

/// Resident bytes of this process, where the system says so.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

fn memory() {
    let before = resident_bytes();
    let device = Simulated::filled("page", 262_144, 18_351);
    let pages = u64::from(device.nand.geometry().pages());
    match (before, resident_bytes()) {
        (Some(before), Some(after)) => println!(
            "memory in count mode: {:.2} bytes a physical page ({pages} pages)",
            (after - before) as f64 / pages as f64
        ),
        _ => println!("memory in count mode: this system does not say"),
    }
}

fn size() {
    let sizes = [4096_u32, 8192, 16_384, 32_768, 65_536, 131_072];
    let mut devices: Vec<(String, Simulated, Dice)> = sizes
        .iter()
        .map(|&blocks| {
            let device = Simulated::filled("page", blocks, blocks * 7 / 100);
            (format!("{} MiB", blocks / 8), device, Dice::new(1))
        })
        .collect();
    let mut contenders: Vec<_> = devices
        .iter_mut()
        .zip(sizes)
        .map(|((name, device, dice), blocks)| {
            let pages = blocks * PAGES_PER_BLOCK;
            let round =
                Box::new(move || uniform(device, 200_000, pages, dice)) as Box<dyn FnMut() -> u64>;
            (name.as_str(), round)
        })
        .collect();
    compare("page, greedy, by device size", "programs", &mut contenders);
}

fn main() {
    memory();
    speed();
    size();
}
