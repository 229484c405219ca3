//! The script that runs the shards of a plan as an array of jobs under Slurm.
//!
//! `sbatch` reads the comments that begin with `#SBATCH`; the last of them is followed by the bash
//! script that each task runs. The task's number is that of its shard. A task that is killed leaves
//! its journal, so the same task can be submitted again. The merge runs after all tasks, also if
//! some failed: it then says which shards are missing.

use std::path::Path;

use sim::memory::limit::MemoryLimit;
use sim::plan::Plan;
use spec::shell_word;

use crate::commands::sweep::args::{Args, ScaleName};
use crate::failure::{Failure, Result};
use crate::output;

/// Prints the script.
///
/// # Errors
/// The plan has fewer rows than shards, an option or a name cannot stand in a script, or the script
/// cannot be written.
pub fn print(
    args: &Args,
    plan: &Plan,
    shards: u32,
    memory_limit: Option<MemoryLimit>,
) -> Result<()> {
    let rows = plan.rows.len();
    if shards == 0 || shards as usize > rows {
        let what = format!("`--slurm {shards}`: a plan of {rows} rows can have 1 to {rows} shards");
        return Err(Failure::usage(what));
    }
    let folder = std::env::current_dir()
        .map_err(|error| Failure::failed(format!("cannot tell the current folder: {error}")))?;
    let folder = text_of(&folder)?;
    refuse_control_characters([folder.as_str(), &args.out, &text_of(&args.plan)?])?;
    let options = options(args)?;
    let script = header(args, shards, &options)?
        + &instructions(args, rows, shards, &options, &folder)
        + &body(args, shards, memory_limit, &folder);
    output::print(&script)
}

/// The comments that `sbatch` reads. Options of the user come last, where they override others.
fn header(args: &Args, shards: u32, options: &[String]) -> Result<String> {
    let name = args.plan.file_stem().unwrap_or_default().to_string_lossy();
    let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = name.chars().map(safe).collect();
    let mut lines = vec![
        format!("--job-name=ftlab-{name}"),
        format!("--array=1-{shards}"),
        "--ntasks=1".to_owned(),
        format!("--cpus-per-task={}", args.parallel.given_jobs().map_or(1, |jobs| jobs.get())),
    ];
    lines.extend_from_slice(options);
    let lines: String =
        lines.iter().map(|line| format!("#SBATCH {}\n", shell_word(line))).collect();
    Ok(format!("#!/bin/bash\n{lines}"))
}

/// The commands that submit the script and the merge, as comments.
fn instructions(args: &Args, rows: usize, shards: u32, options: &[String], folder: &str) -> String {
    let script = shell_word(&format!("{}.sbatch", args.out));
    let words: String = options.iter().map(|option| format!(" {}", shell_word(option))).collect();
    let merge = format!("cd {} && {}", shell_word(folder), merge_command(args));
    format!(
        "#\n# {shards} tasks run the {rows} rows of this plan. To submit them, and the merge that \
         follows:\n#\n\
         #     job=$(sbatch --parsable {script})\n\
         #     sbatch --dependency=afterany:\"$job\"{words} --wrap {}\n#\n\
         # If tasks are killed, submit them again: finished rows are kept.\n",
        shell_word(&merge)
    )
}

fn body(args: &Args, shards: u32, memory_limit: Option<MemoryLimit>, folder: &str) -> String {
    let memory = shell_word(&spec::print_size(args.parallel.memory));
    let limit = memory_limit.map_or(String::new(), |limit| format!(" --memory-limit {limit}"));
    format!(
        "set -euo pipefail\ncd {}\nexec {} --shard \"$SLURM_ARRAY_TASK_ID/{shards}\" \\\n    \
         --jobs \"${{SLURM_CPUS_PER_TASK:-1}}\" --memory {memory}{limit}\n",
        shell_word(folder),
        command(args)
    )
}

/// The command that merges the shards.
pub fn merge_command(args: &Args) -> String {
    format!("{} --merge", command(args))
}

/// The command of a sweep with the options on which its rows depend.
fn command(args: &Args) -> String {
    let plan = args.plan.to_string_lossy();
    let mut words = vec!["ftlab", "sweep", &plan, "--out", &args.out];
    if let ScaleName::Quick = args.scale {
        words.extend(["--scale", args.scale.word()]);
    }
    let traces = args.traces.as_ref().map(|folder| folder.to_string_lossy());
    words.extend(traces.iter().flat_map(|folder| ["--traces", folder]));
    words.into_iter().map(shell_word).collect::<Vec<_>>().join(" ")
}

/// The options for `sbatch`, with dashes.
fn options(args: &Args) -> Result<Vec<String>> {
    args.slurm_option.iter().map(|option| option_text(option)).collect()
}

fn option_text(option: &str) -> Result<String> {
    let given = option.trim_start_matches('-');
    let (name, value) = given.split_once('=').unwrap_or((given, ""));
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let refused = |why| Err(Failure::usage(format!("`--slurm-option {option}`: {why}")));
    if name.len() < 2 || !name.chars().all(is_name) {
        return refused("an option of sbatch has a long name, such as time=04:00:00");
    }
    if ["array", "wrap", "dependency", "chdir"].contains(&name) {
        return refused("the script sets this itself");
    }
    refuse_control_characters([value])?;
    Ok(format!("--{given}"))
}

fn text_of(path: &Path) -> Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Failure::usage(format!("{} is not valid UTF-8", path.display())))
}

/// A line break would end a comment of the script.
fn refuse_control_characters<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<()> {
    match texts.into_iter().find(|text| text.chars().any(char::is_control)) {
        None => Ok(()),
        Some(text) => {
            let what = format!("{text:?} has a control character, which no script can have");
            Err(Failure::usage(what))
        }
    }
}
