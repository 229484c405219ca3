//! A power cut as a case suffers it: the operation it strikes, what that leaves on flash, and when
//! the weak pages decay.
//!
//! ```text
//! cut ─► power-on · mount ················ mounted · a1 … a7
//!        @0          @37, after 37 operations │
//!                                             └ without @: after the mount
//! ```
//! On a chip with several dies a cut may find each of them somewhere else: `reordered#7` draws it
//! from the number 7.
//!
//! A weak page can be read until it decays. If the power fails again before that, it lives on, and
//! decays as the next cut says.

use std::fmt;

use nand::{Cut, Outcome};

/// When the weak pages decay that are on flash after a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decay {
    /// After this number of flash operations, reads included, counted from power-on.
    AtOperation(u64),
    /// When the device is mounted.
    AfterMount,
}

/// A power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerCut {
    /// Programs and erases since power-on that still succeed before it.
    pub after: u64,
    /// What it leaves on flash.
    pub outcome: Outcome,
    /// Draws how far each die is, if it [concerns all](Outcome::is_of_all_dies).
    pub draw: u64,
    /// When weak pages decay after it.
    pub decay: Decay,
}

impl PowerCut {
    /// A cut after more operations than any workload makes.
    pub const AFTER_THE_END: PowerCut = PowerCut::new(999_999, Outcome::Untouched);

    /// A cut after which weak pages decay when the device is mounted.
    pub const fn new(after: u64, outcome: Outcome) -> PowerCut {
        PowerCut { after, outcome, draw: 0, decay: Decay::AfterMount }
    }

    /// The cut as the chip is armed with it.
    pub fn armed(self) -> Cut {
        Cut { after: self.after, outcome: self.outcome }
    }

    /// The outcome and the time of decay as users write them, such as `unstable@37`.
    pub fn outcome_text(&self) -> String {
        let mut text = self.outcome.name().to_owned();
        if self.outcome.is_of_all_dies() {
            text += &format!("#{}", self.draw);
        }
        if let Decay::AtOperation(operations) = self.decay {
            text += &format!("@{operations}");
        }
        text
    }

    /// Parses a cut such as `4:half` or `4:unstable@37`: four operations succeed, the next one ends
    /// with this outcome, and weak pages decay after 37 operations of the next mount.
    ///
    /// # Errors
    /// The text is malformed, or the outcome is unknown.
    pub fn parse(text: &str) -> spec::Result<PowerCut> {
        let parts =
            text.split_once(':').and_then(|(after, outcome)| Some((after.parse().ok()?, outcome)));
        let (after, outcome) = parts.ok_or_else(|| malformed(text))?;
        PowerCut::with_outcome(after, outcome)
    }

    /// A cut after `after` operations with an outcome such as `half` or `unstable@37`.
    ///
    /// # Errors
    /// The text is malformed, or the outcome is unknown.
    pub fn with_outcome(after: u64, text: &str) -> spec::Result<PowerCut> {
        let number = |number: &str| number.parse().map_err(|_| malformed(text));
        let (name, decay) = match text.split_once('@') {
            Some((name, operations)) => (name, Decay::AtOperation(number(operations)?)),
            None => (text, Decay::AfterMount),
        };
        let (name, draw) = match name.split_once('#') {
            Some((name, draw)) => (name, number(draw)?),
            None => (name, 0),
        };
        Ok(PowerCut { after, outcome: name.parse()?, draw, decay })
    }
}

fn malformed(text: &str) -> spec::Error {
    spec::Error::Malformed {
        text: text.to_owned(),
        form: "a cut such as `4:half` or `4:unstable@37`: the number of operations that succeed, \
               the outcome of the next one, and the number of operations after power-on when weak \
               pages decay"
            .to_owned(),
    }
}

impl fmt::Display for PowerCut {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{}:{}", self.after, self.outcome_text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_are_parsed_as_they_are_printed() {
        for text in
            ["4:half", "10:unstable@37", "3:untouched@0", "5:reordered#7@9", "6:browned-out#2"]
        {
            assert_eq!(PowerCut::parse(text).unwrap().to_string(), text);
        }
        let cut = PowerCut::parse("10:unstable@37").unwrap();
        assert_eq!((cut.after, cut.decay), (10, Decay::AtOperation(37)));
        assert_eq!(PowerCut::parse("4:half").unwrap(), PowerCut::new(4, Outcome::Half));
    }

    #[test]
    fn malformed_cuts_are_refused() {
        for text in ["4", "x:half", ":", "-1:torn", "4:half@", "4:half@-1", "4:half@1@2"] {
            assert!(PowerCut::parse(text).unwrap_err().to_string().contains("4:half"), "{text}");
        }
        let message = PowerCut::parse("4:haf@3").unwrap_err().to_string();
        assert!(message.contains("did you mean `half`?"), "{message}");
    }
}
