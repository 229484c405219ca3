//! Whether a row that was read from a file can be the row of a plan.
//!
//! What a row reports of its options, device, scheme and layers is compared with what the plan says
//! of it. Options that no result reports, such as the verification of contents, may differ.

use std::fmt;

use serde_json::{Value, json};

use crate::config::experiment::{Experiment, reported_options};
use crate::config::setup::Setup;
use crate::device;
use crate::plan::Row;
use crate::result::columns::at;
use crate::result::json_values::params_json;
use crate::result::run_result::{DevicePart, FtlPart};

/// A field in which a row is not what its plan says.
#[derive(Debug, PartialEq)]
pub struct OtherField {
    name: String,
    found: Value,
    planned: Value,
}

impl fmt::Display for OtherField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OtherField { name, found, planned } = self;
        write!(f, "{name} is {found} there, and {planned} in the plan")
    }
}

/// The first field of a row, given as JSON, that is not what this row of a plan has. A row that
/// failed has only what varies, and the names of its trace and volume.
pub fn other_field(found: &Value, planned: &Row) -> Option<OtherField> {
    let mut fields = vec![("sweep.varied".to_owned(), Value::Object(planned.varied.clone()))];
    if at(found, "sweep.error").is_null() {
        fields.extend(planned_fields(found, &planned.experiment));
    }
    let other = fields.into_iter().find(|(name, planned)| at(found, name) != planned);
    other.map(|(name, planned)| OtherField { found: at(found, &name).clone(), name, planned })
}

/// What is known of a run before it. Without a capacity, that of the device follows from the trace,
/// which is not read: the one found is taken.
fn planned_fields(found: &Value, experiment: &Experiment) -> Vec<(String, Value)> {
    let run = reported_options().into_iter().map(|option| {
        let value = option.is_reported(experiment).then(|| option.json(experiment));
        (format!("run.{}", option.name), value.unwrap_or(Value::Null))
    });
    let mut fields: Vec<_> = run.collect();
    // A file may have moved.
    let last = |name: &str| name.rsplit('/').next().map(str::to_owned);
    let name = at(found, "trace.name").as_str().and_then(last);
    let other = experiment.trace.iter().filter(|planned| last(planned) != name);
    fields.extend(other.map(|planned| ("trace.name".to_owned(), json!(planned))));
    let Ok(setup) = Setup::new(experiment) else { return fields };
    let mut add = |name: &str, part: Value| {
        let part = part.as_object().into_iter().flatten();
        fields.extend(part.map(|(field, value)| (format!("{name}.{field}"), value.clone())));
    };
    // A row names the class of its policy, and the plan only what the caller calls it.
    let policy = at(found, "ftl.params.policy").as_str().filter(|_| experiment.policy.is_some());
    add("ftl", json!(FtlPart::of(&setup.ftl, policy)));
    for setting in setup.layers.iter() {
        add(&format!("layers.{}", setting.layer.key()), params_json(&setting.params).collect());
    }
    let bytes = ["logical_blocks", "pages_per_block", "page_bytes"]
        .map(|name| found["device"][name].as_u64().unwrap_or(0));
    // The row may come from anywhere.
    let capacity_bytes = bytes.into_iter().fold(1, u64::saturating_mul);
    if let Ok(device) = device::of(&setup, capacity_bytes) {
        add("device", json!(DevicePart::of(&device, &experiment.chip)));
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Plan, Scale};
    use crate::run::{RunOptions, run};
    use crate::sweep::failed_row::RowFailure;
    use crate::sweep::row;

    const PLAN: &str = r#"
        [base]
        trace = "uniform:writes=2K,reads=10%"
        capacity = "1MiB"
        buffer = "16KiB"
        seed = 7
        [[grid]]
        ftl = ["page:victim=fifo", "fast"]
    "#;

    fn plan(text: &str) -> Plan {
        Plan::parse("p", text, Scale::Full).unwrap()
    }

    /// The second row of the plan, as it is read from a file of this form.
    fn row_of(text: &str, as_csv: bool) -> Value {
        let (plan, mut written) = (plan(text), Vec::new());
        let setup = Setup::new(&plan.rows[1].experiment).unwrap();
        let ran = Ok(run(&setup, RunOptions::default()).unwrap());
        let row = row::json(1, &plan.rows[1], &ran);
        if !as_csv {
            return serde_json::from_str(&row).unwrap();
        }
        let mut writer = row::RowWriter::new(&mut written, row::RowFormat::Csv).unwrap();
        writer.write(&row).unwrap();
        writer.finish().unwrap();
        serde_json::from_str(&row::of_csv(&written).unwrap()[0].1).unwrap()
    }

    fn why(row: &Value, text: &str) -> Option<String> {
        other_field(row, &plan(text).rows[1]).map(|other| other.to_string())
    }

    #[test]
    fn rows_of_a_plan_are_its_own() {
        let more =
            PLAN.replace("seed = 7", "media = \"real\"\nreserve = \"3%\"\ntrim = \"ignore\"");
        let sized = PLAN.replace("capacity = \"1MiB\"", "extra = \"5blocks\"");
        let moved = row_of(PLAN, false).to_string().replace("\"uniform:", "\"elsewhere/uniform:");
        assert_eq!(why(&serde_json::from_str(&moved).unwrap(), PLAN), None);
        for text in [PLAN, &more, &sized] {
            for as_csv in [false, true] {
                assert_eq!(why(&row_of(text, as_csv), text), None, "{text}");
            }
        }
    }

    #[test]
    fn a_row_of_another_base_is_told_by_the_first_field_that_differs() {
        let others = [
            ("seed = 7", "seed = 8", "run.seed is 7 there, and 8 in the plan"),
            (
                "seed = 7",
                "seed = 7\ntrim = \"ignore\"",
                "run.trim is null there, and \"ignore\" in the plan",
            ),
            ("1MiB", "2MiB", "device.logical_blocks is 8 there, and 16 in the plan"),
            ("16KiB", "32KiB", "layers.buffer.size is 16384 there, and 32768 in the plan"),
            ("\"fast\"", "\"last\"", "sweep.varied is "),
            ("10%", "20%", "trace.name is \"uniform:writes=2K,reads=10%\" there, and "),
        ];
        for as_csv in [false, true] {
            let row = row_of(PLAN, as_csv);
            for (old, new, wanted) in others {
                let why = why(&row, &PLAN.replace(old, new)).unwrap();
                assert!(why.starts_with(wanted), "{why}");
            }
        }
    }

    #[test]
    fn of_a_failed_row_only_what_varies_is_compared() {
        let failure = RowFailure { exit_code: 2, message: "why".into(), is_refused: false };
        let row = row::failed(1, &plan(PLAN).rows[1], &failure);
        let row: Value = serde_json::from_str(&row).unwrap();
        assert_eq!(why(&row, &PLAN.replace("seed = 7", "seed = 8")), None);
        assert!(why(&row, &PLAN.replace("\"fast\"", "\"last\"")).is_some());
    }
}
