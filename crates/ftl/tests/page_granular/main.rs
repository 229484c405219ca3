//! Schemes without a log: cases counted by hand, and comparisons with naive models in every count.
//!
//! The models follow the counting rules and have no clever data structure. They choose victims by
//! the specification of the policy, among all full blocks, and recount valid pages whenever they
//! need them.

mod block;
#[path = "../common/mod.rs"]
mod common;
mod dac;
mod device;
mod dftl;
mod guest;
mod naive_victims;
mod oracle;
mod page;
mod placed;
mod placement;
mod victims;
