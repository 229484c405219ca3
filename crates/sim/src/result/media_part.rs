//! What failed on the media.

use nand::Media;

use crate::result::record::record;

record! {
    /// Blocks that failed since the device was new, and those in reserve.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct MediaPart {
        pub factory_bad: u64,
        pub retired: u64,
        pub program_failures: u64,
        pub erase_failures: u64,
        pub worn_out: u64,
        pub moved_pages: u64,
        pub unreadable_pages: u64,
        pub failed_requests: u64,
        pub in_reserve: u64,
        pub read_only: bool,
    }
}

impl MediaPart {
    /// The blocks of a chip on which this number of requests failed.
    pub fn of(media: &Media, failed_requests: u64) -> MediaPart {
        let counts = media.counts();
        MediaPart {
            factory_bad: counts.factory_bad,
            retired: counts.retired(),
            program_failures: counts.program_failures,
            erase_failures: counts.erase_failures,
            worn_out: counts.worn_out,
            moved_pages: counts.moved_pages,
            unreadable_pages: media.lost().len() as u64,
            failed_requests,
            in_reserve: media.in_reserve(),
            read_only: media.is_exhausted(),
        }
    }
}
