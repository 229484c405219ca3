//! Names that shells complete: those of FTLs, chips, formats and workloads, from their lists, and
//! the keys behind them.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command};
use spec::Param;

/// A name and its description.
pub type Named = (&'static str, &'static str);

/// The names with which the value of an option of an experiment can begin; empty if it has none.
pub fn of_option(option: &str) -> Vec<Named> {
    match option {
        "ftl" => ftls(),
        "chip" => nand::chip_model::PRESETS.iter().map(|it| (it.model.name, it.summary)).collect(),
        "drive" => drives(),
        "format" => trace::registry::FORMATS.iter().map(|it| (it.name, it.summary)).collect(),
        "trace" => workloads(),
        _ => Vec::new(),
    }
}

/// The keys of the entry of an option's list with this name; empty if there is none.
pub fn params_of(option: &str, name: &str) -> &'static [Param] {
    let keys = match option {
        "ftl" => ftl::SCHEMES.iter().find(|it| it.name == name).map(|it| it.params),
        "chip" => has(option, name).then_some(nand::chip_model::PARAMS),
        "drive" => has(option, name).then_some(drive::profile::PARAMS),
        "format" => trace::registry::FORMATS.iter().find(|it| it.name == name).map(|it| it.params),
        "trace" => trace::registry::WORKLOADS.iter().find(|it| it.name == name).map(|it| it.params),
        _ => None,
    };
    keys.unwrap_or(&[])
}

fn has(option: &str, name: &str) -> bool {
    of_option(option).iter().any(|(known, _)| *known == name)
}

/// All schemes.
pub fn ftls() -> Vec<Named> {
    ftl::SCHEMES.iter().map(|scheme| (scheme.name, scheme.summary)).collect()
}

/// All workloads that can be generated.
pub fn workloads() -> Vec<Named> {
    trace::registry::WORKLOADS.iter().map(|it| (it.name, it.summary)).collect()
}

/// All drives.
pub fn drives() -> Vec<Named> {
    drive::PRESETS.iter().map(|preset| (preset.name, preset.summary)).collect()
}

/// Names as clap takes them.
pub fn possible(names: Vec<Named>) -> impl Iterator<Item = PossibleValue> {
    names.into_iter().map(|(name, summary)| PossibleValue::new(name).help(summary))
}

/// Takes any text; shells complete the names.
#[derive(Clone, Copy)]
pub struct NameOr(pub fn() -> Vec<Named>);

impl TypedValueParser for NameOr {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(possible((self.0)())))
    }
}
