//! A disk that keeps every write back until the next sync, and shows what a crash can leave.

use std::io;
use std::sync::{Arc, Mutex};

use image::Medium;

use crate::random::Random;

/// What a disk writes as a whole.
const SECTOR: usize = 512;
/// Up to this many pieces, all subsets of them are tried.
const EXHAUSTIVE: usize = 4;

/// Something that happened to the disk.
#[derive(Clone, Debug)]
pub enum Event {
    Write {
        offset: usize,
        bytes: Vec<u8>,
    },
    Resize(usize),
    Sync,
    /// The image answered that all operations up to this one are durable.
    Answered(u64),
}

#[derive(Debug, Default)]
pub struct Disk {
    pub bytes: Vec<u8>,
    pub events: Vec<Event>,
    /// Writes, resizes, punches and syncs that still succeed.
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
        self.bytes[offset..offset + bytes.len()].copy_from_slice(&bytes);
        self.events.push(Event::Write { offset, bytes });
    }
}

/// A handle of a disk: one for the image, one for the test.
#[derive(Clone, Default)]
pub struct LossyDisk(Arc<Mutex<Disk>>);

impl LossyDisk {
    pub fn of(bytes: Vec<u8>) -> LossyDisk {
        LossyDisk(Arc::new(Mutex::new(Disk { bytes, ..Disk::default() })))
    }

    pub fn with<T>(&self, look: impl FnOnce(&mut Disk) -> T) -> T {
        look(&mut self.0.lock().expect("no thread panicked"))
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.with(|disk| disk.bytes.clone())
    }
}

impl Medium for LossyDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.with(|disk| disk.bytes.len() as u64))
    }

    fn set_len(&mut self, bytes: u64) -> io::Result<()> {
        self.with(|disk| {
            disk.burn()?;
            disk.bytes.resize(bytes as usize, 0);
            disk.events.push(Event::Resize(bytes as usize));
            Ok(())
        })
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.with(|disk| {
            let from = disk.bytes.get(offset as usize..offset as usize + bytes.len());
            let from = from.filter(|_| !disk.unreadable);
            bytes.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
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
}

/// A disk on its way through its events: what is durable, and what a crash may lose.
pub struct Replay {
    durable: Vec<u8>,
    pending: Vec<(usize, Vec<u8>)>,
    /// The last operation that was answered to be durable.
    pub answered: u64,
}

impl Replay {
    pub fn new(durable: Vec<u8>, answered: u64) -> Replay {
        Replay { durable, pending: Vec::new(), answered }
    }

    /// Lets an event happen.
    pub fn pass(&mut self, event: &Event) {
        match event {
            Event::Write { offset, bytes } => self.keep_back(*offset, bytes),
            Event::Resize(bytes) => self.durable.resize(*bytes, 0),
            Event::Sync => {
                for (offset, bytes) in std::mem::take(&mut self.pending) {
                    self.durable[offset..offset + bytes.len()].copy_from_slice(&bytes);
                }
            }
            Event::Answered(operation) => self.answered = *operation,
        }
    }

    /// Splits a write at the sectors of the disk.
    fn keep_back(&mut self, offset: usize, bytes: &[u8]) {
        let mut at = 0;
        while at < bytes.len() {
            let start = offset + at;
            let end = (start / SECTOR + 1) * SECTOR;
            let piece = &bytes[at..bytes.len().min(at + end - start)];
            let touched = self
                .pending
                .iter()
                .any(|(from, before)| *from < start + piece.len() && start < from + before.len());
            // A piece that changes nothing would only repeat states.
            if touched || self.durable[start..start + piece.len()] != *piece {
                self.pending.push((start, piece.to_vec()));
            }
            at += piece.len();
        }
    }

    /// The disk after a crash that let these pieces through.
    fn crash(&self, kept: impl Fn(usize) -> bool) -> Vec<u8> {
        let mut bytes = self.durable.clone();
        for (index, (offset, piece)) in self.pending.iter().enumerate() {
            if kept(index) {
                bytes[*offset..offset + piece.len()].copy_from_slice(piece);
            }
        }
        bytes
    }

    /// The disk after a crash in the middle of the last pieces, which are up to two.
    fn crash_inside(&self, random: &mut Random) -> Vec<u8> {
        let torn = self.pending.len().saturating_sub(1 + random.below(2));
        let mut bytes = self.crash(|at| at < torn);
        for (offset, piece) in &self.pending[torn..] {
            let written = random.below(piece.len().min(128));
            bytes[*offset..offset + written].copy_from_slice(&piece[..written]);
        }
        bytes
    }

    /// What a crash can leave now.
    pub fn crashes(&self, random: &mut Random) -> Vec<Vec<u8>> {
        let mut states = self.lost(random);
        states.push(self.crash_inside(random));
        states
    }

    /// What a crash can leave if sectors are whole: all states if they are few, else extreme and
    /// random ones.
    fn lost(&self, random: &mut Random) -> Vec<Vec<u8>> {
        let pieces = self.pending.len();
        if pieces <= EXHAUSTIVE {
            return (0..1 << pieces).map(|mask| self.crash(|at| mask >> at & 1 == 1)).collect();
        }
        let mut states = vec![self.crash(|_| false), self.crash(|_| true)];
        for _ in 0..4 {
            let (lost, alone) = (random.below(pieces), random.below(pieces));
            let draws: Vec<u64> = (0..pieces).map(|_| random.next()).collect();
            states.push(self.crash(|at| at != lost));
            states.push(self.crash(|at| at == alone));
            states.push(self.crash(|at| at != lost && at != pieces - 1));
            states.push(self.crash(|at| draws[at] & 1 == 0));
            states.push(self.crash(|at| draws[at] & 7 != 0));
        }
        states
    }
}
