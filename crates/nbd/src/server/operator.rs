//! A connection of a user who controls the server: one JSON object a line, one answer each.

use std::io::{self, Read, Write};

use mio::net::UnixStream;
use serde_json::{Value, json};

/// Bytes of a line at most.
const LINE_BYTES_MAX: usize = 64 << 10;

/// A user.
pub struct Operator {
    /// The socket.
    pub stream: UnixStream,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl Operator {
    /// A user who has just connected.
    pub fn new(stream: UnixStream) -> Operator {
        Operator { stream, input: Vec::new(), output: Vec::new() }
    }

    /// The lines that have come, or none if the connection has ended.
    pub fn lines(&mut self) -> Option<Vec<String>> {
        let mut part = [0; 4096];
        let ended = loop {
            match self.stream.read(&mut part) {
                Ok(0) => break true,
                Ok(bytes) => self.input.extend(&part[..bytes]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break false,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
            if self.input.len() > LINE_BYTES_MAX {
                return None;
            }
        };
        let mut lines = Vec::new();
        while let Some(end) = self.input.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.input.drain(..=end).collect();
            lines.push(String::from_utf8_lossy(&line).trim().to_owned());
        }
        if ended && !self.input.is_empty() {
            let last = std::mem::take(&mut self.input);
            lines.push(String::from_utf8_lossy(&last).trim().to_owned());
        }
        if ended && lines.is_empty() { None } else { Some(lines) }
    }

    /// Answers a line. Returns whether the connection still stands.
    pub fn answer(&mut self, reply: Result<Value, String>) -> bool {
        let answer = match reply {
            Ok(value) => json!({ "ok": value }),
            Err(why) => json!({ "error": why }),
        };
        self.output.extend(format!("{answer}\n").bytes());
        self.send()
    }

    /// Sends what the socket takes. Returns whether the connection still stands.
    pub fn send(&mut self) -> bool {
        while !self.output.is_empty() {
            match self.stream.write(&self.output) {
                Ok(0) => return false,
                Ok(bytes) => drop(self.output.drain(..bytes)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        true
    }
}
