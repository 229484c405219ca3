//! The lives of several devices: a table, a page, JSON.

use report::headline::{self, as_lines};
use report::html_page::HtmlPage;
use report::number_format::bytes;
use report::pages::life::{self, LEGEND, blocks};
use serde::Serialize;
use sim::run::life::Life;

use crate::output;
use crate::texts::table::Table;

/// Lives under one load, as JSON writes them.
#[derive(Debug, Serialize)]
pub struct Lives<'a> {
    schema: &'static str,
    trace: &'a str,
    lives: &'a [Life],
}

impl<'a> Lives<'a> {
    /// The lives of devices under this load.
    pub fn new(trace: &'a str, lives: &'a [Life]) -> Lives<'a> {
        Lives { schema: "ftlab.lives/1", trace, lives }
    }

    /// A row for each life.
    pub fn text(&self) -> String {
        let Some(first) = self.lives.first() else { return String::new() };
        let head = format!(
            "trace    {}, repeated\nmedia    {}\nwear     {}\n\
             device   {} in {}\n",
            self.trace,
            first.media,
            first.levelling,
            bytes(first.capacity_bytes),
            blocks(self.lives)
        );
        let summary = life::summary(self.lives);
        let mut table = Table::new(&summary.head);
        summary.rows.iter().for_each(|row| table.row(row));
        let headline = as_lines(&headline::lives::of(self.lives));
        format!("{headline}{head}\n{}\n{LEGEND}", table.text())
    }

    /// The report: the same table, and figures over the life.
    pub fn page(&self) -> HtmlPage {
        life::page(self.trace, self.lives, output::made_by("life"))
    }
}
