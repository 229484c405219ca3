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
pub mod ghost_map;
pub mod partitioner;
pub mod write_buffer;

use core::fmt;

use nand::{Chip, Nand};
use spec::{Param, Params};

use crate::contract::{Device, Error, Ftl, Result, Scheme};

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
pub static LAYERS: &[&Layer] = &[&write_buffer::LAYER, &partitioner::LAYER];

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
    /// `--dram`, in bytes.
    pub dram: Option<u64>,
    /// `--split`; adaptive if there is a budget and nothing is said.
    pub split: Option<&'a str>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options { buffer: "none", dram: None, split: None }
    }
}

/// The layers above a scheme.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layers {
    /// The write buffer.
    pub buffer: Option<Setting>,
    /// One budget for a buffer and the map.
    pub split: Option<Setting>,
}

impl Layers {
    /// Reads the options.
    ///
    /// # Errors
    /// An unknown key, a value that is no such thing, or options that contradict each other.
    pub fn new(options: &Options) -> Result<Layers> {
        let Options { buffer, dram, split } = *options;
        let refuse = |why: &str| Err(refused(&partitioner::LAYER, why.to_owned()));
        match (dram, split) {
            (None, Some(_)) => return refuse("there is no `--dram` that it could divide"),
            (Some(_), _) if buffer != "none" => {
                return refuse("`--dram` pays for the buffer too; leave `--buffer` out");
            }
            _ => {}
        }
        let split =
            dram.map(|dram| Setting::split(dram, split.unwrap_or("adaptive"))).transpose()?;
        Ok(Layers { buffer: Setting::parse(&write_buffer::LAYER, buffer)?, split })
    }

    /// Refuses what cannot work, before anything is built. `given` are the parameters of the scheme
    /// that were set.
    ///
    /// # Errors
    /// The contradiction.
    pub fn check(&self, scheme: &Scheme, given: &[String], chip: &Chip) -> Result<()> {
        let buffer = self.buffer.as_ref();
        let buffer = buffer.and_then(|it| write_buffer::refuses(&it.params, chip));
        let split = self.split.as_ref();
        let split = split.and_then(|it| partitioner::refuses(&it.params, scheme, given, chip));
        match (buffer, split) {
            (Some(why), _) => Err(refused(&write_buffer::LAYER, why)),
            (_, Some(why)) => Err(refused(&partitioner::LAYER, why)),
            _ => Ok(()),
        }
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
        device: &Device,
    ) -> Result<Box<dyn Ftl>> {
        let mut ftl = (scheme.mount)(nand, device)?;
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
        self.buffer.is_none() && self.split.is_none()
    }
}

fn refused(layer: &Layer, why: String) -> Error {
    Error::Refused { scheme: layer.name, why }
}

/// The options as a command takes them, each after a space.
impl fmt::Display for Layers {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        if let Some(buffer) = &self.buffer {
            write!(out, " --buffer {}", buffer.text)?;
        }
        match &self.split {
            Some(split) => {
                write!(out, " --dram {} --split {}", split.params.size("dram"), split.text)
            }
            None => Ok(()),
        }
    }
}
