//! Every scheme and layer on images: power cuts, after each of which the image is opened anew, and
//! crashes of the machine at every write and sync of the file.

mod common;
#[path = "common/layers.rs"]
mod layers;

use check::campaign::{Campaign, Totals};
use check::cut::faults::Faults;
use check::cut::power_loss::SecondCuts;
use check::flash::Storage;
use check::subject::Subject;
use common::{campaign, finds_nothing, models, schemes, small_models};
use ftl::Layers;
use layers::{corners, under};
use nand::Outcome;

/// A campaign on images. One seed gives them much room, the other one little.
fn on_images(subjects: Vec<Subject>, names: &[&str], workloads: &[&str]) -> Campaign {
    Campaign {
        storage: Storage::Image,
        workloads: workloads.iter().map(|name| (*name).to_owned()).collect(),
        seeds: vec![1, 2],
        second_cuts: SecondCuts::OneIn(2000),
        ..campaign(subjects, models(names))
    }
}

/// Runs a campaign, which must find nothing and try all kinds of losses.
fn keeps_everything(campaign: &Campaign, crashes_min: u64) -> Totals {
    let report = finds_nothing(campaign, 20);
    for (subject, Totals { crashes, .. }) in &report.rows {
        let (name, tried) = (subject.name(), crashes.first);
        assert!(
            tried >= crashes_min / u64::from(campaign.one_first_in),
            "{name}: only {tried} crash states"
        );
    }
    let total = report.total();
    println!("{:?}", total.crashes);
    assert!(total.crashes.by_name().all(|(_, tried)| tried > 0));
    total
}

#[test]
fn every_scheme_survives_cuts_and_crashes_on_an_image() {
    let subjects = under(&[Layers::default()]);
    keeps_everything(&on_images(subjects, &["tiny"], &["trims"]), 500);
}

#[test]
fn every_scheme_survives_cuts_and_crashes_on_an_image_under_every_layer() {
    let subjects = under(&corners());
    keeps_everything(&on_images(subjects, &["least"], &["trims"]), 50);
}

/// The image stores paired pages alike for all schemes, so every third scheme uses them here, on a
/// chip with two dies.
#[test]
fn paired_pages_survive_cuts_and_crashes_on_an_image() {
    let schemes = schemes().into_iter().step_by(3);
    let subjects = schemes.map(|scheme| Subject::of(scheme, &[]).unwrap());
    let campaign = on_images(subjects.collect(), &["tiny-mlc-dies"], &["random"]);
    let tried = keeps_everything(&Campaign { seeds: vec![1], ..campaign }, 300).cuts;
    for outcome in [Outcome::Paired, Outcome::Reordered, Outcome::BrownedOut] {
        assert!(tried.of(outcome) > 0, "{outcome:?}: {tried:?}");
    }
}

/// A crash may damage what the crash before it has spared, such as the other superblock.
#[test]
fn an_image_survives_second_crashes() {
    let subjects = under(&[Layers::default()]).into_iter().take(1);
    let campaign = on_images(subjects.collect(), &["least"], &["random"]);
    // The other tests, and those in memory, cut the power with all faults.
    let (seeds, faults, second_cuts) = (vec![1], Faults::BASIC, SecondCuts::All);
    keeps_everything(&Campaign { seeds, faults, second_cuts, ..campaign }, 100);
}

#[test]
#[ignore = "minutes: all small chips, more workloads"]
fn every_scheme_survives_a_million_crashes() {
    let workloads = ["random", "hot", "trims", "sectors", "merges", "forced"];
    let mut layers = corners();
    layers.push(Layers::default());
    let campaign = on_images(under(&layers), &[], &workloads);
    keeps_everything(&Campaign { models: small_models(), ..campaign }, 10_000);
}
