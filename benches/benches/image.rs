//! Random writes on an image compared with a bare loop of the same `pwrite` and `fdatasync` calls.
//!
//! `cargo bench -p ftlab-benches --bench image [-- FOLDER]`
//!
//! The disk is in a file of FOLDER, by default of the folder for temporary files, which should not
//! be in memory. Rounds alternate: the image serves random writes of 4 KiB with a flush after each
//! 32, and everything that it writes is noted; then a bare loop writes as many bytes to the same
//! places of another file and syncs as often.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use disk::{Disk, recipe};
use ftl::device::{Device, Size};
use ftl::{Choice, Durability, Layers};
use ftlab_benches::XorShift;
use image::medium::SyncJob;
use image::{DiskFile, ImageStore, Medium, Room};
use nand::ChipModel;
use spec::Spec;

const ROUNDS: usize = 9;
const WRITES: u32 = 4096;
const FLUSH_EVERY: u32 = 32;
const PAGE: u64 = 4096;
const CAPACITY: u64 = 256 << 20;

/// What was done to a file.
#[derive(Clone, Copy)]
enum Call {
    Write { offset: u64, bytes: usize },
    Sync,
}

/// A file that notes what is done to it.
struct Noted {
    file: DiskFile,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl Noted {
    fn note(&self, call: Call) {
        self.calls.lock().expect("one thread").push(call);
    }
}

impl Medium for Noted {
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
        self.note(Call::Write { offset, bytes: bytes.len() });
        self.file.write_at(bytes, offset)
    }

    fn punch(&mut self, offset: u64, bytes: u64) -> io::Result<bool> {
        self.file.punch(offset, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.note(Call::Sync);
        self.file.sync()
    }

    fn begin_sync(&mut self) -> SyncJob {
        self.note(Call::Sync);
        self.file.begin_sync()
    }
}

fn device() -> Device {
    let parsed = |text: &str| Spec::parse(text).expect("a spec");
    let chip = ChipModel::from_spec(&parsed("slc-fast2010:page=4KiB")).expect("a chip");
    let choice = Choice::from_spec(&parsed("page")).expect("a scheme");
    let logical_blocks = CAPACITY / ftl::device::block_bytes(&chip);
    let size = Size { logical_blocks, extra_blocks: logical_blocks * 7 / 100 };
    let layers = Layers::default();
    Device::new(chip, choice, layers, size, Durability::Full, 1).expect("a device")
}

fn image(path: &Path, calls: &Arc<Mutex<Vec<Call>>>) -> Disk {
    let device = device();
    let recipe = recipe::of_device(&device);
    let mut file = DiskFile::create(path).expect("a new file");
    image::create(&mut file, &recipe, Room::of(&recipe.geometry), [1; 16]).expect("an image");
    let medium = Noted { file, calls: Arc::clone(calls) };
    let store = ImageStore::open(Box::new(medium)).expect("the image just created");
    Disk::on_image(store, device).expect("a blank image")
}

/// Writes random pages and returns the seconds that it took.
fn write_image(disk: &mut Disk, rng: &mut XorShift, page: &[u8]) -> f64 {
    let started = Instant::now();
    for number in 1..=WRITES {
        let lpn = rng.below((CAPACITY / PAGE) as u32);
        disk.write(u64::from(lpn) * PAGE, page, false).expect("a write");
        if number % FLUSH_EVERY == 0 {
            disk.flush().expect("a flush");
        }
    }
    started.elapsed().as_secs_f64()
}

/// Does the same to another file, and returns the seconds that it took.
fn write_bare(file: &File, calls: &[Call], bytes: &[u8]) -> f64 {
    let started = Instant::now();
    for call in calls {
        match *call {
            Call::Write { offset, bytes: count } => {
                file.write_all_at(&bytes[..count], offset).expect("a write");
            }
            Call::Sync => file.sync_data().expect("a sync"),
        }
    }
    started.elapsed().as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let folder = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let folder = folder.map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = tempfile::tempdir_in(folder).expect("a folder that can be written");
    let calls = Arc::new(Mutex::new(Vec::new()));
    let mut disk = image(&folder.path().join("image"), &calls);
    let page: Vec<u8> = (0..PAGE).map(|n| ((n * 37) >> 3) as u8).collect();
    for lpn in 0..CAPACITY / PAGE {
        disk.write(lpn * PAGE, &page, false).expect("a write");
    }
    disk.flush().expect("a flush");
    let mut rng = XorShift::new(1);
    for _ in 0..8 {
        write_image(&mut disk, &mut rng, &page);
    }
    let bare = folder.path().join("bare");
    std::fs::copy(folder.path().join("image"), &bare).expect("a copy");
    let bare = OpenOptions::new().write(true).open(bare).expect("the copy");
    let longest = vec![0x55; 1 << 22];
    let (mut ratios, mut speeds) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        calls.lock().expect("one thread").clear();
        let on_image = write_image(&mut disk, &mut rng, &page);
        let calls = calls.lock().expect("one thread").clone();
        let alone = write_bare(&bare, &calls, &longest);
        let written: usize = calls
            .iter()
            .map(|call| if let Call::Write { bytes, .. } = call { *bytes } else { 0 })
            .sum();
        let host = f64::from(WRITES) * PAGE as f64;
        println!(
            "round {round}: image {on_image:.3} s, bare loop {alone:.3} s, ratio {:.2}; {:.2} \
             bytes written for each of the host's",
            alone / on_image,
            written as f64 / host,
        );
        ratios.push(alone / on_image);
        speeds.push(host / on_image / 1e6);
    }
    println!(
        "random 4 KiB writes with a flush every {FLUSH_EVERY}: {:.1} MB/s, {:.2} of the bare loop \
         (medians of {ROUNDS} rounds)",
        median(speeds),
        median(ratios),
    );
}
