//! Trace formats and workloads by name.
//!
//! The lists themselves are in `parse/formats/mod.rs` and `generate/workloads/mod.rs`.

use spec::Spec;

use crate::error::Result;
use crate::generate::workload::Workload;
pub use crate::generate::workloads::WORKLOADS;
use crate::parse::format::Format;
pub use crate::parse::formats::FORMATS;

/// The format with this name.
///
/// # Errors
/// Unknown name; the message lists all names and suggests the nearest.
pub fn format(name: &str) -> Result<&'static Format> {
    let found = FORMATS.iter().copied().find(|format| format.name == name);
    found.ok_or_else(|| spec::unknown("format", name, &format_names()).into())
}

/// The workload with this name.
///
/// # Errors
/// Unknown name; the message lists all names and suggests the nearest.
pub fn workload(name: &str) -> Result<&'static Workload> {
    let found = WORKLOADS.iter().copied().find(|workload| workload.name == name);
    let names: Vec<_> = WORKLOADS.iter().map(|workload| workload.name).collect();
    found.ok_or_else(|| spec::unknown("workload", name, &names).into())
}

/// The capacity that a workload needs, in bytes; used if the user gives none.
///
/// # Errors
/// Unknown workload or key, or a capacity beyond 64 bits.
pub fn default_capacity(spec: &Spec, page_bytes: u32) -> Result<u64> {
    workload(&spec.name)?.default_capacity(&spec.pairs, page_bytes)
}

/// The names of all formats.
pub(crate) fn format_names() -> Vec<&'static str> {
    FORMATS.iter().map(|format| format.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_and_specimens_are_well_formed() {
        for format in FORMATS {
            let examples = format.examples.iter().map(|example| example.spec);
            let specimens = format.specimens.iter().map(|specimen| specimen.spec);
            for text in examples.chain(specimens) {
                let spec = Spec::parse(text).unwrap();
                assert_eq!(spec.name, format.name);
                spec::resolve(format.name, &spec.pairs, format.params).unwrap();
            }
        }
    }

    #[test]
    fn names_are_unique_and_misspellings_get_a_suggestion() {
        for (index, format) in FORMATS.iter().enumerate() {
            assert!(FORMATS[..index].iter().all(|earlier| earlier.name != format.name));
            spec::resolve(format.name, &[], format.params).unwrap();
        }
        let message = format("blkpars").err().unwrap().to_string();
        assert!(message.contains("did you mean `blkparse`?"), "{message}");
        let message = workload("unifrom").err().unwrap().to_string();
        assert!(message.contains("did you mean `uniform`?"), "{message}");
    }
}
