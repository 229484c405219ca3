//! The page of a sizing: write amplification against over-provisioning, and the least that meets
//! the target.

use serde_json::json;
use sim::sizing::answer::{SizedPoint, Sizing};

use crate::curves::{TOGETHER_MAX, drawn};
use crate::figure::{DataTable, Figure, axis, share_axis, spec};
use crate::html_page::{HtmlPage, Section, Tile};
use crate::number_format::{bytes, count, decimals, percent};

/// The page of a search on a trace; `made_by` is for its footer.
pub fn page(target: f64, trace: &str, sizings: &[Sizing], made_by: String) -> HtmlPage {
    let prefixed = |sizing: &Sizing| {
        let ftl = sizing.ftl.clone();
        sizing.notes.clone().into_iter().map(move |note| format!("{ftl}: {note}"))
    };
    HtmlPage {
        title: "Sizing".into(),
        lead: vec![format!(
            "The least over-provisioning at which write amplification is at most {target} on \
             {trace}. T is the flash without system blocks, U the capacity of the host."
        )],
        notes: sizings.iter().flat_map(prefixed).collect(),
        tiles: sizings.iter().map(tile).collect(),
        sections: vec![Section::of_figures("Write amplification", vec![curve(target, sizings)])],
        made_by,
        ..HtmlPage::default()
    }
}

fn tile(sizing: &Sizing) -> Tile {
    let (value, note) = match &sizing.least {
        Some(least) => (
            format!("{} %", percent(least.over_provisioning.of_capacity)),
            format!(
                "(T − U) / U; {} extra blocks; {}",
                count(least.probe.extra_blocks),
                sizing.chip
            ),
        ),
        None if sizing.curve.is_empty() => ("no collection".into(), sizing.chip.clone()),
        None => ("not reached".into(), sizing.chip.clone()),
    };
    Tile { label: sizing.ftl.clone(), value, note }
}

/// Write amplification against over-provisioning, a curve for each FTL, and the target.
fn curve(target: f64, sizings: &[Sizing]) -> Figure {
    let mut labels: Vec<String> = sizings.iter().map(|sizing| sizing.ftl.clone()).collect();
    let mut values = Vec::new();
    let mut extremes = (f64::INFINITY, 0.0f64);
    for (sizing, point) in points(sizings) {
        let share = point.over_provisioning.of_capacity;
        if let Some(amplification) = point.probe.write_amplification {
            extremes = (extremes.0.min(share), extremes.1.max(share));
            values.push(json!({
                "ftl": sizing.ftl, "extra": share, "amplification": amplification,
                "blocks": point.probe.extra_blocks,
            }));
        }
    }
    if labels.len() < TOGETHER_MAX && !values.is_empty() {
        let label = format!("target {target}");
        values.extend(
            [extremes.0, extremes.1]
                .map(|extra| json!({"ftl": label, "extra": extra, "amplification": target})),
        );
        labels.push(label);
    }
    let view = json!({
        "mark": {"type": "line", "point": {"size": 24}, "tooltip": true},
        "height": 320,
        "encoding": {
            "x": share_axis("extra", "over-provisioning, (T − U) / U"),
            "y": axis("amplification", "write amplification"),
        },
    });
    Figure {
        id: "write-amplification-against-over-provisioning".into(),
        title: "Write amplification against over-provisioning".into(),
        caption: "Every point is a run. The search halves the extra blocks until the target is \
                  missed, and then narrows the bracket."
            .into(),
        spec: spec(values, drawn("ftl", &labels, view)),
        table: Some(table(sizings)),
    }
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
        assert_eq!(page.tiles[0].value, "50.00 %");
        assert_eq!(page.tiles[1].value, "not reached");
        assert_eq!(page.notes, ["page: odd", "fast: odd"]);
        let figure = &page.sections[0].figures[0];
        let values = figure.spec["data"]["values"].as_array().unwrap();
        assert_eq!(values.len(), 2 * 2 + 2, "runs that were refused have no point");
        assert_eq!(values[5]["ftl"], "target 2");
        assert_eq!((&values[4]["extra"], &values[5]["extra"]), (&0.25.into(), &0.5.into()));
        let rows = &figure.table.as_ref().unwrap().rows;
        assert_eq!(rows[0][5], "refused");
        assert_eq!(rows[1][3..5], ["25.00 %", "20.00 %"]);
    }
}
