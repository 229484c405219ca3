//! One of several loads at once: `TRACE[@closed[:depth=N]|@open[:speed=X]]`.

use core::fmt;
use core::str::FromStr;

use crate::config::option_text::OptionValue;
use crate::config::replay::Replay;

/// A trace that is replayed beside others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Load {
    /// The name of the trace.
    pub trace: String,
    /// When its requests are issued; by default as the run's `--replay` says.
    pub replay: Option<Replay>,
}

impl OptionValue for Load {}

impl FromStr for Load {
    type Err = spec::Error;

    /// The part behind the last `@` is a replay if it begins like one. Any other `@` belongs to
    /// the name of the trace.
    fn from_str(text: &str) -> spec::Result<Load> {
        let (trace, replay) = match text.rsplit_once('@') {
            Some((trace, replay)) if resembles_replay(replay) => (trace, Some(replay.parse()?)),
            _ => (text, None),
        };
        match trace.is_empty() {
            false => Ok(Load { trace: trace.to_owned(), replay }),
            true => Err(spec::Error::Malformed {
                text: text.to_owned(),
                form: "a load such as `disk.csv` or `uniform:writes=4M@closed:depth=32`".into(),
            }),
        }
    }
}

fn resembles_replay(text: &str) -> bool {
    let word = text.split(':').next().unwrap_or(text);
    spec::nearest(word, Replay::NAMES.iter().copied()).is_some()
}

impl fmt::Display for Load {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.replay {
            Some(replay) => write!(out, "{}@{replay}", self.trace),
            None => out.write_str(&self.trace),
        }
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
        for (text, hint) in
            [("a@clsoed", "did you mean `closed`"), ("", "a load"), ("@open", "a load")]
        {
            let message = load(text).unwrap_err().to_string();
            assert!(message.contains(hint), "{text}: {message}");
        }
    }

    #[test]
    fn every_load_is_written_as_it_is_read() {
        for text in ["a.csv", "a.csv@open:speed=2", "me@open@closed", "me@home.csv"] {
            assert_eq!(text.parse::<Load>().unwrap().to_string(), text);
        }
    }
}
