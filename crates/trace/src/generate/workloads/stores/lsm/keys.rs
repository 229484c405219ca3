//! The keys of the workload.

use spec::{Kind, Param};

use crate::generate::params::{READS, REQUEST};

pub(super) const LOOKUPS: Param = Param {
    doc: "the share of the requests that are lookups: reads of a page of any table",
    ..READS
};
pub(super) const SPACE: Param = Param {
    default: "4GiB",
    doc: "the size of the store's space, from the start of the device",
    ..crate::generate::params::SPACE
};
pub(super) const DATA: Param = Param {
    name: "data",
    kind: Kind::Share,
    default: "70%",
    unit: "of the space",
    doc: "the entries of the store, each counted once",
};
pub(super) const ENTRY: Param = size("entry", "1KiB", "the size of an entry: a key and its value");
pub(super) const THETA: Param = Param {
    default: "0",
    doc: "the exponent of Zipf's law of the keys that are put, from 0 (uniform) upwards",
    ..crate::generate::zipf_ranks::THETA
};
pub(super) const COMPACTION: Param = Param {
    name: "compaction",
    kind: Kind::Choice(&["leveled", "tiered"]),
    default: "leveled",
    unit: "",
    doc: "leveled: tables are merged into the run of the next level; tiered: all runs of a level \
          become one of the next level",
};
pub(super) const MEMTABLE: Param =
    size("memtable", "4MiB", "the size of the memtable and of its log");
pub(super) const TABLE: Param = size("table", "2MiB", "the largest size of a table");
pub(super) const LEVEL: Param =
    size("level", "10MiB", "leveled: the size of level 1 that is not exceeded");
pub(super) const FANOUT: Param = Param {
    name: "fanout",
    kind: Kind::Count,
    default: "10",
    unit: "levels or runs",
    doc: "leveled: how many times as large a level is as the one above; tiered: the runs of a \
          level that are merged",
};
pub(super) const YOUNG: Param = Param {
    name: "young",
    kind: Kind::Count,
    default: "4",
    unit: "runs",
    doc: "leveled: the runs of level 0 that are merged into level 1",
};
pub(super) const LEVELS: Param = Param::key(
    "levels",
    Kind::Count,
    "levels",
    "the levels below level 0; default: as many as the data need",
);
pub(super) const LOG: Param = Param {
    name: "log",
    kind: Kind::SizeOr(&["off"]),
    default: "4KiB",
    unit: "bytes",
    doc: "the size of a write to the log of the memtable; off: there is no log",
};
pub(super) const DISCARDS: Param = Param {
    name: "discards",
    kind: Kind::Switch,
    default: "true",
    unit: "",
    doc: "whether the places of deleted tables and logs are discarded; discards come on top",
};
pub(super) const PIECE: Param = Param {
    name: "request",
    default: "128KiB",
    doc: "the largest request; tables are written and read in requests of this size",
    ..REQUEST
};

const fn size(name: &'static str, default: &'static str, doc: &'static str) -> Param {
    Param { name, kind: Kind::Size, default, unit: "bytes", doc }
}
