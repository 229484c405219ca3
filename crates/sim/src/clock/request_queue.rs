//! The queue in which requests wait: before the one server of serial time, or in a drive.

use nand::Geometry;

use crate::clock::drive_queue::DriveQueue;
use crate::clock::open_rates::OpenRates;
use crate::clock::service_queue::ServiceQueue;
use crate::config::replay::Replay;
use crate::config::setup::Setup;

/// More flash operations than this wait in a drive only if its queue grows without end. They take
/// about 1 GiB.
const OPERATIONS_MAX: usize = 4 << 20;

/// A queue.
pub enum RequestQueue {
    /// Before the one server of serial time.
    Serial(ServiceQueue),
    /// In a drive with channels and dies.
    Drive(Box<DriveQueue>),
}

impl RequestQueue {
    /// The queue of an experiment on a device of this geometry; none if no request ever has to
    /// wait.
    pub fn of(setup: &Setup, geometry: &Geometry) -> Option<RequestQueue> {
        let replays = setup.replays();
        if let Some(profile) = &setup.drive {
            let has_course = setup.experiment.interval.is_some();
            let queue = DriveQueue::new(profile, geometry, setup.chip.timing, &replays, has_course);
            return Some(RequestQueue::Drive(Box::new(queue)));
        }
        let waits = setup.has_tenants() || replays != [Replay::CLOSED];
        waits.then(|| RequestQueue::Serial(ServiceQueue::new(&replays)))
    }

    /// The load whose next request is issued next. `open` is the open load whose next request is
    /// issued first, with its issue time.
    #[inline]
    pub fn next_load(&mut self, open: Option<(u64, usize)>) -> Option<usize> {
        match self {
            RequestQueue::Serial(queue) => queue.next_load(open),
            RequestQueue::Drive(queue) => queue.next_load(open),
        }
    }

    /// A request of a closed load was taken from its trace.
    #[inline]
    pub fn take_closed(&mut self) {
        if let RequestQueue::Serial(queue) = self {
            queue.take_closed();
        }
    }

    /// The rates of the open loads, which count from zero afterwards. A drive must have finished.
    pub fn take_rates(&mut self) -> OpenRates {
        core::mem::take(match self {
            RequestQueue::Serial(queue) => &mut queue.rates,
            RequestQueue::Drive(queue) => &mut queue.rates,
        })
    }

    /// Whether so much waits in a drive that the queue would take all memory.
    #[inline]
    pub fn is_swamped(&self) -> bool {
        match self {
            RequestQueue::Serial(_) => false,
            RequestQueue::Drive(queue) => queue.drive.unfinished_operations() > OPERATIONS_MAX,
        }
    }

    /// The drive, if requests wait in one.
    pub fn drive(&mut self) -> Option<&mut DriveQueue> {
        match self {
            RequestQueue::Serial(_) => None,
            RequestQueue::Drive(queue) => Some(queue),
        }
    }
}
