//! A miniature: a small device in the RAM of the controller that runs the same code as the device
//! itself, and whose flash operations are only counted.

use nand::{BlockId, Cause, Geometry, Mode, Nand, Op, Sink, Timing};

use super::sample::Sample;
use super::scale::Scale;
use crate::contract::{Durability, Ftl, MountConfig, Ram, Result, Step, Violation};
use crate::layer::definition::MountBelow;
use crate::layer::sector_log::sector_ring::SectorRing;
use crate::layer::sector_log::size::SectorLogSize;
use crate::layer::write_buffer::WriteBuffer;
use spec::Params;

/// Pages that the write buffer of a miniature has at least. A sector log takes one of them.
const BUFFER_PAGES_MIN: u32 = 64;
/// Blocks that a scheme keeps erased for garbage collection.
const RESERVE: u32 = 1;

/// The numbers of blocks of a device, from which the scale and those of a miniature follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceSize {
    pub logical_blocks: u32,
    /// Blocks below the log, while the log has its own.
    pub blocks_below: u32,
    pub log_blocks: u32,
    /// Blocks that the scheme keeps open or in reserve. A miniature needs all of them.
    pub fixed_blocks: u32,
}

impl DeviceSize {
    /// The size of a miniature with so many logical pages.
    fn scaled(&self, scale: Scale, pages: u32, pages_per_block: u32) -> DeviceSize {
        let logical_blocks = pages.div_ceil(pages_per_block);
        let data_blocks = scale.blocks(self.blocks_below - self.fixed_blocks).max(logical_blocks);
        DeviceSize {
            logical_blocks,
            blocks_below: data_blocks + self.fixed_blocks,
            log_blocks: scale.blocks(self.log_blocks).max(1),
            ..*self
        }
    }
}

/// Puts a sector log on a ring of blocks above an FTL.
pub type LogAbove =
    fn(Box<dyn Ftl>, &Nand, &MountConfig, SectorRing, SectorLogSize) -> Box<dyn Ftl>;

/// The device that a miniature imitates.
pub struct Original<'a> {
    pub geometry: &'a Geometry,
    pub config: &'a MountConfig<'a>,
    pub size: DeviceSize,
    pub map_bytes_max: Option<u64>,
    /// Pages of a block that the log uses.
    pub usable: u32,
    /// The parameters of a write buffer above the log.
    pub buffer: Option<Params>,
    pub log_above: LogAbove,
}

/// A small device of which only the operations count.
pub struct Miniature {
    nand: Nand,
    ftl: Box<dyn Ftl>,
    timing: Timing,
    /// Serial time of all its operations.
    pub spent_ns: u64,
}

impl<'a> Original<'a> {
    /// The device of a mount: `data_blocks` without the system blocks, of which the log uses some.
    pub fn of(
        geometry: &'a Geometry,
        config: &'a MountConfig<'a>,
        data_blocks: u32,
        layout: SectorLogSize,
        usable: u32,
        log_above: LogAbove,
    ) -> Original<'a> {
        let size = DeviceSize {
            logical_blocks: config.logical_blocks,
            blocks_below: data_blocks - layout.blocks,
            log_blocks: layout.blocks,
            fixed_blocks: RESERVE,
        };
        let map_bytes_max = layout.map_bytes_max;
        Original { geometry, config, size, map_bytes_max, usable, buffer: None, log_above }
    }

    /// The same device, whose scheme keeps so many blocks open, below such a write buffer.
    pub fn with(mut self, open_blocks: u32, buffer: Option<Params>) -> Original<'a> {
        self.size.fixed_blocks = RESERVE + open_blocks;
        self.buffer = buffer;
        self
    }

    /// The largest scale at which a miniature has enough blocks, and enough pages in its buffer.
    pub fn scale(&self) -> Scale {
        let page_bytes = u64::from(self.geometry.page_bytes());
        let buffered = |buffer: &Params| (buffer.size("size") / page_bytes) as u32;
        let of_buffer = self.buffer.as_ref().map(|buffer| buffered(buffer) / BUFFER_PAGES_MIN);
        let DeviceSize { blocks_below, log_blocks, .. } = self.size;
        let of_blocks = Scale::largest(blocks_below + log_blocks, log_blocks);
        let pages = of_blocks.min(of_buffer.unwrap_or(u32::MAX)).max(1);
        Scale::new(pages, self.geometry.pages_per_block())
    }

    /// Pages of a block of a miniature.
    fn pages_per_block(&self, scale: Scale) -> u32 {
        scale.block_pages(self.geometry.pages_per_block())
    }

    /// The times of a miniature's operations. A short block takes its part of the time to erase.
    fn timing(&self, scale: Scale) -> Timing {
        let timing = self.config.timing;
        Timing { erase_ns: timing.erase_ns / u64::from(scale.block), ..timing }
    }

    /// A miniature that uses its log.
    ///
    /// # Errors
    /// The scheme refuses it.
    pub fn with_log(&self, sample: &Sample, mount: &mut MountBelow) -> Result<Miniature> {
        let (scale, size) = (sample.scale(), self.scaled(sample));
        self.build(size, scale, |nand, config, blocks| {
            let (of_ftl, of_log) = blocks.split_at(size.blocks_below as usize);
            let paper = MountConfig { blocks: of_ftl, durability: Durability::Paper, ..*config };
            let ftl = mount(nand, &paper)?;
            let map_bytes_max = self.map_bytes_max.map(|most| most / u64::from(scale.pages));
            let layout = SectorLogSize { blocks: size.log_blocks, map_bytes_max };
            let ring = SectorRing::of(of_log, scale.block_pages(self.usable));
            Ok((self.log_above)(ftl, nand, config, ring, layout))
        })
    }

    /// A miniature whose log stands aside.
    ///
    /// # Errors
    /// The scheme refuses it.
    pub fn without_log(&self, sample: &Sample, mount: &mut MountBelow) -> Result<Miniature> {
        let scale = sample.scale();
        self.build(self.scaled(sample), scale, |nand, config, blocks| {
            mount(nand, &MountConfig { blocks, durability: Durability::Paper, ..*config })
        })
    }

    /// Blocks of the log of a miniature.
    pub fn log_blocks(&self, sample: &Sample) -> u64 {
        self.scaled(sample).log_blocks.into()
    }

    /// Time to copy the pages of a miniature's log once, and to erase its blocks.
    pub fn copy_ns(&self, sample: &Sample) -> u64 {
        let scale = sample.scale();
        let Timing { read_ns, program_ns, erase_ns, .. } = self.timing(scale);
        let block_ns =
            u64::from(scale.block_pages(self.usable)) * (read_ns + program_ns) + erase_ns;
        u64::from(self.scaled(sample).log_blocks) * block_ns
    }

    fn scaled(&self, sample: &Sample) -> DeviceSize {
        let scale = sample.scale();
        self.size.scaled(scale, sample.pages(), self.pages_per_block(scale))
    }

    fn build(
        &self,
        size: DeviceSize,
        scale: Scale,
        mount: impl FnOnce(&mut Nand, &MountConfig, &[BlockId]) -> Result<Box<dyn Ftl>>,
    ) -> Result<Miniature> {
        let blocks: Vec<BlockId> = (0..size.blocks_below + size.log_blocks).map(BlockId).collect();
        let like = self.geometry;
        let geometry = Geometry::new(
            like.page_bytes(),
            like.spare_bytes(),
            self.pages_per_block(scale),
            blocks.len() as u32,
            like.program_order(),
        )?;
        let mut nand = Nand::new(geometry, Mode::Count);
        let config = MountConfig {
            logical_blocks: size.logical_blocks,
            blocks: &blocks,
            policy: None,
            foresight: None,
            timing: self.timing(scale),
            ..*self.config
        };
        let mut ftl = mount(&mut nand, &config, &blocks)?;
        if let Some(params) = &self.buffer {
            let bytes = params.size("size") / u64::from(scale.pages);
            ftl = Box::new(WriteBuffer::new(ftl, &nand, &config, params, bytes));
        }
        nand.finish_mount();
        Ok(Miniature { nand, ftl, timing: config.timing, spent_ns: 0 })
    }
}

impl Miniature {
    /// Serves a step. Returns the serial time of its operations.
    ///
    /// # Errors
    /// No room can be made.
    pub fn serve(&mut self, step: &Step) -> Result<u64> {
        let (nand, ftl) = (&mut self.nand, &mut self.ftl);
        match step {
            Step::Read(run) => ftl.read(nand, run, &mut Sink::None)?,
            Step::Write(run) => ftl.write(nand, run)?,
            Step::Trim(first, pages) => ftl.trim(nand, *first, *pages)?,
            Step::Flush => ftl.flush(nand)?,
            Step::FlushRun(run) => ftl.flush_run(nand, run)?,
        }
        let all_ns = self.timing.serial_ns(self.nand.tally());
        Ok(all_ns - core::mem::replace(&mut self.spent_ns, all_ns))
    }

    /// How many blocks it has erased.
    pub fn erases(&self) -> u64 {
        self.nand.tally().total(Op::Erase)
    }

    /// How many of them were blocks of the log.
    pub fn erases_of_log(&self) -> u64 {
        self.nand.tally().count(Op::Erase, Cause::Log)
    }

    /// Bytes of RAM of a controller: its FTL, and the owner of each page, which a chip would keep
    /// in the spare area. Its write buffer holds no pages.
    pub fn ram_bytes(&self) -> u64 {
        let Ram { map, cache, buffer: _, sector_map, other } = self.ftl.ram();
        let owners = 4 * u64::from(self.nand.geometry().pages());
        map + cache + sector_map + other + owners
    }

    /// Checks the miniature as a device.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn audit(&self) -> core::result::Result<(), Violation> {
        self.ftl.audit(&self.nand)
    }
}

#[cfg(test)]
mod tests {
    use nand::ProgramOrder;
    use spec::Spec;

    use super::*;
    use crate::Choice;
    use crate::layer::write_buffer;

    const TIMING: Timing = Timing { read_ns: 88, program_ns: 263, erase_ns: 2000, ..Timing::ZERO };

    /// A log of 652 blocks, half of whose pages are used, above a scheme that keeps 31 blocks open.
    fn with_original<T>(buffer: &str, test: impl FnOnce(&Original, &mut Sample) -> T) -> T {
        let geometry = Geometry::new(2048, 64, 128, 8280, ProgramOrder::Any).unwrap();
        let choice = Choice::from_spec(&Spec::plain("page")).unwrap();
        let config = MountConfig {
            params: &choice.params,
            logical_blocks: 7000,
            blocks: &[],
            durability: Durability::Full,
            seed: 0,
            timing: TIMING,
            policy: None,
            foresight: None,
        };
        let layout = SectorLogSize { blocks: 652, map_bytes_max: Some(3_200_000) };
        let buffer = crate::layer::Layers::from_texts(&[("buffer", buffer)]).unwrap();
        let buffer = buffer.named(write_buffer::LAYER.name).map(|buffer| buffer.params.clone());
        let log_above: LogAbove = |ftl, nand, config, ring, layout| {
            assert_eq!(nand.geometry().blocks(), 1931 + 163);
            assert_eq!((config.logical_blocks, config.timing.erase_ns), (1750, 250));
            assert_eq!((ring.blocks(), ring.pages()), (163, 163 * 8));
            assert_eq!(layout, SectorLogSize { blocks: 163, map_bytes_max: Some(100_000) });
            ftl
        };
        let original = Original::of(&geometry, &config, 8280, layout, 64, log_above);
        let original = original.with(31, buffer);
        let mut sample = Sample::new(original.scale(), 7000 * 128, geometry.full_mask());
        test(&original, &mut sample)
    }

    #[test]
    fn a_miniature_has_its_share_of_everything_but_of_the_blocks_that_the_scheme_needs() {
        with_original("4MiB", |original, sample| {
            assert_eq!(sample.scale(), Scale { pages: 32, block: 8 });
            assert_eq!(original.log_blocks(sample), 163);
            assert_eq!(original.copy_ns(sample), 163 * (8 * (88 + 263) + 250));
            let choice = Choice::from_spec(&Spec::plain("page")).unwrap();
            let mut blocks = Vec::new();
            let mut mount: MountBelow = &mut |nand: &mut Nand, config: &MountConfig| {
                blocks.push(config.blocks.len());
                choice.mount(nand, config)
            };
            let with_log = original.with_log(sample, &mut mount).unwrap();
            let without_log = original.without_log(sample, &mut mount).unwrap();
            assert_eq!(blocks, [1931, 1931 + 163]);
            for miniature in [with_log, without_log] {
                assert_eq!(miniature.ftl.ram().buffer, 128 << 10);
                assert_eq!(miniature.nand.geometry().pages_per_block(), 16);
            }
        });
    }

    #[test]
    fn a_small_write_buffer_makes_a_miniature_larger() {
        let scale = |buffer: &str| with_original(buffer, |original, _| original.scale().pages);
        assert_eq!(["1MiB", "100KiB"].map(scale), [8, 1]);
    }
}
