//! A scheme on a chip in count mode, fed as the simulator feeds it: requests in batches, each heard
//! of before it is served.

use ftl::{Choice, Device, Durability, Ftl, Run};
use nand::{BlockId, Chip, Data, Lpn, Mode, Nand, Op};
use spec::Spec;

use crate::bare::PAGES_PER_BLOCK;

/// The page of the chip.
const PAGE_BYTES: u32 = 2048;
/// Requests between two prefetch hints and their service, as the simulator has them.
const BATCH: usize = 64;

/// A device with every logical page written once, in order.
pub struct Simulated {
    /// The chip.
    pub nand: Nand,
    ftl: Box<dyn Ftl>,
    lpns: Vec<u32>,
}

impl Simulated {
    /// The scheme that `spec` names, on FASTer's chip.
    ///
    /// # Panics
    /// There is no such scheme, or it cannot work with so few extra blocks.
    pub fn filled(spec: &str, logical_blocks: u32, extra_blocks: u32) -> Simulated {
        let chip = Chip::from_spec(&Spec::plain("slc-fast2010")).expect("a preset");
        let geometry = chip.geometry(logical_blocks + extra_blocks).expect("a possible device");
        let mut nand = Nand::new(geometry, Mode::Count);
        let blocks: Vec<BlockId> = (0..geometry.blocks()).map(BlockId).collect();
        let choice = Choice::from_spec(&Spec::parse(spec).expect("a spec")).expect("a scheme");
        choice.check(&chip, logical_blocks, extra_blocks).expect("a device that it works on");
        let device = Device {
            params: &choice.params,
            logical_blocks,
            blocks: &blocks,
            durability: Durability::Paper,
            seed: 1,
            timing: chip.timing,
        };
        let mut ftl = choice.mount(&mut nand, &device).expect("a fresh chip");
        let pages = logical_blocks * PAGES_PER_BLOCK;
        ftl.write(&mut nand, &Run::whole(Lpn(0), pages, PAGE_BYTES, Data::None)).expect("power");
        Simulated { nand, ftl, lpns: Vec::with_capacity(BATCH) }
    }

    /// Writes single pages, as they are drawn.
    pub fn write(&mut self, writes: u32, mut draw: impl FnMut() -> u32) {
        let run = |lpn| Run::whole(Lpn(lpn), 1, PAGE_BYTES, Data::None);
        let mut left = writes;
        while left > 0 {
            let batch = left.min(BATCH as u32);
            self.lpns.clear();
            self.lpns.extend((0..batch).map(|_| draw()));
            self.lpns.iter().for_each(|&lpn| self.ftl.prefetch(&run(lpn)));
            for &lpn in &self.lpns {
                self.ftl.write(&mut self.nand, &run(lpn)).expect("power");
            }
            left -= batch;
        }
    }

    /// Pages programmed so far.
    pub fn programs(&self) -> u64 {
        self.nand.tally().total(Op::Program)
    }

    /// Operations so far: reads, programs and erases.
    pub fn operations(&self) -> u64 {
        [Op::Read, Op::Program, Op::Erase].map(|op| self.nand.tally().total(op)).iter().sum()
    }
}
