//! One option of an experiment and its value, or one key inside an option that is a spec.

use core::fmt;
use core::ops::Range;

use serde_json::Value;
use spec::Spec;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::config::experiment::{Experiment, ExperimentOption, options};
use crate::config::named_trace::{DEFAULT_TRACE, NamedTrace};
use crate::config::setup::check_each;
use crate::error::{Error, Result};
use crate::plan::document::{Fault, OrFault, in_order, list_or_scalar, scalar, unknown_key};
use crate::plan::row::Row;

/// The name that an assignment has on its left.
#[derive(Clone, Debug)]
pub(super) enum OptionKey {
    /// An option.
    Whole(&'static ExperimentOption),
    /// A key inside an option that is a spec.
    Inside(&'static ExperimentOption, String),
}

impl PartialEq for OptionKey {
    fn eq(&self, other: &OptionKey) -> bool {
        self.to_string() == other.to_string()
    }
}

impl fmt::Display for OptionKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionKey::Whole(option) => out.write_str(option.name),
            OptionKey::Inside(option, key) => write!(out, "{}.{key}", option.name),
        }
    }
}

impl OptionKey {
    /// Reads `extra`, or `ftl.victim`.
    fn parse(text: &str, at: Range<usize>) -> OrFault<OptionKey> {
        let (name, key) = match text.split_once('.') {
            Some((name, key)) => (name, Some(key)),
            None => (text, None),
        };
        let mut known = options().iter().filter(|option| key.is_none() || option.usage.has_keys);
        match known.clone().find(|option| option.name == name) {
            Some(option) => Ok(match key {
                Some(key) => OptionKey::Inside(option, key.to_owned()),
                None => OptionKey::Whole(option),
            }),
            None => {
                let names: Vec<&str> = known.by_ref().map(|option| option.name).collect();
                Err(Fault::new(at, unknown_key("an experiment", name, &names)))
            }
        }
    }
}

fn has_keys(name: &str) -> bool {
    options().iter().any(|option| option.name == name && option.usage.has_keys)
}

/// A key, its value, and the place where the value is written.
#[derive(Clone, Debug)]
pub(super) struct Assignment {
    pub key: OptionKey,
    pub value: Value,
    pub at: Range<usize>,
}

impl Assignment {
    /// Reads an assignment. The value of a whole option is checked by itself.
    pub(super) fn new(
        key: &str,
        key_at: Range<usize>,
        value: &Spanned<DeValue>,
    ) -> OrFault<Assignment> {
        let key = OptionKey::parse(key, key_at)?;
        let value_of = match &key {
            OptionKey::Whole(option) if option.is_list => list_or_scalar,
            _ => scalar,
        };
        let assignment = Assignment { key, value: value_of(value)?, at: value.span() };
        if let OptionKey::Whole(_) = assignment.key {
            assigned(&Experiment::default(), std::slice::from_ref(&assignment))?;
        }
        Ok(assignment)
    }

    /// The value as users write it in a spec or on the command line.
    fn text(&self) -> String {
        text(&self.value)
    }

    fn fault(&self, why: impl fmt::Display) -> Fault {
        Fault::new(self.at.clone(), why.to_string())
    }

    /// Sets the option or the key in an experiment.
    fn set(&self, experiment: &mut Experiment) -> Result<()> {
        match &self.key {
            OptionKey::Whole(option) => match &self.value {
                Value::Array(list) if list.is_empty() => Err(Error::Impossible(format!(
                    "`{0}` is an empty list; leave `{0}` out, or name at least one",
                    option.name
                ))),
                Value::Array(list) => {
                    let texts: Vec<String> = list.iter().map(text).collect();
                    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                    option.set_all(experiment, &texts)
                }
                value => option.set(experiment, &text(value)),
            },
            OptionKey::Inside(option, key) => set_inside(experiment, option, key, self.text()),
        }
    }
}

/// A value as users write it.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn set_inside(
    experiment: &mut Experiment,
    option: &ExperimentOption,
    key: &str,
    value: String,
) -> Result<()> {
    let refuse = |why| Err(Error::Impossible(why));
    let is_trace = option.name == "trace";
    let text = match option.text(experiment) {
        Some(text) => text,
        None if is_trace => DEFAULT_TRACE.to_owned(),
        None => {
            return refuse(format!("`{}` is not given, so `{key}` cannot be set", option.name));
        }
    };
    if is_trace && NamedTrace::parse(&text).is_ok_and(|trace| trace.is_file()) {
        return refuse(format!("`{text}` is a file; only workloads have keys"));
    }
    let mut spec = Spec::parse(&text)?;
    match spec.pairs.iter_mut().find(|(known, _)| known == key) {
        Some(pair) => pair.1 = value,
        None => spec.pairs.push((key.to_owned(), value)),
    }
    option.set(experiment, &spec.to_string())
}

/// The assignments of a table, in the order in which they are written.
pub(super) fn assignments(table: &DeTable) -> OrFault<Vec<Assignment>> {
    assignments_except(table, "")
}

/// The same, leaving out an entry that is no assignment.
pub(super) fn assignments_except(table: &DeTable, other: &str) -> OrFault<Vec<Assignment>> {
    let entries = entries(table).into_iter().filter(|(name, _, _)| name != other);
    entries.map(|(name, at, value)| Assignment::new(&name, at, value)).collect()
}

/// The entries of a table. `ftl.victim` may be one quoted key; without quotes TOML reads it as a
/// table inside the table.
pub(super) fn entries<'a, 'i>(
    table: &'a DeTable<'i>,
) -> Vec<(String, Range<usize>, &'a Spanned<DeValue<'i>>)> {
    let mut entries = Vec::new();
    for (name, value) in in_order(table) {
        match value.get_ref().as_table() {
            Some(inner) if has_keys(name.get_ref()) => {
                let keys = in_order(inner).into_iter();
                entries.extend(keys.map(|(key, value)| {
                    (format!("{}.{}", name.get_ref(), key.get_ref()), key.span(), value)
                }));
            }
            _ => entries.push((name.get_ref().to_string(), name.span(), value)),
        }
    }
    entries.sort_by_key(|(_, at, _)| at.start);
    entries
}

/// The first list without the keys that the second one assigns again, followed by the second.
pub(super) fn overridden(first: &[Assignment], second: &[Assignment]) -> Vec<Assignment> {
    let stays = |assignment: &&Assignment| !second.iter().any(|other| other.key == assignment.key);
    first.iter().filter(stays).chain(second).cloned().collect()
}

/// The experiment with these assignments made: whole options first, then keys inside them.
pub(super) fn assigned(base: &Experiment, assignments: &[Assignment]) -> OrFault<Experiment> {
    for (index, assignment) in assignments.iter().enumerate() {
        if assignments[..index].iter().any(|earlier| earlier.key == assignment.key) {
            return Err(assignment.fault(format!("`{}` is set twice in a row", assignment.key)));
        }
    }
    let mut experiment = base.clone();
    let is_whole = |assignment: &&Assignment| matches!(assignment.key, OptionKey::Whole(_));
    let (whole, inside): (Vec<_>, Vec<_>) = assignments.iter().partition(is_whole);
    for assignment in whole.into_iter().chain(inside) {
        let set = assignment.set(&mut experiment).and_then(|()| check(&experiment));
        set.map_err(|why| assignment.fault(why))?;
    }
    Ok(experiment)
}

/// Checks each option by itself, as far as that is possible without opening a trace.
fn check(experiment: &Experiment) -> Result<()> {
    if experiment.trace_names().contains(&"-") {
        let why = "a sweep reads its traces several times, but standard input can be read only \
                   once; name a file";
        return Err(Error::Impossible(why.into()));
    }
    check_each(experiment)
}

/// What a row must have to be selected.
pub(super) enum Condition {
    /// This value of an option, and as it is written. Keys inside it that grids and lists set by
    /// themselves may be added.
    Whole(&'static ExperimentOption, Option<String>, String),
    /// This value of a key inside an option that is a spec, as it is written.
    Inside(&'static ExperimentOption, String, String),
}

impl Condition {
    /// The condition that a row has the assigned value.
    pub(super) fn of(assignment: &Assignment) -> OrFault<Condition> {
        Ok(match &assignment.key {
            OptionKey::Whole(option) => {
                let alone = std::slice::from_ref(assignment);
                let experiment = assigned(&Experiment::default(), alone)?;
                Condition::Whole(option, option.text(&experiment), assignment.text())
            }
            OptionKey::Inside(option, key) => {
                Condition::Inside(option, key.clone(), assignment.text())
            }
        })
    }

    /// Whether a row meets it.
    pub(super) fn holds(&self, row: &Row) -> bool {
        let of_row = |option: &ExperimentOption| option.text(&row.experiment);
        match self {
            Condition::Whole(option, text, written) => {
                let has = of_row(option);
                has == *text || has.is_some() && has == with_keys(option, written, row)
            }
            Condition::Inside(option, key, value) => {
                let spec = of_row(option).and_then(|text| Spec::parse(&text).ok());
                let pairs = spec.map(|spec| spec.pairs).unwrap_or_default();
                // An option may leave out a key that has its default, as `closed:depth=1` does.
                let changes_nothing = || {
                    let mut other = row.experiment.clone();
                    let set = set_inside(&mut other, option, key, value.clone());
                    set.is_ok() && option.text(&other) == of_row(option)
                };
                pairs.iter().any(|(known, has)| known == key && has == value) || changes_nothing()
            }
        }
    }
}

/// The assignments, those of whole options with the keys that the row sets inside them.
pub(super) fn with_keys_of(row: &Row, assignments: &[Assignment]) -> Vec<Assignment> {
    let with_keys = |assignment: &Assignment| {
        let value = match assignment.key {
            OptionKey::Whole(option) if option.usage.has_keys && !assignment.value.is_array() => {
                with_keys(option, &assignment.text(), row).map(Value::String)
            }
            _ => None,
        };
        Assignment { value: value.unwrap_or(assignment.value.clone()), ..assignment.clone() }
    };
    assignments.iter().map(with_keys).collect()
}

/// The value of an option after the keys inside it are set as in a row, which is named like this:
/// `page` and the key `ftl.victim=fifo` make `page:victim=fifo`. None if a key is set already.
fn with_keys(option: &ExperimentOption, written: &str, row: &Row) -> Option<String> {
    let mut experiment = Experiment::default();
    option.set(&mut experiment, written).ok()?;
    for (name, value) in &row.varied {
        let key = name.strip_prefix(option.name).and_then(|rest| rest.strip_prefix('.'));
        if let Some(key) = key {
            let is_set =
                Spec::parse(written).is_ok_and(|it| it.pairs.iter().any(|own| own.0 == key));
            if is_set {
                return None;
            }
            set_inside(&mut experiment, option, key, text(value)).ok()?;
        }
    }
    option.text(&experiment)
}
