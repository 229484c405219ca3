//! Tests of the checker itself: it must find nothing in the plain FTL, and it must find every bug
//! planted in it, as the expected defect.

mod plain_ftl;

use check::campaign::{Campaign, LogSample, WindowChoice};
use check::case::Case;
use check::crash::machine_loss;
use check::cut::counts::DecayTime;
use check::cut::faults::{FaultClass, Faults};
use check::cut::power_loss::{self, Missed, SecondCuts, Step};
use check::cut::shrinking::shrunk;
use check::device::action::Action;
use check::device::power_cut::PowerCut;
use check::device::powered_device::PoweredDevice;
use check::device_model::DeviceModel;
use check::failed_case::FailedCase;
use check::finding::{Defect, Finding};
use check::flash::Storage;
use check::rng::Rng;
use check::subject::Subject;
use check::workload::logged::{Logged, LoggedWorkload};
use check::{conformance, workload};
use ftl::Durability;
use nand::Outcome;
use plain_ftl::{BUGS, SCHEME};

/// The defect that each bug is first found as.
const FOUND_AS: &[(&str, Defect)] = &[
    ("versions-ignored", Defect::Stale),
    ("sequence-restarts", Defect::Stale),
    ("tombstones-outside-sequence", Defect::Lost),
    ("copies-get-new-versions", Defect::Misordered),
    ("erased-before-copies", Defect::MapBroken),
    ("last-copy-forgotten", Defect::MapBroken),
    ("stale-pages-copied", Defect::Endless),
    ("base-not-read", Defect::Shorn),
    ("base-forgotten", Defect::Shorn),
    ("base-is-oldest", Defect::Shorn),
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
    ("mapped-block-free", Defect::MapBroken),
    ("free-block-twice", Defect::MapBroken),
    ("free-blocks-overstated", Defect::Miscounted),
    ("mount-reads-often", Defect::Unbounded),
    ("mount-erases-often", Defect::Unbounded),
    ("format-in-two-steps", Defect::Unmountable),
    ("mount-spreads-pages", Defect::Panic),
    ("copies-count-as-host", Defect::Miscounted),
    ("victim-freed-twice", Defect::MapBroken),
    ("stream-forgotten", Defect::Lost),
    ("part-not-read", Defect::Lost),
    ("old-place-cached", Defect::Stale),
    ("first-page-hidden", Defect::Lost),
];

/// Bugs that are found without a cut: one that wrong pages show for a short time only, or that
/// needs more mounts than follow a cut.
const FOUND_WITHOUT_CUTS: &[&str] =
    &["mount-spreads-pages", "copies-count-as-host", "old-place-cached", "first-page-hidden"];

/// A bug that basic faults and two cuts do not show, and what shows it.
struct Hidden {
    bug: &'static str,
    model: &'static str,
    /// The class of faults that shows it. It is `basic` if further cuts show it.
    class: FaultClass,
    depth: usize,
    defect: Defect,
}

const fn hidden(
    bug: &'static str,
    model: &'static str,
    class: FaultClass,
    defect: Defect,
) -> Hidden {
    Hidden { bug, model, class, depth: 2, defect }
}

const HIDDEN: &[Hidden] = &[
    hidden("older-twin-wins", "tiny:logical=10", FaultClass::Erase, Defect::Decayed),
    hidden("failed-rescue-ignored", "tiny", FaultClass::Lasting, Defect::Unreadable),
    hidden("flush-without-wait", "tiny-dies", FaultClass::Reordered, Defect::Stale),
    hidden("force-without-wait", "tiny-dies", FaultClass::Reordered, Defect::Stale),
    hidden("last-die-rescued-only", "tiny-dies", FaultClass::Reordered, Defect::Decayed),
    hidden("none", "tiny-dies", FaultClass::BrownOut, Defect::Decayed),
    hidden("none", "tiny-mlc", FaultClass::Paired, Defect::Stale),
    Hidden {
        depth: 3,
        ..hidden("three-torn-pages-refused", "tiny", FaultClass::Basic, Defect::Unmountable)
    },
];

fn plain_ftl(bug: &str) -> Subject {
    Subject::of(&SCHEME, &[("bug".to_owned(), bug.to_owned())]).unwrap()
}

/// All short programs of two letters in the plain FTL with this bug.
fn campaign(bug: &str, models: &[&str], second_cuts: SecondCuts) -> Campaign {
    Campaign {
        subjects: vec![plain_ftl(bug)],
        models: models.iter().map(|spec| DeviceModel::from_spec(spec).unwrap()).collect(),
        draws_devices: false,
        workloads: Vec::new(),
        log: None,
        short_programs: 2,
        seeds: vec![1],
        storage: Storage::Memory,
        durability: Durability::Full,
        faults: Faults::BASIC,
        one_first_in: 1,
        second_cuts,
        depth: 2,
        budget: None,
    }
}

/// The first finding in the plain FTL with this bug: all short programs of two letters come first,
/// then one workload after the other.
fn first_finding(bug: &str, names: &[&str], second_cuts: SecondCuts) -> Option<FailedCase> {
    let mut campaign = campaign(bug, names, second_cuts);
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
    if let Some(failed) = first_finding("none", &models, SecondCuts::OneIn(300)) {
        panic!("{failed}");
    }
}

#[test]
fn every_planted_bug_is_found_as_the_expected_defect_and_can_be_replayed() {
    let is_listed = |bug: &&&str| {
        FOUND_AS.iter().any(|(found, _)| found == *bug) || HIDDEN.iter().any(|it| it.bug == **bug)
    };
    assert_eq!(BUGS.iter().filter(is_listed).count(), BUGS.len(), "each bug has its line");
    let mut others = Vec::new();
    for (bug, defect) in FOUND_AS {
        // What second cuts find depends on which of them are drawn, so they come last.
        let found = || first_finding(bug, &["tiny"], SecondCuts::None);
        let Some(failed) = found().or_else(|| first_finding(bug, &["tiny"], SecondCuts::OneIn(10)))
        else {
            panic!("the bug `{bug}` was not found");
        };
        println!("{bug}: {failed}");
        if failed.finding.defect != *defect {
            others.push((bug, failed.finding.defect));
        }
        assert!(
            failed.cuts.is_empty() || !FOUND_WITHOUT_CUTS.contains(bug),
            "found by a cut only: {failed}"
        );
        assert_eq!(replayed(&failed), Some(failed.finding.clone()), "{bug}: {failed}");
    }
    assert!(others.is_empty(), "found as another defect: {others:?}");
}

/// A case that failed is made as small as it gets, and still fails like this.
#[test]
fn a_failed_case_shrinks_to_the_steps_that_it_needs() {
    let smallest = [
        ("tombstones-not-flushed", "trims", "steps-w21x2.t22.f"),
        ("part-not-read", "merges", "steps-w8.r8x2:2:1"),
        ("unstable-trusted", "random", "steps-w0"),
        ("versions-ignored", "random", "steps-w13x3.w14.w0.w13x3.w0"),
    ];
    let shrunk = smallest.map(|(bug, workload, _)| {
        let campaign = Campaign {
            workloads: vec![workload.to_owned()],
            short_programs: 0,
            ..campaign(bug, &["tiny"], SecondCuts::None)
        };
        let failed = campaign.run().unwrap().total().failed.remove(0);
        let small = shrunk(&failed, &|| false);
        assert_eq!(replayed(&small), Some(small.finding.clone()), "{bug}: {small}");
        let outcomes = |failed: &FailedCase| -> Vec<Outcome> {
            failed.cuts.iter().map(|cut| cut.outcome).collect()
        };
        assert_eq!(outcomes(&small), outcomes(&failed), "{bug}: {small}");
        let verdict = |failed: &FailedCase| failed.finding.defect.verdict();
        assert_eq!(verdict(&small), verdict(&failed), "{bug}: {small}");
        (bug, workload, small.case.workload)
    });
    assert_eq!(
        shrunk.each_ref().map(|(bug, workload, small)| (*bug, *workload, &small[..])),
        smallest
    );
}

/// No smaller case refuses service, so the one that is said to have done so stays as it is.
#[test]
fn a_case_does_not_shrink_to_another_verdict() {
    let campaign = Campaign {
        workloads: vec!["merges".to_owned()],
        short_programs: 0,
        ..campaign("part-not-read", &["tiny"], SecondCuts::None)
    };
    let lost = campaign.run().unwrap().total().failed.remove(0);
    let finding = Finding::new(Defect::Unmountable, "it cannot be mounted".to_owned());
    let refused = FailedCase { finding, ..lost.clone() };
    assert_ne!(refused.finding.defect.verdict(), lost.finding.defect.verdict());
    let small = shrunk(&refused, &|| false);
    assert_eq!(small.case.operations, refused.case.operations);
    assert!(shrunk(&lost, &|| false).case.operations.len() < lost.case.operations.len());
}

/// What only further faults or further cuts show is found by them, and by nothing else.
#[test]
fn every_hidden_bug_is_found_by_what_shows_it_alone() {
    for Hidden { bug, model, class, depth, defect } in HIDDEN {
        let without = Campaign {
            workloads: ["fill-random", "forced", "trims"].map(str::to_owned).to_vec(),
            short_programs: 0,
            ..campaign(bug, &[model], SecondCuts::None)
        };
        let with = Campaign { faults: Faults::of(&[FaultClass::Basic, *class]), ..without.clone() };
        let (without, with) = match depth {
            2 => (without, with),
            _ => {
                let deep = Campaign { second_cuts: SecondCuts::OneIn(32), one_first_in: 8, ..with };
                (deep.clone(), Campaign { depth: *depth, ..deep })
            }
        };
        if let Some(failed) = without.run().unwrap().total().failed.first() {
            panic!("{bug}: {failed}");
        }
        let total = with.run().unwrap().total();
        println!("{bug}: {:?}", total.cuts);
        let failed = total.failed.first().unwrap_or_else(|| panic!("`{bug}` was not found"));
        println!("{bug}: {failed}");
        assert_eq!(failed.finding.defect, *defect, "{bug}: {failed}");
        assert_eq!(replayed(failed), Some(failed.finding.clone()), "{bug}: {failed}");
    }
}

/// With durability `paper` the power is cut too, and data are judged as ever.
#[test]
fn under_paper_lost_data_are_found() {
    let under_paper = |bug| {
        let campaign = Campaign {
            durability: Durability::Paper,
            workloads: ["random", "fill-random"].map(str::to_owned).to_vec(),
            short_programs: 0,
            // No blocks are added for a trim log, in which the plain FTL keeps its tombstones.
            ..campaign(bug, &["tiny:extra=10"], SecondCuts::None)
        };
        campaign.run().unwrap().total()
    };
    let sound = under_paper("none");
    assert!(sound.failed.is_empty() && sound.cuts.first > 100, "{:?}", sound.cuts);
    for bug in ["versions-ignored", "unstable-trusted", "torn-page-refused"] {
        let failed = under_paper(bug).failed;
        let failed = failed.first().unwrap_or_else(|| panic!("`{bug}` was not found"));
        assert!(!failed.cuts.is_empty(), "{bug}: {failed}");
        assert_eq!(replayed(failed), Some(failed.finding.clone()), "{bug}: {failed}");
    }
}

/// A log of a disk: writes of parts of pages, flushes, discards and marks.
fn logged() -> Vec<Logged> {
    let mut rng = Rng::new(1);
    let mut one = |_| {
        let first = u64::from(rng.below(60));
        let sectors = first..first + 1 + u64::from(rng.below(6));
        match rng.below(20) {
            0 => Logged::Mark,
            1..4 => Logged::Flush,
            4..7 => Logged::Discard(first..first + 12),
            is => Logged::Write { sectors, is_forced: is == 7 },
        }
    };
    (0..600).map(&mut one).collect()
}

/// The first finding in the plain FTL with this bug, with the windows of a log.
fn first_finding_in_log(bug: &str) -> Option<FailedCase> {
    let logged = LoggedWorkload::new("disk.log", &logged(), DeviceModel::named("tiny").unwrap());
    let sample = LogSample { of_models: vec![logged], windows: WindowChoice::Drawn(12) };
    let campaign = campaign(bug, &[], SecondCuts::None);
    let campaign = Campaign { log: Some(sample), short_programs: 0, ..campaign };
    campaign.run().unwrap().total().failed.into_iter().next()
}

#[test]
fn bugs_are_found_with_the_windows_of_a_log_and_can_be_replayed() {
    if let Some(failed) = first_finding_in_log("none") {
        panic!("{failed}");
    }
    for bug in [
        "versions-ignored",
        "base-not-read",
        "base-forgotten",
        "last-copy-forgotten",
        "unstable-trusted",
        "torn-page-refused",
        "trims-first-page-only",
        "tombstones-not-flushed",
        "tombstones-beat-newer",
    ] {
        let failed = first_finding_in_log(bug).unwrap_or_else(|| panic!("`{bug}` was not found"));
        assert_eq!(failed.case.log.as_deref(), Some("disk.log"));
        assert_eq!(replayed(&failed), Some(failed.finding.clone()), "{bug}: {failed}");
    }
}

/// The plain FTL believes that pages last which it has read, so lasting and paired faults damage
/// it.
#[test]
fn faults_of_every_further_class_are_tried_and_can_be_replayed() {
    let classes = [
        (FaultClass::Lasting, "tiny"),
        (FaultClass::Erase, "tiny"),
        (FaultClass::Spare, "tiny"),
        (FaultClass::Paired, "tiny-mlc"),
    ];
    for (class, model) in classes {
        let campaign = Campaign {
            faults: Faults::of(&[FaultClass::Basic, class]),
            workloads: ["random", "trims", "flush-each", "merges"].map(str::to_owned).to_vec(),
            log: None,
            short_programs: 0,
            one_first_in: 2,
            ..campaign("none", &[model], SecondCuts::OneIn(20))
        };
        // A page that outlives an erase is older than its copies, nobody was promised a page that
        // names another place, and a mount starts again if a page decays.
        let is_survived = class != FaultClass::Paired;
        let total = campaign.run().unwrap().total();
        let tried = Outcome::ALL
            .into_iter()
            .filter(|&it| FaultClass::of(it) == class)
            .all(|it| total.cuts.of(it) > 0);
        assert!(tried, "{class:?}: {:?}", total.cuts);
        match total.failed.first() {
            Some(failed) => {
                println!("{class:?}: {failed}");
                assert_eq!(replayed(failed), Some(failed.finding.clone()), "{class:?}: {failed}");
            }
            None => assert!(is_survived, "{class:?}: nothing was found"),
        }
        let of_unstable = total.cuts.by_kind[Outcome::Unstable as usize];
        let during_mount = of_unstable[DecayTime::DuringMount as usize];
        assert_eq!(during_mount > 0, class == FaultClass::Lasting, "{class:?}");
    }
}

/// With basic faults alone, weak pages decay after the mount, or at a second cut before it.
#[test]
fn basic_weak_pages_decay_at_the_next_cut_at_the_latest() {
    let basic = campaign("none", &["tiny"], SecondCuts::OneIn(4));
    let basic = Campaign { workloads: vec!["random".to_owned()], short_programs: 0, ..basic };
    let cuts = basic.run().unwrap().total().cuts;
    let at = |time: DecayTime| cuts.by_kind.iter().map(|times| times[time as usize]).sum::<u64>();
    assert!(at(DecayTime::PowerOn) > 100 && at(DecayTime::AfterMount) > 100, "{cuts:?}");
    assert_eq!(at(DecayTime::DuringMount), 0);
    let of_erases = [Outcome::Intact, Outcome::Mixed, Outcome::Flipped, Outcome::Paired];
    assert!(of_erases.iter().all(|&outcome| cuts.of(outcome) == 0), "{cuts:?}");
}

/// A weak page survives the second cut and decays after the second mount.
#[test]
fn a_replay_line_without_a_time_lets_weak_pages_survive_further_cuts() {
    let model = DeviceModel::named("tiny").unwrap();
    let case = Case::new(&plain_ftl("none"), model, "sequential", 1, Durability::Full).unwrap();
    let told = |cuts: &[&str]| {
        let cuts: Vec<PowerCut> = cuts.iter().map(|text| PowerCut::parse(text).unwrap()).collect();
        let mut lines = Vec::new();
        // The plain FTL may fail; only the order of events matters.
        let _ = power_loss::replay(&case, &cuts, &mut |step: Step| lines.push(step.to_string()));
        let last_cut =
            lines.iter().rposition(|line: &String| line.starts_with("power lost")).unwrap();
        lines[last_cut + 1..].iter().take(2).map(|line| line[..5].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(told(&["11:unstable", "0:untouched"]), ["mount", "decay"]);
    assert_eq!(told(&["11:unstable", "0:untouched@0"]), ["mount", "write"]);
    assert_eq!(told(&["11:torn", "0:untouched"]), ["mount", "write"], "nothing can decay");
    let late = PowerCut::parse("9999:torn").unwrap();
    let missed = power_loss::replay(&case, &[late], &mut ()).unwrap();
    assert_eq!(missed, Some(Missed::Late(late)), "the run ends before it");
    let impossible = PowerCut::parse("3:half").unwrap();
    let missed = power_loss::replay(&case, &[impossible], &mut ()).unwrap();
    assert_eq!(missed, Some(Missed::Impossible(impossible)), "a program is never half done");
}

/// Exploring restores copies of the flash, and a replay runs from the start. Both must agree.
#[test]
fn what_any_faults_find_can_be_replayed() {
    let mut replays = 0;
    let sets = [
        ("basic,lasting", "tiny"),
        ("basic,erase", "tiny"),
        ("erase,spare", "tiny"),
        ("all", "tiny-mlc"),
    ];
    for (turn, (faults, model)) in sets.into_iter().enumerate() {
        // Every bug with one of the sets.
        for bug in BUGS.iter().skip(turn).step_by(sets.len()) {
            let campaign = Campaign {
                faults: Faults::parse(faults).unwrap(),
                workloads: ["random", "trims", "merges"].map(str::to_owned).to_vec(),
                log: None,
                short_programs: 0,
                ..campaign(bug, &[model], SecondCuts::OneIn(16))
            };
            for failed in campaign.run().unwrap().total().failed {
                assert_eq!(replayed(&failed), Some(failed.finding.clone()), "{bug}: {failed}");
                replays += 1;
            }
        }
    }
    assert!(replays > 40, "only {replays} replays");
}

/// On images, the bugs of an FTL are found by cuts and by crashes, each without the other.
#[test]
fn cuts_and_crashes_on_images_find_the_same_and_can_be_replayed() {
    let on_images = |bug: &str, one_first_in, second_cuts| Campaign {
        storage: Storage::Image,
        workloads: vec!["trims".to_owned()],
        short_programs: 0,
        one_first_in,
        ..campaign(bug, &["tiny"], second_cuts)
    };
    let sound = on_images("none", 3, SecondCuts::OneIn(128)).run().unwrap().total();
    assert!(sound.failed.is_empty(), "{:?}", sound.failed);
    assert!(sound.crashes.second > 50, "{:?}", sound.crashes);
    assert!(sound.crashes.by_name().all(|(_, tried)| tried > 0), "{:?}", sound.crashes);
    let by_loss: u64 = sound.crashes.by_loss.iter().sum();
    assert_eq!(by_loss, sound.crashes.first + sound.crashes.second);
    for bug in ["tombstones-erased-first", "erased-before-tombstones"] {
        let failed = on_images(bug, 1, SecondCuts::None).run().unwrap().total().failed;
        let is_found = |by_crash: bool| failed.iter().any(|it| it.crashes.is_empty() != by_crash);
        assert!(is_found(false) && is_found(true), "{bug}: found by one of them only");
        for failed in failed {
            println!("{bug}: {failed}");
            assert_eq!(failed.case.storage, Storage::Image);
            assert_eq!(replayed(&failed), Some(failed.finding.clone()), "{bug}: {failed}");
        }
    }
}

/// A mount that uses up a block fails when all are used up.
#[test]
fn a_device_is_mounted_more_often_than_it_has_blocks() {
    let model = DeviceModel::named("tiny").unwrap();
    let bug = plain_ftl("mount-spreads-pages");
    let mut case = Case::new(&bug, model, "sequential", 1, Durability::Full).unwrap();
    case.operations.truncate(8);
    let failed = conformance::check(&case).unwrap_err();
    assert!(failed.to_string().contains("a free block is kept"), "{failed}");
}

/// Each action that reads everything audits too, so that no later one hides a broken map.
#[test]
fn mounts_and_checks_are_audited_each_by_itself() {
    let first_finding = |bug: &str, look: Action| {
        let model = DeviceModel::named("tiny").unwrap();
        let case = Case::new(&plain_ftl(bug), model, "fill-random", 1, Durability::Full).unwrap();
        let mut device = PoweredDevice::brand_new(&case).unwrap();
        device.perform(Action::Mount).unwrap();
        let mut findings = case.operations.iter().filter_map(|&operation| {
            let done = device.perform(Action::Do(operation));
            done.and_then(|_| device.perform(look)).err()
        });
        findings.next().unwrap_or_else(|| panic!("`{bug}` was not found")).to_string()
    };
    let found = first_finding("mapped-block-free", Action::Remount);
    assert!(found.starts_with("map broken: ") && found.contains("is free, but"), "{found}");
    let found = first_finding("victim-freed-twice", Action::Check);
    assert!(found.starts_with("map broken: ") && found.contains("as free twice"), "{found}");
}

/// The finding of the replay, which runs from the start and arms the chip with the cuts.
fn replayed(failed: &FailedCase) -> Option<Finding> {
    let FailedCase { case, cuts, crashes, .. } = failed;
    let again = match (cuts.is_empty(), crashes.is_empty()) {
        (true, true) => conformance::check(case).err(),
        (true, false) => machine_loss::replay(case, crashes, &mut |_| ()).err(),
        (false, _) => power_loss::replay(case, cuts, &mut ()).err(),
    };
    again.map(|failed| failed.finding)
}
