//! Results side by side: a table with a column for each, and a report with figures.

use report::figure::DataTable;
use report::headline::{self, as_lines};
use report::html_page::{HtmlPage, Section};
use report::latex::{self, LatexGroup};
use report::runs::{self, LabelledResult, capitalised, provenance};
use serde_json::Value;
use sim::clock::{DRIVE_CAVEAT, SERIAL_CAVEAT};
use sim::result::notes::SharedNotes;
use sim::{Experiment, RunResult};

use crate::output;
use crate::texts::groups::{self, Group, LEGEND};
use crate::texts::table::{Table, noted};

/// What tells runs apart besides their FTL.
const DIFFERENCES: [fn(&Experiment) -> String; 2] =
    [|it| it.durability.to_string(), |it| format!("trim {}", it.trim)];

/// The names of runs that differ in FTL, durability and the treatment of trims.
pub fn labels(experiments: &[Experiment]) -> Vec<String> {
    let differ =
        |of: &fn(&Experiment) -> String| experiments.iter().any(|it| of(it) != of(&experiments[0]));
    let differences: Vec<_> = DIFFERENCES.into_iter().filter(differ).collect();
    let label = |experiment: &Experiment| {
        let marks: Vec<String> = differences.iter().map(|of| of(experiment)).collect();
        match marks.is_empty() {
            true => experiment.ftl.clone(),
            false => format!("{} ({})", experiment.ftl, marks.join(", ")),
        }
    };
    experiments.iter().map(label).collect()
}

/// Results of several runs, each with its name.
#[derive(Clone, Copy, Debug)]
pub struct Comparison<'a> {
    /// The names.
    pub labels: &'a [String],
    /// The results, as many as names.
    pub results: &'a [RunResult],
    /// The subcommand that made them.
    pub command: &'static str,
}

impl Comparison<'_> {
    /// What came out, what was run in one line, then a column for each run.
    pub fn text(&self) -> String {
        let values = self.values();
        let mut table = Table::new(&self.head());
        for group in groups::groups(self.results) {
            table.title(&group.title);
            group.rows.iter().for_each(|row| table.row(&indented(row)));
        }
        let runs = self.labelled(&values);
        let (headline, provenance) = (as_lines(&headline::runs::of(&runs)), provenance(&runs));
        let notes: String = self.notes().iter().map(|note| noted(note)).collect();
        let caveat = self.caveat();
        format!("{headline}{provenance}\n\n{}\n{notes}{LEGEND}\n{caveat}\n", table.text())
    }

    /// The report: figures, and the same groups in one table.
    pub fn page(&self) -> HtmlPage {
        let values = self.values();
        let runs = self.labelled(&values);
        let rows = groups::groups(self.results)
            .into_iter()
            .flat_map(|group| [vec![capitalised(&group.title)]].into_iter().chain(group.rows));
        let numbers = Section {
            text: vec!["The best of a row is bold. Rows of zeros are left out.".to_owned()],
            ..Section::of_table("All numbers", DataTable::new(self.head(), rows))
        };
        HtmlPage {
            title: runs::title(&runs),
            headline: headline::runs::of(&runs),
            lead: vec![provenance(&runs)],
            sections: [runs::sections(&runs), vec![numbers]].concat(),
            made_by: output::made_by(self.command),
            ..HtmlPage::default()
        }
    }

    /// The same groups as a table for a paper; its caption says what was run and what came out.
    pub fn latex(&self) -> String {
        let values = self.values();
        let runs = self.labelled(&values);
        let headline = headline::runs::of(&runs).join(" ");
        let groups = groups::groups(self.results).into_iter();
        let groups: Vec<LatexGroup> = groups
            .map(|Group { title, rows }| LatexGroup { title: capitalised(&title), rows })
            .collect();
        latex::table(&format!("{headline} {}", provenance(&runs)), &self.head(), 1, &groups)
    }

    /// The limit of the clock that all results share.
    fn caveat(&self) -> &'static str {
        match self.results.iter().any(|result| result.drive.is_some()) {
            true => DRIVE_CAVEAT,
            false => SERIAL_CAVEAT,
        }
    }

    /// The notes of the results. A note that not all results share names its runs.
    fn notes(&self) -> Vec<String> {
        let mut notes = SharedNotes::default();
        self.results.iter().for_each(|result| notes.add(result.notes.iter().map(String::as_str)));
        notes.sentences(|some| {
            some.iter().map(|&at| &*self.labels[at]).collect::<Vec<_>>().join(", ")
        })
    }

    fn head(&self) -> Vec<String> {
        std::iter::once(String::new()).chain(self.labels.iter().cloned()).collect()
    }

    fn values(&self) -> Vec<Value> {
        self.results.iter().map(output::value).collect()
    }

    /// The results as the figures and the line above a table take them.
    fn labelled<'b>(&'b self, values: &'b [Value]) -> Vec<LabelledResult<'b>> {
        let runs = self.labels.iter().zip(values);
        runs.map(|(label, result)| LabelledResult { label, result }).collect()
    }
}

fn indented(row: &[String]) -> Vec<String> {
    let (name, cells) = row.split_first().expect("a row has a name");
    std::iter::once(format!("  {name}")).chain(cells.iter().cloned()).collect()
}
