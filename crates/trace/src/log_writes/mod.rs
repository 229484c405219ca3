//! Logs of writes in the form of Linux's dm-log-writes: what reached a disk, in the order in which
//! it became durable.
//!
//! ```text
//! sector 0      magic · version · number of entries · bytes of a sector
//! each entry    one sector: first sector · sectors · flags · bytes of its name · name of a mark
//!               its data, whole sectors; none for a flush, a discard or a mark
//! ```
//! All numbers are little-endian. `replay-log` of the author of dm-log-writes and the tests of
//! xfstests read such logs: replayed up to any entry, a log gives a state in which a power cut can
//! leave the disk, and the file system on it must recover.
//!
//! * [`entry`]   an entry, and the layout of its sector
//! * [`order`]   when an operation of a live disk is logged
//! * [`writer`]  writing a log
//! * [`reader`]  reading a log from any source
//!
//! Sources: `drivers/md/dm-log-writes.c` of Linux for the layout and the order, and `log-writes.c`
//! of `josefbacik/log-writes` for what readers demand.

pub mod entry;
pub mod order;
pub mod reader;
pub mod writer;
