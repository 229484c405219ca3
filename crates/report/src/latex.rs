//! Tables for papers: LaTeX with the package booktabs. Nothing in them depends on the time or the
//! machine, so the same results give the same bytes.

use std::fmt::Write;

/// Columns from which on a table is as wide as both columns of a page.
const WIDE_FROM: usize = 5;

/// The mark in front of the best cell of a row.
const BEST: char = '*';

/// Rows that belong together, under a title.
#[derive(Clone, Debug)]
pub struct LatexGroup {
    /// The title.
    pub title: String,
    /// The cells of each row; the first one names it. A `*` in front of a cell marks the best, two
    /// spaces a part of the row above.
    pub rows: Vec<Vec<String>>,
}

/// A table with this caption and head, whose first column names the rows. The best cell of a row is
/// bold. It needs `\usepackage{booktabs}`.
pub fn table(caption: &str, head: &[String], groups: &[LatexGroup]) -> String {
    let columns = head.len();
    let environment = if columns >= WIDE_FROM { "table*" } else { "table" };
    let mut text = format!(
        "% needs \\usepackage{{booktabs}}\n\\begin{{{environment}}}\n\\centering\n\\small\n\
         \\caption{{{}}}\n\\begin{{tabular}}{{l{}}}\n\\toprule\n{}\\midrule\n",
        escaped(caption),
        "r".repeat(columns - 1),
        line(head, columns)
    );
    for (at, LatexGroup { title, rows }) in groups.iter().enumerate() {
        let space = if at > 0 { "\\addlinespace\n" } else { "" };
        let title = escaped(title);
        writeln!(text, "{space}\\multicolumn{{{columns}}}{{l}}{{\\emph{{{title}}}}} \\\\")
            .expect("a string takes all text");
        rows.iter().for_each(|row| text += &line(row, columns));
    }
    text + &format!("\\bottomrule\n\\end{{tabular}}\n\\end{{{environment}}}\n")
}

/// A row with a cell for each column.
fn line(cells: &[String], columns: usize) -> String {
    let cells = cells.iter().map(String::as_str).chain(std::iter::repeat("")).take(columns);
    let cells: Vec<String> = cells
        .map(|cell| match cell.strip_prefix(BEST) {
            Some(best) => format!("\\textbf{{{}}}", escaped(best)),
            None => match cell.strip_prefix("  ") {
                Some(part) => format!("\\quad {}", escaped(part)),
                None => escaped(cell),
            },
        })
        .collect();
    format!("{} \\\\\n", cells.join(" & "))
}

/// A text in which nothing means anything to LaTeX, and that any engine can set.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\\' => out += "\\textbackslash{}",
            '~' => out += "\\textasciitilde{}",
            '^' => out += "\\textasciicircum{}",
            '<' => out += "\\textless{}",
            '>' => out += "\\textgreater{}",
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', char]),
            'µ' => out += "$\\mu$",
            '±' => out += "$\\pm$",
            '−' => out += "$-$",
            '×' => out += "$\\times$",
            '≤' => out += "$\\leq$",
            '≥' => out += "$\\geq$",
            '–' => out += "--",
            '…' => out += "\\ldots{}",
            _ => out.push(char),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|&cell| cell.to_owned()).collect()
    }

    #[test]
    fn a_table_has_a_cell_for_each_column_and_the_best_is_bold() {
        let groups = [
            LatexGroup {
                title: "cost & time".into(),
                rows: vec![strings(&["p99, µs", "*1.5", "–"]), strings(&["  a part"])],
            },
            LatexGroup { title: "RAM".into(), rows: vec![strings(&["a_b", "7 %", "−1"])] },
        ];
        let table = table("page {100 %} on #1", &strings(&["", "page", "dac:regions=4"]), &groups);
        let expected = r"% needs \usepackage{booktabs}
\begin{table}
\centering
\small
\caption{page \{100 \%\} on \#1}
\begin{tabular}{lrr}
\toprule
 & page & dac:regions=4 \\
\midrule
\multicolumn{3}{l}{\emph{cost \& time}} \\
p99, $\mu$s & \textbf{1.5} & -- \\
\quad a part &  &  \\
\addlinespace
\multicolumn{3}{l}{\emph{RAM}} \\
a\_b & 7 \% & $-$1 \\
\bottomrule
\end{tabular}
\end{table}
";
        assert_eq!(table, expected);
    }

    #[test]
    fn many_columns_take_both_columns_of_a_page() {
        let table = table("", &strings(&["", "a", "b", "c", "d"]), &[]);
        assert!(table.contains("\\begin{table*}") && table.ends_with("\\end{table*}\n"));
    }

    /// Any text: braces balance, and no character is left that means something to LaTeX.
    #[test]
    fn whatever_a_user_can_name_is_escaped() {
        for char in (0..0x3000).filter_map(char::from_u32) {
            let out = escaped(&char.to_string());
            let bare: Vec<char> = out.replace('\\', "").chars().collect();
            let opened = bare.iter().filter(|&&it| it == '{').count();
            let closed = bare.iter().filter(|&&it| it == '}').count();
            assert!(opened == closed || "{}".contains(char), "{char:?}: {out}");
            if "&%$#_{}~^\\".contains(char) {
                assert!(out.starts_with('\\'), "{char:?}: {out}");
            }
        }
    }
}
