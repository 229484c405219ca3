//! A stream for each connection.

use trace::request::STREAMS_MAX;

/// The connections that have a stream. Stream 1 is that of the first connection that writes, stream
/// 2 that of the next one, and so on. After the last stream, a new connection gets stream 1, and
/// the connection that had it gets the next one if it writes again.
#[derive(Debug, Default)]
pub struct ConnectionStreams {
    /// The connection of each stream.
    sessions: Vec<u64>,
    /// Connections that were given a stream.
    given: usize,
}

impl ConnectionStreams {
    /// The stream of a connection.
    pub fn of(&mut self, session: u64) -> u8 {
        let known = self.sessions.iter().position(|&other| other == session);
        1 + known.unwrap_or_else(|| self.give(session)) as u8
    }

    fn give(&mut self, session: u64) -> usize {
        let at = self.given % usize::from(STREAMS_MAX);
        self.given += 1;
        match self.sessions.get_mut(at) {
            Some(earlier) => *earlier = session,
            None => self.sessions.push(session),
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_keep_their_streams_until_these_are_used_up() {
        let mut streams = ConnectionStreams::default();
        assert_eq!([7, 9, 7, 9, 8].map(|session| streams.of(session)), [1, 2, 1, 2, 3]);
        for session in 100..160 {
            assert_eq!(u64::from(streams.of(session)), session - 100 + 4);
        }
        assert_eq!([160, 9, 7, 160].map(|session| streams.of(session)), [1, 2, 2, 1]);
    }
}
