//! Chrome's trace-event format, as Perfetto's viewer reads it.
//!
//! ```text
//! {"displayTimeUnit":"ns","traceEvents":[
//! {"ph":"M","name":"process_name","pid":4,"tid":0,"args":{"name":"dies"}},
//! {"ph":"X","name":"program gc","cat":"die","pid":4,"tid":10,"ts":12.345,"dur":900.000, …}
//! ],"otherData":{"ftlab":"0.1.0", …}}
//! ```
//! Times are microseconds with three decimals. They are printed from whole nanoseconds, because a
//! floating-point number cannot hold every nanosecond of a long run. An event is written as soon as
//! it is known, so a document is never in memory as a whole.

use std::io::{self, Write};

use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// A time or duration in nanoseconds, written in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Micros(pub u64);

impl Serialize for Micros {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = format!("{}.{:03}", self.0 / 1000, self.0 % 1000);
        RawValue::from_string(text).map_err(S::Error::custom)?.serialize(serializer)
    }
}

/// An event. `pid` and `tid` say on which track it lies, `ts` when it began.
#[derive(Debug, Serialize)]
#[serde(tag = "ph")]
pub enum Event<A: Serialize> {
    /// The name of a process or track, or its place among the others.
    #[serde(rename = "M")]
    Metadata {
        /// What is said.
        name: &'static str,
        /// The process.
        pid: u32,
        /// The track; of no meaning if it is said of the process.
        tid: u32,
        /// The name or the place.
        args: A,
    },
    /// Something that took time.
    #[serde(rename = "X")]
    Slice {
        /// Its name.
        name: String,
        /// Its category.
        cat: &'static str,
        /// The process.
        pid: u32,
        /// The track.
        tid: u32,
        /// When it began.
        ts: Micros,
        /// How long it took.
        dur: Micros,
        /// Its colour, by a name of Chrome's viewer. Perfetto's viewer takes another colour for
        /// each name of a slice.
        cname: &'static str,
        /// Everything else.
        args: A,
    },
    /// Something that took no time.
    #[serde(rename = "i")]
    Instant {
        /// Its name.
        name: String,
        /// Its category.
        cat: &'static str,
        /// The process.
        pid: u32,
        /// The track.
        tid: u32,
        /// When it happened.
        ts: Micros,
        /// Whom it concerns: `t`, its track.
        s: &'static str,
        /// Everything else.
        args: A,
    },
    /// An arrow begins in the slice that is at this time on this track.
    #[serde(rename = "s")]
    ArrowBegin {
        /// Its name, the same at both ends.
        name: &'static str,
        /// Its category, the same at both ends.
        cat: &'static str,
        /// Its number, the same at both ends.
        id: u64,
        /// The process.
        pid: u32,
        /// The track.
        tid: u32,
        /// The time.
        ts: Micros,
    },
    /// An arrow ends in the slice that is at this time on this track.
    #[serde(rename = "f")]
    ArrowEnd {
        /// Its name, the same at both ends.
        name: &'static str,
        /// Its category, the same at both ends.
        cat: &'static str,
        /// Its number, the same at both ends.
        id: u64,
        /// The process.
        pid: u32,
        /// The track.
        tid: u32,
        /// The time.
        ts: Micros,
        /// Where it ends: `e`, in the slice around it and not in the next one.
        bp: &'static str,
        /// Everything else.
        args: A,
    },
    /// A counter has a new value.
    #[serde(rename = "C")]
    Counter {
        /// Its name.
        name: &'static str,
        /// The process.
        pid: u32,
        /// Since when.
        ts: Micros,
        /// The value.
        args: A,
    },
}

/// A document that is being written.
pub struct Document<'a> {
    out: io::BufWriter<&'a mut dyn Write>,
    separator: &'static str,
}

impl<'a> Document<'a> {
    /// A document that begins with its head.
    ///
    /// # Errors
    /// The head cannot be written.
    pub fn new(out: &'a mut dyn Write) -> io::Result<Document<'a>> {
        let mut out = io::BufWriter::with_capacity(1 << 16, out);
        // Perfetto's reader asks for the unit before it reads the first event.
        out.write_all(br#"{"displayTimeUnit":"ns","traceEvents":["#)?;
        Ok(Document { out, separator: "\n" })
    }

    /// Writes an event.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn event<A: Serialize>(&mut self, event: &Event<A>) -> io::Result<()> {
        self.out.write_all(self.separator.as_bytes())?;
        self.separator = ",\n";
        Ok(serde_json::to_writer(&mut self.out, event)?)
    }

    /// Writes the end, with what is said about the whole document.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(&mut self, about: &impl Serialize) -> io::Result<()> {
        self.out.write_all(b"\n],\"otherData\":")?;
        serde_json::to_writer(&mut self.out, about)?;
        self.out.write_all(b"}\n")?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_every_nanosecond() {
        let cases = [
            (0, "0.000"),
            (1, "0.001"),
            (12_345, "12.345"),
            (9_007_199_254_740_993, "9007199254740.993"),
            (u64::MAX, "18446744073709551.615"),
        ];
        for (ns, expected) in cases {
            assert_eq!(serde_json::to_string(&Micros(ns)).unwrap(), expected);
        }
    }

    #[test]
    fn a_document_is_one_object_with_an_event_per_line() {
        let mut bytes = Vec::new();
        let mut document = Document::new(&mut bytes).unwrap();
        for ts in [7, 1_000] {
            let (ts, args) = (Micros(ts), [("pages", 3)]);
            let args = std::collections::BTreeMap::from(args);
            document.event(&Event::Counter { name: "buffer", pid: 1, ts, args }).unwrap();
        }
        document.finish(&["about it"]).unwrap();
        drop(document);
        let expected = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n\
            {\"ph\":\"C\",\"name\":\"buffer\",\"pid\":1,\"ts\":0.007,\"args\":{\"pages\":3}},\n\
            {\"ph\":\"C\",\"name\":\"buffer\",\"pid\":1,\"ts\":1.000,\"args\":{\"pages\":3}}\n\
            ],\"otherData\":[\"about it\"]}\n";
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    }
}
