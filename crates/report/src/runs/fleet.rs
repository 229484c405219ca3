//! The volumes of a trace, each run by itself under the same settings: how write amplification is
//! distributed over them, and which volumes gain most.
//!
//! A setting is what varies besides the volume, such as the FTL. The volumes *together* have the
//! programs of all of them per page that their hosts wrote: large volumes count more, as they do
//! for whoever buys the flash. Percentiles count every volume alike. Settings are compared on the
//! same volumes: one whose run failed under a setting is left out of all.

use std::collections::HashMap;

use serde_json::{Value, json};
use sim::plan::Row;
use sim::sweep::findings::Findings;

use crate::curves::{distinct, drawn, labels, shared_note, values};
use crate::figure::{DECADES, DataTable, Figure, POINTS_MAX, share_axis, spec, value_axis};
use crate::html_page::Section;
use crate::number_format::{count, decimals};

/// The percentiles of the table, in percent.
const PERCENTILES: [u32; 5] = [5, 25, 50, 75, 95];
/// Volumes that gain most, on a page.
const GAINS_ON_PAGE: usize = 20;
/// The least gain that the table does not round to 0.0 %.
const LEAST_GAIN: f64 = 0.0005;

/// The volumes of one or several traces under one or several settings.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// The volumes, in the order of the rows.
    volumes: Vec<String>,
    settings: Vec<Setting>,
    /// Volumes without a figure under some setting.
    left_out: usize,
}

/// The volumes under one setting.
#[derive(Clone, Debug)]
pub struct Setting {
    /// What varies besides the volume.
    label: String,
    /// For each volume the pages that its host wrote, and those that were programmed; none if its
    /// run failed or wrote nothing.
    pages: Vec<Option<[f64; 2]>>,
}

impl Setting {
    fn new(label: String) -> Setting {
        Setting { label, pages: Vec::new() }
    }

    /// What varies besides the volume.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The median of the write amplifications of the volumes.
    pub fn median(&self) -> Option<f64> {
        percentile(&self.sorted(), 50)
    }

    /// The write amplification of all volumes together.
    pub fn together(&self) -> Option<f64> {
        let sum = |at: usize| self.pages.iter().flatten().map(|pages| pages[at]).sum::<f64>();
        (sum(0) > 0.0).then(|| sum(1) / sum(0))
    }

    /// The write amplifications of the volumes in ascending order.
    fn sorted(&self) -> Vec<f64> {
        let costs = self.pages.iter().flatten().map(|[written, programmed]| programmed / written);
        let mut costs: Vec<f64> = costs.collect();
        costs.sort_by(f64::total_cmp);
        costs
    }
}

/// The least value that at least `percent` of the ascending values do not exceed.
fn percentile(ascending: &[f64], percent: u32) -> Option<f64> {
    let rank = (ascending.len() * percent as usize).div_ceil(100);
    ascending.get(rank.saturating_sub(1)).copied()
}

impl Fleet {
    /// The volumes of a sweep; `None` unless each of its rows replays a single volume, and there
    /// are several.
    pub fn of(found: &Findings) -> Option<Fleet> {
        let rows = &found.plan().rows;
        let mut fleet = Fleet { volumes: Vec::new(), settings: Vec::new(), left_out: 0 };
        let (mut volumes, mut settings) = (HashMap::new(), HashMap::new());
        for (at, row) in rows.iter().enumerate() {
            let name = row.experiment.volume.name()?;
            let trace = row.experiment.trace.as_deref().unwrap_or_default();
            let volume = *volumes.entry((trace, name)).or_insert_with(|| {
                fleet.volumes.push(name.to_owned());
                fleet.volumes.len() - 1
            });
            let label = setting(row);
            let setting = *settings.entry(label.clone()).or_insert_with(|| {
                fleet.settings.push(Setting::new(label));
                fleet.settings.len() - 1
            });
            fleet.settings[setting].see(volume, found, at);
        }
        (fleet.volumes.len() > 1).then(|| fleet.with_complete_volumes())
    }

    /// Leaves out the volumes without a figure under some setting, unless that has none at all.
    fn with_complete_volumes(mut self) -> Fleet {
        let (all, settings) = (self.volumes.len(), &mut self.settings);
        settings.iter_mut().for_each(|setting| setting.pages.resize(all, None));
        let having = settings.iter().filter(|it| it.pages.iter().any(Option::is_some));
        let having: Vec<&Setting> = having.collect();
        let is_complete = |volume: &usize| having.iter().all(|it| it.pages[*volume].is_some());
        let kept: Vec<usize> = (0..all).filter(is_complete).collect();
        self.left_out = all - kept.len();
        self.volumes = kept.iter().map(|&volume| self.volumes[volume].clone()).collect();
        for setting in &mut self.settings {
            setting.pages = kept.iter().map(|&volume| setting.pages[volume]).collect();
        }
        self
    }

    /// How write amplification is distributed over the volumes, a row for each setting.
    pub fn distribution(&self) -> DataTable {
        let percentiles = PERCENTILES.iter().map(|percent| match percent {
            50 => "median".to_owned(),
            _ => format!("{percent} %"),
        });
        let head = ["write amplification", "volumes", "together", "mean"].map(str::to_owned);
        let row = |setting: &Setting| {
            let costs = setting.sorted();
            let mean = costs.iter().sum::<f64>() / costs.len() as f64;
            let percentiles = PERCENTILES.iter().map(|&percent| percentile(&costs, percent));
            let figures = [setting.together(), Some(mean).filter(|mean| mean.is_finite())];
            let figures = figures.into_iter().chain(percentiles).chain([costs.last().copied()]);
            let figures = figures.map(|it| it.map_or("–".to_owned(), |it| decimals(it, 3)));
            [setting.label.clone(), count(costs.len() as u64)].into_iter().chain(figures).collect()
        };
        let head = head.into_iter().chain(percentiles).chain(["most".to_owned()]);
        DataTable::new(head, self.settings.iter().map(row))
    }

    /// The volumes whose write amplification falls most from the first setting to their best one,
    /// at most `most`; none if there is one setting, or nothing is gained.
    pub fn gains(&self, most: usize) -> Option<DataTable> {
        let first = &self.settings.first()?.label;
        let mut gains: Vec<(usize, f64, f64, &str)> =
            (0..self.volumes.len()).filter_map(|volume| self.gain(volume)).collect();
        gains.sort_by(|a, b| (a.2 / a.1).total_cmp(&(b.2 / b.1)));
        gains.truncate(most);
        let row = |&(volume, of_first, best, label): &(usize, f64, f64, &str)| {
            vec![
                self.volumes[volume].clone(),
                label.to_owned(),
                decimals(of_first, 3),
                decimals(best, 3),
                format!("−{} %", decimals(100.0 * (1.0 - best / of_first), 1)),
            ]
        };
        let head = ["volumes that gain most", "by", first, "best", "gain"];
        let table = DataTable::new(head, gains.iter().map(row));
        (!gains.is_empty()).then_some(DataTable { text_columns: 2, ..table })
    }

    /// A volume with its write amplification under the first setting and under its best one, if
    /// the table's one decimal shows what it gains.
    fn gain(&self, volume: usize) -> Option<(usize, f64, f64, &str)> {
        let cost = |setting: &Setting| setting.pages[volume].map(|[of, all]| all / of);
        let first = cost(self.settings.first()?)?;
        let costs = self.settings.iter().filter_map(|it| Some((cost(it)?, it.label.as_str())));
        let (best, label) = costs.min_by(|a, b| a.0.total_cmp(&b.0))?;
        (1.0 - best / first >= LEAST_GAIN).then_some((volume, first, best, label))
    }

    /// The number of volumes.
    pub fn volumes(&self) -> usize {
        self.volumes.len()
    }

    /// A sentence about the volumes that are left out, if there are any.
    pub fn omissions(&self) -> Option<String> {
        (self.left_out > 0).then(|| {
            let (some, all) = (self.left_out, self.left_out + self.volumes.len());
            format!(
                "{} of {} volumes are left out, because their run failed or wrote nothing under \
                 some setting.",
                count(some as u64),
                count(all as u64)
            )
        })
    }

    /// The settings, in the order of their first rows.
    pub fn settings(&self) -> &[Setting] {
        &self.settings
    }

    /// The sections of a page.
    pub fn sections(&self) -> Vec<Section> {
        let figures = Section::of_figures("Volumes", vec![self.figure()]);
        let gains = self.gains(GAINS_ON_PAGE);
        let gains = gains.map(|table| Section::of_table("Volumes that gain most", table));
        [figures].into_iter().chain(gains).collect()
    }

    /// The cumulative distribution of write amplification over the volumes.
    fn figure(&self) -> Figure {
        let curve = |setting: &Setting| {
            let costs = setting.sorted();
            let step = costs.len().div_ceil(POINTS_MAX).max(1);
            let is_drawn = |at: &usize| (at + 1).is_multiple_of(step) || at + 1 == costs.len();
            let share = |at: usize| (at + 1) as f64 / costs.len() as f64;
            let points = (0..costs.len()).filter(is_drawn).map(|at| (costs[at], share(at)));
            (setting.label.clone(), points.collect::<Vec<_>>())
        };
        let curves = distinct(self.settings.iter().map(curve));
        let costs: Vec<f64> = curves.iter().flat_map(|(_, points)| points).map(|it| it.0).collect();
        let view = json!({
            "height": 240,
            "mark": {"type": "line", "interpolate": "step-after", "tooltip": true},
            "encoding": {
                "x": value_axis("cost", "write amplification of a volume", &costs, DECADES),
                "y": share_axis("share", "volumes with at most this"),
            },
        });
        let value = |label: &str, (cost, share): &(f64, f64)| -> Value {
            json!({"setting": label, "cost": cost, "share": share})
        };
        Figure {
            id: "volumes".into(),
            title: "Write amplification of the volumes".into(),
            caption: format!(
                "The share of the {} volumes whose write amplification (programs per host page) \
                 does not exceed a value. Together: the programs of all volumes per page that \
                 their hosts wrote.{} {}",
                count(self.volumes.len() as u64),
                shared_note(&curves, self.settings.len()),
                self.omissions().unwrap_or_default()
            )
            .trim_end()
            .to_owned(),
            spec: spec(values(&curves, value), drawn("setting", &labels(&curves), view)),
            table: Some(self.distribution()),
        }
    }
}

impl Setting {
    /// Takes note of the row of a volume.
    fn see(&mut self, volume: usize, found: &Findings, row: usize) {
        if self.pages.len() <= volume {
            self.pages.resize(volume + 1, None);
        }
        self.pages[volume] = found.pages(row).filter(|[written, _]| *written > 0.0);
    }
}

/// What varies in a row besides its volume.
fn setting(row: &Row) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let others = row.varied.iter().filter(|(option, _)| *option != "volume");
    let words: Vec<String> = others
        .map(|(option, value)| match option.as_str() {
            "ftl" => text(value),
            _ => format!("{option}={}", text(value)),
        })
        .collect();
    if words.is_empty() { row.experiment.ftl.clone() } else { words.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::plan::{Plan, Scale};

    /// A plan of volumes `a` to `d` under two FTLs, with these pages written and programmed.
    fn fleet(pages: [[(u64, u64); 2]; 4]) -> Fleet {
        let text = "[base]\ntrace = \"t.csv\"\n[[grid]]\nvolume = [\"a\", \"b\", \"c\", \"d\"]\n\
                    ftl = [\"sepgc\", \"sepbit\"]";
        let plan = Plan::parse("p", text, Scale::Full).unwrap();
        let mut found = Findings::of(&plan);
        for (row, (written, programmed)) in pages.into_iter().flatten().enumerate() {
            let cost = (written > 0).then(|| programmed as f64 / written as f64);
            found.see(
                row,
                &json!({
                    "write_amplification": cost,
                    "host_pages": {"written": written},
                    "programs": {"total": programmed},
                    "sweep": {"error": null},
                }),
            );
        }
        Fleet::of(&found).unwrap()
    }

    fn four() -> Fleet {
        fleet([
            [(100, 100), (100, 100)],
            [(100, 400), (100, 200)],
            [(1000, 1500), (1000, 1400)],
            [(100, 200), (100, 300)],
        ])
    }

    #[test]
    fn large_volumes_count_more_together_and_alike_in_percentiles() {
        let table = four().distribution();
        assert_eq!(table.head[4..], ["5 %", "25 %", "median", "75 %", "95 %", "most"]);
        let expected = [
            ["sepgc", "4", "1.692", "2.125", "1.000", "1.000", "1.500", "2.000", "4.000", "4.000"],
            ["sepbit", "4", "1.538", "1.850", "1.000", "1.000", "1.400", "2.000", "3.000", "3.000"],
        ];
        assert_eq!(table.rows, expected);
    }

    #[test]
    fn gains_are_those_of_the_best_setting_against_the_first() {
        let gains = four().gains(9).unwrap();
        let expected = [
            ["b", "sepbit", "4.000", "2.000", "−50.0 %"],
            ["c", "sepbit", "1.500", "1.400", "−6.7 %"],
        ];
        assert_eq!(gains.rows, expected, "neither the equal nor the worse volume");
        assert_eq!(four().gains(1).unwrap().rows.len(), 1);
        let [less, more] =
            [[(10_000, 20_000), (10_000, 19_991)], [(10_000, 20_000), (10_000, 19_980)]];
        let gains = fleet([less, more, less, less]).gains(9).unwrap();
        assert_eq!(gains.rows, [["b", "sepbit", "2.000", "1.998", "−0.1 %"]], "no gain of 0.0 %");
    }

    #[test]
    fn a_volume_without_a_figure_under_one_setting_is_left_out_of_all() {
        let some =
            fleet([[(0, 0), (0, 0)], [(1, 2), (1, 2)], [(100, 900), (0, 0)], [(1, 3), (1, 1)]]);
        let table = some.distribution();
        assert_eq!((&*table.rows[0][1], &*table.rows[0][2]), ("2", "2.500"));
        assert_eq!((&*table.rows[1][1], &*table.rows[1][2]), ("2", "1.500"));
        assert!(some.omissions().unwrap().starts_with("2 of 4 volumes are left out, because"));
        let figure = some.figure();
        let points = figure.spec["data"]["values"].as_array().unwrap();
        assert_eq!(points.len(), 4);
        assert_eq!(points[1], json!({"setting": "sepgc", "cost": 3.0, "share": 1.0}));
        let nothing = (0, 0);
        let one = fleet([(1, 2), (1, 3), (1, 4), (1, 5)].map(|of| [of, nothing]));
        assert_eq!(one.distribution().rows[0][1], "4", "the other setting has no figure at all");
        assert!(one.omissions().is_none() && four().omissions().is_none());
    }

    #[test]
    fn rows_of_whole_traces_are_no_fleet() {
        let of = |grid: &str| {
            let text = format!("[base]\ntrace = \"t.csv\"\n[[grid]]\n{grid}");
            let plan = Plan::parse("p", &text, Scale::Full).unwrap();
            Fleet::of(&Findings::of(&plan)).is_some()
        };
        assert!(of("volume = [\"a\", \"b\"]"));
        assert!(!of("volume = [\"a\"]") && !of("volume = [\"a\", \"b\", \"all\"]"));
    }
}
