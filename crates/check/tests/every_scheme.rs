//! Every registered scheme, in many forms, on every tiny chip: conformance, cuts at every
//! operation, second cuts, all short programs.
//!
//! What runs here is chosen to end within a minute or two on two cores; the rest is `#[ignore]`d
//! and runs with `make test-long`.

use check::campaign::{Campaign, Report};
use check::case::Subject;
use check::power_loss::Second;
use check::shape::{SHAPES, Shape};
use check::workload::WORKLOADS;
use ftl::{Durability, SCHEMES};

/// All schemes, or those that `FTLAB_SCHEMES` lists: for whoever works on one.
fn schemes() -> Vec<&'static ftl::Scheme> {
    let only = std::env::var("FTLAB_SCHEMES").ok();
    let is_wanted = |scheme: &&&ftl::Scheme| {
        only.as_ref().is_none_or(|only| only.split(',').any(|name| name == scheme.name))
    };
    SCHEMES.iter().filter(is_wanted).copied().collect()
}

fn everything() -> Campaign {
    Campaign {
        subjects: schemes().iter().flat_map(|scheme| Subject::single_changes(scheme)).collect(),
        shapes: SHAPES.iter().filter(|shape| shape.logical_pages() <= 64).collect(),
        workloads: WORKLOADS.iter().map(|workload| workload.name.to_owned()).collect(),
        short_programs: 0,
        seeds: vec![1],
        durability: Durability::Full,
        second: Second::None,
        budget: None,
    }
}

/// The same with every combination of words and switches.
fn all_forms() -> Campaign {
    let subjects = schemes().iter().flat_map(|scheme| Subject::variants(scheme)).collect();
    Campaign { subjects, ..everything() }
}

/// Each scheme as it is without parameters.
fn plain() -> Vec<Subject> {
    let plain = |scheme: &&'static ftl::Scheme| Subject::of(scheme, &[]).unwrap();
    schemes().iter().map(plain).collect()
}

fn shapes(names: &[&str]) -> Vec<&'static Shape> {
    names.iter().map(|name| Shape::named(name).unwrap()).collect()
}

/// Runs a campaign; every scheme must have been tried, and nothing found.
fn is_right(campaign: &Campaign) -> Report {
    let report = campaign.run().unwrap();
    let total = report.total();
    for failure in total.failures.iter().take(10) {
        println!("{failure}");
    }
    println!("{:?} in {:.1} s", total.cuts, report.wall.as_secs_f64());
    assert!(total.failures.is_empty(), "{} cases went wrong", total.failures.len());
    for (subject, tried) in &report.rows {
        assert!(tried.cases > 0, "{} was never tried", subject.spec);
        assert!(tried.steps > 0, "{}: nothing was compared", subject.spec);
    }
    report
}

#[test]
fn every_form_conforms_under_paper() {
    is_right(&Campaign { durability: Durability::Paper, seeds: vec![1, 2, 3], ..everything() });
}

/// Nothing is found, every scheme is cut often, and every outcome is tried.
fn cuts_find_nothing(campaign: &Campaign) {
    let report = is_right(campaign);
    for (subject, tried) in &report.rows {
        let cuts = tried.cuts;
        assert!(cuts.first > 1000, "{}: only {} cuts", subject.spec, cuts.first);
    }
    let tried = report.total().cuts.by_outcome;
    assert!(tried.iter().all(|&n| n > 0), "an outcome was never tried: {tried:?}");
}

/// And second ones drawn at random.
#[test]
fn every_scheme_survives_every_cut() {
    let (subjects, second) = (plain(), Second::OneIn(200));
    cuts_find_nothing(&Campaign { subjects, second, ..everything() });
}

/// The other forms are corners, or differ in a word or a count; they are cut on two chips.
#[test]
fn every_form_survives_every_cut_on_two_chips() {
    cuts_find_nothing(&Campaign { shapes: shapes(&["tiny", "odd-any"]), ..everything() });
}

#[test]
fn every_scheme_survives_every_second_cut_on_the_least_chip() {
    let (subjects, shapes) = (plain(), shapes(&["least"]));
    let campaign = Campaign { subjects, shapes, ..everything() };
    let report = is_right(&Campaign { second: Second::All, ..campaign });
    for (subject, tried) in &report.rows {
        let second = tried.cuts.second;
        assert!(second > 10_000, "{}: only {second} second cuts", subject.spec);
    }
}

#[test]
fn every_scheme_survives_every_program_of_three_steps() {
    is_right(&Campaign {
        subjects: plain(),
        workloads: Vec::new(),
        short_programs: 3,
        ..everything()
    });
}

#[test]
fn every_scheme_survives_every_cut_of_sixteen_pages_a_block() {
    is_right(&Campaign {
        subjects: plain(),
        shapes: shapes(&["small", "small-ascending"]),
        workloads: vec!["trims".to_owned(), "large".to_owned()],
        ..everything()
    });
}

#[test]
fn the_same_campaign_gives_the_same_report() {
    let campaign = Campaign {
        subjects: plain(),
        shapes: shapes(&["least", "odd"]),
        workloads: vec!["random".to_owned(), "trims".to_owned()],
        second: Second::OneIn(30),
        ..everything()
    };
    let lines = |report: Report| -> Vec<String> {
        let row = |(subject, tried)| format!("{:?} {:?}", subject, tried);
        report.rows.into_iter().map(row).collect()
    };
    assert_eq!(lines(campaign.run().unwrap()), lines(campaign.run().unwrap()));
}

#[test]
#[ignore = "minutes: more seeds, larger chips"]
fn every_form_survives_every_cut_of_many_seeds() {
    is_right(&Campaign {
        shapes: SHAPES.iter().collect(),
        seeds: (1..=5).collect(),
        second: Second::OneIn(50),
        ..all_forms()
    });
}

#[test]
#[ignore = "minutes: every second cut in every form"]
fn every_form_survives_every_second_cut() {
    is_right(&Campaign { shapes: shapes(&["least"]), second: Second::All, ..all_forms() });
}

#[test]
#[ignore = "minutes: 30,940 programs a form"]
fn every_form_survives_every_program_of_four_steps() {
    is_right(&Campaign { workloads: Vec::new(), short_programs: 4, ..all_forms() });
}
