//! Guests of the command: they run in a process of their own, which this one watches.
//!
//! ```text
//! ftlab run … --ftl guest:lib=./mine.so       the first guest that is named
//!   └─ ftlab run … --ftl guest:lib=./mine.so      the same command again, with the guest in it
//! ```
//! A guest that crashes, hangs or exits ends only the second process.
//!
//! A server goes on without its guest, and an image can be open in one process only. So there the
//! guest alone is in another process, which sends the operations of the chip to this one. If a
//! guest has ended a command with many runs, the command begins again in this slower way, and only
//! the runs of that guest fail.

use std::env;
use std::ffi::OsString;
use std::process::{self, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use check::finding::Verdict;
use ftl::contract::guest::GuestSource;
use guest::c_guest;
use guest::remote::{RemoteSource, Starter};
use guest::supervisor::{self, Death, End, Watched};
use spec::Params;

use crate::failure::{self, Failure};
use crate::process::{signals, stdout};

/// Lets `guest:lib=…` be named as an FTL.
pub fn install() {
    // A second call changes nothing.
    let _ = ftl::registry::GUEST_LOADER.set(load);
}

/// From now on guests run alone in their processes.
pub fn keep_apart() {
    ARE_APART.store(true, Ordering::Relaxed);
}

static ARE_APART: AtomicBool = AtomicBool::new(false);
/// Tells a command that it has begun again, with its guests alone in their processes.
const APART: &str = "FTLAB_GUESTS_APART";

/// The subcommand that runs in the process of a single guest.
pub const HOST: &str = "guest-process";

/// Options of the process of a single guest.
#[derive(clap::Args)]
pub struct HostArgs {
    /// The shared object
    lib: String,
}

/// Runs the process of a single guest.
pub fn host(args: &HostArgs) -> failure::Result<()> {
    let served = guest::host::serve(&args.lib);
    served.map_err(|error| Failure::failed(format!("the program of the guest is gone: {error}")))
}

fn load(params: &Params) -> ftl::Result<Arc<dyn GuestSource>> {
    let refuse = |why: String| ftl::Error::Refused { scheme: "guest", why };
    if ARE_APART.load(Ordering::Relaxed) || env::var_os(APART).is_some() {
        let program = env::current_exe()
            .map_err(|error| refuse(format!("the program cannot be started again: {error}")))?;
        let starter = Starter { program: program.into(), arguments: vec![HOST.into()] };
        return RemoteSource::load(starter, params);
    }
    match supervisor::is_watched().map(|is_watched| is_watched || supervisor::is_debugged()) {
        Ok(true) => {
            stdout::keep_from_guests().map_err(|error| {
                refuse(format!("standard output cannot be kept from the guest: {error}"))
            })?;
            c_guest::load(params)
        }
        Ok(false) => run_again(),
        Err(error) => Err(refuse(format!("FTLAB_GUEST_BOARD names no board: {error}"))),
    }
}

/// Runs the command again in a process of its own, and ends this one as that one ends.
fn run_again() -> ! {
    let arguments: Vec<OsString> = env::args_os().collect();
    let code = match watch(&arguments) {
        Ok(End::Done(code)) => code,
        Ok(End::OfGuest(death, _)) if goes_on(&arguments) => {
            let (Death::Crashed(sentence) | Death::Hung(sentence)) = death;
            eprintln!(
                "ftlab: the guest {sentence}\nftlab: the command begins again, with each guest in \
                 a process of its own, which is slower"
            );
            begin_again(&arguments)
        }
        Ok(End::OfGuest(death, note)) => died(death, &note, &arguments).report(&arguments),
        Err(error) => {
            let why = format!("cannot run the guest in a process of its own: {error}");
            Failure::failed(why).report(&arguments)
        }
    };
    process::exit(code.into())
}

/// The failure of a command whose guest has died, with a note of what it was about to do. The death
/// is what a check has found.
fn died(death: Death, note: &str, arguments: &[OsString]) -> Failure {
    let (verdict, sentence) = match death {
        Death::Crashed(sentence) => (Verdict::Crash, sentence),
        Death::Hung(sentence) => (Verdict::Hang, sentence),
    };
    let note = if note.is_empty() { String::new() } else { format!("\n{note}") };
    let sentence = format!("the guest {sentence}{note}");
    match is_check(arguments) {
        true => Failure::coded(failure::VIOLATION, format!("{verdict}: {sentence}")),
        false => Failure::failed(sentence),
    }
}

/// Whether the command has several runs, of which one may fail.
fn goes_on(arguments: &[OsString]) -> bool {
    arguments.get(1).is_some_and(|name| name == "sweep" || name == "compare")
}

/// Runs the command with its guests alone in their processes. Returns its exit code.
fn begin_again(arguments: &[OsString]) -> u8 {
    let ended = env::current_exe()
        .and_then(|program| Command::new(program).args(&arguments[1..]).env(APART, "1").status());
    match ended {
        Ok(status) => status.code().map_or(failure::FAILED, |code| code as u8),
        Err(error) => {
            let why = format!("the program cannot be started again: {error}");
            Failure::failed(why).report(arguments)
        }
    }
}

/// Whether the command checks guests, so that the death of one is what it found.
fn is_check(arguments: &[OsString]) -> bool {
    arguments.get(1).is_some_and(|name| name == "check")
}

fn watch(arguments: &[OsString]) -> std::io::Result<End> {
    let watched = Watched::start(env::current_exe()?.into(), &arguments[1..])?;
    if let Some(pid) = watched.pid() {
        signals::stop_by(move || supervisor::interrupt(pid));
    }
    watched.wait(supervisor::patience())
}
