//! The laws that the counts of a sector log obey (SL §4.4): no sector appears or vanishes.

use nand::{Cause, Op};

use crate::layer::definition::{LayerEvidence, equal};

/// The name of the layer.
pub(super) const LOG: &str = "sector-log";

/// Checks five laws. Each sector that arrived was programmed, overwritten or removed, or it waits.
/// Log pages hold sectors, padding and addresses. The number of distinct sectors grows by sub-page
/// writes that missed, and falls by sectors that left. Pages that arrived went to the log or to the
/// FTL. The operations under cause log are those that the log counted.
pub(super) fn logged_sectors_are_accounted_for(
    evidence: &LayerEvidence,
) -> core::result::Result<(), String> {
    let of = |names: &[&str]| evidence.sum(names);
    let came = of(&["subpage_sectors", "waiting_before"]);
    let went = of(&["programmed_sectors", "waiting", "replaced_waiting", "taken_waiting"]);
    equal("sectors that came = programmed + waiting + replaced + taken", came, went)?;
    let pages = of(&["Writes_SL"]) * of(&["sectors_per_page"]);
    let held = of(&["programmed_sectors", "padding_sectors", "address_sectors"]);
    equal("sectors of log pages = programmed + padding + addresses", pages, held)?;
    let before = of(&["distinct_before", "subpage_sectors"]);
    let now = of(&["distinct", "hit_sectors", "left_sectors"]);
    equal("distinct before + partial writes = distinct + hits + left", before, now)?;
    let above = evidence.came.written;
    equal(
        "whole + partial writes = pages from above",
        of(&["Writes_full", "Writes_subpage"]),
        above,
    )?;
    let down = of(&["Writes_full", "Evicts_SL"]);
    equal("whole writes + evicted pages = pages handed down", down, evidence.went_down.written)?;
    let logged = |op| (evidence.operations)(op, Cause::Log);
    equal("programs.log", logged(Op::Program), of(&["Writes_SL"]))?;
    equal("erases.log", logged(Op::Erase), of(&["cleanings"]))?;
    equal("reads.log", logged(Op::Read), of(&["log_pages", "log_pages_host"]))
}
