//! The definition of a layer: a value with its options, its refusals, its mount and its laws.

use core::fmt;

use nand::{Cause, ChipModel, Geometry, Mode, Nand, Op};
use spec::{Param, Params};

use crate::contract::{Entered, Error, Ftl, MountConfig, Result, Scheme};
use crate::layer::option::{LayerOption, LayerOptions};
use crate::part::recovery::pair_shelter;

/// Mounts everything below a layer, on the blocks of the given configuration.
pub type MountBelow<'a> = &'a mut dyn FnMut(&mut Nand, &MountConfig) -> Result<Box<dyn Ftl>>;

/// Mounts a layer of a stack above the FTL that the closure mounts.
pub type MountLayer =
    fn(&Params, &Stack, &mut Nand, &MountConfig, MountBelow) -> Result<Box<dyn Ftl>>;

/// A layer as an entry of the list of layers.
#[derive(Debug)]
pub struct Layer {
    /// The name that lists and messages use.
    pub name: &'static str,
    /// A description in one line.
    pub summary: &'static str,
    /// The publication.
    pub source: &'static str,
    /// Its parameters, including those that its options set.
    pub params: &'static [Param],
    /// Options, as names and texts. They bring a tiny device into situations that a real device
    /// reaches only at full size. The tests check every scheme with them.
    pub corners: &'static [&'static [(&'static str, &'static str)]],
    /// Its options. The layer is present if any of them is given.
    pub options: &'static [LayerOption],
    /// Reads its options into parameters. They may still contradict other layers.
    pub read: fn(&LayerOptions) -> Result<Params>,
    /// Refuses an impossible setting. Returns the reason.
    pub refuses: fn(&LayerSetting, &Stack, &ChipModel) -> Option<String>,
    /// Blocks of flash that it keeps for itself.
    pub blocks: fn(&Params, &ChipModel) -> LayerBlocks,
    /// Memory that simulating it takes at most, without what is below it. Like that of a
    /// [scheme](crate::contract::SimulationMemory), but the stack may matter.
    pub memory: fn(&Params, &Stack, &Geometry, Mode) -> u64,
    /// Mounts it above the FTL that the closure mounts. The layer first finds its own data in
    /// flash: it claims its blocks and passes the others to the closure. Its data in DRAM is lost.
    pub mount: MountLayer,
    /// Checks the laws that its counts obey at the end of every run; the error names the broken
    /// law.
    pub laws: fn(&LayerEvidence) -> core::result::Result<(), String>,
}

impl Layer {
    /// The name of its part in results.
    pub fn key(&self) -> String {
        self.name.replace('-', "_")
    }
}

/// Blocks of flash that a layer keeps for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LayerBlocks {
    /// Their number.
    pub blocks: u32,
    /// How many of them are added to the device. The others are taken out of the extra blocks.
    pub added: u32,
}

/// A layer with its parameters.
#[derive(Clone, Debug)]
pub struct LayerSetting {
    /// The layer.
    pub layer: &'static Layer,
    /// Its parameters, defaults included.
    pub params: Params,
    /// Its options as they were given, by name.
    pub given: Vec<(&'static str, String)>,
}

impl LayerSetting {
    /// Whether an option was given.
    pub fn is_given(&self, option: &str) -> bool {
        self.given.iter().any(|(name, _)| *name == option)
    }
}

/// The layers above a scheme, from the top down.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    pub(super) settings: Vec<LayerSetting>,
}

/// The stack around a layer: the parts that a layer may need to know.
#[derive(Clone, Copy, Debug)]
pub struct Stack<'a> {
    /// All layers.
    pub layers: &'a Layers,
    /// The scheme at the bottom.
    pub scheme: &'static Scheme,
    /// The parameters of the scheme that were set.
    pub given: &'a [String],
}

/// The counts that the laws of a layer compare. They contain no counts of other layers, so the laws
/// hold above and below any other layer.
pub struct LayerEvidence<'a> {
    /// A count that the layer reports, by its name; 0 if there is none.
    pub count: &'a dyn Fn(&str) -> u64,
    /// Operations of the flash.
    pub operations: &'a dyn Fn(Op, Cause) -> u64,
    /// Pages that came from above: from the host or from another layer.
    pub came: Entered,
    /// Pages that the layer handed down: to the scheme or to another layer.
    pub went_down: Entered,
}

impl LayerEvidence<'_> {
    /// The sum of some counts of the layer.
    pub fn sum(&self, names: &[&str]) -> u64 {
        names.iter().map(|name| (self.count)(name)).sum()
    }
}

/// Reads the first option of a layer, `SIZE[,key=value…]`: the size goes to its first parameter.
///
/// # Errors
/// An unknown key, or an invalid value.
pub fn read_size_and_keys(layer: &Layer, options: &LayerOptions) -> Result<Params> {
    let text = options.get(&layer.options[0]).unwrap_or_default();
    let (size, rest) = text.split_once(',').unwrap_or((text, ""));
    let mut pairs = vec![(layer.params[0].name.to_owned(), size.to_owned())];
    if !rest.is_empty() {
        pairs.extend(spec::parse_pairs(rest)?);
    }
    Ok(spec::resolve(layer.name, &pairs, layer.params)?)
}

/// Checks that two exact counts are equal.
///
/// # Errors
/// The law and both sides, if they differ.
pub fn equal(law: &str, left: u64, right: u64) -> core::result::Result<(), String> {
    match left == right {
        true => Ok(()),
        false => Err(format!("{law}: {left} is not {right}")),
    }
}

/// A cut leaves one operation unfinished, but several cuts may have followed each other.
const MOUNTS_MAX: usize = 8;

impl Layers {
    /// The layers, from the top down.
    pub fn iter(&self) -> impl Iterator<Item = &LayerSetting> {
        self.settings.iter()
    }

    /// Whether no layer stands above the scheme. In that case pages reach it in the order in which
    /// the host wrote them.
    pub fn is_empty(&self) -> bool {
        self.settings.is_empty()
    }

    /// The setting of a layer, by its name.
    pub fn named(&self, name: &str) -> Option<&LayerSetting> {
        self.settings.iter().find(|setting| setting.layer.name == name)
    }

    /// Refuses impossible settings before anything is built. `given` are the parameters of the
    /// scheme that were set.
    ///
    /// # Errors
    /// The contradiction.
    pub fn check(&self, scheme: &'static Scheme, given: &[String], chip: &ChipModel) -> Result<()> {
        let stack = Stack { layers: self, scheme, given };
        self.settings.iter().try_for_each(|setting| {
            let why = (setting.layer.refuses)(setting, &stack, chip);
            why.map_or(Ok(()), |why| Err(Error::Refused { scheme: setting.layer.name, why }))
        })
    }

    /// Blocks that the layers keep for themselves.
    pub fn blocks(&self, chip: &ChipModel) -> LayerBlocks {
        let each =
            self.settings.iter().map(|setting| (setting.layer.blocks)(&setting.params, chip));
        each.fold(LayerBlocks::default(), |sum, one| LayerBlocks {
            blocks: sum.blocks.saturating_add(one.blocks),
            added: sum.added.saturating_add(one.added),
        })
    }

    /// Memory that simulating the layers takes at most, without the scheme and the chip.
    pub fn memory_bytes(&self, scheme: &'static Scheme, geometry: &Geometry, mode: Mode) -> u64 {
        let stack = Stack { layers: self, scheme, given: &[] };
        let each = self.iter().map(|one| (one.layer.memory)(&one.params, &stack, geometry, mode));
        each.fold(0, u64::saturating_add)
    }

    /// Mounts a scheme with these layers above it. If a page becomes unreadable while the mount
    /// recovers, the mount starts again: a power cut had interrupted the program of that page, so
    /// nobody was promised what it held.
    ///
    /// # Errors
    /// The power is lost again, a page keeps becoming unreadable, or the flash is in a state that
    /// cannot have arisen.
    pub fn mount(
        &self,
        scheme: &'static Scheme,
        nand: &mut Nand,
        config: &MountConfig,
    ) -> Result<Box<dyn Ftl>> {
        let stack = Stack { layers: self, scheme, given: &[] };
        pair_shelter::attach(nand, config);
        let mut mounted = mount_from(&self.settings, &stack, nand, config);
        for _ in 1..MOUNTS_MAX {
            let Err(Error::Chip(nand::Error::Unreadable(_))) = mounted else { break };
            nand.mounting().start_again();
            mounted = mount_from(&self.settings, &stack, nand, config);
        }
        let ftl = mounted?;
        nand.mounting().finish();
        Ok(ftl)
    }
}

/// Mounts these layers, from the top down, and the scheme below them.
fn mount_from(
    settings: &[LayerSetting],
    stack: &Stack,
    nand: &mut Nand,
    config: &MountConfig,
) -> Result<Box<dyn Ftl>> {
    let Some((top, rest)) = settings.split_first() else {
        return (stack.scheme.mount)(nand, config);
    };
    let mut below = |nand: &mut Nand, config: &MountConfig| mount_from(rest, stack, nand, config);
    (top.layer.mount)(&top.params, stack, nand, config, &mut below)
}

/// The options as a command takes them, with a space before each.
impl fmt::Display for Layers {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let given = self.settings.iter().flat_map(|setting| &setting.given);
        given
            .into_iter()
            .try_for_each(|(name, text)| write!(out, " --{} {text}", name.replace('_', "-")))
    }
}
