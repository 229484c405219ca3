//! Every victim policy: its fast form against its specification.

use ftl::part::page::victims::Victims;
use ftl::part::page::victims::registry;
use nand::{BlockId, Geometry, ProgramOrder};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::naive_victims::{NaiveVictims, params, settings};

const BLOCKS: usize = 24;
const SEED: u64 = 7;

/// The state of a block in the test: free, open or full, and its valid pages.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Free,
    Open { valid: usize },
    Full { valid: usize },
}

/// Both forms of a policy, fed with the same events.
struct Pair {
    fast: Victims,
    naive: NaiveVictims,
    states: [State; BLOCKS],
    pages_per_block: usize,
    written: u64,
}

impl Pair {
    fn new(setting: &str, pages_per_block: usize) -> Pair {
        let order = ProgramOrder::Sequential;
        let geometry = Geometry::new(512, 64, pages_per_block as u32, BLOCKS as u32, order);
        let params = params(&format!("page:{setting}"));
        let policy = registry::chosen(&params);
        Pair {
            fast: Victims::new(policy, &geometry.unwrap(), &params, SEED),
            naive: NaiveVictims::new(params, pages_per_block, SEED),
            states: [State::Free; BLOCKS],
            pages_per_block,
            written: 0,
        }
    }

    /// Opens a free block, fills an open one, or takes a valid page from an open or full one.
    fn disturb(&mut self, index: usize, dice: u32) {
        let block = BlockId(index as u32);
        self.states[index] = match self.states[index] {
            State::Free => {
                self.fast.open(block);
                self.naive.open(index);
                State::Open { valid: self.pages_per_block }
            }
            State::Open { valid } if dice < 2 || valid == 0 => {
                self.fast.close(block, self.pages_per_block as u32, self.written);
                self.naive.close(index, self.written);
                State::Full { valid }
            }
            State::Open { valid } => {
                self.fast.invalidate(block);
                State::Open { valid: valid - 1 }
            }
            State::Full { valid: 0 } => State::Full { valid: 0 },
            State::Full { valid } => {
                self.fast.invalidate(block);
                State::Full { valid: valid - 1 }
            }
        };
    }

    /// The victim on which both forms agree.
    fn choose(&mut self, when: &str) -> Option<usize> {
        let valid = |block: usize| match self.states[block] {
            State::Full { valid } => valid,
            _ => panic!("{when}: block {block} is a candidate, but not full"),
        };
        let expected = self.naive.choose(self.written, valid);
        let chosen = self.fast.choose(self.written).map(|block| block.0 as usize);
        assert_eq!(chosen, expected, "{when}");
        chosen
    }

    fn release(&mut self, index: usize) {
        self.fast.release(BlockId(index as u32));
        self.naive.release(index);
        self.states[index] = State::Free;
    }
}

/// Rounds in which few blocks are full alternate with rounds in which nearly all are, so that
/// policies meet both an empty list and many equal candidates.
#[test]
fn every_policy_chooses_what_its_specification_says() {
    for setting in settings() {
        for pages_per_block in [2, 5, 16] {
            let mut pair = Pair::new(&setting, pages_per_block);
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
            let mut below = |bound: u32| rng.next_u32() % bound;
            let (mut victims, mut refusals) = (0, 0);
            for round in 0..20_000 {
                pair.disturb(below(BLOCKS as u32) as usize, below(8));
                pair.written += u64::from(below(3));
                let when = format!("{setting}, Np {pages_per_block}, round {round}");
                let keep = if round / 500 % 2 == 0 { 2 } else { 12 };
                match pair.choose(&when) {
                    Some(victim) if below(keep) == 0 => {
                        pair.release(victim);
                        victims += 1;
                    }
                    Some(_) => {}
                    None => refusals += 1,
                }
                // A mount empties a block that no policy chose.
                let other = below(BLOCKS as u32) as usize;
                if below(50) == 0 && matches!(pair.states[other], State::Full { .. }) {
                    pair.release(other);
                }
            }
            assert!(victims > 1000 && refusals > 10, "{setting}: {victims}, {refusals}");
        }
    }
}

#[test]
fn no_scheme_has_two_parameters_of_one_name() {
    for scheme in ftl::SCHEMES {
        for (at, param) in scheme.params.iter().enumerate() {
            let earlier = scheme.params[..at].iter().any(|other| other.name == param.name);
            assert!(!earlier, "{} has two parameters `{}`", scheme.name, param.name);
        }
    }
}

#[test]
fn impossible_parameters_of_any_policy_are_refused() {
    for (spec, why) in [
        ("page:d=0", "page: d=0 draws; 1 to 65536 are possible"),
        ("page:victim=dchoices,d=65537", "page: d=65537 draws; 1 to 65536 are possible"),
        ("dac:d=0", "dac: d=0 draws; 1 to 65536 are possible"),
    ] {
        let choice = ftl::Choice::from_spec(&spec::Spec::parse(spec).unwrap()).unwrap();
        let chip = nand::ChipModel::from_spec(&spec::Spec::parse("slc-last").unwrap()).unwrap();
        assert_eq!(choice.check(&chip, 100, 40).unwrap_err().to_string(), why);
    }
}
