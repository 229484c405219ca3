//! dac: dynamic data clustering (Chiang, Lee and Chang 1999). Pages are grouped with others that
//! are rewritten about as often.
//!
//! ```text
//! region 2  hottest   [a b a b a _]     a page that is rewritten while young moves one region up
//! region 1            [c d e c _ _]
//! region 0  coldest   [f g h i j k]     a valid page that is copied moves one region down
//! ```
//! The flash is divided into R regions, each with an open block of its own. A page starts in the
//! coldest region. It climbs one region if the host rewrites it soon after it was last written or
//! changed region. It sinks one region if garbage collection copies it, because a page that is
//! still valid when its block is collected is not hot. As a result hot blocks hold mostly
//! superseded pages when they are collected, and cold blocks hold mostly valid pages and are left
//! alone.
//!
//! Victims are chosen over all regions, by default with cost-benefit. With one region the scheme
//! equals `page` with one open block. A controller needs one more entry per page, for its region
//! and the time of its last change. Both are in RAM. The simulator keeps the regions by block,
//! because all valid pages of a block are in the same one.
//!
//! Invariants: those of [`page_map`](crate::part::page::page_map). In addition, the valid pages of
//! a block are in one region, and at least `RESERVE` blocks are erased whenever no victim is being
//! emptied. One is enough, because all valid pages of a victim go to the same region, so they fill
//! at most one new block.
//!
//! **Recovery.** The region of a page is in its kind byte, and survives a power cut. The age does
//! not: after a mount every page counts as just written.
//!
//! The firmware of FASTer's author (2011) has dac too, without the age test: each rewrite moves a
//! page up. `promote=always` does the same, and needs no ages.
//!
//! Choices: a page is *young* if fewer than `young` host pages were written since it was last
//! written or changed region; the default is the number of logical pages. The paper speaks of time.
//! A page that is copied within the coldest region has not changed region.

pub mod page_ages;

use nand::{BlockId, Cause, ChipModel, Geometry, Lpn, Nand};
use spec::{Kind, Param, Params};

use self::page_ages::PageAges;
use crate::contract::page_policy::Class;
use crate::contract::{
    Act, BlockRole, Ftl, Lecture, Metric, MountConfig, Report, Result, Run, Scheme, Span,
    Violation, base_is, ensure, table_bytes,
};
use crate::part::map::frontier::Frontier;
use crate::part::page::block_classes::BlockClasses;
use crate::part::page::page_map::{PageMap, single_pages};
use crate::part::page::victims::registry;
use crate::part::recovery::survey;

/// Erased blocks that only garbage collection may open.
const RESERVE: u32 = 1;
/// Maximum number of regions: a region number must fit into the upper half of the kind byte.
const REGIONS_MAX: u64 = 15;
/// Maximum of `young`: ages up to it are kept in 32 bits.
const YOUNG_MAX: u64 = 1 << 31;

const PARAMS: &[&[Param]] = &[
    &[
        Param {
            name: "regions",
            kind: Kind::Count,
            default: "3",
            unit: "regions",
            doc: "R, the number of regions from coldest to hottest, each with its own open block; \
                  1 to 15",
        },
        Param {
            name: "promote",
            kind: Kind::Choice(&["young", "always"]),
            default: "young",
            unit: "",
            doc: "which pages move up when the host rewrites them: young, those that were written \
                  or changed region lately; always, all",
        },
        Param {
            name: "young",
            kind: Kind::Count,
            default: "0",
            unit: "host pages",
            doc: "a page moves up if it is rewritten after fewer host pages than this, at most \
                  2^31; 0: the number of logical pages; only with promote=young",
        },
        registry::victim_param("cost_benefit"),
    ],
    &registry::OWN_PARAMS,
];

/// Dynamic data clustering.
pub static SCHEME: Scheme = Scheme {
    name: "dac",
    summary: "page mapping with regions for hot and cold pages: a rewritten page moves up, a \
              copied page moves down",
    source: "Chiang, Lee, Chang: Using data clustering to improve cleaning performance for flash \
             memory, Software: Practice and Experience 29(3), 1999; base of the sector log's paper",
    lecture: Lecture::of(file!(), include_str!("mod.rs")),
    acts: &[Act {
        cause: Cause::Gc,
        from: "region",
        to: "region",
        name: "collection with demotion",
        says: "The victim is emptied. A page that the host has not rewritten for long \
               moves to the next colder region, the others stay in theirs. The emptied \
               block is erased.",
    }],
    params: &spec::joined::<{ spec::total_len(PARAMS) }>(PARAMS),
    refuses,
    least_extra: |params, _, _| RESERVE + params.count("regions") as u32,
    open_blocks: Some(|params| params.count("regions") as u32),
    memory: |params, geometry, _| {
        let age = match has_ages(params) {
            true => page_ages::bytes(geometry.pages(), params.count("young")),
            false => 0,
        };
        table_bytes(geometry, 4 + age, 40)
    },
    mount,
    ..Scheme::PLAIN
};

fn refuses(params: &Params, _: &ChipModel) -> Option<String> {
    let (regions, young) = (params.count("regions"), params.count("young"));
    if !(1..=REGIONS_MAX).contains(&regions) {
        return Some(format!("regions={regions}; 1 to {REGIONS_MAX} are possible"));
    }
    if young > YOUNG_MAX {
        return Some(format!("young={young}; at most {YOUNG_MAX} is possible"));
    }
    if young > 0 && !has_ages(params) {
        return Some(format!("young={young} has no effect with promote=always; leave one out"));
    }
    registry::refuses(params)
}

/// Whether a page moves up only while it is young.
fn has_ages(params: &Params) -> bool {
    params.choice("promote") == "young"
}

fn mount(nand: &mut Nand, device: &MountConfig) -> Result<Box<dyn Ftl>> {
    let map = PageMap::format(nand, device, registry::chosen(device.params), 0);
    let pages = map.logical_pages();
    let regions = device.params.count("regions") as usize;
    let ftl = Clustered {
        frontiers: vec![Frontier::NONE; regions],
        regions: BlockClasses::new(nand.geometry(), regions),
        ages: has_ages(device.params).then(|| {
            let young = device.params.count("young");
            PageAges::new(pages, if young == 0 { pages.into() } else { young })
        }),
        counts: RegionCounts { written: vec![0; regions], ..RegionCounts::default() },
        map,
    };
    survey::mounted(nand, device, ftl, Clustered::recover)
}

/// The number of a region, from coldest to hottest. It is the class of its pages.
type Region = Class;

struct Clustered {
    map: PageMap,
    /// The open block of each region.
    frontiers: Vec<Frontier>,
    regions: BlockClasses,
    /// None if every rewritten page moves up.
    ages: Option<PageAges>,
    counts: RegionCounts,
}

/// Counts since the last reset.
#[derive(Default)]
struct RegionCounts {
    victims: u64,
    /// Number of host pages written to each region.
    written: Vec<u64>,
    promotions: u64,
    demotions: u64,
}

impl Clustered {
    // ---- Writing ------------------------------------------------------------------------------

    /// The region of a page; none if the page is unmapped.
    #[inline]
    fn region_of(&self, geometry: &Geometry, lpn: Lpn) -> Option<Region> {
        self.map.flat.newest(lpn).map(|ppn| self.regions.of(geometry.block_of(ppn)))
    }

    /// The region to which a page of region `old` goes if it is written after `written` host pages:
    /// one up if it is young, or whatever its age.
    #[inline]
    fn target(&self, old: Option<Region>, lpn: Lpn, written: u64) -> Region {
        let hottest = self.frontiers.len() as Region - 1;
        let rises = || self.ages.as_ref().is_none_or(|ages| ages.is_young(lpn, written));
        old.map_or(0, |region| (region + u8::from(rises())).min(hottest))
    }

    /// Writes the pages of a run from page `index` on, up to the first page that goes to another
    /// region. Returns the number of pages written.
    fn write_some(&mut self, nand: &mut Nand, run: &Run, index: u32) -> Result<u32> {
        let first = run.first.plus(index);
        // This is decided before garbage collection, which may move the page.
        let old = self.region_of(nand.geometry(), first);
        let region = self.target(old, first, self.map.written());
        self.make_room(nand, region)?;
        let most = self.pages_along(nand.geometry(), run, index, region);
        let whole = run.whole_pages_from(index, nand.geometry().full_mask()).min(most);
        let written = self.map.written();
        let partial_from = (whole == 0).then(|| self.region_of(nand.geometry(), first));
        for (lpn, now) in (0..whole).map(|page| first.plus(page)).zip(written + 1..) {
            self.note(lpn, self.region_of(nand.geometry(), lpn), region, now);
        }
        let kind = self.regions.kind_in(region);
        let frontier = &mut self.frontiers[region as usize];
        let done = self.map.write(nand, run, index, whole.max(1), frontier, kind)?;
        debug_assert_eq!(done, whole.max(1), "{run:?}: pages from {index} on were written");
        // Not before: if its other sectors are lost, the page is not written.
        if let Some(from) = partial_from {
            self.note(first, from, region, written + 1);
        }
        Ok(done)
    }

    /// Notes that a page goes from one region to another, or to the same, as host page `now`.
    #[inline]
    fn note(&mut self, lpn: Lpn, from: Option<Region>, to: Region, now: u64) {
        self.counts.promotions += u64::from(from.is_some_and(|from| from < to));
        self.counts.written[to as usize] += 1;
        if let Some(ages) = &mut self.ages {
            ages.renew(lpn, now);
        }
    }

    /// Prepares the ages for this number of pages.
    #[inline]
    fn prepare_ages(&mut self, pages: u32) {
        if let Some(ages) = &mut self.ages {
            ages.prepare(self.map.written(), pages);
        }
    }

    /// Writes the first of the requests that follow a run, as [`Ftl::write`] does: single whole
    /// pages whose regions have room. Returns their number.
    fn write_next(&mut self, nand: &mut Nand, next: &[Span]) -> Result<usize> {
        let mut written = 0;
        for span in single_pages(nand, next) {
            let (lpn, now) = (Lpn(span.first), self.map.written());
            self.prepare_ages(1);
            let old = self.region_of(nand.geometry(), lpn);
            let region = self.target(old, lpn, now);
            let frontier = &mut self.frontiers[region as usize];
            if frontier.room() == 0 {
                break;
            }
            self.map.write_single(nand, lpn, frontier)?;
            self.note(lpn, old, region, now + 1);
            written += 1;
        }
        Ok(written)
    }

    /// Number of pages of a run from page `index` on that go to the same region and fit its open
    /// block. It looks no further: a run may be as long as the device.
    #[inline]
    fn pages_along(&self, geometry: &Geometry, run: &Run, index: u32, region: Region) -> u32 {
        let (first, written) = (run.first.plus(index), self.map.written());
        let most = (run.pages - index).min(self.frontiers[region as usize].room());
        let leaves = |&page: &u32| {
            let lpn = first.plus(page);
            self.target(self.region_of(geometry, lpn), lpn, written + u64::from(page)) != region
        };
        (1..most).find(leaves).unwrap_or(most)
    }

    /// Makes sure that the open block of a region has room.
    fn make_room(&mut self, nand: &mut Nand, region: Region) -> Result<()> {
        while self.frontiers[region as usize].room() == 0 {
            if self.map.flat.pool.len() > RESERVE {
                let frontier = self.map.open(nand)?;
                self.regions.set(nand.geometry().block_of(frontier.next()), region);
                self.frontiers[region as usize] = frontier;
            } else {
                self.collect(nand)?;
            }
        }
        Ok(())
    }

    /// Empties the policy's victim. Its valid pages go one region down.
    fn collect(&mut self, nand: &mut Nand) -> Result<()> {
        let victim = self.map.choose_victim();
        self.counts.victims += 1;
        let target = match self.map.valid_pages_of_full(victim) {
            Some(0) => 0,
            _ => self.regions.of(victim).saturating_sub(1),
        };
        self.empty(nand, victim, target, Cause::Gc)
    }

    fn empty(
        &mut self,
        nand: &mut Nand,
        victim: BlockId,
        target: Region,
        cause: Cause,
    ) -> Result<()> {
        let (from, written) = (self.regions.of(victim), self.map.written());
        let kind = Some(self.regions.kind_in(target));
        let (frontier, ages) = (&mut self.frontiers[target as usize], &mut self.ages);
        let (mut demotions, mut last) = (0, None);
        self.map.empty(nand, victim, frontier, kind, cause, |lpn, _| {
            last = Some(lpn);
            if from != target {
                demotions += 1;
                if let Some(ages) = ages.as_mut() {
                    ages.renew(lpn, written);
                }
            }
        })?;
        self.counts.demotions += demotions;
        if let Some(ppn) = last.and_then(|lpn| self.map.flat.newest(lpn)) {
            // The frontier may have continued in another block.
            self.regions.set(nand.geometry().block_of(ppn), target);
        }
        Ok(())
    }

    // ---- Recovery -----------------------------------------------------------------------------

    fn recover(&mut self, nand: &mut Nand, device: &MountConfig) -> Result<()> {
        let (geometry, regions) = (*nand.geometry(), &mut self.regions);
        let recovered = self.map.recover(nand, device, |copy| regions.found(&geometry, copy))?;
        if let Some(ages) = &mut self.ages {
            ages.reset(self.map.written());
        }
        if let Some(block) = recovered.endangered {
            self.empty(nand, block, self.regions.of(block), Cause::Meta)?;
        }
        self.map.commit_recovery(nand, &recovered)
    }

    /// Number of mapped pages in each region.
    fn region_pages(&self) -> Vec<u64> {
        let mut pages = vec![0; self.frontiers.len()];
        for (block, region) in self.regions.iter() {
            if let Some(counted) = self.map.valid_or_erased_pages(block) {
                pages[region as usize] += u64::from(counted);
            }
        }
        let frontiers = pages.iter_mut().zip(&self.frontiers);
        frontiers.for_each(|(pages, frontier)| *pages -= u64::from(frontier.room()));
        pages
    }

    /// Checks that the sizes of regions equal a recount.
    fn audit_sizes(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        let (mut sizes, believed) = (vec![0; self.frontiers.len()], self.region_pages());
        let pages = (0..self.map.logical_pages()).map(Lpn);
        let regions = pages.filter_map(|lpn| self.region_of(nand.geometry(), lpn));
        regions.for_each(|region| sizes[region as usize] += 1);
        ensure!(believed == sizes, "regions hold {sizes:?} pages, but {believed:?} are recorded");
        Ok(())
    }
}

impl Ftl for Clustered {
    base_is!(self.map);

    fn write(&mut self, nand: &mut Nand, run: &Run, next: &[Span]) -> Result<usize> {
        self.map.flat.check_bases(nand, run)?;
        self.prepare_ages(run.pages);
        let mut index = 0;
        while index < run.pages {
            index += self.write_some(nand, run, index)?;
        }
        self.write_next(nand, next)
    }

    fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        self.map.audit(nand, &self.frontiers, RESERVE)?;
        self.regions.audit(nand, &self.map)?;
        self.audit_sizes(nand)
    }

    fn roles(&self, _: &Nand, roles: &mut Vec<BlockRole>) {
        roles.extend(
            self.regions.iter_classed().map(|(it, at)| BlockRole::of(it, "region", at.into())),
        );
    }

    /// Beside the page map, RAM holds for each page its region (a byte) and its age (four), if ages
    /// are needed.
    fn report(&self) -> Report {
        let mut report = self.map.report();
        let bytes = if self.ages.is_some() { 5 } else { 1 };
        report.ram.other += bytes * u64::from(self.map.logical_pages());
        let sizes = self.region_pages();
        let [coldest, hottest] = [sizes[0], sizes[sizes.len() - 1]].map(|pages| pages as f64);
        report.gauges = vec![("coldest_pages", coldest), ("hottest_pages", hottest)];
        report.figures = vec![
            ("gc_victims", Metric::Count(self.counts.victims)),
            ("promotions", Metric::Count(self.counts.promotions)),
            ("demotions", Metric::Count(self.counts.demotions)),
            ("region_pages", Metric::Counts(sizes)),
            ("region_writes", Metric::Counts(self.counts.written.clone())),
        ];
        report
    }

    fn reset_report(&mut self) {
        let written = vec![0; self.frontiers.len()];
        self.counts = RegionCounts { written, ..RegionCounts::default() };
    }
}
