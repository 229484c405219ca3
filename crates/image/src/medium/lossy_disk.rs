//! A disk in memory that shows what a crash can leave, for tests and checks.
//!
//! ```text
//! image ──write, sync──▶ LossyDisk ──events──▶ Unsynced ──Loss──▶ the bytes after a crash
//! ```
//! The disk notes what happens to it. [`Unsynced`] follows these events and keeps back each write
//! until a sync that began after it has ended, in *pieces* of one sector. A crash loses some of the
//! pieces: a [`Loss`] says which.

use std::io;
use std::sync::{Arc, Mutex};

use super::loss::Loss;
use super::shared_bytes::SharedBytes;
use super::{Medium, SyncJob};

/// What a disk writes as a whole.
const SECTOR: usize = 512;

/// Something that happened to the disk.
#[derive(Clone, Debug)]
pub enum Event {
    /// Bytes were written.
    Write {
        /// Where they begin.
        offset: usize,
        /// What they are.
        bytes: Vec<u8>,
    },
    /// The length was set.
    Resize(usize),
    /// All writes were made durable.
    Sync,
    /// A sync began. It replaces one that has not ended.
    SyncBegan,
    /// All writes before the last begin of a sync were made durable.
    SyncEnded,
    /// The user of the disk was told that all operations up to this one are durable.
    Answered(u64),
    /// A sync in the background has ended, so all operations up to this one are durable. No user
    /// was told.
    Durable(u64),
}

/// The state of a disk, for its user.
#[derive(Debug, Default)]
pub struct Disk {
    /// What a reader finds.
    pub bytes: SharedBytes,
    /// Events since they were last taken.
    pub events: Vec<Event>,
    /// Writes, resizes, punches and syncs that still succeed; any number if it is none.
    pub fuel: Option<u64>,
    /// Whether reads fail.
    pub unreadable: bool,
}

impl Disk {
    fn burn(&mut self) -> io::Result<()> {
        match &mut self.fuel {
            None => Ok(()),
            Some(0) => Err(io::Error::from(io::ErrorKind::StorageFull)),
            Some(fuel) => {
                *fuel -= 1;
                Ok(())
            }
        }
    }

    fn write(&mut self, offset: usize, bytes: Vec<u8>) {
        self.bytes.write(&bytes, offset);
        self.events.push(Event::Write { offset, bytes });
    }
}

/// A handle of a disk: one for the image, one for the test.
#[derive(Clone, Debug, Default)]
pub struct LossyDisk(Arc<Mutex<Disk>>);

impl LossyDisk {
    /// A disk with these bytes.
    pub fn of(bytes: SharedBytes) -> LossyDisk {
        LossyDisk(Arc::new(Mutex::new(Disk { bytes, ..Disk::default() })))
    }

    /// Looks at the state of the disk, or changes it.
    pub fn with<T>(&self, look: impl FnOnce(&mut Disk) -> T) -> T {
        look(&mut self.0.lock().expect("no thread panicked"))
    }

    /// What a reader finds.
    pub fn bytes(&self) -> SharedBytes {
        self.with(|disk| disk.bytes.clone())
    }

    /// What happened since the last call.
    pub fn take_events(&self) -> Vec<Event> {
        self.with(|disk| std::mem::take(&mut disk.events))
    }
}

impl Medium for LossyDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.with(|disk| disk.bytes.len() as u64))
    }

    fn set_len(&mut self, bytes: u64) -> io::Result<()> {
        self.with(|disk| {
            disk.burn()?;
            disk.bytes.resize(bytes as usize);
            disk.events.push(Event::Resize(bytes as usize));
            Ok(())
        })
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.with(|disk| {
            if disk.unreadable || offset as usize + bytes.len() > disk.bytes.len() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            disk.bytes.read(bytes, offset as usize);
            Ok(())
        })
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.with(|disk| {
            if let Err(error) = disk.burn() {
                // A disk that is full takes a part.
                let part = bytes[..bytes.len() / 2].to_vec();
                disk.write(offset as usize, part);
                return Err(error);
            }
            disk.write(offset as usize, bytes.to_vec());
            Ok(())
        })
    }

    fn punch(&mut self, offset: u64, bytes: u64) -> io::Result<bool> {
        self.with(|disk| {
            disk.burn()?;
            disk.write(offset as usize, vec![0; bytes as usize]);
            Ok(true)
        })
    }

    fn sync(&mut self) -> io::Result<()> {
        self.with(|disk| {
            disk.burn()?;
            disk.events.push(Event::Sync);
            Ok(())
        })
    }

    fn begin_sync(&mut self) -> SyncJob {
        self.with(|disk| disk.events.push(Event::SyncBegan));
        let disk = self.clone();
        Box::new(move || {
            disk.with(|disk| {
                disk.burn()?;
                disk.events.push(Event::SyncEnded);
                Ok(())
            })
        })
    }

    /// A disk with the same bytes, all of which are durable.
    fn fork(&self) -> Option<Box<dyn Medium>> {
        Some(Box::new(LossyDisk::of(self.bytes())))
    }
}

/// A disk on its way through its events: what is durable, and what a crash may lose.
#[derive(Clone, Debug)]
pub struct Unsynced {
    durable: SharedBytes,
    /// Pieces of sectors in the order of their writes, with their places.
    pieces: Vec<(usize, Vec<u8>)>,
    /// The first piece of the last write.
    last: usize,
    /// Pieces that were written before the last begin of a sync.
    before_sync: usize,
    /// The last operation that was answered to be durable.
    pub answered: u64,
}

impl Unsynced {
    /// A disk of which all is durable.
    pub fn new(durable: SharedBytes, answered: u64) -> Unsynced {
        Unsynced { durable, pieces: Vec::new(), last: 0, before_sync: 0, answered }
    }

    /// Lets an event happen. Returns whether a crash could leave something new, or could leave less
    /// that is right.
    pub fn pass(&mut self, event: &Event) -> bool {
        match event {
            Event::Write { offset, bytes } => return self.keep_back(*offset, bytes),
            Event::Resize(bytes) => self.durable.resize(*bytes),
            Event::Sync => self.keep(self.pieces.len()),
            Event::SyncBegan => {
                self.before_sync = self.pieces.len();
                return false;
            }
            Event::SyncEnded => self.keep(self.before_sync),
            Event::Answered(operation) | Event::Durable(operation) => {
                self.answered = self.answered.max(*operation);
            }
        }
        true
    }

    /// Makes the first pieces durable.
    fn keep(&mut self, pieces: usize) {
        for (offset, bytes) in self.pieces.drain(..pieces) {
            self.durable.write(&bytes, offset);
        }
        self.last = self.last.saturating_sub(pieces);
        self.before_sync = self.before_sync.saturating_sub(pieces);
    }

    /// Splits a write at the sectors of the disk. A piece that changes nothing would only repeat
    /// states.
    fn keep_back(&mut self, offset: usize, bytes: &[u8]) -> bool {
        let before = self.pieces.len();
        let mut at = 0;
        while at < bytes.len() {
            let start = offset + at;
            let end = (start / SECTOR + 1) * SECTOR;
            let piece = &bytes[at..bytes.len().min(at + end - start)];
            if self.is_touched(start, piece.len()) || !self.durable.has(piece, start) {
                self.pieces.push((start, piece.to_vec()));
            }
            at += piece.len();
        }
        self.last = before;
        self.pieces.len() > before
    }

    fn is_touched(&self, start: usize, bytes: usize) -> bool {
        let touches = |from: usize, before: usize| from < start + bytes && start < from + before;
        self.pieces.iter().any(|(from, before)| touches(*from, before.len()))
    }

    /// What a crash may lose now: everything possible if there are few pieces, else extreme cases
    /// and, of each kind, `draws` random ones. `below` draws a number below another one.
    pub fn losses(&self, draws: usize, below: &mut dyn FnMut(usize) -> usize) -> Vec<Loss> {
        Loss::some(self.pieces.len(), self.last, draws, below)
    }

    /// The disk after a crash.
    pub fn crash(&self, loss: Loss) -> SharedBytes {
        let mut bytes = self.durable.clone();
        for (index, (offset, piece)) in self.pieces.iter().enumerate() {
            let written = loss.written(index, self.pieces.len(), piece.len());
            bytes.write(&piece[..written], *offset);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk of eight sectors of zeroes, and what a crash may lose of it.
    fn disk() -> (LossyDisk, Unsynced) {
        let bytes = SharedBytes::from(vec![0; 8 * SECTOR]);
        (LossyDisk::of(bytes.clone()), Unsynced::new(bytes, 0))
    }

    fn pass(disk: &LossyDisk, unsynced: &mut Unsynced) {
        disk.take_events().iter().for_each(|event| _ = unsynced.pass(event));
    }

    /// Whether each sector of the disk holds other bytes than zeroes after a crash.
    fn written(unsynced: &Unsynced, loss: Loss) -> Vec<bool> {
        let bytes = unsynced.crash(loss).to_vec();
        bytes.chunks(512).map(|sector| sector.iter().any(|&byte| byte != 0)).collect()
    }

    #[test]
    fn a_write_is_kept_back_in_sectors_until_a_sync() {
        let (mut disk, mut unsynced) = disk();
        disk.write_at(&[1; 1024], 256).unwrap();
        pass(&disk, &mut unsynced);
        let first = |sectors| written(&unsynced, sectors)[..4].to_vec();
        assert_eq!(first(Loss::All), [false; 4]);
        assert_eq!(first(Loss::None), [true, true, true, false]);
        assert_eq!(first(Loss::One(1)), [true, false, true, false]);
        assert_eq!(first(Loss::But(0)), [true, false, false, false]);
        assert_eq!(unsynced.crash(Loss::But(0)).to_vec()[..512], [[0; 256], [1; 256]].concat());
        disk.sync().unwrap();
        pass(&disk, &mut unsynced);
        assert_eq!(written(&unsynced, Loss::All)[..4], [true, true, true, false]);
    }

    #[test]
    fn a_sync_in_the_background_keeps_what_was_written_before_its_begin() {
        let (mut disk, mut unsynced) = disk();
        disk.write_at(&[1; 512], 0).unwrap();
        let job = disk.begin_sync();
        disk.write_at(&[1; 512], 512).unwrap();
        pass(&disk, &mut unsynced);
        assert_eq!(written(&unsynced, Loss::All)[..2], [false, false], "it has not ended");
        job().unwrap();
        pass(&disk, &mut unsynced);
        assert_eq!(written(&unsynced, Loss::All)[..2], [true, false]);
        let job = disk.begin_sync();
        disk.sync().unwrap();
        disk.write_at(&[1; 512], 1024).unwrap();
        job().unwrap();
        pass(&disk, &mut unsynced);
        assert_eq!(written(&unsynced, Loss::All)[..3], [true, true, false]);
    }

    #[test]
    fn a_hole_and_a_write_of_the_old_bytes_may_be_lost_too() {
        let (mut disk, mut unsynced) = disk();
        disk.write_at(&[1; 512], 0).unwrap();
        disk.sync().unwrap();
        assert!(disk.punch(0, 512).unwrap());
        pass(&disk, &mut unsynced);
        assert!(written(&unsynced, Loss::All)[0] && !written(&unsynced, Loss::None)[0]);
        disk.write_at(&[1; 512], 0).unwrap();
        pass(&disk, &mut unsynced);
        assert!(written(&unsynced, Loss::None)[0], "the hole is filled again");
        assert!(!written(&unsynced, Loss::One(1))[0], "only the hole reaches the disk");
    }

    #[test]
    fn what_was_answered_never_decreases() {
        let (_, mut unsynced) = disk();
        for (event, answered) in
            [(Event::Answered(7), 7), (Event::Durable(5), 7), (Event::Durable(9), 9)]
        {
            assert!(unsynced.pass(&event), "less is right than before");
            assert_eq!(unsynced.answered, answered);
        }
    }

    #[test]
    fn only_what_may_be_lost_is_a_new_state() {
        let (mut disk, mut unsynced) = disk();
        let mut is_new = |offset, byte| {
            disk.write_at(&[byte; SECTOR], offset).unwrap();
            disk.take_events().iter().map(|event| unsynced.pass(event)).collect::<Vec<_>>()
        };
        assert_eq!(is_new(2 * 512, 0), [false], "the disk has these bytes");
        assert_eq!(is_new(2 * 512, 1), [true]);
        assert_eq!(is_new(512, 0), [false], "the sector before it");
        assert_eq!(is_new(3 * 512, 0), [false], "the sector behind it");
        assert_eq!(is_new(2 * 512, 0), [true], "the first write may be lost");
    }

    #[test]
    fn a_full_disk_takes_a_part_of_a_write() {
        let (mut disk, _) = disk();
        disk.with(|disk| disk.fuel = Some(0));
        let error = disk.write_at(&[1; 1024], 512).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(disk.bytes().to_vec()[..1536], [[0; 512], [1; 512], [0; 512]].concat());
    }
}
