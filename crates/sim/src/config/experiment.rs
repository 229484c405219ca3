//! The options of a run, declared once.
//!
//! The table below is all that command, plans, results and Python know of an option: its field, its
//! default, its notation, its help (which is the field's documentation), the heading under which
//! help lists it, and whether a result reports it. A new option is one entry. Options of layers
//! follow; the layers themselves declare them ([`ftl::layer`]).
//!
//! Values are kept as users write them (`page:victim=fifo`, `7%`); a
//! [`Setup`](crate::config::setup::Setup) has read and checked them.

use std::sync::LazyLock;

use ftl::Durability;
use ftl::layer::{LayerOption, LayerOptions, layer_options};
use serde_json::{Map, Value};

use crate::config::choices::{Fit, FlushMode, Precondition, Streams, Timing, TrimMode};
use crate::config::load::Load;
use crate::config::named_trace::{DEFAULT_TRACE, NamedTrace};
use crate::config::option_text::{
    COUNT, Notation, OptionField, OptionValue, SIZE, SMALL_COUNT, SWITCH, TEXT, TIME_NS,
};
use crate::config::replay::Replay;
use crate::config::until::SteadyRule;
use crate::config::values::{Extra, Interval, LATENCY_NS_MAX, Volume};
use crate::config::volume_choice::VolumeChoice;
use crate::error::{Error, Result};

/// Declares the options: the struct, its defaults, and the table of its fields.
///
/// `field ("name"): type = default, notation, usage, check;` where the name of an option is that of
/// its field unless another is given, and a check is optional. A field of type `Vec` is a list.
macro_rules! experiment {
    ($(
        $(#[doc = $doc:literal])+
        $field:ident $(($name:literal))?: $type:ty = $default:expr, $notation:expr, $usage:expr
            $(, $check:expr)?;
    )+) => {
        /// One run: a trace, a device, an FTL, and how to measure.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub struct Experiment {
            $($(#[doc = $doc])+ pub $field: $type,)+
            /// The layers above the FTL.
            pub layers: LayerOptions,
        }

        impl Default for Experiment {
            fn default() -> Experiment {
                Experiment { $($field: $default,)+ layers: LayerOptions::default() }
            }
        }

        /// The options that are fields.
        const FIELDS: &[ExperimentOption] = &[$(
            ExperimentOption {
                name: [$($name,)? stringify!($field)][0],
                help: concat!($($doc),+),
                keywords: <<$type as OptionField>::Value as OptionValue>::KEYWORDS,
                is_switch: <<$type as OptionField>::Value as OptionValue>::IS_SWITCH,
                is_list: <$type as OptionField>::IS_LIST,
                usage: $usage,
                access: OptionAccess::Field {
                    write: |experiment| {
                        experiment.$field.values().iter().map($notation.write).collect()
                    },
                    read: |experiment, texts| {
                        let values = texts.iter().map(|text| ($notation.read)(text));
                        let values = values.collect::<Result<Vec<_>>>()?;
                        experiment.$field = OptionField::holding(values);
                        Ok(())
                    },
                    check: |_experiment| {
                        $(_experiment.$field.values().iter().try_for_each($check)?;)?
                        Ok(())
                    },
                    json: |experiment| OptionField::json(&experiment.$field),
                },
            },
        )+];
    };
}

experiment! {
    /// Trace to replay: a file, a path into an archive such as `set.tar/*.csv`, `-` for standard
    /// input, or a workload such as `uniform:writes=4M`; by default the built-in OLTP workload
    trace: Option<String> = None, TEXT, TRACE.positional().with_keys();

    /// In place of TRACE, one of several traces that are replayed at once: a TRACE, followed by `@`
    /// and its own `--replay` if it has one, such as `disk.csv@open` or
    /// `uniform:writes=4M@closed:depth=32`; before it `@stream=3` names the stream of its writes.
    /// Each has its part of the device, in the order given; a workload spans its default capacity,
    /// or with `--capacity` an equal part of what files leave. The run ends with the first closed
    /// load, or when all open ones have ended
    load: Vec<Load> = Vec::new(), Notation::OWN, TRACE.value("LOAD");

    /// Lay all loads over each other, each from the beginning of the device
    shared: bool = false, SWITCH, TRACE;

    /// Format of the trace file, as NAME[:key=value…]; by default detected from its content
    format: Option<String> = None, TEXT, TRACE.value("SPEC").with_keys();

    /// Count malformed lines instead of stopping at the first one
    skip_bad: bool = false, SWITCH, TRACE;

    /// Sort the requests by their times
    sort: bool = false, SWITCH, TRACE.reported(11);

    /// Read at most N requests
    limit: Option<u64> = None, COUNT, TRACE.value("N").reported(6),
        |&limit| at_least_one(limit, "a limit of 0 requests leaves nothing to run");

    /// Volume of the trace to replay, by its name in the trace (`ftlab trace info` lists them), or
    /// `all`: the volumes are laid end to end, each rounded up to a block
    volume: Volume = Volume::All, Notation::OWN, TRACE.value("NAME|all").reported(9);

    /// Run each volume of the trace by itself, on a device of its own. The file is parsed once
    each_volume: bool = false, SWITCH, TRACE;

    /// With `--each-volume`, only the volumes that meet all conditions, such as
    /// `working_set>=10GiB,written>=2x`. Figures: `requests`, `reads`, `writes`, `write_share`,
    /// `written`, `working_set` (bytes of distinct pages of 4 KiB that are written) and `rewrites`
    /// (page writes to pages written before, as a share)
    volumes: Option<VolumeChoice> = None, Notation::OWN, TRACE.value("CONDITION,…");

    /// Treatment of addresses beyond the capacity: `error` stops the run; `wrap` starts again at 0;
    /// `compact` packs the touched pages side by side in the order of their addresses
    fit: Fit = Fit::Error, Notation::OWN, TRACE.reported(5);

    /// `closed[:depth=N]` keeps N requests outstanding, by default 1: an answer issues the next
    /// request; `open[:speed=X]` issues each request at its own time, divided by X
    replay: Replay = Replay::CLOSED, Notation::OWN, TRACE.with_keys().reported(3);

    /// `honour` passes flushes to the FTL; `ignore` only counts them
    flush: FlushMode = FlushMode::Honour, Notation::OWN, TRACE.reported(8);

    /// `honour` passes trims (discards) to the FTL; `ignore` only counts them
    trim: TrimMode = TrimMode::Honour, Notation::OWN, TRACE.reported_if_set(13);

    /// What decides the stream of a write, for FTLs that place by streams: `volume` its volume;
    /// `column` the stream column of the trace; `size` its size, in classes of up to 4 KiB, 16 KiB,
    /// 64 KiB and above; with `off` writes have none
    streams: Streams = Streams::Off, Notation::OWN, TRACE.reported_if_set(12);

    /// FTL with its parameters; see `ftlab list ftls`
    ftl: String = "page".into(), TEXT, DEVICE.value("SPEC").with_keys();

    /// In sweeps that Python runs, the policy that places the pages of `page`, by its name there
    policy: Option<String> = None, TEXT, DEVICE.value("NAME").of_python();

    /// Chip with its parameters; see `ftlab list chips`
    chip: String = "slc-fast2010".into(), TEXT, DEVICE.value("SPEC").with_keys();

    /// Exported capacity such as 8GiB, rounded up to whole blocks; by default what the trace needs
    capacity_bytes ("capacity"): Option<u64> = None, SIZE, DEVICE.value("SIZE"),
        |&bytes| at_least_one(bytes, "a device of capacity 0 holds nothing");

    /// Over-provisioning: blocks beyond the capacity, as a share of the logical blocks such as 7%,
    /// or as a number such as 20blocks; by default 7%, but at least 8 blocks
    extra: Option<Extra> = None, Notation::OWN, DEVICE.value("SHARE|Nblocks");

    /// How flash fails: `perfect` never; `real[:factory_bad=SHARE][,endurance=N][,spread=SHARE]
    /// [,program_fail=SHARE][,erase_fail=SHARE]` has blocks that come bad, wear out, or fail by
    /// chance
    media: String = "perfect".into(), TEXT, DEVICE.value("SPEC").with_keys().reported_if_set(14);

    /// Blocks in reserve for those that fail, beyond all others: a share of the device's blocks, or
    /// a number such as 20blocks; by default 2% if `--media` can fail
    reserve: Option<Extra> = None, Notation::OWN, DEVICE.value("SHARE|Nblocks").reported_if_set(15);

    /// How wear is levelled, below the FTL; see `ftlab list wear`. `static` and `swap` move data,
    /// which needs `--media real`
    wear: String = "none".into(), TEXT, DEVICE.value("SPEC").with_keys().reported_if_set(16);

    /// What must survive a power cut: with `paper` flushed writes, but trims may be undone; with
    /// `full` trims too
    durability: Durability = Durability::Paper, Notation::OWN, DEVICE.reported(7);

    /// Content of the flash at the start: `none`, or `fill`, which writes every logical page once
    precondition: Precondition = Precondition::Fill, Notation::OWN, MEASURING.reported(1);

    /// Number of times that the trace is replayed, uncounted, before it is measured
    warmup: u32 = 1, SMALL_COUNT, MEASURING.value("N").reported(2);

    // After a warm-up by the same trace, pages that the trace never touches are still cold.
    /// Serve N requests of the measured pass before counting begins, to measure a steady state
    measure_after: u64 = 0, COUNT, MEASURING.value("N").reported(10);

    /// `steady[:rounds=N][,round=SHARE][,range=SHARE][,slope=SHARE]` replays the trace, again and
    /// again, in rounds in which the host writes as many pages as the device has, until write
    /// amplification is steady by SNIA's rule, and measures the last five rounds; at most 25 rounds
    until: Option<SteadyRule> = None, Notation::OWN, MEASURING.value("RULE").with_keys();

    /// How operations become time: `serial` adds up the latencies of all operations; `drive` lets
    /// them happen in a drive with channels, dies and queues
    timing: Timing = Timing::Serial, Notation::OWN, MEASURING.reported(4);

    /// With `--timing drive`, the drive with its figures, by default `ideal`, which is one die; see
    /// `ftlab list drives`
    drive: Option<String> = None, TEXT, MEASURING.value("SPEC").with_keys();

    /// Take a sample of the series every N requests; `auto` takes 200 to 400 samples in all
    interval: Option<Interval> = None, Notation::OWN, MEASURING.value("N|auto"), is_positive;

    /// Compare every sector read with a shadow copy; a mismatch stops the run and names the page
    verify: bool = false, SWITCH, MEASURING;

    /// Seed of all random choices
    seed: u64 = 1, COUNT, MEASURING.value("N").reported(0);

    /// Time of moving a page into or out of the DRAM of a layer, such as 20ns
    dram_access_ns ("dram_access"): u64 = 0, TIME_NS, LAYERS.value("TIME"), |&access_ns| {
        let why = || format!("a DRAM access of {access_ns} ns is beyond {LATENCY_NS_MAX} ns");
        if access_ns > LATENCY_NS_MAX { refuse(why()) } else { Ok(()) }
    };
}

const TRACE: Usage = Usage::under("Trace");
const DEVICE: Usage = Usage::under("Device");
const MEASURING: Usage = Usage::under("Measuring");
const LAYERS: Usage = Usage::under("Layers");

/// The drive of an experiment that names none.
pub const DEFAULT_DRIVE: &str = "ideal";

impl Experiment {
    /// Refuses a row for each volume, where there is one row.
    ///
    /// # Errors
    /// `each_volume` is set.
    pub fn refuse_each_volume(&self) -> Result<()> {
        match self.each_volume {
            true => refuse(
                "`--each-volume` makes a row of each volume, in commands and in plans of sweeps; \
                 here, select one volume with `--volume NAME`",
            ),
            false => Ok(()),
        }
    }
}

fn at_least_one(number: u64, why: &str) -> Result<()> {
    if number == 0 { refuse(why) } else { Ok(()) }
}

fn is_positive(interval: &Interval) -> Result<()> {
    match interval {
        Interval::Every(0) => refuse("an interval of 0 requests would never end"),
        _ => Ok(()),
    }
}

fn refuse<T>(why: impl Into<String>) -> Result<T> {
    Err(Error::Impossible(why.into()))
}

// ---- Entries of the table -----------------------------------------------------------------------

/// An option of an experiment.
#[derive(Clone, Copy, Debug)]
pub struct ExperimentOption {
    /// The name; the command writes `-` for `_`.
    pub name: &'static str,
    /// The keywords to choose from, if the value is one of a few.
    pub keywords: &'static [&'static str],
    /// Whether the command takes its name alone for `true`.
    pub is_switch: bool,
    /// Whether it may have several values.
    pub is_list: bool,
    /// How command, plans and results use it.
    pub usage: Usage,
    help: &'static str,
    access: OptionAccess,
}

/// How command, plans and results use an option.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// The heading under which help lists it.
    pub heading: &'static str,
    /// What help calls the value; empty if it need not be named.
    pub value_name: &'static str,
    /// Whether the command takes it without its name.
    pub is_positional: bool,
    /// Whether its value is a spec, whose keys plans can set one by one.
    pub has_keys: bool,
    /// Its place among the options that a result reports; `None` if it is not reported.
    pub place_in_result: Option<u32>,
    /// Whether a result leaves it out if it has its default.
    pub is_left_out: bool,
    /// Whether its value is made in Python, so that the command does not have it.
    pub is_of_python: bool,
}

impl Usage {
    const fn under(heading: &'static str) -> Usage {
        Usage {
            heading,
            value_name: "",
            is_positional: false,
            has_keys: false,
            place_in_result: None,
            is_left_out: false,
            is_of_python: false,
        }
    }

    const fn positional(self) -> Usage {
        Usage { is_positional: true, ..self }
    }

    const fn value(self, value_name: &'static str) -> Usage {
        Usage { value_name, ..self }
    }

    const fn with_keys(self) -> Usage {
        Usage { has_keys: true, ..self }
    }

    const fn of_python(self) -> Usage {
        Usage { is_of_python: true, ..self }
    }

    const fn reported(self, place: u32) -> Usage {
        Usage { place_in_result: Some(place), ..self }
    }

    /// An option that older results do not have: they stay as they are without it.
    const fn reported_if_set(self, place: u32) -> Usage {
        Usage { place_in_result: Some(place), is_left_out: true, ..self }
    }
}

/// How an option is read and written.
#[derive(Clone, Copy, Debug)]
enum OptionAccess {
    /// A field of the experiment.
    Field {
        write: fn(&Experiment) -> Vec<String>,
        read: fn(&mut Experiment, &[&str]) -> Result<()>,
        check: fn(&Experiment) -> Result<()>,
        json: fn(&Experiment) -> Value,
    },
    /// An option of a layer.
    Layer(&'static LayerOption),
}

static OPTIONS: LazyLock<Vec<ExperimentOption>> = LazyLock::new(|| {
    let of_layers = layer_options().map(|option| ExperimentOption {
        name: option.name,
        keywords: &[],
        is_switch: false,
        is_list: false,
        usage: LAYERS.value(option.value_name),
        help: option.help,
        access: OptionAccess::Layer(option),
    });
    FIELDS.iter().copied().chain(of_layers).collect()
});

/// All options, those of layers last.
pub fn options() -> &'static [ExperimentOption] {
    &OPTIONS
}

/// The options that a result reports, in its order.
pub fn reported_options() -> Vec<&'static ExperimentOption> {
    let is_reported = |option: &&ExperimentOption| option.usage.place_in_result.is_some();
    let mut reported: Vec<_> = options().iter().filter(is_reported).collect();
    reported.sort_by_key(|option| option.usage.place_in_result);
    reported
}

impl ExperimentOption {
    /// The help: one sentence, without a full stop.
    pub fn help(&self) -> &'static str {
        self.help.trim_start()
    }

    /// Whether it belongs to a layer.
    pub fn is_of_layer(&self) -> bool {
        matches!(self.access, OptionAccess::Layer(_))
    }

    /// The values of this option as texts that can be read back: several for a list, otherwise one,
    /// or none if the option is not given and has no default.
    pub fn texts(&self, experiment: &Experiment) -> Vec<String> {
        match self.access {
            OptionAccess::Field { write, .. } => write(experiment),
            OptionAccess::Layer(option) => {
                experiment.layers.get(option).map(str::to_owned).into_iter().collect()
            }
        }
    }

    /// The value of this option as a text that can be read back; `None` if the option is not given
    /// and has no default. Spaces separate the values of a list.
    pub fn text(&self, experiment: &Experiment) -> Option<String> {
        let texts = self.texts(experiment);
        (!texts.is_empty()).then(|| texts.join(" "))
    }

    /// Sets the option to one value and checks it by itself.
    ///
    /// # Errors
    /// The text cannot be read, or no experiment can have such a value.
    pub fn set(&self, experiment: &mut Experiment, text: &str) -> Result<()> {
        self.set_all(experiment, &[text])
    }

    /// Sets the option to these values, a single one unless it is a list, and checks it by itself.
    ///
    /// # Errors
    /// A text cannot be read, no experiment can have such a value, or there are too many.
    pub fn set_all(&self, experiment: &mut Experiment, texts: &[&str]) -> Result<()> {
        if texts.len() != 1 && !self.is_list {
            return refuse(format!("`{}` has one value, not {}", self.name, texts.len()));
        }
        match self.access {
            OptionAccess::Field { read, check, .. } => {
                read(experiment, texts)?;
                check(experiment)
            }
            OptionAccess::Layer(option) => Ok(experiment.layers.set(option, texts[0])?),
        }
    }

    /// The value as a result reports it.
    pub fn json(&self, experiment: &Experiment) -> Value {
        match self.access {
            OptionAccess::Field { json, .. } => json(experiment),
            OptionAccess::Layer(_) => self.text(experiment).into(),
        }
    }

    /// Whether the result of an experiment reports the option.
    pub fn is_reported(&self, experiment: &Experiment) -> bool {
        let has_default = || self.texts(experiment) == self.texts(&Experiment::default());
        self.usage.place_in_result.is_some() && !(self.usage.is_left_out && has_default())
    }

    fn check(&self, experiment: &Experiment) -> Result<()> {
        match self.access {
            OptionAccess::Field { check, .. } => check(experiment),
            OptionAccess::Layer(_) => Ok(()),
        }
    }
}

impl Experiment {
    /// The same experiment with an option set.
    ///
    /// # Errors
    /// There is no such option, or the text is no value for it.
    pub fn with(self, name: &str, text: &str) -> Result<Experiment> {
        self.with_all(name, &[text])
    }

    /// The same experiment with an option set to these values, a single one unless it is a list.
    ///
    /// # Errors
    /// There is no such option, a text is no value for it, or there are too many.
    pub fn with_all(mut self, name: &str, texts: &[&str]) -> Result<Experiment> {
        let option = options().iter().find(|option| option.name == name);
        let names = || options().iter().map(|option| option.name).collect::<Vec<_>>();
        let option = option.ok_or_else(|| spec::unknown("option", name, &names()))?;
        option.set_all(&mut self, texts)?;
        Ok(self)
    }

    /// Checks the values of all options but those of layers, each by itself.
    ///
    /// # Errors
    /// The first value that no experiment can have.
    pub fn check_values(&self) -> Result<()> {
        options().iter().try_for_each(|option| option.check(self))
    }

    /// All options as JSON: names and texts, null for those that are not given.
    pub fn texts(&self) -> Map<String, Value> {
        let text = |option: &ExperimentOption| (option.name.to_owned(), option.text(self).into());
        options().iter().map(text).collect()
    }

    /// The names of the traces: those of the loads, or that of the only trace, or that of the
    /// default workload.
    pub fn trace_names(&self) -> Vec<&str> {
        match self.load.as_slice() {
            [] => vec![self.trace.as_deref().unwrap_or(DEFAULT_TRACE)],
            loads => loads.iter().map(|load| &*load.trace).collect(),
        }
    }

    /// The names of the traces that are files, existing or not.
    pub fn trace_files(&self) -> Vec<&str> {
        let is_file = |name: &&str| NamedTrace::parse(name).is_ok_and(|trace| trace.is_file());
        self.trace_names().into_iter().filter(is_file).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn default_with(pairs: &[(&str, &str)]) -> Result<Experiment> {
        let with =
            |experiment: Experiment, (name, text): &(&str, &str)| experiment.with(name, text);
        pairs.iter().try_fold(Experiment::default(), with)
    }

    #[test]
    fn options_are_set_as_users_write_them() {
        let experiment = default_with(&[
            ("ftl", "block"),
            ("extra", "10.5%"),
            ("capacity", "8GiB"),
            ("fit", "wrap"),
            ("limit", "4M"),
            ("measure_after", "2K"),
            ("interval", "7"),
            ("volume", "3"),
            ("skip_bad", "true"),
            ("dram_access", "20ns"),
            ("buffer", "65536"),
            ("dram", "65536"),
            ("load", "a.csv@open"),
        ]);
        let experiment = experiment.unwrap();
        let expected = Experiment {
            ftl: "block".into(),
            extra: Some("10.5%".parse().unwrap()),
            capacity_bytes: Some(8 << 30),
            fit: Fit::Wrap,
            limit: Some(4_000_000),
            measure_after: 2000,
            interval: Some(Interval::Every(7)),
            volume: Volume::Named("3".into()),
            skip_bad: true,
            dram_access_ns: 20,
            load: vec!["a.csv@open".parse().unwrap()],
            layers: experiment.layers.clone(),
            ..Experiment::default()
        };
        assert_eq!(experiment, expected);
        let texts = experiment.texts();
        assert_eq!((&texts["buffer"], &texts["dram"]), (&"65536".into(), &"64KiB".into()));
    }

    #[test]
    fn every_text_reads_back_to_the_same_value() {
        let changed = default_with(&[
            ("limit", "1500"),
            ("interval", "auto"),
            ("buffer", "8MiB,evict=run"),
            ("split", "30%"),
        ]);
        let load = ["a b.csv@closed:depth=2", "oltp"].map(|text| text.parse().unwrap()).to_vec();
        let changed = Experiment { load, ..changed.unwrap() };
        for experiment in [Experiment::default(), changed] {
            let mut again = Experiment::default();
            for option in options() {
                let texts = option.texts(&experiment);
                if !texts.is_empty() {
                    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                    option.set_all(&mut again, &texts).unwrap();
                }
            }
            assert_eq!(again, experiment);
        }
        assert_eq!(default_with(&[("buffer", "none")]).unwrap(), Experiment::default());
    }

    #[test]
    fn wrong_names_and_values_are_refused() {
        let message = |name, text| {
            let error = default_with(&[(name, text)]).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{error}");
            error.to_string()
        };
        assert!(message("fitt", "wrap").contains("did you mean `fit`"));
        assert!(message("fit", "warp").contains("did you mean `wrap`"));
        assert!(message("extra", "seven").contains("`20blocks`"));
        assert!(message("capacity", "0").contains("capacity 0"));
        assert!(message("interval", "0").contains("interval of 0"));
        assert!(message("limit", "0").contains("limit of 0"));
        assert!(message("warmup", "5G").contains("more than 4294967295"));
        assert!(message("dram_access", "11s").contains("beyond"));
    }

    #[test]
    fn help_is_one_line_without_a_full_stop_and_places_in_results_are_unique() {
        for option in options() {
            let help = option.help();
            assert!(
                !help.contains(['\n']) && !help.contains("  ") && !help.ends_with('.'),
                "{help}"
            );
        }
        let reported = reported_options();
        let places: Vec<_> = reported.iter().map(|it| it.usage.place_in_result).collect();
        assert!(places.is_sorted_by(|a, b| a < b), "{places:?}");
    }
}
