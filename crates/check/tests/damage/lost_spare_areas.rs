//! Spare areas that are lost long after the program of their page: nobody knows its owner then. An
//! older version must not be taken for the newest in silence, so the mount refuses such a flash.
//!
//! It notices the loss if another page of the block comes later, and another one is the newest of
//! its logical page. Other losses look like the remains of an interrupted program or erase.

use check::case::Case;
use check::device_model::DeviceModel;
use check::rng::Rng;
use check::subject::Subject;
use ftl::{Durability, Error, SCHEMES};
use nand::page_store::{Fault, Health};
use nand::{BlockId, FlashArray, Ppn, Spare};

use crate::host::{Host, Request};

/// Pages whose loss must be noticed.
fn candidates(flash: &FlashArray) -> Vec<Ppn> {
    let geometry = flash.geometry();
    let spare = |ppn| flash.peek_spare(ppn).unwrap().map(|(spare, _)| spare);
    let pages: Vec<(Ppn, Spare)> =
        (0..geometry.pages()).map(Ppn).filter_map(|ppn| Some((ppn, spare(ppn)?))).collect();
    let age = |spare: &Spare| (spare.version, spare.sequence);
    let is_newest = |own: &Spare| {
        let mut twins = pages.iter().filter(|(_, spare)| spare.owner == own.owner);
        own.owner.is_host() && twins.all(|(_, spare)| age(spare) <= age(own))
    };
    let newest: Vec<Ppn> =
        pages.iter().filter(|(_, spare)| is_newest(spare)).map(|(ppn, _)| *ppn).collect();
    let in_block =
        |block: BlockId| newest.iter().filter(move |ppn| geometry.block_of(**ppn) == block);
    let must_be_noticed = |ppn: &&Ppn| {
        let block = geometry.block_of(**ppn);
        let is_last =
            pages.iter().all(|(other, _)| geometry.block_of(*other) != block || other <= *ppn);
        !is_last && in_block(block).count() > 1
    };
    newest.iter().filter(must_be_noticed).copied().collect()
}

#[test]
fn the_loss_of_a_newest_page_is_noticed_or_changes_nothing() {
    let mut rng = Rng::new(5);
    let (mut noticed, mut harmless) = (0, 0);
    for scheme in SCHEMES.iter().filter(|scheme| !scheme.needs_future) {
        let subject = Subject::of(scheme, &[]).unwrap();
        for (model, round) in ["tiny", "tiny-dies", "small"].into_iter().zip(0..) {
            let model = DeviceModel::named(model).unwrap();
            let case = Case::new(&subject, model, "random", 1, Durability::Full).unwrap();
            for health in [Health::Torn, Health::LooksErased] {
                let mut host = Host::new(&case);
                for number in 0..host.pages() + 100 * (1 + round) {
                    let request = match number < host.pages() {
                        true => Request::fill(number),
                        false => host.draw(&mut rng, number),
                    };
                    host.perform(&request);
                }
                let mounted = host.mount(|flash| {
                    let pages = candidates(&flash);
                    let page = pages[rng.below(pages.len() as u32) as usize];
                    let mut store = flash.into_store().unwrap();
                    store.inject(Fault::Health(page, health)).unwrap();
                    FlashArray::from_store(store).unwrap()
                });
                match mounted {
                    Ok(()) => {
                        host.compare();
                        harmless += 1;
                    }
                    Err(Error::Unmountable(why)) => {
                        assert!(why.contains("cannot be read any more"), "{why}");
                        noticed += 1;
                    }
                    Err(other) => panic!("{}: {other}", subject.name()),
                }
            }
        }
    }
    println!("{noticed} losses noticed, {harmless} harmless");
    assert!(noticed > 80, "only {noticed} losses were noticed");
}
