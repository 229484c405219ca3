//! What a chip that only counts keeps of a guest's pages: spare areas, and data that are not the
//! host's. Data of the host are zero in such a run, and zeroes at the end of a page are not kept.

use std::collections::BTreeMap;

/// Contents of pages.
pub struct KeptPages {
    pages: usize,
    spare_bytes: usize,
    pages_per_block: u32,
    /// Spare areas of all pages; empty before the first one.
    spares: Vec<u8>,
    /// Data areas that are not zero.
    data: BTreeMap<u32, Box<[u8]>>,
}

impl KeptPages {
    /// Nothing is kept yet.
    pub fn new(spare_bytes: u32, pages_per_block: u32, blocks: u32) -> KeptPages {
        KeptPages {
            pages: blocks as usize * pages_per_block as usize,
            spare_bytes: spare_bytes as usize,
            pages_per_block,
            spares: Vec::new(),
            data: BTreeMap::new(),
        }
    }

    /// Whether data areas are kept.
    #[inline(always)]
    pub fn have_data(&self) -> bool {
        !self.data.is_empty()
    }

    /// Keeps the spare area of a page without data, if there is memory for spare areas already.
    #[inline(always)]
    pub fn keeps_spare(&mut self, page: u32, spare: &[u8]) -> bool {
        let start = page as usize * self.spare_bytes;
        match self.spares.get_mut(start..start + spare.len()) {
            Some(place) => {
                place.copy_from_slice(spare);
                true
            }
            None => false,
        }
    }

    /// Keeps a page that is programmed. `data` are none if they are zero.
    pub fn program(&mut self, page: u32, data: Option<&[u8]>, spare: Option<&[u8]>) {
        match spare {
            Some(spare) => self.spare_mut(page).copy_from_slice(spare),
            None if self.spares.is_empty() => {}
            None => self.spare_mut(page).fill(0xFF),
        }
        if let Some(data) = data {
            self.keep(page, data);
        }
    }

    /// Keeps a copy of a page.
    pub fn copy(&mut self, from: u32, to: u32, spare: Option<&[u8]>) {
        match spare {
            Some(spare) => self.spare_mut(to).copy_from_slice(spare),
            None if self.spares.is_empty() => {}
            None => {
                let start = from as usize * self.spare_bytes;
                let place = to as usize * self.spare_bytes;
                self.spares.copy_within(start..start + self.spare_bytes, place);
            }
        }
        if let Some(data) = self.data.get(&from).cloned() {
            self.data.insert(to, data);
        }
    }

    /// Forgets the pages of a block.
    #[inline]
    pub fn erase(&mut self, block: u32) {
        if self.have_data() {
            let first = block * self.pages_per_block;
            let pages = first..first + self.pages_per_block;
            let kept: Vec<u32> = self.data.range(pages).map(|(page, _)| *page).collect();
            kept.iter().for_each(|page| drop(self.data.remove(page)));
        }
    }

    /// Reads bytes of a data area.
    pub fn read_data(&self, page: u32, offset: usize, out: &mut [u8]) {
        let kept = self.data.get(&page).map_or(&[][..], |data| data);
        read_padded(kept, offset, 0, out);
    }

    /// Reads a spare area.
    #[inline]
    pub fn read_spare(&self, page: u32, out: &mut [u8]) {
        match self.spares.is_empty() {
            true => out.fill(0xFF),
            false => out.copy_from_slice(
                &self.spares[page as usize * self.spare_bytes..][..self.spare_bytes],
            ),
        }
    }

    #[inline(always)]
    fn spare_mut(&mut self, page: u32) -> &mut [u8] {
        let start = page as usize * self.spare_bytes;
        if self.spares.is_empty() {
            self.take_memory();
        }
        &mut self.spares[start..start + self.spare_bytes]
    }

    #[cold]
    #[inline(never)]
    fn take_memory(&mut self) {
        self.spares = vec![0xFF; self.pages * self.spare_bytes];
    }

    fn keep(&mut self, page: u32, data: &[u8]) {
        let data = without_zeroes(data);
        if !data.is_empty() {
            self.data.insert(page, data.into());
        }
    }
}

/// The bytes up to the last one that is not zero.
pub fn without_zeroes(data: &[u8]) -> &[u8] {
    const STEP: usize = 64;
    let mut end = data.len();
    while end >= STEP && data[end - STEP..end].iter().fold(0, |any, byte| any | byte) == 0 {
        end -= STEP;
    }
    let last = data[..end].iter().rposition(|&byte| byte != 0);
    &data[..last.map_or(0, |last| last + 1)]
}

/// Reads from `offset` on bytes that are followed by `padding` for ever.
pub fn read_padded(bytes: &[u8], offset: usize, padding: u8, out: &mut [u8]) {
    let rest = bytes.get(offset..).unwrap_or_default();
    let known = rest.len().min(out.len());
    out[..known].copy_from_slice(&rest[..known]);
    out[known..].fill(padding);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_reads_as_it_was_programmed_until_its_block_is_erased() {
        let mut kept = KeptPages::new(4, 4, 2);
        let data: Vec<u8> = (0..512).map(|at| if at < 200 { at as u8 } else { 0 }).collect();
        kept.program(5, Some(&data), Some(b"abcd"));
        kept.program(6, None, None);
        kept.copy(5, 2, None);
        kept.copy(5, 3, Some(b"wxyz"));
        let mut out = [0xAA; 512];
        for (page, spare) in [(5, b"abcd"), (2, b"abcd"), (3, b"wxyz")] {
            kept.read_data(page, 0, &mut out);
            assert_eq!(out[..], data[..]);
            let mut read = [0; 4];
            kept.read_spare(page, &mut read);
            assert_eq!(&read, spare);
        }
        kept.read_data(5, 199, &mut out[..2]);
        assert_eq!(out[..2], [199, 0]);
        kept.erase(1);
        kept.program(5, None, None);
        kept.read_data(5, 0, &mut out);
        assert!(out.iter().all(|&byte| byte == 0));
    }

    #[test]
    fn pages_may_be_programmed_in_any_order() {
        let mut kept = KeptPages::new(0, 4, 1);
        for page in [2, 0, 3, 1] {
            kept.program(page, Some(&[page as u8 + 1; 512]), None);
        }
        for page in 0..4 {
            let mut out = [0; 8];
            kept.read_data(page, 500, &mut out);
            assert_eq!(out, [page as u8 + 1; 8]);
        }
    }

    #[test]
    fn only_zeroes_at_the_end_are_left_out() {
        for length in [0, 1, 63, 64, 65, 300] {
            let mut data = vec![0; 512];
            data[..length].fill(7);
            assert_eq!(without_zeroes(&data).len(), length);
        }
    }
}
