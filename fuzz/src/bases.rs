//! Used images of tiny devices: every scheme alone and under each layer.

use std::sync::{LazyLock, OnceLock};

use disk::{Disk, recipe};
use ftl::device::{Device, Size};
use ftl::{Choice, Durability, LAYERS, Layers, SCHEMES};
use image::layout::Layout;
use image::medium::shared_bytes::SharedBytes;
use image::{ImageStore, LossyDisk, Room};
use nand::ChipModel;
use spec::Spec;

const CHIP: &str = "slc-fast2010:page=1KiB,spare=64,pages_per_block=4";
const LOGICAL_BLOCKS: u32 = 8;

/// An image that was used and not closed.
pub struct Base {
    pub device: Device,
    used: OnceLock<(SharedBytes, Layout)>,
}

impl Base {
    /// The bytes of the image, and where things are in them.
    pub fn used(&self) -> &(SharedBytes, Layout) {
        self.used.get_or_init(|| used(&self.device))
    }
}

static BASES: LazyLock<Vec<Base>> = LazyLock::new(|| {
    let base = |device| Base { device, used: OnceLock::new() };
    devices().into_iter().map(base).collect()
});

/// The base that a number chooses.
pub fn chosen(choice: u8) -> &'static Base {
    &BASES[usize::from(choice) % BASES.len()]
}

fn devices() -> Vec<Device> {
    let corners = LAYERS.iter().flat_map(|layer| layer.corners);
    let layers = corners.map(|corner| Layers::from_texts(corner).expect("a corner is possible"));
    let layers: Vec<Layers> = std::iter::once(Layers::default()).chain(layers).collect();
    let of_scheme = |scheme: &str| -> Vec<Device> {
        layers.iter().filter_map(|layers| device(scheme, layers)).collect()
    };
    SCHEMES.iter().flat_map(|scheme| of_scheme(scheme.name)).collect()
}

/// The device of a scheme and layers; none if they refuse such a device.
fn device(scheme: &str, layers: &Layers) -> Option<Device> {
    let chip = ChipModel::from_spec(&Spec::parse(CHIP).ok()?).expect("the chip is possible");
    let choice = Choice::from_spec(&Spec::parse(scheme).ok()?).ok()?;
    layers.check(choice.scheme, &choice.given, &chip).ok()?;
    let least = (choice.scheme.least_extra)(&choice.params, &chip, LOGICAL_BLOCKS);
    let of_layers = layers.blocks(&chip);
    let extra = least.max(4) + of_layers.blocks - of_layers.added;
    let size = Size { logical_blocks: LOGICAL_BLOCKS.into(), extra_blocks: extra.into() };
    Device::new(chip, choice, layers.clone(), size, Durability::Full, 7).ok()
}

fn used(device: &Device) -> (SharedBytes, Layout) {
    let mut medium = LossyDisk::default();
    let recipe = recipe::of_device(device);
    let room = Room { spare_slots: 4, frames: 8 };
    image::create(&mut medium, &recipe, room, [3; 16]).expect("the image is possible");
    let store = ImageStore::open(Box::new(medium.clone())).expect("the image is whole");
    let layout = *store.layout();
    let mut disk = Disk::on_image(store, device.clone()).expect("the chip is new");
    for number in 0..60 {
        request(&mut disk, number).expect("nothing fails");
    }
    (medium.bytes(), layout)
}

/// A request that its number determines: first writes, then everything.
pub fn request(disk: &mut Disk, number: u64) -> disk::Result<()> {
    let sectors = disk.device().capacity_bytes() / 512;
    let place = number * 11 % sectors;
    let length = (number * 5 % 7 + 1).min(sectors - place);
    match number % 10 {
        6 => disk.trim(place * 512, length * 512, false),
        9 => disk.flush(),
        _ => disk.write(place * 512, &vec![number as u8 | 1; length as usize * 512], false),
    }
}
