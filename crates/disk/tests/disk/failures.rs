//! A storage that fails: the disk becomes read-only, and keeps all that was flushed.

use disk::{Disk, Error};
use ftl::{Device, Layers};
use image::LossyDisk;

use crate::devices::{blank, device, devices, name, open};
use crate::model::{Model, Random};

/// Performs requests until one fails; none if all succeed.
fn until_failure(disk: &mut Disk, model: &mut Model, seed: u64) -> Option<Error> {
    let mut random = Random::new(seed);
    (0..150).find_map(|_| model.request(disk, &mut random).err())
}

/// A disk that was used, and the model of it.
fn used(device: &Device) -> (LossyDisk, Disk, Model) {
    let medium = blank(device);
    let mut disk = open(&medium, device);
    let mut model = Model::new(&disk);
    assert!(until_failure(&mut disk, &mut model, 5).is_none());
    disk.flush().unwrap();
    model.flushed();
    (medium, disk, model)
}

/// Lets the storage fail after `fuel` successes. Returns whether it failed.
fn fail_after(device: &Device, fuel: u64) -> bool {
    let (medium, mut disk, mut model) = used(device);
    medium.with(|medium| medium.fuel = Some(fuel));
    let Some(error) = until_failure(&mut disk, &mut model, 6) else { return false };
    assert!(disk.failure().is_some(), "{error}");
    model.adopt(&mut disk);
    assert!(matches!(disk.write(0, &[1; 512], false), Err(Error::ReadOnly(_))));
    assert!(matches!(disk.flush(), Err(Error::ReadOnly(_))));
    assert!(matches!(disk.trim(0, 4096, false), Err(Error::ReadOnly(_))));
    model.check(&mut disk, 0..model.sectors()).unwrap();
    assert!(disk.close().is_err());

    // What was flushed is in the image too, when the storage works again.
    medium.with(|medium| medium.fuel = None);
    let mut disk = open(&medium, device);
    model.adopt(&mut disk);
    model.flushed();
    assert!(until_failure(&mut disk, &mut model, 7).is_none());
    true
}

#[test]
fn a_failure_at_any_write_or_sync_makes_the_disk_read_only() {
    for device in devices() {
        println!("{}", name(&device));
        let is_page = device.choice.scheme.name == "page" && device.layers.is_empty();
        let step = if is_page { 7 } else { 263 };
        let failed = (0..).step_by(step).take_while(|fuel| fail_after(&device, *fuel)).count();
        assert!(failed * step > 100, "the storage failed at {failed} points only");
    }
}

#[test]
fn a_failure_of_a_read_is_an_error_of_that_request() {
    let (medium, mut disk, mut model) = used(&device("page", &Layers::default()).unwrap());
    medium.with(|medium| medium.unreadable = true);
    assert!(disk.read(0, &mut [0; 8192]).is_err());
    medium.with(|medium| medium.unreadable = false);
    assert_eq!(disk.failure(), None);
    model.check(&mut disk, 0..model.sectors()).unwrap();
    assert!(until_failure(&mut disk, &mut model, 8).is_none());
}
