//! The sector log: writes of partial pages are collected, sector by sector, in a small log above
//! the FTL (Jin, Kim, Kim, Kim and Maeng 2011).
//!
//! ```text
//! write 0 (sector 0)      page buffer [0.0 1.0 1.1 1.2]    two writes fill a page, which goes to
//! write 1 (0, 1, 2)                                        the head of the log in one program
//! log     [0.0 1.0 1.1 1.2][0.1 0.2 1.3 2.0] …             sector map: LPN 0 ─▶ both pages
//! clean   reads both pages for LPN 0, both for LPN 1       two pages go to the FTL, and the tail
//!                                                          block is erased
//! ```
//! Without a log, a write of one sector costs the program of a whole page, and a read of the other
//! sectors. With the log it costs the program of one sector. Whole pages pass straight to the FTL.
//! All other writes enter the *page buffer*, one page of DRAM. When it is full, it is programmed to
//! the *sector log*, a few blocks of flash that are filled in a circle. The *sector map* knows
//! where the sectors of each page are.
//!
//! When the log is full, its tail block is *cleaned*. For each logical page with a live sector in
//! that block, all its sectors anywhere in the log are gathered and written to the FTL, once.
//! Superseded sectors are left behind. So the log saves writes in two ways. Sectors that are
//! rewritten before they reach the tail are never written to the FTL (temporal locality). Sectors
//! of one page that arrive separately are written together (spatial locality).
//!
//! Let u be the share of sub-page writes, s0 the mean number of sectors in such a write, s the mean
//! number in a page that cleaning writes, N the sectors per page, and h the share of sectors that
//! hit an older copy. Then the number of writes falls to (1−u) + u·s0/N + u·(1−h)·s0/s. This
//! neglects sectors that whole pages or trims remove from the log, sectors that are overwritten in
//! the page buffer, and pages that a flush programs before they are full. All of these are counted
//! (`writes_over_base`, `…_by_hits`, `…_by_all`).
//!
//! The map is in DRAM that a write buffer above the log must do without. When a block has been
//! erased, the log gives it to the FTL and takes the FTL's next free block, so that all blocks wear
//! alike.
//!
//! **Where a sector is looked for.** First in the page buffer, then in the log, then in the FTL.
//! The map changes when the page buffer is programmed, not before. Until then an older copy in the
//! log is live, because the newer one is only in DRAM.
//!
//! **Recovery** (the paper leaves it open, §7) is described in `recovery.rs`.
//!
//! **Trims** under [`Durability::Full`](crate::contract::Durability::Full) are written at once to a
//! page of the log, if the log holds any copy of a trimmed page, live or not. Otherwise an old copy
//! in the log could come back: the FTL may lose its newer copy whenever it erases a block. The log
//! is circular, so all pages older than the record are erased before it, and the record needs no
//! further protection.
//!
//! Invariants: each place in the log holds the sector for which the map records that place. A
//! sector waits at most once.
//!
//! Choices: the page buffer is programmed as soon as it is full. Sectors are kept in the order of
//! their arrival. An overwritten sector keeps its place; if sectors are removed, the others close
//! up. Cleaning may remove sectors from a full page buffer, which then waits until it is full
//! again. A page of the log with a live sector is read even if a newer copy of the sector waits.
//! The request size that the FTL sees for a cleaned page is the size of its sectors. Such a page
//! has no stream; what passes straight to the FTL keeps its stream. `hit_any` counts writes of
//! which any sector finds an older copy. Each sector slot of a victim costs one look-up in the map;
//! an empty map is not looked up. With a size of 0 there is no page buffer either: every sub-page
//! write passes to the FTL at once, and is only counted.

mod audits;
mod cleaning;
mod counts;
mod laws;
mod log;
mod mask;
mod page_buffer;
mod payload;
mod recovery;
mod report;
mod sector_map;
mod sector_pages;
mod sector_ring;
mod size;

pub use recovery::mount;
pub use size::SectorLogSize;

use spec::{Kind, Param, Params};

use crate::layer::definition::{Layer, LayerBlocks, Stack, read_size_and_keys};
use crate::layer::option::LayerOption;
use crate::layer::write_buffer;

/// The sector log.
pub static LAYER: Layer = Layer {
    name: laws::LOG,
    summary: "a log in flash that collects writes of partial pages sector by sector",
    source: "Jin, Kim, Kim, Huh, Maeng: Sector log: fine-grained storage management for solid \
             state drives, SAC 2011",
    params: &[
        Param {
            name: "size",
            kind: Kind::Size,
            default: "",
            unit: "bytes",
            doc: "the size of the log in flash, rounded up to whole blocks; 0: writes go directly \
                  to the FTL and are only counted",
        },
        Param {
            name: "from",
            kind: Kind::Choice(&["added", "extra"]),
            default: "added",
            unit: "",
            doc: "added: the blocks of the log are added to the device; extra: they are taken \
                  from the extra blocks",
        },
    ],
    corners: &[&[("sector_log", "8KiB")], &[("buffer", "3KiB"), ("sector_log", "4KiB")]],
    options: &[LayerOption {
        name: "sector_log",
        kind: Kind::Text,
        default: "none",
        value_name: "SIZE|none",
        help: "Sector log between write buffer and FTL, as SIZE[,from=added|extra] such as 512MiB; \
               it collects writes of partial pages",
    }],
    read: |options| read_size_and_keys(&LAYER, options),
    refuses: |setting, stack, chip| {
        size(&setting.params, stack, chip.page_bytes, chip.pages_per_block).refused(chip)
    },
    blocks: |params, chip| {
        let blocks = SectorLogSize::of(params, chip.page_bytes, chip.pages_per_block, None).blocks;
        LayerBlocks { blocks, added: if params.choice("from") == "added" { blocks } else { 0 } }
    },
    memory: |params, _, _, mode| {
        let sector_bytes = if mode == nand::Mode::Count { 48 } else { 64 };
        params.size("size") / u64::from(nand::geometry::SECTOR_BYTES) * sector_bytes
    },
    mount: |params, stack, nand, config, below| {
        let geometry = nand.geometry();
        let size = size(params, stack, geometry.page_bytes(), geometry.pages_per_block());
        mount(nand, config, size, below)
    },
    laws: laws::logged_sectors_are_accounted_for,
};

/// The size of the log on a chip with these pages; a buffer above the log limits its map.
fn size(params: &Params, stack: &Stack, page_bytes: u32, pages_per_block: u32) -> SectorLogSize {
    let buffer = stack.layers.named(write_buffer::LAYER.name);
    let buffer_bytes = buffer.map(|buffer| buffer.params.size("size"));
    SectorLogSize::of(params, page_bytes, pages_per_block, buffer_bytes)
}
