//! Log-block schemes: cases counted by hand, naive models compared count for count, laws, and
//! merges that the power interrupts twice.
//!
//! The models know the counting rules and no data structure: they search for a victim and look at
//! every page of a block to see what it holds.

mod block_associative;
mod device;
mod fast;
mod faster;
mod homes;
mod last;
mod last_model;
mod naive_fast;
mod power;
