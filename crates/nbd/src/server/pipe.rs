//! A single client on a pair of pipes, without sockets and threads: for fuzzing, and for servers
//! that are started by a client.

use std::io::{self, ErrorKind, Read, Write};

use crate::device::client::Client;
use crate::device::live::{Live, Progress};
use crate::server::peer::KEPT;
use crate::session::{Encryption, Session, Step};
use crate::wire::requests::{Command, Request};

/// Serves one client until it ends.
///
/// # Errors
/// A pipe failed.
pub fn serve(live: &mut Live, input: &mut dyn Read, output: &mut dyn Write) -> io::Result<()> {
    match converse(live, input, output) {
        // A client need not wait for answers, such as that to ABORT. It has hung up.
        Err(error)
            if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) =>
        {
            Ok(())
        }
        ended => ended,
    }
}

fn converse(live: &mut Live, input: &mut dyn Read, output: &mut dyn Write) -> io::Result<()> {
    let exports = [live.export().clone()];
    let mut session = Session::new(Encryption::Impossible);
    loop {
        let is_over = match session.step(&exports) {
            Step::Needs(bytes) => {
                send(&mut session, output)?;
                session.input.shrink(KEPT);
                session.output.shrink(KEPT);
                match input.read(session.input.room(bytes))? {
                    0 => return Ok(()),
                    came => session.input.came(came),
                }
                false
            }
            Step::Progress => false,
            Step::Request(request) if request.command == Command::Disconnect => true,
            Step::Request(request) => perform(live, &mut session, &request) == Progress::PowerLost,
            Step::HangUp(_) | Step::StartTls => true,
        };
        if is_over {
            return send(&mut session, output);
        }
    }
}

/// Performs a request, and everything that it waits for.
fn perform(live: &mut Live, session: &mut Session, request: &Request) -> Progress {
    let (style, cookie) = (session.style(), request.cookie);
    let client = Client { session: 0, style, cookie };
    let progress = session.perform(live, client, request);
    finish_work(live);
    for ready in live.take_ready(std::time::Instant::now()) {
        session.output.put(ready.reply.bytes());
    }
    progress
}

fn finish_work(live: &mut Live) {
    loop {
        if let Some(job) = live.take_job() {
            live.synced(job());
        } else if live.has_work() {
            live.work();
        } else {
            return;
        }
    }
}

fn send(session: &mut Session, output: &mut dyn Write) -> io::Result<()> {
    let unsent = session.output.bytes();
    output.write_all(unsent)?;
    let bytes = unsent.len();
    if bytes > 0 {
        session.output.take(bytes);
        output.flush()?;
    }
    Ok(())
}
