//! The lives of several devices as a text.

use report::number_format::{bytes, count, decimals};
use sim::run::life::Life;

use crate::texts::table::Table;

/// What the columns mean.
const LEGEND: &str = "\
A drive write is the capacity once. `if even`: drive writes if all blocks took their mean number of
erases; what is missing was lost to uneven wear, and to blocks that failed early. `worn`: erases of
the most worn block in use, and their mean.
";

/// A row for each life.
pub fn text(trace: &str, lives: &[Life]) -> String {
    let Some(first) = lives.first() else { return String::new() };
    let head = format!(
        "trace    {trace}, repeated\nmedia    {}\nwear     {}\n\
         device   {} in {} blocks, and {} in reserve\n",
        first.media,
        first.levelling,
        bytes(first.capacity_bytes),
        count(first.blocks),
        count(first.reserve_blocks)
    );
    let mut table = Table::new(&[
        "ftl",
        "host wrote",
        "drive writes",
        "if even",
        "write amplification",
        "first failure after",
        "failed",
        "moved pages",
        "worn",
    ]);
    lives.iter().for_each(|life| table.row(&row(life)));
    format!("{head}\n{}\n{LEGEND}", table.text())
}

fn row(life: &Life) -> [String; 9] {
    let failed = &life.blocks_failed;
    [
        life.ftl.clone(),
        bytes(life.host_bytes),
        decimals(life.drive_writes, 1),
        decimals(life.drive_writes_if_even, 1),
        decimals(life.write_amplification, 3),
        life.first_retired_after.map_or("–".into(), |after| decimals(after, 1)),
        count(failed.retired),
        count(failed.moved_pages),
        format!("{}, {}", count(life.wear.max.into()), decimals(life.wear.mean, 1)),
    ]
}
