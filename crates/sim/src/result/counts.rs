//! Counts and times of a result: pages, operations by cause, merges.

use ftl::Entered;
use nand::{Cause, Op, Tally, Timing};

use crate::clock::us;
use crate::result::record::record;

record! {
    /// Pages that entered the scheme.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct HostPages {
        /// Pages of reads, mapped or not.
        pub read: u64,
        /// Pages of writes, partial or whole.
        pub written: u64,
        /// Pages of trims.
        pub trimmed: u64,
    }
}

impl From<Entered> for HostPages {
    fn from(entered: Entered) -> HostPages {
        let Entered { read, written, trimmed } = entered;
        HostPages { read, written, trimmed }
    }
}

impl From<HostPages> for Entered {
    fn from(pages: HostPages) -> Entered {
        let HostPages { read, written, trimmed } = pages;
        Entered { read, written, trimmed }
    }
}

/// Declares the parts of a result that have a field for each cause.
macro_rules! by_cause {
    ($($field:ident: $cause:ident,)+) => {
        record! {
            /// Operations of one kind by cause.
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
            pub struct Causes {
                $(pub $field: u64,)+
                pub total: u64,
            }
        }

        impl Causes {
            /// The counts that `count` gives for each cause, and the total.
            pub fn new(count: impl Fn(Cause) -> u64, total: u64) -> Causes {
                Causes { $($field: count(Cause::$cause),)+ total }
            }

            /// The count under one cause.
            pub fn get(&self, cause: Cause) -> u64 {
                match cause {
                    $(Cause::$cause => self.$field,)+
                }
            }
        }

        record! {
            /// Serial time by cause.
            #[derive(Clone, Copy, Debug, Default)]
            pub struct TimePart {
                pub total: f64,
                pub dram: f64,
                $(pub $field: f64,)+
            }
        }

        impl TimePart {
            /// Σ count × latency for each cause and in total; the total includes the accesses to
            /// the DRAM of layers.
            pub fn of(tally: &Tally, timing: &Timing, dram_ns: u64) -> TimePart {
                TimePart {
                    total: us(timing.serial_ns(tally) + dram_ns),
                    dram: us(dram_ns),
                    $($field: us(timing.serial_ns_under(Cause::$cause, tally)),)+
                }
            }

            /// The time under one cause.
            pub fn get(&self, cause: Cause) -> f64 {
                match cause {
                    $(Cause::$cause => self.$field,)+
                }
            }
        }
    };
}

by_cause! {
    host: Host,
    rmw: Rmw,
    gc: Gc,
    merge: Merge,
    map: Map,
    log: Log,
    wear: Wear,
    meta: Meta,
    media: Media,
}

impl Causes {
    /// The operations of one kind in a tally.
    pub fn of(tally: &Tally, op: Op) -> Causes {
        Causes::new(|cause| tally.count(op, cause), tally.total(op))
    }

    /// The copies in a tally.
    pub fn copies(tally: &Tally) -> Causes {
        Causes::new(|cause| tally.copies(cause), tally.copies_total())
    }

    /// The counts by name, in the order of the causes.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Cause::ALL.into_iter().map(|cause| (cause.name(), self.get(cause)))
    }
}

record! {
    /// Merges of a log-block scheme.
    #[derive(Clone, Debug)]
    pub struct MergesPart {
        pub switch: u64,
        pub partial: u64,
        pub full: u64,
        pub dead: u64,
        pub associated_blocks: Vec<u64>,
    }
}

impl From<ftl::Merges> for MergesPart {
    fn from(merges: ftl::Merges) -> MergesPart {
        let ftl::Merges { switch, partial, full, dead, associated_blocks } = merges;
        MergesPart { switch, partial, full, dead, associated_blocks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_of_each_kind_stay_apart() {
        let merges =
            ftl::Merges { switch: 1, partial: 2, full: 3, dead: 4, associated_blocks: vec![5] };
        let part = MergesPart::from(merges);
        assert_eq!([part.switch, part.partial, part.full, part.dead], [1, 2, 3, 4]);
        assert_eq!(part.associated_blocks, [5]);
    }

    #[test]
    fn accesses_to_the_dram_are_in_the_total() {
        let part = TimePart::of(&Tally::default(), &Timing::ZERO, 7000);
        assert_eq!((part.dram, part.total, part.host), (7.0, 7.0, 0.0));
    }
}
