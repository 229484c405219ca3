//! Damaged images: refused, described, and read as far as possible.

use disk::remains::Remains;
use disk::{Disk, opening, review};
use ftl::{Device, Layers};
use image::salvage::Damage;
use nand::{Lpn, Nand};
use tempfile::TempDir;

use crate::devices::{blank, device, open};
use crate::model::{Model, Random};

/// An image file of a `page` disk that was used, and the model of it.
struct Image {
    folder: TempDir,
    device: Device,
    bytes: Vec<u8>,
    model: Model,
}

impl Image {
    fn used() -> Image {
        let device = device("page", &Layers::default()).unwrap();
        let medium = blank(&device);
        let mut disk = open(&medium, &device);
        let (mut model, mut random) = (Model::new(&disk), Random::new(3));
        for _ in 0..200 {
            model.request(&mut disk, &mut random).unwrap();
        }
        disk.close().unwrap();
        let folder = tempfile::tempdir().unwrap();
        Image { folder, device, bytes: medium.bytes().to_vec(), model }
    }

    /// Writes the file with other bytes, which `damage` flips in a copy.
    fn damaged(&self, places: &[u64]) -> std::path::PathBuf {
        let mut bytes = self.bytes.clone();
        places.iter().for_each(|place| bytes[*place as usize] ^= 0x10);
        let path = self.folder.path().join("image");
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// The physical page that holds a logical page.
    fn newest(&self, lpn: u32) -> nand::Ppn {
        let (store, device) = opening::open(&self.damaged(&[])).unwrap();
        let disk = Disk::on_image(store, device).unwrap();
        let nand: &Nand = disk.nand().unwrap();
        let pages = (0..nand.geometry().pages()).map(nand::Ppn);
        let of_lpn = pages.filter_map(|ppn| Some((nand.array().peek_spare(ppn).unwrap()?.0, ppn)));
        let of_lpn = of_lpn.filter(|(spare, _)| spare.owner == Lpn(lpn));
        of_lpn.max_by_key(|(spare, _)| spare.version).expect("a mapped page").1
    }
}

fn salvaged(path: &std::path::Path) -> (Disk, Vec<Damage>) {
    let (store, device, damages) = opening::salvage(path).unwrap();
    (Disk::on_image(store, device).unwrap(), damages)
}

#[test]
fn a_whole_image_has_no_damage_and_is_not_changed() {
    let image = Image::used();
    let path = image.damaged(&[]);
    let review = review::review(&path).unwrap();
    assert_eq!(review.damages, Vec::<String>::new());
    assert_eq!((review.readable_pages, review.lost_pages), (image.device.logical_pages(), 0));
    let (mut disk, damages) = salvaged(&path);
    disk.write(0, &[1; 4096], false).unwrap();
    disk.flush().unwrap();
    drop(disk);
    assert_eq!(damages, []);
    assert!(std::fs::read(&path).unwrap() == image.bytes, "the file was changed");
}

#[test]
fn a_damaged_superblock_is_named_and_the_other_one_counts() {
    let image = Image::used();
    for (number, place) in [(0, 600), (1, 4096 + 600)] {
        let path = image.damaged(&[place]);
        let review = review::review(&path).unwrap();
        assert_eq!(review.damages.len(), 1, "{:?}", review.damages);
        assert!(review.damages[0].starts_with(&format!("superblock {number}: ")));
        opening::open(&path).unwrap();
    }
    let both = image.damaged(&[600, 4096 + 600]);
    assert!(opening::salvage(&both).is_err());
}

#[test]
fn without_a_block_table_the_pages_say_where_they_belong() {
    let image = Image::used();
    let (store, _) = opening::open(&image.damaged(&[])).unwrap();
    let tables = [0, 1].map(|table| store.layout().table(table) + 5);
    drop(store);
    let path = image.damaged(&tables);
    assert!(opening::open(&path).is_err());
    let (mut disk, damages) = salvaged(&path);
    assert_eq!(damages.len(), 1, "{damages:?}");
    assert!(damages[0].what.contains("block table"), "{damages:?}");
    image.model.check(&mut disk, 0..image.model.sectors()).unwrap();
}

#[test]
fn a_damaged_data_area_is_an_error_of_its_page_alone() {
    let image = Image::used();
    let page_bytes = u64::from(image.device.geometry().page_bytes());
    let lpn = (0..).find(|lpn| image.model.newest(*lpn * page_bytes / 512) != 0).unwrap();
    let ppn = image.newest(lpn as u32);
    let (store, _) = opening::open(&image.damaged(&[])).unwrap();
    let (data, record) = store.places(ppn).unwrap();
    drop(store);

    let path = image.damaged(&[data + 700]);
    let review = review::review(&path).unwrap();
    assert_eq!(review.lost_pages, 1, "{:?}", review.damages);
    let (store, device) = opening::open(&path).unwrap();
    let mut disk = Disk::on_image(store, device).unwrap();
    let mut page = vec![0; page_bytes as usize];
    for other in 0..image.device.logical_pages().into() {
        assert_eq!(disk.read(other * page_bytes, &mut page).is_err(), other == lpn, "{other}");
    }
    disk.write(lpn * page_bytes, &page, false).unwrap();
    disk.read(lpn * page_bytes, &mut page).unwrap();
    drop(disk);

    let path = image.damaged(&[record + 40]);
    let why = opening::open(&path).err().expect("a refusal").to_string();
    assert!(why.contains(&format!("the record of page {} is not whole", ppn.0)), "{why}");
    assert!(review::review(&path).unwrap().damages[0].contains("its record"));
}

#[test]
fn without_its_ftl_the_newest_versions_remain() {
    let image = Image::used();
    let (store, _, _) = opening::salvage(&image.damaged(&[])).unwrap();
    let page_bytes = image.device.geometry().page_bytes();
    let mut remains = Remains::of(store, image.device.logical_pages());
    let (mut page, mut mapped) = (vec![0; page_bytes as usize], 0);
    for lpn in 0..image.device.logical_pages() {
        remains.read(lpn, &mut page).unwrap();
        let first = u64::from(lpn) * u64::from(page_bytes / 512);
        for (sector, bytes) in (first..).zip(page.chunks(512)) {
            let newest = image.model.newest(sector).to_le_bytes();
            // A trim is forgotten, so the page may come back.
            let is_trimmed = newest == [0; 4];
            assert!(bytes[..4] == newest || is_trimmed, "sector {sector}");
            mapped += u32::from(!is_trimmed);
        }
    }
    assert!(mapped > 100, "only {mapped} sectors have data");
}
