//! Touched units in tiers: each tier gets a share of the requests and a share of the units.
//!
//! ```text
//! ranks   0 ........... hot | ................ cold     the lowest ranks are hot
//! units   scattered over the whole space                a permutation maps ranks to units
//! ```

use crate::generate::grid::Grid;
use crate::generate::random::Random;
use crate::generate::scatter::Scatter;
use crate::generate::workload::Placement;
use crate::request::Op;

/// Draws units from tiers that are scattered over the space.
pub(crate) struct Tiers {
    tiers: Vec<Tier>,
    total_weight: u64,
    scatter: Option<Scatter>,
}

/// Consecutive ranks that are equally likely.
struct Tier {
    /// The weight of this tier and of all before it.
    weight_up_to: u64,
    first_rank: u64,
    ranks: u64,
}

/// The seed of the permutation. It does not depend on the seed of the run, so the same pages are
/// hot in every run; only the order of requests differs.
const SCATTER_SEED: u64 = 0x6674_6c61_6221;

impl Tiers {
    /// Tiers of `(weight, units)`, hottest first, in a space of `space_units`. The caller
    /// guarantees that the space has that many units, and that no tier with a weight is empty.
    pub(crate) fn new(space_units: u64, weights: &[(u64, u64)]) -> Tiers {
        let (mut tiers, mut first_rank, mut total_weight) = (Vec::new(), 0, 0);
        for &(weight, ranks) in weights {
            assert!(weight == 0 || ranks > 0, "a tier with weight {weight} is empty");
            total_weight += weight;
            tiers.push(Tier { weight_up_to: total_weight, first_rank, ranks });
            first_rank += ranks;
        }
        assert!(first_rank <= space_units, "{first_rank} units of {space_units}");
        // A single tier over all units is uniform without a permutation.
        let plain = tiers.len() == 1 && first_rank == space_units;
        let scatter = || Scatter::new(space_units, &mut Random::new(SCATTER_SEED));
        Tiers { tiers, total_weight, scatter: (!plain).then(scatter) }
    }

    /// Draws a unit.
    #[inline(always)]
    pub(crate) fn draw(&self, random: &mut Random) -> u64 {
        let tier = match self.tiers.as_slice() {
            [only] => only,
            tiers => tier_of(tiers, random.below(self.total_weight)),
        };
        let rank = tier.first_rank + random.below(tier.ranks);
        match &self.scatter {
            Some(scatter) => scatter.place(rank),
            None => rank,
        }
    }
}

/// The tier that a draw among all weights hits.
#[inline(never)]
fn tier_of(tiers: &[Tier], weight: u64) -> &Tier {
    let found = tiers.iter().find(|tier| weight < tier.weight_up_to);
    found.unwrap_or(&tiers[tiers.len() - 1])
}

/// Placement of requests of one size on tiers of units.
pub(crate) struct Tiered {
    pub(crate) grid: Grid,
    pub(crate) tiers: Tiers,
}

impl Placement for Tiered {
    #[inline(always)]
    fn next_range(&mut self, _: Op, random: &mut Random) -> (u64, u64) {
        let unit = self.tiers.draw(random);
        (self.grid.offset(unit, random), self.grid.request_bytes)
    }
}

/// A skew: `requests` % of the requests go to `pages` % of the pages.
pub(crate) struct HotRatio {
    pub(crate) requests: u64,
    pub(crate) pages: u64,
}

impl HotRatio {
    /// Checks a ratio such as 70/30.
    pub(crate) fn new((requests, pages): (u64, u64)) -> Result<HotRatio, String> {
        if requests > 100 || pages > 100 {
            return Err(format!("hot={requests}/{pages} has a part above 100 %"));
        }
        if pages == 0 || pages == 100 && requests < 100 {
            return Err(format!("hot={requests}/{pages} leaves no pages for part of the requests"));
        }
        Ok(HotRatio { requests, pages })
    }

    /// The hot and the cold tier of `touched` units, rounded to the nearest unit. A tier that gets
    /// requests must not be empty.
    pub(crate) fn tiers(&self, touched: u64) -> Result<[(u64, u64); 2], String> {
        let exact = u128::from(touched) * u128::from(self.pages);
        let hot = ((exact + 50) / 100) as u64;
        let cold = touched - hot;
        if hot == 0 || cold == 0 && self.requests < 100 {
            let HotRatio { requests, pages } = self;
            return Err(format!(
                "hot={requests}/{pages} leaves no hot or no cold page among {touched} units"
            ));
        }
        Ok([(self.requests, hot), (100 - self.requests, cold)])
    }
}
