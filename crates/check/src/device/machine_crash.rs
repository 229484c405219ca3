//! A crash of the machine as a case suffers it: when it happens, and what it loses of the writes
//! that were not synced.

use std::fmt;

use image::medium::loss::Loss;

use crate::rng::mix;

/// A crash of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crash {
    /// Events of the disk since power-on that precede it: writes, syncs, the begins and ends of
    /// those in the background, and what was answered to be durable.
    pub after: u64,
    /// What it loses.
    pub loss: Loss,
}

impl Crash {
    /// A crash after `after` events with a loss such as `all` or `one@3`.
    ///
    /// # Errors
    /// The loss is malformed.
    pub fn with_loss(after: u64, text: &str) -> spec::Result<Crash> {
        let loss = Loss::parse(text).ok_or_else(|| malformed(text))?;
        Ok(Crash { after, loss })
    }

    /// Parses a crash such as `40:one@3`.
    ///
    /// # Errors
    /// The text is malformed.
    pub fn parse(text: &str) -> spec::Result<Crash> {
        let parts = text.split_once(':');
        let parts = parts.and_then(|(after, loss)| Some((after.parse().ok()?, loss)));
        let (after, loss) = parts.ok_or_else(|| malformed(text))?;
        Crash::with_loss(after, loss)
    }

    /// A seed that depends on the crash too.
    pub fn salted(self, seed: u64) -> u64 {
        let (kind, number) = self.loss.parts();
        mix(mix(mix(seed, self.after), kind as u64), number.unwrap_or(0))
    }
}

fn malformed(text: &str) -> spec::Error {
    let kinds = Loss::NAMES.join(", ");
    spec::Error::Malformed {
        text: text.to_owned(),
        form: format!(
            "a loss such as `all` or `one@3`, after a colon and the number of events before the \
             crash if it is a further one; kinds: {kinds}"
        ),
    }
}

impl fmt::Display for Crash {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{}:{}", self.after, self.loss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_is_parsed_as_it_is_printed() {
        for text in ["4:all", "31:one@3", "0:half@17"] {
            assert_eq!(Crash::parse(text).unwrap().to_string(), text);
        }
        let seed = |text| Crash::parse(text).unwrap().salted(1);
        let seeds = ["4:one@3", "5:one@3", "4:one@2", "4:but@3"].map(seed);
        let distinct: std::collections::BTreeSet<u64> = seeds.into_iter().collect();
        assert_eq!(distinct.len(), seeds.len(), "different crashes are followed by other requests");
        for text in ["4", "all", "x:all", "4:one", "4:lost@1"] {
            assert!(Crash::parse(text).unwrap_err().to_string().contains("one@3"), "{text}");
        }
    }
}
