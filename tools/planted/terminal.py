"""Tables and texts on a terminal: their width, their numbers, their colours, the text of a scheme."""

PACKAGES = ["ftlab --lib", "ftlab --test terminal"]

TERMINAL = "crates/cli/src/terminal.rs"
TABLE = "crates/cli/src/texts/table.rs"
LECTURE = "crates/cli/src/texts/lecture.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("terminal-columns-ignored", "width: COLUMNS is ignored", TERMINAL,
     "asked().or_else(|| own(stream))",
     "own(stream).or_else(asked)"),
    ("terminal-columns-in-pipes", "width: COLUMNS also sets the width of a pipe", TERMINAL,
     "stream.is_terminal().then(|| asked().or_else(|| own(stream))).flatten()",
     "asked().or_else(|| own(stream))"),
    ("terminal-colours-always", "colours: pipes and dumb terminals get them too", TERMINAL,
     "AutoStream::choice(stdout::own()) != ColorChoice::Never",
     "AutoStream::choice(stdout::own()) == ColorChoice::Never || true"),
    ("terminal-colours-take-columns", "colours: they count as columns", TERMINAL,
     "    plain(text).width()\n",
     "    text.width()\n"),
    ("terminal-number-loses-unit", "sentences: a line may end between a number and its unit", TERMINAL,
     "if !(is_unit && is_number || line[..at].ends_with('±')) {",
     "if !(is_unit && is_number && line[at..].starts_with(\" %\") || line[..at].ends_with('±')) {"),
    ("table-number-breaks", "tables: a cell may break at the comma of a number", TABLE,
     "let is_within = rest.starts_with(|next: char| next.is_ascii_digit());",
     "let is_within = rest.starts_with(|next: char| next == '0');"),
    ("table-gap-forgotten", "tables: the gaps between columns are not counted", TABLE,
     "widths[1..].iter().map(|width| GAP + width).sum()",
     "widths[1..].iter().sum::<usize>() + GAP"),
    ("table-heads-never-break", "tables: heads stay in one line", TABLE,
     "(1..=self.most_head_lines()).map(",
     "(1..=self.most_head_lines().min(1)).map("),
    ("table-names-never-break", "tables: names in the first column take what they need", TABLE,
     "widths[0] = widths[0].min(width / 2).min(beside_number).max(1);",
     "widths[0] = widths[0].min(width.max(beside_number)).max(1);"),
    ("table-number-has-no-room", "tables: names take the room of the widest number", TABLE,
     ".min(width / 2).min(beside_number).max(1);",
     ".min(width / 2 + beside_number / 4).max(1);"),
    ("table-best-plain", "tables: the best value of a row does not stand out", TABLE,
     "(_, cell) if cell.len() > 1 && cell.starts_with('*') => Some(Ink::Good),",
     "(_, cell) if cell.len() > 1 && cell.starts_with('!') => Some(Ink::Good),"),
    ("lecture-links-stay", "schemes: targets of links are shown", LECTURE,
     "Some((_, behind)) => Some(behind),",
     "Some(_) => None,"),
    ("lecture-caption-lost", "schemes: a caption that finds no room is lost", LECTURE,
     'format!("{above}{:indent$}{caption}\\n", "")',
     'format!("{above}{:indent$}\\n", "")'),
    ("lecture-sections-too", "schemes: what is below a heading is shown too", LECTURE,
     '.take_while(|line| !line.starts_with("# "));',
     '.take_while(|line| !line.starts_with("## "));'),
]
