//! A scheme on a chip in count mode. Requests are served in batches with prefetch hints, as in the
//! simulator.

use ftl::{Choice, Durability, Ftl, Layers, MountConfig, Run, Span};
use nand::{BlockId, ChipModel, Data, Lpn, Mode, Nand, Op, Sink};
use spec::Spec;

use crate::bare_loop::PAGES_PER_BLOCK;

/// Page size of the chip.
const PAGE_BYTES: u32 = 2048;
/// Number of requests that are prefetched together, as in the simulator.
const BATCH: usize = 64;

/// A request for one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageRequest {
    /// Read the whole page.
    Read,
    /// Write the whole page.
    Write,
    /// Write the first two of its four sectors.
    PartialWrite,
}

/// A device whose logical pages are all written once, in order.
pub struct SimulatedDevice {
    /// The chip.
    pub nand: Nand,
    ftl: Box<dyn Ftl>,
    batch: Vec<(PageRequest, u32)>,
}

impl SimulatedDevice {
    /// A device with the scheme that `spec` names, on the chip of the FASTer paper.
    ///
    /// # Panics
    /// The scheme is unknown or needs more extra blocks.
    pub fn filled(spec: &str, logical_blocks: u32, extra_blocks: u32) -> SimulatedDevice {
        SimulatedDevice::filled_under(&Layers::default(), spec, logical_blocks, extra_blocks)
    }

    /// The same device with layers above the scheme.
    ///
    /// # Panics
    /// The scheme is unknown or needs more extra blocks.
    pub fn filled_under(
        layers: &Layers,
        spec: &str,
        logical_blocks: u32,
        extra_blocks: u32,
    ) -> SimulatedDevice {
        let chip = ChipModel::from_spec(&Spec::plain("slc-fast2010")).expect("the preset exists");
        let blocks = logical_blocks + extra_blocks + layers.blocks(&chip).blocks;
        let geometry = chip.geometry(blocks).expect("the device is possible");
        let mut nand = Nand::new(geometry, Mode::Count);
        let blocks: Vec<BlockId> = (0..geometry.blocks()).map(BlockId).collect();
        let choice = Choice::from_spec(&Spec::parse(spec).expect("the spec is valid"))
            .expect("the scheme exists");
        choice.check(&chip, logical_blocks, extra_blocks).expect("the scheme accepts the device");
        let device = MountConfig {
            params: &choice.params,
            logical_blocks,
            blocks: &blocks,
            durability: Durability::Paper,
            seed: 1,
            timing: chip.timing,
            policy: None,
            foresight: None,
        };
        let mut ftl = layers.mount(choice.scheme, &mut nand, &device).expect("the chip is new");
        let pages = logical_blocks * PAGES_PER_BLOCK;
        ftl.write_run(&mut nand, &Run::whole(Lpn(0), pages, PAGE_BYTES, Data::None))
            .expect("nothing fails on this chip");
        SimulatedDevice { nand, ftl, batch: Vec::with_capacity(BATCH) }
    }

    /// Writes single pages at the addresses drawn.
    pub fn write(&mut self, writes: u32, mut draw: impl FnMut() -> u32) {
        self.serve(writes, || (PageRequest::Write, draw()));
    }

    /// Serves the requests drawn.
    pub fn serve(&mut self, requests: u32, mut draw: impl FnMut() -> (PageRequest, u32)) {
        let run = |lpn| Run::whole(Lpn(lpn), 1, PAGE_BYTES, Data::None);
        let mut left = requests;
        while left > 0 {
            let requests = left.min(BATCH as u32);
            self.batch.clear();
            self.batch.extend((0..requests).map(|_| draw()));
            let page = |first| Span { first, pages: 1, head: 0, tail: 0, stream: 0 };
            let base = self.ftl.base();
            self.batch.iter().for_each(|&(_, lpn)| base.prefetch(&[page(lpn)], None));
            for &(request, lpn) in &self.batch {
                let whole = run(lpn);
                let partial = Run { head: 0b0011, tail: 0b0011, ..whole };
                match request {
                    PageRequest::Read => self.ftl.read(&mut self.nand, &whole, &mut Sink::None),
                    PageRequest::Write => self.ftl.write_run(&mut self.nand, &whole),
                    PageRequest::PartialWrite => self.ftl.write_run(&mut self.nand, &partial),
                }
                .expect("nothing fails on this chip");
            }
            left -= requests;
        }
    }

    /// Number of pages programmed so far.
    pub fn programs(&self) -> u64 {
        self.nand.tally().total(Op::Program)
    }

    /// Number of flash operations so far.
    pub fn operations(&self) -> u64 {
        Op::ALL.map(|op| self.nand.tally().total(op)).iter().sum()
    }
}
