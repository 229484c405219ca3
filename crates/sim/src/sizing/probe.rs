//! A run with a number of extra blocks: a point of the curve.

use ftl::contract::guest::GuestFaultKind;
use serde::Serialize;
use spec::Share;

use crate::config::setup::Setup;
use crate::config::until::{SteadyRule, WINDOW};
use crate::config::values::Extra;
use crate::error::{Error, Result};
use crate::result::run_result::{RunResult, SteadyPart};
use crate::run::{RunOptions, run};

/// A point of the curve.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/sizing.md documents every field")]
pub struct Probe {
    pub extra_blocks: u64,
    /// None if the FTL cannot work with so few extra blocks.
    pub write_amplification: Option<f64>,
    /// Bytes programmed for a byte of the host.
    pub write_amplification_bytes: Option<f64>,
    /// Whether the device became steady; none if the run had a fixed warm-up.
    pub steady: Option<bool>,
    /// Half of the interval around write amplification in which its mean over many more rounds is,
    /// with a probability of 95 %; none if the run had a fixed warm-up.
    pub uncertainty: Option<f64>,
    /// Why the FTL cannot work.
    pub refused: Option<String>,
    /// The notes of the run.
    #[serde(skip)]
    pub notes: Vec<String>,
}

impl Probe {
    /// Whether write amplification is at most the target.
    pub fn meets(&self, target: f64) -> bool {
        self.write_amplification.is_some_and(|amplification| amplification <= target)
    }

    /// Whether it may be at most the target in the long run.
    pub fn may_meet(&self, target: f64) -> bool {
        self.meets(target + self.uncertainty.unwrap_or(0.0))
    }

    /// Whether it may be above the target in the long run.
    pub fn may_miss(&self, target: f64) -> bool {
        !self.meets(target - self.uncertainty.unwrap_or(0.0))
    }
}

/// How long a run is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Care {
    /// As the setup says.
    Quick,
    /// In longer rounds.
    Settled,
}

/// How many rounds become one in a run that is measured with care.
const TOGETHER: u32 = 4;
/// The most rounds of such a run: the first, and those of three windows.
const ROUNDS: u32 = 1 + 3 * WINDOW as u32;
/// The most by which the best line through its window may rise or fall, in per cent. Some loads let
/// write amplification fall for sixty device writes, by ever less.
const SLOPE: &str = "2%";

/// The setup of a run that is measured with this care. Longer rounds leave out more of the time
/// before a steady state, which a device needs to forget how it was filled, and differ less from
/// each other. Rounds of whole passes stay such.
pub fn with_care(setup: &Setup, care: Care) -> Setup {
    let mut setup = setup.clone();
    if let (Care::Settled, Some(rule)) = (care, &mut setup.experiment.until) {
        let slope = Share::parse(SLOPE).expect("it is a share");
        let slope = if slope.as_f64() < rule.slope.as_f64() { slope } else { rule.slope };
        let round = rule.round.times(TOGETHER);
        *rule = SteadyRule { rounds: ROUNDS, round, slope, ..*rule };
    }
    setup
}

/// The setup of a run with this number of extra blocks.
pub fn setup_with(setup: &Setup, extra_blocks: u64) -> Setup {
    let mut setup = setup.clone();
    setup.experiment.extra = Some(Extra::Blocks(extra_blocks));
    setup
}

/// Runs with this number of extra blocks.
///
/// # Errors
/// As for any run, unless the FTL has too few extra blocks; or the trace writes nothing.
pub fn probe(setup: &Setup, extra_blocks: u64, options: RunOptions) -> Result<Probe> {
    match run(&setup_with(setup, extra_blocks), options) {
        Ok(result) => measured(extra_blocks, &result),
        Err(error) if is_for_want_of_blocks(&error) => {
            Ok(Probe { extra_blocks, refused: Some(error.to_string()), ..Probe::default() })
        }
        Err(error) => Err(error),
    }
}

fn measured(extra_blocks: u64, result: &RunResult) -> Result<Probe> {
    let RunResult { write_amplification, write_amplification_bytes, .. } = *result;
    if write_amplification.is_none() {
        return Err(Error::Impossible(
            "the measured part of the trace writes no page, so it needs no extra blocks".into(),
        ));
    }
    Ok(Probe {
        extra_blocks,
        write_amplification,
        write_amplification_bytes,
        steady: result.steady.as_ref().map(|steady| steady.reached),
        uncertainty: result.steady.as_ref().and_then(uncertainty),
        refused: None,
        notes: result.notes.clone(),
    })
}

/// Student's t of a mean of the rounds of a window, for 95 %.
const STUDENT: f64 = 2.776;
const _: () = assert!(WINDOW == 5, "Student's t is that of four degrees of freedom");

/// That of the mean by chance, or what the line through the window still falls or rises by: where
/// write amplification approaches its end ever more slowly, about as much is to come.
fn uncertainty(steady: &SteadyPart) -> Option<f64> {
    let window = steady.write_amplification.last_chunk::<WINDOW>()?;
    let mean = steady.mean?;
    let squares: f64 = window.iter().flatten().map(|value| (value - mean).powi(2)).sum();
    let rounds = WINDOW as f64;
    let chance = STUDENT * (squares / (rounds - 1.0) / rounds).sqrt();
    Some(chance.max(steady.rise? * mean))
}

/// Whether more extra blocks would help, or may help: a guest that refuses a device may need more.
pub fn is_for_want_of_blocks(error: &Error) -> bool {
    match error {
        Error::Ftl(ftl::Error::TooFewExtra { .. } | ftl::Error::NoRoom { .. }) => true,
        Error::Ftl(ftl::Error::Guest(fault)) => fault.kind == GuestFaultKind::Invalid,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use ftl::contract::guest::GuestFault;

    use super::*;
    use crate::config::experiment::Experiment;

    #[test]
    fn care_makes_rounds_longer() {
        let until = |text: &str, care| {
            let until = Some(text.parse().unwrap());
            let setup = Setup::new(&Experiment { until, ..Experiment::default() }).unwrap();
            with_care(&setup, care).experiment.until.unwrap().to_string()
        };
        assert_eq!(until("steady", Care::Quick), "steady");
        assert_eq!(until("steady", Care::Settled), "steady:rounds=16,round=400%,slope=2%");
        let passes = until("steady:round=150%,slope=1%", Care::Settled);
        assert_eq!(passes, "steady:rounds=16,round=600%,slope=1%", "four passes in place of one");
        let fixed = Setup::new(&Experiment::default()).unwrap();
        assert_eq!(with_care(&fixed, Care::Settled).experiment, fixed.experiment);
    }

    #[test]
    fn uncertainty_is_that_of_the_window() {
        let rounds = [9.0, 2.1, 1.9, 2.0, 1.8, 2.2].map(Some).to_vec();
        let steady = |rise| SteadyPart {
            reached: true,
            rounds: 6,
            round_pages: 1,
            first_measured: 2,
            write_amplification: rounds.clone(),
            mean: Some(2.0),
            range: Some(0.2),
            slope: Some(0.01),
            rise: Some(rise),
        };
        let found = uncertainty(&steady(0.02)).unwrap();
        assert!((found - 2.776 * (0.1_f64 / 4.0 / 5.0).sqrt()).abs() < 1e-12, "{found}");
        assert_eq!(uncertainty(&steady(0.2)), Some(0.4), "what still moves counts");
        let at = |write_amplification| Probe {
            write_amplification: Some(write_amplification),
            uncertainty: Some(0.1),
            ..Probe::default()
        };
        assert!(at(2.05).may_meet(2.0) && at(2.05).may_miss(2.0) && !at(2.05).meets(2.0));
        assert!(!at(2.15).may_meet(2.0) && !at(1.85).may_miss(2.0));
        assert!(!Probe::default().may_meet(2.0) && Probe::default().may_miss(2.0));
    }

    /// How many blocks a guest needs is known to itself alone.
    #[test]
    fn a_guest_that_refuses_a_device_may_need_more_blocks() {
        let said = |kind| {
            let (guest, sentence) = ("strata".to_owned(), "needs 28 blocks".to_owned());
            Error::Ftl(ftl::Error::Guest(GuestFault { guest, kind, sentence }))
        };
        assert!(is_for_want_of_blocks(&said(GuestFaultKind::Invalid)));
        assert!(!is_for_want_of_blocks(&said(GuestFaultKind::Refused)));
    }
}
