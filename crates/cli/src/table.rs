//! Tables for people: the first column is left-aligned, the others are right-aligned, and digits
//! are grouped.

/// Rows of cells. A column is as wide as its widest cell.
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
            let cells = self.rows.iter().filter_map(|row| row.get(column));
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

/// A count in groups of three digits.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with `places` decimals, or a dash for none.
pub fn real(value: Option<f64>, places: usize) -> String {
    value.map_or("–".into(), |value| format!("{value:.places$}"))
}

/// Bytes in the largest unit that gives at least 1.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if n < 1024 {
        return format!("{n} B");
    }
    let power = (n.ilog2() / 10) as usize;
    format!("{:.2} {}", n as f64 / 1024f64.powi(power as i32), UNITS[power - 1])
}

/// Seconds from microseconds.
pub fn seconds(us: f64) -> String {
    format!("{:.3}", us / 1e6)
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
    fn numbers_are_grouped_and_rounded() {
        assert_eq!(
            [count(0), count(999), count(1000), count(1234567)].join(" "),
            "0 999 1,000 1,234,567"
        );
        assert_eq!(
            [bytes(0), bytes(1023), bytes(1024), bytes(3 << 29)].join(" "),
            "0 B 1023 B 1.00 KiB 1.50 GiB"
        );
        assert_eq!(bytes(u64::MAX), "16.00 EiB");
        assert_eq!([real(Some(1.23456), 3), real(None, 3)], ["1.235", "–"]);
    }
}
