//! Images as flash of a device.

use std::any::Any;
use std::path::Path;

use ftl::Device;
use image::salvage::Damage;
use image::{DiskFile, ImageStore, Room};
use nand::page_store::SyncBy;
use nand::{Nand, PageStore};

use crate::error::{Error, Result};
use crate::recipe;

/// Creates an image of a factory-fresh chip for a device, in a new file.
///
/// # Errors
/// The file exists or cannot be written, or such an image is impossible. Then there is no file.
pub fn create(path: &Path, device: &Device) -> Result<()> {
    recipe::check(device)?;
    let recipe = recipe::of_device(device);
    let room = Room::of(&recipe.geometry);
    Ok(image::create_at(path, &recipe, room, *uuid::Uuid::new_v4().as_bytes())?)
}

/// Opens an image that is not damaged.
///
/// # Errors
/// The file is no image, is in use, is damaged, or was made by a program that knows other devices.
pub fn open(path: &Path) -> Result<(ImageStore, Device)> {
    let store = ImageStore::open_at(path)?;
    let device = recipe::device(store.recipe())?;
    let damaged = store.damaged_pages(false).next();
    match damaged {
        Some((page, _)) => Err(Error::DamagedRecord(page.0)),
        None => Ok((store, device)),
    }
}

/// Opens an image as far as it can be read, and never changes it: changes are kept in memory.
/// Returns what is damaged in its tables.
///
/// # Errors
/// The file is no image or is in use, nothing is known about it, or it was made by a program that
/// knows other devices.
pub fn salvage(path: &Path) -> Result<(ImageStore, Device, Vec<Damage>)> {
    let (store, damages) = ImageStore::salvage(Box::new(DiskFile::open_to_read(path)?))?;
    let device = recipe::device(store.recipe())?;
    Ok((store, device, damages))
}

/// A chip that was just powered up, with the flash of the image of a device. Reads every spare
/// area.
///
/// # Errors
/// A page cannot be read.
pub fn power_up(store: ImageStore, device: &Device) -> Result<Nand> {
    let is_new = store.operation() == 0;
    let flash = device.flash(Box::new(store))?;
    let is_new = is_new && flash.is_untouched();
    let mut nand = Nand::power_up(flash);
    if is_new {
        // There is nothing to mount: the chip comes from the factory.
        nand.mounting().resume(1);
        nand.mounting().finish();
    }
    Ok(nand)
}

/// Leaves the storage behind a chip in order.
///
/// # Errors
/// The storage failed.
pub fn close(chip: Nand) -> Result<()> {
    match chip.into_array().into_store().map(image_of) {
        Some(Ok(mut image)) => Ok(image.close()?),
        Some(Err(mut other)) => Ok(other.sync(SyncBy::Store).map(drop)?),
        None => Ok(()),
    }
}

/// The same pages; changes are kept in memory from now on. For reading on after a failure.
///
/// # Errors
/// The storage failed.
pub fn into_view(store: Box<dyn PageStore>) -> Result<Box<dyn PageStore>> {
    match image_of(store) {
        Ok(image) => Ok(Box::new(image.into_view()?)),
        Err(other) => Ok(other),
    }
}

/// The image that a store is, or else the store.
fn image_of(
    store: Box<dyn PageStore>,
) -> core::result::Result<Box<ImageStore>, Box<dyn PageStore>> {
    if !(&*store as &dyn Any).is::<ImageStore>() {
        return Err(store);
    }
    let store: Box<dyn Any> = store;
    Ok(store.downcast().expect("it is an image"))
}

/// Refuses a device that an image was not made for.
///
/// # Errors
/// They differ; the error names the first difference.
pub fn expect(made: &Device, asked: &Device) -> Result<()> {
    Ok(recipe::of_device(made).expect(&recipe::of_device(asked))?)
}
