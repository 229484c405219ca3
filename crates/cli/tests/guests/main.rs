//! Guests: FTLs in C are compiled, run beside ours, and checked.

mod deaths;
mod failures;
mod films;
mod said;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// Compiles a source to a shared object in the folder.
fn compiled(folder: &Path, source: &Path, options: &[&str]) -> String {
    let name = source.file_stem().unwrap().to_str().unwrap();
    let object = folder.join(format!("{name}.so"));
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-shared", "-fPIC"]);
    cc.arg("-I").arg(root().join("include")).args(options).arg("-o").arg(&object).arg(source);
    let output = cc.output().expect("a C compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    object.to_str().unwrap().to_owned()
}

/// Compiles an example, if no test has done it yet: compilers take longer than most of the tests.
fn example(folder: &Path, name: &str) -> String {
    static OBJECTS: Mutex<BTreeMap<String, Vec<u8>>> = Mutex::new(BTreeMap::new());
    let source = root().join("examples/guests").join(name);
    let mut objects = OBJECTS.lock().unwrap();
    let Some(bytes) = objects.get(name) else {
        let object = compiled(folder, &source, &[]);
        objects.insert(name.to_owned(), fs::read(&object).unwrap());
        return object;
    };
    let object = folder.join(source.with_extension("so").file_name().unwrap());
    fs::write(&object, bytes).unwrap();
    object.to_str().unwrap().to_owned()
}

/// Compiles a guest whose table is page.c's with these changes.
fn changed(folder: &Path, name: &str, functions: &str, changes: &str) -> String {
    let source = folder.join(format!("{name}.c"));
    let include = root().join("examples/guests/broken/page_with.h");
    let text = format!(
        "#include \"{}\"\n{functions}\nGUEST_WITH(\"{name}\", {changes})\n",
        include.display()
    );
    fs::write(&source, text).unwrap();
    compiled(folder, &source, &[])
}

/// The variable for the seconds after which a call hangs.
const PATIENCE: &str = "FTLAB_GUEST_PATIENCE";

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ftlab"));
    command.env(PATIENCE, "2").args(arguments);
    command
}

fn ftlab(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn outcome(arguments: &[&str]) -> (Option<i32>, String) {
    outcome_of(&mut command(arguments))
}

/// The same of a guest that may hang.
fn impatient(arguments: &[&str]) -> (Option<i32>, String) {
    outcome_of(command(arguments).env(PATIENCE, "1"))
}

/// The exit code, and what was printed.
fn outcome_of(command: &mut Command) -> (Option<i32>, String) {
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

fn guest(lib: &str) -> String {
    format!("guest:lib={lib}")
}

/// The broken examples and their verdicts.
const BROKEN: [(&str, &str); 8] = [
    ("reopens_blocks", "illegal command"),
    ("stops_at_torn_pages", "service refused"),
    ("forgets_trims", "data lost"),
    ("flushes_nothing", "data lost"),
    ("wraps_sequence", "data lost"),
    ("trusts_globals", "data lost"),
    ("reads_too_far", "crash"),
    ("never_returns", "hang"),
];

const RUN: [&str; 6] = ["run", "oltp:requests=20K", "--capacity", "16MiB", "--extra", "10%"];

fn run(lib: &str) -> (Option<i32>, String) {
    outcome(&[&RUN[..], &["--ftl", &guest(lib)]].concat())
}

#[test]
fn page_mapping_in_c_counts_as_ours_does() {
    let folder = tempfile::tempdir().unwrap();
    let page = guest(&example(folder.path(), "page.c"));
    for workload in [
        "oltp:requests=20K",
        "uniform:requests=20K,reads=30%",
        "zipf:requests=20K",
        "uniform:requests=5K,request=1KiB",
    ] {
        let result = |ftl: &str| -> serde_json::Value {
            let options = ["--capacity", "16MiB", "--extra", "7%", "--fit", "compact", "--ftl"];
            let output = ftlab(&[&["run", workload], &options[..], &[ftl, "--json", "-"]].concat());
            let complained = String::from_utf8_lossy(&output.stderr);
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{complained}"))
        };
        let (ours, theirs) = (result("page:victim=greedy"), result(&page));
        for field in ["reads", "programs", "erases", "copies", "spare_reads", "time_us"] {
            assert_eq!(ours[field], theirs[field], "{workload}: {field}");
        }
        assert!(ours["programs"]["gc"].as_u64() > Some(100), "{workload} collects garbage");
    }
}

#[test]
fn page_mapping_in_rust_counts_as_ours_does_and_survives() {
    let folder = tempfile::tempdir().unwrap();
    let object = folder.path().join("page_rs.so");
    let mut rustc = Command::new(std::env::var("RUSTC").unwrap_or("rustc".to_owned()));
    rustc.args(["-O", "--edition", "2024", "--crate-type", "cdylib", "-o"]).arg(&object);
    let output = rustc.arg(root().join("examples/guests/rust/page.rs")).output().expect("rustc");
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && complained.is_empty(), "{complained}");
    let page = guest(object.to_str().unwrap());
    let counts = |ftl: &str| {
        let output = ftlab(&[&RUN[..], &["--json", "-", "--ftl", ftl]].concat());
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        ["reads", "programs", "erases", "copies"].map(|field| result[field].clone())
    };
    assert_eq!(counts("page:victim=greedy"), counts(&page));
    let options = ["--geometry", "tiny", "--workload", "random", "--second-cuts", "64"];
    let (code, text) = outcome(&[&["check"], &options[..], &["--ftl", &page]].concat());
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn verified_runs_read_back_what_a_guest_stored() {
    let folder = tempfile::tempdir().unwrap();
    let page = example(folder.path(), "page.c");
    let (code, text) = outcome(&[&RUN[..], &["--verify", "--ftl", &guest(&page)]].concat());
    assert_eq!(code, Some(0), "{text}");
    let forgetful = changed(
        folder.path(),
        "zeroes",
        "static ftlab_status zeroes(void *self, uint32_t first, uint32_t pages, void *data) {\n\
         struct page_ftl *ftl = self; (void)first;\n\
         memset(data, 0, (size_t)pages * ftl->chip->page_bytes); return FTLAB_OK; }",
        "guest.read = zeroes",
    );
    let (code, text) = outcome(&[&RUN[..], &["--verify", "--ftl", &guest(&forgetful)]].concat());
    assert!(code != Some(0), "{text}");
}

#[test]
fn a_correct_guest_survives_and_each_broken_one_gets_its_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["check", "--geometry", "tiny", "--workload", "random", "--second-cuts", "64"];
    let page = guest(&example(folder.path(), "page.c"));
    let (code, text) = outcome(&[&options[..], &["--workload", "trims", "--ftl", &page]].concat());
    assert_eq!(code, Some(0), "{text}");
    for (name, verdict) in BROKEN {
        let lib = guest(&example(folder.path(), &format!("broken/{name}.c")));
        let (code, text) = impatient(&[&options[..], &["--ftl", &lib]].concat());
        assert_eq!(code, Some(3), "{name}: {text}");
        let verdicts = text.split("verdict ").nth(1).expect("a table of verdicts");
        let found: Vec<&str> =
            verdicts.lines().skip(1).take_while(|line| !line.is_empty()).collect();
        assert!(found.iter().all(|line| line.starts_with(verdict)), "{name}: {text}");
        let (finding, replay) = text.split_once("\n  Replay:  ftlab ").expect("a replay line");
        let finding = finding.lines().next_back().unwrap();
        assert!(finding.starts_with(verdict), "{name}: {finding}");
        assert!(!text.contains("the same twice"), "{name}: {text}");
        let replay: Vec<&str> = replay.lines().next().unwrap().split(' ').collect();
        let (code, text) = impatient(&replay);
        assert_eq!(code, Some(3), "{name}: the replay {replay:?} finds nothing: {text}");
        let named = |line: &str| line.trim_start_matches("ftlab: ").starts_with(verdict);
        assert!(text.lines().any(named) && !text.contains("the same twice"), "{name}: {text}");
    }
}

/// A guest that keeps the last page in RAM until the next write or flush.
const LAZY: &str = "static uint8_t *waiting; static uint32_t lpn = NONE;\n\
    static ftlab_status flush(void *self) {\n\
    if (lpn == NONE) return FTLAB_OK;\n\
    ftlab_status status = page_write(self, lpn, 1, waiting);\n\
    lpn = NONE; return status; }\n\
    static ftlab_status later(void *self, uint32_t first, uint32_t pages, const void *data) {\n\
    uint32_t bytes = ((struct page_ftl *)self)->chip->page_bytes;\n\
    for (uint32_t i = 0; i < pages; i++) {\n\
    ftlab_status status = flush(self); if (status) return status;\n\
    waiting = waiting ? waiting : malloc(bytes); lpn = first + i;\n\
    memcpy(waiting, (const uint8_t *)data + i * (size_t)bytes, bytes); } return FTLAB_OK; }\n\
    static ftlab_status newest(void *self, uint32_t first, uint32_t pages, void *data) {\n\
    ftlab_status status = page_read(self, first, pages, data);\n\
    uint32_t bytes = ((struct page_ftl *)self)->chip->page_bytes;\n\
    if (!status && lpn >= first && lpn - first < pages)\n\
    memcpy((uint8_t *)data + (lpn - first) * (size_t)bytes, waiting, bytes);\n\
    return status; }";

#[test]
fn a_check_gives_a_guest_the_blocks_that_it_needs() {
    let folder = tempfile::tempdir().unwrap();
    let function = "static uint32_t half(void *self) { struct page_ftl *ftl = self;\n\
        return ftl->chip->blocks * ftl->chip->pages_per_block * 3 / 5; }";
    let ftl = guest(&changed(folder.path(), "modest", function, "guest.capacity = half"));
    let options = ["check", "--geometry", "tiny", "--workload", "random", "--ftl", &ftl];
    let (code, text) = outcome(&options);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("tiny: 10 blocks (4 extra) of 4 pages of 1KiB, 24 for the host"),
        "{text}"
    );
    let row = text.lines().find(|line| line.starts_with("guest:")).expect("a row");
    let row: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(row[1], "1", "its case was tried: {text}");
}

/// Garbage collection that reads every page of a victim, valid or not, meets a torn page.
#[test]
fn a_write_that_fails_over_an_old_page_is_a_refusal() {
    let folder = tempfile::tempdir().unwrap();
    let function = "static ftlab_status careful(void *self, uint32_t first, uint32_t pages, \
        const void *data) {\n\
        struct page_ftl *ftl = self; uint8_t spare[SPARE_BYTES];\n\
        for (uint32_t page = 0; page < ftl->chip->blocks * ftl->chip->pages_per_block; page++)\n\
        if (ftl->chip->read(ftl->chip, page, 0, 0, NULL, spare, 0) == FTLAB_UNREADABLE)\n\
        return FTLAB_UNREADABLE;\n\
        return page_write(self, first, pages, data); }";
    let ftl = guest(&changed(folder.path(), "careful", function, "guest.write = careful"));
    let options = ["check", "--geometry", "tiny", "--workload", "random", "--ftl", &ftl];
    let (code, text) = outcome(&options);
    assert!(code == Some(3) && text.contains("service refused"), "{code:?} {text}");
    assert!(!text.contains("data lost"), "{text}");
}

#[test]
fn a_guest_is_held_to_what_it_declares() {
    let folder = tempfile::tempdir().unwrap();
    let checked = |name: &str, durability: &str| {
        let changes = format!(
            "guest.durability = {durability}; guest.write = later; guest.read = newest; \
             guest.flush = flush"
        );
        let ftl = guest(&changed(folder.path(), name, LAZY, &changes));
        let options = ["check", "--geometry", "tiny", "--workload", "random", "--ftl", &ftl];
        outcome(&options)
    };
    let (code, text) = checked("lazy", "FTLAB_DURABLE_FLUSH");
    assert_eq!(code, Some(0), "what was not flushed may be lost: {text}");
    let (code, text) = checked("hasty", "FTLAB_DURABLE_WRITE");
    assert!(code == Some(3) && text.contains("data lost"), "{code:?} {text}");
    let (code, text) = checked("mixed", "FTLAB_DURABLE_SNAPSHOT");
    assert!(code == Some(3) && text.contains("not as it was at a flush"), "{code:?} {text}");
}

#[test]
fn the_smallest_workload_has_the_same_verdict_with_and_without_ftlab() {
    let folder = tempfile::tempdir().unwrap();
    for (name, verdict) in BROKEN {
        let lib = example(folder.path(), &format!("broken/{name}.c"));
        let options = ["--geometry", "tiny", "--workload", "random"];
        let more = ["--second-cuts", "0", "--shrink", "--ftl", &guest(&lib)];
        let home = folder.path().join(name);
        fs::create_dir(&home).unwrap();
        let mut check = command(&[&["check"], &options[..], &more].concat());
        let (code, text) = outcome_of(check.env(PATIENCE, "1").current_dir(&home));
        assert_eq!(code, Some(3), "{name}: {text}");
        let smallest = text.split("The smallest workload with the verdict ").nth(1);
        let smallest = smallest.expect("a smallest workload");
        assert!(smallest.starts_with(verdict), "{name}: {text}");
        let replay = smallest.split("Replay:  ftlab ").nth(1).expect("a replay line");
        let replay: Vec<&str> = replay.lines().next().unwrap().split(' ').collect();
        let steps = replay.iter().find_map(|word| word.strip_prefix("steps-"));
        let steps = steps.expect("written steps").split('.').count();
        let steps_max = if name == "wraps_sequence" { 40 } else { 3 };
        assert!(steps <= steps_max, "{name}: {replay:?}");
        let (code, text) = impatient(&replay);
        assert_eq!(code, Some(3), "{name}: the replay {replay:?} finds nothing: {text}");
        let (code, text) = outcome_of(Command::new(program(&home, &[])).arg(&lib));
        assert_eq!((code, text.split(':').next()), (Some(1), Some(verdict)), "{name}: {text}");
        // So does its last session in a debugger, as the head of the program tells to run it. A
        // crash ends it there, and nobody ends one that hangs.
        if verdict == "hang" {
            continue;
        }
        let head = fs::read_to_string(home.join("repro.c")).unwrap();
        let line = head.lines().find(|line| line.contains("gdb --args ./repro")).unwrap();
        let last = line.rsplit(' ').next().unwrap();
        let mut session = Command::new(home.join("repro"));
        let (code, text) = outcome_of(session.arg(&lib).arg(last));
        let is_found = match verdict {
            "crash" => code.is_none(),
            _ => code == Some(1) && text.starts_with(verdict),
        };
        assert!(is_found, "{name}, session {last}: {code:?} {text}");
    }
    // Linked with an FTL that has no bug, it finds nothing.
    let page = root().join("examples/guests/page.c");
    let linked = program(&folder.path().join("forgets_trims"), &[page.to_str().unwrap()]);
    let (code, text) = outcome_of(&mut Command::new(linked));
    assert_eq!((code, text.as_str()), (Some(0), "nothing was found\n"));
}

/// Compiles the program that a check has left in a folder, with other sources.
fn program(folder: &Path, others: &[&str]) -> PathBuf {
    let (source, program) = (folder.join("repro.c"), folder.join("repro"));
    let warnings = ["-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror"];
    let mut cc = Command::new("cc");
    cc.args(warnings).arg("-I").arg(root().join("include")).arg("-o").arg(&program);
    let (code, text) = outcome_of(cc.arg(source).args(others));
    assert_eq!(code, Some(0), "{text}");
    program
}

#[test]
fn a_file_that_ftlab_has_not_written_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let guest = guest(&example(folder.path(), "broken/reopens_blocks.c"));
    let options = ["check", "--geometry", "tiny", "--workload", "random", "--shrink", "--ftl"];
    let own = folder.path().join("repro.c");
    fs::write(&own, "int main(void) { return 0; }\n").unwrap();
    let mut check = command(&[&options[..], &[&guest]].concat());
    let (code, text) = outcome_of(check.current_dir(folder.path()));
    assert!(code == Some(1) && text.contains("repro.c is not replaced"), "{code:?} {text}");
    assert_eq!(fs::read_to_string(&own).unwrap(), "int main(void) { return 0; }\n");
}

/// page.c survives torn programs, and neither weak nor paired pages. Several dies change nothing.
#[test]
fn reordered_dies_leave_only_what_a_guest_declares() {
    let folder = tempfile::tempdir().unwrap();
    let cuts = "guest.cuts = FTLAB_CUT_TORN | FTLAB_CUT_REORDERED; guest.durability = \
                FTLAB_DURABLE_FLUSH; guest.flush = wait_for_dies";
    let flush = "static ftlab_status wait_for_dies(void *self) {\n\
        const ftlab_chip *chip = ((struct page_ftl *)self)->chip; return chip->barrier(chip); }";
    let ftl = guest(&changed(folder.path(), "orderly", flush, cuts));
    for chip in ["tiny:dies=4,cell_bits=4,pages_per_block=12", "tiny-dies"] {
        let options = ["--geometry", chip, "--workload", "flush-each", "--second-cuts", "0"];
        let more = ["--faults", "reordered", "--ftl", &ftl];
        let (code, text) = outcome(&[&["check"], &options[..], &more].concat());
        let row = text.lines().find(|line| line.starts_with("reordered")).expect("an outcome");
        let [_, _, cuts, unweakened, ..] = row.split_whitespace().collect::<Vec<_>>()[..] else {
            panic!("{row}");
        };
        assert_eq!(cuts, unweakened, "{chip} leaves weak pages: {text}");
        assert!(code == Some(0) || !text.contains("paired"), "{chip}: {text}");
    }
}

#[test]
fn images_of_guests_are_described_checked_and_used() {
    let folder = tempfile::tempdir().unwrap();
    let lib = example(folder.path(), "page.c");
    let image = folder.path().join("disk.img");
    let (image, page) = (image.to_str().unwrap(), guest(&lib));
    let size = ["--capacity", "4MiB", "--extra", "10%"];
    let made = outcome(&[&["image", "create", image, "--ftl", &page], &size[..]].concat());
    assert_eq!(made.0, Some(0), "{}", made.1);
    for words in [
        vec!["run", "oltp:requests=500", "--image", image],
        vec!["image", "info", image],
        vec!["image", "check", image],
    ] {
        let (code, text) = outcome(&words);
        assert_eq!(code, Some(0), "{words:?}: {text}");
    }
}

#[test]
fn a_machine_may_crash_below_the_image_of_a_guest() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["check", "--on", "image", "--geometry", "tiny", "--workload", "random"];
    let checked = |name: &str| {
        let lib = example(folder.path(), name);
        outcome(&[&options[..], &["--second-cuts", "64", "--ftl", &guest(&lib)]].concat())
    };
    let (code, text) = checked("page.c");
    assert_eq!(code, Some(0), "an image makes durable what was flushed: {text}");
    let (code, text) = checked("broken/trusts_globals.c");
    assert_eq!(code, Some(3), "{text}");
}

#[test]
fn a_class_is_graded() {
    let folder = tempfile::tempdir().unwrap();
    let grade = |names: &[&str], limit: &str| {
        let mut python = Command::new("python3");
        python.arg(root().join("examples/guests/grade.py"));
        python.args(names.iter().map(|name| example(folder.path(), name)));
        python.args(["--trace", "oltp:requests=2K", "--limit", limit]);
        python.args(["--check", "--geometry tiny --workload random"]);
        outcome_of(python.env("FTLAB", env!("CARGO_BIN_EXE_ftlab")))
    };
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: python3 is not installed");
        return;
    }
    let (code, text) = grade(&["page.c"], "waf=9,ram=64KiB");
    assert!(code == Some(0) && text.contains("passes"), "{code:?} {text}");
    let (code, text) = grade(&["page.c", "broken/reopens_blocks.c"], "waf=1.5,ram=1KiB");
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("fails: write amplification, RAM\n"), "{text}");
    assert!(text.contains("fails: write amplification, RAM, power cuts\n"), "{text}");
    assert!(text.contains("illegal command"), "{text}");
}

#[test]
fn ram_that_a_guest_does_not_report_is_not_known() {
    let folder = tempfile::tempdir().unwrap();
    let lib = changed(folder.path(), "silent", "", "guest.ram = 0");
    let (code, text) = run(&lib);
    assert!(code == Some(0) && text.contains("RAM        not reported"), "{code:?} {text}");
    let (guest, small) = (guest(&lib), ["--capacity", "16MiB", "--extra", "10%"]);
    let ftls = ["compare", "oltp:requests=1K", "--ftl", &guest, "--ftl", "page"];
    let (code, text) = outcome(&[&ftls[..], &small].concat());
    let row = text.lines().find(|line| line.trim_start().starts_with("RAM")).expect(&text);
    assert!(code == Some(0) && row.contains('–'), "{row}");
}

#[test]
fn what_is_no_guest_is_refused_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain.c");
    fs::write(&plain, "int nothing(void);\nint nothing(void) { return 0; }\n").unwrap();
    let plain = compiled(folder.path(), &plain, &[]);
    // The head of a shared object of another machine.
    let foreign = |machine: u8, class: u8| {
        let path = folder.path().join(format!("machine{machine}.so"));
        let head = [b'\x7f', b'E', b'L', b'F', class, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0];
        fs::write(&path, [&head[..], &[machine, 0, 1, 0, 0, 0]].concat()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let changed = |name, changes| changed(folder.path(), name, "", changes);
    let text_file = root().join("README.md").to_str().unwrap().to_owned();
    for (lib, why) in [
        ("/nowhere/mine.so".to_owned(), "No such file"),
        (folder.path().to_str().unwrap().to_owned(), "is no file"),
        (text_file, "it is no shared object"),
        (foreign(40, 2), "made for another machine (64 bits, ELF machine 40)"),
        (foreign(3, 1), "made for another machine (32 bits, ELF machine 3)"),
        (plain, "does not export `ftlab_get_guest`"),
        (changed("newer", "guest.version = 2"), "made for version 2 of ftlab.h"),
        (changed("short", "guest.size = 16"), "its table has 16 bytes"),
        (changed("mountless", "guest.mount = 0"), "its function `mount` is missing"),
        (changed("flushless", "guest.durability = 0"), "its function `flush` is missing"),
        (changed("undurable", "guest.durability = 9"), "9 is no ftlab_durability"),
        (changed("uncut", "guest.cuts = 1 << 20"), "0x100000 in `cuts` is no FTLAB_CUT_"),
        (changed("odd", "guest.host_page_bytes = 1000"), "has pages of 1000 bytes"),
        (changed("roomy", "guest.spare_bytes = 4000"), "it needs 4020 B"),
    ] {
        let (code, text) = run(&lib);
        assert!(matches!(code, Some(1 | 2)) && text.contains(why), "{lib}: {code:?} {text}");
        assert!(!text.contains("panicked"), "{lib}: {text}");
    }
    let (code, text) = outcome(&[&RUN[..], &["--ftl", "guest"]].concat());
    assert!(code == Some(2) && text.contains("name a shared object"), "{text}");
    let page = guest(&example(folder.path(), "page.c"));
    let (code, text) = outcome(&[&RUN[..], &["--ftl", &format!("{page},victm=fifo")]].concat());
    assert!(code == Some(2) && text.contains("page.c knows only `reserve`"), "{code:?} {text}");
    let (code, text) = outcome(&[&RUN[..], &["--ftl", &page, "--buffer", "1MiB"]].concat());
    assert!(code == Some(2) && text.contains("no layer can stand above a guest"), "{text}");
}

#[test]
fn wrong_capacities_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (name, pages, why) in [
        ("none", "0", "has 0 pages of 2048 bytes, and the device needs"),
        ("most", "4000000000u", "which is more than the chip has"),
    ] {
        let function =
            format!("static uint32_t pages_of(void *self) {{ (void)self; return {pages}; }}");
        let lib = changed(folder.path(), name, &function, "guest.capacity = pages_of");
        let (code, text) = run(&lib);
        assert!(matches!(code, Some(1 | 2)) && text.contains(why), "{name}: {code:?} {text}");
    }
}

/// A write that misbehaves at the given call.
fn misbehaving(folder: &Path, name: &str, at: u32, deed: &str) -> String {
    let function = format!(
        "#include <signal.h>\n#include <unistd.h>\n\
         static ftlab_status misbehave(void *self, uint32_t first, uint32_t pages, \
         const void *data) {{\n\
         static uint32_t calls; if (++calls == {at}) {{ {deed}; }}\n\
         return page_write(self, first, pages, data); }}"
    );
    let source = folder.join(format!("{name}.c"));
    let include = root().join("examples/guests/broken/page_with.h");
    let text = format!(
        "#define _GNU_SOURCE\n#include \"{}\"\n{function}\nGUEST_WITH(\"{name}\", guest.write = \
         misbehave)\n",
        include.display()
    );
    fs::write(&source, text).unwrap();
    compiled(folder, &source, &[])
}

/// Of such a symbol the loader keeps one for all copies. g++ makes them of inline variables.
#[test]
fn a_unique_symbol_has_its_first_value_at_each_mount_too() {
    let folder = tempfile::tempdir().unwrap();
    let function = "uint32_t mounts;\n__asm__(\".type mounts, @gnu_unique_object\");\n\
         static ftlab_status begins(const ftlab_chip *chip, const ftlab_device *device, \
         void **self) {\n\
         if (mounts++ > 0) return FTLAB_CORRUPT;\n\
         return page_mount(chip, device, self); }";
    let begins = changed(folder.path(), "begins", function, "guest.mount = begins");
    let object = fs::read(&begins).unwrap();
    let unique = |symbol: &[u8]| symbol[4] == 10 << 4 | 1 && symbol[16..] == 4_u64.to_le_bytes();
    assert!(object.windows(24).any(unique), "the assembler has made an ordinary symbol");
    let ftl = guest(&begins);
    let options = ["--geometry", "tiny", "--workload", "random", "--second-cuts", "64"];
    let (code, text) = outcome(&[&["check", "--ftl", &ftl], &options[..]].concat());
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = outcome(
        &[&["compare"], &RUN[1..], &["--ftl", &ftl, "--ftl", &format!("{ftl},reserve=5")]].concat(),
    );
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn a_guest_that_dies_ends_a_run_with_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    for (name, deed, why) in [
        ("crashes", "*(volatile int *)8 = 1", "crashed in write of 1 page"),
        ("aborts", "abort()", "abort (SIGABRT)"),
        ("exits", "exit(0)", "ended its process with exit code 0 in write"),
        ("hangs", "for (;;) sleep(1)", "hangs in write of 1 page"),
        ("answers", "return (ftlab_status)77", "answered write with 77, which is no status"),
        ("negative", "return (ftlab_status)-5", "answered write with -5, which is no status"),
        ("illegal", "((struct page_ftl *)self)->frontier--", "gave an illegal command in write"),
        (
            "reasons",
            "const ftlab_chip *chip = ((struct page_ftl *)self)->chip; \
             chip->erase(chip, 0, (ftlab_cause)7)",
            "named the cause 7 of an operation, which does not exist",
        ),
    ] {
        let lib = misbehaving(folder.path(), name, 9000, deed);
        let (code, text) = run(&lib);
        assert!(code == Some(1) && text.contains(why), "{name}: {code:?} {text}");
    }
    // One that closes all its files, or forks, may go on; but nothing may hang, be silent or come
    // twice.
    for (name, deed) in [
        ("closes", "for (int fd = 3; fd < 100; fd++) close(fd)"),
        ("forks", "if (fork() == 0) _exit(3)"),
        ("copies", "fork()"),
    ] {
        let lib = misbehaving(folder.path(), name, 9000, deed);
        let (code, text) = run(&lib);
        assert!(matches!(code, Some(0 | 1)) && !text.is_empty(), "{name}: {code:?} {text}");
        assert!(text.matches("write amplification").count() <= 1, "{name}: {text}");
        assert!(!text.contains("This is a bug in ftlab"), "{name}: {text}");
    }
}

#[test]
fn a_call_that_makes_operations_without_end_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let deed = "struct page_ftl *ftl = self; uint8_t spare[SPARE_BYTES]; \
                while (ftl->chip->read(ftl->chip, 0, 0, 0, NULL, spare, FTLAB_GC) != \
                FTLAB_ENDLESS) { } return FTLAB_OK";
    let lib = misbehaving(folder.path(), "endless", 9000, deed);
    let (code, text) = run(&lib);
    let why = "does not end: write has made";
    assert!(code == Some(1) && text.contains(why), "{code:?} {text}");
    assert!(text.contains("flash operations, and on this chip no call may make more"), "{text}");
}

#[test]
fn the_chip_answers_as_the_header_says() {
    let folder = tempfile::tempdir().unwrap();
    // Each line is a promise of the header; the guest says the number of the first that fails.
    let function = "#define IS(n, what) \
        if (!(what)) { chip->say(chip, #n); return FTLAB_CORRUPT; }\n\
        static ftlab_status asks(const ftlab_chip *chip, const ftlab_device *device, \
        void **self) {\n\
        uint8_t data[2048], spare[SPARE_BYTES], ones[2048], zeroes[2048];\n\
        memset(ones, 0xFF, 2048); memset(zeroes, 0, 2048); memset(data, 1, 2048);\n\
        if (!device->is_new) return page_mount(chip, device, self);\n\
        IS(1, chip->version == FTLAB_VERSION && chip->size == sizeof *chip)\n\
        IS(2, chip->page_bytes == 2048 && chip->spare_bytes == SPARE_BYTES && chip->dies == 1)\n\
        IS(3, chip->read(chip, 5, 0, 2048, data, spare, 0) == FTLAB_ERASED)\n\
        IS(4, !memcmp(data, ones, 2048) && !memcmp(spare, ones, SPARE_BYTES))\n\
        IS(5, chip->program(chip, 0, NULL, NULL, 0) == FTLAB_OK)\n\
        IS(6, chip->read(chip, 0, 0, 2048, data, spare, 0) == FTLAB_OK)\n\
        IS(7, !memcmp(data, zeroes, 2048) && !memcmp(spare, ones, SPARE_BYTES))\n\
        data[7] = 9; spare[0] = 3;\n\
        IS(8, chip->program(chip, 1, data, spare, 0) == FTLAB_OK)\n\
        IS(9, chip->copy(chip, 1, 2, NULL, 0) == FTLAB_OK && \
        chip->copy(chip, 1, 3, ones, 0) == FTLAB_OK)\n\
        memset(data, 1, 2048); memset(spare, 1, SPARE_BYTES);\n\
        IS(10, chip->read(chip, 2, 6, 3, data, spare, 0) == FTLAB_OK)\n\
        IS(11, data[0] == 0 && data[1] == 9 && data[2] == 0 && data[3] == 1 && spare[0] == 3)\n\
        IS(12, chip->read(chip, 3, 0, 0, NULL, spare, 0) == FTLAB_OK && spare[0] == 0xFF)\n\
        IS(13, chip->barrier(chip) == FTLAB_OK && !chip->is_bad(chip, 0))\n\
        IS(14, chip->erase(chip, 0, 0) == FTLAB_OK)\n\
        IS(15, chip->read(chip, 1, 0, 2048, data, spare, 0) == FTLAB_ERASED)\n\
        IS(16, chip->program(chip, 0, zeroes, NULL, 0) == FTLAB_OK)\n\
        IS(17, chip->read(chip, 0, 0, 2048, data, NULL, 0) == FTLAB_OK && data[7] == 0)\n\
        IS(18, chip->erase(chip, 0, 0) == FTLAB_OK)\n\
        return page_mount(chip, device, self); }";
    let lib = changed(folder.path(), "asks", function, "guest.mount = asks");
    for verify in [&[][..], &["--verify"]] {
        let (code, text) = outcome(&[&RUN[..], &["--ftl", &guest(&lib)], verify].concat());
        assert_eq!(code, Some(0), "{verify:?}: {text}");
    }
}

#[test]
fn a_guest_may_have_pages_of_its_own_size() {
    let folder = tempfile::tempdir().unwrap();
    // Pages of the chip are 2 KiB; the guest has pages of two of them, and keeps them in RAM.
    let function = "static uint8_t *all;\n\
        static ftlab_status m(const ftlab_chip *c, const ftlab_device *d, void **f) {\n\
        if (d->host_page_bytes != 4096) return FTLAB_INVALID;\n\
        (void)c; *f = &all; all = calloc(d->logical_pages, 4096); return FTLAB_OK; }\n\
        static ftlab_status r(void *f, uint32_t first, uint32_t pages, void *data) {\n\
        (void)f; memcpy(data, all + first * 4096ul, pages * 4096ul); return FTLAB_OK; }\n\
        static ftlab_status w(void *f, uint32_t first, uint32_t pages, const void *data) {\n\
        (void)f; memcpy(all + first * 4096ul, data, pages * 4096ul); return FTLAB_OK; }\n\
        static void u(void *f) { (void)f; free(all); }";
    let changes = "guest.host_page_bytes = 4096; guest.mount = m; guest.read = r; \
                   guest.write = w; guest.unmount = u; guest.ram = 0; guest.figures = 0; \
                   guest.audit = 0";
    let lib = guest(&changed(folder.path(), "wide", function, changes));
    for workload in ["uniform:requests=5K,request=1KiB", "zipf:requests=5K,reads=50%"] {
        let device = ["--capacity", "16MiB", "--extra", "10%", "--verify", "--ftl", &lib];
        let (code, text) = outcome(&[&["run", workload], &device[..]].concat());
        assert_eq!(code, Some(0), "{workload}: {text}");
    }
}

#[test]
fn the_chip_may_not_be_called_from_another_thread() {
    let folder = tempfile::tempdir().unwrap();
    let function = "#include <pthread.h>\n\
        static void *elsewhere(void *self) { struct page_ftl *ftl = self;\n\
        ftl->chip->erase(ftl->chip, 0, FTLAB_GC); return NULL; }\n\
        static ftlab_status threaded(void *self, uint32_t first, uint32_t pages, \
        const void *data) {\n\
        pthread_t thread; pthread_create(&thread, NULL, elsewhere, self);\n\
        pthread_join(thread, NULL); return page_write(self, first, pages, data); }";
    let lib = changed(folder.path(), "threaded", function, "guest.write = threaded");
    let (code, text) = run(&lib);
    assert!(code == Some(1) && text.contains("from another thread"), "{code:?} {text}");
}

#[test]
fn two_runs_of_one_guest_have_globals_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let function = "static int mounted;\n\
        static ftlab_status once(const ftlab_chip *chip, const ftlab_device *device, \
        void **self) {\n\
        if (mounted++) { chip->say(chip, \"mounted before\"); return FTLAB_INVALID; }\n\
        return page_mount(chip, device, self); }";
    let lib = guest(&changed(folder.path(), "once", function, "guest.mount = once"));
    let compare = ["compare", "oltp:requests=5K", "--capacity", "16MiB", "--extra", "10%"];
    let (code, text) = outcome(&[&compare[..], &["--ftl", &lib, "--ftl", &lib]].concat());
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn the_header_is_c11_and_cpp17() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("only.c");
    fs::write(&source, "#include \"ftlab.h\"\n").unwrap();
    for (compiler, standard, language) in [
        ("gcc", "c11", "c"),
        ("g++", "c++17", "c++"),
        ("clang", "c11", "c"),
        ("clang++", "c++17", "c++"),
    ] {
        let standard = format!("-std={standard}");
        let flags = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-x", language];
        let mut command = Command::new(compiler);
        command.arg(standard).args(flags).arg("-I").arg(root().join("include")).arg(&source);
        match command.output() {
            Ok(done) => {
                let complained = String::from_utf8_lossy(&done.stderr);
                assert!(done.status.success(), "{compiler}: {complained}");
            }
            Err(_) => eprintln!("{compiler} is not installed: skipped"),
        }
    }
}
