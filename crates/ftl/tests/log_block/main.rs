//! Log-block schemes: cases counted by hand, comparisons with naive models in every count, laws,
//! and merges that are interrupted by two power cuts.
//!
//! The models implement the counting rules without any index: they search for victims, and examine
//! every page of a block to find its contents.

mod block_associative;
#[path = "../common/mod.rs"]
mod common;
mod device;
mod fast;
mod faster;
mod homes;
mod last;
mod last_model;
mod naive_fast;
mod nftl;
mod power;
