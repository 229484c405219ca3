//! A case that failed, and the command line that replays it.

use ftl::Durability;

use crate::case::Case;
use crate::finding::Finding;
use crate::power_cut::PowerCut;

/// A finding, and the case and cuts that reproduce it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{finding}\n  Replay:  {}", replay_line(.case, .cuts))]
pub struct FailedCase {
    /// What is wrong.
    pub finding: Finding,
    /// The case.
    pub case: Box<Case>,
    /// The power cuts.
    pub cuts: Vec<PowerCut>,
}

impl FailedCase {
    /// A finding in this case after these power cuts.
    pub fn new(case: &Case, cuts: &[PowerCut], finding: Finding) -> FailedCase {
        FailedCase { finding, case: Box::new(case.clone()), cuts: cuts.to_vec() }
    }
}

/// The command that runs the case with these power cuts.
pub fn replay_line(case: &Case, cuts: &[PowerCut]) -> String {
    let Case { subject, model, workload, seed, .. } = case;
    let (ftl, model) = (subject.name(), model.name);
    let mut line = format!("ftlab check --ftl {ftl} --geometry {model} --workload {workload}");
    line += &format!(" --seed {seed}");
    if case.durability != Durability::Full {
        line += &format!(" --durability {}", case.durability.name());
    }
    if let Some(first) = cuts.first() {
        line += &format!(" --cut {} --outcome {}", first.after, first.outcome_text());
    }
    for later in cuts.iter().skip(1) {
        line += &format!(" --second {later}");
    }
    line
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
        let cuts = ["31:unstable@90", "4:half"].map(|text| PowerCut::parse(text).unwrap());
        assert_eq!(
            replay_line(&case(Durability::Full), &cuts),
            "ftlab check --ftl page:victim=fifo --geometry tiny --workload hot --seed 7 \
             --cut 31 --outcome unstable@90 --second 4:half"
        );
        let line = replay_line(&case(Durability::Paper), &[]);
        assert!(line.ends_with("--seed 7 --durability paper"), "{line}");
    }
}
