//! The defects that the checker can find. Zheng et al. found most kinds of damage in real SSDs
//! (FAST '13); the other defects are visible only to a checker inside the device.

use std::fmt;

/// A kind of defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Defect {
    /// A sector reads as zero although it must hold data.
    Lost,
    /// A sector reads an older value than the contract allows.
    Stale,
    /// Some sectors of a page are new, others are older than the contract allows.
    Shorn,
    /// A sector reads the data of another sector.
    Misplaced,
    /// A sector reads a value that it never had.
    Foreign,
    /// A sector is neither zero nor a whole one: it has parts of several, or other bytes.
    Mangled,
    /// A trimmed sector reads data although it must read zero.
    Resurrected,
    /// A sector was right after the mount, and wrong once the unstable page had decayed.
    Decayed,
    /// A mapped page cannot be read.
    Unreadable,
    /// The scheme's own audit failed, or its map led to a page that holds something else.
    MapBroken,
    /// The mount refused a state that a power cut can leave.
    Unmountable,
    /// A mount took more flash operations than allowed.
    Unbounded,
    /// An image was refused although it only went through a cut or a crash.
    ImageRefused,
    /// An opened image holds another chip than it must.
    ImageDiffers,
    /// An operation never ends.
    Endless,
    /// Operation counts do not add up.
    Miscounted,
    /// Versions are not in the order of the host's writes.
    Misordered,
    /// An operation returned an error although it had to succeed.
    Refused,
    /// The code panicked: it broke a rule of flash, or an assertion failed.
    Panic,
}

impl fmt::Display for Defect {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str(match self {
            Defect::Lost => "lost",
            Defect::Stale => "stale",
            Defect::Shorn => "shorn",
            Defect::Misplaced => "misplaced",
            Defect::Foreign => "foreign",
            Defect::Mangled => "mangled",
            Defect::Resurrected => "resurrected trim",
            Defect::Decayed => "unstable decayed",
            Defect::Unreadable => "unreadable",
            Defect::MapBroken => "map broken",
            Defect::Unmountable => "unmountable",
            Defect::Unbounded => "unbounded mount",
            Defect::ImageRefused => "image refused",
            Defect::ImageDiffers => "image differs",
            Defect::Endless => "endless",
            Defect::Miscounted => "miscounted",
            Defect::Misordered => "misordered",
            Defect::Refused => "refused",
            Defect::Panic => "panic",
        })
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
    /// A finding of this defect.
    pub fn new(defect: Defect, sentence: impl Into<String>) -> Finding {
        Finding { defect, sentence: sentence.into() }
    }

    /// The storage of a chip has failed.
    pub fn of_storage(error: nand::Error) -> Finding {
        Finding::new(Defect::Refused, error.to_string())
    }
}
