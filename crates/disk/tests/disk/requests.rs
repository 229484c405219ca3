//! Requests of the host, with power cycles in between.

use disk::{Disk, Error, recipe};
use ftl::Layers;

use crate::devices::{blank, device, devices, name, open};
use crate::model::{Model, Random};

#[test]
fn every_scheme_and_layer_keeps_its_data_through_power_cycles() {
    for device in devices() {
        println!("{}", name(&device));
        let medium = blank(&device);
        let mut disk = open(&medium, &device);
        let (mut model, mut random) = (Model::new(&disk), Random::new(1));
        for number in 1..=400 {
            model.request(&mut disk, &mut random).unwrap();
            match number % 80 {
                20 => {
                    disk.close().unwrap();
                    disk = open(&medium, &device);
                }
                60 => {
                    // What was not flushed may be lost.
                    drop(disk);
                    disk = open(&medium, &device);
                    model.adopt(&mut disk);
                    model.flushed();
                }
                _ => {}
            }
            if number % 40 == 0 {
                model.check_extents(&disk);
            }
        }
        model.check(&mut disk, 0..model.sectors()).unwrap();
        disk.ftl().unwrap().audit(disk.nand().unwrap()).unwrap();
    }
}

#[test]
fn a_forced_write_survives_with_a_sync_and_without_a_flush() {
    for device in devices() {
        let medium = blank(&device);
        let mut disk = open(&medium, &device);
        disk.write(512, &[9; 1024], true).unwrap();
        disk.sync().unwrap();
        drop(disk);
        let mut found = [0; 2048];
        open(&medium, &device).read(0, &mut found).unwrap();
        let expected = [vec![0; 512], vec![9; 1024], vec![0; 512]].concat();
        assert!(found[..] == expected, "{}", name(&device));
    }
}

#[test]
fn extents_begin_and_end_where_the_range_does() {
    let mut disk = Disk::in_memory(device("page", &Layers::default()).unwrap()).unwrap();
    disk.write(4096, &[1; 2048], false).unwrap();
    let reads = disk.nand().unwrap().tally().clone();
    let extents = |offset, bytes| {
        let found = disk.extents(offset, bytes).unwrap();
        found.iter().map(|it| (it.is_mapped, it.bytes)).collect::<Vec<_>>()
    };
    assert_eq!(extents(0, 8192), [(false, 4096), (true, 2048), (false, 2048)]);
    assert_eq!(extents(3584, 1024), [(false, 512), (true, 512)]);
    assert_eq!(extents(4608, 512), [(true, 512)]);
    assert_eq!(extents(0, 0), []);
    assert_eq!(*disk.nand().unwrap().tally(), reads);
}

#[test]
fn a_disk_in_memory_serves_the_same_requests() {
    let device = device("page", &Layers::default()).unwrap();
    let mut disk = Disk::in_memory(device).unwrap();
    let (mut model, mut random) = (Model::new(&disk), Random::new(2));
    for _ in 0..400 {
        model.request(&mut disk, &mut random).unwrap();
    }
    disk.close().unwrap();
}

#[test]
fn impossible_addresses_are_refused() {
    let mut disk = Disk::in_memory(device("page", &Layers::default()).unwrap()).unwrap();
    let capacity = disk.device().capacity_bytes();
    assert!(matches!(disk.write(1, &[0; 512], false), Err(Error::Unaligned { .. })));
    assert!(matches!(disk.read(0, &mut [0; 100]), Err(Error::Unaligned { .. })));
    assert!(matches!(disk.write(capacity, &[0; 512], false), Err(Error::Beyond { .. })));
    assert!(matches!(disk.trim(u64::MAX - 511, 1024, false), Err(Error::Beyond { .. })));
    disk.write(capacity, &[], false).unwrap();
}

#[test]
fn a_recipe_gives_the_device_back() {
    for device in devices() {
        let made = recipe::of_device(&device);
        let again = recipe::device(&made).unwrap();
        assert_eq!(recipe::of_device(&again), made);
        assert_eq!(again.extra_blocks, device.extra_blocks);
        let other = image::Recipe { seed: 8, ..made.clone() };
        let why = recipe::of_device(&recipe::device(&other).unwrap()).expect(&made).unwrap_err();
        assert!(why.to_string().contains("seed 8, not 7"), "{why}");
        let strange = image::Recipe { scheme: "future".into(), ..made };
        assert!(matches!(recipe::device(&strange), Err(Error::Unknown(_))));
    }
}

/// A crafted recipe is refused before anything of the claimed size is made.
#[test]
fn a_recipe_that_claims_more_than_its_chip_is_refused() {
    let made = recipe::of_device(&device("page", &Layers::default()).unwrap());
    let refusal = |recipe| recipe::device(&recipe).unwrap_err().to_string();
    for capacity_bytes in [u64::MAX, 1 << 42, 2 * made.capacity_bytes] {
        let why = refusal(image::Recipe { capacity_bytes, ..made.clone() });
        assert!(why.contains("logical blocks out of"), "{why}");
    }
    let chip = "slc-fast2010:pages_per_block=2".to_owned();
    let why = refusal(image::Recipe { chip, ..made.clone() });
    assert!(why.contains("with other pages"), "{why}");
    let with_layers =
        |layers: &str| refusal(image::Recipe { layers: layers.into(), ..made.clone() });
    let why = with_layers("--sector-log 1GiB");
    assert!(why.contains("logical blocks out of"), "{why}");
    let why = with_layers("--dram 64KiB");
    assert!(why.contains("fixed size"), "{why}");
}
