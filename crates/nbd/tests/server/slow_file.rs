//! Files whose syncs can be held up, and disks on them.

use std::io;
use std::sync::{Arc, Condvar, Mutex};

use image::medium::SyncJob;
use image::{LossyDisk, Medium, Room};
use nbd::device::live::Live;
use nbd::device::recorder::Recorder;

use crate::conversation::*;

/// Lets syncs wait.
#[derive(Clone, Default)]
pub struct Barrier(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    is_closed: bool,
    syncs: usize,
}

impl Barrier {
    pub fn close(&self) {
        self.0.0.lock().unwrap().is_closed = true;
    }

    pub fn open(&self) {
        self.0.0.lock().unwrap().is_closed = false;
        self.0.1.notify_all();
    }

    fn pass(&self) {
        let mut state = self.0.0.lock().unwrap();
        state.syncs += 1;
        while state.is_closed {
            state = self.0.1.wait(state).unwrap();
        }
    }

    pub fn syncs(&self) -> usize {
        self.0.0.lock().unwrap().syncs
    }
}

/// A file whose syncs wait at a barrier.
pub struct SlowFile {
    pub file: LossyDisk,
    pub barrier: Barrier,
}

impl Medium for SlowFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn set_len(&mut self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_at(bytes, offset)
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_at(bytes, offset)
    }

    fn punch(&mut self, offset: u64, bytes: u64) -> io::Result<bool> {
        self.file.punch(offset, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }

    fn begin_sync(&mut self) -> SyncJob {
        let (barrier, sync) = (self.barrier.clone(), self.file.begin_sync());
        Box::new(move || {
            barrier.pass();
            sync()
        })
    }
}

/// A disk on a new image, whose file is changed by `wrap`.
pub fn on_file(
    layers: &[(&str, &str)],
    recorder: Recorder,
    wrap: impl FnOnce(LossyDisk) -> Box<dyn Medium>,
) -> Live {
    let device = device("page", layers);
    let recipe = disk::recipe::of_device(&device);
    let mut file = LossyDisk::default();
    image::create(&mut file, &recipe, Room::of(&recipe.geometry), [1; 16]).unwrap();
    let store = image::ImageStore::open(wrap(file)).unwrap();
    served(disk::Disk::on_image(store, device).unwrap(), recorder)
}

/// A disk on a new image, the syncs of which wait at the barrier.
pub fn on_slow_file(barrier: Barrier) -> Live {
    on_file(&[], Recorder::idle(), |file| Box::new(SlowFile { file, barrier }))
}
