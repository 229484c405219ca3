//! oltp: the online transactions of the FASTer paper (Lim, Lee, Moon, SNAPI 2010, §III.A).
//!
//! Half of the writes go to 10 % of the touched pages, 70 % go to 30 % of them, and the rest is
//! uniform. Only 35 % of the space is ever touched:
//!
//! ```text
//! touched pages   10 %     20 %          70 %
//! requests        50 %     20 %          30 %
//! ```
//!
//! The touched pages are scattered over the space. A long run writes all of them: after twelve
//! writes per touched page, 99 % of the coldest have been written.

use spec::Params;

use crate::generate::grid::Grid;
use crate::generate::params::{
    ARRIVALS, INTERARRIVAL, PAGES, READS, REQUEST, REQUESTS, SEED, SHARE, WRITES,
};
use crate::generate::tiers::{Tiered, Tiers};
use crate::generate::workload::{AddressSpace, PlacementResult, Workload};

/// The workload's entry in the registry.
pub static WORKLOAD: Workload = Workload {
    name: "oltp",
    summary: "online transactions: 50 % of the writes go to 10 % of the touched pages, 70 % to 30 \
              %",
    source: "Lim, Lee and Moon, FASTer FTL, SNAPI 2010, §III.A",
    params: &[WRITES, REQUESTS, SHARE, PAGES, READS, REQUEST, INTERARRIVAL, ARRIVALS, SEED],
    placement,
};

fn placement(params: &Params, space: &AddressSpace) -> PlacementResult {
    let grid = &Grid::new(params, space)?;
    let share = params.share(SHARE.name);
    if share.exceeds_whole() {
        return Err(format!("share={share} is more than the space"));
    }
    let touched = match params.opt_count(PAGES.name) {
        Some(_) => grid.touched(params)?,
        None => share.floor_of(grid.units),
    };
    let (hot, warm) = (touched / 10, touched / 5);
    if hot == 0 {
        return Err(format!("{touched} touched units are too few: a tenth of them is hot"));
    }
    let tiers = [(50, hot), (20, warm), (30, touched - hot - warm)];
    Ok(Box::new(Tiered { grid: *grid, tiers: Tiers::new(grid.units, &tiers) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::workloads::tests::{
        SPACE_PAGES, assert_fingerprint, assert_refused, dispersion, page_writes, requests,
        share_of_hottest,
    };

    #[test]
    fn requests_never_change() {
        assert_fingerprint(&WORKLOAD, 13_341_713_362_491_539_243);
    }

    /// The four figures of the FASTer paper, §III.A, measured on the requests.
    #[test]
    fn requests_have_the_four_figures_of_the_paper() {
        let counts = page_writes(&requests("oltp:writes=1M", 1));
        let touched = counts.len() as u64;
        let share = touched as f64 / SPACE_PAGES as f64;
        assert!((0.3495..=0.35).contains(&share), "35 % of the space is touched: {share}");
        let tenth = share_of_hottest(&counts, touched / 10);
        assert!((0.49..0.51).contains(&tenth), "half the writes to 10 %: {tenth}");
        let third = share_of_hottest(&counts, touched * 3 / 10);
        assert!((0.69..0.71).contains(&third), "70 % of the writes to 30 %: {third}");
        // The tail is uniform, so its counts vary no more than random ones.
        let (ratio, mean) = dispersion(&counts[(touched * 3 / 10) as usize..]);
        assert!((0.95..1.05).contains(&ratio), "tail: {ratio} for a mean of {mean}");
    }

    #[test]
    fn impossible_shares_are_refused() {
        assert_refused(&[
            ("oltp:share=120%", "workload oltp: share=120% is more than the space"),
            ("oltp:pages=5", "workload oltp: 5 touched units are too few"),
        ]);
    }
}
