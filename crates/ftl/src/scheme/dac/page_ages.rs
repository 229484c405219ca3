//! The ages of pages in dac: how long ago each was written or changed region.
//!
//! ```text
//! host pages written   0 ────────── epoch ── since ────────── now
//!                                     ╰ kept ──╯╰─── age ─────╯    young: age < limit
//! ```
//! Times are counted in host pages written. A page has 24 bits for the difference of its time to an
//! *epoch*, or 32 if ages of more than half of that range are young. When a time does not fit, the
//! epoch moves on, as far as no page becomes young by that.

use nand::Lpn;

/// Half of the range of 24 bits.
const HALF: u64 = 1 << 23;

/// Bytes that the age of a page takes.
pub fn bytes(pages: u32, young: u64) -> u64 {
    if young.max(pages.into()) > HALF { 4 } else { 3 }
}

/// The time of the last write or change of region of each page.
#[derive(Debug)]
pub struct PageAges {
    /// Bits 0 to 15, 16 to 23 and 24 to 31 of each time. The last are missing if 24 are enough.
    low: Vec<u16>,
    high: Vec<u8>,
    top: Vec<u8>,
    /// The greatest number that these bits can hold.
    most: u64,
    epoch: u64,
    /// A page is young if its age is below this.
    young: u64,
}

impl PageAges {
    /// All pages were written at time 0.
    pub fn new(pages: u32, young: u64) -> PageAges {
        let needs_top = bytes(pages, young) == 4;
        PageAges {
            low: vec![0; pages as usize],
            high: vec![0; pages as usize],
            top: vec![0; if needs_top { pages as usize } else { 0 }],
            most: if needs_top { u32::MAX.into() } else { 2 * HALF - 1 },
            epoch: 0,
            young,
        }
    }

    /// Prepares for a write of `pages` pages after `written` host pages.
    #[inline]
    pub fn prepare(&mut self, written: u64, pages: u32) {
        if written + u64::from(pages) - self.epoch > self.most {
            self.move_epoch(written - self.young);
        }
    }

    /// Pages that are older than the epoch count as just as old. They are not young either way.
    #[cold]
    fn move_epoch(&mut self, epoch: u64) {
        let by = (epoch - self.epoch) as u32;
        for at in 0..self.low.len() {
            self.set(at, self.get(at).saturating_sub(by));
        }
        self.epoch = epoch;
    }

    /// Sets the age of every page to zero.
    pub fn reset(&mut self, written: u64) {
        self.epoch = written;
        (0..self.low.len()).for_each(|at| self.set(at, 0));
    }

    /// Sets the age of a page to zero.
    #[inline]
    pub fn renew(&mut self, lpn: Lpn, written: u64) {
        self.set(lpn.0 as usize, (written - self.epoch) as u32);
    }

    /// Whether a page is young after `written` host pages.
    #[inline]
    pub fn is_young(&self, lpn: Lpn, written: u64) -> bool {
        written - self.epoch - u64::from(self.get(lpn.0 as usize)) < self.young
    }

    #[inline]
    fn get(&self, at: usize) -> u32 {
        let top = self.top.get(at).map_or(0, |&top| u32::from(top) << 24);
        top | u32::from(self.high[at]) << 16 | u32::from(self.low[at])
    }

    #[inline]
    fn set(&mut self, at: usize, since: u32) {
        (self.low[at], self.high[at]) = (since as u16, (since >> 16) as u8);
        if let Some(top) = self.top.get_mut(at) {
            *top = (since >> 24) as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The model keeps whole times. The range of `ages` is cut, so that the epoch moves often.
    #[test]
    fn pages_stay_as_young_as_they_are_when_the_epoch_moves() {
        const PAGES: u32 = 20;
        for young in [1, 30, 50] {
            let (mut ages, mut since) = (PageAges::new(PAGES, young), [0_u64; PAGES as usize]);
            ages.most = 99;
            for written in 0..5000_u64 {
                ages.prepare(written, 1);
                for (lpn, &since) in (0..).map(Lpn).zip(&since) {
                    let is_young = written - since < young;
                    assert_eq!(ages.is_young(lpn, written), is_young, "{lpn:?} at {written}");
                }
                let lpn = written * written / 7 % u64::from(PAGES);
                ages.renew(Lpn(lpn as u32), written + 1);
                since[lpn as usize] = written + 1;
            }
        }
    }

    #[test]
    fn a_time_has_as_many_bits_as_young_ages_need() {
        for (young, times) in [(HALF, [0, 65_536, (1 << 24) - 1]), (HALF + 1, [1, 1 << 24, !0])] {
            let mut ages = PageAges::new(3, young);
            times.iter().enumerate().for_each(|(at, &time)| ages.set(at, time));
            assert_eq!([0, 1, 2].map(|at| ages.get(at)), times, "young below {young}");
            assert_eq!(ages.most, times[2].into());
        }
    }
}
