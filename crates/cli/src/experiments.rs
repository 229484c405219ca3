//! The papers, what they claim, and the experiments that examine it. The plans are in the program,
//! so that `ftlab papers` needs no file.

use report::papers::Paper;

/// An experiment: a plan's name, and the plan.
pub type Experiment = (&'static str, &'static str);

macro_rules! experiments {
    ($($name:literal),+ $(,)?) => {
        /// All experiments, in the order of the papers. The letters before the first that is no
        /// letter name the paper.
        pub static EXPERIMENTS: &[Experiment] = &[
            $(($name, include_str!(concat!("../../../experiments/", $name, ".toml"))),)+
        ];
    };
}

experiments![
    "SL-financial",
    "SL-tpcc",
    "SL-general",
    "FSTR",
    "FSTR-oltp",
    "FSTR-captured",
    "AP-dftl",
    "AP-fast",
    "LSB",
    "LAST",
    "T1",
    "T2",
    "T3",
    "T4",
    "T5",
    "T5-dftl"
];

/// The papers, in the order in which they are shown.
pub static PAPERS: &[Paper] = &[
    Paper {
        id: "SL",
        title: "Jin, Kim, Kim, Huh, Maeng: Sector log: fine-grained storage management for solid \
                state drives, SAC 2011",
        claims: &[
            ("SL-1", "sub-page hit ratio and sectors an eviction, by log size and page size"),
            ("SL-2", "reads and writes against no sector log, garbage collection excluded"),
            ("SL-3", "RAM of the sector map"),
            ("SL-4", "hash probes a look-up"),
            ("SL-5", "what a large log gains TPC-C and Financial, and a small one costs"),
            ("SL-6", "sectors in and out of the page buffer balance, exactly"),
            ("SL-6b", "live sectors of the log balance, exactly"),
            ("SL-7", "share of sub-page writes by buffer and page size"),
        ],
    },
    Paper {
        id: "FSTR",
        title: "Lim, Lee, Moon: FASTer FTL for enterprise-class flash memory SSDs, SNAPI 2010",
        claims: &[
            ("FSTR-1", "mean and standard deviation of response times"),
            ("FSTR-2", "faster beats fast by 30 to 35 % from 10 % of log space on"),
            ("FSTR-3", "fmax is far behind all others at every log space"),
            ("FSTR-4", "the gain grows with skew; at 90/10 faster takes less time than page"),
            ("FSTR-5", "how many data blocks fast's victims merge"),
        ],
    },
    Paper {
        id: "AP",
        title: "Shim, Seo, Kim, Maeng: An adaptive partitioning scheme for DRAM-based cache in \
                solid state drives, MSST 2010",
        claims: &[
            ("AP-1", "adaptive lies within 5 % of the best static split, never behind the half"),
            ("AP-2", "up to 41.9 % more throughput than a static split"),
            ("AP-3", "erase counts near the lowest of the static splits"),
            ("AP-4", "the best share of mapping: small for Financial, near 100 % for TPC-C"),
        ],
    },
    Paper {
        id: "LSB",
        title: "Lin, Chiao, Chang: Improving flash translation layer performance by supporting \
                large superblocks, IEEE Transactions on Consumer Electronics 56(2), 2010",
        claims: &[
            ("LSB-1", "garbage collection takes 70 to 89 % less than superblock's at 3 % free"),
            ("LSB-2", "collection and translation together take 47 to 85 % less"),
            ("LSB-3", "from 4 to 64 blocks a superblock collection falls by up to 91 %"),
            ("LSB-4", "mapping-induced writes are below 1 % of collection"),
            ("LSB-5", "all of lsb's victims are full, some of superblock's are not"),
            ("LSB-6", "hit ratio of the map cache by its entries"),
            ("LSB-7", "smaller increments of response time at every percentile"),
        ],
    },
    Paper {
        id: "LAST",
        title: "Lee, Shin, Kim, Kim: LAST: locality-aware sector translation for NAND flash \
                memory-based storage systems, ACM SIGOPS Operating Systems Review 42(6), 2008",
        claims: &[
            ("LAST-1", "collection takes last less than superblock, fast and bast, in this order"),
            (
                "LAST-2",
                "the mix of merges: bast mostly full, fast half, last few full and many dead",
            ),
            ("LAST-3", "about 2 MB of mapping tables and 3 KB of merge costs"),
            ("LAST-4", "small requests are updated often; the threshold moves the cost"),
        ],
    },
    Paper {
        id: "T",
        title: "What theory gives in closed form",
        claims: &[
            ("T1", "greedy victims, uniform writes: the mean-field limit"),
            ("T2", "fifo victims, uniform writes: the closed form"),
            ("T3", "more choices lie between random and greedy, and help"),
            ("T4", "blocks associated with fast's victims, uniform writes"),
            ("T5", "merges a write of bast, cache misses of dftl, uniform writes"),
        ],
    },
];

/// The experiments of a paper.
pub fn of(paper: &Paper) -> impl Iterator<Item = &'static Experiment> {
    let id = paper.id;
    let name = move |(name, _): &&Experiment| {
        let letters = name.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(name.len());
        &name[..letters] == id
    };
    EXPERIMENTS.iter().filter(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::plan::{Plan, Scale};

    #[test]
    fn every_plan_of_the_folder_is_listed_and_belongs_to_a_paper() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments");
        let files = std::fs::read_dir(folder).expect("a folder of experiments");
        let names = files.map(|file| file.expect("an entry").file_name().into_string().unwrap());
        let mut names: Vec<String> =
            names.filter_map(|name| Some(name.strip_suffix(".toml")?.to_owned())).collect();
        names.sort();
        let mut listed: Vec<&str> = PAPERS.iter().flat_map(of).map(|(name, _)| *name).collect();
        listed.sort_unstable();
        assert_eq!(names, listed);
    }

    #[test]
    fn every_plan_can_be_read_at_both_scales_and_speaks_of_its_paper() {
        for paper in PAPERS {
            for (name, text) in of(paper) {
                for scale in [Scale::Quick, Scale::Full] {
                    let plan = Plan::parse(name, text, scale).unwrap_or_else(|why| panic!("{why}"));
                    for claim in &plan.claims {
                        assert!(claim.id.starts_with(paper.id), "{name}: {}", claim.id);
                    }
                }
            }
        }
    }

    #[test]
    fn the_quick_scale_needs_no_file() {
        for (name, text) in EXPERIMENTS {
            let plan = Plan::parse(name, text, Scale::Quick).unwrap();
            for row in &plan.rows {
                let trace = row.experiment.trace.as_deref().unwrap_or(sim::source::DEFAULT_TRACE);
                let is_file =
                    matches!(sim::source::origin(trace), Ok(sim::source::Origin::File(_)));
                assert!(!is_file, "{name}: {trace}");
            }
        }
    }
}
