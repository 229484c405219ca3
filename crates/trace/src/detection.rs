//! Trace formats by content: which format, or which well-known trace of a format, a file looks
//! like. If that is not certain, the error shows the commands that read the file.

use std::sync::Arc;

use spec::Spec;

use crate::error::{Error, PossibleReading, Result, quote};
use crate::input::stored_trace::StoredTrace;
use crate::parse::doubts;
use crate::parse::encoding;
use crate::parse::format::Format;
use crate::parse::formats::FORMATS;
use crate::parse::formats::custom::csv::{heading, values};
use crate::parse::text::trace_head::{HEAD_BYTES, Likeness, TraceHead};
use crate::reader::{ReadMode, ReaderFactory};
use crate::registry::{format, format_names};
use crate::request::{Op, Request};

/// A format with the settings that read a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reading {
    /// What the user would give as `--format`.
    pub(crate) spec: Spec,
    /// The well-known traces that it is meant for; empty if the format alone was recognised.
    pub(crate) traces: &'static str,
}

impl Reading {
    /// All formats, and all well-known traces of formats, with their likeness to the beginning of a
    /// trace.
    fn all(head: &TraceHead) -> Vec<(Likeness, Reading)> {
        let readings = |format: &&'static Format| {
            let plain = Reading { spec: Spec::plain(format.name), traces: "" };
            let examples = format.examples.iter().map(|example| {
                let spec = Spec::parse(example.spec).expect("tests parse all examples");
                ((example.detect)(head), Reading { spec, traces: example.traces })
            });
            [((format.detect)(head), plain)].into_iter().chain(examples).collect::<Vec<_>>()
        };
        FORMATS.iter().flat_map(readings).collect()
    }

    /// A sentence about a reading that was chosen for its columns.
    pub(crate) fn note(&self) -> Option<String> {
        let note =
            || format!("The columns are those of {}: `--format {}`.", self.traces, self.spec);
        (!self.traces.is_empty()).then(note)
    }
}

/// Detects from the beginning of each part how a trace is to be read. All parts must agree.
pub(crate) fn detect(trace: &StoredTrace) -> Result<Reading> {
    let mut detected: Option<(&StoredTrace, Reading)> = None;
    for part in trace.parts() {
        let reading = detect_part(trace, part).map_err(|error| part.unless_truncated(error))?;
        match &detected {
            None => detected = Some((part, reading)),
            Some((first, known)) if *known != reading => {
                return Err(Error::MixedFormats {
                    first: first.name().to_owned(),
                    first_format: known.spec.to_string(),
                    other: part.name().to_owned(),
                    other_format: reading.spec.to_string(),
                });
            }
            Some(_) => {}
        }
    }
    Ok(detected.expect("a trace has parts").1)
}

/// Detects how one part is to be read. A matching header takes precedence over matching lines. A
/// heading with usual names excludes formats that have other columns.
fn detect_part(trace: &StoredTrace, part: &StoredTrace) -> Result<Reading> {
    let bytes = part.head(HEAD_BYTES)?;
    let head = TraceHead::new(&bytes);
    let all = Reading::all(&head);
    let best = all.iter().map(|(likeness, _)| *likeness).max().unwrap_or(Likeness::None);
    if best < Likeness::Header {
        encoding::check(part, &bytes)?;
    }
    if best == Likeness::None {
        return Err(unknown_format(trace, part, &head));
    }
    let matching = all.into_iter().filter(|(likeness, _)| *likeness == best);
    let mut matching: Vec<Reading> = matching.map(|(_, reading)| reading).collect();
    let headed = heading::stated(&head);
    if best < Likeness::Header {
        matching.retain(|one| !contradicts(&head, &one.spec, &headed));
    }
    if matching.is_empty() {
        return Err(unknown_format(trace, part, &head));
    }
    if matching.len() > 1 {
        let is_misread = |it: &HeadRead| it.has_op_as_device();
        matching.retain(|one| {
            !HeadRead::new(&head, &one.spec, false).is_some_and(|it| is_misread(&it))
        });
    }
    let readings: Vec<PossibleReading> = match &matching[..] {
        [one] => rivals(&head, &one.spec, &headed),
        several => several.iter().map(|reading| possible(&head, &reading.spec)).collect(),
    };
    match readings.is_empty() {
        true => Ok(matching.remove(0)),
        false => Err(Error::AmbiguousFormat { name: trace.name().to_owned(), readings }),
    }
}

/// Whether a reading takes some column for another one, or in another unit, than the heading of
/// the trace [says](heading::stated).
fn contradicts(head: &TraceHead, spec: &Spec, headed: &[String]) -> bool {
    if headed.is_empty() {
        return false;
    }
    let Some((columns, _)) = csv_spec(head, spec) else { return false };
    let mut pairs = headed.iter().zip(columns_of(&columns));
    pairs.any(|(stated, read)| {
        let ((kind, unit), (read_kind, read_unit)) = (kind_and_unit(stated), kind_and_unit(read));
        let is_known = !kind.starts_with('_') && !read_kind.starts_with('_');
        is_known && (kind != read_kind || !unit.is_empty() && unit != read_unit)
    })
}

/// The columns of a text for `--format`.
fn columns_of(csv: &str) -> impl Iterator<Item = &str> {
    let (_, columns) = csv.split_once("columns=").unwrap_or_default();
    columns.split(',').next().unwrap_or_default().split('+')
}

fn kind_and_unit(column: &str) -> (&str, &str) {
    match column.split_once('.').unwrap_or((column, "")) {
        ("rwbs", unit) => ("op", unit),
        both => both,
    }
}

/// The readings of a trace that is in one format, if others are as plausible: this one and those.
fn rivals(head: &TraceHead, chosen: &Spec, headed: &[String]) -> Vec<PossibleReading> {
    let Some((columns, has_unix_times)) = csv_spec(head, chosen) else { return Vec::new() };
    let unscaled = Spec::parse(&doubts::in_nanoseconds(&columns)).expect("columns of csv");
    let Some(read) = HeadRead::new(head, &unscaled, true) else { return Vec::new() };
    let rivals = doubts::rivals(&columns, has_unix_times, &read.requests);
    let rivals = rivals.iter().map(|spec| Spec::parse(spec).expect("columns of csv"));
    let rivals = rivals.filter(|spec| !contradicts(head, spec, headed));
    let rivals: Vec<_> = rivals.map(|spec| possible(head, &spec)).collect();
    match rivals.is_empty() {
        true => rivals,
        false => [vec![possible(head, chosen)], rivals].concat(),
    }
}

/// What csv calls the columns of a trace that is read in this way, and whether its times are Unix
/// times.
fn csv_spec(head: &TraceHead, spec: &Spec) -> Option<(String, bool)> {
    let stored = StoredTrace::of_bytes("", head.whole_text()).ok()?;
    let factory = open(&stored, spec)?;
    Some((factory.csv_spec()?, factory.has_unix_times()))
}

fn open(stored: &StoredTrace, spec: &Spec) -> Option<Box<dyn ReaderFactory>> {
    let format = format(&spec.name).ok()?;
    let params = spec::resolve("", &spec.pairs, format.params).ok()?;
    format.open(&params, stored).ok()
}

/// A reading with what it makes of the first requests.
fn possible(head: &TraceHead, spec: &Spec) -> PossibleReading {
    let summary = HeadRead::new(head, spec, false).map(|read| read.summary());
    PossibleReading { spec: spec.to_string(), summary }
}

/// How recordings begin, and the commands that print them.
static RECORDINGS: [(&[u8], &str); 2] =
    [(b"PERFILE2", "perf script -i"), (b"\x17\x08Dtracing", "trace-cmd report -i")];

fn unknown_format(trace: &StoredTrace, part: &StoredTrace, head: &TraceHead) -> Error {
    let (name, other_member) = (part.name().to_owned(), other_member(trace, part));
    let is_of = |(magic, _): &&(&[u8], _)| head.bytes().starts_with(magic);
    if let Some(&(_, program)) = RECORDINGS.iter().find(is_of) {
        return Error::Recording { name, program };
    }
    if head.bytes().contains(&0) {
        return Error::UnknownBinary { name, other_member, text: quote(head.first()) };
    }
    let examples = FORMATS.iter().flat_map(|format| format.examples);
    let (suggested, headed) = (heading::recipes(head), heading::stated(head));
    let examples = examples.map(|example| example.spec.to_owned());
    let guessed = if suggested.is_empty() { values::recipes(head) } else { Vec::new() };
    let recipes = suggested.iter().cloned().chain(examples).chain(guessed);
    let possible = |text: String| {
        let spec = Spec::parse(&text).ok()?;
        let read = HeadRead::new(head, &spec, false)?;
        let fits =
            read.bad.is_none() && !read.has_op_as_device() && !contradicts(head, &spec, &headed)
                || suggested.contains(&text);
        fits.then(|| PossibleReading { spec: text, summary: Some(read.summary()) })
    };
    Error::UnknownFormat {
        name,
        other_member,
        text: quote(head.first()),
        readings: recipes.filter_map(possible).collect(),
        known: format_names().join(", "),
    }
}

/// The largest other member of an archive. It is more likely a trace than a list or a README.
fn other_member(archive: &StoredTrace, member: &StoredTrace) -> Option<String> {
    let others = archive.parts().filter(|part| part.is_member() && part.name() != member.name());
    Some(others.max_by_key(|part| part.size_bytes())?.name().to_owned())
}

/// The beginning of a trace as it is read in some way.
struct HeadRead {
    /// The requests before the first bad line; at least one.
    requests: Vec<Request>,
    /// The names of their devices.
    devices: Vec<String>,
    /// What is wrong with the first bad line.
    bad: Option<String>,
}

impl HeadRead {
    /// Reads in this way; times are as they are in the trace if `raw_times`. `None` if there is no
    /// request.
    fn new(head: &TraceHead, spec: &Spec, raw_times: bool) -> Option<HeadRead> {
        let stored = StoredTrace::of_bytes("", head.whole_text()).ok()?;
        let factory = open(&stored, spec)?;
        let mode = ReadMode { skip_bad: false, raw_times };
        let mut reader = factory.reader(&Arc::new(stored), mode).ok()?;
        let (mut requests, mut bad) = (Vec::new(), None);
        while bad.is_none() {
            match reader.next_batch(&mut requests, HEAD_BYTES) {
                Ok(0) => break,
                Ok(_) => {}
                Err(Error::Line { line, what, text, .. }) => {
                    bad = Some(format!("line {line} is bad: {what}: {text}"));
                }
                Err(error) => bad = Some(error.to_string()),
            }
        }
        let devices = reader.report().devices;
        (!requests.is_empty()).then_some(HeadRead { requests, devices, bad })
    }

    /// Whether words for operations are read as names of devices.
    fn has_op_as_device(&self) -> bool {
        self.devices.iter().any(|name| Op::of_name(name.as_bytes()).is_some())
    }

    /// A sentence by which a user can tell whether the units are right.
    fn summary(&self) -> String {
        let total = |op: Op| {
            let chosen = self.requests.iter().filter(|request| request.op == op);
            match chosen.map(|request| u128::from(request.bytes)).sum::<u128>() as f64 / 1024.0 {
                kibibytes @ ..1024.0 => format!("{kibibytes:.1} KiB"),
                kibibytes => format!("{:.1} MiB", kibibytes / 1024.0),
            }
        };
        let seconds = self.requests.last().map_or(0.0, |last| last.time_ns as f64 / 1e9);
        let (count, written, read) = (self.requests.len(), total(Op::Write), total(Op::Read));
        let bad = self.bad.as_ref().map_or(String::new(), |bad| format!("; {bad}"));
        match count {
            1 => format!("its first request: {written} written, {read} read{bad}"),
            _ => format!(
                "its first {count} requests write {written} and read {read} in {seconds:.3} s{bad}"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detected(text: &[u8]) -> Result<String> {
        Ok(detect(&StoredTrace::spool("t", text)?)?.spec.to_string())
    }

    #[test]
    fn specimens_are_detected_if_their_content_identifies_the_format() {
        for format in FORMATS {
            assert!(!format.specimens.is_empty(), "{} has no specimen", format.name);
            for specimen in format.specimens {
                let is_detected = detected(specimen.bytes)
                    .is_ok_and(|spec| spec.split(':').next() == Some(format.name));
                let shown = format!("{}: {}", specimen.spec, quote(specimen.bytes));
                assert_eq!(is_detected, specimen.is_detected, "{shown}");
            }
        }
    }

    #[test]
    fn the_error_for_an_unknown_format_shows_the_first_line_and_a_remedy() {
        let message = detected(b"\n\nsome,text\nmore").unwrap_err().to_string();
        assert!(message.contains("in no known format; it begins: some,text"), "{message}");
        let example =
            "\n    ftlab trace info t --format csv:columns=time.s+op+off.bytes+len.bytes\n";
        assert!(message.contains(example), "{message}");
        assert!(message.contains("`ftlab trace info t --format spc`"), "{message}");
        assert!(message.contains("spc, msr, systor, "), "{message}");
        let binary: Vec<u8> = (0..=255).cycle().take(200_000).collect();
        let message = detected(&binary).unwrap_err().to_string();
        assert!(message.contains("is binary and in no known format"), "{message}");
        assert!(!message.contains("csv:"), "{message}");
    }

    #[test]
    fn recordings_and_other_forms_of_kernel_events_name_the_programs_that_print_them() {
        let message = |text: &[u8]| detected(text).unwrap_err().to_string();
        let perf = message(b"PERFILE2\x68\0\0\0\0\0\0\0\n");
        assert!(perf.contains("\n    perf script -i t > trace.txt\n"), "{perf}");
        let trace_cmd = message(b"\x17\x08Dtracing6\0\0\x08\0");
        assert!(trace_cmd.contains("\n    trace-cmd report -i t > trace.txt\n"), "{trace_cmd}");
        let lttng =
            message(b"[09:30:01.1] (+0.1) host block_rq_issue: { cpu_id = 1 }, { dev = 8 }\n");
        assert!(lttng.contains("another form than `perf script`"), "{lttng}");
        assert!(!lttng.contains("csv:"), "{lttng}");
    }

    #[test]
    fn a_heading_with_usual_names_gives_the_command_that_reads_it() {
        let text = b"timestamp,rw_flag,sector,size\n0.5,R,100,8\n1.5,W,108,16\n";
        let message = detected(text).unwrap_err().to_string();
        let expected = "\n  its first 2 requests write 8.0 KiB and read 4.0 KiB in 1.000 s:\n    \
            ftlab trace info t --format \
            csv:columns=time.s+op+off.sectors+len.sectors,header=true\n";
        assert!(message.contains(expected), "{message}");
    }

    /// Every order of five columns: some are those of well-known formats, in these or other units.
    #[test]
    fn no_reading_contradicts_a_heading() {
        let columns = [
            ("time.us", "time_us", ["1000", "2000"]),
            ("op", "op", ["W", "1"]),
            ("dev", "device", ["7", "9"]),
            ("off.bytes", "offset_bytes", ["4096", "8192"]),
            ("len.bytes", "size_bytes", ["4096", "512"]),
        ];
        let orders = (0..5_usize.pow(5)).map(|n| [1, 5, 25, 125, 625].map(|at| n / at % 5));
        let is_order = |order: &[usize; 5]| (0..5).all(|column| order.contains(&column));
        let mut shown = 0;
        for (order, value) in orders.filter(is_order).flat_map(|order| [(order, 0), (order, 1)]) {
            let line = |field: fn(&(&str, &str, [&str; 2]), usize) -> String| {
                order.map(|at| field(&columns[at], value)).join(",") + "\n"
            };
            let text = line(|it, _| it.1.into()) + &line(|it, value| it.2[value].into());
            let readings = match detect(&StoredTrace::spool("t", text.as_bytes()).unwrap()) {
                Ok(reading) => vec![reading.spec.to_string()],
                Err(_) => offered(text.as_bytes()),
            };
            assert!(!readings.is_empty(), "{text}");
            for spec in readings {
                let (head, spec) = (TraceHead::new(text.as_bytes()), Spec::parse(&spec).unwrap());
                let (found, _) = csv_spec(&head, &spec).unwrap();
                let found: Vec<_> = columns_of(&found).filter(|column| *column != "_").collect();
                assert_eq!(found, order.map(|at| columns[at].0), "{spec} of {text}");
                shown += 1;
            }
        }
        assert!(shown >= 240, "{shown}");
    }

    #[test]
    fn a_trace_that_looks_like_two_formats_is_refused() {
        let both = b"0,1,512,W,0.1\n7,4 0 1 0.0 23648 Q WS 41680 4\n";
        let message = detected(both).unwrap_err().to_string();
        for format in ["spc", "blkparse"] {
            let command = format!("\n    ftlab trace info t --format {format}\n");
            assert!(format!("{message}\n").contains(&command), "{message}");
        }
    }

    #[test]
    fn units_that_fit_alike_are_refused_with_every_reading() {
        let message = detected(b"26.214 0 303574 1 0\n78.643 0 55596 1 1\n").unwrap_err();
        let message = message.to_string() + "\n";
        for format in ["disksim", "disksim:unit=s", "flashsim"] {
            assert!(message.contains(&format!(" t --format {format}\n")), "{format}: {message}");
        }
        assert!(message.contains("write 0.5 KiB and read 0.5 KiB in 52.429 s"), "{message}");
    }

    #[test]
    fn five_integers_are_ambiguous() {
        let message = detected(b"938513000 4 264719034 16 0\n").unwrap_err().to_string() + "\n";
        for format in ["disksim", "mqsim", "ssdsim", "ssdsim:unit=us"] {
            assert!(message.contains(&format!(" t --format {format}\n")), "{format}: {message}");
        }
    }

    /// The readings that are shown for a trace of several possible ones.
    fn offered(text: &[u8]) -> Vec<String> {
        match detect(&StoredTrace::spool("t", text).unwrap()) {
            Err(
                Error::AmbiguousFormat { readings, .. } | Error::UnknownFormat { readings, .. },
            ) => readings.into_iter().map(|reading| reading.spec).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn columns_of_a_public_set_in_other_units_are_refused_with_both_readings() {
        let alibaba = |time: &str| format!("csv:columns=dev+op+off.bytes+len.bytes+time.{time}");
        let cases = [
            ("17,W,8192,4096,1577808000000\n17,R,0,4096,1577808001000\n", vec![alibaba("ms")]),
            ("17,W,8192,4096,1577808000.000626\n", vec![alibaba("s")]),
            ("8,W,4096,8192,1\n8,W,4096,8192,2\n", vec![alibaba("s"), alibaba("ms")]),
        ];
        for (text, rivals) in cases {
            assert_eq!(offered(text.as_bytes()), [vec!["alibaba".into()], rivals].concat());
        }
        let headed = b"device_id,opcode,offset,length,timestamp\n17,W,8192,4096,1577808000000\n";
        assert_eq!(offered(headed), ["alibaba".into(), alibaba("ms")]);
        let tencent = |time: &str, unit: &str| {
            format!("csv:columns=time.{time}+off.{unit}+len.{unit}+op+dev,reads=0,writes=1")
        };
        let milliseconds = offered(b"1538323200123,4247200,128,1,1058\n");
        assert_eq!(milliseconds, ["tencent".into(), tencent("ms", "sectors")]);
        let bytes = offered(b"1000012,8192,4096,1,0\n1000512,12288,4096,1,0\n");
        let all = [("ms", "sectors"), ("us", "sectors"), ("s", "bytes"), ("ms", "bytes")];
        let all = all.into_iter().chain([("us", "bytes")]).map(|(time, unit)| tencent(time, unit));
        assert_eq!(bytes, std::iter::once("tencent".into()).chain(all).collect::<Vec<_>>());
    }

    #[test]
    fn times_of_a_published_csv_in_seconds_are_asked_for() {
        let text = b"version,time,op,size,lbn\n1,1000,2a,4096,8000\n1,8200,2a,4096,8008\n";
        let csv = |unit: &str| {
            format!(
                "csv:columns=_+time.{unit}+op+len.bytes+off.sectors,reads=28,writes=2a,header=true"
            )
        };
        assert_eq!(offered(text), [csv("us"), csv("s")]);
        let text = b"version,time,op,size,lbn\n1,5633898368802,28,8192,29880920\n";
        assert_eq!(detected(text).unwrap(), csv("us"));
    }

    #[test]
    fn words_for_operations_are_never_devices() {
        let offered = offered(b"0.5 1 W 8192 4096 x\n1.5 2 R 4096 512 x\n");
        assert!(offered.is_empty(), "{offered:?}");
        let message = detected(b"time,op,sector,nsectors\n1.5,W,16,8\n1.6,W,bad,8\n").unwrap_err();
        let message = message.to_string();
        let command = "csv:columns=time.s+op+off.sectors+len.sectors,header=true";
        assert!(message.contains(command), "{message}");
        let bad =
            "first request: 4.0 KiB written, 0.0 KiB read; line 3 is bad: column 3, the offset";
        assert!(message.contains(bad), "{message}");
    }
}
