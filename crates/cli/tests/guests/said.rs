//! What commands say about guests, and what guests say themselves.

use std::fs;
use std::process::Command;

use super::{
    PATIENCE, RUN, changed, command, example, ftlab, guest, outcome, outcome_of, program, run,
};

const TINY: [&str; 5] = ["check", "--geometry", "tiny", "--workload", "random"];

/// The lines of flash operations in a replay.
fn operations(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("    ")).collect()
}

#[test]
fn a_replay_prints_every_flash_operation_up_to_the_cut() {
    let folder = tempfile::tempdir().unwrap();
    let page = guest(&example(folder.path(), "page.c"));
    let replay = [&TINY[..], &["--ftl", &page, "--cut", "12", "--outcome", "torn"]].concat();
    let (code, text) = outcome(&replay);
    assert!(code == Some(0) && operations(&text).is_empty(), "{code:?} {text}");
    let (code, text) = outcome(&[&replay[..], &["--operations"]].concat());
    assert_eq!(code, Some(0), "{text}");
    let (before, after) =
        text.split_once("  power lost at operation 12, program of page ").unwrap();
    let interrupted = after.split(',').next().unwrap();
    let done = operations(before);
    assert_eq!(*done.last().unwrap(), format!("12 program host {interrupted} system"));
    let changes = |line: &&&str| line.contains(" program ") || line.contains(" erase ");
    assert_eq!(done.iter().filter(changes).count(), 13, "{before}");
    // The mount after the cut counts from zero, as a second cut does.
    let mount = after.split_once("  mount\n").expect("a mount").1;
    assert!(mount.starts_with("    0 spare meta 0 system\n"), "{mount}");
    let (code, text) = outcome(&[&TINY[..], &["--ftl", &page, "--operations"]].concat());
    assert!(code == Some(2) && text.contains("--cut"), "{code:?} {text}");
}

#[test]
fn a_replay_prints_the_operations_before_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let function = "static uint32_t writes;\n\
        static ftlab_status dies(void *self, uint32_t first, uint32_t pages, const void *data) {\n\
        ftlab_status status = page_write(self, first, pages, data);\n\
        if (++writes == 3) abort();\n\
        return status; }";
    let dies = guest(&changed(folder.path(), "dies", function, "guest.write = dies"));
    let replay = [&TINY[..], &["--ftl", &dies, "--cut", "none", "--operations"]].concat();
    let output = ftlab(&replay);
    let (steps, died) = (output.stdout, String::from_utf8(output.stderr).unwrap());
    let steps = String::from_utf8(steps).unwrap();
    assert!(output.status.code() == Some(3) && died.starts_with("ftlab: crash: "), "{died}");
    let last = steps.rsplit("  write ").next().unwrap();
    assert!(last.contains(" program host "), "the write that did not return: {steps}");
}

#[test]
fn an_older_program_is_replaced_and_the_check_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let broken = guest(&example(folder.path(), "broken/reopens_blocks.c"));
    let words = [&TINY[..], &["--second-cuts", "0", "--shrink", "--ftl", &broken]].concat();
    let says = || {
        let (code, text) = outcome_of(command(&words).current_dir(folder.path()));
        assert_eq!(code, Some(3), "{text}");
        text.lines().find(|line| line.starts_with("  Program: repro.c")).unwrap().to_owned()
    };
    let first = says();
    let own = folder.path().join("repro.c");
    let program = fs::read_to_string(&own).unwrap();
    fs::write(&own, format!("{program}/* changed */\n")).unwrap();
    assert_eq!(says(), format!("{first}; it replaces an older one"));
    assert_eq!(fs::read_to_string(&own).unwrap(), program);
}

#[test]
fn a_refusal_names_the_size_of_the_device_only_if_that_can_be_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let page = example(folder.path(), "page.c");
    let (code, text) = run(&format!("{page},victm=fifo"));
    assert!(code == Some(2) && text.contains("page.c knows only `reserve`"), "{code:?} {text}");
    assert!(!text.contains("of them extra"), "{text}");
    for (name, parameters, says) in
        [("small", "", "chip->say(chip, \"too small\");"), ("mute", "", ""), ("curt", ",log=8", "")]
    {
        let function = format!(
            "static ftlab_status refuses(const ftlab_chip *chip, const ftlab_device *device, \
             void **self) {{ (void)chip; (void)device; (void)self; {says} return FTLAB_INVALID; }}"
        );
        let lib = changed(folder.path(), name, &function, "guest.mount = refuses");
        let (code, text) = run(&format!("{lib}{parameters}"));
        assert!(code == Some(2) && text.contains("of them extra"), "{name}: {code:?} {text}");
    }
}

#[test]
fn durability_is_what_a_guest_declares() {
    let folder = tempfile::tempdir().unwrap();
    let page = guest(&example(folder.path(), "page.c"));
    let paper = ["--durability", "paper", "--ftl", &page];
    for cut in [&[][..], &["--cut", "3"]] {
        let (code, text) = outcome(&[&TINY[..], &paper, cut].concat());
        let why = "durability `paper` is for the schemes of ftlab";
        assert!(code == Some(2) && text.contains(why), "{cut:?}: {code:?} {text}");
    }
    for (durability, is_noted) in [("full", true), ("paper", false)] {
        let (code, text) =
            outcome(&[&RUN[..], &["--durability", durability, "--ftl", &page]].concat());
        let note = text.replace('\n', " ").contains("Durability `full` changes nothing under");
        assert!(code == Some(0) && note == is_noted, "{durability}: {code:?} {text}");
    }
}

#[test]
fn a_comparison_calls_guests_by_the_files_of_their_libraries() {
    let folder = tempfile::tempdir().unwrap();
    let page = guest(&example(folder.path(), "page.c"));
    let other = guest(&example(folder.path(), "broken/forgets_trims.c"));
    let headline = |ftls: [&str; 4]| {
        let (code, text) = outcome(&[&["compare"], &RUN[1..], &ftls].concat());
        assert_eq!(code, Some(0), "{text}");
        text.lines().next().unwrap().to_owned()
    };
    let alike = headline(["--ftl", "page:victim=greedy", "--ftl", &page]);
    assert!(alike.contains("page and page.so"), "{alike}");
    let guests = headline(["--ftl", &page, "--ftl", &other]);
    assert!(guests.contains("page.so and forgets_trims.so"), "{guests}");
}

#[test]
fn what_a_guest_says_cannot_steer_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let audit = "static const char *finds(void *self) { (void)self;\n\
        return \"\\x1b[2Jtwo\\nlines\"; }";
    let finds = guest(&changed(folder.path(), "finds", audit, "guest.audit = finds"));
    let (code, text) = outcome(&[&TINY[..], &["--ftl", &finds]].concat());
    let shown = "finds in its own audit: \u{fffd}[2Jtwo lines\n";
    assert!(code == Some(3) && text.contains(shown), "{code:?} {text}");
    let mount = "static ftlab_status says(const ftlab_chip *chip, const ftlab_device *device, \
        void **self) { (void)device; (void)self;\n\
        chip->say(chip, \"\\x1b]0;title\\a\"); return FTLAB_CORRUPT; }";
    let says = guest(&changed(folder.path(), "says", mount, "guest.mount = says"));
    let (code, text) = outcome(&[&RUN[..], &["--ftl", &says]].concat());
    assert!(code == Some(1) && text.contains("\u{fffd}]0;title\u{fffd}"), "{code:?} {text}");
    assert!(!text.contains(['\x1b', '\x07']), "{text}");
}

#[test]
fn figures_of_a_guest_do_not_look_like_those_of_ftlab() {
    let folder = tempfile::tempdir().unwrap();
    let function = "static uint32_t figures(void *self, ftlab_figure *out, uint32_t most) {\n\
        (void)self; (void)most; out[0].name = \"write_amplification\"; out[0].value = 1;\n\
        return 1; }";
    let lib = changed(folder.path(), "boasts", function, "guest.figures = figures");
    let (code, text) = run(&lib);
    let figure = text.lines().find(|line| line.contains("write_amplification")).expect(&text);
    assert!(code == Some(0) && figure.starts_with("guest write_amplification 1"), "{figure}");
}

#[test]
fn a_time_that_is_over_within_the_first_seed_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let page = guest(&example(folder.path(), "page.c"));
    let deep = ["--second-cuts", "1", "--depth", "4", "--budget", "200ms", "--ftl", &page];
    let told = "the time was over: 1 of 1 cases of the first seed were not tried, or not with all";
    for quiet in [&[][..], &["--quiet"]] {
        let (code, text) = outcome(&[&TINY[..], &deep, quiet].concat());
        assert!(code == Some(0) && text.contains(told), "{quiet:?}: {code:?} {text}");
    }
    let tiny = ["check", "--geometry", "tiny", "--workload", "steps-w0x2"];
    let few = ["--second-cuts", "0", "--budget", "1s", "--ftl", &page];
    let (code, text) = outcome(&[&tiny[..], &few].concat());
    assert!(code == Some(0) && !text.contains("the time was over"), "{code:?} {text}");
}

#[test]
fn a_guest_that_changes_the_data_of_the_host_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let function = "#include <string.h>\n\
        static ftlab_status smears(void *self, uint32_t first, uint32_t pages, \
        const void *data) {\n\
        ftlab_status status = page_write(self, first, pages, data);\n\
        ((uint8_t *)data)[3] ^= 1; return status; }";
    let lib = changed(folder.path(), "smears", function, "guest.write = smears");
    let smears = guest(&lib);
    let check = [&TINY[..], &["--second-cuts", "0", "--shrink", "--ftl", &smears]].concat();
    let (code, text) = outcome_of(command(&check).current_dir(folder.path()));
    let found = "contract broken: guest `smears` changed the host's data";
    assert!(code == Some(3) && text.contains(found), "{code:?} {text}");
    let (code, text) = outcome_of(Command::new(program(folder.path(), &[])).arg(lib));
    let found = "contract broken: changed the host's data";
    assert!(code == Some(1) && text.contains(found), "{code:?} {text}");
    let (code, text) = outcome(&[&RUN[..], &["--verify", "--ftl", &smears]].concat());
    assert!(code == Some(1) && text.contains("changed the host's data"), "{code:?} {text}");
}

/// A guest that loses a write if a file does not exist, and makes it.
#[test]
fn a_check_says_that_a_guest_does_not_do_the_same_twice() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    let function = format!(
        "#include <stdio.h>\n\
         static ftlab_status once(void *self, uint32_t first, uint32_t pages, \
         const void *data) {{\n\
         FILE *mark = fopen(\"{0}\", \"r\");\n\
         if (!mark && (mark = fopen(\"{0}\", \"w\"))) {{ fclose(mark); return FTLAB_OK; }}\n\
         fclose(mark); return page_write(self, first, pages, data); }}",
        mark.display()
    );
    let once = guest(&changed(folder.path(), "once", &function, "guest.write = once"));
    let (code, text) = outcome(&[&TINY[..], &["--ftl", &once]].concat());
    assert!(code == Some(3) && text.contains("guest `once` does not do the same twice"), "{text}");
    let broken = guest(&example(folder.path(), "broken/flushes_nothing.c"));
    let (code, text) = outcome(&[&TINY[..], &["--ftl", &broken]].concat());
    assert!(code == Some(3) && !text.contains("the same twice"), "{code:?} {text}");
}

#[test]
fn what_a_guest_prints_is_not_in_the_results() {
    let folder = tempfile::tempdir().unwrap();
    let function = "#include <stdio.h>\n#include <unistd.h>\n\
        static ftlab_status prints(void *self, uint32_t first, uint32_t pages, \
        const void *data) {\n\
        printf(\"from printf\\n\"); fflush(stdout);\n\
        if (write(1, \"from write\\n\", 11) < 0) abort();\n\
        return page_write(self, first, pages, data); }";
    let prints = guest(&changed(folder.path(), "prints", function, "guest.write = prints"));
    let run = ["run", "oltp:requests=200", "--capacity", "16MiB", "--json", "-", "--ftl", &prints];
    let check = [&TINY[..], &["--ftl", &prints]].concat();
    for (words, is_apart) in [(&run[..], false), (&run, true), (&check, false)] {
        let mut command = command(words);
        if is_apart {
            command.env("FTLAB_GUESTS_APART", "1");
        }
        let output = command.output().unwrap();
        let [out, err] = [output.stdout, output.stderr].map(|it| String::from_utf8(it).unwrap());
        assert!(output.status.code() == Some(0) && !out.contains("from "), "{words:?}: {out}");
        assert!(err.contains("from printf") && err.contains("from write"), "{words:?}: {err}");
        let is_json = serde_json::from_str::<serde_json::Value>(&out).is_ok();
        assert_eq!(is_json, words.contains(&"--json"), "{out}");
    }
}

/// A guest that programs nothing writes least and survives everything, if nobody looks.
#[test]
fn a_guest_that_programs_nothing_is_not_taken_for_a_good_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("beside");
    let functions = format!(
        "#include <stdio.h>\n#include <string.h>\nstatic FILE *file;\n\
         #define CHIP(self) (((struct page_ftl *)self)->chip)\n\
         #define BYTES(self, pages) ((pages) * (size_t)CHIP(self)->page_bytes)\n\
         static ftlab_status begins(const ftlab_chip *chip, const ftlab_device *device, \
         void **self) {{ file = fopen(\"{0}\", device->is_new ? \"w+b\" : \"r+b\");\n\
         return page_mount(chip, device, self); }}\n\
         static ftlab_status takes(void *self, uint32_t first, uint32_t pages, \
         const void *data) {{ fseek(file, (long)BYTES(self, first), SEEK_SET);\n\
         fwrite(data, 1, BYTES(self, pages), file); fflush(file); return FTLAB_OK; }}\n\
         static ftlab_status gives(void *self, uint32_t first, uint32_t pages, void *data) {{\n\
         memset(data, 0, BYTES(self, pages)); fseek(file, (long)BYTES(self, first), SEEK_SET);\n\
         size_t got = fread(data, 1, BYTES(self, pages), file); (void)got; return FTLAB_OK; }}",
        file.display()
    );
    let table = "guest.mount = begins; guest.write = takes; guest.read = gives; guest.trim = 0";
    let beside = guest(&changed(folder.path(), "beside", &functions, table));
    let (code, text) = outcome(&[&RUN[..], &["--ftl", &beside]].concat());
    assert!(code == Some(0) && text.contains("programmed fewer pages"), "{code:?} {text}");
    let (code, text) = outcome(&[&TINY[..], &["--ftl", &beside]].concat());
    assert!(code == Some(1) && text.contains("no power was cut under"), "{code:?} {text}");
}

#[test]
fn declared_outcomes_that_cannot_happen_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for (cuts, is_said) in [("TORN | FTLAB_CUT_REORDERED", true), ("TORN", false)] {
        let table = format!("guest.cuts = FTLAB_CUT_{cuts}");
        let ftl = guest(&changed(folder.path(), "declares", "", &table));
        let (code, text) = outcome(&[&TINY[..], &["--second-cuts", "0", "--ftl", &ftl]].concat());
        let says = text.contains("or was not asked for: reordered");
        assert!(code == Some(0) && says == is_said, "{code:?} {text}");
    }
}

#[test]
fn a_check_says_what_its_cases_have_reached() {
    let folder = tempfile::tempdir().unwrap();
    // Pages that cannot be read are there after cuts alone.
    let function = "static uint32_t torn;\n\
         static ftlab_status begins(const ftlab_chip *chip, const ftlab_device *device, \
         void **self) {\n\
         for (uint32_t page = 0; page < chip->blocks * chip->pages_per_block; page++) {\n\
         uint8_t spare[256];\n\
         torn += chip->read(chip, page, 0, 0, NULL, spare, FTLAB_META) == FTLAB_UNREADABLE; }\n\
         return page_mount(chip, device, self); }\n\
         static uint32_t figures(void *self, ftlab_figure *out, uint32_t most) {\n\
         out[page_figures(self, out, most)] = (ftlab_figure){ \"torn\", torn };\n\
         return 2; }";
    let changes = "guest.mount = begins; guest.figures = figures";
    let page = guest(&changed(folder.path(), "counts", function, changes));
    let reached = |workload: &str| -> [u64; 3] {
        let words = ["check", "--geometry", "tiny", "--second-cuts", "0", "--ftl", &page];
        let (code, text) = outcome(&[&words[..], &["--workload", workload]].concat());
        assert_eq!(code, Some(0), "{text}");
        let line = text.lines().find(|line| line.contains(" has reached at most: ")).unwrap();
        let after = |word: &str| {
            let number = line.split(word).nth(1).unwrap().split(';').next().unwrap();
            number.trim().replace(',', "").parse().unwrap()
        };
        ["erases", "gc_victims", "torn"].map(after)
    };
    let [_, victims, torn] = reached("steps-w0x2");
    assert!(victims == 0 && torn > 0, "two pages leave nothing to collect: {victims} {torn}");
    let [erases, victims, _] = reached("random");
    assert!(victims > 0 && erases > victims, "{erases} {victims}");
}

/// What gdb prints while it runs these commands on a command under a guest. `None` if there is no
/// gdb, unless `FTLAB_REQUIRE` lists `gdb`.
fn printed_by_gdb(commands: &[&str], of_ftlab: &[&str]) -> Option<String> {
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-q", "-batch", "-ex", "set breakpoint pending on"]);
    commands.iter().for_each(|&line| _ = gdb.args(["-ex", line]));
    gdb.args(["--args", env!("CARGO_BIN_EXE_ftlab")]).args(of_ftlab).env(PATIENCE, "1");
    let Ok(output) = gdb.output() else {
        let required = std::env::var("FTLAB_REQUIRE").unwrap_or_default();
        assert!(!required.split(',').any(|one| one.trim() == "gdb"), "there is no gdb");
        println!("skipped: there is no gdb");
        return None;
    };
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Each mount of a replay loads the guest anew, and its device was sized in another process.
#[test]
fn a_debugger_stops_in_each_call_of_a_guest() {
    let folder = tempfile::tempdir().unwrap();
    let page = guest(&example(folder.path(), "page.c"));
    let replay = [&TINY[..], &["--ftl", &page, "--cut", "9", "--outcome", "torn"]].concat();
    // A guest that stands longer than the patience does not hang.
    let wait = "python import time; time.sleep(3)";
    let stops = ["break page_mount", "run", wait, "continue", "continue", "continue"];
    let Some(text) = printed_by_gdb(&stops, &replay) else { return };
    // Before the cut, after it, and once more when everything was read.
    assert_eq!(text.matches("hit Breakpoint 1").count(), 3, "{text}");
    assert!(text.contains("  all is well") && text.contains("exited normally"), "{text}");
    // Of this one only copies are loaded.
    let unique = "uint32_t shared;\n__asm__(\".type shared, @gnu_unique_object\");";
    let unique = guest(&changed(folder.path(), "unique", unique, "guest.ram = page_ram"));
    let run = [&RUN[..], &["--ftl", &unique]].concat();
    let stops = ["break page_write", "run", "backtrace 1", "kill"];
    let text = printed_by_gdb(&stops, &run).expect("gdb");
    assert!(text.contains("#0 ") && text.contains("page_write"), "{text}");
}
