//! sepbit: pages are placed by the time at which they will probably be invalidated (Wang et al.
//! 2022).
//!
//! ```text
//! host writes   v < ℓ ─▶ class 1 [a b a c _ _] ─ copies ─▶ class 3          v: lifespan of the
//!               else  ─▶ class 2 [d e f _ _ _] ─┐                           replaced version
//!                                class 3 … 6   ─┴ copies by age g
//!                                    g < 4ℓ ─▶ class 4    g < 16ℓ ─▶ class 5    else ─▶ class 6
//! ```
//! *Host writes* (§3.1): a page that was replaced soon will probably be replaced soon again. If it
//! replaces a version that lived less than ℓ, it goes to class 1; other pages, and those that are
//! new, go to class 2. *Copies* (§3.2): a page out of class 1 was expected to die, and did not; it
//! goes to class 3. Of other pages it is known how long they have lived: the older a page, the
//! longer it will probably live on. *What an erase teaches*: ℓ is the mean lifespan of blocks of
//! class 1, from opening to collection. It is infinite at first, and renewed with every 16th block
//! of class 1 that is collected (Algorithm 1). All times are counted in pages that the host wrote.
//!
//! **Times.** A simulation can know exactly when each page was written (`times=exact`, 4 bytes a
//! page). The prototype (§3.4) keeps a queue of the pages that were written last (`times=queue`): a
//! page that is not in it is taken for long-lived. The queue grows to ℓ entries and no further than
//! the number of logical pages. A longer one loses two entries with every write. An entry takes 12
//! bytes: a page number in the queue, and a page number and a position in the index. Ages of copies
//! are read from spare areas, which cost no RAM.
//!
//! Numbers of classes in the paper are those of the code plus one.

use nand::{ChipModel, Nand};
use spec::{Kind, Param, Params};

use crate::contract::page_policy::{
    Class, ErasedBlock, HostWrite, MovedPage, PagePolicy, PlacedDevice,
};
use crate::contract::{Ftl, Lecture, Metric, MountConfig, Result, Scheme, table_bytes};
use crate::part::page::placed;
use crate::part::page::victims::registry;

const CLASSES: Class = 6;
/// Classes 3 to 6.
const COPY_CLASSES: Class = 4;

const SHORT_LIVED: Class = 0;
const LONG_LIVED: Class = 1;
const OUTLIVED: Class = 2;
/// Classes 4 to 6 by age, each with the end of its ages in units of ℓ.
const BY_AGE: [(Class, u64); 3] = [(3, 4), (4, 16), (5, u64::MAX)];

/// Blocks of class 1 over whose lifespans ℓ is a mean (§3.4).
const MEASURED_BLOCKS: u64 = 16;

const PARAMS: &[&[Param]] = &[
    &[
        Param {
            name: "times",
            kind: Kind::Choice(&["exact", "queue"]),
            default: "exact",
            unit: "",
            doc: "exact: the time of each page's last write is known; queue: a queue of the pages \
                  that were written last, as in the paper's prototype",
        },
        registry::victim_param("greedy"),
    ],
    &registry::OWN_PARAMS,
];

/// Separation by inferred block invalidation times.
pub static SCHEME: Scheme = Scheme {
    name: "sepbit",
    summary: "page mapping with six open blocks: host writes by the lifespan of the replaced \
              version, copies by age",
    source: "Wang, Wang, Li, Lee, Wu: Separating data via block invalidation time inference for \
             write amplification reduction in log-structured storage, FAST 2022",
    lecture: Lecture::of(file!(), include_str!("sepbit.rs")),
    params: &spec::joined::<{ spec::total_len(PARAMS) }>(PARAMS),
    corners: &["times=queue"],
    refuses: |params: &Params, _: &ChipModel| registry::refuses(params),
    least_extra: |_, _, _| placed::extra_blocks(CLASSES, COPY_CLASSES),
    open_blocks: Some(|_| CLASSES.into()),
    memory: |_, geometry, _| table_bytes(geometry, 12, 48),
    mount,
    ..Scheme::PLAIN
};

fn mount(nand: &mut Nand, device: &MountConfig) -> Result<Box<dyn Ftl>> {
    let has_queue = device.params.choice("times") == "queue";
    placed::mount(nand, device, |device| SepBit::new(has_queue, device))
}

/// The policy.
pub(super) struct SepBit {
    /// The pages written last; none if all times are known.
    queue: Option<RecentPages>,
    /// Number of logical pages.
    pages: u32,
    limit: Limit,
}

impl SepBit {
    pub(super) fn new(has_queue: bool, device: &PlacedDevice) -> SepBit {
        SepBit {
            queue: has_queue.then(|| RecentPages::new(device.logical_pages)),
            pages: device.logical_pages,
            limit: Limit::default(),
        }
    }
}

impl PagePolicy for SepBit {
    fn classes(&self) -> Class {
        CLASSES
    }

    fn copy_classes(&self) -> Class {
        COPY_CLASSES
    }

    fn place(&mut self, write: &HostWrite) -> Result<Class> {
        let known = write.lifespan.filter(|&lifespan| match &self.queue {
            Some(queue) => queue.reaches(lifespan),
            None => true,
        });
        if let Some(queue) = &mut self.queue {
            queue.push(&self.limit);
        }
        match known.is_some_and(|lifespan| self.limit.is_above(lifespan)) {
            true => Ok(SHORT_LIVED),
            false => Ok(LONG_LIVED),
        }
    }

    fn place_copy(&mut self, copy: &MovedPage) -> Result<Class> {
        if copy.class == SHORT_LIVED {
            return Ok(OUTLIVED);
        }
        let by_age = BY_AGE.iter().find(|&&(_, times)| self.limit.is_above_part(copy.age, times));
        Ok(by_age.map_or(CLASSES - 1, |&(class, _)| class))
    }

    fn erased(&mut self, block: &ErasedBlock) -> Result<()> {
        if block.class == SHORT_LIVED {
            self.limit.learn(block.lifespan);
        }
        Ok(())
    }

    fn ram_bytes(&self) -> u64 {
        match &self.queue {
            Some(queue) => 12 * queue.longest,
            None => 4 * u64::from(self.pages),
        }
    }

    fn figures(&self) -> Vec<(&'static str, Metric)> {
        vec![("lifespan_limit", Metric::Real(self.limit.pages()))]
    }
}

/// ℓ, the limit between short and long lifespans.
#[derive(Default)]
struct Limit {
    /// Sum of the lifespans over which ℓ is the mean; none as long as ℓ is infinite.
    sum: Option<u64>,
    /// Blocks since the last renewal, and the sum of their lifespans.
    blocks: u64,
    next_sum: u64,
}

impl Limit {
    fn learn(&mut self, lifespan: u64) {
        self.blocks += 1;
        self.next_sum += lifespan;
        if self.blocks == MEASURED_BLOCKS {
            self.sum = Some(self.next_sum);
            (self.blocks, self.next_sum) = (0, 0);
        }
    }

    /// Whether a lifespan is below ℓ.
    fn is_above(&self, lifespan: u64) -> bool {
        self.is_above_part(lifespan, 1)
    }

    /// Whether an age is below this multiple of ℓ. The mean is not rounded.
    fn is_above_part(&self, age: u64, times: u64) -> bool {
        let limit = |sum: u64| u128::from(sum) * u128::from(times);
        self.sum.is_none_or(|sum| u128::from(age) * u128::from(MEASURED_BLOCKS) < limit(sum))
    }

    /// Whether ℓ ≥ `pages`.
    fn reaches(&self, pages: u64) -> bool {
        self.sum.is_none_or(|sum| pages * MEASURED_BLOCKS <= sum)
    }

    /// ℓ in host pages.
    fn pages(&self) -> f64 {
        self.sum.map_or(f64::INFINITY, |sum| sum as f64 / MEASURED_BLOCKS as f64)
    }
}

/// The length of the queue of the pages that the host wrote last. Its entries are consecutive
/// writes, so its length tells whether the last write of a page is still in it.
struct RecentPages {
    length: u64,
    longest: u64,
    logical_pages: u64,
}

impl RecentPages {
    fn new(logical_pages: u32) -> RecentPages {
        RecentPages { length: 0, longest: 0, logical_pages: logical_pages.into() }
    }

    /// Whether the queue holds a page that was written `lifespan` writes ago.
    fn reaches(&self, lifespan: u64) -> bool {
        lifespan <= self.length
    }

    /// Adds a page.
    fn push(&mut self, limit: &Limit) {
        self.length += 1;
        let is_too_long = |length: u64| !limit.reaches(length);
        if self.length > self.logical_pages || is_too_long(self.length) {
            self.length -= 1;
            self.length -= u64::from(self.length > 0 && is_too_long(self.length));
        }
        self.longest = self.longest.max(self.length);
    }
}
