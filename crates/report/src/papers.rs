//! The pages of papers: every claim with its verdict, and the experiments that it rests on.

use sim::clock::SERIAL_CAVEAT;
use sim::plan::Scale;
use sim::plan::claim::Outcome;
use sim::sweep::Findings;

use crate::drawings;
use crate::figure::Table;
use crate::page::{Link, Page, Section};
use crate::plans::{QUICK, in_common};
use crate::sweeps::{self, Judged};

/// A paper whose evaluation is run again.
#[derive(Clone, Copy, Debug)]
pub struct Paper {
    /// Its short name.
    pub id: &'static str,
    /// Who wrote it, what it is called, where it appeared.
    pub title: &'static str,
    /// Its claims, by name and in words.
    pub claims: &'static [(&'static str, &'static str)],
}

/// An experiment of a paper, and what was found.
#[derive(Debug)]
pub struct Examined<'a> {
    /// The plan's name.
    pub name: &'a str,
    /// What its rows show.
    pub found: Findings<'a>,
}

/// Where a claim of a paper stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Runs spoke of it.
    Judged(Outcome),
    /// Some of its runs failed: a trace that is not there.
    NotRun,
    /// No experiment speaks of it.
    NotExamined,
}

impl Standing {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Standing::Judged(outcome) => outcome.word(),
            Standing::NotRun => "not run",
            Standing::NotExamined => "not examined",
        }
    }
}

/// A claim of a paper, and all that was found of it.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its name.
    pub id: &'static str,
    /// The claim in words.
    pub says: &'static str,
    /// Where it stands.
    pub standing: Standing,
    /// Cells that hold, and all that say something.
    pub cells: (usize, usize),
    /// How far off the worst cell is that falls short, as a part of what is expected.
    pub worst: Option<f64>,
}

impl Line {
    /// How far off it is, in words; empty where nothing is.
    pub fn off(&self) -> String {
        self.worst.map_or(String::new(), |off| format!("{:+.1} %", 100.0 * off))
    }

    fn cells(&self) -> String {
        match self.cells {
            (_, 0) => String::new(),
            (holding, all) => format!("{holding} of {all}"),
        }
    }
}

/// The claim that a part of it, such as `FSTR-2b` or `LAST-1 desktop`, belongs to.
fn claim_of(part: &str) -> &str {
    let digits = part.find(|c: char| c.is_ascii_digit()).unwrap_or(part.len());
    let behind = part[digits..].find(|c: char| !c.is_ascii_digit());
    behind.map_or(part, |behind| &part[..digits + behind])
}

/// A line for each claim of a paper.
pub fn lines(paper: &Paper, examined: &[Examined]) -> Vec<Line> {
    let judged: Vec<Judged> =
        examined.iter().flat_map(|examined| sweeps::judged(&examined.found)).collect();
    let line = |&(id, says): &(&'static str, &'static str)| {
        let parts: Vec<&Judged> =
            judged.iter().filter(|part| claim_of(&part.claim.id) == claim_of(id)).collect();
        // SL-6 and SL-6b are claims of their own.
        let is_own = |part: &&&Judged| part.claim.id.split(' ').next() == Some(id);
        let exact: Vec<&Judged> = parts.iter().filter(is_own).copied().collect();
        let has_siblings = paper.claims.iter().filter(|(other, _)| claim_of(other) == claim_of(id));
        let parts = if has_siblings.count() > 1 { exact } else { parts };
        of_parts(id, says, &parts)
    };
    paper.claims.iter().map(line).collect()
}

fn of_parts(id: &'static str, says: &'static str, parts: &[&Judged]) -> Line {
    let cells = parts.iter().map(|part| part.cells());
    let cells = cells.fold((0, 0), |all, part| (all.0 + part.0, all.1 + part.1));
    let verdicts = || parts.iter().flat_map(|part| &part.verdicts);
    let has_failed = parts.iter().any(|part| part.has_failed);
    let standing = match Outcome::of_all(parts.iter().map(|part| part.outcome())) {
        _ if verdicts().count() == 0 => Standing::NotExamined,
        _ if has_failed && verdicts().any(|cell| cell.found.is_none()) => Standing::NotRun,
        outcome => Standing::Judged(outcome),
    };
    let worst = parts.iter().filter_map(|part| part.worst());
    let worst = worst.max_by(|a, b| a.abs().total_cmp(&b.abs()));
    Line { id, says, standing, cells, worst }
}

fn table(lines: &[Line]) -> Table {
    let row = |line: &Line| {
        let words = [line.id, line.says].map(str::to_owned).into_iter();
        words.chain([line.cells(), line.off(), line.standing.word().to_owned()]).collect()
    };
    let head = ["claim", "says", "cells that hold", "worst is off by", "verdict"];
    let head = head.map(str::to_owned).to_vec();
    Table { head, rows: lines.iter().map(row).collect(), words: 2 }
}

fn lead(scale: Scale) -> Vec<String> {
    let quick = (scale == Scale::Quick).then(|| QUICK.to_owned());
    quick.into_iter().chain([STAND_INS.to_owned(), SERIAL_CAVEAT.to_owned()]).collect()
}

const STAND_INS: &str = "The papers' private traces cannot be had; each experiment names what \
                         stands in for them. A claim that falls short is reported as such; why, \
                         as far as it was found out, stands in docs/papers.md.";

/// The page of a paper.
pub fn page(paper: &Paper, examined: &[Examined], scale: Scale, made_by: String) -> Page {
    let lines = table(&lines(paper, examined));
    let mut sections =
        vec![Section { title: "Claims".into(), table: Some(lines), ..Section::default() }];
    sections.extend(examined.iter().map(|examined| section(examined, scale)));
    Page {
        title: format!("{}: published and measured", paper.id),
        lead: [vec![paper.title.to_owned()], lead(scale)].concat(),
        links: vec![Link { file: "index.html".into(), title: "all papers".into() }],
        sections,
        made_by,
    }
}

fn section(examined: &Examined, scale: Scale) -> Section {
    let (name, found) = (examined.name, &examined.found);
    let plan = found.plan();
    let judged = sweeps::judged(found);
    let mut figures: Vec<_> =
        judged.iter().map(|judged| sweeps::figure(judged, found, scale, name)).collect();
    figures.extend(drawings::figures(found, scale, name));
    let text = [Some(in_common(plan)), sweeps::failures(found)];
    Section {
        title: format!("{} ({name}.toml, {})", plan.title, runs(plan.rows.len())),
        text: text.into_iter().flatten().filter(|text| !text.is_empty()).collect(),
        table: (!judged.is_empty()).then(|| sweeps::glance(&judged)),
        figures,
    }
}

fn runs(rows: usize) -> String {
    match rows {
        0 => "traces alone".to_owned(),
        1 => "1 run".to_owned(),
        rows => format!("{rows} runs"),
    }
}

/// The page above all papers.
pub fn index(papers: &[(&Paper, Vec<Line>)], scale: Scale, made_by: String) -> Page {
    let link = |(paper, _): &(&Paper, Vec<Line>)| Link {
        file: format!("{}.html", paper.id),
        title: format!("{}: {}", paper.id, paper.title),
    };
    let lines: Vec<Line> = papers.iter().flat_map(|(_, lines)| lines.clone()).collect();
    let claims =
        Section { title: "Every claim".into(), table: Some(table(&lines)), ..Section::default() };
    Page {
        title: "The papers, regenerated".into(),
        lead: lead(scale),
        links: papers.iter().map(link).collect(),
        sections: vec![claims],
        made_by,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use sim::plan::Plan;

    #[test]
    fn parts_of_a_claim_belong_to_it() {
        let parts = ["T5", "FSTR-2b", "LAST-1 my-tpcc", "FSTR-4 at 15%", "SL-6b"].map(claim_of);
        assert_eq!(parts, ["T5", "FSTR-2", "LAST-1", "FSTR-4", "SL-6"]);
    }

    const PLAN: &str = r#"
        [base]
        trace = "uniform:writes=10"
        [[grid]]
        seed = [1, 2]
        [[claim]]
        id = "X-1 one"
        says = ""
        figure = "erases.total"
        rows = [{ seed = 1, expected = 10 }]
        [[claim]]
        id = "X-1 other"
        says = ""
        figure = "erases.total"
        within = "10%"
        rows = [{ seed = 2, expected = 10 }]
        [[claim]]
        id = "X-2"
        says = ""
        figure = "erases.total"
        rows = [{ expected = 10 }]"#;

    /// What becomes of claims, given the erases of both rows; a row without any failed if told so.
    fn outcomes(erases: [Option<u64>; 2], fails: bool) -> Vec<(Standing, (usize, usize))> {
        let plan = Plan::parse("p", PLAN, Scale::Full).unwrap();
        let mut found = Findings::of(&plan);
        for (row, erases) in erases.into_iter().enumerate() {
            let error = json!({"exit_code": 1, "message": "no such file"});
            let error = (fails && erases.is_none()).then_some(error);
            found.see(row, &json!({"erases": {"total": erases}, "sweep": {"error": error}}));
        }
        let claims = &[("X-1", ""), ("X-2", ""), ("X-3", "")];
        let paper = Paper { id: "X", title: "", claims };
        let lines = lines(&paper, &[Examined { name: "X", found }]);
        lines.iter().map(|line| (line.standing, line.cells)).collect()
    }

    #[test]
    fn a_claim_holds_if_all_its_parts_do_and_says_if_some_could_not_be_run() {
        use Standing::{Judged, NotExamined, NotRun};
        let [holds, short] = [Outcome::Holds, Outcome::FallsShort].map(Judged);
        let found = outcomes([Some(10), Some(10)], true);
        assert_eq!(found, [(holds, (2, 2)), (holds, (2, 2)), (NotExamined, (0, 0))]);
        let found = outcomes([Some(10), Some(11)], true);
        assert_eq!(found[..2], [(holds, (2, 2)), (short, (1, 2))]);
        let found = outcomes([None, Some(10)], true);
        assert_eq!(found[..2], [(NotRun, (1, 1)), (NotRun, (1, 1))]);
        let found = outcomes([None, Some(10)], false);
        assert_eq!(found[..2], [(holds, (1, 1)), (holds, (1, 1))]);
        let found = outcomes([None, None], false);
        assert_eq!(found[0], (Judged(Outcome::Undecided), (0, 0)));
        let found = outcomes([None, Some(12)], false);
        assert_eq!(found[..2], [(short, (0, 1)), (short, (0, 1))]);
    }
}
