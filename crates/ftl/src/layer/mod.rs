//! Layers above a scheme. Each is an FTL that holds the FTL below it, so that they compose, and any
//! may be missing.
//!
//! ```text
//! host ──▶ write buffer ──▶ sector log ──▶ scheme ──▶ flash
//!          DRAM, pages      flash, sectors
//!
//! host ──▶ [ write buffer ──▶ scheme ] ──▶ flash        partitioner: its map and the buffer
//!           ◀──── one budget ────▶                      share one budget of DRAM
//! ```
//! A layer hears of everything on its way down and answers what it can. What it hands down enters
//! the scheme as if the host had sent it. Layers know the contract and parts, no scheme.

pub mod below;
pub mod ghost_buffer;
pub mod partitioner;
pub mod sector_log;
pub mod write_buffer;

use core::fmt;

use nand::{ChipModel, Nand};
use spec::{Param, Params};

use crate::contract::{Error, Ftl, MountConfig, Result, Scheme};
use sector_log::SectorLogSize;

/// A layer as lists and help show it.
#[derive(Debug)]
pub struct Layer {
    /// The name, which is that of its option.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// Its parameters; the first one, its size, is written without a key.
    pub params: &'static [Param],
}

/// All layers, from the top down.
pub static LAYERS: &[&Layer] = &[&write_buffer::LAYER, &sector_log::LAYER, &partitioner::LAYER];

/// A layer with its parameters: `SIZE[,key=value…]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// As it was written.
    pub text: String,
    /// Its parameters, defaults included.
    pub params: Params,
}

impl Setting {
    /// Reads what an option says; nothing for `none`.
    ///
    /// # Errors
    /// An unknown key, or a value that is no such thing.
    pub fn parse(layer: &'static Layer, text: &str) -> Result<Option<Setting>> {
        if text == "none" {
            return Ok(None);
        }
        let (size, rest) = text.split_once(',').unwrap_or((text, ""));
        let mut pairs = vec![(layer.params[0].name.to_owned(), size.to_owned())];
        if !rest.is_empty() {
            pairs.extend(spec::parse_pairs(rest)?);
        }
        let params = spec::resolve(layer.name, &pairs, layer.params)?;
        Ok(Some(Setting { text: text.to_owned(), params }))
    }
}

/// The options that say which layers there are, as users write them.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// `--buffer`.
    pub buffer: &'a str,
    /// `--sector-log`.
    pub sector_log: &'a str,
    /// `--dram`, in bytes.
    pub dram: Option<u64>,
    /// `--split`; adaptive if there is a budget and nothing is said.
    pub split: Option<&'a str>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options { buffer: "none", sector_log: "none", dram: None, split: None }
    }
}

/// The layers above a scheme.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layers {
    /// The write buffer.
    pub buffer: Option<Setting>,
    /// The sector log.
    pub sector_log: Option<Setting>,
    /// One budget for a buffer and the map.
    pub split: Option<Setting>,
}

impl Layers {
    /// Reads the options.
    ///
    /// # Errors
    /// An unknown key, a value that is no such thing, or options that contradict each other.
    pub fn new(options: &Options) -> Result<Layers> {
        let Options { buffer, sector_log, dram, split } = *options;
        let refuse = |why: &str| Err(refused(&partitioner::LAYER, why.to_owned()));
        match (dram, split) {
            (None, Some(_)) => return refuse("there is no `--dram` that it could divide"),
            (Some(_), _) if buffer != "none" => {
                return refuse("`--dram` pays for the buffer too; leave `--buffer` out");
            }
            (Some(_), _) if sector_log != "none" => {
                return refuse(
                    "`--dram` does not pay for the map of a sector log; give `--buffer`",
                );
            }
            _ => {}
        }
        let split =
            dram.map(|dram| Setting::split(dram, split.unwrap_or("adaptive"))).transpose()?;
        let buffer = Setting::parse(&write_buffer::LAYER, buffer)?;
        let sector_log = Setting::parse(&sector_log::LAYER, sector_log)?;
        Ok(Layers { buffer, sector_log, split })
    }

    /// Refuses what cannot work, before anything is built. `given` are the parameters of the scheme
    /// that were set.
    ///
    /// # Errors
    /// The contradiction.
    pub fn check(&self, scheme: &Scheme, given: &[String], chip: &ChipModel) -> Result<()> {
        let buffer = self.buffer.as_ref();
        let buffer = buffer.and_then(|it| write_buffer::refuses(&it.params, chip));
        let log = self.log_layout(chip.page_bytes, chip.pages_per_block);
        let log = log.and_then(|layout| layout.refused(chip));
        let split = self.split.as_ref();
        let split = split.and_then(|it| partitioner::refuses(&it.params, scheme, given, chip));
        match (buffer, log, split) {
            (Some(why), _, _) => Err(refused(&write_buffer::LAYER, why)),
            (_, Some(why), _) => Err(refused(&sector_log::LAYER, why)),
            (_, _, Some(why)) => Err(refused(&partitioner::LAYER, why)),
            _ => Ok(()),
        }
    }

    /// The sector log on a chip of such pages.
    fn log_layout(&self, page_bytes: u32, pages_per_block: u32) -> Option<SectorLogSize> {
        let buffer_bytes = self.buffer.as_ref().map(|buffer| buffer.params.size("size"));
        let log = self.sector_log.as_ref()?;
        Some(SectorLogSize::of(&log.params, page_bytes, pages_per_block, buffer_bytes))
    }

    /// Blocks of the sector log, and how many of them are added to the device; the others are taken
    /// out of its extra blocks.
    pub fn log_blocks(&self, chip: &ChipModel) -> (u32, u32) {
        let layout = self.log_layout(chip.page_bytes, chip.pages_per_block);
        let blocks = layout.map_or(0, |layout| layout.blocks);
        let is_added = |log: &Setting| log.params.choice("from") == "added";
        (blocks, if self.sector_log.as_ref().is_some_and(is_added) { blocks } else { 0 })
    }

    /// Mounts a scheme with these layers above it. Whatever a layer keeps in flash it finds first,
    /// claims its blocks, and hands the others down; what it keeps in DRAM is gone.
    ///
    /// # Errors
    /// The power is lost again, or the flash holds what cannot be.
    pub fn mount(
        &self,
        scheme: &'static Scheme,
        nand: &mut Nand,
        device: &MountConfig,
    ) -> Result<Box<dyn Ftl>> {
        let geometry = nand.geometry();
        let mut ftl = match self.log_layout(geometry.page_bytes(), geometry.pages_per_block()) {
            Some(layout) => sector_log::mount(nand, device, layout, scheme.mount)?,
            None => (scheme.mount)(nand, device)?,
        };
        if let (Some(Setting { params, .. }), Some(budget)) = (&self.split, &scheme.map_budget) {
            ftl = partitioner::above(ftl, budget, nand, device, params)?;
        }
        if let Some(Setting { params, .. }) = &self.buffer {
            ftl = write_buffer::above(ftl, nand, device, params);
        }
        Ok(ftl)
    }

    /// Whether pages reach the scheme in the order in which the host wrote them.
    pub fn keep_order(&self) -> bool {
        self.buffer.is_none() && self.sector_log.is_none() && self.split.is_none()
    }
}

fn refused(layer: &Layer, why: String) -> Error {
    Error::Refused { scheme: layer.name, why }
}

/// The options as a command takes them, each after a space.
impl fmt::Display for Layers {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        for (name, layer) in [("buffer", &self.buffer), ("sector-log", &self.sector_log)] {
            if let Some(setting) = layer {
                write!(out, " --{name} {}", setting.text)?;
            }
        }
        if let Some(split) = &self.split {
            write!(out, " --dram {} --split {}", split.params.size("dram"), split.text)?;
        }
        Ok(())
    }
}
