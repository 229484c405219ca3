//! The report of a sector log: the metrics of SL Tables 2, 3, 5 and 6, and the counts that its laws
//! need.

use super::counts::SectorLogCounts;
use super::log::SectorLog;
use crate::contract::Metric;

impl SectorLog {
    pub(super) fn figures(&self) -> Vec<(&'static str, Metric)> {
        let c = &self.counts;
        // As in the papers, the mean is 0 if nothing was cleaned.
        let per_eviction = match c.evicts {
            0 => Metric::Real(0.0),
            evicts => ratio(c.evicted_sectors, evicts),
        };
        let map_bytes = if self.ring.blocks() == 0 { 0 } else { self.map.ram_bytes() };
        let logged = [
            ("blocks", self.ring.blocks().into()),
            ("sectors_per_page", self.sectors_per_page.into()),
            ("Writes_full", c.whole),
            ("Writes_subpage", c.parts),
            ("Writes_SL", c.programs),
            ("Evicts_SL", c.evicts),
            ("subpage_sectors", c.part_sectors),
            ("hit_sectors", c.hits),
            ("hit_any", c.hits_any),
            ("evicted_sectors", c.evicted_sectors),
            ("programmed_sectors", c.programmed_sectors),
            ("padding_sectors", c.padding_sectors),
            ("address_sectors", c.address_sectors),
            ("replaced_waiting", c.replaced),
            ("taken_waiting", c.taken),
            ("left_sectors", c.left),
            ("waiting_before", c.waiting_before),
            ("waiting", self.buffer.len().into()),
            ("distinct_before", c.distinct_before),
            ("distinct", self.distinct_sectors()),
            ("logged_pages", self.map.len().into()),
            ("cleanings", c.cleanings),
            ("early_cleanings", c.early_cleanings),
            ("exchanges", c.exchanges),
            ("log_pages", c.cleaning_reads),
            ("log_pages_once", c.cleaning_reads_once),
            ("log_pages_host", c.host_reads),
            ("trim_pages", c.trim_pages),
            ("map_bytes", map_bytes),
            ("look_ups", self.map.look_ups),
            ("probes", self.map.probes),
            ("dram_accesses", c.dram_accesses),
        ];
        let logged = logged.into_iter().map(|(name, count)| (name, Metric::Count(count)));
        let ratios = [
            ("subpage_hit_ratio", ratio(c.hits, c.part_sectors)),
            ("hit_any_ratio", ratio(c.hits_any, c.parts)),
            ("sectors_per_subpage_write", ratio(c.part_sectors, c.parts)),
            ("sectors_per_eviction", per_eviction),
            ("probes_per_look_up", ratio(self.map.probes, self.map.look_ups)),
        ];
        let per_page = u64::from(self.sectors_per_page);
        let writes = (self.ring.blocks() > 0).then(|| WriteRatios::of(c, per_page).figures());
        logged.chain(ratios).chain(writes.into_iter().flatten()).collect()
    }
}

/// Pages programmed per page that arrived: the writes of SL Table 3, relative to a run without a
/// log in which the buffer evicts the same pages. NaN if nothing arrived; left out if there is no
/// log.
struct WriteRatios {
    /// The ratio as counted.
    counted: f64,
    /// The formula (1−u) + u·s0/N + u·(1−h)·s0/s.
    by_hits: f64,
    /// The same formula, extended by the terms that it neglects: sectors that leave the log other
    /// than by hits and cleaning, sectors that never reach it, and padding and addresses in log
    /// pages.
    by_all: f64,
}

impl WriteRatios {
    fn of(c: &SectorLogCounts, sectors_per_page: u64) -> WriteRatios {
        let [all, parts] = [c.whole + c.parts, c.part_sectors].map(|count| count as f64);
        let pages = |sectors: f64| sectors / sectors_per_page as f64;
        let evictions = |sectors: f64| match c.evicts {
            0 => 0.0,
            evicts => sectors * evicts as f64 / c.evicted_sectors as f64,
        };
        let whole = c.whole as f64;
        let missed = parts - c.hits as f64;
        let left_otherwise = (c.left - c.evicted_sectors) as f64;
        let filling = (c.padding_sectors + c.address_sectors) as f64;
        let never_logged = (c.replaced + c.taken) as f64;
        WriteRatios {
            counted: (c.whole + c.programs + c.evicts) as f64 / all,
            by_hits: (whole + pages(parts) + evictions(missed)) / all,
            by_all: (whole
                + pages(parts - never_logged + filling)
                + evictions(missed - left_otherwise))
                / all,
        }
    }

    fn figures(self) -> [(&'static str, Metric); 3] {
        [
            ("writes_over_base", Metric::Real(self.counted)),
            ("writes_over_base_by_hits", Metric::Real(self.by_hits)),
            ("writes_over_base_by_all", Metric::Real(self.by_all)),
        ]
    }
}

/// `a / b`; NaN if b is 0.
fn ratio(a: u64, b: u64) -> Metric {
    Metric::Real(if b == 0 { f64::NAN } else { a as f64 / b as f64 })
}
