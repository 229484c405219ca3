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
//! and the time of its last change. Both are in RAM.
//!
//! Invariants: those of [`page_map`](crate::part::page::page_map). In addition, at least `RESERVE`
//! blocks are erased whenever no victim is being emptied. One is enough, because all valid pages of
//! a victim go to the same region, so they fill at most one new block.
//!
//! **Recovery.** The region of a page is in its kind byte, and survives a power cut. The age does
//! not: after a mount every page counts as just written.
//!
//! Choices: a page is *young* if fewer than `young` host pages were written since it was last
//! written or changed region; the default is the number of logical pages. The paper speaks of time.
//! A page that is copied within the coldest region has not changed region.

use nand::{BlockId, Cause, ChipModel, Lpn, Nand};
use spec::{Kind, Param, Params};

use crate::contract::{
    Base, Error, Ftl, Metric, MountConfig, Ram, Report, Result, Run, Scheme, Violation, ensure,
    table_bytes,
};
use crate::part::map::frontier::Frontier;
use crate::part::page::page_map::PageMap;
use crate::part::page::victims::registry;
use crate::part::recovery::page_kind;

/// Erased blocks that only garbage collection may open.
const RESERVE: u32 = 1;
/// Maximum number of regions: a region number must fit into the upper half of the kind byte.
const REGIONS_MAX: u64 = 15;

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
            name: "young",
            kind: Kind::Count,
            default: "0",
            unit: "host pages",
            doc: "a page moves up if it is rewritten after fewer host pages than this; 0: the \
                  number of logical pages",
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
    params: &spec::joined::<{ spec::total_len(PARAMS) }>(PARAMS),
    corners: &[],
    refuses,
    map_budget: None,
    least_extra: |params, _, _| RESERVE + params.count("regions") as u32,
    takes_policy: false,
    memory: |_, geometry, _| table_bytes(geometry, 13, 24),
    mount,
};

fn refuses(params: &Params, _: &ChipModel) -> Option<String> {
    match params.count("regions") {
        1..=REGIONS_MAX => registry::refuses(params),
        regions => Some(format!("regions={regions}; 1 to {REGIONS_MAX} are possible")),
    }
}

fn mount(nand: &mut Nand, device: &MountConfig) -> Result<Box<dyn Ftl>> {
    let map = PageMap::format(nand, device, registry::chosen(device.params), 0);
    let pages = map.logical_pages() as usize;
    let regions = device.params.count("regions") as usize;
    let mut ftl = Clustered {
        frontiers: vec![Frontier::NONE; regions],
        pages: PageRegions::new(pages, regions),
        young: match device.params.count("young") {
            0 => pages as u64,
            young => young,
        },
        victims_taken: 0,
        map,
    };
    if !nand.is_factory_new() {
        ftl.recover(nand, device)?;
    }
    Ok(Box::new(ftl))
}

/// The number of a region, from coldest to hottest.
type Region = u8;

/// The region of a page that nothing maps.
const NOWHERE: Region = Region::MAX;

struct Clustered {
    map: PageMap,
    /// The open block of each region.
    frontiers: Vec<Frontier>,
    pages: PageRegions,
    young: u64,
    victims_taken: u64,
}

/// The region of each page, and the time of its last write or change of region.
struct PageRegions {
    /// The region of each logical page; [`NOWHERE`] if the page is unmapped.
    region: Vec<Region>,
    /// The number of host pages written when each page was last written or changed region.
    since: Vec<u64>,
    /// Number of mapped pages in each region.
    sizes: Vec<u64>,
    /// Number of host pages written to each region.
    written: Vec<u64>,
    promotions: u64,
    demotions: u64,
}

impl PageRegions {
    fn new(pages: usize, regions: usize) -> PageRegions {
        PageRegions {
            region: vec![NOWHERE; pages],
            since: vec![0; pages],
            sizes: vec![0; regions],
            written: vec![0; regions],
            promotions: 0,
            demotions: 0,
        }
    }

    /// Moves a page to a region, or nowhere. Returns its former region.
    fn put(&mut self, lpn: Lpn, region: Region) -> Region {
        let is_known = region == NOWHERE || usize::from(region) < self.sizes.len();
        debug_assert!(is_known, "{lpn:?} is put into region {region} of {}", self.sizes.len());
        let old = core::mem::replace(&mut self.region[lpn.0 as usize], region);
        if let Some(size) = self.sizes.get_mut(old as usize) {
            *size -= 1;
        }
        if let Some(size) = self.sizes.get_mut(region as usize) {
            *size += 1;
        }
        old
    }

    /// Notes that the host wrote the page. `written` is the number of host pages written so far,
    /// including this one.
    fn wrote(&mut self, lpn: Lpn, region: Region, written: u64) {
        let old = self.put(lpn, region);
        self.promotions += u64::from(old < region);
        self.written[region as usize] += 1;
        self.since[lpn.0 as usize] = written;
    }

    /// Notes that garbage collection copied the page.
    fn copied(&mut self, lpn: Lpn, region: Region, written: u64) {
        let old = self.put(lpn, region);
        debug_assert!(old == region || old == region + 1, "{lpn:?} sinks from {old} to {region}");
        if old != region {
            self.demotions += 1;
            self.since[lpn.0 as usize] = written;
        }
    }
}

/// The kind of a page in a region.
fn kind_in(region: Region) -> u8 {
    page_kind::DATA | region << 4
}

fn region_of(kind: u8) -> Region {
    kind >> 4
}

impl Clustered {
    // ---- Writing ------------------------------------------------------------------------------

    /// The region to which a page goes if it is written after `written` host pages: one up if it is
    /// young.
    fn target(&self, lpn: Lpn, written: u64) -> Region {
        let region = self.pages.region[lpn.0 as usize];
        let is_young = written - self.pages.since[lpn.0 as usize] < self.young;
        match region {
            NOWHERE => 0,
            _ => (region + u8::from(is_young)).min(self.frontiers.len() as Region - 1),
        }
    }

    /// Writes the pages of a run from page `index` on, up to the first page that goes to another
    /// region. Returns the number of pages written.
    fn write_some(&mut self, nand: &mut Nand, run: &Run, index: u32) -> Result<u32> {
        let first = run.first.plus(index);
        // This is decided before garbage collection, which may move the page.
        let region = self.target(first, self.map.written());
        self.make_room(nand, region)?;
        let written = self.map.written();
        let goes_along =
            |page: &u32| self.target(first.plus(*page), written + u64::from(*page)) == region;
        // Look no further than the room: a run may be as long as the device.
        let most = (run.pages - index).min(self.frontiers[region as usize].room());
        let most = (1..most).find(|page| !goes_along(page)).unwrap_or(most);
        let frontier = &mut self.frontiers[region as usize];
        let done = self.map.write(nand, run, index, most, frontier, kind_in(region))?;
        for page in 0..done {
            self.pages.wrote(first.plus(page), region, written + u64::from(page) + 1);
        }
        Ok(done)
    }

    /// Makes sure that the open block of a region has room.
    fn make_room(&mut self, nand: &mut Nand, region: Region) -> Result<()> {
        while self.frontiers[region as usize].room() == 0 {
            if self.map.pool.len() > RESERVE {
                self.frontiers[region as usize] = self.map.open(nand)?;
            } else {
                self.collect(nand)?;
            }
        }
        Ok(())
    }

    /// Empties the policy's victim. Its valid pages go one region down.
    fn collect(&mut self, nand: &mut Nand) -> Result<()> {
        let victim = self.map.choose_victim();
        self.victims_taken += 1;
        let target = self.region_of_block(nand, victim).saturating_sub(1);
        self.empty(nand, victim, target, Cause::Gc)
    }

    /// The region of the valid pages in a block; the coldest if it has none.
    fn region_of_block(&self, nand: &Nand, block: BlockId) -> Region {
        let valid = self.map.first_valid(nand, block);
        valid.map_or(0, |lpn| self.pages.region[lpn.0 as usize])
    }

    fn empty(
        &mut self,
        nand: &mut Nand,
        victim: BlockId,
        target: Region,
        cause: Cause,
    ) -> Result<()> {
        let (frontier, places) = (&mut self.frontiers[target as usize], &mut self.pages);
        let written = self.map.written();
        self.map.empty(nand, victim, frontier, Some(kind_in(target)), cause, |lpn, _| {
            places.copied(lpn, target, written);
        })
    }

    // ---- Recovery -----------------------------------------------------------------------------

    fn recover(&mut self, nand: &mut Nand, device: &MountConfig) -> Result<()> {
        let (places, hottest) = (&mut self.pages, self.frontiers.len() as Region - 1);
        let recovered = self.map.recover(nand, device, |copy| {
            places.put(copy.spare.owner, region_of(copy.spare.kind).min(hottest));
        })?;
        places.since.fill(self.map.written());
        self.audit_regions(nand).map_err(|violation| Error::Unmountable(violation.0))?;
        if let Some(block) = recovered.endangered {
            let region = self.region_of_block(nand, block);
            self.empty(nand, block, region, Cause::Meta)?;
        }
        self.map.commit_recovery(nand, &recovered)
    }

    /// Checks that all valid pages of a block are in one region, and that the sizes of regions are
    /// right.
    fn audit_regions(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        let mut of_block = vec![NOWHERE; nand.geometry().blocks() as usize];
        let mut sizes = vec![0; self.pages.sizes.len()];
        for (lpn, &region) in (0..).map(Lpn).zip(&self.pages.region) {
            let Some(ppn) = self.map.flat.newest(lpn) else {
                ensure!(region == NOWHERE, "{lpn:?} is unmapped, but in region {region}");
                continue;
            };
            let known = sizes.get_mut(region as usize).map(|size| *size += 1);
            ensure!(known.is_some(), "{lpn:?} is mapped, but in no region");
            let block = nand.geometry().block_of(ppn);
            let other = core::mem::replace(&mut of_block[block.0 as usize], region);
            let alone = other == NOWHERE || other == region;
            ensure!(alone, "{block:?} holds pages of regions {other} and {region}");
        }
        let believed = &self.pages.sizes;
        ensure!(*believed == sizes, "regions hold {sizes:?} pages, but {believed:?} are recorded");
        Ok(())
    }
}

impl Ftl for Clustered {
    fn base(&self) -> &dyn Base {
        &self.map
    }

    fn base_mut(&mut self) -> &mut dyn Base {
        &mut self.map
    }

    fn write(&mut self, nand: &mut Nand, run: &Run) -> Result<()> {
        self.map.flat.check_bases(nand, run)?;
        let mut index = 0;
        while index < run.pages {
            index += self.write_some(nand, run, index)?;
        }
        Ok(())
    }

    fn trim(&mut self, nand: &mut Nand, first: Lpn, pages: u32) -> Result<()> {
        for page in 0..pages {
            self.pages.put(first.plus(page), NOWHERE);
        }
        self.map.trim(nand, first, pages)
    }

    fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        self.map.audit(nand, &self.frontiers, RESERVE)?;
        self.audit_regions(nand)
    }

    /// The page map, and for each page its region (a byte) and its age (four).
    fn ram(&self) -> Ram {
        let places = 5 * u64::from(self.map.logical_pages());
        Ram { map: self.map.map_bytes(), other: places + self.map.other_bytes(), ..Ram::default() }
    }

    fn report(&self) -> Report {
        let figures = vec![
            ("gc_victims", Metric::Count(self.victims_taken)),
            ("promotions", Metric::Count(self.pages.promotions)),
            ("demotions", Metric::Count(self.pages.demotions)),
            ("region_pages", Metric::Counts(self.pages.sizes.clone())),
            ("region_writes", Metric::Counts(self.pages.written.clone())),
        ];
        Report { merges: None, figures }
    }

    fn reset_report(&mut self) {
        self.victims_taken = 0;
        (self.pages.promotions, self.pages.demotions) = (0, 0);
        self.pages.written.fill(0);
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        let hottest = self.pages.sizes.last().map_or(0, |&size| size);
        let coldest = self.pages.sizes[0];
        vec![("coldest_pages", coldest as f64), ("hottest_pages", hottest as f64)]
    }
}
