//! streams: the host says which pages belong together (multi-stream SSDs, Flexible Data Placement).
//!
//! ```text
//! stream 1  ─▶ class 0 [3 0 7 3 _ _]     isolation=persistent: copies stay in their class
//! stream 2  ─▶ class 1 [5 1 9 _ _ _]     isolation=initial: all copies share one class more
//! ```
//! The host knows what it writes: logs, tables, the files of a tenant. It names a stream with each
//! write, and pages of one stream share blocks. Flexible Data Placement calls a stream a placement
//! handle, and knows both fates of a page that is copied: in a *persistently isolated* unit it
//! never meets pages of other handles; in an *initially isolated* one it does so when it is copied.
//! With `isolation=initial` the first handles may be persistently isolated nevertheless:
//! `persistent` says how many.
//!
//! **Reclaim units.** A handle fills a unit of `unit` blocks, and a unit is collected as a whole
//! ([`reclaim_units`](crate::part::page::reclaim_units)).
//!
//! **Reclaim groups.** A placement identifier names a group and a handle: with H handles, streams 1
//! to H are those of the first of the `groups`, the next H those of the second. Copies never leave
//! their group. Departure: blocks do not belong to a group for good. A group takes free blocks as
//! it needs them, so the host cannot fill one up while others have room.
//!
//! Where streams come from is said when a trace is replayed (`--streams`). A write without a stream
//! goes to the first class, as to the default handle. If there are more streams than classes, they
//! share them in turn: stream s goes to class (s−1) mod N. With `beyond=first` they go to the first
//! class, which is what the standard asks for an identifier that the device does not know.

use nand::{ChipModel, Nand};
use spec::{Kind, Param, Params};

use crate::contract::page_policy::{Class, HostWrite, MovedPage, PagePolicy};
use crate::contract::{Ftl, Lecture, Metric, MountConfig, Result, Scheme, table_bytes};
use crate::part::page::block_classes::KEPT_CLASSES_MAX;
use crate::part::page::placed;
use crate::part::page::victims::registry;

/// Maximum number of streams: with a class for copies all classes survive a power cut.
const STREAMS_MAX: u64 = KEPT_CLASSES_MAX as u64 - 1;
/// The largest reclaim unit, in blocks.
const UNIT_BLOCKS_MAX: u64 = 65_536;

const PARAMS: &[&[Param]] = &[
    &[
        Param {
            name: "streams",
            kind: Kind::Count,
            default: "4",
            unit: "classes",
            doc: "N, the number of classes for streams, each with its own open block; 1 to 15",
        },
        Param {
            name: "isolation",
            kind: Kind::Choice(&["persistent", "initial"]),
            default: "persistent",
            unit: "",
            doc: "persistent: copies stay in the class of their stream; initial: the copies of all \
                  streams share a class of their own",
        },
        Param {
            name: "persistent",
            kind: Kind::Count,
            default: "0",
            unit: "classes",
            doc: "with isolation=initial: the number of classes, from the first one on, that keep \
                  their copies nevertheless",
        },
        Param {
            name: "groups",
            kind: Kind::Count,
            default: "1",
            unit: "groups",
            doc: "number of reclaim groups; each has N classes for streams, and copies do not \
                  leave their group",
        },
        Param {
            name: "unit",
            kind: Kind::Count,
            default: "1",
            unit: "blocks",
            doc: "size of a reclaim unit, which a class fills and which is collected as a whole",
        },
        Param {
            name: "beyond",
            kind: Kind::Choice(&["turn", "first"]),
            default: "turn",
            unit: "",
            doc: "what happens to streams beyond the last class: turn: all classes are shared in \
                  turn; first: they go to the first class",
        },
        registry::victim_param("greedy"),
    ],
    &registry::OWN_PARAMS,
];

/// Placement by streams of the host.
pub static SCHEME: Scheme = Scheme {
    name: "streams",
    summary: "page mapping with an open block for each stream that the host names",
    source: "NVM Express: TP4146 Flexible Data Placement, 2022; Kang, Hyun, Maeng, Cho: The \
             multi-streamed solid-state drive, HotStorage 2014",
    lecture: Lecture::of(file!(), include_str!("streams.rs")),
    params: &spec::joined::<{ spec::total_len(PARAMS) }>(PARAMS),
    corners: &["streams=2,isolation=initial", "streams=2,isolation=initial,persistent=1,unit=2"],
    refuses,
    least_extra: |params, _, _| {
        let streams = Streams::of(params);
        let in_open_units = (streams.unit_blocks - 1) * u32::from(streams.classes());
        in_open_units + placed::extra_blocks(streams.classes(), streams.copy_classes())
    },
    open_blocks: Some(|params| Streams::of(params).classes().into()),
    memory: |params, geometry, _| {
        let for_units = if params.count("unit") > 1 { 64 } else { 0 };
        table_bytes(geometry, 4, 48 + for_units)
    },
    mount,
    ..Scheme::PLAIN
};

fn refuses(params: &Params, _: &ChipModel) -> Option<String> {
    let count = |name| params.count(name);
    let (streams, groups, persistent) = (count("streams"), count("groups"), count("persistent"));
    let meet = params.choice("isolation") == "initial";
    if !(1..=STREAMS_MAX).contains(&streams) {
        return Some(format!("streams={streams}; 1 to {STREAMS_MAX} are possible"));
    }
    let classes = groups.saturating_mul(streams + u64::from(meet));
    if groups == 0 || groups > 1 && classes > u64::from(KEPT_CLASSES_MAX) {
        return Some(format!(
            "groups={groups},streams={streams} make {classes} classes with those for copies; 1 to \
             {KEPT_CLASSES_MAX} are possible"
        ));
    }
    if persistent > 0 && (!meet || persistent >= streams) {
        return Some(format!(
            "persistent={persistent} with isolation={} and streams={streams}; it is for \
             isolation=initial, and fewer than the streams; if all keep their copies, give \
             isolation=persistent",
            params.choice("isolation")
        ));
    }
    match count("unit") {
        1..=UNIT_BLOCKS_MAX => registry::refuses(params),
        unit => Some(format!("unit={unit}; 1 to {UNIT_BLOCKS_MAX} blocks are possible")),
    }
}

fn mount(nand: &mut Nand, device: &MountConfig) -> Result<Box<dyn Ftl>> {
    placed::mount(nand, device, |_| Streams::of(device.params))
}

struct Streams {
    /// Classes for streams in each group.
    streams: u8,
    groups: u8,
    /// Whether copies share a class of their own, one in each group.
    copies_meet: bool,
    /// Classes in each group, from the first one on, that keep their copies even so.
    persistent: u8,
    unit_blocks: u32,
    /// Whether streams beyond the last class go to the first one.
    beyond_to_first: bool,
    /// Pages of such streams since the mount.
    beyond_pages: u64,
}

impl Streams {
    fn of(params: &Params) -> Streams {
        let count = |name| params.count(name) as u8;
        Streams {
            streams: count("streams"),
            groups: count("groups"),
            copies_meet: params.choice("isolation") == "initial",
            persistent: count("persistent"),
            unit_blocks: params.count("unit") as u32,
            beyond_to_first: params.choice("beyond") == "first",
            beyond_pages: 0,
        }
    }

    /// Classes for streams in all groups.
    fn host_classes(&self) -> Class {
        self.groups.saturating_mul(self.streams)
    }
}

impl PagePolicy for Streams {
    fn classes(&self) -> Class {
        self.host_classes().saturating_add(if self.copies_meet { self.groups } else { 0 })
    }

    fn copy_classes(&self) -> Class {
        let kept = self.persistent.saturating_add(1);
        self.groups.saturating_mul(if self.copies_meet { kept } else { self.streams })
    }

    fn follows_times(&self) -> bool {
        false
    }

    fn unit_blocks(&self) -> Option<u32> {
        Some(self.unit_blocks)
    }

    fn place(&mut self, write: &HostWrite) -> Result<Class> {
        let (class, classes) = (write.stream.saturating_sub(1), self.host_classes());
        if class < classes {
            return Ok(class);
        }
        self.beyond_pages += 1;
        Ok(if self.beyond_to_first { 0 } else { class % classes })
    }

    fn place_copy(&mut self, copy: &MovedPage) -> Result<Class> {
        let (group, handle) = (copy.class / self.streams, copy.class % self.streams);
        let is_shared = copy.class >= self.host_classes();
        let stays = is_shared || !self.copies_meet || handle < self.persistent;
        Ok(if stays { copy.class } else { self.host_classes() + group })
    }

    fn figures(&self) -> Vec<(&'static str, Metric)> {
        vec![("beyond_pages", Metric::Count(self.beyond_pages))]
    }
}
