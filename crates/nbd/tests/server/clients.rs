//! Clients of a server that runs.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::conversation::*;
use crate::running::Running;

/// A client.
pub struct Client(pub UnixStream);

impl Client {
    /// Connects, and says nothing.
    pub fn silent(server: &Running) -> Client {
        let stream = UnixStream::connect(server.socket()).unwrap();
        // A server that does not answer, or does not read, fails a test instead of stopping it.
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
        Client(stream)
    }

    /// Connects, and agrees on simple replies.
    pub fn agreed(server: &Running) -> Client {
        let mut client = Client::silent(server);
        client.say(&Script::agreed(false));
        client.greeting_to_ack();
        client
    }

    fn greeting_to_ack(&mut self) {
        self.take(18);
        loop {
            let head = self.take(20);
            let number = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().unwrap());
            self.take(number(16) as usize);
            if number(12) == 1 {
                return;
            }
            assert!(number(12) < 1 << 31, "refused: {head:?}");
        }
    }

    pub fn say(&mut self, script: &Script) {
        self.0.write_all(&script.0).unwrap();
    }

    pub fn take(&mut self, bytes: usize) -> Vec<u8> {
        let mut taken = vec![0; bytes];
        self.0.read_exact(&mut taken).unwrap();
        taken
    }

    /// A simple reply: error and cookie.
    pub fn reply(&mut self) -> (u32, u64) {
        Answers(self.take(16)).simple()
    }

    pub fn write(&mut self, flags: u16, offset: u64, bytes: &[u8]) {
        self.say(&Script::default().write(flags, offset, bytes));
        assert_eq!(self.reply(), (0, WRITE.into()));
    }

    pub fn read(&mut self, offset: u64, bytes: u32) -> Vec<u8> {
        self.say(&Script::default().request(READ, 0, offset, bytes));
        assert_eq!(self.reply(), (0, READ.into()));
        self.take(bytes as usize)
    }

    pub fn flush(&mut self) {
        self.say(&Script::default().request(FLUSH, 0, 0, 0));
        assert_eq!(self.reply(), (0, FLUSH.into()));
    }

    /// Whether nothing comes for a while.
    pub fn hears_nothing(&mut self) -> bool {
        self.0.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let nothing = self.0.read(&mut [0]).is_err();
        self.0.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        nothing
    }

    /// Whether the server has hung up.
    pub fn was_dropped(&mut self) -> bool {
        let mut rest = Vec::new();
        // A connection that is closed with bytes on their way is reset.
        !matches!(self.0.read_to_end(&mut rest), Err(error) if is_timeout(&error))
    }
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
}

/// A user who controls the server.
pub struct Operator(BufReader<UnixStream>);

impl Operator {
    pub fn of(server: &Running) -> Operator {
        let stream = UnixStream::connect(server.control()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Operator(BufReader::new(stream))
    }

    /// Gives a command without waiting for the answer.
    pub fn order(&mut self, command: &str) {
        self.0.get_mut().write_all(format!("{command}\n").as_bytes()).unwrap();
    }

    pub fn answer(&mut self) -> serde_json::Value {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Gives a command that must succeed.
    pub fn ask(&mut self, command: &str) -> serde_json::Value {
        self.order(command);
        let answer = self.answer();
        assert!(answer.get("ok").is_some(), "{command}: {answer}");
        answer["ok"].clone()
    }

    /// Gives a command that must be refused. Returns the sentence.
    pub fn refused(&mut self, command: &str) -> String {
        self.order(command);
        let answer = self.answer();
        answer["error"].as_str().unwrap_or_else(|| panic!("{command}: {answer}")).to_owned()
    }
}
