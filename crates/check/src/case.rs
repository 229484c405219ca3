//! A case: a scheme, a shape, a workload and a seed. It can be printed, and the line replays it.

use std::fmt;
use std::str::FromStr;

use ftl::{Choice, Device, Durability, Error, Ftl, Layers, Result, Scheme};
use nand::{BlockId, ChipModel, Cut, Geometry, Mode, Nand, Outcome};
use spec::{Kind, Param, Spec};

use crate::shape::{SHAPES, Shape};
use crate::step::{Space, Step};
use crate::violation::Violation;
use crate::workload;

/// A scheme with its parameters, and how a user writes it.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The spec, such as `page:victim=fifo`.
    pub spec: String,
    /// What it names.
    pub choice: Choice,
    /// What stands above it.
    pub layers: Layers,
}

impl Subject {
    /// The registered scheme that a spec names.
    ///
    /// # Errors
    /// Unknown scheme or key, or a value that is no such thing.
    pub fn from_spec(text: &str) -> Result<Subject> {
        let choice = Choice::from_spec(&Spec::parse(text)?)?;
        Ok(Subject { spec: text.to_owned(), choice, layers: Layers::default() })
    }

    /// A scheme, registered or not, with these parameters.
    ///
    /// # Errors
    /// Unknown key, or a value that is no such thing.
    pub fn of(scheme: &'static Scheme, pairs: &[(String, String)]) -> Result<Subject> {
        let spec = Spec { name: scheme.name.to_owned(), pairs: pairs.to_vec() };
        let params = spec::resolve(&format!("scheme {}", scheme.name), pairs, scheme.params)?;
        let given = pairs.iter().map(|(key, _)| key.clone()).collect();
        let choice = Choice { scheme, params, given };
        Ok(Subject { spec: spec.to_string(), choice, layers: Layers::default() })
    }

    /// The scheme with these layers above it.
    pub fn under(self, layers: &Layers) -> Subject {
        Subject { layers: layers.clone(), ..self }
    }

    /// How a user writes it, layers included.
    pub fn name(&self) -> String {
        format!("{}{}", self.spec, self.layers)
    }

    /// The scheme as it is, in its corners, and in the forms that differ from it in one word,
    /// switch or count. What the scheme refuses is no form.
    pub fn single_changes(scheme: &'static Scheme) -> Vec<Subject> {
        let changed = |param: &'static Param| {
            let words = extend(&[], param).into_iter().filter(|form| !form.is_empty());
            words.chain(other_count(param).map(|pair| vec![pair]))
        };
        let forms = scheme.params.iter().flat_map(changed);
        let forms = core::iter::once(Vec::new()).chain(corners(scheme)).chain(forms);
        forms.filter_map(|pairs| Subject::accepted(scheme, &pairs)).collect()
    }

    fn accepted(scheme: &'static Scheme, pairs: &[(String, String)]) -> Option<Subject> {
        let subject = Subject::of(scheme, pairs).ok()?;
        let refused = (scheme.refuses)(&subject.choice.params, &SHAPES[0].chip());
        refused.is_none().then_some(subject)
    }

    /// The scheme in many forms: its corners, every combination of its words and switches, and each
    /// of these with one of its counts changed.
    pub fn variants(scheme: &'static Scheme) -> Vec<Subject> {
        let mut forms: Vec<Vec<(String, String)>> = vec![Vec::new()];
        for param in scheme.params {
            forms = forms.iter().flat_map(|form| extend(form, param)).collect();
        }
        let counts = scheme.params.iter().filter_map(other_count);
        let changed: Vec<_> = counts
            .flat_map(|pair| {
                forms
                    .iter()
                    .map(move |form| [form.as_slice(), std::slice::from_ref(&pair)].concat())
            })
            .collect();
        let all = forms.into_iter().chain(corners(scheme)).chain(changed);
        all.filter_map(|pairs| Subject::accepted(scheme, &pairs)).collect()
    }
}

/// A form with each value of a parameter that has few; the default goes without saying.
fn extend(form: &[(String, String)], param: &Param) -> Vec<Vec<(String, String)>> {
    let words: &[&str] = match param.kind {
        Kind::Choice(words) => words,
        Kind::Switch => &["true", "false"],
        _ => &[param.default],
    };
    let with = |word: &&str| match *word == param.default {
        true => form.to_vec(),
        false => [form, &[(param.name.to_owned(), (*word).to_owned())]].concat(),
    };
    words.iter().map(with).collect()
}

/// The settings of a scheme's corners.
fn corners(scheme: &'static Scheme) -> impl Iterator<Item = Vec<(String, String)>> {
    let pairs = |text: &&str| spec::parse_pairs(text).expect("a scheme's own settings");
    scheme.corners.iter().map(pairs)
}

/// A count one higher; two where zero leaves the choice to the scheme, which may well be one.
fn other_count(param: &Param) -> Option<(String, String)> {
    let number = match param.kind {
        Kind::Count if param.default == "0" => 2,
        Kind::Count => param.default.parse::<u64>().ok()? + 1,
        _ => return None,
    };
    Some((param.name.to_owned(), number.to_string()))
}

/// Everything that determines a check but the cuts.
#[derive(Clone, Debug)]
pub struct Case {
    /// The scheme.
    pub subject: Subject,
    /// The chip.
    pub shape: &'static Shape,
    /// The workload's name.
    pub workload: String,
    /// What the workload, the aftermath of cuts and the scheme draw from.
    pub seed: u64,
    /// Whether trims must survive.
    pub durability: Durability,
    /// The workload's steps.
    pub steps: Vec<Step>,
    chip: ChipModel,
    geometry: Geometry,
    blocks: Vec<BlockId>,
    space: Space,
}

impl Case {
    /// A case.
    ///
    /// # Errors
    /// An unknown workload, or a chip that the scheme refuses.
    pub fn new(
        subject: &Subject,
        shape: &'static Shape,
        workload: &str,
        seed: u64,
        durability: Durability,
    ) -> Result<Case> {
        let (chip, choice) = (shape.chip(), &subject.choice);
        let least = (choice.scheme.least_extra)(&choice.params, &chip, shape.logical_blocks);
        let extra_blocks = shape.extra_blocks.max(least);
        choice.check(&chip, shape.logical_blocks, extra_blocks)?;
        subject.layers.check(choice.scheme, &choice.given, &chip)?;
        let system_blocks = ftl::system_blocks(&chip, shape.logical_blocks, durability);
        // Always on top: the shapes are as small as schemes can bear.
        let (log_blocks, _) = subject.layers.log_blocks(&chip);
        let blocks = shape.logical_blocks + extra_blocks + log_blocks + system_blocks;
        let geometry = chip.geometry(blocks)?;
        let space = Space {
            pages: shape.logical_blocks * shape.pages_per_block,
            pages_per_block: shape.pages_per_block,
            sectors_per_page: geometry.sectors_per_page(),
            extra_pages: extra_blocks * shape.pages_per_block,
        };
        Ok(Case {
            subject: subject.clone(),
            shape,
            workload: workload.to_owned(),
            seed,
            durability,
            steps: workload::program(workload, space, seed)?,
            chip,
            geometry,
            blocks: (0..blocks).map(BlockId).collect(),
            space,
        })
    }

    /// A chip from the factory.
    pub fn new_chip(&self) -> Nand {
        Nand::new(self.geometry, Mode::Stamps)
    }

    /// Mounts the scheme.
    ///
    /// # Errors
    /// What the scheme answers.
    pub fn mount(&self, nand: &mut Nand) -> Result<Box<dyn Ftl>> {
        let device = Device {
            params: &self.subject.choice.params,
            logical_blocks: self.shape.logical_blocks,
            blocks: &self.blocks,
            durability: self.durability,
            seed: self.seed,
            timing: self.chip.timing,
        };
        self.subject.layers.mount(self.subject.choice.scheme, nand, &device)
    }

    /// The logical device.
    pub fn space(&self) -> Space {
        self.space
    }

    /// Pages of the chip.
    pub fn physical_pages(&self) -> u64 {
        u64::from(self.geometry.pages())
    }

    /// The chip by its name.
    pub fn chip(&self) -> &ChipModel {
        &self.chip
    }

    /// The violation, with all that replays it.
    pub fn failure(&self, strikes: &[Strike], violation: Violation) -> Failure {
        Failure { violation, case: Box::new(self.clone()), strikes: strikes.to_vec() }
    }

    /// The command that runs this case with these cuts.
    pub fn replay_line(&self, strikes: &[Strike]) -> String {
        let Case { subject, shape, workload, seed, .. } = self;
        let (ftl, shape) = (subject.name(), shape.name);
        let mut line = format!("ftlab check --ftl {ftl} --geometry {shape} --workload {workload}");
        line += &format!(" --seed {seed}");
        if self.durability != Durability::Full {
            line += &format!(" --durability {}", self.durability.name());
        }
        if let Some(first) = strikes.first() {
            line += &format!(" --cut {} --outcome {}", first.after, first.outcome.name());
        }
        for later in strikes.iter().skip(1) {
            line += &format!(" --second {later}");
        }
        line
    }
}

/// Whether the scheme refuses such a chip or such parameters, which is no violation.
pub fn is_refusal(error: &Error) -> bool {
    matches!(error, Error::Refused { .. })
}

/// A cut: so many programs and erases after power-on, leaving that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Strike {
    /// Programs and erases that still succeed.
    pub after: u64,
    /// What the struck one leaves.
    pub outcome: Outcome,
}

impl Strike {
    /// As the chip wants it.
    pub fn cut(self) -> Cut {
        Cut { after: self.after, outcome: self.outcome }
    }
}

impl fmt::Display for Strike {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{}:{}", self.after, self.outcome.name())
    }
}

impl FromStr for Strike {
    type Err = spec::Error;

    /// Reads `4:half`.
    fn from_str(text: &str) -> spec::Result<Strike> {
        let parts =
            text.split_once(':').and_then(|(after, outcome)| Some((after.parse().ok()?, outcome)));
        let malformed = || spec::Error::Malformed {
            text: text.to_owned(),
            form: "a cut such as `4:half`: operations that succeed, and what the next one leaves"
                .to_owned(),
        };
        let (after, outcome) = parts.ok_or_else(malformed)?;
        Ok(Strike { after, outcome: outcome_named(outcome)? })
    }
}

/// The outcome of that name.
///
/// # Errors
/// No such outcome.
pub fn outcome_named(name: &str) -> spec::Result<Outcome> {
    Outcome::named(name).ok_or_else(|| spec::unknown("outcome", name, Outcome::NAMES))
}

/// A violation, and the case and cuts that show it again.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{violation}\n  Replay:  {}", .case.replay_line(.strikes))]
pub struct Failure {
    /// What is wrong.
    pub violation: Violation,
    /// The case.
    pub case: Box<Case>,
    /// The cuts.
    pub strikes: Vec<Strike>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(durability: Durability) -> Case {
        let subject = Subject::from_spec("page:victim=fifo").unwrap();
        Case::new(&subject, Shape::named("tiny").unwrap(), "hot", 7, durability).unwrap()
    }

    #[test]
    fn a_replay_line_names_all_that_matters() {
        let strike = |text: &str| text.parse::<Strike>().unwrap();
        let line = case(Durability::Full).replay_line(&[strike("31:torn"), strike("4:half")]);
        assert_eq!(
            line,
            "ftlab check --ftl page:victim=fifo --geometry tiny --workload hot --seed 7 \
             --cut 31 --outcome torn --second 4:half"
        );
        let line = case(Durability::Paper).replay_line(&[]);
        assert!(line.ends_with("--seed 7 --durability paper"), "{line}");
    }

    #[test]
    fn cuts_read_as_they_print_and_nonsense_is_refused() {
        assert_eq!("4:half".parse::<Strike>().unwrap().to_string(), "4:half");
        for text in ["4", "x:half", ":", "-1:torn"] {
            assert!(text.parse::<Strike>().unwrap_err().to_string().contains("4:half"), "{text}");
        }
        let message = "4:haf".parse::<Strike>().unwrap_err().to_string();
        assert!(message.contains("did you mean `half`?"), "{message}");
    }

    #[test]
    fn single_changes_are_few_and_each_word_and_count_is_among_them() {
        let scheme = Subject::from_spec("page").unwrap().choice.scheme;
        let forms = Subject::single_changes(scheme);
        let specs: Vec<&str> = forms.iter().map(|form| form.spec.as_str()).collect();
        let words =
            ["fifo", "cost_benefit", "dchoices", "random"].map(|w| format!("page:victim={w}"));
        let expected =
            [&["page".to_owned()], &words[..], &["page:d=3".into(), "page:frontiers=2".into()]];
        assert_eq!(specs, expected.concat());
    }

    #[test]
    fn variants_cover_words_and_raise_counts_one_by_one() {
        let scheme = Subject::from_spec("page").unwrap().choice.scheme;
        let specs: Vec<String> = Subject::variants(scheme).into_iter().map(|it| it.spec).collect();
        for spec in
            ["page", "page:victim=fifo", "page:frontiers=2", "page:victim=random,frontiers=2"]
        {
            assert_eq!(specs.iter().filter(|it| *it == spec).count(), 1, "{spec} in {specs:?}");
        }
        for spec in &specs {
            assert_eq!(Subject::from_spec(spec).unwrap().spec, *spec);
        }
    }
}
