//! Tables for people: the first column is left-aligned, the others are right-aligned.

use std::ops::Range;

use report::number_format::decimals;

use crate::terminal;

/// Blanks between two columns.
const GAP: usize = 2;

/// Rows of cells. A column is as wide as its widest cell. A row of one cell is a line of its own,
/// which makes no column wider.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with this head.
    pub fn new(head: &[&str]) -> Table {
        let mut table = Table::default();
        table.row(head);
        table
    }

    /// Adds a row.
    pub fn row(&mut self, cells: &[impl AsRef<str>]) {
        self.rows.push(cells.iter().map(|cell| cell.as_ref().to_owned()).collect());
    }

    /// The text, one line per row. On a terminal that is too narrow, groups of columns follow each
    /// other, each with the first column.
    pub fn text(&self) -> String {
        self.text_within(terminal::width().unwrap_or(usize::MAX))
    }

    fn text_within(&self, width: usize) -> String {
        let widths = self.widths();
        let groups = groups(&widths, width);
        let text = |columns: &Range<usize>| {
            let part = |row: &Vec<String>| match row.len() {
                0 | 1 => row.clone(),
                cells => {
                    let others = columns.start.min(cells)..columns.end.min(cells);
                    [&row[..1], &row[others]].concat()
                }
            };
            let widths = [&widths[..1], &widths[columns.clone()]].concat();
            self.rows.iter().map(|row| line(&part(row), &widths)).collect::<String>()
        };
        match groups.len() {
            0 | 1 => self.rows.iter().map(|row| line(row, &widths)).collect(),
            _ => groups.iter().map(text).collect::<Vec<_>>().join("\n"),
        }
    }

    /// The width of each column.
    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let rows = self.rows.iter().filter(|row| row.len() > 1);
            let cells = rows.filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        (0..columns).map(width).collect()
    }
}

/// Columns behind the first one that stand beside each other within a width, in as few groups as
/// fit, which are about equally wide. A first column that takes most of the width is not repeated.
fn groups(widths: &[usize], width: usize) -> Vec<Range<usize>> {
    let Some(&first) = widths.first() else { return Vec::new() };
    let all = 1..widths.len();
    if first > width / 2 {
        return vec![all];
    }
    let fewest = filled_groups(widths, width);
    let narrower = (first..width).map(|width| filled_groups(widths, width));
    narrower.into_iter().find(|groups| groups.len() == fewest.len()).unwrap_or(fewest)
}

/// Groups of columns, each with as many as fit.
fn filled_groups(widths: &[usize], width: usize) -> Vec<Range<usize>> {
    let (first, others) = (widths[0], &widths[1..]);
    let (mut groups, mut start, mut taken) = (Vec::new(), 1, first);
    for (column, cell) in others.iter().enumerate().map(|(at, cell)| (at + 1, cell)) {
        if taken + GAP + cell > width && column > start {
            groups.push(start..column);
            (start, taken) = (column, first);
        }
        taken += GAP + cell;
    }
    groups.push(start..widths.len());
    groups
}

fn line(row: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for (column, (cell, &width)) in row.iter().zip(widths).enumerate() {
        match column {
            0 => line.push_str(&format!("{cell:<width$}")),
            _ => line.push_str(&format!("{:GAP$}{cell:>width$}", "")),
        }
    }
    line.truncate(line.trim_end().len());
    line.push('\n');
    line
}

/// A number with `places` decimals, or a dash for none.
pub fn real(value: Option<f64>, places: usize) -> String {
    value.map_or("–".into(), |value| decimals(value, places))
}

/// Seconds from microseconds.
pub fn seconds(us: f64) -> String {
    decimals(us / 1e6, 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new(&["cause", "reads"]);
        table.row(&["host", "1,000,000"]);
        table.row(&["µs", "1"]);
        assert_eq!(table.text(), "cause      reads\nhost   1,000,000\nµs             1\n");
    }

    #[test]
    fn a_row_of_one_cell_makes_no_column_wider() {
        let mut table = Table::new(&["a", "b"]);
        table.row(&["a sentence below the row"]);
        assert_eq!(table.text(), "a  b\na sentence below the row\n");
    }

    #[test]
    fn columns_that_do_not_fit_follow_with_the_first_column() {
        let mut table = Table::new(&["", "page", "block", "fast"]);
        table.row(&["cost"]);
        table.row(&["WA", "1.25", "64.00", "12.50"]);
        assert_eq!(table.text_within(23), table.text());
        let narrow = "    page  block\ncost\nWA  1.25  64.00\n\n     fast\ncost\nWA  12.50\n";
        assert_eq!(table.text_within(18), narrow);
        for width in 0..30 {
            let text = table.text_within(width);
            assert!(["1.25", "64.00", "12.50"].iter().all(|cell| text.contains(cell)), "{width}");
        }
    }

    #[test]
    fn groups_of_columns_are_about_equally_wide() {
        assert_eq!(groups(&[5, 3, 3, 3, 3, 3], 25), [1..4, 4..6]);
        assert_eq!(groups(&[5, 3, 3, 3, 3, 3], 30).len(), 1);
        assert_eq!(groups(&[5, 3, 3, 3, 3, 12], 25), [1..4, 4..6]);
        assert_eq!(groups(&[5, 3, 3, 3, 3, 20], 27), [1..5, 5..6], "the last one is wide");
    }

    #[test]
    fn a_missing_number_is_a_dash() {
        assert_eq!([real(Some(1234.5678), 3), real(None, 3)], ["1,234.568", "–"]);
    }
}
