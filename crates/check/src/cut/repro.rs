//! Writes a case that failed under a guest as a program in C. It needs the header and the guest,
//! not ftlab, and finds the same.
//!
//! ```text
//! replay ──▶ steps ──▶ sessions of C ─┐
//! sizes of the chip ──────────────────┼──▶ repro.c, whose chip, host and comparison are always
//! parameters of the guest ────────────┘    the same: see the file of this name beside this one
//! ```
//! A session goes from power-on to power-off. What a cut leaves on flash is taken from the replay
//! as it is, one letter for each page, so that the program need not know how flash fails.

use ftl::contract::guest::ChipShape;
use guest::isolation::Isolated;
use nand::page_store::{Health, load_spare};
use nand::{BlockId, FlashArray, PageState, Ppn};

use crate::case::Case;
use crate::conformance;
use crate::cut::isolated;
use crate::cut::power_loss::{Step, replay};
use crate::device::action::Action;
use crate::device::power_cut::{Decay, PowerCut};
use crate::failed_case::{FailedCase, replay_line};
use crate::flash::Storage;
use crate::workload::host_operation::{Extent, HostOperation};

/// The program, with marks where the parts of a case belong.
const PROGRAM: &str = include_str!("repro.c");
/// How all programs begin.
pub const FIRST_WORDS: &str = "/* ftlab has found: ";

/// The program that shows a failed case. None if its FTL is no shared object, or if the failure
/// needs more than a chip in memory whose flash fails only with the power.
pub fn program(failed: &FailedCase) -> Option<String> {
    let FailedCase { case, cuts, finding, .. } = failed;
    case.guest().filter(|_| case.needs_process())?;
    if case.storage != Storage::Memory || case.device().media().is_some() {
        return None;
    }
    let sessions = sessions(case, cuts)?;
    let pairs = case.subject.choice.params.opt_rest("keys").unwrap_or_default();
    let texts = |select: fn(&(String, String)) -> &String| -> String {
        pairs.iter().map(|pair| format!("{}, ", quoted(select(pair)))).collect()
    };
    let parts = [
        ("@FOUND@", format!("{}. {}", finding.defect.verdict(), in_comment(&finding.sentence))),
        ("@LIBRARY@", in_comment(library(case))),
        ("@LAST@", sessions.len().to_string()),
        ("@REPLAY@", in_comment(&replay_line(case, cuts, &[]))),
        ("@SIZES@", sizes(case, &sessions)),
        ("@SESSIONS@", functions(&sessions, cuts)),
        ("@KEYS@ ", texts(|(key, _)| key)),
        ("@VALUES@ ", texts(|(_, value)| value)),
    ];
    let text = parts.iter().fold(PROGRAM.to_owned(), |text, (mark, part)| text.replace(mark, part));
    Some(without_idle_functions(&text))
}

fn in_comment(text: &str) -> String {
    text.replace("*/", "* /")
}

/// The program without functions that nothing calls. Paragraphs of the program are whole.
fn without_idle_functions(text: &str) -> String {
    let mut paragraphs: Vec<&str> = text.split("\n\n").collect();
    loop {
        let name = |paragraph: &str| {
            let head = paragraph.lines().find(|line| line.starts_with("static "))?;
            let (before, _) = head.split_once('(')?;
            before.rsplit([' ', '*']).next().map(str::to_owned)
        };
        let is_idle = |paragraph: &&str| {
            let name = name(paragraph).filter(|name| !name.is_empty());
            name.is_some_and(|name| {
                let used = |other: &&str| has_word(other, &name) && other != paragraph;
                !paragraphs.iter().any(used)
            })
        };
        match paragraphs.iter().position(is_idle) {
            Some(idle) => drop(paragraphs.remove(idle)),
            None => return paragraphs.join("\n\n"),
        }
    }
}

fn library(case: &Case) -> &str {
    case.subject.choice.params.text("lib")
}

fn has_word(text: &str, word: &str) -> bool {
    let is_inside = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        !before.ends_with(is_inside) && !after.starts_with(is_inside)
    })
}

// ---- What happens -----------------------------------------------------------------------------

/// What happens between power-on and power-off.
#[derive(Default)]
struct Session {
    /// The flash that a power cut left before it, a row for each block; empty without a cut.
    rows: Vec<String>,
    /// Calls in C.
    calls: Vec<String>,
}

/// How a line with a row of the flash begins.
const ROW: &str = "\"";
/// The line between two sessions.
const NEXT: &str = "next";

/// The sessions of a replay. It runs in a process of its own, which the guest may end.
fn sessions(case: &Case, cuts: &[PowerCut]) -> Option<Vec<Session>> {
    let writing = Isolated::begin_writing(|out| {
        let mut writes = 0;
        // Nobody reads the line if this fails.
        let mut watch =
            |step: Step| drop(out.write_all(lines(&step, case, &mut writes).as_bytes()));
        // What fails is known.
        drop(match cuts.is_empty() {
            true => {
                conformance::check_watched(case, &mut |action, _| watch(Step::Act(action))).err()
            }
            false => replay(case, cuts, &mut watch).err(),
        });
    });
    let bytes = writing.ok()?.written(isolated::short_patience());
    let mut sessions = vec![Session::default()];
    for line in String::from_utf8(bytes).ok()?.lines() {
        let session = sessions.last_mut().expect("there is one from the start");
        match line {
            NEXT => sessions.push(Session::default()),
            row if row.starts_with(ROW) => session.rows.push(row.to_owned()),
            call => session.calls.push(call.to_owned()),
        }
    }
    Some(sessions)
}

/// The lines for a step. `writes`: how many the host has made so far.
fn lines(step: &Step, case: &Case, writes: &mut u32) -> String {
    let action = match step {
        Step::Cut(_, _, flash) => return format!("{NEXT}\n{}", rows(flash)),
        Step::Act(action) => action,
    };
    match action {
        Action::Mount => "mount();\n".to_owned(),
        Action::Remount => format!("power_off();\n{NEXT}\nmount();\n"),
        Action::Check => "compare_all();\n".to_owned(),
        Action::Decay => "decay();\ncompare_all();\n".to_owned(),
        Action::Do(operation) => call(operation, case, writes),
    }
}

fn call(operation: &HostOperation, case: &Case, writes: &mut u32) -> String {
    let written = matches!(operation, HostOperation::Write(_) | HostOperation::Force(_));
    *writes += u32::from(written);
    match operation {
        HostOperation::Flush => "flush_device();\n".to_owned(),
        HostOperation::Read(extent) => format!("compare({}, 0);\n", sectors(extent, case)),
        HostOperation::Write(extent) => {
            format!("write_sectors({}, {writes});\n", sectors(extent, case))
        }
        HostOperation::Force(extent) => {
            format!("force_sectors({}, {writes});\n", sectors(extent, case))
        }
        HostOperation::Trim { first, pages } => {
            let extent = Extent::whole(*first, *pages, case.dimensions().full());
            match case.guest().is_some_and(|guest| guest.trims) {
                true => format!("trim_sectors({});\n", sectors(&extent, case)),
                false => String::new(),
            }
        }
    }
}

/// The first sector of an extent and the number of its sectors.
fn sectors(extent: &Extent, case: &Case) -> String {
    let dimensions = case.dimensions();
    let mut covered = extent.sectors(dimensions.sectors_per_page, dimensions.full());
    let (first, _) = covered.next().expect("an extent covers sectors");
    let last = covered.last().map_or(first, |(sector, _)| sector);
    format!("{first}, {}", last - first + 1)
}

/// The states of all pages, a row for each block.
fn rows(flash: &FlashArray) -> String {
    let geometry = flash.geometry();
    let store = flash.try_clone().ok().and_then(FlashArray::into_store);
    let store = store.expect("a chip that is cut keeps pages in memory");
    let letter = |ppn: Ppn| match load_spare(&*store, ppn) {
        Ok(record) => match (record.health, record.state()) {
            (Health::Erased, _) => '.',
            (Health::LooksErased, _) => '?',
            (Health::DataLost, _) | (_, PageState::Unreadable) | (_, PageState::Erased) => 'x',
            (Health::Unstable, PageState::Programmed(_)) => '~',
            (_, PageState::Programmed(_)) => '+',
        },
        Err(_) => 'x',
    };
    let row = |block: BlockId| {
        let pages = (0..geometry.pages_per_block()).map(|at| geometry.page(block, at));
        let pages: String = pages.map(letter).collect();
        let erase_again = if flash.is_half_erased(block) { "!" } else { "" };
        format!("{ROW}{pages}{erase_again}\",\n")
    };
    (0..geometry.blocks()).map(BlockId).map(row).collect()
}

/// The functions of all sessions, and the flash after each cut.
fn functions(sessions: &[Session], cuts: &[PowerCut]) -> String {
    let (mut text, mut cuts, mut before) = (String::new(), cuts.iter(), None::<PowerCut>);
    for (at, session) in sessions.iter().enumerate() {
        let number = at + 1;
        let next = sessions.get(number).filter(|next| !next.rows.is_empty());
        let cut = next.and(cuts.next().copied());
        if let Some(next) = next {
            let rows: String = next.rows.iter().map(|row| format!("    {row}\n")).collect();
            text += &format!("static const char *const flash_{number}[BLOCKS] = {{\n{rows}}};\n\n");
        }
        text += &format!("static void session_{number}(void)\n{{\n");
        if let Some(cut) = cut {
            text += &format!("    cut_after = {};\n    after_cut = flash_{number};\n", cut.after);
        }
        if let Some(PowerCut { decay: Decay::AtOperation(after), .. }) = before {
            text += &format!("    decay_after = {after};\n");
        }
        text += &session.calls.iter().map(|call| format!("    {call}\n")).collect::<String>();
        text += "}\n\n";
        before = cut;
    }
    let names: Vec<String> = (1..=sessions.len()).map(|it| format!("session_{it}")).collect();
    text + &format!("static void (*const sessions[])(void) = {{ {} }};", names.join(", "))
}

// ---- What there is ----------------------------------------------------------------------------

/// The sizes of the chip and the device, as constants.
fn sizes(case: &Case, sessions: &[Session]) -> String {
    let geometry = case.geometry();
    let declaration = case.guest().expect("the FTL is a guest");
    let shape = ChipShape::of(geometry, declaration);
    let order = ["FTLAB_SEQUENTIAL", "FTLAB_ASCENDING", "FTLAB_ANY_ORDER"];
    let changes = sessions.iter().flat_map(|session| &session.calls);
    let changes = changes.filter(|call| call.contains("_sectors(")).count();
    let dimensions = case.dimensions();
    let numbers = [
        ("BLOCKS", shape.blocks, ""),
        ("PER_BLOCK", shape.pages_per_block, "pages"),
        ("PAGES", geometry.pages(), ""),
        ("PAGE_BYTES", shape.page_bytes, ""),
        ("SPARE_BYTES", shape.spare_bytes, ""),
        ("DIES", shape.dies, ""),
        ("BITS_PER_CELL", shape.bits_per_cell, ""),
        ("PAIR_DISTANCE", shape.pair_distance, ""),
        ("SECTORS", dimensions.pages * dimensions.sectors_per_page, "that the host sees"),
        ("WRITES", changes as u32, "at most this number to a sector"),
        ("OPERATIONS_MAX", shape.operations_max() as u32, "in a call"),
        ("PATIENCE", isolated::short_patience().as_secs() as u32, "seconds for a session"),
    ];
    let line = |(name, number, what): &(&str, u32, &str)| match *what {
        "" => format!("#define {name} {number}u\n"),
        what => format!("#define {name} {number}u /* {what} */\n"),
    };
    let text: String = numbers.iter().map(line).collect();
    text + &format!(
        "#define ORDER {}\n#define SEED {}u\n#define LIBRARY {}",
        order[shape.program_order as usize],
        case.seed,
        quoted(library(case))
    )
}

/// A string of C.
fn quoted(text: &str) -> String {
    let escaped = text.bytes().map(|byte| match byte {
        b'"' | b'\\' | b'?' => format!("\\{}", byte as char),
        b' '..=b'~' => (byte as char).to_string(),
        _ => format!("\\{byte:03o}"),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_written_as_c_takes_them() {
        assert_eq!(quoted("a \"b\\?"), r#""a \"b\\\?""#);
        assert_eq!(quoted("\n\u{e9}"), r#""\012\303\251""#);
        assert_eq!(in_comment("a */ b"), "a * / b");
    }

    #[test]
    fn functions_that_nothing_calls_are_left_out() {
        let (main, used) = ("int main(void)\n{\n    used();\n}", "static int used(void)\n{}");
        let idle = "static void *idle(void)\n{\n    only_of_idle();\n}";
        let other = "static void only_of_idle(void)\n{\n    unused();\n}";
        let text = [used, other, idle, main].join("\n\n");
        assert_eq!(without_idle_functions(&text), [used, main].join("\n\n"));
        for (text, is_word) in
            [("a used(b", true), ("used", true), ("unused", false), ("used_up", false), ("", false)]
        {
            assert_eq!(has_word(text, "used"), is_word, "{text}");
        }
    }
}
