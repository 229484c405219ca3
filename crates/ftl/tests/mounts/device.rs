//! A device with random work for it, which can be switched off and on.

use ftl::{Choice, Durability, Extent, Ftl, Layers, MountConfig, Run, SCHEMES};
use nand::{BlockId, ChipModel, Data, FlashArray, Lpn, Nand, Timing};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::common::{self, blocks, choice, config};
use crate::flash::Flash;

/// A scheme with its parameters, the layers above it, and its chip.
#[derive(Clone)]
pub struct Form {
    /// The form as users write it.
    pub name: String,
    choice: Choice,
    layers: Layers,
    chip: ChipModel,
    logical_blocks: u32,
}

/// Every scheme, without a layer and under each of `stacks` that it accepts.
pub fn forms(chip: &str, logical_blocks: u32, stacks: &[&[(&str, &str)]]) -> Vec<Form> {
    let chip = common::chip(chip);
    let layers: Vec<Layers> =
        stacks.iter().map(|texts| Layers::from_texts(texts).unwrap()).collect();
    let mut forms = Vec::new();
    for scheme in SCHEMES {
        let choice = choice(scheme.name);
        for layers in [Layers::default()].iter().chain(&layers) {
            let name = format!("{}{layers}", scheme.name);
            let (choice, layers) = (choice.clone(), layers.clone());
            forms.push(Form { name, choice, layers, chip: chip.clone(), logical_blocks });
        }
    }
    forms.retain(Form::is_accepted);
    forms
}

impl Form {
    /// Whether a sector log is among the layers.
    pub fn has_sector_log(&self) -> bool {
        self.layers.named("sector-log").is_some()
    }

    fn extra_blocks(&self) -> u32 {
        let Choice { scheme, params, .. } = &self.choice;
        (scheme.least_extra)(params, &self.chip, self.logical_blocks).max(self.logical_blocks / 12)
    }

    fn is_accepted(&self) -> bool {
        let Choice { scheme, given, .. } = &self.choice;
        self.layers.check(scheme, given, &self.chip).is_ok()
            && self.choice.check(&self.chip, self.logical_blocks, self.extra_blocks()).is_ok()
    }
}

/// A device of some form whose power is on.
pub struct Device {
    pub nand: Nand,
    pub ftl: Box<dyn Ftl>,
    pub pages: u32,
    form: Form,
    blocks: Vec<BlockId>,
    rng: Xoshiro256PlusPlus,
}

impl Device {
    /// A new device.
    pub fn new(form: &Form) -> Device {
        let (chip, logical_blocks) = (&form.chip, form.logical_blocks);
        let system = ftl::system_blocks(chip, logical_blocks, Durability::Full);
        let layers = form.layers.blocks(chip).blocks;
        let geometry =
            chip.geometry(logical_blocks + form.extra_blocks() + layers + system).unwrap();
        let blocks = blocks(&geometry);
        let flash = FlashArray::from_store(Box::new(Flash::new(geometry))).unwrap();
        let mut nand = Nand::power_up(flash);
        let ftl = mount(form, &blocks, &mut nand);
        let pages = logical_blocks * chip.pages_per_block;
        let rng = Xoshiro256PlusPlus::seed_from_u64(pages.into());
        Device { nand, ftl, pages, form: form.clone(), blocks, rng }
    }

    /// Switches the power off and on between two requests, and mounts.
    pub fn power_cycle(self) -> Device {
        let Device { mut nand, ftl, pages, form, blocks, rng } = self;
        drop(ftl);
        nand.power().cycle();
        let ftl = mount(&form, &blocks, &mut nand);
        Device { nand, ftl, pages, form, blocks, rng }
    }

    /// A random number below a bound.
    pub fn below(&mut self, bound: u32) -> u32 {
        self.rng.next_u32() % bound
    }

    /// Writes whole pages, except for the sectors of the first page that `head` leaves out.
    pub fn write(&mut self, first: u32, pages: u32, head: u64) {
        let data = Data::Stamp(1);
        let whole = Run::whole(Lpn(first), pages, self.nand.geometry().page_bytes(), data);
        let tail = if pages == 1 { head & whole.tail } else { whole.tail };
        let run = Run { head: head & whole.head, tail, ..whole };
        self.ftl.write_run(&mut self.nand, &run).unwrap();
        self.ftl.end_request(&mut self.nand).unwrap();
    }

    pub fn trim(&mut self, first: u32, pages: u32) {
        self.ftl.trim(&mut self.nand, Lpn(first), pages).unwrap();
        self.ftl.end_request(&mut self.nand).unwrap();
    }

    /// Whether each page is mapped.
    pub fn mapped(&self) -> Vec<bool> {
        let mut mapped = Vec::new();
        while (mapped.len() as u32) < self.pages {
            let first = mapped.len() as u32;
            let Extent { is_mapped, pages } = self.ftl.extent(first..self.pages);
            mapped.resize((first + pages) as usize, is_mapped);
        }
        assert_eq!(mapped.len() as u32, self.pages, "an extent ends within the range");
        mapped
    }

    pub fn flush(&mut self) {
        self.ftl.flush(&mut self.nand, None).unwrap();
    }
}

fn mount(form: &Form, blocks: &[BlockId], nand: &mut Nand) -> Box<dyn Ftl> {
    let device = MountConfig {
        durability: Durability::Full,
        ..config(&form.choice, form.logical_blocks, blocks, Timing::default())
    };
    form.layers.mount(form.choice.scheme, nand, &device).unwrap()
}
