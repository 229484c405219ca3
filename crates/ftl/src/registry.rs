//! All schemes. A new scheme costs its file and one line here; the command, the documentation and
//! every conformance test read this list.

use std::sync::{Arc, OnceLock};

use nand::spare::HEADER_BYTES;
use nand::{ChipModel, Geometry, Nand};
use spec::{Params, Spec};

use crate::contract::guest::GuestSource;
use crate::contract::{Durability, Error, Ftl, MountConfig, Result, Scheme};
use crate::part::recovery::pair_shelter;
use crate::part::recovery::trim_log::system_blocks;
use crate::scheme::*;

/// Every scheme that ftlab knows.
pub static SCHEMES: &[&Scheme] = &[
    &page::SCHEME,
    &dac::SCHEME,
    &placement::sepgc::SCHEME,
    &placement::streams::SCHEME,
    &placement::sepbit::SCHEME,
    &placement::warcip::SCHEME,
    &placement::oracle::SCHEME,
    &dftl::SCHEME,
    &superblock::SCHEME,
    &lsb::SCHEME,
    &block::SCHEME,
    &nftl::SCHEME,
    &fmax::SCHEME,
    &bast::SCHEME,
    &fast::SCHEME,
    &faster::SCHEME,
    &last::SCHEME,
];

/// A scheme with its parameters, as `--ftl` names it.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The scheme.
    pub scheme: &'static Scheme,
    /// Its parameters, defaults included.
    pub params: Params,
    /// The parameters that were set.
    pub given: Vec<String>,
    /// Where the FTL comes from, if the scheme is [`guest`].
    pub guest: Option<Arc<dyn GuestSource>>,
}

/// Loads the guest that parameters name.
pub type GuestLoader = fn(&Params) -> Result<Arc<dyn GuestSource>>;

/// What loads guests. Whoever can load shared objects sets it once, when a program starts.
pub static GUEST_LOADER: OnceLock<GuestLoader> = OnceLock::new();

impl Choice {
    /// The scheme and parameters that a spec such as `page:victim=fifo` names.
    ///
    /// # Errors
    /// An unknown scheme or key, or an invalid value.
    pub fn from_spec(spec: &Spec) -> Result<Choice> {
        if spec.name == guest::GUEST.name {
            return Choice::of_guest(spec);
        }
        let known: Vec<&str> =
            SCHEMES.iter().map(|scheme| scheme.name).chain([guest::GUEST.name]).collect();
        let scheme = SCHEMES.iter().find(|scheme| scheme.name == spec.name);
        let scheme = scheme.ok_or_else(|| spec::unknown("scheme", &spec.name, &known))?;
        let what = format!("scheme {}", scheme.name);
        let params = spec::resolve(&what, &spec.pairs, scheme.params)?;
        let given = spec.pairs.iter().map(|(key, _)| key.clone()).collect();
        Ok(Choice { scheme, params, given, guest: None })
    }

    fn of_guest(spec: &Spec) -> Result<Choice> {
        let scheme = &guest::GUEST;
        let refuse = |why: &str| Error::Refused { scheme: scheme.name, why: why.to_owned() };
        let params = spec::resolve("scheme guest", &spec.pairs, scheme.params)?;
        if params.opt_text("lib").is_none() {
            return Err(refuse("name a shared object, as in `guest:lib=./mine.so`"));
        }
        let loader = GUEST_LOADER.get();
        let loader = loader.ok_or_else(|| refuse("this program cannot load shared objects"))?;
        let given = spec.pairs.iter().map(|(key, _)| key.clone()).collect();
        let guest = Some(loader(&params)?);
        Ok(Choice { scheme, params, given, guest })
    }

    /// Refuses a device that the scheme cannot work on, before anything is built.
    ///
    /// # Errors
    /// Contradicting parameters, or fewer extra blocks than the scheme needs.
    pub fn check(&self, chip: &ChipModel, logical_blocks: u32, extra_blocks: u32) -> Result<()> {
        let scheme = self.scheme.name;
        if let Some(why) = (self.scheme.refuses)(&self.params, chip) {
            return Err(Error::Refused { scheme, why });
        }
        let needs = (self.scheme.least_extra)(&self.params, chip, logical_blocks);
        match extra_blocks < needs {
            true => Err(Error::TooFewExtra { scheme, needs, has: extra_blocks }),
            false => Ok(()),
        }
    }

    /// Blocks that its device has beside its own. A guest gets the raw chip, and has none.
    pub fn system_blocks(
        &self,
        chip: &ChipModel,
        logical_blocks: u32,
        durability: Durability,
    ) -> u32 {
        match self.guest {
            Some(_) => 0,
            None => system_blocks(chip, logical_blocks, durability),
        }
    }

    /// The smallest spare area on which the scheme can work: room for the header, the scheme's own
    /// bytes, and those of the shelter, whose copies have all of them. Pages of layers need no copy
    /// there.
    pub fn spare_bytes_min(&self, geometry: &Geometry, durability: Durability) -> u32 {
        if let Some(guest) = &self.guest {
            return HEADER_BYTES as u32 + guest.declaration().spare_bytes;
        }
        let own = (self.scheme.scheme_bytes)(&self.params, geometry, durability);
        HEADER_BYTES as u32 + own + pair_shelter::spare_bytes(geometry, durability)
    }

    /// Refuses a device whose spare areas are too small.
    ///
    /// # Errors
    /// The scheme needs more spare bytes than the chip has.
    pub fn check_spare_area(&self, geometry: &Geometry, durability: Durability) -> Result<()> {
        let needs = self.spare_bytes_min(geometry, durability);
        let has = geometry.spare_bytes();
        if needs <= has {
            return Ok(());
        }
        let mut why = format!("a spare area of {has} B; it needs {needs} B");
        let paper = self.spare_bytes_min(geometry, Durability::Paper);
        if paper < needs {
            why += &format!(
                " to keep pages that share cells safe from power cuts, and {paper} B without that"
            );
        }
        why += &format!("; give the chip `spare={needs}`");
        if paper <= has {
            why += ", or use `--durability paper`";
        }
        Err(Error::Refused { scheme: self.scheme.name, why })
    }

    /// Mounts the scheme on a chip.
    ///
    /// # Errors
    /// The power is lost again, or the flash is in a state that cannot have arisen.
    pub fn mount(&self, nand: &mut Nand, device: &MountConfig) -> Result<Box<dyn Ftl>> {
        pair_shelter::attach(nand, device);
        let ftl = (self.scheme.mount)(nand, device)?;
        nand.mounting().finish();
        Ok(ftl)
    }
}
