//! Units of an address space, and positions of requests in them.

use spec::Params;

use crate::generate::params::{PAGES, REQUEST};
use crate::generate::random::Random;
use crate::generate::workload::AddressSpace;
use crate::request::SECTOR_BYTES;

/// The division of a space into units of whole pages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    pub(crate) page_bytes: u64,
    pub(crate) request_bytes: u64,
    pub(crate) unit_bytes: u64,
    pub(crate) units: u64,
    /// The number of positions in a page for requests smaller than a page, else 1.
    positions: u64,
    /// The distance between two positions.
    position_bytes: u64,
}

impl Grid {
    pub(crate) fn new(params: &Params, space: &AddressSpace) -> std::result::Result<Grid, String> {
        let page_bytes = u64::from(space.page_bytes);
        if page_bytes == 0 || !page_bytes.is_multiple_of(SECTOR_BYTES) {
            return Err(format!(
                "a page of {page_bytes} bytes is not a whole number of sectors of 512 bytes"
            ));
        }
        let request_bytes = params.opt_size(REQUEST.name).unwrap_or(page_bytes);
        if request_bytes == 0 || !request_bytes.is_multiple_of(SECTOR_BYTES) {
            return Err(format!(
                "request={request_bytes} is not a whole number of sectors of 512 bytes"
            ));
        }
        let capacity = space.capacity_bytes;
        let unit_bytes = request_bytes.div_ceil(page_bytes).saturating_mul(page_bytes);
        if unit_bytes > capacity {
            return Err(format!(
                "request={request_bytes} does not fit a space of {capacity} bytes"
            ));
        }
        let (positions, position_bytes) = match unit_bytes - request_bytes {
            _ if request_bytes >= page_bytes => (1, 0),
            _ if page_bytes.is_multiple_of(request_bytes) => {
                (page_bytes / request_bytes, request_bytes)
            }
            slack => (slack / SECTOR_BYTES + 1, SECTOR_BYTES),
        };
        let units = capacity / unit_bytes;
        Ok(Grid { page_bytes, request_bytes, unit_bytes, units, positions, position_bytes })
    }

    /// The number of units that `pages=` touches; all if it is not given.
    pub(crate) fn touched(&self, params: &Params) -> std::result::Result<u64, String> {
        let Some(pages) = params.opt_count(PAGES.name) else { return Ok(self.units) };
        let space = self.units * (self.unit_bytes / self.page_bytes);
        let units = pages / (self.unit_bytes / self.page_bytes);
        if units > self.units {
            return Err(format!("pages={pages} is more than the {space} pages of the space"));
        }
        if units == 0 {
            return Err(format!("pages={pages} is too small for a request"));
        }
        Ok(units)
    }

    /// The offset of a request to this unit.
    #[inline]
    pub(crate) fn offset(&self, unit: u64, random: &mut Random) -> u64 {
        let start = unit * self.unit_bytes;
        if self.positions == 1 {
            return start;
        }
        start + random.below(self.positions) * self.position_bytes
    }
}
