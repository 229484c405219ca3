//! The stream of each write: a number from 1 to 63, or 0 for none.
//!
//! ```text
//! off       0
//! volume    1, 2, …          the volumes, in the order of their places on the device
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
    /// By the number of the volume.
    Volume,
    /// That of the load, by the number of the volume.
    Load(Vec<u8>),
    /// As the trace says.
    Column,
    /// By the size of the request.
    Size,
}

impl StreamRule {
    /// The rule of an option, for this number of volumes.
    ///
    /// # Errors
    /// There are more volumes than streams.
    pub fn new(option: Streams, volumes: usize) -> Result<StreamRule> {
        Ok(match option {
            Streams::Off => StreamRule::Off,
            Streams::Volume => StreamRule::of_volumes(volumes)?,
            Streams::Column => StreamRule::Column,
            Streams::Size => StreamRule::Size,
        })
    }

    fn of_volumes(volumes: usize) -> Result<StreamRule> {
        match volumes > usize::from(STREAMS_MAX) {
            true => Err(Error::Impossible(format!(
                "`--streams volume` gives each volume a stream, of which there are at most \
                 {STREAMS_MAX}, but {volumes} volumes are replayed; replay one `--volume`, or give \
                 `--streams size`"
            ))),
            false => Ok(StreamRule::Volume),
        }
    }

    /// The stream of a write.
    #[inline]
    pub fn stream(&self, write: &Request) -> u8 {
        match self {
            StreamRule::Off => 0,
            StreamRule::Volume => 1 + write.device as u8,
            StreamRule::Load(streams) => streams[write.device as usize],
            StreamRule::Column => write.stream,
            StreamRule::Size => {
                1 + SIZES.iter().filter(|&&largest| write.bytes > largest).count() as u8
            }
        }
    }
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
        let streams = |option| {
            let rule = StreamRule::new(option, 3).unwrap();
            [write(0, 4096, 9), write(1, 4097, 0), write(0, 1 << 16, 63), write(1, 1 << 20, 2)]
                .map(|request| rule.stream(&request))
        };
        assert_eq!(streams(Streams::Off), [0; 4]);
        assert_eq!(streams(Streams::Volume), [1, 2, 1, 2]);
        assert_eq!(streams(Streams::Column), [9, 0, 63, 2]);
        assert_eq!(streams(Streams::Size), [1, 2, 3, 4]);
    }

    #[test]
    fn more_volumes_than_streams_are_refused() {
        assert!(StreamRule::new(Streams::Volume, 63).is_ok());
        let error = StreamRule::new(Streams::Volume, 64).unwrap_err().to_string();
        assert!(error.contains("64 volumes are replayed"), "{error}");
        assert!(StreamRule::new(Streams::Size, 64).is_ok());
    }
}
