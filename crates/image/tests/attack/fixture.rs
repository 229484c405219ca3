//! Tiny chips and blank images of them.

use image::medium::lossy_disk::Unsynced;
use image::medium::shared_bytes::SharedBytes;
use image::{ImageStore, LossyDisk, Recipe, Room, create};
use nand::{Geometry, ProgramOrder};

use crate::random::Random;

pub const UUID: [u8; 16] = [7; 16];

/// A chip on which every state can be looked at.
pub fn tiny() -> Geometry {
    Geometry::new(512, 32, 4, 4, ProgramOrder::Any).unwrap()
}

/// A chip whose page records cross sectors, with pages of several sectors.
pub fn wide() -> Geometry {
    Geometry::new(2048, 64, 6, 3, ProgramOrder::Any).unwrap()
}

/// So little room that slots and journal run out often.
pub const NARROW: Room = Room { spare_slots: 2, frames: 3 };
/// One spare slot, one frame.
pub const NARROWEST: Room = Room { spare_slots: 1, frames: 1 };

pub fn recipe(geometry: Geometry) -> Recipe {
    Recipe {
        geometry,
        chip: "tiny:blocks=4".into(),
        scheme: "page:victim=greedy".into(),
        layers: String::new(),
        parameters: "durability=full".into(),
        media: String::new(),
        seed: 5,
        capacity_bytes: 4096,
    }
}

/// The bytes of a blank image.
pub fn blank(geometry: Geometry, room: Room) -> SharedBytes {
    let mut disk = LossyDisk::default();
    create(&mut disk, &recipe(geometry), room, UUID).unwrap();
    disk.bytes()
}

pub fn open(bytes: impl Into<SharedBytes>) -> image::Result<ImageStore> {
    ImageStore::open(Box::new(LossyDisk::of(bytes.into())))
}

/// What a crash can leave now.
pub fn crashes(unsynced: &Unsynced, random: &mut Random) -> Vec<SharedBytes> {
    let losses = unsynced.losses(4, &mut |end| random.below(end));
    losses.into_iter().map(|loss| unsynced.crash(loss)).collect()
}

/// Why an image is refused.
pub fn refusal(bytes: impl Into<SharedBytes>) -> String {
    open(bytes).map(|_| ()).unwrap_err().to_string()
}
