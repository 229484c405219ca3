//! The keys that workloads share.

use spec::{Kind, Param};

pub(crate) const WRITES: Param = Param {
    name: "writes",
    kind: Kind::Count,
    default: "1M",
    unit: "requests",
    doc: "how many requests are writes",
};
pub(crate) const SEED: Param = Param {
    name: "seed",
    kind: Kind::Count,
    default: "",
    unit: "a number of 64 bits",
    doc: "the seed of this workload, instead of the run's",
};
pub(crate) const PAGES: Param = Param {
    name: "pages",
    kind: Kind::Count,
    default: "",
    unit: "pages",
    doc: "how many pages are ever touched, scattered over the space; default: all",
};
pub(crate) const READS: Param = Param {
    name: "reads",
    kind: Kind::Share,
    default: "0%",
    unit: "of all requests",
    doc: "the share of the requests that are reads, placed like the writes",
};
pub(crate) const FLUSHES: Param = Param {
    name: "flushes",
    kind: Kind::Share,
    default: "0%",
    unit: "of the writes",
    doc: "how many flushes there are beside the writes, at random among the requests",
};
pub(crate) const REQUEST: Param = Param {
    name: "request",
    kind: Kind::Size,
    default: "",
    unit: "bytes",
    doc: "the size of a request, in whole sectors of 512 bytes; default: a page",
};
pub(crate) const INTERARRIVAL: Param = Param {
    name: "interarrival",
    kind: Kind::Time,
    default: "100us",
    unit: "ns",
    doc: "the time from one request to the next",
};

/// The share of reads; every calibrated workload has a default of its own.
pub(crate) const CALIBRATED_READS: Param = Param {
    doc: "the share of the requests that are reads; they have streams of their own",
    ..READS
};
/// How much a load is laid over; every calibrated workload has a default of its own.
pub(crate) const SPACE: Param = Param {
    name: "space",
    kind: Kind::Size,
    default: "",
    unit: "bytes",
    doc: "what the load is laid over, from the start of the device; scales with `writes`",
};
/// Shifts a load against the pages of the device.
pub(crate) const START: Param = Param {
    name: "start",
    kind: Kind::Size,
    default: "0",
    unit: "bytes",
    doc: "where the partition begins, in whole sectors; 31.5KiB is sector 63, as once usual",
};
