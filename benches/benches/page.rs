//! `page` against a bare loop: programs a second, bytes a page, and time against device size.
//!
//! `cargo bench -p ftlab-benches --bench page`

use ftl::{Choice, Device, Durability, Ftl, Run};
use ftlab_benches::bare::{Bare, PAGES_PER_BLOCK};
use ftlab_benches::{Dice, compare};
use nand::{BlockId, Chip, Data, Lpn, Mode, Nand, Op};
use spec::Spec;

const PAGE_BYTES: u32 = 2048;
/// Requests between two prefetch hints and their service, as the simulator has them.
const BATCH: usize = 64;

/// A filled page-mapped device in count mode.
struct Simulated {
    nand: Nand,
    ftl: Box<dyn Ftl>,
    lpns: Vec<u32>,
}

impl Simulated {
    fn filled(spec: &str, logical_blocks: u32, extra_blocks: u32) -> Simulated {
        let chip = Chip::from_spec(&Spec::plain("slc-fast2010")).expect("a preset");
        let geometry = chip.geometry(logical_blocks + extra_blocks).expect("a possible device");
        let mut nand = Nand::new(geometry, Mode::Count);
        let blocks: Vec<BlockId> = (0..geometry.blocks()).map(BlockId).collect();
        let choice = Choice::from_spec(&Spec::parse(spec).expect("a spec")).expect("a scheme");
        let device = Device {
            params: &choice.params,
            logical_blocks,
            blocks: &blocks,
            durability: Durability::Paper,
            seed: 1,
        };
        let mut ftl = choice.mount(&mut nand, &device).expect("a fresh chip");
        let pages = logical_blocks * PAGES_PER_BLOCK;
        ftl.write(&mut nand, &Run::whole(Lpn(0), pages, PAGE_BYTES, Data::None)).expect("power");
        Simulated { nand, ftl, lpns: Vec::with_capacity(BATCH) }
    }

    /// Uniform random single-page writes; returns the programs they took.
    fn write(&mut self, writes: u32, logical_pages: u32, dice: &mut Dice) -> u64 {
        let before = self.nand.tally().total(Op::Program);
        let run = |lpn| Run::whole(Lpn(lpn), 1, PAGE_BYTES, Data::None);
        let mut left = writes;
        while left > 0 {
            let batch = left.min(BATCH as u32);
            self.lpns.clear();
            self.lpns.extend((0..batch).map(|_| dice.below(logical_pages)));
            self.lpns.iter().for_each(|&lpn| self.ftl.prefetch(&run(lpn)));
            for &lpn in &self.lpns {
                self.ftl.write(&mut self.nand, &run(lpn)).expect("power");
            }
            left -= batch;
        }
        self.nand.tally().total(Op::Program) - before
    }
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
                ("page, greedy", Box::new(move || page.write(WRITES, pages, d1))),
                ("page, greedy, two frontiers", Box::new(move || two.write(WRITES, pages, d2))),
                ("page, cost-benefit", Box::new(move || benefit.write(WRITES, pages, d3))),
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
                Box::new(move || device.write(200_000, pages, dice)) as Box<dyn FnMut() -> u64>;
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
