//! Conformance without cuts: after every operation everything is read back, the scheme audits
//! itself, and the counts obey their laws.
//!
//! Under [`Durability::Full`] the device is also mounted anew now and then, twice in a row: the
//! contents stay, the versions are in the order of the host's writes (unless a layer lets some
//! wait), and no number of mounts uses the device up. Under [`Durability::Paper`] trims may come
//! back, so it stays on.

use ftl::Durability;
use nand::{Cause, Nand, Op};

use crate::case::{Case, Failure};
use crate::dice::{Dice, mix};
use crate::life::{Act, Life};
use crate::violation::{Kind, Violation};
use crate::workload;

/// Between two mounts lie this many operations, in the mean.
const STEPS_PER_MOUNT: u32 = 8;

/// Runs a case without cuts; returns how many operations of the host were checked.
///
/// # Errors
/// The first violation.
pub fn conform(case: &Case) -> Result<u64, Failure> {
    run(case).map_err(|violation| case.failure(&[], violation))
}

fn run(case: &Case) -> Result<u64, Violation> {
    let mut life = Life::first(case);
    let mut dice = Dice::new(mix(case.seed, 1));
    let free_at_start = life.nand().free_pages();
    life.perform(Act::Mount)?;
    for &step in &case.steps {
        life.perform(Act::Do(step))?;
        life.perform(Act::Check)?;
        obeys_the_laws(life.nand(), free_at_start, life.pages_entered())?;
        if case.durability == Durability::Full && dice.one_in(STEPS_PER_MOUNT) {
            mount_twice(case, &mut life)?;
        }
    }
    if case.durability == Durability::Full {
        survives_many_mounts(case, &mut life)?;
    }
    Ok(case.steps.len() as u64)
}

fn mount_twice(case: &Case, life: &mut Life) -> Result<(), Violation> {
    life.perform(Act::Cycle)?;
    if case.subject.layers.keep_order() {
        versions_are_in_order(life)?;
    }
    life.perform(Act::Cycle)?;
    life.perform(Act::Check)?;
    Ok(())
}

/// More mounts in a row than there are blocks: each may close a block, none may lose one.
fn survives_many_mounts(case: &Case, life: &mut Life) -> Result<(), Violation> {
    for _ in 0..=life.nand().geometry().blocks() {
        life.perform(Act::Cycle)?;
    }
    for step in workload::aftermath(case.space(), mix(case.seed, 2)) {
        life.perform(Act::Do(step))?;
        life.perform(Act::Check)?;
    }
    Ok(())
}

/// A page that holds data has a version, and the page written later has the higher one.
fn versions_are_in_order(life: &mut Life) -> Result<(), Violation> {
    let versions = life.versions()?;
    let per_page = life.oracle().sectors_per_page() as usize;
    let newest = |page: usize| {
        let sectors = page * per_page..(page + 1) * per_page;
        sectors.map(|sector| life.oracle().newest(sector)).max().unwrap_or(0)
    };
    let wrong = |sentence: String| Err(Violation::new(Kind::Misordered, sentence));
    let mut mapped = Vec::new();
    for (page, version) in versions.into_iter().enumerate() {
        match (newest(page), version) {
            (0, None) => {}
            (0, Some(it)) => return wrong(format!("Lpn({page}) holds nothing; version {it}")),
            (write, None) => return wrong(format!("Lpn({page}), write {write}: no version")),
            (write, Some(version)) => mapped.push((write, version, page)),
        }
    }
    mapped.sort_unstable();
    for pair in mapped.windows(2) {
        let [(write, version, page), (later, higher, other)] = [pair[0], pair[1]];
        if higher <= version {
            return wrong(format!(
                "Lpn({page}), write {write}, has version {version}, and Lpn({other}), write \
                 {later}, has {higher}"
            ));
        }
    }
    Ok(())
}

/// One program of cause host a page that entered the scheme; erases are wear; no page is lost to
/// the books.
fn obeys_the_laws(nand: &Nand, free_at_start: u64, pages_entered: u64) -> Result<(), Violation> {
    let tally = nand.tally();
    let (programs, erases) = (tally.total(Op::Program), tally.total(Op::Erase));
    let host = tally.count(Op::Program, Cause::Host);
    let wear: u64 = nand.wear().iter().map(|&erases| u64::from(erases)).sum();
    let per_block = u64::from(nand.geometry().pages_per_block());
    let (lost, free) = (nand.lost_pages(), nand.free_pages());
    equal("host programs", host, "pages that entered", pages_entered)?;
    equal("the sum of wear", wear, "erases", erases)?;
    let given = free_at_start + per_block * erases;
    equal(
        "free pages at the start and erased",
        given,
        "programs, free, lost",
        programs + free + lost,
    )
}

fn equal(left: &str, n: u64, right: &str, m: u64) -> Result<(), Violation> {
    match n == m {
        true => Ok(()),
        false => Err(Violation::new(Kind::Miscounted, format!("{left}: {n}, but {right}: {m}"))),
    }
}
