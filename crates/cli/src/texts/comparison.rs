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
#[derive(Debug)]
pub struct Comparison<'a> {
    /// The names.
    pub labels: &'a [String],
    /// The JSON of the results, as many as names.
    pub values: Vec<Value>,
    /// The quantities by which they are compared.
    pub groups: Vec<Group>,
    /// The subcommand that made them.
    pub command: &'static str,
}

impl<'a> Comparison<'a> {
    /// Results of this process.
    pub fn of(
        labels: &'a [String],
        results: &[RunResult],
        command: &'static str,
    ) -> Comparison<'a> {
        let (values, groups) =
            (results.iter().map(output::value).collect(), groups::groups(results));
        Comparison { labels, values, groups, command }
    }
}

impl Comparison<'_> {
    /// What came out, what was run in one line, then a column for each run.
    pub fn text(&self) -> String {
        let mut table = Table::new(&self.head());
        for group in &self.groups {
            table.title(&group.title);
            group.rows.iter().for_each(|row| table.row(&indented(row)));
        }
        let runs = self.labelled();
        let (headline, provenance) = (as_lines(&headline::runs::of(&runs)), provenance(&runs));
        let notes: String = self.notes().iter().map(|note| noted(note)).collect();
        let caveat = self.caveat();
        format!("{headline}{provenance}\n\n{}\n{notes}{LEGEND}\n{caveat}\n", table.text())
    }

    /// The report: figures, and the same groups in one table.
    pub fn page(&self) -> HtmlPage {
        let runs = self.labelled();
        let titled =
            |group: &Group| [vec![vec![capitalised(&group.title)]], group.rows.clone()].concat();
        let rows = self.groups.iter().flat_map(titled);
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
        let runs = self.labelled();
        let headline = headline::runs::of(&runs).join(" ");
        let group = |Group { title, rows }: &Group| LatexGroup {
            title: capitalised(title),
            rows: rows.clone(),
        };
        let groups: Vec<LatexGroup> = self.groups.iter().map(group).collect();
        latex::table(&format!("{headline} {}", provenance(&runs)), &self.head(), 1, &groups)
    }

    /// The limit of the clock that all results share.
    fn caveat(&self) -> &'static str {
        match self.values.iter().any(|result| !result["drive"].is_null()) {
            true => DRIVE_CAVEAT,
            false => SERIAL_CAVEAT,
        }
    }

    /// The notes of the results. A note that not all results share names its runs.
    fn notes(&self) -> Vec<String> {
        let mut notes = SharedNotes::default();
        for result in &self.values {
            let sentences = result["notes"].as_array().map_or(&[][..], Vec::as_slice);
            notes.add(sentences.iter().filter_map(Value::as_str));
        }
        notes.sentences(|some| {
            some.iter().map(|&at| &*self.labels[at]).collect::<Vec<_>>().join(", ")
        })
    }

    fn head(&self) -> Vec<String> {
        std::iter::once(String::new()).chain(self.labels.iter().cloned()).collect()
    }

    /// The results as the figures and the line above a table take them.
    fn labelled(&self) -> Vec<LabelledResult<'_>> {
        let runs = self.labels.iter().zip(&self.values);
        runs.map(|(label, result)| LabelledResult { label, result }).collect()
    }
}

fn indented(row: &[String]) -> Vec<String> {
    let (name, cells) = row.split_first().expect("a row has a name");
    std::iter::once(format!("  {name}")).chain(cells.iter().cloned()).collect()
}
