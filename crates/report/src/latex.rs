//! Tables for papers: LaTeX with the package booktabs. Nothing in them depends on the time or the
//! machine, so the same results give the same bytes.

use std::fmt::Write;

/// Columns from which on a table is as wide as both columns of a page.
const WIDE_FROM: usize = 5;

/// The mark in front of the best cell of a row.
const BEST: char = '*';

/// Rows that belong together.
#[derive(Clone, Debug)]
pub struct LatexGroup {
    /// The title above them; empty for none.
    pub title: String,
    /// The cells of each row; the first ones name it. A `*` in front of a cell marks the best, two
    /// spaces a part of the row above.
    pub rows: Vec<Vec<String>>,
}

/// A table with this caption and head, whose first `names` columns name the rows. The best cells
/// are bold. It needs `\usepackage{booktabs}`.
pub fn table(caption: &str, head: &[String], names: usize, groups: &[LatexGroup]) -> String {
    let columns = head.len();
    let environment = if columns >= WIDE_FROM { "table*" } else { "table" };
    let mut text = format!(
        "% needs \\usepackage{{booktabs}}\n\\begin{{{environment}}}\n\\centering\n\\small\n\
         \\caption{{{}}}\n\\begin{{tabular}}{{{}{}}}\n\\toprule\n{}\\midrule\n",
        escaped(caption),
        "l".repeat(names),
        "r".repeat(columns - names),
        line(head, columns)
    );
    for (at, LatexGroup { title, rows }) in groups.iter().enumerate() {
        text += if at > 0 { "\\addlinespace\n" } else { "" };
        if !title.is_empty() {
            let title = escaped(title);
            writeln!(text, "\\multicolumn{{{columns}}}{{l}}{{\\emph{{{title}}}}} \\\\")
                .expect("a string takes all text");
        }
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
pub(crate) fn escaped(text: &str) -> String {
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
        let head = strings(&["", "page", "dac:regions=4"]);
        let table = table("page {100 %} on #1", &head, 1, &groups);
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
    fn rows_may_have_several_names_and_no_title() {
        let rows = vec![strings(&["fast", "3%", "*2"])];
        let groups = [LatexGroup { title: String::new(), rows }];
        let table = table("", &strings(&["ftl", "extra", "cost"]), 2, &groups);
        let body =
            "{llr}\n\\toprule\nftl & extra & cost \\\\\n\\midrule\nfast & 3\\% & \\textbf{2}";
        assert!(table.contains(body), "{table}");
    }

    #[test]
    fn many_columns_take_both_columns_of_a_page() {
        let table = table("", &strings(&["", "a", "b", "c", "d"]), 1, &[]);
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
