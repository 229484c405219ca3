//! The figures of the answers of an advice.

use serde_json::{Value, json};
use sim::advise::answer::Answer;
use sim::advise::confidence::Confidence;
use sim::advise::effects::{Effect, Effects};
use sim::advise::endurance::{ClassEndurance, Endurance};
use sim::advise::latency::{DepthLatency, Latency};
use sim::advise::spare::Spare;
use sim::result::latencies::Summary;
use sim::sizing::bound::Bound;

use super::sentences::{endurance_table, latency_table};
use crate::colours;
use crate::curves::drawn;
use crate::figure::{
    DECADES, DataTable, Figure, axis, axis_from_zero, logarithmic_axis, spec, value_axis,
};
use crate::number_format::{count, decimals, number};
use crate::pages::sizing::{self, Mark};

/// Write amplification against over-provisioning, with the drive, the classes of drives, and the
/// other placements on this drive.
pub fn spare(spare: &Spare, classes: &[ClassEndurance], placement: Option<&Bound>) -> Figure {
    let own = spare.own.of_capacity;
    let drive = Mark {
        name: "this drive".into(),
        extra: own,
        amplification: Some(spare.write_amplification),
        is_on_curve: true,
    };
    let class = |class: &ClassEndurance| {
        let extra: f64 = class.class.extra.trim_end_matches('%').parse().ok()?;
        let mark = Mark {
            name: class.class.name.into(),
            extra: extra / 100.0,
            amplification: Some(class.write_amplification),
            is_on_curve: true,
        };
        // The classes that are about as large as the drive are where it is.
        ((mark.extra / own - 1.0).abs() > 0.1).then_some(mark)
    };
    let others = placement.into_iter().flat_map(|bound| bound.schemes.iter().skip(1));
    let other = others.map(|run| Mark {
        name: run.ftl.clone(),
        extra: own,
        amplification: Some(run.write_amplification),
        is_on_curve: false,
    });
    let marks: Vec<Mark> =
        [drive].into_iter().chain(classes.iter().filter_map(class)).chain(other).collect();
    sizing::curve(spare.target, std::slice::from_ref(&spare.sizing), &marks)
}

/// Years until the flash of each class is worn out and until its rating is used up; without a rate
/// of the load drive writes a day for the years of the warranty.
pub fn years(endurance: &Endurance, spread: Option<f64>) -> Figure {
    let has_years = endurance.classes.iter().any(|class| class.years.is_some());
    let (field, title) = match has_years {
        true => ("years", "years under this load"),
        false => ("dwpd", "drive writes a day for the years of the warranty"),
    };
    let of = |class: &ClassEndurance| match has_years {
        true => [class.years, class.rated_years],
        false => [Some(class.flash_dwpd), Some(class.class.rated_dwpd)],
    };
    let (mut values, mut all) = (Vec::new(), Vec::new());
    for class in &endurance.classes {
        for (kind, value) in [FLASH, RATING].into_iter().zip(of(class)) {
            let Some(value) = value.filter(|value| value.is_finite()) else { continue };
            let reach = if kind == FLASH { spread.unwrap_or(0.0) } else { 0.0 };
            all.push(value);
            values.push(json!({
                "class": class.class.name, "kind": kind, field: value, "text": number(value),
                "low": value * (1.0 - reach), "high": value * (1.0 + reach),
            }));
        }
    }
    let names: Vec<&str> = endurance.classes.iter().map(|class| class.class.name).collect();
    let x = value_axis(field, title, &all, DECADES);
    let with = |field: &str| {
        let mut x = x.clone();
        x["field"] = field.into();
        x
    };
    let side = json!({"field": "kind", "type": "nominal", "scale": {"domain": [FLASH, RATING]}});
    let colour = json!({"field": "kind", "type": "nominal", "title": null,
                        "scale": {"domain": [FLASH, RATING],
                                  "range": [colours::of_one("page"), colours::NEUTRAL]}});
    let parts = json!({
        "height": 56 * names.len(),
        "encoding": {"y": {"field": "class", "type": "nominal", "sort": names, "title": null},
                     "yOffset": side},
        "layer": [
            {"mark": {"type": "rule", "strokeWidth": 2},
             "encoding": {"x": with("low"), "x2": {"field": "high"}}},
            {"mark": {"type": "point", "filled": true, "size": 90, "opacity": 1, "tooltip": true},
             "encoding": {"x": x, "color": colour}},
            {"mark": {"type": "text", "align": "left", "dx": 9},
             "encoding": {"x": with("high"), "text": {"field": "text"}}},
        ],
    });
    Figure {
        id: "years".into(),
        title: if has_years { "Endurance in years" } else { "Endurance in drive writes" }.into(),
        caption: "Until the flash is worn out evenly, with what this load writes, and until the \
                  drive has written what it is rated for."
            .into(),
        spec: spec(values, parts),
        table: Some(endurance_table(endurance)),
    }
}

const FLASH: &str = "flash worn out";
const RATING: &str = "rating used up";

/// Requests in a second against the queue depth; `None` of fewer than two depths.
pub fn iops(latency: &Latency) -> Option<Figure> {
    let value = |depth: &DepthLatency| {
        Some(json!({"depth": depth.depth, "iops": depth.iops?, "mb_per_s": depth.mb_per_s}))
    };
    let values: Vec<Value> = latency.depths.iter().filter_map(value).collect();
    let parts = json!({
        "height": 200,
        "mark": {"type": "line", "point": {"size": 60}, "tooltip": true},
        "encoding": {"x": depths(latency), "y": axis_from_zero("iops", "requests a second (IOPS)")},
    });
    (values.len() > 1).then(|| Figure {
        id: "iops-against-depth".into(),
        title: "IOPS against queue depth".into(),
        caption: "Requests that the drive serves in a second, in the trace's own mix.".into(),
        spec: spec(values, parts),
        table: Some(latency_table(latency)),
    })
}

/// An axis of queue depths with a tick at each.
fn depths(latency: &Latency) -> Value {
    let mut axis = logarithmic_axis("depth", "queue depth");
    axis["scale"]["base"] = 2.into();
    let depths: Vec<u32> = latency.depths.iter().map(|depth| depth.depth).collect();
    axis["axis"] = json!({"values": depths, "format": "d", "labelBound": false});
    axis
}

/// A percentile of response times: its name and its value.
type Percentile = (&'static str, fn(&Summary) -> Option<f64>);
const PERCENTILES: [Percentile; 3] =
    [("p50", |it| it.p50), ("p99", |it| it.p99), ("p99.9", |it| it.p999)];

/// Response times of reads and writes against the queue depth; `None` of fewer than two depths.
pub fn latency(latency: &Latency) -> Option<Figure> {
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    for op in ["reads", "writes"] {
        for (name, of) in PERCENTILES {
            let label = format!("{op} {name}");
            for depth in &latency.depths {
                let times = if op == "reads" { &depth.read } else { &depth.write };
                let Some(us) = of(times).filter(|&us| times.count > 0 && us > 0.0) else {
                    continue;
                };
                values.push(json!({"series": label, "depth": depth.depth, "us": us}));
            }
            if values.last().is_some_and(|last| last["series"] == *label) {
                labels.push(label);
            }
        }
    }
    let view = json!({
        "mark": {"type": "line", "point": {"size": 40}, "tooltip": true},
        "height": 300,
        "encoding": {"x": depths(latency), "y": logarithmic_axis("us", "response time (µs)")},
    });
    (latency.depths.len() > 1 && !values.is_empty()).then(|| Figure {
        id: "latency-against-depth".into(),
        title: "Latency against queue depth".into(),
        caption: "Percentiles of the response times. The slow reads are those that wait for \
                  collection."
            .into(),
        spec: spec(values, drawn("series", &labels, view)),
        table: None,
    })
}

/// What each thing changes: from the cost without it to the cost with it.
pub fn effects(effects: &Effects) -> Figure {
    let discards = match &effects.discards {
        Answer::Found(effect) => Some(effect),
        Answer::Refused(_) => None,
    };
    let all: Vec<&Effect> =
        discards.into_iter().chain(&effects.streams).chain([&effects.buffer]).collect();
    let value = |effect: &&Effect| {
        let sign = if effect.change > 0.0 { "+" } else { "" };
        json!({"what": effect.what, "with": effect.with, "without": effect.without,
               "end": effect.with.max(effect.without),
               "text": format!("{sign}{} %", decimals(100.0 * effect.change, 1))})
    };
    let values: Vec<Value> = all.iter().map(value).collect();
    let names: Vec<&str> = all.iter().map(|effect| effect.what).collect();
    let costs: Vec<f64> =
        all.iter().flat_map(|effect| [effect.with, effect.without]).chain([1.0]).collect();
    let title = "bytes programmed per host byte";
    let x = |field: &str| value_axis(field, title, &costs, DECADES);
    let point = |field: &str, filled: bool| {
        json!({"mark": {"type": "point", "filled": filled, "size": 100, "strokeWidth": 2,
                        "opacity": 1, "color": colours::of_one("page"), "tooltip": true},
               "encoding": {"x": x(field)}})
    };
    let parts = json!({
        "height": 40 * names.len(),
        "encoding": {"y": {"field": "what", "type": "nominal", "sort": names, "title": null}},
        "layer": [
            {"data": {"values": [{}]}, "mark": {"type": "rule", "strokeDash": [4, 3]},
             "encoding": {"x": {"datum": 1}, "y": null}},
            {"mark": {"type": "rule", "strokeWidth": 2},
             "encoding": {"x": x("with"), "x2": {"field": "without"}}},
            point("without", false),
            point("with", true),
            {"mark": {"type": "text", "align": "left", "dx": 10},
             "encoding": {"x": x("end"), "text": {"field": "text"}}},
        ],
    });
    let row = |effect: &&Effect| {
        let costs = [effect.without, effect.with].map(|cost| decimals(cost, 3));
        [vec![effect.what.to_owned(), format!("`{}`", effect.options)], costs.to_vec()].concat()
    };
    let head = ["what", "options", "without it", "with it"];
    let table = DataTable { text_columns: 2, ..DataTable::new(head, all.iter().map(row)) };
    Figure {
        id: "effects".into(),
        title: "Discards, streams and a buffer, on and off".into(),
        caption: "Hollow: without it; filled: with it. The dashed rule is 1, where nothing is \
                  programmed but the host's own bytes."
            .into(),
        spec: spec(values, parts),
        table: Some(table),
    }
}

/// Write amplification of the drive under all that may move it: extra blocks, halves of the trace,
/// seeds.
pub fn costs(confidence: &Confidence, own: Option<f64>) -> Figure {
    let mut values = Vec::new();
    let mut put = |kind: &str, what: String, cost: f64| {
        values.push(json!({"kind": kind, "what": what, "amplification": cost}));
    };
    own.into_iter().for_each(|cost| put("this drive", "all of the trace".into(), cost));
    for &(extra, cost) in &confidence.neighbours {
        put("extra blocks", format!("{} extra blocks", count(extra)), cost);
    }
    for (half, &cost) in confidence.halves.found().into_iter().flatten().enumerate() {
        put("halves", format!("half {}", half + 1), cost);
    }
    for &cost in confidence.seeds.iter().flatten() {
        put("other seeds", "another seed".into(), cost);
    }
    let row = |value: &Value| {
        let cost = value["amplification"].as_f64().unwrap_or(f64::NAN);
        let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
        vec![text("kind"), text("what"), decimals(cost, 3)]
    };
    let head = ["what differs", "run", "write amplification"];
    let table = DataTable { text_columns: 2, ..DataTable::new(head, values.iter().map(row)) };
    let order = ["this drive", "extra blocks", "halves", "other seeds"];
    let parts = json!({
        "height": {"step": 32},
        "mark": {"type": "point", "filled": true, "size": 90, "opacity": 0.8, "tooltip": true,
                 "color": colours::of_one("page")},
        "encoding": {
            "x": axis("amplification", "write amplification"),
            "y": {"field": "kind", "type": "nominal", "sort": order, "title": null},
        },
    });
    Figure {
        id: "how-sure".into(),
        title: "What moves the answer".into(),
        caption: "Write amplification with the drive's own over-provisioning, with neighbouring \
                  numbers of extra blocks, of each half of the trace, and with other seeds."
            .into(),
        spec: spec(values, parts),
        table: Some(table),
    }
}
