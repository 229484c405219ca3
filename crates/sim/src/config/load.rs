//! One of several loads at once: `TRACE[@stream=N][@closed[:depth=N]|@open[:speed=X]]`.

use core::fmt;
use core::str::FromStr;

use trace::request::STREAMS_MAX;

use crate::config::option_text::OptionValue;
use crate::config::replay::Replay;

/// A trace that is replayed beside others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Load {
    /// The name of the trace.
    pub trace: String,
    /// When its requests are issued; by default as the run's `--replay` says.
    pub replay: Option<Replay>,
    /// The stream of its writes, from 1.
    pub stream: Option<u8>,
}

impl OptionValue for Load {}

impl FromStr for Load {
    type Err = spec::Error;

    /// The part behind the last `@` is a replay if it begins like one, and a stream if it is
    /// `stream=`; each of them once. Any other `@` belongs to the name of the trace.
    fn from_str(text: &str) -> spec::Result<Load> {
        let (mut trace, mut replay, mut stream) = (text, None, None);
        while let Some((rest, last)) = trace.rsplit_once('@') {
            match last.strip_prefix("stream=") {
                Some(number) if stream.is_none() => stream = Some(parse_stream(number)?),
                None if replay.is_none() && resembles_replay(last) => replay = Some(last.parse()?),
                _ => break,
            }
            trace = rest;
        }
        match trace.is_empty() {
            false => Ok(Load { trace: trace.to_owned(), replay, stream }),
            true => Err(spec::Error::Malformed {
                text: text.to_owned(),
                form: "a load such as `disk.csv` or `uniform:writes=4M@closed:depth=32`".into(),
            }),
        }
    }
}

fn parse_stream(number: &str) -> spec::Result<u8> {
    let stream = number.parse().ok().filter(|stream| (1..=STREAMS_MAX).contains(stream));
    stream.ok_or_else(|| spec::Error::Malformed {
        text: format!("stream={number}"),
        form: format!("a stream from 1 to {STREAMS_MAX}"),
    })
}

fn resembles_replay(text: &str) -> bool {
    let word = text.split(':').next().unwrap_or(text);
    spec::nearest(word, Replay::NAMES.iter().copied()).is_some()
}

impl fmt::Display for Load {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.trace)?;
        if let Some(stream) = self.stream {
            write!(out, "@stream={stream}")?;
        }
        self.replay.map_or(Ok(()), |replay| write!(out, "@{replay}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_a_trace_and_perhaps_a_replay() {
        let load = |text: &str| text.parse::<Load>().map(|load| (load.trace, load.replay));
        let depth = |depth| Some(Replay::Closed { depth });
        assert_eq!(load("a.csv"), Ok(("a.csv".into(), None)));
        assert_eq!(load("a.csv@open"), Ok(("a.csv".into(), Some(Replay::OPEN))));
        assert_eq!(load("oltp:writes=9@closed:depth=3"), Ok(("oltp:writes=9".into(), depth(3))));
        assert_eq!(load("me@home.csv"), Ok(("me@home.csv".into(), None)));
        assert_eq!(load("me@open@closed"), Ok(("me@open".into(), depth(1))));
        let stream = |text: &str| text.parse::<Load>().map(|load| load.stream);
        assert_eq!(stream("a.csv@open"), Ok(None));
        assert_eq!(stream("a.csv@stream=3@open"), Ok(Some(3)));
        assert_eq!(stream("a.csv@open@stream=63"), Ok(Some(63)));
        assert_eq!(load("a@stream=3@stream=4").unwrap().0, "a@stream=3");
        for (text, hint) in [
            ("a@clsoed", "did you mean `closed`"),
            ("", "a load"),
            ("@open", "a load"),
            ("a@stream=0", "a stream from 1 to 63"),
            ("a@stream=64", "a stream from 1 to 63"),
        ] {
            let message = load(text).unwrap_err().to_string();
            assert!(message.contains(hint), "{text}: {message}");
        }
    }

    #[test]
    fn every_load_is_written_as_it_is_read() {
        let streams = ["a.csv@stream=3", "a.csv@stream=3@open"];
        let plain = ["a.csv", "a.csv@open:speed=2", "me@open@closed", "me@home.csv"];
        for text in plain.into_iter().chain(streams) {
            assert_eq!(text.parse::<Load>().unwrap().to_string(), text);
        }
    }
}
