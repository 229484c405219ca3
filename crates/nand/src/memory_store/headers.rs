//! The state and the header of each page of a block, in 14 bytes.
//!
//! ```text
//! header  owner  version   sequence   kind  format  CRC-32      20 bytes
//! kept    owner  version↓  sequence↓  kind  state               14 bytes
//! ```
//! Of the 40 bits of versions and sequences, 32 are kept. Headers for which this is not enough are
//! kept beside: damaged ones, and those of a chip that has programmed more than four billion pages.

use alloc::vec;
use alloc::vec::Vec;

use crate::address::Lpn;
use crate::page_store::Health;
use crate::spare::{Header, Spare};

/// Bit of a state: the page is tentative. The bits below are the number of the health.
const IS_TENTATIVE: u8 = 1 << 6;
/// Bit of a state: the header is kept beside.
const IS_BESIDE: u8 = 1 << 7;

/// States and headers of consecutive pages. An `offset` counts pages.
#[derive(Clone, Debug)]
pub(super) struct Headers {
    kept: Vec<Kept>,
    /// Offset and header of each page whose header is kept here.
    beside: Vec<(u32, Header)>,
}

/// Numbers as bytes, so that no room is lost between two of these.
#[derive(Clone, Copy, Debug)]
struct Kept {
    owner: [u8; 4],
    version: [u8; 4],
    sequence: [u8; 4],
    kind: u8,
    state: u8,
}

const ERASED: Kept = Kept {
    owner: [0xFF; 4],
    version: [0xFF; 4],
    sequence: [0xFF; 4],
    kind: 0xFF,
    state: Health::Erased as u8,
};

impl Headers {
    /// Bytes of memory for each page.
    pub(super) const PAGE_BYTES: usize = size_of::<Kept>();

    /// The headers of `pages` erased pages.
    pub(super) fn new(pages: u32) -> Headers {
        Headers { kept: vec![ERASED; pages as usize], beside: Vec::new() }
    }

    pub(super) fn health(&self, offset: usize) -> Health {
        Health::ALL[usize::from(self.kept[offset].state & !(IS_TENTATIVE | IS_BESIDE))]
    }

    pub(super) fn set_health(&mut self, offset: usize, health: Health) {
        let state = &mut self.kept[offset].state;
        *state = *state & (IS_TENTATIVE | IS_BESIDE) | health as u8;
    }

    /// Whether a page has this health.
    pub(super) fn contains(&self, health: Health) -> bool {
        (0..self.kept.len()).any(|offset| self.health(offset) == health)
    }

    /// Gives every page with the health `from` the health `to`.
    pub(super) fn replace_health(&mut self, from: Health, to: Health) {
        for offset in 0..self.kept.len() {
            if self.health(offset) == from {
                self.set_health(offset, to);
            }
        }
    }

    /// The header of a page.
    pub(super) fn header(&self, offset: usize) -> Header {
        let Kept { owner, version, sequence, kind, state } = self.kept[offset];
        if state & IS_BESIDE != 0 {
            let found = self.beside.iter().find(|beside| beside.0 == offset as u32);
            return found.expect("the header of this page is kept beside").1;
        }
        Header::Intact(Spare {
            owner: Lpn(u32::from_le_bytes(owner)),
            version: u32::from_le_bytes(version).into(),
            sequence: u32::from_le_bytes(sequence).into(),
            kind,
            tentative: state & IS_TENTATIVE != 0,
        })
    }

    /// Sets the health and the header of a page.
    pub(super) fn set(&mut self, offset: usize, health: Health, header: Header) {
        if self.kept[offset].state & IS_BESIDE != 0 {
            self.beside.retain(|beside| beside.0 != offset as u32);
        }
        self.kept[offset] = Kept::of(health, &header).unwrap_or_else(|| {
            self.beside.push((offset as u32, header));
            let owner = match header {
                Header::Intact(spare) => spare.owner.0.to_le_bytes(),
                Header::Damaged([a, b, c, d, ..]) => [a, b, c, d],
            };
            Kept { owner, state: health as u8 | IS_BESIDE, ..ERASED }
        });
    }

    /// The owner that the header of a page names.
    pub(super) fn owner(&self, offset: usize) -> Lpn {
        Lpn(u32::from_le_bytes(self.kept[offset].owner))
    }

    pub(super) fn erase(&mut self) {
        self.kept.fill(ERASED);
        self.beside.clear();
    }
}

impl Kept {
    /// A header, if this is enough for it.
    fn of(health: Health, header: &Header) -> Option<Kept> {
        let Header::Intact(Spare { owner, version, sequence, kind, tentative }) = *header else {
            return None;
        };
        Some(Kept {
            owner: owner.0.to_le_bytes(),
            version: u32::try_from(version).ok()?.to_le_bytes(),
            sequence: u32::try_from(sequence).ok()?.to_le_bytes(),
            kind,
            state: health as u8 | if tentative { IS_TENTATIVE } else { 0 },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spare::{HEADER_BYTES, SEQUENCE_MAX};

    /// Keeps a header at offset 1, checks that it comes back, and returns whether it was kept
    /// beside.
    #[track_caller]
    fn is_beside(header: Header) -> bool {
        let mut headers = Headers::new(3);
        // What was kept before must not come back.
        headers.set(1, Health::Good, Header::Damaged([7; HEADER_BYTES]));
        headers.set(1, Health::Unstable, header);
        assert_eq!((headers.header(1), headers.health(1)), (header, Health::Unstable));
        headers.replace_health(Health::Unstable, Health::Torn);
        assert!(headers.contains(Health::Torn) && !headers.contains(Health::Unstable));
        assert_eq!((headers.header(1), headers.health(0)), (header, Health::Erased));
        let is_beside = !headers.beside.is_empty();
        headers.erase();
        assert!(headers.beside.is_empty() && headers.health(1) == Health::Erased);
        is_beside
    }

    #[test]
    fn headers_are_kept_short_if_they_can() {
        let spare = Spare {
            owner: Lpn(0x0102_0304),
            version: 5,
            sequence: u32::MAX.into(),
            kind: 9,
            tentative: false,
        };
        assert!(!is_beside(Header::Intact(spare)));
        let own = Spare { owner: Lpn::SYSTEM, tentative: true, ..spare };
        assert!(!is_beside(Header::Intact(own)));
        assert!(is_beside(Header::Intact(Spare { sequence: SEQUENCE_MAX, ..spare })));
        let late = Spare { version: 1 << 32, sequence: 1 << 32, ..spare };
        assert!(is_beside(Header::Intact(late)));
        assert!(is_beside(Header::Damaged([3; HEADER_BYTES])));
    }

    #[test]
    fn headers_name_their_owners() {
        let mut headers = Headers::new(1);
        headers.set(0, Health::Good, Header::Damaged([3; HEADER_BYTES]));
        assert_eq!(headers.owner(0), Lpn(0x0303_0303));
    }
}
