//! Messages between a program and the process in which a guest runs.
//!
//! ```text
//! program ── call ─────────▶ guest's process
//!         ◀─ chip operation ─
//!         ── its result ────▶           any number of times
//!         ◀─ answer ─────────
//! ```
//! A message is a kind, four numbers and some bytes, with their length before them.

use std::io::{self, Read, Write};

/// The largest number of bytes in a message: more than any request of a host.
const BYTES_MAX: usize = 1 << 30;
/// Bytes of kind, numbers and length.
const HEAD: usize = 4 + 4 * 4 + 4;

/// A message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// What it is: a [`Kind`].
    pub kind: u32,
    /// Numbers, by kind.
    pub numbers: [u32; 4],
    /// Bytes, by kind.
    pub bytes: Vec<u8>,
}

/// Kinds of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// The guest's process is ready: its declaration, or why there is none.
    Hello = 1,
    /// Calls of the guest.
    Mount = 2,
    /// first, pages
    Read = 3,
    /// first, pages; data
    Write = 4,
    /// first, pages
    Trim = 5,
    /// nothing
    Flush = 6,
    /// nothing
    Facts = 7,
    /// The answer to a call: status, and by call.
    Answer = 8,
    /// Operations of the chip. page, offset, bytes, flags
    ChipRead = 16,
    /// page, flags; data, spare
    ChipProgram = 17,
    /// from, to, flags; spare
    ChipCopy = 18,
    /// block, flags
    ChipErase = 19,
    /// nothing
    ChipBarrier = 20,
    /// block
    ChipIsBad = 21,
    /// block
    ChipMarkBad = 22,
    /// a sentence
    ChipSay = 23,
    /// a sentence
    ChipFault = 24,
    /// The result of an operation: status; data, spare
    ChipDone = 25,
}

impl Message {
    /// A message without bytes.
    pub fn new(kind: Kind, numbers: [u32; 4]) -> Message {
        Message { kind: kind as u32, numbers, bytes: Vec::new() }
    }

    /// The same message with these bytes.
    pub fn with(self, bytes: Vec<u8>) -> Message {
        Message { bytes, ..self }
    }

    /// Whether it is of this kind.
    pub fn is(&self, kind: Kind) -> bool {
        self.kind == kind as u32
    }

    /// Sends the message.
    ///
    /// # Errors
    /// The other side is gone.
    pub fn send(&self, out: &mut impl Write) -> io::Result<()> {
        let mut head = [0; HEAD];
        let numbers = [self.kind].into_iter().chain(self.numbers);
        let words = numbers.chain([self.bytes.len() as u32]);
        for (place, word) in head.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        out.write_all(&head)?;
        out.write_all(&self.bytes)
    }

    /// Receives a message.
    ///
    /// # Errors
    /// The other side is gone, too slow, or sends no message.
    pub fn receive(input: &mut impl Read) -> io::Result<Message> {
        let mut head = [0; HEAD];
        input.read_exact(&mut head)?;
        let mut words = head.chunks_exact(4).map(|word| {
            let word: [u8; 4] = word.try_into().unwrap_or_default();
            u32::from_le_bytes(word)
        });
        let mut next = || words.next().unwrap_or_default();
        let (kind, numbers) = (next(), [next(), next(), next(), next()]);
        let length = next() as usize;
        if length > BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "no message"));
        }
        let mut bytes = vec![0; length];
        input.read_exact(&mut bytes)?;
        Ok(Message { kind, numbers, bytes })
    }
}

/// Texts one after the other, each with its length before it.
pub fn packed<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for text in texts {
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(text.as_bytes());
    }
    bytes
}

/// The texts in these bytes, as far as they are whole.
pub fn unpacked(mut bytes: &[u8]) -> Vec<String> {
    let mut texts = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length) as usize;
        let Some((text, rest)) = rest.split_at_checked(length) else { break };
        texts.push(String::from_utf8_lossy(text).into_owned());
        bytes = rest;
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_arrives_as_it_was_sent() {
        let sent = Message::new(Kind::Write, [1, 2, 3, u32::MAX]).with(vec![7; 1000]);
        let mut wire = Vec::new();
        sent.send(&mut wire).unwrap();
        assert_eq!(Message::receive(&mut wire.as_slice()).unwrap(), sent);
        for cut in 0..wire.len() {
            assert!(Message::receive(&mut &wire[..cut]).is_err(), "{cut} bytes");
        }
    }

    #[test]
    fn a_message_that_is_too_long_is_refused_before_memory_is_taken() {
        let mut wire = vec![0; HEAD];
        wire[HEAD - 4..].fill(0xFF);
        assert!(Message::receive(&mut wire.as_slice()).is_err());
    }

    #[test]
    fn texts_are_unpacked_as_they_were_packed() {
        let texts = ["", "a", "größer"];
        assert_eq!(unpacked(&packed(texts)), texts);
        assert_eq!(unpacked(&packed(texts)[..7]), [""], "the second one is not whole");
    }
}
