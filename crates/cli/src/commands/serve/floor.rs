//! The time that a round trip over a socket takes without any work.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Round trips that are timed.
const ROUNDS: usize = 1001;
/// Bytes of a request and of an answer with one page.
const REQUEST_BYTES: usize = 28;
const ANSWER_BYTES: usize = 16 + 4096;

/// The median time of round trips between two threads; zero if the system has no sockets left.
pub fn of_round_trip() -> Duration {
    let Ok((mut here, mut there)) = UnixStream::pair() else { return Duration::ZERO };
    let echo = std::thread::spawn(move || {
        let (mut request, answer) = ([0; REQUEST_BYTES], [0; ANSWER_BYTES]);
        while there.read_exact(&mut request).is_ok() && there.write_all(&answer).is_ok() {}
    });
    let mut times = Vec::with_capacity(ROUNDS);
    let (request, mut answer) = ([0; REQUEST_BYTES], [0; ANSWER_BYTES]);
    for _ in 0..ROUNDS {
        let began = Instant::now();
        if here.write_all(&request).is_err() || here.read_exact(&mut answer).is_err() {
            break;
        }
        times.push(began.elapsed());
    }
    drop(here);
    // The other thread only reads and writes.
    let _ = echo.join();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
