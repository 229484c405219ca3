//! Wear levelling lies below the FTL: it changes where data are, and nothing else.

use sim::{Experiment, RunOptions, RunResult, Setup, run};

/// Blocks can change places, and none fails.
const NEVER_FAILS: &str = "real:factory_bad=0%,endurance=1M";

fn result(change: impl Fn(&mut Experiment)) -> RunResult {
    let mut experiment = Experiment {
        capacity_bytes: Some(8 << 20),
        extra: Some("20%".parse().unwrap()),
        media: NEVER_FAILS.into(),
        ..Experiment::default()
    };
    change(&mut experiment);
    run(&Setup::new(&experiment).unwrap(), RunOptions::default()).unwrap()
}

/// A third of the device is written again and again, most of all a tenth of it. The rest is filled
/// once.
fn skewed(experiment: &mut Experiment) {
    let loads =
        ["skew:writes=60K,hot=90/10", "sequential:writes=1@open", "sequential:writes=1@open"];
    experiment.load = loads.map(|load| load.parse().unwrap()).into();
}

/// Every scheme: the sectors are those that the host wrote, and all counts are those of a run
/// without levelling, apart from what has moved.
#[test]
fn levelling_changes_no_data_and_no_count_of_another_cause() {
    // A scheme that knows the future cannot serve several loads.
    for scheme in ftl::SCHEMES.iter().filter(|it| !it.needs_future) {
        let of = |wear: &str, verify| {
            result(|experiment| {
                skewed(experiment);
                experiment.ftl = scheme.name.into();
                experiment.verify = verify;
                experiment.wear = wear.into();
            })
        };
        let none = of("none", false);
        for (wear, verify) in [("static:threshold=5", false), ("swap:margin=5", true)] {
            let levelled = of(wear, verify);
            let case = format!("{} {wear}", scheme.name);
            for (name, none, levelled) in [
                ("reads", &none.reads, &levelled.reads),
                ("programs", &none.programs, &levelled.programs),
                ("erases", &none.erases, &levelled.erases),
            ] {
                let of_ftl = levelled.iter().map(|(cause, count)| match cause {
                    "media" | "wear" => (cause, 0),
                    _ => (cause, count),
                });
                assert!(none.iter().eq(of_ftl), "{case}: {name}");
            }
            assert!(levelled.copies.wear > 0, "{case}: {:?}", levelled.wear);
            assert!(levelled.wear.cv < none.wear.cv, "{case}: {:?}", levelled.wear);
        }
    }
}

/// LAST §3.4.3: blocks of the hot partition are erased intensively, and those with cold data nearly
/// never. The swap brings the most worn block within 20 % of the mean.
#[test]
fn the_swap_levels_the_wear_of_last() {
    let of = |wear: &str| {
        result(|experiment| {
            skewed(experiment);
            experiment.ftl = "last".into();
            experiment.warmup = 3;
            experiment.wear = wear.into();
        })
    };
    let over_mean = |result: &RunResult| f64::from(result.wear.max) / result.wear.mean;
    let (none, swap) = (of("none"), of("swap:margin=10"));
    assert!(none.wear.min < 2 && over_mean(&none) > 1.9, "{:?}", none.wear);
    assert!(over_mean(&swap) < 1.2, "{:?}", swap.wear);
    let cost = swap.copies.wear as f64 / none.programs.total as f64;
    assert!((0.01..0.1).contains(&cost), "{cost} of the programs");
    assert!(swap.programs.media > 0 && swap.erases.wear > 0);
    let total = |result: &RunResult| result.write_amplification.unwrap();
    assert!(total(&swap) > total(&none), "the cost is a part of write amplification");
}

/// The FTL itself takes the least worn of its free blocks, on any media. Cold data stay.
#[test]
fn dynamic_levelling_costs_nothing_and_leaves_cold_data() {
    for scheme in ["page", "last", "fast", "bast", "superblock"] {
        let of = |wear: &str, media: &str| {
            result(|experiment| {
                experiment.trace = Some("skew:writes=40K,hot=90/10".into());
                experiment.ftl = scheme.into();
                experiment.media = media.into();
                experiment.wear = wear.into();
            })
        };
        let (none, dynamic) = (of("none", "perfect"), of("dynamic", "perfect"));
        assert!(dynamic.wear.cv <= none.wear.cv, "{scheme}: {:?} {:?}", dynamic.wear, none.wear);
        assert_eq!(dynamic.programs.wear + dynamic.erases.wear, 0);
        assert_eq!(of("dynamic", NEVER_FAILS).erases, dynamic.erases, "{scheme}");
    }
}

#[test]
fn levelling_that_moves_data_needs_media_whose_blocks_can_change_places() {
    let why = |wear: &str, media: &str| {
        let experiment = Experiment {
            trace: Some("uniform:writes=10".into()),
            capacity_bytes: Some(8 << 20),
            media: media.into(),
            wear: wear.into(),
            ..Experiment::default()
        };
        let setup = Setup::new(&experiment)?;
        run(&setup, RunOptions::default()).map(drop)
    };
    let refused = |wear: &str, media: &str| why(wear, media).unwrap_err().to_string();
    assert!(refused("swap", "perfect").contains("give `--media real`"));
    assert!(refused("swop", NEVER_FAILS).contains("did you mean `swap`"));
    why("dynamic", "perfect").unwrap();
    why("static", NEVER_FAILS).unwrap();
}
