//! Arguments of the command for the options of an experiment.
//!
//! The arguments are made from the table in [`sim::config::experiment`]: name, value, default, help
//! and heading of an option stand there and nowhere else. A subcommand selects the options that it
//! takes.

use std::ffi::OsStr;
use std::marker::PhantomData;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use sim::Experiment;
use sim::config::experiment::{ExperimentOption, options};

use crate::known_names;

/// The options that a subcommand takes.
pub trait Selection {
    /// Options that may be given several times: the subcommand runs every combination of their
    /// values, the last of these options fastest.
    const REPEATED: &'static [&'static str] = &[];
    /// An option that must be given.
    const REQUIRED: &'static str = "";
    /// The FTLs that the subcommand runs if none is given; empty for the default of the option.
    const FTLS: &'static [&'static str] = &[];
    /// The chip if none is given; empty for the default of the option.
    const CHIP: &'static str = "";

    /// Whether the subcommand takes an option.
    fn takes(option: &ExperimentOption) -> bool;
}

/// All options, each once.
pub struct AllOptions;

impl Selection for AllOptions {
    fn takes(_: &ExperimentOption) -> bool {
        true
    }
}

/// All options; FTL, durability and the treatment of trims may be repeated.
pub struct ComparedOptions;

impl Selection for ComparedOptions {
    const REPEATED: &'static [&'static str] = &["ftl", "durability", "trim"];
    const REQUIRED: &'static str = "ftl";

    fn takes(_: &ExperimentOption) -> bool {
        true
    }
}

/// The options of layers.
pub struct LayerArgs;

impl Selection for LayerArgs {
    fn takes(option: &ExperimentOption) -> bool {
        option.is_of_layer()
    }
}

/// The options that say how a trace file is read.
pub struct TraceFileOptions;

impl Selection for TraceFileOptions {
    fn takes(option: &ExperimentOption) -> bool {
        ["format", "skip_bad", "sort", "limit", "volume"].contains(&option.name)
    }
}

/// The options on which the requests of a workload depend.
pub struct WorkloadOptions;

impl Selection for WorkloadOptions {
    fn takes(option: &ExperimentOption) -> bool {
        ["chip", "capacity", "seed"].contains(&option.name)
    }
}

/// The options on which the requests of a file or workload depend.
pub struct TraceOptions;

impl Selection for TraceOptions {
    fn takes(option: &ExperimentOption) -> bool {
        TraceFileOptions::takes(option)
            || WorkloadOptions::takes(option)
            || ["each_volume", "volumes"].contains(&option.name)
    }
}

/// Arguments for the options of a selection.
pub struct ExperimentArgs<S> {
    /// The experiments that they describe: one, or one for each combination of repeated options.
    pub experiments: Vec<Experiment>,
    /// The names of the options that were given; the others have their defaults.
    pub given: Vec<&'static str>,
    selection: PhantomData<S>,
}

impl<S> ExperimentArgs<S> {
    /// The first experiment, which is the only one unless options are repeated.
    pub fn first(&self) -> &Experiment {
        &self.experiments[0]
    }
}

impl<S: Selection> ExperimentArgs<S> {
    fn options() -> impl Iterator<Item = &'static ExperimentOption> {
        options().iter().filter(|option| S::takes(option) && !option.usage.is_of_python)
    }

    fn arg(option: &'static ExperimentOption) -> Arg {
        let is_repeated = S::REPEATED.contains(&option.name);
        let help = match is_repeated || option.is_list {
            true => format!("{}; may be given several times", option.help()),
            false => option.help().to_owned(),
        };
        // Help lists keywords, but not all schemes, chips, formats and workloads.
        let hides = option.keywords.is_empty() && !option.is_switch;
        let arg = Arg::new(option.name).help(help).hide_possible_values(hides);
        let arg = match option.usage.is_positional {
            true if is_repeated => {
                let arg = arg.value_name("LOG").value_parser(ValueOf(option));
                return arg.action(ArgAction::Append).num_args(1..);
            }
            true => return arg.value_name("TRACE").value_parser(ValueOf(option)),
            false => arg.long(option.name.replace('_', "-")).help_heading(option.usage.heading),
        };
        if option.is_switch {
            return arg.action(ArgAction::SetTrue);
        }
        let name = match option.usage.value_name {
            "" => option.name.to_uppercase(),
            name => name.to_owned(),
        };
        let arg = arg.value_name(name).value_parser(ValueOf(option));
        let arg = if is_repeated || option.is_list { arg.action(ArgAction::Append) } else { arg };
        match option.text(&Experiment::default()) {
            _ if option.name == S::REQUIRED => arg.required(true),
            _ if option.name == "ftl" && !S::FTLS.is_empty() => arg.default_values(S::FTLS),
            _ if option.name == "chip" && !S::CHIP.is_empty() => arg.default_value(S::CHIP),
            Some(default) => arg.default_value(default),
            None => arg,
        }
    }
}

impl<S: Selection> Args for ExperimentArgs<S> {
    fn augment_args(command: Command) -> Command {
        command.args(Self::options().map(Self::arg))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<S: Selection> FromArgMatches for ExperimentArgs<S> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut experiments = vec![Experiment::default()];
        let (repeated, once): (Vec<_>, Vec<_>) =
            Self::options().partition(|option| S::REPEATED.contains(&option.name));
        for option in once.into_iter().chain(repeated) {
            let texts = given(option, matches);
            if option.is_list {
                experiments.iter_mut().try_for_each(|it| set_all(option, it, &texts))?;
            } else if !texts.is_empty() {
                let with = |base: &Experiment| {
                    texts.iter().map(|text| set(option, base.clone(), text)).collect::<Vec<_>>()
                };
                experiments = experiments.iter().flat_map(with).collect::<Result<_, _>>()?;
            }
        }
        let given = Self::options().map(|option| option.name);
        let given =
            given.filter(|name| matches.value_source(name) == Some(ValueSource::CommandLine));
        Ok(ExperimentArgs { experiments, given: given.collect(), selection: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The texts of an option; none if it is not given and has no default.
fn given(option: &ExperimentOption, matches: &ArgMatches) -> Vec<String> {
    match option.is_switch {
        true => vec![matches.get_flag(option.name).to_string()],
        false => matches.get_many::<String>(option.name).into_iter().flatten().cloned().collect(),
    }
}

fn set(
    option: &ExperimentOption,
    mut experiment: Experiment,
    text: &str,
) -> Result<Experiment, clap::Error> {
    option.set(&mut experiment, text).map_err(refused)?;
    Ok(experiment)
}

/// Sets the values of a list.
fn set_all(
    option: &ExperimentOption,
    experiment: &mut Experiment,
    texts: &[String],
) -> Result<(), clap::Error> {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    option.set_all(experiment, &texts).map_err(refused)
}

fn refused(why: sim::Error) -> clap::Error {
    clap::Error::raw(clap::error::ErrorKind::ValueValidation, why)
}

/// Checks the value of an option. The text itself is kept.
#[derive(Clone, Copy)]
struct ValueOf(&'static ExperimentOption);

impl TypedValueParser for ValueOf {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        let option = self.0;
        let checked = move |text: &str| {
            let checked = option.set(&mut Experiment::default(), text);
            checked.map(|()| text.to_owned()).map_err(|why| why.to_string())
        };
        checked.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = known_names::of_option(self.0.name);
        match (self.0.keywords, names.is_empty()) {
            ([], true) => None,
            ([], false) => Some(Box::new(known_names::possible(names))),
            (keywords, _) => Some(Box::new(keywords.iter().map(|&word| PossibleValue::new(word)))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Once {
        #[command(flatten)]
        args: ExperimentArgs<AllOptions>,
    }

    #[derive(Parser)]
    struct Repeated {
        #[command(flatten)]
        args: ExperimentArgs<ComparedOptions>,
    }

    #[test]
    fn without_arguments_it_is_the_default_experiment() {
        assert_eq!(Once::parse_from(["test"]).args.experiments, [Experiment::default()]);
    }

    #[test]
    fn every_option_is_an_argument() {
        let words = ["test", "oltp", "--skip-bad", "--limit", "4M", "--extra", "20blocks"];
        let found = Once::parse_from(words).args.experiments.remove(0);
        let expected = Experiment {
            trace: Some("oltp".to_owned()),
            skip_bad: true,
            limit: Some(4_000_000),
            extra: Some("20blocks".parse().unwrap()),
            ..Experiment::default()
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn the_values_of_a_list_stay_together() {
        let words = ["test", "--load", "oltp", "--load", "a.csv@open", "--ftl", "fast"];
        let found = Repeated::parse_from([&words[..], &["--ftl", "bast"]].concat());
        let loads = |it: &Experiment| it.load.iter().map(ToString::to_string).collect::<Vec<_>>();
        let loads: Vec<_> = found.args.experiments.iter().map(loads).collect();
        assert_eq!(loads, [["oltp", "a.csv@open"]; 2]);
    }

    #[test]
    fn repeated_options_are_combined_the_last_one_fastest() {
        let words = ["test", "--ftl", "fast", "--ftl", "bast"];
        let both = ["--durability", "paper", "--durability", "full"];
        let found = Repeated::parse_from([&words[..], &both].concat()).args.experiments;
        let names: Vec<String> =
            found.iter().map(|it| format!("{} {}", it.ftl, it.durability)).collect();
        assert_eq!(names, ["fast paper", "fast full", "bast paper", "bast full"]);
    }
}
