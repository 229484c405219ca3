//! The answers of `ftlab size` as texts.

use report::headline::sizing::in_the_long_run;
use report::headline::{self, as_lines};
use report::number_format::{bytes, count, counted, decimals, percent, tbw};

use sim::sizing::answer::{EndurancePart, SizedPoint, Sizing};
use sim::sizing::data_sheet::Effective;
use sim::sizing::endurance::Lifetime;
use sim::sizing::over_provisioning::OverProvisioning;

use crate::texts::table::{Table, labelled, real};

/// Says what T and U are.
const LEGEND: &str = "\
T: the flash without system blocks; U: the capacity of the host.
`--extra` is (T − U) / U.
";

/// Says how the endurance of this command and that of a run are related.
const ENDURANCE_LEGEND: &str = "\
TBW: P/E cycles × U / (bytes programmed per host byte × wear levelling), as on
data sheets. `ftlab run` counts the cycles of all blocks: T / U times as much.
";

/// The answers for each FTL on a trace.
pub fn text(target: f64, trace: &str, sizings: &[Sizing]) -> String {
    let headline = as_lines(&headline::sizing::of(target, sizings));
    let head = format!(
        "{headline}trace    {trace}\n\
         target   write amplification of at most {target} pages programmed per host page\n"
    );
    let parts = sizings.iter().map(answer);
    let has_endurance = sizings.iter().any(|sizing| sizing.endurance.is_some());
    let endurance = if has_endurance { ENDURANCE_LEGEND } else { "" };
    let legend = format!("{LEGEND}{endurance}");
    [head].into_iter().chain(parts).chain([legend]).collect::<Vec<_>>().join("\n")
}

fn answer(sizing: &Sizing) -> String {
    let mut lines = vec![
        ("ftl".to_owned(), sizing.ftl.clone()),
        ("chip".to_owned(), sizing.chip.clone()),
        (
            "capacity".to_owned(),
            format!(
                "{} = {} blocks of {}",
                bytes(sizing.capacity_bytes),
                count(sizing.logical_blocks),
                bytes(sizing.block_bytes)
            ),
        ),
    ];
    match &sizing.least {
        Some(least) => lines.extend(least_lines(sizing, least)),
        None if sizing.curve.is_empty() => {
            lines
                .push(("least extra".to_owned(), "the trace does not reach collection".to_owned()));
        }
        None => lines.push(("least extra".to_owned(), "the target is not reached".to_owned())),
    }
    lines.extend(sizing.endurance.iter().flat_map(endurance));
    lines.extend(sizing.command.iter().map(|command| ("run".to_owned(), command.clone())));
    lines.extend(notes(sizing).iter().map(|note| ("note".to_owned(), note.clone())));
    match sizing.curve.is_empty() {
        true => joined(&lines),
        false => format!("{}\n{}", joined(&lines), curve(sizing)),
    }
}

/// The notes, without the one with which the command ends because the trace does not reach
/// collection.
fn notes(sizing: &Sizing) -> &[String] {
    match (sizing.curve.is_empty(), sizing.notes.split_last()) {
        (true, Some((_, others))) => others,
        _ => &sizing.notes,
    }
}

fn least_lines(sizing: &Sizing, least: &SizedPoint) -> Vec<(String, String)> {
    let probe = &least.probe;
    let extra_bytes = probe.extra_blocks.saturating_mul(sizing.block_bytes);
    let amplification = [probe.write_amplification, probe.write_amplification_bytes];
    let [pages, of_bytes] = amplification.map(|it| real(it, 4));
    vec![
        (
            "least extra".to_owned(),
            format!("{}, {}", counted(probe.extra_blocks, "block"), bytes(extra_bytes)),
        ),
        over_provisioning(&least.over_provisioning),
        ("uncertainty".to_owned(), sizing.range.as_ref().map_or("–".to_owned(), in_the_long_run)),
        (
            "write amplification".to_owned(),
            format!("{pages} pages programmed per host page, {of_bytes} bytes per host byte"),
        ),
    ]
}

fn over_provisioning(found: &OverProvisioning) -> (String, String) {
    let [capacity, flash] = [found.of_capacity, found.of_flash].map(percent);
    ("over-provisioning".to_owned(), format!("(T − U) / U = {capacity} %, (T − U) / T = {flash} %"))
}

/// What the mark of quick runs says.
const QUICK: &str = "q: quick, only to find the place; runs without it are measured for longer\n";

/// All runs; the answer has a star.
fn curve(sizing: &Sizing) -> String {
    let is_unsteady = |point: &SizedPoint| point.probe.steady == Some(false);
    let is_quick = |point: &SizedPoint| point.settled == Some(false);
    let mut table =
        Table::new(&["extra blocks", "", "(T − U) / U", "(T − U) / T", "write amplification"]);
    let answer = sizing.least.as_ref().map(|least| least.probe.extra_blocks);
    for point in &sizing.curve {
        let (probe, share) = (&point.probe, point.over_provisioning);
        let mark = match answer == Some(probe.extra_blocks) {
            true => "*",
            false if is_unsteady(point) => "u",
            false if is_quick(point) => "q",
            false => "",
        };
        table.row(&[
            count(probe.extra_blocks),
            mark.to_owned(),
            format!("{} %", percent(share.of_capacity)),
            format!("{} %", percent(share.of_flash)),
            probe.write_amplification.map_or("too few".to_owned(), |it| decimals(it, 4)),
        ]);
    }
    let legend = |has: bool, text| if has { text } else { "" };
    let quick = legend(sizing.curve.iter().any(is_quick), QUICK);
    let unsteady = legend(sizing.curve.iter().any(is_unsteady), "u: not steady\n");
    format!("{}{quick}{unsteady}", table.text())
}

/// What a data sheet says.
pub fn sheet(found: &Effective, lifetime: Option<&EndurancePart>) -> String {
    let mut lines = vec![(
        "write amplification".to_owned(),
        format!("{} of random writes", decimals(found.write_amplification, 3)),
    )];
    match &found.over_provisioning {
        Some(spare) => {
            lines.push(over_provisioning(spare));
            let block = count(found.pages_per_block.into());
            let what = format!(
                "the spare with which greedy collection has this write amplification on uniform \
                 random writes, with {block} pages in a block"
            );
            lines.push(("".to_owned(), what));
        }
        None => lines.push((
            "over-provisioning".to_owned(),
            "none between 0.01 % and 100 times the capacity gives this write amplification".into(),
        )),
    }
    lines.extend(lifetime.into_iter().flat_map(endurance));
    format!("{}\nT: the flash; U: the capacity of the host.\n", joined(&lines))
}

fn endurance(part: &EndurancePart) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    if let Some(needed) = &part.needed {
        let cycles = count_of(needed.pe_cycles);
        let writes = writes(needed);
        lines.push(("needed".to_owned(), format!("{cycles} P/E cycles for {writes}")));
    }
    if let Some(rated) = &part.rated {
        let (cycles, writes) = (count_of(rated.pe_cycles), writes(rated));
        lines.push(("rated".to_owned(), format!("{cycles} P/E cycles bear {writes}")));
    }
    lines
}

fn writes(lifetime: &Lifetime) -> String {
    let tbw = lifetime.tbw_bytes.map(|bytes| format!(": {}", tbw(bytes)));
    format!(
        "{} drive writes a day for {} years{}",
        decimals(lifetime.drive_writes_per_day, 3),
        lifetime.years,
        tbw.unwrap_or_default()
    )
}

fn count_of(cycles: f64) -> String {
    decimals(cycles.ceil(), 0)
}

/// Lines with their names in a column.
fn joined(lines: &[(String, String)]) -> String {
    let width = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).max(8);
    lines.iter().map(|(name, text)| labelled(name, width, text)).collect()
}
