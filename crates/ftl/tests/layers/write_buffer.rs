//! The write buffer, cases counted by hand: which pages are evicted, when, in which order, and with
//! which contents.

use ftl::layer::Layers;
use ftl::{Durability, Run};
use nand::{Cause, ChipModel, Data, Lpn, Mode, Nand, Op, Sink};
use spec::Spec;

use crate::device::{PAGES, Real, chip, layers, mount, writes, written_pages};
use crate::recorder::{Call, Calls, Recorder, WHOLE};

#[test]
fn rewrites_of_a_waiting_page_are_absorbed() {
    let (mut real, calls) = Real::recorded(2, "");
    real.write_each(&[0, 0, 0, 1, 0]);
    assert!(calls.read().unwrap().is_empty());
    assert_eq!((real.figure("write_hits"), real.figure("write_misses")), (3.0, 2.0));
    assert_eq!((real.figure("write_hit_ratio"), real.figure("waiting")), (0.6, 2.0));
}

#[test]
fn the_least_recently_written_page_is_evicted() {
    let (mut real, calls) = Real::recorded(2, "");
    real.write_each(&[0, 1, 2]);
    assert_eq!(written_pages(&calls), [[0]]);
    // 1 is older than 2, but it is written again; so 2 is evicted.
    real.write_each(&[1, 3]);
    assert_eq!(written_pages(&calls), [[0], [2]]);
}

#[test]
fn a_read_makes_a_page_recent_only_if_the_buffer_serves_it() {
    let (mut real, calls) = Real::recorded(2, "");
    real.write_each(&[0, 1]);
    assert_eq!(real.read(0, 0b0110), [0, 1, 1, 0]);
    real.write(2, 1);
    assert_eq!(written_pages(&calls), [[1]]);
    assert_eq!(real.figure("read_hits"), 1.0);
    // The buffer holds only sector 0 of page 0, which is not wanted. So the read does not make page
    // 0 recent, and page 0 is older than 2.
    let (mut real, calls) = Real::recorded(2, "");
    real.patch(0, 0b0001);
    real.write(1, 1);
    assert_eq!(real.read(0, 0b0110), [0; 4]);
    real.write(2, 1);
    let read = Call::Read { lpn: 0, mask: 0b0110 };
    let write = Call::Write { first: 0, masks: vec![0b0001], request_bytes: 2048 };
    assert_eq!(*calls.read().unwrap(), [read, write]);
    assert_eq!((real.figure("read_hits"), real.figure("read_misses")), (0.0, 1.0));
}

#[test]
fn reads_insert_nothing() {
    let (mut real, calls) = Real::recorded(2, "");
    real.write_each(&[0, 1]);
    real.read_run(2, 3, WHOLE, WHOLE);
    assert_eq!((calls.read().unwrap().len(), real.figure("waiting")), (3, 2.0));
}

#[test]
fn a_read_served_in_part_passes_on_only_the_rest() {
    let (mut real, calls) = Real::recorded(1, "");
    real.write_each(&[0, 1]);
    real.patch(0, 0b0011);
    calls.write().unwrap().clear();
    assert_eq!(real.read(0, WHOLE), [3, 3, 1, 1]);
    assert_eq!(real.read(0, 0b0001), [3, 0, 0, 0]);
    assert_eq!(*calls.read().unwrap(), [Call::Read { lpn: 0, mask: 0b1100 }]);
    assert_eq!(real.figure("read_hits"), 2.0);
}

#[test]
fn a_new_page_is_inserted_before_another_is_evicted_and_takes_a_whole_slot() {
    let (mut real, calls) = Real::recorded(1, "");
    real.write(0, 3);
    assert_eq!(
        written_pages(&calls),
        [[0], [1]],
        "pages are evicted one by one, and the last one waits"
    );
    let (mut real, calls) = Real::recorded(2, "");
    [4, 5, 6].into_iter().for_each(|page| real.patch(page, 0b0001));
    assert_eq!(writes(&calls), [(4, vec![0b0001])], "a page with one sector takes a whole slot");
}

#[test]
fn masks_add_up_and_are_passed_down_with_the_page() {
    let (mut real, calls) = Real::recorded(1, "");
    real.patch(0, 0b0001);
    real.patch(0, 0b0100);
    real.patch(1, 0b0011);
    real.patch(1, 0b1100);
    real.write(2, 1);
    assert_eq!(writes(&calls), [(0, vec![0b0101]), (1, vec![WHOLE])]);
    assert_eq!((real.figure("subpages"), real.figure("evicted")), (1.0, 2.0));
    assert_eq!((real.figure("subpage_share"), real.figure("mean_sectors")), (0.5, 3.0));
    assert_eq!(real.figure("mean_subpage_sectors"), 2.0);
}

#[test]
fn a_flush_writes_all_pages_in_lru_order_and_then_flushes_below() {
    let (mut real, calls) = Real::recorded(4, "");
    real.write_each(&[3, 1, 2, 3]);
    real.flush();
    assert_eq!(written_pages(&calls), [[1], [2], [3]]);
    assert_eq!(calls.read().unwrap().last(), Some(&Call::Flush));
    assert_eq!((real.figure("drained"), real.figure("evicted")), (3.0, 0.0));
    real.flush();
    assert_eq!(written_pages(&calls).len(), 3, "nothing waits any more");
}

#[test]
fn a_forced_write_passes_down_its_own_pages() {
    let (mut real, calls) = Real::recorded(4, "");
    real.write_each(&[0, 7]);
    real.write(5, 2);
    real.flush_run(5, 2);
    assert_eq!(written_pages(&calls), [[5], [6]]);
    assert_eq!(calls.read().unwrap().last(), Some(&Call::Flush));
    assert_eq!(real.figure("waiting"), 2.0);
}

#[test]
fn a_trim_removes_pages_before_it_is_passed_down() {
    let (mut real, calls) = Real::recorded(4, "");
    real.write_each(&[0, 1, 5]);
    real.trim(0, 4);
    real.flush();
    assert_eq!(written_pages(&calls), [[5]]);
    assert_eq!(calls.read().unwrap()[0], Call::Trim { first: 0, pages: 4 });
    assert_eq!((real.figure("dropped"), real.figure("soiled")), (2.0, 3.0));
    assert_eq!(real.read(1, WHOLE), [0; 4]);
}

#[test]
fn an_evicted_run_includes_neighbours_of_the_same_block() {
    let (mut real, calls) = Real::recorded(5, ",evict=run");
    // The buffer holds 3 4 … 7 8. The oldest page is 6. Its neighbours 5 and 7 are in the same
    // block, 8 is not.
    real.write_each(&[6, 8, 5, 7, 3, 0]);
    assert_eq!(written_pages(&calls), [vec![5, 6, 7]]);
    assert_eq!((real.figure("evicted"), real.figure("runs")), (3.0, 1.0));
    assert_eq!(real.figure("waiting"), 3.0);
}

/// Writes pages with their streams, then flushes. Returns the pages and the stream of each run.
fn with_streams(settings: &str, pages: &[(u32, u8)]) -> Vec<(Vec<u32>, u8)> {
    let recorder = Recorder::default();
    let (calls, streams) = (recorder.calls.clone(), recorder.streams.clone());
    let mut real = Real::above(recorder, 4, settings);
    for (&(page, stream), number) in pages.iter().zip(1..) {
        let run = Run::whole(Lpn(page), 1, 2048, Data::Stamp(number));
        real.ftl.write_run(&mut real.nand, &Run { stream, ..run }).unwrap();
    }
    real.flush();
    let streams = streams.read().unwrap().clone();
    written_pages(&calls).into_iter().zip(streams).collect()
}

#[test]
fn an_evicted_page_has_the_stream_of_its_last_write() {
    let found = with_streams("", &[(4, 1), (5, 2), (4, 3), (9, 0)]);
    assert_eq!(found, [(vec![5], 2), (vec![4], 3), (vec![9], 0)]);
}

#[test]
fn an_evicted_run_has_one_stream() {
    let pages = [(4, 1), (5, 1), (6, 2), (7, 1)];
    let found = with_streams(",evict=run", &pages);
    assert_eq!(found, [(vec![4, 5], 1), (vec![6], 2), (vec![7], 1)]);
    let alike = pages.map(|(page, _)| (page, 1));
    assert_eq!(with_streams(",evict=run", &alike), [(vec![4, 5, 6, 7], 1)]);
}

#[test]
fn only_the_ends_of_a_run_are_partial() {
    let run = |partial: &[u32], oldest: u32| {
        let (mut real, calls) = Real::recorded(4, ",evict=run");
        let others = (4..8).filter(|&page| page != oldest);
        for page in [oldest].into_iter().chain(others) {
            real.patch(page, if partial.contains(&page) { 0b0110 } else { WHOLE });
        }
        real.write(0, 1);
        writes(&calls)
    };
    assert_eq!(run(&[], 6), [(4, vec![WHOLE; 4])]);
    assert_eq!(run(&[4, 7], 5), [(4, vec![0b0110, WHOLE, WHOLE, 0b0110])]);
    // The search goes downwards first: 5 can only be an end.
    assert_eq!(run(&[5], 5), [(4, vec![WHOLE, 0b0110])]);
    assert_eq!(run(&[5], 6), [(5, vec![0b0110, WHOLE, WHOLE])]);
    assert_eq!(run(&[4], 4), [(4, vec![0b0110, WHOLE, WHOLE, WHOLE])]);
    assert_eq!(run(&[5, 6], 7), [(6, vec![0b0110, WHOLE])]);
}

#[test]
fn an_evicted_run_carries_the_data_of_all_its_pages() {
    let (mut real, _) = Real::recorded(3, ",evict=run");
    real.patch(5, 0b0001);
    real.patch(4, WHOLE);
    real.patch(5, 0b1000);
    real.write_each(&[0, 1]);
    assert_eq!(real.figure("runs"), 1.0);
    assert_eq!((real.read(4, WHOLE), real.read(5, WHOLE)), ([2; 4], [1, 0, 0, 3]));
}

#[test]
fn a_buffer_that_caches_reads_keeps_them_clean() {
    let (mut real, calls) = Real::recorded(2, ",reads=true");
    real.write_each(&[0, 1, 2, 3]);
    real.flush();
    calls.write().unwrap().clear();
    // The first read fills the buffer, the second is served from it, sector by sector.
    assert_eq!(real.read(0, 0b0001), [1, 0, 0, 0]);
    assert_eq!(real.read(0, 0b0011), [1, 1, 0, 0]);
    assert_eq!(real.read(0, 0b0011), [1, 1, 0, 0]);
    let expected = [Call::Read { lpn: 0, mask: 0b0001 }, Call::Read { lpn: 0, mask: 0b0010 }];
    assert_eq!(*calls.read().unwrap(), expected);
    // Clean pages are dropped without a write. Once written, they wait like others.
    real.read(1, WHOLE);
    real.patch(0, 0b1000);
    real.read(2, WHOLE);
    real.read(3, WHOLE);
    assert_eq!(
        writes(&calls),
        [(0, vec![0b1000])],
        "only the written sectors are passed on, not all that the buffer held"
    );
    assert_eq!((real.figure("soiled"), real.figure("waiting")), (5.0, 0.0));
    assert_eq!(real.read(0, WHOLE), [1, 1, 1, 5]);
}

#[test]
fn a_flush_keeps_the_order_of_clean_pages() {
    let (mut real, calls) = Real::recorded(4, ",reads=true");
    real.read(0, WHOLE);
    real.write(1, 1);
    real.read(2, WHOLE);
    real.flush();
    calls.write().unwrap().clear();
    // 1 has been evicted; 0 must be next, before 2.
    real.write_each(&[4, 5, 6]);
    real.read(2, WHOLE);
    assert!(calls.read().unwrap().is_empty());
    real.read(0, WHOLE);
    assert_eq!(calls.read().unwrap()[0], Call::Read { lpn: 0, mask: WHOLE });
}

#[test]
fn an_evicted_page_reports_the_size_of_its_request() {
    let size = |calls: &Calls| match &calls.read().unwrap()[0] {
        Call::Write { request_bytes, .. } => *request_bytes,
        other => panic!("{other:?}"),
    };
    let (mut real, calls) = Real::recorded(2, "");
    real.write_as_part_of(9000, 0, 1, WHOLE, WHOLE);
    real.write_as_part_of(700, 0, 1, 0b0001, 0b0001);
    real.write_each(&[1, 2]);
    assert_eq!(size(&calls), 700, "the size of the last request that wrote the page");
    let (mut real, calls) = Real::recorded(3, ",evict=run");
    for (bytes, page) in [(2048, 4), (5000, 5), (2048, 6)] {
        real.write_as_part_of(bytes, page, 1, WHOLE, WHOLE);
    }
    real.write(0, 1);
    assert_eq!(size(&calls), 3 * 2048, "at least the size of the run");
    let (mut real, calls) = Real::recorded(2, ",evict=run");
    real.write_as_part_of(70_000, 4, 1, WHOLE, WHOLE);
    real.write_as_part_of(600, 5, 1, 0b0011, 0b0011);
    real.write(0, 1);
    assert_eq!(size(&calls), 70_000, "the largest size that a page of the run reports");
}

#[test]
fn a_layer_below_may_borrow_all_but_one_page_of_the_budget() {
    let recorder = Recorder::default();
    let (calls, borrows) = (recorder.calls.clone(), recorder.borrows.clone());
    let mut real = Real::above(recorder, 4, "");
    real.write_each(&[0, 1, 2, 3]);
    *borrows.write().unwrap() = 2048 + 1;
    // Room for two pages is left; this takes effect at the next eviction.
    real.write(4, 1);
    assert_eq!(written_pages(&calls), [[0], [1], [2]]);
    *borrows.write().unwrap() = 1 << 40;
    real.write(5, 1);
    assert_eq!((written_pages(&calls).len(), real.figure("waiting")), (5, 1.0));
    *borrows.write().unwrap() = 0;
    real.write_each(&[6, 7, 8, 9]);
    assert_eq!(real.figure("waiting"), 4.0);
}

#[test]
fn pages_that_enter_the_scheme_are_counted() {
    let mut real = Real::new("page", "4096", Mode::Count);
    real.write_each(&[0, 0, 1, 2, 3]);
    real.read_run(0, 4, WHOLE, WHOLE);
    real.trim(2, 2);
    let entered = real.ftl.layer_totals().unwrap().entered;
    assert_eq!((entered.written, entered.read, entered.trimmed), (2, 2, 2));
    assert_eq!(real.nand.tally().count(Op::Program, Cause::Host), 2);
    // DRAM accesses: 0, 0, 1, 2 and 3 were put in, 0 and 1 taken out, 2 and 3 read.
    assert_eq!(real.ftl.layer_totals().unwrap().dram_accesses, 9);
    real.ftl.reset_report();
    assert_eq!(
        real.ftl.layer_totals().unwrap().entered.written
            + real.ftl.layer_totals().unwrap().dram_accesses,
        0
    );
}

#[test]
fn the_scheme_completes_partial_pages_only_if_they_are_mapped() {
    let mut real = Real::new("page", "2048", Mode::Count);
    let rmw = |real: &Real| real.nand.tally().count(Op::Read, Cause::Rmw);
    real.patch(0, 0b0001);
    real.patch(1, 0b0001);
    assert_eq!(rmw(&real), 0, "0 is not mapped");
    real.patch(0, 0b0010);
    real.patch(0, 0b0100);
    real.flush();
    assert_eq!(rmw(&real), 1, "one read for two patches");
}

/// last's detector takes only runs of several pages for sequential. A buffer produces such runs
/// with `evict=run`.
#[test]
fn last_sees_single_pages_unless_runs_are_evicted() {
    for (buffer, sequential) in [("8KiB", 0.0), ("8KiB,evict=run", 4.0)] {
        let mut real = Real::new("last", buffer, Mode::Count);
        real.write(0, PAGES);
        real.flush();
        real.ftl.reset_report();
        real.write_each(&[4, 5, 6, 7]);
        real.flush();
        let figures = real.ftl.report().figures;
        let found = figures.iter().find(|(name, _)| *name == "sequential_pages").unwrap();
        assert_eq!(found.1, ftl::Metric::Count(sequential as u64), "{buffer}");
    }
}

#[test]
fn ram_counts_the_buffered_pages_and_the_list() {
    let (real, _) = Real::recorded(5, "");
    let ram = real.ftl.report().ram;
    assert_eq!((ram.buffer, ram.other), (5 * 2048, 7 + 5 * 13));
}

#[test]
fn a_power_cut_loses_waiting_pages_and_nothing_else() {
    let mut real = Real::new("page", "4096", Mode::Stamps);
    real.write_each(&[0, 1, 2, 0, 3]);
    // 0 and 3 wait. In flash are 0 in its first version, 1 and 2.
    real.nand.power().cycle();
    real.ftl = mount("page", "4096", &mut real.nand).unwrap();
    let found: Vec<u32> = (0..4).map(|page| real.read(page, WHOLE)[0]).collect();
    assert_eq!(found, [1, 2, 3, 0]);
}

#[test]
fn bytes_are_passed_through() {
    let mut nand = Nand::new(chip().geometry(14).unwrap(), Mode::Bytes);
    let mut ftl = mount("page", "4096,reads=true,evict=run", &mut nand).unwrap();
    let page = |fill: u8| vec![fill; 2048];
    for (lpn, fill, mask) in [(0, 1, WHOLE), (1, 2, WHOLE), (2, 3, WHOLE), (0, 4, 0b0010)] {
        let bytes = page(fill);
        let run = Run::whole(Lpn(lpn), 1, 2048, Data::Bytes(&bytes));
        ftl.write_run(&mut nand, &Run { head: mask, tail: mask, ..run }).unwrap();
    }
    let mut out = vec![0; 3 * 2048];
    for _ in 0..2 {
        out.fill(0);
        let mut sink = Sink::Bytes { first: Lpn(0), out: &mut out };
        let run = Run::whole(Lpn(0), 3, 2048, Data::None);
        ftl.read(&mut nand, &run, &mut sink).unwrap();
        let mut expected = [page(1), page(2), page(3)].concat();
        expected[512..1024].fill(4);
        assert!(out == expected);
    }
}

#[test]
fn impossible_settings_are_refused_with_the_reason() {
    let parse = |text| Layers::from_texts(&[("buffer", text)]);
    assert!(parse("none").unwrap().is_empty());
    let page = ftl::Choice::from_spec(&Spec::plain("page")).unwrap().scheme;
    let check = |text, chip: &ChipModel| layers(text).check(page, &[], chip);
    let message = |text| parse(text).unwrap_err().to_string();
    assert!(message("4KiB,evict=block").contains("one of `page`, `run`"));
    assert!(message("4KiB,raeds=true").contains("did you mean `reads`?"));
    assert!(message("many").contains("buffer, key `size`"), "{}", message("many"));
    let small = check("2047", &chip()).unwrap_err().to_string();
    assert_eq!(
        small,
        "buffer: 2047 bytes are less than a page of 2048 bytes; give more, or `none`"
    );
    check("2048", &chip()).unwrap();
    let large = ChipModel::from_spec(&Spec::parse("slc-lsb:page=4KiB,spare=128").unwrap()).unwrap();
    assert!(check("2048", &large).is_err());
    assert_eq!(layers("8KiB,evict=run").to_string(), " --buffer 8KiB,evict=run");
    assert_eq!(Durability::Paper.name(), "paper");
}
