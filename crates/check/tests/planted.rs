//! Does the checker have teeth? Straw, a plain page map, passes everything; Straw with any one
//! mistake planted in it is caught, and the test says by what.

mod straw;

use check::campaign::Campaign;
use check::case::{Failure, Subject};
use check::power_loss::{self, Second};
use check::properties;
use check::shape::Shape;
use check::violation::{Kind, Violation};
use check::workload::WORKLOADS;
use ftl::Durability;
use straw::{BUGS, SCHEME};

/// What the first finding is that each mistake leads to.
const CAUGHT_AS: &[(&str, Kind)] = &[
    ("versions-ignored", Kind::Stale),
    ("sequence-restarts", Kind::Stale),
    ("stones-no-part-of-sequence", Kind::Lost),
    ("copies-get-new-versions", Kind::Misordered),
    ("erased-before-copies", Kind::Panic),
    ("last-copy-forgotten", Kind::Panic),
    ("stale-pages-copied", Kind::Endless),
    ("base-not-read", Kind::Shorn),
    ("unstable-trusted", Kind::Decayed),
    ("fallback-erased", Kind::Lost),
    ("half-erased-trusted", Kind::Panic),
    ("open-block-resumed", Kind::Panic),
    ("torn-page-refused", Kind::Unmountable),
    ("trims-first-page-only", Kind::Resurrected),
    ("stones-not-flushed", Kind::Resurrected),
    ("erased-before-stones", Kind::Resurrected),
    ("stones-forgotten", Kind::Resurrected),
    ("stones-beat-newer", Kind::Lost),
    ("stones-erased-first", Kind::Resurrected),
];

fn straw(bug: &str) -> Subject {
    Subject::of(&SCHEME, &[("bug".to_owned(), bug.to_owned())]).unwrap()
}

/// What a campaign over these shapes finds, a workload after the other, to the first finding.
fn found(bug: &str, shapes: &[&str], second: Second) -> Option<Failure> {
    let shapes = shapes.iter().map(|name| Shape::named(name).unwrap()).collect();
    let mut campaign = Campaign {
        subjects: vec![straw(bug)],
        shapes,
        workloads: Vec::new(),
        short_programs: 2,
        seeds: vec![1],
        durability: Durability::Full,
        second,
        budget: None,
    };
    WORKLOADS.iter().find_map(|workload| {
        campaign.workloads = vec![workload.name.to_owned()];
        let failures = campaign.run().unwrap().total().failures;
        campaign.short_programs = 0;
        failures.into_iter().next()
    })
}

#[test]
fn straw_without_a_mistake_passes() {
    let found = found("none", &["tiny", "tiny-any", "sector", "odd"], Second::OneIn(60));
    if let Some(failure) = found {
        panic!("{failure}");
    }
}

#[test]
fn every_planted_mistake_is_caught_under_its_name_and_replays() {
    assert_eq!(BUGS.len(), CAUGHT_AS.len() + 1, "each mistake but `none` has its line");
    for (bug, kind) in CAUGHT_AS {
        let Some(failure) = found(bug, &["tiny"], Second::OneIn(10)) else {
            panic!("nothing shows that straw has the mistake `{bug}`");
        };
        println!("{bug}: {failure}");
        assert_eq!(failure.violation.kind, *kind, "{bug}: {failure}");
        assert_eq!(replayed(&failure), Some(failure.violation.clone()), "{bug}: {failure}");
    }
}

/// What the replay finds, which runs from the start and arms the chip.
fn replayed(failure: &Failure) -> Option<Violation> {
    let again = match failure.strikes.is_empty() {
        true => properties::conform(&failure.case).err(),
        false => power_loss::replay(&failure.case, &failure.strikes, &mut |_| ()).err(),
    };
    again.map(|failure| failure.violation)
}
