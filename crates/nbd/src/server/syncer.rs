//! The thread that syncs the file of one disk.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use mio::Waker;
use nand::page_store::SyncJob;

/// A thread that runs syncs, one after the other.
pub struct Syncer {
    jobs: Sender<SyncJob>,
    done: Receiver<nand::Result<()>>,
}

impl Syncer {
    /// Starts the thread. It wakes the server when a sync has ended.
    ///
    /// # Errors
    /// The system has no thread left.
    pub fn start(waker: Arc<Waker>) -> io::Result<Syncer> {
        let (jobs, to_do) = channel::<SyncJob>();
        let (ended, done) = channel();
        let work = move || {
            let _guard = EndsProcess;
            for job in to_do {
                // If nobody listens any more, the process is about to end.
                if ended.send(job()).is_err() || waker.wake().is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("sync".into()).spawn(work)?;
        Ok(Syncer { jobs, done })
    }

    /// Begins a sync.
    pub fn begin(&self, job: SyncJob) {
        self.jobs.send(job).expect("the thread ends only with the process");
    }

    /// A sync that has ended.
    pub fn ended(&self) -> Option<nand::Result<()>> {
        self.done.try_recv().ok()
    }

    /// Waits until the sync that runs has ended.
    pub fn wait(&self) -> nand::Result<()> {
        self.done.recv().expect("the thread ends only with the process")
    }
}

/// A thread that panics ends the process, so that no client waits for ever.
pub(super) struct EndsProcess;

impl Drop for EndsProcess {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::exit(101);
        }
    }
}
