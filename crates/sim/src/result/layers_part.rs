//! The `layers` part of a result: parameters and metrics of each layer.

use ftl::LAYERS;
use ftl::layer::Layer;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::result::json_values::{metrics_json, params_json};
use crate::result::record::{Column, ColumnKind, Columns, field_name};

/// For each layer its parameters and metrics; null for a layer that is not there.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct LayersPart(Map<String, Value>);

impl LayersPart {
    /// The layers above a scheme, with their reports.
    pub fn of(layers: &ftl::Layers, reports: &[ftl::LayerReport]) -> LayersPart {
        let part = |layer: &Layer| {
            let report = reports.iter().find(|report| report.layer == layer.name)?;
            // The buffer of a divided budget reports, but has no options of its own.
            let setting = layers.named(layer.name).into_iter();
            let params = setting.flat_map(|setting| params_json(&setting.params));
            Some(Value::Object(params.chain(metrics_json(&report.figures, &[])).collect()))
        };
        LayersPart(LAYERS.iter().map(|layer| (layer.key(), part(layer).into())).collect())
    }

    /// Parameters and metrics of a layer, if it is there.
    pub fn get(&self, layer: &str) -> Option<&Map<String, Value>> {
        self.0.get(layer)?.as_object()
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, layer: &str) -> Option<&mut Map<String, Value>> {
        self.0.get_mut(layer)?.as_object_mut()
    }

    /// The layers that are there, from the top down.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Map<String, Value>)> {
        self.0.iter().filter_map(|(name, part)| Some((name.as_str(), part.as_object()?)))
    }
}

impl Columns for LayersPart {
    fn columns(name: &str, out: &mut Vec<Column>) {
        let names = LAYERS.iter().map(|layer| field_name(name, &layer.key()));
        let column = |name| Column { name, kind: ColumnKind::Json, is_optional: true, most: None };
        out.extend(names.map(column));
    }
}
