//! How long does the flash of each class of drives last under the load?
//!
//! ```text
//! years = P/E cycles × flash of the drive / (write amplification × bytes written in a year)
//! ```
//! The wear is even, as drives level it. How much an FTL without levelling loses is told by a whole
//! life on flash of few cycles.

use serde::Serialize;

use crate::advise::answer::Answer;
use crate::advise::bench::Bench;
use crate::advise::drive_class::{CLASSES, DriveClass};
use crate::advise::spare::amplifications;
use crate::advise::subject::Subject;
use crate::config::values::Extra;
use crate::error::Result;
use crate::result::run_result::RunResult;
use crate::run::life::{Life, life};

/// The endurance of each class.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/advise.md documents every field")]
pub struct Endurance {
    pub cycles: u32,
    /// Bytes that the host writes in a day.
    pub bytes_per_day: Answer<f64>,
    pub classes: Vec<ClassEndurance>,
    /// Without wear levelling; none if a life would take too long.
    pub unlevelled: Option<Unlevelled>,
}

/// The endurance of a class of drives.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/advise.md documents every field")]
pub struct ClassEndurance {
    pub class: DriveClass,
    pub write_amplification: f64,
    /// Bytes programmed for a byte of the host.
    pub write_amplification_bytes: f64,
    /// How often the flash bears that the host writes the whole drive.
    pub drive_writes: f64,
    /// The same, a day, for the years of the warranty.
    pub flash_dwpd: f64,
    /// Drive writes a day of the load; none without a rate.
    pub load_dwpd: Option<f64>,
    /// Years until the flash is worn out.
    pub years: Option<f64>,
    /// Years until the drive has written what it is rated for.
    pub rated_years: Option<f64>,
}

/// A life on flash of few cycles, without wear levelling.
#[derive(Clone, Copy, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/advise.md documents every field")]
pub struct Unlevelled {
    pub cycles: u32,
    pub drive_writes: f64,
    pub drive_writes_if_even: f64,
}

/// Cycles of the flash of the life: each block must be erased some tens of times, and more show
/// little more.
const LIFE_CYCLES: [u64; 2] = [40, 300];
/// Pages that the flash of a life may program, which take some seconds.
const LIFE_PAGES_MAX: u64 = 60_000_000;
/// Days of a year.
const DAYS: f64 = 365.0;

/// Runs the load on a drive of each class, and through a life.
///
/// # Errors
/// As for any run.
pub fn endurance(subject: &Subject, bench: &Bench) -> Result<Endurance> {
    let setup = |class: &DriveClass| {
        let extra: Extra = class.extra.parse()?;
        subject.careful(|it| it.extra = Some(extra))
    };
    let setups = CLASSES.iter().map(setup).collect::<Result<Vec<_>>>()?;
    let results = bench.results(&subject.input, "drive class", &setups)?;
    let rate = subject.look.bytes_per_day();
    let bytes_per_day = Answer::unless(subject.look.without_rate(), || {
        Ok::<_, crate::Error>(rate.expect("a trace with times has a rate"))
    })?;
    let per_day = bytes_per_day.found().copied();
    let classes = CLASSES.iter().zip(&results);
    Ok(Endurance {
        cycles: subject.setup.chip.rated_cycles,
        classes: classes.map(|(class, run)| ClassEndurance::of(class, run, per_day)).collect(),
        bytes_per_day,
        unlevelled: unlevelled(subject, bench)?,
    })
}

impl ClassEndurance {
    fn of(class: &DriveClass, run: &RunResult, bytes_per_day: Option<f64>) -> ClassEndurance {
        let [write_amplification, write_amplification_bytes] = amplifications(run);
        let drive_writes = run.endurance.drive_writes.unwrap_or(f64::NAN);
        let warranty_days = DAYS * class.warranty_years;
        let load_dwpd = bytes_per_day.map(|bytes| bytes / class.capacity_bytes as f64);
        let years = |writes: f64| load_dwpd.map(|dwpd| writes / (dwpd * DAYS));
        ClassEndurance {
            class: *class,
            write_amplification,
            write_amplification_bytes,
            drive_writes,
            flash_dwpd: drive_writes / warranty_days,
            load_dwpd,
            years: years(drive_writes),
            rated_years: years(class.rated_dwpd * warranty_days),
        }
    }
}

/// Lives through the load with the drive's own extra blocks, unless that takes too long. No block
/// is bad from the beginning: on a small device, chance could leave too few in reserve.
fn unlevelled(subject: &Subject, bench: &Bench) -> Result<Option<Unlevelled>> {
    let cycles = LIFE_PAGES_MAX / (subject.pages() + subject.extra_pages());
    let cycles = cycles.min(LIFE_CYCLES[1]) as u32;
    if u64::from(cycles) < LIFE_CYCLES[0] {
        return Ok(None);
    }
    let setup = subject.with(|it| {
        it.media = format!("real:factory_bad=0%,endurance={cycles}");
        (it.warmup, it.until) = (1, None);
    })?;
    let lives = bench.each(&subject.input, "life", 1, |_, options| life(&setup, options))?;
    let Life { drive_writes, drive_writes_if_even, .. } = lives[0];
    Ok(Some(Unlevelled { cycles, drive_writes, drive_writes_if_even }))
}
