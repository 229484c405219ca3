//! `ftlab image info`: what an image holds.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use disk::{Disk, opening};
use ftl::Device;
use image::ImageStore;
use nand::page_store::PageStore;
use nand::{BlockId, Op};
use report::number_format::{bytes, count, decimals};
use serde_json::{Value, json};
use sim::result::media_part::MediaPart;

use super::failures::{failed, unsalvageable};
use crate::failure::{Failure, Result};
use crate::output::command_files::CommandFiles;
use crate::output::{self, write_text};
use crate::result_outputs::JsonArg;

/// The name and version of the JSON.
const SCHEMA: &str = "ftlab.image/1";

/// Options of `ftlab image info`.
#[derive(clap::Args)]
pub struct Args {
    /// Image to describe
    #[arg(value_name = "FILE")]
    image: PathBuf,

    /// Also mount the FTL, on a view that leaves the file as it is, and print what that took
    #[arg(long)]
    mount: bool,

    #[command(flatten)]
    json: JsonArg,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let mut files = CommandFiles::new();
    files.input("the image", &args.image)?;
    let json = args.json.open(Some(""), &mut files)?;
    let path = &args.image;
    let started = Instant::now();
    let (store, device, damages) = opening::salvage(path).map_err(unsalvageable(path))?;
    let mut info = info(path, &store, &device)?;
    info["damages"] = damages.into_iter().map(|damage| damage.what).collect();
    if args.mount {
        let disk = Disk::on_image(store, device).map_err(failed(path))?;
        info["mount"] = mount(&disk, started);
    }
    match json {
        Some(json) => json.write(|out| write_text(out, &output::json(&info))),
        None => output::show(&text(&info)),
    }
}

/// Everything but the mount.
fn info(path: &Path, store: &ImageStore, device: &Device) -> Result<Value> {
    let found = std::fs::metadata(path)
        .map_err(|error| Failure::failed(format!("{}: {error}", path.display())))?;
    let recipe = store.recipe();
    let geometry = device.geometry();
    Ok(json!({
        "schema": SCHEMA,
        "image": path.to_string_lossy(),
        "uuid": uuid(&store.uuid()),
        "format": image::FORMAT,
        "scheme": recipe.scheme,
        "parameters": recipe.parameters,
        "layers": recipe.layers,
        "chip": recipe.chip,
        "media": device.media().map(|(model, _)| model.to_string()),
        "reserve_blocks": device.media().map_or(0, |(_, reserve_blocks)| reserve_blocks),
        "seed": recipe.seed,
        "capacity_bytes": recipe.capacity_bytes,
        "page_bytes": geometry.page_bytes(),
        "pages_per_block": geometry.pages_per_block(),
        "blocks": geometry.blocks(),
        "logical_blocks": device.logical_blocks,
        "extra_blocks": device.extra_blocks,
        "layer_blocks": device.layer_blocks,
        "system_blocks": device.system_blocks,
        "clean": store.is_clean(),
        "operations": store.operation(),
        "generation": store.generation(),
        "wear": wear(store)?,
        "file_bytes": found.len(),
        "disk_bytes": found.blocks() * 512,
    }))
}

/// A UUID as it is usually written.
fn uuid(bytes: &[u8; 16]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

fn wear(store: &ImageStore) -> Result<Value> {
    let blocks = store.layout().geometry.blocks();
    let wear: nand::Result<Vec<u32>> =
        (0..blocks).map(|block| Ok(store.block(BlockId(block))?.erases)).collect();
    let wear = wear.map_err(|error| Failure::failed(error.to_string()))?;
    let sum: u64 = wear.iter().map(|&erases| u64::from(erases)).sum();
    Ok(json!({
        "min": wear.iter().min(),
        "max": wear.iter().max(),
        "mean": sum as f64 / f64::from(blocks),
    }))
}

/// What the mount took: operations, their simulated time, and real time and memory.
fn mount(disk: &Disk, started: Instant) -> Value {
    let tally = disk.nand().expect("a disk that was just mounted").tally();
    let counts = Op::ALL.map(|op| tally.total(op));
    let media = disk.nand().and_then(|nand| nand.media()).map(|it| MediaPart::of(it, 0));
    let timing = &disk.device().chip.timing;
    let time_ns: u64 = Op::ALL.iter().zip(counts).map(|(op, n)| n * timing.of(*op)).sum();
    let [reads, spare_reads, programs, erases] = counts;
    json!({
        "reads": reads,
        "spare_reads": spare_reads,
        "programs": programs,
        "erases": erases,
        "simulated_us": time_ns as f64 / 1000.0,
        "seconds": started.elapsed().as_secs_f64(),
        "peak_rss_bytes": sim::memory::peak_rss_bytes(),
        "media": media,
    })
}

fn text(info: &Value) -> String {
    let text = |name: &str| info[name].as_str().unwrap_or_default().to_owned();
    let number = |name: &str| info[name].as_u64().unwrap_or_default();
    let state = match info["clean"].as_bool() {
        Some(true) => "closed in order",
        _ => "not closed in order; the next program that opens it recovers",
    };
    let mut lines = vec![
        ("image", format!("{}, UUID {}, format {}", text("image"), text("uuid"), info["format"])),
        ("ftl", ftl_text(info)),
        ("layers", text("layers")),
        ("chip", text("chip")),
        ("media", media_text(info)),
        ("device", device_text(info)),
        ("seed", info["seed"].to_string()),
        ("state", state.to_owned()),
        ("changes", format!("{} operations of the chip", count(number("operations")))),
        ("wear", wear_text(&info["wear"])),
        (
            "file",
            format!("{}, {} on the disk", bytes(number("file_bytes")), bytes(number("disk_bytes"))),
        ),
    ];
    lines.retain(|(_, text)| !text.is_empty());
    let damages = info["damages"].as_array().into_iter().flatten();
    lines.extend(damages.map(|damage| ("damage", damage.as_str().unwrap_or_default().to_owned())));
    if let Some(mount) = info.get("mount") {
        lines.push(("mount", mount_text(mount)));
        lines.extend(failed_text(&mount["media"]).map(|text| ("failed", text)));
    }
    lines.iter().map(|(name, text)| format!("{name:<8} {text}\n")).collect()
}

fn ftl_text(info: &Value) -> String {
    let [scheme, parameters] = ["scheme", "parameters"].map(|name| info[name].as_str());
    match (scheme.unwrap_or_default(), parameters.unwrap_or_default()) {
        (scheme, "") => scheme.to_owned(),
        (scheme, parameters) => format!("{scheme}:{parameters}"),
    }
}

fn device_text(info: &Value) -> String {
    let number = |name: &str| info[name].as_u64().unwrap_or_default();
    let kinds = ["extra", "layer", "system"].map(|kind| (kind, number(&format!("{kind}_blocks"))));
    let others = kinds.iter().filter(|(_, blocks)| *blocks > 0);
    let others: String =
        others.map(|(kind, blocks)| format!(", {} {kind} blocks", count(*blocks))).collect();
    format!(
        "{} = {} blocks of {} pages of {}{others}",
        bytes(number("capacity_bytes")),
        count(number("logical_blocks")),
        number("pages_per_block"),
        bytes(number("page_bytes")),
    )
}

fn media_text(info: &Value) -> String {
    let Some(media) = info["media"].as_str() else { return String::new() };
    format!("{media}, {} blocks in reserve", count(info["reserve_blocks"].as_u64().unwrap_or(0)))
}

fn wear_text(wear: &Value) -> String {
    let mean = decimals(wear["mean"].as_f64().unwrap_or_default(), 2);
    format!("{} to {} erases a block, {mean} on average", wear["min"], wear["max"])
}

/// The blocks that failed, if any could.
fn failed_text(media: &Value) -> Option<String> {
    let number = |name: &str| count(media[name].as_u64().unwrap_or_default());
    let end = if media["read_only"].as_bool()? { "; the device can only be read" } else { "" };
    Some(format!(
        "{} blocks came bad, {} have failed, {} are left in reserve{end}",
        number("factory_bad"),
        number("retired"),
        number("in_reserve"),
    ))
}

fn mount_text(mount: &Value) -> String {
    let number = |name: &str| count(mount[name].as_u64().unwrap_or_default());
    let real = |name: &str| mount[name].as_f64().unwrap_or_default();
    format!(
        "{} spare reads, {} reads, {} programs, {} erases: {} ms of simulated time; {} s, {} of \
         memory in all",
        number("spare_reads"),
        number("reads"),
        number("programs"),
        number("erases"),
        decimals(real("simulated_us") / 1000.0, 3),
        decimals(real("seconds"), 3),
        bytes(mount["peak_rss_bytes"].as_u64().unwrap_or_default()),
    )
}
