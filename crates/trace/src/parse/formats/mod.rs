//! The list of trace formats, by family.
//!
//! A new format is a file in the folder of its family, with a `FORMAT`, and its line below. The
//! command line, its help, detection, tests and fuzzers read this list.

use crate::catalogue::catalogue;
use crate::parse::format::Format;

catalogue! {
    /// All formats that can be read.
    pub static FORMATS: [Format], FORMAT of each file;

    /// Traces published by companies and laboratories.
    published {
        spc,
        msr,
        systor,
        tencent,
        alibaba,
        fiu,
        vscsi,
    }

    /// Logs of programs that trace or replay a running system.
    tracers {
        blkparse,
        blktrace,
        blkreplay,
        btrecord,
        ftrace,
        iosnoop,
        fio,
        etw,
        diskmon,
    }

    /// Input files of simulators of disks, SSDs and caches.
    simulators {
        disksim,
        mqsim,
        ssdsim,
        flashsim,
        oracle_general,
        oracle_general_opns,
    }

    /// Columns described by the user.
    custom {
        csv,
    }
}
