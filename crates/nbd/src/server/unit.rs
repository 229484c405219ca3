//! A device, the thread that syncs its file, and what a user has told it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::Waker;

use crate::control::command::{Command, CutTime};
use crate::device::live::Live;
use crate::server::syncer::Syncer;

/// A device that is served.
pub struct Unit {
    /// The device.
    pub live: Live,
    /// Whether it stays without power after a cut whose command does not say.
    pub stays_down: bool,
    waker: Arc<Waker>,
    syncer: Option<Syncer>,
    /// When a freeze ends, and who waits for that.
    thaw: Option<(Instant, u64)>,
    /// A cut that was ordered.
    cut: Option<OrderedCut>,
    /// A cut that was taken back, until whoever ordered it is told.
    taken_back: Option<OrderedCut>,
}

/// A cut to come.
#[derive(Clone, Copy, Debug)]
struct OrderedCut {
    /// The user who waits for it.
    operator: u64,
    stays_down: bool,
}

/// The answer to a user.
pub type Reply = Result<serde_json::Value, String>;

impl Unit {
    /// A device.
    pub fn new(live: Live, waker: Arc<Waker>) -> Unit {
        Unit {
            live,
            stays_down: false,
            waker,
            syncer: None,
            thaw: None,
            cut: None,
            taken_back: None,
        }
    }

    /// Begins a sync of the file, if one is to be run. If the system has no thread left, it is run
    /// here.
    pub fn begin_sync(&mut self) {
        while let Some(job) = self.live.take_job() {
            let started = match self.syncer.take() {
                Some(syncer) => Ok(syncer),
                None => Syncer::start(Arc::clone(&self.waker)),
            };
            match started {
                Ok(syncer) => self.syncer.insert(syncer).begin(job),
                Err(_) => self.live.synced(job()),
            }
        }
    }

    /// Takes the ends of syncs.
    pub fn end_syncs(&mut self) {
        while let Some(done) = self.syncer.as_ref().and_then(Syncer::ended) {
            self.live.synced(done);
            self.begin_sync();
        }
    }

    /// The user whose cut cannot come any more, because the disk has failed, and the answer.
    pub fn cut_that_cannot_come(&mut self) -> Option<(u64, Reply)> {
        let why = self.live.store.disk.failure()?.to_owned();
        let OrderedCut { operator, .. } = self.cut.take_if(|_| !self.live.store.disk.is_off())?;
        Some((operator, Err(format!("the power of a disk that has failed is not cut: {why}"))))
    }

    /// Executes the command of a user. The answer may come [later](Self::power_was_lost).
    pub fn execute(&mut self, operator: u64, command: Command) -> Option<Reply> {
        let done = || Some(Ok(serde_json::json!({})));
        match command {
            Command::Cut { when, outcome, stays_down } => {
                if self.live.store.disk.is_off() {
                    return Some(Err("the device has no power already".to_owned()));
                }
                if let Some(why) = self.live.store.disk.failure() {
                    let why = format!("the power of a disk that has failed is not cut: {why}");
                    return Some(Err(why));
                }
                if self.cut.is_some() {
                    return Some(Err("another cut is ordered already".to_owned()));
                }
                let stays_down = stays_down.unwrap_or(self.stays_down);
                self.cut = Some(OrderedCut { operator, stays_down });
                match when {
                    CutTime::Now if outcome.is_none() => self.live.store.disk.cut_now(),
                    CutTime::Now => self.live.store.disk.cut_after(cut(0, outcome)),
                    CutTime::Flush => self.live.cut_at_flush(outcome),
                    CutTime::After(operations) => {
                        self.live.store.disk.cut_after(cut(operations, outcome))
                    }
                }
                None
            }
            Command::NoCut => {
                self.live.take_cut_back();
                self.taken_back = self.cut.take();
                done()
            }
            Command::PowerOn if !self.live.store.disk.is_off() => {
                Some(Err("the device has power already".to_owned()))
            }
            Command::PowerOn => Some(self.power_on()),
            Command::Freeze(_) if self.thaw.is_some() => {
                Some(Err("the device is frozen for a time already".to_owned()))
            }
            Command::Freeze(time) => {
                self.live.gate.set_frozen(true);
                let Some(time) = time else { return done() };
                self.thaw = Some((Instant::now() + time, operator));
                None
            }
            Command::Thaw => {
                self.live.gate.set_frozen(false);
                // Whoever waits for the end of a freeze is answered now.
                self.thaw.iter_mut().for_each(|(at, _)| *at = Instant::now());
                done()
            }
            Command::Slow(time) => {
                self.live.gate.set_slow(time);
                done()
            }
            Command::Fail(failure) => {
                self.live.failures.add(failure);
                done()
            }
            Command::Heal => {
                self.live.failures.clear();
                done()
            }
            Command::FailFlash(failure) => {
                let failed = self.live.store.disk.fail(failure).map_err(|error| error.to_string());
                Some(failed.map(|()| crate::control::stats::of_media(&self.live)))
            }
            Command::Mark(name) => {
                Some(self.live.store.recorder.mark(&name).map(|()| serde_json::json!({})))
            }
            Command::Stats => Some(Ok(crate::control::stats::of_device(&self.live))),
        }
    }

    /// The user whose cut was taken back since the last call, and the answer.
    pub fn cut_taken_back(&mut self) -> Option<(u64, Reply)> {
        let OrderedCut { operator, .. } = self.taken_back.take()?;
        Some((operator, Err("the cut was taken back".to_owned())))
    }

    /// When a freeze ends.
    pub fn thaws_at(&self) -> Option<Instant> {
        self.thaw.map(|(at, _)| at)
    }

    /// Ends a freeze whose time is over. Returns who waits for that.
    pub fn thaw(&mut self, now: Instant) -> Option<u64> {
        let (_, operator) = self.thaw.take_if(|(at, _)| *at <= now)?;
        self.live.gate.set_frozen(false);
        Some(operator)
    }

    /// The power was lost: everything under way is forgotten, and unless the device is to stay
    /// down, it is mounted again. Returns the answer for the user who ordered that.
    pub fn power_was_lost(&mut self) -> Option<(u64, Reply)> {
        if self.live.is_syncing() {
            // A job that was not handed to the thread yet is run here.
            let done = match (self.live.take_job(), &self.syncer) {
                (Some(job), _) => job(),
                (None, Some(syncer)) => syncer.wait(),
                (None, None) => Ok(()),
            };
            self.live.lose_power();
            self.live.synced(done);
        } else {
            self.live.lose_power();
        }
        let OrderedCut { operator, stays_down } = self.cut.take()?;
        match stays_down {
            true => Some((operator, Ok(serde_json::json!({ "power": "off" })))),
            false => Some((operator, self.power_on())),
        }
    }

    fn power_on(&mut self) -> Reply {
        let began = Instant::now();
        let mounted = self.live.power_on();
        let took: Duration = began.elapsed();
        match mounted {
            Ok(()) => Ok(serde_json::json!({
                "power": "on",
                "mount_us": u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
            })),
            Err(error) => Err(format!("the FTL could not be mounted again: {error}")),
        }
    }
}

fn cut(after: u64, outcome: Option<nand::Outcome>) -> nand::Cut {
    nand::Cut { after, outcome: outcome.unwrap_or(nand::Outcome::Untouched) }
}
