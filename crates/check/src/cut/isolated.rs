//! What follows a cut, explored in a process of its own: a guest that crashes or hangs there ends
//! nothing else, and its memory is gone with the process.
//!
//! ```text
//! counts                 first, second, deeper, and all others, in a line
//! figures                of a guest: their number, and a line for each
//! defect                 only if something was found
//! cuts                   those that led to it
//! sentence
//! ```
//! A check without cuts that finds nothing leaves what it has reached.

use std::io;
use std::time::Duration;

use guest::board::Board;
use guest::isolation::Isolated;
use guest::supervisor::{Death, patience_of_check};

use crate::case::Case;
use crate::conformance::reached::{Figures, Reached};
use crate::cut::counts::CutCounts;
use crate::device::power_cut::PowerCut;
use crate::failed_case::FailedCase;
use crate::finding::{Defect, Finding};

/// How the text of a check without findings begins.
const REACHED: &str = "reached ";

/// A cut that a process explores.
pub struct IsolatedCut {
    /// The cut.
    pub cut: PowerCut,
    work: Isolated,
}

impl IsolatedCut {
    /// Begins to explore a cut.
    ///
    /// # Errors
    /// There can be no further process.
    pub fn begin(
        cut: PowerCut,
        work: impl FnOnce() -> (CutCounts, Result<(), FailedCase>),
    ) -> io::Result<IsolatedCut> {
        let work = Isolated::begin(|| {
            let (counts, done) = work();
            written(&counts, done.err().as_ref()).into_bytes()
        })?;
        Ok(IsolatedCut { cut, work })
    }

    /// Waits for the end. Returns the cuts that were tried, and what was found.
    pub fn end(self, case: &Case) -> (CutCounts, Option<FailedCase>) {
        let died = |(defect, sentence): (Defect, String), note: &str| {
            let mut counts = CutCounts { first: 1, ..CutCounts::default() };
            counts.by_kind[self.cut.outcome as usize][0] = 1;
            let cuts = parsed_cuts(note).unwrap_or_else(|| vec![self.cut]);
            (counts, Some(FailedCase::new(case, &cuts, Finding::new(defect, sentence))))
        };
        let (ended, note) = self.work.end(patience_of_check());
        match ended {
            Ok(bytes) => parsed(&String::from_utf8_lossy(&bytes), case).unwrap_or_else(|| {
                let sentence = "the process that explored a cut left no result".to_owned();
                died((Defect::Crash, sentence), &note)
            }),
            Err(death) => died(finding(case, death), &note),
        }
    }
}

/// The time after which a call hangs in a case that is known to fail, and is tried many times.
pub fn short_patience() -> Duration {
    const MOST: Duration = Duration::from_secs(2);
    patience_of_check().min(MOST)
}

/// Checks something that a guest may not survive, in a process of its own. A call may take as long
/// as `patience`.
///
/// # Errors
/// What the check found, or how the process died.
pub fn check(
    case: &Case,
    patience: Duration,
    work: impl FnOnce() -> Result<Reached, FailedCase>,
) -> Result<Reached, FailedCase> {
    let failed_after = |cuts: &[PowerCut], (defect, sentence): (Defect, String)| {
        FailedCase::new(case, cuts, Finding::new(defect, sentence))
    };
    let failed = |finding| failed_after(&[], finding);
    let begun = Isolated::begin(|| {
        let text = match work() {
            Ok(reached) => REACHED.to_owned() + &reached.to_text(),
            Err(found) => written(&CutCounts::default(), Some(&found)),
        };
        text.into_bytes()
    });
    let begun = begun.map_err(|error| {
        failed((Defect::Refused, format!("no further process can be started: {error}")))
    })?;
    let (ended, note) = begun.end(patience);
    let bytes = ended.map_err(|death| {
        failed_after(&parsed_cuts(&note).unwrap_or_default(), finding(case, death))
    })?;
    let text = String::from_utf8_lossy(&bytes);
    let done = match text.strip_prefix(REACHED) {
        Some(reached) => Reached::from_text(reached).map(Ok),
        None => parsed(&text, case).and_then(|(_, found)| found).map(Err),
    };
    let nothing = || Err(failed((Defect::Crash, "the process left no result".to_owned())));
    done.unwrap_or_else(nothing)
}

/// Notes the cuts that are being explored, if this is a process of its own.
pub fn note(case: &Case, cuts: &[PowerCut]) {
    if let Some(board) = Board::of_process().filter(|_| case.guest().is_some()) {
        board.set_note(&cuts_text(cuts));
    }
}

fn finding(case: &Case, death: Death) -> (Defect, String) {
    let name = case.guest().map_or("", |guest| guest.name.as_str());
    match death {
        Death::Crashed(sentence) => (Defect::Crash, format!("guest `{name}` {sentence}")),
        Death::Hung(sentence) => (Defect::Hang, format!("guest `{name}` {sentence}")),
    }
}

fn cuts_text(cuts: &[PowerCut]) -> String {
    cuts.iter().map(PowerCut::to_string).collect::<Vec<_>>().join(" ")
}

fn parsed_cuts(text: &str) -> Option<Vec<PowerCut>> {
    let cuts = text.split_whitespace().map(|cut| PowerCut::parse(cut).ok());
    cuts.collect::<Option<Vec<_>>>().filter(|cuts| !cuts.is_empty())
}

fn written(counts: &CutCounts, failed: Option<&FailedCase>) -> String {
    let CutCounts { first, second, deeper, by_kind, .. } = counts;
    let numbers = [*first, *second, *deeper].into_iter().chain(by_kind.iter().flatten().copied());
    let mut text = numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(" ") + "\n";
    text += &counts.figures.to_text();
    if let Some(FailedCase { finding, cuts, .. }) = failed {
        text += &format!("{}\n{}\n{}", finding.defect, cuts_text(cuts), finding.sentence);
    }
    text
}

fn parsed(text: &str, case: &Case) -> Option<(CutCounts, Option<FailedCase>)> {
    let (line, rest) = text.split_once('\n')?;
    let mut numbers = line.split(' ').map(|number| number.parse::<u64>().ok());
    let mut next = || numbers.next().flatten();
    let mut counts =
        CutCounts { first: next()?, second: next()?, deeper: next()?, ..CutCounts::default() };
    for count in counts.by_kind.as_flattened_mut() {
        *count = next()?;
    }
    let (figures, rest) = Figures::from_start(rest)?;
    counts.figures = figures;
    if rest.is_empty() {
        return Some((counts, None));
    }
    let (defect, rest) = rest.split_once('\n')?;
    let (cuts, sentence) = rest.split_once('\n')?;
    let finding = Finding::new(defect.parse().ok()?, sentence);
    let cuts = parsed_cuts(cuts).unwrap_or_default();
    Some((counts, Some(FailedCase::new(case, &cuts, finding))))
}

#[cfg(test)]
mod tests {
    use ftl::Durability;

    use super::*;
    use crate::device_model::DeviceModel;
    use crate::subject::Subject;

    #[test]
    fn what_a_process_writes_is_read_as_it_was() {
        let (page, tiny) = (Subject::from_spec("page").unwrap(), DeviceModel::named("tiny"));
        let case = Case::new(&page, tiny.unwrap(), "hot", 1, Durability::Full).unwrap();
        let mut counts = CutCounts { first: 2, second: 3, deeper: 4, ..CutCounts::default() };
        for (at, count) in counts.by_kind.as_flattened_mut().iter_mut().enumerate() {
            *count = 5 + at as u64;
        }
        counts.figures = [("merges", 2.0), ("", 0.5)].into_iter().collect();
        let again = |failed: Option<&FailedCase>| {
            let (found, failed) = parsed(&written(&counts, failed), &case).unwrap();
            assert_eq!(found, counts);
            failed
        };
        assert!(again(None).is_none());
        for cuts in [&["4:torn", "7:unstable@2"][..], &[]] {
            let cuts: Vec<_> = cuts.iter().map(|text| PowerCut::parse(text).unwrap()).collect();
            let finding = Finding::new(Defect::Stale, "one line,\nand another one");
            let failed = again(Some(&FailedCase::new(&case, &cuts, finding.clone()))).unwrap();
            assert_eq!((failed.finding, failed.cuts), (finding, cuts));
        }
        assert!(parsed("1 2 3\n", &case).is_none(), "a part of it is no result");
    }

    /// With none, every call would hang, and no case of a guest could be made smaller.
    #[test]
    fn a_case_that_is_known_to_fail_gets_some_patience() {
        assert!(!short_patience().is_zero() && short_patience() <= patience_of_check());
    }
}
