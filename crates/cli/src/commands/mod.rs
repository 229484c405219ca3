//! The subcommands, one file each.

pub mod about;
pub mod check;
pub mod compare;
pub mod completions;
pub mod ctl;
pub mod drive;
pub mod each_volume;
pub mod image;
pub mod life;
pub mod list;
pub mod papers;
pub mod run;
pub mod serve;
pub mod sizing;
pub mod sweep;
pub mod trace;
