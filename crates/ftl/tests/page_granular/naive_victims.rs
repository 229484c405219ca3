//! Victims chosen by the specification of a policy, for the naive models.

use std::collections::BTreeMap;

use ftl::Choice;
use ftl::part::page::victims::draws::Draws;
use ftl::part::page::victims::policy::{Candidate, Policy};
use ftl::part::page::victims::registry;
use nand::BlockId;
use spec::{Params, Spec};

/// Every victim policy as a user writes it, such as `victim=fifo`, with its default parameters and
/// in its corners.
pub fn settings() -> Vec<String> {
    let settings = |policy: &&'static Policy| {
        let plain = format!("victim={}", policy.name);
        let corners = policy.corners.iter().map(|corner| format!("{plain},{corner}"));
        [vec![plain.clone()], corners.collect()].concat()
    };
    registry::POLICIES.iter().flat_map(settings).collect()
}

/// The parameters of a scheme that a spec such as `page:victim=fifo` names.
pub fn params(scheme: &str) -> Params {
    Choice::from_spec(&Spec::parse(scheme).unwrap()).unwrap().params
}

/// A block that is full.
struct Full {
    block: usize,
    opened: u64,
    closed: u64,
    /// Host pages written when it closed.
    closed_at: u64,
}

/// The full blocks, and the policy that chooses among them.
pub struct NaiveVictims {
    policy: &'static Policy,
    params: Params,
    draws: Draws,
    pages_per_block: usize,
    openings: u64,
    closings: u64,
    /// The number of each open block's opening.
    open: BTreeMap<usize, u64>,
    /// A block that leaves gives its place to the last one.
    full: Vec<Full>,
}

impl NaiveVictims {
    /// The victims of a scheme with these parameters.
    pub fn new(params: Params, pages_per_block: usize, seed: u64) -> NaiveVictims {
        NaiveVictims {
            policy: registry::chosen(&params),
            params,
            draws: Draws::new(seed),
            pages_per_block,
            openings: 0,
            closings: 0,
            open: BTreeMap::new(),
            full: Vec::new(),
        }
    }

    pub fn open(&mut self, block: usize) {
        self.openings += 1;
        self.open.insert(block, self.openings);
    }

    /// A block is full after `written` host pages.
    pub fn close(&mut self, block: usize, written: u64) {
        self.closings += 1;
        let opened = self.open.remove(&block).unwrap();
        self.full.push(Full { block, opened, closed: self.closings, closed_at: written });
    }

    /// The victim after `written` host pages; `valid` counts the valid pages of a block.
    pub fn choose(&mut self, written: u64, valid: impl Fn(usize) -> usize) -> Option<usize> {
        let candidate = |full: &Full| Candidate {
            block: BlockId(full.block as u32),
            valid: valid(full.block) as u32,
            opened: full.opened,
            closed: full.closed,
            age: written - full.closed_at,
        };
        let candidates: Vec<Candidate> = self.full.iter().map(candidate).collect();
        let pages_per_block = self.pages_per_block as u32;
        let specification = self.policy.specification;
        let victim = specification(&candidates, pages_per_block, &self.params, &mut self.draws);
        victim.map(|block| block.0 as usize)
    }

    pub fn release(&mut self, block: usize) {
        let at = self.full.iter().position(|full| full.block == block).unwrap();
        self.full.swap_remove(at);
    }
}
