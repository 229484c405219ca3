//! The list of workloads, by kind.
//!
//! A new workload is a file in the folder of its kind, with a `WORKLOAD`, and its line below. The
//! command line, its help and the tests read this list.

use crate::catalogue::catalogue;
use crate::generate::workload::Workload;

catalogue! {
    /// All workloads that can be generated.
    pub static WORKLOADS: [Workload], WORKLOAD of each file;

    /// One idea with a few parameters.
    plain {
        uniform,
        sequential,
        zipf,
        skew,
        mixed,
        oltp,
    }

    /// Substitutes for traces that papers used and did not publish, fitted to what they report.
    calibrated {
        tpcc,
        tpcc_drift,
        financial,
        desktop,
        webproxy,
        sysmark,
    }

    /// Workloads that a standard defines.
    standard {
        jesd219,
    }

    /// Caches and databases of today, after published descriptions.
    stores {
        kvcache,
        lsm,
        cdn,
    }
}

#[cfg(test)]
pub(crate) mod tests;
