//! Guests that die in one of many cases or runs: the others go on.

use std::fs;

use super::{changed, command, example, guest, outcome, outcome_of};

/// A guest that dies at its n-th write since it was loaded.
fn dying(folder: &std::path::Path, name: &str, at: u32) -> String {
    let function = format!(
        "static uint32_t writes;\n\
         static ftlab_status dies(void *self, uint32_t first, uint32_t pages,\n\
                                 const void *data) {{\n\
         if (++writes == {at}) abort();\n\
         return page_write(self, first, pages, data); }}"
    );
    changed(folder, name, &function, "guest.write = dies")
}

/// It dies only if the workload runs to its end without a mount.
#[test]
fn a_check_goes_on_when_a_guest_dies_without_a_cut() {
    let folder = tempfile::tempdir().unwrap();
    let ftl = guest(&dying(folder.path(), "frail", 12));
    let options = ["check", "--geometry", "tiny", "--workload", "trim-rewrite", "--ftl", &ftl];
    let (code, text) = outcome(&options);
    assert!(code == Some(3) && text.contains("SIGABRT") && text.contains("1 seed in"), "{text}");
    let replay = text.lines().find_map(|line| line.split_once("Replay:  ftlab ")).expect(&text).1;
    let (code, again) = outcome(&replay.split(' ').collect::<Vec<_>>());
    assert!(code == Some(3) && again.contains("SIGABRT"), "{code:?} {again}");
}

#[test]
fn a_sweep_goes_on_when_a_guest_dies() {
    let folder = tempfile::tempdir().unwrap();
    let (page, frail) = (example(folder.path(), "page.c"), dying(folder.path(), "frail", 12));
    let plan = format!(
        "title = \"class\"\n[base]\ntrace = \"oltp:requests=5K\"\ncapacity = \"16MiB\"\n\
         extra = \"15%\"\n[[grid]]\nftl = [\"page\", \"{}\", \"{}\"]\n",
        guest(&frail),
        guest(&page)
    );
    fs::write(folder.path().join("class.toml"), plan).unwrap();
    let mut sweep = command(&["sweep", "class.toml", "--out", "class.csv"]);
    sweep.args(["--report", "class.html"]);
    let (code, text) = outcome_of(sweep.current_dir(folder.path()));
    assert!(code == Some(0) && text.contains("begins again"), "{code:?} {text}");
    let rows = fs::read_to_string(folder.path().join("class.csv")).unwrap();
    let of = |name: &str| rows.lines().filter(|row| row.contains(name)).count();
    assert!(rows.lines().count() == 4 && of("guest `frail` crashed in write") == 1, "{rows}");
}
