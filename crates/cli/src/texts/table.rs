//! Tables for people: the first column is left-aligned, the others are right-aligned.
//!
//! **Width.** A table that is wider than the terminal is narrowed in this order:
//!
//! 1. Heads break between words, and in specs behind `:`, `=` and `,`, into as few lines as needed.
//! 2. Names in the first column break, as long as a third of the width is left for them.
//! 3. Columns are stacked: as many as fit stand side by side, the others follow below, each group
//!    with the first column again.
//!
//! A number never breaks, and neither do a number and its unit. A name or head with a word that is
//! too wide breaks within the word.

use std::ops::Range;

use report::number_format::decimals;

use crate::terminal::{self, Ink, columns, folded, unbroken};

/// Blanks between two columns.
const GAP: usize = 2;

/// The rule above, as `--help` says it.
pub const WIDTH_RULE: &str = "\
On a terminal, a table that is too wide breaks its heads and names between words; if that is not \
enough, columns follow below each other, each group with the first column. Numbers never break. \
COLUMNS sets another width, NO_COLOR turns bold letters and colours off. Files and pipes get plain \
tables in one piece.";

/// Rows of cells. A column is as wide as its widest cell. A row of one cell is a line of its own,
/// which makes no column wider.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    kind: Kind,
    cells: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The names of the columns.
    Head,
    /// The title of the rows below it, in one cell.
    Title,
    Body,
}

impl Table {
    /// A table with this head.
    pub fn new(head: &[impl AsRef<str>]) -> Table {
        let mut table = Table::default();
        table.add(Kind::Head, head);
        table
    }

    /// Adds a row.
    pub fn row(&mut self, cells: &[impl AsRef<str>]) {
        self.add(Kind::Body, cells);
    }

    /// Adds a blank line and the title of the rows that follow.
    pub fn title(&mut self, title: &str) {
        self.row(&[""]);
        self.add(Kind::Title, &[title]);
    }

    fn add(&mut self, kind: Kind, cells: &[impl AsRef<str>]) {
        let cells = cells.iter().map(|cell| cell.as_ref().to_owned()).collect();
        self.rows.push(Row { kind, cells });
    }

    /// The text, one line per row, as a terminal of this width and these colours takes it.
    pub fn text(&self) -> String {
        self.text_beside(0)
    }

    /// The text, where each line will have `taken` columns in front of it.
    pub fn text_beside(&self, taken: usize) -> String {
        let width = terminal::width().map_or(usize::MAX, |width| width.saturating_sub(taken));
        self.text_within(width, Ink::on)
    }

    fn text_within(&self, width: usize, inked: fn(Ink, &str) -> String) -> String {
        let (widths, groups) = self.layout(width);
        let text = |others: &Range<usize>| -> String {
            self.rows.iter().map(|row| row.text(&widths, others, width, inked)).collect()
        };
        groups.iter().map(text).collect::<Vec<_>>().join("\n")
    }

    /// The width of each column, and the groups of columns behind the first one that stand side by
    /// side. Heads have as few lines as possible.
    fn layout(&self, width: usize) -> (Vec<usize>, Vec<Range<usize>>) {
        let by_lines: Vec<Vec<usize>> =
            (1..=self.most_head_lines()).map(|lines| self.widths(lines)).collect();
        let Some(narrow) = by_lines.last().filter(|widths| !widths.is_empty()) else {
            return (Vec::new(), Vec::new());
        };
        let all = 1..narrow.len();
        // Whole names first, then names of which a third of the width is left.
        for least in [narrow[0], narrow[0].min(width / 3)] {
            let fitting = by_lines.iter().find(|widths| beside_names(widths) + least <= width);
            if let Some(widths) = fitting {
                let names = widths[0].min(width - beside_names(widths));
                return ([&[names], &widths[1..]].concat(), vec![all]);
            }
        }
        self.stacked(narrow.clone(), width)
    }

    /// The lines of the head that can break most often.
    fn most_head_lines(&self) -> usize {
        let heads = self.rows.iter().filter(|row| row.kind == Kind::Head);
        heads.flat_map(|row| &row.cells).map(|head| pieces(head).len()).max().unwrap_or(1)
    }

    /// Groups of columns, none wider than this. The names take half of the width at most, and leave
    /// room for the widest number.
    fn stacked(&self, mut widths: Vec<usize>, width: usize) -> (Vec<usize>, Vec<Range<usize>>) {
        let beside_number = width.saturating_sub(GAP + self.widest_number());
        widths[0] = widths[0].min(width / 2).min(beside_number).max(1);
        let room = width.saturating_sub(widths[0] + GAP).max(self.widest_number());
        widths[1..].iter_mut().for_each(|width| *width = room.min(*width));
        let groups = groups(&widths, width);
        (widths, groups)
    }

    /// The width of each column: that of its widest cell, and of its head in this number of lines.
    fn widths(&self, head_lines: usize) -> Vec<usize> {
        let number = self.rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
        let rows = || self.rows.iter().filter(|row| row.cells.len() > 1);
        let width = |column: usize| {
            let cells = rows().filter_map(|row| Some((row.kind, row.cells.get(column)?)));
            let width = |(kind, cell): (Kind, &String)| match kind {
                Kind::Head if column > 0 => narrowest(cell, head_lines),
                _ => columns(cell),
            };
            cells.map(width).max().unwrap_or(0)
        };
        (0..number).map(width).collect()
    }

    /// The columns of the widest number behind the first column.
    fn widest_number(&self) -> usize {
        let body = self.rows.iter().filter(|row| row.kind == Kind::Body);
        let cells = body.flat_map(|row| row.cells.iter().skip(1));
        cells
            .flat_map(|cell| pieces(cell))
            .filter(|it| is_number(it))
            .map(columns)
            .max()
            .unwrap_or(1)
    }
}

impl Row {
    /// The lines of the row with the first column and these others.
    fn text(
        &self,
        widths: &[usize],
        others: &Range<usize>,
        width: usize,
        inked: fn(Ink, &str) -> String,
    ) -> String {
        if let [only] = &self.cells[..] {
            let folded = folded(only, width);
            let line = if self.kind == Kind::Title { inked(Ink::Title, &folded) } else { folded };
            return line + "\n";
        }
        let shown = [0].into_iter().chain(others.clone()).filter(|&at| at < self.cells.len());
        let cells: Vec<(usize, Vec<String>)> =
            shown.map(|at| (at, wrapped(&self.cells[at], widths[at], at == 0))).collect();
        let height = cells.iter().map(|(_, lines)| lines.len()).max().unwrap_or(0);
        let line = |number: usize| {
            let mut line = String::new();
            for (at, lines) in &cells {
                // Heads end above their column; all else begins beside its name.
                let above = if self.kind == Kind::Head { height - lines.len() } else { 0 };
                let text = number.checked_sub(above).and_then(|at| lines.get(at));
                let ink =
                    |text: &str| self.ink(*at).map_or(text.to_owned(), |ink| inked(ink, text));
                line += &aligned(text.map_or("", |text| text), *at, widths[*at], ink);
            }
            line.truncate(line.trim_end().len());
            line + "\n"
        };
        (0..height).map(line).collect()
    }

    /// How a cell stands out.
    fn ink(&self, column: usize) -> Option<Ink> {
        match (self.kind, &*self.cells[column]) {
            (Kind::Head, _) => Some(Ink::Title),
            (_, cell) if cell.len() > 1 && cell.starts_with('*') => Some(Ink::Good),
            (_, "holds") => Some(Ink::Good),
            (_, "falls short") => Some(Ink::Bad),
            _ => None,
        }
    }
}

/// The width in which a head takes at most this number of lines without a break within a piece.
fn narrowest(head: &str, lines: usize) -> usize {
    let widest = pieces(head).into_iter().map(|piece| columns(piece.trim_end())).max();
    let fits = |width: &usize| wrapped(head, *width, false).len() <= lines;
    (widest.unwrap_or(0)..columns(head)).find(fits).unwrap_or(columns(head))
}

/// Columns that all but the first one take, with their gaps.
fn beside_names(widths: &[usize]) -> usize {
    widths[1..].iter().map(|width| GAP + width).sum()
}

/// A line of a cell with the blanks that align it, and those in front of its column.
fn aligned(text: &str, column: usize, width: usize, ink: impl Fn(&str) -> String) -> String {
    let blanks = " ".repeat(width.saturating_sub(columns(text)));
    let text = if text.is_empty() { String::new() } else { ink(text) };
    match column {
        0 => text + &blanks,
        _ => format!("{:GAP$}{blanks}{text}", ""),
    }
}

/// Whether a piece of a cell is a number, which may have a sign, a mark and a unit.
fn is_number(piece: &str) -> bool {
    piece
        .trim_start_matches(['*', '+', '-', '−', '~', '±', '≤', '≥', '<', '>', '(', ' '])
        .starts_with(|first: char| first.is_ascii_digit())
}

/// The pieces between which a cell may break: words, and the keys of a spec.
fn pieces(text: &str) -> Vec<&str> {
    unbroken(text).into_iter().flat_map(keys).collect()
}

/// The pieces of a word. A comma within a number is no end of a piece.
fn keys(word: &str) -> Vec<&str> {
    let (mut keys, mut start) = (Vec::new(), 0);
    for (at, _) in word.match_indices([',', ':', '=']) {
        let rest = &word[at + 1..];
        let is_within = rest.starts_with(|next: char| next.is_ascii_digit());
        if !is_within && !rest.trim().is_empty() {
            keys.push(&word[start..=at]);
            start = at + 1;
        }
    }
    keys.push(&word[start..]);
    keys
}

/// The lines of a cell in a column of this width. The further lines of a name are indented.
fn wrapped(cell: &str, width: usize, is_name: bool) -> Vec<String> {
    if columns(cell) <= width {
        return vec![cell.to_owned()];
    }
    let lead = cell.chars().take_while(|&letter| letter == ' ').count();
    let indent = if is_name { (lead + 2).min(width / 2) } else { 0 };
    let mut lines = vec![String::new()];
    for piece in pieces(cell) {
        for part in fitting(piece, width - indent) {
            let taken = columns(lines.last().map_or("", |line| line));
            if taken > indent && taken + columns(part.trim_end()) > width {
                lines.push(" ".repeat(indent));
            }
            if let Some(line) = lines.last_mut() {
                line.push_str(part);
            }
        }
    }
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

/// A piece, or its parts if it is too wide and no number.
fn fitting(piece: &str, width: usize) -> Vec<&str> {
    if is_number(piece) || columns(piece.trim_end()) <= width {
        return vec![piece];
    }
    let (mut parts, mut start, mut taken) = (Vec::new(), 0, 0);
    for (at, letter) in piece.char_indices() {
        let wide = columns(letter.encode_utf8(&mut [0; 4]));
        if taken + wide > width && at > start {
            parts.push(&piece[start..at]);
            (start, taken) = (at, 0);
        }
        taken += wide;
    }
    parts.push(&piece[start..]);
    parts
}

/// Columns behind the first one that stand beside each other within a width, in as few groups as
/// fit, which are about equally wide.
fn groups(widths: &[usize], width: usize) -> Vec<Range<usize>> {
    let fewest = filled_groups(widths, width);
    let narrower = (widths[0]..width).map(|width| filled_groups(widths, width));
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

/// A line with a text behind its label, which takes `width` columns.
pub fn labelled(label: &str, width: usize, text: &str) -> String {
    let label = format!("{label:<width$}");
    let label = if label.starts_with("note") { Ink::Note.on(&label) } else { label };
    format!("{label} {text}\n")
}

/// The line of a note below a table.
pub fn noted(note: &str) -> String {
    format!("{} {note}\n", Ink::Note.on("note:"))
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

    fn plain(table: &Table, width: usize) -> String {
        table.text_within(width, |_, text| text.to_owned())
    }

    fn whole(table: &Table) -> String {
        plain(table, usize::MAX)
    }

    #[test]
    fn columns_are_aligned() {
        let mut table = Table::new(&["cause", "reads"]);
        table.row(&["host", "1,000,000"]);
        table.row(&["µs", "1"]);
        assert_eq!(whole(&table), "cause      reads\nhost   1,000,000\nµs             1\n");
    }

    #[test]
    fn a_row_of_one_cell_makes_no_column_wider() {
        let mut table = Table::new(&["a", "b"]);
        table.row(&["a sentence below the row"]);
        assert_eq!(whole(&table), "a  b\na sentence below the row\n");
    }

    #[test]
    fn columns_that_do_not_fit_follow_with_the_first_column() {
        let mut table = Table::new(&["", "page", "block", "fast"]);
        table.row(&["cost"]);
        table.row(&["WA", "1.25", "64.00", "12.50"]);
        assert_eq!(plain(&table, 24), whole(&table));
        let narrow = "    page  block\ncost\nWA  1.25  64.00\n\n     fast\ncost\nWA  12.50\n";
        assert_eq!(plain(&table, 18), narrow);
    }

    #[test]
    fn heads_break_first_and_names_next() {
        let mut table = Table::new(&["scheme", "open blocks", "write amplification"]);
        table.row(&["oracle:open=16,foresight=all", "16", "1.0000"]);
        assert_eq!(
            plain(&table, 52),
            "                                open          write\n\
             scheme                        blocks  amplification\n\
             oracle:open=16,foresight=all      16         1.0000\n"
        );
        assert_eq!(
            plain(&table, 40),
            "                     open          write\n\
             scheme             blocks  amplification\n\
             oracle:open=16,        16         1.0000\n  foresight=all\n"
        );
    }

    #[test]
    fn groups_of_columns_are_about_equally_wide() {
        assert_eq!(groups(&[5, 3, 3, 3, 3, 3], 25), [1..4, 4..6]);
        assert_eq!(groups(&[5, 3, 3, 3, 3, 3], 30).len(), 1);
        assert_eq!(groups(&[5, 3, 3, 3, 3, 12], 25), [1..4, 4..6]);
        assert_eq!(groups(&[5, 3, 3, 3, 3, 20], 27), [1..5, 5..6], "the last one is wide");
    }

    #[test]
    fn heads_and_the_best_stand_out_and_take_no_columns() {
        let mut table = Table::new(&["", "page", "fast"]);
        table.title("cost");
        table.row(&["WA", "*1.25", "12.50"]);
        let inked = table.text_within(80, Ink::always_on);
        for shown in [Ink::Title.always_on("cost"), Ink::Good.always_on("*1.25")] {
            assert!(inked.contains(&shown), "{inked}");
        }
        let widths = |text: &str| text.lines().map(columns).collect::<Vec<_>>();
        assert_eq!(widths(&inked), widths(&whole(&table)));
    }

    /// Draws numbers below `end`.
    struct Draws(u64);

    impl Draws {
        fn below(&mut self, end: usize) -> usize {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 33) as usize % end
        }

        fn number(&mut self) -> String {
            let digits = 1 + self.below(12);
            let number = report::number_format::count(10_u64.pow(digits as u32) - 7);
            let units = ["", ".25", " MiB", " %", " µs"];
            let mark = ["", "*", "±"][self.below(3)];
            format!("{mark}{number}{}", units[self.below(units.len())])
        }

        fn name(&mut self, words: usize) -> String {
            const WORDS: [&str; 7] = [
                "write",
                "amplification",
                "µs",
                "faster:isolation=true,carried=own",
                "p99",
                "IOPS",
                "a/rather/long/path/without/any/place/to/break/in.csv",
            ];
            let words = (0..=self.below(words)).map(|_| WORDS[self.below(WORDS.len())]);
            words.collect::<Vec<_>>().join(" ")
        }

        fn table(&mut self) -> (Table, Vec<String>) {
            let others = 1 + self.below(12);
            let mut numbers = Vec::new();
            let head: Vec<String> = (0..=others).map(|_| self.name(3)).collect();
            let mut table = Table::new(&head);
            for _ in 0..=self.below(4) {
                let row: Vec<String> = (0..others).map(|_| self.number()).collect();
                numbers.extend(row.clone());
                let name = format!("{:1$}{2}", "", 2 * self.below(2), self.name(6));
                table.row(&[&[name][..], &row].concat());
            }
            table.title("write amplification of a load");
            (table, numbers)
        }
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_no_number_breaks() {
        let mut draws = Draws(7);
        for case in 0..60 {
            let (table, numbers) = draws.table();
            for width in [40, 41, 47, 55, 60, 72, 80, 81, 100, 132, 200, 300] {
                let text = plain(&table, width);
                let widest = text.lines().map(columns).max().unwrap_or(0);
                assert!(widest <= width, "{case}, {width}: {widest}\n{text}");
                for number in &numbers {
                    let is_there = text.lines().any(|line| line.contains(number.as_str()));
                    assert!(is_there, "{case}, {width}: {number}\n{text}");
                }
            }
        }
    }

    #[test]
    fn a_missing_number_is_a_dash() {
        assert_eq!([real(Some(1234.5678), 3), real(None, 3)], ["1,234.568", "–"]);
    }
}
