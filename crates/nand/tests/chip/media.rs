//! Media that can fail: how often, when, and what is left in the end.

use nand::{
    BlockId, Cause, Content, Error, Geometry, Lpn, Media, MediaModel, Mode, Nand, Op, Page, Ppn,
    ProgramOrder,
};

const PAGES: u32 = 4;

fn geometry(blocks: u32, dies: u32) -> Geometry {
    let geometry = Geometry::new(1024, 64, PAGES, blocks, ProgramOrder::Sequential).unwrap();
    geometry.with_dies(dies).unwrap()
}

fn model(text: &str) -> MediaModel {
    MediaModel::parse(text, 3000).unwrap().expect("media that can fail")
}

fn chip(model_text: &str, blocks: u32, reserve: u32, mode: Mode, seed: u64) -> Nand {
    let geometry = geometry(blocks, 1);
    let mut nand = Nand::new(geometry, mode);
    nand.put_on(Media::new(&model(model_text), &geometry, reserve, seed).unwrap());
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
        let mut nand =
            chip("real:endurance=200,spread=10%,factory_bad=0%", blocks, 300, Mode::Count, seed);
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
    let mut nand = chip(model, blocks, 4000, Mode::Count, 7);
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
    // A failed program moves the pages before it, and is made again; each move is recorded twice.
    let tally = nand.tally();
    let media = tally.count(Op::Program, Cause::Media);
    let moves = counts.program_failures + counts.moved_pages + 2 * counts.retired();
    assert_eq!(media, moves);
    assert_eq!(tally.count(Op::Read, Cause::Media), counts.moved_pages);
    assert_eq!(tally.count(Op::Program, Cause::Host), 80_000, "the FTL sees no failure");
}

#[test]
fn blocks_in_use_in_reserve_retired_and_bad_are_all_blocks_at_every_step() {
    let mut nand = chip("real:endurance=20,factory_bad=4%", 50, 20, Mode::Count, 3);
    let sum = |nand: &Nand| {
        let (media, counts) = (nand.media().unwrap(), nand.media().unwrap().counts());
        50 + media.in_reserve() + counts.retired() + counts.factory_bad
    };
    assert!(nand.media().unwrap().counts().factory_bad > 0);
    for step in 0.. {
        let done = cycle(&mut nand, step % 50);
        assert_eq!(sum(&nand), 70);
        if let Err(error) = done {
            assert!(matches!(error, Error::WornOut { die: 0, .. }), "{error}");
            break;
        }
    }
    assert_eq!(nand.media().unwrap().in_reserve(), 0);
}

/// In the end everything can be read, and nothing can be changed.
#[test]
fn what_is_on_flash_can_be_read_when_the_reserve_is_used_up() {
    let mut nand = chip("real:endurance=5,factory_bad=0%", 8, 2, Mode::Stamps, 1);
    let page = Page { owner: Lpn(9), kind: 0, extra: &[], content: Content::Pad };
    nand.program(Ppn(7 * PAGES), &page, Cause::Host).unwrap();
    let worn_out = (0..1000).find_map(|step| cycle(&mut nand, step % 7).err());
    assert!(matches!(worn_out, Some(Error::WornOut { .. })), "{worn_out:?}");
    let tally = nand.tally().clone();
    for _ in 0..3 {
        let next = Ppn(7 * PAGES + 1);
        assert!(matches!(nand.program(next, &page, Cause::Host), Err(Error::WornOut { .. })));
        assert!(matches!(nand.erase(BlockId(7), Cause::Gc), Err(Error::WornOut { .. })));
    }
    assert_eq!(*nand.tally(), tally, "what is refused costs nothing");
    assert!(nand.is_readable(Ppn(7 * PAGES), Lpn(9)).unwrap());
}

#[test]
fn a_block_is_replaced_by_one_of_its_die() {
    let geometry = geometry(40, 4);
    let mut nand = Nand::new(geometry, Mode::Count);
    let media = Media::new(&model("real:endurance=10,factory_bad=0%"), &geometry, 40, 1).unwrap();
    nand.put_on(media);
    // Only blocks of die 1 are used, so its ten blocks in reserve are all that there is.
    let mut worn_out = None;
    for step in 0..100_000 {
        worn_out = cycle(&mut nand, 4 * (step % 10) + 1).err();
        if worn_out.is_some() {
            break;
        }
    }
    assert_eq!(worn_out, Some(Error::WornOut { die: 1, retired: 10 }));
    assert_eq!(nand.media().unwrap().in_reserve(), 30);
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
    let few = Media::new(&model("real:factory_bad=100%"), &geometry(3, 1), 1, 1);
    let why = few.unwrap_err().to_string();
    assert!(why.contains("3 blocks come bad"), "block 0 is good: {why}");
    assert!(why.ends_with("give more with `--reserve`"), "{why}");
}
