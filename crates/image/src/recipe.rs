//! What an image was made for: the chip, and the FTL that uses it.

use nand::Geometry;

use crate::error::{Error, Result};

/// The chip of an image and the FTL on it. The texts are as users write them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// Pages, blocks and program order of the whole chip.
    pub geometry: Geometry,
    /// The name and the parameters of the chip.
    pub chip: String,
    /// The name of the scheme.
    pub scheme: String,
    /// The layers above the scheme.
    pub layers: String,
    /// The parameters of scheme and layers.
    pub parameters: String,
    /// How the flash fails, the blocks in reserve, and how wear is levelled; empty if the flash
    /// never fails and nothing is levelled.
    pub media: String,
    /// The seed of whatever the FTL and the media draw.
    pub seed: u64,
    /// Bytes that the host can use.
    pub capacity_bytes: u64,
}

impl Recipe {
    /// Compares with the recipe that a user asks for.
    ///
    /// # Errors
    /// Something differs; the error names the first difference.
    pub fn expect(&self, asked: &Recipe) -> Result<()> {
        let (one, other) = (self.fields(), asked.fields());
        match one.into_iter().zip(other).find(|(one, other)| one.1 != other.1) {
            None => Ok(()),
            Some(((what, made), (_, asked))) => Err(Error::Differs { what, made, asked }),
        }
    }

    fn fields(&self) -> [(&'static str, String); 14] {
        let geometry = &self.geometry;
        let or_none = |text: &str| if text.is_empty() { "none".into() } else { text.to_owned() };
        [
            ("scheme", self.scheme.clone()),
            ("layers", or_none(&self.layers)),
            ("parameters", self.parameters.clone()),
            ("chip", self.chip.clone()),
            ("failures", or_none(&self.media)),
            ("capacity in bytes", self.capacity_bytes.to_string()),
            ("seed", self.seed.to_string()),
            ("page bytes", geometry.page_bytes().to_string()),
            ("spare bytes", geometry.spare_bytes().to_string()),
            ("pages per block", geometry.pages_per_block().to_string()),
            ("blocks", geometry.blocks().to_string()),
            ("program order", geometry.program_order().name().to_string()),
            ("bits per cell", geometry.pairing().bits.to_string()),
            ("distance of paired pages", geometry.pairing().distance.to_string()),
        ]
    }
}
