//! Campaigns that are shortened for every test run.

use check::campaign::Campaign;

/// One of N pairs of a subject and a device model: the first of each N subjects in turn on the
/// first of each N models, the second ones on the second ones, and so on. So every subject and
/// every model is tried. The tests that take minutes try all pairs.
///
/// Fewer subjects than N, as with `FTLAB_SCHEMES`, make as many parts as there are subjects, and a
/// single subject is tried on all models. So no part is empty.
pub fn one_in(most: usize, campaign: &Campaign) -> Vec<Campaign> {
    let parts = most.min(campaign.subjects.len());
    let part = |turn| Campaign {
        subjects: campaign.subjects.iter().skip(turn).step_by(parts).cloned().collect(),
        models: campaign.models.iter().skip(turn).step_by(parts).copied().collect(),
        ..campaign.clone()
    };
    (0..parts).map(part).collect()
}
