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
//!
//! Where streams come from is said when a trace is replayed (`--streams`). A write without a stream
//! goes to the first class, as to the default handle. If there are more streams than classes, they
//! share them in turn: stream s goes to class (s−1) mod N.

use nand::{ChipModel, Nand};
use spec::{Kind, Param, Params};

use crate::contract::page_policy::{Class, HostWrite, MovedPage, PagePolicy};
use crate::contract::{Ftl, Lecture, MountConfig, Result, Scheme, table_bytes};
use crate::part::page::block_classes::KEPT_CLASSES_MAX;
use crate::part::page::placed;
use crate::part::page::victims::registry;

/// Maximum number of streams: with a class for copies all classes survive a power cut.
const STREAMS_MAX: u64 = KEPT_CLASSES_MAX as u64 - 1;

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
    corners: &["streams=2,isolation=initial"],
    refuses,
    least_extra: |params, _, _| {
        let streams = Streams::of(params);
        placed::extra_blocks(streams.classes(), streams.copy_classes())
    },
    open_blocks: Some(|params| Streams::of(params).classes().into()),
    memory: |_, geometry, _| table_bytes(geometry, 4, 48),
    mount,
    ..Scheme::PLAIN
};

fn refuses(params: &Params, _: &ChipModel) -> Option<String> {
    match params.count("streams") {
        1..=STREAMS_MAX => registry::refuses(params),
        streams => Some(format!("streams={streams}; 1 to {STREAMS_MAX} are possible")),
    }
}

fn mount(nand: &mut Nand, device: &MountConfig) -> Result<Box<dyn Ftl>> {
    placed::mount(nand, device, |_| Streams::of(device.params))
}

struct Streams {
    /// Classes for streams.
    streams: u8,
    /// Whether copies share a class of their own.
    copies_meet: bool,
}

impl Streams {
    fn of(params: &Params) -> Streams {
        let streams = params.count("streams") as u8;
        Streams { streams, copies_meet: params.choice("isolation") == "initial" }
    }
}

impl PagePolicy for Streams {
    fn classes(&self) -> Class {
        self.streams + u8::from(self.copies_meet)
    }

    fn copy_classes(&self) -> Class {
        if self.copies_meet { 1 } else { self.streams }
    }

    fn follows_times(&self) -> bool {
        false
    }

    fn place(&mut self, write: &HostWrite) -> Result<Class> {
        Ok(write.stream.saturating_sub(1) % self.streams)
    }

    fn place_copy(&mut self, copy: &MovedPage) -> Result<Class> {
        Ok(if self.copies_meet { self.streams } else { copy.class })
    }
}
