//! The answer of `ftlab bound` as a text.

use report::headline::{self, as_lines};
use report::number_format::{count, decimals, percent};
use sim::sizing::bound::{Bound, BoundRun};

use crate::texts::table::{Table, noted};

/// What came out, with the law; then the runs as a table.
pub fn text(bound: &Bound) -> String {
    let headline = as_lines(&headline::bound::of(bound));
    let head = format!(
        "{headline}trace    {}\ndevice   {} blocks and {} extra, a spare of {} %\n",
        bound.trace,
        count(bound.logical_blocks.into()),
        count(bound.extra_blocks.into()),
        percent(bound.law.spare)
    );
    let mut table =
        Table::new(&["scheme", "open blocks", "write amplification", "copies per host page"]);
    bound.runs().for_each(|run| table.row(&row(run)));
    let notes: String = bound.notes.iter().map(|note| noted(note)).collect();
    format!("{head}\n{}\n{notes}", table.text())
}

fn row(run: &BoundRun) -> [String; 4] {
    [
        run.ftl.clone(),
        run.open_blocks.map_or("–".into(), |open| count(open.into())),
        decimals(run.write_amplification, 4),
        decimals(run.copies_per_host_page, 4),
    ]
}
