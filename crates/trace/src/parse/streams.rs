//! Dense numbers for the names of streams, from 1, in order of first appearance.

use crate::parse::parsed::{ParseError, ParseResult};
use crate::request::STREAMS_MAX;

/// The streams seen so far.
#[derive(Default)]
pub(crate) struct Streams {
    names: Vec<Vec<u8>>,
}

const TOO_MANY: ParseError = ParseError::fatal(
    "there are more than 63 streams",
    "the stream column probably contains something else; give `_` in its place",
);

const _: () = assert!(STREAMS_MAX == 63, "the message says so");

impl Streams {
    /// The number of the stream with this name; 0 for the names of no stream: `0`, `-` and nothing.
    #[inline]
    pub(crate) fn number(&mut self, name: &[u8]) -> ParseResult<u8> {
        if matches!(name, b"" | b"0" | b"-") {
            return Ok(0);
        }
        // There are few streams.
        let known = self.names.iter().position(|known| known == name);
        let index = match known {
            Some(index) => index,
            None if self.names.len() == usize::from(STREAMS_MAX) => return Err(TOO_MANY),
            None => {
                self.names.push(name.to_vec());
                self.names.len() - 1
            }
        };
        Ok(index as u8 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_numbered_from_one_in_order_of_first_appearance() {
        let mut streams = Streams::default();
        let names = ["7", "", "wal", "7", "0", "-", "sst", "wal"];
        let numbers = names.map(|name| streams.number(name.as_bytes()).unwrap());
        assert_eq!(numbers, [1, 0, 2, 1, 0, 0, 3, 2]);
    }

    #[test]
    fn too_many_streams_are_an_error() {
        let mut streams = Streams::default();
        for name in 1..=STREAMS_MAX {
            assert_eq!(streams.number(name.to_string().as_bytes()), Ok(name));
        }
        assert_eq!(streams.number(b"64"), Err(TOO_MANY));
        assert_eq!(streams.number(b"63"), Ok(63));
    }
}
