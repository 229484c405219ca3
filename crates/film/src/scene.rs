//! Scenes: merges, collections and other acts among the operations of a request.
//!
//! ```text
//! host  host  │ copy copy copy → block 9 │ erase 4 │ copy copy → block 3 │ erase 7 │
//!   request   └───────── a scene ────────┴────────┘└─────── the next ────┴─────────┘
//! ```
//! Operations belong together as long as they have the same cause and, in merges, fill the same
//! block, in collections, empty the same block. The erases behind them end a scene. Reads and
//! programs of the map, and records that guard against power cuts, belong to the scene around them.

use ftl::contract::Act;
use nand::Cause;
use serde::Serialize;

use crate::picture::{Picture, Role};

/// A kind of scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SceneKind {
    /// Its name.
    pub name: &'static str,
    /// What a scene of this kind is called; words in braces stand for its numbers.
    pub title: &'static str,
    /// What happens and why.
    pub says: &'static str,
}

const COPIED_HOME: &str =
    "{name} of LBN {lbn}: {copies|copy|copies} from {sources|block|blocks} to block {target}";
const MOVED: &str = "{name}: {copies|copy|copies} from {sources|block|blocks} to block {target}, \
                     {erases|erase|erases}";
const COLLECTED: &str = "{name} of block {victim}: {copies|copy|copies}, {erases|erase|erases}";
const COUNTED: &str = "{name}: {reads|read|reads}, {programs|program|programs}, \
                       {copies|copy|copies}, {erases|erase|erases}";
const ERASED: &str = "{name}: block {victim} is erased";

const fn kind(name: &'static str, title: &'static str, says: &'static str) -> SceneKind {
    SceneKind { name, title, says }
}

/// The kinds that every scheme has.
pub const COMMON: [SceneKind; 11] = [
    kind(
        "full merge",
        COPIED_HOME,
        "The newest pages of a logical block are scattered. They are gathered in a clean block, \
         which becomes its data block; the old data block is erased.",
    ),
    kind(
        "partial merge",
        COPIED_HOME,
        "The log block holds the first pages of its logical block in order. The missing ones are \
         copied in behind them. Then the log block becomes the data block, and the old data block \
         is erased.",
    ),
    kind(
        "switch merge",
        ERASED,
        "The log block holds all pages of its logical block in order. It becomes the data block \
         without a copy, and the old data block is erased.",
    ),
    kind(
        "erase of a dead log block",
        ERASED,
        "No page of this block of the log, or of its isolation area, is valid any more. It is \
         erased; nothing needs to be copied.",
    ),
    kind(
        "garbage collection",
        COLLECTED,
        "Few erased blocks are left. The valid pages of a victim are copied to an open block. Then \
         the victim holds nothing of value, and its erase yields a clean block.",
    ),
    kind(
        "padding",
        "{name}: {programs|program|programs} in block {target}",
        "The chip programs the pages of a block in order, so places that hold nothing are filled.",
    ),
    kind(
        "map",
        COUNTED,
        "A part of the map is in flash. Entries are read from there, or written back.",
    ),
    kind(
        "sector log",
        COUNTED,
        "Writes smaller than a page go to a log of sectors. When it is full, the sectors of its \
         oldest block that are still valid are written to their pages.",
    ),
    kind("wear levelling", COUNTED, "Data move to another block, so that all blocks wear evenly."),
    kind(
        "record for a mount",
        COUNTED,
        "What a mount after a power cut needs to know is written to flash.",
    ),
    kind("failed block", COUNTED, "A block failed. Its pages move to a block in reserve."),
];

/// The kinds of a guest, by the causes that it can name. Only the guest knows what a block is for.
const OF_GUESTS: [(Cause, SceneKind); 7] = [
    (
        Cause::Gc,
        kind(
            "garbage collection",
            COUNTED,
            "The guest counts this as garbage collection: it makes room. Which pages it still \
             needs, only the guest knows.",
        ),
    ),
    (Cause::Merge, kind("merge", COUNTED, "The guest counts this as a merge of log blocks.")),
    (Cause::Map, kind("map", COUNTED, "The guest counts this as work on its map in flash.")),
    (Cause::Log, kind("log", COUNTED, "The guest counts this as work on a log of sectors.")),
    (
        Cause::Wear,
        kind("wear levelling", COUNTED, "The guest counts this as levelling the wear of blocks."),
    ),
    (
        Cause::Meta,
        kind(
            "record for a mount",
            COUNTED,
            "The guest counts this as the price of surviving power cuts.",
        ),
    ),
    (
        Cause::Media,
        kind("failed block", COUNTED, "A block failed. Its pages move to a block in reserve."),
    ),
];

/// What names scenes.
#[derive(Clone, Copy, Debug)]
pub enum Naming {
    /// The roles of blocks: the acts of the scheme come first.
    Roles(&'static [Act]),
    /// The causes that a guest names.
    Causes,
}

impl Naming {
    /// The kinds of a film: those that every scheme has, then those of the scheme.
    pub fn kinds(self) -> Vec<SceneKind> {
        let Naming::Roles(acts) = self else { return OF_GUESTS.map(|(_, kind)| kind).into() };
        let own = acts.iter().map(|act| kind(act.name, title_of(act), act.says));
        COMMON.into_iter().chain(own).collect()
    }
}

fn title_of(act: &Act) -> &'static str {
    match (act.cause, act.to) {
        (Cause::Map, _) => COUNTED,
        (Cause::Gc, _) => COLLECTED,
        (_, "data") => COPIED_HOME,
        _ => MOVED,
    }
}

/// A scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scene {
    /// The number of its kind.
    pub kind: u32,
    /// The first of its operations, counted from the first of the request.
    pub first: u32,
    /// Its operations. A copy is one.
    pub operations: u32,
    /// The logical block of all its pages, if they belong to one.
    pub lbn: Option<u32>,
    /// Reads besides those of copies.
    pub reads: u32,
    /// Programs besides those of copies.
    pub programs: u32,
    /// Copies.
    pub copies: u32,
    /// Erases.
    pub erases: u32,
    /// Blocks from which pages were copied.
    pub sources: u32,
    /// The block that took the pages; the last one if there are several.
    pub target: Option<u32>,
    /// The first block that was emptied or erased.
    pub victim: Option<u32>,
}

/// One operation with what is known of it before it takes effect.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A page, or its spare area, is read.
    Read,
    /// A page is programmed.
    Program {
        /// Its block.
        block: u32,
        /// Its owner.
        owner: u32,
    },
    /// A page is copied.
    Copy {
        /// The block of the source.
        from: u32,
        /// The block of the destination.
        to: u32,
        /// The owner.
        owner: u32,
    },
    /// A block is erased.
    Erase {
        /// The block.
        block: u32,
    },
}

/// Finds the scenes of a request.
pub struct SceneFinder {
    pages_per_block: u32,
    naming: Naming,
    at: u32,
    open: Option<OpenScene>,
    done: Vec<OpenScene>,
}

/// A scene whose kind is not known yet: the role of a new block is known at the end of a request.
struct OpenScene {
    cause: Cause,
    scene: Scene,
    sources: Vec<u32>,
    /// Roles of the blocks from which pages were copied, and of those erased, as they were before.
    from: Vec<Role>,
    erased: Vec<Role>,
    /// The role that the target had before; none if it was erased.
    to: Option<Role>,
    pages: SeenPages,
}

/// The logical blocks of the pages of a scene.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SeenPages {
    None,
    Of(u32),
    Several,
}

impl SceneFinder {
    /// A finder that names scenes so.
    pub fn new(pages_per_block: u32, naming: Naming) -> SceneFinder {
        SceneFinder { pages_per_block, naming, at: 0, open: None, done: Vec::new() }
    }

    /// Takes the next operation of the request. The picture is that before it.
    pub fn step(&mut self, cause: Cause, step: Step, before: &Picture) {
        if matches!(cause, Cause::Host | Cause::Rmw) {
            self.done.extend(self.open.take());
        } else {
            if !self.open.as_ref().is_some_and(|open| open.goes_on(cause, step)) {
                self.done.extend(self.open.take());
                self.open = Some(OpenScene::new(cause, self.at));
            }
            let lbn = |owner: u32| owner / self.pages_per_block;
            let open = self.open.as_mut().expect("opened above");
            open.add(step, before, lbn);
        }
        self.at += 1;
    }

    /// The scenes of the request, which has ended; the picture is that after it.
    pub fn finish(&mut self, after: &Picture) -> impl Iterator<Item = Scene> + use<> {
        self.at = 0;
        self.done.extend(self.open.take());
        let (naming, done) = (self.naming, core::mem::take(&mut self.done));
        let roles = after.role_names.clone();
        let target = |open: &OpenScene| {
            let block = open.scene.target? as usize;
            open.to.or_else(|| Some(after.blocks[block].role))
        };
        let targets: Vec<Option<Role>> = done.iter().map(target).collect();
        done.into_iter().zip(targets).map(move |(open, to)| {
            let kind = open.kind(naming, &roles, to);
            Scene { kind, sources: open.sources.len() as u32, lbn: open.lbn(), ..open.scene }
        })
    }
}

impl OpenScene {
    fn new(cause: Cause, first: u32) -> OpenScene {
        let scene = Scene {
            kind: 0,
            first,
            operations: 0,
            lbn: None,
            reads: 0,
            programs: 0,
            copies: 0,
            erases: 0,
            sources: 0,
            target: None,
            victim: None,
        };
        OpenScene {
            cause,
            scene,
            sources: Vec::new(),
            from: Vec::new(),
            erased: Vec::new(),
            to: None,
            pages: SeenPages::None,
        }
    }

    /// Whether an operation belongs to this scene, too.
    fn goes_on(&self, cause: Cause, step: Step) -> bool {
        if cause != self.cause {
            let moves_data = matches!(self.cause, Cause::Gc | Cause::Merge);
            return cause == Cause::Meta || (cause == Cause::Map && moves_data);
        }
        match (cause, step) {
            (Cause::Merge, Step::Copy { to: block, .. } | Step::Program { block, .. }) => {
                self.scene.erases == 0 && self.scene.target.is_none_or(|target| target == block)
            }
            (Cause::Gc, Step::Copy { from, .. }) => {
                self.scene.erases == 0 && self.scene.victim.is_none_or(|victim| victim == from)
            }
            // Blocks that were never filled are erased one by one.
            (Cause::Merge | Cause::Gc, Step::Erase { .. }) => {
                self.scene.copies > 0 || self.scene.erases == 0
            }
            _ => true,
        }
    }

    fn add(&mut self, step: Step, before: &Picture, lbn: impl Fn(u32) -> u32) {
        self.scene.operations += 1;
        match step {
            Step::Read => self.scene.reads += 1,
            Step::Program { block, owner } => {
                self.scene.programs += 1;
                self.fill(block, before);
                if self.scene.copies == 0 {
                    self.see(lbn(owner));
                }
            }
            Step::Copy { from, to, owner } => {
                self.scene.copies += 1;
                self.scene.victim.get_or_insert(from);
                self.fill(to, before);
                self.see(lbn(owner));
                if !self.sources.contains(&from) {
                    self.sources.push(from);
                    self.from.push(before.blocks[from as usize].role);
                }
            }
            Step::Erase { block } => {
                self.scene.erases += 1;
                self.scene.victim.get_or_insert(block);
                self.erased.push(before.blocks[block as usize].role);
            }
        }
    }

    fn fill(&mut self, block: u32, before: &Picture) {
        if self.scene.target != Some(block) {
            self.scene.target = Some(block);
            let cell = &before.blocks[block as usize];
            self.to = (!cell.is_erased()).then_some(cell.role);
        }
    }

    fn see(&mut self, lbn: u32) {
        self.pages = match self.pages {
            SeenPages::None => SeenPages::Of(lbn),
            SeenPages::Of(known) if known == lbn => SeenPages::Of(lbn),
            _ => SeenPages::Several,
        };
    }

    fn lbn(&self) -> Option<u32> {
        match self.pages {
            SeenPages::Of(lbn) => Some(lbn),
            _ => None,
        }
    }

    fn kind(&self, naming: Naming, names: &[&str], to: Option<Role>) -> u32 {
        let Naming::Roles(acts) = naming else { return self.kind_of_guest() };
        let is = |role: &Role, name: &str| names[role.name as usize] == name;
        let fits = |act: &Act| {
            let from = act.from.is_empty() || self.from.iter().any(|role| is(role, act.from));
            let to = act.to.is_empty() || to.is_some_and(|role| is(&role, act.to));
            act.cause == self.cause && from && to && self.scene.target.is_some()
        };
        match acts.iter().position(fits) {
            Some(own) => (COMMON.len() + own) as u32,
            None => self.common(|role| is(role, "data")),
        }
    }

    fn kind_of_guest(&self) -> u32 {
        let kind = OF_GUESTS.iter().position(|(cause, _)| *cause == self.cause);
        kind.expect("every cause of a scene is in the list") as u32
    }

    fn common(&self, is_data: impl Fn(&Role) -> bool) -> u32 {
        let name = match self.cause {
            Cause::Merge if self.scene.copies > 0 && self.to.is_none() => "full merge",
            Cause::Merge if self.scene.copies > 0 => "partial merge",
            Cause::Merge if self.scene.programs > 0 => "padding",
            Cause::Merge if self.erased.iter().any(is_data) => "switch merge",
            Cause::Merge => "erase of a dead log block",
            Cause::Gc => "garbage collection",
            Cause::Map => "map",
            Cause::Log => "sector log",
            Cause::Wear => "wear levelling",
            Cause::Meta => "record for a mount",
            Cause::Media => "failed block",
            Cause::Host | Cause::Rmw => unreachable!("operations of the host are no scene"),
        };
        let number = COMMON.iter().position(|kind| kind.name == name);
        number.expect("every name is in the list") as u32
    }
}
