//! The page of a sizing: write amplification against over-provisioning, and the least that meets
//! the target.

use serde_json::{Value, json};
use sim::advise::drive_class::CLASSES;
use sim::sizing::answer::{SizedPoint, Sizing};

use crate::captions::short_name;
use crate::colours;
use crate::curves::{TOGETHER_MAX, drawn};
use crate::figure::{DECADES, DataTable, Figure, axis, logarithmic_axis, share_axis, spec};
use crate::headline;
use crate::html_page::{HtmlPage, Section};
use crate::names::places::{Place, places};
use crate::number_format::{bytes, count, decimals, number, percent};

/// The page of a search on a trace; `made_by` is for its footer.
pub fn page(target: f64, trace: &str, sizings: &[Sizing], made_by: String) -> HtmlPage {
    let prefixed = |sizing: &Sizing| {
        let ftl = sizing.ftl.clone();
        sizing.notes.clone().into_iter().map(move |note| (ftl.clone(), note))
    };
    let device = sizings.first().map_or(String::new(), |sizing| {
        format!(" on {} of {}", bytes(sizing.capacity_bytes), sizing.chip)
    });
    let curve = Section {
        notes: shared(sizings.iter().flat_map(prefixed), sizings.len()),
        ..Section::of_figures("Write amplification", vec![curve(target, sizings, &classes())])
    };
    HtmlPage {
        title: format!("{}: sizing{device}", short_name(trace)),
        headline: headline::sizing::of(target, sizings),
        lead: vec![format!(
            "The least over-provisioning at which write amplification is at most {} on \
             {trace}{device}. T is the flash without system blocks, U the capacity of the host.",
            number(target)
        )],
        sections: vec![curve],
        made_by,
        ..HtmlPage::default()
    }
}

/// The notes, each once; one that not all have begins with the names of those that do.
fn shared(notes: impl Iterator<Item = (String, String)>, all: usize) -> Vec<String> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for (ftl, note) in notes {
        match found.iter_mut().find(|(known, _)| *known == note) {
            Some((_, ftls)) => ftls.push(ftl),
            None => found.push((note, vec![ftl])),
        }
    }
    let sentence = |(note, ftls): (String, Vec<String>)| match ftls.len() {
        some if some == all => note,
        _ => format!("{}: {note}", ftls.join(", ")),
    };
    found.into_iter().map(sentence).collect()
}

/// A point or a rule that is marked beside the curve, at this over-provisioning.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Its name.
    pub name: String,
    /// (T − U) / U.
    pub extra: f64,
    /// Write amplification there; a rule goes through all of them if it is not known.
    pub amplification: Option<f64>,
    /// Whether it is a run of the first FTL, so that its curve goes through the point.
    pub is_on_curve: bool,
}

/// The classes of drives that are sold, as rules.
fn classes() -> Vec<Mark> {
    let mark = |class: &sim::advise::drive_class::DriveClass| {
        let extra: f64 = class.extra.trim_end_matches('%').parse().expect("a share in percent");
        Mark {
            name: class.name.to_owned(),
            extra: extra / 100.0,
            amplification: None,
            is_on_curve: false,
        }
    };
    CLASSES.iter().map(mark).collect()
}

/// Write amplification against over-provisioning: a curve for each FTL with its answer, rules at 1
/// and at the target, and what is marked.
pub fn curve(target: f64, sizings: &[Sizing], marks: &[Mark]) -> Figure {
    let labels: Vec<String> = sizings.iter().map(|sizing| sizing.ftl.clone()).collect();
    let mut values = curve_values(sizings, marks, &labels);
    let of = |values: &[Value], field: &str| -> Vec<f64> {
        values.iter().filter_map(|value| value[field].as_f64()).collect()
    };
    let ends = of(&values, "extra")
        .into_iter()
        .fold((f64::INFINITY, 0.0_f64), |ends, share| (ends.0.min(share), ends.1.max(share)));
    let mut costs = of(&values, "amplification");
    costs.extend([1.0, target]);
    costs.extend(marks.iter().filter_map(|mark| mark.amplification));
    let has_place =
        |mark: &&Mark| mark.amplification.is_some() || ends.0 <= mark.extra && mark.extra <= ends.1;
    let mut marked: Vec<Value> = sizings.iter().filter_map(answer).collect();
    marked.extend(marks.iter().filter(has_place).map(marked_value));
    let most = costs.iter().copied().fold(1.0, f64::max);
    let is_logarithmic = most >= DECADES;
    let mut y = match is_logarithmic {
        true => logarithmic_axis("amplification", "write amplification"),
        false => axis("amplification", "write amplification"),
    };
    let widest = marks.iter().filter(has_place).map(|mark| mark.extra).fold(ends.1, f64::max);
    let height = |cost: f64| if is_logarithmic { cost.ln() } else { cost };
    place_names(&mut marked, [0.0, widest], [height(1.0), height(most)], height);
    values.extend(marked);
    y["scale"]["domain"] = json!([1.0, most]);
    let view = with_values(view(target, y), &values);
    let parts = drawn("ftl", &labels[..labels.len().min(TOGETHER_MAX)], view);
    Figure {
        id: "write-amplification-against-over-provisioning".into(),
        title: "Write amplification against over-provisioning".into(),
        caption: format!(
            "Every point of a curve is a run. {}Circles are the answers for the target, the \
             dashed rule. {}The search halves the extra blocks until the target is missed, and \
             then narrows the bracket.",
            if points(sizings).any(|(_, it)| it.settled.is_some()) { SETTLED } else { "" },
            if marks.is_empty() { "" } else { MARKED }
        ),
        spec: spec(values, parts),
        table: Some(table(sizings)),
    }
}

/// The points of the curves, in the order of `labels`, and once more those that are settled. A
/// point with a mark takes its write amplification from there.
fn curve_values(sizings: &[Sizing], marks: &[Mark], labels: &[String]) -> Vec<Value> {
    let on_curve = || marks.iter().filter(|mark| mark.is_on_curve);
    let mut values = Vec::new();
    for (sizing, colour) in sizings.iter().zip(colours::of(labels)) {
        for point in &sizing.curve {
            let share = point.over_provisioning.of_capacity;
            let is_marked = on_curve().any(|mark| mark.extra == share);
            let Some(amplification) = point.probe.write_amplification.filter(|_| !is_marked) else {
                continue;
            };
            let mut value = json!({"kind": "curve", "ftl": sizing.ftl, "extra": share,
                                   "amplification": amplification,
                                   "blocks": point.probe.extra_blocks});
            values.push(value.clone());
            if point.settled == Some(true) {
                value["kind"] = "settled".into();
                value["colour"] = colour.as_str().into();
                values.push(value);
            }
        }
    }
    values.extend(on_curve().map(|mark| {
        json!({"kind": "curve", "ftl": labels.first(), "extra": mark.extra,
               "amplification": mark.amplification})
    }));
    values
}

fn marked_value(mark: &Mark) -> Value {
    let kind = if mark.amplification.is_some() { "mark" } else { "rule" };
    let colour = match colours::names_a_scheme(&mark.name) {
        true => colours::of_one(&mark.name),
        false => colours::NEUTRAL.to_owned(),
    };
    json!({"kind": kind, "name": mark.name, "extra": mark.extra, "colour": colour,
           "amplification": mark.amplification})
}

/// Places the names of points beside them.
fn place_names(marked: &mut [Value], x: [f64; 2], y: [f64; 2], height: impl Fn(f64) -> f64) {
    let place = |value: &Value| {
        Some(Place {
            name: value["name"].as_str()?.to_owned(),
            x: value["extra"].as_f64()?,
            y: height(value["amplification"].as_f64()?),
        })
    };
    let points: Vec<Place> = marked.iter().filter_map(place).collect();
    let with_points = marked.iter_mut().filter(|value| !value["amplification"].is_null());
    for (value, side) in with_points.zip(places(&points, x, y, HEIGHT)) {
        value["align"] = side.align.into();
        value["dx"] = side.dx.into();
        value["dy"] = side.dy.into();
    }
}

/// The height of the view, in pixels.
const HEIGHT: f64 = 320.0;

/// Which points are sure, for the caption.
const SETTLED: &str = "Large points are settled runs, which are measured for longer; small ones \
                       are quick runs, which only find the place and may be some per cent off. ";
/// What the marks are, for the caption.
const MARKED: &str = "What drives of today have is marked. ";

fn answer(sizing: &Sizing) -> Option<Value> {
    let least = sizing.least.as_ref()?;
    let share = least.over_provisioning.of_capacity;
    Some(json!({"kind": "answer", "ftl": sizing.ftl, "extra": share,
                "name": format!("{} %", decimals(100.0 * share, 1)),
                "amplification": least.probe.write_amplification?}))
}

/// The view without layers whose kind no value has: an axis without values has no ends.
fn with_values(mut view: Value, values: &[Value]) -> Value {
    let has = |filter: &str| {
        values.iter().any(|value| filter.ends_with(&format!("=== {}", quoted(&value["kind"]))))
    };
    if let Some(layers) = view["layer"].as_array_mut() {
        layers.retain(|layer| layer["transform"][0]["filter"].as_str().is_none_or(has));
    }
    view
}

fn quoted(text: &Value) -> String {
    format!("'{}'", text.as_str().unwrap_or_default())
}

/// The marks of the figure, each for its kind of values.
fn view(target: f64, y: Value) -> Value {
    let of = |kind: &str| json!([{"filter": format!("datum.kind === '{kind}'")}]);
    let x = share_axis("extra", "over-provisioning, (T − U) / U");
    let both = json!({"x": x, "y": y});
    let expression = |field: &str| json!({"expr": format!("datum.{field}")});
    let text = json!({"type": "text", "align": expression("align"), "dx": expression("dx"),
                      "dy": expression("dy")});
    let mut coloured = both.clone();
    coloured["color"] = json!({"field": "colour", "type": "nominal", "scale": null});
    let named = json!({"x": x, "y": y, "text": {"field": "name"}});
    let label = json!([{"label": format!("target {}", number(target))}]);
    json!({
        "height": HEIGHT,
        "layer": [
            {"transform": of("curve"),
             "mark": {"type": "line", "point": {"size": 18}, "tooltip": true}, "encoding": both},
            {"transform": of("settled"),
             "mark": {"type": "point", "size": 55, "filled": true, "opacity": 1, "tooltip": true},
             "encoding": coloured},
            {"data": {"values": [{}]},
             "mark": {"type": "rule", "strokeDash": [5, 4]},
             "encoding": {"y": {"datum": target}}},
            {"data": {"values": label},
             "mark": {"type": "text", "align": "right", "baseline": "bottom", "dy": -3},
             "encoding": {"x": {"value": "width"}, "y": {"datum": target},
                          "text": {"field": "label"}}},
            {"transform": of("rule"),
             "mark": {"type": "rule", "opacity": 0.5, "tooltip": true}, "encoding": {"x": x}},
            {"transform": of("rule"),
             "mark": {"type": "text", "align": "left", "angle": 90, "dx": 4, "dy": -5,
                      "color": colours::NEUTRAL},
             "encoding": {"x": x, "y": {"value": 0}, "text": {"field": "name"}}},
            {"transform": of("answer"),
             "mark": {"type": "point", "size": 130, "filled": false, "strokeWidth": 2,
                      "color": colours::NEUTRAL, "tooltip": true},
             "encoding": both},
            {"transform": of("answer"), "mark": text, "encoding": named},
            {"transform": of("mark"),
             "mark": {"type": "point", "shape": "diamond", "size": 110, "filled": true,
                      "opacity": 1, "tooltip": true},
             "encoding": coloured},
            {"transform": of("mark"), "mark": text, "encoding": named},
        ],
    })
}

fn points(sizings: &[Sizing]) -> impl Iterator<Item = (&Sizing, &SizedPoint)> {
    sizings.iter().flat_map(|sizing| sizing.curve.iter().map(move |point| (sizing, point)))
}

fn table(sizings: &[Sizing]) -> DataTable {
    let head = [
        "FTL",
        "run",
        "extra blocks",
        "extra",
        "(T − U) / U",
        "(T − U) / T",
        "write amplification",
    ];
    let care = |settled| if settled { "settled" } else { "quick" };
    let row = |(sizing, point): (&Sizing, &SizedPoint)| {
        let (probe, share) = (&point.probe, point.over_provisioning);
        vec![
            sizing.ftl.clone(),
            point.settled.map_or("–", care).to_owned(),
            count(probe.extra_blocks),
            bytes(probe.extra_blocks.saturating_mul(sizing.block_bytes)),
            format!("{} %", percent(share.of_capacity)),
            format!("{} %", percent(share.of_flash)),
            probe.write_amplification.map_or("refused".into(), |it| decimals(it, 4)),
        ]
    };
    DataTable { text_columns: 2, ..DataTable::new(head, points(sizings).map(row)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headline::sizing::tests::sizing;

    #[test]
    fn a_page_shows_the_curve_and_the_answer() {
        let page = page(2.0, "oltp.log", &[sizing("page", true), sizing("fast", false)], "".into());
        assert_eq!(page.title, "oltp.log: sizing on 12.50 MiB of slc-fast2010");
        assert_eq!(page.sections[0].notes, ["odd"], "both have it");
        let figure = &page.sections[0].figures[0];
        let values = figure.spec["data"]["values"].as_array().unwrap();
        let of = |kind: &str| values.iter().filter(|it| it["kind"] == kind).collect::<Vec<_>>();
        assert_eq!(of("curve").len(), 2 * 2, "runs that were refused have no point");
        assert_eq!(of("settled").len(), 2, "the answer, and 50 blocks of the other");
        assert!(figure.caption.contains("Large points are settled runs"), "{}", figure.caption);
        assert_eq!(of("answer")[0]["name"], "50.0 %");
        assert_eq!(of("answer").len(), 1);
        let rules: Vec<&Value> = of("rule").iter().map(|it| &it["name"]).collect();
        assert_eq!(rules, ["mixed-use"], "the others are outside of the curve");
        let rows = &figure.table.as_ref().unwrap().rows;
        assert_eq!(rows[0][6], "refused");
        assert_eq!(rows[1][4..6], ["25.00 %", "20.00 %"]);
    }
}
