//! Viewers of the disks: from another thread they ask for films of what is done now.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::sleep;
use std::time::{Duration, Instant};

use film::Film;
use mio::Waker;

use crate::device::watch::Filmed;

/// How long a film is at most.
const FILM: Duration = Duration::from_millis(200);
/// The least time from one film of a disk to the next.
const BETWEEN: Duration = Duration::from_millis(250);
/// For each second that a disk is busy with films, viewers leave it alone for this many.
const REST: u32 = 25;
/// The same for each second that a viewer works on a film: processors share caches and memory.
const REST_AFTER_WORK: u32 = 10;

/// What viewers ask of a server.
pub enum Asked {
    /// To begin a film of this export.
    Begin(usize, Sender<Result<(), String>>),
    /// To end it.
    End(usize, Sender<Option<Filmed>>),
}

/// A viewer of the disks of a server. The disks are busy with it for at most a twenty-fifth of
/// their time.
pub struct Viewer {
    asked: Sender<Asked>,
    waker: Arc<Waker>,
    /// For each disk, when its next film may begin.
    next: Vec<Instant>,
}

impl Viewer {
    /// A viewer of this number of disks, and where the server finds what it asks for.
    pub(super) fn new(disks: usize, waker: Arc<Waker>) -> (Viewer, Receiver<Asked>) {
        let (asked, taken) = channel();
        (Viewer { asked, waker, next: vec![Instant::now(); disks] }, taken)
    }

    /// A film of what is done to a disk from now on, after a rest. Waits for it.
    ///
    /// # Errors
    /// The disk cannot be filmed, or the server has ended.
    pub fn film(&mut self, disk: usize) -> Result<Filmed, String> {
        self.film_while(disk, || sleep(FILM))
    }

    /// A film of what is done to a disk while this runs, after a rest.
    ///
    /// # Errors
    /// As for [`film`](Self::film).
    pub fn film_while(&mut self, disk: usize, run: impl FnOnce()) -> Result<Filmed, String> {
        sleep(self.next[disk].saturating_duration_since(Instant::now()));
        let began = Instant::now();
        self.next[disk] = began + BETWEEN;
        self.ask(|reply| Asked::Begin(disk, reply))??;
        run();
        let filmed = self.ask(|reply| Asked::End(disk, reply))?;
        let filmed = filmed.ok_or("the film was ended by somebody else")?;
        self.next[disk] = began + BETWEEN.max(filmed.spent * REST);
        Ok(filmed)
    }

    /// The same as bytes; whether there was anything to film comes with them.
    ///
    /// # Errors
    /// As for [`film`](Self::film).
    pub fn encoded(&mut self, disk: usize) -> Result<(Film, bool), String> {
        let Filmed { footage, has_requests, .. } = self.film(disk)?;
        let began = Instant::now();
        let film = film::films(vec![footage], film::BYTES_MAX).remove(0);
        let rested = Instant::now() + began.elapsed() * REST_AFTER_WORK;
        self.next[disk] = self.next[disk].max(rested);
        Ok((film, has_requests))
    }

    fn ask<T>(&self, question: impl FnOnce(Sender<T>) -> Asked) -> Result<T, String> {
        let ended = || "the disk is not served any more".to_owned();
        let (reply, answer) = channel();
        self.asked.send(question(reply)).map_err(|_| ended())?;
        // A server that cannot be woken looks with the next event.
        let _ = self.waker.wake();
        answer.recv().map_err(|_| ended())
    }
}
