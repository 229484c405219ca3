//! Every scheme on media that fail: at each program and each erase, crossed with power cuts, and up
//! to the end, when the host can only read.

mod common;
#[path = "common/layers.rs"]
mod layers;
#[path = "common/part.rs"]
mod part;

use check::campaign::Campaign;
use check::case::Case;
use check::conformance;
use check::cut::faults::Faults;
use check::cut::power_loss::SecondCuts;
use check::device::action::{self, Action};
use check::device::powered_device::PoweredDevice;
use check::device_model::{DeviceModel, TinyMedia};
use check::flash::Storage;
use check::subject::Subject;
use check::workload::host_operation::HostOperation;
use common::{ONE_CUT_IN, campaign, finds_nothing, models, schemes, small_models};
use ftl::Durability;
use image::{ImageStore, LossyDisk};
use layers::{corners, under};
use part::one_in;

/// These devices on these media.
fn on(names: &[&str], media: impl IntoIterator<Item = TinyMedia>) -> Vec<DeviceModel> {
    let devices = models(names);
    let on = |media| devices.iter().map(move |&device| DeviceModel { media, ..device });
    media.into_iter().flat_map(on).collect()
}

/// The n-th program after each power-on fails, and the m-th erase.
fn failing(failing_program: u32, failing_erase: u32) -> TinyMedia {
    TinyMedia { reserve: 40, failing_program, failing_erase, ..TinyMedia::default() }
}

fn defaults() -> Vec<Subject> {
    schemes().into_iter().map(|scheme| Subject::of(scheme, &[]).unwrap()).collect()
}

fn workloads(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// Without cuts: the failure comes at each program, at each erase, and both in pairs.
#[test]
fn every_scheme_survives_a_failure_at_each_program_and_each_erase() {
    let positions = 64;
    let singles = (1..=positions).map(|at| failing(at, 0));
    let erases = (1..=positions / 4).map(|at| failing(0, at));
    let pairs = (1..=positions / 4).map(|at| failing(3 * at, at));
    let models = on(&["tiny"], singles.chain(erases).chain(pairs));
    let workloads = workloads(&["random", "merges", "trims"]);
    finds_nothing(&Campaign { workloads, faults: Faults::NONE, ..campaign(defaults(), models) }, 0);
}

/// The cut strikes inside the move that a failure caused, and in the mount after it, which fails
/// too. On other dies, and on pages that share cells, too.
#[test]
fn every_scheme_survives_cuts_on_media_that_fail() {
    let chips = ["least", "tiny", "tiny-mlc", "tiny-dies", "odd-any"];
    let media = (1..12).map(|at| TinyMedia {
        factory_bad: if at % 3 == 0 { 10 } else { 0 },
        ..failing(1 + at * at, at % 4)
    });
    let campaign = campaign(defaults(), on(&chips, media));
    let (workloads, one_first_in) = (workloads(&["random", "trims", "forced"]), 8 * ONE_CUT_IN);
    let parts = one_in(11, &Campaign { workloads, one_first_in, ..campaign });
    let second_cuts = SecondCuts::OneIn(500);
    parts.iter().for_each(|part| {
        finds_nothing(&Campaign { second_cuts, ..part.clone() }, 20);
    });
}

/// A page of 512 bytes names 59 blocks of a list of moves.
#[test]
fn a_list_of_several_pages_survives_cuts() {
    let media = TinyMedia { reserve: 250, factory_bad: 30, ..failing(5, 2) };
    let small_pages = |device| DeviceModel { page_bytes: 512, pages_per_block: 12, ..device };
    let devices: Vec<DeviceModel> =
        on(&["tiny", "tiny-dies"], [media]).into_iter().map(small_pages).collect();
    let page = Subject::from_spec("page").unwrap();
    let case = Case::new(&page, &devices[0], "random", 1, Durability::Full).unwrap();
    let mut device = PoweredDevice::brand_new(&case).unwrap();
    device.perform(Action::Mount).unwrap();
    assert!(device.nand().media().unwrap().counts().factory_bad > 59);
    assert_eq!(device.pages_refused(), 0);
    let (workloads, one_first_in) = (workloads(&["random"]), 32 * ONE_CUT_IN);
    let campaign = Campaign { workloads, one_first_in, ..campaign(defaults(), devices) };
    finds_nothing(&Campaign { second_cuts: SecondCuts::OneIn(500), ..campaign }, 20);
}

#[test]
fn every_scheme_survives_cuts_on_media_that_fail_under_every_layer() {
    let media = (1..6).map(|at| failing(2 + 3 * at, at % 3));
    let campaign = campaign(under(&corners()), on(&["tiny", "least"], media));
    let (workloads, one_first_in) = (workloads(&["random", "partial"]), 12 * ONE_CUT_IN);
    let parts = one_in(10, &Campaign { workloads, one_first_in, ..campaign });
    parts.iter().for_each(|part| _ = finds_nothing(part, 10));
}

#[test]
fn a_page_is_lost_after_each_power_on() {
    let model = DeviceModel::from_spec("tiny:reserve=24,lost_page=3").unwrap();
    let page = Subject::from_spec("page").unwrap();
    let case = Case::new(&page, &model, "random", 1, Durability::Full).unwrap();
    let mut device = PoweredDevice::brand_new(&case).unwrap();
    for action in action::of_workload(&case) {
        device.perform(action).unwrap();
    }
    assert_eq!(device.nand().media().unwrap().lost().len(), 1);
    assert!(device.oracle().knows_losses());
    device.perform(Action::Remount).unwrap();
    device.perform(Action::Check).unwrap();
    assert_eq!(device.nand().media().unwrap().lost().len(), 0, "a mount has few programs");
}

/// A failure is an operation of its own, which only the image counts.
#[test]
fn a_device_knows_the_last_operation_of_its_image() {
    let model = DeviceModel::from_spec("tiny:reserve=24,failing_program=3,failing_erase=2");
    let page = Subject::from_spec("page").unwrap();
    let case = Case::new(&page, &model.unwrap(), "random", 1, Durability::Full).unwrap();
    let case = case.on(Storage::Image);
    let mut device = PoweredDevice::brand_new(&case).unwrap();
    for action in action::of_workload(&case).into_iter().chain([Action::Do(HostOperation::Flush)]) {
        device.perform(action).unwrap();
    }
    let image = ImageStore::open(Box::new(LossyDisk::of(device.disk_bytes()))).unwrap();
    assert_eq!(image.operation(), device.operation());
}

/// After each power-on a page of the host cannot be read: its reads fail, writes of a part of it
/// are refused, and everything else goes on. Cuts strike before and after, on media that fail too.
#[test]
fn every_scheme_lives_on_with_pages_that_cannot_be_read() {
    let chips = ["least", "tiny", "tiny-mlc", "tiny-dies", "odd-any"];
    let media = (1..9).map(|at| TinyMedia {
        lost_page: 3 * at - 2,
        ..failing(if at % 3 == 0 { 5 * at } else { 0 }, if at % 4 == 0 { 2 } else { 0 })
    });
    let campaign = campaign(defaults(), on(&chips, media.clone()));
    let names = workloads(&["random", "partial", "forced", "trims"]);
    let (one_first_in, second_cuts) = (8 * ONE_CUT_IN, SecondCuts::OneIn(500));
    let parts = one_in(9, &Campaign { workloads: names, one_first_in, ..campaign });
    parts.iter().for_each(|part| {
        finds_nothing(&Campaign { second_cuts, ..part.clone() }, 20);
    });
    let layered = common::campaign(under(&corners()), on(&["tiny", "least"], media.take(5)));
    let (workloads, one_first_in) = (workloads(&["random", "partial"]), 16 * ONE_CUT_IN);
    let parts = one_in(10, &Campaign { workloads, one_first_in, ..layered });
    parts.iter().for_each(|part| _ = finds_nothing(part, 10));
}

/// Cold data move to worn blocks while the scheme knows nothing of it. Cuts strike inside a move,
/// in the list of moves, and in the mount after it. Operations of a move fail, too.
#[test]
fn every_scheme_survives_cuts_while_wear_is_levelled() {
    let chips = ["least", "tiny", "tiny-mlc", "tiny-dies", "odd-any"];
    let media = (1..8).map(|at| TinyMedia {
        factory_bad: if at % 3 == 0 { 10 } else { 0 },
        levelling: 1 + at % 2,
        ..failing(if at % 2 == 0 { 11 * at } else { 0 }, if at > 5 { at } else { 0 })
    });
    let campaign = campaign(defaults(), on(&chips, media));
    let (workloads, one_first_in) = (workloads(&["random", "trims", "hot"]), 8 * ONE_CUT_IN);
    let parts = one_in(7, &Campaign { workloads, one_first_in, ..campaign });
    let second_cuts = SecondCuts::OneIn(500);
    parts.iter().for_each(|part| {
        finds_nothing(&Campaign { second_cuts, ..part.clone() }, 20);
    });
}

/// Blocks wear out until a die has none left in reserve. The host is refused then, and what it
/// reads is as before, also after the next mount.
#[test]
fn every_scheme_can_be_read_to_the_end() {
    let media = (1..6).map(|at| TinyMedia {
        reserve: 4 + at,
        endurance: 2 + at,
        factory_bad: 5 * (at % 2),
        ..TinyMedia::default()
    });
    let models = on(&["tiny", "tiny-ascending"], media);
    let workloads = workloads(&["random", "merges", "trims", "hot"]);
    let campaign = Campaign { workloads, faults: Faults::NONE, ..campaign(defaults(), models) };
    finds_nothing(&Campaign { seeds: (1..=4).collect(), ..campaign }, 0);
}

#[test]
fn lives_of_every_scheme_end_with_grace() {
    defaults().iter().for_each(|subject| lives_end_with_grace(subject, 6));
}

#[test]
#[ignore = "minutes: 1,000 lives of every scheme"]
fn a_thousand_lives_of_every_scheme_end_with_grace() {
    defaults().iter().for_each(|subject| lives_end_with_grace(subject, 1000));
}

/// Runs lives on drawn chips until so many have ended. Whatever is read is right all the time, at
/// the end too, and after more mounts than there are blocks. One life in eight is on an image.
fn lives_end_with_grace(subject: &Subject, lives: u32) {
    let (mut ended, mut seed) = (0, 0);
    while ended < lives {
        seed += 1;
        assert!(seed < 100 * lives, "{}: only {ended} of {seed} lives end", subject.name());
        let Some(case) = short_life(subject, seed) else { continue };
        if has_ended(&case) {
            let storage = if seed / 6 % 8 == 0 { Storage::Image } else { Storage::Memory };
            conformance::check(&case.on(storage)).unwrap_or_else(|found| panic!("{found}"));
            ended += 1;
        }
    }
    println!("{}: {ended} of {seed} lives have ended", subject.name());
}

/// A case on a drawn chip whose blocks wear out soon, if the scheme can be on such a chip.
fn short_life(subject: &Subject, seed: u32) -> Option<Case> {
    let drawn = DeviceModel::drawn(seed.into(), |_| 64);
    let (reserve, endurance) = (drawn.media.reserve.max(4 + seed % 9), 1 + seed % 7);
    let media = TinyMedia { reserve, endurance, ..drawn.media };
    let workload = ["random", "merges", "trims", "hot", "partial", "forced"][seed as usize % 6];
    let model = DeviceModel { media, ..drawn };
    Case::new(subject, &model, workload, seed.into(), Durability::Full).ok()
}

/// Whether the host is refused at the end of a case.
fn has_ended(case: &Case) -> bool {
    let mut device = PoweredDevice::brand_new(case).unwrap();
    for action in action::of_workload(case) {
        device.perform(action).unwrap_or_else(|found| panic!("{case:?}: {found:?}"));
    }
    device.nand().expect_writable().is_err()
}

#[test]
#[ignore = "minutes: all small chips, more positions, more second cuts"]
fn every_scheme_survives_every_cut_on_every_chip_whose_media_fail() {
    let media = (1..40).map(|at| failing(at, at % 5));
    let devices = media.flat_map(|media| {
        small_models().into_iter().map(move |device| DeviceModel { media, ..device })
    });
    let campaign = campaign(defaults(), devices.collect());
    let second_cuts = SecondCuts::OneIn(200);
    let parts = one_in(19, &Campaign { second_cuts, one_first_in: 4, ..campaign });
    parts.iter().for_each(|part| _ = finds_nothing(part, 100));
}
