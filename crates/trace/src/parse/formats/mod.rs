//! All trace formats, by family.

/// Traces that companies and laboratories have published.
pub mod published {
    pub mod alibaba;
    pub mod fiu;
    pub mod msr;
    pub mod spc;
    pub mod systor;
    pub mod tencent;
    pub mod vscsi;
}

/// What programs that trace and replay a running system write.
pub mod tracers {
    pub mod blkparse;
    pub mod blkreplay;
    pub mod blktrace;
    pub mod diskmon;
    pub mod etw;
    pub mod fio;
}

/// Traces made for simulators of disks, SSDs and caches.
pub mod simulators {
    pub mod disksim;
    pub mod flashsim;
    pub mod mqsim;
    pub mod oracle_general;
    pub mod ssdsim;
}

/// Columns as the user describes them.
pub mod custom {
    pub mod csv;
}

use crate::parse::format::Format;

/// All formats that are read.
pub static FORMATS: &[&Format] = &[
    &published::spc::FORMAT,
    &published::msr::FORMAT,
    &published::systor::FORMAT,
    &published::tencent::FORMAT,
    &published::alibaba::FORMAT,
    &published::fiu::FORMAT,
    &published::vscsi::FORMAT,
    &tracers::blkparse::FORMAT,
    &tracers::blktrace::FORMAT,
    &tracers::blkreplay::FORMAT,
    &tracers::fio::FORMAT,
    &tracers::etw::FORMAT,
    &tracers::diskmon::FORMAT,
    &simulators::disksim::FORMAT,
    &simulators::mqsim::FORMAT,
    &simulators::ssdsim::FORMAT,
    &simulators::flashsim::FORMAT,
    &simulators::oracle_general::PLAIN,
    &simulators::oracle_general::WITH_OPS,
    &custom::csv::FORMAT,
];
