//! Syncs of an image that go on beside the operations of the host, as a server lets them.

use nand::Nand;
use nand::page_store::SyncJob;

use crate::rng::{Rng, mix};

/// One of this number of actions takes the next step of a sync.
const EACH: u32 = 3;
/// Distinguishes these draws from others with the same seed.
const SALT: u64 = 0x5C;

/// Syncs that are begun, run and ended before drawn actions of a device.
pub struct BackgroundSync {
    rng: Rng,
    state: State,
}

/// A sync, with the last operation before its begin.
enum State {
    Idle,
    Begun(u64, SyncJob),
    Run(u64, nand::Result<()>),
}

impl BackgroundSync {
    /// The syncs of a device with this seed, from its power-on.
    pub fn new(seed: u64) -> BackgroundSync {
        BackgroundSync { rng: Rng::new(mix(seed, SALT)), state: State::Idle }
    }

    /// The store of the chip is another one now. A sync that has begun never ends.
    pub fn forget(&mut self) {
        self.state = State::Idle;
    }

    /// Takes the next step, if it is drawn. `operation` is the last one of the image. Returns the
    /// last operation that is durable now, if a sync has ended.
    ///
    /// # Errors
    /// The storage failed.
    pub fn step(&mut self, nand: &mut Nand, operation: u64) -> nand::Result<Option<u64>> {
        if !self.rng.one_in(EACH) {
            return Ok(None);
        }
        let ended = match std::mem::replace(&mut self.state, State::Idle) {
            State::Idle => match nand.begin_sync() {
                Ok(Some(job)) => {
                    self.state = State::Begun(operation, job);
                    None
                }
                Ok(None) => Some(operation),
                // What was written since the flash is worn out cannot last.
                Err(nand::Error::WornOut { .. }) => None,
                Err(error) => return Err(error),
            },
            State::Begun(before, job) => {
                self.state = State::Run(before, job());
                None
            }
            State::Run(before, done) => {
                nand.end_sync(done)?;
                Some(before)
            }
        };
        Ok(ended)
    }
}
