//! Makes a case that failed as small as possible, so that a person can follow it.
//!
//! ```text
//! w3 r5 F0x2 f t3 w7 f       without some steps, then with fewer pages, lower ones and whole ones,
//! w3         f    w7         as long as some cut of the same kinds leads to the same verdict
//! w0         f    w1
//! ```
//! The cuts keep their outcomes and move freely.

use std::time::{Duration, Instant};

use nand::SectorMask;

use crate::case::Case;
use crate::conformance;
use crate::conformance::reached::Reached;
use crate::cut::isolated;
use crate::cut::power_loss::{Missed, replay};
use crate::device::power_cut::PowerCut;
use crate::failed_case::FailedCase;
use crate::finding::{Defect, Verdict};
use crate::workload::host_operation::{Extent, HostOperation};

/// Replays of one candidate, at most. A candidate that needs more does not count as failed.
const REPLAYS_MAX: u32 = 4000;

/// The time after which the smallest case found so far is good enough.
const SHRINKING_MAX: Duration = Duration::from_secs(30);

/// The smallest case with each verdict, and whether the search for it was ended early, because
/// `is_stopped` or its time was over. Crashes of the machine are left out.
pub fn smallest(
    failed: &[FailedCase],
    is_stopped: &dyn Fn() -> bool,
) -> impl Iterator<Item = (FailedCase, bool)> {
    let of_verdict = |verdict: Verdict| {
        let alike = failed.iter().filter(move |failed| {
            failed.crashes.is_empty() && failed.finding.defect.verdict() == verdict
        });
        alike.min_by_key(|failed| (failed.cuts.len(), failed.case.operations.len()))
    };
    Verdict::ALL.into_iter().filter_map(of_verdict).map(move |failed| {
        let begun = Instant::now();
        let is_over = || begun.elapsed() > SHRINKING_MAX || is_stopped();
        (shrunk(failed, &is_over), is_over())
    })
}

/// The smallest case that was found with the same verdict. A case that failed without a cut keeps
/// its workload if nothing smaller fails. It ends with the smallest one so far if `is_over`.
pub fn shrunk(failed: &FailedCase, is_over: &dyn Fn() -> bool) -> FailedCase {
    let full = failed.case.dimensions().full();
    let mut best = failed.clone();
    loop {
        let before = best.case.operations.clone();
        best = without_steps(best, is_over);
        best = with_simpler_steps(best, full, is_over);
        if best.case.operations == before || is_over() {
            return best;
        }
    }
}

/// Removes steps: first half of them at once, in the end one by one.
fn without_steps(mut best: FailedCase, is_over: &dyn Fn() -> bool) -> FailedCase {
    let mut size = best.case.operations.len().div_ceil(2);
    while size > 0 {
        let mut start = 0;
        while start < best.case.operations.len() && !is_over() {
            let mut operations = best.case.operations.clone();
            operations.drain(start..(start + size).min(operations.len()));
            match fails(&best, operations) {
                Some(smaller) => best = smaller,
                None => start += size,
            }
        }
        size /= 2;
    }
    best
}

fn with_simpler_steps(
    mut best: FailedCase,
    full: SectorMask,
    is_over: &dyn Fn() -> bool,
) -> FailedCase {
    for at in 0..best.case.operations.len() {
        for simpler in simpler(best.case.operations[at], full) {
            if is_over() {
                return best;
            }
            let mut operations = best.case.operations.clone();
            operations[at] = simpler;
            if let Some(smaller) = fails(&best, operations) {
                best = smaller;
                break;
            }
        }
    }
    best
}

/// Simpler forms of a step, the simplest first.
fn simpler(operation: HostOperation, full: SectorMask) -> Vec<HostOperation> {
    let of_extent = |make: fn(Extent) -> HostOperation, extent: Extent| {
        let Extent { first, pages, .. } = extent;
        let firsts = [0, 1, first / 2, first];
        let forms = firsts.into_iter().flat_map(move |at| [(at, 1), (at, pages)]);
        let forms = forms.map(move |(at, pages)| Extent::whole(at.min(first), pages, full));
        forms.filter(move |&form| form != extent).map(make).collect::<Vec<_>>()
    };
    match operation {
        HostOperation::Write(extent) => of_extent(HostOperation::Write, extent),
        HostOperation::Force(extent) => {
            let plain = HostOperation::Write(extent);
            [vec![plain], of_extent(HostOperation::Force, extent)].concat()
        }
        HostOperation::Read(extent) => of_extent(HostOperation::Read, extent),
        HostOperation::Trim { first, pages } => {
            let firsts = [0, 1, first / 2, first];
            let forms = firsts.into_iter().flat_map(|at| [(at, 1), (at, pages)]);
            let forms = forms.filter(|&form| form != (first, pages));
            forms.map(|(first, pages)| HostOperation::Trim { first, pages }).collect()
        }
        HostOperation::Flush => Vec::new(),
    }
}

/// The failure of the same case with these operations, if it has the same verdict.
fn fails(like: &FailedCase, operations: Vec<HostOperation>) -> Option<FailedCase> {
    if operations.is_empty() {
        return None;
    }
    let case = like.case.with_operations(operations);
    let search = || match like.cuts.is_empty() {
        true => conformance::check(&case),
        false => {
            let mut replays = REPLAYS_MAX;
            let found = searched(&case, like, &mut Vec::new(), &mut replays);
            found.map_or(Ok(Reached::default()), Err)
        }
    };
    failure(&case, search).filter(|found| is_alike(found, like))
}

/// Whether a replay of a case finds the same. A guest may do something else each time, so that
/// nothing can be learnt from its replay line.
fn fails_again(failed: &FailedCase) -> bool {
    let FailedCase { case, cuts, .. } = failed;
    let again = || match cuts.is_empty() {
        true => conformance::check(case),
        false => {
            isolated::note(case, cuts);
            replay(case, cuts, &mut ()).map(|_| Reached::default())
        }
    };
    failure(case, again).is_some_and(|found| is_alike(&found, failed))
}

/// What is said of a finding that a second run of the same case does not have. Only a guest can do
/// that: schemes draw from the seed. Crashes of the machine are left out, and hangs, each of which
/// would be waited for again.
pub fn unless_again(failed: &FailedCase) -> Option<String> {
    let FailedCase { case, crashes, finding, .. } = failed;
    let guest = case.guest()?;
    let is_tried = crashes.is_empty() && finding.defect != Defect::Hang;
    (is_tried && !fails_again(failed)).then(|| {
        format!(
            "A second run of this case did not find it: guest `{}` does not do the same twice. \
             Look for memory that is not initialised, clocks, files and rand().",
            guest.name
        )
    })
}

/// What is found in a case, which a guest may not survive.
fn failure(
    case: &Case,
    search: impl FnOnce() -> Result<Reached, FailedCase>,
) -> Option<FailedCase> {
    let done = match case.needs_process() {
        true => isolated::check(case, isolated::short_patience(), search),
        false => search(),
    };
    done.err()
}

fn is_alike(found: &FailedCase, like: &FailedCase) -> bool {
    found.finding.defect.verdict() == like.finding.defect.verdict()
}

/// Moves the cut at this level through the run, and those behind it.
fn searched(
    case: &Case,
    like: &FailedCase,
    cuts: &mut Vec<PowerCut>,
    replays: &mut u32,
) -> Option<FailedCase> {
    let (level, is_last) = (cuts.len(), cuts.len() + 1 == like.cuts.len());
    for after in 0.. {
        *replays = replays.checked_sub(1)?;
        cuts.push(PowerCut { after, ..like.cuts[level] });
        isolated::note(case, cuts);
        match replay(case, cuts, &mut ()) {
            Err(found) if is_alike(&found, like) => return Some(found),
            Ok(Some(Missed::Late(_))) => {
                cuts.pop();
                return None;
            }
            // Another operation may have this outcome.
            Ok(Some(Missed::Impossible(_))) => {}
            _ if is_last => {}
            _ => {
                if let Some(found) = searched(case, like, cuts, replays) {
                    return Some(found);
                }
            }
        }
        cuts.pop();
    }
    None
}

#[cfg(test)]
mod tests {
    use ftl::Durability;

    use super::*;
    use crate::device_model::DeviceModel;
    use crate::finding::Finding;
    use crate::subject::Subject;

    fn case() -> Case {
        let page = Subject::from_spec("page").unwrap();
        let tiny = DeviceModel::named("tiny").unwrap();
        Case::new(&page, tiny, "steps-w3.f.w0x2", 1, Durability::Full).unwrap()
    }

    /// The bug of a guest must not become another one on the way to the smallest case.
    #[test]
    fn cases_are_alike_whose_verdicts_are_the_same() {
        let failed = |defect| FailedCase::new(&case(), &[], Finding::new(defect, "made up"));
        assert!(is_alike(&failed(Defect::Stale), &failed(Defect::Lost)));
        assert!(!is_alike(&failed(Defect::Crash), &failed(Defect::Lost)));
    }

    #[test]
    fn what_does_not_fail_again_is_left_as_it_is() {
        let case = case();
        let cuts = [PowerCut::parse("1:torn").unwrap()];
        let failed = FailedCase::new(&case, &cuts, Finding::new(Defect::Lost, "made up"));
        assert!(!fails_again(&failed));
        let shrunk = shrunk(&failed, &|| false);
        assert_eq!((shrunk.case.operations, shrunk.cuts), (case.operations, cuts.to_vec()));
    }

    #[test]
    fn simpler_steps_have_fewer_lower_and_whole_pages() {
        let partial = Extent { first: 6, pages: 3, head: 2, tail: 1 };
        let forms = simpler(HostOperation::Write(partial), 3);
        assert_eq!(forms[0], HostOperation::Write(Extent::whole(0, 1, 3)));
        assert!(forms.contains(&HostOperation::Write(Extent::whole(6, 3, 3))));
        let whole = HostOperation::Write(Extent::whole(0, 1, 3));
        assert!(!simpler(whole, 3).contains(&whole), "a step is not simpler than itself");
    }
}
