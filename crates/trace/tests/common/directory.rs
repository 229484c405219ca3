//! Where the real traces are, for the tests that read them.
//!
//! They lie outside the repository: in the directory that `FTLAB_TRACES` names, else beside the
//! workspace. Without them such tests say so and pass, unless `FTLAB_REQUIRE` lists `traces`.

use std::path::{Path, PathBuf};

/// Where the traces are looked for, relative to the workspace.
const BESIDE_THE_WORKSPACE: &str = "../shared/traces";

/// The directory of the traces; `None` if there is none and none is required.
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
