//! A guest that is a shared object.

use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::BTreeSet;
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Arc, Mutex, PoisonError};

use ftl::contract::guest::{
    Answer, Declaration, Guest, GuestChip, GuestDevice, GuestFaultKind, GuestSource, Promise,
    Status,
};
use ftl::{Error, Result};
use spec::Params;

use crate::abi::{CUTS_ALL, GetGuest, RawDevice, RawFigure, RawGuest, SYMBOL, VERSION, string};
use crate::board::{Board, Call};
use crate::library::Loaded;
use crate::trampolines::ChipTable;

/// Figures of a guest that results show at most.
const FIGURES_MAX: usize = 64;

/// A shared object with a guest.
#[derive(Debug)]
pub struct SharedObject {
    path: PathBuf,
    declaration: Declaration,
    /// Whether it has called the chip in `unmount`, which the next mount reports.
    strayed: Arc<AtomicBool>,
}

/// Loads the guest that the parameter `lib` names.
///
/// # Errors
/// It is no shared object with a guest of this version.
pub fn load(params: &Params) -> Result<Arc<dyn GuestSource>> {
    match SharedObject::open(PathBuf::from(params.text("lib"))) {
        Ok(object) => Ok(Arc::new(object)),
        Err(why) => Err(Error::Refused { scheme: "guest", why }),
    }
}

impl SharedObject {
    /// The guest in this file.
    ///
    /// # Errors
    /// It is no shared object with a guest of this version.
    pub fn open(path: PathBuf) -> std::result::Result<SharedObject, String> {
        let declared = open(&path).and_then(|(_loaded, table)| declaration(&table, &path));
        declared.map(|declaration| SharedObject { path, declaration, strayed: Arc::default() })
    }
}

/// Loads a shared object and returns the table of its guest. Its own code runs already.
fn open(path: &Path) -> std::result::Result<(Loaded, RawGuest), String> {
    Board::showing((Call::Load, 0, 0), || open_shown(path))
}

fn open_shown(path: &Path) -> std::result::Result<(Loaded, RawGuest), String> {
    let loaded = Loaded::open(path)?;
    let shown = path.display();
    // SAFETY: the header gives the symbol this type.
    let symbol = unsafe { loaded.symbol::<GetGuest>(SYMBOL) };
    let get = symbol.ok_or_else(|| {
        format!("{shown} does not export `{SYMBOL}`; include ftlab.h and define it")
    })?;
    // SAFETY: the function takes nothing, and the library stays loaded.
    let table = unsafe { read_table(get()) };
    let table = table.map_err(|why| format!("{shown}: {why}"))?;
    Ok((loaded, table))
}

/// The table of a guest. Fields that its author did not know are missing.
///
/// # Safety
/// The pointer is null, or leads to a table as the header has it.
unsafe fn read_table(start: *const RawGuest) -> std::result::Result<RawGuest, String> {
    if start.is_null() {
        return Err(format!("{SYMBOL}() returned NULL"));
    }
    // SAFETY: every version begins with these two fields.
    let (version, size) = unsafe { ((*start).version, (*start).size as usize) };
    if version != VERSION {
        return Err(format!(
            "it was made for version {version} of ftlab.h, and this ftlab has version {VERSION}; \
             compile it again"
        ));
    }
    let least = core::mem::offset_of!(RawGuest, trim);
    if size < least {
        return Err(format!("its table has {size} bytes, and needs at least {least}: set `size`"));
    }
    // SAFETY: all fields of the table may be zero.
    let mut table: RawGuest = unsafe { core::mem::zeroed() };
    let known = size.min(size_of::<RawGuest>());
    // SAFETY: the guest says that it has `size` bytes.
    unsafe {
        ptr::copy_nonoverlapping(start.cast::<u8>(), (&raw mut table).cast(), known);
    }
    Ok(table)
}

/// What a table declares.
fn declaration(table: &RawGuest, path: &Path) -> std::result::Result<Declaration, String> {
    let shown = path.display();
    let required = [
        ("mount", table.mount.is_none()),
        ("read", table.read.is_none()),
        ("write", table.write.is_none()),
    ];
    if let Some((name, _)) = required.iter().find(|(_, is_missing)| *is_missing) {
        return Err(format!("{shown}: its function `{name}` is missing"));
    }
    let promise = match table.durability {
        0 => Promise::Flush,
        1 => Promise::Write,
        2 => Promise::Snapshot,
        other => return Err(format!("{shown}: {other} is no ftlab_durability")),
    };
    if promise != Promise::Write && table.flush.is_none() {
        return Err(format!(
            "{shown}: its function `flush` is missing, and not every write is durable"
        ));
    }
    if table.cuts & !CUTS_ALL != 0 {
        return Err(format!("{shown}: {:#x} in `cuts` is no FTLAB_CUT_…", table.cuts & !CUTS_ALL));
    }
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    // SAFETY: the header demands strings.
    let (name, release) = unsafe { (string(table.name), string(table.release)) };
    Ok(Declaration {
        name: name.filter(|name| !name.is_empty()).or(stem).unwrap_or_default(),
        release: release.unwrap_or_default(),
        promise,
        cuts: table.cuts,
        host_page_bytes: table.host_page_bytes,
        spare_bytes: table.spare_bytes,
        trims: table.trim.is_some(),
        handles_failures: table.handles_failures != 0,
    })
}

impl GuestSource for SharedObject {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn mount(
        &self,
        chip: &mut dyn GuestChip,
        device: &GuestDevice,
    ) -> std::result::Result<Box<dyn Guest>, Answer> {
        if self.strayed.swap(false, Ordering::Relaxed) {
            chip.fault(GuestFaultKind::Broken, "called the chip in `unmount`");
            return Err(Ok(Status::Invalid));
        }
        let (loaded, table) = match open(&self.path) {
            Ok(opened) => opened,
            Err(why) => {
                chip.say(&why);
                return Err(Ok(Status::Invalid));
            }
        };
        let chip_table = ChipTable::new(chip.shape());
        let mut guest = CGuest {
            ftl: ptr::null_mut(),
            table,
            chip_table,
            is_whole: true,
            process: process::id(),
            strayed: self.strayed.clone(),
            _loaded: loaded,
        };
        match guest.mount(chip, device) {
            Ok(Status::Ok) => Ok(Box::new(guest)),
            answer => Err(answer),
        }
    }
}

/// A mounted guest. Fields are dropped in this order: the code goes last.
struct CGuest {
    ftl: *mut c_void,
    table: RawGuest,
    chip_table: ChipTable,
    /// Whether no call has failed. Else its memory may be in any state, and is left alone.
    is_whole: bool,
    /// The process in which it was mounted.
    process: u32,
    strayed: Arc<AtomicBool>,
    _loaded: Loaded,
}

// SAFETY: a guest is called by one thread at a time, and the header says no more.
unsafe impl Send for CGuest {}

impl CGuest {
    fn mount(&mut self, chip: &mut dyn GuestChip, device: &GuestDevice) -> Answer {
        let texts = |select: fn(&(String, String)) -> &String| -> Vec<CString> {
            let all = device.parameters.iter().map(select);
            all.map(|text| CString::new(text.as_str()).unwrap_or_default()).collect()
        };
        let (keys, values) = (texts(|(key, _)| key), texts(|(_, value)| value));
        let pointers =
            |texts: &[CString]| -> Vec<_> { texts.iter().map(|text| text.as_ptr()).collect() };
        let (keys, values) = (pointers(&keys), pointers(&values));
        let raw = RawDevice {
            size: size_of::<RawDevice>() as u32,
            is_new: device.is_new.into(),
            logical_pages: device.logical_pages,
            host_page_bytes: device.host_page_bytes,
            seed: device.seed,
            parameters: keys.len() as u32,
            keys: keys.as_ptr(),
            values: values.as_ptr(),
        };
        let Some(mount) = self.table.mount else { return Ok(Status::Invalid) };
        let (table, mut mounted) = (self.chip_table.raw(), ptr::null_mut());
        let answer = self.call(chip, (Call::Mount, 0, 0), |_| {
            // SAFETY: the guest gets what the header promises.
            unsafe { mount(table, &raw const raw, &raw mut mounted) }
        });
        self.ftl = mounted;
        answer
    }

    /// Lends the chip for a call, which the board shows while it runs.
    #[inline]
    fn call(
        &mut self,
        chip: &mut dyn GuestChip,
        call: (Call, u32, u32),
        guest: impl FnOnce(*mut c_void) -> u32,
    ) -> Answer {
        let (ftl, table, process) = (self.ftl, &self.chip_table, self.process);
        let number = Board::showing(call, || {
            let number = table.lend(chip, || guest(ftl));
            if process::id() != process {
                end_copy();
            }
            number
        });
        self.answered(number)
    }

    #[inline]
    fn answered(&mut self, number: u32) -> Answer {
        self.is_whole &= number == Status::Ok as u32;
        Status::of_number(number)
    }
}

impl Guest for CGuest {
    fn read(
        &mut self,
        chip: &mut dyn GuestChip,
        first: u32,
        pages: u32,
        data: &mut [u8],
    ) -> Answer {
        let Some(read) = self.table.read else { return Ok(Status::Invalid) };
        let data = data.as_mut_ptr().cast();
        self.call(chip, (Call::Read, first, pages), |ftl| {
            // SAFETY: the guest gets what the header promises.
            unsafe { read(ftl, first, pages, data) }
        })
    }

    fn write(&mut self, chip: &mut dyn GuestChip, first: u32, pages: u32, data: &[u8]) -> Answer {
        let Some(write) = self.table.write else { return Ok(Status::Invalid) };
        let data = data.as_ptr().cast();
        self.call(chip, (Call::Write, first, pages), |ftl| {
            // SAFETY: the guest gets what the header promises.
            unsafe { write(ftl, first, pages, data) }
        })
    }

    fn trim(&mut self, chip: &mut dyn GuestChip, first: u32, pages: u32) -> Answer {
        let Some(trim) = self.table.trim else { return Ok(Status::Ok) };
        self.call(chip, (Call::Trim, first, pages), |ftl| {
            // SAFETY: the guest gets what the header promises.
            unsafe { trim(ftl, first, pages) }
        })
    }

    fn flush(&mut self, chip: &mut dyn GuestChip) -> Answer {
        let Some(flush) = self.table.flush else { return Ok(Status::Ok) };
        // SAFETY: the guest gets what the header promises.
        self.call(chip, (Call::Flush, 0, 0), |ftl| unsafe { flush(ftl) })
    }

    fn capacity(&self) -> Option<u32> {
        // SAFETY: the guest gets what the header promises.
        self.table.capacity.map(|capacity| unsafe { capacity(self.ftl) })
    }

    fn ram(&self) -> Option<u64> {
        // SAFETY: the guest gets what the header promises.
        self.table.ram.map(|ram| unsafe { ram(self.ftl) })
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        let Some(figures) = self.table.figures else { return Vec::new() };
        let mut raw = [RawFigure { name: ptr::null(), value: 0.0 }; FIGURES_MAX];
        // SAFETY: the guest gets what the header promises.
        let count = unsafe { figures(self.ftl, raw.as_mut_ptr(), FIGURES_MAX as u32) } as usize;
        let known = raw[..count.min(FIGURES_MAX)].iter();
        known
            .filter_map(|figure| {
                // SAFETY: the header demands a string.
                let name = unsafe { string(figure.name) }?;
                Some((interned(name), figure.value))
            })
            .collect()
    }

    fn audit(&self) -> Option<String> {
        // SAFETY: the guest gets what the header promises, and answers with a string or NULL.
        self.table.audit.and_then(|audit| unsafe { string(audit(self.ftl)) })
    }
}

impl Drop for CGuest {
    /// After a power cut the memory of the guest is left alone, as a reset leaves it.
    fn drop(&mut self) {
        if let Some(unmount) = self.table.unmount.filter(|_| self.is_whole && !self.ftl.is_null()) {
            // SAFETY: the guest is mounted, and is not called again.
            Board::showing((Call::Unmount, 0, 0), || unsafe { unmount(self.ftl) });
            self.strayed.fetch_or(self.chip_table.was_astray(), Ordering::Relaxed);
        }
    }
}

/// Ends a process that a guest has made by copying ours: only the guest knows what it is for.
#[cold]
pub fn end_copy() -> ! {
    // SAFETY: nothing of this process is cleaned up, because it is a copy.
    unsafe { libc::_exit(1) }
}

/// The name of a figure for as long as the program runs. There are few, and each is kept once.
pub fn interned(name: String) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name.as_str()) {
        return known;
    }
    let kept: &'static str = name.leak();
    names.insert(kept);
    kept
}
