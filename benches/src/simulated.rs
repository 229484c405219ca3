//! A scheme on a chip in count mode, fed as the simulator feeds it: requests in batches, each heard
//! of before it is served.

use ftl::{Choice, Durability, Ftl, Layers, MountConfig, Run};
use nand::{BlockId, ChipModel, Data, Lpn, Mode, Nand, Op, Sink};
use spec::Spec;

use crate::bare::PAGES_PER_BLOCK;

/// The page of the chip.
const PAGE_BYTES: u32 = 2048;
/// Requests between two prefetch hints and their service, as the simulator has them.
const BATCH: usize = 64;

/// What is asked of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// All of it is read.
    Read,
    /// All of it is written.
    Write,
    /// The first two of its four sectors are written.
    Patch,
}

/// A device with every logical page written once, in order.
pub struct Simulated {
    /// The chip.
    pub nand: Nand,
    ftl: Box<dyn Ftl>,
    asked: Vec<(Ask, u32)>,
}

impl Simulated {
    /// The scheme that `spec` names, on FASTer's chip.
    ///
    /// # Panics
    /// There is no such scheme, or it cannot work with so few extra blocks.
    pub fn filled(spec: &str, logical_blocks: u32, extra_blocks: u32) -> Simulated {
        Simulated::filled_under(&Layers::default(), spec, logical_blocks, extra_blocks)
    }

    /// The same with layers above the scheme.
    ///
    /// # Panics
    /// As [`filled`](Self::filled).
    pub fn filled_under(
        layers: &Layers,
        spec: &str,
        logical_blocks: u32,
        extra_blocks: u32,
    ) -> Simulated {
        let chip = ChipModel::from_spec(&Spec::plain("slc-fast2010")).expect("a preset");
        let blocks = logical_blocks + extra_blocks + layers.blocks(&chip).blocks;
        let geometry = chip.geometry(blocks).expect("a possible device");
        let mut nand = Nand::new(geometry, Mode::Count);
        let blocks: Vec<BlockId> = (0..geometry.blocks()).map(BlockId).collect();
        let choice = Choice::from_spec(&Spec::parse(spec).expect("a spec")).expect("a scheme");
        choice.check(&chip, logical_blocks, extra_blocks).expect("a device that it works on");
        let device = MountConfig {
            params: &choice.params,
            logical_blocks,
            blocks: &blocks,
            durability: Durability::Paper,
            seed: 1,
            timing: chip.timing,
        };
        let mut ftl = layers.mount(choice.scheme, &mut nand, &device).expect("a fresh chip");
        let pages = logical_blocks * PAGES_PER_BLOCK;
        ftl.write(&mut nand, &Run::whole(Lpn(0), pages, PAGE_BYTES, Data::None)).expect("power");
        Simulated { nand, ftl, asked: Vec::with_capacity(BATCH) }
    }

    /// Writes single pages, as they are drawn.
    pub fn write(&mut self, writes: u32, mut draw: impl FnMut() -> u32) {
        self.serve(writes, || (Ask::Write, draw()));
    }

    /// Serves requests for single pages, as they are drawn.
    pub fn serve(&mut self, requests: u32, mut draw: impl FnMut() -> (Ask, u32)) {
        let run = |lpn| Run::whole(Lpn(lpn), 1, PAGE_BYTES, Data::None);
        let mut left = requests;
        while left > 0 {
            let batch = left.min(BATCH as u32);
            self.asked.clear();
            self.asked.extend((0..batch).map(|_| draw()));
            self.asked.iter().for_each(|&(_, lpn)| self.ftl.prefetch(&run(lpn)));
            for &(ask, lpn) in &self.asked {
                let whole = run(lpn);
                let patch = Run { head: 0b0011, tail: 0b0011, ..whole };
                match ask {
                    Ask::Read => self.ftl.read(&mut self.nand, &whole, &mut Sink::None),
                    Ask::Write => self.ftl.write(&mut self.nand, &whole),
                    Ask::Patch => self.ftl.write(&mut self.nand, &patch),
                }
                .expect("power");
            }
            left -= batch;
        }
    }

    /// Pages programmed so far.
    pub fn programs(&self) -> u64 {
        self.nand.tally().total(Op::Program)
    }

    /// Operations so far, of whatever kind.
    pub fn operations(&self) -> u64 {
        Op::ALL.map(|op| self.nand.tally().total(op)).iter().sum()
    }
}
