//! Media that fail lie below the FTL: it sees the same flash, whatever fails.

use ftl::Durability;
use sim::config::choices::Timing;
use sim::{Experiment, RunOptions, RunResult, Setup, run};

fn result(ftl: &str, media: &str, verify: bool, chip: &str) -> RunResult {
    let is_paired = chip.contains("cell_bits");
    let durability = if is_paired { Durability::Full } else { Durability::Paper };
    let experiment = Experiment {
        chip: chip.into(),
        durability,
        trace: Some("mixed:requests=6K".into()),
        capacity_bytes: Some(8 << 20),
        extra: Some("30%".parse().unwrap()),
        ftl: ftl.into(),
        media: media.into(),
        reserve: (media != "perfect").then(|| "4000blocks".parse().unwrap()),
        verify,
        ..Experiment::default()
    };
    run(&Setup::new(&experiment).unwrap(), RunOptions::default()).unwrap()
}

/// Every scheme, alone, under failing programs, erases and bad blocks: the data are those that the
/// host wrote, and all counts are those of perfect flash, apart from what has moved.
#[test]
fn failures_change_no_data_and_no_count_of_another_cause() {
    let media = "real:factory_bad=2%,endurance=1M,program_fail=0.3%,erase_fail=2%";
    // On the second chip a guard of the FTL copies pages before programs, which may fail too.
    let chips = ["slc-fast2010", "slc-fast2010:cell_bits=2,pair_distance=2,spare=128"];
    for scheme in ftl::SCHEMES {
        for (verify, chip) in [(false, chips[0]), (true, chips[0]), (false, chips[1])] {
            let perfect = result(scheme.name, "perfect", verify, chip);
            let real = result(scheme.name, media, verify, chip);
            let failed = real.media.expect("media that can fail");
            assert!(failed.program_failures > 5, "{}: {failed:?}", scheme.name);
            for (name, perfect, real) in [
                ("reads", &perfect.reads, &real.reads),
                ("programs", &perfect.programs, &real.programs),
                ("erases", &perfect.erases, &real.erases),
            ] {
                let of_ftl = real.iter().map(|(cause, count)| match cause {
                    "media" => (cause, 0),
                    _ => (cause, count),
                });
                assert!(perfect.iter().eq(of_ftl), "{}: {name}", scheme.name);
            }
            assert!(perfect.media.is_none() && perfect.programs.media == 0);
        }
    }
}

/// Pages that cannot be read cost nothing but the reads that are made again, as long as the host
/// writes whole pages. Its requests for them fail and are counted.
#[test]
fn unreadable_pages_fail_requests_and_change_no_count() {
    let of = |media: &str| {
        let experiment = Experiment {
            trace: Some("oltp:requests=20K,reads=30%".into()),
            capacity_bytes: Some(8 << 20),
            extra: Some("20%".parse().unwrap()),
            ftl: "dac".into(),
            media: media.into(),
            ..Experiment::default()
        };
        run(&Setup::new(&experiment).unwrap(), RunOptions::default()).unwrap()
    };
    let plain = of("real:factory_bad=0%,endurance=1M");
    let lossy = of("real:factory_bad=0%,endurance=1M,unreadable=1%,read_fail=2%");
    let media = lossy.media.unwrap();
    assert!(media.unreadable_pages > 500, "{media:?}");
    let read = lossy.host_pages.read as f64;
    let share = media.failed_requests as f64 / read;
    assert!((0.005..0.1).contains(&share), "{media:?}: of {read} pages read");
    assert_eq!((plain.programs, plain.erases), (lossy.programs, lossy.erases));
    let again = lossy.reads.media as f64 / (lossy.reads.total - lossy.reads.media) as f64;
    assert!((0.015..0.025).contains(&again), "{again} of the reads");
    let plain = plain.media.unwrap();
    assert_eq!((plain.unreadable_pages, plain.failed_requests), (0, 0));
    let verified =
        Experiment { media: "real:unreadable=1%".into(), verify: true, ..Experiment::default() };
    let why = Setup::new(&verified).unwrap_err().to_string();
    assert!(why.contains("check --faults unreadable"), "{why}");
}

/// A request that fails was served in part, and a layer repeats a run of which a page is lost: laws
/// that follow each page do not hold then, and all others do.
#[test]
fn runs_under_layers_go_on_when_pages_are_lost() {
    for (ftl, buffer, sector_log) in [
        ("warcip", Some("128KiB,reads=true,evict=run"), Some("256KiB")),
        ("sepgc", Some("64KiB,evict=run"), None),
        ("faster", None, Some("256KiB")),
    ] {
        let mut experiment = Experiment {
            trace: Some("mixed:requests=3K".into()),
            capacity_bytes: Some(16 << 20),
            extra: Some("20%".parse().unwrap()),
            ftl: ftl.into(),
            media: "real:factory_bad=0%,unreadable=3%,read_fail=0.1%".into(),
            ..Experiment::default()
        };
        for (name, value) in [("buffer", buffer), ("sector_log", sector_log)] {
            let option = ftl::layer::layer_options().find(|option| option.name == name).unwrap();
            value.into_iter().for_each(|text| experiment.layers.set(option, text).unwrap());
        }
        let result = run(&Setup::new(&experiment).unwrap(), RunOptions::default()).unwrap();
        assert!(result.media.unwrap().failed_requests > 0, "{ftl}");
    }
}

/// In a drive, what media do takes time on the die of the block that failed.
#[test]
fn a_drive_waits_for_what_media_do() {
    let times = ["perfect", "real:factory_bad=0%,endurance=1M,program_fail=1%"].map(|media| {
        let experiment = Experiment {
            trace: Some("uniform:requests=3K".into()),
            capacity_bytes: Some(8 << 20),
            media: media.into(),
            reserve: (media != "perfect").then(|| "4000blocks".parse().unwrap()),
            timing: Timing::Drive,
            ..Experiment::default()
        };
        let result = run(&Setup::new(&experiment).unwrap(), RunOptions::default()).unwrap();
        result.time_us.total
    });
    assert!(times[0] < times[1], "{times:?}");
}

#[test]
fn a_device_that_wears_out_in_a_run_says_so() {
    let experiment = Experiment {
        trace: Some("uniform:requests=20K".into()),
        capacity_bytes: Some(8 << 20),
        media: "real:endurance=20".into(),
        ..Experiment::default()
    };
    let error = run(&Setup::new(&experiment).unwrap(), RunOptions::default()).unwrap_err();
    let message = error.to_string();
    assert!(message.starts_with("the device can only be read: "), "{message}");
    assert_eq!(error.exit_code(), 1);
    let refused = Experiment { reserve: Some("2%".parse().unwrap()), ..Experiment::default() };
    let why = Setup::new(&refused).unwrap_err().to_string();
    assert!(why.contains("`--reserve` is for flash that can fail"), "{why}");
}
