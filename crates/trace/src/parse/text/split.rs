//! A line taken apart into fields, by a separator or by blanks.
//!
//! Separators are looked for among 64 bytes at once, wherever fields begin and end, so that the
//! processor need not have seen where one ends to find the next one.

use crate::parse::text::field::Field;
use crate::parse::text::swar;

/// The fields of a line, blanks around them and quotes included.
pub(crate) struct Split<'a, B> {
    line: &'a [u8],
    between: B,
    /// Where the next field begins; beyond the line's end if there is none.
    start: usize,
    /// Those of the 64 bytes from `from` on that are separators and were not used yet.
    places: u64,
    from: usize,
}

/// What stands between fields, as a type, so that a loop over them is compiled for each.
pub(crate) trait Delimiter: Copy {
    /// Whether it is blanks, as many as there are: then no field is empty.
    const BLANKS: bool;

    /// Which of the first 64 bytes are separators.
    fn places(self, bytes: &[u8]) -> u64;
}

/// This byte, once.
impl Delimiter for u8 {
    const BLANKS: bool = false;

    #[inline(always)]
    fn places(self, bytes: &[u8]) -> u64 {
        swar::places(bytes, self)
    }
}

/// Blanks and tabs.
#[derive(Clone, Copy)]
pub(crate) struct Blanks;

impl Delimiter for Blanks {
    const BLANKS: bool = true;

    #[inline(always)]
    fn places(self, bytes: &[u8]) -> u64 {
        swar::places(bytes, b' ') | swar::places(bytes, b'\t')
    }
}

impl<'a, B: Delimiter> Split<'a, B> {
    #[inline(always)]
    pub(crate) fn new(line: &'a [u8], between: B) -> Split<'a, B> {
        Split { line, between, start: 0, places: between.places(line), from: 0 }
    }

    /// The place of the next separator, or the line's end.
    #[inline(always)]
    fn next_place(&mut self) -> usize {
        if self.places == 0 {
            if self.line.len() - self.from > 64 {
                (self.from, self.places) = separators_behind(self.line, self.from, self.between);
            }
            if self.places == 0 {
                return self.line.len();
            }
        }
        let place = self.from + self.places.trailing_zeros() as usize;
        self.places &= self.places - 1;
        place
    }

    /// What is left of the line.
    #[inline(always)]
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.line.get(self.start..).unwrap_or_default()
    }
}

/// The next bytes, at most 64, among which there are separators, behind those from `from` on; those
/// at the end of the line may have none. Few lines are that long.
#[inline(never)]
fn separators_behind<B: Delimiter>(line: &[u8], mut from: usize, between: B) -> (usize, u64) {
    loop {
        from += 64;
        let places = between.places(&line[from..]);
        if places != 0 || line.len() - from <= 64 {
            return (from, places);
        }
    }
}

impl<'a, B: Delimiter> Iterator for Split<'a, B> {
    type Item = Field<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<Field<'a>> {
        loop {
            let rest = self.line.get(self.start..)?;
            let length = self.next_place() - self.start;
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
        fn fields_are_those_of_the_library(
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
