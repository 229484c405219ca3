//! The pages of papers: every claim with its verdict, and the experiments that decide it.

use sim::clock::SERIAL_CAVEAT;
use sim::plan::Scale;
use sim::plan::claim::Judgement;
use sim::sweep::Findings;

use crate::captions::{QUICK_NOTE, common_options};
use crate::figure::DataTable;
use crate::headline;
use crate::html_page::{HtmlPage, Link, Section, number_alike};
use crate::number_format::counted;
use crate::pages::sweep::{self, JudgedClaim};
use crate::plan_figures;

/// A paper whose experiments are repeated.
#[derive(Clone, Copy, Debug)]
pub struct Paper {
    /// Its short name.
    pub id: &'static str,
    /// Authors, title and venue.
    pub title: &'static str,
    /// Its claims.
    pub claims: &'static [PaperClaim],
}

/// A claim of a paper.
#[derive(Clone, Copy, Debug)]
pub struct PaperClaim {
    /// Its id.
    pub id: &'static str,
    /// Its statement.
    pub says: &'static str,
    /// Why it falls short here, in one sentence; none if the reason is not known.
    pub cause: Option<&'static str>,
}

/// A claim without a known reason to fall short.
pub const fn claim(id: &'static str, says: &'static str) -> PaperClaim {
    PaperClaim { id, says, cause: None }
}

impl PaperClaim {
    /// The same claim with the reason why it falls short here.
    pub const fn because(self, cause: &'static str) -> PaperClaim {
        PaperClaim { cause: Some(cause), ..self }
    }
}

/// An experiment of a paper with its results.
#[derive(Debug)]
pub struct ExperimentFindings<'a> {
    /// The name of the plan.
    pub name: &'a str,
    /// The results of its rows.
    pub found: Findings<'a>,
}

/// Status of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The runs decided it, as far as they could.
    Judged(Judgement),
    /// Some of its runs failed, for example because a trace is missing.
    NotRun,
    /// No experiment examines it.
    NotExamined,
}

impl Status {
    /// The status in words.
    pub fn word(self) -> &'static str {
        match self {
            Status::Judged(judgement) => judgement.word(),
            Status::NotRun => "not run",
            Status::NotExamined => "not examined",
        }
    }
}

/// Summary of a claim over all experiments.
#[derive(Clone, Debug)]
pub struct ClaimSummary {
    /// The claim.
    pub claim: PaperClaim,
    /// Its status.
    pub status: Status,
    /// The number of cells that hold, and of cells that were decided.
    pub cells: (usize, usize),
    /// The largest deviation of a cell that falls short, relative to the expected value.
    pub worst: Option<f64>,
}

/// What came out for a claim.
pub const REPRODUCED: &str = "reproduced";
/// It falls short, and the reason was found.
pub const CAUSE_KNOWN: &str = "differs, cause known";
/// It falls short, and the reason was not found.
pub const OPEN: &str = "open";

impl ClaimSummary {
    /// Whether the claim is reproduced, differs for a known reason, or is open; empty if it was not
    /// decided.
    pub fn outcome(&self) -> &'static str {
        match (self.status, self.claim.cause) {
            (Status::Judged(Judgement::Holds), _) => REPRODUCED,
            (Status::Judged(Judgement::FallsShort), Some(_)) => CAUSE_KNOWN,
            (Status::Judged(Judgement::FallsShort), None) => OPEN,
            _ => "",
        }
    }

    /// The outcome, or the status if the claim was not decided.
    fn shown_outcome(&self) -> &'static str {
        match self.outcome() {
            "" => self.status.word(),
            outcome => outcome,
        }
    }

    /// The outcome in a count of claims, with its place.
    fn counted(&self) -> (usize, &'static str) {
        match self.shown_outcome() {
            REPRODUCED => (0, REPRODUCED),
            CAUSE_KNOWN => (1, "different for a known cause"),
            OPEN => (2, OPEN),
            other => (3, other),
        }
    }

    /// Why the claim falls short, if it does and the reason is known.
    pub fn cause(&self) -> Option<&'static str> {
        self.claim.cause.filter(|_| self.outcome() == CAUSE_KNOWN)
    }

    /// The largest deviation in percent; empty if no cell falls short.
    pub fn deviation(&self) -> String {
        self.worst.map_or(String::new(), |off| format!("{:+.1} %", 100.0 * off))
    }

    fn cells(&self) -> String {
        match self.cells {
            (_, 0) => String::new(),
            (holding, all) => format!("{holding} of {all}"),
        }
    }
}

/// The claim that a part such as `FSTR-2b` or `LAST-1 desktop` belongs to.
fn claim_of(part: &str) -> &str {
    let digits = part.find(|c: char| c.is_ascii_digit()).unwrap_or(part.len());
    let behind = part[digits..].find(|c: char| !c.is_ascii_digit());
    behind.map_or(part, |behind| &part[..digits + behind])
}

/// A summary of each claim of a paper.
pub fn summaries(paper: &Paper, experiments: &[ExperimentFindings]) -> Vec<ClaimSummary> {
    let judged: Vec<JudgedClaim> =
        experiments.iter().flat_map(|it| sweep::judged_claims(&it.found)).collect();
    let summary = |claim: &PaperClaim| {
        let id = claim.id;
        let parts: Vec<&JudgedClaim> =
            judged.iter().filter(|part| claim_of(&part.claim.id) == claim_of(id)).collect();
        // If a paper has both SL-6 and SL-6b, each is a claim of its own.
        let is_own = |part: &&&JudgedClaim| part.claim.id.split(' ').next() == Some(id);
        let exact: Vec<&JudgedClaim> = parts.iter().filter(is_own).copied().collect();
        let has_siblings = paper.claims.iter().filter(|other| claim_of(other.id) == claim_of(id));
        let parts = if has_siblings.count() > 1 { exact } else { parts };
        summary_of(*claim, &parts)
    };
    paper.claims.iter().map(summary).collect()
}

fn summary_of(claim: PaperClaim, parts: &[&JudgedClaim]) -> ClaimSummary {
    let cells = parts.iter().map(|part| part.cells());
    let cells = cells.fold((0, 0), |all, part| (all.0 + part.0, all.1 + part.1));
    let verdicts = || parts.iter().flat_map(|part| &part.verdicts);
    let has_failed = parts.iter().any(|part| part.has_failed);
    let status = match Judgement::of_all(parts.iter().map(|part| part.judgement())) {
        _ if verdicts().count() == 0 => Status::NotExamined,
        _ if has_failed && verdicts().any(|cell| cell.found.is_none()) => Status::NotRun,
        judgement => Status::Judged(judgement),
    };
    let worst = parts.iter().filter_map(|part| part.worst());
    let worst = worst.max_by(|a, b| a.abs().total_cmp(&b.abs()));
    ClaimSummary { claim, status, cells, worst }
}

fn table(summaries: &[ClaimSummary]) -> DataTable {
    let row = |it: &ClaimSummary| {
        let text = [it.claim.id, it.claim.says].map(str::to_owned);
        let found = [it.cells(), it.deviation(), it.shown_outcome().to_owned()];
        let row = text.into_iter().chain(found).collect();
        let cause = it.cause().map(|cause| vec![format!("Cause: {cause}")]);
        [row].into_iter().chain(cause)
    };
    let head = ["claim", "statement", "cells that hold", "largest deviation", "outcome"];
    DataTable { text_columns: 2, ..DataTable::new(head, summaries.iter().flat_map(row)) }
}

/// The headline of claims.
fn outcomes(summaries: &[ClaimSummary]) -> Vec<String> {
    let mut outcomes: Vec<(usize, &str)> = summaries.iter().map(ClaimSummary::counted).collect();
    outcomes.sort_by_key(|outcome| outcome.0);
    headline::sweep::of_claims(outcomes.into_iter().map(|outcome| outcome.1))
}

fn lead(scale: Scale) -> Vec<String> {
    let quick = (scale == Scale::Quick).then(|| QUICK_NOTE.to_owned());
    quick.into_iter().chain([STAND_INS.to_owned(), SERIAL_CAVEAT.to_owned()]).collect()
}

const STAND_INS: &str = "The papers' traces are private. Each experiment names the traces or \
                         workloads used instead. If a claim falls short, the documentation of the \
                         papers gives the reason as far as it is known.";

/// The page of a paper.
pub fn page(
    paper: &Paper,
    experiments: &[ExperimentFindings],
    scale: Scale,
    made_by: String,
) -> HtmlPage {
    let claims = summaries(paper, experiments);
    let mut sections = vec![Section::of_table("Claims", table(&claims))];
    sections.extend(experiments.iter().map(section));
    number_alike(&mut sections);
    HtmlPage {
        title: format!("{}: published and measured", paper.id),
        headline: outcomes(&claims),
        lead: [vec![paper.title.to_owned()], lead(scale)].concat(),
        links: vec![Link { file: "index.html".into(), title: "all papers".into() }],
        sections,
        made_by,
        ..HtmlPage::default()
    }
}

fn section(experiment: &ExperimentFindings) -> Section {
    let (name, found) = (experiment.name, &experiment.found);
    let plan = found.plan();
    let judged = sweep::judged_claims(found);
    let mut claims = sweep::claims_section(&judged, found, name);
    claims.figures.extend(plan_figures::figures(found, name));
    let text = [Some(common_options(plan)), sweep::failures(found)].into_iter().flatten();
    Section {
        title: format!("{} ({name}.toml, {})", plan.title, runs(plan.rows.len())),
        text: text.filter(|text| !text.is_empty()).chain(claims.text).collect(),
        notes: found.notes.counted_sentences(),
        table: (!judged.is_empty()).then(|| sweep::claim_table(&judged)),
        figures: claims.figures,
        is_long: false,
    }
}

fn runs(rows: usize) -> String {
    match rows {
        0 => "traces only".to_owned(),
        rows => counted(rows as u64, "run"),
    }
}

/// The page with the claims of all papers and links to their pages.
pub fn index(papers: &[(&Paper, Vec<ClaimSummary>)], scale: Scale, made_by: String) -> HtmlPage {
    let link = |(paper, _): &(&Paper, Vec<ClaimSummary>)| Link {
        file: format!("{}.html", paper.id),
        title: format!("{}: {}", paper.id, paper.title),
    };
    let all: Vec<ClaimSummary> = papers.iter().flat_map(|(_, claims)| claims.clone()).collect();
    let claims = Section::of_table("All claims", table(&all));
    HtmlPage {
        title: "The experiments of the papers, repeated".into(),
        headline: outcomes(&all),
        lead: lead(scale),
        links: papers.iter().map(link).collect(),
        sections: vec![claims],
        made_by,
        ..HtmlPage::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use sim::plan::Plan;

    #[test]
    fn a_part_belongs_to_the_claim_it_is_named_after() {
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

    /// The status of each claim, given the erases of both rows. If `fails` is set, a row without
    /// erases failed.
    fn statuses(erases: [Option<u64>; 2], fails: bool) -> Vec<(Status, (usize, usize))> {
        let plan = Plan::parse("p", PLAN, Scale::Full).unwrap();
        let mut found = Findings::of(&plan);
        for (row, erases) in erases.into_iter().enumerate() {
            let error = json!({"exit_code": 1, "message": "no such file"});
            let error = (fails && erases.is_none()).then_some(error);
            found.see(row, &json!({"erases": {"total": erases}, "sweep": {"error": error}}));
        }
        let claims =
            const { &[claim("X-1", "").because("why"), claim("X-2", ""), claim("X-3", "")] };
        let paper = Paper { id: "X", title: "", claims };
        let summaries = summaries(&paper, &[ExperimentFindings { name: "X", found }]);
        summaries.iter().map(|summary| (summary.status, summary.cells)).collect()
    }

    #[test]
    fn a_claim_holds_if_all_its_parts_hold_and_is_not_run_if_one_of_them_is_not() {
        use Status::{Judged, NotExamined, NotRun};
        let [holds, short] = [Judgement::Holds, Judgement::FallsShort].map(Judged);
        let found = statuses([Some(10), Some(10)], true);
        assert_eq!(found, [(holds, (2, 2)), (holds, (2, 2)), (NotExamined, (0, 0))]);
        let found = statuses([Some(10), Some(11)], true);
        assert_eq!(found[..2], [(holds, (2, 2)), (short, (1, 2))]);
        let found = statuses([None, Some(10)], true);
        assert_eq!(found[..2], [(NotRun, (1, 1)), (NotRun, (1, 1))]);
        let found = statuses([None, Some(10)], false);
        assert_eq!(found[..2], [(holds, (1, 1)), (holds, (1, 1))]);
        let found = statuses([None, None], false);
        assert_eq!(found[0], (Judged(Judgement::Undecided), (0, 0)));
        let found = statuses([None, Some(12)], false);
        assert_eq!(found[..2], [(short, (0, 1)), (short, (0, 1))]);
    }

    #[test]
    fn a_claim_that_falls_short_is_explained_or_open() {
        use Status::{Judged, NotRun};
        let outcome = |status, claim| {
            let summary = ClaimSummary { claim, status, cells: (0, 1), worst: None };
            (summary.outcome(), summary.cause())
        };
        let (known, unknown) = (claim("X", "").because("why"), claim("X", ""));
        let [holds, short] = [Judgement::Holds, Judgement::FallsShort].map(Judged);
        assert_eq!(outcome(holds, known), (REPRODUCED, None));
        assert_eq!(outcome(short, known), (CAUSE_KNOWN, Some("why")));
        assert_eq!(outcome(short, unknown), (OPEN, None));
        assert_eq!(outcome(NotRun, known), ("", None));
    }
}
