//! What a user can tell a running server: one JSON object a line.

use std::time::Duration;

use disk::FlashFailure;
use nand::{BlockId, Outcome};
use serde_json::{Map, Value};

use crate::device::injuries::Failure;

/// A command for an export.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportCommand {
    /// The name of the export; empty for the first one.
    pub export: String,
    /// The command.
    pub command: Command,
}

/// A command.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Cut the power.
    Cut {
        /// When.
        when: CutTime,
        /// What the interrupted operation leaves on flash.
        outcome: Option<Outcome>,
        /// Whether the device stays without power; none if the server decides.
        stays_down: Option<bool>,
    },
    /// Take back a cut that has not come.
    NoCut,
    /// Turn the power on.
    PowerOn,
    /// Begin no request and answer none, for a time or until further notice.
    Freeze(Option<Duration>),
    /// End that.
    Thaw,
    /// Answer everything this much later.
    Slow(Duration),
    /// Let requests fail.
    Fail(Failure),
    /// End all failures.
    Heal,
    /// Let the flash fail.
    FailFlash(FlashFailure),
    /// Write a mark into the log of writes.
    Mark(String),
    /// Tell what was done.
    Stats,
}

/// When the power is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutTime {
    /// At once: between two requests, or in the next operation if an outcome is given.
    Now,
    /// When the FTL is flushed next.
    Flush,
    /// After a number of programs and erases.
    After(u64),
}

/// The keys that name a command.
const COMMANDS: [&str; 8] = ["cut", "power", "freeze", "slow", "fail", "media", "mark", "stats"];

/// The keys that name a failure of the flash.
const FLASH_FAILURES: [&str; 5] = ["fail_program", "fail_erase", "lose_page", "wear_out", "leave"];

/// Reads a command.
///
/// # Errors
/// A sentence that says what is wrong with it.
pub fn parse(line: &str) -> Result<ExportCommand, String> {
    let value: Value = serde_json::from_str(line)
        .map_err(|error| format!("this is not JSON: {error}: {}", shortened(line)))?;
    let Value::Object(mut object) = value else {
        return Err(format!("a command is a JSON object such as {{\"cut\":\"now\"}}, not {value}"));
    };
    let export = match object.remove("export") {
        None => String::new(),
        Some(Value::String(name)) => name,
        Some(other) => return Err(format!("`export` is a name, not {other}")),
    };
    let command = command(&mut object)?;
    match object.keys().next() {
        None => Ok(ExportCommand { export, command }),
        Some(key) => Err(format!("`{key}` means nothing here")),
    }
}

fn command(object: &mut Map<String, Value>) -> Result<Command, String> {
    let Some(name) = COMMANDS.into_iter().find(|name| object.contains_key(*name)) else {
        return Err(format!("no command among the keys; give one of {}", COMMANDS.join(", ")));
    };
    let value = object.remove(name).unwrap_or_default();
    match (name, &value) {
        ("cut", Value::Null) => Ok(Command::NoCut),
        ("cut", _) => cut(&value, object),
        ("power", Value::String(on)) if on == "on" => Ok(Command::PowerOn),
        ("freeze", Value::Bool(true)) => Ok(Command::Freeze(None)),
        ("freeze", Value::Bool(false)) => Ok(Command::Thaw),
        ("freeze", _) => Ok(Command::Freeze(Some(time(&value)?))),
        ("slow", _) => Ok(Command::Slow(time(&value)?)),
        ("fail", Value::Null) => Ok(Command::Heal),
        ("fail", Value::Object(range)) => Ok(Command::Fail(failure(range)?)),
        ("media", Value::Object(failure)) => Ok(Command::FailFlash(flash_failure(failure)?)),
        ("mark", Value::String(name)) => Ok(Command::Mark(name.clone())),
        ("stats", _) => Ok(Command::Stats),
        _ => Err(format!("`{name}` cannot be {value}")),
    }
}

fn cut(value: &Value, object: &mut Map<String, Value>) -> Result<Command, String> {
    let when = match value {
        Value::String(now) if now == "now" => CutTime::Now,
        Value::String(flush) if flush == "flush" => CutTime::Flush,
        Value::Object(at) if at.len() == 1 && at.contains_key("after") => {
            CutTime::After(number(&at["after"])?)
        }
        _ => {
            return Err(format!(
                "`cut` is \"now\", \"flush\" or {{\"after\": N}} with a number of programs and \
                 erases, not {value}"
            ));
        }
    };
    let outcome = match object.remove("outcome") {
        None => None,
        Some(Value::String(name)) => {
            Some(name.parse::<Outcome>().map_err(|error| error.to_string())?)
        }
        Some(other) => return Err(format!("`outcome` is a name, not {other}")),
    };
    let stays_down = match object.remove("stay_down") {
        None => None,
        Some(Value::Bool(stays)) => Some(stays),
        Some(other) => return Err(format!("`stay_down` is true or false, not {other}")),
    };
    Ok(Command::Cut { when, outcome, stays_down })
}

fn failure(range: &Map<String, Value>) -> Result<Failure, String> {
    let known = ["offset", "bytes", "on", "times"];
    if let Some(key) = range.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(format!("`{key}` means nothing in `fail`; known are {}", known.join(", ")));
    }
    let on = range.get("on").map_or(Some("all"), Value::as_str);
    let (reads, writes) = match on {
        Some("all") => (true, true),
        Some("read") => (true, false),
        Some("write") => (false, true),
        _ => return Err("`on` is \"read\", \"write\" or \"all\"".to_owned()),
    };
    Ok(Failure {
        offset: range.get("offset").map_or(Ok(0), number)?,
        bytes: range.get("bytes").map_or(Ok(u64::MAX), number)?,
        reads,
        writes,
        times: range.get("times").map(number).transpose()?.map(|times| times.max(1)),
    })
}

fn flash_failure(object: &Map<String, Value>) -> Result<FlashFailure, String> {
    let mut pairs = object.iter();
    let (Some((name, value)), None) = (pairs.next(), pairs.next()) else {
        return Err(format!("`media` has one key: {}", FLASH_FAILURES.join(", ")));
    };
    let value = number(value)?;
    match name.as_str() {
        "fail_program" => Ok(FlashFailure::Program { after: value }),
        "fail_erase" => Ok(FlashFailure::Erase { after: value }),
        "lose_page" => Ok(FlashFailure::LostPage { after: value }),
        "wear_out" => match u32::try_from(value) {
            Ok(block) => Ok(FlashFailure::WornOut(BlockId(block))),
            Err(_) => Err(format!("block {value} does not exist")),
        },
        "leave" => Ok(FlashFailure::UsedUp { left: usize::try_from(value).unwrap_or(usize::MAX) }),
        _ => {
            let known = FLASH_FAILURES.join(", ");
            Err(format!("`{name}` means nothing in `media`; known are {known}"))
        }
    }
}

/// A number of seconds, or a text such as `500us`.
fn time(value: &Value) -> Result<Duration, String> {
    let seconds = match value {
        Value::Number(number) => number.as_f64().unwrap_or(-1.0),
        Value::String(text) => return text_time(text),
        _ => -1.0,
    };
    Duration::try_from_secs_f64(seconds).ok().filter(|time| *time <= TIME_MAX).ok_or_else(|| {
        format!("a time is a number of seconds or a text such as 500us, not {value}")
    })
}

/// No time on this side of a day needs more.
const TIME_MAX: Duration = Duration::from_secs(24 * 60 * 60);

fn text_time(text: &str) -> Result<Duration, String> {
    let ns = spec::parse_time_ns(text).map_err(|error| error.to_string())?;
    Some(Duration::from_nanos(ns))
        .filter(|time| *time <= TIME_MAX)
        .ok_or_else(|| format!("{text} is longer than a day"))
}

fn number(value: &Value) -> Result<u64, String> {
    value.as_u64().ok_or_else(|| format!("{value} is not a whole number"))
}

fn shortened(line: &str) -> String {
    let mut short: String = line.chars().take(80).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}
