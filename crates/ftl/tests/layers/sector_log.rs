//! The sector log, cases counted by hand: when its pages are programmed, which pages are read, and
//! which are cleaned.
//!
//! Pages have four sectors, blocks two pages. `[0.0 1.2 …]` is a page of the log: page 0 sector 0,
//! page 1 sector 2.

use ftl::layer::sector_log::{self, SectorLogSize};
use ftl::layer::{LayerBlocks, Layers};
use ftl::{Durability, MountConfig, Run, system_blocks};
use nand::{BlockId, Cause, ChipModel, Cut, Data, Lpn, Mode, Nand, Op, Outcome, Sink};

use crate::common::{self, blocks, choice, config};
use crate::device::{LOGICAL_BLOCKS, PAGE_BYTES, Real, writes, written_pages};
use crate::recorder::{Call, Calls, Recorder, WHOLE};

/// A log of `blocks` blocks.
pub fn layout(blocks: u32) -> SectorLogSize {
    SectorLogSize { blocks, map_bytes_max: None }
}

fn chip(settings: &str) -> ChipModel {
    let spec = format!("slc-lsb:pages_per_block=2{settings}");
    common::chip(&spec)
}

/// A log above a recorder, on a chip with these settings.
pub fn on_chip(settings: &str, layout: SectorLogSize, durability: Durability) -> (Real, Calls) {
    let chip = chip(settings);
    let system = system_blocks(&chip, LOGICAL_BLOCKS, durability);
    let count = LOGICAL_BLOCKS + layout.blocks + system;
    let mut nand = Nand::new(chip.geometry(count).unwrap(), Mode::Stamps);
    let choice = choice("page");
    let blocks: Vec<BlockId> = (0..count).map(BlockId).collect();
    let device =
        MountConfig { durability, ..config(&choice, LOGICAL_BLOCKS, &blocks, chip.timing) };
    let recorder = Recorder::default();
    let calls = recorder.calls.clone();
    let mut recorder = Some(recorder);
    let mut below = |_: &mut Nand, _: &MountConfig| -> ftl::Result<Box<dyn ftl::Ftl>> {
        Ok(Box::new(recorder.take().expect("mounted once")))
    };
    let ftl = sector_log::mount(&mut nand, &device, layout, &mut below).unwrap();
    (Real { nand, ftl, writes: 0 }, calls)
}

fn logged(blocks: u32) -> (Real, Calls) {
    on_chip("", layout(blocks), Durability::Paper)
}

/// Mounts a scheme below a log of this size.
fn mount(ftl: &str, log: &str, nand: &mut Nand) -> ftl::Result<Box<dyn ftl::Ftl>> {
    mount_as(ftl, log, Durability::Paper, nand)
}

fn mount_as(
    ftl: &str,
    log: &str,
    durability: Durability,
    nand: &mut Nand,
) -> ftl::Result<Box<dyn ftl::Ftl>> {
    let choice = choice(ftl);
    let blocks = blocks(nand.geometry());
    let device =
        MountConfig { durability, ..config(&choice, LOGICAL_BLOCKS, &blocks, chip("").timing) };
    layers("none", log).mount(choice.scheme, nand, &device)
}

fn layers(buffer: &str, log: &str) -> Layers {
    Layers::from_texts(&[("buffer", buffer), ("sector_log", log)]).unwrap()
}

impl Real {
    pub fn log(&self, name: &str) -> f64 {
        self.figure_of("sector-log", name)
    }

    fn logs<const N: usize>(&self, names: [&str; N]) -> [f64; N] {
        names.map(|name| self.log(name))
    }

    /// Reads, programs and erases of the log.
    pub fn operations(&self) -> [u64; 3] {
        [Op::Read, Op::Program, Op::Erase].map(|op| self.nand.tally().count(op, Cause::Log))
    }

    /// Writes sectors of pages, with one write per page.
    fn patch_each(&mut self, pages: &[(u32, u64)]) {
        pages.iter().for_each(|&(page, mask)| self.patch(page, mask));
    }

    /// Writes sector 0 of some pages.
    fn touch(&mut self, pages: &[u32]) {
        pages.iter().for_each(|&page| self.patch(page, 1));
    }
}

// ---- The paper's examples -----------------------------------------------------------------------

/// Fig. 5 (a): writes of one sector and of three fill the page buffer, which is programmed once.
#[test]
fn figure_5a_two_writes_are_one_program() {
    let (mut real, calls) = logged(1);
    real.patch(0, 0b0001);
    assert_eq!((real.operations(), real.log("waiting")), ([0, 0, 0], 1.0));
    real.patch(1, 0b0111);
    assert_eq!((real.operations(), real.log("waiting")), ([0, 1, 0], 0.0));
    assert!(calls.read().unwrap().is_empty());
    assert_eq!(real.logs(["Writes_SL", "programmed_sectors", "logged_pages"]), [1.0, 4.0, 2.0]);
}

/// Fig. 5 (b): the sectors of page 0 are in both pages of the log.
fn figure_5b() -> (Real, Calls) {
    let (mut real, calls) = logged(1);
    real.patch_each(&[(0, 0b0001), (1, 0b0111), (0, 0b1110), (1, 0b1000)]);
    assert_eq!(real.operations(), [0, 2, 0]);
    (real, calls)
}

#[test]
fn figure_5b_a_read_takes_both_pages_of_the_log_and_none_of_the_ftl() {
    let (mut real, calls) = figure_5b();
    assert_eq!(real.read(0, WHOLE), [1, 3, 3, 3]);
    assert_eq!(real.operations(), [2, 2, 0]);
    assert!(calls.read().unwrap().is_empty());
}

/// Fig. 5 (c): both pages are read for LPN 0 and for LPN 1, and two whole pages are written to the
/// FTL.
#[test]
fn figure_5c_a_full_log_merges_the_pages_of_its_tail() {
    let (mut real, calls) = figure_5b();
    real.patch(2, 0b0111);
    assert_eq!(real.operations(), [0, 2, 0], "no page is needed yet");
    real.patch(3, 0b0001);
    assert_eq!(writes(&calls), [(0, vec![WHOLE]), (1, vec![WHOLE])]);
    assert_eq!(real.operations(), [4, 3, 1]);
    assert_eq!(real.logs(["log_pages", "log_pages_once", "cleanings"]), [4.0, 2.0, 1.0]);
    assert_eq!(
        real.logs(["Evicts_SL", "evicted_sectors", "sectors_per_eviction"]),
        [2.0, 8.0, 4.0]
    );
    assert_eq!(
        real.read_run(0, 4, WHOLE, WHOLE).iter().map(|it| it.write()).collect::<Vec<_>>(),
        [1, 3, 3, 3, 2, 2, 2, 4, 5, 5, 5, 0, 6, 0, 0, 0]
    );
}

/// Fig. 1: eight writes of a quarter page, to three pages, become three page writes.
#[test]
fn figure_1_eight_quarters_of_three_pages_become_three_pages() {
    let (mut real, calls) = logged(1);
    let quarters = [(1, 1), (2, 1), (3, 1), (1, 2), (2, 2), (3, 2), (1, 4), (2, 4)];
    real.patch_each(&quarters);
    assert_eq!((real.operations(), calls.read().unwrap().len()), ([0, 2, 0], 0));
    real.patch_each(&[(9, 0b0011), (9, 0b1100)]);
    assert_eq!(writes(&calls), [(1, vec![0b0111]), (2, vec![0b0111]), (3, vec![0b0011])]);
    assert_eq!(real.logs(["Writes_subpage", "Evicts_SL"]), [10.0, 3.0]);
}

// ---- Writing ------------------------------------------------------------------------------------

#[test]
fn whole_pages_pass_and_remove_their_sectors_from_the_log() {
    let (mut real, calls) = logged(1);
    real.patch_each(&[(0, 0b0001), (1, 0b0111), (2, 0b0011)]);
    // The log holds [0.0 1.0 1.1 1.2]; 2.0 and 2.1 wait.
    real.write(0, 1);
    assert_eq!(real.logs(["distinct", "left_sectors", "taken_waiting"]), [5.0, 1.0, 0.0]);
    real.write(2, 1);
    assert_eq!(real.logs(["distinct", "left_sectors", "taken_waiting"]), [3.0, 3.0, 2.0]);
    assert_eq!(real.log("waiting"), 0.0);
    assert_eq!(writes(&calls), [(0, vec![WHOLE]), (2, vec![WHOLE])]);
    assert_eq!((real.read(0, WHOLE), real.read(2, WHOLE)), ([4; 4], [5; 4]));
    assert_eq!(real.logs(["Writes_full", "Writes_subpage"]), [2.0, 3.0]);
}

#[test]
fn whole_pages_of_a_run_pass_together_and_its_ends_are_logged() {
    let (mut real, calls) = logged(1);
    real.write_masked(4, 4, 0b1000, 0b0001);
    let passed = Call::Write { first: 5, masks: vec![WHOLE, WHOLE], request_bytes: 8192 };
    assert_eq!(*calls.read().unwrap(), [passed]);
    assert_eq!(real.logs(["Writes_full", "Writes_subpage", "waiting"]), [2.0, 2.0, 2.0]);
    let found: Vec<u32> = real.read_run(4, 4, WHOLE, WHOLE).iter().map(|it| it.write()).collect();
    assert_eq!(found, [0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0]);
}

#[test]
fn a_waiting_sector_is_overwritten_in_place() {
    let (mut real, calls) = logged(1);
    real.touch(&[0, 1, 0]);
    assert_eq!(real.logs(["waiting", "replaced_waiting", "hit_sectors"]), [2.0, 1.0, 1.0]);
    real.patch(2, 0b0011);
    assert_eq!(real.log("Writes_SL"), 1.0);
    // [0.0 1.0 2.0 2.1], then [4.0 4.1 4.2 4.3]: cleaned in the order of their first arrival.
    real.patch_each(&[(4, 0b0111), (4, 0b1000), (5, 0b0111), (5, 0b1000)]);
    assert_eq!(written_pages(&calls), [[0], [1], [2], [4]]);
    assert_eq!(real.read(0, 1)[0], 3);
}

#[test]
fn a_write_may_span_two_pages_of_the_log() {
    let (mut real, _) = logged(1);
    real.patch_each(&[(0, 0b0111), (1, 0b0111)]);
    // The log holds [0.0 0.1 0.2 1.0]; 1.1 and 1.2 wait.
    assert_eq!(real.logs(["Writes_SL", "waiting"]), [1.0, 2.0]);
    assert_eq!(real.read(1, WHOLE), [2, 2, 2, 0]);
    assert_eq!(real.operations(), [1, 1, 0]);
}

#[test]
fn hits_are_counted_by_sector_and_by_write() {
    let (mut real, _) = logged(2);
    real.patch_each(&[(0, 0b0011), (0, 0b0110), (0, 0b1000), (0, 0b0111), (1, 0b0001)]);
    // Sector 1 hits the second time. The third write fills the page. The fourth write hits three
    // times.
    assert_eq!(real.logs(["subpage_sectors", "hit_sectors", "hit_any"]), [9.0, 4.0, 2.0]);
    assert_eq!(real.logs(["subpage_hit_ratio", "hit_any_ratio"]), [4.0 / 9.0, 2.0 / 5.0]);
    assert_eq!(real.logs(["sectors_per_subpage_write", "distinct"]), [9.0 / 5.0, 5.0]);
}

// ---- Cleaning -----------------------------------------------------------------------------------

#[test]
fn pages_are_cleaned_in_the_order_of_their_first_live_sector_in_the_tail() {
    let (mut real, calls) = logged(1);
    real.patch_each(&[(5, 1), (3, 1), (5, 2), (9, 1)]);
    real.patch_each(&[(5, 1), (7, 0b0111)]);
    // [5.0 3.0 5.1 9.0] [5.0 7.0 7.1 7.2]: the first 5.0 is stale, so 3 comes before 5.
    real.patch_each(&[(11, 0b0011), (11, 0b1100)]);
    let expected = [(3, 1), (5, 3), (9, 1), (7, 7)].map(|(page, mask)| (page, vec![mask]));
    assert_eq!(writes(&calls), expected);
    assert_eq!(real.logs(["log_pages", "log_pages_once"]), [1.0 + 2.0 + 1.0 + 1.0, 2.0]);
    assert_eq!(real.logs(["hit_sectors", "left_sectors"]), [1.0, 7.0]);
}

#[test]
fn superseded_sectors_are_left_behind() {
    let (mut real, calls) = logged(1);
    real.touch(&[0, 1, 2, 3, 0, 1, 2, 3]);
    assert_eq!(real.operations(), [0, 2, 0]);
    real.touch(&[0, 1, 2, 3]);
    // The first page is dead; the second is live until its newer copies in DRAM are programmed. So
    // cleaning writes the newest version of every sector to the FTL. Nothing is left to program,
    // and the log is empty.
    assert_eq!(written_pages(&calls), [[0], [1], [2], [3]]);
    assert_eq!((real.operations(), real.log("taken_waiting")), ([4, 2, 1], 4.0));
    // With a second block the tail is dead by then, and nothing is written to the FTL.
    let (mut real, calls) = logged(2);
    (0..5).for_each(|_| real.touch(&[0, 1, 2, 3]));
    assert_eq!((real.operations(), written_pages(&calls).len()), ([0, 5, 1], 0));
    assert_eq!(real.logs(["hit_sectors", "Evicts_SL"]), [16.0, 0.0]);
    assert_eq!(real.log("sectors_per_eviction"), 0.0);
}

#[test]
fn cleaning_takes_waiting_sectors_and_the_page_buffer_fills_again() {
    let (mut real, calls) = logged(1);
    real.touch(&[0, 1, 2, 3, 4, 5, 6, 7]);
    real.patch_each(&[(0, 2), (1, 2), (8, 3)]);
    let two = [(0, vec![3]), (1, vec![3])];
    assert_eq!(writes(&calls)[..2], two);
    assert_eq!((written_pages(&calls).len(), real.operations()), (8, [8, 2, 1]));
    assert_eq!(real.logs(["taken_waiting", "waiting"]), [2.0, 2.0]);
    real.touch(&[9, 10]);
    assert_eq!(real.operations(), [8, 3, 1]);
    assert_eq!(real.read(0, 0b0011), [1, 9, 0, 0]);
}

#[test]
fn a_sector_is_not_dropped_if_its_newer_copy_is_only_in_dram() {
    let (mut real, calls) = logged(1);
    real.touch(&[0, 1, 2, 3, 4, 5, 6, 7]);
    real.touch(&[0, 8, 9, 10]);
    assert_eq!(writes(&calls)[0], (0, vec![1]));
    assert_eq!(real.operations(), [8, 2, 1], "its page of the log is read nevertheless");
    assert_eq!(real.read(0, 1)[0], 9, "the newest copy is read");
    assert_eq!(real.logs(["waiting", "taken_waiting"]), [3.0, 1.0]);
}

#[test]
fn a_page_may_be_cleaned_while_it_is_being_written() {
    let (mut real, calls) = logged(1);
    real.touch(&[0, 1, 2, 3, 4, 5, 6, 7]);
    real.patch_each(&[(8, 0b0011), (0, 0b1110)]);
    // 8.0 8.1 0.1 0.2 fill the page buffer. Cleaning takes 0.0 to 0.2. Then 0.3 arrives, and hits
    // nothing.
    assert_eq!(writes(&calls)[0], (0, vec![0b0111]));
    assert_eq!(real.logs(["waiting", "hit_sectors"]), [3.0, 0.0]);
    assert_eq!(real.read(0, WHOLE), [1, 10, 10, 10]);
    assert_eq!(real.logs(["distinct", "subpage_sectors", "left_sectors"]), [3.0, 13.0, 10.0]);
}

#[test]
fn a_cleaned_page_reports_the_size_of_its_sectors() {
    let (mut real, calls) = logged(1);
    real.patch_each(&[(0, 0b0101), (1, 0b0011), (2, 0b1111 >> 1), (3, 1)]);
    real.patch_each(&[(4, 0b0111), (5, 1)]);
    let sizes: Vec<u64> = calls
        .read()
        .unwrap()
        .iter()
        .map(|call| match call {
            Call::Write { request_bytes, .. } => *request_bytes,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(sizes, [1024, 1024, 1536, 512]);
}

// ---- Reading ------------------------------------------------------------------------------------

#[test]
fn sectors_are_read_from_where_they_are_newest() {
    let (mut real, calls) = logged(2);
    real.write(0, 1);
    real.patch_each(&[(0, 0b0110), (1, 0b0011)]);
    real.patch(0, 0b0100);
    calls.write().unwrap().clear();
    // Sectors 0 and 3 are in the FTL, 1 is in the log, 2 waits.
    assert_eq!(real.read(0, WHOLE), [1, 2, 4, 1]);
    assert_eq!(*calls.read().unwrap(), [Call::Read { lpn: 0, mask: 0b1001 }]);
    assert_eq!(real.operations()[0], 1);
    // Only the requested sectors are read.
    assert_eq!(real.read(0, 0b0100), [0, 0, 4, 0]);
    assert_eq!(real.read(0, 0b0010), [0, 2, 0, 0]);
    assert_eq!((calls.read().unwrap().len(), real.operations()[0]), (1, 2));
    assert_eq!(real.log("log_pages_host"), 2.0);
}

#[test]
fn a_long_read_is_passed_down_in_as_few_runs_as_possible() {
    let (mut real, calls) = logged(2);
    real.patch_each(&[(5, 0b0001), (3, 0b1111 >> 1)]);
    real.read_run(1, 7, 0b1000, 0b0001);
    let read = |lpn, mask| Call::Read { lpn, mask };
    let expected = [
        read(1, 0b1000),
        read(2, WHOLE),
        read(3, 0b1000),
        read(4, WHOLE),
        read(5, 0b1110),
        read(6, WHOLE),
        read(7, 0b0001),
    ];
    assert_eq!((calls.read().unwrap().as_slice(), real.operations()), (&expected[..], [2, 1, 0]));
}

// ---- Flushes and trims --------------------------------------------------------------------------

#[test]
fn a_flush_programs_waiting_sectors_and_pads_the_page() {
    let (mut real, calls) = logged(1);
    real.touch(&[0]);
    real.flush();
    assert_eq!(real.logs(["Writes_SL", "programmed_sectors", "padding_sectors"]), [1.0, 1.0, 3.0]);
    assert_eq!(*calls.read().unwrap(), [Call::Flush]);
    real.flush();
    assert_eq!((real.operations(), calls.read().unwrap().len()), ([0, 1, 0], 2), "nothing waits");
    // A padded page is cleaned like any other. Page 1 waits, and its flush finds the log full.
    real.touch(&[1]);
    real.flush();
    real.touch(&[0]);
    real.flush();
    // Cleaning removes both copies of 0: the one in the log and the waiting one.
    assert_eq!((written_pages(&calls), real.operations()), (vec![vec![0], vec![1]], [2, 2, 1]));
}

#[test]
fn forced_access_programs_the_page_buffer_if_its_own_sectors_wait() {
    let (mut real, calls) = logged(1);
    real.touch(&[0]);
    real.flush_run(5, 2);
    assert_eq!(real.operations(), [0, 0, 0]);
    real.flush_run(0, 1);
    assert_eq!((real.operations(), calls.read().unwrap().len()), ([0, 1, 0], 2));
}

#[test]
fn a_trim_removes_a_page_everywhere() {
    let (mut real, calls) = logged(1);
    real.patch_each(&[(0, 0b0001), (1, 0b0111), (0, 0b0010), (2, 0b0001)]);
    real.trim(0, 2);
    assert_eq!(*calls.read().unwrap(), [Call::Trim { first: 0, pages: 2 }]);
    assert_eq!(real.logs(["left_sectors", "taken_waiting", "waiting"]), [5.0, 1.0, 1.0]);
    assert_eq!((real.read(0, WHOLE), real.read(1, WHOLE)), ([0; 4], [0; 4]));
    assert_eq!(real.operations()[1..], [1, 0]);
    assert_eq!(
        real.nand.tally().count(Op::Program, Cause::Meta),
        0,
        "no trim is recorded under durability paper"
    );
}

/// Under durability full a trim is recorded if the log holds any copy of the pages.
#[test]
fn a_trim_that_must_survive_is_recorded_in_the_log() {
    let (mut real, _) = on_chip("", layout(2), Durability::Full);
    let trims = |real: &Real| real.nand.tally().count(Op::Program, Cause::Meta);
    real.touch(&[0, 1, 2]);
    real.trim(0, 1);
    assert_eq!(trims(&real), 0, "the page only waited; the log held no copy");
    real.touch(&[0, 3]);
    real.write(2, 1);
    real.trim(4, 4);
    assert_eq!(trims(&real), 0);
    real.trim(2, 1);
    assert_eq!((trims(&real), real.log("trim_pages")), (1, 1.0), "its stale copy is in the log");
    // [1.0 2.0 0.0 3.0] [trim] and two more pages; the fifth page cleans the first block.
    real.touch(&[4, 5, 6, 7, 8, 9, 10, 11]);
    assert_eq!(real.operations(), [0, 3, 0]);
    real.trim(4, 1);
    assert_eq!(
        (real.operations(), trims(&real)),
        ([3, 3, 1], 2),
        "0, 1 and 3 were written to the FTL"
    );
    real.trim(1, 1);
    assert_eq!(trims(&real), 2, "no copy of 1 is left");
}

/// The block of the log that holds the newest sector of a trimmed page is erased, and with it the
/// record of the trim. By then the FTL must have recorded the trim; otherwise its older copy of the
/// page would come back.
#[test]
fn data_overwritten_before_a_trim_stays_gone_after_the_log_is_cleaned() {
    let full = Durability::Full;
    let blocks = LOGICAL_BLOCKS + 8 + 2 + system_blocks(&chip(""), LOGICAL_BLOCKS, full);
    let mut nand = Nand::new(chip("").geometry(blocks).unwrap(), Mode::Stamps);
    let ftl = mount_as("page", "8KiB", full, &mut nand).unwrap();
    let mut real = Real { nand, ftl, writes: 0 };
    real.write(0, 1);
    real.touch(&[0, 1, 2, 3]);
    real.ftl.flush(&mut real.nand, None).unwrap();
    assert_eq!(real.read(0, WHOLE), [2, 1, 1, 1]);
    real.trim(0, 1);
    // [0.0 1.0 2.0 3.0] [trim] and two more pages; the fifth page cleans the first block.
    real.touch(&[4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
    assert_eq!(real.log("cleanings"), 1.0);
    real.nand.power().cycle();
    real.ftl = mount_as("page", "8KiB", full, &mut real.nand).unwrap();
    assert_eq!(real.read(0, WHOLE), [0; 4]);
    assert_eq!(real.read(1, 1), [3, 0, 0, 0], "cleaning wrote the page to the FTL");
}

// ---- Sizes --------------------------------------------------------------------------------------

#[test]
fn with_a_size_of_0_everything_passes_and_is_counted() {
    let (mut real, calls) = logged(0);
    real.write_masked(0, 3, 0b1000, 0b0011);
    real.patch(5, 0b0111);
    real.write(7, 1);
    let masks = vec![vec![0b1000, WHOLE, 0b0011], vec![0b0111], vec![WHOLE]];
    assert_eq!(writes(&calls).into_iter().map(|(_, masks)| masks).collect::<Vec<_>>(), masks);
    assert_eq!(real.logs(["Writes_full", "Writes_subpage", "Evicts_SL"]), [2.0, 3.0, 3.0]);
    assert_eq!(real.logs(["subpage_hit_ratio", "sectors_per_eviction"]), [0.0, 2.0]);
    assert_eq!((real.operations(), real.log("map_bytes")), ([0; 3], 0.0));
    assert_eq!(
        (real.ftl.layer_totals().unwrap().borrowed_bytes, real.ftl.report().ram.sector_map),
        (0, 0)
    );
    assert_eq!(real.read(0, WHOLE), [0, 0, 0, 1]);
    real.trim(0, 1);
    real.flush();
    assert_eq!(calls.read().unwrap().last(), Some(&Call::Flush));
}

/// Four blocks, eight pages, eight buckets: 32 bytes, and 24 for each logical page.
#[test]
fn the_map_is_paid_for_by_the_buffer() {
    let (mut real, _) = logged(4);
    assert_eq!(
        (real.log("map_bytes"), real.ftl.layer_totals().unwrap().borrowed_bytes),
        (32.0, 2048 + 32)
    );
    real.patch_each(&[(0, 0b0011), (1, 0b0001), (2, 0b0001), (0, 0b0100)]);
    assert_eq!(
        (real.log("map_bytes"), real.ftl.layer_totals().unwrap().borrowed_bytes),
        (32.0 + 72.0, 2048 + 104)
    );
    assert_eq!(
        (real.ftl.report().ram.sector_map, real.ftl.report().ram.other),
        (104, 7 + 2048 + 20)
    );
}

#[test]
fn a_map_at_its_limit_makes_the_log_clean_early() {
    let layout = SectorLogSize { blocks: 4, map_bytes_max: Some(32 + 5 * 24) };
    let (mut real, calls) = on_chip("", layout, Durability::Paper);
    real.touch(&[0, 1, 2, 3]);
    real.touch(&[4, 5, 6, 7]);
    assert_eq!((written_pages(&calls).len(), real.operations()), (4, [4, 2, 1]));
    assert_eq!(real.logs(["cleanings", "early_cleanings", "map_bytes"]), [1.0, 1.0, 128.0]);
    // There is room for exactly one more page.
    real.touch(&[4, 5, 6, 8]);
    assert_eq!((written_pages(&calls).len(), real.log("map_bytes")), (4, 152.0));
    real.touch(&[4, 5, 6, 9]);
    // The tail holds [4 5 6 7] [4 5 6 8]. After it is cleaned, page 9 is in the log and three pages
    // wait.
    assert_eq!((written_pages(&calls).len(), real.log("waiting")), (9, 1.0));
}

#[test]
fn impossible_settings_are_refused_with_the_reason() {
    let check = |buffer, log| {
        let choice = choice("page");
        layers(buffer, log).check(choice.scheme, &[], &chip("")).map_err(|error| error.to_string())
    };
    // Two pages of 2 KiB; a log of 4 pages: 16 bytes of buckets, 4 entries of 24 bytes.
    assert_eq!(check("4208", "8KiB"), Ok(()));
    let message = check("4207", "8KiB").unwrap_err();
    assert!(message.starts_with("sector-log: its map takes at least 112 bytes"), "{message}");
    assert_eq!(check("2KiB", "0"), Ok(()));
    assert!(check("none", "2TiB").unwrap_err().contains("32-bit"));
    let parse = |log| Layers::from_texts(&[("sector_log", log)]);
    assert!(parse("8KiB,from=spare").unwrap_err().to_string().contains("one of `added`, `extra`"));
    let dram = Layers::from_texts(&[("sector_log", "8KiB"), ("dram", "1MiB")]).unwrap();
    let dftl = choice("dftl");
    let refused = dram.check(dftl.scheme, &[], &chip("")).unwrap_err().to_string();
    assert!(refused.contains("sector log"), "{refused}");
    assert_eq!(layers("4KiB", "8KiB").to_string(), " --buffer 4KiB --sector-log 8KiB");
    let blocks = |log| layers("none", log).blocks(&chip(""));
    assert_eq!(blocks("8193"), LayerBlocks { blocks: 3, added: 3 });
    assert_eq!(blocks("8KiB,from=extra"), LayerBlocks { blocks: 2, added: 0 });
}

// ---- Blocks and bytes ---------------------------------------------------------------------------

/// `page` has blocks 0 to 13, the log has block 14. Cleaning writes pages to the FTL, which opens
/// block 0 for them. The erased block goes to the end of the FTL's list, and the next block of the
/// list, 1, comes to the log.
#[test]
fn an_erased_block_is_exchanged_for_the_next_free_one() {
    let mut nand = Nand::new(chip("").geometry(15).unwrap(), Mode::Stamps);
    let ftl = mount("page", "4KiB", &mut nand).unwrap();
    let mut real = Real { nand, ftl, writes: 0 };
    real.touch(&[0, 1, 2, 3, 4, 5, 6, 7]);
    assert!(real.nand.owners(BlockId(14)).iter().all(|&owner| owner == Lpn::SYSTEM.0));
    let free = real.ftl.report().free_blocks;
    real.touch(&[8, 9, 10, 11]);
    // Eight pages fill blocks 0 to 3, so block 4 comes next.
    assert_eq!(real.nand.owners(BlockId(4)), [Lpn::SYSTEM.0, Lpn::NONE.0]);
    assert_eq!((real.log("exchanges"), real.ftl.report().free_blocks), (1.0, free - 4));
    assert!(real.nand.owners(BlockId(14)).iter().all(|&owner| owner == Lpn::NONE.0));
    // An FTL without free blocks exchanges none: the recorder has no blocks at all.
    let (mut real, _) = logged(1);
    real.touch(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    assert_eq!(real.logs(["cleanings", "exchanges"]), [1.0, 0.0]);
}

/// A spare area of 39 bytes has 19 for addresses, which are five bytes each.
#[test]
fn addresses_that_do_not_fit_the_spare_area_take_a_sector_of_the_page() {
    let (mut real, _) = on_chip(",spare=39", layout(1), Durability::Full);
    real.touch(&[0, 1, 2]);
    assert_eq!(real.logs(["Writes_SL", "programmed_sectors", "address_sectors"]), [1.0, 3.0, 1.0]);
    let (mut real, _) = on_chip(",spare=39", layout(1), Durability::Paper);
    real.touch(&[0, 1, 2]);
    assert_eq!(
        real.logs(["Writes_SL", "waiting"]),
        [0.0, 3.0],
        "durability paper gives up no sector for them"
    );
}

#[test]
fn logged_sectors_survive_a_power_cycle_and_waiting_ones_do_not() {
    let mut nand = Nand::new(chip("").geometry(18).unwrap(), Mode::Stamps);
    let ftl = mount("page", "16KiB", &mut nand).unwrap();
    let mut real = Real { nand, ftl, writes: 0 };
    real.write(0, 2);
    real.patch_each(&[(0, 0b0010), (1, 0b0100), (0, 0b0001), (9, 1), (0, 0b0010)]);
    real.nand.power().cycle();
    real.ftl = mount("page", "16KiB", &mut real.nand).unwrap();
    assert_eq!((real.read(0, WHOLE), real.read(1, WHOLE)), ([4, 2, 1, 1], [1, 1, 3, 1]));
    // A log of one block cannot have two blocks with pages.
    real.touch(&[0, 1, 2, 3, 4, 5, 6, 7]);
    real.nand.power().cycle();
    let error = mount("page", "4KiB", &mut real.nand).map(|_| ()).unwrap_err().to_string();
    assert!(error.ends_with("2 blocks hold pages of the sector log, which has only 1"), "{error}");
}

/// Writes and flushes one sector of a page, again and again. Returns the number of completed
/// writes.
fn write_and_flush(real: &mut Real) -> ftl::Result<()> {
    for step in 0..30 {
        let (page, mask) = (step * 5 % 11, 1 << (step % 4) | 1 << (step / 4 % 4));
        real.writes = step + 1;
        let whole = Run::whole(Lpn(page), 1, PAGE_BYTES, Data::Stamp(step + 1));
        real.ftl.write_run(&mut real.nand, &Run { head: mask, tail: mask, ..whole })?;
        real.ftl.flush(&mut real.nand, None)?;
    }
    Ok(())
}

/// The values that sector `at` may have after `writes` writes. `answered` tells whether the last
/// write was completed.
fn may_read(at: u32, writes: u32, answered: bool) -> [u32; 2] {
    let hits = |step: &u32| {
        let mask = 1_u32 << (step % 4) | 1 << (step / 4 % 4);
        step * 5 % 11 == at / 4 && mask >> (at % 4) & 1 == 1
    };
    let newest = |steps: u32| (0..steps).rev().find(hits).map_or(0, |step| step + 1);
    [newest(writes), newest(if answered { writes } else { writes - 1 })]
}

/// Every write is flushed. A cut may leave any part of the interrupted write, but all other writes
/// must survive.
#[test]
fn a_log_with_addresses_in_its_pages_survives_every_cut() {
    let chip = chip(",spare=39");
    let blocks = LOGICAL_BLOCKS + 4 + 2 + system_blocks(&chip, LOGICAL_BLOCKS, Durability::Full);
    let (mut tried, full) = (0, Durability::Full);
    for outcome in Outcome::ALL {
        for after in 0.. {
            let mut nand = Nand::new(chip.geometry(blocks).unwrap(), Mode::Stamps);
            let ftl = mount_as("page", "8KiB", full, &mut nand).unwrap();
            nand.power().cut_after(Cut { after, outcome });
            let mut real = Real { nand, ftl, writes: 0 };
            let answered = write_and_flush(&mut real).is_ok();
            real.nand.power().cycle();
            real.ftl = mount_as("page", "8KiB", full, &mut real.nand).unwrap();
            real.nand.power().decay().unwrap();
            for (at, stamp) in (0..).zip(real.read_run(0, 11, WHOLE, WHOLE)) {
                let may = may_read(at, real.writes, answered);
                let found = stamp.write();
                assert!(may.contains(&found), "{outcome:?} {after}: {at} is {found} of {may:?}");
            }
            tried += 1;
            if answered {
                break;
            }
        }
    }
    assert!(tried > 300, "only {tried} cuts");
}

#[test]
fn bytes_are_passed_through() {
    let mut nand = Nand::new(chip("").geometry(16).unwrap(), Mode::Bytes);
    let mut ftl = mount("page", "4KiB", &mut nand).unwrap();
    let mut expected = vec![0; 16 * 2048];
    for round in 1..=60_u32 {
        let (lpn, sector) = (round * 7 % 16, round * 5 % 4);
        let bytes = vec![round as u8; 2048];
        let run = Run::whole(Lpn(lpn), 1, PAGE_BYTES, Data::Bytes(&bytes));
        let mask = if round % 9 == 0 { WHOLE } else { 1 << sector | 1 };
        ftl.write_run(&mut nand, &Run { head: mask, tail: mask, ..run }).unwrap();
        for sector in (0..4).filter(|sector| mask >> sector & 1 == 1) {
            let at = (lpn * 4 + sector) as usize * 512;
            expected[at..at + 512].fill(round as u8);
        }
        let mut out = vec![0; 16 * 2048];
        let mut sink = Sink::Bytes { first: Lpn(0), out: &mut out };
        let all = Run::whole(Lpn(0), 16, PAGE_BYTES, Data::None);
        ftl.read(&mut nand, &all, &mut sink).unwrap();
        assert!(out == expected, "round {round}");
    }
    assert!(nand.tally().count(Op::Erase, Cause::Log) > 3);
}
