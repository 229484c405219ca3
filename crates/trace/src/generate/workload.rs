//! What a workload declares of itself, and what it does for the generator.

use spec::{Param, Params, Share, Value};

use crate::error::{Error, Result};
use crate::generate::params::{PAGES, SPACE};
use crate::generate::random::Random;
use crate::request::Op;

/// The space that a workload fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressSpace {
    /// No request reaches beyond this.
    pub capacity_bytes: u64,
    /// The page of the device, for `pages=` and the default size of requests.
    pub page_bytes: u32,
}

/// A workload.
pub struct Workload {
    /// Its name in a spec.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Where its shape comes from.
    pub source: &'static str,
    /// Its keys, the common ones included.
    pub params: &'static [Param],
    /// The share of a space that its `pages` should be, when the space is still to be chosen.
    pub(crate) touched_share: fn(&Params) -> Share,
    /// Decides where requests go; an error says what is impossible.
    pub(crate) place: fn(&Params, &AddressSpace) -> PlacementResult,
}

/// Says where the next request goes: its offset and its length in bytes.
pub(crate) trait Placement: Send {
    fn place(&mut self, op: Op, random: &mut Random) -> (u64, u64);
}

/// A placement, or the sentence that says what is impossible about it.
pub(crate) type PlacementResult = std::result::Result<Box<dyn Placement>, String>;

impl Workload {
    /// Checks the keys of a spec and fills in the defaults.
    ///
    /// # Errors
    /// An unknown key or a value not of its kind.
    pub fn resolve(&self, pairs: &[(String, String)]) -> Result<Params> {
        Ok(spec::resolve(&format!("workload {}", self.name), pairs, self.params)?)
    }

    /// The capacity it asks for when the user gives none, in bytes: its `space=`, or room for its
    /// `pages=` (for oltp, the space of which they are the touched share), else 1 GiB.
    ///
    /// # Errors
    /// An unknown key or a value not of its kind, or a space beyond 64 bits.
    pub fn default_capacity(&self, pairs: &[(String, String)], page_bytes: u32) -> Result<u64> {
        let params = self.resolve(pairs)?;
        if let Some(Value::Size(space_bytes)) = params.get(SPACE.name) {
            return Ok(*space_bytes);
        }
        if params.get(PAGES.name).is_none() {
            return Ok(1 << 30);
        }
        let pages = params.count(PAGES.name);
        let share = (self.touched_share)(&params);
        let whole = (u128::from(pages) * u128::from(share.denominator()))
            .div_ceil(u128::from(share.numerator().max(1)));
        let bytes = whole.saturating_mul(u128::from(page_bytes));
        let fits = u64::try_from(bytes).ok().filter(|bytes| *bytes <= u64::MAX - (1 << 30));
        fits.ok_or_else(|| self.error(format!("{pages} pages of {page_bytes} bytes are too many")))
    }

    pub(crate) fn error(&self, what: String) -> Error {
        Error::Workload { workload: self.name, what }
    }
}

/// All of a space may be touched.
pub(crate) fn whole_space(_: &Params) -> Share {
    Share::WHOLE
}
