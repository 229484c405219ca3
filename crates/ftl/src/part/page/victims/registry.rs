//! All victim policies. A new policy costs its file, its `mod` and its line here: schemes that
//! offer a choice, the command and all tests read this list.

use spec::{Kind, Param, Params};

use crate::part::page::victims::policy::Policy;
use crate::part::page::victims::*;

/// Every victim policy that ftlab knows.
pub static POLICIES: &[&Policy] = &[
    &greedy::POLICY,
    &windowed_greedy::POLICY,
    &fifo::POLICY,
    &cost_benefit::POLICY,
    &cost_benefit_lfs::POLICY,
    &cost_benefit_sqrt::POLICY,
    &d_choices::POLICY,
    &random::POLICY,
];

static NAMES: [&str; POLICIES.len()] = {
    let mut names = [""; POLICIES.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = POLICIES[at].name;
        at += 1;
    }
    names
};

/// The parameter with which a scheme lets users choose a policy. The scheme takes [`OWN_PARAMS`] as
/// well.
pub const fn victim_param(default: &'static str) -> Param {
    Param {
        name: "victim",
        kind: Kind::Choice(&NAMES),
        default,
        unit: "",
        doc: "the policy that chooses which full block garbage collection empties",
    }
}

const OWN: [&[Param]; POLICIES.len()] = {
    let mut lists: [&[Param]; POLICIES.len()] = [&[]; POLICIES.len()];
    let mut at = 0;
    while at < lists.len() {
        lists[at] = POLICIES[at].params;
        at += 1;
    }
    lists
};

/// The parameters of all policies.
pub static OWN_PARAMS: [Param; spec::total_len(&OWN)] = spec::joined(&OWN);

/// The policy that the parameters of a scheme name.
pub fn chosen(params: &Params) -> &'static Policy {
    let name = params.choice("victim");
    let policy = POLICIES.iter().find(|policy| policy.name == name);
    policy.expect("the choices of `victim` are the names in this list")
}

/// Refuses impossible values of any policy's parameters, chosen or not.
pub fn refuses(params: &Params) -> Option<String> {
    POLICIES.iter().find_map(|policy| (policy.refuses)(params))
}
