//! All workloads.

/// An idea with a few knobs.
pub mod plain {
    pub mod mixed;
    pub mod oltp;
    pub mod sequential;
    pub mod skew;
    pub mod uniform;
    pub mod zipf;
}

/// Traces of papers that nobody can have, made after what the papers say of them.
pub mod calibrated {
    pub mod desktop;
    pub mod financial;
    pub mod sysmark;
    pub mod tpcc;
    pub mod webproxy;
}

use crate::generate::workload::Workload;

/// All workloads that can be generated.
pub static WORKLOADS: &[&Workload] = &[
    &plain::uniform::WORKLOAD,
    &plain::sequential::WORKLOAD,
    &plain::zipf::WORKLOAD,
    &plain::skew::WORKLOAD,
    &plain::mixed::WORKLOAD,
    &plain::oltp::WORKLOAD,
    &calibrated::tpcc::WORKLOAD,
    &calibrated::financial::WORKLOAD,
    &calibrated::desktop::WORKLOAD,
    &calibrated::webproxy::WORKLOAD,
    &calibrated::sysmark::WORKLOAD,
];

#[cfg(test)]
mod tests;
