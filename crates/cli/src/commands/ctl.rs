//! `ftlab ctl`: commands to a server that runs.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use serde_json::Value;

use crate::failure::{Failure, Result};
use crate::output;

/// Options of `ftlab ctl`.
#[derive(clap::Args)]
pub struct Args {
    /// Control socket of the server
    #[arg(value_name = "SOCKET")]
    socket: PathBuf,
    /// Commands, such as '{"cut":"now"}' or '{"stats":true}'; see docs/nbd.md
    #[arg(value_name = "JSON", required = true)]
    commands: Vec<String>,
}

/// Runs the subcommand: sends the commands one after the other, and prints the answers.
pub fn run(args: &Args) -> Result<()> {
    let unreachable = |error: std::io::Error| {
        let place = args.socket.display();
        Failure::failed(format!("{place}: {error}; does `ftlab serve --control {place}` run?"))
    };
    let mut socket = UnixStream::connect(&args.socket).map_err(unreachable)?;
    let mut answers = BufReader::new(socket.try_clone().map_err(unreachable)?).lines();
    for command in &args.commands {
        socket.write_all(format!("{}\n", one_line(command)).as_bytes()).map_err(unreachable)?;
        let Some(answer) = answers.next().transpose().map_err(unreachable)? else {
            return Err(Failure::failed(format!(
                "the server ended without an answer to {command}"
            )));
        };
        if let Ok(Value::Object(answer)) = serde_json::from_str(&answer)
            && let Some(Value::String(why)) = answer.get("error")
        {
            return Err(Failure::failed(why.clone()));
        }
        output::print(&format!("{answer}\n"))?;
    }
    Ok(())
}

/// A command on one line, as the server takes it.
fn one_line(command: &str) -> String {
    command.replace(['\n', '\r'], " ")
}
