//! Dense numbers for the names of devices, in order of first appearance.
//!
//! Most lines name the same device as the line before, so that name is compared first.

use rustc_hash::FxHashMap;

use crate::parse::parsed::{ParseError, ParseResult};
use crate::parse::streams::Streams;

/// The devices seen so far, and the streams of their writes.
#[derive(Default)]
pub(crate) struct Devices {
    /// The streams of all devices.
    pub(crate) streams: Streams,
    latest: Vec<u8>,
    latest_index: u32,
    indices: FxHashMap<Vec<u8>, u32>,
    names: Vec<Vec<u8>>,
    /// The latest device of [`Devices::named`].
    latest_number: Option<(u64, u32)>,
    /// All devices of [`Devices::named`].
    numbers: FxHashMap<u64, u32>,
}

/// The largest public trace has about 5600 volumes. A trace with more devices than this is being
/// misread.
const MOST_DEVICES: usize = 1 << 16;

const TOO_MANY: ParseError = ParseError::fatal(
    "there are more than 65536 devices",
    "the device column probably contains something else",
);

impl Devices {
    /// The number of the device named `name`.
    #[inline]
    pub(crate) fn index(&mut self, name: &[u8]) -> ParseResult<u32> {
        if self.is_latest(name) {
            return Ok(self.latest_index);
        }
        self.look_up(name)
    }

    /// Whether this is the name of the latest device.
    #[inline]
    pub(crate) fn is_latest(&self, name: &[u8]) -> bool {
        self.latest == name && !name.is_empty()
    }

    /// The number of the device that binary records call `number`.
    #[inline]
    pub(crate) fn number(&mut self, number: u64) -> ParseResult<u32> {
        self.named(number, |number| number.to_string())
    }

    /// The same, with a function that makes the device's name from `number`.
    #[inline]
    pub(crate) fn named(
        &mut self,
        number: u64,
        name: impl FnOnce(u64) -> String,
    ) -> ParseResult<u32> {
        match self.latest_number {
            Some((latest, index)) if latest == number => return Ok(index),
            _ => {}
        }
        let index = match self.numbers.get(&number) {
            Some(&index) => index,
            None => self.look_up(name(number).as_bytes())?,
        };
        self.numbers.insert(number, index);
        self.latest_number = Some((number, index));
        Ok(index)
    }

    /// The names, safe to print.
    pub(crate) fn names(&self) -> Vec<String> {
        self.names.iter().map(|name| crate::error::quote(name)).collect()
    }

    #[cold]
    fn look_up(&mut self, name: &[u8]) -> ParseResult<u32> {
        let index = match self.indices.get(name) {
            Some(&index) => index,
            None if self.names.len() == MOST_DEVICES => return Err(TOO_MANY),
            None => {
                let index = self.names.len() as u32;
                self.names.push(name.to_vec());
                self.indices.insert(name.to_vec(), index);
                index
            }
        };
        self.latest.clear();
        self.latest.extend_from_slice(name);
        self.latest_index = index;
        Ok(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_numbered_in_order_of_first_appearance() {
        let mut devices = Devices::default();
        let names = [&b"usr,1"[..], b"usr,1", b"usr,2", b"usr,1", b""];
        let indices: Vec<_> = names.iter().map(|name| devices.index(name).unwrap()).collect();
        assert_eq!(indices, [0, 0, 1, 0, 2]);
        assert_eq!(devices.names(), ["usr,1", "usr,2", ""]);
    }

    #[test]
    fn names_may_be_numbers() {
        let mut devices = Devices::default();
        let indices = [7, 7, 9, 7].map(|number| devices.number(number).unwrap());
        assert_eq!(indices, [0, 0, 1, 0]);
        assert_eq!(devices.named(5, |_| String::from("8,16")), Ok(2));
        assert_eq!(devices.names(), ["7", "9", "8,16"]);
    }

    #[test]
    fn too_many_devices_are_an_error() {
        let mut devices = Devices::default();
        for number in 0..MOST_DEVICES {
            devices.index(number.to_string().as_bytes()).unwrap();
        }
        assert!(devices.index(b"7").is_ok());
        assert_eq!(devices.index(b"one more"), Err(TOO_MANY));
    }
}
