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

/// A point or a rule that is marked on the curve, at this over-provisioning.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Its name.
    pub name: String,
    /// (T − U) / U.
    pub extra: f64,
    /// Write amplification there; a rule goes through all of them if it is not known.
    pub amplification: Option<f64>,
}

/// The classes of drives that are sold, as rules.
fn classes() -> Vec<Mark> {
    let mark = |class: &sim::advise::drive_class::DriveClass| {
        let extra: f64 = class.extra.trim_end_matches('%').parse().expect("a share in percent");
        Mark { name: class.name.to_owned(), extra: extra / 100.0, amplification: None }
    };
    CLASSES.iter().map(mark).collect()
}

/// Write amplification against over-provisioning: a curve for each FTL with its answer, rules at 1
/// and at the target, and what is marked.
pub fn curve(target: f64, sizings: &[Sizing], marks: &[Mark]) -> Figure {
    let labels: Vec<String> = sizings.iter().map(|sizing| sizing.ftl.clone()).collect();
    let (mut values, mut costs) = (Vec::new(), vec![1.0, target]);
    let mut ends = (f64::INFINITY, 0.0_f64);
    for (sizing, point) in points(sizings) {
        let share = point.over_provisioning.of_capacity;
        if let Some(amplification) = point.probe.write_amplification {
            ends = (ends.0.min(share), ends.1.max(share));
            costs.push(amplification);
            values.push(json!({
                "kind": "curve", "ftl": sizing.ftl, "extra": share, "amplification": amplification,
                "blocks": point.probe.extra_blocks,
            }));
        }
    }
    values.extend(sizings.iter().filter_map(answer));
    for mark in marks.iter().filter(|mark| ends.0 <= mark.extra && mark.extra <= ends.1) {
        costs.extend(mark.amplification);
        let kind = if mark.amplification.is_some() { "mark" } else { "rule" };
        values.push(json!({"kind": kind, "name": mark.name, "extra": mark.extra,
                           "amplification": mark.amplification}));
    }
    let most = costs.iter().copied().fold(1.0, f64::max);
    let mut y = match most >= DECADES {
        true => logarithmic_axis("amplification", "write amplification"),
        false => axis("amplification", "write amplification"),
    };
    y["scale"]["domain"] = json!([1.0, most]);
    let parts = drawn("ftl", &labels[..labels.len().min(TOGETHER_MAX)], view(target, y));
    Figure {
        id: "write-amplification-against-over-provisioning".into(),
        title: "Write amplification against over-provisioning".into(),
        caption: format!(
            "Every point of a curve is a run. Circles are the answers for the target, the dashed \
             rule. {}The search halves the extra blocks until the target is missed, and then \
             narrows the bracket.",
            if marks.is_empty() { "" } else { MARKED }
        ),
        spec: spec(values, parts),
        table: Some(table(sizings)),
    }
}

/// What the marks are, for the caption.
const MARKED: &str = "What drives of today have is marked. ";

fn answer(sizing: &Sizing) -> Option<Value> {
    let least = sizing.least.as_ref()?;
    let share = least.over_provisioning.of_capacity;
    Some(json!({"kind": "answer", "ftl": sizing.ftl, "extra": share,
                "name": format!("{} %", decimals(100.0 * share, 1)),
                "amplification": least.probe.write_amplification?}))
}

/// The marks of the figure, each for its kind of values.
fn view(target: f64, y: Value) -> Value {
    let of = |kind: &str| json!([{"filter": format!("datum.kind === '{kind}'")}]);
    let x = share_axis("extra", "over-provisioning, (T − U) / U");
    let both = json!({"x": x, "y": y});
    let text = |dx: i32, dy: i32| json!({"type": "text", "align": "left", "dx": dx, "dy": dy});
    let named = json!({"x": x, "y": y, "text": {"field": "name"}});
    let label = json!([{"label": format!("target {}", number(target))}]);
    json!({
        "height": 320,
        "layer": [
            {"transform": of("curve"),
             "mark": {"type": "line", "point": {"size": 18}, "tooltip": true}, "encoding": both},
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
            {"transform": of("answer"), "mark": text(9, -9), "encoding": named},
            {"transform": of("mark"),
             "mark": {"type": "point", "shape": "diamond", "size": 110, "filled": true,
                      "opacity": 1, "color": colours::NEUTRAL, "tooltip": true},
             "encoding": both},
            {"transform": of("mark"), "mark": text(9, -6), "encoding": named},
        ],
    })
}

fn points(sizings: &[Sizing]) -> impl Iterator<Item = (&Sizing, &SizedPoint)> {
    sizings.iter().flat_map(|sizing| sizing.curve.iter().map(move |point| (sizing, point)))
}

fn table(sizings: &[Sizing]) -> DataTable {
    let head =
        ["FTL", "extra blocks", "extra", "(T − U) / U", "(T − U) / T", "write amplification"];
    let row = |(sizing, point): (&Sizing, &SizedPoint)| {
        let (probe, share) = (&point.probe, point.over_provisioning);
        vec![
            sizing.ftl.clone(),
            count(probe.extra_blocks),
            bytes(probe.extra_blocks.saturating_mul(sizing.block_bytes)),
            format!("{} %", percent(share.of_capacity)),
            format!("{} %", percent(share.of_flash)),
            probe.write_amplification.map_or("refused".into(), |it| decimals(it, 4)),
        ]
    };
    DataTable::new(head, points(sizings).map(row))
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
        assert_eq!(of("answer")[0]["name"], "50.0 %");
        assert_eq!(of("answer").len(), 1);
        let rules: Vec<&Value> = of("rule").iter().map(|it| &it["name"]).collect();
        assert_eq!(rules, ["mixed-use"], "the others are outside of the curve");
        let rows = &figure.table.as_ref().unwrap().rows;
        assert_eq!(rows[0][5], "refused");
        assert_eq!(rows[1][3..5], ["25.00 %", "20.00 %"]);
    }
}
