//! The memory that a run takes. It is estimated before anything large is allocated. Runs that go on
//! at the same time share one budget.
//!
//! The estimate adds up what grows with the device. It assumes that every page of the device is
//! programmed, as after `--precondition fill`. It leaves out memory that grows with the trace,
//! which is not known beforehand.
//!
//! * [`limit`] the memory that a process may take

pub mod limit;

use core::fmt;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use drive::{Drive, Profile};
use ftl::Device;
use nand::{FlashArray, Mode};

use crate::config::setup::Setup;
use crate::device;
use crate::error::{Error, Result};
use crate::input::request_cache::RUN_CACHE_BYTES;
use crate::progress::{Progress, Stage};
use crate::shadow::Shadow;

/// Memory of the program itself, and of the statistics of a run.
const PROGRAM_BYTES: u64 = 8 << 20;

/// The memory that a run takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryEstimate {
    /// The pages of the chip.
    pub flash_bytes: u64,
    /// The FTL and the layers above it.
    pub ftl_bytes: u64,
    /// The shadow copy of `--verify`, without pages of which parts are written.
    pub shadow_bytes: u64,
    /// The drive with its tables, without requests that wait.
    pub drive_bytes: u64,
    /// The sets of touched pages, which give `footprint_pages` of the run and of each load.
    pub statistics_bytes: u64,
}

impl MemoryEstimate {
    /// The estimate for a device that is to be built.
    pub fn of(setup: &Setup, device: &Device) -> MemoryEstimate {
        let verify = setup.experiment.verify;
        let mode = device::chip_mode(device, &setup.experiment);
        let logical_pages = u64::from(device.logical_pages());
        MemoryEstimate {
            shadow_bytes: if verify { Shadow::memory_bytes(logical_pages) } else { 0 },
            statistics_bytes: logical_pages / 8 * (1 + setup.experiment.load.len() as u64),
            ..MemoryEstimate::of_device(device, mode, setup.drive.as_ref())
        }
    }

    /// The estimate for a device that keeps the bytes of its pages, before any is written.
    pub fn of_empty_disk(device: &Device, drive: Option<&Profile>) -> MemoryEstimate {
        let flash_bytes = FlashArray::memory_bytes(device.geometry(), Mode::Count);
        MemoryEstimate { flash_bytes, ..MemoryEstimate::of_full_disk(device, drive) }
    }

    /// The same when all its pages are written.
    pub fn of_full_disk(device: &Device, drive: Option<&Profile>) -> MemoryEstimate {
        MemoryEstimate::of_device(device, Mode::Bytes, drive)
    }

    fn of_device(device: &Device, mode: Mode, drive: Option<&Profile>) -> MemoryEstimate {
        let (geometry, choice) = (device.geometry(), &device.choice);
        let layer_bytes = device.layers.memory_bytes(choice.scheme, geometry, mode);
        let scheme_bytes = (choice.scheme.memory)(&choice.params, geometry, mode)
            .saturating_add(device.policy_memory_bytes());
        MemoryEstimate {
            flash_bytes: FlashArray::memory_bytes(geometry, mode),
            ftl_bytes: scheme_bytes.saturating_add(layer_bytes),
            shadow_bytes: 0,
            drive_bytes: drive.map_or(0, |profile| Drive::memory_bytes(profile, geometry)),
            statistics_bytes: 0,
        }
    }

    /// The sum of all parts, including the program itself.
    pub fn total_bytes(&self) -> u64 {
        let MemoryEstimate { flash_bytes, ftl_bytes, .. } = *self;
        let MemoryEstimate { shadow_bytes, drive_bytes, statistics_bytes, .. } = *self;
        let parts = [flash_bytes, ftl_bytes, shadow_bytes, drive_bytes, statistics_bytes];
        parts.into_iter().fold(PROGRAM_BYTES, u64::saturating_add)
    }
}

/// Lists the parts that are not small.
impl fmt::Display for MemoryEstimate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("the flash", self.flash_bytes),
            ("the FTL", self.ftl_bytes),
            ("the shadow copy", self.shadow_bytes),
            ("the drive", self.drive_bytes),
        ];
        let parts = parts.into_iter().filter(|&(_, bytes)| bytes > 0);
        let texts = parts.map(|(name, bytes)| format!("{name} {}", spec::round_size(bytes)));
        out.write_str(&texts.collect::<Vec<_>>().join(", "))
    }
}

/// Memory that several runs share.
#[derive(Debug)]
pub struct MemoryBudget {
    limit_bytes: Option<u64>,
    used_bytes: Mutex<u64>,
    freed: Condvar,
}

/// The memory of a run. It is given back when this is dropped.
#[derive(Debug)]
pub struct Reservation<'a> {
    budget: &'a MemoryBudget,
    bytes: u64,
}

impl MemoryBudget {
    /// A budget with this limit, if any.
    pub const fn new(limit_bytes: Option<u64>) -> MemoryBudget {
        MemoryBudget { limit_bytes, used_bytes: Mutex::new(0), freed: Condvar::new() }
    }

    /// A budget for runs, and the memory that their cached requests may take. This memory is
    /// `cache_bytes`, but at most half of the limit, and nothing if no run reads a file.
    pub fn beside_cache(
        limit_bytes: Option<u64>,
        cache_bytes: u64,
        reads_files: bool,
    ) -> (MemoryBudget, u64) {
        let cache_bytes = if reads_files { cache_bytes } else { 0 };
        let cache_bytes = cache_bytes.min(limit_bytes.map_or(u64::MAX, |limit| limit / 2));
        (MemoryBudget::new(limit_bytes.map(|limit| limit - cache_bytes)), cache_bytes)
    }

    /// The memory that cached requests of a single run may take. It is small beside the limit, so
    /// that the estimate for the run need not include it.
    pub fn run_cache_bytes(&self) -> u64 {
        RUN_CACHE_BYTES.min(self.limit_bytes.map_or(u64::MAX, |limit| limit / 16))
    }

    /// Reserves the memory of a run; waits while other runs take too much.
    ///
    /// # Errors
    /// The run alone takes too much, or it is stopped while it waits.
    pub fn reserve(
        &self,
        setup: &Setup,
        device: &Device,
        progress: &dyn Progress,
    ) -> Result<Reservation<'_>> {
        let estimate = MemoryEstimate::of(setup, device);
        let (bytes, limit_bytes) = (estimate.total_bytes(), self.limit_bytes.unwrap_or(u64::MAX));
        if bytes > limit_bytes {
            return Err(too_much(setup, device, &estimate, limit_bytes));
        }
        let mut used = self.used_bytes.lock().unwrap_or_else(PoisonError::into_inner);
        while *used > limit_bytes - bytes {
            progress.report(Stage::Fill, 0, None)?;
            let waited = self.freed.wait_timeout(used, Duration::from_millis(100));
            used = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *used = used.saturating_add(bytes);
        Ok(Reservation { budget: self, bytes })
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let used = self.budget.used_bytes.lock();
        *used.unwrap_or_else(PoisonError::into_inner) -= self.bytes;
        self.budget.freed.notify_all();
    }
}

fn too_much(setup: &Setup, device: &Device, needs: &MemoryEstimate, limit_bytes: u64) -> Error {
    let is_sparse = setup.is_sized_by_addresses();
    Error::TooMuchMemory {
        needs_bytes: needs.total_bytes(),
        parts: needs.to_string(),
        capacity_bytes: device.capacity_bytes(),
        limit_bytes,
        compact: if is_sparse { "`--fit compact`, which keeps only touched pages; " } else { "" },
        page_bytes: device.geometry().page_bytes(),
    }
}

/// The most memory that this process ever held, if the system tells it.
pub fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::choices::Timing;
    use crate::config::experiment::Experiment;
    use crate::device;
    use crate::progress::NoProgress;

    fn setup(change: impl Fn(&mut Experiment)) -> (Setup, Device) {
        let mut experiment = Experiment { capacity_bytes: Some(1 << 30), ..Experiment::default() };
        change(&mut experiment);
        let setup = Setup::new(&experiment).unwrap();
        let device = device::of(&setup, 1 << 30).unwrap();
        (setup, device)
    }

    #[test]
    fn verifying_and_small_pages_take_more() {
        let total = |change: fn(&mut Experiment)| {
            let (setup, device) = setup(change);
            MemoryEstimate::of(&setup, &device).total_bytes() - PROGRAM_BYTES
        };
        let plain = total(|_| ());
        assert!(total(|e| e.verify = true) > 3 * plain);
        assert!(total(|e| e.chip = "slc-fast2010:page=16KiB".into()) < plain / 6);
        assert!(total(|e| e.ftl = "dac".into()) > plain);
        let drive = total(|e| {
            e.timing = Timing::Drive;
            e.drive = Some("ideal:channels=64,ways=64,stripe=1".into());
            e.chip = "slc-fast2010:pages_per_block=8192".into();
        });
        assert!(drive > 4096 * 8192 * 16, "each of 4,096 stripes has a place for 8,192 pages");
    }

    #[test]
    fn a_run_waits_for_the_memory_of_others_and_is_refused_if_it_can_never_fit() {
        let (setup, device) = setup(|_| ());
        let bytes = MemoryEstimate::of(&setup, &device).total_bytes();
        let budget = MemoryBudget::new(Some(bytes + bytes / 2));
        let first = budget.reserve(&setup, &device, &NoProgress).unwrap();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| budget.reserve(&setup, &device, &NoProgress).map(drop));
            std::thread::sleep(Duration::from_millis(150));
            assert!(!second.is_finished());
            drop(first);
            second.join().unwrap().unwrap();
        });
        let reserved = |limit_bytes| {
            let budget = MemoryBudget::new(limit_bytes);
            budget.reserve(&setup, &device, &NoProgress).map(drop)
        };
        assert_eq!(reserved(Some(bytes - 1)).unwrap_err().exit_code(), 2);
        reserved(Some(bytes)).unwrap();
        reserved(None).unwrap();
    }
}
