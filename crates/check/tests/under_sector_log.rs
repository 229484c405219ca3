//! Schemes under a sector log, with and without a write buffer above it: conformance, cuts at
//! every operation, second cuts.

mod common;

use check::campaign::Campaign;
use check::case::Subject;
use check::power_loss::Second;
use check::shape::{SHAPES, Shape};
use check::workload::WORKLOADS;
use common::is_right;
use ftl::layer::Options;
use ftl::{Durability, Layers, SCHEMES};

/// Workloads in which much is written in part.
const OF_SECTORS: [&str; 3] = ["partial", "sectors", "forced"];
const SOME_SCHEMES: [&str; 7] = ["page", "dac", "dftl", "superblock", "lsb", "fast", "last"];

fn layers(buffer: &str, sector_log: &str) -> Layers {
    Layers::new(&Options { buffer, sector_log, ..Options::default() }).unwrap()
}

/// These schemes, as far as `FTLAB_SCHEMES` lists them, under each of these pairs of layers.
fn under(schemes: &[&str], pairs: &[(&str, &str)]) -> Vec<Subject> {
    let only = std::env::var("FTLAB_SCHEMES").ok();
    let is_wanted =
        |name: &&&str| only.as_ref().is_none_or(|only| only.split(',').any(|it| it == **name));
    let subjects = schemes.iter().filter(is_wanted).flat_map(|name| {
        let plain = move || Subject::from_spec(name).unwrap();
        pairs.iter().map(move |(buffer, log)| plain().under(&layers(buffer, log)))
    });
    subjects.collect()
}

fn every_scheme() -> Vec<&'static str> {
    SCHEMES.iter().map(|scheme| scheme.name).collect()
}

fn campaign(subjects: Vec<Subject>, shapes: &[&str], workloads: &[&str]) -> Campaign {
    Campaign {
        subjects,
        shapes: shapes.iter().map(|name| Shape::named(name).unwrap()).collect(),
        workloads: workloads.iter().map(|name| (*name).to_owned()).collect(),
        short_programs: 0,
        seeds: vec![1],
        durability: Durability::Full,
        second: Second::None,
        budget: None,
    }
}

fn all_workloads() -> Vec<&'static str> {
    WORKLOADS.iter().map(|workload| workload.name).collect()
}

#[test]
fn every_scheme_conforms_under_a_sector_log() {
    let pairs = [("none", "0"), ("none", "4KiB"), ("3KiB", "8KiB"), ("5KiB,reads=true", "20KiB")];
    let subjects = under(&every_scheme(), &pairs);
    let campaign = campaign(subjects, &["tiny", "odd-any"], &all_workloads());
    is_right(&Campaign { durability: Durability::Paper, ..campaign }, 0);
}

#[test]
fn some_schemes_survive_every_cut_under_a_sector_log() {
    let subjects = under(&SOME_SCHEMES, &[("none", "8KiB"), ("3KiB", "4KiB")]);
    let campaign = campaign(subjects, &["tiny"], &OF_SECTORS);
    is_right(&Campaign { second: Second::OneIn(200), seeds: vec![1, 2, 3], ..campaign }, 2000);
}

#[test]
fn two_schemes_survive_every_cut_under_a_sector_log_on_other_chips() {
    let subjects = under(&["page", "block"], &[("none", "8KiB"), ("2KiB,evict=run", "12KiB")]);
    let shapes = ["least", "tiny-any", "sector", "odd"];
    let campaign = campaign(subjects, &shapes, &["sectors", "trims", "large"]);
    is_right(&Campaign { seeds: vec![1, 2, 3], ..campaign }, 1000);
}

#[test]
fn page_survives_second_cuts_under_a_sector_log() {
    let subjects = under(&["page"], &[("none", "2KiB"), ("none", "6KiB")]);
    let campaign = campaign(subjects, &["least"], &["sectors", "partial"]);
    is_right(&Campaign { second: Second::OneIn(2), seeds: vec![1, 2, 3, 4], ..campaign }, 300);
}

#[test]
#[ignore = "minutes: every scheme, all small chips and workloads, more logs and second cuts"]
fn every_scheme_survives_every_cut_under_every_sector_log() {
    let pairs = [("none", "1KiB"), ("none", "8KiB"), ("none", "20KiB"), ("4KiB", "8KiB")];
    let shapes = SHAPES.iter().filter(|shape| shape.logical_pages() <= 64).collect();
    let subjects = under(&every_scheme(), &pairs);
    let campaign = Campaign { shapes, ..campaign(subjects, &[], &all_workloads()) };
    is_right(&Campaign { second: Second::OneIn(100), ..campaign }, 500);
}

#[test]
#[ignore = "minutes: seed after seed of writes in part"]
fn every_scheme_survives_many_seeds_under_a_sector_log() {
    let pairs = [("none", "4KiB"), ("none", "8KiB"), ("3KiB", "8KiB,from=added")];
    let campaign = campaign(under(&every_scheme(), &pairs), &["least", "tiny", "odd"], &OF_SECTORS);
    is_right(&Campaign { second: Second::OneIn(20), seeds: (1..=10).collect(), ..campaign }, 500);
}
