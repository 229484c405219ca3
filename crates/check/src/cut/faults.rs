//! Classes of faults: which states of the flash a power cut may leave in a campaign, and which
//! operations fail.
//!
//! ```text
//! basic      untouched · torn · looks-erased · unstable · half · complete
//! lasting    unstable pages survive further cuts, and may decay in the middle of a mount
//! erase      intact · mixed              an interrupted erase leaves readable pages
//! spare      flipped · stale · misdirected             a program with a wrong spare area or place
//! paired     paired                      a program of an upper page destroys its lower pages
//! reordered  reordered        dies end their operations in another order than they were begun
//! brown-out  browned-out                 the same, and all that they completed is weak
//!
//! program-fail, erase-fail, bad-block, unreadable    the device of each case has media that fail
//! ```

use std::fmt;

use ftl::Durability;
use ftl::contract::guest::Declaration;
use nand::power_cut::DieDraw;
use nand::{Outcome, Pairing};
use spec::named_enum;

use crate::case::Case;
use crate::device::power_cut::{Decay, PowerCut};
use crate::device_model::{DeviceModel, TinyMedia};
use crate::rng::Rng;

named_enum! {
    /// A class of faults.
    pub enum FaultClass: "fault class" {
        /// What every chip may leave. Unstable pages decay at the next cut at the latest.
        Basic = "basic",
        /// Unstable pages last: they survive further cuts and decay later, also during a mount.
        Lasting = "lasting",
        /// An interrupted erase leaves pages that can still be read.
        Erase = "erase",
        /// An interrupted program writes a wrong spare area, or the wrong page.
        Spare = "spare",
        /// An interrupted program destroys other pages of the same cells.
        Paired = "paired",
        /// On a chip with several dies: each of them is as far as it likes.
        Reordered = "reordered",
        /// The same after a time of low supply: what was completed in flight is weak.
        BrownOut = "brown-out",
        /// No cut: a program fails after each power-on, at a place that is drawn for the case.
        ProgramFail = "program-fail",
        /// The same for an erase.
        EraseFail = "erase-fail",
        /// No cut: some blocks come bad from the factory.
        BadBlock = "bad-block",
        /// No cut: after each power-on a page of the host cannot be read.
        Unreadable = "unreadable",
    }
}

impl FaultClass {
    /// The classes that no cut brings.
    const OF_MEDIA: [FaultClass; 4] = [
        FaultClass::ProgramFail,
        FaultClass::EraseFail,
        FaultClass::BadBlock,
        FaultClass::Unreadable,
    ];

    /// The class to which an outcome belongs.
    pub fn of(outcome: Outcome) -> FaultClass {
        match outcome {
            Outcome::Intact | Outcome::Mixed => FaultClass::Erase,
            Outcome::Flipped | Outcome::Stale | Outcome::Misdirected => FaultClass::Spare,
            Outcome::Paired => FaultClass::Paired,
            Outcome::Reordered => FaultClass::Reordered,
            Outcome::BrownedOut => FaultClass::BrownOut,
            _ => FaultClass::Basic,
        }
    }
}

/// A set of fault classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faults(u16);

impl Faults {
    /// All classes of cuts.
    pub const ALL: Faults = Faults((1 << FaultClass::ProgramFail as u16) - 1);
    /// No class: the power is not cut.
    pub const NONE: Faults = Faults(0);
    /// The basic class alone.
    pub const BASIC: Faults = Faults(1 << FaultClass::Basic as u16);

    /// The set of these classes.
    pub fn of(classes: &[FaultClass]) -> Faults {
        Faults(classes.iter().fold(0, |set, &class| set | 1 << class as u16))
    }

    /// Parses a list of classes such as `basic,lasting`. `all` stands for all classes of cuts.
    ///
    /// # Errors
    /// A class is unknown.
    pub fn parse(text: &str) -> spec::Result<Faults> {
        text.split(',').try_fold(Faults::NONE, |Faults(set), name| match name {
            "all" => Ok(Faults(set | Faults::ALL.0)),
            name => Ok(Faults(set | Faults::of(&[name.parse()?]).0)),
        })
    }

    /// Those of these faults that the device of a case promises to survive. Under durability
    /// `paper` these are basic ones, on chips where an interrupted program destroys no other page
    /// and where operations end in order.
    pub fn promised(self, case: &Case) -> Faults {
        let cuts = Faults(self.0 & Faults::ALL.0);
        if let Some(guest) = case.guest() {
            let promised = |class: &FaultClass| cuts.contains(*class) && declares(guest, *class);
            let classes: Vec<FaultClass> = FaultClass::ALL.into_iter().filter(promised).collect();
            return Faults::of(&classes);
        }
        let is_in_order = case.model.pairing == Pairing::NONE && case.model.dies == 1;
        match case.durability {
            Durability::Full => cuts,
            Durability::Paper if is_in_order => Faults(cuts.0 & Faults::BASIC.0),
            Durability::Paper => Faults::NONE,
        }
    }

    /// Whether the set contains a class.
    pub fn contains(self, class: FaultClass) -> bool {
        self.0 >> class as u16 & 1 == 1
    }

    /// Whether only several dies can have these faults.
    pub fn are_of_dies(self) -> bool {
        let of_dies = Faults::of(&[FaultClass::Reordered, FaultClass::BrownOut]);
        let cuts = self.0 & Faults::ALL.0;
        cuts != 0 && cuts & !of_dies.0 == 0
    }

    /// The device with media that fail so, unless it has some; the places are drawn from the seed.
    pub fn on_media(self, model: &DeviceModel, seed: u64) -> DeviceModel {
        let fails = FaultClass::OF_MEDIA.map(|class| self.contains(class));
        if !fails.contains(&true) || model.media != TinyMedia::default() {
            return *model;
        }
        let media = TinyMedia::failing(fails, model.dies, &mut Rng::new(seed));
        DeviceModel { media, ..*model }
    }

    /// Those of these outcomes that the set allows.
    pub fn outcomes(self, possible: &'static [Outcome]) -> impl Iterator<Item = Outcome> {
        possible.iter().copied().filter(move |&outcome| self.contains(FaultClass::of(outcome)))
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let names = FaultClass::ALL.into_iter().filter(|&class| self.contains(class));
        out.write_str(&names.map(FaultClass::name).collect::<Vec<_>>().join(","))
    }
}

/// Whether a guest means to survive a class of faults, or a part of it.
fn declares(guest: &Declaration, class: FaultClass) -> bool {
    class == FaultClass::Basic || guest.cuts & bits(class) != 0
}

/// The bits of `FTLAB_CUT_…` that a class stands for.
fn bits(class: FaultClass) -> u32 {
    match class {
        FaultClass::Basic => 0xF,
        FaultClass::Erase => 1 << 4,
        FaultClass::Lasting => 1 << 5,
        FaultClass::Spare => 1 << 6,
        FaultClass::Paired => 1 << 7,
        FaultClass::Reordered => 1 << 8,
        FaultClass::BrownOut => 1 << 9,
        FaultClass::ProgramFail
        | FaultClass::EraseFail
        | FaultClass::BadBlock
        | FaultClass::Unreadable => 0,
    }
}

/// The bit of `FTLAB_CUT_…` for an outcome; none if an operation is complete or has no effect,
/// which every FTL must survive.
fn bit(outcome: Outcome) -> u32 {
    match outcome {
        Outcome::Untouched | Outcome::Complete => 0,
        Outcome::Torn => 1,
        Outcome::LooksErased => 1 << 1,
        Outcome::Unstable => 1 << 2,
        Outcome::Half => 1 << 3,
        other => bits(FaultClass::of(other)),
    }
}

/// How a cut with this draw finds the dies. Under a guest only those outcomes are left on them that
/// it declares.
pub fn die_draw(case: &Case, number: u64) -> DieDraw {
    let Some(guest) = case.guest() else { return number.into() };
    DieDraw { number, may_leave: declared(guest.cuts) }
}

/// The outcomes that a guest survives which declares these `FTLAB_CUT_…`, as bits.
fn declared(cuts: u32) -> u32 {
    let survived = Outcome::ALL.into_iter().filter(|&it| cuts & bit(it) == bit(it));
    survived.fold(0, |all, it| all | 1 << it as u32)
}

/// The outcomes that a guest means to survive, apart from nothing and everything.
pub fn declared_outcomes(guest: &Declaration) -> impl Iterator<Item = Outcome> {
    let declared = declared(guest.cuts);
    let is_declared = move |it: &Outcome| bit(*it) != 0 && declared & 1 << *it as u32 != 0;
    Outcome::ALL.into_iter().filter(is_declared)
}

/// Whether a case promises to survive a cut. A guest declares what it survives. Under durability
/// `paper`, erases happen completely or not at all, and weak pages decay at power-on or after the
/// mount.
pub fn promises(case: &Case, cut: PowerCut) -> bool {
    if let Some(guest) = case.guest() {
        return guest.cuts & bit(cut.outcome) == bit(cut.outcome);
    }
    let is_in_time = matches!(cut.decay, Decay::AtOperation(0) | Decay::AfterMount);
    let class = FaultClass::of(cut.outcome);
    case.durability == Durability::Full
        || Faults::ALL.promised(case).contains(class) && cut.outcome != Outcome::Half && is_in_time
}

/// Whether an outcome can leave pages that can be read until they decay.
pub fn leaves_weak_pages(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Unstable | Outcome::Intact | Outcome::Mixed)
        || outcome.is_of_all_dies()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_parsed_as_it_is_printed() {
        for text in ["basic", "basic,lasting", "erase,spare,paired"] {
            assert_eq!(Faults::parse(text).unwrap().to_string(), text);
        }
        let cuts = FaultClass::NAMES.split_last_chunk::<4>().unwrap().0.join(",");
        assert_eq!(Faults::parse("all").unwrap().to_string(), cuts);
        let all = Faults::parse("bad-block,all").unwrap().to_string();
        assert_eq!(all, format!("{cuts},bad-block"));
        assert_eq!(Faults::parse("basic").unwrap(), Faults::BASIC);
        let message = Faults::parse("basic,lastign").unwrap_err().to_string();
        assert!(message.contains("did you mean `lasting`?"), "{message}");
    }

    #[test]
    fn failures_are_those_of_the_device_and_not_of_cuts() {
        let tiny = DeviceModel::named("tiny").unwrap();
        let of = |text: &str, seed| Faults::parse(text).unwrap().on_media(tiny, seed).media;
        assert_eq!(of("all", 1), TinyMedia::default());
        for seed in 0..50 {
            let TinyMedia { reserve, failing_program, failing_erase, factory_bad, .. } =
                of("program-fail", seed);
            assert!(reserve > 0 && failing_program > 0 && failing_erase + factory_bad == 0);
            let TinyMedia { lost_page, failing_program, .. } = of("unreadable", seed);
            assert!(lost_page > 0 && failing_program == 0);
            let media = of("all,erase-fail,bad-block", seed);
            assert!(media.failing_program == 0 && media.failing_erase > 0 && media.factory_bad > 0);
        }
        let places = (0..50).map(|seed| of("program-fail", seed).failing_program);
        assert!(places.collect::<std::collections::BTreeSet<_>>().len() > 20);
        let own = DeviceModel::from_spec("tiny:reserve=9").unwrap();
        assert_eq!(Faults::parse("program-fail").unwrap().on_media(&own, 1), own);
        let outcomes = Faults::parse("program-fail").unwrap().outcomes(Outcome::OF_PROGRAM);
        assert_eq!(outcomes.count(), 0);
    }

    #[test]
    fn each_class_adds_its_outcomes() {
        let names = |text: &str, possible| -> Vec<&str> {
            Faults::parse(text).unwrap().outcomes(possible).map(Outcome::name).collect()
        };
        let basic = ["untouched", "torn", "looks-erased", "unstable", "complete"];
        assert_eq!(names("basic,lasting", Outcome::OF_UPPER_PROGRAM), basic);
        let others = ["flipped", "stale", "misdirected", "paired"];
        assert_eq!(names("spare,paired", Outcome::OF_UPPER_PROGRAM), others);
        assert_eq!(names("erase", Outcome::OF_ERASE), ["intact", "mixed"]);
        let of_dies: &[Outcome] = &[Outcome::Reordered, Outcome::BrownedOut];
        assert_eq!(names("reordered", of_dies), ["reordered"]);
        assert_eq!(names("brown-out", of_dies), ["browned-out"]);
        let all = names("all", Outcome::OF_PROGRAM);
        assert!(!all.contains(&"paired"), "a lower page destroys no other page: {all:?}");
    }

    #[test]
    fn every_outcome_has_a_class_with_a_name() {
        for outcome in Outcome::ALL {
            let class = FaultClass::of(outcome);
            assert_ne!(class, FaultClass::Lasting, "{outcome:?} is a state, not a duration");
            assert_eq!(FaultClass::ALL[class as usize], class);
        }
    }

    #[test]
    fn a_guest_declares_with_the_bits_of_the_header() {
        let guest = |cuts| Declaration {
            name: String::new(),
            release: String::new(),
            promise: ftl::contract::guest::Promise::Flush,
            cuts,
            host_page_bytes: 0,
            spare_bytes: 0,
            trims: true,
            handles_failures: false,
        };
        let bit_of = |class| (0..32).filter(|at| declares(&guest(1 << at), class)).collect();
        let bits: Vec<Vec<u32>> = FaultClass::ALL[1..].iter().map(|&class| bit_of(class)).collect();
        let [lasting, erase, spare, paired, reordered, brown_out] = [5, 4, 6, 7, 8, 9];
        let of_cuts = [lasting, erase, spare, paired, reordered, brown_out].map(|at| vec![at]);
        assert_eq!(bits, [&of_cuts[..], &[const { Vec::new() }; 4]].concat());
        assert!(declares(&guest(0), FaultClass::Basic), "some of it, every guest survives");
        for outcome in Outcome::ALL {
            let expected = match outcome {
                Outcome::Untouched | Outcome::Complete => 0,
                Outcome::Torn => 1,
                Outcome::LooksErased => 2,
                Outcome::Unstable => 4,
                Outcome::Half => 8,
                Outcome::Intact | Outcome::Mixed => 0x10,
                Outcome::Flipped | Outcome::Stale | Outcome::Misdirected => 0x40,
                Outcome::Paired => 0x80,
                Outcome::Reordered => 0x100,
                Outcome::BrownedOut => 0x200,
            };
            assert_eq!(bit(outcome), expected, "{outcome:?}");
        }
    }

    #[test]
    fn under_paper_only_basic_faults_are_promised_and_only_where_operations_end_in_order() {
        let page = crate::subject::Subject::from_spec("page").unwrap();
        let promised = |model: &str, durability| {
            let model = DeviceModel::named(model).unwrap();
            let case = Case::new(&page, model, "random", 1, durability).unwrap();
            let is_promised = |text| promises(&case, PowerCut::parse(text).unwrap());
            let cuts = ["3:torn", "3:half", "3:flipped", "3:unstable@0", "3:unstable@5"];
            let all = Faults::parse("all,bad-block").unwrap();
            (all.promised(&case).to_string(), cuts.map(is_promised))
        };
        let cuts = Faults::ALL.to_string();
        for model in ["tiny", "tiny-mlc", "tiny-dies"] {
            assert_eq!(promised(model, Durability::Full), (cuts.clone(), [true; 5]), "{model}");
        }
        let some = [true, false, false, true, false];
        assert_eq!(promised("tiny", Durability::Paper), ("basic".to_owned(), some));
        for model in ["tiny-mlc", "tiny-dies"] {
            assert_eq!(promised(model, Durability::Paper), (String::new(), [false; 5]), "{model}");
        }
    }

    #[test]
    fn a_guest_declares_what_a_cut_may_leave() {
        let bits = |outcomes: &[Outcome]| outcomes.iter().fold(0, |all, &it| all | 1 << it as u32);
        let always = [Outcome::Untouched, Outcome::Complete];
        assert_eq!(declared(0), bits(&always));
        assert_eq!(declared(1), bits(&[&always[..], &[Outcome::Torn]].concat()));
        assert_eq!(
            declared(1 << 1 | 1 << 3),
            bits(&[&always[..], &[Outcome::LooksErased, Outcome::Half]].concat())
        );
        assert_eq!(declared(u32::MAX), bits(&Outcome::ALL));
    }
}
