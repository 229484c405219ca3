//! The rule `balanced`: move the boundary towards the share at which the requests would have cost
//! least (beyond the paper).
//!
//! ```text
//! a page written again, after d_b other pages and d_m other entries were used:
//!
//! map's share   0 %                                                           100 %
//! buffer        ├── room for d_b pages: absorbed ──┼── missed: a program ─────────┤
//! map                                              ├── missed: an entry ──┼── hit ┤
//!                                                                         room for d_m entries
//! ```
//! Algorithm 1 compares what the last byte of each side would save in one interval. This rule
//! compares whole shares. The [distance](StackDistances) of a request tells at which shares the
//! buffer would miss it, and the scheme forecasts what it would then cost the map. These costs are
//! added up for each share, whatever the present share is, so a side without any room is judged
//! like the other. The boundary moves towards the cheapest share, by at most one step.
//!
//! **Memory.** Old requests fade. They count for as many tunings as the boundary needs from one end
//! to the other: with a shorter memory it would be called back before it arrives. An interval
//! without writes only makes the earlier ones a little older.
//!
//! **What is left out.** A cost that is the same at every share, such as that of the first use of a
//! page, is no reason to move. A gain below 1 % of the remaining cost is within the error
//! of the samples.

use nand::{Geometry, Lpn};

use crate::contract::{
    ForecastableMap, MapForecast, Run, SHARE_STEPS, SHARES, ShareCosts, Shares, Violation,
};
use crate::part::index::stack_distances::StackDistances;

/// The smallest gain for which the boundary moves, as a part of the cost.
const GAIN_MIN: f64 = 0.01;

/// The costs of requests, by share.
pub struct Balance {
    dram: u64,
    /// Pages of the buffer, by share of the map.
    buffer_pages: Shares<u32>,
    buffer: StackDistances,
    /// What the map adds to the costs.
    forecast: Box<dyn MapForecast>,
    costs: ShareCosts,
    /// What a cost is multiplied by at each tuning.
    fading: f64,
}

/// The bytes that each share of a budget has.
fn bytes_of_shares(dram: u64) -> Shares<u64> {
    core::array::from_fn(|share| (u128::from(dram) * share as u128 / SHARE_STEPS as u128) as u64)
}

impl Balance {
    /// No request was counted yet.
    pub fn new(map: &dyn ForecastableMap, dram: u64, page_bytes: u64, max_step: u64) -> Balance {
        let map_bytes = bytes_of_shares(dram);
        let buffer_pages = map_bytes.map(|bytes| ((dram - bytes) / page_bytes) as u32);
        Balance {
            dram,
            buffer_pages,
            buffer: StackDistances::new(buffer_pages[0]),
            forecast: map.forecast(&map_bytes),
            costs: ShareCosts::ZERO,
            fading: dram as f64 / (dram + max_step) as f64,
        }
    }

    /// Memory of the distances in a buffer that may have all of the DRAM. The forecast samples, so
    /// it takes little.
    pub fn memory_bytes(dram: u64, geometry: &Geometry) -> u64 {
        let pages_max = dram / u64::from(geometry.page_bytes());
        StackDistances::memory_bytes(pages_max, geometry.pages().into())
    }

    // ---- Requests -----------------------------------------------------------------------------

    /// Counts a write.
    pub fn write(&mut self, map: &dyn ForecastableMap, run: &Run) {
        for lpn in (0..run.pages).map(|page| run.first.plus(page)) {
            let (page, distance) = (map.page_costs(lpn), self.buffer.touch(lpn));
            let first = self.first_miss(distance);
            self.costs.add(first..SHARES, page.write_ns);
            self.forecast.write(lpn, first, &page, &mut self.costs);
        }
    }

    /// Counts a read. The buffer has room for `buffer_pages` pages now.
    pub fn read(&mut self, map: &dyn ForecastableMap, run: &Run, buffer_pages: u32) {
        for lpn in (0..run.pages).map(|page| run.first.plus(page)) {
            let (page, distance) = (map.page_costs(lpn), self.buffer.distance(lpn));
            let first = self.first_miss(distance);
            self.costs.add(first..SHARES, page.read_ns);
            self.forecast.read(lpn, first, &page, &mut self.costs);
            // A read that misses the buffer leaves the page where it is.
            if distance.is_some_and(|distance| distance < buffer_pages) {
                self.buffer.touch(lpn);
            }
        }
    }

    /// Counts a trim. A page is never programmed where it still waits in the buffer.
    pub fn trim(&mut self, map: &dyn ForecastableMap, first: Lpn, pages: u32) {
        for lpn in (0..pages).map(|page| first.plus(page)) {
            let (page, distance) = (map.page_costs(lpn), self.buffer.distance(lpn));
            let first = self.first_miss(distance);
            self.costs.add(first..SHARES, page.write_ns);
            self.forecast.trim(lpn, first, &page, &mut self.costs);
            self.buffer.forget(lpn);
        }
    }

    /// The smallest share of the map at which the buffer misses a use.
    fn first_miss(&self, distance: Option<u32>) -> usize {
        let distance = distance.unwrap_or(u32::MAX);
        self.buffer_pages.partition_point(|&pages| pages > distance)
    }

    /// Forgets pages that have left the buffer for another reason than lack of room.
    pub fn forget(&mut self, first: Lpn, pages: u32) {
        (0..pages).for_each(|page| self.buffer.forget(first.plus(page)));
    }

    /// Forgets all pages of the buffer.
    pub fn forget_all(&mut self) {
        self.buffer.clear();
    }

    // ---- Tuning -------------------------------------------------------------------------------

    /// Ends an interval. Returns the bytes that the map should have; those that it has if no other
    /// share is much cheaper.
    pub fn tune(&mut self, mapping: u64) -> u64 {
        let costs = self.costs.by_share();
        self.costs.fade(self.fading);
        let best = (0..SHARES).min_by(|&a, &b| costs[a].total_cmp(&costs[b])).unwrap_or(0);
        let now = cost_between(&costs, mapping as f64 / self.dram as f64);
        match now - costs[best] > GAIN_MIN * now {
            true => bytes_of_shares(self.dram)[best],
            false => mapping,
        }
    }

    /// Bytes of RAM. The forecast counts its own, so its box does not count.
    pub fn bytes(&self) -> u64 {
        let own = size_of::<Balance>() - size_of::<Box<dyn MapForecast>>();
        self.buffer.bytes() + own as u64 + self.forecast.bytes()
    }

    /// Checks the list of pages and the forecast.
    ///
    /// # Errors
    /// The contradiction.
    pub fn audit(&self) -> Result<(), Violation> {
        self.forecast.audit()?;
        self.buffer.audit()
    }
}

/// The cost at any share, on straight lines between those of the table.
fn cost_between(costs: &Shares<f64>, share: f64) -> f64 {
    let place = share * SHARE_STEPS as f64;
    let below = (place as usize).min(SHARE_STEPS - 1);
    costs[below] + (place - below as f64) * (costs[below + 1] - costs[below])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::PageCosts;

    const PAGE: u64 = 512;

    /// A map without costs.
    struct NoMap;

    impl ForecastableMap for NoMap {
        fn forecast(&self, _: &Shares<u64>) -> Box<dyn MapForecast> {
            Box::new(NoMap)
        }

        fn page_costs(&self, _: Lpn) -> PageCosts {
            PageCosts::ZERO
        }
    }

    impl MapForecast for NoMap {
        fn write(&mut self, _: Lpn, _: usize, _: &PageCosts, _: &mut ShareCosts) {}
        fn trim(&mut self, _: Lpn, _: usize, _: &PageCosts, _: &mut ShareCosts) {}
        fn read(&mut self, _: Lpn, _: usize, _: &PageCosts, _: &mut ShareCosts) {}
        fn bytes(&self) -> u64 {
            0
        }
        fn audit(&self) -> Result<(), Violation> {
            Ok(())
        }
    }

    /// The balance of 32 pages if requests cost these amounts at these shares.
    fn with_costs(costs: &[(core::ops::Range<usize>, f64)]) -> Balance {
        let mut balance = Balance::new(&NoMap, 32 * PAGE, PAGE, PAGE);
        costs.iter().for_each(|(shares, ns)| balance.costs.add(shares.clone(), *ns));
        balance
    }

    #[test]
    fn the_cheapest_share_is_the_target_wherever_it_is() {
        let mut balance = with_costs(&[(0..3, 50.0), (4..20, 100.0), (20..33, 60.0)]);
        for share in [0, 3, 16, 32] {
            assert_eq!(balance.tune(share * PAGE), 3 * PAGE);
        }
    }

    #[test]
    fn a_gain_within_the_error_is_no_reason_to_move() {
        assert_eq!(with_costs(&[(0..20, 100.0), (20..33, 99.1)]).tune(10 * PAGE), 10 * PAGE);
        assert_eq!(with_costs(&[(0..20, 100.0), (20..33, 98.9)]).tune(10 * PAGE), 20 * PAGE);
    }

    #[test]
    fn between_two_shares_the_cost_is_on_a_straight_line() {
        let costs = with_costs(&[(0..20, 100.0), (20..33, 20.0)]).costs.by_share();
        let at = |pages: f64| cost_between(&costs, pages / 32.0);
        assert_eq!([19.0, 19.5, 20.0, 32.0].map(at), [100.0, 60.0, 20.0, 20.0]);
    }

    #[test]
    fn costs_of_long_ago_fade() {
        let mut balance = with_costs(&[(10..33, 100.0)]);
        for _ in 0..33 {
            balance.tune(0);
        }
        let left = balance.costs.by_share()[32];
        assert!((34.0..40.0).contains(&left), "a 33rd of it fades each time: {left}");
    }

    #[test]
    fn intervals_without_requests_change_no_decision() {
        let mut balance = with_costs(&[(0..20, 100.0), (20..33, 98.9)]);
        (0..500).for_each(|_| assert_eq!(balance.tune(10 * PAGE), 20 * PAGE));
    }
}
