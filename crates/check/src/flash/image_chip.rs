//! A chip on an image: opened from its bytes, and brought back through them after each power-on.

use ftl::Device;
use image::medium::shared_bytes::SharedBytes;
use image::{ImageStore, LossyDisk, Medium, Recipe, Room};
use nand::page_store::{BlockRecord, Health, PageStore, SyncBy, load_spare};
use nand::spare::PageState;
use nand::{BlockId, FlashArray, Nand, Ppn};
use std::any::Any;

use crate::finding::{Defect, Finding};

/// So little room that slots and journal run out often.
const NARROW: Room = Room { spare_slots: 2, frames: 3 };

type Result<T> = std::result::Result<T, Finding>;

/// The flash of an image.
pub struct Opened {
    /// The flash.
    pub flash: FlashArray,
    /// What the chip holds.
    pub contents: Contents,
}

/// The bytes of a blank image. Every second seed gives it little room.
pub fn blank(recipe: &Recipe) -> SharedBytes {
    let mut disk = LossyDisk::default();
    let room = if recipe.seed.is_multiple_of(2) { Room::of(&recipe.geometry) } else { NARROW };
    let created = image::create(&mut disk, recipe, room, [7; 16]);
    created.expect("the disk is empty and takes every write");
    disk.bytes()
}

/// Opens an image.
///
/// # Errors
/// It is refused, which no crash and no cut may cause.
pub fn open(medium: Box<dyn Medium>, device: &Device) -> Result<Opened> {
    let store = opened(medium)?;
    let contents = Contents::of(&store)?;
    let flash = flash_of(store, device)?;
    Ok(Opened { flash, contents })
}

/// What a chip on an image holds.
///
/// # Errors
/// The disk failed.
pub fn contents(flash: FlashArray) -> Result<Contents> {
    Contents::of(&image_of(flash))
}

/// The last operation of the image that a chip is on, if it is.
pub fn operation(flash: &FlashArray) -> Option<u64> {
    let store: &dyn Any = flash.storage()?;
    store.downcast_ref().map(ImageStore::operation)
}

fn opened(medium: Box<dyn Medium>) -> Result<ImageStore> {
    let opened = ImageStore::open(medium);
    opened.map_err(|error| Finding::new(Defect::ImageRefused, error.to_string()))
}

/// Closes an image, or only syncs it, and opens it anew. The chip must be the same.
///
/// # Errors
/// It is another chip, or the image is refused.
pub fn reopen(flash: FlashArray, device: &Device) -> Result<Opened> {
    // Blocks that have moved have their own numbers again.
    let flash = Nand::power_up(flash).into_array();
    let known = Known::of(&flash);
    let mut store = image_of(flash);
    let before = Contents::of(&store)?;
    let left = if store.operation().is_multiple_of(2) {
        store.close()
    } else {
        store.sync(SyncBy::Store).map(drop)
    };
    left.map_err(Finding::of_storage)?;
    let operation = store.operation();
    let store = opened(store.into_medium())?;
    if store.operation() != operation {
        return differs(format!("it holds operation {}, not {operation}", store.operation()));
    }
    let contents = Contents::of(&store)?;
    before.expect(&contents)?;
    let flash = flash_of(store, device)?;
    known.expect(&Known::of(&flash), &contents)?;
    Ok(Opened { flash, contents })
}

fn flash_of(store: ImageStore, device: &Device) -> Result<FlashArray> {
    device.flash(Box::new(store)).map_err(|error| match error {
        ftl::Error::Chip(error) => Finding::of_storage(error),
        other => Finding::new(Defect::ImageRefused, other.to_string()),
    })
}

fn image_of(flash: FlashArray) -> Box<ImageStore> {
    let store: Box<dyn Any> = flash.into_store().expect("a chip in bytes mode keeps its pages");
    store.downcast().expect("the chip is on an image")
}

/// What a chip knows of its flash without reading it.
struct Known {
    owners: Vec<u32>,
    wear: Vec<u32>,
}

impl Known {
    fn of(flash: &FlashArray) -> Known {
        let blocks = (0..flash.geometry().blocks()).map(BlockId);
        let owners = blocks.flat_map(|block| flash.owners(block)).copied().collect();
        Known { owners, wear: flash.erases_of_blocks().to_vec() }
    }

    fn expect(&self, other: &Known, contents: &Contents) -> Result<()> {
        if self.wear != other.wear {
            return differs(format!("the wear is {:?}, not {:?}", other.wear, self.wear));
        }
        // The owner of a page that cannot be read is of no use.
        let is_known = |page: &PageContents| match page.state {
            PageState::Programmed(_) => true,
            _ => page.health == Health::Erased,
        };
        for (at, page) in contents.pages.iter().enumerate().filter(|(_, page)| is_known(page)) {
            let [is, was] = [other, self].map(|known| known.owners[at]);
            if is != was {
                return differs(format!("page {at}, {page:?}, has owner {is}, not {was}"));
            }
        }
        Ok(())
    }
}

/// What a chip holds, without the data areas.
#[derive(Clone)]
pub struct Contents {
    /// The last operation of the image.
    pub operation: u64,
    pub(crate) blocks: Vec<BlockRecord>,
    pub(crate) pages: Vec<PageContents>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PageContents {
    health: Health,
    state: PageState,
}

impl Contents {
    fn of(store: &ImageStore) -> Result<Contents> {
        let geometry = store.shape().geometry;
        let blocks = (0..geometry.blocks()).map(|block| store.block(BlockId(block)));
        let pages = (0..geometry.pages()).map(|page| {
            let spare = load_spare(store, Ppn(page))?;
            Ok(PageContents { health: spare.health, state: spare.state() })
        });
        Ok(Contents {
            operation: store.operation(),
            blocks: blocks.collect::<nand::Result<_>>().map_err(Finding::of_storage)?,
            pages: pages.collect::<nand::Result<_>>().map_err(Finding::of_storage)?,
        })
    }

    /// Compares with what an opened image holds.
    ///
    /// # Errors
    /// The first difference.
    pub fn expect(&self, other: &Contents) -> Result<()> {
        let mut blocks = self.blocks.iter().zip(&other.blocks).enumerate();
        if let Some((at, (was, is))) = blocks.find(|(_, (was, is))| was != is) {
            return differs(format!("block {at} is {is:?}, not {was:?}"));
        }
        let mut pages = self.pages.iter().zip(&other.pages).enumerate();
        if let Some((at, (was, is))) = pages.find(|(_, (was, is))| was != is) {
            return differs(format!("page {at} is {is:?}, not {was:?}"));
        }
        Ok(())
    }
}

fn differs<T>(sentence: String) -> Result<T> {
    let sentence = format!("the image was opened anew: {sentence}");
    Err(Finding::new(Defect::ImageDiffers, sentence))
}

#[cfg(test)]
mod tests {
    use std::io;

    use ftl::Durability;
    use image::layout::SUPERBLOCK_BYTES;
    use image::medium::SyncJob;
    use image::medium::lossy_disk::Event;
    use nand::{Cause, Content, Data, Lpn, Page};

    use super::*;
    use crate::case::Case;
    use crate::device_model::DeviceModel;
    use crate::flash::Storage;
    use crate::panics;
    use crate::subject::Subject;

    fn case(seed: u64) -> Case {
        let page = Subject::from_spec("page").unwrap();
        let least = DeviceModel::named("least").unwrap();
        let case = Case::new(&page, least, "random", seed, Durability::Full).unwrap();
        case.on(Storage::Image)
    }

    fn blank_disk(seed: u64) -> LossyDisk {
        case(seed).blank_disk()
    }

    /// The flash on this medium after programs of so many pages.
    fn programmed(medium: impl Medium + 'static, pages: u32) -> FlashArray {
        let mut nand = Nand::power_up(open(Box::new(medium), case(2).device()).unwrap().flash);
        nand.mounting().resume(1);
        nand.mounting().finish();
        for page in 0..pages {
            let content = Content::Host { data: Data::Bytes(&[7; 1024]), mask: 0b11, base: None };
            let page_of = Page { owner: Lpn(page), kind: 1, extra: &[], content };
            nand.program(Ppn(page), &page_of, Cause::Host).unwrap();
        }
        nand.into_array()
    }

    fn sentence<T>(done: Result<T>) -> String {
        done.err().map_or_else(String::new, |finding| finding.sentence)
    }

    #[test]
    fn whatever_differs_after_an_opening_is_a_finding() {
        let (one, two) = (programmed(blank_disk(2), 1), programmed(blank_disk(2), 2));
        let mut erased = Nand::power_up(programmed(blank_disk(2), 1));
        erased.erase(BlockId(1), Cause::Gc).unwrap();
        let erased = erased.into_array();
        let (known, known_two) = (Known::of(&one), Known::of(&two));
        let known_erased = Known::of(&erased);
        let [contents, of_two, of_erased] =
            [one, two, erased].map(|flash| super::contents(flash).unwrap());
        assert!(known.expect(&known, &contents).is_ok() && contents.expect(&contents).is_ok());
        let why = sentence(known_two.expect(&known, &of_two));
        assert!(why.contains("page 1, ") && why.contains("has owner"), "{why}");
        let why = sentence(known.expect(&known_erased, &contents));
        assert!(why.contains("the wear is [0, 1, "), "{why}");
        let why = sentence(contents.expect(&of_two));
        assert!(why.contains("page 1 is"), "{why}");
        let why = sentence(contents.expect(&of_erased));
        assert!(why.contains("block 1 is"), "{why}");
    }

    /// A disk that changes a byte when it is synced.
    struct Spoiler {
        disk: LossyDisk,
        offset: usize,
    }

    impl Medium for Spoiler {
        fn len(&self) -> io::Result<u64> {
            self.disk.len()
        }
        fn set_len(&mut self, bytes: u64) -> io::Result<()> {
            self.disk.set_len(bytes)
        }
        fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
            self.disk.read_at(bytes, offset)
        }
        fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
            self.disk.write_at(bytes, offset)
        }
        fn punch(&mut self, offset: u64, bytes: u64) -> io::Result<bool> {
            self.disk.punch(offset, bytes)
        }
        fn sync(&mut self) -> io::Result<()> {
            let mut byte = [0];
            self.disk.read_at(&mut byte, self.offset as u64)?;
            self.disk.write_at(&[!byte[0]], self.offset as u64)?;
            self.disk.sync()
        }
        fn begin_sync(&mut self) -> SyncJob {
            self.disk.begin_sync()
        }
    }

    #[test]
    fn a_page_that_a_disk_damages_before_the_opening_is_a_finding() {
        let blank = blank_disk(2).bytes();
        let damaged = (0..blank.len()).step_by(256).filter(|&offset| {
            let spoiler = Spoiler { disk: LossyDisk::of(blank.clone()), offset };
            let why = panics::caught(|| reopen(programmed(spoiler, 2), case(2).device()));
            sentence(why).contains("page 0 is")
        });
        assert!(damaged.count() > 0, "no byte is part of the record of page 0");
    }

    #[test]
    fn an_image_is_closed_or_only_synced_before_it_is_opened_anew() {
        for pages in 1..5 {
            let disk = blank_disk(2);
            let flash = programmed(disk.clone(), pages);
            disk.take_events();
            assert_eq!(
                reopen(flash, case(2).device()).unwrap().contents.operation,
                u64::from(pages)
            );
            let is_superblock = |event: &Event| match event {
                Event::Write { offset, .. } => *offset < 2 * SUPERBLOCK_BYTES,
                _ => false,
            };
            // Only a close marks the image as clean.
            let is_closed = disk.take_events().iter().any(is_superblock);
            assert_eq!(is_closed, pages % 2 == 0, "after {pages} operations");
        }
    }

    #[test]
    fn every_second_image_has_little_room() {
        let bytes = |seed| blank_disk(seed).bytes().len();
        assert!(bytes(1) < bytes(2) && bytes(1) == bytes(3), "{} and {}", bytes(1), bytes(2));
    }
}
