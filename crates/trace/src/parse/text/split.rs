//! Splits a line into fields, at a separator byte or at blanks.
//!
//! The separators in 64 bytes are found at once, before any field is read. So finding the next
//! separator does not have to wait until the end of the current field is known.

use crate::parse::text::field::Field;
use crate::parse::text::swar;

/// Iterator over the fields of a line, with the blanks and quotes around them.
pub(crate) struct Split<'a, B> {
    line: &'a [u8],
    delimiter: B,
    /// Start of the next field; beyond the end of the line if there is none.
    start: usize,
    /// A bit for each of the 64 bytes from `mask_start` on that is a separator not yet passed.
    mask: u64,
    mask_start: usize,
}

/// The separator of fields. It is a type so that loops over fields are compiled for each kind.
pub(crate) trait Delimiter: Copy {
    /// Whether any number of blanks separates two fields, so that no field is empty.
    const BLANKS: bool;

    /// A bit for each of the first 64 bytes that is a separator.
    fn mask(self, bytes: &[u8]) -> u64;
}

/// A single byte.
impl Delimiter for u8 {
    const BLANKS: bool = false;

    #[inline(always)]
    fn mask(self, bytes: &[u8]) -> u64 {
        swar::mask(bytes, self)
    }
}

/// Blanks and tabs.
#[derive(Clone, Copy)]
pub(crate) struct Blanks;

impl Delimiter for Blanks {
    const BLANKS: bool = true;

    #[inline(always)]
    fn mask(self, bytes: &[u8]) -> u64 {
        swar::mask(bytes, b' ') | swar::mask(bytes, b'\t')
    }
}

impl<'a, B: Delimiter> Split<'a, B> {
    #[inline(always)]
    pub(crate) fn new(line: &'a [u8], delimiter: B) -> Split<'a, B> {
        Split { line, delimiter, start: 0, mask: delimiter.mask(line), mask_start: 0 }
    }

    /// The position of the next separator, or the end of the line.
    #[inline(always)]
    fn next_separator(&mut self) -> usize {
        if self.mask == 0 {
            if self.line.len() - self.mask_start > 64 {
                (self.mask_start, self.mask) =
                    next_separators(self.line, self.mask_start, self.delimiter);
            }
            if self.mask == 0 {
                return self.line.len();
            }
        }
        let position = self.mask_start + self.mask.trailing_zeros() as usize;
        self.mask &= self.mask - 1;
        position
    }

    /// The rest of the line.
    #[inline(always)]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.line.get(self.start..).unwrap_or_default()
    }
}

/// Finds the next 64 bytes after those at `start` that contain a separator: their start and mask.
/// The last bytes of the line may contain none. Not inlined, because few lines are that long.
#[inline(never)]
fn next_separators<B: Delimiter>(line: &[u8], mut start: usize, delimiter: B) -> (usize, u64) {
    loop {
        start += 64;
        let mask = delimiter.mask(&line[start..]);
        if mask != 0 || line.len() - start <= 64 {
            return (start, mask);
        }
    }
}

impl<'a, B: Delimiter> Iterator for Split<'a, B> {
    type Item = Field<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<Field<'a>> {
        loop {
            let rest = self.line.get(self.start..)?;
            let length = self.next_separator() - self.start;
            self.start += length + 1;
            if length > 0 || !B::BLANKS {
                return Some(Field::of_line(rest, length));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn fields_agree_with_the_standard_library(
            line in "[a,; \t]{0,140}|[a-z]{0,70}(,[0-9]{1,20}){0,9}",
        ) {
            let line = line.as_bytes();
            let fields: Vec<_> = Split::new(line, b',').map(Field::bytes).collect();
            let expected: Vec<_> = line.split(|&byte| byte == b',').collect();
            prop_assert_eq!(fields, expected);
            let words: Vec<_> = Split::new(line, Blanks).map(Field::bytes).collect();
            let apart = line.split(|&byte| byte == b' ' || byte == b'\t');
            let expected: Vec<_> = apart.filter(|word| !word.is_empty()).collect();
            prop_assert_eq!(words, expected);
            let mut split = Split::new(line, b',');
            let first = split.next().map_or(0, |field| field.bytes().len());
            prop_assert_eq!(split.rest(), line.get(first + 1..).unwrap_or_default());
        }
    }
}
