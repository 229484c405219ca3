//! Opens and surveys real traces.

mod directory;

use std::path::Path;

use trace::analysis::survey::{Survey, survey};
use trace::{ReadOptions, Trace, go_on};

pub use directory::traces;

/// A trace in the directory; its format is detected if `format` is empty.
pub fn open(directory: &Path, file: &str, format: &str, skip_bad: bool) -> Trace {
    let format = (!format.is_empty()).then(|| spec::Spec::parse(format).unwrap());
    let options = ReadOptions { format, skip_bad, ..ReadOptions::default() };
    let path = directory.join(file);
    Trace::open(path.to_str().unwrap(), &options).unwrap_or_else(|error| panic!("{error}"))
}

/// Its survey, in pages of 4 KiB.
pub fn surveyed(trace: &Trace) -> Survey {
    survey(trace, 4096, go_on).unwrap_or_else(|error| panic!("{error}"))
}
