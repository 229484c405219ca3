//! Runs in which time is that of a drive.

use sim::config::choices::Timing;
use sim::{Experiment, RunOptions, RunResult, Setup, run};

fn result(change: impl FnOnce(&mut Experiment)) -> RunResult {
    try_result(change).unwrap()
}

fn try_result(change: impl FnOnce(&mut Experiment)) -> sim::Result<RunResult> {
    let mut experiment = Experiment {
        timing: Timing::Drive,
        trace: Some("uniform:writes=5K,reads=30%".into()),
        capacity_bytes: Some(16 << 20),
        ..Experiment::default()
    };
    change(&mut experiment);
    run(&Setup::new(&experiment)?, RunOptions::default())
}

#[test]
fn on_one_die_at_depth_1_both_clocks_agree_for_every_scheme_and_layer() {
    let layers: [&[(&str, &str)]; 5] = [
        &[],
        &[("buffer", "256KiB")],
        &[("sector_log", "512KiB")],
        &[("buffer", "256KiB"), ("sector_log", "512KiB"), ("dram_access", "20ns")],
        &[("dram", "256KiB"), ("split", "20%")],
    ];
    for layer in ftl::layer::LAYERS {
        let mut given = layers.iter().flat_map(|stack| stack.iter());
        let is_tried = given.any(|(name, _)| layer.options.iter().any(|it| it.name == *name));
        assert!(is_tried, "add a stack with {}", layer.name);
    }
    for options in layers {
        let mut refusals = Vec::new();
        for scheme in ftl::SCHEMES {
            let found = try_result(|experiment| {
                experiment.ftl = scheme.name.into();
                experiment.extra = Some("10%".parse().unwrap());
                for (name, value) in options {
                    *experiment = std::mem::take(experiment).with(name, value).unwrap();
                }
            });
            let what = format!("{} with {options:?}", scheme.name);
            let Ok(in_drive) = found else {
                refusals.push(scheme.name);
                continue;
            };
            let responses = in_drive.response_us.as_ref().expect("a drive has responses");
            assert_eq!(*responses, in_drive.service_us, "{what}");
            let (seconds, serial_us) = (in_drive.drive.unwrap().seconds, in_drive.time_us.total);
            assert!((seconds * 1e6 / serial_us - 1.0).abs() < 1e-9, "{what}: {seconds} s");
        }
        // A scheme that is told the future takes no layers, and two schemes can resize their map.
        let expected = match options.first() {
            None => 0,
            Some(("dram", _)) => ftl::SCHEMES.len() - 2,
            Some(_) => 1,
        };
        assert_eq!(refusals.len(), expected, "{options:?} is refused for {refusals:?}");
    }
}

#[test]
fn on_one_die_at_depth_1_both_clocks_agree_for_every_chip() {
    const BLOCKS: u64 = 12;
    for preset in nand::chip_model::PRESETS {
        let chip = &preset.model;
        let pages = BLOCKS * u64::from(chip.pages_per_block);
        for scheme in ["page", "dftl", "fast", "superblock"] {
            let in_drive = result(|experiment| {
                experiment.ftl = scheme.into();
                experiment.chip = chip.name.into();
                experiment.capacity_bytes = Some(pages * u64::from(chip.page_bytes));
                experiment.trace = Some(format!("uniform:writes={pages},reads=30%"));
            });
            let what = format!("{scheme} on {}", chip.name);
            assert!(in_drive.erases.total > 0, "{what}: nothing was erased");
            assert_eq!(in_drive.response_us, Some(in_drive.service_us), "{what}");
            let (seconds, serial_us) = (in_drive.drive.unwrap().seconds, in_drive.time_us.total);
            let drive_ns = (seconds * 1e9).round();
            assert_eq!(drive_ns, (serial_us * 1e3).round(), "{what}: {seconds} s");
        }
    }
}

#[test]
fn the_drive_changes_no_count() {
    let serial = result(|experiment| experiment.timing = Timing::Serial);
    let drive = "ideal:channels=4,ways=2,planes=2,transfer=400MB/s,suspend=both,reads_first=true";
    let in_drive = result(|experiment| {
        experiment.drive = Some(drive.into());
        experiment.replay = "closed:depth=32".parse().unwrap();
    });
    assert_eq!(serial.programs.total, in_drive.programs.total);
    assert_eq!(serial.erases.total, in_drive.erases.total);
    assert_eq!(serial.reads.total, in_drive.reads.total);
    assert_eq!(serial.service_us, in_drive.service_us);
    assert!(serial.drive.is_none());
    let faster = serial.time_us.total / 1e6 / in_drive.drive.unwrap().seconds;
    assert!((3.0..=8.0).contains(&faster), "8 dies are {faster} times as fast as one");
}

/// On a chip with several dies the FTL waits before each erase. A drive that completes its work
/// without power need not.
#[test]
fn a_drive_waits_where_the_ftl_does() {
    let iops = |chip: &str, protected: bool| {
        let found = result(|experiment| {
            experiment.chip = chip.into();
            experiment.durability = ftl::Durability::Full;
            let drive = format!("ideal:channels=16,protected={protected}");
            experiment.drive = Some(drive);
            experiment.replay = "closed:depth=32".parse().unwrap();
        });
        found.drive.unwrap().iops.unwrap()
    };
    let (ordered, waiting) = (iops("slc-k9wag", false), iops("slc-k9wag:dies=4", false));
    assert!(waiting < 0.95 * ordered, "{waiting} with waits, {ordered} without");
    let protected = iops("slc-k9wag:dies=4", true);
    assert!(protected > 1.05 * waiting, "{protected} if protected, {waiting} otherwise");
}

/// Random writes in the steady state: every die works all the time.
#[test]
fn random_writes_in_the_steady_state_keep_every_die_busy() {
    let found = result(|experiment| {
        experiment.trace = Some("uniform:writes=60K".into());
        experiment.drive = Some("ideal:channels=4,ways=2,transfer=1000MB/s".into());
        experiment.replay = "closed:depth=512".parse().unwrap();
    });
    let (timing, page_bytes) = (&found.device.timing, f64::from(found.device.page_bytes));
    let transfer_us = page_bytes / 1000.0;
    let amplification = found.write_amplification.unwrap();
    let pages_per_erase = f64::from(found.device.pages_per_block);
    // An erase of the FTL's block erases a block on each of the 8 dies.
    let per_write_us = (timing.program_us + transfer_us) * amplification
        + (timing.read_us + transfer_us) * (amplification - 1.0)
        + 8.0 * timing.erase_us * amplification / pages_per_erase;
    let expected = 8.0 / (per_write_us / 1e6);
    let iops = found.drive.unwrap().iops.unwrap();
    assert!((iops / expected - 1.0).abs() < 0.005, "{iops} is not {expected}");
}

#[test]
fn several_loads_share_the_drive() {
    let found = result(|experiment| {
        experiment.trace = None;
        experiment.load = vec![
            "uniform:requests=4K,reads=100%@closed:depth=8".parse().unwrap(),
            "uniform:writes=2K,interarrival=2ms@open".parse().unwrap(),
        ];
        experiment.drive = Some("ideal:channels=4,transfer=400MB/s".into());
    });
    let tenants = found.tenants.unwrap();
    let answered: u64 =
        tenants.iter().map(|it| it.response_us.read.count + it.response_us.write.count).sum();
    assert_eq!(answered, found.trace.served());
    assert!(tenants[0].response_us.read.mean < tenants[1].response_us.write.mean);
}

#[test]
fn a_drive_needs_its_timing() {
    let experiment = Experiment { drive: Some("ideal".into()), ..Experiment::default() };
    let why = Setup::new(&experiment).unwrap_err().to_string();
    assert!(why.contains("give `--timing drive`"), "{why}");
}

/// Otherwise a drive would be half as fast with pages of half the size.
#[test]
fn a_drive_moves_as_many_bytes_with_pages_of_another_size() {
    for workload in ["sequential:requests=3K", "sequential:requests=3K,reads=100%"] {
        let mb_per_s = [8, 4, 2, 16].map(|kib| {
            let found = result(|it| {
                it.trace = Some(format!("{workload},request=256KiB"));
                it.chip = format!("tlc-3d:page={kib}KiB,pages_per_block={}", 1536 * 8 / kib);
                it.capacity_bytes = Some(2 << 30);
                it.drive = Some("zoned-nvme".into());
                it.replay = "closed:depth=32".parse().unwrap();
                it.warmup = 0;
            });
            let is_noted = found.notes.iter().any(|it| it.starts_with("The figures of drive"));
            assert_eq!(is_noted, kib != 8, "{:?}", found.notes);
            found.drive.unwrap().mb_per_s.unwrap()
        });
        let stated = mb_per_s[0];
        let is_near = |it: &f64| (it / stated - 1.0).abs() < 0.05;
        assert!(mb_per_s.iter().all(is_near), "{workload}: {mb_per_s:?}");
    }
}

#[test]
fn a_chip_whose_pages_do_not_fit_into_a_command_is_refused() {
    let refused = try_result(|it| {
        it.chip = "tlc-3d:page=5KiB,spare=256".into();
        it.drive = Some("zoned-nvme".into());
    });
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("one command of a die moves 96KiB, in pages of 8KiB"), "{message}");
}

#[test]
fn a_drive_most_of_whose_dies_are_idle_is_noted() {
    let noted = |chip: &str, drive: &str| {
        let found = result(|it| {
            it.chip = chip.into();
            it.drive = Some(drive.into());
            it.capacity_bytes = Some(64 << 20);
        });
        found.notes.iter().any(|it| it.starts_with("Only ") && it.contains(" dies moved data"))
    };
    assert!(
        noted("slc-fast2010", "sata-tlc"),
        "a block of 64 pages of 2 KiB fills one die and a bit"
    );
    assert!(!noted("tlc-3d:page=4KiB,pages_per_block=3072", "sata-tlc"));
    assert!(!noted("slc-fast2010", "ideal"), "its transfers take no time");
}
