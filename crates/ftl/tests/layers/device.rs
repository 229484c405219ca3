//! A write buffer above an FTL that records, and above schemes on a small chip.

use ftl::layer::{Layers, Stack, write_buffer};
use ftl::{Ftl, Metric, MountConfig, Run};
use nand::{ChipModel, Data, Lpn, Mode, Nand, SectorMask, Sink, Stamp};

use crate::common::{self, blocks, choice, config};
use crate::recorder::{Call, Calls, Recorder, SECTORS, WHOLE};

pub const PAGE_BYTES: u32 = 2048;
pub const LOGICAL_BLOCKS: u32 = 8;
pub const PAGES: u32 = 4 * LOGICAL_BLOCKS;

/// Eight logical blocks of four pages, and the layers above them.
pub struct Real {
    pub nand: Nand,
    pub ftl: Box<dyn Ftl>,
    /// The number of the last write.
    pub writes: u32,
}

pub fn chip() -> ChipModel {
    let spec = "slc-lsb:program_order=ascending,pages_per_block=4";
    common::chip(spec)
}

pub fn layers(buffer: &str) -> Layers {
    Layers::from_texts(&[("buffer", buffer)]).unwrap()
}

/// Mounts a scheme with a buffer above it.
pub fn mount(ftl: &str, buffer: &str, nand: &mut Nand) -> ftl::Result<Box<dyn Ftl>> {
    mount_under(ftl, &layers(buffer), nand)
}

/// Mounts a scheme with these layers above it.
pub fn mount_under(ftl: &str, layers: &Layers, nand: &mut Nand) -> ftl::Result<Box<dyn Ftl>> {
    let choice = choice(ftl);
    let blocks = blocks(nand.geometry());
    let device = config(&choice, LOGICAL_BLOCKS, &blocks, chip().timing);
    layers.mount(choice.scheme, nand, &device)
}

impl Real {
    /// A scheme under a buffer.
    pub fn new(ftl: &str, buffer: &str, mode: Mode) -> Real {
        let mut nand = Nand::new(chip().geometry(LOGICAL_BLOCKS + 6).unwrap(), mode);
        let ftl = mount(ftl, buffer, &mut nand).unwrap();
        Real { nand, ftl, writes: 0 }
    }

    /// A recorder under a buffer of `pages` pages, with further settings such as `,reads=true`.
    pub fn recorded(pages: u32, settings: &str) -> (Real, Calls) {
        let recorder = Recorder::default();
        let calls = recorder.calls.clone();
        (Real::above(recorder, pages, settings), calls)
    }

    pub fn above(recorder: Recorder, pages: u32, settings: &str) -> Real {
        let mut nand = Nand::new(chip().geometry(LOGICAL_BLOCKS).unwrap(), Mode::Stamps);
        let text = format!("{}{settings}", pages * PAGE_BYTES);
        let layers = layers(&text);
        let choice = choice("page");
        let device = config(&choice, LOGICAL_BLOCKS, &[], chip().timing);
        let params = &layers.iter().next().unwrap().params;
        let stack = Stack { layers: &layers, scheme: choice.scheme, given: &[] };
        let mut recorder = Some(recorder);
        let mut below = |_: &mut Nand, _: &MountConfig| -> ftl::Result<Box<dyn Ftl>> {
            Ok(Box::new(recorder.take().expect("mounted once")))
        };
        let mount = write_buffer::LAYER.mount;
        let ftl = mount(params, &stack, &mut nand, &device, &mut below).unwrap();
        Real { nand, ftl, writes: 0 }
    }

    /// Writes whole pages.
    pub fn write(&mut self, first: u32, pages: u32) {
        self.write_masked(first, pages, WHOLE, WHOLE);
    }

    pub fn write_each(&mut self, pages: &[u32]) {
        pages.iter().for_each(|&page| self.write(page, 1));
    }

    /// Writes some sectors of one page.
    pub fn patch(&mut self, page: u32, mask: SectorMask) {
        self.write_masked(page, 1, mask, mask);
    }

    pub fn write_masked(&mut self, first: u32, pages: u32, head: SectorMask, tail: SectorMask) {
        let bytes = u64::from(pages) * u64::from(PAGE_BYTES);
        self.write_as_part_of(bytes, first, pages, head, tail);
    }

    /// Writes a run that belongs to a request of this size.
    pub fn write_as_part_of(
        &mut self,
        request_bytes: u64,
        first: u32,
        pages: u32,
        head: SectorMask,
        tail: SectorMask,
    ) {
        self.writes += 1;
        let data = match self.nand.array().mode() {
            Mode::Count => Data::None,
            _ => Data::Stamp(self.writes),
        };
        let run = Run { first: Lpn(first), pages, head, tail, request_bytes, stream: 0, data };
        self.ftl.write_run(&mut self.nand, &run).unwrap();
        self.ftl.audit(&self.nand).unwrap();
    }

    /// Reads some sectors of a page; returns the number of the write that each one shows.
    pub fn read(&mut self, page: u32, mask: SectorMask) -> [u32; SECTORS as usize] {
        let found = self.read_run(page, 1, mask, mask);
        let numbers: Vec<u32> = found.iter().map(|stamp| stamp.write()).collect();
        numbers.try_into().unwrap()
    }

    pub fn read_run(
        &mut self,
        first: u32,
        pages: u32,
        head: SectorMask,
        tail: SectorMask,
    ) -> Vec<Stamp> {
        let mut found = vec![Stamp::default(); (pages * SECTORS) as usize];
        let mut sink = match self.nand.array().mode() {
            Mode::Count => Sink::None,
            _ => Sink::Stamps { first: Lpn(first), out: &mut found },
        };
        let whole = Run::whole(Lpn(first), pages, PAGE_BYTES, Data::None);
        self.ftl.read(&mut self.nand, &Run { head, tail, ..whole }, &mut sink).unwrap();
        self.ftl.audit(&self.nand).unwrap();
        found
    }

    pub fn trim(&mut self, first: u32, pages: u32) {
        self.ftl.trim(&mut self.nand, Lpn(first), pages).unwrap();
        self.ftl.audit(&self.nand).unwrap();
    }

    pub fn flush(&mut self) {
        self.ftl.flush(&mut self.nand, None).unwrap();
        self.ftl.audit(&self.nand).unwrap();
    }

    /// Flushes pages that were just written (forced unit access).
    pub fn flush_run(&mut self, first: u32, pages: u32) {
        let run = Run::whole(Lpn(first), pages, PAGE_BYTES, Data::None);
        self.ftl.flush(&mut self.nand, Some(&run)).unwrap();
        self.ftl.audit(&self.nand).unwrap();
    }

    /// A figure of a layer.
    pub fn figure_of(&self, layer: &str, name: &str) -> f64 {
        let layers = self.ftl.report().layers;
        let own = layers.iter().find(|report| report.layer == layer).expect("the layer");
        let found = own.figures.iter().find(|(known, _)| *known == name);
        match found {
            Some((_, Metric::Count(count))) => *count as f64,
            Some((_, Metric::Real(real))) => *real,
            other => panic!("{name}: {other:?}"),
        }
    }

    /// A figure of the buffer.
    pub fn figure(&self, name: &str) -> f64 {
        self.figure_of("buffer", name)
    }
}

/// The first page and the masks of each recorded write. Other records are left out.
pub fn writes(calls: &Calls) -> Vec<(u32, Vec<SectorMask>)> {
    let calls = calls.read().unwrap();
    let write = |call: &Call| match call {
        Call::Write { first, masks, .. } => Some((*first, masks.clone())),
        _ => None,
    };
    calls.iter().filter_map(write).collect()
}

/// The pages of each recorded write.
pub fn written_pages(calls: &Calls) -> Vec<Vec<u32>> {
    let pages = |(first, masks): (u32, Vec<_>)| (first..).take(masks.len()).collect();
    writes(calls).into_iter().map(pages).collect()
}
