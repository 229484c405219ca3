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

/// A drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The preset that it is based on.
    pub name: &'static str,
    /// Channels, at least 1.
    pub channels: u32,
    /// Packages on a channel, at least 1.
    pub ways: u32,
    /// Dies in a package, at least 1.
    pub dies_per_way: u32,
    /// Planes of a die, at least 1.
    pub planes: u32,
    /// The parts of a place, the one that changes first with consecutive pages first.
    pub order: [Axis; 4],
    /// Dies over which a block is striped; all if none is given.
    pub stripe: Option<u32>,
    /// Pages that one command programs in a plane, at least 1.
    pub pages_at_once: u32,
    /// Bytes per second of a channel; none: transfers take no time.
    pub transfer: Option<u64>,
    /// Time on the channel for the command of an operation, in nanoseconds.
    pub command_ns: u64,
    /// Time of the firmware for a request, in nanoseconds. Requests do not wait for each other.
    pub firmware_ns: u64,
    /// Time of a request in the dispatcher, which takes one request at a time, in nanoseconds.
    pub dispatch_ns: u64,
    /// Bytes per second of the link to the host, each way; none: it takes no time.
    pub link: Option<u64>,
    /// Array times of a page read.
    pub read: ArrayTimes,
    /// Array times of a page program.
    pub program: ArrayTimes,
    /// Array time of an erase.
    pub erase: ArrayTimes,
    /// Whether a die stays occupied until the page that it read has left it.
    pub hold: bool,
    /// Whether reads suspend programs.
    pub suspend_program: bool,
    /// Whether reads suspend erases.
    pub suspend_erase: bool,
    /// Time of a suspension and its end, in nanoseconds.
    pub suspend_cost_ns: u64,
    /// The least progress of an operation before it is suspended, also again, in nanoseconds.
    pub suspend_progress_ns: u64,
    /// The steps of programs and erases, in nanoseconds: they are suspended only between two of
    /// them; 0: at any time.
    pub suspend_step_ns: u64,
    /// The most read commands that a die serves during a suspension; none: all that wait.
    pub suspend_reads: Option<u32>,
    /// Whether a die prefers reads.
    pub reads_first: bool,
    /// Whether copies within a die do not cross its channel.
    pub copyback: bool,
    /// Size of the buffer for writes; none if there is no buffer.
    pub buffer: Option<u64>,
    /// When writes are answered.
    pub acknowledge: Acknowledge,
    /// Whether the buffer survives a power cut.
    pub protected: bool,
    /// Time of a trim request beside its flash operations, in nanoseconds.
    pub trim_ns: u64,
}

/// The keys of a drive spec; each changes one figure of the profile.
pub static PARAMS: &[Param] = &[
    Param::key("channels", Kind::Count, "channels", "channels"),
    Param::key("ways", Kind::Count, "packages", "packages on a channel"),
    Param::key("dies", Kind::Count, "dies", "dies in a package"),
    Param::key(
        "planes",
        Kind::Count,
        "planes",
        "planes of a die; they work on the same row at a time",
    ),
    Param::key(
        "order",
        Kind::Text,
        "",
        "order of the places of consecutive pages: C channel, W way, D die, \
         P plane; the first changes first",
    ),
    Param::key("stripe", Kind::Text, "", "dies over which a block is striped, or `all`"),
    Param::key("pages_at_once", Kind::Count, "pages", "pages that one command programs in a plane"),
    Param::key(
        "transfer",
        Kind::Text,
        "",
        "rate of a channel such as `400MB/s`; `none` takes no time",
    ),
    Param::key("command", Kind::Time, "", "time on the channel for the command of an operation"),
    Param::key("firmware", Kind::Time, "", "time of the firmware for a request"),
    Param::key(
        "dispatch",
        Kind::Time,
        "",
        "time of the dispatcher, which takes one request at a time",
    ),
    Param::key(
        "link",
        Kind::Text,
        "",
        "rate of the link to the host, each way; `none` takes no time",
    ),
    Param::key(
        "read",
        Kind::Text,
        "",
        "array time of a page read; `+` joins those of page types, `chip` \
         takes the chip's",
    ),
    Param::key("program", Kind::Text, "", "array time of a page program, in the same form"),
    Param::key("erase", Kind::Text, "", "array time of an erase, or `chip`"),
    Param::key(
        "hold",
        Kind::Switch,
        "",
        "a die stays occupied until the page that it read has left it",
    ),
    Param::key("suspend", Kind::Choice(&SUSPEND), "", "operations that a read suspends"),
    Param::key("suspend_cost", Kind::Time, "", "time that a suspension takes from the die"),
    Param::key(
        "suspend_progress",
        Kind::Time,
        "",
        "progress that an operation makes between suspensions",
    ),
    Param::key(
        "suspend_step",
        Kind::Time,
        "",
        "steps of programs and erases; they are suspended only between two of them; 0 at any time",
    ),
    Param::key(
        "suspend_reads",
        Kind::Text,
        "",
        "read commands that a die serves at most during a suspension, or `all` that wait",
    ),
    Param::key(
        "reads_first",
        Kind::Switch,
        "",
        "a die takes waiting reads before programs and erases",
    ),
    Param::key("copyback", Kind::Switch, "", "copies within a die do not cross the channel"),
    Param::key("buffer", Kind::Text, "", "size of the buffer for writes, or `none`"),
    Param::key(
        "acknowledge",
        Kind::Choice(&ACKNOWLEDGE),
        "",
        "what answers a write: its last program, or \
         the buffer",
    ),
    Param::key(
        "protected",
        Kind::Switch,
        "",
        "the buffer survives a power cut, so that a flush need not \
         wait for it",
    ),
    Param::key("trim", Kind::Time, "", "time of a trim request beside its flash operations"),
];

const SUSPEND: [&str; 4] = ["none", "program", "erase", "both"];
const ACKNOWLEDGE: [&str; 2] = ["program", "buffer"];

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

    fn of(preset: &'static Preset, params: &Params) -> spec::Result<Profile> {
        let suspend = params.choice("suspend");
        let profile = Profile {
            name: preset.name,
            channels: at_least_one(params, "channels")?,
            ways: at_least_one(params, "ways")?,
            dies_per_way: at_least_one(params, "dies")?,
            planes: at_least_one(params, "planes")?,
            order: order(params.text("order"))?,
            stripe: count_or_all(params.text("stripe"), "dies")?,
            pages_at_once: at_least_one(params, "pages_at_once")?,
            transfer: rate(params.text("transfer"))?,
            command_ns: params.time_ns("command"),
            firmware_ns: params.time_ns("firmware"),
            dispatch_ns: params.time_ns("dispatch"),
            link: rate(params.text("link"))?,
            read: array_times(params.text("read"))?,
            program: array_times(params.text("program"))?,
            erase: single_array_time(params.text("erase"))?,
            hold: params.switch("hold"),
            suspend_program: matches!(suspend, "program" | "both"),
            suspend_erase: matches!(suspend, "erase" | "both"),
            suspend_cost_ns: params.time_ns("suspend_cost"),
            suspend_progress_ns: params.time_ns("suspend_progress"),
            suspend_step_ns: params.time_ns("suspend_step"),
            suspend_reads: count_or_all(params.text("suspend_reads"), "reads")?,
            reads_first: params.switch("reads_first"),
            copyback: params.switch("copyback"),
            buffer: buffer(params.text("buffer"))?,
            acknowledge: match params.choice("acknowledge") {
                "buffer" => Acknowledge::Buffer,
                _ => Acknowledge::Program,
            },
            protected: params.switch("protected"),
            trim_ns: params.time_ns("trim"),
        };
        profile.check()
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

    /// All keys with their values, as users write them.
    pub fn figures(&self) -> Vec<(&'static str, String)> {
        let time = |time_ns: u64| Value::TimeNs(time_ns).to_string();
        let both = usize::from(self.suspend_program) + 2 * usize::from(self.suspend_erase);
        vec![
            ("channels", self.channels.to_string()),
            ("ways", self.ways.to_string()),
            ("dies", self.dies_per_way.to_string()),
            ("planes", self.planes.to_string()),
            ("order", self.order.map(Axis::letter).iter().collect()),
            ("stripe", print_count_or_all(self.stripe)),
            ("pages_at_once", self.pages_at_once.to_string()),
            ("transfer", print_rate(self.transfer)),
            ("command", time(self.command_ns)),
            ("firmware", time(self.firmware_ns)),
            ("dispatch", time(self.dispatch_ns)),
            ("link", print_rate(self.link)),
            ("read", self.read.to_string()),
            ("program", self.program.to_string()),
            ("erase", self.erase.to_string()),
            ("hold", self.hold.to_string()),
            ("suspend", SUSPEND[both].to_owned()),
            ("suspend_cost", time(self.suspend_cost_ns)),
            ("suspend_progress", time(self.suspend_progress_ns)),
            ("suspend_step", time(self.suspend_step_ns)),
            ("suspend_reads", print_count_or_all(self.suspend_reads)),
            ("reads_first", self.reads_first.to_string()),
            ("copyback", self.copyback.to_string()),
            ("buffer", self.buffer.map_or("none".into(), spec::print_size)),
            ("acknowledge", ACKNOWLEDGE[self.acknowledge as usize].to_owned()),
            ("protected", self.protected.to_string()),
            ("trim", time(self.trim_ns)),
        ]
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

fn at_least_one(params: &Params, name: &str) -> spec::Result<u32> {
    let count = params.count(name);
    match u32::try_from(count) {
        Ok(number @ 1..=4096) => Ok(number),
        _ => Err(malformed(format!("{name}={count}"), "a number from 1 to 4096")),
    }
}

fn order(text: &str) -> spec::Result<[Axis; 4]> {
    let axis = |letter| Axis::ALL.into_iter().find(|axis| axis.letter() == letter);
    let axes: Vec<Axis> = text.chars().filter_map(axis).collect();
    let is_whole = Axis::ALL.iter().all(|axis| axes.contains(axis));
    match <[Axis; 4]>::try_from(axes) {
        Ok(axes) if is_whole && text.len() == 4 => Ok(axes),
        _ => Err(malformed(text, "the letters C, W, D and P in some order, such as `CWDP`")),
    }
}

fn count_or_all(text: &str, of: &str) -> spec::Result<Option<u32>> {
    match (text, text.parse()) {
        ("all", _) => Ok(None),
        (_, Ok(count @ 1..)) => Ok(Some(count)),
        _ => Err(malformed(text, &format!("`all` or a number of {of}"))),
    }
}

fn print_count_or_all(count: Option<u32>) -> String {
    count.map_or("all".into(), |count| count.to_string())
}

fn rate(text: &str) -> spec::Result<Option<u64>> {
    if text == "none" {
        return Ok(None);
    }
    let bytes = text.strip_suffix("/s").and_then(|size| parse_size(size).ok());
    match bytes {
        Some(bytes @ 1..) => Ok(Some(bytes)),
        _ => Err(malformed(text, "`none` or a rate such as `400MB/s`")),
    }
}

fn print_rate(rate: Option<u64>) -> String {
    match rate {
        None => "none".into(),
        Some(rate) if rate.is_multiple_of(1_000_000) => format!("{}MB/s", rate / 1_000_000),
        Some(rate) => format!("{rate}B/s"),
    }
}

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

fn single_array_time(text: &str) -> spec::Result<ArrayTimes> {
    match array_times(text)? {
        ArrayTimes::ByType(times) if times.len() > 1 => {
            Err(malformed(text, "one time: a block is erased as a whole"))
        }
        times => Ok(times),
    }
}

fn buffer(text: &str) -> spec::Result<Option<u64>> {
    match text {
        "none" => Ok(None),
        _ => match parse_size(text)? {
            0 => Err(malformed(text, "`none` or a size such as `32MiB`")),
            bytes => Ok(Some(bytes)),
        },
    }
}

fn malformed(text: impl fmt::Display, form: &str) -> spec::Error {
    spec::Error::Malformed { text: text.to_string(), form: form.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

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
