//! Tests of what a device with power judges by itself.

use nand::{BlockId, Ppn};

use super::*;
use crate::device_model::DeviceModel;
use crate::subject::Subject;

fn case() -> Case {
    let (page, tiny) = (Subject::from_spec("page").unwrap(), DeviceModel::named("tiny"));
    Case::new(&page, tiny.unwrap(), "hot", 1, Durability::Full).unwrap()
}

fn defect(stop: Stop) -> Option<Defect> {
    match stop {
        Stop::PowerLost => None,
        Stop::Found(finding) => Some(finding.defect),
    }
}

#[test]
fn each_error_is_the_defect_that_it_shows() {
    let found = |error| defect(unless_stopped::<()>(Err(error), Defect::Unmountable).unwrap_err());
    assert_eq!(found(Error::Chip(nand::Error::PowerLost)), None);
    for error in [nand::Error::Unreadable(Ppn(3)), nand::Error::Immovable(Ppn(3))] {
        assert_eq!(found(Error::Chip(error)), Some(Defect::Unreadable));
    }
    assert_eq!(found(Error::Chip(nand::Error::WrongOwner(Ppn(3)))), Some(Defect::MapBroken));
    assert_eq!(found(Error::Unmountable("why".to_owned())), Some(Defect::Unmountable));
    for (kind, expected) in [
        (GuestFaultKind::Illegal, Defect::Illegal),
        (GuestFaultKind::Endless, Defect::Endless),
        (GuestFaultKind::Unreadable, Defect::Unmountable),
        (GuestFaultKind::Broken, Defect::Broken),
        (GuestFaultKind::Died, Defect::Crash),
        (GuestFaultKind::Refused, Defect::Unmountable),
        (GuestFaultKind::Invalid, Defect::Unmountable),
    ] {
        let (guest, sentence) = ("g".to_owned(), "why".to_owned());
        let fault = ftl::contract::guest::GuestFault { guest, kind, sentence };
        assert_eq!(found(Error::Guest(fault)), Some(expected), "{kind:?}");
    }
    let (guest, sentence) = ("g".to_owned(), "why".to_owned());
    let kind = GuestFaultKind::Unreadable;
    let error = Error::Guest(ftl::contract::guest::GuestFault { guest, kind, sentence });
    let of_read = unless_stopped::<()>(Err(error), Defect::Refused).unwrap_err();
    assert_eq!(defect(of_read), Some(Defect::Unreadable), "a read finds nothing");
}

#[test]
fn what_is_lost_after_a_decay_is_lost_by_it() {
    let after_decay = |found| defect(decayed(Stop::Found(Finding::new(found, "why"))));
    assert_eq!(after_decay(Defect::Stale), Some(Defect::Decayed));
    assert_eq!(after_decay(Defect::Unreadable), Some(Defect::Decayed));
    assert_eq!(after_decay(Defect::MapBroken), Some(Defect::MapBroken));
    assert_eq!(defect(decayed(Stop::PowerLost)), None);
}

#[test]
fn a_mount_may_take_so_many_operations_and_no_more() {
    let case = case();
    let pages = case.physical_pages();
    let reads = |device: &mut PoweredDevice, count, cause| {
        (0..count).for_each(|_| _ = device.nand.read_spare(Ppn(0), cause).unwrap());
    };
    let erases = |device: &mut PoweredDevice, count, cause| {
        (0..count).for_each(|_| device.nand.erase(BlockId(0), cause).unwrap());
    };
    let mut device = PoweredDevice::brand_new(&case).unwrap();
    reads(&mut device, 9, Cause::Meta);
    erases(&mut device, 7, Cause::Meta);
    let before = operations_of_ftl(&device.nand);
    assert_eq!(before, [9, 7]);
    reads(&mut device, 6 * pages + 128, Cause::Meta);
    erases(&mut device, 2 * pages, Cause::Meta);
    for cause in [Cause::Media, Cause::Wear] {
        reads(&mut device, 50, cause);
        erases(&mut device, 50, cause);
    }
    let (owner, full) = (Lpn(0), case.dimensions().full());
    let page = nand::Page { owner, kind: 1, extra: &[], content: nand::Content::Pad };
    let ppn = Ppn(case.model.pages_per_block);
    device.nand.program(ppn, &page, Cause::Wear).unwrap();
    device.nand.read(ppn, owner, full, &mut nand::Sink::None, Cause::Media).unwrap();
    device.check_mount_bound(before).unwrap();
    assert_eq!(device.mounted_in(), 8 * pages + 128);
    reads(&mut device, 1, Cause::Meta);
    assert_eq!(device.check_mount_bound(before).unwrap_err().defect, Defect::Unbounded);
    device.check_mount_bound([10, 7]).unwrap();
    erases(&mut device, 1, Cause::Meta);
    assert_eq!(device.check_mount_bound([10, 7]).unwrap_err().defect, Defect::Unbounded);
}

#[test]
fn a_request_has_the_bytes_of_its_pages_and_an_action_an_end() {
    let case = case();
    let extent = Extent::whole(1, 3, case.dimensions().full());
    let run = run(&extent, Data::None, &case);
    assert_eq!(run.request_bytes, 3 * u64::from(case.model.page_bytes));
    let device = PoweredDevice::brand_new(&case).unwrap();
    let [pages, logical] = [case.physical_pages(), case.dimensions().pages.into()];
    assert_eq!(device.operations_max(), 1000 + 16 * pages * logical);
}
