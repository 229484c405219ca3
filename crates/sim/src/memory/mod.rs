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

/// Memory of the program itself, and of the statistics of a run, as estimates count it.
pub const PROGRAM_BYTES: u64 = 8 << 20;

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
            ("the program", PROGRAM_BYTES),
        ];
        let parts = parts.into_iter().filter(|&(_, bytes)| bytes > 0);
        let texts = parts.map(|(name, bytes)| format!("{name} {}", spec::round_size(bytes)));
        out.write_str(&texts.collect::<Vec<_>>().join(", "))
    }
}

/// Memory that several runs share.
#[derive(Debug)]
pub struct MemoryBudget {
    /// The limit of all memory, if there is one.
    limit_bytes: Option<u64>,
    /// The part of it that cached requests may take.
    cache_bytes: u64,
    /// What they would take without a limit.
    wanted_cache_bytes: u64,
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
        MemoryBudget {
            limit_bytes,
            cache_bytes: 0,
            wanted_cache_bytes: 0,
            used_bytes: Mutex::new(0),
            freed: Condvar::new(),
        }
    }

    /// A budget for runs beside cached requests, which want `wanted_cache_bytes`. They get at most
    /// half of the limit.
    pub fn beside_cache(limit_bytes: Option<u64>, wanted_cache_bytes: u64) -> MemoryBudget {
        let cache_bytes = wanted_cache_bytes.min(limit_bytes.map_or(u64::MAX, |limit| limit / 2));
        MemoryBudget { cache_bytes, wanted_cache_bytes, ..MemoryBudget::new(limit_bytes) }
    }

    /// The memory that cached requests may take.
    pub fn cache_bytes(&self) -> u64 {
        self.cache_bytes
    }

    /// The memory that is left to runs; none if there is no limit.
    fn left_bytes(&self) -> Option<u64> {
        self.limit_bytes.map(|limit| limit - self.cache_bytes)
    }

    /// The memory that cached requests of a single run may take. It is small beside the limit, so
    /// that the estimate for the run need not include it.
    pub fn run_cache_bytes(&self) -> u64 {
        RUN_CACHE_BYTES.min(self.left_bytes().map_or(u64::MAX, |left| left / 16))
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
        let (bytes, left_bytes) = (estimate.total_bytes(), self.left_bytes().unwrap_or(u64::MAX));
        if bytes > left_bytes {
            return Err(self.too_much(setup, device, &estimate));
        }
        let mut used = self.used_bytes.lock().unwrap_or_else(PoisonError::into_inner);
        while *used > left_bytes - bytes {
            progress.report(Stage::Fill, 0, None)?;
            let waited = self.freed.wait_timeout(used, Duration::from_millis(100));
            used = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *used = used.saturating_add(bytes);
        Ok(Reservation { budget: self, bytes })
    }

    fn too_much(&self, setup: &Setup, device: &Device, needs: &MemoryEstimate) -> Error {
        let needs_bytes = needs.total_bytes();
        // Cached requests get at most half of a limit, so twice the need is always enough.
        let enough_bytes = needs_bytes.saturating_add(self.wanted_cache_bytes.min(needs_bytes));
        let is_sparse = setup.is_sized_by_addresses();
        let has_room = self.left_bytes().is_some_and(|left| left > PROGRAM_BYTES);
        Error::TooMuchMemory {
            needs_bytes,
            parts: needs.to_string(),
            capacity_bytes: device.capacity_bytes(),
            page_bytes: device.geometry().page_bytes(),
            limit_bytes: self.limit_bytes.unwrap_or(u64::MAX),
            cache_bytes: self.cache_bytes,
            remedy: match (has_room, is_sparse) {
                (false, _) => "Allow more",
                (true, false) => {
                    "Take larger pages (`page=` of `--chip`) or a smaller `--capacity`, or \
                     allow more"
                }
                (true, true) => {
                    "Take `--fit compact`, which keeps only touched pages; larger pages (`page=` \
                     of `--chip`) or a smaller `--capacity`, or allow more"
                }
            },
            enough_bytes: enough_bytes.next_multiple_of(1 << 20),
        }
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let used = self.budget.used_bytes.lock();
        *used.unwrap_or_else(PoisonError::into_inner) -= self.bytes;
        self.budget.freed.notify_all();
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

    /// The message names a limit that is enough, however much cached requests want.
    #[test]
    fn the_limit_that_is_proposed_is_enough() {
        let (setup, device) = setup(|_| ());
        let bytes = MemoryEstimate::of(&setup, &device).total_bytes();
        for wanted_cache_bytes in [0, 1 << 20, bytes, u64::MAX] {
            let reserved = |limit_bytes| {
                let budget = MemoryBudget::beside_cache(Some(limit_bytes), wanted_cache_bytes);
                budget.reserve(&setup, &device, &NoProgress).map(drop)
            };
            let enough = match reserved(bytes - 1) {
                Err(Error::TooMuchMemory { enough_bytes, .. }) => enough_bytes,
                other => panic!("{other:?}"),
            };
            reserved(enough).unwrap();
            assert!(reserved(enough - (2 << 20)).is_err(), "{enough} is too much");
        }
        let told = |limit_bytes: u64| {
            let budget = MemoryBudget::beside_cache(Some(limit_bytes), 1 << 20);
            budget.reserve(&setup, &device, &NoProgress).unwrap_err().to_string()
        };
        assert!(told(10 << 20).contains("10.00 MiB, of which 1.00 MiB are for cached requests"));
        assert!(told(10 << 20).contains("Take larger pages"));
        assert!(
            told(9 << 20).contains("the program 8.00 MiB")
                && told(9 << 20).contains(". Allow more: ")
        );
    }
}
