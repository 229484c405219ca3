//! The vendored libraries are what their authors published.

use std::path::Path;

use sha2::{Digest, Sha256};

#[test]
fn vendored_files_have_the_checksums_beside_them() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("vega");
    let sums = std::fs::read_to_string(folder.join("SHA256SUMS")).unwrap();
    let mut seen = 0;
    for line in sums.lines() {
        let (sum, name) = line.split_once("  ").unwrap();
        let bytes = std::fs::read(folder.join(name)).unwrap();
        let found: String =
            Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found, sum, "{name}");
        seen += 1;
    }
    let files = std::fs::read_dir(&folder).unwrap().count();
    assert_eq!(seen + 1, files, "a file without a checksum");
}
