//! The life of a device: a load, again and again, until a die has no block left in reserve.
//!
//! ```text
//! fill ─► the trace, repeated ─┬─ a block fails, and another takes its place ─► …
//!                              └─ there is none: the device can only be read ─► result
//! ```
//! A life takes as many erases as the flash can, so scale `endurance` down to stay within seconds:
//! write amplification and the order of failures do not depend on it, as long as each block is
//! erased some tens of times.

use ftl::contract::guest::GuestFaultKind;
use ftl::{Metric, Report};
use nand::{Error as ChipError, Op};
use serde::Serialize;
use trace::{Op as TraceOp, Request};

use crate::config::choices::Precondition;
use crate::config::experiment::ExperimentOption;
use crate::config::setup::Setup;
use crate::device;
use crate::error::{Error, Result};
use crate::input::batch::Batch;
use crate::input::{Input, InputLoad};
use crate::progress::Stage;
use crate::result::counts::Causes;
use crate::result::media_part::MediaPart;
use crate::result::wear::WearPart;
use crate::run::life_course::{Course, Ended, LifePoint, Sizes};
use crate::run::measure::Observer;
use crate::run::repeated::Repeated;
use crate::run::simulator::{Served, Simulator};
use crate::run::{RunOptions, Stages};

/// Options of experiments that a life does not have: it has no time, and everything in it counts.
const LEFT_OUT: [&str; 11] = [
    "policy",
    "each_volume",
    "volumes",
    "replay",
    "warmup",
    "measure_after",
    "until",
    "timing",
    "drive",
    "interval",
    "verify",
];

/// Whether a life has this option of experiments.
pub fn takes(option: &ExperimentOption) -> bool {
    !LEFT_OUT.contains(&option.name)
}

/// A life, from new to read-only.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/lifetime.md documents every field")]
pub struct Life {
    pub schema: &'static str,
    pub ftl: String,
    pub chip: String,
    pub media: String,
    pub seed: u64,
    pub is_filled: bool,
    /// The policy of wear levelling.
    pub levelling: String,
    pub capacity_bytes: u64,
    pub blocks: u64,
    pub reserve_blocks: u64,
    pub host_bytes: u64,
    pub drive_writes: f64,
    /// Drive writes until the first and the last block was replaced; none if none was.
    pub first_retired_after: Option<f64>,
    pub last_retired_after: Option<f64>,
    pub write_amplification: f64,
    pub write_amplification_bytes: f64,
    /// Drive writes if all blocks, those in reserve too, took their mean number of erases.
    pub drive_writes_if_even: f64,
    pub programs: Causes,
    pub erases: Causes,
    pub wear: WearPart,
    pub blocks_failed: MediaPart,
    /// Who wears the device out, if the scheme separates pages by classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_class: Vec<ClassWear>,
    /// What each of several loads wrote.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_load: Vec<LoadWear>,
    pub course: Vec<LifePoint>,
}

/// What was programmed in a class over the life.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/lifetime.md documents every field")]
pub struct ClassWear {
    /// Its number, from 1: that of the stream, if each stream has a class.
    pub class: usize,
    pub host_bytes: u64,
    pub copied_bytes: u64,
    /// Of everything that was programmed for the host and by garbage collection.
    pub share: f64,
}

impl ClassWear {
    /// Of all classes that a scheme reports.
    fn of(report: &Report, page_bytes: u32) -> Vec<ClassWear> {
        let counts = |name: &str| -> &[u64] {
            let figure = report.figures.iter().find(|(figure, _)| *figure == name);
            match figure {
                Some((_, Metric::Counts(counts))) => counts,
                _ => &[],
            }
        };
        let (writes, copies) = (counts("class_writes"), counts("class_copies"));
        let all: u64 = writes.iter().chain(copies).sum();
        let bytes = |pages: u64| pages * u64::from(page_bytes);
        let class = |(class, (&written, &copied)): (usize, (&u64, &u64))| ClassWear {
            class,
            host_bytes: bytes(written),
            copied_bytes: bytes(copied),
            share: (written + copied) as f64 / all.max(1) as f64,
        };
        (1..).zip(writes.iter().zip(copies)).map(class).collect()
    }
}

/// What a load wrote over the life.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/lifetime.md documents every field")]
pub struct LoadWear {
    pub trace: String,
    pub written_bytes: u64,
    /// Of everything that the loads wrote.
    pub share: f64,
}

/// The bytes that each load wrote.
struct WrittenBytes {
    by_load: Vec<u64>,
    /// The load and the bytes of each request that is announced and not served, from the last one
    /// on.
    waiting: Vec<(usize, u64)>,
}

impl WrittenBytes {
    fn new(loads: usize) -> WrittenBytes {
        WrittenBytes { by_load: vec![0; loads], waiting: Vec::new() }
    }

    fn all(&self) -> u64 {
        self.by_load.iter().sum()
    }
}

impl Observer for WrittenBytes {
    fn announced(&mut self, batch: &Batch) {
        let is_write = |request: &Request| request.op == TraceOp::Write;
        let bytes = |request: &Request| if is_write(request) { request.bytes } else { 0 };
        self.waiting.clear();
        self.waiting.extend(batch.requests().map(|(load, request)| (load, bytes(request))));
        self.waiting.reverse();
    }

    fn served(&mut self, _: usize, _: TraceOp, _: Served, requests: u64, _: &mut Simulator) {
        let left = self.waiting.len() - requests as usize;
        for (load, bytes) in self.waiting.drain(left..) {
            self.by_load[load] += bytes;
        }
    }
}

/// Lives through the setup's load until the device can only be read.
///
/// # Errors
/// The media never fail, the trace writes nothing, it cannot be read or does not fit, or the run is
/// stopped.
pub fn life(setup: &Setup, options: RunOptions) -> Result<Life> {
    if setup.media.is_none() {
        return Err(Error::Impossible(
            "flash that never fails lives for ever: give `--media real`, such as \
             `real:endurance=100`"
                .into(),
        ));
    }
    let RunOptions { input, progress, memory, .. } = options;
    let opened;
    let input = match input {
        Some(input) => input,
        None => {
            opened = Input::open_cached(setup, memory.run_cache_bytes(), progress)?;
            &opened
        }
    };
    let device = device::of(setup, input.needed_bytes())?;
    let stages = Stages::new(setup, input, &device, progress)?;
    stages.needs_writes()?;
    let _reservation = memory.reserve(setup, &device, progress)?;
    stages.life(&mut Simulator::new(&device, &setup.experiment)?)
}

impl Stages<'_> {
    fn life(&self, simulator: &mut Simulator) -> Result<Life> {
        let geometry = self.device.geometry();
        let mut course = Course::new(Sizes {
            logical_pages: self.device.logical_pages(),
            capacity_bytes: self.device.capacity_bytes(),
            blocks: geometry.blocks(),
        });
        let mut written = WrittenBytes::new(self.input.loads().len());
        match self.live(simulator, &mut course, &mut written) {
            Err(Error::Ftl(ftl::Error::Chip(ChipError::WornOut { .. }))) => {}
            Err(Error::Ftl(ftl::Error::Guest(fault))) if fault.kind == GuestFaultKind::ReadOnly => {
            }
            Err(error) => return Err(error),
            Ok(never) => match never {},
        }
        let host_bytes = self.filled_bytes() + written.all();
        let by_load = self.by_load(&written);
        Ok(Life { by_load, ..self.lived(simulator, host_bytes, course.end(simulator, host_bytes)) })
    }

    /// Serves the load until it fails.
    fn live(
        &self,
        simulator: &mut Simulator,
        course: &mut Course,
        written: &mut WrittenBytes,
    ) -> Result<core::convert::Infallible> {
        let pages = u64::from(self.device.logical_pages());
        if self.setup.experiment.precondition == Precondition::Fill {
            simulator.fill(|done| self.progress.report(Stage::Fill, done, Some(pages)))?;
        }
        course.look(simulator, self.filled_bytes());
        let mut repeated = Repeated::new(self.pass(Stage::Measure)?);
        for round in 1.. {
            let end = simulator.asked().written + pages;
            loop {
                let left = end.saturating_sub(simulator.asked().written);
                self.progress.report(
                    Stage::Round(round),
                    pages.saturating_sub(left),
                    Some(pages),
                )?;
                if left == 0 {
                    break;
                }
                self.next_batch(&mut repeated, left)?;
                let before = simulator.asked().written;
                let served = repeated.pass.serve(simulator, written);
                // Blocks do not fail in every batch, so it is enough to look after each.
                course.look(simulator, self.filled_bytes() + written.all());
                served?;
                repeated.has_written |= simulator.asked().written > before;
            }
        }
        unreachable!("a life has fewer rounds than 32 bits can count")
    }

    /// What the host wrote before the load.
    fn filled_bytes(&self) -> u64 {
        match self.setup.experiment.precondition {
            Precondition::Fill => self.device.capacity_bytes(),
            _ => 0,
        }
    }

    /// What each load wrote, if there are several.
    fn by_load(&self, written: &WrittenBytes) -> Vec<LoadWear> {
        let all = written.all();
        let load = |(load, &written_bytes): (&InputLoad, &u64)| LoadWear {
            trace: load.name().to_owned(),
            written_bytes,
            share: written_bytes as f64 / all.max(1) as f64,
        };
        match self.input.loads() {
            [_] => Vec::new(),
            loads => loads.iter().zip(&written.by_load).map(load).collect(),
        }
    }

    fn lived(&self, simulator: &Simulator, host_bytes: u64, course: Ended) -> Life {
        let (nand, device) = (simulator.nand(), self.device);
        let media = nand.media().expect("a life is on media that can fail");
        let model = self.setup.media.expect("a life is on media that can fail");
        let geometry = device.geometry();
        let page_bytes = f64::from(geometry.page_bytes());
        let drive_writes = |bytes: u64| bytes as f64 / device.capacity_bytes() as f64;
        let programs = Causes::of(nand.tally(), Op::Program);
        let for_each = |written: u64| programs.total as f64 / written.max(1) as f64;
        let write_amplification_bytes = page_bytes * for_each(host_bytes);
        let blocks = u64::from(geometry.blocks());
        let reserve_blocks = media.reserve_blocks();
        // Whatever was in use or in reserve and did not come bad.
        let good = blocks + media.in_reserve() + media.counts().retired();
        let flash_bytes = good as f64 * f64::from(geometry.pages_per_block()) * page_bytes;
        Life {
            schema: "ftlab.life/1",
            ftl: self.setup.experiment.ftl.clone(),
            chip: self.setup.experiment.chip.clone(),
            media: self.setup.experiment.media.clone(),
            seed: self.setup.experiment.seed,
            is_filled: self.setup.experiment.precondition == Precondition::Fill,
            levelling: self.setup.experiment.wear.clone(),
            capacity_bytes: device.capacity_bytes(),
            blocks,
            reserve_blocks,
            host_bytes,
            drive_writes: drive_writes(host_bytes),
            first_retired_after: course.first_retired.map(drive_writes),
            last_retired_after: course.last_retired.map(drive_writes),
            write_amplification: for_each(simulator.asked().written),
            write_amplification_bytes,
            drive_writes_if_even: f64::from(model.endurance) * flash_bytes
                / (write_amplification_bytes * device.capacity_bytes() as f64),
            programs,
            erases: Causes::of(nand.tally(), Op::Erase),
            wear: WearPart::of(nand.array().wear_of_blocks()),
            blocks_failed: MediaPart::of(media, simulator.failed_requests()),
            by_class: ClassWear::of(&simulator.ftl().report(), geometry.page_bytes()),
            by_load: Vec::new(),
            course: course.points,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::experiment::Experiment;

    fn lived(change: impl Fn(&mut Experiment)) -> Result<Life> {
        let mut experiment = Experiment {
            trace: Some("uniform:requests=20K".into()),
            capacity_bytes: Some(8 << 20),
            extra: Some("20%".parse().unwrap()),
            media: "real:endurance=60,factory_bad=1%".into(),
            reserve: Some("10%".parse().unwrap()),
            ..Experiment::default()
        };
        change(&mut experiment);
        life(&Setup::new(&experiment)?, RunOptions::default())
    }

    #[test]
    fn a_life_ends_when_no_block_is_left_in_reserve() {
        for ftl in ["page", "dac", "dftl:cmt=1KiB", "fast", "last", "bast"] {
            let life = lived(|experiment| experiment.ftl = ftl.into()).unwrap();
            let counts = life.blocks_failed;
            let all = life.blocks + life.reserve_blocks;
            let in_use = life.blocks;
            // A block that failed and could not be replaced is still counted as in use.
            let sum = in_use + counts.in_reserve + counts.retired + counts.factory_bad;
            assert_eq!(sum, all, "{ftl}: {counts:?}");
            assert_eq!((counts.in_reserve, counts.read_only), (0, true), "{ftl}");
            assert!(life.drive_writes <= life.drive_writes_if_even, "{ftl}: {life:?}");
            assert!(life.first_retired_after < life.last_retired_after, "{ftl}");
            let good = (in_use + counts.in_reserve + counts.retired) as f64;
            let even = 60.0 * good * 64.0 / (life.write_amplification * 64.0 * 64.0);
            assert!((life.drive_writes_if_even / even - 1.0).abs() < 1e-9, "{ftl}: {even}");
            // What was programmed was erased, apart from what is on flash in the end. Log-block
            // schemes erase pages that were never programmed, too.
            let programmed = (life.programs.total - life.programs.media) as f64 / 64.0;
            let erased = life.erases.total as f64;
            assert!(programmed - erased < all as f64, "{ftl}: {programmed}, {erased}");
            let last = life.course.last().expect("a course");
            assert_eq!((last.retired, last.in_reserve), (counts.retired, 0), "{ftl}");
        }
    }

    /// Every block is in use, in reserve or retired at every point, and the programs of all points
    /// are those of the life.
    #[test]
    fn a_course_accounts_for_all_blocks_and_programs() {
        for ftl in ["page", "dac", "fast"] {
            let life = lived(|experiment| {
                experiment.ftl = ftl.into();
                experiment.media.push_str(",program_fail=0.001%,erase_fail=0.01%");
            });
            let life = life.unwrap();
            let all = life.blocks + life.reserve_blocks - life.blocks_failed.factory_bad;
            let (mut before, mut programs) = ((0, 0, 0, 0), 0.0);
            for point in &life.course {
                assert_eq!(
                    point.in_use + point.in_reserve + point.retired,
                    all,
                    "{ftl}: {point:?}"
                );
                let LifePoint { program_failures, erase_failures, worn_out, .. } = *point;
                assert_eq!(point.retired, program_failures + erase_failures + worn_out);
                let now = (point.host_bytes, program_failures, erase_failures, worn_out);
                assert!(before.0 < now.0 && before.1 <= now.1 && before.2 <= now.2);
                assert!(before.3 <= now.3);
                programs += (now.0 - before.0) as f64 / 2048.0 * point.write_amplification;
                before = now;
            }
            let counts = &life.blocks_failed;
            let reasons = (counts.program_failures, counts.erase_failures, counts.worn_out);
            assert_eq!((before.1, before.2, before.3), reasons, "{ftl}");
            assert!(counts.program_failures > 0 && counts.worn_out > 0, "{ftl}: {counts:?}");
            assert!((programs - life.programs.total as f64).abs() < 0.5, "{ftl}: {programs}");
            let after = |point: &&LifePoint| Some(point.drive_writes) == life.first_retired_after;
            assert_eq!(life.course.iter().find(after).map(|first| first.retired > 0), Some(true));
            assert!(life.course.len() > 30, "{ftl}: {} points", life.course.len());
        }
    }

    /// What `size` predicts for even wear, divided by the unevenness that the erases show, is what
    /// the host could write: within 5 %. A log-block scheme that erases blocks with few pages, as
    /// bast does here, gets less from its erases.
    #[test]
    fn what_the_host_writes_follows_from_the_erases_that_were_made() {
        for ftl in ["page", "dac", "sepgc", "dftl:cmt=1KiB", "fast", "last"] {
            let life = lived(|experiment| experiment.ftl = ftl.into()).unwrap();
            let good = life.blocks + life.blocks_failed.in_reserve + life.blocks_failed.retired;
            let unevenness = 60.0 * good as f64 / life.erases.total as f64;
            let ratio = life.drive_writes / (life.drive_writes_if_even / unevenness);
            assert!((ratio - 1.0).abs() < 0.05, "{ftl}: {ratio}");
            assert!(unevenness > 1.05, "{ftl}: the wear is never even: {unevenness}");
        }
    }

    /// What a byte of the host costs in a run is what it costs in a life behind the fill, whatever
    /// parts of pages the requests write: within 5 %.
    #[test]
    fn parts_of_pages_count_by_their_bytes() {
        for request in ["2KiB", "512", "5KiB"] {
            let trace = format!("uniform:requests=20K,request={request}");
            let life = lived(|experiment| experiment.trace = Some(trace.clone())).unwrap();
            let measured = Setup::new(&Experiment {
                trace: Some(trace.clone()),
                capacity_bytes: Some(8 << 20),
                extra: Some("20%".parse().unwrap()),
                ..Experiment::default()
            });
            let run = crate::run(&measured.unwrap(), RunOptions::default()).unwrap();
            let (fill, programmed) = (8 << 20, 2048.0 * life.programs.total as f64);
            let cost = run.write_amplification_bytes.unwrap();
            let off = programmed / (fill as f64 + cost * (life.host_bytes - fill) as f64) - 1.0;
            assert!(off.abs() < 0.05, "{request}: {off}");
            let by_bytes = programmed / life.host_bytes as f64;
            assert!((life.write_amplification_bytes / by_bytes - 1.0).abs() < 1e-9, "{request}");
            assert_eq!(
                life.write_amplification == life.write_amplification_bytes,
                request == "2KiB"
            );
        }
    }

    /// The blocks with hot data wear out first, and the device with them; with the swap all take
    /// part.
    #[test]
    fn a_device_whose_wear_is_levelled_lives_longer() {
        let of = |wear: &str| {
            lived(|experiment| {
                experiment.trace = None;
                let loads = ["skew:writes=20K,hot=90/10", "sequential:writes=1@open"];
                experiment.load = loads.map(|load| load.parse().unwrap()).into();
                (experiment.ftl, experiment.wear) = ("last".into(), wear.into());
            })
            .unwrap()
        };
        let (none, swap) = (of("none"), of("swap"));
        assert!(swap.drive_writes > 1.4 * none.drive_writes, "{swap:?}");
        assert!(swap.first_retired_after.unwrap() > 1.4 * none.first_retired_after.unwrap());
        assert!(swap.wear.gini.0 < none.wear.gini.0 / 2.0);
        assert!(swap.erases.wear > 0 && none.erases.wear == 0);
    }

    /// Three quarters of the writes are random, the others are a log, whose pages are copied less.
    #[test]
    fn a_life_says_which_stream_wears_the_device_out() {
        let life = lived(|experiment| {
            experiment.trace = None;
            let loads =
                ["uniform:writes=3K@stream=1@closed:depth=3", "sequential:writes=1K@stream=2"];
            experiment.load = loads.map(|load| load.parse().unwrap()).into();
            experiment.ftl = "streams:streams=2".into();
        });
        let life = life.unwrap();
        let [random, log] = &life.by_class[..] else { panic!("{:?}", life.by_class) };
        assert_eq!((random.class, log.class), (1, 2));
        assert_eq!(random.host_bytes + log.host_bytes, life.programs.host * 2048);
        assert_eq!(random.copied_bytes + log.copied_bytes, life.programs.gc * 2048);
        assert!(random.share > 0.76 && (random.share + log.share - 1.0).abs() < 1e-9, "{life:?}");
        let [first, second] = &life.by_load[..] else { panic!("{:?}", life.by_load) };
        assert_eq!((&*first.trace, &*second.trace), ("uniform:writes=3K", "sequential:writes=1K"));
        assert!(
            (first.share - 0.75).abs() < 0.01 && (first.share + second.share - 1.0).abs() < 1e-9
        );
        assert_eq!(first.written_bytes + second.written_bytes, life.host_bytes - (8 << 20));
        let alone = lived(|_| ()).unwrap();
        assert!(alone.by_class.is_empty(), "page has no classes");
        assert!(alone.by_load.is_empty(), "a single load needs no share");
    }

    #[test]
    fn flash_that_never_fails_is_refused() {
        let why = lived(|experiment| {
            experiment.media = "perfect".into();
            experiment.reserve = None;
        });
        assert!(why.unwrap_err().to_string().contains("lives for ever"));
    }
}
