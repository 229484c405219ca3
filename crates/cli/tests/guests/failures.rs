//! Guests that handle blocks and operations which fail.

use std::fs;

use super::{RUN, changed, compiled, example, ftlab, guest, outcome, root};

/// The chip of a guest that handles failures, when it fails.
const FAILING: &str = "tiny:reserve=8,failing_program=5,failing_erase=3,factory_bad=5";

fn checked_on(geometry: &str, ftl: &str) -> (Option<i32>, String) {
    let workload = ["--workload", "fill-random", "--second-cuts", "64"];
    outcome(&[&["check", "--geometry", geometry, "--ftl", ftl][..], &workload].concat())
}

#[test]
fn a_guest_that_handles_failures_gets_them() {
    let folder = tempfile::tempdir().unwrap();
    let page = format!("{},reserve=4", guest(&example(folder.path(), "page.c")));
    let wearing = "tiny:reserve=6,endurance=2";
    for geometry in [FAILING, "tiny-any:reserve=8,failing_program=9,failing_erase=2", wearing] {
        let (code, text) = checked_on(geometry, &page);
        assert_eq!(code, Some(0), "{geometry}: {text}");
    }
    // On flash that never fails, and where others handle failures, the same FTL meets none.
    for (name, changes, geometry) in [
        ("mute", "(void)0", "tiny"),
        ("sheltered", "guest.handles_failures = 0", "tiny:reserve=24,failing_program=7"),
    ] {
        let function = "static ftlab_status sees(void *self, uint32_t first, uint32_t pages, \
            const void *data) {\n\
            struct page_ftl *ftl = self;\n\
            for (uint32_t block = 0; block < ftl->chip->blocks; block++)\n\
            if (ftl->state[block] == BAD || ftl->chip->is_bad(ftl->chip, block)) abort();\n\
            return page_write(self, first, pages, data); }";
        let changes = format!("guest.write = sees; {changes}");
        let (code, text) =
            checked_on(geometry, &guest(&changed(folder.path(), name, function, &changes)));
        assert_eq!(code, Some(0), "{name}: {text}");
    }
}

/// What a guest may do wrong with a failure, and the verdict.
#[test]
fn failures_that_are_handled_badly_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let page = fs::read_to_string(root().join("examples/guests/page.c")).unwrap();
    let sins = [
        (
            "believes",
            "if (status != FTLAB_FAILED)\n            return status;\n        close_block(ftl);",
            "if (status == FTLAB_FAILED)\n            point(ftl, lpn);\n        return FTLAB_OK;",
            "data lost",
        ),
        ("insists", "ftl->state[block] = BAD;\n    return", "return", "illegal command"),
        ("gives_up", "} while (status == FTLAB_FAILED);", "} while (0);", "service refused"),
        (
            "surrenders",
            "if (status == FTLAB_FAILED)\n                close_block(ftl);",
            "if (status == FTLAB_FAILED)\n                return FTLAB_READ_ONLY;",
            "service refused",
        ),
        ("forgets", "chip->is_bad(chip, block) ? BAD : FREE", "FREE", "illegal command"),
    ];
    for (name, right, wrong, verdict) in sins {
        assert!(page.contains(right), "{name}");
        let source = folder.path().join(format!("{name}.c"));
        fs::write(&source, page.replace(right, wrong)).unwrap();
        let ftl = format!("{},reserve=4", guest(&compiled(folder.path(), &source, &[])));
        let options = ["check", "--geometry", FAILING, "--workload", "hot", "--ftl", &ftl];
        let (code, text) = outcome(&options);
        assert!(code == Some(3) && text.contains(verdict), "{name}: {code:?} {text}");
    }
}

/// Without marks of the factory, the guest meets only its own.
#[test]
fn marks_of_bad_blocks_are_kept_in_images() {
    let folder = tempfile::tempdir().unwrap();
    let page = fs::read_to_string(root().join("examples/guests/page.c")).unwrap();
    let source = folder.path().join("forgets.c");
    fs::write(&source, page.replace("chip->is_bad(chip, block) ? BAD : FREE", "FREE")).unwrap();
    let forgets = format!("{},reserve=4", guest(&compiled(folder.path(), &source, &[])));
    let page = format!("{},reserve=4", guest(&example(folder.path(), "page.c")));
    let geometry = "tiny:reserve=8,failing_program=7,failing_erase=2";
    for (ftl, is_right) in [(page, true), (forgets, false)] {
        let options = ["--geometry", geometry, "--workload", "fill-random", "--on", "image"];
        let (code, text) = outcome(&[&["check", "--ftl", &ftl][..], &options].concat());
        assert_eq!(code, Some(if is_right { 0 } else { 3 }), "{text}");
        assert!(is_right || text.contains("illegal command"), "{text}");
    }
}

/// Programs pages until one fails. Then the chip must answer as the header says.
#[test]
fn a_block_that_has_failed_answers_as_the_header_says() {
    let folder = tempfile::tempdir().unwrap();
    let function = "#define IS(n, what) \
        if (!(what)) { chip->say(chip, #n); return FTLAB_CORRUPT; }\n\
        static ftlab_status asks(const ftlab_chip *chip, const ftlab_device *device, \
        void **self) {\n\
        static uint8_t data[65536]; uint32_t page = 0, per_block = chip->pages_per_block;\n\
        if (!device->is_new) return page_mount(chip, device, self);\n\
        for (;; page++) {\n\
        if (chip->is_bad(chip, page / per_block)) continue;\n\
        ftlab_status status = chip->program(chip, page, data, NULL, 0);\n\
        if (status == FTLAB_FAILED && page % per_block > 0 && (page + 1) % per_block > 0) break;\n\
        IS(1, status == FTLAB_OK || status == FTLAB_FAILED) }\n\
        uint32_t block = page / per_block, first = block * per_block;\n\
        IS(2, chip->read(chip, page, 0, 512, data, NULL, 0) == FTLAB_UNREADABLE)\n\
        IS(3, chip->copy(chip, page, page + 1, NULL, 0) != FTLAB_OK)\n\
        IS(4, chip->read(chip, first, 0, 512, data, NULL, 0) == FTLAB_OK)\n\
        IS(5, chip->program(chip, page + 1, data, NULL, 0) == FTLAB_FAILED)\n\
        IS(6, chip->erase(chip, block, 0) == FTLAB_FAILED)\n\
        IS(7, !chip->is_bad(chip, block) && chip->mark_bad(chip, block) == FTLAB_OK)\n\
        IS(8, chip->is_bad(chip, block))\n\
        IS(9, chip->read(chip, first, 0, 512, data, NULL, 0) == FTLAB_UNREADABLE)\n\
        for (uint32_t b = 0; b < block; b++) if (!chip->is_bad(chip, b) && \
        chip->erase(chip, b, 0) == FTLAB_FAILED) IS(10, chip->mark_bad(chip, b) == FTLAB_OK)\n\
        return page_mount(chip, device, self); }";
    let lib = guest(&changed(folder.path(), "asks", function, "guest.mount = asks"));
    let media = ["--media", "real:program_fail=1%", "--reserve", "100blocks", "--ftl", &lib];
    let short = ["run", "oltp:requests=100", "--capacity", "16MiB", "--extra", "30%"];
    for (seed, verify) in [("1", &[][..]), ("2", &["--verify"]), ("3", &[]), ("4", &["--verify"])] {
        let options = [&["--precondition", "none", "--seed", seed][..], verify].concat();
        let (code, text) = outcome(&[&short[..], &media, &options].concat());
        assert_eq!(code, Some(0), "seed {seed} {verify:?}: {text}");
    }
}

#[test]
fn the_counts_of_a_guest_on_failing_flash_are_those_of_verified_runs() {
    let folder = tempfile::tempdir().unwrap();
    let page = format!("{},reserve=4", guest(&example(folder.path(), "page.c")));
    let media = "real:program_fail=0.02%,erase_fail=0.5%,factory_bad=2%";
    let options = ["--reserve", "40blocks", "--media", media, "--ftl", &page, "--json", "-"];
    let counts = |verify: &[&str]| -> serde_json::Value {
        let output = ftlab(&[&RUN[..], &options, verify].concat());
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let [counted, verified] = [counts(&[]), counts(&["--verify"])];
    for part in ["programs", "erases", "reads", "wear"] {
        assert_eq!(counted[part], verified[part], "{part}");
    }
    assert!(counted["programs"]["host"].as_u64() > counted["host_pages"]["written"].as_u64());
}

#[test]
fn the_life_of_a_guest_ends_when_it_can_only_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let page = format!("{},reserve=4", guest(&example(folder.path(), "page.c")));
    let device = ["--capacity", "4MiB", "--extra", "20%", "--reserve", "9blocks"];
    let media = ["--media", "real:endurance=20,spread=20%", "--ftl", &page, "--json", "-"];
    let load = ["life", "uniform:requests=20K"];
    let output = ftlab(&[&load[..], &device, &media].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lives: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let life = &lives["lives"][0];
    let (worn, blocks) = (&life["wear"]["max"], &life["blocks"]);
    assert!(worn.as_u64() >= Some(20) && blocks.as_u64() == Some(48), "{life}");
    assert!(life["drive_writes"].as_f64() > Some(8.0), "{life}");
}
