//! The directory of real traces, for the tests that read them.
//!
//! They are not in the repository, but in the directory given by `FTLAB_TRACES`, by default one
//! beside the workspace. Without them, these tests print a message and pass, unless
//! `FTLAB_REQUIRE` contains `traces`.

use std::path::{Path, PathBuf};

/// The default directory, relative to the workspace.
const BESIDE_THE_WORKSPACE: &str = "../shared/traces";

/// The directory of the traces; `None` if it does not exist and is not required.
pub fn traces() -> Option<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let directory = match std::env::var_os("FTLAB_TRACES") {
        Some(directory) => PathBuf::from(directory),
        None => workspace.join(BESIDE_THE_WORKSPACE),
    };
    if directory.is_dir() {
        return Some(directory);
    }
    let required = std::env::var("FTLAB_REQUIRE").unwrap_or_default();
    let missing = format!("no traces at {}", directory.display());
    assert!(!required.split(',').any(|what| what.trim() == "traces"), "{missing}");
    println!("skipped: {missing}");
    None
}
