//! A sector log that stands aside: when it changes, and what becomes of its blocks and sectors.

use ftl::{Choice, Metric};
use nand::{Mode, Nand};
use spec::Spec;

use crate::device::{LOGICAL_BLOCKS, PAGES, Real, chip, mount_under};
use crate::recorder::WHOLE;
use ftl::layer::Layers;

/// Blocks of the log.
const LOG: u32 = 2;
/// Blocks that are always extra blocks of the scheme.
const EXTRA: u32 = 4;

fn layers(options: &[(&str, &str)]) -> Layers {
    Layers::from_texts(options).unwrap()
}

/// A scheme below a log of two blocks, which holds a page for each that it exports.
fn device(ftl: &str, options: &[(&str, &str)]) -> Real {
    let geometry = chip().geometry(LOGICAL_BLOCKS + EXTRA + LOG).unwrap();
    let mut nand = Nand::new(geometry, Mode::Stamps);
    let ftl = mount_under(ftl, &layers(options), &mut nand).unwrap();
    let mut real = Real { nand, ftl, writes: 0 };
    real.write(0, PAGES);
    real
}

fn remount(real: &mut Real, ftl: &str, options: &[(&str, &str)]) {
    real.nand.power_on();
    real.ftl = mount_under(ftl, &layers(options), &mut real.nand).unwrap();
    real.ftl.audit(&real.nand).unwrap();
}

fn count(real: &Real, name: &str) -> u64 {
    let reports = real.ftl.layered().expect("layers").reports();
    let log = reports.into_iter().find(|report| report.layer == "sector-log").expect("a log");
    match log.figures.into_iter().find(|(known, _)| *known == name) {
        Some((_, Metric::Count(count))) => count,
        other => panic!("{name}: {other:?}"),
    }
}

/// Ends a request.
fn end(real: &mut Real) {
    real.ftl.end_request(&mut real.nand).unwrap();
    real.ftl.audit(&real.nand).unwrap();
}

/// Writes the first sector of pages that jump about. The log has room for all of them twice.
fn small_writes(real: &mut Real, writes: u32) {
    for write in 0..writes {
        real.patch(write * 7 % (PAGES / 2), 1);
        end(real);
    }
}

/// Writes whole pages without order, so that garbage collection has to copy pages.
fn whole_writes(real: &mut Real, writes: u32) {
    for write in 0..writes {
        real.write((write.wrapping_mul(0x9E37_79B1) >> 12) % PAGES, 1);
        end(real);
    }
}

const BY_TURNS: &[(&str, &str)] = &[("sector_log", "16KiB,aside=alternate")];

/// The log has eight pages, so eight pages are written between two changes. The fill was more than
/// that.
#[test]
fn the_blocks_go_when_the_log_is_empty_and_come_back_before_it_programs() {
    for ftl in ["page", "dac"] {
        let mut real = device(ftl, BY_TURNS);
        assert_eq!(real.ftl.free_blocks(), EXTRA, "{ftl}: it begins with its blocks");
        end(&mut real);
        assert_eq!(real.ftl.free_blocks(), EXTRA + LOG, "{ftl}");
        small_writes(&mut real, 8);
        assert_eq!((count(&real, "Writes_SL"), count(&real, "aside_changes")), (0, 2), "{ftl}");
        // Eight pages were written to the scheme meanwhile.
        assert!(real.ftl.free_blocks() < EXTRA, "{ftl}");
        small_writes(&mut real, 7);
        assert!(count(&real, "Writes_SL") > 0, "{ftl}");
        assert!(count(&real, "distinct") > 0, "{ftl}");
        small_writes(&mut real, 1);
        assert_eq!(count(&real, "aside_changes"), 3, "{ftl}");
        assert_eq!((count(&real, "distinct"), count(&real, "waiting")), (0, 0), "{ftl}");
    }
}

#[test]
fn no_sector_is_lost_by_changes_and_mounts() {
    for ftl in ["page", "dac"] {
        for options in [BY_TURNS, &[("buffer", "8KiB"), BY_TURNS[0]]] {
            let mut real = device(ftl, options);
            let mut newest = vec![[1; 4]; PAGES as usize];
            let mut changes = 0;
            for step in 0..400_u32 {
                let (page, sector) = (step * 7 % PAGES, step / 3 % 4);
                real.patch(page, 1 << sector);
                newest[page as usize][sector as usize] = real.writes;
                end(&mut real);
                if step % 29 == 28 {
                    changes += count(&real, "aside_changes");
                    real.flush();
                    remount(&mut real, ftl, options);
                    for (page, newest) in (0..).zip(&newest) {
                        assert_eq!(real.read(page, WHOLE), *newest, "{ftl}: page {page}");
                    }
                }
            }
            assert!(changes > 20, "{ftl}: only {changes} changes");
        }
    }
}

/// The miniatures have the size of the device.
const BY_COMPARISON: &[(&str, &str)] = &[("sector_log", "16KiB,aside=auto")];

#[test]
fn the_log_is_used_for_small_writes_and_stands_aside_for_whole_pages() {
    for options in [BY_COMPARISON, &[("buffer", "8KiB"), BY_COMPARISON[0]]] {
        let mut real = device("page", options);
        small_writes(&mut real, 200);
        assert_eq!(count(&real, "aside_changes"), 0, "a log pays for small writes");
        whole_writes(&mut real, 500);
        assert_eq!(count(&real, "aside_changes"), 1, "it does not pay any more");
        assert_eq!(count(&real, "distinct"), 0, "it is empty");
        let before = count(&real, "Writes_SL");
        small_writes(&mut real, 500);
        assert_eq!(count(&real, "aside_changes"), 2, "it pays again");
        assert!(count(&real, "Writes_SL") > before + 50, "it is used");
    }
}

#[test]
fn on_a_new_device_one_unit_of_regret_is_enough() {
    // A unit is the time to copy the eight pages of the log.
    let changes_after = |before: u32| {
        let mut real = device("page", BY_COMPARISON);
        small_writes(&mut real, before);
        let writes = (10..2000).step_by(10).find(|_| {
            whole_writes(&mut real, 10);
            count(&real, "aside_changes") > 0
        });
        writes.expect("the log stands aside")
    };
    let (new, proved) = (changes_after(0), changes_after(200));
    assert!(2 * new < proved, "after {new} writes on a new device, else after {proved}");
}

#[test]
fn a_mount_gives_the_miniatures_the_pages_that_are_mapped() {
    let mut real = device("page", BY_COMPARISON);
    real.flush();
    remount(&mut real, "page", BY_COMPARISON);
    small_writes(&mut real, 500);
    assert_eq!(count(&real, "aside_changes"), 1, "garbage is collected from the start");
    assert_eq!(count(&real, "miniature_scale"), 1);
    assert!(count(&real, "miniature_bytes") > 4 * 2 * u64::from(real.nand.geometry().pages()));
}

#[test]
fn a_log_that_is_always_used_reports_nothing_of_this() {
    let real = device("page", &[("sector_log", "16KiB")]);
    let reports = real.ftl.layered().unwrap().reports();
    let names = reports.iter().flat_map(|report| report.figures.iter().map(|(name, _)| *name));
    assert!(names.clone().count() > 30);
    assert!(!names.into_iter().any(|name| name.starts_with("aside") || name.starts_with("mini")));
}

#[test]
fn schemes_that_cannot_take_blocks_are_refused() {
    let refused = |ftl: &str| {
        let choice = Choice::from_spec(&Spec::plain(ftl)).unwrap();
        let layers = layers(&[("sector_log", "16KiB,from=extra,aside=auto")]);
        layers.check(choice.scheme, &[], &chip()).map_err(|error| error.to_string())
    };
    assert_eq!(refused("dac"), Ok(()));
    let why = "sector-log: `aside=auto` lends the blocks of the log to the scheme, and fast cannot \
               take blocks while it runs";
    assert_eq!(refused("fast"), Err(why.to_owned()));
}
