//! Guests that die in one of many cases or runs: the others go on.

use std::fs;
use std::process::Command;

use super::{changed, command, example, guest, outcome, outcome_of, program};

/// A guest that dies at its n-th write since it was loaded.
fn dying(folder: &std::path::Path, name: &str, at: u32) -> String {
    let function = format!(
        "static uint32_t writes;\n\
         static ftlab_status dies(void *self, uint32_t first, uint32_t pages, \
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
    let row = text.lines().find(|line| line.starts_with("crash  ")).expect("a verdict");
    assert_eq!(row.split_whitespace().nth(1), Some("1"), "cases without cuts: {text}");
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

/// The process of a guest holds nothing open that belongs to another: the end of either is seen at
/// once, whoever runs beside it.
#[test]
fn a_death_beside_another_guest_is_no_hang() {
    let folder = tempfile::tempdir().unwrap();
    let page = guest(&example(folder.path(), "page.c"));
    for (name, deed, why, is_first) in [
        ("exits", "_Exit(3)", "ended its process with exit code 3 in write", true),
        ("aborts", "abort()", "crashed in write: abort (SIGABRT)", false),
    ] {
        let function = format!(
            "static uint32_t writes;\n\
             static ftlab_status ends(void *self, uint32_t first, uint32_t pages, \
             const void *data) {{\n\
             if (++writes == 2000) {deed};\n\
             return page_write(self, first, pages, data); }}"
        );
        let ends = guest(&changed(folder.path(), name, &function, "guest.write = ends"));
        let options = ["compare", "oltp:requests=12K", "--capacity", "16MiB", "--extra", "20%"];
        let order = if is_first { [&ends, &page] } else { [&page, &ends] };
        let ftls = ["--ftl", order[0], "--ftl", order[1]];
        let (code, text) = outcome(&[&options[..], &ftls].concat());
        assert!(code == Some(1) && text.contains(why), "{name}: {code:?} {text}");
    }
}

#[test]
fn a_death_is_named_while_a_guest_is_loaded_and_in_unmount() {
    let folder = tempfile::tempdir().unwrap();
    let loaded = "__attribute__((constructor)) static void dies(void) { abort(); }";
    let unmount = "static void dies(void *self) { (void)self; abort(); }";
    for (name, function, changes, why) in [
        ("early", loaded, "(void)0", "crashed while it was loaded: abort (SIGABRT)"),
        ("late", unmount, "guest.unmount = dies", "crashed in unmount, call "),
    ] {
        let ftl = guest(&changed(folder.path(), name, function, changes));
        let run = ["run", "oltp:requests=1K", "--capacity", "16MiB", "--ftl", &ftl];
        let (code, text) = outcome(&run);
        assert!(code == Some(1) && text.contains(why), "{name}: {code:?} {text}");
    }
}

/// A checkpoint that is written in `unmount` is not written.
#[test]
fn a_guest_that_calls_the_chip_in_unmount_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let function = "static void strays(void *self) {\n\
         const ftlab_chip *chip = ((struct page_ftl *)self)->chip;\n\
         chip->erase(chip, 0, FTLAB_META); page_unmount(self); }";
    let ftl = guest(&changed(folder.path(), "strays", function, "guest.unmount = strays"));
    let options =
        ["check", "--geometry", "tiny", "--workload", "random", "--shrink", "--ftl", &ftl];
    let (code, text) = outcome_of(command(&options).current_dir(folder.path()));
    let found = "contract broken: guest `strays` called the chip in `unmount`";
    assert!(code == Some(3) && text.contains(found), "{code:?} {text}");
    let lib = ftl.strip_prefix("guest:lib=").unwrap();
    let (code, text) = outcome_of(Command::new(program(folder.path(), &[])).arg(lib));
    let found = "contract broken: called the chip in `unmount`";
    assert!(code == Some(1) && text.contains(found), "{code:?} {text}");
}
