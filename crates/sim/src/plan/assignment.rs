//! One option of an experiment, or one key inside an option that is a spec, and its value.

use core::fmt;
use core::ops::Range;
use std::sync::LazyLock;

use serde_json::{Map, Value};
use spec::Spec;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Fault, Parsed, in_order, scalar, unknown_key};
use crate::config::experiment::Experiment;
use crate::config::named_trace::{DEFAULT_TRACE, NamedTrace};
use crate::config::setup::check_each;
use crate::error::Error;

/// Options that are specs, whose keys can be set one by one.
const SPECS: &[&str] = &["trace", "format", "ftl", "chip", "split"];

/// All options, with their defaults.
static OPTIONS: LazyLock<Options> = LazyLock::new(|| of(&Experiment::default()));

/// The options of an experiment.
pub(super) fn of(experiment: &Experiment) -> Options {
    match serde_json::to_value(experiment) {
        Ok(Value::Object(options)) => options,
        _ => unreachable!("an experiment is a table"),
    }
}

/// What is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// An option.
    Whole(String),
    /// A key inside an option that is a spec.
    Inside(String, String),
}

impl fmt::Display for Key {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Whole(option) => out.write_str(option),
            Key::Inside(option, key) => write!(out, "{option}.{key}"),
        }
    }
}

impl Key {
    /// Reads `extra`, or `ftl.victim`.
    fn parse(text: &str, at: Range<usize>) -> Parsed<Key> {
        let refused = |option: &str, known: &[&str]| {
            Err(Fault::new(at.clone(), unknown_key("an experiment", option, known)))
        };
        match text.split_once('.') {
            Some((option, key)) if SPECS.contains(&option) => {
                Ok(Key::Inside(option.to_owned(), key.to_owned()))
            }
            Some((option, _)) => refused(option, SPECS),
            None if OPTIONS.contains_key(text) => Ok(Key::Whole(text.to_owned())),
            None => refused(text, &OPTIONS.keys().map(String::as_str).collect::<Vec<_>>()),
        }
    }
}

/// A key, its value, and where that is written.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub key: Key,
    pub value: Value,
    pub at: Range<usize>,
}

impl Setting {
    /// Reads a setting and checks what can be checked of it alone.
    pub(super) fn new(
        key: &str,
        key_at: Range<usize>,
        value: &Spanned<DeValue>,
    ) -> Parsed<Setting> {
        let key = Key::parse(key, key_at)?;
        let setting = Setting { key, value: scalar(value)?, at: value.span() };
        if let Key::Whole(_) = setting.key {
            Base::default().with(std::slice::from_ref(&setting))?;
        }
        Ok(setting)
    }

    /// The value as one writes it in a spec.
    fn text(&self) -> String {
        match &self.value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }

    fn fault(&self, why: impl fmt::Display) -> Fault {
        Fault::new(self.at.clone(), why.to_string())
    }
}

/// The settings of a table, in the order in which they are written; `ftl.victim` may be one key in
/// quotes, or a table in a table, as TOML reads it without them.
pub(super) fn settings(table: &DeTable) -> Parsed<Vec<Setting>> {
    settings_but(table, "")
}

/// The same, without an entry that is none.
pub(super) fn settings_but(table: &DeTable, other: &str) -> Parsed<Vec<Setting>> {
    let entries = entries(table).into_iter().filter(|(name, _, _)| name != other);
    entries.map(|(name, at, value)| Setting::new(&name, at, value)).collect()
}

/// The entries of a table with those of the specs in it.
pub(super) fn entries<'a, 'i>(
    table: &'a DeTable<'i>,
) -> Vec<(String, Range<usize>, &'a Spanned<DeValue<'i>>)> {
    let mut entries = Vec::new();
    for (name, value) in in_order(table) {
        match value.get_ref().as_table() {
            Some(inner) if SPECS.contains(&name.get_ref().as_ref()) => {
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

/// The settings of the first list but for those that the second one makes anew, and then those.
pub(super) fn overridden(first: &[Setting], second: &[Setting]) -> Vec<Setting> {
    let again = |setting: &&Setting| !second.iter().any(|other| other.key == setting.key);
    first.iter().filter(again).chain(second).cloned().collect()
}

/// Options as far as they are set.
#[derive(Clone, Debug)]
pub(super) struct Base {
    options: Map<String, Value>,
}

impl Default for Base {
    fn default() -> Base {
        Base { options: OPTIONS.clone() }
    }
}

impl Base {
    /// All options of an experiment.
    pub(super) fn of(experiment: &Experiment) -> Base {
        Base { options: of(experiment) }
    }

    /// These options with some set anew: whole ones first, then keys inside them.
    pub(super) fn with(&self, settings: &[Setting]) -> Parsed<Base> {
        let mut base = self.clone();
        for (index, setting) in settings.iter().enumerate() {
            if settings[..index].iter().any(|earlier| earlier.key == setting.key) {
                return Err(setting.fault(format!("`{}` is set twice in a row", setting.key)));
            }
            if let Key::Whole(option) = &setting.key {
                base.options.insert(option.clone(), setting.value.clone());
                base.checked().map_err(|why| setting.fault(why))?;
            }
        }
        for setting in settings {
            if let Key::Inside(option, key) = &setting.key {
                base.set_inside(option, key, setting)?;
                base.checked().map_err(|why| setting.fault(why))?;
            }
        }
        Ok(base)
    }

    fn set_inside(&mut self, option: &str, key: &str, setting: &Setting) -> Parsed<()> {
        let text = match (option, &self.options[option]) {
            (_, Value::String(text)) => text.as_str(),
            ("trace", _) => DEFAULT_TRACE,
            _ => return Err(setting.fault(format!("there is no {option} whose `{key}` to set"))),
        };
        if option == "trace" && NamedTrace::parse(text).is_ok_and(|trace| trace.is_file()) {
            return Err(setting.fault(format!("`{text}` is a file; only workloads have keys")));
        }
        let mut spec = Spec::parse(text).map_err(|why| setting.fault(why))?;
        let value = setting.text();
        match spec.pairs.iter_mut().find(|(known, _)| known == key) {
            Some(pair) => pair.1 = value,
            None => spec.pairs.push((key.to_owned(), value)),
        }
        self.options.insert(option.to_owned(), spec.to_string().into());
        Ok(())
    }

    /// Checks of each option all that can be checked without opening a trace.
    fn checked(&self) -> Result<Experiment, Error> {
        let options = Value::Object(self.options.clone());
        let experiment: Experiment =
            serde_json::from_value(options).map_err(|why| Error::Impossible(why.to_string()))?;
        check_each(&experiment)?;
        match experiment.trace_name() {
            "-" => Err(Error::Impossible(
                "a sweep reads its traces several times, but standard input can be read only \
                 once; name a file"
                    .into(),
            )),
            _ => Ok(experiment),
        }
    }

    /// The experiment that these options describe.
    pub(super) fn experiment(&self) -> Parsed<Experiment> {
        self.checked().map_err(|why| Fault::new(0..0, why.to_string()))
    }
}

/// All options of an experiment, as they are understood: `0.07` is `7%`.
pub(super) type Options = Map<String, Value>;

/// What an experiment must have to be chosen.
pub(super) enum Wish {
    /// An option, as it is understood.
    Whole(String, Value),
    /// A key inside an option that is a spec, as it is written.
    Inside(String, String, String),
}

impl Wish {
    /// That it has this setting.
    pub(super) fn of(setting: &Setting) -> Parsed<Wish> {
        Ok(match &setting.key {
            Key::Whole(option) => {
                let alone = Base::default().with(std::slice::from_ref(setting))?.experiment()?;
                Wish::Whole(option.clone(), of(&alone)[option].clone())
            }
            Key::Inside(option, key) => Wish::Inside(option.clone(), key.clone(), setting.text()),
        })
    }

    /// Whether the options have it.
    pub(super) fn holds(&self, options: &Options) -> bool {
        match self {
            Wish::Whole(option, value) => options[option] == *value,
            Wish::Inside(option, key, value) => {
                let spec = options[option].as_str().and_then(|text| Spec::parse(text).ok());
                let pairs = spec.map(|spec| spec.pairs).unwrap_or_default();
                pairs.iter().any(|(known, has)| known == key && has == value)
            }
        }
    }
}
