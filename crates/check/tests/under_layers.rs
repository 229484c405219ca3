//! Every registered scheme under a write buffer, and the schemes with a resizable map under a
//! shared DRAM budget: conformance, power cuts at every flash operation, second cuts.
//!
//! The oracle is the same as without layers: a flush and a forced write make their pages durable,
//! and a page that waits in the buffer when the power fails keeps its previous value.

mod common;

use check::campaign::Campaign;
use check::power_loss::SecondCuts;
use check::subject::Subject;
use common::{campaign, finds_nothing, models, schemes, small_models};
use ftl::layer::Options;
use ftl::{Durability, Layers};

fn buffer(text: &str) -> Layers {
    Layers::new(&Options { buffer: text, ..Options::default() }).unwrap()
}

fn divided(dram: u64, split: &str) -> Layers {
    Layers::new(&Options { dram: Some(dram), split: Some(split), ..Options::default() }).unwrap()
}

/// Every scheme under each of these layers that it accepts.
fn under(layers: &[Layers]) -> Vec<Subject> {
    let subjects = schemes().into_iter().flat_map(|scheme| {
        let accepts = |layers: &&Layers| layers.split.is_none() || scheme.map_budget.is_some();
        let subject = || Subject::of(scheme, &[]).unwrap();
        layers.iter().filter(accepts).map(move |layers| subject().under(layers))
    });
    subjects.collect()
}

#[test]
fn every_scheme_conforms_under_a_buffer() {
    let buffers =
        ["1KiB", "5KiB", "5KiB,evict=run", "3KiB,reads=true", "9KiB,reads=true,evict=run"];
    let campaign = campaign(under(&buffers.map(buffer)), models(&["tiny", "tiny-any"]));
    finds_nothing(&Campaign { durability: Durability::Paper, seeds: vec![1, 2], ..campaign }, 0);
}

#[test]
fn every_scheme_survives_every_cut_under_a_buffer() {
    let buffers = ["3KiB", "6KiB,reads=true,evict=run"].map(buffer);
    let campaign = campaign(under(&buffers), models(&["tiny"]));
    finds_nothing(&Campaign { second_cuts: SecondCuts::OneIn(1000), ..campaign }, 500);
}

/// Budgets of a few pages. The adaptive ones are tuned every few requests, by large steps.
fn budgets() -> [Layers; 3] {
    [
        divided(2 << 10, "1%"),
        divided(4 << 10, "adaptive:interval=3,max_step=20%"),
        divided(1 << 10, "adaptive:interval=2,max_step=100%"),
    ]
}

#[test]
fn divided_budgets_conform() {
    let campaign = campaign(under(&budgets()), models(&["tiny", "tiny-any", "odd"]));
    finds_nothing(&Campaign { durability: Durability::Paper, seeds: vec![1, 2, 3], ..campaign }, 0);
}

#[test]
fn divided_budgets_survive_every_cut() {
    let campaign = campaign(under(&budgets()), models(&["tiny"]));
    finds_nothing(&Campaign { second_cuts: SecondCuts::OneIn(1000), ..campaign }, 500);
}

#[test]
fn short_programs_find_nothing_under_a_buffer() {
    let campaign = campaign(under(&[buffer("2KiB")]), models(&["least"]));
    finds_nothing(&Campaign { workloads: Vec::new(), short_programs: 2, ..campaign }, 100);
}

#[test]
#[ignore = "minutes: all small chips, more buffers, more second cuts"]
fn every_scheme_survives_every_cut_under_every_buffer() {
    let buffers =
        ["2KiB", "4KiB", "8KiB,evict=run", "4KiB,reads=true", "6KiB,reads=true,evict=run"];
    let campaign = campaign(under(&buffers.map(buffer)), small_models());
    finds_nothing(
        &Campaign { second_cuts: SecondCuts::OneIn(100), seeds: vec![1, 2], ..campaign },
        500,
    );
}
