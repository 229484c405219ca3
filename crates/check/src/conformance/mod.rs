//! Conformance without power cuts. After every host operation, everything is read back, the scheme
//! audits itself, and the operation counts must add up. The pages of the operation are also read
//! just before and just after it, because the complete read would first evict them from a cache.
//!
//! Under [`Durability::Full`], the device is also mounted again from time to time, twice in a row.
//! The contents must stay the same. The versions must be in the order of the host's writes, unless
//! a layer delays writes. Any number of mounts must leave enough free blocks. Under
//! [`Durability::Paper`], a mount may bring trimmed data back, so the device is never remounted.

pub mod reached;

use ftl::Durability;
use nand::{Cause, Op};

use crate::case::Case;
use crate::conformance::reached::Reached;
use crate::device::action::Action;
use crate::device::powered_device::PoweredDevice;
use crate::failed_case::FailedCase;
use crate::finding::{Defect, Finding};
use crate::oracle::Expect;
use crate::rng::{Rng, mix};
use crate::workload;
use crate::workload::host_operation::HostOperation;

/// Mean number of host operations between two mounts.
const OPERATIONS_PER_MOUNT: u32 = 8;

/// Runs a case without cuts.
///
/// # Errors
/// The first finding.
pub fn check(case: &Case) -> Result<Reached, FailedCase> {
    check_watched(case, &mut |_, _| ())
}

/// Watches actions before they begin, with the device.
pub type WatchActions<'w> = dyn FnMut(Action, &mut PoweredDevice) + 'w;

/// The same, and passes every action to `watch` before it begins.
///
/// # Errors
/// The first finding.
pub fn check_watched(case: &Case, watch: &mut WatchActions) -> Result<Reached, FailedCase> {
    let reached = Reached::default();
    let done =
        PoweredDevice::brand_new(case).and_then(|device| run(Watched { device, watch, reached }));
    done.map_err(|finding| FailedCase::new(case, &[], finding))
}

/// A device, who is told what happens to it, and what it has reached.
struct Watched<'a, 'w> {
    device: PoweredDevice<'a>,
    watch: &'w mut WatchActions<'w>,
    reached: Reached,
}

impl Watched<'_, '_> {
    fn perform(&mut self, action: Action) -> Result<(), Finding> {
        (self.watch)(action, &mut self.device);
        if action == Action::Remount {
            self.note_figures();
        }
        self.device.perform(action).map(drop)
    }

    /// Figures of a guest count from its mount, so they are noted before the next one.
    fn note_figures(&mut self) {
        if let Some(guest) = self.device.guest() {
            self.reached.figures.note_all(guest);
        }
    }
}

fn run(mut device: Watched) -> Result<Reached, Finding> {
    let case = device.device.case();
    let mut rng = Rng::new(mix(case.seed, 1));
    device.perform(Action::Mount)?;
    for &operation in &case.operations {
        let read = operation.whole_pages(case.dimensions().full()).map(HostOperation::Read);
        for step in [read, Some(operation), read].into_iter().flatten() {
            device.perform(Action::Do(step))?;
        }
        device.perform(Action::Check)?;
        counts_add_up(&device.device)?;
        if case.durability == Durability::Full && rng.one_in(OPERATIONS_PER_MOUNT) {
            mount_twice(case, &mut device)?;
        }
    }
    if case.durability == Durability::Full {
        survives_many_mounts(case, &mut device)?;
    }
    device.note_figures();
    let wear = device.device.nand().array().wear().iter();
    let erases = wear.map(|&erases| u64::from(erases)).sum();
    Ok(Reached { compared: case.operations.len() as u64, erases, ..device.reached })
}

fn mount_twice(case: &Case, device: &mut Watched) -> Result<(), Finding> {
    device.perform(Action::Remount)?;
    if case.subject.layers.is_empty() && case.guest().is_none() {
        versions_are_in_order(&mut device.device)?;
    }
    device.perform(Action::Remount)?;
    device.perform(Action::Check)?;
    Ok(())
}

/// Mounts more often in a row than there are blocks. Each mount may close a block, but none may
/// lose one.
fn survives_many_mounts(case: &Case, device: &mut Watched) -> Result<(), Finding> {
    for _ in 0..=case.geometry().blocks() {
        device.perform(Action::Remount)?;
    }
    for operation in workload::after_power_cut(case.dimensions(), mix(case.seed, 2)) {
        device.perform(Action::Do(operation))?;
        device.perform(Action::Check)?;
    }
    Ok(())
}

/// Every page that holds data has a version, and a page written later has a higher one. What a page
/// holds that cannot be read, nobody knows.
fn versions_are_in_order(device: &mut PoweredDevice) -> Result<(), Finding> {
    let versions = device.versions()?;
    let per_page = device.oracle().sectors_per_page() as usize;
    let newest = |page: usize| {
        let sectors = page * per_page..(page + 1) * per_page;
        sectors.map(|sector| device.oracle().newest(sector)).max().unwrap_or(0)
    };
    let wrong = |sentence: String| Err(Finding::new(Defect::Misordered, sentence));
    let mut mapped = Vec::new();
    for (page, version) in versions.into_iter().enumerate() {
        if device.oracle().may_be_lost(page as u32, Expect::Newest) {
            continue;
        }
        match (newest(page), version) {
            (0, None) => {}
            (0, Some(it)) => return wrong(format!("Lpn({page}) is empty but has version {it}")),
            (write, None) => {
                return wrong(format!("Lpn({page}) holds write {write} but has no version"));
            }
            (write, Some(version)) => mapped.push((write, version, page)),
        }
    }
    mapped.sort_unstable();
    for pair in mapped.windows(2) {
        let [(write, version, page), (later, higher, other)] = [pair[0], pair[1]];
        if higher <= version {
            return wrong(format!(
                "Lpn({page}) holds write {write} and has version {version}, but Lpn({other}) \
                 holds the later write {later} and has version {higher}"
            ));
        }
    }
    Ok(())
}

/// Three laws: one program with cause host per page that entered the scheme; the wear of all blocks
/// is the number of erases; and every page is free, programmed or lost.
fn counts_add_up(device: &PoweredDevice) -> Result<(), Finding> {
    if device.has_guest() {
        // A guest may name any cause, and the chip has refused whatever breaks the other laws.
        return Ok(());
    }
    let (nand, [free_before, wear_before]) = (device.nand(), device.at_power_on());
    let tally = nand.tally();
    // What media and wear levelling do beside the FTL changes none of its pages.
    let beside = |op| tally.count(op, Cause::Media) + tally.count(op, Cause::Wear);
    let of_ftl = |op| tally.total(op) - beside(op);
    let (programs, erases) = (of_ftl(Op::Program), of_ftl(Op::Erase));
    let host = tally.count(Op::Program, Cause::Host);
    let wear: u64 = nand.array().wear().iter().map(|&erases| u64::from(erases)).sum();
    let per_block = u64::from(nand.geometry().pages_per_block());
    let (lost, free) = (nand.array().lost_pages(), nand.array().free_pages());
    let entered = device.pages_entered();
    let entered = host.clamp(entered, entered + device.pages_refused());
    equal("host programs", host, "pages that entered the scheme", entered)?;
    equal("wear of all blocks", wear, "erases", wear_before + erases)?;
    equal(
        "pages free at the start or erased since",
        free_before + per_block * erases,
        "pages programmed, free or lost",
        programs + free + lost,
    )
}

fn equal(left: &str, n: u64, right: &str, m: u64) -> Result<(), Finding> {
    match n == m {
        true => Ok(()),
        false => Err(Finding::new(Defect::Miscounted, format!("{left}: {n}, but {right}: {m}"))),
    }
}
