//! A file that keeps changes to itself: the file beneath is only read.

use std::collections::HashMap;
use std::io;

use super::shared_bytes::{BLOCK, parts};
use super::{Medium, SyncJob};

/// The bytes of another file, and in memory those that were written since.
pub(crate) struct View {
    beneath: Box<dyn Medium>,
    length: u64,
    changed: HashMap<usize, Box<[u8]>>,
}

impl View {
    /// A view of a file.
    ///
    /// # Errors
    /// The length of the file is unknown.
    pub(crate) fn of(beneath: Box<dyn Medium>) -> io::Result<View> {
        Ok(View { length: beneath.len()?, beneath, changed: HashMap::new() })
    }

    /// A block as the file beneath has it. Beyond its end there are zeroes.
    fn original(&self, block: usize) -> io::Result<Box<[u8]>> {
        let mut bytes = vec![0; BLOCK].into_boxed_slice();
        let start = (block * BLOCK) as u64;
        let there = self.beneath.len()?.saturating_sub(start).min(BLOCK as u64);
        self.beneath.read_at(&mut bytes[..there as usize], start)?;
        Ok(bytes)
    }
}

impl Medium for View {
    fn len(&self) -> io::Result<u64> {
        Ok(self.length)
    }

    fn set_len(&mut self, bytes: u64) -> io::Result<()> {
        self.length = bytes;
        Ok(())
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.beneath.read_at(bytes, offset)?;
        for (block, inside, part) in parts(offset as usize, bytes.len()) {
            if let Some(changed) = self.changed.get(&block) {
                bytes[part].copy_from_slice(&changed[inside]);
            }
        }
        Ok(())
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        for (block, inside, part) in parts(offset as usize, bytes.len()) {
            if !self.changed.contains_key(&block) {
                let original = self.original(block)?;
                self.changed.insert(block, original);
            }
            let changed = self.changed.get_mut(&block).expect("inserted above");
            changed[inside].copy_from_slice(&bytes[part]);
        }
        Ok(())
    }

    fn punch(&mut self, _offset: u64, _bytes: u64) -> io::Result<bool> {
        Ok(false)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn begin_sync(&mut self) -> SyncJob {
        Box::new(|| Ok(()))
    }

    fn fork(&self) -> Option<Box<dyn Medium>> {
        let (beneath, changed) = (self.beneath.reader()?, self.changed.clone());
        Some(Box::new(View { beneath, length: self.length, changed }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::medium::disk_file::DiskFile;

    #[test]
    fn a_view_shows_its_changes_and_leaves_the_file_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let original: Vec<u8> = (0..20_000_u32).map(|n| n as u8).collect();
        std::fs::write(&path, &original).unwrap();
        let mut view = View::of(Box::new(DiskFile::open(&path).unwrap())).unwrap();
        let mut expected = original.clone();
        for (offset, length) in [(0, 1), (4095, 2), (5000, 9000), (19_990, 10), (8192, 4096)] {
            let bytes: Vec<u8> = (0..length).map(|n| !(n as u8)).collect();
            view.write_at(&bytes, offset as u64).unwrap();
            expected[offset..offset + length].copy_from_slice(&bytes);
            let mut found = vec![0; expected.len()];
            view.read_at(&mut found, 0).unwrap();
            assert!(found == expected, "after {length} bytes at {offset}");
        }
        assert!(view.read_at(&mut [0; 2], 19_999).is_err(), "beyond the end");
        assert!(std::fs::read(&path).unwrap() == original);
    }

    #[test]
    fn a_copy_of_a_view_has_its_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let original: Vec<u8> = (0..20_000_u32).map(|n| (n / 256) as u8).collect();
        std::fs::write(&path, &original).unwrap();
        let mut view = View::of(Box::new(DiskFile::open(&path).unwrap())).unwrap();
        view.write_at(&[255], 3 * BLOCK as u64 + 5).unwrap();
        let copy = view.fork().unwrap();
        let mut block = vec![0; BLOCK];
        copy.read_at(&mut block, 3 * BLOCK as u64).unwrap();
        let mut expected = original[3 * BLOCK..4 * BLOCK].to_vec();
        expected[5] = 255;
        assert!(block == expected);
        assert_eq!(copy.len().unwrap(), 20_000);
        view.set_len(9).unwrap();
        assert_eq!((view.len().unwrap(), view.punch(0, 9).unwrap()), (9, false));
    }
}
