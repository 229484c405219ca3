//! `page` compared with a bare loop: programs per second, memory per page, and the effect of the
//! device size.
//!
//! `cargo bench -p ftlab-benches --bench page`

use ftlab_benches::bare_loop::{BareLoop, PAGES_PER_BLOCK};
use ftlab_benches::simulated_device::SimulatedDevice;
use ftlab_benches::{XorShift, compare};

/// Writes single pages uniformly at random and returns the number of programs.
fn uniform(device: &mut SimulatedDevice, writes: u32, pages: u32, rng: &mut XorShift) -> u64 {
    let before = device.programs();
    device.write(writes, || rng.below(pages));
    device.programs() - before
}

fn speed() {
    for (logical_blocks, extra_blocks) in [(1024, 72), (65_536, 4588)] {
        let pages = logical_blocks * PAGES_PER_BLOCK;
        let mut bare = BareLoop::filled(pages, logical_blocks + extra_blocks);
        let mut page = SimulatedDevice::filled("page", logical_blocks, extra_blocks);
        let mut two_frontiers =
            SimulatedDevice::filled("page:frontiers=2", logical_blocks, extra_blocks);
        let mut cost_benefit =
            SimulatedDevice::filled("page:victim=cost_benefit", logical_blocks, extra_blocks);
        let mut rng = [1, 1, 1, 1].map(XorShift::new);
        let [d0, d1, d2, d3] = &mut rng;
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
                    Box::new(move || uniform(&mut two_frontiers, WRITES, pages, d2)),
                ),
                (
                    "page, cost-benefit",
                    Box::new(move || uniform(&mut cost_benefit, WRITES, pages, d3)),
                ),
            ],
        );
    }
}

/// Resident memory of this process, if the system reports it.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

fn memory() {
    let before = resident_bytes();
    let device = SimulatedDevice::filled("page", 262_144, 18_351);
    let pages = u64::from(device.nand.geometry().pages());
    match (before, resident_bytes()) {
        (Some(before), Some(after)) => println!(
            "memory in count mode: {:.2} bytes per physical page ({pages} pages)",
            (after - before) as f64 / pages as f64
        ),
        _ => println!("memory in count mode: this system does not report it"),
    }
}

fn size() {
    let sizes = [4096_u32, 8192, 16_384, 32_768, 65_536, 131_072];
    let mut devices: Vec<(String, SimulatedDevice, XorShift)> = sizes
        .iter()
        .map(|&blocks| {
            let device = SimulatedDevice::filled("page", blocks, blocks * 7 / 100);
            (format!("{} MiB", blocks / 8), device, XorShift::new(1))
        })
        .collect();
    let mut contenders: Vec<_> = devices
        .iter_mut()
        .zip(sizes)
        .map(|((name, device, rng), blocks)| {
            let pages = blocks * PAGES_PER_BLOCK;
            let round =
                Box::new(move || uniform(device, 200_000, pages, rng)) as Box<dyn FnMut() -> u64>;
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
