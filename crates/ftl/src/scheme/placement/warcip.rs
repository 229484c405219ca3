//! warcip: pages are clustered by their rewrite intervals (Yang, Pei and Yang 2019).
//!
//! ```text
//! interval of a write ─▶ the cluster with the nearest centre
//!                        cluster 0 ●       [a b a b _ _]      each has an open block of its own
//!                        cluster 1     ●   [c d e _ _ _]
//!                        …
//!                        copies            [f g h i _ _]      all copies share a block
//! ```
//! *Host writes*: the interval of a page is the number of host pages from its last write to this
//! one; that of a new page is 0. The page goes to the cluster whose centre is nearest, and moves
//! the centre: it is the mean of the intervals since the cluster's block was last full. *Copies*
//! share a class. A page that is copied was put into the wrong cluster, so its age at that time is
//! added to its next interval as a penalty. *Splits and merges*: with every 128th block that
//! clusters have filled, the clusters are reviewed. One that received less than a block of pages is
//! merged into its neighbours: it gets no more pages. Then, if a cluster is free and another one
//! received more than half of all pages, that one is split: the free one continues with a centre
//! between it and the next higher one.
//!
//! Follows SepBIT's reading of the paper (`placement/warcip.cc`), with two choices where it is
//! silent or undefined. A cluster whose block is not full is merged when it is. A split of the
//! cluster with the highest centre c continues at c + (c − b)/2, where b is the centre below it.

use nand::{ChipModel, Nand};
use spec::{Kind, Param, Params};

use crate::contract::page_policy::{Class, HostWrite, MovedPage, PagePolicy, PlacedDevice};
use crate::contract::{Ftl, Lecture, Metric, MountConfig, Result, Scheme, table_bytes};
use crate::part::page::block_classes::KEPT_CLASSES_MAX;
use crate::part::page::placed;
use crate::part::page::victims::registry;

/// Maximum number of clusters: with the class for copies all classes survive a power cut.
const CLUSTERS_MAX: u64 = KEPT_CLASSES_MAX as u64 - 1;
/// Blocks that clusters fill from one review to the next.
const REVIEW_BLOCKS: u64 = 128;

const PARAMS: &[&[Param]] = &[
    &[
        Param {
            name: "clusters",
            kind: Kind::Count,
            default: "5",
            unit: "clusters",
            doc: "the number of clusters for host writes, each with its own open block; 1 to 15",
        },
        registry::victim_param("greedy"),
    ],
    &registry::OWN_PARAMS,
];

/// Clustering by rewrite intervals.
pub static SCHEME: Scheme = Scheme {
    name: "warcip",
    summary: "page mapping with clusters of pages that are rewritten at similar intervals",
    source: "Yang, Pei, Yang: WARCIP: write amplification reduction by clustering I/O pages, \
             SYSTOR 2019, as SepBIT's code reads it",
    lecture: Lecture::of(file!(), include_str!("warcip.rs")),
    params: &spec::joined::<{ spec::total_len(PARAMS) }>(PARAMS),
    corners: &["clusters=2"],
    refuses,
    least_extra: |params, _, _| placed::extra_blocks(params.count("clusters") as Class + 1, 1),
    open_blocks: Some(|params| params.count("clusters") as u32 + 1),
    memory: |_, geometry, _| table_bytes(geometry, 20, 48),
    mount,
    ..Scheme::PLAIN
};

fn refuses(params: &Params, _: &ChipModel) -> Option<String> {
    match params.count("clusters") {
        1..=CLUSTERS_MAX => registry::refuses(params),
        clusters => Some(format!("clusters={clusters}; 1 to {CLUSTERS_MAX} are possible")),
    }
}

fn mount(nand: &mut Nand, device: &MountConfig) -> Result<Box<dyn Ftl>> {
    let clusters = device.params.count("clusters") as usize;
    placed::mount(nand, device, |device| Warcip::new(clusters, device))
}

struct Warcip {
    clusters: Vec<Cluster>,
    /// The age of each page when it was last copied; 0 if it was written since.
    penalties: Vec<u64>,
    pages_per_block: u64,
    /// Blocks filled since the last review.
    filled: u64,
    splits: u64,
    merges: u64,
}

/// A cluster of pages with similar intervals.
#[derive(Clone, Default)]
struct Cluster {
    /// Whether it receives pages.
    is_open: bool,
    /// Whether it is to be merged when its block is full.
    merges_next: bool,
    centre: f64,
    /// The pages over whose intervals the centre is a mean, and the sum of these intervals.
    pages: u64,
    intervals: u64,
    /// Pages since the last review.
    reviewed: u64,
}

impl Warcip {
    fn new(clusters: usize, device: &PlacedDevice) -> Warcip {
        Warcip {
            clusters: vec![Cluster { is_open: true, ..Cluster::default() }; clusters],
            penalties: vec![0; device.logical_pages as usize],
            pages_per_block: device.pages_per_block.into(),
            filled: 0,
            splits: 0,
            merges: 0,
        }
    }

    /// The cluster with the nearest centre; the first of them.
    fn nearest(&self, interval: u64) -> usize {
        let distance = |at: usize| (self.clusters[at].centre - interval as f64).abs();
        let open = self.open_clusters();
        let nearer = |best, at| if distance(at) < distance(best) { at } else { best };
        open.reduce(nearer).expect("a cluster is merged only if another one is open")
    }

    fn open_clusters(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.clusters.len()).filter(|&at| self.clusters[at].is_open)
    }

    fn add(&mut self, at: usize, interval: u64) {
        let cluster = &mut self.clusters[at];
        cluster.intervals += interval;
        cluster.pages += 1;
        cluster.reviewed += 1;
        cluster.centre = cluster.intervals as f64 / cluster.pages as f64;
        if cluster.pages == self.pages_per_block {
            self.finish_block(at);
        }
    }

    fn finish_block(&mut self, at: usize) {
        (self.clusters[at].pages, self.clusters[at].intervals) = (0, 0);
        self.filled += 1;
        if self.filled == REVIEW_BLOCKS {
            self.review();
        }
        if self.clusters[at].merges_next {
            self.merge(at);
        }
    }

    fn review(&mut self) {
        for at in 0..self.clusters.len() {
            let cluster = &mut self.clusters[at];
            cluster.merges_next = cluster.is_open && cluster.reviewed < self.pages_per_block;
            if cluster.merges_next && cluster.pages == 0 {
                self.merge(at);
            }
        }
        let written: u64 = self.clusters.iter().map(|cluster| cluster.reviewed).sum();
        let is_large = |&at: &usize| self.clusters[at].reviewed > written / 2;
        let large = self.open_clusters().find(is_large);
        let free = self.clusters.iter().position(|cluster| !cluster.is_open);
        if let (Some(large), Some(free)) = (large, free) {
            self.split(large, free);
        }
        self.clusters.iter_mut().for_each(|cluster| cluster.reviewed = 0);
        self.filled = 0;
    }

    /// Closes a cluster, unless it is the only one.
    fn merge(&mut self, at: usize) {
        self.clusters[at].merges_next = false;
        if self.open_clusters().count() > 1 {
            self.clusters[at].is_open = false;
            self.merges += 1;
        }
    }

    fn split(&mut self, large: usize, free: usize) {
        let centre = self.clusters[large].centre;
        let centres = || self.open_clusters().map(|at| self.clusters[at].centre);
        let above = centres().filter(|&other| other > centre).fold(f64::INFINITY, f64::min);
        let below = centres().filter(|&other| other < centre).fold(0.0, f64::max);
        let above = if above.is_finite() { above } else { 2.0 * centre - below };
        let centre = f64::midpoint(centre, above);
        self.clusters[free] = Cluster { is_open: true, centre, ..Cluster::default() };
        self.splits += 1;
    }
}

impl PagePolicy for Warcip {
    fn classes(&self) -> Class {
        self.clusters.len() as Class + 1
    }

    fn copy_classes(&self) -> Class {
        1
    }

    fn place(&mut self, write: &HostWrite) -> Result<Class> {
        let penalty = core::mem::take(&mut self.penalties[write.lpn.0 as usize]);
        let interval = write.lifespan.map_or(0, |lifespan| lifespan + penalty);
        let cluster = self.nearest(interval);
        self.add(cluster, interval);
        Ok(cluster as Class)
    }

    fn place_copy(&mut self, copy: &MovedPage) -> Result<Class> {
        self.penalties[copy.lpn.0 as usize] = copy.age;
        Ok(self.clusters.len() as Class)
    }

    /// Four bytes a page for the time of its last write, and four for its penalty.
    fn ram_bytes(&self) -> u64 {
        8 * self.penalties.len() as u64
    }

    fn figures(&self) -> Vec<(&'static str, Metric)> {
        vec![("splits", Metric::Count(self.splits)), ("merges", Metric::Count(self.merges))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The centres of open clusters after a review that finds these centres and numbers of pages.
    fn centres_after_review(found: [(f64, u64); 3]) -> Vec<f64> {
        let device = PlacedDevice {
            page_bytes: 2048,
            pages_per_block: 4,
            logical_pages: 1000,
            extra_blocks: 10,
        };
        let mut warcip = Warcip::new(found.len(), &device);
        for (cluster, (centre, reviewed)) in warcip.clusters.iter_mut().zip(found) {
            (cluster.centre, cluster.reviewed) = (centre, reviewed);
        }
        warcip.review();
        warcip.open_clusters().map(|at| warcip.clusters[at].centre).collect()
    }

    #[test]
    fn a_cluster_with_more_than_half_of_the_pages_is_split_if_another_one_is_free() {
        let between = centres_after_review([(10.0, 3), (100.0, 600), (400.0, 500)]);
        assert_eq!(between, [250.0, 100.0, 400.0], "10 is merged, 100 is split towards 400");
        let above = centres_after_review([(10.0, 3), (100.0, 500), (400.0, 600)]);
        assert_eq!(above, [550.0, 100.0, 400.0], "no centre is above 400");
        let none = centres_after_review([(10.0, 3), (100.0, 550), (400.0, 550)]);
        assert_eq!(none, [100.0, 400.0], "none has more than half");
        let all = centres_after_review([(10.0, 4), (100.0, 600), (400.0, 500)]);
        assert_eq!(all, [10.0, 100.0, 400.0], "a block of pages is enough to stay");
    }
}
