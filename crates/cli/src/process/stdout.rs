//! Standard output of the command. It has the results, so a guest in this process must not print
//! there: what it prints goes to standard error.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::OnceLock;

use guest::supervisor;

/// Standard output as the command found it.
pub fn own() -> &'static File {
    static OWN: OnceLock<File> = OnceLock::new();
    OWN.get_or_init(|| {
        let stdout = io::stdout().as_fd().try_clone_to_owned();
        stdout.expect("standard output can be duplicated").into()
    })
}

/// From now on, what a guest prints to standard output goes to standard error.
///
/// # Errors
/// The kernel refuses.
pub fn keep_from_guests() -> io::Result<()> {
    own();
    supervisor::print_to_stderr()
}

/// Prints a text at once. If standard output is closed, nobody reads it, so errors are ignored.
pub fn say(text: &str) {
    let _ = own().write_all(text.as_bytes());
}
