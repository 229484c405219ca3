//! Disks whose flash fails: they go on while blocks are in reserve, then they can only be read.

use disk::{Disk, Error, FlashFailure, opening, recipe};
use ftl::{Device, Layers};
use image::Recipe;
use nand::{BlockId, Cause, Cut, MediaModel, Op, Outcome, WearChoice};

use crate::devices::{blank, device, devices, name, open};
use crate::model::{Model, Random};

fn on_media(device: Device, model: &str, reserve_blocks: u64) -> Device {
    let model = MediaModel::parse(model, 3000).unwrap().unwrap();
    device.on_media(model, reserve_blocks).unwrap()
}

fn retired(disk: &Disk) -> u64 {
    disk.nand().unwrap().media().unwrap().counts().retired()
}

/// Cuts, and images that are closed and opened anew, while one operation in fifty fails.
#[test]
fn every_disk_goes_on_while_blocks_fail() {
    let mut failed = 0;
    for (seed, device) in (0..).zip(devices()) {
        let model = "real:factory_bad=2%,endurance=60,program_fail=2%,erase_fail=2%";
        let device = on_media(device, model, 100);
        let medium = blank(&device);
        let mut disk = open(&medium, &device);
        let (mut model, mut random) = (Model::new(&disk), Random::new(seed));
        model.machine_may_crash = false;
        for number in 0..120 {
            match model.request(&mut disk, &mut random) {
                Ok(()) => {}
                Err(Error::PowerLost) => {
                    disk.power_on().unwrap();
                    model.adopt(&mut disk);
                    model.flushed();
                }
                Err(error) => panic!("{}: {error}", name(&device)),
            }
            match number % 40 {
                13 => {
                    let outcome = Outcome::OF_PROGRAM[random.below(8) as usize];
                    disk.cut_after(Cut { after: random.below(30), outcome });
                }
                39 if !disk.is_off() => {
                    disk.close().unwrap();
                    disk = open(&medium, &device);
                    model.adopt(&mut disk);
                    model.flushed();
                }
                _ => {}
            }
        }
        if disk.is_off() {
            disk.power_on().unwrap();
            model.adopt(&mut disk);
        }
        disk.ftl().unwrap().audit(disk.nand().unwrap()).unwrap();
        failed += retired(&disk);
    }
    assert!(failed > 500, "only {failed} blocks failed");
}

/// Cold data move to worn blocks, and the image is opened and cut in between.
#[test]
fn blocks_of_an_image_change_places() {
    const PAGE: u64 = 4096;
    let device = on_media(device("page", &Layers::default()).unwrap(), "real:factory_bad=0%", 10);
    let wear = WearChoice::parse("swap:every=1,margin=2,rounds=1").unwrap();
    let device = device.levelled_by(wear).unwrap();
    let (medium, pages) = (blank(&device), device.capacity_bytes() / PAGE);
    let (mut disk, mut random) = (open(&medium, &device), Random::new(1));
    let mut expected = vec![0_u8; pages as usize];
    let mut moved = 0;
    for number in 0..4000_u64 {
        // Every page once, then a few of them.
        let page = if number < pages { number } else { random.below(pages / 8) };
        expected[page as usize] = number as u8;
        disk.write(page * PAGE, &[number as u8; PAGE as usize], false).unwrap();
        if number % 500 == 499 {
            disk.flush().unwrap();
            moved += disk.tally().count(Op::Program, Cause::Wear);
            if number % 1000 == 499 {
                disk.cut_now();
                disk.power_on().unwrap();
            } else {
                disk.close().unwrap();
                disk = open(&medium, &device);
            }
            for (page, &value) in (0..).zip(&expected) {
                let mut found = [0; PAGE as usize];
                disk.read(page * PAGE, &mut found).unwrap();
                assert_eq!(found, [value; PAGE as usize], "page {page} after {number}");
            }
        }
    }
    assert!(moved > 100, "only {moved} pages moved");
}

/// A block takes its erases once, however often the image is opened.
#[test]
fn blocks_keep_their_erases_when_an_image_is_opened_anew() {
    let media = "real:factory_bad=0%,endurance=6,spread=0%";
    let device = on_media(device("page", &Layers::default()).unwrap(), media, 6);
    let medium = blank(&device);
    for opened in 0..200 {
        let mut disk = open(&medium, &device);
        let page = [opened as u8; 4096];
        let pages = device.capacity_bytes() / 4096;
        let done = (0..pages).try_for_each(|at| disk.write(at * 4096, &page, false));
        let flash = disk.nand().unwrap().array();
        assert!(flash.erases_of_blocks().iter().all(|&erases| erases <= 7), "{opened}");
        let is_worn_out = done.is_err();
        let _ = disk.close();
        if is_worn_out {
            assert!(opened > 2, "after {opened} times");
            return;
        }
    }
    panic!("it never wears out");
}

#[test]
fn flash_fails_on_command() {
    let device = on_media(device("page", &Layers::default()).unwrap(), "real:factory_bad=0%", 9);
    let mut disk = Disk::in_memory(device).unwrap();
    let pages = disk.device().capacity_bytes() / 4096;
    let overwrite = |disk: &mut Disk| {
        (0..3 * pages).try_for_each(|at| disk.write(at * 7 % pages * 4096, &[5; 4096], false))
    };
    disk.fail(FlashFailure::WornOut(BlockId(3))).unwrap();
    overwrite(&mut disk).unwrap();
    let counts = disk.nand().unwrap().media().unwrap().counts();
    assert_eq!((counts.worn_out, counts.retired()), (1, 1), "{counts:?}");
    disk.fail(FlashFailure::Erase { after: 1 }).unwrap();
    disk.fail(FlashFailure::Program { after: 5 }).unwrap();
    overwrite(&mut disk).unwrap();
    let counts = disk.nand().unwrap().media().unwrap().counts();
    assert_eq!((counts.erase_failures, counts.program_failures), (1, 1), "{counts:?}");
    let left = |disk: &Disk| disk.nand().unwrap().media().unwrap().in_reserve();
    disk.fail(FlashFailure::UsedUp { left: 2 }).unwrap();
    assert_eq!(left(&disk), 2);
    overwrite(&mut disk).unwrap();
    disk.fail(FlashFailure::UsedUp { left: 0 }).unwrap();
    for _ in 0..2 {
        assert_eq!(left(&disk), 0);
        overwrite(&mut disk).unwrap_err();
        disk.power_on().unwrap();
    }
    let why = disk.fail(FlashFailure::WornOut(BlockId(99))).unwrap_err().to_string();
    assert!(why.contains("block 99 does not exist"), "{why}");
    let perfect = self::device("page", &Layers::default()).unwrap();
    let refused = Disk::in_memory(perfect).unwrap().fail(FlashFailure::UsedUp { left: 0 });
    assert!(matches!(refused, Err(Error::PerfectFlash)));
}

/// Writes until the disk refuses. Returns the sentence.
fn wear_out(disk: &mut Disk, model: &mut Model, random: &mut Random) -> String {
    for _ in 0..100_000 {
        match model.request(disk, random) {
            Ok(()) => {}
            Err(error) => {
                assert!(matches!(error, Error::Ftl(ftl::Error::Chip(nand::Error::WornOut { .. }))));
                return error.to_string();
            }
        }
    }
    panic!("it never wears out");
}

/// A disk at its end: it can be read, and refuses changes with this sentence.
fn is_at_its_end(disk: &mut Disk, model: &Model, sentence: &str) {
    model.check(disk, 0..model.sectors()).unwrap();
    let changes = [disk.write(0, &[1; 512], true), disk.trim(0, 4096, false)];
    for refused in changes {
        assert_eq!(refused.unwrap_err().to_string(), sentence);
    }
    assert_eq!(disk.failure(), None, "it is no failure of the disk");
}

const SHORT: &str = "real:factory_bad=2%,endurance=4,program_fail=0.2%";

fn short_lived() -> Device {
    on_media(device("page", &Layers::default()).unwrap(), SHORT, 6)
}

/// Wears a disk out and flushes it. Returns what it may hold, and the sentence that refuses writes.
fn wear_out_and_flush(disk: &mut Disk, seed: u64) -> (Model, String) {
    let (mut model, mut random) = (Model::new(disk), Random::new(seed));
    let sentence = wear_out(disk, &mut model, &mut random);
    // The refused request was noted before it was made.
    model.adopt(disk);
    match disk.flush() {
        Ok(()) => model.flushed(),
        // No block was left for the flush either.
        Err(error) => assert_eq!(error.to_string(), sentence),
    }
    (model, sentence)
}

#[test]
fn an_image_at_its_end_can_be_read_for_ever_and_is_left_as_it_is() {
    let mut orderly = 0;
    for seed in 0..20 {
        let device = short_lived();
        let medium = blank(&device);
        let mut disk = open(&medium, &device);
        let (mut model, sentence) = wear_out_and_flush(&mut disk, seed);
        assert!(sentence.starts_with("the device can only be read: "), "{sentence}");
        is_at_its_end(&mut disk, &model, &sentence);
        let is_flushed = disk.close().is_ok();
        orderly += u32::from(is_flushed);
        let before = medium.bytes().to_vec();
        let mut disk = open(&medium, &device);
        model.adopt(&mut disk);
        for _ in 0..2 {
            is_at_its_end(&mut disk, &model, &sentence);
            disk.flush().unwrap();
            disk.power_on().unwrap();
        }
        disk.close().unwrap();
        assert!(medium.bytes().to_vec() == before, "seed {seed}: the image has changed");
    }
    assert!(orderly > 10, "only {orderly} of 20 ended in order");
}

/// The same on a file, of which a view is made instead of a copy.
#[test]
fn a_file_at_its_end_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("worn.img");
    let device = short_lived();
    opening::create(&path, &device).unwrap();
    let opened = || {
        let (store, made) = opening::open(&path).unwrap();
        opening::expect(&made, &device).unwrap();
        Disk::on_image(store, made).unwrap()
    };
    let mut disk = opened();
    let (mut model, sentence) = wear_out_and_flush(&mut disk, 3);
    let _ = disk.close();
    let before = std::fs::read(&path).unwrap();
    let mut disk = opened();
    model.adopt(&mut disk);
    is_at_its_end(&mut disk, &model, &sentence);
    disk.close().unwrap();
    assert!(std::fs::read(&path).unwrap() == before);
    let review = disk::review::review(&path).unwrap();
    assert_eq!((review.damages, review.lost_pages), (Vec::new(), 0));
}

/// No block is left for a program: what was not flushed is lost with the power, and no flush says
/// otherwise. A sync that had begun ends as it would have.
#[test]
fn a_disk_that_cannot_go_on_flushes_nothing() {
    let (mut syncs, mut refused) = (0, 0);
    // A write buffer has pages for the flush.
    let buffer = Layers::from_texts(&[("buffer", "64KiB")]).unwrap();
    for seed in 0..80 {
        let device = on_media(device("page", &buffer).unwrap(), SHORT, 6);
        let medium = blank(&device);
        let mut disk = open(&medium, &device);
        let (mut model, mut random) = (Model::new(&disk), Random::new(seed));
        let sentence = wear_out(&mut disk, &mut model, &mut random);
        if disk.nand().unwrap().media().unwrap().is_frozen() {
            continue;
        }
        let job = disk.begin_sync().unwrap();
        disk.nand_mut().unwrap().media_mut().unwrap().fail_program_after(0);
        let flushed = disk.flush();
        if let Some(job) = job {
            disk.end_sync(job()).unwrap();
            syncs += u32::from(flushed.is_err());
        }
        if let Err(error) = flushed {
            refused += 1;
            assert_eq!(error.to_string(), sentence);
            assert_eq!(disk.flush().unwrap_err().to_string(), sentence);
        }
        disk.power_on().unwrap();
        model.adopt(&mut disk);
        is_at_its_end(&mut disk, &model, &sentence);
        disk.close().unwrap();
        model.check(&mut open(&medium, &device), 0..model.sectors()).unwrap();
    }
    assert!(syncs > 0 && refused > 10, "{syncs} {refused}");
}

#[test]
fn a_recipe_gives_the_media_back() {
    let device = short_lived();
    let made = recipe::of_device(&device);
    let expected = "--media real:factory_bad=2%,endurance=4,spread=10%,program_fail=0.2%,\
                    erase_fail=0% --reserve 6blocks";
    assert_eq!(made.media, expected);
    let again = recipe::device(&made).unwrap();
    assert_eq!(recipe::of_device(&again), made);
    assert_eq!(again.media(), device.media());
    let wear = WearChoice::parse("static:threshold=3").unwrap();
    let levelled = recipe::of_device(&device.levelled_by(wear).unwrap());
    assert!(levelled.media.ends_with(" --wear static:threshold=3,rounds=4"), "{}", levelled.media);
    assert_eq!(recipe::of_device(&recipe::device(&levelled).unwrap()), levelled);
    let perfect = recipe::of_device(&self::device("page", &Layers::default()).unwrap());
    assert_eq!(perfect.media, "");
    let why = made.expect(&perfect).unwrap_err().to_string();
    assert!(why.contains("the image was made with failures --media real:"), "{why}");
    for media in [
        "--media",
        "--media perfect --reserve 6blocks",
        "--media real:endurance=4 --reserve 6",
        "--media real:endurance=0 --reserve 6blocks",
        "--media real --reserve 7blocks",
        "--media real --reserve 4000000000blocks",
        "--media real:factory_bad=99% --reserve 6blocks",
        "--media real --reserve 6blocks --wear",
        "--media real --reserve 6blocks --wear other",
        "--wear static",
    ] {
        let strange = Recipe { media: media.into(), ..made.clone() };
        let refused = recipe::device(&strange);
        assert!(matches!(refused, Err(Error::Unknown(_))), "{media}: {refused:?}");
    }
}
