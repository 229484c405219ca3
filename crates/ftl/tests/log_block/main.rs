//! Log-block schemes: cases counted by hand, comparisons with naive models in every count, laws,
//! and merges that are interrupted by two power cuts.
//!
//! The models implement the counting rules without any data structure: they search for victims, and
//! look at every page of a block to see what it holds.

mod block_associative;
mod device;
mod fast;
mod faster;
mod homes;
mod last;
mod last_model;
mod naive_fast;
mod nftl;
mod power;
