//! Do discards help? Do streams, or a write buffer?
//!
//! Each is the difference to the same run without it. Bytes programmed for a byte of the host are
//! compared, because a buffer changes the pages that reach the FTL.

use serde::Serialize;

use crate::advise::answer::Answer;
use crate::advise::bench::Bench;
use crate::advise::spare::amplifications;
use crate::advise::subject::Subject;
use crate::config::choices::{FlushMode, Streams, TrimMode};
use crate::config::experiment::Experiment;
use crate::config::setup::Setup;
use crate::error::Result;
use crate::result::run_result::RunResult;

/// What helps.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/advise.md documents every field")]
pub struct Effects {
    /// Of the run with which all are compared, in bytes programmed for a byte of the host.
    pub write_amplification_bytes: f64,
    pub discards: Answer<Effect>,
    pub streams: Vec<Effect>,
    pub buffer: Effect,
    /// The buffer as a share of the device.
    pub buffer_share: f64,
}

/// What one thing changes.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/advise.md documents every field")]
pub struct Effect {
    pub what: &'static str,
    /// The options that make the difference.
    pub options: String,
    /// Bytes programmed for a byte of the host, with it.
    pub with: f64,
    /// The same without it.
    pub without: f64,
    /// with / without − 1: what it saves is negative.
    pub change: f64,
}

impl Effect {
    fn of(what: &'static str, options: &str, with: f64, without: f64) -> Effect {
        Effect { what, options: options.to_owned(), with, without, change: with / without - 1.0 }
    }
}

/// Volumes that can be told apart by streams.
const VOLUMES_MAX: u64 = 63;
/// The write buffer, protected against power loss, so that flushes need not wait for flash.
const BUFFER: &str = "32MiB";

/// Runs with discards ignored, with each kind of streams, and with a buffer.
///
/// # Errors
/// As for any run.
pub fn effects(subject: &Subject, own: &RunResult, bench: &Bench) -> Result<Effects> {
    let variants = variants(subject)?;
    let setups: Vec<Setup> = variants.iter().map(|(_, setup)| setup.clone()).collect();
    let results = bench.results(&subject.input, "effect", &setups)?;
    let cost = |result: &RunResult| amplifications(result)[1];
    let base = cost(own);
    let mut streams = Vec::new();
    let (mut discards, mut buffer) = (None, None);
    for ((variant, _), result) in variants.iter().zip(&results) {
        let cost = cost(result);
        match *variant {
            Variant::NoDiscards => {
                discards = Some(Effect::of("discards", "--trim honour", base, cost));
            }
            Variant::Streams(what, options) => {
                streams.push(Effect::of(what, options, cost, base));
            }
            Variant::Buffer => {
                let options = format!("--buffer {BUFFER} --flush ignore");
                buffer = Some(Effect::of("buffer", &options, cost, base));
            }
        }
    }
    let discards = Answer::unless(subject.look.without_trims(), || {
        Ok::<_, crate::Error>(discards.expect("a trace with discards was run without them"))
    })?;
    Ok(Effects {
        write_amplification_bytes: base,
        discards,
        streams,
        buffer: buffer.expect("a buffer was tried"),
        buffer_share: spec::parse_size(BUFFER)? as f64 / subject.capacity_bytes() as f64,
    })
}

/// A run that differs in one thing.
#[derive(Clone, Copy, Debug)]
enum Variant {
    NoDiscards,
    Streams(&'static str, &'static str),
    Buffer,
}

fn variants(subject: &Subject) -> Result<Vec<(Variant, Setup)>> {
    let look = &subject.look;
    let by_streams = |streams: Streams| {
        subject.careful(|it: &mut Experiment| {
            it.ftl = "streams".into();
            it.streams = streams;
        })
    };
    let mut variants = Vec::new();
    if look.trims > 0 {
        variants.push((Variant::NoDiscards, subject.careful(|it| it.trim = TrimMode::Ignore)?));
    }
    let size = ("streams by request size", "--ftl streams --streams size");
    let volume = ("streams by volume", "--ftl streams --streams volume");
    let column = ("streams that the trace names", "--ftl streams --streams column");
    let kinds = [
        (true, size, Streams::Size),
        ((2..=VOLUMES_MAX).contains(&look.volumes), volume, Streams::Volume),
        (look.has_streams, column, Streams::Column),
    ];
    for (_, (what, options), streams) in kinds.into_iter().filter(|kind| kind.0) {
        variants.push((Variant::Streams(what, options), by_streams(streams)?));
    }
    let buffered = subject.careful(|it| {
        *it = it.clone().with("buffer", BUFFER).expect("a size is a buffer");
        it.flush = FlushMode::Ignore;
    })?;
    variants.push((Variant::Buffer, buffered));
    Ok(variants)
}
