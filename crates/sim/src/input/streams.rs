//! The stream of each write: a number from 1 to 63, or 0 for none.
//!
//! ```text
//! off       0
//! volume    1, 2, …          the replayed volumes, in the order of their places on the device
//! column    as in the trace
//! size      1, 2, 3, 4       up to 4 KiB, up to 16 KiB, up to 64 KiB, above
//! ```
//! If a load names its stream (`--load X@stream=3`), its volumes have that one, and those of loads
//! that name none have none.

use trace::Request;
use trace::request::STREAMS_MAX;

use crate::config::choices::Streams;
use crate::error::{Error, Result};

/// The largest requests of the size classes but the last, in bytes.
const SIZES: [u64; 3] = [4 << 10, 16 << 10, 64 << 10];

/// Tells the streams of writes.
#[derive(Debug)]
pub enum StreamRule {
    /// There are none.
    Off,
    /// By the number of the volume, counted over all loads.
    Volume(Vec<u8>),
    /// As the trace says.
    Column,
    /// By the size of the request.
    Size,
}

impl StreamRule {
    /// The rule of an option, for volumes with these first bytes; those without one are not
    /// replayed.
    ///
    /// # Errors
    /// There are more volumes than streams.
    pub fn new(option: Streams, bases: &[Option<u64>]) -> Result<StreamRule> {
        Ok(match option {
            Streams::Off => StreamRule::Off,
            Streams::Volume => StreamRule::Volume(streams_of(bases)?),
            Streams::Column => StreamRule::Column,
            Streams::Size => StreamRule::Size,
        })
    }

    /// The stream of a write.
    #[inline]
    pub fn stream(&self, write: &Request) -> u8 {
        match self {
            StreamRule::Off => 0,
            StreamRule::Volume(streams) => streams[write.device as usize],
            StreamRule::Column => write.stream,
            StreamRule::Size => {
                1 + SIZES.iter().filter(|&&largest| write.bytes > largest).count() as u8
            }
        }
    }
}

/// The stream of each volume.
fn streams_of(bases: &[Option<u64>]) -> Result<Vec<u8>> {
    let replayed = bases.iter().flatten().count();
    if replayed > usize::from(STREAMS_MAX) {
        return Err(Error::Impossible(format!(
            "`--streams volume` gives each volume a stream, of which there are at most \
             {STREAMS_MAX}, but {replayed} volumes are replayed; replay one `--volume`, or give \
             `--streams size`"
        )));
    }
    let mut last = 0;
    let next = |base: &Option<u64>| {
        last += u8::from(base.is_some());
        last
    };
    Ok(bases.iter().map(next).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::{Flags, Op};

    fn write(device: u32, bytes: u64, stream: u8) -> Request {
        let (op, flags) = (Op::Write, Flags::empty());
        Request { time_ns: 0, offset: 0, bytes, device, op, flags, stream }
    }

    #[test]
    fn every_rule_tells_its_streams() {
        let bases = [Some(0), None, Some(5)];
        let streams = |option| {
            let rule = StreamRule::new(option, &bases).unwrap();
            [write(0, 4096, 9), write(2, 4097, 0), write(0, 1 << 16, 63), write(2, 1 << 20, 2)]
                .map(|request| rule.stream(&request))
        };
        assert_eq!(streams(Streams::Off), [0; 4]);
        assert_eq!(streams(Streams::Volume), [1, 2, 1, 2]);
        assert_eq!(streams(Streams::Column), [9, 0, 63, 2]);
        assert_eq!(streams(Streams::Size), [1, 2, 3, 4]);
    }

    #[test]
    fn more_volumes_than_streams_are_refused() {
        let mut bases = vec![Some(0); 63];
        bases.push(None);
        assert!(StreamRule::new(Streams::Volume, &bases).is_ok());
        bases.push(Some(0));
        let error = StreamRule::new(Streams::Volume, &bases).unwrap_err().to_string();
        assert!(error.contains("64 volumes are replayed"), "{error}");
        assert!(StreamRule::new(Streams::Size, &bases).is_ok());
    }
}
