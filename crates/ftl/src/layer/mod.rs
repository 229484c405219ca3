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
//! A layer sees every request on its way down and answers what it can. What it passes on enters the
//! scheme as if the host had sent it. Layers import the contract and parts, but no scheme.
//!
//! A layer is a value ([`Layer`]): it states its options and parameters, reads and refuses them,
//! mounts, and states the laws that its counts obey. A new layer costs its file and one line in
//! [`LAYERS`]; command, plans, results, laws and tests read that list.

pub mod below;
pub mod definition;
pub mod ghost_buffer;
pub mod option;
pub mod partitioner;
pub mod sector_log;
pub mod write_buffer;

pub use definition::{Layer, LayerBlocks, LayerEvidence, LayerSetting, Layers, Stack};
pub use option::{LayerOption, LayerOptions};

use crate::contract::Result;

/// All layers, from the top down.
pub static LAYERS: &[&Layer] = &[&write_buffer::LAYER, &sector_log::LAYER, &partitioner::LAYER];

/// The options of all layers, in the order of the list.
pub fn layer_options() -> impl Iterator<Item = &'static LayerOption> {
    LAYERS.iter().flat_map(|layer| layer.options)
}

impl Layers {
    /// Reads the options. Each is checked by itself; [`check`](Self::check) finds contradictions.
    ///
    /// # Errors
    /// An unknown key, or an invalid value.
    pub fn new(options: &LayerOptions) -> Result<Layers> {
        let mut settings = Vec::new();
        for &layer in LAYERS {
            let given: Vec<(&str, String)> = layer
                .options
                .iter()
                .filter_map(|option| Some((option.name, options.given(option)?.to_owned())))
                .collect();
            if !given.is_empty() {
                settings.push(LayerSetting { layer, params: (layer.read)(options)?, given });
            }
        }
        Ok(Layers { settings })
    }

    /// Reads options written as a command takes them: names and texts.
    ///
    /// # Errors
    /// An unknown option or key, or an invalid value.
    pub fn from_texts(texts: &[(&str, &str)]) -> Result<Layers> {
        let mut options = LayerOptions::default();
        for (name, text) in texts {
            let known: Vec<&str> = layer_options().map(|option| option.name).collect();
            let option = layer_options().find(|option| option.name == *name);
            options.set(option.ok_or_else(|| spec::unknown("option", name, &known))?, text)?;
        }
        Layers::new(&options)
    }
}
