//! The figures of reports, as JSON: for each its id, title, caption, Vega-Lite spec and table.
//! Pages of reports have names of HTML.

use pyo3::prelude::*;
use report::drawing::svg::Printer;
use report::figure::Figure;
use report::headline;
use report::html_page::{HtmlPage, Section};
use report::runs::{LabelledResult, sections};
use serde_json::{Value, json};
use sim::result::columns::fault;
use sim::result::run_result::SCHEMA;

use crate::failure::{UsageError, failed};

/// All figures for which results have data, in the order of a report, as the JSON of a list.
/// `results` are the JSON of results, which may be of earlier runs.
///
/// # Errors
/// `UsageError` if a text is not the JSON of a result, or if labels and results do not match.
#[pyfunction]
pub fn figures_json(labels: Vec<String>, results: Vec<String>) -> PyResult<String> {
    of_runs(&labels, &results, |runs| of_sections(&sections(runs)))
}

/// A figure as SVG for a paper.
///
/// # Errors
/// `UsageError` if the spec is no JSON, or cannot be drawn.
#[pyfunction]
pub fn figure_svg(py: Python<'_>, spec: &str, title: String, caption: String) -> PyResult<String> {
    let spec = serde_json::from_str(spec).map_err(|why| UsageError::new_err(why.to_string()))?;
    let figure = Figure { title, caption, spec, ..Figure::default() };
    py.detach(|| Printer::new().svg(&figure)).map_err(UsageError::new_err)
}

/// Refuses the name of another format for a page of HTML, as the command does.
///
/// # Errors
/// `UsageError` with the name that is meant.
#[pyfunction]
pub fn refuse_other_format(page: &str) -> PyResult<()> {
    cli::refuse_other_format(page).map_err(|failure| failed(&failure))
}

/// Names and contents of the files for a paper.
pub type PrintedFiles = Vec<(String, String)>;

/// The figures of a page as files for a paper.
pub fn printed(py: Python<'_>, page: &HtmlPage) -> PyResult<PrintedFiles> {
    let files = py.detach(|| page.printed()).map_err(UsageError::new_err)?;
    Ok(files.into_iter().map(|file| (file.name, file.text)).collect())
}

/// What came out of results, in a sentence or two.
///
/// # Errors
/// As for [`figures_json`].
#[pyfunction]
pub fn headline_text(labels: Vec<String>, results: Vec<String>) -> PyResult<String> {
    of_runs(&labels, &results, |runs| headline::runs::of(runs).join(" "))
}

/// What `work` makes of results, given as JSON with their labels.
fn of_runs<T>(
    labels: &[String],
    results: &[String],
    work: impl FnOnce(&[LabelledResult]) -> T,
) -> PyResult<T> {
    let values = values_of(labels, results)?;
    let runs = labels.iter().zip(&values);
    let runs: Vec<_> = runs.map(|(label, result)| LabelledResult { label, result }).collect();
    Ok(work(&runs))
}

/// Results that are given as JSON, as many as labels.
///
/// # Errors
/// As for [`figures_json`].
pub fn values_of(labels: &[String], results: &[String]) -> PyResult<Vec<Value>> {
    if labels.len() != results.len() {
        let (labels, results) = (labels.len(), results.len());
        let what = format!("{labels} labels for {results} results");
        return Err(UsageError::new_err(what));
    }
    results.iter().map(|text| parsed(text)).collect()
}

/// All figures of these sections, as the JSON of a list.
pub fn of_sections(sections: &[Section]) -> String {
    Value::from(sections.iter().flat_map(described).collect::<Vec<Value>>()).to_string()
}

/// The figures of a section, each with the title of the section.
fn described(section: &Section) -> Vec<Value> {
    let described = section.figures.iter().map(|figure| {
        let mut figure = json!(figure);
        figure["section"] = section.title.clone().into();
        // A reader of JSON could write the numbers in another way.
        figure["spec_json"] = figure["spec"].take().to_string().into();
        figure.as_object_mut().expect("a figure has fields").remove("spec");
        figure
    });
    described.collect()
}

fn parsed(text: &str) -> PyResult<Value> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| UsageError::new_err(format!("not the JSON of a result: {error}")))?;
    match value["schema"].as_str() {
        Some(SCHEMA) => match fault(&value) {
            None => Ok(value),
            Some(why) => Err(UsageError::new_err(format!("not the JSON of a result: {why}"))),
        },
        other => Err(UsageError::new_err(format!(
            "not the JSON of a result: its schema is {}, not {SCHEMA}",
            other.unwrap_or("missing")
        ))),
    }
}
