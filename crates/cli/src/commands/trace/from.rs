//! `ftlab trace from`: block traces that follow from traces of another kind.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};

use clap::Subcommand;
use report::number_format::{bytes, count};
use trace::derived::mooncake::{CacheCounts, CacheShape, ModelCache};
use trace::writer::{OutputFormat, TraceWriter};

use crate::commands::trace::format_name::FormatName;
use crate::failure::{Failure, Result};
use crate::output::command_files::CommandFiles;

/// The longest text of a line that a sentence about it shows, in characters.
const SHOWN_MAX: usize = 80;

#[derive(clap::Args)]
pub struct FromArgs {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Subcommand)]
enum Kind {
    /// What a cache of keys and values on flash does for the requests of a Mooncake trace: one JSON
    /// object a line, with `timestamp` (ms), `input_length` and `hash_ids`
    Mooncake(MooncakeArgs),
}

#[derive(clap::Args)]
struct MooncakeArgs {
    /// Trace of the requests to a language model; `-` is standard input
    trace: String,
    /// Size of the cache, such as 960GiB
    #[arg(long, value_name = "SIZE", value_parser = spec::parse_size)]
    cache: u64,
    /// Keys and values of a token: 2 × layers × heads of keys × dimension × bytes of a number;
    /// 320KiB for a model of 80 layers with 8 heads of 128 numbers of 2 bytes
    #[arg(long, value_name = "SIZE", value_parser = spec::parse_size)]
    token_bytes: u64,
    /// Tokens that share a hash
    #[arg(long, value_name = "N", default_value_t = 512)]
    block_tokens: u64,
    /// Largest request to the flash
    #[arg(long, value_name = "SIZE", default_value = "1MiB", value_parser = spec::parse_size)]
    request: u64,
    /// File to write, which appears when it is complete; `-` is standard output
    #[arg(long, value_name = "FILE|-")]
    out: String,
    /// Format: fio (iolog version 3), blkparse (compact) or csv (complete)
    #[arg(long, value_enum, default_value = "csv")]
    to: FormatName,
}

/// Runs the subcommand.
pub fn run(args: &FromArgs) -> Result<()> {
    let Kind::Mooncake(args) = &args.kind;
    mooncake(args)
}

fn mooncake(args: &MooncakeArgs) -> Result<()> {
    let shape = CacheShape {
        cache_bytes: args.cache,
        token_bytes: args.token_bytes,
        block_tokens: args.block_tokens,
        request_bytes: args.request,
    };
    let mut cache = ModelCache::new(shape).map_err(Failure::usage)?;
    let mut files = CommandFiles::new();
    files.trace(&args.trace)?;
    let destination = files.output("--out", &args.out)?;
    let input = opened(&args.trace)?;
    let name = if args.trace == "-" { "standard input" } else { &*args.trace };
    destination.write(|out| convert(name, input, args.to.into(), out, &mut cache))?;
    let said = told(&cache);
    // If standard error is closed, nobody reads this.
    let _ = io::stderr().lock().write_all(said.as_bytes());
    Ok(())
}

fn opened(path: &str) -> Result<Box<dyn BufRead>> {
    if path == "-" {
        return Ok(Box::new(io::stdin().lock()));
    }
    let file = File::open(path).map_err(|error| Failure::failed(format!("{path}: {error}")))?;
    Ok(Box::new(BufReader::new(file)))
}

fn convert(
    name: &str,
    input: Box<dyn BufRead>,
    form: OutputFormat,
    out: &mut dyn Write,
    cache: &mut ModelCache,
) -> Result<()> {
    let unwritable = |error: trace::Error| Failure::failed(error.to_string());
    let mut writer = TraceWriter::new(BufWriter::new(out), form).map_err(unwritable)?;
    for (number, line) in (1..).zip(input.lines()) {
        let unreadable = |error| Failure::failed(format!("{name}, line {number}: {error}"));
        let line = line.map_err(unreadable)?;
        if line.trim().is_empty() {
            continue;
        }
        let done = cache.line(&line, |request| writer.write(request).map_err(Wrong::Output));
        done.map_err(|wrong| match wrong {
            Wrong::Output(error) => unwritable(error),
            Wrong::Line(why) => {
                Failure::failed(format!("{name}, line {number}: {why}: {}", shortened(&line)))
            }
        })?;
    }
    writer.finish().map(drop).map_err(unwritable)
}

/// Why a line came to nothing.
enum Wrong {
    Line(String),
    Output(trace::Error),
}

impl From<String> for Wrong {
    fn from(why: String) -> Wrong {
        Wrong::Line(why)
    }
}

fn told(cache: &ModelCache) -> String {
    let CacheCounts { prompts, blocks, read, written, evicted } = *cache.counts();
    format!(
        "{} prompts with {} blocks, in a cache of {}: {} read, {} written, {} of them in place of \
         others\n",
        count(prompts),
        count(blocks),
        bytes(cache.bytes()),
        count(read),
        count(written),
        count(evicted)
    )
}

fn shortened(line: &str) -> String {
    let mut short: String = line.chars().take(SHOWN_MAX).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}
