//! Parts of a mount: page kinds, the scan of spare areas, the choice of the newest copies, and the
//! log of trims; and comparisons of blocks with the chip.

pub mod block_audit;
pub mod page_kind;
pub mod pair_shelter;
pub mod recovery_plan;
pub mod spare_scan;
pub mod survey;
pub mod tombstones;
pub mod trim_log;
