//! `ftlab image check`: is an image whole?

use std::path::PathBuf;

use report::number_format::{count, counted};
use serde_json::json;

use super::failures::unsalvageable;
use crate::failure::{Failure, Result};
use crate::output::command_files::CommandFiles;
use crate::output::{self, write_text};
use crate::result_outputs::JsonArg;

/// The exit code for a damaged image.
const DAMAGED: u8 = 3;
/// Damages that are printed.
const PRINTED: usize = 50;

/// Options of `ftlab image check`.
#[derive(clap::Args)]
pub struct Args {
    /// Image to look through
    #[arg(value_name = "FILE")]
    image: PathBuf,

    #[command(flatten)]
    json: JsonArg,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let path = &args.image;
    let mut files = CommandFiles::new();
    files.input("the image", path)?;
    let json = args.json.open(Some(""), &mut files)?;
    let review = disk::review::review(path).map_err(unsalvageable(path))?;
    let (damages, lost) = (&review.damages, u64::from(review.lost_pages));
    match &json {
        Some(json) => {
            let value = json!({
                "schema": "ftlab.image-check/1",
                "image": path.to_string_lossy(),
                "damages": damages,
                "readable_pages": review.readable_pages,
                "lost_pages": review.lost_pages,
            });
            json.write(|out| write_text(out, &output::json(&value)))?;
        }
        None => output::show(&listed(damages))?,
    }
    let pages = count(review.readable_pages.into());
    match damages.len() {
        0 if json.is_some() => Ok(()),
        0 => output::show(&format!("whole: all {pages} logical pages can be read\n")),
        damages => Err(Failure::coded(
            DAMAGED,
            format!(
                "{}: {}; {pages} logical pages can be read, {} are lost. If a record or \
                 the journal is damaged, a page can be older than it should be. `ftlab image \
                 dump` extracts what can be read",
                path.display(),
                counted(damages as u64, "damage"),
                count(lost),
            ),
        )),
    }
}

fn listed(damages: &[String]) -> String {
    let mut text: String = damages.iter().take(PRINTED).map(|it| format!("{it}\n")).collect();
    if damages.len() > PRINTED {
        let more = count((damages.len() - PRINTED) as u64);
        text += &format!("and {more} more; `--json` lists all\n");
    }
    text
}
