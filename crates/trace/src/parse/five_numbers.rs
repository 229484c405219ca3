//! Traces of five numbers a line, which several simulators of disks and SSDs use:
//!
//! ```text
//! 5265.313 0 6357144 8 0
//! time     device offset length operation
//! ```
//!
//! They look alike but differ in units. The offset is in sectors, or in bytes; the length is in
//! sectors (DiskSim), in pages of 4 KiB (FlashSim), or in bytes (excerpts of MSR Cambridge). The
//! numbers often tell which: in most traces some requests begin where the one before ended, and
//! bytes are multiples of 512. If they do not tell, the user has to.

use crate::parse::text::column_layout::{ColumnLayout, OpNames, Separator};
use crate::parse::text::field::Field;
use crate::parse::text::trace_head::{Likeness, TraceHead, blank_fields, is_digits, is_seconds};

/// The unit of lengths that the numbers show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LengthUnit {
    Sectors,
    /// Pages of 4 KiB, with offsets in sectors.
    Pages,
    /// Bytes, with offsets in bytes.
    Bytes,
}

const SECTORS_PER_PAGE: u64 = 8;

/// Fewer lines than this can be multiples of 512 by chance.
const FEWEST_LINES_OF_BYTES: usize = 16;

/// A share of 1/100 of the lines is more than chance.
const FOLLOWING_SHARE: usize = 100;

/// The layout of five numbers with times and lengths in these units of a column list.
pub(crate) fn layout(time: &str, length: &str, ops: OpNames) -> spec::Result<ColumnLayout> {
    let list = format!("time.{time}+dev+off.sectors+len.{length}+op");
    ColumnLayout::listed(Separator::Blanks, &list, ops)
}

/// How much a trace looks like five numbers with lengths in this unit. Times have decimals if
/// `decimal`, else they have none.
pub(crate) fn likeness(head: &TraceHead, decimal: bool, unit: LengthUnit) -> Likeness {
    if !head.any(|line| five_numbers(line, decimal).is_some()) {
        return Likeness::None;
    }
    let found = Observed::of(head, decimal);
    match found.unit() {
        Some(evident) if evident == unit => Likeness::Units,
        _ if unit == LengthUnit::Bytes && !found.whole_sectors => Likeness::None,
        _ => Likeness::Lines,
    }
}

/// Offset and length of a line.
#[derive(Clone, Copy)]
struct Extent<'a> {
    device: &'a [u8],
    offset: u64,
    length: u64,
}

fn five_numbers(line: &[u8], decimal: bool) -> Option<Extent<'_>> {
    let fields = blank_fields(line, 6);
    let &[time, device, offset, length, op] = fields.as_slice() else { return None };
    let op = op.strip_prefix(b"0x").unwrap_or(op);
    let alike = is_seconds(time)
        && time.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')) == decimal
        && is_digits(device, 1, 20)
        && op.iter().all(u8::is_ascii_hexdigit);
    let number =
        |field| Field::new(field).number().or_else(|| Field::new(field).whole_number(b'.'));
    let (offset, length) = (number(offset)?, number(length)?);
    alike.then_some(Extent { device, offset, length })
}

/// Observations on the first lines of a trace.
#[derive(Debug, Default)]
struct Observed {
    lines: usize,
    /// Requests that begin where the one before on the same device ended if lengths are in sectors.
    following_sectors: usize,
    /// The same if lengths are in pages.
    following_pages: usize,
    /// Whether all lengths are multiples of 8.
    whole_pages: bool,
    /// Whether all offsets and lengths are multiples of 512.
    whole_sectors: bool,
    /// Lengths of at least 4096.
    long: usize,
}

impl Observed {
    fn of(head: &TraceHead, decimal: bool) -> Observed {
        let mut found = Observed { whole_pages: true, whole_sectors: true, ..Observed::default() };
        let mut latest: Option<Extent> = None;
        for extent in head.whole_lines().filter_map(|line| five_numbers(line, decimal)) {
            found.add(&extent);
            if let Some(before) = latest.filter(|before| before.device == extent.device) {
                found.add_pair(&before, &extent);
            }
            latest = Some(extent);
        }
        found
    }

    fn add(&mut self, extent: &Extent) {
        let are_multiples = |of: u64| extent.length.is_multiple_of(of);
        self.lines += 1;
        self.whole_pages &= are_multiples(SECTORS_PER_PAGE);
        self.whole_sectors &= are_multiples(512) && extent.offset.is_multiple_of(512);
        self.long += usize::from(extent.length >= 4096);
    }

    fn add_pair(&mut self, before: &Extent, next: &Extent) {
        let gap = next.offset.checked_sub(before.offset);
        let pages = before.length.checked_mul(SECTORS_PER_PAGE);
        self.following_sectors += usize::from(gap == Some(before.length) && before.length > 0);
        self.following_pages += usize::from(gap.is_some() && gap == pages && before.length > 0);
    }

    /// The unit that the numbers show, if they show one.
    fn unit(&self) -> Option<LengthUnit> {
        if self.whole_sectors {
            // As sectors, most requests would have 2 MiB or more.
            let are_bytes = self.lines >= FEWEST_LINES_OF_BYTES && 2 * self.long > self.lines;
            return are_bytes.then_some(LengthUnit::Bytes);
        }
        let (sectors, pages) = (self.following_sectors, self.following_pages);
        let dominates =
            |one: usize, other: usize| one * FOLLOWING_SHARE > self.lines && one > 4 * other;
        match () {
            () if dominates(pages, sectors) => Some(LengthUnit::Pages),
            () if dominates(sectors, pages) || self.whole_pages => Some(LengthUnit::Sectors),
            () => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(lines: &[(u64, u64)]) -> Option<LengthUnit> {
        let line = |(offset, length): &(u64, u64)| format!("0.5 0 {offset} {length} 1\n");
        let text: String = lines.iter().map(line).collect();
        Observed::of(&TraceHead::new(text.as_bytes()), true).unit()
    }

    #[test]
    fn requests_that_follow_each_other_show_the_unit() {
        assert_eq!(unit(&[(100, 3), (103, 5), (700, 1)]), Some(LengthUnit::Sectors));
        assert_eq!(unit(&[(100, 3), (124, 5), (700, 1)]), Some(LengthUnit::Pages));
        assert_eq!(unit(&[(100, 3), (700, 1)]), None, "nothing follows");
        assert_eq!(unit(&[(100, 3), (103, 1), (111, 2)]), None, "both occur");
        assert_eq!(unit(&[(100, 0), (100, 1)]), None, "a request of no length");
    }

    #[test]
    fn lengths_of_whole_pages_are_sectors_unless_they_follow_as_pages() {
        assert_eq!(unit(&[(6_357_144, 8)]), Some(LengthUnit::Sectors));
        assert_eq!(unit(&[(64, 8), (128, 16), (256, 8)]), Some(LengthUnit::Pages));
    }

    #[test]
    fn bytes_are_multiples_of_512() {
        let bytes = |count: u64, length: u64| -> Vec<(u64, u64)> {
            (0..count).map(|n| (n * n * 512, length)).collect()
        };
        assert_eq!(unit(&bytes(40, 4096)), Some(LengthUnit::Bytes));
        assert_eq!(unit(&bytes(4, 4096)), None, "too few to tell");
        assert_eq!(unit(&bytes(40, 512)), None, "sectors or 256 KiB");
    }
}
