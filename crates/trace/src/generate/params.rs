//! The keys that workloads share.

use spec::{Kind, Param};

pub(crate) const SHARE: Param = Param {
    name: "share",
    kind: Kind::Share,
    default: "35%",
    unit: "of the space",
    doc: "the share of the space that is ever touched, unless `pages` is given",
};

pub(crate) const WRITES: Param = Param {
    name: "writes",
    kind: Kind::Count,
    default: "1M",
    unit: "requests",
    doc: "the number of writes; reads come on top",
};
pub(crate) const REQUESTS: Param = Param::key(
    "requests",
    Kind::Count,
    "requests",
    "the number of reads and writes together, in place of `writes`; flushes come on top",
);
pub(crate) const SEED: Param = Param::key(
    "seed",
    Kind::Count,
    "a number of 64 bits",
    "the seed of this workload, instead of that of the run",
);
pub(crate) const PAGES: Param = Param::key(
    "pages",
    Kind::Count,
    "pages",
    "the number of different pages that are touched, scattered over the space; default: all",
);
pub(crate) const READS: Param = Param {
    name: "reads",
    kind: Kind::Share,
    default: "0%",
    unit: "of all requests",
    doc: "the share of the requests that are reads, up to 100%; reads have the same pattern as \
          writes",
};
pub(crate) const FLUSHES: Param = Param {
    name: "flushes",
    kind: Kind::Share,
    default: "0%",
    unit: "of the writes",
    doc: "the number of flushes as a share of the writes; they come at random among the requests",
};
pub(crate) const REQUEST: Param = Param::key(
    "request",
    Kind::Size,
    "bytes",
    "the size of a request, a multiple of 512 bytes; default: one page",
);
pub(crate) const INTERARRIVAL: Param = Param {
    name: "interarrival",
    kind: Kind::Time,
    default: "100us",
    unit: "ns",
    doc: "the time from one request to the next, on average if arrivals=poisson",
};
pub(crate) const ARRIVALS: Param = Param {
    name: "arrivals",
    kind: Kind::Choice(&["fixed", "poisson"]),
    default: "fixed",
    unit: "",
    doc: "fixed: a request every `interarrival`; poisson: independent arrivals, so the times \
          between them are exponentially distributed; the requests are the same",
};

/// The share of reads; each calibrated workload has its own default.
pub(crate) const CALIBRATED_READS: Param =
    Param { doc: "the share of the requests that are reads; reads have separate streams", ..READS };
/// The size of the space of a calibrated workload; each has its own default.
pub(crate) const SPACE: Param = Param::key(
    "space",
    Kind::Size,
    "bytes",
    "the size of the workload's space, from the start of the device; scale it with `writes`",
);
/// Whether a store reads what it rewrites; such reads come on top.
pub(crate) const INPUTS: Param = Param {
    name: "inputs",
    kind: Kind::Choice(&["read", "cached"]),
    default: "read",
    unit: "",
    doc: "read: what is merged into new data is read before, on top of `reads`; cached: it is in \
          memory",
};
/// The start of the partition, which shifts requests relative to the pages of the device.
pub(crate) const START: Param = Param {
    name: "start",
    kind: Kind::Size,
    default: "0",
    unit: "bytes",
    doc: "the start of the partition, a multiple of 512 bytes; older systems often used sector 63 \
          (31.5KiB)",
};
