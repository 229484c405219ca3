//! A case that failed, and the command line that replays it.

use ftl::Durability;
use nand::power_cut::{Cut, Outcome};

use crate::case::Case;
use crate::finding::Finding;

/// A finding, and the case and cuts that reproduce it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{finding}\n  Replay:  {}", replay_line(.case, .cuts))]
pub struct FailedCase {
    /// What is wrong.
    pub finding: Finding,
    /// The case.
    pub case: Box<Case>,
    /// The power cuts.
    pub cuts: Vec<Cut>,
}

impl FailedCase {
    /// A finding in this case after these power cuts.
    pub fn new(case: &Case, cuts: &[Cut], finding: Finding) -> FailedCase {
        FailedCase { finding, case: Box::new(case.clone()), cuts: cuts.to_vec() }
    }
}

/// The command that runs the case with these power cuts.
pub fn replay_line(case: &Case, cuts: &[Cut]) -> String {
    let Case { subject, model, workload, seed, .. } = case;
    let (ftl, model) = (subject.name(), model.name);
    let mut line = format!("ftlab check --ftl {ftl} --geometry {model} --workload {workload}");
    line += &format!(" --seed {seed}");
    if case.durability != Durability::Full {
        line += &format!(" --durability {}", case.durability.name());
    }
    if let Some(first) = cuts.first() {
        line += &format!(" --cut {} --outcome {}", first.after, first.outcome.name());
    }
    for later in cuts.iter().skip(1) {
        line += &format!(" --second {}", cut_text(*later));
    }
    line
}

/// A cut as users write it, such as `4:half`.
pub fn cut_text(cut: Cut) -> String {
    format!("{}:{}", cut.after, cut.outcome.name())
}

/// Parses a cut such as `4:half`: four operations succeed, the next one ends with outcome `half`.
///
/// # Errors
/// The text is malformed, or the outcome is unknown.
pub fn parse_cut(text: &str) -> spec::Result<Cut> {
    let parts =
        text.split_once(':').and_then(|(after, outcome)| Some((after.parse().ok()?, outcome)));
    let malformed = || spec::Error::Malformed {
        text: text.to_owned(),
        form: "a cut such as `4:half`: the number of operations that succeed, and the outcome of \
               the next one"
            .to_owned(),
    };
    let (after, outcome) = parts.ok_or_else(malformed)?;
    Ok(Cut { after, outcome: parse_outcome(outcome)? })
}

/// The outcome called `name`.
///
/// # Errors
/// The name is unknown.
pub fn parse_outcome(name: &str) -> spec::Result<Outcome> {
    Outcome::named(name).ok_or_else(|| spec::unknown("outcome", name, Outcome::NAMES))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device_model::DeviceModel;
    use crate::subject::Subject;

    fn case(durability: Durability) -> Case {
        let subject = Subject::from_spec("page:victim=fifo").unwrap();
        let model = DeviceModel::named("tiny").unwrap();
        Case::new(&subject, model, "hot", 7, durability).unwrap()
    }

    #[test]
    fn a_replay_line_names_everything_that_determines_a_case() {
        let cuts = ["31:torn", "4:half"].map(|text| parse_cut(text).unwrap());
        assert_eq!(
            replay_line(&case(Durability::Full), &cuts),
            "ftlab check --ftl page:victim=fifo --geometry tiny --workload hot --seed 7 \
             --cut 31 --outcome torn --second 4:half"
        );
        let line = replay_line(&case(Durability::Paper), &[]);
        assert!(line.ends_with("--seed 7 --durability paper"), "{line}");
    }

    #[test]
    fn cuts_can_be_parsed_as_they_are_printed() {
        assert_eq!(cut_text(parse_cut("4:half").unwrap()), "4:half");
    }

    #[test]
    fn malformed_cuts_are_refused() {
        for text in ["4", "x:half", ":", "-1:torn"] {
            assert!(parse_cut(text).unwrap_err().to_string().contains("4:half"), "{text}");
        }
        let message = parse_cut("4:haf").unwrap_err().to_string();
        assert!(message.contains("did you mean `half`?"), "{message}");
    }
}
