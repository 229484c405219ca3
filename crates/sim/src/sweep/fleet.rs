//! Fleets: plans whose rows with `each_volume` become a row for each volume of their trace.
//!
//! ```text
//! ftl=page  each volume of t.csv          volume=a ftl=page
//! ftl=fast  each volume of t.csv    ─▶    volume=a ftl=fast
//!                                         volume=b ftl=page …
//! ```
//! The volumes follow each other as in the trace, and the rows of a volume as in the plan. So the
//! rows depend on the plan and the trace alone, on whatever machine they are run.

use serde_json::Map;

use crate::config::experiment::Experiment;
use crate::config::values::Volume;
use crate::error::{Error, Result};
use crate::input::split_trace::SplitTrace;
use crate::plan::row::ROWS_MAX;
use crate::plan::{Plan, Row};
use crate::progress::Progress;
use crate::sweep::shared_inputs::{SharedInputs, file_key};
use crate::sweep::trace_digests::TraceDigests;

/// The option of the volume, as rows name it among those that vary.
const VOLUME: &str = "volume";
/// The option that stands for a row for each volume.
const EACH_VOLUME: &str = "each_volume";

/// The plan with a row for each volume. Traces that are split stay open in `inputs` for its rows.
///
/// # Errors
/// A trace cannot be read, no volume is chosen, or there are too many rows.
pub fn with_each_volume(
    plan: Plan,
    inputs: &SharedInputs,
    digests: &TraceDigests,
    progress: &dyn Progress,
) -> Result<Plan> {
    if !plan.rows.iter().any(|row| row.experiment.each_volume) {
        return Ok(plan);
    }
    let (mut rows, mut choices) = (Vec::new(), Vec::new());
    for alike in plan.rows.chunk_by(|a, b| have_the_same_volumes(&a.experiment, &b.experiment)) {
        match alike[0].experiment.each_volume {
            false => rows.extend_from_slice(alike),
            true => {
                let split = inputs.split(&alike[0].experiment, digests, progress)?;
                rows.extend(of_volumes(alike, &split)?);
                choices.extend(split.choice(&alike[0].experiment)?);
            }
        }
        if rows.len() > ROWS_MAX {
            let what = format!("{} rows are more than {ROWS_MAX}; split the plan", rows.len());
            return Err(Error::Impossible(what));
        }
    }
    choices.dedup();
    Ok(Plan { rows, choices, ..plan })
}

fn have_the_same_volumes(a: &Experiment, b: &Experiment) -> bool {
    let options = |it: &Experiment| (file_key(it, ""), it.trace.clone(), it.volumes.clone());
    a.each_volume && b.each_volume && options(a) == options(b)
}

/// The rows of each chosen volume, for rows that have the same volumes.
fn of_volumes(alike: &[Row], split: &SplitTrace) -> Result<Vec<Row>> {
    let chosen = split.chosen(&alike[0].experiment)?;
    let rows =
        chosen.iter().flat_map(|volume| alike.iter().map(|row| of_volume(row, &volume.name)));
    Ok(rows.collect())
}

/// The row for one volume.
fn of_volume(row: &Row, name: &str) -> Row {
    let volume = Volume::Named(name.to_owned());
    let experiment =
        Experiment { volume, each_volume: false, volumes: None, ..row.experiment.clone() };
    let mut varied = Map::from_iter([(VOLUME.to_owned(), name.into())]);
    let others = row.varied.iter().filter(|(option, _)| *option != EACH_VOLUME);
    varied.extend(others.map(|(option, value)| (option.clone(), value.clone())));
    Row { experiment, varied }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Scale;
    use crate::progress::NoProgress;
    use crate::sweep::key::journal_key;
    use crate::sweep::largest_first;

    const LINES: &str = "7,0,4096,W,0.0\n5,8,4096,W,0.1\n7,0,4096,W,0.2\n5,0,8192,R,0.3\n";

    /// The plan of a text in which `t` is the trace.
    fn plan(text: &str, file: &tempfile::NamedTempFile) -> Plan {
        let name = file.path().to_str().unwrap();
        Plan::parse("p", &text.replace("\"t\"", &format!("\"{name}\"")), Scale::Full).unwrap()
    }

    fn expanded(text: &str) -> Result<(Plan, SharedInputs)> {
        expanded_on(LINES, text)
    }

    fn expanded_on(lines: &str, text: &str) -> Result<(Plan, SharedInputs)> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), lines).unwrap();
        let plan = plan(text, &file);
        let inputs = SharedInputs::new(&plan, 1 << 20, None);
        let plan = with_each_volume(plan, &inputs, &TraceDigests::default(), &NoProgress)?;
        Ok((plan, inputs))
    }

    /// What varies, in a few words.
    fn varied(plan: &Plan) -> Vec<String> {
        let word = |value: &serde_json::Value| value.to_string().replace('"', "");
        let words = |row: &Row| row.varied.values().map(word).collect::<Vec<_>>().join(" ");
        plan.rows.iter().map(words).collect()
    }

    const GRID: &str = "[base]\ntrace = \"t\"\neach_volume = true\n[[grid]]\n\
                        ftl = [\"page\", \"block\"]";

    #[test]
    fn the_rows_of_a_volume_follow_each_other_in_the_order_of_the_trace() {
        let (plan, inputs) = expanded(GRID).unwrap();
        assert_eq!(varied(&plan), ["7 page", "7 block", "5 page", "5 block"]);
        let requests = plan.rows.iter().map(|row| inputs.requests(&row.experiment));
        assert_eq!(requests.collect::<Vec<_>>(), [Some(2), Some(2), Some(2), Some(2)]);
        let mixed = "[base]\ntrace = \"t\"\n[[grid]]\neach_volume = [true, false]\n\
                     seed = [1, 2]";
        let (plan, _) = expanded(mixed).unwrap();
        assert_eq!(varied(&plan), ["7 1", "7 2", "5 1", "5 2", "false 1", "false 2"]);
    }

    /// The names of volumes come with the first lines of each, also with those that are skipped.
    #[test]
    fn a_volume_of_which_all_lines_were_skipped_has_no_rows() {
        let (plan, _) = expanded_on(&format!("3,0,0,W,0.0\n{LINES}"), GRID).unwrap();
        assert_eq!(varied(&plan), ["7 page", "7 block", "5 page", "5 block"]);
    }

    #[test]
    fn the_largest_volumes_are_begun_first() {
        let (plan, inputs) = expanded_on(&LINES.replacen('7', "3", 1), GRID).unwrap();
        assert_eq!(varied(&plan)[..3], ["3 page", "3 block", "5 page"]);
        assert_eq!(largest_first(&plan, (0..6).collect(), &inputs), [2, 3, 0, 1, 4, 5]);
    }

    #[test]
    fn conditions_choose_volumes() {
        let chosen = |choice: &str| {
            expanded(&GRID.replace("[[grid]]", &format!("volumes = \"{choice}\"\n[[grid]]")))
        };
        let (plan, _) = chosen("rewrites>=50%").unwrap();
        assert_eq!(varied(&plan), ["7 page", "7 block"]);
        let [says] = plan.choices.as_slice() else { panic!("{:?}", plan.choices) };
        assert!(
            says.starts_with("Of the 2 volumes of ") && says.ends_with(", 1 meet rewrites>=50%.")
        );
        let none = chosen("writes>2").err().unwrap();
        assert_eq!(none.exit_code(), 2);
        assert!(none.to_string().contains("none of the volumes of "), "{none}");
        // A choice for one of two fleets of the same file.
        let both = "[base]\ntrace = \"t\"\n[[list]]\neach_volume = true\n[[list]]\n\
                    each_volume = true\nvolumes = \"reads>0\"";
        let (plan, _) = expanded(both).unwrap();
        assert_eq!(
            (varied(&plan), plan.choices.len()),
            (["7", "5", "5 reads>0"].map(str::to_owned).to_vec(), 1)
        );
    }

    #[test]
    fn rows_are_the_same_wherever_the_plan_is_expanded() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), LINES).unwrap();
        let digests = TraceDigests::default();
        let key = |inputs: &SharedInputs| {
            let plan = plan(GRID, &file);
            let plan = with_each_volume(plan, inputs, &digests, &NoProgress).unwrap();
            journal_key(&plan, &[0, 1, 2, 3], &digests, &NoProgress).unwrap()
        };
        let here = SharedInputs::new(&plan(GRID, &file), 0, None);
        assert_eq!(key(&here), key(&SharedInputs::uncached(&plan(GRID, &file))));
    }
}
