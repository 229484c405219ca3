//! What can happen to a device, and what a check lets happen.

use std::fmt;

use crate::case::Case;
use crate::rng::{Rng, mix};
use crate::workload;
use crate::workload::host_operation::HostOperation;

/// What can happen to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Mount, audit, and read everything. The values read are the device's state from now on.
    Mount,
    /// Switch the power off and on between two host operations, then mount.
    Remount,
    /// Audit, and read everything. Every sector must have its newest value.
    Check,
    /// Let the pages decay that a cut left weak, then check.
    Decay,
    /// Perform an operation of the host.
    Do(HostOperation),
}

impl fmt::Display for Action {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Action::Mount => write!(out, "mount"),
            Action::Remount => write!(out, "power off and on, mount"),
            Action::Check => write!(out, "read and audit everything"),
            Action::Decay => write!(out, "decay, then read and audit everything"),
            Action::Do(operation) => operation.fmt(out),
        }
    }
}

/// The actions before the first cut or crash: mount, the workload, a check.
pub fn of_workload(case: &Case) -> Vec<Action> {
    let operations = case.operations.iter().map(|&operation| Action::Do(operation));
    [Action::Mount].into_iter().chain(operations).chain([Action::Check]).collect()
}

/// The actions after a cut or crash: the device must recover, keep its contents, and go on working.
/// `decays`: whether weak pages decay after the mount.
pub fn of_recovery(case: &Case, seed: u64, decays: bool) -> Vec<Action> {
    let operations = workload::after_power_cut(case.dimensions(), seed);
    let mut actions = vec![Action::Mount];
    if decays {
        actions.push(Action::Decay);
    }
    actions.extend(operations.into_iter().map(Action::Do));
    actions.extend([Action::Check, Action::Remount]);
    // A third mount seldom finds what the second one does not, and mounts take most of the time.
    if Rng::new(mix(seed, 1)).one_in(4) {
        actions.push(Action::Remount);
    }
    actions
}
