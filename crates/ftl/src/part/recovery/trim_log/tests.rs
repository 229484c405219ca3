//! Tests of the trim log.

use super::mount::{LogContents, checkpoint_end};
use super::page::word;
use super::*;
use crate::contract::Durability;
use crate::part::recovery::spare_scan::SpareScan;
use nand::{ChipModel, Cut, Geometry, Mode, Op, Outcome, ProgramOrder, Spare, Timing};
use spec::Params;

const LOGICAL_BLOCKS: u32 = 8;
const PAGES: u32 = 32;

pub(super) fn chip() -> (Nand, Vec<BlockId>) {
    let geometry = Geometry::new(512, 64, 4, 13, ProgramOrder::Sequential).unwrap();
    (Nand::new(geometry, Mode::Stamps), (0..13).map(BlockId).collect())
}

pub(super) fn log(nand: &Nand, blocks: &[BlockId]) -> TrimLog {
    log_of(nand, blocks, LOGICAL_BLOCKS)
}

fn log_of(nand: &Nand, blocks: &[BlockId], logical_blocks: u32) -> TrimLog {
    let device = MountConfig {
        params: &Params::default(),
        logical_blocks,
        blocks,
        durability: Durability::Full,
        seed: 0,
        timing: Timing::default(),
        policy: None,
        foresight: None,
    };
    let (data, log) = TrimLog::split(nand, &device);
    assert!(logical_blocks != LOGICAL_BLOCKS || data.len() == 10);
    log.unwrap()
}

/// Mounts a flash on which no page is mapped. Returns the log and the pages that it believes to
/// be trimmed.
fn try_mount(
    nand: &mut Nand,
    blocks: &[BlockId],
    logical_blocks: u32,
) -> Result<(TrimLog, Vec<u32>)> {
    let mut log = log_of(nand, blocks, logical_blocks);
    let mut scan = SpareScan::read(nand, blocks)?;
    nand.mounting().resume(scan.last().map_or(0, |copy| copy.spare.sequence) + 1);
    nand.mounting().begin_tentative();
    log.read_back(nand, &mut scan, &[])?;
    let suspects = Suspects { pages: scan.last().into_iter().collect(), are_destroyed: false };
    log.commit(nand, |_| false, &suspects, &[])?;
    let trimmed = log.trimmed.runs(0..log.trimmed.bound()).flatten().collect();
    Ok((log, trimmed))
}

/// Mounts a copy of this flash on which no page is mapped. Returns the pages that it believes
/// to be trimmed.
fn mounted(nand: &Nand, blocks: &[BlockId]) -> (Nand, TrimLog, Vec<u32>) {
    let mut nand = Nand::power_up(nand.array().try_clone().unwrap());
    let (log, trimmed) = try_mount(&mut nand, blocks, LOGICAL_BLOCKS).unwrap();
    nand.power().decay().unwrap();
    (nand, log, trimmed)
}

#[test]
fn a_mount_knows_every_flushed_trim_and_no_rewritten_page() {
    let (mut nand, blocks) = chip();
    let mut log = log(&nand, &blocks);
    log.trim(&mut nand, 3..7).unwrap();
    log.trim(&mut nand, 7..9).unwrap();
    log.trim(&mut nand, 20..21).unwrap();
    log.written(Lpn(5));
    log.flush(&mut nand).unwrap();
    log.trim(&mut nand, 30..31).unwrap();
    assert_eq!(mounted(&nand, &blocks).2, [3, 4, 6, 7, 8, 20]);
    log.flush(&mut nand).unwrap();
    assert_eq!(mounted(&nand, &blocks).2, [3, 4, 6, 7, 8, 20, 30]);
    let before = nand.tally().total(Op::Program);
    log.flush(&mut nand).unwrap();
    assert_eq!(nand.tally().total(Op::Program), before, "no trim waits, so nothing is written");
}

#[test]
fn the_log_changes_over_again_and_again() {
    let (mut nand, blocks) = chip();
    let mut log = log(&nand, &blocks);
    for round in 0..100 {
        log.trim(&mut nand, round % PAGES..round % PAGES + 1).unwrap();
        log.written(Lpn((round + 16) % PAGES));
        log.flush(&mut nand).unwrap();
        let trimmed: Vec<u32> = log.trimmed.runs(0..PAGES).flatten().collect();
        // An old record may still name a page that was written since. On a real device that
        // write's newer version would override it. Here nothing is mapped, so the mount may
        // know more trims, never fewer.
        let found = mounted(&nand, &blocks).2;
        assert!(trimmed.iter().all(|page| found.contains(page)), "{trimmed:?} {found:?}");
    }
}

/// Cuts at every program and erase of a long run, with every outcome, and again during the
/// mount.
#[test]
fn no_power_cut_loses_a_flushed_trim() {
    let steps = |nand: &mut Nand, log: &mut TrimLog, flushed: &mut u32| -> Result<()> {
        for page in *flushed..PAGES {
            log.trim(nand, page..page + 1)?;
            log.flush(nand)?;
            *flushed = page + 1;
        }
        Ok(())
    };
    for outcome in Outcome::ALL {
        for after in 0..70 {
            let (mut nand, blocks) = chip();
            let mut log = log(&nand, &blocks);
            let mut flushed = 0;
            nand.power().cut_after(Cut { after, outcome });
            let cut = steps(&mut nand, &mut log, &mut flushed).is_err();
            let (again, _, trimmed) = mounted(&nand, &blocks);
            let known = |trimmed: &[u32]| (0..flushed).all(|page| trimmed.contains(&page));
            assert!(known(&trimmed), "{outcome:?} after {after}: {flushed} of {trimmed:?}");
            let (mut nand, mut log, trimmed) = mounted(&again, &blocks);
            assert!(known(&trimmed), "{outcome:?} after {after}, mounted twice");
            let mut from = flushed;
            steps(&mut nand, &mut log, &mut from).unwrap();
            assert_eq!(mounted(&nand, &blocks).2.len(), PAGES as usize);
            assert!(cut || after > 35, "{after}");
        }
    }
}

/// Trims one page after the other, with a flush after each, until the power fails.
fn trim_all(nand: &mut Nand, log: &mut TrimLog, flushed: &mut u32) -> Result<()> {
    while *flushed < PAGES {
        log.trim(nand, *flushed..*flushed + 1)?;
        log.flush(nand)?;
        *flushed += 1;
    }
    Ok(())
}

/// The checkpoint of a change-over may decay, and so may that of the mount after it. Then a
/// third cut hits the commit of the second mount.
#[test]
fn three_cuts_in_a_row_lose_no_flushed_trim() {
    let after_cut = |nand: &Nand, cut: Option<Cut>| {
        let mut nand = Nand::power_up(nand.array().try_clone().unwrap());
        cut.into_iter().for_each(|cut| nand.power().cut_after(cut));
        nand
    };
    let mut tried = 0;
    for after in 0..70 {
        let (mut nand, blocks) = chip();
        let (mut log, mut flushed) = (log(&nand, &blocks), 0);
        nand.power().cut_after(Cut { after, outcome: Outcome::Unstable });
        if trim_all(&mut nand, &mut log, &mut flushed).is_ok() {
            continue;
        }
        for second in 0..4 {
            let cut = Cut { after: second, outcome: Outcome::Unstable };
            let mut again = after_cut(&nand, Some(cut));
            let _ = try_mount(&mut again, &blocks, LOGICAL_BLOCKS);
            for third in 0..4 {
                let cut = Cut { after: third, outcome: Outcome::Torn };
                let mut last = after_cut(&again, Some(cut));
                let _ = try_mount(&mut last, &blocks, LOGICAL_BLOCKS);
                let mut last = after_cut(&last, None);
                last.power().decay().unwrap();
                let (_, trimmed) = try_mount(&mut last, &blocks, LOGICAL_BLOCKS).unwrap();
                let known = (0..flushed).all(|page| trimmed.contains(&page));
                assert!(known, "{after}, {second}, {third}: {flushed} of {trimmed:?}");
                tried += 1;
            }
        }
    }
    assert!(tried > 500, "{tried}");
}

#[test]
fn change_overs_wear_all_segments_alike() {
    let (mut nand, blocks) = chip();
    let mut log = log(&nand, &blocks);
    for _ in 0..2 {
        for round in 0..100 {
            log.trim(&mut nand, round % PAGES..round % PAGES + 1).unwrap();
            log.flush(&mut nand).unwrap();
            log.written(Lpn(round % PAGES));
        }
        let wear = &nand.array().wear()[10..];
        let (least, most) = (wear.iter().min().unwrap(), wear.iter().max().unwrap());
        assert!(*least > 5 && most - least < 3, "{wear:?}");
        (nand, log, _) = mounted(&nand, &blocks);
    }
}

#[test]
fn a_page_is_void_below_the_limit_of_its_range() {
    let mut found = LogContents::of(0, 16);
    found.add_void(8..12, 20).unwrap();
    found.add_void(9..11, 10).unwrap();
    assert!(found.add_void(15..17, 20).is_none(), "page 16 does not exist");
    let is_void = |ppn, sequence| {
        let (owner, version) = (Lpn(0), sequence);
        let spare = Spare { owner, version, sequence, kind: 1, tentative: false };
        let mut scan = SpareScan::new(*chip().0.geometry());
        scan.restore(Ppn(ppn), spare);
        found.hide_voids(&mut scan);
        scan.copies().next().is_none()
    };
    assert!(is_void(8, 19) && is_void(11, 1));
    assert!(!is_void(8, 20) && !is_void(7, 19) && !is_void(12, 19));
}

#[test]
fn a_checkpoint_is_complete_only_with_all_its_pages_in_order() {
    let (mut nand, blocks) = chip();
    let mut log = log(&nand, &blocks);
    (log.active, log.used) = (0, 0);
    for number in 0..3 {
        start(&mut log.buffer, [CHECKPOINT, 0, number, 3]);
        log.append(&mut nand).unwrap();
    }
    let scan = SpareScan::read(&mut nand, &blocks).unwrap();
    let copies: Vec<PageCopy> = scan.copies().collect();
    let mut end = |numbers: &[usize]| {
        let found: Vec<PageCopy> = numbers.iter().map(|&number| copies[number]).collect();
        checkpoint_end(&mut nand, &found)
    };
    assert_eq!(end(&[0, 1, 2]), Ok(Some((copies[2].spare.sequence, 3))));
    for incomplete in [&[][..], &[0], &[0, 1], &[0, 2], &[1, 2], &[0, 2, 1], &[2]] {
        assert_eq!(end(incomplete), Ok(None), "{incomplete:?}");
    }
}

#[test]
fn every_window_with_a_trimmed_page_is_found() {
    let (nand, blocks) = chip();
    let mut log = log(&nand, &blocks);
    assert_eq!(log.windows_with_trims(8), [0], "a checkpoint has at least one page");
    [0, 8, 23, 24].into_iter().for_each(|page| log.trimmed.insert(page));
    assert_eq!(log.windows_with_trims(8), [0, 8, 16, 24]);
    log.trimmed.remove(0);
    assert_eq!(log.windows_with_trims(8), [8, 16, 24]);
}

/// A device of two windows.
fn large_chip() -> (Nand, Vec<BlockId>, u32) {
    let geometry = Geometry::new(512, 64, 4, 1200, ProgramOrder::Sequential).unwrap();
    (Nand::new(geometry, Mode::Stamps), (0..1200).map(BlockId).collect(), 1000)
}

#[test]
fn checkpoints_and_records_of_several_pages_are_read_as_they_were_written() {
    let (mut nand, blocks, logical_blocks) = large_chip();
    for offset in 0..4 {
        let content = Content::Pad;
        let page = Page { owner: Lpn(offset), kind: page_kind::DATA, extra: &[], content };
        nand.program(Ppn(12 + offset), &page, Cause::Host).unwrap();
    }
    let mut log = log_of(&nand, &blocks, logical_blocks);
    let border = window(512);
    let mut trims: Vec<u32> = (0..100).map(|n| 2 * n).collect();
    trims.extend([border - 1, border, 3999]);
    // The first time the log changes over; then there is room for a record of two pages.
    for round in 0..2 {
        trims.iter().for_each(|&page| log.trim(&mut nand, page..page + 1).unwrap());
        let before = nand.tally().total(Op::Program);
        log.record(&mut nand, Some(BlockId(3))).unwrap();
        // A checkpoint has a seal.
        assert_eq!(nand.tally().total(Op::Program) - before, if round == 0 { 3 } else { 2 });
        let mut again = Nand::power_up(nand.array().try_clone().unwrap());
        let mut scan = SpareScan::read(&mut again, &blocks).unwrap();
        again.mounting().resume(1000);
        let mut found = log_of(&again, &blocks, logical_blocks);
        let tombstones = found.read_back(&mut again, &mut scan, &[]).unwrap();
        let dead: Vec<u32> = tombstones.iter().map(|(lpn, _)| lpn.0).collect();
        assert_eq!(dead, trims);
        let voids = scan.host_copies().next().is_none();
        assert_eq!(voids, round == 1, "the record says that block 3 is void");
    }
}

#[test]
fn all_pages_of_a_checkpoint_are_counted() {
    let (mut nand, blocks) = chip();
    let mut log = log(&nand, &blocks);
    log.erase(&mut nand, BlockId(2), Cause::Gc).unwrap();
    let before = nand.take_sequence();
    log.voids.push(VoidRange::new(&nand, 4..6, before));
    log.change_over(&mut nand).unwrap();
    let pages: Vec<Ppn> = (0..log.used).map(|at| log.page(&nand, log.active, at)).collect();
    let words: Vec<_> = pages
        .iter()
        .map(|&ppn| nand.array().peek_meta(ppn).map(|bytes| (word(&bytes, 2), word(&bytes, 3))))
        .collect();
    let seal = Some((Some(0), Some(0)));
    assert_eq!(words, [Some((Some(0), Some(2))), Some((Some(1), Some(2))), seal]);
}

#[test]
fn voids_of_blocks_that_were_not_scanned_are_kept_with_their_limit() {
    let (mut nand, blocks) = chip();
    let mut log = log(&nand, &blocks);
    log.erase(&mut nand, BlockId(2), Cause::Gc).unwrap();
    let limit = log.voids[0].before;
    for (others, kept) in [(&blocks[3..], vec![(8..12, limit)]), (&blocks[2..], Vec::new())] {
        let mut again = Nand::power_up(nand.array().try_clone().unwrap());
        let mut scan = SpareScan::read(&mut again, others).unwrap();
        again.mounting().resume(1000);
        let mut found = log_of(&again, &blocks, LOGICAL_BLOCKS);
        found.read_back(&mut again, &mut scan, &[]).unwrap();
        assert_eq!(found.current_voids(&again), kept);
    }
}

fn chip_model(settings: &str) -> ChipModel {
    let spec = format!("slc-lsb:page=512,pages_per_block=4{settings}");
    ChipModel::from_spec(&spec::Spec::parse(&spec).unwrap()).unwrap()
}

/// 1000 blocks have 4000 pages. A window has 3968 bits, so a checkpoint has 2 bitmaps, and 65
/// pages of 31 void ranges for 2000 blocks. A segment holds twice as many pages; one is the seal.
#[test]
fn the_system_blocks_hold_three_segments_and_the_shelter() {
    let slc = chip_model("");
    assert_eq!(system_blocks(&slc, 1000, Durability::Paper), 0);
    assert_eq!(system_blocks(&slc, 1000, Durability::Full), 3 * 34);
    assert_eq!(blocks_max(&slc, 1000), (34 * 4 - 3) * 31);
    let mlc = chip_model(",cell_bits=2,pair_distance=2");
    assert_eq!(system_blocks(&mlc, 1000, Durability::Full), 3 * 67 + 2);
    assert_eq!(blocks_max(&mlc, 1000), (67 * 2 - 3) * 31);
    for chip in [slc, mlc] {
        let nand = Nand::new(chip.geometry(1500).unwrap(), Mode::Stamps);
        let blocks: Vec<BlockId> = (0..1500).map(BlockId).collect();
        let system = system_blocks(&chip, 1000, Durability::Full) as usize;
        let device = MountConfig {
            params: &Params::default(),
            logical_blocks: 1000,
            blocks: &blocks,
            durability: Durability::Full,
            seed: 0,
            timing: Timing::default(),
            policy: None,
            foresight: None,
        };
        assert_eq!(system_blocks_of(&nand, &device), system);
        let (data, log) = TrimLog::split(&nand, &device);
        assert_eq!(data.len(), 1500 - system);
        let log = log.unwrap();
        assert_eq!((log.trimmed.bound(), log.ram_bytes()), (4000, 500));
    }
    assert_eq!((ranges_per_page(512), voids_per_page(512)), (62, 31));
}

#[test]
fn trims_wait_until_a_flush_or_until_they_are_too_many() {
    let geometry = Geometry::new(512, 64, 4, 12_000, ProgramOrder::Sequential).unwrap();
    let mut nand = Nand::new(geometry, Mode::Stamps);
    let blocks: Vec<BlockId> = (0..12_000).map(BlockId).collect();
    let mut log = log_of(&nand, &blocks, 10_000);
    log.trim(&mut nand, 3..7).unwrap();
    log.trim(&mut nand, 7..9).unwrap();
    log.trim(&mut nand, 10..11).unwrap();
    assert_eq!(log.waiting, [3..9, 10..11]);
    let most = WAITING_MAX as u32;
    (6..4 + most).for_each(|n| log.trim(&mut nand, 2 * n..2 * n + 1).unwrap());
    assert_eq!((log.waiting.len(), nand.tally().total(Op::Program)), (WAITING_MAX, 0));
    log.trim(&mut nand, 2 * most + 10..2 * most + 11).unwrap();
    assert_eq!(log.waiting, []);
    assert!(nand.tally().total(Op::Program) > 0);
}

#[test]
fn a_record_that_fits_exactly_does_not_change_the_segment() {
    let (mut nand, blocks) = chip();
    let mut log = log(&nand, &blocks);
    for page in 0..5 {
        log.trim(&mut nand, 2 * page..2 * page + 1).unwrap();
        let before = log.active;
        log.flush(&mut nand).unwrap();
        // Four pages: the checkpoint, its seal and two records.
        let fits = (1..3).contains(&page) || page == 4;
        assert_eq!(log.active == before, fits, "flush {page}");
    }
}

fn program(nand: &mut Nand, ppn: u32) {
    let page = Page { owner: Lpn(ppn), kind: 1, extra: &[], content: Content::Pad };
    nand.program(Ppn(ppn), &page, Cause::Host).unwrap();
}

/// The first steps of a mount after a power cycle, up to the point where it may program pages.
fn begin_mount(nand: &mut Nand, blocks: &[BlockId]) -> (TrimLog, SpareScan) {
    nand.power().cycle();
    let (mut log, mut scan) = (log(nand, blocks), SpareScan::read(nand, blocks).unwrap());
    nand.mounting().resume(scan.last().map_or(0, |copy| copy.spare.sequence) + 1);
    nand.mounting().begin_tentative();
    log.read_back(nand, &mut scan, &[]).unwrap();
    (log, scan)
}

fn commit(nand: &mut Nand, log: &mut TrimLog, suspects: &Suspects) -> Result<()> {
    log.commit(nand, |_| true, suspects, &[])
}

/// The pages of the host that a mount finds and that count.
fn counting(nand: &Nand, blocks: &[BlockId]) -> Vec<u32> {
    let (_, scan) = begin_mount(&mut Nand::power_up(nand.array().try_clone().unwrap()), blocks);
    scan.host_copies().map(|copy| copy.ppn.0).collect()
}

#[test]
fn a_page_of_a_mount_that_never_committed_does_not_count_after_later_commits() {
    let (mut nand, blocks) = chip();
    [0, 1].into_iter().for_each(|ppn| program(&mut nand, ppn));
    begin_mount(&mut nand, &blocks);
    program(&mut nand, 2);
    assert_eq!(counting(&nand, &blocks), [0, 1]);
    for _ in 0..3 {
        let (mut log, _) = begin_mount(&mut nand, &blocks);
        commit(&mut nand, &mut log, &Suspects::default()).unwrap();
        assert_eq!(counting(&nand, &blocks), [0, 1], "page 2 alone of its block is void");
    }
}

#[test]
fn a_commit_makes_the_old_place_of_the_suspect_page_void() {
    let (mut nand, blocks) = chip();
    [0, 1].into_iter().for_each(|ppn| program(&mut nand, ppn));
    let (mut log, scan) = begin_mount(&mut nand, &blocks);
    program(&mut nand, 4);
    let suspects = Suspects { pages: scan.last().into_iter().collect(), are_destroyed: false };
    commit(&mut nand, &mut log, &suspects).unwrap();
    assert_eq!(counting(&nand, &blocks), [0, 4]);
}

#[test]
fn a_page_that_was_programmed_after_a_commit_proves_it() {
    let (mut nand, blocks) = chip();
    program(&mut nand, 0);
    let (log, _) = begin_mount(&mut nand, &blocks);
    program(&mut nand, 1);
    // The checkpoint is a single page, and its seal another one.
    for (after, outcome, counts, later) in [
        (0, Outcome::Unstable, &[0][..], &[0][..]),
        (1, Outcome::LooksErased, &[0], &[0]),
        (1, Outcome::Unstable, &[0, 1], &[0, 1]),
        (1, Outcome::Torn, &[0, 1], &[0, 1]),
    ] {
        let (mut cut, mut log) = (Nand::power_up(nand.array().try_clone().unwrap()), log.clone());
        cut.mounting().resume(50);
        cut.mounting().finish();
        cut.mounting().begin_tentative();
        cut.power().cut_after(Cut { after, outcome });
        commit(&mut cut, &mut log, &Suspects::default()).unwrap_err();
        assert_eq!(counting(&cut, &blocks), counts, "{after} {outcome:?}");
        let mut decayed = Nand::power_up(cut.array().try_clone().unwrap());
        decayed.power().decay().unwrap();
        assert_eq!(counting(&decayed, &blocks), later, "{after} {outcome:?}, decayed");
    }
}

/// The seal of a commit went astray. Another page that goes astray must not become it.
#[test]
fn a_mount_erases_a_checkpoint_without_a_seal_before_it_programs() {
    let (mut nand, blocks) = chip();
    for _ in 0..4 {
        let (mut log, _) = begin_mount(&mut nand, &blocks);
        commit(&mut nand, &mut log, &Suspects::default()).unwrap();
    }
    let (mut log, _) = begin_mount(&mut nand, &blocks);
    // After the erase of a segment and a checkpoint of a page.
    nand.power().cut_after(Cut { after: 2, outcome: Outcome::Misdirected });
    commit(&mut nand, &mut log, &Suspects::default()).unwrap_err();
    let unsealed = log.segments[log.active].clone();
    let filled =
        |nand: &Nand| unsealed.iter().map(|&block| nand.array().filled(block)).sum::<u32>();
    assert_eq!(filled(&nand), 1);
    let (log, _) = begin_mount(&mut nand, &blocks);
    assert_eq!(filled(&nand), 0);
    for segment in 0..SEGMENTS {
        let is_sealed = log.segments[segment] != unsealed;
        assert_eq!((log.born[segment] > 0, log.clean[segment]), (is_sealed, !is_sealed));
    }
}

/// Only somebody else can have written such a checkpoint: ours leave room for their seal.
#[test]
fn a_checkpoint_that_fills_its_segment_does_not_count() {
    let (mut nand, blocks) = chip();
    program(&mut nand, 0);
    let mut log = log(&nand, &blocks);
    (log.active, log.used) = (0, 0);
    let pages = log.capacity(&nand);
    for number in 0..pages {
        start(&mut log.buffer, [CHECKPOINT, 0, number, pages]);
        log.append(&mut nand).unwrap();
    }
    let (log, _) = begin_mount(&mut nand, &blocks);
    assert_eq!(log.born, [0; SEGMENTS]);
}

#[test]
fn nothing_is_erased_before_the_commit() {
    let (mut nand, blocks) = chip();
    program(&mut nand, 0);
    let (mut log, _) = begin_mount(&mut nand, &blocks);
    assert_eq!(log.erase(&mut nand, BlockId(0), Cause::Gc), Ok(false));
    assert_eq!(counting(&nand, &blocks), [0]);
    commit(&mut nand, &mut log, &Suspects::default()).unwrap();
    assert_eq!(log.erase(&mut nand, BlockId(0), Cause::Gc), Ok(true));
    assert_eq!(counting(&nand, &blocks), [0; 0]);
}

/// Page 1 of a block would be the upper page of page 0.
#[test]
fn no_program_of_the_log_can_destroy_another_page_of_it() {
    let geometry = Geometry::new(512, 64, 4, 32, ProgramOrder::Sequential).unwrap();
    let pairing = nand::Pairing { bits: 2, distance: 1 };
    let mut nand = Nand::new(geometry.with_pairing(pairing).unwrap(), Mode::Stamps);
    let blocks: Vec<BlockId> = (0..32).map(BlockId).collect();
    let mut log = log_of(&nand, &blocks, LOGICAL_BLOCKS + 1);
    log.trim(&mut nand, 3..4).unwrap();
    log.flush(&mut nand).unwrap();
    let block = log.segments[log.active][0];
    assert_eq!(nand.array().lower_pages(nand.geometry().page(block, 1)).count(), 0);
    assert_eq!(nand.array().lower_pages(Ppn(1)).count(), 1);
}

#[test]
fn only_void_ranges_that_touch_are_joined() {
    let (mut nand, blocks) = chip();
    let mut log = log(&nand, &blocks);
    let (first, second) = (nand.take_sequence(), nand.take_sequence());
    for (pages, before) in [(4..6, first), (7..8, first), (8..10, first), (10..11, second)] {
        log.voids.push(VoidRange::new(&nand, pages, before));
    }
    let expected = [(4..6, first), (7..10, first), (10..11, second)];
    assert_eq!(log.current_voids(&nand), expected);
}

#[test]
fn a_void_range_is_dropped_once_its_block_has_been_erased() {
    let (mut nand, blocks) = chip();
    let mut log = log(&nand, &blocks);
    for block in [2, 3, 2] {
        log.erase(&mut nand, BlockId(block), Cause::Gc).unwrap();
        assert_eq!(log.voids.len(), 1, "only the range of the last erase");
    }
    assert_eq!(log.current_voids(&nand), []);
}

#[test]
fn a_commit_lists_the_free_blocks_that_hold_pages() {
    let (mut nand, blocks) = chip();
    [0, 4, 5, 6, 7].into_iter().for_each(|ppn| program(&mut nand, ppn));
    let (mut log, _) = begin_mount(&mut nand, &blocks);
    let free = [0, 1, 2].map(BlockId);
    log.commit(&mut nand, |_| true, &Suspects::default(), &free).unwrap();
    let pages: Vec<Range<u32>> = log.voids.iter().map(|void| void.pages.clone()).collect();
    assert_eq!(pages, [0..4, 4..8]);
}

/// Block 0 holds a page that counts, so the range begins behind it. In block 2 a page counts that
/// comes later.
#[test]
fn the_voids_of_every_block_are_kept() {
    let (mut nand, blocks) = chip();
    [0, 1, 2, 4, 5, 8, 9].into_iter().for_each(|ppn| program(&mut nand, ppn));
    let mut scan = SpareScan::read(&mut nand, &blocks[..3]).unwrap();
    let hidden = [1, 2, 4, 5, 8].map(Ppn);
    scan.hide(|copy| hidden.contains(&copy.ppn));
    let mut log = log(&nand, &blocks);
    let known = vec![(8..16, 7), (18..19, 8), (20..20, 9)];
    log.keep_voids(&mut nand, &scan, known);
    let pages: Vec<Range<u32>> = log.voids.iter().map(|void| void.pages.clone()).collect();
    assert_eq!(pages, [1..4, 4..8, 8..9, 12..16, 18..19]);
}

#[test]
fn the_limit_of_a_void_range_has_64_bits() {
    let limit = 5 << 32 | 3;
    let words = [VOIDS, 1, 0, 1, 8, 4, 3, 5].map(u32::to_le_bytes);
    assert_eq!(voids_in(words.as_flattened(), 0), Some(vec![(8..12, limit)]));
}

#[test]
fn the_auditor_compares_the_log_with_the_chip() {
    let (mut nand, blocks) = chip();
    let mut log = log(&nand, &blocks);
    log.trim(&mut nand, 3..4).unwrap();
    log.flush(&mut nand).unwrap();
    assert!(log.audit(&nand).is_ok());
    log.used += 1;
    assert!(log.audit(&nand).is_err(), "a page more is recorded than is programmed");
    log.used -= 1;
    log.clean[log.active] = true;
    assert!(log.audit(&nand).is_err(), "the segment is not erased");
}
