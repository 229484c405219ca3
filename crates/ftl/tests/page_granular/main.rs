//! Schemes without a log, count for count: by hand, and against naive models.
//!
//! The models follow the counting rules and have no clever data structure. They choose victims by
//! the specification of the policy, among all full blocks, and recount valid pages whenever they
//! need them.

mod block;
mod dac;
mod device;
mod dftl;
mod naive_victims;
mod page;
mod victims;
