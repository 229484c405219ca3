//! How figures are drawn: on pages by the reader's browser, for papers here, both by the same
//! libraries from the same specs.
//!
//! * [`svg`] figures as files for papers

pub mod svg;

/// The vendored libraries that draw Vega-Lite specs.
pub(crate) const LIBRARIES: [&str; 2] =
    [include_str!("../../vega/vega.min.js"), include_str!("../../vega/vega-lite.min.js")];

/// How a figure fits a width, and what all figures have in common.
pub(crate) const FITTING: &str = include_str!("fitting.js");
