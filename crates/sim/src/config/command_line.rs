//! An experiment as the command that runs it.

use crate::config::experiment::{Experiment, ExperimentOption, options};

/// The line that runs an experiment on the command line, with quotes where a shell needs them.
/// Options with their default are left out.
pub fn replay_command(experiment: &Experiment) -> String {
    let words = options().iter().flat_map(|option| words(option, experiment));
    let quoted = words.map(|word| spec::shell_word(&word).to_string());
    ["ftlab".to_owned(), "run".to_owned()].into_iter().chain(quoted).collect::<Vec<_>>().join(" ")
}

/// The words of an option; none if it has its default.
fn words(option: &ExperimentOption, experiment: &Experiment) -> Vec<String> {
    let texts = option.texts(experiment);
    if texts == option.texts(&Experiment::default()) {
        return Vec::new();
    }
    let name = format!("--{}", option.name.replace('_', "-"));
    match (option.usage.is_positional, option.is_switch) {
        (true, _) => texts,
        (false, true) => vec![name],
        (false, false) => texts.into_iter().flat_map(|text| [name.clone(), text]).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_options_that_differ_from_their_default_are_written() {
        let experiment = Experiment {
            trace: Some("my disk.csv".into()),
            skip_bad: true,
            extra: Some("7%".parse().unwrap()),
            ..Experiment::default()
        };
        let expected = "ftlab run 'my disk.csv' --skip-bad --extra 7%";
        assert_eq!(replay_command(&experiment), expected);
        assert_eq!(replay_command(&Experiment::default()), "ftlab run");
    }

    #[test]
    fn each_value_of_a_list_is_an_option() {
        let load = ["oltp", "a.csv@open"].map(|text| text.parse().unwrap()).to_vec();
        let experiment = Experiment { load, ..Experiment::default() };
        assert_eq!(replay_command(&experiment), "ftlab run --load oltp --load a.csv@open");
    }
}
