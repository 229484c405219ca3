//! The options of `ftlab sweep`.

use std::path::PathBuf;

use clap::ValueEnum;
use sim::plan::Scale;
use sim::sweep::Shard;

use crate::output::figure_folder::FigureArgs;
use crate::parallel_args::ParallelArgs;
use crate::sweeps::SweepNames;

/// Options about all rows, which a shard does not have.
const ALL_ROWS: [&str; 6] = ["merge", "slurm", "report", "latex", "svg", "pdf"];

/// Options of `ftlab sweep`.
#[derive(clap::Args)]
pub struct Args {
    /// The plan: a TOML file
    pub plan: PathBuf,

    /// File for the rows, ending in .csv or .jsonl. It is written when all rows are done. Until
    /// then a journal beside it keeps the finished rows; if the sweep is interrupted, the same
    /// command continues with the next row
    #[arg(long, value_name = "FILE")]
    pub out: String,

    #[command(flatten)]
    pub parallel: ParallelArgs,

    /// Size of the runs
    #[arg(long, value_enum, default_value = "full")]
    pub scale: ScaleName,

    /// Directory of the trace files, except those with absolute paths; by default the current
    /// directory
    #[arg(long, value_name = "DIR")]
    pub traces: Option<PathBuf>,

    /// Write a report: one HTML file that needs no network, with a figure for each claim about
    /// several rows; the figures include the published values
    #[arg(long, value_name = "FILE")]
    pub report: Option<String>,

    /// Write the table of the rows as LaTeX with booktabs to this file, for a paper; the caption
    /// says what was run
    #[arg(long, value_name = "FILE")]
    pub latex: Option<String>,

    #[command(flatten)]
    pub figures: FigureArgs,

    /// Run only shard I of N, with I from 1 to N, and keep its rows in a journal beside the output,
    /// so that several machines can share a plan; `--merge` then writes the rows
    #[arg(long, value_name = "I/N", conflicts_with_all = ALL_ROWS)]
    pub shard: Option<Shard>,

    /// Run nothing: write the rows that all shards have run. If rows are missing, this lists them
    /// and changes nothing
    #[arg(long, conflicts_with = "slurm")]
    pub merge: bool,

    /// Run nothing: print a script for `sbatch` that runs N shards as an array of jobs, and the
    /// commands that submit it and the merge
    #[arg(long, value_name = "N", conflicts_with_all = ["report", "latex", "svg", "pdf"])]
    pub slurm: Option<u32>,

    /// With `--slurm`, an option of `sbatch` for the script, such as `time=04:00:00` or `mem=16G`;
    /// repeatable
    #[arg(long, value_name = "NAME=VALUE", requires = "slurm", allow_hyphen_values = true)]
    pub slurm_option: Vec<String>,

    /// Print neither a summary nor progress
    #[arg(long)]
    pub quiet: bool,
}

/// The scales, as users write them.
#[derive(Clone, Copy, ValueEnum)]
pub enum ScaleName {
    /// Reduced sizes, given in the `quick` part of each plan.
    Quick,
    /// The sizes of each plan as it is written.
    Full,
}

impl Args {
    /// The files that the sweep writes.
    pub fn names(&self) -> SweepNames {
        SweepNames {
            rows: self.out.clone(),
            report: self.report.clone(),
            latex: self.latex.clone(),
            figures: self.figures.clone(),
        }
    }
}

impl ScaleName {
    /// The name that users write.
    pub fn word(self) -> &'static str {
        match self {
            ScaleName::Quick => "quick",
            ScaleName::Full => "full",
        }
    }
}

impl From<ScaleName> for Scale {
    fn from(name: ScaleName) -> Scale {
        match name {
            ScaleName::Quick => Scale::Quick,
            ScaleName::Full => Scale::Full,
        }
    }
}
