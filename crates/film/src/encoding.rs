//! A film as bytes. docs/film.md defines the format.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use nand::{Cause, Lpn, Op, RecordedBulk};

use crate::column::Column;
use crate::header::{About, CourseHeader, Header, TakeHeader};
use crate::moment::HostOp;
use crate::picture::BlockCell;
use crate::scene::SceneKind;
use crate::take::{Counters, Take, TakenRequest};

/// The first bytes of a film, before it is compressed.
pub const MAGIC: &[u8; 8] = b"ftlfilm1";

/// The number of a copy among the kinds of operations: one more than those of [`Op`].
const COPY: u8 = Op::ALL.len() as u8;

/// What is added to the number of a program, an erase or a copy of the media: see
/// [`About::is_of_media`].
const OF_MEDIA: u8 = 3;

/// Bits of the cause in the code of a bulk.
const CAUSE_BITS: u32 = 4;

/// A film.
#[derive(Clone, Debug)]
pub struct Film {
    /// Its bytes, compressed by gzip.
    pub bytes: Vec<u8>,
    /// What it is of.
    pub about: About,
    /// The kinds of scenes that there could be.
    pub kinds: Vec<SceneKind>,
    /// Those of the scenes in it.
    pub kinds_seen: Vec<SceneKind>,
    /// The names of its gauges.
    pub gauges: Vec<&'static str>,
    /// What it left out, in a sentence; empty if it shows everything.
    pub left_out: String,
}

/// What is encoded.
pub struct Uncoded<'a> {
    /// What the film is of.
    pub about: &'a About,
    /// Pages in each block.
    pub pages_per_block: u32,
    /// Bytes of data in a page.
    pub page_bytes: u32,
    /// The takes.
    pub takes: &'a [Take],
    /// Names of roles.
    pub roles: &'a [&'static str],
    /// Names of gauges.
    pub gauges: &'a [&'static str],
    /// Kinds of scenes.
    pub kinds: &'a [SceneKind],
    /// Counters along the pass. The last are those at its end.
    pub course: &'a [Counters],
}

impl Uncoded<'_> {
    /// The film.
    pub fn film(&self) -> Film {
        let mut columns = Columns::new(self.gauges.len());
        let mut before: Option<&Take> = None;
        for take in self.takes {
            columns.frame(take, before);
            columns.take(take, self.about);
            before = Some(take);
        }
        let left_out = self.left_out();
        let columns = columns.named();
        let end = self.course.last().expect("a film has an end");
        let header = Header {
            film: 1,
            about: self.about,
            blocks: self.takes[0].blocks.len() as u32,
            pages_per_block: self.pages_per_block,
            page_bytes: self.page_bytes,
            operations: Op::ALL.iter().map(|op| op.name()).collect(),
            causes: Cause::ALL.iter().map(|cause| cause.name()).collect(),
            roles: self.roles,
            gauges: self.gauges,
            scenes: self.kinds,
            requests: end.requests,
            pass_operations: end.tally.operations(),
            left_out: left_out.clone(),
            takes: self.takes.iter().map(TakeHeader::of).collect(),
            course: CourseHeader::of(self.course),
            columns: columns.iter().map(|(name, it)| (name.clone(), it.bytes.len())).collect(),
        };
        let header = serde_json::to_vec(&header).expect("a header is plain data");
        let mut out = GzEncoder::new(Vec::new(), Compression::new(7));
        let mut put = |bytes: &[u8]| out.write_all(bytes).expect("memory takes everything");
        put(MAGIC);
        put(&(header.len() as u32).to_le_bytes());
        put(&header);
        columns.iter().for_each(|(_, column)| put(&column.bytes));
        let bytes = out.finish().expect("memory takes everything");
        Film {
            bytes,
            about: self.about.clone(),
            kinds: self.kinds.to_vec(),
            kinds_seen: self.kinds_seen(),
            gauges: self.gauges.to_vec(),
            left_out,
        }
    }

    fn kinds_seen(&self) -> Vec<SceneKind> {
        let scenes = self.takes.iter().flat_map(|take| &take.scenes);
        let seen: BTreeSet<u32> = scenes.map(|scene| scene.kind).collect();
        seen.into_iter().map(|kind| self.kinds[kind as usize]).collect()
    }

    fn left_out(&self) -> String {
        let shown: usize = self.takes.iter().map(|take| take.requests.len()).sum();
        let all = self.course.last().map_or(0, |end| end.requests);
        if shown as u64 == all {
            return String::new();
        }
        format!(
            "The film shows {shown} of {all} requests, in {} parts with all their operations; \
             lines in the curves mark the gaps.",
            self.takes.len()
        )
    }
}

/// The columns of a film, and the numbers from which they count.
#[derive(Default)]
struct Columns {
    frame_blocks: Column,
    frame_owner: Column,
    frame_state: Column,
    frame_stream: Column,
    frame_born: Column,
    request_number: Column,
    request_op: Column,
    request_spans: Column,
    span: Column,
    request_bulks: Column,
    request_scenes: Column,
    scene: Column,
    request_corrections: Column,
    correction: Column,
    request_roles: Column,
    role: Column,
    request_entered: Column,
    request_free: Column,
    bulk_code: Column,
    bulk_count: Column,
    bulk_place: Column,
    program_owner: Column,
    copy_from: Column,
    gauges: Vec<Column>,
    last: Last,
}

/// The numbers before, or those that would follow them.
#[derive(Default)]
struct Last {
    frame_owner: u32,
    frame_born: u32,
    number: u64,
    entered: u64,
    free_blocks: u32,
    span_end: u32,
    /// Behind the last place of each kind of operation.
    place: [u32; (COPY + OF_MEDIA) as usize + 1],
    owner: u32,
    source: u32,
    correction: u32,
}

impl Columns {
    fn new(gauges: usize) -> Columns {
        Columns { gauges: vec![Column::default(); gauges], ..Columns::default() }
    }

    fn named(self) -> Vec<(String, Column)> {
        let gauges = self.gauges.into_iter().enumerate();
        let gauges = gauges.map(|(at, column)| (format!("gauge_{at}"), column));
        let named = [
            ("frame_blocks", self.frame_blocks),
            ("frame_owner", self.frame_owner),
            ("frame_state", self.frame_state),
            ("frame_stream", self.frame_stream),
            ("frame_born", self.frame_born),
            ("request_number", self.request_number),
            ("request_op", self.request_op),
            ("request_spans", self.request_spans),
            ("span", self.span),
            ("request_bulks", self.request_bulks),
            ("request_scenes", self.request_scenes),
            ("scene", self.scene),
            ("request_corrections", self.request_corrections),
            ("correction", self.correction),
            ("request_roles", self.request_roles),
            ("role", self.role),
            ("request_entered", self.request_entered),
            ("request_free", self.request_free),
            ("bulk_code", self.bulk_code),
            ("bulk_count", self.bulk_count),
            ("bulk_place", self.bulk_place),
            ("program_owner", self.program_owner),
            ("copy_from", self.copy_from),
        ];
        named.map(|(name, column)| (name.to_owned(), column)).into_iter().chain(gauges).collect()
    }

    // ---- The flash before a take ----------------------------------------------------------------

    /// The blocks that may differ from those at the end of the take before; all blocks for the
    /// first take. A take that follows the one before directly begins where that ended.
    fn frame(&mut self, take: &Take, before: Option<&Take>) {
        let follows = before.is_some_and(|before| before.number + 1 == take.number) && !take.is_cut;
        let is_new = |at: usize, block: &Arc<BlockCell>| {
            !follows && before.is_none_or(|before| !Arc::ptr_eq(&before.blocks[at], block))
        };
        let changed = take.blocks.iter().enumerate().filter(|(at, block)| is_new(*at, block));
        self.frame_blocks.number(changed.clone().count() as u64);
        let mut next = 0;
        for (number, block) in changed {
            self.frame_blocks.number((number - next) as u64);
            next = number + 1;
            self.block(block);
        }
        self.last.entered = take.before.entered;
        self.last.free_blocks = take.before.free_blocks;
    }

    fn block(&mut self, block: &BlockCell) {
        self.frame_blocks.number(block.wear.into());
        self.frame_blocks.byte(block.role.name);
        self.frame_blocks.optional(block.role.of);
        for page in &block.pages {
            owner(&mut self.frame_owner, page.owner, &mut self.last.frame_owner);
            if page.is_erased() {
                continue;
            }
            self.frame_state.byte(page.state as u8 | (page.cause as u8) << 2);
            self.frame_stream.byte(page.stream);
            self.frame_born.from_expected(page.born, self.last.frame_born);
            self.last.frame_born = page.born + u32::from(page.born > 0);
        }
    }

    // ---- A take -------------------------------------------------------------------------------

    fn take(&mut self, take: &Take, about: &About) {
        take.requests.iter().for_each(|request| self.request(request));
        for span in &take.spans {
            self.span.from_expected(span.first, self.last.span_end);
            self.span.number(span.pages.into());
            self.span.byte(span.stream);
            self.last.span_end = span.first + span.pages;
        }
        for scene in &take.scenes {
            let numbers = [scene.kind, scene.first, scene.operations, scene.reads, scene.programs];
            numbers.into_iter().for_each(|number| self.scene.number(number.into()));
            let numbers = [scene.copies, scene.erases, scene.sources];
            numbers.into_iter().for_each(|number| self.scene.number(number.into()));
            let numbers = [scene.lbn, scene.target, scene.victim];
            numbers.into_iter().for_each(|number| self.scene.optional(number));
        }
        for correction in &take.corrections {
            self.correction.from_expected(correction.owner, self.last.correction);
            self.correction.optional(correction.place);
            self.last.correction = correction.owner + 1;
        }
        for (block, role) in &take.roles {
            self.role.number((*block).into());
            self.role.byte(role.name);
            self.role.optional(role.of);
        }
        take.operations.bulks().for_each(|bulk| self.bulk(&bulk, about));
    }

    fn request(&mut self, request: &TakenRequest) {
        self.request_number.number(request.number - self.last.number);
        self.last.number = request.number;
        self.request_op.byte(match request.op {
            HostOp::Read => 0,
            HostOp::Write => 1,
            HostOp::Trim => 2,
            HostOp::Flush => 3,
            HostOp::Mount => 4,
            HostOp::Cut => 5,
            HostOp::Check => 6,
            HostOp::Idle => 7,
        });
        self.request_spans.number(request.spans.into());
        self.request_bulks.number(request.bulks.into());
        self.request_scenes.number(request.scenes.into());
        self.request_corrections.number(request.corrections.into());
        self.request_roles.number(request.roles.into());
        self.request_entered.signed(request.entered as i64 - self.last.entered as i64);
        self.last.entered = request.entered;
        self.request_free.from_expected(request.free_blocks, self.last.free_blocks);
        self.last.free_blocks = request.free_blocks;
        self.gauges.iter_mut().zip(&request.gauges).for_each(|(column, &value)| column.real(value));
    }

    fn bulk(&mut self, bulk: &RecordedBulk, about: &About) {
        let kind = |kind: u8, cause: Cause| {
            let changes_flash = kind >= Op::Program as u8;
            let is_apart = changes_flash && about.is_of_media(cause);
            if is_apart { kind + OF_MEDIA } else { kind }
        };
        match bulk {
            RecordedBulk::Run { op, cause, first, owners } => {
                self.head(kind(*op as u8, *cause), *cause as u8, *first, owners.len());
                if *op == Op::Program && !about.is_of_media(*cause) {
                    for &page in *owners {
                        owner(&mut self.program_owner, page, &mut self.last.owner);
                    }
                }
            }
            RecordedBulk::Copies { cause, from, to, .. } => {
                self.head(kind(COPY, *cause), *cause as u8, *to, from.len());
                for &source in *from {
                    self.copy_from.from_expected(source, self.last.source);
                    self.last.source = source + 1;
                }
            }
        }
    }

    fn head(&mut self, kind: u8, cause: u8, place: u32, count: usize) {
        let expected = &mut self.last.place[usize::from(kind)];
        self.bulk_code.byte(kind << CAUSE_BITS | cause);
        self.bulk_count.number(count as u64);
        self.bulk_place.from_expected(place, *expected);
        *expected = place + count as u32;
    }
}

/// An owner: 0 for none, 1 for the FTL's own pages, else its difference from the one that would
/// follow the last owner, by 2 higher.
fn owner(column: &mut Column, owner: u32, next: &mut u32) {
    match Lpn(owner) {
        Lpn::NONE => column.number(0),
        Lpn::SYSTEM => column.number(1),
        Lpn(page) => {
            let difference = i64::from(page) - i64::from(*next);
            column.number(crate::column::zigzag(difference) + 2);
            *next = page + 1;
        }
    }
}
