//! Schemes under a sector log, with and without a write buffer above it: conformance, power cuts at
//! every flash operation, second cuts.

mod common;
#[path = "common/part.rs"]
mod part;

use check::campaign::Campaign;
use check::cut::faults::Faults;
use check::cut::power_loss::SecondCuts;
use check::subject::Subject;
use common::{campaign, finds_nothing, models, schemes, small_models};
use ftl::{Durability, Layers};
use part::one_in;

fn layers(buffer: &str, sector_log: &str) -> Layers {
    Layers::from_texts(&[("buffer", buffer), ("sector_log", sector_log)]).unwrap()
}

/// Every scheme under each of these pairs of write buffer and sector log.
fn under(pairs: &[(&str, &str)]) -> Vec<Subject> {
    let subjects = schemes().into_iter().flat_map(|scheme| {
        let subject = move || Subject::of(scheme, &[]).unwrap();
        pairs.iter().map(move |(buffer, log)| subject().under(&layers(buffer, log)))
    });
    subjects.collect()
}

fn workloads(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// Workloads with many partial writes.
fn partial_writes() -> Vec<String> {
    workloads(&["partial", "sectors", "forced"])
}

#[test]
fn every_scheme_conforms_under_a_sector_log() {
    let pairs = [("none", "0"), ("none", "4KiB"), ("3KiB", "8KiB"), ("5KiB,reads=true", "20KiB")];
    let campaign = campaign(under(&pairs), models(&["tiny", "odd-any"]));
    finds_nothing(&Campaign { durability: Durability::Paper, faults: Faults::NONE, ..campaign }, 0);
}

#[test]
fn every_scheme_survives_cuts_under_a_sector_log() {
    let campaign = campaign(under(&[("none", "8KiB"), ("3KiB", "4KiB")]), models(&["tiny-dies"]));
    finds_nothing(&Campaign { workloads: partial_writes(), ..campaign }, 666);
}

#[test]
fn every_scheme_survives_cuts_under_a_sector_log_on_other_chips() {
    let subjects = under(&[("none", "8KiB"), ("2KiB,evict=run", "12KiB")]);
    let campaign = campaign(subjects, models(&["least", "tiny-any", "sector", "odd"]));
    let workloads = workloads(&["sectors", "trims", "large"]);
    finds_nothing(&Campaign { workloads, ..campaign }, 333);
}

/// The log uses its blocks with one bit per cell.
#[test]
fn every_scheme_survives_cuts_under_a_sector_log_with_paired_pages() {
    let campaign = campaign(under(&[("none", "32KiB")]), models(&["small-tlc", "tiny-mlc"]));
    let parts = one_in(2, &Campaign { workloads: workloads(&["sectors"]), ..campaign });
    parts.iter().for_each(|part| _ = finds_nothing(part, 100));
}

#[test]
fn every_scheme_survives_second_cuts_under_a_sector_log() {
    let campaign = campaign(under(&[("none", "2KiB"), ("none", "6KiB")]), models(&["least"]));
    let (workloads, second_cuts) = (workloads(&["sectors", "partial"]), SecondCuts::OneIn(20));
    finds_nothing(&Campaign { workloads, second_cuts, ..campaign }, 75);
}

#[test]
#[ignore = "minutes: every scheme on the chip with three bits per cell, and more second cuts"]
fn every_scheme_survives_more_cuts_under_a_sector_log_with_paired_pages() {
    let campaign = campaign(under(&[("none", "32KiB")]), models(&["small-tlc", "tiny-mlc"]));
    let (workloads, second_cuts) = (workloads(&["sectors"]), SecondCuts::OneIn(100));
    finds_nothing(&Campaign { workloads, second_cuts, ..campaign }, 100);
}

#[test]
#[ignore = "minutes: all small devices and workloads, more logs and second cuts"]
fn every_scheme_survives_every_cut_under_every_sector_log() {
    let pairs = [("none", "1KiB"), ("none", "8KiB"), ("none", "20KiB"), ("4KiB", "8KiB")];
    let campaign = campaign(under(&pairs), small_models());
    finds_nothing(&Campaign { second_cuts: SecondCuts::OneIn(100), ..campaign }, 500);
}

#[test]
#[ignore = "minutes: many seeds of partial writes"]
fn every_scheme_survives_many_seeds_under_a_sector_log() {
    let pairs = [("none", "4KiB"), ("none", "8KiB"), ("3KiB", "8KiB,from=added")];
    let campaign = campaign(under(&pairs), models(&["least", "tiny", "odd"]));
    let (workloads, seeds) = (partial_writes(), (1..=10).collect());
    let second_cuts = SecondCuts::OneIn(20);
    finds_nothing(&Campaign { workloads, seeds, second_cuts, ..campaign }, 500);
}
