//! `ftlab list`: prints the registries of FTLs, chips, workloads, formats, layers, victim
//! policies, drives and policies of wear levelling.

use std::collections::BTreeMap;

use clap::ValueEnum;
use ftl::contract::{Lecture, Scheme};
use ftl::part::page::victims;
use ftl::scheme::guest::GUEST;
use nand::ChipModel;
use serde::Serialize;
use spec::{Kind, Param};
use trace::parse::format::{Format, FormatExample};

use crate::failure::{Failure, Result};
use crate::output::command_files::CommandFiles;
use crate::output::destination::Destination;
use crate::output::{self, write_text};
use crate::result_outputs::JsonArg;
use crate::terminal::Ink;
use crate::texts::lecture;
use crate::texts::table::Table;

/// Options of `ftlab list`.
#[derive(clap::Args)]
pub struct Args {
    /// What to list; by default what can be listed
    #[arg(value_enum)]
    what: Option<What>,
    /// Only this entry of the list, such as `page`. An FTL is shown whole: what it is, its paper, a
    /// picture of its blocks, and its parameters
    name: Option<String>,
    #[command(flatten)]
    json: JsonArg,
}

#[derive(Clone, Copy, ValueEnum)]
enum What {
    /// Flash translation layers, for `--ftl`
    Ftls,
    /// Flash chips, for `--chip`
    Chips,
    /// Workloads that can be generated, in place of a trace
    Workloads,
    /// Formats of trace files, for `--format`
    Formats,
    /// Layers above an FTL, which have options of their own
    Layers,
    /// Victim policies, for `victim=` of several FTLs
    Victims,
    /// Drives with channels and dies, for `--drive`
    Drives,
    /// Policies of wear levelling, for `--wear`
    Wear,
}

impl What {
    fn name(self) -> String {
        self.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
    }

    fn entries(self) -> Vec<Listed> {
        let declared = Listed::declared;
        match self {
            What::Ftls => {
                let schemes = ftl::SCHEMES.iter().copied().chain([&GUEST]);
                schemes.map(of_scheme).collect()
            }
            What::Chips => chips(),
            What::Workloads => {
                let workloads = trace::registry::WORKLOADS.iter();
                workloads.map(|it| declared(it.name, it.summary, it.source, it.params)).collect()
            }
            What::Formats => {
                trace::registry::FORMATS.iter().map(|format| of_format(format)).collect()
            }
            What::Layers => {
                let layers = ftl::layer::LAYERS.iter();
                layers.map(|it| declared(it.name, it.summary, it.source, it.params)).collect()
            }
            What::Victims => {
                let policies = victims::registry::POLICIES.iter();
                policies.map(|it| declared(it.name, it.summary, it.source, it.params)).collect()
            }
            What::Drives => drives(),
            What::Wear => {
                let policies = nand::wear::POLICIES.iter();
                policies.map(|it| declared(it.name, it.summary, it.source, it.params)).collect()
            }
        }
    }
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    // `list --json ftls` means `list ftls --json`.
    let word = args.json.json.as_deref();
    let (what, json) = match (args.what, word.and_then(|word| What::from_str(word, false).ok())) {
        (None, Some(what)) => (Some(what), &JsonArg { json: Some("-".into()) }),
        (what, _) => (what, &args.json),
    };
    let entries = what.map(|what| named(what, args.name.as_deref())).transpose()?;
    if let Some(json) = json.open(None, &mut CommandFiles::new())? {
        let text = entries.as_ref().map_or_else(|| as_json(None), output::json);
        json.write(|out| write_text(out, &text))?;
        if matches!(json, Destination::Stdout) {
            return Ok(());
        }
    }
    output::show(&match entries {
        Some(entries) if args.name.is_some() => entries.iter().map(whole_text).collect(),
        Some(entries) => entries.iter().map(text).collect::<Vec<_>>().join("\n"),
        None => overview(),
    })
}

/// The entries of a list, or the one with this name.
fn named(what: What, name: Option<&str>) -> Result<Vec<Listed>> {
    let Some(name) = name else { return Ok(what.entries()) };
    let (found, others): (Vec<Listed>, Vec<Listed>) =
        what.entries().into_iter().partition(|entry| entry.name == name);
    match found.is_empty() {
        false => Ok(found),
        true => {
            let known: Vec<&str> = others.iter().map(|entry| entry.name).collect();
            let unknown = spec::unknown(&format!("entry of `list {}`", what.name()), name, &known);
            Err(Failure::usage(unknown.to_string()))
        }
    }
}

/// A list by its name, or all lists by name if none is given, as the JSON of `ftlab list`; `None`
/// if there is no such list.
pub fn json_of(name: Option<&str>) -> Option<String> {
    let what = name.map(|name| What::from_str(name, false).ok());
    match what {
        None => Some(as_json(None)),
        Some(what) => what.map(|what| as_json(Some(what))),
    }
}

/// The entries of a list, or all lists by name.
fn as_json(what: Option<What>) -> String {
    let all = || What::value_variants().iter().map(|what| (what.name(), what.entries()));
    match what {
        Some(what) => output::json(&what.entries()),
        None => output::json(&all().collect::<BTreeMap<_, _>>()),
    }
}

/// What can be listed.
fn overview() -> String {
    let mut table = Table::default();
    for what in What::value_variants() {
        table.row(&[format!("ftlab list {}", what.name()), what.entries().len().to_string()]);
    }
    let described = table.text().lines().map(str::to_owned).collect::<Vec<_>>();
    let lines = described.iter().zip(What::value_variants()).map(|(line, what)| {
        let help = what.to_possible_value().and_then(|value| value.get_help().cloned());
        format!("{line}  {}\n", help.unwrap_or_default())
    });
    lines.collect()
}

/// An entry of a registry.
#[derive(Serialize)]
struct Listed {
    name: &'static str,
    summary: &'static str,
    /// The source of the entry or of its numbers.
    source: &'static str,
    params: Vec<ListedKey>,
    /// The text that explains an FTL.
    #[serde(skip)]
    lecture: Option<Lecture>,
    /// Specs for well-known traces; only formats have them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    examples: Vec<ListedExample>,
}

/// A spec that reads well-known traces.
#[derive(Serialize)]
struct ListedExample {
    traces: &'static str,
    spec: &'static str,
}

/// A key of a spec.
#[derive(Serialize)]
struct ListedKey {
    name: &'static str,
    kind: &'static str,
    /// The keywords to choose from, if it is a choice.
    choices: &'static [&'static str],
    /// Null if it has no default.
    default: Option<String>,
    unit: &'static str,
    doc: &'static str,
    /// The source of the default, if each key of an entry has its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'static str>,
}

impl Listed {
    /// An entry with the keys as they were declared.
    fn declared(
        name: &'static str,
        summary: &'static str,
        source: &'static str,
        params: &[Param],
    ) -> Listed {
        let params = params.iter().map(ListedKey::declared).collect();
        Listed { name, summary, source, params, lecture: None, examples: Vec::new() }
    }
}

impl ListedKey {
    fn new(param: &Param, default: Option<String>) -> ListedKey {
        let (kind, choices) = (kind_name(param.kind), param.kind.words());
        let Param { name, unit, doc, .. } = *param;
        ListedKey { name, kind, choices, default, unit, doc, source: None }
    }

    fn declared(param: &Param) -> ListedKey {
        let default = (!param.default.is_empty()).then(|| param.default.to_owned());
        ListedKey::new(param, default)
    }
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Size | Kind::SizeOr(_) => "size",
        Kind::Count => "count",
        Kind::Share => "share",
        Kind::CountOrShare => "count or share",
        Kind::Time => "time",
        Kind::Switch => "switch",
        Kind::Real => "real",
        Kind::Ratio => "ratio",
        Kind::Choice(_) => "choice",
        Kind::Text => "text",
        Kind::Rest => "other keys",
    }
}

/// The defaults of a chip are the values of its preset.
fn chips() -> Vec<Listed> {
    let entry = |preset: &nand::chip_model::Preset| {
        let key = |param: &Param| ListedKey::new(param, figure(&preset.model, param.name));
        Listed {
            params: nand::chip_model::PARAMS.iter().map(key).collect(),
            ..Listed::declared(preset.model.name, preset.summary, preset.source, &[])
        }
    };
    nand::chip_model::PRESETS.iter().map(entry).collect()
}

/// The defaults of a drive are the figures of its preset.
fn drives() -> Vec<Listed> {
    let key = |(param, figure): (&Param, &drive::presets::Figure)| ListedKey {
        source: Some(figure.source),
        ..ListedKey::new(param, Some(figure.value.to_owned()))
    };
    let entry = |preset: &drive::presets::Preset| Listed {
        params: drive::profile::PARAMS.iter().zip(preset.figures).map(key).collect(),
        ..Listed::declared(preset.name, preset.summary, preset.source, &[])
    };
    drive::PRESETS.iter().map(entry).collect()
}

fn figure(chip: &ChipModel, key: &str) -> Option<String> {
    let time = |ns| spec::Value::TimeNs(ns).to_string();
    let size = |bytes: u32| spec::Value::Size(bytes.into()).to_string();
    let timing = &chip.timing;
    Some(match key {
        "page" => size(chip.page_bytes),
        "spare" => size(chip.spare_bytes),
        "pages_per_block" => chip.pages_per_block.to_string(),
        "program_order" => chip.order.name().to_owned(),
        "cell_bits" => chip.pairing.bits.to_string(),
        "pair_distance" => chip.pairing.distance.to_string(),
        "dies" => chip.dies.to_string(),
        "read" => time(timing.read_ns),
        "spare_read" => time(timing.spare_read_ns),
        "program" => time(timing.program_ns),
        "erase" => time(timing.erase_ns),
        "transfer" if timing.transfer_ns > 0 => time(timing.transfer_ns),
        "cycles" => chip.rated_cycles.to_string(),
        _ => return None,
    })
}

fn of_scheme(scheme: &'static Scheme) -> Listed {
    Listed {
        lecture: Some(scheme.lecture),
        ..Listed::declared(scheme.name, scheme.summary, scheme.source, scheme.params)
    }
}

fn of_format(format: &Format) -> Listed {
    let example =
        |example: &FormatExample| ListedExample { traces: example.traces, spec: example.spec };
    Listed {
        examples: format.examples.iter().map(example).collect(),
        ..Listed::declared(format.name, format.summary, format.source, format.params)
    }
}

/// An entry with the text and the picture that explain it, if there are any.
fn whole_text(entry: &Listed) -> String {
    let Some(lecture) = &entry.lecture else { return text(entry) };
    let keys = match entry.params.is_empty() {
        true => format!("{} has no parameters.\n", entry.name),
        false => format!("{}\n{}", Ink::Title.on("parameters"), keys(entry)),
    };
    let whole =
        lecture::sentence(&format!("The file {} has the code, and says more.", lecture.address()));
    format!("{}\n{}\n{keys}\n{whole}", head(entry), lecture::text(lecture))
}

fn text(entry: &Listed) -> String {
    head(entry) + &keys(entry)
}

fn head(entry: &Listed) -> String {
    format!("{}  {}\n  source: {}\n", Ink::Title.on(entry.name), entry.summary, entry.source)
}

/// The keys with their defaults, and the examples.
fn keys(entry: &Listed) -> String {
    let (mut text, mut table) = (String::new(), Table::default());
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
        let source = key.source.map_or(String::new(), |source| format!(" [{source}]"));
        text += &format!("{line}  {kind}{unit}: {}{source}\n", key.doc);
    }
    for example in &entry.examples {
        text += &format!("  for {}:\n    {}\n", example.traces, example.spec);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_a_chip_has_a_default() {
        for chip in chips() {
            for key in chip.params {
                // No source gives the transfer time separately.
                let is_known = key.default.is_some() || key.name == "transfer";
                assert!(is_known, "{}: {} has no default", chip.name, key.name);
            }
        }
    }

    /// Every entry has a summary and a source, and every key has a description and, for a count, a
    /// unit.
    #[test]
    fn every_entry_is_complete() {
        for entry in What::value_variants().iter().flat_map(|what| what.entries()) {
            let name = entry.name;
            assert!(!entry.summary.is_empty(), "{name} has no summary");
            assert!(!entry.source.is_empty(), "{name} has no source");
            for key in entry.params {
                let (key, kind) = (&key, key.kind);
                assert!(!key.doc.is_empty(), "{name}: {} is not described", key.name);
                assert!(kind != "choice" || !key.choices.is_empty(), "{name}: {}", key.name);
                let counts = kind == "count";
                assert!(!counts || !key.unit.is_empty(), "{name}: {} has no unit", key.name);
            }
        }
    }

    #[test]
    fn every_example_is_a_spec_that_its_format_takes() {
        for format in trace::registry::FORMATS {
            for example in format.examples {
                let spec = spec::Spec::parse(example.spec).expect(example.spec);
                assert_eq!(spec.name, format.name);
                spec::resolve(format.name, &spec.pairs, format.params).expect(example.spec);
            }
        }
    }
}
