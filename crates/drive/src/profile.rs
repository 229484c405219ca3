//! A drive: its parts, how fast they are, and what its firmware does.

use core::fmt;
use core::str::FromStr;

use nand::{Op, Timing};
use spec::{Kind, Param, Params, Spec, Value, parse_size, parse_time_ns};

use crate::presets::{PRESETS, Preset};

/// A part of a place in a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// A channel.
    Channel,
    /// A way: a package on a channel.
    Way,
    /// A die of a package.
    Die,
    /// A plane of a die.
    Plane,
}

/// When the drive answers a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledge {
    /// After its last flash operation.
    Program,
    /// As soon as its data is in the drive's buffer.
    Buffer,
}

/// The array times of a kind of operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrayTimes {
    /// Those of the chip.
    OfChip,
    /// One for each page type, in nanoseconds.
    ByType(Vec<u64>),
}

/// The operations that reads suspend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suspend {
    /// Whether they suspend programs.
    pub programs: bool,
    /// Whether they suspend erases.
    pub erases: bool,
}

/// Declares the figures of a drive: the struct, the keys of its spec, and how both are read and
/// written.
///
/// `field = "key": type, notation, "unit", "help";`
macro_rules! profile {
    ($(
        $(#[doc = $doc:literal])+
        $field:ident = $key:literal: $type:ty, $notation:expr, $unit:literal, $help:literal;
    )+) => {
        /// A drive.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Profile {
            /// The preset that it is based on.
            pub name: &'static str,
            $($(#[doc = $doc])+ pub $field: $type,)+
        }

        /// The keys of a drive spec; each changes one figure of the profile.
        pub static PARAMS: &[Param] = &[$(Param::key($key, $notation.kind, $unit, $help),)+];

        impl Profile {
            fn of(preset: &'static Preset, params: &Params) -> spec::Result<Profile> {
                let name = preset.name;
                Profile { name, $($field: ($notation.read)(params, $key)?,)+ }.check()
            }

            /// All keys with their values, as users write them.
            pub fn figures(&self) -> Vec<(&'static str, String)> {
                vec![$(($key, ($notation.write)(&self.$field)),)+]
            }
        }
    };
}

profile! {
    /// The size of the pages that the figures are about, in bytes; none: they hold for any size.
    page = "page": Option<u64>, SIZE_OR_ANY, "",
        "size of the pages that the figures are about; `any`: they hold for pages of any size";

    /// Channels, at least 1.
    channels = "channels": u32, COUNT, "channels", "channels";

    /// Packages on a channel, at least 1.
    ways = "ways": u32, COUNT, "packages", "packages on a channel";

    /// Dies in a package, at least 1.
    dies_per_way = "dies": u32, COUNT, "dies", "dies in a package";

    /// Planes of a die, at least 1.
    planes = "planes": u32, COUNT, "planes",
        "planes of a die; they work on the same row at a time";

    /// The parts of a place, the one that changes first with consecutive pages first.
    order = "order": [Axis; 4], ORDER, "",
        "order of the places of consecutive pages: C channel, W way, D die, P plane; the first \
         changes first";

    /// Dies over which a block is striped; all if none is given.
    stripe = "stripe": Option<u32>, DIES_OR_ALL, "",
        "dies over which a block is striped, or `all`";

    /// Pages that one command programs in a plane, at least 1.
    pages_at_once = "pages_at_once": u32, COUNT, "pages",
        "pages that one command programs in a plane";

    /// Bytes per second of a channel; none: transfers take no time.
    transfer = "transfer": Option<u64>, RATE, "",
        "rate of a channel such as `400MB/s`; `none` takes no time";

    /// Time on the channel for the command of an operation, in nanoseconds.
    command_ns = "command": u64, TIME_NS, "",
        "time on the channel for the command of an operation";

    /// Time of the firmware for a request, in nanoseconds. Requests do not wait for each other.
    firmware_ns = "firmware": u64, TIME_NS, "", "time of the firmware for a request";

    /// Time of a request in the dispatcher, which takes one request at a time, in nanoseconds.
    dispatch_ns = "dispatch": u64, TIME_NS, "",
        "time of the dispatcher, which takes one request at a time";

    /// Bytes per second of the link to the host, each way; none: it takes no time.
    link = "link": Option<u64>, RATE, "",
        "rate of the link to the host, each way; `none` takes no time";

    /// Array times of a page read.
    read = "read": ArrayTimes, TIMES, "",
        "array time of a page read; `+` joins those of page types, `chip` takes the chip's";

    /// Array times of a page program.
    program = "program": ArrayTimes, TIMES, "", "array time of a page program, in the same form";

    /// Array time of an erase.
    erase = "erase": ArrayTimes, SINGLE_TIME, "", "array time of an erase, or `chip`";

    /// Whether a die stays occupied until the page that it read has left it.
    hold = "hold": bool, SWITCH, "",
        "a die stays occupied until the page that it read has left it";

    /// The operations that reads suspend.
    suspend = "suspend": Suspend, SUSPEND, "", "operations that a read suspends";

    /// Time of a suspension and its end, in nanoseconds.
    suspend_cost_ns = "suspend_cost": u64, TIME_NS, "",
        "time that a suspension takes from the die";

    /// The least progress of an operation before it is suspended, also again, in nanoseconds.
    suspend_progress_ns = "suspend_progress": u64, TIME_NS, "",
        "progress that an operation makes between suspensions";

    /// The steps of programs and erases, in nanoseconds: they are suspended only between two of
    /// them; 0: at any time.
    suspend_step_ns = "suspend_step": u64, TIME_NS, "",
        "steps of programs and erases; they are suspended only between two of them; 0 at any time";

    /// The most read commands that a die serves during a suspension; none: all that wait.
    suspend_reads = "suspend_reads": Option<u32>, READS_OR_ALL, "",
        "read commands that a die serves at most during a suspension, or `all` that wait";

    /// Whether a die prefers reads.
    reads_first = "reads_first": bool, SWITCH, "",
        "a die takes waiting reads before programs and erases";

    /// Whether copies within a die do not cross its channel.
    copyback = "copyback": bool, SWITCH, "", "copies within a die do not cross the channel";

    /// Size of the buffer for writes; none if there is no buffer.
    buffer = "buffer": Option<u64>, BUFFER, "", "size of the buffer for writes, or `none`";

    /// When writes are answered.
    acknowledge = "acknowledge": Acknowledge, ACKNOWLEDGE, "",
        "what answers a write: its last program, or the buffer";

    /// Whether the buffer survives a power cut.
    protected = "protected": bool, SWITCH, "",
        "the buffer survives a power cut, so that a flush need not wait for it";

    /// Time of a trim request beside its flash operations, in nanoseconds.
    trim_ns = "trim": u64, TIME_NS, "", "time of a trim request beside its flash operations";
}

/// The largest number of dies: they are numbered by 16 bits, and each has its place in memory.
const DIES_MAX: u64 = 4096;

impl Profile {
    /// The drive that a spec such as `zoned-nvme:ways=2` names.
    ///
    /// # Errors
    /// An unknown drive or key, or an impossible value.
    pub fn from_spec(spec: &Spec) -> spec::Result<Profile> {
        let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        let preset = PRESETS.iter().find(|preset| preset.name == spec.name);
        let preset = preset.ok_or_else(|| spec::unknown("drive", &spec.name, &names))?;
        let what = format!("drive {}", spec.name);
        // Checks the given keys alone, so that a message is about what the user wrote.
        spec::resolve(&what, &spec.pairs, PARAMS)?;
        let is_given = |key: &str| spec.pairs.iter().any(|(given, _)| given == key);
        let mut pairs = spec.pairs.clone();
        let preset_pairs = preset.figures.iter().filter(|figure| !is_given(figure.key));
        pairs.extend(preset_pairs.map(|figure| (figure.key.into(), figure.value.into())));
        Profile::of(preset, &spec::resolve(&what, &pairs, PARAMS)?)
    }

    fn check(self) -> spec::Result<Profile> {
        let dies: u64 =
            [self.channels, self.ways, self.dies_per_way].map(u64::from).iter().product();
        if dies > DIES_MAX {
            return Err(malformed(dies, "a number of dies from 1 to 4096"));
        }
        if self.acknowledge == Acknowledge::Buffer && self.buffer.is_none() {
            return Err(malformed("acknowledge=buffer", "possible without a `buffer`"));
        }
        Ok(self)
    }

    /// The same drive with pages of another size. It has more or fewer of them in a plane or in a
    /// command, so that a command of a die moves as many bytes as before.
    ///
    /// # Errors
    /// Its commands do not consist of whole pages of this size.
    pub fn for_pages(&self, page_bytes: u32) -> spec::Result<Profile> {
        let Some(stated) = self.page else { return Ok(self.clone()) };
        let bytes = u64::from(page_bytes);
        let of_row = stated.saturating_mul(self.planes.into());
        let of_command = of_row.saturating_mul(self.pages_at_once.into());
        let (planes, pages_at_once) = match bytes {
            _ if of_row.is_multiple_of(bytes) => (of_row / bytes, self.pages_at_once.into()),
            _ if of_command.is_multiple_of(bytes) => (1, of_command / bytes),
            _ => (0, 0),
        };
        match (1..=COUNT_MAX).contains(&planes) && (1..=COUNT_MAX).contains(&pages_at_once) {
            true => Ok(Profile {
                page: Some(bytes),
                planes: planes as u32,
                pages_at_once: pages_at_once as u32,
                ..self.clone()
            }),
            false => Err(malformed(
                format!("{}:page={}", self.name, spec::print_size(bytes)),
                &format!(
                    "possible: one command of a die moves {}, in pages of {}. Take a chip with \
                     such pages, or a drive with `page=any`, whose figures hold for pages of any \
                     size",
                    spec::print_size(of_command),
                    spec::print_size(stated)
                ),
            )),
        }
    }

    /// The number of dies.
    pub fn dies(&self) -> u32 {
        self.channels * self.ways * self.dies_per_way
    }

    /// The array times of a kind of operation.
    pub fn times(&self, op: Op) -> &ArrayTimes {
        match op {
            Op::Read | Op::SpareRead => &self.read,
            Op::Program => &self.program,
            Op::Erase => &self.erase,
        }
    }

    /// The time of an operation in the array of a chip with this timing; `index` is the number of
    /// the page in its physical block.
    pub fn array_ns(&self, op: Op, index: u32, chip: &Timing) -> u64 {
        match self.times(op) {
            // A latency of a chip contains the transfer, which a drive may count by itself.
            ArrayTimes::OfChip if self.transfer.is_none() => chip.of(op),
            ArrayTimes::OfChip => chip.array_ns(op),
            ArrayTimes::ByType(times) => times[self.page_type(index, times.len() as u32)],
        }
    }

    /// The type of a page: pages that one command writes together are first of the lowest type;
    /// otherwise types take turns.
    fn page_type(&self, index: u32, types: u32) -> usize {
        let at_once = self.pages_at_once;
        let kind = match at_once >= types {
            true => (index % at_once) * types / at_once,
            false => index % types,
        };
        kind as usize
    }
}

impl FromStr for Profile {
    type Err = spec::Error;

    fn from_str(text: &str) -> spec::Result<Profile> {
        Profile::from_spec(&Spec::parse(text)?)
    }
}

impl Axis {
    const ALL: [Axis; 4] = [Axis::Channel, Axis::Way, Axis::Die, Axis::Plane];

    fn letter(self) -> char {
        ['C', 'W', 'D', 'P'][self as usize]
    }
}

impl fmt::Display for ArrayTimes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArrayTimes::OfChip => out.write_str("chip"),
            ArrayTimes::ByType(times) => {
                let times: Vec<String> =
                    times.iter().map(|&time_ns| Value::TimeNs(time_ns).to_string()).collect();
                out.write_str(&times.join("+"))
            }
        }
    }
}

// ---- Notations ----------------------------------------------------------------------------------

/// How a figure is written.
struct Notation<T> {
    kind: Kind,
    read: fn(&Params, &str) -> spec::Result<T>,
    write: fn(&T) -> String,
}

/// The largest number of planes, and of all other parts.
const COUNT_MAX: u64 = 4096;

const COUNT: Notation<u32> = Notation {
    kind: Kind::Count,
    read: |params, key| match params.count(key) {
        count @ 1..=COUNT_MAX => Ok(count as u32),
        count => Err(malformed(format!("{key}={count}"), "a number from 1 to 4096")),
    },
    write: u32::to_string,
};

const TIME_NS: Notation<u64> = Notation {
    kind: Kind::Time,
    read: |params, key| Ok(params.time_ns(key)),
    write: |&time_ns| Value::TimeNs(time_ns).to_string(),
};

const SWITCH: Notation<bool> = Notation {
    kind: Kind::Switch,
    read: |params, key| Ok(params.switch(key)),
    write: bool::to_string,
};

const SUSPENDED: [&str; 4] = ["none", "program", "erase", "both"];

const SUSPEND: Notation<Suspend> = Notation {
    kind: Kind::Choice(&SUSPENDED),
    read: |params, key| {
        let suspended = params.choice(key);
        let is_one_of = |names: &[&str]| names.contains(&suspended);
        let (programs, erases) = (is_one_of(&["program", "both"]), is_one_of(&["erase", "both"]));
        Ok(Suspend { programs, erases })
    },
    write: |it| SUSPENDED[usize::from(it.programs) + 2 * usize::from(it.erases)].to_owned(),
};

const ACKNOWLEDGED_BY: [&str; 2] = ["program", "buffer"];

const ACKNOWLEDGE: Notation<Acknowledge> = Notation {
    kind: Kind::Choice(&ACKNOWLEDGED_BY),
    read: |params, key| match params.choice(key) {
        "buffer" => Ok(Acknowledge::Buffer),
        _ => Ok(Acknowledge::Program),
    },
    write: |&it| ACKNOWLEDGED_BY[it as usize].to_owned(),
};

const ORDER: Notation<[Axis; 4]> = Notation {
    kind: Kind::Text,
    read: |params, key| {
        let text = params.text(key);
        let axis = |letter| Axis::ALL.into_iter().find(|axis| axis.letter() == letter);
        let axes: Vec<Axis> = text.chars().filter_map(axis).collect();
        let is_whole = Axis::ALL.iter().all(|axis| axes.contains(axis));
        match <[Axis; 4]>::try_from(axes) {
            Ok(axes) if is_whole && text.len() == 4 => Ok(axes),
            _ => Err(malformed(text, "the letters C, W, D and P in some order, such as `CWDP`")),
        }
    },
    write: |axes| axes.iter().map(|axis| axis.letter()).collect(),
};

const DIES_OR_ALL: Notation<Option<u32>> = Notation {
    kind: Kind::Text,
    read: |params, key| count_or_all(params.text(key), "`all` or a number of dies"),
    write: print_count_or_all,
};

const READS_OR_ALL: Notation<Option<u32>> = Notation {
    kind: Kind::Text,
    read: |params, key| count_or_all(params.text(key), "`all` or a number of reads"),
    write: print_count_or_all,
};

fn count_or_all(text: &str, form: &str) -> spec::Result<Option<u32>> {
    match (text, text.parse()) {
        ("all", _) => Ok(None),
        (_, Ok(count @ 1..)) => Ok(Some(count)),
        _ => Err(malformed(text, form)),
    }
}

fn print_count_or_all(count: &Option<u32>) -> String {
    count.map_or("all".into(), |count| count.to_string())
}

const RATE: Notation<Option<u64>> = Notation {
    kind: Kind::Text,
    read: |params, key| {
        let text = params.text(key);
        match text.strip_suffix("/s").and_then(|size| parse_size(size).ok()) {
            _ if text == "none" => Ok(None),
            Some(bytes @ 1..) => Ok(Some(bytes)),
            _ => Err(malformed(text, "`none` or a rate such as `400MB/s`")),
        }
    },
    write: |&rate| match rate {
        None => "none".into(),
        Some(rate) if rate.is_multiple_of(1_000_000) => format!("{}MB/s", rate / 1_000_000),
        Some(rate) => format!("{rate}B/s"),
    },
};

const SIZE_OR_ANY: Notation<Option<u64>> = Notation {
    kind: Kind::Text,
    read: |params, key| size_or("any", params.text(key), "`any` or a size such as `8KiB`"),
    write: |page| page.map_or("any".into(), spec::print_size),
};

const BUFFER: Notation<Option<u64>> = Notation {
    kind: Kind::Text,
    read: |params, key| size_or("none", params.text(key), "`none` or a size such as `32MiB`"),
    write: |buffer| buffer.map_or("none".into(), spec::print_size),
};

/// A size above 0, or none for this word.
fn size_or(word: &str, text: &str, form: &str) -> spec::Result<Option<u64>> {
    if text == word {
        return Ok(None);
    }
    match parse_size(text)? {
        0 => Err(malformed(text, form)),
        bytes => Ok(Some(bytes)),
    }
}

const TIMES: Notation<ArrayTimes> = Notation {
    kind: Kind::Text,
    read: |params, key| array_times(params.text(key)),
    write: ArrayTimes::to_string,
};

const SINGLE_TIME: Notation<ArrayTimes> = Notation {
    kind: Kind::Text,
    read: |params, key| match array_times(params.text(key))? {
        ArrayTimes::ByType(times) if times.len() > 1 => {
            Err(malformed(params.text(key), "one time: a block is erased as a whole"))
        }
        times => Ok(times),
    },
    write: ArrayTimes::to_string,
};

/// The largest array time: sums over realistic counts must fit into 64 bits of nanoseconds.
const ARRAY_NS_MAX: u64 = 10_000_000_000;

fn array_times(text: &str) -> spec::Result<ArrayTimes> {
    if text == "chip" {
        return Ok(ArrayTimes::OfChip);
    }
    let times = text.split('+').map(parse_time_ns).collect::<spec::Result<Vec<u64>>>()?;
    match times.iter().all(|&time_ns| time_ns <= ARRAY_NS_MAX) {
        true => Ok(ArrayTimes::ByType(times)),
        false => Err(malformed(text, "an array time of at most 10s")),
    }
}

fn malformed(text: impl fmt::Display, form: &str) -> spec::Error {
    spec::Error::Malformed { text: text.to_string(), form: form.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The planes and the pages at once of a drive on a chip with pages of this size.
    fn with_pages(spec: &str, page_bytes: u32) -> Option<(u32, u32)> {
        let profile: Profile = spec.parse().unwrap();
        let converted = profile.for_pages(page_bytes).ok()?;
        Some((converted.planes, converted.pages_at_once))
    }

    #[test]
    fn a_command_moves_as_many_bytes_with_pages_of_any_size() {
        let figures = "ideal:page=8KiB,planes=2,pages_at_once=6";
        for (page_bytes, expected) in [
            (8 << 10, Some((2, 6))),
            (2 << 10, Some((8, 6))),
            (16 << 10, Some((1, 6))),
            (32 << 10, Some((1, 3))),
            (96 << 10, Some((1, 1))),
            (3 << 10, Some((1, 32))),
            (5 << 10, None),
            (192 << 10, None),
        ] {
            assert_eq!(with_pages(figures, page_bytes), expected, "{page_bytes}");
        }
        assert_eq!(with_pages("ideal:planes=2,pages_at_once=6", 5 << 10), Some((2, 6)));
        assert_eq!(with_pages("ideal:page=1000TiB,planes=4096,pages_at_once=4096", 512), None);
    }

    #[test]
    fn the_figures_of_a_profile_make_the_same_profile_again() {
        for preset in PRESETS {
            let profile: Profile = preset.name.parse().unwrap();
            let pairs: Vec<String> =
                profile.figures().iter().map(|(key, value)| format!("{key}={value}")).collect();
            let again: Profile = format!("ideal:{}", pairs.join(",")).parse().unwrap();
            assert_eq!(again, Profile { name: "ideal", ..profile }, "{}", preset.name);
        }
    }

    #[test]
    fn every_preset_states_every_figure_once_with_its_source() {
        for preset in PRESETS {
            let keys: Vec<&str> = preset.figures.iter().map(|figure| figure.key).collect();
            let declared: Vec<&str> = PARAMS.iter().map(|param| param.name).collect();
            assert_eq!(keys, declared, "{}", preset.name);
            assert!(preset.figures.iter().all(|figure| !figure.source.is_empty()));
        }
    }

    #[test]
    fn page_types_take_turns_or_share_a_command() {
        let turns: Profile = "ideal:read=10us+20us+30us".parse().unwrap();
        let read =
            |profile: &Profile, index| profile.array_ns(Op::Read, index, &Timing::ZERO) / 1000;
        assert_eq!([0, 1, 2, 3].map(|index| read(&turns, index)), [10, 20, 30, 10]);
        let together: Profile = "ideal:read=10us+20us+30us,pages_at_once=6".parse().unwrap();
        let times = [0, 1, 2, 3, 4, 5, 6].map(|index| read(&together, index));
        assert_eq!(times, [10, 10, 20, 20, 30, 30, 10]);
    }

    #[test]
    fn impossible_drives_are_refused() {
        for (text, hint) in [
            ("idael", "did you mean `ideal`"),
            ("ideal:channel=2", "channels"),
            ("ideal:channels=0", "from 1 to 4096"),
            ("ideal:channels=4096,ways=2", "dies from 1 to 4096"),
            ("ideal:order=CWDD", "in some order"),
            ("ideal:order=CWDPC", "in some order"),
            ("ideal:stripe=0", "`all` or a number"),
            ("ideal:transfer=400MB", "a rate such as"),
            ("ideal:transfer=0MB/s", "a rate such as"),
            ("ideal:read=25", "a time such as"),
            ("ideal:program=11s", "at most 10s"),
            ("ideal:erase=1ms+2ms", "erased as a whole"),
            ("ideal:suspend_reads=0", "`all` or a number of reads"),
            ("ideal:buffer=0", "a size such as"),
            ("ideal:acknowledge=buffer", "without a `buffer`"),
        ] {
            let message = text.parse::<Profile>().unwrap_err().to_string();
            assert!(message.contains(hint), "{text}: {message}");
        }
    }
}
