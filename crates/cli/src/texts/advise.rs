//! The advice on a load: a page of sentences with their figures.

use report::figure::DataTable;
use report::headline::{self, as_lines};
use report::html_page::HtmlPage;
use report::pages::advice;
use report::pages::advice::sentences::{self, endurance_table, latency_table};
use serde::Serialize;
use sim::advise::answer::{Answer, Refusal};
use sim::advise::{Advice, SCHEMA};

use crate::output;
use crate::texts::table::Table;

/// The advices on several logs, as JSON writes them.
#[derive(Debug, Serialize)]
pub struct Advices<'a> {
    schema: &'static str,
    advices: &'a [Advice],
}

impl<'a> Advices<'a> {
    /// The advices on these logs.
    pub fn new(advices: &'a [Advice]) -> Advices<'a> {
        Advices { schema: SCHEMA, advices }
    }

    /// The report: the same sentences beside their figures.
    pub fn page(&self) -> HtmlPage {
        advice::page(self.advices, output::made_by("advise"))
    }

    /// One below the other.
    pub fn text(&self) -> String {
        self.advices.iter().map(text).collect::<Vec<_>>().join("\n")
    }
}

/// The advice on a log.
fn text(advice: &Advice) -> String {
    let mut page = Page { text: as_lines(&headline::advice::of(advice)), ..Page::default() };
    page.part("load", &sentences::look(&advice.look));
    if let Some(found) = &advice.device {
        let is_measured = advice.spare.found().is_some();
        page.part("device", &sentences::device(&advice.look, found, is_measured));
    }
    let spread = advice.confidence.found().map(|it| it.spread);
    let chance = advice.confidence.found().map(|it| it.chance);
    page.answer("over-provisioning", &advice.spare, |it| sentences::spare(it, spread));
    page.answer("endurance", &advice.endurance, |it| {
        [vec![table(&endurance_table(it))], sentences::endurance(it, spread)].concat()
    });
    page.answer("latency", &advice.latency, |it| {
        [vec![table(&latency_table(it))], sentences::latency(it)].concat()
    });
    page.answer("what helps", &advice.effects, |it| sentences::effects(it, chance.unwrap_or(0.0)));
    page.answer("placement", &advice.placement, sentences::placement);
    page.answer("how sure", &advice.confidence, sentences::confidence);
    page.refusals();
    page.part("notes", &advice.notes);
    page.text
}

fn table(of: &DataTable) -> String {
    let mut table = Table::new(&of.head);
    of.rows.iter().for_each(|row| table.row(row));
    table.text_beside(NAMES)
}

/// Parts with their names in a column. Refusals come last, each with the questions that share it.
#[derive(Default)]
struct Page {
    text: String,
    refusals: Vec<(Refusal, Vec<String>)>,
}

/// The width of the names.
const NAMES: usize = 19;

impl Page {
    fn part(&mut self, name: &str, lines: &[String]) {
        for (number, line) in lines.iter().flat_map(|text| text.lines()).enumerate() {
            let name = if number == 0 { name } else { "" };
            self.text += format!("{name:<NAMES$}{line}").trim_end();
            self.text.push('\n');
        }
    }

    fn answer<T>(&mut self, name: &str, answer: &Answer<T>, lines: impl FnOnce(&T) -> Vec<String>) {
        match answer {
            Answer::Found(found) => self.part(name, &lines(found)),
            Answer::Refused(refusal) => {
                match self.refusals.iter_mut().find(|(known, _)| known == refusal) {
                    Some((_, names)) => names.push(name.to_owned()),
                    None => self.refusals.push((refusal.clone(), vec![name.to_owned()])),
                }
            }
        }
    }

    fn refusals(&mut self) {
        for (Refusal { why, instead }, names) in core::mem::take(&mut self.refusals) {
            let names = format!("Nothing about {}.", names.join(", "));
            self.part("no answer", &[why, instead, names]);
        }
    }
}
