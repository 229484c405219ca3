//! Requests that make no sense are refused before anything is done. The numbers are those that
//! nbdkit answers with.

use crate::export::Export;
use crate::wire::command_flags::{DF, FAST_ZERO, FUA, NO_HOLE, REQ_ONE};
use crate::wire::replies::{Failed, Style};
use crate::wire::requests::{Command, Request};
use crate::wire::{Errno, PAYLOAD_BYTES_MAX};

/// Refuses a request that does not fit the export, or the form of replies.
///
/// # Errors
/// The refusal.
pub fn check(request: &Request, export: &Export, style: Style) -> Result<(), Failed> {
    let Some(known) = known_flags(request.command, style) else {
        return Err(Failed::new(Errno::Invalid, format!("unknown command {:?}", request.command)));
    };
    if request.flags & !known != 0 {
        let flags = request.flags & !known;
        let why = format!("{:?} has no flags {flags:#x}", request.command);
        return Err(Failed::new(Errno::Invalid, why));
    }
    if request.command == Command::Flush {
        return check_no_range(request);
    }
    if changes(request.command) && export.is_read_only {
        return Err(Failed::new(Errno::Permission, "the export can only be read"));
    }
    check_range(request, export)
}

/// Whether a command changes what a disk holds.
fn changes(command: Command) -> bool {
    matches!(command, Command::Write | Command::Trim | Command::WriteZeroes)
}

/// The flags that a command may have; none for a command that is unknown here. Forced unit access
/// is allowed everywhere, as the protocol demands.
fn known_flags(command: Command, style: Style) -> Option<u16> {
    match (command, style) {
        (Command::Read, Style::Structured) => Some(FUA | DF),
        (Command::WriteZeroes, _) => Some(FUA | NO_HOLE | FAST_ZERO),
        (Command::BlockStatus, Style::Structured) => Some(FUA | REQ_ONE),
        (Command::Read | Command::Write | Command::Flush | Command::Trim, _)
        | (Command::Cache | Command::Disconnect, _) => Some(FUA),
        (Command::BlockStatus, Style::Simple) | (Command::Unknown(_), _) => None,
    }
}

fn check_no_range(request: &Request) -> Result<(), Failed> {
    match (request.offset, request.bytes) {
        (0, 0) => Ok(()),
        _ => Err(Failed::new(Errno::Invalid, "a flush has no range")),
    }
}

fn check_range(request: &Request, export: &Export) -> Result<(), Failed> {
    let Request { command, offset, bytes, .. } = *request;
    if bytes == 0 {
        return Err(Failed::new(Errno::Invalid, format!("{command:?} of no bytes")));
    }
    if matches!(command, Command::Read | Command::Write) && bytes > PAYLOAD_BYTES_MAX {
        let why = format!("{bytes} bytes are too many for one request");
        return Err(Failed::new(Errno::Invalid, why));
    }
    if offset.checked_add(bytes.into()).is_some_and(|end| end <= export.bytes) {
        return Ok(());
    }
    let needs_room = matches!(command, Command::Write | Command::WriteZeroes);
    let errno = if needs_room { Errno::NoSpace } else { Errno::Invalid };
    let end = export.bytes;
    Err(Failed::new(errno, format!("{bytes} bytes at {offset} end beyond the disk of {end} bytes")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_request_is_served_and_a_larger_one_is_not() {
        let export = Export {
            name: String::new(),
            description: String::new(),
            bytes: 1 << 30,
            least_bytes: 1,
            preferred_bytes: 4096,
            is_read_only: false,
            is_on: true,
        };
        for command in [Command::Read, Command::Write] {
            let of = |bytes| Request { flags: 0, command, cookie: 0, offset: 0, bytes };
            assert!(check(&of(PAYLOAD_BYTES_MAX), &export, Style::Simple).is_ok());
            let refused = check(&of(PAYLOAD_BYTES_MAX + 1), &export, Style::Simple).unwrap_err();
            assert!(refused.message.contains("too many"), "{}", refused.message);
        }
    }
}
