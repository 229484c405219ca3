//! The part of a film that is JSON: what the film shows, and what its numbers mean.

use ftl::Scheme;
use nand::{Cause, Op};
use serde::Serialize;

use crate::scene::SceneKind;
use crate::take::{Counters, Take};

/// What a film is of.
#[derive(Clone, Debug, Default, Serialize)]
pub struct About {
    /// The program that made it, with its version.
    pub made_by: String,
    /// The FTL, as the user wrote it.
    pub ftl: String,
    /// The name of its scheme.
    pub scheme: &'static str,
    /// The scheme in a line.
    pub summary: &'static str,
    /// Its publication.
    pub source: &'static str,
    /// The head of the scheme's source file: how it works.
    pub lecture: String,
    /// Whether it is a guest: nobody but the guest knows which of its pages are valid, what its
    /// blocks are for, and how many of them are free.
    pub is_guest: bool,
    /// What was run, in a sentence.
    pub run: String,
    /// Pages that the host sees.
    pub logical_pages: u32,
}

/// What can be said of a guest.
const OF_A_GUEST: &str = "\
    The film shows what the guest does with the chip: every read, program, copy and erase, under \
    the cause that the guest names.\n\n\
    What the guest keeps to itself is not in the film: which pages are valid, what a block is for, \
    and how many blocks are free.";

impl About {
    /// What this version of ftlab films: an FTL of this scheme, as the user wrote it, in this run.
    pub fn new(scheme: &'static Scheme, ftl: String, run: String, logical_pages: u32) -> About {
        let lecture = scheme.lecture.lines().take_while(|line| !line.starts_with("# "));
        About {
            made_by: format!("ftlab {}", env!("CARGO_PKG_VERSION")),
            ftl,
            scheme: scheme.name,
            summary: scheme.summary,
            source: scheme.source,
            lecture: lecture.collect::<Vec<_>>().join("\n"),
            is_guest: false,
            run,
            logical_pages,
        }
    }

    /// Whether operations of this cause are those of the media below the FTL: blocks in reserve,
    /// the list of moves, and programs that fail. They count, but for the FTL nothing changes. A
    /// guest may level the wear itself.
    pub fn is_of_media(&self, cause: Cause) -> bool {
        cause == Cause::Media || (cause == Cause::Wear && !self.is_guest)
    }

    /// The same if the FTL is a guest.
    pub fn of_guest(self) -> About {
        About { is_guest: true, lecture: OF_A_GUEST.to_owned(), ..self }
    }
}

/// The header.
#[derive(Debug, Serialize)]
pub struct Header<'a> {
    /// The version of the format.
    pub film: u32,
    /// What it is of.
    pub about: &'a About,
    /// The number of blocks.
    pub blocks: u32,
    /// Pages in each block.
    pub pages_per_block: u32,
    /// Bytes of data in a page.
    pub page_bytes: u32,
    /// Kinds of operations.
    pub operations: Vec<&'static str>,
    /// Causes of operations.
    pub causes: Vec<&'static str>,
    /// Names of roles.
    pub roles: &'a [&'static str],
    /// Names of gauges.
    pub gauges: &'a [&'static str],
    /// Kinds of scenes.
    pub scenes: &'a [SceneKind],
    /// Requests of the pass.
    pub requests: u64,
    /// Operations of the pass; a copy is a read and a program.
    pub pass_operations: u64,
    /// What the film left out, in a sentence.
    pub left_out: String,
    /// The takes.
    pub takes: Vec<TakeHeader>,
    /// Counters at evenly spaced moments of the whole pass.
    pub course: CourseHeader,
    /// Names and lengths of the columns, in their order.
    pub columns: Vec<(String, usize)>,
}

/// A take.
#[derive(Debug, Serialize)]
pub struct TakeHeader {
    /// Requests of the pass before it.
    pub before: u64,
    /// Its requests.
    pub requests: usize,
    /// Its operations; a copy is one.
    pub steps: u64,
    /// Programs that the film saw before it: the next one has the number that follows.
    pub programs: u32,
    /// Operations before it by kind and, in each, by cause.
    pub tally: [[u64; Cause::ALL.len()]; Op::ALL.len()],
    /// Pages written before it.
    pub entered: u64,
    /// Free blocks before it.
    pub free_blocks: u32,
    /// Gauges before it.
    pub gauges: Vec<f64>,
}

impl TakeHeader {
    /// The header of a take.
    pub fn of(take: &Take) -> TakeHeader {
        TakeHeader {
            before: take.before.requests,
            requests: take.requests.len(),
            steps: take.steps(),
            programs: take.programs,
            tally: Op::ALL.map(|op| take.before.by_cause(op)),
            entered: take.before.entered,
            free_blocks: take.before.free_blocks,
            gauges: take.before.gauges.clone(),
        }
    }
}

/// Counters along the pass: a list for each.
#[derive(Debug, Default, Serialize)]
pub struct CourseHeader {
    /// Requests served.
    pub requests: Vec<u64>,
    /// Pages programmed.
    pub programs: Vec<u64>,
    /// Blocks erased.
    pub erases: Vec<u64>,
    /// Pages of writes that entered the scheme.
    pub entered: Vec<u64>,
    /// Free blocks.
    pub free_blocks: Vec<u32>,
    /// Each gauge.
    pub gauges: Vec<Vec<f64>>,
}

impl CourseHeader {
    /// The course through these moments.
    pub fn of(moments: &[Counters]) -> CourseHeader {
        let gauges = moments.first().map_or(0, |first| first.gauges.len());
        let gauge = |at: usize| moments.iter().map(|it| it.gauges[at]).collect();
        CourseHeader {
            requests: moments.iter().map(|it| it.requests).collect(),
            programs: moments.iter().map(|it| it.tally.total(Op::Program)).collect(),
            erases: moments.iter().map(|it| it.tally.total(Op::Erase)).collect(),
            entered: moments.iter().map(|it| it.entered).collect(),
            free_blocks: moments.iter().map(|it| it.free_blocks).collect(),
            gauges: (0..gauges).map(gauge).collect(),
        }
    }
}
