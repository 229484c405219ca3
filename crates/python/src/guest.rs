//! FTLs that are written in Python: a class of the user is a guest.
//!
//! ```text
//! Hosted (ftl) ──mount, read, write, trim, flush──▶ Attached ──attach──▶ methods of the user
//!       ▲                                                                      │
//!       └────────── ChipSlot ◀── read, program, copy, erase ── Chip ◀──────────┘
//! ```
//! Each mount makes a new object of the class, so what an object knew is gone, as after a reset.
//! What a method raises ends the request; a run raises it again where it was called.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ftl::contract::guest::{
    Answer, ChipShape, Declaration, Guest, GuestChip, GuestDevice, GuestFaultKind, GuestSource,
    Promise, Status,
};
use guest::chip_slot::ChipSlot;
use guest::remote::{RemoteSource, Starter};
use nand::Cause;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyMemoryView, PyType};
use serde_json::Value;
use sim::RunResult;
use spec::Params;

use crate::failure::{UsageError, described};

pyo3::import_exception!(ftlab.guest, PowerLost);
pyo3::import_exception!(ftlab.guest, Unreadable);
pyo3::import_exception!(ftlab.guest, OperationFailed);
pyo3::import_exception!(ftlab.guest, IllegalCommand);
pyo3::import_exception!(ftlab.guest, ReadOnly);
pyo3::import_exception!(ftlab.guest, Invalid);

/// What a value of `lib` begins with that names a class.
const CLASS: &str = "class:";

/// A class of the user.
#[derive(Debug)]
struct PythonGuest {
    declaration: Declaration,
    class: Py<PyType>,
}

/// The classes that were named so far, for as long as the interpreter runs, by keys: the name of
/// the class, and a number if another class had this name before.
static CLASSES: Mutex<Vec<(String, Arc<PythonGuest>)>> = Mutex::new(Vec::new());
/// What a method raised last.
static RAISED: Mutex<Option<PyErr>> = Mutex::new(None);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The name of a class that is an FTL, which only this interpreter has; none for other FTLs.
fn class_of(ftl: &str) -> Option<&str> {
    ftl.strip_prefix("guest:lib=")?.strip_prefix(CLASS)
}

/// Whether an FTL is a class.
pub fn is_class(ftl: &str) -> bool {
    class_of(ftl).is_some()
}

/// FTLs as readers know them: by their specs, and a class by its name, unless that is the
/// spec of another one. Of several classes with one name, all but the first have a number.
pub fn shown(ftls: &[&str]) -> Vec<String> {
    let mut classes: Vec<(&str, String)> = Vec::new();
    for key in ftls.iter().filter_map(|ftl| class_of(ftl)) {
        if classes.iter().all(|(known, _)| *known != key) {
            classes.push((key, name_of(key)));
        }
    }
    let label = |ftl: &str| {
        let (key, name) = classes.iter().find(|(key, _)| Some(*key) == class_of(ftl))?;
        let before = classes.iter().take_while(|(other, _)| other != key);
        let label = match before.filter(|(_, other)| other == name).count() {
            0 => name.clone(),
            others => format!("{name}-{}", others + 1),
        };
        (!ftls.contains(&&*label)).then_some(label)
    };
    ftls.iter().map(|ftl| label(ftl).unwrap_or_else(|| (*ftl).to_owned())).collect()
}

/// The name of a class that was named by a key.
fn name_of(key: &str) -> String {
    let classes = locked(&CLASSES);
    let known = classes.iter().find(|(known, _)| known == key);
    known.map_or_else(|| key.to_owned(), |(_, guest)| guest.declaration.name.clone())
}

/// The result of a run, in which a class has its name. Its key also says how often a class of this
/// name was defined before, and equal classes would give different results.
pub fn named(mut result: RunResult) -> RunResult {
    if let Some(Value::String(lib)) = result.ftl.params.get_mut("lib")
        && let Some(key) = lib.strip_prefix(CLASS)
    {
        *lib = format!("{CLASS}{}", name_of(key));
    }
    result
}

/// Lets classes, and shared objects in processes of their own, be named as FTLs.
pub fn install() {
    // A second call changes nothing.
    let _ = ftl::registry::GUEST_LOADER.set(load);
}

fn load(params: &Params) -> ftl::Result<Arc<dyn GuestSource>> {
    let lib = params.text("lib");
    if let Some(name) = lib.strip_prefix(CLASS) {
        let classes = locked(&CLASSES);
        let known = classes.iter().find(|(known, _)| known == name);
        return known.map(|(_, guest)| guest.clone() as Arc<dyn GuestSource>).ok_or_else(|| {
            let why = format!("no class `{name}` was passed to ftlab in this interpreter");
            ftl::Error::Refused { scheme: "guest", why }
        });
    }
    let program = Python::attach(|py| -> PyResult<String> {
        py.import("sys")?.getattr("executable")?.extract()
    });
    let program = program.map_err(|error| {
        let why = format!("the interpreter cannot be started again: {error}");
        ftl::Error::Refused { scheme: "guest", why }
    })?;
    let arguments = ["-m", "ftlab", cli::GUEST_PROCESS].map(Into::into).to_vec();
    RemoteSource::load(Starter { program: program.into(), arguments }, params)
}

/// What a method of a guest raised since the last call.
pub fn take_raised() -> Option<PyErr> {
    locked(&RAISED).take()
}

/// The spec that stands for a class of `ftlab.guest.Ftl`; none for any other value.
///
/// # Errors
/// The class declares what no guest can.
pub fn spec_of(value: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let py = value.py();
    let base = py.import("ftlab.guest")?.getattr("Ftl")?;
    let Ok(class) = value.cast::<PyType>() else {
        if value.is_instance(&base)? {
            let what =
                "`ftl` takes a class of ftlab.guest.Ftl, not an object: each mount makes one";
            return Err(PyTypeError::new_err(what));
        }
        return Ok(None);
    };
    if !class.is_subclass(&base)? {
        let name = class.name()?;
        let what = format!("`ftl` takes a class of ftlab.guest.Ftl, and {name} is none");
        return Err(PyTypeError::new_err(what));
    }
    let declaration = declaration(class, &base)?;
    let mut classes = locked(&CLASSES);
    let name = declaration.name.clone();
    let alike = classes.iter().filter(|(_, known)| known.declaration.name == name).count();
    let same = classes
        .iter()
        .find(|(_, known)| known.class.bind(py).is(class) && known.declaration == declaration);
    let key = match same {
        Some((key, _)) => key.clone(),
        None => {
            let key = if alike == 0 { name } else { format!("{name}-{}", alike + 1) };
            let guest = PythonGuest { declaration, class: class.clone().unbind() };
            classes.push((key.clone(), Arc::new(guest)));
            key
        }
    };
    Ok(Some(format!("guest:lib={CLASS}{key}")))
}

fn declaration(class: &Bound<'_, PyType>, base: &Bound<'_, PyAny>) -> PyResult<Declaration> {
    let name = class.name()?.to_string();
    let wrong = |why: String| UsageError::new_err(format!("{name}: {why}"));
    let promise: String = class.getattr("durability")?.extract()?;
    let promise = promise.parse::<Promise>().map_err(|error| wrong(error.to_string()))?;
    let mut cuts = 0;
    for cut in class.getattr("cuts")?.try_iter()? {
        let cut: String = cut?.extract()?;
        let bit = CUTS.iter().position(|known| *known == cut);
        let bit = bit.ok_or_else(|| wrong(spec::unknown("cut", &cut, CUTS).to_string()))?;
        cuts |= 1 << bit;
    }
    let own_trim = !class.getattr("trim")?.is(&base.getattr("trim")?);
    Ok(Declaration {
        name,
        release: String::new(),
        promise,
        cuts,
        host_page_bytes: class.getattr("host_page_bytes")?.extract()?,
        spare_bytes: class.getattr("spare_bytes")?.extract()?,
        trims: own_trim,
        handles_failures: class.getattr("handles_failures")?.extract()?,
    })
}

/// Names of the bits of `FTLAB_CUT_…`.
const CUTS: &[&str] = &[
    "torn",
    "looks-erased",
    "unstable",
    "half-erased",
    "erase",
    "lasting",
    "misdirected",
    "paired",
    "reordered",
    "brown-out",
];

impl GuestSource for PythonGuest {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn mount(
        &self,
        chip: &mut dyn GuestChip,
        device: &GuestDevice,
    ) -> Result<Box<dyn Guest>, Answer> {
        let slot = Arc::new(ChipSlot::default());
        let shape = *chip.shape();
        let page_bytes = device.host_page_bytes as usize;
        let mut mounted = None;
        let answer = call(&slot, chip, |py| {
            let facts = py.import("ftlab.guest")?.getattr("Device")?.call1((
                device.is_new,
                device.logical_pages,
                device.host_page_bytes,
                device.seed,
                device.parameters.clone(),
            ))?;
            let lent = Py::new(py, Chip { slot: slot.clone(), shape })?;
            let object = self.class.bind(py).call0()?;
            object.call_method1("mount", (lent, facts))?;
            mounted = Some(object.unbind());
            Ok(())
        });
        match (answer, mounted) {
            (Ok(Status::Ok), Some(object)) => Ok(Box::new(Attached { object, slot, page_bytes })),
            (answer, _) => Err(answer),
        }
    }

    fn needs_process(&self) -> bool {
        false
    }
}

/// Calls a method of the user while the chip is lent. What it raises becomes an answer.
fn call(
    slot: &ChipSlot,
    chip: &mut dyn GuestChip,
    method: impl FnOnce(Python<'_>) -> PyResult<()>,
) -> Answer {
    let done = slot.lend(chip, || Python::attach(method));
    let Err(raised) = done else { return Ok(Status::Ok) };
    Python::attach(|py| {
        let is = |kind: &Bound<'_, PyType>| raised.matches(py, kind).unwrap_or(false);
        let text = || raised.value(py).to_string();
        if is(&py.get_type::<PowerLost>()) {
            return Ok(Status::PowerLost);
        }
        if is(&py.get_type::<IllegalCommand>()) {
            return Ok(Status::Illegal);
        }
        let status = if is(&py.get_type::<Unreadable>()) {
            Status::Unreadable
        } else if is(&py.get_type::<ReadOnly>()) {
            Status::ReadOnly
        } else if is(&py.get_type::<Invalid>()) {
            Status::Invalid
        } else {
            chip.fault(GuestFaultKind::Broken, &format!("raised {}", described(py, &raised)));
            *locked(&RAISED) = Some(raised);
            return Ok(Status::Corrupt);
        };
        chip.say(&text());
        Ok(status)
    })
}

/// A mounted object of the user.
struct Attached {
    object: Py<PyAny>,
    slot: Arc<ChipSlot>,
    /// Bytes of a page of the guest.
    page_bytes: usize,
}

impl Attached {
    fn ask<T>(
        &self,
        method: &str,
        convert: impl Fn(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        Python::attach(|py| {
            let answer = self.object.bind(py).call_method0(method).ok()?;
            if answer.is_none() { None } else { convert(&answer).ok() }
        })
    }
}

impl Guest for Attached {
    fn read(
        &mut self,
        chip: &mut dyn GuestChip,
        first: u32,
        pages: u32,
        data: &mut [u8],
    ) -> Answer {
        call(&self.slot, chip, |py| {
            let read = self.object.bind(py).call_method1("read", (first, pages))?;
            let bytes = octets("what `read` returns", &read)?;
            if bytes.len() != data.len() {
                let (found, size, page) = (bytes.len(), data.len(), self.page_bytes);
                return Err(PyValueError::new_err(format!(
                    "`read` of {pages} pages of {page} bytes returned {found} bytes, not {size}"
                )));
            }
            data.copy_from_slice(&bytes);
            Ok(())
        })
    }

    fn write(&mut self, chip: &mut dyn GuestChip, first: u32, pages: u32, data: &[u8]) -> Answer {
        call(&self.slot, chip, |py| {
            let data = PyBytes::new(py, data);
            self.object.bind(py).call_method1("write", (first, pages, data)).map(drop)
        })
    }

    fn trim(&mut self, chip: &mut dyn GuestChip, first: u32, pages: u32) -> Answer {
        call(&self.slot, chip, |py| {
            self.object.bind(py).call_method1("trim", (first, pages)).map(drop)
        })
    }

    fn flush(&mut self, chip: &mut dyn GuestChip) -> Answer {
        call(&self.slot, chip, |py| self.object.bind(py).call_method0("flush").map(drop))
    }

    fn capacity(&self) -> Option<u32> {
        self.ask("capacity", |answer| answer.extract())
    }

    fn ram(&self) -> Option<u64> {
        self.ask("ram", |answer| answer.extract())
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        let figures = self.ask("figures", |answer| {
            answer.call_method0("items")?.try_iter()?.map(|item| item?.extract()).collect()
        });
        let figures: Vec<(String, f64)> = figures.unwrap_or_default();
        figures.into_iter().map(|(name, value)| (guest::c_guest::interned(name), value)).collect()
    }

    fn audit(&self) -> Option<String> {
        self.ask("audit", |answer| answer.extract())
    }
}

/// The chip, lent to a guest during each of its calls.
#[pyclass(frozen, module = "ftlab.guest")]
pub struct Chip {
    slot: Arc<ChipSlot>,
    shape: ChipShape,
}

impl Chip {
    fn with<T>(&self, work: impl FnOnce(&mut dyn GuestChip) -> T) -> PyResult<T> {
        self.slot.with(work).ok_or_else(|| {
            IllegalCommand::new_err("the chip was used outside of a call, or in another thread")
        })
    }

    /// Does something that changes the chip.
    fn change(&self, work: impl FnOnce(&mut dyn GuestChip) -> Status) -> PyResult<()> {
        match self.with(work)? {
            Status::Ok => Ok(()),
            status => Err(exception(status)),
        }
    }
}

/// The exception for a status that is no success.
fn exception(status: Status) -> PyErr {
    match status {
        Status::PowerLost | Status::Endless => PowerLost::new_err("the power is lost"),
        Status::Unreadable | Status::Erased => Unreadable::new_err("the page cannot be read"),
        Status::Failed => OperationFailed::new_err("the program or erase has failed"),
        Status::Illegal => IllegalCommand::new_err("the command breaks a rule of flash"),
        other => PyValueError::new_err(other.name()),
    }
}

fn cause_of(name: Option<&str>) -> PyResult<Option<Cause>> {
    let parse = |name: &str| name.parse::<Cause>();
    name.map(parse).transpose().map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The bytes in `bytes`, a `bytearray` or a `memoryview`, which the user calls by this name.
fn octets(name: &str, given: &Bound<'_, PyAny>) -> PyResult<PyBackedBytes> {
    let is_view = given.is_instance_of::<PyMemoryView>();
    let copied = is_view.then(|| given.call_method0("tobytes")).transpose()?;
    let bytes = copied.as_ref().unwrap_or(given).extract();
    let kind = given.get_type().name()?;
    let refused = |_| PyTypeError::new_err(format!("{name} must be bytes, not a value of {kind}"));
    bytes.map_err(refused)
}

fn area(given: Option<Bound<'_, PyAny>>) -> PyResult<Option<PyBackedBytes>> {
    given.map(|given| octets("an area of a page", &given)).transpose()
}

fn sized<'a>(what: &str, bytes: Option<&'a [u8]>, size: u32) -> PyResult<Option<&'a [u8]>> {
    match bytes {
        Some(bytes) if bytes.len() != size as usize => {
            let found = bytes.len();
            Err(PyValueError::new_err(format!("{what} of {size} bytes, and {found} were given")))
        }
        bytes => Ok(bytes),
    }
}

#[pymethods]
impl Chip {
    #[getter]
    fn blocks(&self) -> u32 {
        self.shape.blocks
    }

    #[getter]
    fn pages_per_block(&self) -> u32 {
        self.shape.pages_per_block
    }

    #[getter]
    fn page_bytes(&self) -> u32 {
        self.shape.page_bytes
    }

    #[getter]
    fn spare_bytes(&self) -> u32 {
        self.shape.spare_bytes
    }

    #[getter]
    fn dies(&self) -> u32 {
        self.shape.dies
    }

    #[getter]
    fn bits_per_cell(&self) -> u32 {
        self.shape.bits_per_cell
    }

    #[getter]
    fn pair_distance(&self) -> u32 {
        self.shape.pair_distance
    }

    #[getter]
    fn program_order(&self) -> &'static str {
        ["sequential", "ascending", "any"][self.shape.program_order.min(2) as usize]
    }

    /// Bytes of the data area of a page; `None` if it reads as erased. Without a `cause`, such as
    /// `"host"`, the read counts under `gc`, or `meta` during a mount.
    #[pyo3(signature = (page, offset=0, size=None, *, cause=None))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        page: u32,
        offset: u32,
        size: Option<u32>,
        cause: Option<&str>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let cause = cause_of(cause)?;
        let most = self.shape.page_bytes.saturating_sub(offset);
        let mut data = vec![0; size.unwrap_or(most) as usize];
        match self.with(|chip| chip.read(page, offset, &mut data, None, cause))? {
            Status::Ok | Status::Corrected => Ok(Some(PyBytes::new(py, &data))),
            Status::Erased => Ok(None),
            status => Err(exception(status)),
        }
    }

    /// The spare area of a page; `None` if it reads as erased.
    #[pyo3(signature = (page, *, cause=None))]
    fn read_spare<'py>(
        &self,
        py: Python<'py>,
        page: u32,
        cause: Option<&str>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let cause = cause_of(cause)?;
        let mut spare = vec![0; self.shape.spare_bytes as usize];
        match self.with(|chip| chip.read(page, 0, &mut [], Some(&mut spare), cause))? {
            Status::Ok | Status::Corrected => Ok(Some(PyBytes::new(py, &spare))),
            Status::Erased => Ok(None),
            status => Err(exception(status)),
        }
    }

    /// Programs a page; a shorter spare area is filled up with 0xFF. Without a `cause`, such as
    /// `"host"`, the program counts under `gc`, or `meta` during a mount.
    #[pyo3(signature = (page, data=None, spare=None, *, cause=None))]
    fn program(
        &self,
        page: u32,
        data: Option<Bound<'_, PyAny>>,
        spare: Option<Bound<'_, PyAny>>,
        cause: Option<&str>,
    ) -> PyResult<()> {
        let cause = cause_of(cause)?;
        let data = area(data)?;
        let data = sized("a page has a data area", data.as_deref(), self.shape.page_bytes)?;
        let spare = self.filled(spare)?;
        self.change(|chip| chip.program(page, data, spare.as_deref(), cause))
    }

    /// Copies a page inside of the chip; a spare area that is given replaces its own.
    #[pyo3(signature = (source, target, spare=None, *, cause=None))]
    fn copy(
        &self,
        source: u32,
        target: u32,
        spare: Option<Bound<'_, PyAny>>,
        cause: Option<&str>,
    ) -> PyResult<()> {
        let cause = cause_of(cause)?;
        let spare = self.filled(spare)?;
        self.change(|chip| chip.copy(source, target, spare.as_deref(), cause))
    }

    /// Erases a block.
    #[pyo3(signature = (block, *, cause=None))]
    fn erase(&self, block: u32, cause: Option<&str>) -> PyResult<()> {
        let cause = cause_of(cause)?;
        self.change(|chip| chip.erase(block, cause))
    }

    /// Waits until all dies are idle.
    fn barrier(&self) -> PyResult<()> {
        self.change(|chip| chip.barrier())
    }

    /// Whether a block is bad: it is neither programmed nor erased.
    fn is_bad(&self, block: u32) -> PyResult<bool> {
        self.with(|chip| chip.is_bad(block))
    }

    /// Marks a block as bad for ever, after one of its operations has failed.
    fn mark_bad(&self, block: u32) -> PyResult<()> {
        self.change(|chip| chip.mark_bad(block))
    }
}

impl Chip {
    /// A spare area of the chip's size.
    fn filled(&self, spare: Option<Bound<'_, PyAny>>) -> PyResult<Option<Vec<u8>>> {
        let Some(spare) = area(spare)? else { return Ok(None) };
        let size = self.shape.spare_bytes as usize;
        if spare.len() > size {
            sized("a page has a spare area", Some(&spare), self.shape.spare_bytes)?;
        }
        let mut filled = spare.to_vec();
        filled.resize(size, 0xFF);
        Ok(Some(filled))
    }
}
