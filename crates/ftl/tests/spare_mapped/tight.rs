//! Tight collection of lsb: full devices on which the paper's rule finds no room. Pages are written
//! one by one, so that each page of a logical block is in a block of its own.

use std::collections::BTreeMap;

use nand::{Cut, Lpn, Mode, Outcome, Ppn, Sink, Stamp};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::device::{PAGE_BYTES, Real};
use crate::sheets::field;

/// Devices that soon need tight collection: parameters, pages per block, logical and extra blocks.
const DEVICES: [(&str, usize, [u32; 2]); 3] =
    [("groups=1", 8, [20, 3]), ("groups=3", 12, [20, 3]), ("blocks=10,groups=1", 8, [20, 3])];

/// A filled device, and the number of the last write of each page.
struct Crowded {
    real: Real,
    newest: Vec<u32>,
    rng: Xoshiro256PlusPlus,
}

impl Crowded {
    fn new((params, np, [logical, extra]): (&str, usize, [u32; 2]), mode: Mode) -> Crowded {
        let mut real = Real::new(&format!("lsb:{params}"), np, logical, extra, mode);
        let pages = np as u32 * logical;
        real.write(0, pages);
        real.forget_counts();
        let rng = Xoshiro256PlusPlus::seed_from_u64(7);
        Crowded { real, newest: vec![1; pages as usize], rng }
    }

    /// Writes a random page.
    fn write_one(&mut self) {
        let page = self.any_page();
        self.real.write(page, 1);
        self.newest[page as usize] = self.real.writes();
    }

    fn any_page(&mut self) -> u32 {
        self.rng.next_u32() % self.newest.len() as u32
    }

    /// Writes until the power fails; returns the page that was being written.
    fn write_until_cut(&mut self, cut: Cut) -> u32 {
        self.real.nand.power().cut_after(cut);
        loop {
            let page = self.any_page();
            match self.real.try_write(page, 1) {
                Ok(()) => self.newest[page as usize] = self.real.writes(),
                Err(ftl::Error::Chip(nand::Error::PowerLost)) => return page,
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn tight(&self) -> [f64; 2] {
        ["tight_collections", "wide_pages"].map(|name| self.real.figure(name))
    }

    /// Reads all pages; returns the number of the write that each one shows.
    fn read_all(&mut self) -> Vec<u32> {
        let sectors = PAGE_BYTES / 512;
        let mut found = vec![Stamp::default(); self.newest.len() * sectors as usize];
        let run = Real::whole(0, self.newest.len() as u32);
        let mut sink = Sink::Stamps { first: Lpn(0), out: &mut found };
        self.real.ftl.read(&mut self.real.nand, &run, &mut sink).unwrap();
        let pages = found.chunks(sectors as usize).enumerate();
        let write = |(page, stamps): (usize, &[Stamp])| {
            assert_eq!(stamps[0].sector(), page as u32 * sectors);
            assert!(stamps.iter().all(|stamp| stamp.write() == stamps[0].write()));
            stamps[0].write()
        };
        pages.map(write).collect()
    }

    fn reads_right(&mut self) {
        assert_eq!(self.read_all(), self.newest);
    }
}

/// The audit follows all spare areas after each write.
#[test]
fn a_full_device_takes_single_pages_without_end() {
    for device in DEVICES {
        let mut crowded = Crowded::new(device, Mode::Stamps);
        for _ in 0..3000 {
            crowded.write_one();
        }
        crowded.reads_right();
        let [collections, wide] = crowded.tight();
        assert!(collections > 100.0 && wide > 100.0, "{device:?}: {:?}", crowded.tight());
    }
}

#[test]
fn tight_collection_counts_the_same_without_spare_areas() {
    for device in DEVICES {
        let mut both = [Mode::Stamps, Mode::Count].map(|mode| Crowded::new(device, mode));
        for write in 0..1000 {
            both.iter_mut().for_each(Crowded::write_one);
            let [kept, not] = &both;
            assert_eq!(kept.real.counts(), not.real.counts(), "{device:?}, write {write}");
            assert_eq!(kept.tight(), not.tight(), "{device:?}, write {write}");
        }
    }
}

#[test]
fn tight_devices_mount_after_every_write() {
    for device in DEVICES {
        let mut crowded = Crowded::new(device, Mode::Stamps);
        let mut wide = 0.0;
        for _ in 0..1000 {
            crowded.write_one();
            wide += crowded.real.figure("wide_pages");
            crowded.real.remount();
            crowded.reads_right();
        }
        assert!(wide > 10.0, "{device:?}: only {wide} wide pages");
    }
}

/// The flash that a mount finds contains wide pages too.
#[test]
fn tight_devices_mount_after_long_runs() {
    for device in DEVICES {
        let mut crowded = Crowded::new(device, Mode::Stamps);
        let mut found = 0;
        for _ in 0..30 {
            (0..100).for_each(|_| crowded.write_one());
            found += wide_pages(&crowded.real).len();
            crowded.real.remount();
            crowded.reads_right();
        }
        assert!(found > 100, "{device:?}: {found} wide pages were found");
    }
}

/// Cuts the power at programs and erases of tight collections.
#[test]
fn tight_collections_survive_power_cuts() {
    for device in DEVICES {
        let mut crowded = Crowded::new(device, Mode::Stamps);
        for round in 0..100 {
            while crowded.tight()[1] == 0.0 {
                crowded.write_one();
            }
            let outcome = Outcome::OF_PROGRAM[round % 5];
            let after = u64::from(crowded.rng.next_u32() % 60);
            let page = crowded.write_until_cut(Cut { after, outcome }) as usize;
            crowded.real.nand.power().cycle();
            crowded.real.mount();
            let found = crowded.read_all()[page];
            assert!(found == crowded.newest[page] || found == crowded.real.writes(), "{found}");
            crowded.newest[page] = found;
            crowded.real.nand.power().decay().unwrap();
            crowded.reads_right();
        }
    }
}

/// The pages of kind 0x31 that are the newest PMD pages of their logical blocks.
fn wide_pages(real: &Real) -> Vec<Ppn> {
    let spare = |ppn: Ppn| Some(real.nand.array().peek_spare(ppn).unwrap()?.0);
    let np = real.nand.geometry().pages_per_block();
    let mut newest = BTreeMap::new();
    for ppn in (0..real.nand.geometry().pages()).map(Ppn) {
        if let Some(spare) = spare(ppn).filter(|spare| matches!(spare.kind, 0x21 | 0x31)) {
            let known = newest.entry(spare.owner.0 / np).or_insert((0, ppn, 0));
            *known = (*known).max((spare.sequence, ppn, spare.kind));
        }
    }
    let wide = newest.into_values().filter(|&(_, _, kind)| kind == 0x31);
    wide.map(|(_, ppn, _)| ppn).collect()
}

/// Three groups of four pages, 23 blocks: 276 pages, so page numbers of nine bits. The entries of
/// the two other groups come first, then those of the three other pages.
#[test]
fn entries_of_a_wide_page_are_page_numbers() {
    let mut crowded = Crowded::new(DEVICES[1], Mode::Stamps);
    let mut checked = 0;
    for _ in 0..100 {
        (0..10).for_each(|_| crowded.write_one());
        let real = &crowded.real;
        assert_eq!(real.figure("wide_pmd_bits"), 45.0);
        for ppn in wide_pages(real) {
            checked += 1;
            let (spare, bytes) = real.nand.array().peek_spare(ppn).unwrap().unwrap();
            assert_eq!(bytes.len(), 6);
            let (own, first) = (spare.owner.0 / 4, spare.owner.0 / 12 * 3);
            let others = (first..first + 3).filter(|&group| group != own);
            let mut entries = (0..5).map(|at| field(&bytes, 9 * at, 9));
            for (group, to) in others.zip(entries.by_ref()) {
                assert_eq!(
                    standing(real, to).0 / 4,
                    group,
                    "{ppn:?} points to a page of group {group}"
                );
            }
            let others = (4 * own..4 * own + 4).filter(|&page| page != spare.owner.0);
            for (page, to) in others.zip(entries) {
                let (owner, kind) = standing(real, to);
                assert!(owner == page || kind == 0x11 && owner / 4 == own, "{ppn:?}: {page}");
            }
        }
    }
    assert!(checked > 100, "{checked} wide pages");
}

/// The logical page whose newest version is in this physical page, and the kind of the page.
fn standing(real: &Real, ppn: u32) -> (u32, u8) {
    let spare = real.nand.array().peek_spare(Ppn(ppn)).unwrap().unwrap().0;
    assert_eq!(real.place(spare.owner.0), (ppn / 12, ppn % 12), "page {ppn} is dead");
    (spare.owner.0, spare.kind)
}

#[test]
fn collection_returns_to_the_papers_rule_once_that_gains() {
    for device in DEVICES {
        let mut crowded = Crowded::new(device, Mode::Count);
        (0..1000).for_each(|_| crowded.write_one());
        let pages = crowded.newest.len() as u32;
        // All blocks become dead one after the other; then nothing is copied.
        (0..2).for_each(|_| crowded.real.write(0, pages));
        crowded.real.forget_counts();
        (0..2).for_each(|_| crowded.real.write(0, pages));
        assert_eq!(crowded.tight(), [0.0, 0.0], "{device:?}");
    }
}

#[test]
fn devices_with_enough_room_are_never_tight() {
    let mut crowded = Crowded::new(("blocks=12,groups=4", 16, [12, 12]), Mode::Count);
    (0..3000).for_each(|_| crowded.write_one());
    assert!(crowded.real.figure("miw") > 100.0);
    assert_eq!(crowded.tight(), [0.0, 0.0]);
}
