//! When a change is due: as soon as it would have paid for itself.
//!
//! ```text
//! regret   ▁▂▁▃▂▁▂▄▅▆▇█ change ▁▂▁ …     grows by what the present choice costs more than the
//!                                         other one, shrinks by what it costs less, to 0 at least
//! ```
//! This is the rule of online algorithms for a choice between two states (Borodin, Linial and Saks
//! 1992): change when the regret reaches the cost of a change. There is no window and no share of
//! the time to set.
//!
//! The unit is the time to copy the pages of the log once: about what cleaning it takes, and what
//! the scheme needs to collect as many blocks. A change can turn out wrong and has to be undone
//! then, which makes two units. And each miniature can be in debt to the other: a log whose sectors
//! are not cleaned yet, extra blocks whose dead pages are not collected yet. Each debt is one unit
//! at most, comes and goes without meaning anything, and must not lead to a change.
//!
//! On a new device nothing speaks for the choice with which it begins. Then one unit is enough.

/// Units of regret at which a change is due: the change, its undoing, and a debt on either side.
const UNITS: u64 = 4;

/// The regret about the present choice.
#[derive(Clone, Debug)]
pub struct Regret {
    regret_ns: u64,
    unit_ns: u64,
}

impl Regret {
    /// The regret of a new device, where nothing was chosen yet: all but one unit. Copying the
    /// pages of the log once takes `unit_ns`.
    pub fn undecided(unit_ns: u64) -> Regret {
        Regret { regret_ns: (UNITS - 1) * unit_ns, unit_ns }
    }

    /// Notes the times of the same step under the present choice and under the other one.
    pub fn note(&mut self, present_ns: u64, other_ns: u64) {
        self.regret_ns = (self.regret_ns + present_ns).saturating_sub(other_ns);
    }

    /// Whether a change is due.
    pub fn is_due(&self) -> bool {
        self.regret_ns > UNITS * self.unit_ns
    }

    /// No regret: the choice was just made, or earlier than anything is known about it.
    pub fn reset(&mut self) {
        self.regret_ns = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_due_once_it_would_have_paid_for_itself() {
        let mut regret = Regret::undecided(3);
        regret.reset();
        regret.note(0, 100);
        regret.note(8, 0);
        regret.note(1, 3);
        regret.note(6, 0);
        assert!(!regret.is_due(), "8 − 2 + 6 is not above 12");
        regret.note(1, 0);
        assert!(regret.is_due(), "earlier savings do not count");
        regret.reset();
        assert!(!regret.is_due());
    }

    #[test]
    fn on_a_new_device_one_unit_is_enough_unless_the_choice_has_proved_good() {
        let mut regret = Regret::undecided(3);
        regret.note(3, 0);
        assert!(!regret.is_due());
        regret.note(1, 0);
        assert!(regret.is_due());
        regret.note(0, 100);
        regret.note(12, 0);
        assert!(!regret.is_due());
    }
}
