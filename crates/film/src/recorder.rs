//! Watches a device, request by request, and makes a film of it.

use ftl::contract::Act;
use nand::{FlashArray, Lpn, Op, OpRecord, RecordedBulk};

use crate::cutting::Cutting;
use crate::footage::Footage;
use crate::header::About;
use crate::moment::{HostOp, Moment, Request};
use crate::picture::Picture;
use crate::scene::{Naming, SceneFinder, SceneKind, Step};
use crate::take::{Counters, Take, TakenRequest, TakenSpan};

/// Requests in a take.
const TAKE_REQUESTS: usize = 64;
/// Operations after which a take ends even if it has fewer requests; a copy is one.
const TAKE_STEPS: u64 = 16_384;
/// The most takes.
const TAKES_MAX: usize = 256;
/// The most moments of the course.
const COURSE_MAX: usize = 400;

/// The most pages of a chip of which a film can be made.
pub const PAGES_MAX: u32 = 4 << 20;

/// What is known before a film begins.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// What the film is of.
    pub about: About,
    /// The acts of its scheme. A guest has none.
    pub acts: &'static [Act],
    /// Whether takes are chosen evenly, and not by interest: films of several FTLs then show the
    /// same requests.
    pub is_even: bool,
}

/// Makes a film.
pub struct Recorder {
    plan: Plan,
    picture: Picture,
    finder: SceneFinder,
    cutting: Cutting,
    kinds: Vec<SceneKind>,
    gauges: Vec<&'static str>,
    page_bytes: u32,
    pages_per_block: u32,
    take: Take,
    /// Operations of the current take.
    steps: u64,
    /// The counters at the end of the last request.
    now: Counters,
    course: Course,
}

/// How much of each list belongs to a request.
#[derive(Clone, Copy, Default)]
struct Changes {
    bulks: u32,
    scenes: u32,
    corrections: u32,
    roles: u32,
}

/// Counters at evenly spaced moments.
#[derive(Default)]
struct Course {
    moments: Vec<Counters>,
    /// Takes from one moment to the next, less one.
    skipped: u64,
}

impl Course {
    fn add(&mut self, take: u64, now: &Counters) {
        let every = self.skipped + 1;
        if take.is_multiple_of(every) {
            self.moments.push(now.clone());
        }
        if self.moments.len() > COURSE_MAX {
            self.skipped = 2 * every - 1;
            let mut at = 0;
            self.moments.retain(|_| {
                at += 1;
                at % 2 == 1
            });
        }
    }
}

impl Recorder {
    /// A film that begins now. The counters of the chip are those from which it counts.
    pub fn begin(plan: Plan, now: &Moment) -> Recorder {
        let geometry = now.nand.geometry();
        let (naming, plain_role) = match plan.about.is_guest {
            true => (Naming::Causes, "of the guest"),
            false => (Naming::Roles(plan.acts), "data"),
        };
        let picture = Picture::of(now, plain_role);
        let before = Counters::of(now, 0);
        let take = Take::new(0, &picture, before.clone());
        let mut course = Course::default();
        course.add(0, &before);
        Recorder {
            finder: SceneFinder::new(geometry.pages_per_block(), naming),
            cutting: Cutting::new(TAKES_MAX, plan.is_even),
            kinds: naming.kinds(),
            gauges: now.report().gauges.iter().map(|(name, _)| *name).collect(),
            page_bytes: geometry.page_bytes(),
            pages_per_block: geometry.pages_per_block(),
            plan,
            picture,
            take,
            steps: 0,
            now: before,
            course,
        }
    }

    /// Takes a request that was served, with its operations; `now` is the moment after it.
    pub fn request(&mut self, request: &Request, operations: &OpRecord, now: &Moment) {
        let stream = request.spans.first().map_or(0, |span| span.stream);
        let (mut bulks, mut changes_roles) = (0, false);
        for bulk in operations.bulks() {
            bulks += 1;
            changes_roles |= self.follow(&bulk, stream);
        }
        let is_mounted = request.op == HostOp::Mount;
        let roles = match changes_roles || is_mounted {
            true => self.picture.take_roles(now),
            false => Vec::new(),
        };
        let scenes_before = self.take.scenes.len();
        self.take.scenes.extend(self.finder.finish(&self.picture));
        let corrections = self.correct(request, operations, now);
        let changes = Changes {
            bulks,
            scenes: (self.take.scenes.len() - scenes_before) as u32,
            corrections,
            roles: roles.len() as u32,
        };
        self.take.operations.append(operations);
        self.take.roles.extend(roles);
        let requests = self.now.requests + 1;
        let counters = match now.ftl {
            Some(_) => Counters::of(now, requests),
            // Nobody knows more than at the end of the last request.
            None => Counters { requests, tally: now.nand.tally().clone(), ..self.now.clone() },
        };
        self.push(request, changes, counters);
        if is_mounted && now.nand.media().is_some() {
            self.look_again(now);
        }
    }

    /// On flash that fails, a mount finds out which blocks stand behind the numbers of the FTL. So
    /// all blocks may be others than a cut has left behind these numbers.
    fn look_again(&mut self, now: &Moment) {
        if !self.take.requests.is_empty() {
            self.end_take();
        }
        self.picture.look_again(now);
        self.take = Take::new(self.take.number, &self.picture, self.now.clone());
        self.take.is_cut = true;
    }

    /// Adds a request to the take.
    fn push(&mut self, request: &Request, changes: Changes, counters: Counters) {
        let spans = request.spans.iter();
        self.take.spans.extend(spans.map(|it| TakenSpan {
            first: it.first,
            pages: it.pages,
            stream: it.stream,
        }));
        let Changes { bulks, scenes, corrections, roles } = changes;
        self.now = counters;
        self.take.requests.push(TakenRequest {
            number: request.number,
            op: request.op,
            spans: request.spans.len() as u32,
            bulks,
            scenes,
            corrections,
            roles,
            entered: self.now.entered,
            free_blocks: self.now.free_blocks,
            gauges: self.now.gauges.clone(),
        });
        if self.is_take_full() {
            self.end_take();
        }
    }

    /// The power fails, and leaves this flash.
    ///
    /// # Errors
    /// The storage failed.
    pub fn cut(&mut self, flash: &FlashArray, number: u64) -> nand::Result<()> {
        if !self.take.requests.is_empty() {
            self.end_take();
        }
        self.picture.take_flash(flash)?;
        let (requests, gauges) = (self.now.requests, vec![0.0; self.gauges.len()]);
        let off = Counters { requests, gauges, ..Counters::default() };
        self.take = Take::new(self.take.number, &self.picture, off.clone());
        self.take.is_cut = true;
        let request = Request { number, op: HostOp::Cut, spans: &[] };
        let counters = Counters { requests: requests + 1, ..off };
        self.push(&request, Changes::default(), counters);
        Ok(())
    }

    /// Ends the film.
    pub fn finish(mut self) -> Footage {
        if !self.take.requests.is_empty() || self.cutting.takes().is_empty() {
            self.end_take();
        }
        let mut course = self.course.moments;
        if course.last().is_none_or(|last| last.requests != self.now.requests) {
            course.push(self.now);
        }
        Footage {
            about: self.plan.about,
            pages_per_block: self.pages_per_block,
            page_bytes: self.page_bytes,
            cutting: self.cutting,
            roles: self.picture.role_names,
            gauges: self.gauges,
            kinds: self.kinds,
            course,
        }
    }

    fn is_take_full(&self) -> bool {
        let is_long = !self.plan.is_even && self.steps >= TAKE_STEPS;
        is_long || self.take.requests.len() == TAKE_REQUESTS
    }

    fn end_take(&mut self) {
        let number = self.take.number + 1;
        let next = Take::new(number, &self.picture, self.now.clone());
        self.course.add(number, &self.now);
        self.cutting.add(core::mem::replace(&mut self.take, next));
        self.steps = 0;
    }

    /// Follows operations. Returns whether roles may have changed: a block was opened or erased.
    fn follow(&mut self, bulk: &RecordedBulk, stream: u8) -> bool {
        let mut changes_roles = false;
        match bulk {
            RecordedBulk::Run { op, cause, first, owners } => {
                for (place, &owner) in (*first..).zip(*owners) {
                    let step = match op {
                        Op::Read | Op::SpareRead => Step::Read,
                        Op::Program => Step::Program { block: self.picture.block_of(place), owner },
                        Op::Erase => Step::Erase { block: place },
                    };
                    self.finder.step(*cause, step, &self.picture);
                    match op {
                        Op::Program if !self.plan.about.is_of_media(*cause) => {
                            changes_roles |= self.opens_block(place);
                            self.picture.program(place, owner, *cause, stream);
                        }
                        Op::Erase if !self.plan.about.is_of_media(*cause) => {
                            changes_roles = true;
                            self.picture.erase(place);
                        }
                        _ => {}
                    }
                }
                self.steps += owners.len() as u64;
            }
            RecordedBulk::Copies { cause, from, to, owners } => {
                for ((&source, &owner), to) in from.iter().zip(*owners).zip(*to..) {
                    let blocks = [source, to].map(|ppn| self.picture.block_of(ppn));
                    let step = Step::Copy { from: blocks[0], to: blocks[1], owner };
                    self.finder.step(*cause, step, &self.picture);
                    if !self.plan.about.is_of_media(*cause) {
                        changes_roles |= self.opens_block(to);
                        self.picture.copy(source, to, owner, *cause);
                    }
                }
                self.steps += owners.len() as u64;
            }
        }
        changes_roles
    }

    /// Whether a page is the first one of its block that is programmed.
    fn opens_block(&self, ppn: u32) -> bool {
        self.picture.blocks[self.picture.block_of(ppn) as usize].is_erased()
    }

    /// Corrects the places of the pages that the request programmed or trimmed. Returns the number
    /// of corrections.
    fn correct(&mut self, request: &Request, operations: &OpRecord, now: &Moment) -> u32 {
        let before = self.take.corrections.len();
        for bulk in operations.bulks() {
            let owners = match bulk {
                RecordedBulk::Run { op: Op::Program, owners, .. } => owners,
                RecordedBulk::Copies { owners, .. } => owners,
                RecordedBulk::Run { .. } => &[],
            };
            let pages = owners.iter().filter(|&&owner| Lpn(owner).is_host());
            pages.for_each(|&owner| self.take.corrections.extend(self.picture.correct(owner, now)));
        }
        let trimmed = request.spans.iter().filter(|_| request.op == HostOp::Trim);
        let trimmed = trimmed.flat_map(|span| span.first..span.first + span.pages);
        // A mount may know of another version of any page.
        let mounted = if request.op == HostOp::Mount { self.plan.about.logical_pages } else { 0 };
        for owner in trimmed.chain(0..mounted) {
            self.take.corrections.extend(self.picture.correct(owner, now));
        }
        (self.take.corrections.len() - before) as u32
    }
}
