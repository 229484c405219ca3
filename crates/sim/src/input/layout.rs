//! The places of all volumes of all loads in the address space of the device.
//!
//! ```text
//! load a, two volumes           load b
//! [ volume 0 │··][ volume 1 │·][ volume 0 │··]      each rounded up to a block
//! ```
//! Shared loads all begin at byte 0.

use core::ops::Range;

use crate::error::{Error, Result};

/// The places of the volumes that have been laid out so far.
pub struct Layout {
    block_bytes: u64,
    is_shared: bool,
    bases: Vec<u64>,
    /// The end of the last volume that was added.
    end: u64,
    needed_bytes: u64,
}

/// The place of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadPlace {
    /// The number of its first volume among those of all loads.
    pub first_volume: u32,
    /// Its bytes.
    pub bytes: Range<u64>,
}

impl Layout {
    /// An empty device with blocks of this size.
    pub fn new(block_bytes: u64, is_shared: bool) -> Layout {
        Layout { block_bytes, is_shared, bases: Vec::new(), end: 0, needed_bytes: 0 }
    }

    /// Adds a load. Its volumes have these ends.
    ///
    /// # Errors
    /// The end is beyond 64-bit addresses.
    pub fn add(&mut self, ends: &[u64]) -> Result<LoadPlace> {
        if self.is_shared {
            self.end = 0;
        }
        let (first_volume, start) = (self.bases.len() as u32, self.next_base()?);
        for &end in ends {
            let base = self.next_base()?;
            self.bases.push(base);
            self.end = base.checked_add(end).ok_or_else(too_far)?;
        }
        self.needed_bytes = self.needed_bytes.max(self.end);
        Ok(LoadPlace { first_volume, bytes: start..self.end.max(start) })
    }

    fn next_base(&self) -> Result<u64> {
        self.end.checked_next_multiple_of(self.block_bytes).ok_or_else(too_far)
    }

    /// The first byte of each volume, and the bytes that all need.
    pub fn finish(self) -> (Vec<u64>, u64) {
        (self.bases, self.needed_bytes)
    }
}

fn too_far() -> Error {
    let sentence =
        "the volumes laid end to end exceed 64-bit addresses; replay one `--volume` or fewer loads";
    Error::Impossible(sentence.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two loads with blocks of 100 bytes.
    fn layout(is_shared: bool) -> (Vec<LoadPlace>, Vec<u64>, u64) {
        let mut layout = Layout::new(100, is_shared);
        let loads: [&[u64]; 2] = [&[150, 0, 99], &[50, 7]];
        let places = loads.map(|ends| layout.add(ends).unwrap()).to_vec();
        let (bases, needed_bytes) = layout.finish();
        (places, bases, needed_bytes)
    }

    #[test]
    fn loads_are_laid_end_to_end_or_over_each_other() {
        let place = |first_volume, bytes| LoadPlace { first_volume, bytes };
        let (places, bases, needed_bytes) = layout(false);
        assert_eq!(places, [place(0, 0..299), place(3, 300..407)]);
        assert_eq!(bases, [0, 200, 200, 300, 400]);
        assert_eq!(needed_bytes, 407);
        let (places, bases, needed_bytes) = layout(true);
        assert_eq!(places, [place(0, 0..299), place(3, 0..107)]);
        assert_eq!(bases, [0, 200, 200, 0, 100]);
        assert_eq!(needed_bytes, 299);
    }

    #[test]
    fn addresses_beyond_64_bits_are_refused() {
        let mut layout = Layout::new(100, false);
        layout.add(&[u64::MAX]).unwrap();
        assert!(layout.add(&[1]).is_err());
    }
}
