//! Carriers of the map in superblock: which pages of a logical block carry its PMD and the PTs of
//! its groups.
//!
//! ```text
//! group     0 [0 1 2 3]      1 [4 5 6 7]          written: 2, 5, then 6
//!                  P              T D             D: newest PMD page; P and D know their groups
//! spare of 6   PMD: group 0 ─▶ 2, group 1 ─▶ this     PT: 4, 5, 6, 7
//! ```
//! Every page carries the PMD of its logical block and the PT of its group, with the values that
//! are current once the page has been written. So the newest page of a logical block carries its
//! current PMD, and the newest page of a group its current PT.
//!
//! A superblock owns at most eight blocks. Directly after a power cut it can own nine: all eight
//! may be closed, and a full merge has to open another one. During that merge a page may have to
//! name eight other blocks, but its PBMT has room for only seven. Such a page carries its PT alone,
//! or nothing; a later page of the same merge carries the complete entries.

use std::borrow::Cow;

use nand::{ChipModel, Geometry, Lpn, Ppn};

use crate::part::map::flat_map::FlatMap;
use crate::part::recovery::page_kind;
use crate::part::spare::page_groups::PageGroups;
use crate::part::spare::spare_map::{Lbn, NO_PAGE, SpareMap};
use crate::part::spare::spare_mount::{LookupPath, SpareAreas, SpareChains};
use crate::part::spare::spare_sheet::{BLOCK_BITS, EntryFormat, SpareSheet};
use crate::part::spare::spare_writer::SpareForm;

/// Bits of a block index. The highest index means "this block".
const INDEX_BITS: u32 = 3;
const THIS: u32 = 7;
/// Groups of a logical block: entries of a PMD.
const GROUPS: u32 = 4;
/// Maximum number of blocks of a superblock.
pub const BLOCKS_MAX: u32 = 8;

/// The newest page of each group, and the layout of spare areas.
#[derive(Clone, Debug)]
pub struct Carriers {
    sheet: SpareSheet,
    /// For each group of the device: the offset of its newest page in the logical block.
    newest: Vec<u16>,
    groups: PageGroups,
}

/// The layout of spare areas for superblocks of at most `blocks_max` blocks, and the pages per
/// group.
fn layout(pages_per_block: u32, blocks_max: u32) -> (SpareSheet, u32) {
    let group_pages = pages_per_block.div_ceil(GROUPS);
    let entries = |count| EntryFormat { count, index_bits: INDEX_BITS, this: THIS };
    let sheet = SpareSheet {
        flag: None,
        pbmt: blocks_max - 1,
        directory: entries(GROUPS),
        table: entries(group_pages),
        offset_bits: pages_per_block.next_power_of_two().trailing_zeros(),
    };
    (sheet, group_pages)
}

/// Bytes of the entries in a spare area.
pub fn bytes(pages_per_block: u32, blocks_max: u32) -> u32 {
    layout(pages_per_block, blocks_max).0.bytes() as u32
}

/// Explains why the entries do not fit the spare areas of a chip; none if they fit.
pub fn refuses(chip: &ChipModel, blocks_max: u32) -> Option<String> {
    let (sheet, group_pages) = layout(chip.pages_per_block, blocks_max);
    let most = (chip.spare_bytes - nand::spare::HEADER_BYTES as u32) * 8;
    (sheet.bits() > most).then(|| {
        format!(
            "a page needs {}·{BLOCK_BITS} + {GROUPS}·({INDEX_BITS}+{o}) + \
             {group_pages}·({INDEX_BITS}+{o}) = {} bits; a spare area has room for {most}",
            blocks_max - 1,
            sheet.bits(),
            o = sheet.offset_bits
        )
    })
}

impl Carriers {
    /// Groups without pages.
    pub fn new(logical_blocks: u32, pages_per_block: u32, blocks_max: u32) -> Carriers {
        let (sheet, group_pages) = layout(pages_per_block, blocks_max);
        let newest = vec![NO_PAGE; (logical_blocks * GROUPS) as usize];
        let groups = PageGroups::new(pages_per_block, GROUPS, group_pages);
        Carriers { sheet, newest, groups }
    }

    /// Number of bits of the entries in a spare area.
    pub fn bits(&self) -> u32 {
        self.sheet.bits()
    }

    /// Bytes of a map-cache entry: the PBMT, the PMD and all PTs of a logical block.
    pub fn entry_bytes(&self) -> u64 {
        let entry_bits = INDEX_BITS + self.sheet.offset_bits;
        let bits =
            self.sheet.pbmt * BLOCK_BITS + (GROUPS + self.groups.pages_per_block) * entry_bits;
        u64::from(bits.div_ceil(8))
    }

    /// Prefetches the group of a page.
    pub fn prefetch(&self, lpn: Lpn) {
        crate::part::index::prefetch::prefetch(&self.newest, self.groups.of(lpn) as usize);
    }

    // ---- Writing ------------------------------------------------------------------------------

    fn to_groups(&self, flat: &FlatMap, lpn: Lpn, own: Ppn) -> impl Iterator<Item = Ppn> {
        let lbn = self.groups.lbn_of(lpn);
        let first = lbn * self.groups.pages_per_block;
        self.newest_of(lbn).iter().map(move |&offset| match offset {
            NO_PAGE => own,
            offset => flat.newest(Lpn(first + u32::from(offset))).unwrap_or(own),
        })
    }

    fn to_pages(&self, flat: &FlatMap, lpn: Lpn, own: Ppn) -> impl Iterator<Item = Ppn> {
        let entries = self.groups.entries(flat, self.groups.of(lpn)).iter();
        entries.map(move |&ppn| if ppn == Ppn::NONE { own } else { ppn })
    }

    // ---- Trimming -----------------------------------------------------------------------------

    /// For each group that would lose its newest page by a trim of the pages `gone`: its lowest
    /// remaining page.
    pub fn anchors<'a>(
        &'a self,
        flat: &'a FlatMap,
        gone: &'a core::ops::Range<u32>,
    ) -> impl Iterator<Item = Lpn> + 'a {
        self.groups.between(gone).filter_map(move |group| {
            let newest = self.newest[group as usize];
            let lbn = group / GROUPS;
            let is_lost = newest != NO_PAGE
                && gone.contains(&(lbn * self.groups.pages_per_block + u32::from(newest)));
            let first = self.groups.first(group).0;
            let mut pages = (first..).map(Lpn).zip(self.groups.entries(flat, group));
            let left = pages.find(|(lpn, ppn)| **ppn != Ppn::NONE && !gone.contains(&lpn.0));
            left.filter(|_| is_lost).map(|(lpn, _)| lpn)
        })
    }

    /// Notes that pages of a logical block were trimmed: groups without a remaining page have no
    /// newest page.
    pub fn forget(&mut self, flat: &FlatMap, lbn: Lbn) {
        for group in self.groups.of_block(lbn) {
            if self.groups.is_empty(flat, group) {
                self.newest[group as usize] = NO_PAGE;
            }
        }
    }

    /// The offsets of the newest pages of a logical block's groups.
    fn newest_of(&self, lbn: Lbn) -> &[u16] {
        let groups = self.groups.of_block(lbn);
        &self.newest[groups.start as usize..groups.end as usize]
    }

    // ---- Queries ------------------------------------------------------------------------------

    /// The pages whose spare areas hold the map of a logical block.
    pub fn spares<'a>(&'a self, flat: &'a FlatMap, lbn: Lbn) -> impl Iterator<Item = Ppn> + 'a {
        let newest = self.newest_of(lbn).iter().filter(|&&offset| offset != NO_PAGE);
        newest.filter_map(move |&offset| {
            flat.newest(Lpn(lbn * self.groups.pages_per_block + u32::from(offset)))
        })
    }

    /// The carrier of a group according to the PMD page at `top`, with its owner and entries.
    fn carrier<'s>(
        &self,
        geometry: &Geometry,
        spares: &'s dyn SpareAreas,
        top: Ppn,
        group: u32,
    ) -> Option<(Ppn, Lpn, Cow<'s, [u8]>)> {
        let (spare, bytes) = spares.at(top)?;
        let ppn = match self.groups.of(spare.owner) == group {
            true => top,
            false => self.sheet.group(geometry, top, &bytes, group % GROUPS),
        };
        let (spare, bytes) = spares.at(ppn)?;
        let is_own = spare.owner.is_host() && self.groups.of(spare.owner) == group;
        (is_own && spare.kind != page_kind::DATA).then_some((ppn, spare.owner, bytes))
    }
}

impl SpareForm for Carriers {
    #[inline(always)]
    fn note(&mut self, lpn: Lpn) -> (Lbn, u16) {
        let (group, (lbn, offset)) = (self.groups.of(lpn), self.groups.place_of(lpn));
        self.newest[group as usize] = offset;
        (lbn, offset)
    }

    fn compose(&self, geometry: &Geometry, flat: &FlatMap, lpn: Lpn, bytes: &mut Vec<u8>) -> u8 {
        let own =
            flat.newest(lpn).expect("a page gets its place before its spare area is composed");
        let block = geometry.block_of(own);
        let (groups, pages) = (|| self.to_groups(flat, lpn, own), || self.to_pages(flat, lpn, own));
        if self.sheet.fits(geometry, block, groups(), pages()) {
            self.sheet.compose(geometry, own, groups(), pages(), bytes);
            page_kind::DIRECTORY
        } else if self.sheet.fits(geometry, block, core::iter::empty(), pages()) {
            self.sheet.compose(geometry, own, core::iter::empty(), pages(), bytes);
            page_kind::TABLE
        } else {
            bytes.clear();
            page_kind::DATA
        }
    }
}

impl SpareChains for Carriers {
    fn is_directory(&self, kind: u8) -> bool {
        kind == page_kind::DIRECTORY
    }

    fn path(
        &self,
        geometry: &Geometry,
        spares: &dyn SpareAreas,
        directory: Ppn,
        lpn: Lpn,
    ) -> LookupPath {
        let mut path = LookupPath::new(directory);
        let group = self.groups.of(lpn);
        let Some((ppn, owner, bytes)) = self.carrier(geometry, spares, directory, group) else {
            return path;
        };
        if ppn != directory {
            path.spares.push(ppn);
        }
        let number = lpn.0 - self.groups.first(group).0;
        let to = self.sheet.page(geometry, ppn, &bytes, number);
        path.to((to != ppn || owner == lpn).then_some(to))
    }

    fn recall(&mut self, geometry: &Geometry, spares: &dyn SpareAreas, map: &SpareMap) {
        for lbn in 0..map.logical_blocks() {
            let top = map.directory(lbn).and_then(|page| map.flat.newest(page));
            let Some(top) = top else { continue };
            for group in self.groups.of_block(lbn) {
                let carrier = self.carrier(geometry, spares, top, group);
                let is_empty = self.groups.is_empty(&map.flat, group);
                if let Some((_, owner, _)) = carrier.filter(|_| !is_empty) {
                    self.newest[group as usize] = self.groups.place_of(owner).1;
                }
            }
        }
    }
}
