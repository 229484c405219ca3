//! Extra blocks that come and go while a scheme runs.

use ftl::{Ftl, Run, SCHEMES};
use nand::{BlockId, Cause, Content, Data, Lpn, Nand, Page};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::device::{LOGICAL_BLOCKS, PAGE_BYTES, Real, step};
use crate::naive_victims::settings;

const PAGES_PER_BLOCK: usize = 4;
/// Extra blocks of every device here: dac needs four, and four come and go.
const EXTRA: u32 = 8;

fn remove(real: &mut Real) -> BlockId {
    let blocks = real.ftl.variable_blocks().expect("a scheme with variable blocks");
    let block = blocks.remove_block(&mut real.nand).unwrap();
    real.ftl.audit(&real.nand).unwrap();
    block
}

fn add(real: &mut Real, block: BlockId) {
    real.ftl.variable_blocks().unwrap().add_block(block);
    real.ftl.audit(&real.nand).unwrap();
}

/// Uses a block as a layer does that took it: programs a page, and erases the block.
fn use_and_erase(nand: &mut Nand, ftl: &mut dyn Ftl, block: BlockId) {
    let first = nand.geometry().first_page(block);
    let page = Page { owner: Lpn::SYSTEM, kind: 8, extra: &[], content: Content::Pad };
    nand.program(first, &page, Cause::Log).unwrap();
    ftl.audit(nand).unwrap();
    ftl.base_mut().erase(nand, block, Cause::Log).unwrap();
}

fn forms() -> impl Iterator<Item = String> {
    let with =
        |scheme: &'static str| settings().into_iter().map(move |it| format!("{scheme}:{it}"));
    let more = ["page:frontiers=2", "dac:regions=1"].map(str::to_owned);
    with("page").chain(with("dac")).chain(more)
}

#[test]
fn blocks_come_and_go_between_the_writes() {
    for form in forms() {
        let mut real = Real::new(&form, "sequential", PAGES_PER_BLOCK, EXTRA);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
        let (mut taken, mut moves) = (Vec::new(), 0);
        for _ in 0..1500 {
            step(&mut rng, PAGES_PER_BLOCK).run_on(&mut real);
            match rng.next_u32() % 8 {
                0 if taken.len() < 4 => taken.push(remove(&mut real)),
                1 if !taken.is_empty() => {
                    let block = taken.swap_remove(0);
                    use_and_erase(&mut real.nand, &mut *real.ftl, block);
                    add(&mut real, block);
                }
                _ => continue,
            }
            moves += 1;
        }
        assert!(moves > 200, "{form}: only {moves} blocks came or went");
    }
}

/// Erases of random writes of single pages.
fn erases(form: &str, taken: u32) -> u64 {
    let mut real = Real::new(form, "sequential", PAGES_PER_BLOCK, EXTRA);
    for _ in 0..taken {
        remove(&mut real);
    }
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(9);
    for _ in 0..2000 {
        let lpn = Lpn(rng.next_u32() % (LOGICAL_BLOCKS * PAGES_PER_BLOCK as u32));
        let run = Run::whole(lpn, 1, PAGE_BYTES, Data::None);
        real.ftl.write(&mut real.nand, &run).unwrap();
    }
    real.nand.wear().iter().map(|&erases| u64::from(erases)).sum()
}

#[test]
fn fewer_blocks_cost_erases_and_no_block_is_lost() {
    for form in ["page", "dac"] {
        let [all, fewer] = [0, 4].map(|taken| erases(form, taken));
        assert!(fewer > all, "{form}: {fewer} erases with four blocks fewer, {all} with all");
        let mut real = Real::new(form, "sequential", PAGES_PER_BLOCK, EXTRA);
        let taken: Vec<BlockId> = (0..4).map(|_| remove(&mut real)).collect();
        taken.into_iter().for_each(|block| add(&mut real, block));
        assert_eq!(real.ftl.free_blocks(), LOGICAL_BLOCKS + EXTRA, "{form}");
    }
}

#[test]
fn a_scheme_says_whether_its_blocks_are_variable() {
    for scheme in SCHEMES.iter().filter(|scheme| !scheme.foresees) {
        let mut real = Real::new(scheme.name, "sequential", PAGES_PER_BLOCK, 12);
        assert_eq!(real.ftl.variable_blocks().is_some(), scheme.variable_blocks, "{}", scheme.name);
    }
}
