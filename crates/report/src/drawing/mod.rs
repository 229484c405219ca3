//! How figures are drawn: on pages by the reader's browser, for papers here, both by the same
//! libraries from the same specs.
//!
//! * [`svg`] figures as files for papers

pub mod svg;

use std::io::Read;

use flate2::read::ZlibDecoder;

/// The vendored libraries that draw Vega-Lite specs, compressed.
const LIBRARIES: [&[u8]; 2] = [
    include_bytes!(concat!(env!("OUT_DIR"), "/vega")),
    include_bytes!(concat!(env!("OUT_DIR"), "/vega-lite")),
];
/// The one that puts a spec into a page, with the menu beside it.
const EMBED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/vega-embed"));

/// How a figure fits a width, and what all figures have in common.
pub(crate) const FITTING: &str = include_str!("fitting.js");

/// The libraries that draw specs.
pub(crate) fn libraries() -> [String; 2] {
    LIBRARIES.map(unpacked)
}

/// The library that puts a spec into a page.
pub(crate) fn embed() -> String {
    unpacked(EMBED)
}

fn unpacked(packed: &[u8]) -> String {
    let mut script = String::new();
    ZlibDecoder::new(packed).read_to_string(&mut script).expect("it was packed with the program");
    script
}
