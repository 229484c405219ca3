//! Curves of several runs or traces: a few share a view, more have a panel each.
//!
//! In a shared view, dashes and shapes tell the curves apart as well as colours do. Curves with
//! equal points are drawn once, under both labels, because one would hide the other.

use serde_json::{Value, json};

use crate::colours;
use crate::figure::legend;

/// A view has at most this many curves.
pub(crate) const TOGETHER_MAX: usize = 8;

/// The dashes of the curves of a view, in their order. Those with the same dashes differ in colour.
const DASHES: [&[u32]; TOGETHER_MAX] =
    [&[1, 0], &[7, 3], &[2, 2], &[9, 3, 2, 3], &[1, 0], &[7, 3], &[2, 2], &[9, 3, 2, 3]];
/// The shapes of their points.
pub(crate) const SHAPES: [&str; 8] = [
    "circle",
    "square",
    "triangle-up",
    "cross",
    "triangle-down",
    "triangle-right",
    "triangle-left",
    "stroke",
];

/// A curve: its label and its points.
pub(crate) type Curve<P> = (String, Vec<P>);

/// The curves that have points. Those with the same points become one with a joined label.
pub(crate) fn distinct<P: PartialEq>(curves: impl IntoIterator<Item = Curve<P>>) -> Vec<Curve<P>> {
    let mut groups: Vec<(Vec<String>, Vec<P>)> = Vec::new();
    for (label, points) in curves {
        match groups.iter_mut().find(|(_, known)| *known == points) {
            _ if points.is_empty() => {}
            Some((labels, _)) => labels.push(label),
            None => groups.push((vec![label], points)),
        }
    }
    groups.into_iter().map(|(labels, points)| (labels.join(", "), points)).collect()
}

/// The values of all points, each with the label of its curve.
pub(crate) fn values<P>(curves: &[Curve<P>], value: impl Fn(&str, &P) -> Value) -> Vec<Value> {
    let of_curve = |(label, points): &Curve<P>| -> Vec<Value> {
        points.iter().map(|point| value(label, point)).collect()
    };
    curves.iter().flat_map(of_curve).collect()
}

/// The labels of curves, in their order.
pub(crate) fn labels<P>(curves: &[Curve<P>]) -> Vec<String> {
    curves.iter().map(|(label, _)| label.clone()).collect()
}

/// The parts of a spec with these curves, which `field` names. `view` has the mark, the height and
/// the axes of one view; if it has layers, the first one has the curves.
pub(crate) fn drawn(field: &str, labels: &[String], mut view: Value) -> Value {
    if labels.len() > TOGETHER_MAX {
        return panels(field, labels, view);
    }
    let curves = first_layer(&mut view);
    if let [label] = labels {
        curves["mark"]["color"] = colours::of_one(label).into();
    }
    if let [_, _, ..] = labels {
        let channel = |range: Value| {
            let mut legend = legend(labels);
            legend["symbolSize"] = 300.into();
            legend["symbolType"] = "stroke".into();
            json!({"field": field, "type": "nominal", "title": null, "legend": legend,
                   "scale": {"domain": labels, "range": range}})
        };
        let has_points = curves["mark"].get("point").is_some();
        let encoding = &mut curves["encoding"];
        encoding["color"] = channel(json!(colours::of(labels)));
        encoding["strokeDash"] = channel(json!(DASHES[..labels.len()]));
        if has_points {
            encoding["shape"] = channel(json!(SHAPES[..labels.len()]));
            for channel in ["color", "strokeDash", "shape"] {
                encoding[channel]["legend"] = legend(labels);
            }
        }
    }
    view
}

/// The layer of a view that has its values.
fn first_layer(view: &mut Value) -> &mut Value {
    match view.get("layer") {
        Some(_) => &mut view["layer"][0],
        None => view,
    }
}

/// One panel per value of `field`, with the same axes. That of an FTL has the colour that the FTL
/// has elsewhere.
pub(crate) fn panels(field: &str, labels: &[String], mut view: Value) -> Value {
    let encoding = &mut first_layer(&mut view)["encoding"];
    let are_schemes = labels.iter().all(|label| colours::names_a_scheme(label));
    if are_schemes && encoding.get("color").is_none() {
        let scale = json!({"domain": labels, "range": colours::of(labels)});
        encoding["color"] =
            json!({"field": field, "type": "nominal", "legend": null, "scale": scale});
    }
    view["width"] = 240.into();
    view["height"] = 120.into();
    json!({
        "facet": {"field": field, "type": "nominal", "title": null, "sort": labels},
        "columns": 3,
        "spec": view,
        // The last row may have fewer panels than the first; each panel has its own ticks.
        "resolve": {"axis": {"x": "independent"}},
    })
}

/// A sentence for the caption if one curve stands for all runs; otherwise empty.
pub(crate) fn shared_note<P>(curves: &[Curve<P>], runs: usize) -> &'static str {
    match (curves.len(), runs) {
        (1, 2..) => " One curve is drawn because it is the same for all.",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labelled(count: usize) -> Vec<String> {
        (0..count).map(|at| format!("run {at}")).collect()
    }

    fn view() -> Value {
        json!({"mark": {"type": "line"}, "height": 220, "encoding": {"x": {}, "y": {}}})
    }

    #[test]
    fn one_curve_needs_no_legend() {
        let parts = drawn("page", &labelled(1), view());
        assert_eq!(parts["encoding"], view()["encoding"]);
        assert_eq!(drawn("ftl", &["dac".into()], view())["mark"]["color"], colours::of_one("dac"));
    }

    #[test]
    fn the_panel_of_an_ftl_has_its_colour_and_no_other_panel_has_one() {
        let ftls = ["dac".to_owned(), "fast:rw=4".to_owned()];
        let colour = panels("ftl", &ftls, view())["spec"]["encoding"]["color"].clone();
        assert_eq!(colour["scale"], json!({"domain": ftls, "range": colours::of(&ftls)}));
        let others = panels("requests", &["reads".into(), "dac".into()], view());
        assert!(others["spec"]["encoding"].get("color").is_none());
    }

    #[test]
    fn a_few_curves_share_a_view_and_differ_by_more_than_colour() {
        let parts = drawn("run", &labelled(4), view());
        assert_eq!(parts["height"], 220);
        let dashes = parts["encoding"]["strokeDash"]["scale"]["range"].as_array().unwrap();
        assert!((0..4).all(|at| dashes.iter().skip(at + 1).all(|other| *other != dashes[at])));
        let mut layered = view();
        layered = json!({"height": 220, "layer": [layered]});
        let parts = drawn("run", &labelled(2), layered);
        assert_eq!(parts["layer"][0]["encoding"]["color"]["field"], "run");
        assert!(parts["encoding"].get("shape").is_none(), "no points, no shapes");
        let mut points = view();
        points["mark"]["point"] = true.into();
        let parts = drawn("run", &labelled(3), points);
        assert_eq!(parts["encoding"]["shape"]["scale"]["range"][2], "triangle-up");
    }

    #[test]
    fn many_curves_have_a_panel_each() {
        let parts = drawn("run", &labelled(9), view());
        assert_eq!(parts["facet"]["sort"], json!(labelled(9)));
        assert!(parts["spec"]["encoding"].get("color").is_none());
    }

    #[test]
    fn equal_curves_are_drawn_once_under_both_labels() {
        let curve = |label: &str, points: &[u8]| (label.to_owned(), points.to_vec());
        let all = [curve("a", &[1, 2]), curve("b", &[]), curve("c", &[1, 2]), curve("d", &[3])];
        assert_eq!(distinct(all), [curve("a, c", &[1, 2]), curve("d", &[3])]);
    }
}
