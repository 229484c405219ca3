//! What schemes and layers report about themselves.

/// RAM of a controller, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ram {
    /// Mapping tables.
    pub map: u64,
    /// Cached parts of mapping tables that live in flash.
    pub cache: u64,
    /// Pages of a write buffer.
    pub buffer: u64,
    /// The map of a sector log.
    pub sector_map: u64,
    /// Everything else, such as valid counts and lists.
    pub other: u64,
}

impl Ram {
    /// Bytes of all parts.
    pub fn total(&self) -> u64 {
        let Ram { map, cache, buffer, sector_map, other } = self;
        map + cache + buffer + sector_map + other
    }
}

/// Merges of a log-block scheme.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merges {
    /// The log block became the data block.
    pub switch: u64,
    /// The log block became the data block after the missing pages were copied in.
    pub partial: u64,
    /// All associated data blocks were rewritten into free blocks.
    pub full: u64,
    /// The log block held no valid page.
    pub dead: u64,
    /// Full merges by number of associated data blocks.
    pub associated_blocks: Vec<u64>,
}

/// A value that only the scheme or layer itself can report.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Metric {
    /// An exact count.
    Count(u64),
    /// A ratio or mean.
    Real(f64),
    /// Exact counts by index.
    Counts(Vec<u64>),
    /// A name.
    Text(String),
}

/// What an FTL says about itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The RAM that a controller would need now, as the papers count it.
    pub ram: Ram,
    /// Number of erased blocks that are not open now.
    pub free_blocks: u32,
    /// Merges, for log-block schemes.
    pub merges: Option<Merges>,
    /// The scheme's own figures by name.
    pub figures: Vec<(&'static str, Metric)>,
    /// The quantities that scheme and layers regulate or watch, now. A series samples them. Names
    /// and order are always the same.
    pub gauges: Vec<(&'static str, f64)>,
    /// Reports of the layers above the scheme, the topmost first.
    pub layers: Vec<LayerReport>,
}

impl Report {
    /// Pages that entered the scheme; none if no layer is above it: then all pages of the host do.
    pub fn entered(&self) -> Option<Entered> {
        self.layers.last().map(|lowest| lowest.went_down)
    }
}

/// Report of a layer about itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerReport {
    /// The layer's name.
    pub layer: &'static str,
    /// Its figures by name.
    pub figures: Vec<(&'static str, Metric)>,
    /// Pages that it handed down.
    pub went_down: Entered,
}

/// Pages that entered a scheme or a layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entered {
    /// Pages of reads, mapped or not.
    pub read: u64,
    /// Pages of writes, in part or whole.
    pub written: u64,
    /// Pages of trims.
    pub trimmed: u64,
}
