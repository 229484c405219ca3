//! The device model `windows` does what it is for: mounts read checkpoints of trims that have
//! several pages.

use check::case::Case;
use check::device_model::DeviceModel;
use check::powered_device::{Action, PoweredDevice};
use check::subject::Subject;
use ftl::Durability;
use nand::{BlockId, Nand};

/// Number of blocks of the trim log.
const SYSTEM_BLOCKS: u32 = 3;

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[4 * at..][..4].try_into().unwrap())
}

/// The number of pages of each checkpoint that is complete in a block of the trim log.
fn checkpoints(nand: &Nand) -> Vec<u32> {
    let geometry = nand.geometry();
    let blocks = (geometry.blocks() - SYSTEM_BLOCKS..geometry.blocks()).map(BlockId);
    let pages_of = |block| {
        let meta = |offset| nand.peek_meta(geometry.page(block, offset));
        let total = meta(0).map_or(0, |bytes| word(&bytes, 3));
        let is_part = |at: &u32| {
            meta(*at).is_some_and(|bytes| word(&bytes, 0) == 1 && word(&bytes, 2) == *at)
        };
        (0..total).all(|at| is_part(&at)).then_some(total)
    };
    blocks.filter_map(pages_of).filter(|&total| total > 0).collect()
}

#[test]
fn mounts_read_checkpoints_of_three_pages() {
    let model = DeviceModel::named("windows").unwrap();
    let page = Subject::from_spec("page").unwrap();
    let case = Case::new(&page, model, "windows", 1, Durability::Full).unwrap();
    assert_eq!(case.dimensions().pages.div_ceil(case.dimensions().window()), 3);
    let mut device = PoweredDevice::brand_new(&case);
    device.perform(Action::Mount).unwrap();
    let mut with_checkpoint = 0;
    for &operation in &case.operations {
        device.perform(Action::Do(operation)).unwrap();
        with_checkpoint += u32::from(checkpoints(device.nand()).contains(&3));
    }
    let all = case.operations.len() as u32;
    assert!(with_checkpoint > all / 2, "after {with_checkpoint} of {all} operations");
    device.perform(Action::Remount).unwrap();
    assert!(checkpoints(device.nand()).contains(&3));
}
