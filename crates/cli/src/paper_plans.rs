//! The papers, their claims, and the experiments that examine the claims. The plans are compiled
//! into the program, so that `ftlab papers` needs no file.

use report::pages::papers::{Paper, claim};
use sim::plan::{Plan, Scale};

/// A plan: its name and its text.
pub type NamedPlan = (&'static str, &'static str);

macro_rules! plans {
    ($folder:literal: $($paper:literal { $($name:literal),+ $(,)? })+) => {
        &[$($((
            concat!($paper, $name),
            include_str!(concat!("../experiments/", $folder, $paper, $name, ".toml")),
        ),)+)+]
    };
}

/// All experiments, in the order of the papers: one for each table and figure. The letters at the
/// start of a name are the id of the paper.
pub static EXPERIMENTS: &[NamedPlan] = plans! {
    "":
    "SL" { "-fig2", "-table2", "-table3", "-fig6", "-table5", "-table6", "-balance" }
    "FSTR" { "-table2", "-fig2", "-fig3", "-fig4", "-fig6", "-fig7", "-fig8", "-drift" }
    "AP" { "-fig2", "-fig4", "-fig5", "-fig6", "-fig7", "-fig8", "-fig9", "-fig10", "-balanced" }
    "LSB" { "-fig9", "-fig10", "-fig11", "-fig12", "-fig13", "-fig14" }
    "LAST" { "-fig5", "-fig8", "-fig9", "-map", "-auto" }
    "WL" { "-fig6", "-fig8", "-fig9", "-cost", "-life" }
    "T" { "1", "2", "3", "4", "4-threshold", "5", "5-dftl" }
};

/// Plans with runs that several experiments share.
static RUNS: &[NamedPlan] = plans! {
    "runs/":
    "SL" { "-financial", "-tpcc", "-general" }
    "FSTR" { "", "-oltp", "-drift", "-captured" }
    "AP" { "-dftl", "-fast" }
    "LSB" { "" }
    "LAST" { "" }
    "WL" { "" }
};

/// The plan of an experiment.
///
/// # Errors
/// The plan has a mistake, which a test would have found, or it has no such scale.
pub fn plan(&(name, text): &NamedPlan, scale: Scale) -> sim::Result<Plan> {
    Plan::parse_beside(name, text, scale, &|other| {
        shared_runs(other).ok_or_else(|| "it is not part of this program".into())
    })
}

/// The text of a plan that several experiments name, such as `runs/FSTR.toml`.
pub fn shared_runs(name: &str) -> Option<String> {
    let found = RUNS.iter().find(|(shared, _)| name == format!("runs/{shared}.toml"));
    found.map(|(_, text)| (*text).to_owned())
}

/// The papers, in the order of the report.
pub static PAPERS: &[Paper] = &[
    Paper {
        id: "SL",
        title: "Jin, Kim, Kim, Huh, Maeng: Sector log: fine-grained storage management for solid \
                state drives, SAC 2011",
        claims: &[
            claim("SL-1", "sub-page hit ratio and sectors per eviction, by log size and page size")
                .because(
                    "MariaDB writes whole pages and its buffer pool absorbs most rewrites, and a \
                     short cut of Financial writes a third of the space it touches in part, so a \
                     log scaled to that space holds less of it.",
                ),
            claim("SL-2", "reads and writes against no sector log, garbage collection excluded")
                .because(
                    "The hit ratios and eviction sizes of the stand-ins differ (SL-1), and the \
                     writes follow from them (SL-2c).",
                ),
            claim("SL-2b", "writes follow from hits and sizes of evictions").because(
                "The law leaves out whole pages, flushes and sectors that never reach the \
                     log; with these terms it holds within 0.22 % (SL-2c).",
            ),
            claim("SL-2c", "the same with whole pages, flushes and what never reaches the log"),
            claim("SL-3", "RAM of the sector map").because(
                "The map is mostly buckets, one per log page, and the stand-ins touch too \
                     little space for the published sizes of DRAM to be scaled down with them.",
            ),
            claim("SL-4", "hash probes per look-up"),
            claim(
                "SL-5",
                "gain of TPC-C and Financial from a large log, and loss from a small one",
            )
            .because(
                "MariaDB writes whole pages of 4 KiB, so the log saves little and its blocks \
                     help more as extra blocks of dac.",
            ),
            claim("SL-6", "sectors in and out of the page buffer balance, exactly"),
            claim("SL-6b", "live sectors of the log balance, exactly"),
            claim("SL-7", "share of sub-page writes by buffer and page size"),
        ],
    },
    Paper {
        id: "FSTR",
        title: "Lim, Lee, Moon: FASTer FTL for enterprise-class flash memory SSDs, SNAPI 2010",
        claims: &[
            claim("FSTR-1", "mean and standard deviation of response times").because(
                "The pages of the stand-in are scattered evenly over all data blocks, so \
                     every merge concerns more data blocks than in the paper's trace. Under \
                     TPC-C's transactions all means agree within 7 %, and all deviations within \
                     8 %, without the isolation area if carried pages have blocks of their own.",
            ),
            claim("FSTR-2", "faster beats fast by 30 to 35 % from 10 % of log space on").because(
                "With two classes of pages a victim that is carried whole has further chances: the \
                     gain grows from 27 to 39 % with the log. On captured traces most merges are \
                     those of sequential streams. Under TPC-C's transactions the gain is 30 to \
                     34 %.",
            ),
            claim("FSTR-3", "fmax is far behind all others at every log space"),
            claim("FSTR-4", "the gain grows with skew; at 90/10 faster takes less time than page")
                .because(
                    "From 15 % log space on, the extra blocks of page mapping hold the whole hot \
                     set of the stand-in at 90/10, while log-block schemes still copy a data \
                     block for each cold page.",
                ),
            claim("FSTR-5", "number of data blocks that fast's victims merge").because(
                "The pages of the stand-in are scattered evenly over all data blocks, so the \
                     law Na = Np/(1+L/B) gives 22 data blocks a victim at 3 % log space.",
            ),
        ],
    },
    Paper {
        id: "AP",
        title: "Shim, Seo, Kim, Maeng: An adaptive partitioning scheme for DRAM-based cache in \
                solid state drives, MSST 2010",
        claims: &[
            claim(
                "AP-1",
                "adaptive lies within 5 % of the best static split, never behind an even split",
            )
            .because(
                "Under the stand-in for TPC-C, intervals without a write move the boundary by \
                     the largest step towards the map, and many small steps back do not make up \
                     for it.",
            ),
            claim("AP-2", "up to 41.9 % more throughput than a static split"),
            claim("AP-3", "erase counts near the lowest of the static splits"),
            claim("AP-4", "the best share of mapping: small for Financial, near 100 % for TPC-C")
                .because(
                    "MariaDB rewrites its log and doublewrite area in 2 to 4 MB that a buffer \
                     absorbs, and unit 0 of Financial fits into a few per cent of the DRAM.",
                ),
        ],
    },
    Paper {
        id: "LSB",
        title: "Lin, Chiao, Chang: Improving flash translation layer performance by supporting \
                large superblocks, IEEE Transactions on Consumer Electronics 56(2), 2010",
        claims: &[
            claim(
                "LSB-1",
                "garbage collection takes 70 to 89 % less than superblock's at 3 % free",
            )
            .because(
                "The workloads touch nearly all superblocks, and captured systems discard \
                     deleted data, so small superblocks lack free pages and victims are mostly \
                     dead.",
            ),
            claim("LSB-2", "collection and translation together take 47 to 85 % less").because(
                "On captured traces nearly all victims are dead, so larger superblocks save \
                     nothing while their cache misses cost more; under skewed and mixed writes \
                     the gain is larger than published.",
            ),
            claim("LSB-3", "from 4 to 64 blocks per superblock, collection falls by up to 91 %")
                .because(
                    "There are more superblocks of four or sixteen blocks than extra blocks, so \
                     most have no free page; captured traces have mostly dead victims at any \
                     size.",
                ),
            claim("LSB-4", "mapping-induced writes are below 1 % of collection"),
            claim("LSB-5", "all of lsb's victims are full, some of superblock's are not").because(
                "Victims are chosen from the whole device, where a dead or nearly dead block \
                     is always better than an open one.",
            ),
            claim("LSB-6", "hit ratio of the map cache by its entries"),
            claim("LSB-7", "smaller increments of response time at every percentile").because(
                "On captured traces victims are dead anyway, and misses of lsb's map cache \
                     take up to sixteen spare reads instead of four.",
            ),
        ],
    },
    Paper {
        id: "LAST",
        title: "Lee, Shin, Kim, Kim: LAST: locality-aware sector translation for NAND flash \
                memory-based storage systems, ACM SIGOPS Operating Systems Review 42(6), 2008",
        claims: &[
            claim(
                "LAST-1",
                "collection takes last less than superblock, fast and bast, in this order",
            )
            .because(
                "The threshold of 4 KiB treats pages of 8 KiB and more as sequential, and \
                     superblock, as the LSB paper describes it, finds its victims on the whole \
                     device.",
            ),
            claim(
                "LAST-2",
                "the mix of merges: bast mostly full, fast half, last few full and many dead",
            )
            .because(
                "The desktop stand-in writes megabytes at a time and discards deleted data, \
                     so nearly all its merges are switch merges or erases of dead blocks.",
            ),
            claim("LAST-3", "about 2 MB of mapping tables and 3 KB of merge costs"),
            claim("LAST-4", "small requests are updated often; the threshold moves the cost"),
            claim("LAST-5", "beyond the paper: the automatic threshold is as good as the best"),
        ],
    },
    Paper {
        id: "WL",
        title: "Jiao, Bhimani, Kim: Wear leveling in SSDs considered harmful, HotStorage 2022; \
                Jiao, Yang: the same, a case for capacity variance, Electronics 14(21), 2025",
        claims: &[
            claim("WL-1", "uniform writes to few pages: blocks wear evenly, at a low cost"),
            claim("WL-2", "skewed writes to few pages: blocks wear evenly, at a high cost")
                .because(
                    "The copies that levelling makes follow from the erases and the threshold, so \
                     skew adds to them only as far as it adds to collection.",
                ),
            claim("WL-3", "uniform writes to all pages: no difference, or an anomaly").because(
                "Levelling that judges data by the erases of their block takes data for cold \
                     that are about to be rewritten. With an age test it moves nothing.",
            ),
            claim("WL-4", "skewed writes to all pages: more writes, and a group of worn blocks"),
            claim("WL-5", "write amplification of levelling, and bounds for it").because(
                "Levelling here moves at most one block for each that is erased, and the dual \
                     pool two after each write. Bounds by a formula count on cold data being cold.",
            ),
            claim("WL-6", "capacity variance lives up to 2.94 times as long").because(
                "Compared with a device that is levelled well, the gain is only what levelling \
                     copies (WL-6b).",
            ),
        ],
    },
    Paper {
        id: "T",
        title: "What theory gives in closed form",
        claims: &[
            claim("T1", "greedy victims, uniform writes: the mean-field limit"),
            claim("T2", "fifo victims, uniform writes: the closed form"),
            claim("T3", "more choices lie between random and greedy, and help"),
            claim("T4", "blocks associated with victims of fast and faster, uniform writes"),
            claim("T5", "merges per write of bast, cache misses of dftl, uniform writes"),
        ],
    },
];

/// The experiments of a paper.
pub fn of(paper: &Paper) -> impl Iterator<Item = &'static NamedPlan> {
    let id = paper.id;
    let name = move |(name, _): &&NamedPlan| {
        let letters = name.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(name.len());
        &name[..letters] == id
    };
    EXPERIMENTS.iter().filter(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the plans in a folder, sorted.
    fn plans_in(folder: &str) -> Vec<String> {
        let folder = format!("{}/experiments/{folder}", env!("CARGO_MANIFEST_DIR"));
        let files = std::fs::read_dir(folder).expect("a folder of plans");
        let names = files.map(|file| file.expect("an entry").file_name().into_string().unwrap());
        let mut names: Vec<String> =
            names.filter_map(|name| Some(name.strip_suffix(".toml")?.to_owned())).collect();
        names.sort();
        names
    }

    fn sorted<'a>(names: impl Iterator<Item = &'a NamedPlan>) -> Vec<&'a str> {
        let mut names: Vec<&str> = names.map(|(name, _)| *name).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn every_plan_in_the_folder_is_listed_and_belongs_to_a_paper() {
        assert_eq!(plans_in(""), sorted(PAPERS.iter().flat_map(of)));
        assert_eq!(plans_in("runs"), sorted(RUNS.iter()));
        for (name, _) in RUNS {
            let names = format!("runs/{name}.toml");
            assert!(
                EXPERIMENTS.iter().any(|(_, text)| text.contains(&names)),
                "{name} is not used"
            );
        }
    }

    #[test]
    fn every_plan_can_be_read_at_both_scales_and_names_its_paper() {
        for paper in PAPERS {
            for experiment in of(paper) {
                for scale in [Scale::Quick, Scale::Full] {
                    let plan = plan(experiment, scale).unwrap_or_else(|why| panic!("{why}"));
                    let ids = plan.claims.iter().map(|claim| &claim.id);
                    let ids = ids.chain(plan.drawings.iter().map(|drawing| &drawing.id));
                    for id in ids {
                        assert!(id.starts_with(paper.id), "{}: {id}", experiment.0);
                    }
                }
            }
        }
    }

    #[test]
    fn the_quick_scale_needs_no_file() {
        for experiment in EXPERIMENTS {
            let plan = plan(experiment, Scale::Quick).unwrap();
            for needed in plan.experiments() {
                assert!(
                    needed.trace_files().is_empty(),
                    "{}: {:?}",
                    experiment.0,
                    needed.trace_files()
                );
            }
        }
    }
}
