//! `ftlab image dump`: pages, and the logical disk, as far as they can be read.

use std::path::PathBuf;

use disk::{Disk, opening};
use image::ImageStore;
use nand::page_store::{PageRecord, PageStore};
use nand::{Cells, Lpn, Mode, PageState, Ppn, Spare};
use report::number_format::count;

use super::failures::failed;
use super::hex;
use crate::failure::{Failure, Result};
use crate::output;
use crate::output::command_files::CommandFiles;
use crate::output::destination::Destination;

/// Options of `ftlab image dump`.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("what").required(true))]
pub struct Args {
    /// Image to read; it may be damaged, and stays as it is
    #[arg(value_name = "FILE")]
    image: PathBuf,

    /// Print the physical page with this number: its spare area and its bytes
    #[arg(long, value_name = "PPN", group = "what")]
    ppn: Option<u32>,

    /// Print the logical page with this number, and the physical pages that hold versions of it
    #[arg(long, value_name = "LPN", group = "what")]
    lpn: Option<u32>,

    /// Write the logical disk to this file; pages that cannot be read become zeroes and are listed
    #[arg(long, value_name = "FILE|-", group = "what")]
    out: Option<String>,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let path = &args.image;
    let mut files = CommandFiles::new();
    files.input("the image", path)?;
    let out = files.optional_output("--out", &args.out)?;
    let (store, device, damages) = opening::salvage(path).map_err(failed(path))?;
    damages.iter().for_each(|damage| eprintln!("ftlab: {}: {damage}", path.display()));
    if let Some(ppn) = args.ppn {
        return output::print(&physical_page(&store, ppn)?);
    }
    let copies = args.lpn.map(|lpn| copies(&store, lpn)).transpose()?;
    let mut disk = Disk::on_image(store, device).map_err(failed(path))?;
    if let (Some(lpn), Some(copies)) = (args.lpn, copies) {
        return output::print(&(copies + &logical_page(&mut disk, lpn)?));
    }
    match out {
        Some(out) => extract(&mut disk, &out),
        None => Ok(()),
    }
}

fn unread(error: impl ToString) -> Failure {
    Failure::failed(error.to_string())
}

fn no_page(kind: &str, number: u32, pages: u32) -> Failure {
    let why =
        format!("there is no {kind} page {number}: they are numbered from 0 to {}", pages - 1);
    Failure::usage(why)
}

// ---- Physical pages ---------------------------------------------------------------------------

fn physical_page(store: &ImageStore, number: u32) -> Result<String> {
    let geometry = store.layout().geometry;
    if number >= geometry.pages() {
        return Err(no_page("physical", number, geometry.pages()));
    }
    let ppn = Ppn(number);
    let mut page = PageRecord::new(Mode::Bytes);
    store.load(ppn, &mut page).map_err(unread)?;
    let spare = store.load_spare(ppn).map_err(unread)?;
    let place = format!(
        "page {number}: page {} of block {}, {:?}\n",
        geometry.offset_of(ppn),
        geometry.block_of(ppn).0,
        page.health
    );
    let mut text = place + &state_text(&spare.state(ppn));
    if matches!(spare.state(ppn), PageState::Programmed(_)) {
        for (name, bytes) in [("scheme bytes", &spare.extra[..]), ("metadata", &page.meta)] {
            if !bytes.is_empty() {
                text += &format!("{name}:\n{}", hex::dump(bytes));
            }
        }
        if let Cells::Bytes(bytes) = &page.cells {
            text += &format!("data:\n{}", hex::dump(bytes));
        }
    }
    Ok(text)
}

fn state_text(state: &PageState) -> String {
    match state {
        PageState::Erased => "erased\n".to_owned(),
        PageState::Unreadable => "its spare area cannot be read\n".to_owned(),
        PageState::Programmed(spare) => format!("{}\n", spare_text(spare)),
    }
}

fn spare_text(spare: &Spare) -> String {
    let owner = match spare.owner {
        Lpn::SYSTEM => "of the FTL".to_owned(),
        Lpn(lpn) => format!("of logical page {lpn}"),
    };
    let tentative = if spare.tentative { ", tentative" } else { "" };
    format!(
        "{owner}, version {}, sequence {}, kind {}{tentative}",
        spare.version, spare.sequence, spare.kind
    )
}

// ---- Logical pages ----------------------------------------------------------------------------

/// The physical pages that hold versions of a logical page, the newest last.
fn copies(store: &ImageStore, lpn: u32) -> Result<String> {
    let mut found = Vec::new();
    for ppn in (0..store.layout().geometry.pages()).map(Ppn) {
        let state = store.load_spare(ppn).map_err(unread)?.state(ppn);
        if let PageState::Programmed(spare) = state
            && spare.owner == Lpn(lpn)
        {
            found.push((spare.version, spare.sequence, ppn.0, spare));
        }
    }
    found.sort_by_key(|(version, sequence, ..)| (*version, *sequence));
    let line = |(_, _, ppn, spare): &(u64, u64, u32, Spare)| {
        format!("physical page {ppn}: {}\n", spare_text(spare))
    };
    Ok(found.iter().map(line).collect())
}

fn logical_page(disk: &mut Disk, lpn: u32) -> Result<String> {
    let pages = disk.device().logical_pages();
    if lpn >= pages {
        return Err(no_page("logical", lpn, pages));
    }
    let mut page = vec![0; disk.device().geometry().page_bytes() as usize];
    disk.read(u64::from(lpn) * page.len() as u64, &mut page).map_err(unread)?;
    Ok(format!("logical page {lpn}:\n{}", hex::dump(&page)))
}

/// Writes the logical disk.
fn extract(disk: &mut Disk, out: &Destination) -> Result<()> {
    let mut lost = Vec::new();
    out.write(|out| {
        let pages = disk.device().logical_pages();
        let mut page = vec![0; disk.device().geometry().page_bytes() as usize];
        for lpn in 0..pages {
            if let Err(error) = disk.read(u64::from(lpn) * page.len() as u64, &mut page) {
                lost.push(format!("logical page {lpn}: {error}\n"));
                page.fill(0);
            }
            out.write_all(&page)
                .map_err(|error| Failure::failed(format!("cannot write the disk: {error}")))?;
        }
        Ok(())
    })?;
    if lost.is_empty() {
        return Ok(());
    }
    eprint!("{}", lost.concat());
    let why = format!("{} pages could not be read; they are zeroes", count(lost.len() as u64));
    Err(Failure::failed(why))
}
