//! The defects that the checker can find. Zheng et al. found most kinds of damage in real SSDs
//! (FAST '13); the other defects are visible only to a checker inside the device.

use spec::named_enum;

named_enum! {
    /// A kind of defect.
    pub enum Defect: "defect" {
        /// A sector reads as zero although it must hold data.
        Lost = "lost",
        /// A sector reads an older value than the contract allows.
        Stale = "stale",
        /// Some sectors of a page are new, others are older than the contract allows.
        Shorn = "shorn",
        /// A sector reads the data of another sector.
        Misplaced = "misplaced",
        /// A sector reads a value that it never had.
        Foreign = "foreign",
        /// A sector is neither zero nor a whole one: it has parts of several, or other bytes.
        Mangled = "mangled",
        /// A trimmed sector reads data although it must read zero.
        Resurrected = "resurrected trim",
        /// A sector was right after the mount, and wrong once the unstable page had decayed.
        Decayed = "unstable decayed",
        /// A mapped page cannot be read.
        Unreadable = "unreadable",
        /// The scheme's own audit failed, or its map led to a page that holds something else.
        MapBroken = "map broken",
        /// The mount refused a state that a power cut can leave.
        Unmountable = "unmountable",
        /// A mount took more flash operations than allowed.
        Unbounded = "unbounded mount",
        /// An image was refused although it only went through a cut or a crash.
        ImageRefused = "image refused",
        /// An opened image holds another chip than it must.
        ImageDiffers = "image differs",
        /// An operation never ends.
        Endless = "endless",
        /// Operation counts do not add up.
        Miscounted = "miscounted",
        /// Versions are not in the order of the host's writes.
        Misordered = "misordered",
        /// An operation returned an error although it had to succeed.
        Refused = "refused",
        /// The code panicked: it broke a rule of flash, or an assertion failed.
        Panic = "panic",
        /// A guest gave the chip an illegal command.
        Illegal = "illegal command",
        /// A guest crashed, or ended its process.
        Crash = "crash",
        /// A call of a guest did not return.
        Hang = "hang",
        /// A guest broke its contract in another way.
        Broken = "contract broken",
    }
}

impl Defect {
    /// What the defect means to whoever uses the device.
    pub fn verdict(self) -> Verdict {
        match self {
            Defect::Refused | Defect::Unmountable | Defect::Unbounded => Verdict::Refused,
            Defect::Illegal => Verdict::Illegal,
            Defect::Crash => Verdict::Crash,
            Defect::Hang | Defect::Endless => Verdict::Hang,
            Defect::Broken | Defect::MapBroken | Defect::Miscounted | Defect::Misordered => {
                Verdict::Broken
            }
            Defect::ImageRefused | Defect::ImageDiffers | Defect::Panic => Verdict::Broken,
            _ => Verdict::Lost,
        }
    }
}

named_enum! {
    /// What a defect means to whoever uses the device.
    pub enum Verdict: "verdict" {
        /// Sectors are lost or wrong.
        Lost = "data lost",
        /// The device cannot be mounted, or refuses requests that it must serve.
        Refused = "service refused",
        /// The chip got an illegal command.
        Illegal = "illegal command",
        /// The FTL crashed.
        Crash = "crash",
        /// The FTL hung.
        Hang = "hang",
        /// The FTL broke its contract in another way.
        Broken = "contract broken",
    }
}

/// A defect that was found, with a description.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{defect}: {sentence}")]
pub struct Finding {
    /// The kind of defect.
    pub defect: Defect,
    /// What was found, where, and what was expected.
    pub sentence: String,
}

impl Finding {
    /// The finding as users of the device read it: the verdict comes first, then the defect unless
    /// the verdict says it already.
    pub fn by_verdict(&self) -> String {
        let (verdict, defect) = (self.defect.verdict().name(), self.defect.name());
        match verdict.contains(defect) {
            true => format!("{verdict}: {}", self.sentence),
            false => format!("{verdict} ({defect}): {}", self.sentence),
        }
    }

    /// A finding of this defect.
    pub fn new(defect: Defect, sentence: impl Into<String>) -> Finding {
        Finding { defect, sentence: sentence.into() }
    }

    /// The storage of a chip has failed.
    pub fn of_storage(error: nand::Error) -> Finding {
        Finding::new(Defect::Refused, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_defect_is_named_behind_a_verdict_that_does_not_say_it() {
        let told = |defect| Finding::new(defect, "page 3").by_verdict();
        assert_eq!(told(Defect::Lost), "data lost: page 3");
        assert_eq!(told(Defect::Stale), "data lost (stale): page 3");
        assert_eq!(told(Defect::Unmountable), "service refused (unmountable): page 3");
        assert_eq!(told(Defect::Hang), "hang: page 3");
    }

    #[test]
    fn a_verdict_says_what_defects_mean() {
        let of = |verdict| -> Vec<&str> {
            let alike = Defect::ALL.into_iter().filter(|defect| defect.verdict() == verdict);
            alike.map(Defect::name).collect()
        };
        assert_eq!(of(Verdict::Refused), ["unmountable", "unbounded mount", "refused"]);
        assert_eq!(of(Verdict::Illegal), ["illegal command"]);
        assert_eq!(of(Verdict::Crash), ["crash"]);
        assert_eq!(of(Verdict::Hang), ["endless", "hang"]);
        let broken = [
            "map broken",
            "image refused",
            "image differs",
            "miscounted",
            "misordered",
            "panic",
            "contract broken",
        ];
        assert_eq!(of(Verdict::Broken), broken);
        assert_eq!(of(Verdict::Lost).len(), Defect::ALL.len() - 14);
    }
}
