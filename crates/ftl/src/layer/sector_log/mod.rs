//! The sector log: writes of part of a page gather, sector by sector, in a small log of their own
//! (Jin, Kim, Kim, Kim and Maeng 2011).
//!
//! ```text
//! write 0 (sector 0)      page buffer [0.0 1.0 1.1 1.2]    two writes fill a page, which goes to
//! write 1 (0, 1, 2)                                        the head of the log in one program
//! log     [0.0 1.0 1.1 1.2][0.1 0.2 1.3 2.0] …             sector map: 0 ─▶ both pages
//! clean   reads both for LPN 0, both for LPN 1             two pages go to the FTL, and the tail
//!                                                          block is erased
//! ```
//! A write of one sector costs a whole page of flash, and a read of what the page held. Here it
//! costs a sector. Whole pages pass straight to the FTL. Others enter the *page buffer*, a page of
//! DRAM; when that is full it is programmed to the *sector log*, some blocks of flash that are
//! filled in a circle. The *sector map* knows where the sectors of each
//! page are. When the log is full, its tail block is *cleaned*: for each page of the host's with a
//! live sector in it, all sectors that are in the log anywhere are gathered and written to the FTL,
//! once; overwritten sectors are simply left behind. So the log pays twice: sectors that are
//! rewritten before they reach the tail never go to the FTL (temporal locality), and sectors of one
//! page that come apart go together (spatial locality). With u the share of such writes, s0 and s
//! the mean sectors of one and of what is cleaned out, N sectors a page and h the share of sectors
//! that hit, writes fall to (1−u) + u·s0/N + u·(1−h)·s0/s. That leaves out sectors that whole pages
//! or trims take out of the log, those overwritten before they get there, and pages that a flush
//! programs half full; all are counted (`writes_over_base`, `…_by_hits`, `…_by_all`).
//!
//! The map lives in DRAM that a write buffer above has to do without. The block that was erased
//! goes to the FTL and the FTL's next one comes back, so that wear is levelled over all of them.
//!
//! **Newest first.** A sector waits in the page buffer, stands in the log, or is the FTL's, and is
//! looked for in this order. The map changes when a page is programmed and not before: until then
//! an older copy in the log is live, for the newer one is only in DRAM.
//!
//! **Coming back** (the paper leaves it open, §7) stands in `sector_log/recovery.rs`.
//!
//! **Trims** under [`Durability::Full`](crate::contract::Durability::Full) are written down at
//! once, in a page of the log of their own, if the log has any copy of a trimmed page, live or not.
//! For when the FTL forgets its copy for good, which it may do whenever it erases a block, an old
//! copy in the log would be the newest. A log page is erased after all that are older, so such a
//! page need not be kept longer than its block.
//!
//! Invariants: each place in the map holds that sector; a sector waits once.
//!
//! Choices: the page buffer is programmed as soon as it is full; sectors stand in the order in
//! which they came, an overwritten one where it was, and if some are taken out the others close up.
//! Cleaning may take sectors out of a full page buffer, which then waits to be full again. A page
//! with a live sector in the log is read even if a newer copy waits. What is cleaned out says that
//! it belongs to a request of its own size. `hit_any` counts writes of which any sector finds an
//! older copy. Each sector slot of a victim is a look-up in the map; a map that is empty is not
//! looked up. With a size of 0 there is no page buffer either: every partial write is cleaned out
//! at once.

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
    summary: "writes of part of a page gather sector by sector in a log of their own",
    source: "Jin, Kim, Kim, Kim, Maeng: Sector log: fine-grained storage management for solid \
             state drives, SAC 2011",
    params: &[
        Param {
            name: "size",
            kind: Kind::Size,
            default: "",
            unit: "bytes",
            doc: "flash of the log, rounded up to the block; 0: writes pass, and are counted",
        },
        Param {
            name: "from",
            kind: Kind::Choice(&["added", "extra"]),
            default: "added",
            unit: "",
            doc: "where its blocks come from: added to the device, or taken out of the extra ones",
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
    mount: |params, stack, nand, config, below| {
        let geometry = nand.geometry();
        let size = size(params, stack, geometry.page_bytes(), geometry.pages_per_block());
        mount(nand, config, size, below)
    },
    laws: laws::logged_sectors_are_accounted_for,
};

/// The log on a chip of such pages, with the map that a buffer above pays for.
fn size(params: &Params, stack: &Stack, page_bytes: u32, pages_per_block: u32) -> SectorLogSize {
    let buffer = stack.layers.named(write_buffer::LAYER.name);
    let buffer_bytes = buffer.map(|buffer| buffer.params.size("size"));
    SectorLogSize::of(params, page_bytes, pages_per_block, buffer_bytes)
}
