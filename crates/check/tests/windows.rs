//! The device model `windows` does what it is for: mounts read checkpoints of trims that have
//! several windows.

use check::case::Case;
use check::device::action::Action;
use check::device::powered_device::PoweredDevice;
use check::device_model::DeviceModel;
use check::subject::Subject;
use ftl::Durability;
use nand::{BlockId, Nand};

/// The kinds of pages in a checkpoint: a bitmap of trimmed pages, and a list of void ones.
const WINDOW: u32 = 1;
const VOIDS: u32 = 2;

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[4 * at..][..4].try_into().unwrap())
}

/// The number of windows in each checkpoint that is complete in a block of the trim log.
fn checkpoints(nand: &Nand, system_blocks: u32) -> Vec<usize> {
    let geometry = nand.geometry();
    let blocks = (geometry.blocks() - system_blocks..geometry.blocks()).map(BlockId);
    let windows_of = |block| {
        let meta = |offset| nand.array().peek_meta(geometry.page(block, offset));
        let total = meta(0).map_or(0, |bytes| word(&bytes, 3));
        let kind = |at: u32| {
            let bytes = meta(at).filter(|bytes| word(bytes, 2) == at);
            bytes.map(|bytes| word(&bytes, 0)).filter(|kind| [WINDOW, VOIDS].contains(kind))
        };
        let kinds: Option<Vec<u32>> = (0..total).map(kind).collect();
        kinds.map(|kinds| kinds.iter().filter(|&&kind| kind == WINDOW).count())
    };
    blocks.filter_map(windows_of).filter(|&windows| windows > 0).collect()
}

#[test]
fn mounts_read_checkpoints_of_three_windows() {
    let model = DeviceModel::named("windows").unwrap();
    let page = Subject::from_spec("page").unwrap();
    let case = Case::new(&page, model, "windows", 1, Durability::Full).unwrap();
    assert_eq!(case.dimensions().pages.div_ceil(case.dimensions().window()), 3);
    let system_blocks = ftl::system_blocks(&model.chip(), model.logical_blocks, Durability::Full);
    let mut device = PoweredDevice::brand_new(&case).unwrap();
    device.perform(Action::Mount).unwrap();
    let mut with_checkpoint = 0;
    for &operation in &case.operations {
        device.perform(Action::Do(operation)).unwrap();
        with_checkpoint += u32::from(checkpoints(device.nand(), system_blocks).contains(&3));
    }
    let all = case.operations.len() as u32;
    assert!(with_checkpoint > all / 2, "after {with_checkpoint} of {all} operations");
    device.perform(Action::Remount).unwrap();
    assert!(checkpoints(device.nand(), system_blocks).contains(&3));
}
