//! The figures of each volume of a trace, by which `--volumes` chooses: `ftlab trace info
//! --each-volume`.

use report::number_format::{bytes, count, counted, decimals};
use serde_json::{Value, json};
use sim::input::source::RequestSource;
use sim::input::split_trace::{SplitTrace, Splitting};
use sim::{Progress, Setup};
use trace::analysis::volume_figures::VolumeFigures;

use crate::texts::table::Table;

/// The volumes of a trace that meet the conditions of `--volumes`, with their figures.
pub struct Volumes {
    trace: String,
    /// The number of volumes of the trace.
    all: usize,
    chosen: Vec<(String, VolumeFigures)>,
}

impl Volumes {
    /// Reads the trace once.
    ///
    /// # Errors
    /// The trace cannot be read, or the reading is stopped.
    pub fn read(setup: &Setup, progress: &dyn Progress) -> sim::Result<Volumes> {
        let source = RequestSource::open(setup)?;
        let splitting = Splitting { cache: None, counts: true };
        let split = SplitTrace::read(&source, splitting, progress)?;
        let all = split.volumes().iter().filter_map(|it| Some((it.name.clone(), it.figures?)));
        let choice = setup.experiment.volumes.as_ref();
        let is_chosen = |(_, of): &(_, VolumeFigures)| choice.is_none_or(|choice| choice.holds(of));
        Ok(Volumes {
            trace: format!("{} ({})", source.trace().name(), source.trace().format()),
            all: split.volumes().len(),
            chosen: all.filter(is_chosen).collect(),
        })
    }

    /// A row for each volume.
    pub fn text(&self) -> String {
        let head = ["volume", "requests", "reads", "writes", "written", "working set", "written /"];
        let mut table = Table::new(&[&head[..], &["rewrites", "end"]].concat());
        for (name, of) in &self.chosen {
            let times = of.written_bytes as f64 / of.working_set_bytes() as f64;
            table.row(&[
                name.clone(),
                count(of.requests),
                count(of.reads),
                count(of.writes),
                bytes(of.written_bytes),
                bytes(of.working_set_bytes()),
                if times.is_finite() { format!("{}x", decimals(times, 2)) } else { "–".into() },
                format!("{} %", decimals(100.0 * of.rewrites(), 1)),
                bytes(of.end_bytes),
            ]);
        }
        let chosen = match self.chosen.len() {
            chosen if chosen == self.all => String::new(),
            chosen => format!(", of which {} are chosen", count(chosen as u64)),
        };
        format!(
            "{}: {}{chosen}\n{}Working set: distinct pages of 4 KiB that are written. \
             `written /`: bytes written per working set.\n",
            self.trace,
            counted(self.all as u64, "volume"),
            table.text()
        )
    }

    /// The same as JSON.
    pub fn json(&self) -> Value {
        let volume = |(name, of): &(String, VolumeFigures)| {
            json!({
                "volume": name,
                "requests": of.requests,
                "reads": of.reads,
                "writes": of.writes,
                "read_bytes": of.read_bytes,
                "written_bytes": of.written_bytes,
                "working_set_bytes": of.working_set_bytes(),
                "write_share": of.write_share(),
                "rewrites": of.rewrites(),
                "end_bytes": of.end_bytes,
            })
        };
        self.chosen.iter().map(volume).collect()
    }
}
