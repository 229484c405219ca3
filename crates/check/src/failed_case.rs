//! A case that failed, and the command line that replays it.

use ftl::Durability;

use crate::case::Case;
use crate::device::machine_crash::Crash;
use crate::device::power_cut::PowerCut;
use crate::finding::Finding;
use crate::flash::Storage;

/// A finding, and the case with the cuts or crashes that reproduce it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}\n  Replay:  {}", told(.finding, .case), replay_line(.case, .cuts, .crashes))]
pub struct FailedCase {
    /// What is wrong.
    pub finding: Finding,
    /// The case.
    pub case: Box<Case>,
    /// The power cuts.
    pub cuts: Vec<PowerCut>,
    /// The crashes.
    pub crashes: Vec<Crash>,
}

impl FailedCase {
    /// A finding in this case after these power cuts.
    pub fn new(case: &Case, cuts: &[PowerCut], finding: Finding) -> FailedCase {
        let (case, cuts) = (Box::new(case.clone()), cuts.to_vec());
        FailedCase { finding, case, cuts, crashes: Vec::new() }
    }

    /// Whether the power was on all the time.
    pub fn is_uncut(&self) -> bool {
        self.crashes.is_empty() && self.cuts.iter().all(|&cut| cut == PowerCut::AFTER_THE_END)
    }

    /// A finding in this case after these crashes.
    pub fn crashed(case: &Case, crashes: &[Crash], finding: Finding) -> FailedCase {
        FailedCase { crashes: crashes.to_vec(), ..FailedCase::new(case, &[], finding) }
    }
}

/// What was found. The author of a guest knows the verdicts, the author of a scheme the defects.
fn told(finding: &Finding, case: &Case) -> String {
    match case.guest() {
        Some(_) => finding.by_verdict(),
        None => finding.to_string(),
    }
}

/// The command that runs the case with these power cuts or crashes.
pub fn replay_line(case: &Case, cuts: &[PowerCut], crashes: &[Crash]) -> String {
    let Case { subject, model, workload, seed, .. } = case;
    let (ftl, model) = (subject.name(), model.spec());
    let mut line = format!("ftlab check --ftl {ftl} --geometry {model} --workload {workload}");
    if let Some(log) = &case.log {
        line += &format!(" --log-writes {}", spec::shell_word(log));
    }
    line += &format!(" --seed {seed}");
    if case.durability != Durability::Full {
        line += &format!(" --durability {}", case.durability.name());
    }
    if case.storage != Storage::Memory {
        line += &format!(" --on {}", case.storage.name());
    }
    if let Some(first) = crashes.first() {
        line += &format!(" --crash {} --loss {}", first.after, first.loss);
    }
    for later in crashes.iter().skip(1) {
        line += &format!(" --second {later}");
    }
    if cuts.is_empty() && crashes.is_empty() {
        line += " --cut none";
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
    use crate::finding::Defect;
    use crate::subject::Subject;
    use crate::workload::logged::{Logged, LoggedWorkload};

    fn case(durability: Durability) -> Case {
        let subject = Subject::from_spec("page:victim=fifo").unwrap();
        let model = DeviceModel::named("tiny").unwrap();
        Case::new(&subject, model, "hot", 7, durability).unwrap()
    }

    #[test]
    fn a_replay_line_names_everything_that_determines_a_case() {
        let cuts = ["31:unstable@90", "4:half"].map(|text| PowerCut::parse(text).unwrap());
        assert_eq!(
            replay_line(&case(Durability::Full), &cuts, &[]),
            "ftlab check --ftl page:victim=fifo --geometry tiny --workload hot --seed 7 \
             --cut 31 --outcome unstable@90 --second 4:half"
        );
        let line = replay_line(&case(Durability::Paper), &[], &[]);
        assert!(line.ends_with("--seed 7 --durability paper --cut none"), "{line}");
        let crashes = ["40:one@3", "9:all"].map(|text| Crash::parse(text).unwrap());
        let line = replay_line(&case(Durability::Full).on(Storage::Image), &[], &crashes);
        let end = "--seed 7 --on image --crash 40 --loss one@3 --second 9:all";
        assert!(line.ends_with(end), "{line}");
    }

    #[test]
    fn a_cut_after_the_end_is_none() {
        let finding = || Finding::new(Defect::Lost, "page 3");
        let after = |cuts: &[PowerCut]| FailedCase::new(&case(Durability::Full), cuts, finding());
        assert!(after(&[]).is_uncut() && after(&[PowerCut::AFTER_THE_END]).is_uncut());
        let cut = PowerCut::parse("31:torn").unwrap();
        assert!(!after(&[cut]).is_uncut() && !after(&[PowerCut::AFTER_THE_END, cut]).is_uncut());
        let crash = Crash::parse("9:all").unwrap();
        assert!(!FailedCase::crashed(&case(Durability::Full), &[crash], finding()).is_uncut());
    }

    #[test]
    fn a_replay_line_names_the_log_of_a_window() {
        let logged = [Logged::Write { sectors: 0..2, is_forced: true }];
        let model = DeviceModel::named("small").unwrap();
        let logged = LoggedWorkload::new("my disk.log", &logged, model);
        let page = Subject::from_spec("page").unwrap();
        let case = Case::of_window(&page, &logged, 0, 7, Durability::Full).unwrap();
        let line = replay_line(&case, &[PowerCut::parse("3:torn").unwrap()], &[]);
        assert_eq!(
            line,
            "ftlab check --ftl page --geometry small --workload log-0 --log-writes 'my disk.log' \
             --seed 7 --cut 3 --outcome torn"
        );
    }
}
