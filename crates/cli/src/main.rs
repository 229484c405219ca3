//! The command `ftlab`.
#![forbid(unsafe_code)]

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    match cli::take_process(&arguments) {
        Ok(()) => cli::main(&arguments).into(),
        Err(error) => {
            eprintln!("ftlab: cannot handle signals: {error}");
            ExitCode::FAILURE
        }
    }
}
