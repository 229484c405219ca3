//! Where the chip of a case is, and the contents of its sectors there.

pub mod image_chip;

use spec::named_enum;

named_enum! {
    /// Where the chip of a case is.
    #[derive(Default)]
    pub enum Storage: "storage" {
        /// In memory. A sector is a stamp.
        #[default]
        Memory = "memory",
        /// On an image, on a disk in memory that can crash. A sector has all its bytes.
        Image = "image",
    }
}
