//! The commands of the README work in the order in which they are written.

use std::path::Path;
use std::process::Command;

#[test]
fn the_commands_of_the_readme_work() {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(readme).expect("the README");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut commands = 0;
    for line in readme.lines().filter_map(|line| line.strip_prefix("$ ftlab ")) {
        let output = Command::new(env!("CARGO_BIN_EXE_ftlab"))
            .args(line.split_whitespace())
            .current_dir(&folder)
            .output()
            .expect("the binary starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "`ftlab {line}`: {said}");
        assert!(line.contains("--out") || !output.stdout.is_empty(), "`ftlab {line}` is silent");
        commands += 1;
    }
    assert!(commands >= 5, "the README shows {commands} commands");
    assert!(folder.path().join("result.json").exists());
}
