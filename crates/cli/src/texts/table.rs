//! Tables for people: the first column is left-aligned, the others are right-aligned.

use report::number_format::decimals;

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

    /// The text, one line per row.
    pub fn text(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let rows = self.rows.iter().filter(|row| row.len() > 1);
            let cells = rows.filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        self.rows.iter().map(|row| line(row, &widths)).collect()
    }
}

fn line(row: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for (column, (cell, &width)) in row.iter().zip(widths).enumerate() {
        match column {
            0 => line.push_str(&format!("{cell:<width$}")),
            _ => line.push_str(&format!("  {cell:>width$}")),
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
    fn a_missing_number_is_a_dash() {
        assert_eq!([real(Some(1234.5678), 3), real(None, 3)], ["1,234.568", "–"]);
    }
}
