//! Every registered scheme under a write buffer, and the schemes with a resizable map under a
//! shared DRAM budget: conformance, power cuts at every flash operation, second cuts.
//!
//! The oracle is the same as without layers: a flush and a forced write make their pages durable,
//! and a page that waits in the buffer when the power fails keeps its previous value.

mod common;
#[path = "common/layers.rs"]
mod layers;
#[path = "common/part.rs"]
mod part;

use check::campaign::Campaign;
use check::cut::faults::Faults;
use check::cut::power_loss::SecondCuts;
use common::{campaign, finds_nothing, models, small_models};
use ftl::{Durability, Layers};
use layers::{corners, under};
use part::one_in;

fn buffer(text: &str) -> Layers {
    Layers::from_texts(&[("buffer", text)]).unwrap()
}

#[test]
fn every_scheme_conforms_under_a_buffer() {
    let buffers =
        ["1KiB", "5KiB", "5KiB,evict=run", "3KiB,reads=true", "9KiB,reads=true,evict=run"];
    let campaign = campaign(under(&buffers.map(buffer)), models(&["tiny", "tiny-any"]));
    finds_nothing(
        &Campaign {
            durability: Durability::Paper,
            faults: Faults::NONE,
            seeds: vec![1, 2],
            ..campaign
        },
        0,
    );
}

#[test]
fn every_scheme_conforms_in_the_corners_of_every_layer() {
    let campaign = campaign(under(&corners()), models(&["tiny", "tiny-any", "odd"]));
    finds_nothing(
        &Campaign {
            durability: Durability::Paper,
            faults: Faults::NONE,
            seeds: vec![1, 2, 3],
            ..campaign
        },
        0,
    );
}

#[test]
fn every_scheme_survives_cuts_in_the_corners_of_every_layer() {
    let campaign = campaign(under(&corners()), models(&["tiny", "least"]));
    let workloads = ["random", "trims", "sectors", "partial", "forced", "large"];
    let workloads = workloads.map(str::to_owned).to_vec();
    let second_cuts = SecondCuts::OneIn(1000);
    let parts = one_in(2, &Campaign { workloads, second_cuts, ..campaign });
    parts.iter().for_each(|part| _ = finds_nothing(part, 50));
}

#[test]
fn short_programs_find_nothing_under_a_buffer() {
    let campaign = campaign(under(&[buffer("2KiB")]), models(&["least"]));
    finds_nothing(&Campaign { workloads: Vec::new(), short_programs: 2, ..campaign }, 100);
}

#[test]
#[ignore = "minutes: all small chips in all corners"]
fn every_scheme_survives_every_cut_of_every_chip_in_the_corners_of_every_layer() {
    let campaign = campaign(under(&corners()), small_models());
    finds_nothing(&Campaign { second_cuts: SecondCuts::OneIn(1000), ..campaign }, 500);
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
