//! The page of a sweep: its claims with their verdicts, its drawings, and an overview of all runs.

use serde_json::{Map, Value};
use sim::clock::{DRIVE_CAVEAT, SERIAL_CAVEAT};
use sim::config::choices::Timing;
use sim::plan::claim::{Claim, Judgement, Verdict, Wanted};
use sim::plan::{Plan, Scale};
use sim::sweep::findings::{Findings, OVERVIEW};

use crate::axis_labels::{label, metric_axis, scaled, without_unit};
use crate::captions::{QUICK_PLAN_NOTE, common_options, short_name};
use crate::charts::{Facets, Point, draw};
use crate::figure::{DataTable, Figure, slug};
use crate::headline;
use crate::html_page::{HtmlPage, Section, number_alike};
use crate::number_format::{count, counted, number};
use crate::pages::sweep_rows;
use crate::plan_figures;
use crate::runs::capitalised;
use crate::runs::fleet::Fleet;

/// A claim with the verdicts of its cells.
#[derive(Debug)]
pub struct JudgedClaim<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// The verdict of each cell.
    pub verdicts: Vec<Verdict>,
    /// Whether one of its runs failed.
    pub has_failed: bool,
}

impl JudgedClaim<'_> {
    /// The number of cells that hold, and of cells that were decided. If the claim needs only one
    /// cell to hold and one does, it counts as one cell.
    pub fn cells(&self) -> (usize, usize) {
        let are =
            |of: Judgement| self.verdicts.iter().filter(move |cell| cell.judgement == of).count();
        match (self.claim.is_of_any, self.judgement()) {
            (true, Judgement::Holds) => (1, 1),
            _ => (are(Judgement::Holds), self.verdicts.len() - are(Judgement::Undecided)),
        }
    }

    /// The verdict of the claim.
    pub fn judgement(&self) -> Judgement {
        self.claim.judgement(&self.verdicts)
    }

    /// The largest deviation of a cell that falls short, relative to the expected value.
    pub fn worst(&self) -> Option<f64> {
        if self.judgement() == Judgement::Holds {
            return None;
        }
        let short = self.verdicts.iter().filter(|cell| cell.judgement == Judgement::FallsShort);
        let off = short.filter_map(Verdict::deviation);
        off.max_by(|a, b| a.abs().total_cmp(&b.abs()))
    }
}

/// The claims of a plan with their verdicts.
pub fn judged_claims<'a>(found: &Findings<'a>) -> Vec<JudgedClaim<'a>> {
    let failed = |row| found.failed.iter().any(|failed| failed.row == row);
    let claims = found.plan().claims.iter().enumerate();
    let judge = |(index, claim): (usize, &'a Claim)| {
        let has_failed = claim.rows().any(failed);
        JudgedClaim { claim, verdicts: found.verdicts(index), has_failed }
    };
    claims.map(judge).collect()
}

/// Where the clocks of the plan's rows end.
fn caveats(plan: &Plan) -> impl Iterator<Item = String> {
    let clocks = [(Timing::Serial, SERIAL_CAVEAT), (Timing::Drive, DRIVE_CAVEAT)];
    let is_used = |timing| plan.rows.iter().any(|row| row.experiment.timing == timing);
    clocks.into_iter().filter(move |&(timing, _)| is_used(timing)).map(|(_, text)| text.to_owned())
}

/// The page of a sweep.
pub fn page(found: &Findings, scale: Scale, made_by: String) -> HtmlPage {
    let plan = found.plan();
    let title = if plan.title.is_empty() { unnamed(plan) } else { plan.title.clone() };
    let runs = || format!("{}. {}", counted(plan.rows.len() as u64, "run"), common_options(plan));
    let mut lead = Vec::new();
    lead.extend((!plan.rows.is_empty()).then(runs));
    lead.extend(failures(found));
    lead.extend(plan_figures::left_out(found));
    lead.extend((scale == Scale::Quick).then(|| QUICK_PLAN_NOTE.to_owned()));
    lead.extend(caveats(plan));
    let judged = judged_claims(found);
    let mut sections = Vec::new();
    if !judged.is_empty() {
        let table = Some(claim_table(&judged));
        sections.push(Section {
            title: "Summary of the claims".into(),
            table,
            ..Section::default()
        });
        sections.push(claims_section(&judged, found, ""));
    }
    let drawn = plan_figures::figures(found, "");
    if !drawn.is_empty() {
        let figures = drawn;
        sections.push(Section::of_figures("Figures", figures));
    }
    let fleet = Fleet::of(found);
    sections.extend(fleet.iter().flat_map(Fleet::sections));
    if !plan.rows.is_empty() {
        // A bar for each of thousands of volumes would say nothing.
        let figures = if fleet.is_some() { Vec::new() } else { overviews(found, "") };
        sections.push(Section {
            table: Some(sweep_rows::table(found)),
            is_long: fleet.is_some(),
            notes: found.notes.counted_sentences(),
            ..Section::of_figures("All runs", figures)
        });
    }
    number_alike(&mut sections);
    let headline = headline::sweep::of(found);
    HtmlPage { title, headline, lead, sections, made_by, ..HtmlPage::default() }
}

/// The title of a plan that has none: its number of runs, with the trace if all have the same.
fn unnamed(plan: &Plan) -> String {
    let runs = format!("sweep of {}", counted(plan.rows.len() as u64, "run"));
    let mut traces = plan.rows.iter().map(|row| row.experiment.trace_names());
    match traces.next() {
        Some(first) if first.len() == 1 && traces.all(|it| it == first) => {
            format!("{}: {runs}", short_name(first[0]))
        }
        _ => capitalised(&runs),
    }
}

/// A sentence about runs that failed and traces that could not be read; `None` if there are none.
pub fn failures(found: &Findings) -> Option<String> {
    let runs = found.failed.first().map(|first| {
        let failed = match found.failed.len() {
            1 => "1 run failed:".to_owned(),
            several => format!("{} runs failed. The first one,", count(several as u64)),
        };
        format!("{failed} row {}: {}.", first.row, first.message)
    });
    let unread = found.unread.iter().map(|why| format!("A trace is not drawn: {why}."));
    let all: Vec<String> = runs.into_iter().chain(unread).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

/// One figure for each column of the overview. `prefix` makes their ids unique in a page with
/// several plans.
pub fn overviews(found: &Findings, prefix: &str) -> Vec<Figure> {
    let rows = found.plan().rows.len();
    let has_any = |column: &usize| (0..rows).any(|row| found.overview(row, *column).is_some());
    let columns = (0..OVERVIEW.len()).filter(has_any);
    columns.map(|column| overview(found, column, prefix)).collect()
}

/// A table with one row per claim.
pub fn claim_table(judged: &[JudgedClaim]) -> DataTable {
    let row = |judged: &JudgedClaim| {
        let off = judged.worst().map_or(String::new(), |off| format!("{:+.1} %", 100.0 * off));
        let (holding, decided) = judged.cells();
        vec![
            judged.claim.id.clone(),
            judged.claim.says.clone(),
            judged.claim.source.clone(),
            format!("{holding} of {decided}"),
            off,
            judged.judgement().word().to_owned(),
        ]
    };
    let head =
        ["claim", "statement", "published in", "cells that hold", "largest deviation", "verdict"];
    DataTable { text_columns: 3, ..DataTable::new(head, judged.iter().map(row)) }
}

/// The claims: a figure for each, and a sentence for one of a single cell, whose only bar would say
/// less. `prefix` makes the ids of figures unique in a page with several plans.
pub fn claims_section(judged: &[JudgedClaim], found: &Findings, prefix: &str) -> Section {
    let (single, several): (Vec<&JudgedClaim>, Vec<&JudgedClaim>) =
        judged.iter().partition(|judged| judged.verdicts.len() == 1);
    let figures = several.into_iter().map(|judged| figure(judged, found, prefix)).collect();
    let text = single.into_iter().map(sentence).collect();
    Section { text, ..Section::of_figures("Claims", figures) }
}

/// What was measured for a claim of a single cell, and what was published.
fn sentence(judged: &JudgedClaim) -> String {
    let (claim, cell) = (judged.claim, &judged.verdicts[0]);
    let (factor, title) =
        metric_axis(&claim.figure.to_string(), &claim.says, claim.is_relative(), cell.found);
    let measured = cell.found.map_or("–".to_owned(), |found| number(found * factor));
    let off = off_by(cell).map(|off| format!(", off by {off}"));
    format!(
        "{}: {}. {} of {}: {measured} measured, {} {}{}. It {}.",
        claim.id,
        claim.says,
        capitalised(&title),
        cell.label,
        wanted(cell.wanted, factor),
        word(claim),
        off.unwrap_or_default(),
        match cell.judgement {
            Judgement::Undecided => "is undecided",
            judgement => judgement.word(),
        }
    )
}

/// The figure of a claim: measured values and published ones.
fn figure(judged: &JudgedClaim, found: &Findings, prefix: &str) -> Figure {
    let claim = judged.claim;
    let name = claim.figure.to_string();
    let values = judged.verdicts.iter().filter_map(|verdict| verdict.found);
    let (factor, title) = metric_axis(&name, &claim.says, claim.is_relative(), values);
    let point = |(cell, varied): (&Verdict, Map<String, Value>)| {
        let point = Point::new(cell.label.clone(), &varied, cell.found);
        point.against(cell.wanted).times(factor)
    };
    let varied = varied(&judged.verdicts, found.plan());
    let points: Vec<Point> = judged.verdicts.iter().zip(varied).map(point).collect();
    let mut caption = format!("{}.", capitalised(&title));
    if !claim.common.is_empty() {
        caption += &format!(" Runs shown: {}.", claim.common);
    }
    if points.iter().any(Point::is_published) {
        caption += &format!(" Hollow diamonds and ticks are {} values.", word(claim));
    }
    if !claim.source.is_empty() {
        caption += &format!(" Source: {}.", claim.source);
    }
    Figure {
        id: slug(&format!("{prefix} {}", claim.id)),
        title: format!("{}: {}", claim.id, claim.says),
        caption,
        spec: draw(&points, &title, Facets::default()),
        table: Some(cell_table(judged, factor)),
    }
}

/// The options that the row of each cell sets. If all cells compare the same row with different
/// other rows, such as an adaptive share with every fixed share, the options of the other row
/// identify a cell.
fn varied(verdicts: &[Verdict], plan: &Plan) -> Vec<Map<String, Value>> {
    let own = |cell: &Verdict| &plan.rows[cell.row].varied;
    let other = |cell: &Verdict| cell.over.map(|row| &plan.rows[row].varied);
    let is_from_other = |key: &str| {
        let first = &verdicts[0];
        verdicts.iter().all(|cell| own(cell).get(key) == own(first).get(key))
            && verdicts.iter().any(|cell| {
                other(cell).map(|row| row.get(key)) != other(first).map(|row| row.get(key))
            })
    };
    let of_cell = |cell: &Verdict| {
        let mut varied = own(cell).clone();
        for (key, value) in other(cell).into_iter().flatten() {
            if is_from_other(key) {
                varied.insert(key.clone(), value.clone());
            }
        }
        varied
    };
    verdicts.iter().map(of_cell).collect()
}

/// What the values of a claim are: only those with a source are published.
fn word(claim: &Claim) -> &'static str {
    if claim.source.is_empty() { "expected" } else { "published" }
}

/// A table with the published and the measured value of each cell.
fn cell_table(judged: &JudgedClaim, factor: f64) -> DataTable {
    let row = |cell: &Verdict| {
        vec![
            cell.label.clone(),
            wanted(cell.wanted, factor),
            cell.found.map_or("–".into(), |found| number(found * factor)),
            off_by(cell).unwrap_or("–".into()),
            cell.judgement.word().to_owned(),
        ]
    };
    let head = ["runs", word(judged.claim), "measured", "deviation", "verdict"];
    DataTable::new(head, judged.verdicts.iter().map(row))
}

/// How far a cell is from its value in per cent; none if it is on the wanted side of a limit, or if
/// it is unknown.
pub fn off_by(cell: &Verdict) -> Option<String> {
    let has_value = matches!(cell.wanted, Wanted::About(_));
    let off = cell.deviation().filter(|_| has_value || cell.judgement != Judgement::Holds);
    off.map(|off| format!("{:+.2} %", 100.0 * off))
}

/// The wanted value of a cell, multiplied by `factor`.
pub fn wanted(wanted: Wanted, factor: f64) -> String {
    let number = |figure: f64| number(figure * factor);
    let other = |sign, figure: Option<f64>| format!("{sign} {}", figure.map_or("–".into(), number));
    match wanted {
        Wanted::About(figure) => number(figure),
        Wanted::Between(f64::NEG_INFINITY, high) => format!("≤ {}", number(high)),
        Wanted::Between(low, f64::INFINITY) => format!("≥ {}", number(low)),
        Wanted::Between(low, high) => format!("{} to {}", number(low), number(high)),
        Wanted::Below(figure) => other("<", figure),
        Wanted::Above(figure) => other(">", figure),
    }
}

/// A figure of one column of all rows.
fn overview(found: &Findings, column: usize, prefix: &str) -> Figure {
    let (plan, name) = (found.plan(), OVERVIEW[column]);
    let rows = plan.rows.iter().enumerate();
    let values = (0..plan.rows.len()).filter_map(|row| found.overview(row, column));
    let (factor, title) = scaled(label(name), values);
    let points: Vec<Point> = rows
        .map(|(index, row)| {
            let parts = row.varied.iter().map(|(key, value)| format!("{key}={value}"));
            let label = parts.collect::<Vec<_>>().join(" ").replace('"', "");
            Point::new(label, &row.varied, found.overview(index, column)).times(factor)
        })
        .collect();
    Figure {
        id: slug(&format!("{prefix} all {name}")),
        title: capitalised(without_unit(&title)),
        caption: format!("{} of all runs.", capitalised(&title)),
        spec: draw(&points, &title, Facets::default()),
        table: None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_claim_of_a_single_cell_is_a_sentence() {
        let claim = |id: &str, source: &str, rows: &str| {
            format!(
                "[[claim]]\nid = \"{id}\"\nsays = \"it is cheap\"\n{source}\
                 figure = \"write_amplification\"\nrows = [{rows}]\n"
            )
        };
        let [one, two] = ["{ seed = 1, expected = 2 }", "{ seed = 2, expected = 4 }"];
        let plan = format!(
            "[base]\ntrace = \"oltp\"\n[[grid]]\nseed = [1, 2]\n{}{}",
            claim("A", "", one),
            claim("B", "source = \"a paper\"\n", &format!("{one}, {two}"))
        );
        let plan = Plan::parse("p", &plan, Scale::Full).unwrap();
        let mut found = Findings::of(&plan);
        let row = json!({"write_amplification": 2.5, "sweep": {"error": null}});
        found.see(0, &row);
        found.see(1, &row);
        let section = claims_section(&judged_claims(&found), &found, "");
        assert_eq!(section.figures.len(), 1, "that of B");
        let sentence = "A: it is cheap. Write amplification (programs per host page) of seed=1: \
                        2.5 measured, 2 expected, off by +25.00 %. It falls short.";
        assert_eq!(section.text, [sentence], "without a source nothing is published");
        assert_eq!(section.figures[0].table.as_ref().unwrap().head[1], "published");
    }

    #[test]
    fn a_drawing_whose_axis_cannot_be_drawn_says_so() {
        let caption = |more: &str| {
            let text = format!(
                "[base]\ntrace = \"oltp\"\n[[grid]]\nextra = [\"7%\", \"15%\", \"28%\"]\n{more}\
                 [[drawing]]\nid = \"D\"\nsays = \"s\"\nfigure = \"write_amplification\"\n\
                 along = \"extra\""
            );
            let plan = Plan::parse("p", &text, Scale::Full).unwrap();
            let mut found = Findings::of(&plan);
            let row = json!({"write_amplification": 2.5, "sweep": {"error": null}});
            (0..plan.rows.len()).for_each(|at| found.see(at, &row));
            plan_figures::figures(&found, "").remove(0).caption
        };
        assert!(!caption("").contains("Bars"));
        let bars = caption("[[list]]\nftl = \"block\"\n");
        assert!(
            bars.contains("Bars: an axis needs three numbers or more of an option that"),
            "{bars}"
        );
    }

    #[test]
    fn figures_with_the_same_id_have_files_of_their_own() {
        let text = "[base]\ntrace = \"oltp\"\n[[grid]]\nseed = [1, 2, 3]\n\
                    [[claim]]\nid = \"Fig. 3\"\nsays = \"s\"\nfigure = \"write_amplification\"\n\
                    rows = [{ at_most = 3 }]\n\
                    [[drawing]]\nid = \"fig 3\"\nsays = \"t\"\nfigure = \"erases.total\"\n\
                    [[drawing]]\nid = \"none\"\nsays = \"u\"\nfigure = \"merges.full\"";
        let plan = Plan::parse("p", text, Scale::Full).unwrap();
        let mut found = Findings::of(&plan);
        let row = json!({"write_amplification": 2.5, "erases": {"total": 7},
                         "sweep": {"error": null}});
        (0..3).for_each(|at| found.see(at, &row));
        let page = page(&found, Scale::Full, String::new());
        let ids = page.sections.iter().flat_map(|section| &section.figures).map(|it| &it.id);
        assert_eq!(ids.collect::<Vec<_>>()[..2], ["fig-3", "fig-3-2"]);
        let left_out = page.lead.iter().filter(|it| it.starts_with("Drawing none is left out: "));
        assert_eq!(left_out.count(), 1, "{:?}", page.lead);
    }

    #[test]
    fn a_range_may_be_open_at_one_end() {
        let texts = [
            Wanted::About(3590.0),
            Wanted::Between(f64::NEG_INFINITY, 2.0),
            Wanted::Between(2.5, f64::INFINITY),
            Wanted::Between(0.65, 0.7),
            Wanted::Below(None),
        ];
        let shown = texts.map(|it| wanted(it, 1.0));
        assert_eq!(shown, ["3,590", "≤ 2", "≥ 2.5", "0.65 to 0.7", "< –"]);
    }
}
