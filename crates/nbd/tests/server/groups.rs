//! Groups of requests that share a sync of the file, without sockets and threads.

use std::time::Instant;

use nbd::device::client::Client;
use nbd::device::live::Live;
use nbd::device::recorder::Recorder;
use nbd::wire::buffer::Buffer;
use nbd::wire::replies::Style;
use nbd::wire::requests::{Command, Request};

use crate::conversation::{Answers, FUA};
use crate::slow_file::on_file;

/// A disk on an image.
fn disk() -> Live {
    on_file(&[], Recorder::idle(), |file| Box::new(file))
}

/// Each of these connections asks for a flush, or for a forced write of a page of its own.
fn ask(live: &mut Live, command: Command, connections: &[u64]) {
    for &session in connections {
        let client = Client { session, style: Style::Simple, cookie: session };
        let (flags, offset, bytes, payload) = match command {
            Command::Write => (FUA, 2048 * session, 2048, &[1; 2048][..]),
            _ => (0, 0, 0, &[][..]),
        };
        let request = Request { flags, command, cookie: session, offset, bytes };
        live.perform(client, &[], &request, payload, &mut Buffer::default());
    }
}

/// Ends the sync that runs. Returns who is answered then, and whether with success.
fn ended(live: &mut Live, is_good: bool) -> Vec<(u64, bool)> {
    let done = live.take_job().expect("a sync has begun")();
    let failed = || Err(nand::Error::Storage("the disk is gone".into()));
    live.synced(if is_good { done } else { failed() });
    let ready = live.take_ready(Instant::now()).into_iter();
    ready.map(|it| (it.session, Answers(it.reply.bytes().to_vec()).simple().0 == 0)).collect()
}

#[test]
fn everybody_in_a_group_hears_of_a_failed_sync_and_so_do_those_who_came_meanwhile() {
    for late in [Command::Flush, Command::Write] {
        let mut live = disk();
        ask(&mut live, Command::Write, &[1]);
        ask(&mut live, Command::Flush, &[2, 3]);
        ask(&mut live, Command::Write, &[4]);
        assert_eq!(ended(&mut live, true), [(1, true)]);
        ask(&mut live, late, &[5, 6]);
        let all = [2, 3, 4, 5, 6].map(|connection| (connection, false));
        assert_eq!(ended(&mut live, false), all, "{late:?}");
        assert!(live.is_idle() && live.take_job().is_none());
        assert_eq!(live.counts().failed, 5, "{late:?}");
    }
}
