//! Tests of the checker itself: it must find nothing in the plain FTL, and it must find every bug
//! planted in it, as the expected defect.

mod plain_ftl;

use check::campaign::Campaign;
use check::device_model::DeviceModel;
use check::failed_case::FailedCase;
use check::finding::{Defect, Finding};
use check::power_loss::{self, SecondCuts};
use check::subject::Subject;
use check::{conformance, workload};
use ftl::Durability;
use plain_ftl::{BUGS, SCHEME};

/// The defect that each bug is first found as.
const FOUND_AS: &[(&str, Defect)] = &[
    ("versions-ignored", Defect::Stale),
    ("sequence-restarts", Defect::Stale),
    ("tombstones-outside-sequence", Defect::Lost),
    ("copies-get-new-versions", Defect::Misordered),
    ("erased-before-copies", Defect::Panic),
    ("last-copy-forgotten", Defect::Panic),
    ("stale-pages-copied", Defect::Endless),
    ("base-not-read", Defect::Shorn),
    ("unstable-trusted", Defect::Decayed),
    ("fallback-erased", Defect::Lost),
    ("half-erased-trusted", Defect::Panic),
    ("open-block-resumed", Defect::Panic),
    ("torn-page-refused", Defect::Unmountable),
    ("trims-first-page-only", Defect::Resurrected),
    ("tombstones-not-flushed", Defect::Resurrected),
    ("erased-before-tombstones", Defect::Resurrected),
    ("tombstones-forgotten", Defect::Resurrected),
    ("tombstones-beat-newer", Defect::Lost),
    ("tombstones-erased-first", Defect::Resurrected),
];

fn plain_ftl(bug: &str) -> Subject {
    Subject::of(&SCHEME, &[("bug".to_owned(), bug.to_owned())]).unwrap()
}

/// The first finding in the plain FTL with this bug: all short programs of two letters come first,
/// then one workload after the other.
fn first_finding(bug: &str, names: &[&str], second_cuts: SecondCuts) -> Option<FailedCase> {
    let mut campaign = Campaign {
        subjects: vec![plain_ftl(bug)],
        models: names.iter().map(|name| DeviceModel::named(name).unwrap()).collect(),
        workloads: Vec::new(),
        short_programs: 2,
        seeds: vec![1],
        durability: Durability::Full,
        second_cuts,
        budget: None,
    };
    workload::named::WORKLOADS.iter().find_map(|workload| {
        campaign.workloads = vec![workload.name.to_owned()];
        let failed = campaign.run().unwrap().total().failed;
        campaign.short_programs = 0;
        failed.into_iter().next()
    })
}

#[test]
fn nothing_is_found_without_a_bug() {
    let models = ["tiny", "tiny-any", "sector", "odd"];
    if let Some(failed) = first_finding("none", &models, SecondCuts::OneIn(60)) {
        panic!("{failed}");
    }
}

#[test]
fn every_planted_bug_is_found_as_the_expected_defect_and_can_be_replayed() {
    assert_eq!(BUGS.len(), FOUND_AS.len() + 1, "each bug, apart from `none`, has its line");
    for (bug, defect) in FOUND_AS {
        let Some(failed) = first_finding(bug, &["tiny"], SecondCuts::OneIn(10)) else {
            panic!("the bug `{bug}` was not found");
        };
        println!("{bug}: {failed}");
        assert_eq!(failed.finding.defect, *defect, "{bug}: {failed}");
        assert_eq!(replayed(&failed), Some(failed.finding.clone()), "{bug}: {failed}");
    }
}

/// The finding of the replay, which runs from the start and arms the chip with the cuts.
fn replayed(failed: &FailedCase) -> Option<Finding> {
    let again = match failed.cuts.is_empty() {
        true => conformance::check(&failed.case).err(),
        false => power_loss::replay(&failed.case, &failed.cuts, &mut |_| ()).err(),
    };
    again.map(|failed| failed.finding)
}
