//! Consecutive logical pages that are all mapped, or all unmapped.

use core::ops::Range;

/// Consecutive logical pages that are all mapped, or all unmapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Whether they are mapped.
    pub is_mapped: bool,
    /// Number of pages, at least one.
    pub pages: u32,
}

impl Extent {
    /// The extent with which the pages `lpns` begin, given the first range of mapped pages among
    /// them.
    pub fn first_of(lpns: Range<u32>, mapped: Option<Range<u32>>) -> Extent {
        match mapped {
            Some(run) if run.start == lpns.start => {
                Extent { is_mapped: true, pages: run.end - run.start }
            }
            run => {
                let end = run.map_or(lpns.end, |run| run.start);
                Extent { is_mapped: false, pages: end - lpns.start }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_extent_ends_where_the_state_changes() {
        let extent = |mapped| {
            let Extent { is_mapped, pages } = Extent::first_of(4..10, mapped);
            (is_mapped, pages)
        };
        assert_eq!(extent(None), (false, 6));
        assert_eq!(extent(Some(4..7)), (true, 3));
        assert_eq!(extent(Some(5..7)), (false, 1));
    }
}
