//! A client that reads all answers to what was said, in order, and judges each.

use super::model::{Asked, Model, Terms};

const FIXED: u32 = 1;
const NO_ZEROES: u32 = 2;

const EXPORT_NAME: u32 = 1;
const ABORT: u32 = 2;
const GO: u32 = 7;
const STRUCTURED: u32 = 8;
const SET_CONTEXTS: u32 = 10;

const ACK: u32 = 1;
const A_CONTEXT: u32 = 4;
const IS_ERROR: u32 = 1 << 31;

const WRITE: u16 = 1;
const DISCONNECT: u16 = 2;

const DONE: u16 = 1;
const OFFSET_DATA: u16 = 1;
const STATUS: u16 = 5;
const ERROR: u16 = (1 << 15) + 1;
const ERROR_OFFSET: u16 = (1 << 15) + 2;

/// Bytes of an option and of a payload that a server must take.
const OPTION_BYTES_MAX: usize = 64 << 10;

/// Big-endian numbers and pieces, from the front.
#[derive(Clone)]
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (piece, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(piece)
    }

    fn number(&mut self, bytes: usize) -> Option<u64> {
        let piece = self.take(bytes)?;
        Some(piece.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn u16(&mut self) -> Option<u16> {
        self.number(2).map(|number| number as u16)
    }

    fn u32(&mut self) -> Option<u32> {
        self.number(4).map(|number| number as u32)
    }
}

/// A conversation that is over.
pub struct Client<'a> {
    said: Bytes<'a>,
    heard: Bytes<'a>,
    terms: Terms,
    model: &'a mut Model,
}

impl<'a> Client<'a> {
    pub fn new(said: &'a [u8], heard: &'a [u8], model: &'a mut Model) -> Client<'a> {
        Client { said: Bytes(said), heard: Bytes(heard), terms: Terms::default(), model }
    }

    /// Reads all answers. Nothing may be left of them in the end.
    pub fn check(mut self) {
        assert_eq!(self.heard.take(16), Some(&b"NBDMAGICIHAVEOPT"[..]));
        assert_eq!(self.heard.u16(), Some(3), "fixed newstyle, and no zeroes");
        if self.agree().is_some() {
            while self.request().is_some() {}
        }
        assert!(self.heard.0.is_empty(), "{} bytes nobody asked for", self.heard.0.len());
    }

    // ---- Handshake -------------------------------------------------------------------------

    /// Reads the answers to all options; none if there are no requests after them.
    fn agree(&mut self) -> Option<()> {
        let flags = self.said.u32()?;
        if flags & !(FIXED | NO_ZEROES) != 0 || flags & FIXED == 0 {
            return None;
        }
        loop {
            let is_option = self.said.take(8)? == b"IHAVEOPT";
            let (option, bytes) = (self.said.u32()?, self.said.u32()? as usize);
            if !is_option || bytes > OPTION_BYTES_MAX {
                return None;
            }
            let data = self.said.take(bytes)?;
            if option == EXPORT_NAME {
                return self.began(data, flags);
            }
            let is_agreed = self.replies(option);
            match option {
                ABORT => return None,
                GO if is_agreed => return Some(()),
                STRUCTURED if is_agreed => self.terms.is_structured = true,
                _ => {}
            }
        }
    }

    /// The answer to EXPORT_NAME. An unknown name has none.
    fn began(&mut self, name: &[u8], flags: u32) -> Option<()> {
        if !name.is_empty() && name != b"disk" {
            return None;
        }
        assert_eq!(self.heard.number(8), Some(self.model.bytes.len() as u64));
        self.heard.u16().expect("flags");
        if flags & NO_ZEROES == 0 {
            assert_eq!(self.heard.take(124), Some(&[0; 124][..]));
        }
        Some(())
    }

    /// Reads the replies to an option. Returns whether the server agreed.
    fn replies(&mut self, option: u32) -> bool {
        let mut contexts = 0;
        loop {
            assert_eq!(self.heard.number(8), Some(0x3_e889_0455_65a9));
            assert_eq!(self.heard.u32(), Some(option));
            let (kind, bytes) = (self.heard.u32(), self.heard.u32());
            let (kind, bytes) = (kind.expect("a kind"), bytes.expect("a length"));
            self.heard.take(bytes as usize).expect("data");
            match kind {
                ACK if option == SET_CONTEXTS => {
                    self.terms.contexts = contexts;
                    return true;
                }
                ACK => return true,
                kind if kind & IS_ERROR != 0 => return false,
                A_CONTEXT => contexts += 1,
                _ => {}
            }
        }
    }

    // ---- Requests --------------------------------------------------------------------------

    /// Reads the answer to a request; none if there is no further one.
    fn request(&mut self) -> Option<()> {
        let asked = self.asked()?;
        if asked.command == DISCONNECT {
            return None;
        }
        let error = match self.terms.is_structured {
            true => self.chunks(&asked),
            false => self.simple(&asked),
        };
        self.model.judge(&asked, &self.terms, error);
        Some(())
    }

    fn asked(&mut self) -> Option<Asked<'a>> {
        let is_request = self.said.u32()? == 0x2560_9513;
        let (flags, command) = (self.said.u16()?, self.said.u16()?);
        let (cookie, offset) = (self.said.number(8)?, self.said.number(8)?);
        let bytes = self.said.u32()? as usize;
        let payload = if command == WRITE { bytes } else { 0 };
        let payload = if is_request { self.said.take(payload)? } else { return None };
        Some(Asked { flags, command, cookie, offset, bytes, payload })
    }

    fn simple(&mut self, asked: &Asked) -> u32 {
        assert_eq!(self.heard.u32(), Some(0x6744_6698));
        let error = self.heard.u32().expect("an error");
        assert_eq!(self.heard.number(8), Some(asked.cookie));
        if error == 0 && asked.is_read() {
            self.data(asked.offset, asked.bytes);
        }
        error
    }

    fn data(&mut self, offset: u64, bytes: usize) {
        let data = self.heard.take(bytes).expect("data");
        let expected = &self.model.bytes[offset as usize..][..bytes];
        let wrong = data.iter().zip(expected).position(|(is, should)| is != should);
        let wrong = wrong.map(|at| (offset + at as u64, data[at], expected[at]));
        assert_eq!(wrong, None, "a byte that was read, and what it should be");
    }

    /// Reads the chunks of an answer. Returns its error, or zero.
    fn chunks(&mut self, asked: &Asked) -> u32 {
        let (mut error, mut states) = (0, 0);
        loop {
            assert_eq!(self.heard.u32(), Some(0x668e_33ef));
            let flags = self.heard.u16().expect("flags");
            let kind = self.heard.u16().expect("a kind");
            assert_eq!(self.heard.number(8), Some(asked.cookie));
            let bytes = self.heard.u32().expect("a length") as usize;
            match kind {
                0 => assert_eq!(bytes, 0),
                OFFSET_DATA => self.offset_data(asked, bytes),
                STATUS => {
                    states += 1;
                    self.status(asked, bytes);
                }
                ERROR | ERROR_OFFSET => error = self.error(bytes),
                _ => panic!("chunk {kind}"),
            }
            if flags & DONE != 0 {
                let expected = if asked.is_block_status() { self.terms.contexts } else { 0 };
                assert_eq!(states, if error == 0 { expected } else { 0 });
                return error;
            }
        }
    }

    fn offset_data(&mut self, asked: &Asked, bytes: usize) {
        assert!(asked.is_read());
        assert_eq!(self.heard.number(8), Some(asked.offset));
        assert_eq!(bytes, 8 + asked.bytes);
        self.data(asked.offset, asked.bytes);
    }

    /// The state of a range: at least one descriptor, none without bytes, and none beyond the range.
    fn status(&mut self, asked: &Asked, bytes: usize) {
        let mut chunk = Bytes(self.heard.take(bytes).expect("descriptors"));
        let context = chunk.u32();
        assert!(matches!(context, Some(1..=3)), "{context:?}");
        let mut covered = 0;
        while let Some(length) = chunk.u32() {
            let state = chunk.u32().expect("a state");
            assert!(length > 0);
            if context == Some(1) && state != 0 {
                let hole = &self.model.bytes[asked.offset as usize + covered..][..length as usize];
                assert!(hole.iter().all(|byte| *byte == 0), "a hole that is not zero");
            }
            covered += length as usize;
        }
        assert!(covered > 0 && covered <= asked.bytes, "{covered} of {} bytes", asked.bytes);
    }

    fn error(&mut self, bytes: usize) -> u32 {
        let mut chunk = Bytes(self.heard.take(bytes).expect("an error"));
        let error = chunk.u32().expect("a number");
        let message = chunk.u16().expect("a length");
        assert!(chunk.take(message.into()).is_some(), "a message of {message} bytes");
        assert_ne!(error, 0);
        error
    }
}
