//! `ftlab list`: what there is, from the registries themselves.

use clap::ValueEnum;
use nand::Chip;
use serde::Serialize;
use spec::{Kind, Param};

use crate::failure::Result;
use crate::output;
use crate::table::Table;

/// Options of `ftlab list`.
#[derive(clap::Args)]
pub struct Args {
    /// What to list
    #[arg(value_enum)]
    what: What,
    /// As JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum What {
    Ftls,
    Chips,
    Workloads,
    Formats,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let entries = match args.what {
        What::Ftls => ftls(),
        What::Chips => chips(),
        What::Workloads => workloads(),
        What::Formats => formats(),
    };
    match args.json {
        true => output::print(&output::json(&entries)),
        false => output::print(&entries.iter().map(text).collect::<Vec<_>>().join("\n")),
    }
}

/// Something that can be named in a spec.
#[derive(Serialize)]
struct Entry {
    name: &'static str,
    summary: &'static str,
    /// Where it, or its figures, come from; null where that is this program.
    source: Option<&'static str>,
    params: Vec<Key>,
}

/// A key of a spec.
#[derive(Serialize)]
struct Key {
    name: &'static str,
    kind: &'static str,
    /// The words to choose from, if it is a choice.
    choices: &'static [&'static str],
    /// Null: absent unless given.
    default: Option<String>,
    unit: &'static str,
    doc: &'static str,
}

impl Key {
    fn new(param: &Param, default: Option<String>) -> Key {
        let (kind, choices) = form(param.kind);
        Key { name: param.name, kind, choices, default, unit: param.unit, doc: param.doc }
    }

    fn declared(param: &Param) -> Key {
        let default = (!param.default.is_empty()).then(|| param.default.to_owned());
        Key::new(param, default)
    }
}

fn form(kind: Kind) -> (&'static str, &'static [&'static str]) {
    match kind {
        Kind::Size => ("size", &[]),
        Kind::Count => ("count", &[]),
        Kind::Share => ("share", &[]),
        Kind::Time => ("time", &[]),
        Kind::Switch => ("switch", &["true", "false"]),
        Kind::Real => ("real", &[]),
        Kind::Ratio => ("ratio", &[]),
        Kind::Choice(words) => ("choice", words),
        Kind::Text => ("text", &[]),
    }
}

fn ftls() -> Vec<Entry> {
    let entry = |scheme: &&ftl::Scheme| Entry {
        name: scheme.name,
        summary: scheme.summary,
        source: Some(scheme.source),
        params: scheme.params.iter().map(Key::declared).collect(),
    };
    ftl::SCHEMES.iter().map(entry).collect()
}

/// A chip's defaults are the preset's own figures.
fn chips() -> Vec<Entry> {
    let entry = |preset: &nand::preset::Preset| Entry {
        name: preset.chip.name,
        summary: preset.summary,
        source: Some(preset.source),
        params: nand::preset::PARAMS
            .iter()
            .map(|param| Key::new(param, figure(&preset.chip, param.name)))
            .collect(),
    };
    nand::preset::PRESETS.iter().map(entry).collect()
}

fn figure(chip: &Chip, key: &str) -> Option<String> {
    let time = |ns| spec::Value::TimeNs(ns).to_string();
    let size = |bytes: u32| spec::Value::Size(bytes.into()).to_string();
    let timing = &chip.timing;
    Some(match key {
        "page" => size(chip.page_bytes),
        "spare" => size(chip.spare_bytes),
        "pages_per_block" => chip.pages_per_block.to_string(),
        "program_order" => chip.order.name().to_owned(),
        "read" => time(timing.read_ns),
        "spare_read" => time(timing.spare_read_ns),
        "program" => time(timing.program_ns),
        "erase" => time(timing.erase_ns),
        "cycles" => chip.rated_cycles.to_string(),
        _ => return None,
    })
}

fn workloads() -> Vec<Entry> {
    let entry = |workload: &&trace::generate::Workload| Entry {
        name: workload.name,
        summary: workload.summary,
        source: None,
        params: workload.params.iter().map(Key::declared).collect(),
    };
    trace::registry::WORKLOADS.iter().map(entry).collect()
}

fn formats() -> Vec<Entry> {
    let entry = |format: &&trace::registry::Format| Entry {
        name: format.name,
        summary: format.summary,
        source: None,
        params: format.params.iter().map(Key::declared).collect(),
    };
    trace::registry::FORMATS.iter().map(entry).collect()
}

fn text(entry: &Entry) -> String {
    let mut text = format!("{}  {}\n", entry.name, entry.summary);
    if let Some(source) = entry.source {
        text += &format!("  source: {source}\n");
    }
    let mut table = Table::default();
    for key in &entry.params {
        let default = key.default.as_deref().unwrap_or("–");
        table.row(&[format!("  {}=", key.name), default.to_owned()]);
    }
    for (line, key) in table.text().lines().zip(&entry.params) {
        let kind = match key.choices {
            [] => key.kind.to_owned(),
            words => words.join("|"),
        };
        let unit = if key.unit.is_empty() { String::new() } else { format!(" ({})", key.unit) };
        text += &format!("{line}  {kind}{unit}: {}\n", key.doc);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_a_chip_has_a_figure() {
        for chip in chips() {
            for key in chip.params {
                assert!(key.default.is_some(), "{}: {} has no figure", chip.name, key.name);
            }
        }
    }
}
