//! What a mount needs: the roles of pages, a scan of spare areas, the newest copies, and trims.

pub mod page_kind;
pub mod recovery_plan;
pub mod spare_scan;
pub mod trim_log;
