//! Columns described by the user, for traces in no other known format: `--format csv:columns=…`.
//!
//! ```text
//! --format csv:sep=comma,columns=_+dev+op+off.sectors+len.sectors+time.s,header=true
//! <...>-12228,8388608,R,29880920,16,159273.751646
//! ```
//!
//! Columns are listed in the order of the file and joined by `+`:
//!
//! * `time.UNIT`: s, ms, us, ns, ticks of 100 ns, or date, such as `2025-03-04 10:11:12.000412`
//! * `op`: one of the words given by `reads=`, `writes=`, `trims=` and `flushes=`; or `rwbs`:
//!   operation and flags as blkparse prints them; or neither, with `as=read` or `as=write`
//! * `off.UNIT` and `len.UNIT`: bytes, sectors, pages of 4 KiB, or blocks:SIZE
//! * `dev`: the device; if there are two such columns, both together name it
//! * `stream`: the stream of a write; `0`, `-` and nothing stand for none
//! * `_`: ignored; at the end, `_...` stands for any number of ignored fields
//!
//! Without `columns=` the columns are those of the text that this program writes
//! ([`crate::writer::OutputFormat::Csv`]), the only csv that is recognised by its content; its
//! heading tells whether a column of streams follows. Quoted fields are understood, line ends in
//! them are not.

use spec::{Kind, Param, Params};

use crate::error::{Error, Result};
use crate::input::stored_trace::StoredTrace;
use crate::parse::five_numbers::{self, LengthUnit};
use crate::parse::format::{Format, FormatExample, Opening, Specimen};
use crate::parse::parser::LineEnds;
use crate::parse::text::column_layout::{Column, ColumnLayout, OpNames, OpWords, Separator};
use crate::parse::text::column_list::ColumnList;
use crate::parse::text::field::Field;
use crate::parse::text::trace_head::{
    Likeness, TraceHead, blank_fields, comma_fields, heading_likeness, is_digits, is_heading,
    is_seconds, is_whole,
};
use crate::reader::ReaderFactory;
use crate::request::{Op, SECTOR_BYTES};

pub(crate) mod heading;
pub(crate) mod values;

/// The format's entry in the list.
pub static FORMAT: Format = Format {
    name: "csv",
    summary: "text in columns with any units; columns= describes them; by default the columns \
              that `convert` writes",
    source: "the columns are described by the user; the default is defined by this program",
    params: PARAMS,
    examples: EXAMPLES,
    specimens: SPECIMENS,
    detect,
    opening: Opening::Inspected(open),
};

/// The heading of the csv that this program writes: a name for each of [`WRITTEN_COLUMNS`].
pub(crate) const WRITTEN_HEADING: &str = "time_ns,device,rwbs,offset,bytes";

/// The heading of the same with streams.
pub(crate) const STREAMS_HEADING: &str = "time_ns,device,rwbs,offset,bytes,stream";

/// The columns of the csv that this program writes.
pub(crate) const WRITTEN_COLUMNS: &str = "time.ns+dev+rwbs+off.bytes+len.bytes";

static EXAMPLES: &[FormatExample] = &[
    FormatExample {
        traces: "Google Pixel 6a (MobileBlockIOTraces)",
        spec: "csv:columns=_+dev+op+off.sectors+len.sectors+time.s,header=true",
        detect: |head| heading_likeness(head, "proces,device,rw_flag,sector,size,timestamp"),
    },
    FormatExample {
        traces: "Nexus 5, BIOtracer (SmartphoneIOTraces)",
        spec: "csv:sep=blank,columns=off.sectors+_+len.bytes+op+time.s+_...,\
               reads=0+2+4+6,writes=1+3+5+7",
        detect: detect_biotracer,
    },
    FormatExample {
        traces: "Windows Performance Analyzer export, decimal comma",
        spec: "csv:sep=semicolon,columns=op+_+_+time.s+_+_+_+len.bytes+off.bytes+_...,\
               decimal=comma,hex=off,header=true",
        detect: |head| heading_likeness(head, WPA_HEADING),
    },
    FormatExample {
        traces: "CloudPhysics vscsi as csv",
        spec: "csv:columns=_+time.us+op+len.bytes+off.sectors,reads=28,writes=2a,header=true",
        detect: |head| heading_likeness(head, VSCSI_HEADING),
    },
    FormatExample {
        traces: "CloudPhysics vscsi as csv, with times in seconds",
        spec: "csv:columns=_+time.s+op+len.bytes+off.sectors,reads=28,writes=2a,header=true",
        detect: |head| match head.any(|line| is_time_of_vscsi(line, 11)) {
            true => Likeness::None,
            false => heading_likeness(head, VSCSI_HEADING),
        },
    },
    FormatExample {
        traces: "IOTracer, block requests",
        spec: "csv:columns=time.date+_+_+_+off.sectors+op+len.bytes+_...,header=true",
        detect: |head| heading_likeness(head, IOTRACER_HEADING),
    },
    FormatExample {
        traces: "iotrace of Open CAS",
        spec: "csv:columns=_+dev+_+_+_+_+_+_+_+time.ns+_+_+_+_+_+off.sectors+len.sectors+op+_...,\
               header=true",
        detect: |head| heading_likeness(head, OPEN_CAS_HEADING),
    },
    FormatExample {
        traces: "Fujitsu K5 cloud",
        spec: "csv:columns=dev+time.s+op+off.bytes+len.bytes",
        detect: detect_k5,
    },
    FormatExample {
        traces: "CAMELab's replayer and others: seconds, R or W, sector, sectors",
        spec: "csv:sep=blank,columns=time.s+op+off.sectors+len.sectors+_...",
        detect: detect_camelab,
    },
    FormatExample {
        traces: "IODA's replayer: milliseconds, disk, bytes",
        spec: "csv:sep=blank,columns=time.ms+dev+off.bytes+len.bytes+op,reads=1,writes=0",
        detect: |head| five_numbers::likeness(head, false, LengthUnit::Bytes).min(Likeness::Lines),
    },
    FormatExample {
        traces: "MSR Cambridge excerpts (Heimdall)",
        spec: "csv:sep=blank,columns=time.ms+dev+off.bytes+len.bytes+op,reads=1,writes=0",
        detect: |head| five_numbers::likeness(head, true, LengthUnit::Bytes),
    },
];

static SPECIMENS: &[Specimen] = &[
    Specimen::detected("csv", b"time_ns,device,rwbs,offset,bytes\n0,a,FWFS,7,9\n5,b,FW,0,0\n"),
    Specimen::detected(
        "csv",
        b"time_ns,device,rwbs,offset,bytes,stream\n0,a,W,7,9,5\n5,b,R,0,7,\n",
    ),
    Specimen::undetected(
        "csv:columns=_+dev+op+off.sectors+len.pages+time.s",
        b"\"k\",83,R,2988,16,159273.75\n",
    ),
    Specimen::undetected(
        "csv:sep=tab,columns=op+off.bytes+len.bytes+time.ticks+_...,hex=off",
        b"R\t0xf\t16\t15\tx\n",
    ),
];

static PARAMS: &[Param] = &[
    Param {
        name: "columns",
        kind: Kind::Text,
        default: WRITTEN_COLUMNS,
        unit: "",
        doc: "the meaning of each field, joined by +: time.s|ms|us|ns|ticks|date, op, rwbs, \
              off.bytes|sectors|pages|blocks:SIZE, len.(the same), dev, stream, _ (ignored), _... \
              (the rest)",
    },
    Param {
        name: "sep",
        kind: Kind::Choice(&["comma", "tab", "semicolon", "blank"]),
        default: "comma",
        unit: "",
        doc: "the separator of fields; blank: any number of blanks and tabs",
    },
    Param::key(
        "header",
        Kind::Switch,
        "",
        "whether the first line is a heading; default: true without columns=, else if it has \
         a name for each column",
    ),
    Param::key(
        "as",
        Kind::Choice(&["read", "write"]),
        "",
        "the operation of all requests, if columns= has neither op nor rwbs",
    ),
    words("reads", "R+Read", "words for reads in column op, joined by +; case is ignored"),
    words("writes", "W+Write", "words for writes"),
    words("trims", "D+T+Trim+Discard", "words for trims (discards)"),
    words("flushes", "F+Flush", "words for flushes; their offset and length are ignored"),
    Param {
        name: "hex",
        kind: Kind::Choice(&["none", "off", "len", "off+len"]),
        default: "none",
        unit: "",
        doc: "which addresses are hexadecimal, with or without 0x",
    },
    Param {
        name: "decimal",
        kind: Kind::Choice(&["point", "comma"]),
        default: "point",
        unit: "",
        doc: "the decimal sign; with comma, 1,5 is one and a half, and 16.384 is more than \
              sixteen thousand",
    },
];

const fn words(name: &'static str, default: &'static str, doc: &'static str) -> Param {
    Param { name, kind: Kind::Text, default, unit: "", doc }
}

/// The first columns of Windows Performance Analyzer, as it exports them where the decimal
/// separator is a comma.
const WPA_HEADING: &str = "IO Type;Priority;Process (Name);Init Time (s);Complete Time (s);\
                           IO Time (µs);Disk Service Time (µs);Size (B);Min Offset";

const OPEN_CAS_HEADING: &str = "device.id,device.name,device.partition,file.eventType,file.id,\
                                file.offset,file.path,file.size,header.sid,header.timestamp,\
                                io.error,io.flush,io.fua,io.ioClass,io.latency,io.lba,io.len,\
                                io.operation";

const IOTRACER_HEADING: &str = "timestamp,pid,tid,process_name,lba,op_type,size";

/// Volume, seconds with decimals, R or W, two numbers.
fn detect_k5(head: &TraceHead) -> Likeness {
    Likeness::of_lines(head.any(|line| {
        let fields = comma_fields(line, 6);
        fields.len() == 5
            && is_digits(fields[0], 1, 20)
            && fields[1].contains(&b'.')
            && is_seconds(fields[1])
            && matches!(fields[2], b"R" | b"W")
            && fields[3..].iter().all(|field| is_whole(field))
    }))
}

/// Seconds, R or W, two numbers.
fn detect_camelab(head: &TraceHead) -> Likeness {
    Likeness::of_lines(head.any(|line| {
        let fields = blank_fields(line, 4);
        fields.len() == 4
            && is_seconds(fields[0])
            && matches!(fields[1], b"R" | b"W" | b"r" | b"w")
            && fields[2..].iter().all(|field| is_whole(field))
    }))
}

const VSCSI_HEADING: &str = "version,time,op,size,lbn";

/// Whether the second column has at least this many digits. The microseconds of the published
/// traces have 13; those of a day have 11.
fn is_time_of_vscsi(line: &[u8], digits: usize) -> bool {
    comma_fields(line, 2).get(1).is_some_and(|time| is_digits(time, digits, 20))
}

fn detect(head: &TraceHead) -> Likeness {
    heading_likeness(head, WRITTEN_HEADING)
}

/// Eight numbers: sector, sectors, the same in bytes, flags, four times in seconds.
fn detect_biotracer(head: &TraceHead) -> Likeness {
    let alike = |line: &[u8]| {
        let fields = blank_fields(line, 9);
        let number = |index: usize| Field::new(fields[index]).number();
        fields.len() == 8
            && number(0).is_some()
            && number(1).is_some_and(|sectors| number(2) == sectors.checked_mul(SECTOR_BYTES))
            && matches!(fields[3], [b'0'..=b'7'])
            && fields[4..].iter().all(|time| time.contains(&b'.') && is_seconds(time))
    };
    if head.any(alike) { Likeness::Units } else { Likeness::None }
}

fn open(params: &Params, trace: &StoredTrace) -> Result<Box<dyn ReaderFactory>> {
    let mut layout = layout(params)?;
    if layout.heading && params.text("columns") == WRITTEN_COLUMNS {
        let head = match trace.head(4 * STREAMS_HEADING.len()) {
            Err(Error::Empty { .. }) => Vec::new(),
            head => head?,
        };
        let has_streams = is_heading(TraceHead::new(&head).first(), STREAMS_HEADING);
        layout.columns.extend(has_streams.then_some(Column::Stream));
    }
    Ok(Box::new(layout))
}

/// The layout described by the keys.
fn layout(params: &Params) -> spec::Result<ColumnLayout> {
    let separator = match params.choice("sep") {
        "tab" => Separator::Byte(b'\t'),
        "semicolon" => Separator::Byte(b';'),
        "blank" => Separator::Blanks,
        _ => Separator::Byte(b','),
    };
    let text = params.text("columns");
    let is_written = text == WRITTEN_COLUMNS;
    let only_op = params.opt_choice("as").and_then(|name| Op::of_name(name.as_bytes()));
    let ColumnList { columns, open_ended } = columns(text, params.choice("hex"), only_op)?;
    let ops = match text.split('+').any(|word| word == "rwbs") {
        true => OpNames::Rwbs,
        false => OpNames::Words(op_words(params)?),
    };
    let point = match (params.choice("decimal"), separator) {
        ("comma", Separator::Byte(b',')) => {
            return Err(refused("decimal", "comma", "possible if commas separate the fields"));
        }
        ("comma", _) => b',',
        _ => b'.',
    };
    Ok(ColumnLayout {
        open_ended,
        only_op,
        point,
        heading: params.opt_switch("header").unwrap_or(is_written),
        at_start: params.opt_switch("header") != Some(false),
        // A record of a live disk may end in the middle of a number that is shorter then.
        line_ends: if is_written { LineEnds::Required } else { LineEnds::Optional },
        ..ColumnLayout::new(separator, columns, ops)
    })
}

fn refused(key: &str, text: &str, form: &str) -> spec::Error {
    let (text, form) = (text.to_owned(), form.to_owned());
    of_key(key, spec::Error::Malformed { text, form })
}

fn of_key(key: &str, reason: spec::Error) -> spec::Error {
    let (what, key) = (String::from("format csv"), key.to_owned());
    spec::Error::Value { what, key, reason: Box::new(reason) }
}

// ---- columns= --------------------------------------------------------------------------------

/// More columns than any real trace has.
const MOST_COLUMNS: usize = 100;

fn columns(text: &str, hex: &str, only_op: Option<Op>) -> spec::Result<ColumnList> {
    let refuse = |form: &str| Err(refused("columns", text, form));
    let listed = ColumnList::parse(text, hex).map_err(|reason| of_key("columns", reason))?;
    let columns = &listed.columns;
    if columns.len() > MOST_COLUMNS {
        return refuse("a list of at most 100 columns");
    }
    let count = |is: fn(&Column) -> bool| columns.iter().filter(|column| is(column)).count();
    let ops = count(|column| *column == Column::Op);
    if only_op.is_some() && ops > 0 {
        return refuse("a list without `op` and `rwbs`, as `as=` gives the operation");
    }
    let once = [
        ops + usize::from(only_op.is_some()),
        count(|column| matches!(column, Column::Offset(_))),
        count(|column| matches!(column, Column::Length(_))),
    ];
    if once != [1; 3] {
        return refuse(
            "a list with one `op` (or `rwbs`), one `off.UNIT`, one `len.UNIT`; for a trace without \
             operations, `as=read` or `as=write` stands for `op`",
        );
    }
    if count(|column| matches!(column, Column::Time(_))) > 1 {
        return refuse("a list with at most one `time.UNIT`");
    }
    if count(|column| *column == Column::Stream) > 1 {
        return refuse("a list with at most one `stream`");
    }
    if count(|column| *column == Column::Device) > 2 {
        return refuse("a list with at most two `dev`");
    }
    Ok(listed)
}

// ---- words for operations --------------------------------------------------------------------

fn op_words(params: &Params) -> spec::Result<OpWords> {
    let keys =
        [("reads", Op::Read), ("writes", Op::Write), ("trims", Op::Trim), ("flushes", Op::Flush)];
    let mut words: Vec<(&[u8], Op)> = Vec::new();
    for (key, op) in keys {
        for word in params.text(key).split('+') {
            let known = |(earlier, _): &(&[u8], Op)| earlier.eq_ignore_ascii_case(word.as_bytes());
            if words.iter().any(known) {
                return Err(refused(key, word, "a word that stands for this operation alone"));
            }
            words.push((word.as_bytes(), op));
        }
    }
    Ok(OpWords::new(words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parser::TraceParser;
    use crate::parse::parser::tests::read_all;
    use crate::reader::Skipped;
    use crate::request::{Flags, Request};
    use proptest::prelude::*;
    use spec::Spec;

    fn reader(text: &str) -> spec::Result<ColumnLayout> {
        layout(&spec::resolve("format csv", &Spec::parse(text)?.pairs, PARAMS)?)
    }

    fn read(spec: &str, text: &str) -> std::result::Result<(Vec<Request>, Skipped), String> {
        read_all(reader(spec).map_err(|error| error.to_string())?, text.as_bytes(), false)
    }

    #[test]
    fn every_example_reads_lines_of_its_traces() {
        let lines = [
            "proces,device,rw_flag,sector,size,timestamp\r\n\
             <...>-12228,8388608,R,29880920,16,159273.751646\r\n\
             kworker/4:1H-225,8388608,W,30175712,8,159273.83748699998\r\n",
            "29880920\t\t16\t\t8192\t\t4\t\t1398406382.75\t\t1\t\t1\t\t1\n\
             30175712\t\t9\t\t4096\t\t5\t\t1398406382.83584099998\t\t1\t\t1\t\t1\n",
            "IO Type;Priority;…\n\
             Read;Normal;System;1,0;2,0;87,2;87,2;8.192;0x000000038FE4B000;0x1;0;0;1;1\n\
             Write;Normal;System;1,085840999;1;1;1;4.096;0x0000000398E3C000;0x1;0;0;1;1\n\
             Flush;Normal;System;2,0;1;1;1;0;0xFFFFFFFFFFFFFFFF;0x1;0;0;1;1\n",
            "version,time,op,size,lbn\n1,5633898368802,28,8192,29880920\n\
             1,5633898454642,2a,4096,30175712\n",
            "version,time,op,size,lbn\n1,1000,28,8192,29880920\n1,1000.08584,2a,4096,30175712\n",
            "timestamp,pid,tid,process_name,lba,op_type,size,nr_sectors\n\
             2025-03-04 10:11:12.000412,4,4,a b,29880920,read,8192,16\n\
             2025-03-04 10:11:12.086252,4,4,a b,30175712,write,4096,8\n",
            "device.id,device.name,device.partition,file.eventType,file.id,file.offset,file.path,\
             file.size,header.sid,header.timestamp,io.error,io.flush,io.fua,io.ioClass,io.latency,\
             io.lba,io.len,io.operation,io.qd,io.writeHint\n\
             8,sda,8,Access,5,9,/a,64,1,5009000000,false,false,false,1,9,29880920,16,Read,1,0\n\
             8,sda,8,,,,,,2,5094840000,false,false,false,1,9,30175712,8,Write,2,0\n",
            "8,1.5,R,15299031040,8192\n8,1.58584,W,15449964544,4096\n",
            "0.5 R 29880920 16 0\n0.58584 W 30175712 8 0\n",
            "0 0 15299031040 8192 1\n85.84 0 15449964544 4096 0\n",
            "0.000 0 15299031040 8192 1\n85.840 0 15449964544 4096 0\n",
        ];
        for (example, lines) in EXAMPLES.iter().zip(lines) {
            let (requests, _) = read(example.spec, lines).unwrap();
            let [first, second, flushes @ ..] = &requests[..] else { panic!("{example:?}") };
            let expected = (Op::Read, 29_880_920 * 512, 8192);
            assert_eq!((first.op, first.offset, first.bytes), expected, "{example:?}");
            let expected = (Op::Write, 30_175_712 * 512, 4096);
            assert_eq!((second.op, second.offset, second.bytes), expected, "{example:?}");
            assert_eq!(second.time_ns / 1000, 85_840, "{example:?}");
            assert!(flushes.iter().all(|flush| (flush.op, flush.bytes) == (Op::Flush, 0)));
        }
    }

    #[test]
    fn writes_have_the_streams_of_their_column() {
        let text = "wal,W,0,512\nsst,R,0,512\nsst,W,0,512\n-,W,0,512\nwal,W,0,512\n0,W,0,512\n";
        let (requests, _) = read("csv:columns=stream+op+off.bytes+len.bytes", text).unwrap();
        let streams: Vec<u8> = requests.iter().map(|request| request.stream).collect();
        assert_eq!(streams, [1, 0, 2, 0, 1, 0]);
        let many: String = (1..=64).map(|name| format!("{name},W,0,512\n")).collect();
        let error = read("csv:columns=stream+op+off.bytes+len.bytes", &many).unwrap_err();
        assert!(error.contains("64: ") && error.contains("more than 63 streams"), "{error}");
        assert!(error.contains("give `_` in its place"), "{error}");
    }

    #[test]
    fn contradictory_keys_are_refused() {
        let cases = [
            ("csv:columns=time.s+op+off.bytes", "one `len.UNIT`"),
            ("csv:columns=op+op+off.bytes+len.bytes", "one `op` (or `rwbs`)"),
            ("csv:columns=off.bytes+len.bytes", "`as=read` or `as=write` stands for `op`"),
            ("csv:columns=op+off.bytes+len.bytes,as=read", "without `op` and `rwbs`"),
            ("csv:columns=op+off.bytes+len.bytes+stream+stream", "at most one `stream`"),
            ("csv:columns=time.s+time.s+op+off.bytes+len.bytes", "at most one `time.UNIT`"),
            ("csv:columns=dev+dev+dev+op+off.bytes+len.bytes", "at most two `dev`"),
            ("csv:columns=time+op+off.bytes+len.bytes", "`time` is not `time.` with s, ms"),
            ("csv:columns=op+off+len.bytes", "`off` is not followed by .bytes"),
            ("csv:columns=op+off.blocks:0+len.bytes", "`off.blocks:0` is not followed by"),
            ("csv:columns=op+offset.bytes+len.bytes", "`offset.bytes` is not a column"),
            ("csv:decimal=comma", "`comma` is not possible if commas separate"),
            ("csv:columns=op+off.bytes+len.bytes,reads=1,writes=1", "for this operation alone"),
        ];
        for (spec, what) in cases {
            let message = reader(spec).unwrap_err().to_string();
            assert!(message.contains(what), "{spec}: {message}");
        }
    }

    #[test]
    fn a_trace_without_operations_has_the_given_one() {
        for (name, op) in [("read", Op::Read), ("write", Op::Write)] {
            let spec = format!("csv:columns=time.s+off.bytes+len.bytes,as={name}");
            let (requests, _) = read(&spec, "0,512,4096\n1,\"1024\",512\n").unwrap();
            assert_eq!(requests.iter().map(|it| it.op).collect::<Vec<_>>(), [op; 2]);
            assert_eq!(requests[1].offset, 1024);
            assert_eq!(reader(&spec).unwrap().as_csv(), Some(spec));
        }
    }

    #[test]
    fn columns_without_times_are_noted() {
        let notes = |spec| reader(spec).unwrap().notes().concat();
        let untimed = notes("csv:columns=op+off.bytes+len.bytes");
        assert!(untimed.starts_with("The columns have no times"), "{untimed}");
        assert_eq!(notes("csv:columns=time.s+op+off.bytes+len.bytes"), "");
    }

    #[test]
    fn quoted_fields_may_contain_separators() {
        let spec = "csv:columns=_+time.s+op+dev+off.blocks:4KiB+len.pages";
        let text = "\"a, \"\"b\"\"\",1.5,R,x,2,1\nc,\"2.5\",\"w\",\"y,z\",\"3\",4\n";
        let (requests, _) = read(spec, text).unwrap();
        assert_eq!((requests[0].offset, requests[0].bytes, requests[0].device), (8192, 4096, 0));
        assert_eq!((requests[1].offset, requests[1].bytes, requests[1].device), (12288, 16384, 1));
        assert_eq!((requests[1].op, requests[1].time_ns), (Op::Write, 1_000_000_000));
        for (line, what) in [
            ("\"c\",2.5,w,y,3", "column 6, which this format requires, is missing"),
            ("\"c\",2.5,w,y,3,4,5", "column 6, the last one"),
            ("\"c\",2.5x,w,y,3,4", "column 2, the time"),
            ("\"c\",2.5,q,y,3,4", "column 3, the operation"),
        ] {
            let message = read(spec, line).unwrap_err();
            assert!(message.starts_with(&format!("t:1: {what}")), "{line}: {message}");
        }
    }

    #[test]
    fn only_flushes_may_lack_an_address() {
        let spec = "csv:columns=op+off.sectors+len.sectors+time.ticks,hex=off+len";
        let (requests, _) = read(spec, "W,10,8,5\nF,,,6\nt,0x20,0x10,7").unwrap();
        let seen: Vec<_> = requests.iter().map(|r| (r.op, r.offset, r.bytes)).collect();
        let expected = [(Op::Write, 8192, 4096), (Op::Flush, 0, 0), (Op::Trim, 16384, 8192)];
        assert_eq!(seen, expected);
        assert_eq!(requests[2].time_ns, 200);
        assert!(read(spec, "W,,8,5").unwrap_err().contains("hexadecimal number"));
        assert!(read(spec, "W,8").unwrap_err().contains("column 3, which this format requires"));
    }

    #[test]
    fn the_default_columns_include_flags() {
        let (requests, _) =
            read("csv", "time_ns,device,rwbs,offset,bytes\n7,a,FWFS,1,2\n8,a,FW,0,0\n").unwrap();
        assert_eq!(requests[0].flags, Flags::PREFLUSH | Flags::FUA | Flags::SYNC);
        assert_eq!((requests[0].offset, requests[0].bytes), (1, 2));
        assert_eq!(requests[1].op, Op::Flush);
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>, text in "[0-9.,;\t \"RWrwxeE+-]{0,80}") {
            for example in EXAMPLES {
                for bytes in [&bytes[..], text.as_bytes()] {
                    let bytes = [b"\n", bytes].concat();
                    let parser = reader(example.spec).unwrap();
                    prop_assert!(read_all(parser, &bytes, true).is_ok());
                }
            }
        }

        /// Quotes around a field that contains no separator.
        #[test]
        fn needless_quotes_change_nothing(
            lines in proptest::collection::vec(("[0-9]{1,3}(\\.[0-9])?", "[RWx]", "[a-c ]{1,3}",
                                                "[0-9]{0,4}", "[0-9]{1,20}"), 1..5),
            quoted in 0_u8..32,
        ) {
            let spec = "csv:columns=time.s+op+dev+off.sectors+len.bytes";
            let line = |quoted: u8, line: &(String, String, String, String, String)| {
                let fields = [&line.0, &line.1, &line.2, &line.3, &line.4];
                let field = |(index, field): (usize, &&String)| match quoted >> index & 1 {
                    0 => (*field).clone(),
                    _ => format!("\"{field}\""),
                };
                fields.iter().enumerate().map(field).collect::<Vec<_>>().join(",") + "\n"
            };
            let text = |quoted| lines.iter().map(|one| line(quoted, one)).collect::<String>();
            let all = |quoted| {
                read_all(reader(spec).unwrap(), text(quoted).as_bytes(), true).unwrap()
            };
            let (plain, with_quotes) = (all(0), all(quoted));
            prop_assert_eq!(plain.0, with_quotes.0);
            prop_assert_eq!(plain.1, with_quotes.1);
        }

        #[test]
        fn any_keys_are_survived(text in "[a-z.:+_0-9]{0,40}") {
            let _ = reader(&format!("csv:columns={text}"));
        }
    }
}
