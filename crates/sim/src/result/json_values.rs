//! Parameters and metrics of schemes and layers as JSON.

use serde_json::{Map, Value};

/// The value of a parameter: numbers and switches as such, others as users write them.
pub fn param_value(value: &spec::Value) -> Value {
    match value {
        spec::Value::Size(number) | spec::Value::Count(number) => (*number).into(),
        spec::Value::Switch(on) => (*on).into(),
        spec::Value::Real(number) => (*number).into(),
        other => other.to_string().into(),
    }
}

/// The parameters of a layer, by their names.
pub fn params_json(params: &spec::Params) -> impl Iterator<Item = (String, Value)> {
    params.iter().map(|(name, value)| (name.to_owned(), param_value(value)))
}

/// The metrics of a scheme or layer, and its gauges at the end of the run. A ratio of nothing is
/// null. If a metric and a gauge share a name, the exact metric is taken.
pub fn metrics_json(
    metrics: &[(&'static str, ftl::Metric)],
    gauges: &[(&str, f64)],
) -> Map<String, Value> {
    let value = |metric: &ftl::Metric| match metric {
        ftl::Metric::Count(count) => Value::from(*count),
        ftl::Metric::Real(real) => Value::from(*real),
        ftl::Metric::Counts(counts) => Value::from(counts.clone()),
        ftl::Metric::Text(text) => Value::from(text.clone()),
        other => Value::from(format!("{other:?}")),
    };
    let metrics = metrics.iter().map(|(name, metric)| ((*name).to_owned(), value(metric)));
    let mut all: Map<String, Value> = metrics.collect();
    for &(name, value) in gauges {
        all.entry(name).or_insert(value.into());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_numbers_where_they_can_be() {
        assert_eq!(param_value(&spec::Value::Count(2)), 2);
        assert_eq!(param_value(&spec::Value::Choice("greedy")), "greedy");
        assert_eq!(param_value(&spec::Value::Ratio(70, 30)), "70/30");
    }

    #[test]
    fn ratios_of_nothing_are_null_and_counts_stay_exact() {
        let of_nothing = ftl::Metric::Real(f64::NAN);
        let of_run = [("hits", ftl::Metric::Count(3)), ("ratio", of_nothing)];
        let json = metrics_json(&of_run, &[("k", 0.5), ("hits", 3.0)]);
        assert_eq!((&json["hits"], &json["ratio"]), (&Value::from(3), &Value::Null));
        assert_eq!(json["k"], 0.5);
    }
}
