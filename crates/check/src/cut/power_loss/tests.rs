//! Tests of which cuts are tried, and of what follows them.

use ftl::Durability;
use nand::power_cut::Interruptible;

use super::*;
use crate::device_model::DeviceModel;
use crate::subject::Subject;

fn case() -> Case {
    let (page, tiny) = (Subject::from_spec("page").unwrap(), DeviceModel::named("tiny"));
    Case::new(&page, tiny.unwrap(), "random", 1, Durability::Full).unwrap()
}

fn explorer(case: &Case, second_cuts: SecondCuts) -> Explorer<'_> {
    let schedule = CutSchedule {
        from_operation: 0,
        faults: Faults::ALL,
        one_first_in: 3,
        second_cuts,
        depth: 2,
    };
    Explorer::new(case, schedule, &())
}

#[test]
fn weak_pages_mostly_decay_between_the_scan_and_the_end_of_the_mount() {
    let case = case();
    let (explorer, scan) = (explorer(&case, SecondCuts::None), case.physical_pages());
    let mounted_in = scan + 20;
    let draw = |after| explorer.draw_operation(PowerCut::new(after, Outcome::Unstable), mounted_in);
    let drawn: Vec<u64> = (0..1000).map(draw).collect();
    assert!(drawn.iter().all(|at| (1..mounted_in).contains(at)));
    let late = drawn.iter().filter(|&&at| at >= scan).count();
    assert!((850..950).contains(&late), "{late} of 1000 after the scan");
    for short in 0..3 {
        let at = explorer.draw_operation(PowerCut::new(short, Outcome::Unstable), short);
        assert_eq!(at, 1, "a mount of {short} operations");
    }
}

#[test]
fn one_in_n_second_cuts_is_tried() {
    let case = case();
    let mut tried = 0;
    for first in 0..10_000 {
        let mut explorer = explorer(&case, SecondCuts::OneIn(100));
        explorer.cuts.push(PowerCut::new(first, Outcome::Torn));
        if explorer.is_cut_again() {
            let second = |after| explorer.is_drawn(PowerCut::new(after, Outcome::Torn), 1);
            tried += (0..100).filter(|&after| second(after)).count();
        }
    }
    // Of a million second cuts, one in 7 × 16.
    assert!((8000..10_000).contains(&tried), "{tried}");
}

#[test]
fn one_in_n_first_cuts_is_tried() {
    let case = case();
    let explorer = explorer(&case, SecondCuts::None);
    let is_drawn = |&after: &u64| explorer.is_drawn(PowerCut::new(after, Outcome::Torn), 100);
    let drawn = (0..3000).filter(is_drawn).count();
    assert!((900..1100).contains(&drawn), "{drawn}");
}

/// The operations of a run without cuts: those that may be cut first, by kind, and how many of
/// them begin an action or find others in flight.
fn operations_to_cut(case: &Case) -> [u64; 4] {
    let mut device = PoweredDevice::brand_new(case).unwrap();
    device.record();
    let [mut programs, mut erases, mut begun, mut in_flight] = [0; 4];
    for (index, action) in action::of_workload(case).into_iter().enumerate() {
        device.perform(action).unwrap();
        let snapshots = std::mem::take(&mut device.snapshots);
        if case.from_operation > 0 && index <= case.from_operation {
            continue;
        }
        begun += u64::from(!snapshots.is_empty());
        for snapshot in snapshots {
            match snapshot.operation {
                Interruptible::Program(_) => programs += 1,
                Interruptible::Erase(_) => erases += 1,
            }
            in_flight += u64::from(snapshot.in_flight > 0);
        }
    }
    [programs, erases, begun, in_flight]
}

#[test]
fn every_operation_is_cut_with_every_outcome() {
    let page = Subject::from_spec("page").unwrap();
    for (model, workload) in
        [("tiny-dies", "forced"), ("least", "ace-w0.w1"), ("least", "ace-w0.f.g")]
    {
        let model = DeviceModel::named(model).unwrap();
        let case = Case::new(&page, model, workload, 1, Durability::Full).unwrap();
        let [programs, erases, begun, in_flight] = operations_to_cut(&case);
        let schedule = explorer(&case, SecondCuts::None).schedule;
        let from_operation = case.from_operation;
        let schedule = CutSchedule { from_operation, one_first_in: 1, ..schedule };
        let (counts, done) = explore(&case, schedule, &());
        assert!(done.is_empty(), "{done:?}");
        let at =
            |outcome: Outcome, time: DecayTime| counts.by_kind[outcome as usize][time as usize];
        // Cuts after which weak pages decay during the mount repeat others.
        let tried = |outcome| counts.of(outcome) - at(outcome, DecayTime::DuringMount);
        for outcome in [Outcome::Torn, Outcome::LooksErased, Outcome::Flipped] {
            assert_eq!(tried(outcome), programs, "{workload}: {outcome:?}");
        }
        assert_eq!(at(Outcome::Unstable, DecayTime::AfterMount), programs, "{workload}");
        for outcome in [Outcome::Half, Outcome::Intact, Outcome::Mixed] {
            assert_eq!(tried(outcome), erases, "{workload}: {outcome:?}");
        }
        assert_eq!(tried(Outcome::Complete), programs + erases, "{workload}");
        assert_eq!(tried(Outcome::Untouched), begun, "{workload}");
        for outcome in [Outcome::Reordered, Outcome::BrownedOut] {
            assert_eq!(tried(outcome), 2 * in_flight, "{workload}: {outcome:?}");
        }
        assert!(programs > 0 && (in_flight > 0) == (model.dies > 1), "{workload}");
    }
}

/// If all cuts found the dies alike, a guest that never waits for them could look right.
#[test]
fn the_dies_are_found_anew_at_each_cut_and_seed() {
    let numbers = |seed, before: &[PowerCut]| -> Vec<u64> {
        let mut case = case();
        case.seed = seed;
        let cuts = (0..50).map(|after| PowerCut::new(after, Outcome::Reordered));
        cuts.flat_map(|cut| found_dies(&case, before, cut)).map(|cut| cut.draw).collect()
    };
    let first = numbers(1, &[]);
    assert_eq!(first, numbers(1, &[]));
    let before = [PowerCut::new(9, Outcome::Torn)];
    for other in [numbers(2, &[]), numbers(1, &before)] {
        let alike = first.iter().zip(&other).filter(|(one, other)| one == other).count();
        assert!(alike < 5, "{alike} of 100");
    }
    let distinct: std::collections::BTreeSet<&u64> = first.iter().collect();
    assert!(distinct.len() > 80 && first.iter().all(|&it| it < 1000), "{first:?}");
    assert!(first.chunks(2).all(|pair| pair[0] % 2 == 0 && pair[1] % 2 == 1), "{first:?}");
}

#[test]
fn a_replay_tells_what_was_left_on_each_die() {
    let (page, dies) = (Subject::from_spec("page").unwrap(), DeviceModel::named("tiny-dies"));
    let case = Case::new(&page, dies.unwrap(), "random", 1, Durability::Full).unwrap();
    let told = |cut: PowerCut| {
        let mut lines = Vec::new();
        replay(&case, &[cut], &mut |step: Step| lines.push(step.to_string())).unwrap();
        lines.into_iter().find(|line| line.starts_with("power lost")).unwrap_or_default()
    };
    let (mut several, mut not_begun) = (0, 0);
    for after in 0..40 {
        let [even, _] = found_dies(&case, &[], PowerCut::new(after, Outcome::Reordered));
        let line = told(even);
        let (head, left) = line.split_once(&format!("outcome reordered#{}: ", even.draw)).unwrap();
        let left: Vec<&str> = left.split("; ").collect();
        let struck = head.rsplit(", ").nth(1).unwrap();
        assert!(left.last().unwrap().starts_with(struck), "{line}");
        several += usize::from(left.len() > 1);
        not_begun += left.iter().filter(|it| it.ends_with(" not begun")).count();
    }
    assert!(several > 10 && not_begun > 3, "{several} {not_begun}");
    let torn = told(PowerCut::new(12, Outcome::Torn));
    assert!(torn.starts_with("power lost at operation 12, program of page "), "{torn}");
    assert!(torn.ends_with(", outcome torn"), "{torn}");
}

#[test]
fn whatever_differs_in_a_cut_gives_another_seed() {
    let cuts =
        ["4:reordered#1", "5:reordered#1", "4:browned-out#1", "4:reordered#2", "4:reordered#1@7"];
    let seeds = cuts.map(|text| salted(1, PowerCut::parse(text).unwrap()));
    let distinct: std::collections::BTreeSet<u64> = seeds.into_iter().collect();
    assert_eq!(distinct.len(), cuts.len());
    let recovery = |text| {
        let actions = actions_after_cut(&case(), &[PowerCut::parse(text).unwrap()], false);
        let is_host = |action: &Action| matches!(action, Action::Do(_));
        actions.into_iter().filter(is_host).collect::<Vec<_>>()
    };
    assert_ne!(recovery("4:torn"), recovery("5:torn"));
}

#[test]
fn after_a_cut_a_device_is_mounted_again_and_weak_pages_decay() {
    let case = case();
    for is_weak in [false, true] {
        let cut = PowerCut::new(3, Outcome::Unstable);
        let actions = actions_after_cut(&case, &[cut], is_weak);
        assert_eq!(actions[0], Action::Mount);
        assert_eq!(actions[1] == Action::Decay, is_weak);
        let again = actions.iter().position(|&action| action == Action::Remount).unwrap();
        assert_eq!(actions[again - 1], Action::Check);
        assert!(actions[..again].iter().filter(|it| matches!(it, Action::Do(_))).count() > 1);
    }
}

#[test]
fn weak_pages_also_decay_during_mounts() {
    let mut explorer = explorer(&case(), SecondCuts::None).schedule;
    explorer.one_first_in = 1;
    let (counts, done) = explore(&case(), explorer, &());
    assert!(done.is_empty(), "{done:?}");
    let unstable = counts.by_kind[Outcome::Unstable as usize];
    let [during, after] =
        [DecayTime::DuringMount, DecayTime::AfterMount].map(|time| unstable[time as usize]);
    assert!(during > 10 && during == after, "{during} during mounts, {after} after them");
}

#[test]
fn third_cuts_are_thinned_in_long_actions() {
    let case = case();
    let mut explorer = explorer(&case, SecondCuts::OneIn(4));
    let mut drawn = |level, of_action| {
        explorer.cuts = vec![PowerCut::new(1, Outcome::Torn); level];
        let is_drawn =
            |&after: &u64| explorer.is_drawn(PowerCut::new(after, Outcome::Torn), of_action);
        (0..8000).filter(is_drawn).count()
    };
    for (level, of_action, one_in) in
        [(1, 1000, 4), (2, 1, 4), (2, THINNED_FROM - 1, 4), (2, THINNED_FROM, 8), (3, 100, 20)]
    {
        let (found, expected) = (drawn(level, of_action), 8000 / one_in);
        let is_near = (expected * 4 / 5..expected * 5 / 4).contains(&found);
        assert!(is_near, "{found} of 8000 after {level} cuts, {of_action} operations");
    }
}

#[test]
fn under_paper_only_promised_cuts_are_tried() {
    let (page, tiny) = (Subject::from_spec("page").unwrap(), DeviceModel::named("tiny"));
    let case = Case::new(&page, tiny.unwrap(), "random", 1, Durability::Paper).unwrap();
    let schedule = CutSchedule { one_first_in: 4, ..explorer(&case, SecondCuts::None).schedule };
    let (counts, done) = explore(&case, schedule, &());
    assert!(done.is_empty(), "{done:?}");
    assert!(counts.of(Outcome::Torn) > 5 && counts.of(Outcome::Unstable) > 5, "{counts:?}");
    for outcome in [Outcome::Half, Outcome::Intact, Outcome::Flipped] {
        assert_eq!(counts.of(outcome), 0, "{outcome:?}");
    }
}

#[test]
fn a_part_of_all_cuts_has_its_part_of_every_outcome() {
    let (page, model) = (Subject::from_spec("page").unwrap(), DeviceModel::named("tiny-dies"));
    let case = Case::new(&page, model.unwrap(), "forced", 1, Durability::Full).unwrap();
    let counts = [1, 4].map(|one_first_in| {
        let schedule = CutSchedule { one_first_in, ..explorer(&case, SecondCuts::None).schedule };
        explore(&case, schedule, &()).0
    });
    for outcome in [Outcome::Torn, Outcome::Reordered, Outcome::BrownedOut] {
        let [all, part] = counts.each_ref().map(|counts| counts.of(outcome));
        assert!((all / 8..all / 2).contains(&part), "{outcome:?}: {part} of {all}");
    }
}

#[test]
fn the_operations_of_the_first_mount_are_counted() {
    let case = case();
    let mut explorer = explorer(&case, SecondCuts::None);
    explorer.schedule.faults = Faults::NONE;
    let mut device = PoweredDevice::brand_new(&case).unwrap();
    let actions = [Action::Mount, Action::Remount];
    let [first, second] = actions.map(|action| {
        device.perform(action).unwrap();
        device.mounted_in()
    });
    assert_ne!(first, second);
    let mounted_in = explorer.run(PoweredDevice::brand_new(&case).unwrap(), &actions);
    assert_eq!(mounted_in.unwrap(), first);
}

/// A flash with a page that can be read until it decays.
fn weak_flash(case: &Case) -> FlashArray {
    let mut nand = case.new_chip();
    nand.power().cut_after(nand::Cut { after: 0, outcome: Outcome::Unstable });
    let content = nand::Content::Pad;
    let page = nand::Page { owner: nand::Lpn(0), kind: 1, extra: &[], content };
    nand.program(nand::Ppn(0), &page, nand::Cause::Host).unwrap_err();
    nand.power().cycle();
    nand.into_array()
}

#[test]
fn a_flash_that_decayed_without_a_snapshot_is_not_known() {
    let case = case();
    let weak = weak_flash(&case);
    let decayed = weak.decayed().unwrap();
    let may_have_decayed = |cut, before, after| {
        let mut explorer = explorer(&case, SecondCuts::None);
        explorer.cuts.push(PowerCut::parse(cut).unwrap());
        explorer.may_have_decayed(before, after).unwrap()
    };
    assert!(may_have_decayed("3:unstable@7", &weak, &decayed));
    assert!(!may_have_decayed("3:unstable@7", &weak, &weak), "it has not decayed");
    assert!(!may_have_decayed("3:unstable@7", &decayed, &decayed), "it had decayed before");
    assert!(!may_have_decayed("3:unstable", &weak, &decayed), "it decays at an action");
    let kept: Vec<Outcome> = Outcome::ALL.into_iter().filter(|&it| keeps_flash(it)).collect();
    assert_eq!(kept, [Outcome::Untouched, Outcome::Intact, Outcome::Mixed]);
    let in_flight = Vec::new();
    let mut recording = Recording { idle: weak, in_flight, of_action: 0 };
    assert_eq!(recording.states().count(), 1);
}
