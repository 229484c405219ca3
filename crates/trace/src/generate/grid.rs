//! How requests lie in a space: units of whole pages, and places within a page.

use spec::Params;

use crate::generate::params::{PAGES, REQUEST};
use crate::generate::random::Random;
use crate::generate::workload::AddressSpace;
use crate::request::SECTOR_BYTES;

/// How requests lie in a space.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    pub(crate) page_bytes: u64,
    pub(crate) request_bytes: u64,
    pub(crate) unit_bytes: u64,
    pub(crate) units: u64,
    /// Requests smaller than a page: how many places there are in it, and how far apart.
    places: u64,
    place_bytes: u64,
}

impl Grid {
    pub(crate) fn new(params: &Params, space: &AddressSpace) -> std::result::Result<Grid, String> {
        let page_bytes = u64::from(space.page_bytes);
        if page_bytes == 0 || !page_bytes.is_multiple_of(SECTOR_BYTES) {
            return Err(format!("a page of {page_bytes} bytes is not whole sectors of 512 bytes"));
        }
        let request_bytes = params.opt_size(REQUEST.name).unwrap_or(page_bytes);
        if request_bytes == 0 || !request_bytes.is_multiple_of(SECTOR_BYTES) {
            return Err(format!("request={request_bytes} is not whole sectors of 512 bytes"));
        }
        let capacity = space.capacity_bytes;
        let unit_bytes = request_bytes.div_ceil(page_bytes).saturating_mul(page_bytes);
        if unit_bytes > capacity {
            return Err(format!(
                "request={request_bytes} does not fit a space of {capacity} bytes"
            ));
        }
        let (places, place_bytes) = match unit_bytes - request_bytes {
            _ if request_bytes >= page_bytes => (1, 0),
            _ if page_bytes.is_multiple_of(request_bytes) => {
                (page_bytes / request_bytes, request_bytes)
            }
            slack => (slack / SECTOR_BYTES + 1, SECTOR_BYTES),
        };
        let units = capacity / unit_bytes;
        Ok(Grid { page_bytes, request_bytes, unit_bytes, units, places, place_bytes })
    }

    /// The units that `pages=` touches; all if it is not given.
    pub(crate) fn touched(&self, params: &Params) -> std::result::Result<u64, String> {
        let Some(pages) = params.opt_count(PAGES.name) else { return Ok(self.units) };
        let space = self.units * (self.unit_bytes / self.page_bytes);
        let units = pages / (self.unit_bytes / self.page_bytes);
        if units > self.units {
            return Err(format!("pages={pages} is more than the {space} pages of the space"));
        }
        if units == 0 {
            return Err(format!("pages={pages} has no room for a request"));
        }
        Ok(units)
    }

    /// Where a request to this unit starts.
    #[inline]
    pub(crate) fn offset(&self, unit: u64, random: &mut Random) -> u64 {
        let start = unit * self.unit_bytes;
        if self.places == 1 {
            return start;
        }
        start + random.below(self.places) * self.place_bytes
    }
}
