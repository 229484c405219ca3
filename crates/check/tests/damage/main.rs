//! Damaged flash: pages that have lost their data or spare areas, and pages with contents that no
//! FTL wrote.

mod crafted_pages;
mod host;
mod lost_spare_areas;
mod unreadable_pages;

use check::device_model::{DEVICE_MODELS, DeviceModel};

/// The device models that are small enough for thousands of audits.
fn models() -> impl Iterator<Item = &'static DeviceModel> {
    DEVICE_MODELS.iter().filter(|model| model.logical_pages() <= 200)
}
