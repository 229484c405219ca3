//! Every registered scheme with many parameters, on every tiny device: conformance, power cuts,
//! second cuts, all short programs. `make test-long` cuts at every flash operation.
//!
//! The tests that run by default take a minute or two on two cores. The others are `#[ignore]`d and
//! run with `make test-long`.

mod common;
#[path = "common/part.rs"]
mod part;

use check::campaign::{Campaign, CampaignReport};
use check::cut::faults::{FaultClass, Faults};
use check::cut::power_loss::SecondCuts;
use check::device_model::DEVICE_MODELS;
use check::subject::Subject;
use common::{ONE_CUT_IN, campaign, finds_nothing, models, schemes, small_models};
use ftl::Durability;
use nand::{Outcome, Pairing};
use part::one_in;

/// The smallest chip, on which second cuts are many and cheap.
const LEAST: &str = "least";

/// Every scheme with its default parameters.
fn default_subjects() -> Vec<Subject> {
    schemes().into_iter().map(|scheme| Subject::of(scheme, &[]).unwrap()).collect()
}

/// Every other scheme with its default parameters, from the first or from the second one on. A
/// single scheme belongs to both halves.
fn half_of_the_defaults(from: usize) -> Vec<Subject> {
    let all = default_subjects();
    let from = from.min(all.len() - 1);
    all.into_iter().skip(from).step_by(2).collect()
}

/// Every scheme with its defaults, its corner settings and every single change of a parameter.
fn single_changes() -> Vec<Subject> {
    schemes().into_iter().flat_map(Subject::single_changes).collect()
}

/// Every scheme with all combinations of its choices and switches.
fn all_combinations() -> Vec<Subject> {
    schemes().into_iter().flat_map(Subject::all_combinations).collect()
}

#[test]
fn every_form_conforms_under_paper() {
    let campaign = campaign(single_changes(), small_models());
    let (durability, faults, seeds) = (Durability::Paper, Faults::NONE, vec![1, 2, 3]);
    finds_nothing(&Campaign { durability, faults, seeds, ..campaign }, 0);
}

/// Data survive under `paper` too, if erases happen completely or not at all. Trims may be undone.
#[test]
fn every_scheme_survives_cuts_under_paper() {
    let models = models(&["least", "tiny", "odd", "odd-any"]);
    let workloads = ["random", "merges", "forced"].map(str::to_owned).to_vec();
    let second_cuts = SecondCuts::OneIn(400);
    let campaign = campaign(default_subjects(), models);
    let campaign = Campaign { durability: Durability::Paper, workloads, second_cuts, ..campaign };
    for part in one_in(4, &campaign) {
        let tried = finds_nothing(&part, 100).total().cuts;
        assert!(tried.of(Outcome::Unstable) > 0 && tried.of(Outcome::Half) == 0, "{tried:?}");
    }
}

/// Every subject is cut many times, and every outcome is tried.
fn survives_all_cuts(campaign: &Campaign, cuts_min: u64) {
    let tried = finds_nothing(campaign, cuts_min).total().cuts;
    let has_pairs = campaign.models.iter().any(|model| model.pairing != Pairing::NONE);
    let has_dies = campaign.models.iter().any(|model| model.dies > 1);
    for outcome in Outcome::ALL {
        let is_possible = match outcome {
            Outcome::Paired => has_pairs,
            Outcome::Reordered | Outcome::BrownedOut => has_dies,
            _ => true,
        };
        let expected = campaign.faults.contains(FaultClass::of(outcome)) && is_possible;
        assert_eq!(tried.of(outcome) > 0, expected, "{outcome:?}: {tried:?}");
    }
}

/// The chip of the second cuts is not among them.
#[test]
fn every_scheme_survives_cuts() {
    let mut models = small_models();
    models.retain(|model| model.name != LEAST);
    let campaign = campaign(default_subjects(), models);
    let campaign = Campaign { second_cuts: SecondCuts::OneIn(800), ..campaign };
    one_in(6, &campaign).iter().for_each(|part| survives_all_cuts(part, 700));
}

/// Each of them on one of the chips.
#[test]
fn every_form_survives_cuts_on_two_chips() {
    let workloads = ["random", "hot", "trims", "sectors", "merges"].map(str::to_owned).to_vec();
    let campaign = campaign(single_changes(), models(&["tiny", "odd-any"]));
    let parts = one_in(2, &Campaign { workloads, ..campaign });
    parts.iter().for_each(|part| survives_all_cuts(part, 500));
}

#[test]
fn every_scheme_survives_second_cuts_on_the_least_chip() {
    let campaign = campaign(default_subjects(), models(&[LEAST]));
    let report = finds_nothing(&Campaign { second_cuts: SecondCuts::OneIn(32), ..campaign }, 0);
    for (subject, totals) in &report.rows {
        let second = totals.cuts.second;
        assert!(
            second > 5_000 / u64::from(ONE_CUT_IN),
            "{}: only {second} second cuts",
            subject.spec
        );
    }
}

/// The other classes of faults are tried with longer workloads. `make test-long` has programs of
/// three steps, too.
#[test]
fn every_scheme_survives_short_programs() {
    let campaign = campaign(default_subjects(), Vec::new());
    let short_programs = if cfg!(debug_assertions) { 2 } else { 3 };
    let (workloads, faults, one_first_in) = (Vec::new(), Faults::BASIC, 1);
    let campaign = Campaign { workloads, faults, short_programs, one_first_in, ..campaign };
    finds_nothing(&campaign, 0);
}

#[test]
fn every_scheme_survives_cuts_of_sixteen_pages_per_block() {
    let campaign = campaign(default_subjects(), models(&["small", "small-ascending"]));
    for (part, workload) in one_in(2, &campaign).into_iter().zip(["trims", "large"]) {
        finds_nothing(&Campaign { workloads: vec![workload.to_owned()], ..part }, 0);
    }
}

/// A checkpoint of trims has several pages here, and mounts read it. The trim log and the layout of
/// paired pages are the same in all schemes, so each of the large chips has one half of them.
#[test]
fn schemes_survive_cuts_with_several_checkpoint_windows() {
    let campaign = campaign(half_of_the_defaults(1), models(&["windows"]));
    finds_nothing(&campaign, 5);
}

#[test]
fn every_form_survives_cuts_of_paired_pages() {
    let campaign = campaign(single_changes(), models(&["tiny-mlc"]));
    // A form that is alone has both halves of the workloads.
    let last = campaign.subjects.len() - 1;
    for (half, workloads) in [["random", "merges"], ["hot", "trims"]].iter().enumerate() {
        let subjects = campaign.subjects.iter().skip(half.min(last)).step_by(2).cloned().collect();
        let workloads = workloads.map(str::to_owned).to_vec();
        survives_all_cuts(&Campaign { subjects, workloads, ..campaign.clone() }, 200);
    }
}

#[test]
fn schemes_survive_cuts_of_three_bits_per_cell() {
    let workloads = vec!["merges".to_owned()];
    let campaign = campaign(half_of_the_defaults(0), models(&["small-tlc"]));
    finds_nothing(&Campaign { workloads, ..campaign }, 0);
}

/// Each case has a chip of its own.
#[test]
fn every_scheme_survives_cuts_on_drawn_chips() {
    let campaign = campaign(default_subjects(), Vec::new());
    let campaign = Campaign {
        draws_devices: true,
        workloads: ["hot", "merges", "trims"].map(str::to_owned).to_vec(),
        seeds: (1..=4).collect(),
        second_cuts: SecondCuts::OneIn(8000),
        ..campaign
    };
    finds_nothing(&campaign, 100);
}

#[test]
fn the_same_campaign_gives_the_same_report() {
    let workloads = vec!["random".to_owned()];
    let campaign = campaign(default_subjects(), models(&[LEAST]));
    let campaign = Campaign { workloads, second_cuts: SecondCuts::OneIn(300), ..campaign };
    let lines = |report: CampaignReport| -> Vec<String> {
        report.rows.iter().map(|(subject, totals)| format!("{subject:?} {totals:?}")).collect()
    };
    assert_eq!(lines(campaign.run().unwrap()), lines(campaign.run().unwrap()));
}

#[test]
#[ignore = "a minute: all schemes on the large chips"]
fn every_scheme_survives_every_cut_on_the_large_chips() {
    let workloads = ["windows", "merges"].map(str::to_owned).to_vec();
    let campaign = campaign(default_subjects(), models(&["windows", "small-tlc"]));
    finds_nothing(&Campaign { workloads, ..campaign }, 5);
}

#[test]
#[ignore = "minutes: more seeds, larger chips"]
fn every_form_survives_every_cut_of_many_seeds() {
    let campaign = campaign(all_combinations(), DEVICE_MODELS.to_vec());
    let (seeds, second_cuts) = ((1..=5).collect(), SecondCuts::OneIn(50));
    finds_nothing(&Campaign { seeds, second_cuts, ..campaign }, 0);
}

#[test]
#[ignore = "minutes: every second cut of every form"]
fn every_form_survives_every_second_cut() {
    let campaign = campaign(all_combinations(), models(&["least"]));
    finds_nothing(&Campaign { second_cuts: SecondCuts::All, ..campaign }, 0);
}

#[test]
#[ignore = "minutes: 30,940 programs per form"]
fn every_form_survives_every_program_of_four_steps() {
    let campaign = campaign(all_combinations(), Vec::new());
    finds_nothing(&Campaign { workloads: Vec::new(), short_programs: 4, ..campaign }, 0);
}
