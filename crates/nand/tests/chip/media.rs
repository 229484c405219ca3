//! Media that can fail: how often, when, and what is left in the end.

use nand::{
    BlockId, Cause, Content, Copies, Cut, Error, Geometry, Lpn, MediaModel, Mode, Nand, Op,
    Outcome, Page, PageState, Ppn, ProgramOrder, Sink,
};

const PAGES: u32 = 4;

fn geometry(blocks: u32, dies: u32) -> Geometry {
    let geometry = Geometry::new(1024, 64, PAGES, blocks, ProgramOrder::Sequential).unwrap();
    geometry.with_dies(dies).unwrap()
}

/// A list of a thousand moves fits into a page.
fn large_pages(blocks: u32) -> Geometry {
    Geometry::new(16384, 64, PAGES, blocks, ProgramOrder::Sequential).unwrap()
}

fn model(text: &str) -> MediaModel {
    MediaModel::parse(text, 3000).unwrap().expect("media that can fail")
}

fn chip(model_text: &str, blocks: u32, reserve: u32, mode: Mode, seed: u64) -> Nand {
    mounted(model_text, geometry(blocks, 1), reserve, mode, seed)
}

fn mounted(model_text: &str, of_ftl: Geometry, reserve: u32, mode: Mode, seed: u64) -> Nand {
    let model = model(model_text);
    let mut nand = Nand::on_media(of_ftl, mode, &model, reserve, seed).unwrap();
    nand.mount_media(&model, seed).unwrap();
    nand
}

/// Programs a block and erases it.
fn cycle(nand: &mut Nand, block: u32) -> nand::Result<()> {
    for at in 0..PAGES {
        let page = Page { owner: Lpn(at), kind: 0, extra: &[], content: Content::Pad };
        nand.program(Ppn(block * PAGES + at), &page, Cause::Host)?;
    }
    nand.erase(BlockId(block), Cause::Gc)
}

/// The inverse of the normal distribution, by halving.
fn quantile(p: f64) -> f64 {
    let (mut low, mut high) = (-8.0, 8.0);
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        // Simpson's rule over the density from -8 on.
        let steps = 2000;
        let h = (middle + 8.0) / f64::from(steps);
        let density = |x: f64| (-x * x / 2.0).exp() / (2.0 * core::f64::consts::PI).sqrt();
        let sum: f64 = (0..=steps)
            .map(|at| {
                let weight = if at == 0 || at == steps {
                    1.0
                } else if at % 2 == 1 {
                    4.0
                } else {
                    2.0
                };
                weight * density(-8.0 + f64::from(at) * h)
            })
            .sum();
        if sum * h / 3.0 < p { low = middle } else { high = middle }
    }
    low
}

/// Blocks that wear evenly fail in the order of their limits. The k-th of n is an order statistic
/// of the normal distribution: its mean is about the quantile k/(n+1), its standard deviation
/// sqrt(p(1-p)/n)/density.
#[test]
fn blocks_that_wear_evenly_fail_as_order_statistics_say() {
    let (blocks, cycles, spread) = (400, 200.0, 20.0);
    let mut worst = 0.0_f64;
    for seed in 1..=5 {
        let model = "real:endurance=200,spread=10%,factory_bad=0%";
        let mut nand = mounted(model, large_pages(blocks), 300, Mode::Count, seed);
        let (mut failed, mut round) = (Vec::new(), 0_u32);
        while failed.len() < 100 {
            round += 1;
            for block in 0..blocks {
                cycle(&mut nand, block).unwrap();
                let retired = nand.media().unwrap().counts().retired() as usize;
                failed.resize(retired.max(failed.len()), f64::from(round));
            }
        }
        for k in [10_usize, 25, 50, 100] {
            let p = k as f64 / f64::from(blocks + 1);
            let z = quantile(p);
            let density = (-z * z / 2.0).exp() / (2.0 * core::f64::consts::PI).sqrt();
            let sigma = spread * (p * (1.0 - p) / f64::from(blocks)).sqrt() / density;
            // A block fails in the erase after its last good one.
            let expected = cycles + spread * z + 1.0;
            worst = worst.max((failed[k - 1] - expected).abs() / (sigma + 0.5));
        }
    }
    assert!(worst < 3.0, "{worst} sigma");
}

#[test]
fn programs_and_erases_fail_as_often_as_the_model_says() {
    let blocks = 64;
    let model = "real:endurance=1M,factory_bad=0%,program_fail=0.2%,erase_fail=0.4%";
    let mut nand = mounted(model, large_pages(blocks), 1000, Mode::Count, 7);
    for round in 0..20_000 {
        cycle(&mut nand, round % blocks).unwrap();
    }
    let counts = nand.media().unwrap().counts();
    let is_near = |seen: u64, n: f64, p: f64| {
        let sigma = (n * p * (1.0 - p)).sqrt();
        (seen as f64 - n * p).abs() < 3.0 * sigma
    };
    assert!(is_near(counts.program_failures, 80_000.0, 0.002), "{counts:?}");
    assert!(is_near(counts.erase_failures, 20_000.0, 0.004), "{counts:?}");
    assert_eq!(counts.worn_out, 0);
    let tally = nand.tally();
    assert_eq!(tally.count(Op::Program, Cause::Host), 80_000, "the FTL sees no failure");
}

/// As many as the model says, in any order with the programs that fail, and only pages of the host.
/// A copy of such a page is one, too; the next read of the place after an erase is not.
#[test]
fn pages_cannot_be_read_and_reads_are_made_again_as_often_as_the_model_says() {
    let blocks = 64;
    let model = "real:endurance=1M,factory_bad=0%,program_fail=0.2%,unreadable=0.5%,read_fail=1%";
    let mut nand = mounted(model, large_pages(blocks), 2000, Mode::Stamps, 7);
    let mut unreadable = 0;
    let system = Page { owner: Lpn::SYSTEM, kind: 0, extra: &[], content: Content::Pad };
    for round in 0..20_000 {
        let first = round % blocks * PAGES;
        for at in (0..PAGES).map(|at| first + at) {
            let page = Page { owner: Lpn(at), kind: 0, extra: &[], content: Content::Pad };
            let page = if at % PAGES == 1 { &system } else { &page };
            nand.program(Ppn(at), page, Cause::Host).unwrap();
            let read = nand.read(Ppn(at), page.owner, 1, &mut Sink::None, Cause::Host);
            unreadable += u64::from(read.is_err());
            assert!(page.owner != Lpn::SYSTEM || read.is_ok());
            assert!(matches!(nand.array().state(Ppn(at)).unwrap(), PageState::Programmed(_)));
        }
        nand.erase(BlockId(round % blocks), Cause::Gc).unwrap();
    }
    let is_near = |seen: u64, n: f64, p: f64| (seen as f64 - n * p).abs() < 3.0 * (n * p).sqrt();
    let media = nand.media().unwrap();
    assert_eq!(media.lost().len() as u64, unreadable, "whatever is lost was found");
    // A failed program is made again, and may lose its page then.
    assert!(is_near(unreadable, 80_000.0, 0.005), "{unreadable}");
    assert!(is_near(media.counts().program_failures, 80_000.0, 0.002));
    let again = nand.tally().count(Op::Read, Cause::Media);
    let moved = media.counts().moved_pages;
    assert!(is_near(again - moved, 80_000.0, 0.01), "{again} second reads, {moved} of them moves");
    assert_eq!(nand.tally().count(Op::Read, Cause::Host), 80_000);
}

#[test]
fn a_copy_of_a_page_that_cannot_be_read_cannot_be_read() {
    let model = "real:endurance=1M,factory_bad=0%";
    let mut nand = mounted(model, large_pages(8), 100, Mode::Stamps, 1);
    let page = |lpn| Page { owner: Lpn(lpn), kind: 0, extra: &[], content: Content::Pad };
    nand.media_mut().unwrap().fail_program_after(3);
    nand.media_mut().unwrap().lose_page_after(1);
    (0..PAGES).for_each(|at| nand.program(Ppn(at), &page(at), Cause::Host).unwrap());
    assert_eq!(nand.media().unwrap().lost(), [Lpn(1)]);
    assert_eq!(nand.media().unwrap().counts().program_failures, 1, "both events came");
    nand.media_mut().unwrap().lose_page_after(0);
    let from: Vec<Ppn> = (0..2).map(Ppn).collect();
    nand.copy(Ppn(PAGES), Copies::of(&from), Cause::Gc).unwrap();
    assert_eq!(nand.media().unwrap().lost(), [Lpn(1), Lpn(0)], "the copy of 0 is lost, not 0");
    let readable = |nand: &mut Nand, ppn, lpn| nand.is_readable(Ppn(ppn), Lpn(lpn)).unwrap();
    let found = [(0, 0), (1, 1), (PAGES, 0), (PAGES + 1, 1)];
    let found = found.map(|(ppn, lpn)| readable(&mut nand, ppn, lpn));
    assert_eq!(found, [true, false, false, false]);
}

/// A failed program moves the pages before it, and is made again. The list is written twice, at
/// first and for each block that failed; it has one page and its seal.
#[test]
fn a_failure_costs_the_moves_the_list_and_the_erase_of_the_block_that_is_used_then() {
    let model = "real:endurance=1M,factory_bad=0%";
    let mut nand = mounted(model, large_pages(64), 1000, Mode::Count, 7);
    let mut moved = 0;
    for round in 0..400 {
        let media = nand.media_mut().unwrap();
        match round % 5 {
            4 => media.fail_erase_after(0),
            at => {
                media.fail_program_after(at);
                moved += at;
            }
        }
        cycle(&mut nand, round as u32 % 64).unwrap();
    }
    let (tally, media, counts) =
        (nand.tally(), nand.media().unwrap(), nand.media().unwrap().counts());
    assert_eq!((counts.program_failures, counts.erase_failures), (320, 80));
    assert_eq!(counts.moved_pages, moved);
    assert_eq!(media.list_programs(), 4 * (1 + counts.retired()));
    let programs = counts.program_failures + moved + media.list_programs();
    assert_eq!(tally.count(Op::Program, Cause::Media), programs);
    assert_eq!(tally.count(Op::Read, Cause::Media), moved);
    // A copy of the list needs another block every second time.
    let of_lists = 2 * (1 + counts.retired()).div_ceil(2);
    assert_eq!(tally.count(Op::Erase, Cause::Media), counts.retired() + of_lists);
    assert_eq!(media.other_erases(), counts.retired() + of_lists);
    assert_eq!(tally.count(Op::Program, Cause::Host), 1600);
}

#[test]
fn blocks_in_use_in_reserve_retired_and_bad_are_all_blocks_at_every_step() {
    let mut nand = chip("real:endurance=20,factory_bad=4%", 50, 20, Mode::Count, 3);
    let sum = |nand: &Nand| {
        let (media, counts) = (nand.media().unwrap(), nand.media().unwrap().counts());
        let good = 50 + media.in_reserve() + media.list_blocks();
        good + counts.retired() + counts.factory_bad
    };
    assert!(nand.media().unwrap().counts().factory_bad > 0);
    for step in 0.. {
        let done = cycle(&mut nand, step % 50);
        assert_eq!(sum(&nand), 74);
        done.unwrap();
        if let Err(error) = nand.expect_writable() {
            assert!(matches!(error, Error::WornOut { die: 0, .. }), "{error}");
            break;
        }
    }
    assert_eq!(nand.media().unwrap().in_reserve(), 0);
}

/// In the end everything can be read, and nothing that changes lasts.
#[test]
fn what_is_on_flash_can_be_read_when_the_reserve_is_used_up() {
    let text = "real:endurance=5,factory_bad=20%";
    let mut nand = chip(text, 8, 6, Mode::Stamps, 1);
    assert!(nand.media().unwrap().counts().factory_bad > 0);
    let page = Page { owner: Lpn(9), kind: 0, extra: &[], content: Content::Pad };
    nand.program(Ppn(7 * PAGES), &page, Cause::Host).unwrap();
    let mut step = 0;
    while nand.expect_writable().is_ok() {
        cycle(&mut nand, step % 7).unwrap();
        step += 1;
    }
    // The host can only read. The FTL may still write, in memory when no block is left at all.
    nand.sync().unwrap();
    (0..1000).for_each(|step| cycle(&mut nand, step % 7).unwrap());
    assert!(nand.media().unwrap().is_frozen());
    assert!(matches!(nand.sync(), Err(Error::WornOut { .. })), "nothing lasts any more");
    let counts = nand.media().unwrap().counts();
    for _ in 0..3 {
        nand.power().cycle();
        nand.mount_media(&model(text), 1).unwrap();
        assert!(nand.expect_writable().is_err(), "also after the next mount");
        assert_eq!(nand.media().unwrap().counts(), counts);
        let state = nand.read_spare(Ppn(7 * PAGES), Cause::Meta).unwrap();
        assert!(matches!(state, PageState::Programmed(_)));
        nand.mounting().resume(1);
        // A cut finds the flash as it was, whatever happens in memory.
        nand.power().cut_after(Cut { after: 2, outcome: Outcome::Mixed });
        (0..2).for_each(|_| nand.erase(BlockId(7), Cause::Gc).unwrap());
        nand.erase(BlockId(7), Cause::Gc).unwrap_err();
    }
}

#[test]
fn a_block_is_replaced_by_one_of_its_die() {
    let model_text = "real:endurance=10,factory_bad=0%";
    let mut nand = mounted(model_text, geometry(40, 4), 40, Mode::Count, 1);
    // Only blocks of die 1 are used, so its ten blocks in reserve are all that there is.
    let mut worn_out = None;
    for step in 0..100_000 {
        cycle(&mut nand, 4 * (step % 10) + 1).unwrap();
        worn_out = nand.expect_writable().err();
        if worn_out.is_some() {
            break;
        }
    }
    assert_eq!(worn_out, Some(Error::WornOut { die: 1, retired: 10 }));
    assert_eq!(nand.media().unwrap().in_reserve(), 30);
}

#[test]
fn blocks_that_came_bad_are_never_used() {
    let mut nand = mounted("real:factory_bad=30%", large_pages(400), 400, Mode::Count, 11);
    let counts = nand.media().unwrap().counts();
    let (n, p) = (804.0_f64, 0.3);
    let sigma = (n * p * (1.0 - p)).sqrt();
    assert!((counts.factory_bad as f64 - n * p).abs() < 3.0 * sigma, "{counts:?}");
    (0..1000).for_each(|step| cycle(&mut nand, step % 400).unwrap());
    assert_eq!(nand.media().unwrap().counts(), counts, "a bad block fails with its first erase");
}

/// A program that is made again may fail again: before one succeeds, one fails on average.
#[test]
fn a_program_may_fail_several_times() {
    let model = "real:endurance=1M,factory_bad=0%,program_fail=50%";
    let mut nand = mounted(model, large_pages(64), 3000, Mode::Count, 3);
    let mut programs = 0;
    while nand.media().unwrap().in_reserve() > 1000 {
        let block = programs / PAGES % 64;
        let page = Page { owner: Lpn(1), kind: 0, extra: &[], content: Content::Pad };
        nand.program(Ppn(block * PAGES + programs % PAGES), &page, Cause::Host).unwrap();
        programs += 1;
        if programs % PAGES == 0 {
            nand.erase(BlockId(block), Cause::Gc).unwrap();
        }
    }
    // Of the failures of the host's programs and of those of the media, each is of its own block.
    let (tally, counts) = (nand.tally(), nand.media().unwrap().counts());
    let tried = tally.total(Op::Program) as f64;
    let failed = counts.program_failures as f64;
    let sigma = (tried * 0.25).sqrt();
    assert!((failed - tried / 2.0).abs() < 3.0 * sigma, "{failed} of {tried}");
    let of_host = f64::from(programs);
    let by_host = tally.count(Op::Program, Cause::Media) as f64
        - tally.count(Op::Read, Cause::Media) as f64
        - nand.media().unwrap().list_programs() as f64;
    assert!((by_host / of_host - 1.0).abs() < 0.3, "{by_host} of {of_host}");
}

/// Two chips, of which one has failures in each block, hold the same pages.
#[test]
fn what_fails_changes_no_page_and_no_count_of_the_ftl() {
    let order = ProgramOrder::Ascending;
    let geometry = Geometry::new(1024, 64, 8, 6, order).unwrap();
    let mut perfect = Nand::new(geometry, Mode::Stamps);
    let model = "real:endurance=1M,factory_bad=20%";
    let mut real = mounted(model, geometry, 40, Mode::Stamps, 2);
    for step in 0..30 {
        let media = real.media_mut().unwrap();
        media.fail_program_after(u64::from(step) % 4);
        media.fail_erase_after(u64::from(step) % 3);
        let first = Ppn(8 * (step % 6));
        for nand in [&mut perfect, &mut real] {
            if nand.array().filled(BlockId(step % 6)) > 0 {
                nand.erase(BlockId(step % 6), Cause::Gc).unwrap();
            }
            for at in [0, 2, 3, 7] {
                let data = nand::Data::Stamp(step);
                let content = Content::Host { data, mask: 3, base: None };
                let page = Page { owner: Lpn(100 + at), kind: 2, extra: &[7], content };
                nand.program(first.plus(at), &page, Cause::Host).unwrap();
            }
        }
        let copied = [first.plus(0), first.plus(3)];
        let to = Ppn(8 * ((step + 1) % 6));
        for nand in [&mut perfect, &mut real] {
            nand.erase(BlockId((step + 1) % 6), Cause::Gc).unwrap();
            nand.copy(to.plus(1), nand::Copies::of(&copied), Cause::Gc).unwrap();
        }
    }
    assert!(real.media().unwrap().counts().retired() >= 30);
    assert_eq!(real.array().lost_pages(), perfect.array().lost_pages());
    assert_eq!(real.array().wear(), perfect.array().wear());
    assert_eq!(real.array().free_pages(), perfect.array().free_pages());
    for ppn in (0..geometry.pages()).map(Ppn) {
        let [spare, other] = [&real, &perfect].map(|nand| nand.array().peek_spare(ppn).unwrap());
        assert_eq!(spare, other, "{ppn:?}, its place in the order too");
    }
}

/// What cannot be read cannot be read where it has moved, and a block with one bit per cell stays
/// one.
#[test]
fn pages_and_blocks_move_as_they_are() {
    let pairing = nand::Pairing { bits: 2, distance: 1 };
    let geometry = geometry(4, 1).with_pairing(pairing).unwrap();
    let mut nand = mounted("real:endurance=1M,factory_bad=0%", geometry, 20, Mode::Stamps, 1);
    let page = |lpn| Page { owner: Lpn(lpn), kind: 0, extra: &[], content: Content::Pad };
    (0..2).for_each(|at| nand.program(Ppn(at), &page(at), Cause::Host).unwrap());
    nand.power().lose_data(Ppn(0)).unwrap();
    nand.power().cut_after(Cut { after: 0, outcome: Outcome::Torn });
    nand.program(Ppn(2), &page(2), Cause::Host).unwrap_err();
    nand.power().cycle();
    nand.mount_media(&model("real:endurance=1M,factory_bad=0%"), 1).unwrap();
    nand.mounting().resume(10);
    nand.power().cut_after(Cut { after: 0, outcome: Outcome::Unstable });
    nand.program(Ppn(2 * PAGES), &page(6), Cause::Host).unwrap_err();
    nand.power().cycle();
    nand.mount_media(&model(PLAIN), 1).unwrap();
    nand.mounting().resume(20);
    nand.use_as_slc(BlockId(1));
    nand.program(Ppn(PAGES), &page(5), Cause::Host).unwrap();
    for block in 0..3 {
        let next = block * PAGES + [3, 1, 1][block as usize];
        nand.media_mut().unwrap().fail_program_after(0);
        nand.program(Ppn(next), &page(9), Cause::Host).unwrap();
    }
    assert_eq!(nand.media().unwrap().counts().retired(), 3);
    nand.power().decay().unwrap();
    assert!(nand.is_readable(Ppn(2 * PAGES), Lpn(6)).unwrap(), "it was weak, and is not");
    assert!(!nand.is_readable(Ppn(0), Lpn(0)).unwrap(), "its data were lost");
    assert!(nand.is_readable(Ppn(1), Lpn(1)).unwrap());
    assert_eq!(nand.array().state(Ppn(2)).unwrap(), PageState::Unreadable);
    assert_eq!(nand.array().lower_pages(Ppn(3)).count(), 1);
    assert_eq!(nand.array().lower_pages(Ppn(PAGES + 1)).count(), 0, "one bit per cell");
}

#[test]
fn an_erase_that_has_failed_leaves_a_block_that_must_be_erased() {
    let model_text = "real:endurance=1M,factory_bad=0%";
    let mut nand = mounted(model_text, geometry(4, 1), 20, Mode::Stamps, 1);
    nand.media_mut().unwrap().fail_erase_after(0);
    // The erase of the block that shall take its place is cut.
    nand.power().cut_after(Cut { after: 1, outcome: Outcome::Untouched });
    nand.erase(BlockId(0), Cause::Gc).unwrap_err();
    nand.power().cycle();
    assert!(nand.array().is_half_erased(BlockId(0)));
}

/// A block brings its own erases along, and its own limit.
#[test]
fn a_new_block_is_as_good_as_it_is() {
    let model = "real:endurance=50,spread=30%,factory_bad=0%";
    let mut nand = mounted(model, large_pages(30), 300, Mode::Count, 5);
    let mut alike = 0;
    for block in 0..30 {
        let mut lives = Vec::new();
        for _ in 0..2 {
            let retired = nand.media().unwrap().counts().retired();
            let mut life = 0;
            while nand.media().unwrap().counts().retired() == retired {
                cycle(&mut nand, block).unwrap();
                life += 1;
            }
            // It was erased once, before it was used.
            assert_eq!(nand.array().wear_of_blocks()[block as usize], 1);
            lives.push(life);
        }
        alike += u32::from(i32::abs(lives[0] - lives[1]) < 2);
        assert_eq!(nand.array().wear()[block as usize], lives.iter().sum::<i32>() as u32);
    }
    assert!(alike < 10, "{alike} of 30 blocks had the limit of the block before");
}

// ---- The list of moves ------------------------------------------------------------------------

const PLAIN: &str = "real:endurance=1M,factory_bad=0%";

/// A chip with two pages of data, on which this number of erases has failed.
fn chip_with_moves(of_ftl: Geometry, reserve: u32, moves: u32) -> Nand {
    let mut nand = mounted(PLAIN, of_ftl, reserve, Mode::Stamps, 1);
    let page = |lpn| Page { owner: Lpn(lpn), kind: 0, extra: &[], content: Content::Pad };
    let last = BlockId(of_ftl.blocks() - 1);
    (0..2).for_each(|at| {
        nand.program(of_ftl.first_page(last).plus(at), &page(at), Cause::Host).unwrap();
    });
    for at in 0..moves {
        nand.media_mut().unwrap().fail_erase_after(0);
        nand.erase(BlockId(at % (of_ftl.blocks() - 1)), Cause::Gc).unwrap();
    }
    nand
}

fn retired_after_mount(nand: &mut Nand) -> u64 {
    nand.power().cycle();
    nand.mount_media(&model(PLAIN), 1).unwrap();
    nand.media().unwrap().counts().retired()
}

/// The blocks of the media that hold lists.
fn blocks_with_lists(nand: &Nand) -> Vec<BlockId> {
    let all = *nand.array().geometry();
    let others = (nand.geometry().blocks()..all.blocks()).map(BlockId);
    let has_list = |block: &BlockId| {
        let spare = nand.array().peek_spare(all.first_page(*block)).unwrap();
        spare.is_some_and(|(spare, _)| spare.owner == Lpn::SYSTEM)
    };
    others.filter(has_list).collect()
}

fn destroy(nand: &mut Nand, block: BlockId) {
    let all = *nand.array().geometry();
    (0..all.pages_per_block()).for_each(|at| nand.power().lose_data(all.page(block, at)).unwrap());
}

#[test]
fn a_long_list_is_read_as_it_was_written() {
    let of_ftl = Geometry::new(512, 64, 8, 5, ProgramOrder::Sequential).unwrap();
    for moves in [0, 1, 28, 29, 30, 58, 59, 70] {
        let mut nand = chip_with_moves(of_ftl, 100, moves);
        let before = nand.media().unwrap().in_reserve();
        for _ in 0..3 {
            assert_eq!(retired_after_mount(&mut nand), moves.into());
            let media = nand.media().unwrap();
            assert_eq!((media.in_reserve(), media.list_blocks()), (before, 4));
            assert!(nand.array().is_programmed(Ppn(4 * 8 + 1)));
            nand.mounting().resume(100);
        }
        nand.media_mut().unwrap().fail_erase_after(0);
        nand.erase(BlockId(0), Cause::Gc).unwrap();
        assert_eq!(retired_after_mount(&mut nand), u64::from(moves) + 1);
    }
}

/// The list of a cut that struck before its seal does not count, however whole it is.
#[test]
fn a_list_counts_with_its_seal() {
    for (after, retired) in [(2, 0), (3, 0), (4, 1), (5, 1), (6, 1), (7, 1)] {
        let mut nand = chip_with_moves(geometry(4, 1), 8, 0);
        nand.media_mut().unwrap().fail_erase_after(0);
        // The erase that fails, that of the new block; list and seal of each copy.
        nand.power().cut_after(Cut { after, outcome: Outcome::Untouched });
        let done = nand.erase(BlockId(0), Cause::Gc);
        assert_eq!(done.is_ok(), after > 5, "{after}");
        assert_eq!(retired_after_mount(&mut nand), retired, "after {after}");
    }
}

/// Whoever wrote it: a list that names what does not exist must not count, nor end the program.
#[test]
fn a_list_of_blocks_that_do_not_exist_does_not_count() {
    for [block, number] in [[9999, 0], [5, 9999], [9999, 0xFFFF_FFF1], [5, 0xFFFF_FFFA]] {
        let mut nand = chip_with_moves(geometry(4, 1), 8, 3);
        nand.power().cycle();
        let all = *nand.array().geometry();
        let mut blocks = (4..all.blocks()).rev().map(BlockId);
        let erased = blocks.find(|&block| nand.array().filled(block) == 0).unwrap();
        nand.mounting().resume(1 << 20);
        nand.mounting().finish();
        let mut list = b"FTLMOVES".to_vec();
        list.extend([1000_u64, 0].map(u64::to_le_bytes).as_flattened());
        list.extend([0, 1, 1, block, number].map(u32::to_le_bytes).as_flattened());
        for (at, kind, content) in [(0, 0xF0, Content::Meta(&list)), (1, 0xF1, Content::Pad)] {
            let page = Page { owner: Lpn::SYSTEM, kind, extra: &[], content };
            nand.program(all.page(erased, at), &page, Cause::Meta).unwrap();
        }
        assert_eq!(retired_after_mount(&mut nand), 3, "{block} {number}");
    }
}

/// A mount that finds one copy writes both, elsewhere and not first over the one that it has.
#[test]
fn each_mount_leaves_two_copies() {
    for lost in 0..2 {
        for cut in [None, Some(0), Some(1), Some(2), Some(3)] {
            let mut nand = chip_with_moves(geometry(4, 1), 8, 3);
            nand.power().cycle();
            let holders = blocks_with_lists(&nand);
            let newest = |nand: &Nand, block: BlockId| {
                let pages = (0..PAGES).map(|at| nand.array().geometry().page(block, at));
                let versions = pages.filter_map(|ppn| nand.array().peek_spare(ppn).unwrap());
                versions.map(|(spare, _)| spare.version).max()
            };
            let last = holders.iter().filter_map(|&block| newest(&nand, block)).max();
            let both: Vec<BlockId> =
                holders.into_iter().filter(|&block| newest(&nand, block) == last).collect();
            assert_eq!(both.len(), 2);
            destroy(&mut nand, both[lost]);
            if let Some(after) = cut {
                nand.power().cut_after(Cut { after, outcome: Outcome::Complete });
                nand.mount_media(&model(PLAIN), 1).unwrap_err();
            }
            assert_eq!(retired_after_mount(&mut nand), 3, "{lost} {cut:?}");
            nand.power().cycle();
            destroy(&mut nand, both[1 - lost]);
            assert_eq!(retired_after_mount(&mut nand), 3, "{lost} {cut:?}, then the other");
        }
    }
}

/// Up to the end of its life, a chip has a list that a mount finds: the last one is never erased,
/// and nothing is written behind it.
#[test]
fn a_list_is_found_at_each_moment_of_a_life() {
    for (seed, reserve) in (0..40).zip([0, 1, 2, 3, 5, 8].into_iter().cycle()) {
        let text = format!("real:endurance={},spread=20%,factory_bad=0%", 1 + seed % 3);
        let mut nand = chip(&text, 8, reserve, Mode::Stamps, seed);
        let page = Page { owner: Lpn(9), kind: 0, extra: &[], content: Content::Pad };
        nand.program(Ppn(7 * PAGES), &page, Cause::Host).unwrap();
        for step in 0..60 {
            let block = BlockId(step % 7);
            if nand.array().is_half_erased(block) || nand.array().filled(block) > 0 {
                nand.erase(block, Cause::Gc).unwrap();
            }
            cycle(&mut nand, block.0).unwrap();
            let mut again = Nand::power_up(nand.array().try_clone().unwrap());
            again.mount_media(&model(&text), seed).unwrap_or_else(|error| {
                panic!("seed {seed}, step {step}: {error}");
            });
            assert!(again.array().is_programmed(Ppn(7 * PAGES)), "seed {seed}, step {step}");
            if step % 11 == 10 {
                again.mounting().resume(10_000 * u64::from(step));
                nand = again;
            }
        }
    }
}

/// Programs and erases fail in the mount of the media, too. However few blocks there are, a chip
/// that is accepted can be mounted.
#[test]
fn whatever_is_accepted_can_be_mounted() {
    let mut accepted = 0;
    for seed in 0..400 {
        let (reserve, dies) = (seed as u32 % 9, 1 + seed as u32 % 4);
        let bad = 5 * (seed % 7);
        let text = format!(
            "real:endurance=20,factory_bad={bad}%,program_fail={}%,erase_fail=20%",
            20 * (seed % 6)
        );
        let model = model(&text);
        let Ok(mut nand) = Nand::on_media(geometry(8, dies), Mode::Stamps, &model, reserve, seed)
        else {
            continue;
        };
        accepted += 1;
        for _ in 0..3 {
            nand.mount_media(&model, seed).unwrap_or_else(|error| panic!("{text}: {error}"));
            nand.power().cycle();
        }
    }
    assert!(accepted > 100, "{accepted}");
}

/// A die that never had a block in reserve stays at its end.
#[test]
fn the_end_is_known_after_the_next_mount() {
    for reserve in [0, 1] {
        let mut nand = mounted(PLAIN, geometry(8, 2), reserve, Mode::Stamps, 1);
        nand.media_mut().unwrap().fail_erase_after(0);
        nand.erase(BlockId(1), Cause::Gc).unwrap();
        for _ in 0..3 {
            assert!(nand.media().unwrap().is_frozen(), "die 1 has no block");
            assert!(nand.expect_writable().is_err());
            nand.power().cycle();
            nand.mount_media(&model(PLAIN), 1).unwrap();
        }
    }
}

#[test]
fn data_without_a_list_are_not_formatted_away() {
    let mut nand = chip_with_moves(geometry(4, 1), 8, 2);
    nand.power().cycle();
    let holders = blocks_with_lists(&nand);
    holders.iter().for_each(|&block| destroy(&mut nand, block));
    let why = nand.mount_media(&model(PLAIN), 1).unwrap_err().to_string();
    assert!(why.contains("the list of moves cannot be found"), "{why}");
}

/// States that cuts leave are made from the flash before an operation, whose blocks may have other
/// numbers: those of power-on.
#[test]
fn an_operation_is_repeated_on_the_block_that_it_was_made_on() {
    let mut nand = chip_with_moves(geometry(4, 2), 8, 2);
    nand.power().cycle();
    let idle = nand.array().try_clone().unwrap();
    nand.power().record_snapshots();
    nand.mount_media(&model(PLAIN), 1).unwrap();
    nand.mounting().resume(50);
    let page = Page { owner: Lpn(77), kind: 0, extra: &[], content: Content::Pad };
    nand.program(Ppn(0), &page, Cause::Host).unwrap();
    let snapshots = nand.power().take_snapshots();
    let mut found = 0;
    for draw in 0..20 {
        let outcome = Outcome::Reordered;
        let flash = nand::power_cut::reordered(&idle, &snapshots, outcome, draw).unwrap();
        let after = snapshots[0].interrupted(&idle, Outcome::Untouched).unwrap();
        assert!(!Nand::power_up(after).array().is_programmed(Ppn(0)));
        let mut again = Nand::power_up(flash);
        again.mount_media(&model(PLAIN), 1).unwrap();
        let state = again.read_spare(Ppn(0), Cause::Meta).unwrap();
        found += u32::from(matches!(state, PageState::Programmed(spare) if spare.owner == Lpn(77)));
    }
    assert!(found > 3, "{found} of 20");
}

#[test]
fn impossible_media_say_why() {
    let refused = |text: &str| MediaModel::parse(text, 3000).unwrap_err().to_string();
    for (text, hint) in [
        ("reel", "did you mean `real`"),
        ("perfect:endurance=5", "endurance"),
        ("real:endurance=0", "at least one erase"),
        ("real:program_fail=200%", "at most 100%"),
        ("real:wear=5", "wear"),
    ] {
        assert!(refused(text).contains(hint), "{text}: {}", refused(text));
    }
    assert_eq!(MediaModel::parse("perfect", 3000).unwrap(), None);
    assert_eq!(model("real").endurance, 3000, "what the chip is rated for");
    let few = Nand::check_media(&geometry(3, 1), &model("real:factory_bad=100%"), 1, 1);
    let why = few.unwrap_err().to_string();
    assert!(why.contains("3 blocks come bad"), "block 0 is good: {why}");
    assert!(why.ends_with("give more with `--reserve`"), "{why}");
    let many = Nand::check_media(&geometry(3, 1), &model(PLAIN), 200, 1);
    let why = many.unwrap_err().to_string();
    assert!(why.contains("a list of moves of 5 pages, and a block has 4"), "{why}");
}
