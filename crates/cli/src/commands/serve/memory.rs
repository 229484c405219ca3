//! The memory of devices in memory.
//!
//! Tables are made at the start, so devices whose tables do not fit are refused. Pages take memory
//! when their block is first written. When the limit is reached, writes fail with ENOSPC, and the
//! server goes on.

use disk::MemoryLimit;
use drive::Profile;
use ftl::Device;
use sim::memory::{MemoryEstimate, limit};
use spec::round_size;

use crate::failure::{Failure, Result};

/// What users of devices are told that do not fit into the memory.
pub const EXCEEDED: &str = "not all blocks of the chips fit into the memory that they may take; \
                            when it is full, writes fail with ENOSPC. Allow more with \
                            `--memory-limit`, or serve an image";

/// The limit that the devices must be told of; none if all of them fit.
///
/// # Errors
/// Even without any page they take too much.
pub fn limit_of(
    devices: &[Device],
    drive: Option<&Profile>,
    limit_bytes: Option<u64>,
) -> Result<Option<MemoryLimit>> {
    let Some(limit_bytes) = limit_bytes else { return Ok(None) };
    let sum = |of: fn(&Device, Option<&Profile>) -> MemoryEstimate| {
        let each = devices.iter().map(|device| of(device, drive).total_bytes());
        each.fold(0, u64::saturating_add)
    };
    let empty_bytes = sum(MemoryEstimate::of_empty_disk);
    if empty_bytes > limit_bytes {
        return Err(Failure::usage(format!(
            "before anything is written, this takes about {} of memory; the limit is {}. Serve \
             fewer devices, a smaller `--capacity` or larger pages (`page=` of `--chip`), or allow \
             more: `--memory-limit {}` or `unlimited`",
            round_size(empty_bytes),
            round_size(limit_bytes),
            spec::print_size(empty_bytes.next_multiple_of(1 << 20))
        )));
    }
    let is_small = sum(MemoryEstimate::of_full_disk) <= limit_bytes;
    let limit = MemoryLimit { bytes: limit_bytes, used_bytes: limit::used_bytes };
    Ok((!is_small).then_some(limit))
}
