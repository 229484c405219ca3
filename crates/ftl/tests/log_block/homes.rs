//! Data blocks in the naive models. They record only which pages are programmed.

use crate::device::Counts;

/// The data blocks of a device.
pub struct Homes {
    order: &'static str,
    np: usize,
    programmed: Vec<Option<Vec<bool>>>,
}

impl Homes {
    pub fn new(order: &'static str, np: usize, logical_blocks: usize) -> Homes {
        Homes { order, np, programmed: vec![None; logical_blocks] }
    }

    /// Whether a page is written at home if it is written now.
    pub fn take(&self, lpn: usize) -> bool {
        let empty = vec![false; self.np];
        let programmed = self.programmed[lpn / self.np].as_ref().unwrap_or(&empty);
        let offset = lpn % self.np;
        match self.order {
            "any" => !programmed[offset],
            "ascending" => !programmed[offset..].contains(&true),
            _ => programmed.iter().position(|&is| !is) == Some(offset),
        }
    }

    pub fn program(&mut self, lpn: usize) {
        let np = self.np;
        self.programmed[lpn / np].get_or_insert_with(|| vec![false; np])[lpn % np] = true;
    }

    /// Replaces a data block by one that already holds its first `held` pages. The pages at the
    /// offsets `copied` are copied into it. Counts the copies, the padding, and the erase of the
    /// old block.
    pub fn renew(&mut self, lbn: usize, held: usize, copied: &[usize], counts: &mut Counts) {
        let mut fresh: Vec<bool> = (0..self.np).map(|offset| offset < held).collect();
        for &offset in copied {
            if self.order == "sequential" {
                counts.padding += fresh[..offset].iter().filter(|&&is| !is).count() as u64;
                fresh[..offset].fill(true);
            }
            fresh[offset] = true;
            counts.copies += 1;
        }
        counts.erases += u64::from(self.programmed[lbn].is_some());
        self.programmed[lbn] = Some(fresh);
    }
}
