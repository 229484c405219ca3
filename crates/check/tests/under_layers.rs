//! Every registered scheme under a write buffer, and those whose map can be resized under a divided
//! budget: conformance, cuts at every operation, second cuts.
//!
//! The oracle is the same as without layers: a flush and a forced write keep what they cover, and
//! what waits when the power fails leaves the value before it.

mod common;

use check::campaign::Campaign;
use check::case::Subject;
use check::power_loss::Second;
use check::shape::{SHAPES, Shape};
use check::workload::WORKLOADS;
use common::is_right;
use ftl::layer::Options;
use ftl::{Durability, Layers, SCHEMES};

fn buffer(text: &str) -> Layers {
    Layers::new(&Options { buffer: text, ..Options::default() }).unwrap()
}

fn divided(dram: u64, split: &str) -> Layers {
    Layers::new(&Options { dram: Some(dram), split: Some(split), ..Options::default() }).unwrap()
}

/// All schemes, or those that `FTLAB_SCHEMES` lists, under each of these layers that they take.
fn under(layers: &[Layers]) -> Vec<Subject> {
    let only = std::env::var("FTLAB_SCHEMES").ok();
    let is_wanted =
        |name: &str| only.as_ref().is_none_or(|only| only.split(',').any(|wanted| wanted == name));
    let schemes = SCHEMES.iter().filter(|scheme| is_wanted(scheme.name));
    let subjects = schemes.flat_map(|scheme| {
        let may = |layers: &&Layers| layers.split.is_none() || scheme.map_budget.is_some();
        let plain = || Subject::of(scheme, &[]).unwrap();
        layers.iter().filter(may).map(move |layers| plain().under(layers))
    });
    subjects.collect()
}

fn campaign(layers: &[Layers], shapes: &[&str]) -> Campaign {
    Campaign {
        subjects: under(layers),
        shapes: shapes.iter().map(|name| Shape::named(name).unwrap()).collect(),
        workloads: WORKLOADS.iter().map(|workload| workload.name.to_owned()).collect(),
        short_programs: 0,
        seeds: vec![1],
        durability: Durability::Full,
        second: Second::None,
        budget: None,
    }
}

#[test]
fn every_scheme_conforms_under_a_buffer() {
    let buffers =
        ["1KiB", "5KiB", "5KiB,evict=run", "3KiB,reads=true", "9KiB,reads=true,evict=run"];
    let campaign = campaign(&buffers.map(buffer), &["tiny", "tiny-any"]);
    is_right(&Campaign { durability: Durability::Paper, seeds: vec![1, 2], ..campaign }, 0);
}

#[test]
fn every_scheme_survives_every_cut_under_a_buffer() {
    let campaign = campaign(&["3KiB", "6KiB,reads=true,evict=run"].map(buffer), &["tiny"]);
    is_right(&Campaign { second: Second::OneIn(1000), ..campaign }, 500);
}

/// Budgets of a few pages, tuned every three requests, by steps that matter.
fn budgets() -> [Layers; 3] {
    [
        divided(2 << 10, "1%"),
        divided(4 << 10, "adaptive:interval=3,max_step=20%"),
        divided(1 << 10, "adaptive:interval=2,max_step=100%"),
    ]
}

#[test]
fn divided_budgets_conform() {
    let campaign = campaign(&budgets(), &["tiny", "tiny-any", "odd"]);
    is_right(&Campaign { durability: Durability::Paper, seeds: vec![1, 2, 3], ..campaign }, 0);
}

#[test]
fn divided_budgets_survive_every_cut() {
    let campaign = campaign(&budgets(), &["tiny"]);
    is_right(&Campaign { second: Second::OneIn(1000), ..campaign }, 500);
}

#[test]
fn short_programs_are_right_under_a_buffer() {
    let campaign = campaign(&[buffer("2KiB")], &["least"]);
    is_right(&Campaign { workloads: Vec::new(), short_programs: 2, ..campaign }, 100);
}

#[test]
#[ignore = "minutes: all small chips, more buffers, more second cuts"]
fn every_scheme_survives_every_cut_under_every_buffer() {
    let buffers =
        ["2KiB", "4KiB", "8KiB,evict=run", "4KiB,reads=true", "6KiB,reads=true,evict=run"];
    let shapes = SHAPES.iter().filter(|shape| shape.logical_pages() <= 64).collect();
    let campaign = Campaign { shapes, ..campaign(&buffers.map(buffer), &[]) };
    is_right(&Campaign { second: Second::OneIn(100), seeds: vec![1, 2], ..campaign }, 500);
}
