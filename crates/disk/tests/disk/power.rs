//! Power cuts of a disk that goes on, and syncs that go on beside its requests.

use disk::{Disk, Error};
use ftl::{Device, Layers};
use nand::page_store::SyncJob;
use nand::{Cut, Outcome};

use crate::devices::{blank, device, devices, name, open};
use crate::model::{Model, Random};

/// A cut during one of the next programs or erases.
fn drawn_cut(random: &mut Random) -> Cut {
    let outcomes = [Outcome::OF_PROGRAM, Outcome::OF_ERASE].concat();
    let outcome = outcomes[random.below(outcomes.len() as u64) as usize];
    Cut { after: random.below(60), outcome }
}

/// Works on a disk whose power fails again and again. Returns how often it failed.
fn survives_cuts(disk: &mut Disk, seed: u64) -> u32 {
    let (mut model, mut random) = (Model::new(disk), Random::new(seed));
    let (mut syncs, mut cuts) = (Syncs::default(), 0);
    model.machine_may_crash = false;
    disk.cut_after(drawn_cut(&mut random));
    for number in 0..400 {
        syncs.step(disk, &mut random);
        if number % 97 == 96 {
            disk.cut_now();
        }
        match model.request(disk, &mut random) {
            Ok(()) => continue,
            Err(Error::PowerLost) => {}
            Err(error) => panic!("{error}"),
        }
        assert!(disk.is_off() && disk.ftl().is_none() && disk.failure().is_none());
        refuses_everything(disk);
        disk.power_on().unwrap();
        model.adopt(disk);
        model.flushed();
        disk.cut_after(drawn_cut(&mut random));
        cuts += 1;
    }
    disk.power_on().unwrap();
    model.adopt(disk);
    disk.ftl().unwrap().audit(disk.nand().unwrap()).unwrap();
    cuts
}

fn refuses_everything(disk: &mut Disk) {
    let refused = [
        disk.read(0, &mut [0; 512]),
        disk.write(0, &[1; 512], false),
        disk.trim(0, 4096, true),
        disk.flush(),
        disk.sync(),
        disk.begin_flush().map(|_| ()),
        disk.begin_sync().map(|_| ()),
        disk.extents(0, 512).map(|_| ()),
        disk.places(0, 512).map(|_| ()),
    ];
    for result in refused {
        assert!(matches!(result, Err(Error::PowerLost)), "{result:?}");
    }
}

/// A sync that goes on beside the requests.
#[derive(Default)]
struct Syncs(Option<SyncJob>);

impl Syncs {
    /// Begins a sync or ends it, or does nothing.
    fn step(&mut self, disk: &mut Disk, random: &mut Random) {
        if random.below(3) > 0 {
            return;
        }
        self.0 = match self.0.take() {
            None => disk.begin_sync().expect("the disk is on"),
            Some(job) => {
                disk.end_sync(job()).expect("no sync fails");
                None
            }
        };
    }
}

#[test]
fn every_disk_survives_power_cuts() {
    let mut cuts = 0;
    // On an image and in memory, in turns.
    for (seed, device) in (0..).zip(devices()) {
        println!("{}", name(&device));
        cuts += match seed % 2 {
            0 => survives_cuts(&mut open(&blank(&device), &device), seed),
            _ => survives_cuts(&mut Disk::in_memory(device).unwrap(), seed),
        };
    }
    assert!(cuts > 500, "only {cuts} cuts");
}

fn page_device() -> Device {
    device("page", &Layers::default()).unwrap()
}

/// A crash of the machine brings back what was synced.
#[test]
fn a_split_flush_covers_what_came_before_its_begin() {
    let device = page_device();
    let medium = blank(&device);
    let mut disk = open(&medium, &device);
    disk.write(0, &[1; 4096], false).unwrap();
    let job = disk.begin_flush().unwrap().expect("something to sync");
    disk.write(0, &[2; 4096], true).unwrap();
    disk.cut_now();
    let done = std::thread::spawn(job).join().unwrap();
    disk.end_sync(done).unwrap();
    disk.power_on().unwrap();
    let mut found = [0; 4096];
    disk.read(0, &mut found).unwrap();
    assert_eq!(found, [2; 4096], "a forced write survives a cut of the chip");
    disk.flush().unwrap();
    assert!(disk.begin_flush().unwrap().is_none(), "all is durable");
    disk.close().unwrap();
}

#[test]
fn an_image_whose_disk_is_off_is_closed_in_order() {
    let device = page_device();
    let medium = blank(&device);
    let mut disk = open(&medium, &device);
    disk.write(0, &[3; 4096], true).unwrap();
    disk.write(4096, &[4; 4096], false).unwrap();
    disk.cut_now();
    disk.close().unwrap();
    let mut found = [0; 4096];
    open(&medium, &device).read(0, &mut found).unwrap();
    assert_eq!(found, [3; 4096]);
}

#[test]
fn a_sync_that_fails_makes_the_disk_read_only() {
    let device = page_device();
    for is_off in [false, true] {
        let medium = blank(&device);
        let mut disk = open(&medium, &device);
        disk.write(0, &[5; 4096], false).unwrap();
        disk.flush().unwrap();
        disk.write(0, &[6; 4096], true).unwrap();
        let job = disk.begin_sync().unwrap().expect("something to sync");
        medium.with(|medium| medium.fuel = Some(0));
        let done = job();
        if is_off {
            disk.cut_now();
        }
        assert!(disk.end_sync(done).is_err());
        if is_off {
            disk.power_on().unwrap_err();
        }
        assert!(disk.failure().is_some_and(|why| why.contains("storage")), "{:?}", disk.failure());
        assert!(matches!(disk.power_on(), Err(Error::ReadOnly(_))));
        let mut found = [0; 4096];
        disk.read(0, &mut found).unwrap();
        assert_eq!(found, [6; 4096]);
    }
}

#[test]
fn places_name_the_blocks_that_hold_the_bytes() {
    let mut disk = Disk::in_memory(page_device()).unwrap();
    disk.write(2048, &[1; 4096], false).unwrap();
    let places = disk.places(512, 8192 - 512).unwrap();
    let bytes: Vec<_> = places.iter().map(|place| (place.block.is_some(), place.bytes)).collect();
    assert_eq!(bytes, [(false, 1536), (true, 4096), (false, 2048)]);
    let block = places[1].block.unwrap();
    let pages = disk.nand().unwrap().owners(block);
    assert_eq!(pages[..2], [1, 2]);
}
