//! Wear levelling: policies by which blocks wear evenly, below the FTL.
//!
//! ```text
//! none      blocks are used as the FTL asks
//! dynamic   the FTL takes the least worn of its free blocks
//! static    ┐ cold data move to a worn block; the young block that they leave takes the place of
//! swap      ┘ a worn one of which the FTL has just erased the data: see [`levelling`]
//! ```
//! A policy is one file here and one line in [`POLICIES`]. Schemes and layers know nothing of it.
//! The erase counts of the blocks are known, as if the controller kept them with its own tables: no
//! operation is counted for that.

mod dynamic;
pub(crate) mod levelling;
mod none;
pub(crate) mod policy;
mod static_threshold;
mod swap;

use core::fmt;

use spec::{Params, Spec};

pub use policy::WearPolicy;
use policy::{Leveller, Work};

/// Every policy. A new one costs its file, its `mod` and its line here.
pub static POLICIES: &[&WearPolicy] =
    &[&none::POLICY, &dynamic::POLICY, &static_threshold::POLICY, &swap::POLICY];

/// A policy with its parameters.
#[derive(Clone, Debug)]
pub struct WearChoice {
    policy: &'static WearPolicy,
    params: Params,
}

impl WearChoice {
    /// The policy that a spec such as `static:threshold=50` names.
    ///
    /// # Errors
    /// The name or a key is unknown, or a value is impossible.
    pub fn parse(text: &str) -> spec::Result<WearChoice> {
        let Spec { name, pairs } = Spec::parse(text)?;
        let policy = POLICIES.iter().find(|policy| policy.name == name);
        let names = || POLICIES.iter().map(|policy| policy.name).collect::<Vec<_>>();
        let policy = policy.ok_or_else(|| spec::unknown("wear policy", &name, &names()))?;
        let params = spec::resolve(&format!("wear policy {name}"), &pairs, policy.params)?;
        for param in policy.params {
            // All of them are numbers of erases or rounds.
            if params.opt_count(param.name).is_some_and(|it| it == 0 || u32::try_from(it).is_err())
            {
                let form = format!("`{}` from 1 to 2^32 - 1", param.name);
                return Err(spec::Error::Malformed { text: text.to_owned(), form });
            }
        }
        Ok(WearChoice { policy, params })
    }

    /// The policy.
    pub fn policy(&self) -> &'static WearPolicy {
        self.policy
    }

    /// Whether it moves data, which needs blocks whose numbers can be exchanged.
    pub fn moves_data(&self) -> bool {
        matches!(self.policy.work, Work::Moves(_))
    }

    /// Whether an FTL is to take the least worn of its free blocks.
    pub(crate) fn takes_least_worn(&self) -> bool {
        matches!(self.policy.work, Work::Takes)
    }

    /// The policy on a chip whose blocks take this number of erases on average, if it moves data.
    pub(crate) fn leveller(&self, endurance: u32) -> Option<Box<dyn Leveller>> {
        match self.policy.work {
            Work::Moves(leveller) => Some(leveller(&self.params, endurance)),
            Work::Nothing | Work::Takes => None,
        }
    }
}

impl fmt::Display for WearChoice {
    /// The spec with all parameters that have a value, as [`parse`](WearChoice::parse) reads it.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, pairs) = (self.policy.name.to_owned(), self.params.settings());
        write!(out, "{}", Spec { name, pairs })
    }
}

impl Default for WearChoice {
    /// No levelling.
    fn default() -> WearChoice {
        WearChoice::parse("none").expect("it is in the list")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_found_by_their_names_and_impossible_ones_say_why() {
        for policy in POLICIES {
            let choice = WearChoice::parse(policy.name).unwrap();
            assert_eq!(choice.policy().name, policy.name);
            assert_eq!(choice.moves_data(), choice.leveller(100).is_some());
        }
        let why = |text: &str| WearChoice::parse(text).unwrap_err().to_string();
        assert!(why("statics").contains("did you mean `static`"), "{}", why("statics"));
        assert!(why("static:treshold=5").contains("threshold"), "{}", why("static:treshold=5"));
        for text in ["static:threshold=0", "swap:every=0", "swap:margin=5G"] {
            assert!(why(text).contains("from 1 to 2^32 - 1"), "{}", why(text));
        }
    }

    #[test]
    fn the_default_margin_is_a_twentieth_of_a_life() {
        let margin = |text: &str, endurance| {
            let leveller = WearChoice::parse(text).unwrap().leveller(endurance);
            assert!(!text.starts_with("swap") || leveller.as_ref().unwrap().margin(7).is_none());
            leveller.unwrap().margin(8)
        };
        assert_eq!(margin("static", 3000), Some(150));
        assert_eq!(margin("static", 10), Some(1));
        assert_eq!(margin("swap", 100), Some(5));
        assert_eq!(margin("static:threshold=7", 3000), Some(7));
        assert_eq!(margin("swap:margin=9", 3000), Some(9));
    }
}
