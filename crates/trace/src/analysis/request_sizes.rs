//! The sizes of requests: counted exactly, shown in the usual buckets.

use rustc_hash::FxHashMap;

use crate::request::SECTOR_BYTES;

/// The number of requests of each size.
#[derive(Debug, Clone, Default)]
pub struct RequestSizes {
    counts: FxHashMap<u64, u64>,
    requests: u64,
    bytes: u128,
}

impl RequestSizes {
    pub(crate) fn add(&mut self, bytes: u64) {
        *self.counts.entry(bytes).or_default() += 1;
        self.requests += 1;
        self.bytes += u128::from(bytes);
    }

    /// The sizes of the requests of `self` and `other` together.
    pub fn merged(&self, other: &RequestSizes) -> RequestSizes {
        let mut merged = self.clone();
        for (&bytes, &count) in &other.counts {
            *merged.counts.entry(bytes).or_default() += count;
        }
        merged.requests += other.requests;
        merged.bytes += other.bytes;
        merged
    }

    /// The number of requests.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// The sum of all sizes.
    pub fn bytes(&self) -> u128 {
        self.bytes
    }

    /// The mean size in sectors of 512 bytes; 0 if there are no requests.
    pub fn mean_sectors(&self) -> f64 {
        match self.requests {
            0 => 0.0,
            requests => self.bytes as f64 / requests as f64 / SECTOR_BYTES as f64,
        }
    }

    /// The median size in sectors of 512 bytes; 0 if there are no requests.
    pub fn median_sectors(&self) -> f64 {
        if self.requests == 0 {
            return 0.0;
        }
        let mut sizes: Vec<_> = self.counts.iter().map(|(&bytes, &count)| (bytes, count)).collect();
        sizes.sort_unstable();
        let nth = |nth: u64| {
            let mut seen = 0;
            let found = sizes.iter().find(|(_, count)| {
                seen += count;
                nth < seen
            });
            found.map_or(0, |(bytes, _)| *bytes) as f64
        };
        let (lower, upper) = (nth((self.requests - 1) / 2), nth(self.requests / 2));
        (lower + upper) / 2.0 / SECTOR_BYTES as f64
    }

    /// The number of requests smaller than `sectors` sectors.
    pub fn below_sectors(&self, sectors: u64) -> u64 {
        let smaller = self.counts.iter().filter(|(bytes, _)| sectors_of(**bytes) < sectors);
        smaller.map(|(_, count)| count).sum()
    }

    /// The buckets that are not empty, smallest first. There is a bucket for each size up to 8
    /// sectors, for each power of two up to 2048, and for each range between and beyond these.
    pub fn buckets(&self) -> Vec<SizeBucket> {
        let mut counts: FxHashMap<(u64, u64), u64> = FxHashMap::default();
        for (&bytes, &count) in &self.counts {
            *counts.entry(bucket_of(sectors_of(bytes))).or_default() += count;
        }
        let bucket = |((first, last), requests)| SizeBucket { first, last, requests };
        let mut buckets: Vec<SizeBucket> = counts.into_iter().map(bucket).collect();
        buckets.sort_unstable_by_key(|bucket| bucket.first);
        buckets
    }
}

/// Requests of `first` to `last` sectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeBucket {
    /// The smallest size, in sectors of 512 bytes, rounded up.
    pub first: u64,
    /// The largest size; `u64::MAX` in the last bucket.
    pub last: u64,
    /// The number of requests.
    pub requests: u64,
}

impl SizeBucket {
    /// A label such as `8`, `9-15` or `2049+`.
    pub fn label(&self) -> String {
        match (self.first, self.last) {
            (first, last) if first == last => first.to_string(),
            (first, u64::MAX) => format!("{first}+"),
            (first, last) => format!("{first}-{last}"),
        }
    }
}

/// Sizes above this share one bucket.
const LARGEST_SINGLE: u64 = 2048;

fn bucket_of(sectors: u64) -> (u64, u64) {
    if sectors > LARGEST_SINGLE {
        (LARGEST_SINGLE + 1, u64::MAX)
    } else if sectors <= 8 || sectors.is_power_of_two() {
        (sectors, sectors)
    } else {
        let above = sectors.next_power_of_two();
        (above / 2 + 1, above - 1)
    }
}

pub(crate) fn sectors_of(bytes: u64) -> u64 {
    bytes.div_ceil(SECTOR_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(sectors: &[u64]) -> RequestSizes {
        let mut sizes = RequestSizes::default();
        for count in sectors {
            sizes.add(count * 512);
        }
        sizes
    }

    #[test]
    fn buckets_are_single_sizes_then_ranges_between_powers_of_two() {
        let all = sizes(&[1, 7, 8, 9, 15, 16, 17, 31, 32, 1025, 2047, 2048, 2049, 1 << 40]);
        let labels: Vec<_> = all.buckets().iter().map(|b| (b.label(), b.requests)).collect();
        let expected = [
            ("1", 1),
            ("7", 1),
            ("8", 1),
            ("9-15", 2),
            ("16", 1),
            ("17-31", 2),
            ("32", 1),
            ("1025-2047", 2),
            ("2048", 1),
            ("2049+", 2),
        ];
        assert_eq!(labels, expected.map(|(label, count)| (label.to_owned(), count)));
    }

    #[test]
    fn mean_and_median() {
        assert_eq!(sizes(&[8, 8, 16]).median_sectors(), 8.0);
        assert_eq!(sizes(&[8, 16]).median_sectors(), 12.0);
        assert_eq!(sizes(&[8, 16, 3]).mean_sectors(), 9.0);
        assert_eq!(sizes(&[]).mean_sectors(), 0.0);
        assert_eq!(sizes(&[]).median_sectors(), 0.0);
        assert_eq!(sizes(&[1, 3, 4, 7, 8]).below_sectors(4), 2);
        assert_eq!(sizes(&[1]).merged(&sizes(&[3])).mean_sectors(), 2.0);
    }
}
