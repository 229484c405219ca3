//! The parts of a victim policy: an entry in the list, a fast form that runs, and a specification
//! that says what the fast form must choose.
//!
//! ```text
//! page_map ─▶ Victims ──opened, closed, invalidated, released──▶ Selector   the fast form
//!                     ──choose────────────────────────────────▶
//!
//! tests: the fast form against the specification, event by event; the naive models of the schemes
//!        choose by the specification alone
//! ```

use core::fmt::Debug;

use nand::{BlockId, Geometry};
use spec::{Param, Params};

use crate::contract::Violation;
use crate::part::page::victims::draws::Draws;
use crate::part::page::victims::valid_counts::ValidCounts;

/// A victim policy as an entry of the list of policies.
#[derive(Debug)]
pub struct Policy {
    /// The name that users write.
    pub name: &'static str,
    /// What it chooses, in one line.
    pub summary: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// Parameters of its own. Every scheme that offers a choice of policies takes them.
    pub params: &'static [Param],
    /// Settings of its parameters, such as `d=3`, that the tests try besides the defaults.
    pub corners: &'static [&'static str],
    /// Refuses impossible values of its parameters. Returns the reason.
    pub refuses: fn(&Params) -> Option<String>,
    /// Creates the fast form for a device on which no block is open or full.
    pub selector: fn(&Geometry, &Params, seed: u64) -> Box<dyn Selector>,
    /// The rule itself.
    pub specification: Specification,
}

impl Policy {
    /// A policy without parameters. A policy states how it differs from it.
    pub const PLAIN: Policy = Policy {
        name: "",
        summary: "",
        source: "",
        params: &[],
        corners: &[],
        refuses: |_| None,
        selector: |_, _, _| unreachable!("a policy states its fast form"),
        specification: |_, _, _, _| None,
    };
}

/// The fast form of a policy. It is told when blocks change their state, and keeps what it needs to
/// find the next victim without a search.
///
/// The caller guarantees that a block is opened, closed and released in this order, and that it is
/// invalidated only while it is open or full.
pub trait Selector: Debug + Send {
    /// The block starts to be filled.
    fn opened(&mut self, _block: BlockId) {}

    /// The block is full and becomes a candidate. `now` is the number of host pages written.
    fn closed(&mut self, _block: BlockId, _valid: u16, _now: u64) {}

    /// Whether [`invalidated`](Self::invalidated) is to be called. It is asked once: a policy that
    /// has no use for these calls costs nothing on the write path.
    fn follows_invalidations(&self) -> bool {
        false
    }

    /// A page of a full block was superseded or trimmed; `valid` pages are left.
    fn invalidated(&mut self, _block: BlockId, _valid: u16) {}

    /// The full block is about to be erased and is no longer a candidate.
    fn released(&mut self, _block: BlockId, _valid: u16) {}

    /// The full block to collect now; none if the policy accepts no candidate.
    fn choose(&mut self, counts: &ValidCounts, now: u64) -> Option<BlockId>;

    /// Compares the counts that the policy keeps of its own with these.
    ///
    /// # Errors
    /// The first contradiction.
    fn audit(&self, _counts: &ValidCounts) -> Result<(), Violation> {
        Ok(())
    }
}

/// The rule of a policy as a plain function: the victim among all full blocks of `pages_per_block`
/// pages each.
///
/// Candidates stand in the order in which they closed, with one exception: when a candidate leaves,
/// the last one takes its place. The order matters only to policies that draw at random.
pub type Specification = fn(
    candidates: &[Candidate],
    pages_per_block: u32,
    params: &Params,
    draws: &mut Draws,
) -> Option<BlockId>;

/// The facts about a full block on which a policy may base its choice.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// The block.
    pub block: BlockId,
    /// Its valid pages.
    pub valid: u32,
    /// The number of its opening; blocks are numbered in the order in which they were opened.
    pub opened: u64,
    /// The number of its closing; blocks are numbered in the order in which they were closed.
    pub closed: u64,
    /// Host pages written since it closed, which is when its last page was programmed.
    pub age: u64,
}

/// A few blocks for the tests of single policies.
#[cfg(test)]
pub mod by_hand {
    use super::*;

    /// The victim by specification among blocks 0, 1 and so on, which have these valid counts out
    /// of four pages, and which were opened and closed in this order, one host page apart.
    pub fn victim(policy: &Policy, valid: &[u32], now: u64) -> Option<u32> {
        victims(policy, "", valid, now).next().flatten()
    }

    /// Repeats this choice with these parameters. Only policies that draw at random choose
    /// differently.
    pub fn victims(
        policy: &Policy,
        setting: &str,
        valid: &[u32],
        now: u64,
    ) -> impl Iterator<Item = Option<u32>> {
        let candidates: Vec<Candidate> = (0..)
            .zip(valid)
            .map(|(at, &valid)| {
                let block = BlockId(at as u32);
                Candidate { block, valid, opened: at, closed: at, age: now - at }
            })
            .collect();
        let pairs = if setting.is_empty() { Ok(Vec::new()) } else { spec::parse_pairs(setting) };
        let params = spec::resolve(policy.name, &pairs.unwrap(), policy.params).unwrap();
        let (specification, mut draws) = (policy.specification, Draws::new(7));
        core::iter::from_fn(move || {
            let victim = specification(&candidates, 4, &params, &mut draws);
            Some(victim.map(|block| block.0))
        })
    }
}
