//! Names the build: a digest of the sources on which results depend. Two builds of the same version
//! may count differently, so a worker of a cluster refuses the runs of another build.

use std::path::{Path, PathBuf};
use std::{env, fs};

use sha2::{Digest, Sha256};

/// The crates on which results depend.
const CRATES: [&str; 6] = ["spec", "nand", "trace", "ftl", "drive", "sim"];

/// Letters of the digest that name a build.
const LETTERS: usize = 16;

fn main() {
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let crates = own.parent().expect("this crate lies beside the others");
    let folders = CRATES.map(|name| crates.join(name).join("src"));
    // In a package the others lie elsewhere, and a version that is published has only one build.
    if !folders.iter().all(|folder| folder.is_dir()) {
        println!("cargo::rustc-env=FTLAB_BUILD=published");
        return;
    }
    let mut digest = Sha256::new();
    for folder in folders {
        println!("cargo::rerun-if-changed={}", folder.display());
        let mut files = Vec::new();
        collect(&folder, &mut files);
        files.sort();
        for file in files {
            let place = file.strip_prefix(crates).expect("it lies in this folder");
            digest.update(place.to_string_lossy().as_bytes());
            digest.update(fs::read(&file).expect("a source can be read"));
        }
    }
    let name: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    println!("cargo::rustc-env=FTLAB_BUILD={}", &name[..LETTERS]);
}

/// Lists the files in a folder and in those below it.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the sources lie beside each other") {
        let path = entry.expect("a folder can be listed").path();
        if path.is_dir() { collect(&path, files) } else { files.push(path) }
    }
}
