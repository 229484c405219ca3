//! Looking through an image for damage: every record, every data area, the FTL, every logical page.

use std::path::Path;

use ftl::Device;
use image::ImageStore;
use image::image_store::PagePart;

use crate::disk::Disk;
use crate::error::Result;
use crate::opening;

/// What a review found.
#[derive(Debug, Default)]
pub struct Review {
    /// The damages, a sentence each.
    pub damages: Vec<String>,
    /// Logical pages that can be read.
    pub readable_pages: u32,
    /// Logical pages that cannot be read.
    pub lost_pages: u32,
}

/// Reviews an image, and leaves it as it is.
///
/// # Errors
/// As for [`opening::salvage`].
pub fn review(path: &Path) -> Result<Review> {
    let (store, device, damages) = opening::salvage(path)?;
    let damages = damages.into_iter().map(|damage| damage.what).collect();
    let mut review = Review { damages, ..Review::default() };
    review.look_at_pages(&store);
    review.look_at_disk(store, device);
    Ok(review)
}

impl Review {
    fn look_at_pages(&mut self, store: &ImageStore) {
        for (ppn, part) in store.damaged_pages(true) {
            let part = match part {
                PagePart::Record => "its record, with the spare area,",
                PagePart::Data => "its data area",
            };
            self.damages.push(format!("page {}: {part} is not whole", ppn.0));
        }
    }

    /// Mounts the FTL, audits it and reads everything.
    fn look_at_disk(&mut self, store: ImageStore, device: Device) {
        let pages = device.logical_pages();
        let mut disk = match Disk::on_image(store, device) {
            Ok(disk) => disk,
            Err(error) => {
                self.lost_pages = pages;
                return self.damages.push(format!("the FTL cannot be mounted: {error}"));
            }
        };
        if let (Some(ftl), Some(nand)) = (disk.ftl(), disk.nand())
            && let Err(violation) = ftl.audit(nand)
        {
            self.damages.push(format!("the FTL contradicts itself: {violation}"));
        }
        let page_bytes = disk.device().geometry().page_bytes();
        let mut page = vec![0; page_bytes as usize];
        for lpn in 0..pages {
            match disk.read(u64::from(lpn) * u64::from(page_bytes), &mut page) {
                Ok(()) => self.readable_pages += 1,
                Err(error) => {
                    self.lost_pages += 1;
                    self.damages.push(format!("logical page {lpn} is lost: {error}"));
                }
            }
        }
    }
}
