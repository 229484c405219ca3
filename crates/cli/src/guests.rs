//! Guests of the command: they run in a process of their own, which this one watches.
//!
//! ```text
//! ftlab run … --ftl guest:lib=./mine.so       the first guest that is named
//!   └─ ftlab run … --ftl guest:lib=./mine.so      the same command again, with the guest in it
//! ```
//! A guest that crashes, hangs or exits ends only the second process.

use std::env;
use std::ffi::OsString;
use std::process;
use std::sync::Arc;

use ftl::contract::guest::GuestSource;
use guest::c_guest;
use guest::supervisor::{self, End, Watched};
use spec::Params;

use crate::failure::{self, Failure};
use crate::process::signals;

/// Lets `guest:lib=…` be named as an FTL.
pub fn install() {
    // A second call changes nothing.
    let _ = ftl::registry::GUEST_LOADER.set(load);
}

fn load(params: &Params) -> ftl::Result<Arc<dyn GuestSource>> {
    match supervisor::is_watched() {
        Ok(true) => c_guest::load(params),
        Ok(false) => run_again(),
        Err(error) => {
            let why = format!("FTLAB_GUEST_BOARD names no board: {error}");
            Err(ftl::Error::Refused { scheme: "guest", why })
        }
    }
}

/// Runs the command again in a process of its own, and ends this one as that one ends.
fn run_again() -> ! {
    let arguments: Vec<OsString> = env::args_os().collect();
    let code = match watch(&arguments) {
        Ok(End::Done(code)) => code,
        Ok(End::OfGuest(sentence, note)) => {
            let note = if note.is_empty() { note } else { format!("\n{note}") };
            let code = if is_check(&arguments) { failure::VIOLATION } else { failure::FAILED };
            Failure::coded(code, format!("the guest {sentence}{note}")).report(&arguments)
        }
        Err(error) => {
            let why = format!("cannot run the guest in a process of its own: {error}");
            Failure::failed(why).report(&arguments)
        }
    };
    process::exit(code.into())
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
