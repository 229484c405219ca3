//! Which chip a damaged file contained, as far as that can be found out.
//!
//! If the block table or the journal is damaged, the pages themselves say where they belong: each
//! record names its page and the operation that wrote it. Of two slots that hold pages of the same
//! block, the one that was written later counts. Erases and wear are lost then, so pages that had
//! been erased may come back; the FTL above knows them by their versions.

use nand::page_store::Health;
use nand::{BlockId, Ppn, ProgramOrder};

use crate::error::{Error, Result};
use crate::format::block_table::BlockTable;
use crate::format::journal::{Entry, Operation};
use crate::format::layout::Layout;
use crate::format::page_codec::Record;
use crate::medium::Medium;
use crate::recovery::{Recovered, choose, read_superblocks, recover_table};

/// A damage of an image, outside its pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// A sentence that says what is damaged.
    pub what: String,
    /// Whether newer pages may be hidden by it.
    pub hides_pages: bool,
}

/// Reads the state of an image as far as possible, and writes nothing. Returns what is damaged.
///
/// # Errors
/// No superblock is whole, so nothing is known about the image; it ends before its first page; or
/// the disk fails.
pub(crate) fn salvage(medium: &dyn Medium) -> Result<(Recovered, Vec<Damage>)> {
    let copies = read_superblocks(medium)?;
    let mut damages = Vec::new();
    for (number, copy) in copies.iter().enumerate() {
        damages.extend(copy.as_ref().err().map(|error| Damage {
            what: format!("superblock {number}: {error}"),
            hides_pages: false,
        }));
    }
    let (superblock, copy) = choose(copies)?;
    let layout = superblock.layout();
    let (found, made) = (medium.len()?, layout.file_bytes());
    // It has no page. The memory that is taken below is in proportion to the length of the file.
    if found < layout.slot(1) {
        return Err(Error::Length { found, made });
    }
    if found != made {
        let what = format!("the file has {found} bytes, but was made with {made}");
        damages.push(Damage { what, hides_pages: found < made });
    }
    let (table, operation) = match recover_table(medium, &superblock) {
        Ok(recovered) => recovered,
        Err(error) => {
            damages.push(Damage { what: error.to_string(), hides_pages: true });
            gather(medium, &layout)
        }
    };
    Ok((Recovered { superblock, copy, table, operation }, damages))
}

/// A page record that was found in a slot.
struct FoundRecord {
    ppn: Ppn,
    operation: u64,
}

/// Puts a table together from the records in all slots. Returns it with the last operation.
fn gather(medium: &dyn Medium, layout: &Layout) -> (BlockTable, u64) {
    let geometry = &layout.geometry;
    let mut newest: Vec<Option<(u64, u32)>> = vec![None; geometry.blocks() as usize];
    for slot in 0..layout.slots() {
        for FoundRecord { ppn, operation } in records(medium, layout, slot) {
            let place = &mut newest[geometry.block_of(ppn).0 as usize];
            *place = (*place).max(Some((operation, slot)));
        }
    }
    let mut table = BlockTable::blank(layout);
    for (block, place) in newest.iter().enumerate() {
        if let Some((_, slot)) = *place {
            let block = BlockId(block as u32);
            let found = records(medium, layout, slot).into_iter();
            let own = found.filter(|record| geometry.block_of(record.ppn) == block).collect();
            fill(&mut table, slot, own, geometry.program_order());
        }
    }
    (table, newest.into_iter().flatten().map(|(operation, _)| operation).max().unwrap_or(0))
}

/// The whole records of a slot, each at the place of its page.
fn records(medium: &dyn Medium, layout: &Layout, slot: u32) -> Vec<FoundRecord> {
    let mut bytes = vec![0; layout.records_bytes()];
    if medium.read_at(&mut bytes, layout.slot(slot)).is_err() {
        return Vec::new();
    }
    let records = bytes.chunks_exact(layout.record_bytes()).enumerate();
    let found = records.filter_map(|(offset, bytes)| {
        let (ppn, operation) = Record::names(bytes);
        let is_here = ppn.0 < layout.geometry.pages()
            && layout.geometry.offset_of(ppn) as usize == offset
            && Record::check(bytes, &layout.geometry, ppn).is_some();
        is_here.then_some(FoundRecord { ppn, operation })
    });
    found.collect()
}

/// Enters the pages of a block. In a block that is programmed in order, a page that is older than
/// one before it was left by an earlier use of the slot.
fn fill(table: &mut BlockTable, slot: u32, records: Vec<FoundRecord>, order: ProgramOrder) {
    let mut last = 0;
    for FoundRecord { ppn, operation } in records {
        if operation < last && order != ProgramOrder::Any {
            continue;
        }
        last = operation;
        let program = Operation::Program { ppn, health: Health::Good, slot, record_crc: 0 };
        table.apply(&Entry { number: operation, operation: program }).expect("a possible page");
    }
}
