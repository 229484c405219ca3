//! Tiny devices of every scheme and layer.

use disk::{Disk, recipe};
use ftl::device::{Device, Size};
use ftl::{Choice, Durability, LAYERS, Layers, SCHEMES};
use image::{ImageStore, LossyDisk, Room};
use nand::ChipModel;
use spec::Spec;

const CHIP: &str = "slc-fast2010:pages_per_block=8";
const LOGICAL_BLOCKS: u32 = 12;

/// The device of a scheme and layers; none if they refuse such a device.
pub fn device(scheme: &str, layers: &Layers) -> Option<Device> {
    let chip = ChipModel::from_spec(&Spec::parse(CHIP).unwrap()).unwrap();
    let choice = Choice::from_spec(&Spec::parse(scheme).unwrap()).unwrap();
    layers.check(choice.scheme, &choice.given, &chip).ok()?;
    let least = (choice.scheme.least_extra)(&choice.params, &chip, LOGICAL_BLOCKS);
    let of_layers = layers.blocks(&chip);
    let extra = least.max(4) + of_layers.blocks - of_layers.added;
    let size = Size { logical_blocks: LOGICAL_BLOCKS.into(), extra_blocks: extra.into() };
    Device::new(chip, choice, layers.clone(), size, Durability::Full, 7).ok()
}

/// Every scheme alone, in a form that is at its limits on a tiny device, and under each layer.
pub fn devices() -> Vec<Device> {
    let corners = LAYERS.iter().flat_map(|layer| layer.corners);
    let layers = corners.map(|corner| Layers::from_texts(corner).unwrap());
    let layers: Vec<Layers> = std::iter::once(Layers::default()).chain(layers).collect();
    let schemes = || SCHEMES.iter().filter(|scheme| !scheme.needs_future);
    let specs = schemes().map(|scheme| match scheme.corners.first() {
        Some(corner) => format!("{}:{corner}", scheme.name),
        None => scheme.name.to_owned(),
    });
    let of_spec = |spec: String| layers.iter().filter_map(move |layers| device(&spec, layers));
    let devices: Vec<Device> = specs.flat_map(of_spec).collect();
    assert!(devices.len() >= 3 * schemes().count(), "only {} devices", devices.len());
    devices
}

/// What a failed test says about a device.
pub fn name(device: &Device) -> String {
    let recipe = recipe::of_device(device);
    format!("{}:{} {}", recipe.scheme, recipe.parameters, recipe.layers)
}

/// A blank image for a device, on a disk in memory.
pub fn blank(device: &Device) -> LossyDisk {
    let mut medium = LossyDisk::default();
    let recipe = recipe::of_device(device);
    image::create(&mut medium, &recipe, Room::of(&recipe.geometry), [3; 16]).unwrap();
    medium
}

/// Opens the image on a disk in memory.
pub fn open(medium: &LossyDisk, device: &Device) -> Disk {
    let store = ImageStore::open(Box::new(medium.clone())).expect("an image");
    Disk::on_image(store, device.clone()).expect("it can be mounted")
}

#[test]
fn a_scheme_that_knows_the_future_is_no_disk() {
    for scheme in SCHEMES.iter().filter(|scheme| scheme.needs_future) {
        let device = device(scheme.name, &Layers::default()).expect("it can be simulated");
        let error = Disk::in_memory(device).err().expect("it is refused").to_string();
        assert!(error.contains("knows the future from a trace"), "{error}");
    }
}
