//! Where the chip of a case is, and the contents of its sectors there.

pub mod image_chip;

/// Where the chip of a case is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Storage {
    /// In memory. A sector is a stamp.
    #[default]
    Memory,
    /// On an image, on a disk in memory that can crash. A sector has all its bytes.
    Image,
}

impl Storage {
    /// The names that users write, in the order of the variants.
    pub const NAMES: &'static [&'static str] = &["memory", "image"];

    /// The name that users write.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The storage of that name.
    ///
    /// # Errors
    /// The name is unknown.
    pub fn named(name: &str) -> spec::Result<Storage> {
        let found = [Storage::Memory, Storage::Image].into_iter().find(|it| it.name() == name);
        found.ok_or_else(|| spec::unknown("storage", name, Self::NAMES))
    }
}
