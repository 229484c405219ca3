//! What a mount needs: the roles of pages, a scan of spare areas, the newest copies, and trims.

pub mod kind;
pub mod recovery;
pub mod scan;
pub mod trim_log;
