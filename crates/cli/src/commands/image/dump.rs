//! `ftlab image dump`: pages, and the logical disk, as far as they can be read.

use std::io::Write;
use std::path::{Path, PathBuf};

use disk::remains::Remains;
use disk::{Disk, opening};
use ftl::Device;
use image::ImageStore;
use nand::page_store::{Extent, PageRecord, PageStore, load_spare};
use nand::{Cells, Lpn, Mode, PageState, Ppn, Spare};
use report::number_format::count;

use super::failures::{failed, unsalvageable};
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
    if let Some(out) = out {
        return extract(path, &out);
    }
    let (store, device) = salvage(path)?.0;
    match (args.ppn, args.lpn) {
        (Some(ppn), _) => output::print(&physical_page(&store, ppn)?),
        (_, Some(lpn)) => {
            let copies = copies(&store, lpn, device.logical_pages())?;
            let mut disk = Disk::on_image(store, device).map_err(failed(path))?;
            output::print(&(copies + &logical_page(&mut disk, lpn)?))
        }
        _ => Ok(()),
    }
}

/// Opens an image, and warns of its damages. Returns whether they hide pages.
fn salvage(path: &Path) -> Result<((ImageStore, Device), bool)> {
    let (store, device, damages) = opening::salvage(path).map_err(unsalvageable(path))?;
    damages.iter().for_each(|damage| warn(path, &damage.what));
    Ok(((store, device), damages.iter().any(|damage| damage.hides_pages)))
}

fn warn(path: &Path, what: &str) {
    eprintln!("ftlab: {}: {what}", path.display());
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
    store.load(ppn, &mut page, Extent::Whole).map_err(unread)?;
    let spare = load_spare(store, ppn).map_err(unread)?;
    let place = format!(
        "page {number}: page {} of block {}, {:?}\n",
        geometry.offset_of(ppn),
        geometry.block_of(ppn).0,
        page.health
    );
    let mut text = place + &state_text(&spare.state());
    if matches!(spare.state(), PageState::Programmed(_)) {
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
fn copies(store: &ImageStore, lpn: u32, pages: u32) -> Result<String> {
    if lpn >= pages {
        return Err(no_page("logical", lpn, pages));
    }
    let mut found = Vec::new();
    for ppn in (0..store.layout().geometry.pages()).map(Ppn) {
        let state = load_spare(store, ppn).map_err(unread)?.state();
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
    let mut page = vec![0; disk.device().geometry().page_bytes() as usize];
    disk.read(u64::from(lpn) * page.len() as u64, &mut page).map_err(unread)?;
    Ok(format!("logical page {lpn}:\n{}", hex::dump(&page)))
}

// ---- The logical disk -------------------------------------------------------------------------

/// Reads a logical page into a buffer.
type ReadPage = Box<dyn FnMut(u32, &mut [u8]) -> disk::Result<()>>;

/// Writes the logical disk, as far as it can be read.
fn extract(path: &Path, out: &Destination) -> Result<()> {
    let ((store, device), mut is_damaged) = salvage(path)?;
    let pages = device.logical_pages();
    let mut page = vec![0; device.geometry().page_bytes() as usize];
    let records = store.damaged_pages(false).count() as u64;
    if records > 0 {
        warn(path, &format!("the records of {} pages are not whole", count(records)));
        is_damaged = true;
    }
    let mut read = match reader(store, device) {
        Ok(read) => read,
        Err(error) => {
            warn(path, &format!("{error}; trims, and what layers hold, cannot be known"));
            is_damaged = true;
            let (store, ..) = opening::salvage(path).map_err(unsalvageable(path))?;
            let mut remains = Remains::of(store, pages);
            Box::new(move |lpn, page: &mut [u8]| remains.read(lpn, page))
        }
    };
    let mut lost = Vec::new();
    out.write(|out| {
        for lpn in 0..pages {
            if let Err(error) = read(lpn, &mut page) {
                lost.push(format!("logical page {lpn}: {error}"));
                page.fill(0);
            }
            write_bytes(out, &page)?;
        }
        Ok(())
    })?;
    lost.iter().for_each(|page: &String| warn(path, page));
    incomplete(lost.len() as u64, is_damaged)
}

/// Reads pages of the disk in an image.
fn reader(store: ImageStore, device: Device) -> disk::Result<ReadPage> {
    let mut disk = Disk::on_image(store, device)?;
    Ok(Box::new(move |lpn, page| disk.read(u64::from(lpn) * page.len() as u64, page)))
}

fn write_bytes(out: &mut dyn Write, bytes: &[u8]) -> Result<()> {
    let written = out.write_all(bytes);
    written.map_err(|error| Failure::failed(format!("cannot write the disk: {error}")))
}

/// Says what the written disk lacks.
fn incomplete(lost: u64, is_damaged: bool) -> Result<()> {
    let mut lacks = Vec::new();
    if lost > 0 {
        lacks.push(format!("{} pages could not be read; they are zeroes", count(lost)));
    }
    if is_damaged {
        lacks.push("because of the damages, pages may be older than they should be".to_owned());
    }
    match lacks.is_empty() {
        true => Ok(()),
        false => Err(Failure::failed(lacks.join("; "))),
    }
}
