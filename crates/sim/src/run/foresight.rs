//! When each page that the host writes will die, found by a pass over the trace from its end.
//!
//! ```text
//! forwards    requests ─▶ spans of written and trimmed pages ─▶ file
//! backwards   file ─▶ for each page written: the next time that it is written or trimmed ─▶ file
//! the run     fill, warm-up passes, measured pass: deaths of their pages, read in order
//! ```
//! In memory are only two numbers for each page of the device, and buffers; so a trace may be
//! longer than the memory. The passes of a run are alike. So one list of deaths serves all of them:
//! a page that is not written again in its own pass dies at its first write in the next one, unless
//! there is none.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use ftl::contract::foresight::{Deaths, Foresight, Lifespans, NEVER};
use ftl::{Device, Span};
use trace::Op;

use crate::config::choices::Precondition;
use crate::config::setup::Setup;
use crate::error::{Error, Result};

/// Numbers in a buffer of a file.
const BUFFER: usize = 1 << 13;
/// Bytes of a number in a file.
const NUMBER_BYTES: u64 = 8;

/// The mark of a trim among the recorded spans.
const TRIM: u64 = 1 << 63;

/// What a run will write, as its scheme is told.
#[derive(Debug)]
struct KnownFuture {
    /// For each page written in a pass: the number of host pages written since the beginning of the
    /// pass when the page dies. If that is in the next pass, it is one more, because a trim at the
    /// end of a pass comes after as many pages as a write at the beginning of the next one.
    deaths: NumberFile,
    /// The first death of each page after the beginning of a pass.
    first: Vec<u64>,
    /// Whether the device is filled before the first pass.
    has_fill: bool,
    passes: u64,
    lifespans: Lifespans,
}

/// What a run will write, found in the spans of a pass, which `pass` shows in their order.
///
/// # Errors
/// The order of the writes cannot be known, or the trace cannot be read.
pub fn of_run(
    setup: &Setup,
    device: &Device,
    pass: impl FnOnce(&mut dyn FnMut(Op, &Span) -> Result<()>) -> Result<()>,
) -> Result<Arc<dyn Foresight>> {
    if let Some(why) = why_unknown(setup, device) {
        let scheme = device.choice.scheme.name;
        return Err(Error::Impossible(format!("{scheme} must know when pages die, but {why}")));
    }
    let mut recorder = Recorder::new(device.logical_pages())?;
    pass(&mut |op, span| recorder.record(op, span))?;
    let has_fill = setup.experiment.precondition == Precondition::Fill;
    let passes = u64::from(setup.experiment.warmup) + 1;
    Ok(Arc::new(recorder.look_back(has_fill, passes)?))
}

/// Why the order of the writes of a run cannot be known, if it cannot.
fn why_unknown(setup: &Setup, device: &Device) -> Option<&'static str> {
    if !device.layers.is_empty() {
        Some("layers change the order in which pages are written; leave them out")
    } else if setup.has_tenants() {
        Some("the order of several loads depends on the time that they take; give a single trace")
    } else if setup.experiment.until.is_some() {
        Some("`--until` decides the number of rounds later; use `--warmup` instead")
    } else {
        None
    }
}

/// Records the pages that a pass writes and trims.
struct Recorder {
    spans: BufWriter<File>,
    count: u64,
    /// Host pages written so far.
    written: u64,
    first: Vec<u64>,
}

impl Recorder {
    fn new(logical_pages: u32) -> Result<Recorder> {
        let spans = BufWriter::new(temporary()?);
        Ok(Recorder { spans, count: 0, written: 0, first: vec![NEVER; logical_pages as usize] })
    }

    fn record(&mut self, op: Op, span: &Span) -> Result<()> {
        let mark = match op {
            Op::Write => 0,
            Op::Trim => TRIM,
            Op::Read | Op::Flush => return Ok(()),
        };
        let record = mark | u64::from(span.pages) << 32 | u64::from(span.first);
        self.spans.write_all(&record.to_le_bytes()).map_err(no_file)?;
        self.count += 1;
        for lpn in span.first..span.first + span.pages {
            let first = &mut self.first[lpn as usize];
            *first = self.written.min(*first);
            self.written += u64::from(mark == 0);
        }
        Ok(())
    }

    /// Goes through the recorded pages from the last to the first.
    fn look_back(self, has_fill: bool, passes: u64) -> Result<KnownFuture> {
        let Recorder { spans, count, written: length, first, .. } = self;
        let file = spans.into_inner().map_err(|error| no_file(error.into_error()))?;
        let spans = NumberFile { file, count };
        let mut deaths = BackwardWriter::new(length)?;
        let mut lifespans = Lifespans::default();
        let in_next_pass = |&first: &u64| first.saturating_add(length + 1);
        let mut next: Vec<u64> = first.iter().map(in_next_pass).collect();
        let (mut now, mut from) = (length, count);
        let mut buffer = Vec::new();
        while from > 0 {
            let some = from.min(BUFFER as u64);
            from -= some;
            spans.read(from, some as usize, &mut buffer)?;
            for &record in buffer.iter().rev() {
                let (pages, lpn) = ((record & !TRIM) >> 32, record as u32);
                for lpn in (lpn..lpn + pages as u32).rev() {
                    let death = &mut next[lpn as usize];
                    if record & TRIM == 0 {
                        now -= 1;
                        let is_foreseen = *death <= length || (passes > 1 && *death != NEVER);
                        let in_next_pass = u64::from(*death > length);
                        lifespans.add(is_foreseen.then(|| *death - in_next_pass - now));
                        deaths.push(*death)?;
                    }
                    *death = now;
                }
            }
        }
        Ok(KnownFuture { deaths: deaths.finish()?, first, has_fill, passes, lifespans })
    }
}

impl Foresight for KnownFuture {
    fn lifespans(&self) -> &Lifespans {
        &self.lifespans
    }

    fn deaths(&self) -> ftl::Result<Box<dyn Deaths>> {
        Ok(Box::new(DeathsInOrder {
            deaths: self.deaths.again().map_err(unreadable)?,
            fill: if self.has_fill { self.first.clone() } else { Vec::new() },
            filled: 0,
            passes_left: self.passes,
            at: 0,
            buffer: Vec::new(),
            start: if self.has_fill { self.first.len() as u64 } else { 0 },
        }))
    }
}

/// The deaths of pages in the order in which a run writes them.
struct DeathsInOrder {
    deaths: NumberFile,
    /// The deaths of the pages with which the device is filled, as in the first pass.
    fill: Vec<u64>,
    filled: usize,
    passes_left: u64,
    /// The next page of the pass.
    at: u64,
    /// Numbers read ahead, the next one last.
    buffer: Vec<u64>,
    /// Host pages written before the pass.
    start: u64,
}

impl Deaths for DeathsInOrder {
    fn next(&mut self) -> ftl::Result<u64> {
        if let Some(&death) = self.fill.get(self.filled) {
            self.filled += 1;
            return Ok(death.saturating_add(self.start));
        }
        let length = self.deaths.count;
        if self.at == length {
            (self.at, self.start) = (0, self.start + length);
            self.passes_left = self.passes_left.saturating_sub(1);
        }
        if self.passes_left == 0 || length == 0 {
            let what = "the host writes more pages than its trace foretold".to_owned();
            return Err(ftl::Error::Impossible(what));
        }
        if self.buffer.is_empty() {
            let some = (length - self.at).min(BUFFER as u64) as usize;
            let read = self.deaths.read(self.at, some, &mut self.buffer);
            read.map_err(|error| ftl::Error::Impossible(error.to_string()))?;
            self.buffer.reverse();
        }
        self.at += 1;
        let death = self.buffer.pop().expect("the buffer was filled");
        Ok(match death {
            NEVER => NEVER,
            _ if death <= length => self.start + death,
            _ if self.passes_left == 1 => NEVER,
            _ => self.start + death - 1,
        })
    }
}

// ---- Files of numbers -------------------------------------------------------------------------

/// Numbers of 64 bits in a temporary file.
#[derive(Debug)]
struct NumberFile {
    file: File,
    count: u64,
}

impl NumberFile {
    /// Reads `count` numbers from number `from` on.
    fn read(&self, from: u64, count: usize, numbers: &mut Vec<u64>) -> Result<()> {
        let mut bytes = vec![0; count * NUMBER_BYTES as usize];
        self.file.read_exact_at(&mut bytes, from * NUMBER_BYTES).map_err(no_file)?;
        numbers.clear();
        let words: &[[u8; 8]] = bytes.as_chunks().0;
        numbers.extend(words.iter().map(|&word| u64::from_le_bytes(word)));
        Ok(())
    }

    /// The same file once more.
    fn again(&self) -> io::Result<NumberFile> {
        Ok(NumberFile { file: self.file.try_clone()?, count: self.count })
    }
}

/// Writes the numbers of a file from the last to the first.
struct BackwardWriter {
    numbers: NumberFile,
    /// Numbers that are not written yet, the last of the file first.
    buffer: Vec<u64>,
    left: u64,
}

impl BackwardWriter {
    fn new(count: u64) -> Result<BackwardWriter> {
        let numbers = NumberFile { file: temporary()?, count };
        Ok(BackwardWriter { numbers, buffer: Vec::with_capacity(BUFFER), left: count })
    }

    fn push(&mut self, number: u64) -> Result<()> {
        self.buffer.push(number);
        if self.buffer.len() == BUFFER { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<()> {
        self.left -= self.buffer.len() as u64;
        let bytes: Vec<u8> = self.buffer.iter().rev().flat_map(|n| n.to_le_bytes()).collect();
        self.numbers.file.write_all_at(&bytes, self.left * NUMBER_BYTES).map_err(no_file)?;
        self.buffer.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<NumberFile> {
        self.write()?;
        debug_assert_eq!(self.left, 0, "some numbers are missing");
        Ok(self.numbers)
    }
}

fn temporary() -> Result<File> {
    tempfile::tempfile().map_err(no_file)
}

fn no_file(error: io::Error) -> Error {
    Error::Impossible(format!(
        "the deaths of pages are kept in a temporary file, which cannot be written or read: \
         {error}; make room, or set TMPDIR to another directory"
    ))
}

fn unreadable(error: io::Error) -> ftl::Error {
    ftl::Error::Impossible(no_file(error).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{Rng, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    const PAGES: u32 = 40;

    fn spans(count: usize) -> Vec<(Op, Span)> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(9);
        let mut below = |bound: u32| rng.next_u32() % bound;
        let random = |_| {
            let op = [Op::Write, Op::Write, Op::Read, Op::Trim, Op::Flush][below(5) as usize];
            let first = below(PAGES - 4);
            let pages = 1 + below(4);
            (op, Span { first, pages, head: u64::MAX, tail: u64::MAX, stream: 0 })
        };
        (0..count).map(random).collect()
    }

    /// The deaths of all pages written, by looking forwards from each write.
    fn naive(spans: &[(Op, Span)], has_fill: bool, passes: usize) -> Vec<u64> {
        let all = Span { first: 0, pages: PAGES, head: u64::MAX, tail: u64::MAX, stream: 0 };
        let fill = has_fill.then_some((Op::Write, all));
        let passes = (0..passes).flat_map(|_| spans.iter().copied());
        // Each written or trimmed page with the number of pages written before it.
        let (mut pages, mut written) = (Vec::new(), 0);
        for (op, span) in fill.into_iter().chain(passes) {
            for lpn in (span.first..span.first + span.pages).filter(|_| op != Op::Read) {
                if let Op::Write | Op::Trim = op {
                    pages.push((op, lpn, written));
                    written += u64::from(op == Op::Write);
                }
            }
        }
        let death = |at: usize, lpn: u32| {
            let later = pages[at + 1..].iter().find(|&&(_, other, _)| other == lpn);
            later.map_or(NEVER, |&(_, _, written)| written)
        };
        let writes = pages.iter().enumerate().filter(|(_, (op, ..))| *op == Op::Write);
        writes.map(|(at, &(_, lpn, _))| death(at, lpn)).collect()
    }

    fn foreseen(spans: &[(Op, Span)], has_fill: bool, passes: u64) -> KnownFuture {
        let mut recorder = Recorder::new(PAGES).unwrap();
        spans.iter().for_each(|(op, span)| recorder.record(*op, span).unwrap());
        recorder.look_back(has_fill, passes).unwrap()
    }

    #[test]
    fn deaths_are_those_that_a_look_forwards_finds() {
        let spans = spans(300);
        for (has_fill, passes) in [(false, 1), (true, 1), (false, 3), (true, 2)] {
            let future = foreseen(&spans, has_fill, passes);
            let mut deaths = future.deaths().unwrap();
            let expected = naive(&spans, has_fill, passes as usize);
            let found: Vec<u64> = expected.iter().map(|_| deaths.next().unwrap()).collect();
            assert_eq!(found, expected, "fill {has_fill}, {passes} passes");
            let error = deaths.next().unwrap_err().to_string();
            assert!(error.contains("more pages than its trace foretold"), "{error}");
        }
    }

    #[test]
    fn more_pages_than_a_buffer_holds_are_kept_in_order() {
        let spans = spans(3 * BUFFER);
        let future = foreseen(&spans, false, 1);
        assert!(future.deaths.count > 2 * BUFFER as u64, "{} deaths", future.deaths.count);
        let mut deaths = future.deaths().unwrap();
        let mut next = vec![NEVER; PAGES as usize];
        let mut backwards = Vec::new();
        let mut now = future.deaths.count;
        for (op, span) in spans.iter().rev().filter(|(op, _)| matches!(op, Op::Write | Op::Trim)) {
            for lpn in (span.first..span.first + span.pages).rev() {
                if *op == Op::Write {
                    now -= 1;
                    backwards.push(next[lpn as usize]);
                }
                next[lpn as usize] = now;
            }
        }
        assert!(backwards.into_iter().rev().all(|death| deaths.next().unwrap() == death));
    }
}
