//! A file that keeps changes to itself: the file beneath is only read.

use std::collections::HashMap;
use std::io;

use crate::medium::Medium;

/// Changed bytes are kept in parts of this size.
const PART_BYTES: u64 = 4096;

/// The bytes of another file, and in memory those that were written since.
pub(crate) struct View {
    beneath: Box<dyn Medium>,
    length: u64,
    changed: HashMap<u64, Box<[u8]>>,
}

impl View {
    /// A view of a file.
    ///
    /// # Errors
    /// The length of the file is unknown.
    pub(crate) fn of(beneath: Box<dyn Medium>) -> io::Result<View> {
        Ok(View { length: beneath.len()?, beneath, changed: HashMap::new() })
    }

    /// A part as the file beneath has it. Beyond its end there are zeroes.
    fn original(&self, part: u64) -> io::Result<Box<[u8]>> {
        let mut bytes = vec![0; PART_BYTES as usize].into_boxed_slice();
        let start = part * PART_BYTES;
        let there = self.beneath.len()?.saturating_sub(start).min(PART_BYTES);
        self.beneath.read_at(&mut bytes[..there as usize], start)?;
        Ok(bytes)
    }
}

/// Cuts a range into parts: the number of each, where it begins in the part, and its length.
fn parts(offset: u64, length: usize) -> impl Iterator<Item = (u64, usize, usize)> {
    let end = offset + length as u64;
    let mut at = offset;
    std::iter::from_fn(move || {
        let (part, start) = (at / PART_BYTES, at % PART_BYTES);
        let bytes = (PART_BYTES - start).min(end - at);
        at += bytes;
        (bytes > 0).then_some((part, start as usize, bytes as usize))
    })
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
        let mut at = 0;
        for (part, start, length) in parts(offset, bytes.len()) {
            if let Some(changed) = self.changed.get(&part) {
                bytes[at..at + length].copy_from_slice(&changed[start..start + length]);
            }
            at += length;
        }
        Ok(())
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut at = 0;
        for (part, start, length) in parts(offset, bytes.len()) {
            if !self.changed.contains_key(&part) {
                let original = self.original(part)?;
                self.changed.insert(part, original);
            }
            let changed = self.changed.get_mut(&part).expect("inserted above");
            changed[start..start + length].copy_from_slice(&bytes[at..at + length]);
            at += length;
        }
        Ok(())
    }

    fn punch(&mut self, _offset: u64, _bytes: u64) -> io::Result<bool> {
        Ok(false)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk_file::DiskFile;

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
}
