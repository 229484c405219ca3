//! The trace of a run: a file or workload that a name stands for, or requests in memory.

use std::sync::Arc;

use spec::Spec;
use trace::RequestTable;

use crate::error::Result;

/// The workload when no trace is given.
pub const DEFAULT_TRACE: &str = "oltp";

/// The file or workload that a name stands for, or requests in memory.
#[derive(Clone, Debug)]
pub enum NamedTrace {
    /// A file, which need not exist; `-` is standard input.
    File(String),
    /// A workload, with keys that it has and values of the right kind.
    Workload(Spec),
    /// Requests in memory, which no name stands for.
    Requests(Arc<RequestTable>),
}

impl NamedTrace {
    /// Decides whether a name stands for a file or a workload.
    ///
    /// A name is a file if such a file exists: under this very name, as the files that blktrace
    /// writes for each CPU, or as a member of an archive. A name that looks like a path, or that
    /// resembles no workload, is a missing file.
    ///
    /// # Errors
    /// A misspelt workload, or one with a wrong key or value.
    pub fn parse(name: &str) -> Result<NamedTrace> {
        let exists = name == "-" || !trace::stored_files(name).is_empty();
        if exists || !resembles_workload(name) {
            return Ok(NamedTrace::File(name.to_owned()));
        }
        let spec = Spec::parse(name)?;
        trace::registry::workload(&spec.name)?.resolve(&spec.pairs)?;
        Ok(NamedTrace::Workload(spec))
    }

    /// Whether it is a file.
    pub fn is_file(&self) -> bool {
        matches!(self, NamedTrace::File(_))
    }

    /// Whether it is standard input.
    pub fn is_standard_input(&self) -> bool {
        matches!(self, NamedTrace::File(path) if path == "-")
    }

    /// Whether it is generated.
    pub fn is_workload(&self) -> bool {
        matches!(self, NamedTrace::Workload(_))
    }
}

fn resembles_workload(name: &str) -> bool {
    let word = name.split(':').next().unwrap_or(name);
    let known = trace::registry::WORKLOADS.iter().map(|workload| workload.name);
    let looks_like_path = word.contains(['/', '.']);
    let looks_like_spec = name.contains(':') && name.contains('=');
    !looks_like_path && (looks_like_spec || spec::nearest(word, known).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_file_a_workload_or_an_error() {
        let is_file = |name| NamedTrace::parse(name).map(|named| named.is_file());
        assert!(!is_file("uniform:writes=10").unwrap());
        assert!(!is_file("oltp").unwrap());
        assert!(is_file("-").unwrap());
        assert!(is_file("/no/such/file.trace").unwrap());
        assert!(is_file("uniform.trace").unwrap());
        assert!(is_file("nowhere").unwrap());
        for (name, hint) in [
            ("unifrom:writes=1", "uniform"),
            ("olpt", "oltp"),
            ("x:y=1", "known"),
            ("uniform:wirtes=1", "writes"),
        ] {
            let error = NamedTrace::parse(name).unwrap_err();
            assert!(error.to_string().contains(hint), "{error}");
            assert_eq!(error.exit_code(), 2);
        }
    }
}
