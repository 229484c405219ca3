//! Policies of page mapping that are written in Python.
//!
//! ```text
//! Placed (ftl) ──place, place_copy, victim, erased──▶ Attached ──attach──▶ methods of the user
//! ```
//! The working thread is attached to the interpreter only while a method runs. A method that the
//! user has not written is not called. What a method raises ends the run, and is raised again where
//! the run was called.

use std::sync::{Arc, Mutex, PoisonError};

use ftl::contract::page_policy::{
    Candidates, Class, ErasedBlock, HostWrite, MovedPage, PagePolicy, PlacedDevice, PolicySource,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};

use crate::failure::{UsageError, described};

/// A policy of the user, and what it raised.
#[derive(Clone, Debug)]
pub struct PythonPolicy {
    name: String,
    classes: Class,
    object: Arc<Py<PyAny>>,
    raised: Arc<Mutex<Option<PyErr>>>,
}

impl PythonPolicy {
    /// A policy for a run.
    ///
    /// # Errors
    /// `TypeError` for anything but an object of `ftlab.policy.Policy`, `UsageError` for a number
    /// of classes that no policy can have.
    pub fn new(object: &Bound<'_, PyAny>) -> PyResult<PythonPolicy> {
        let kind = object.get_type().name()?.to_string();
        if !object.is_instance(&base(object.py())?)? {
            return Err(PyTypeError::new_err(no_policy(object)?));
        }
        Ok(PythonPolicy {
            name: format!("{kind}, written in Python"),
            classes: classes(&kind, &object.getattr("classes")?)?,
            object: Arc::new(object.clone().unbind()),
            raised: Arc::default(),
        })
    }

    /// What a method raised, if one did.
    pub fn take_raised(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Calls a method. What it raises is kept for the caller of the run.
    fn call<T>(&self, method: impl FnOnce(Python<'_>) -> PyResult<T>) -> ftl::Result<T> {
        Python::attach(|py| {
            method(py).map_err(|raised| {
                let failed =
                    ftl::Error::Policy(format!("{}: {}", self.name, described(py, &raised)));
                *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(raised);
                failed
            })
        })
    }
}

impl PolicySource for PythonPolicy {
    fn name(&self) -> &str {
        &self.name
    }

    fn policy(&self, device: &PlacedDevice) -> ftl::Result<Box<dyn PagePolicy>> {
        let methods = self.call(|py| {
            let object = self.object.bind(py);
            let method = |name| method(object, name);
            let methods = Methods {
                place: method("place")?,
                place_copy: method("place_copy")?,
                victim: method("victim")?,
                erased: method("erased")?,
            };
            let begin = py.import("ftlab.policy")?.getattr("begin")?;
            begin.call1((object, DeviceFacts::from(device)))?;
            Ok(methods)
        })?;
        Ok(Box::new(Attached { source: self.clone(), methods }))
    }
}

/// What makes a policy for each run, so that runs at the same time share no state: a class, or any
/// other callable.
#[derive(Debug)]
pub struct MadePolicy {
    name: String,
    maker: Py<PyAny>,
}

impl MadePolicy {
    /// Makes two policies, to see that they are policies, and not one.
    ///
    /// # Errors
    /// What the callable raises, and as for [`PythonPolicy::new`].
    pub fn new(maker: &Bound<'_, PyAny>) -> PyResult<MadePolicy> {
        if !maker.is_callable() {
            let kind = maker.get_type().name()?;
            let what = format!(
                "a policy of a sweep is a class of policies, or a function that makes one, and not \
                 of {kind}: each row gets its own"
            );
            return Err(PyTypeError::new_err(what));
        }
        let (one, other) = (maker.call0()?, maker.call0()?);
        if one.is(&other) {
            return Err(UsageError::new_err(
                "the function that makes a policy returns the same object again, and each row \
                 needs its own: make a new one at each call",
            ));
        }
        let name = PythonPolicy::new(&one)?.name;
        Ok(MadePolicy { name, maker: maker.clone().unbind() })
    }
}

impl PolicySource for MadePolicy {
    fn name(&self) -> &str {
        &self.name
    }

    fn policy(&self, device: &PlacedDevice) -> ftl::Result<Box<dyn PagePolicy>> {
        let made = Python::attach(|py| PythonPolicy::new(&self.maker.bind(py).call0()?));
        made.map_err(|raised| ftl::Error::Policy(format!("{}: {raised}", self.name)))?
            .policy(device)
    }
}

fn base(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    py.import("ftlab.policy")?.getattr("Policy")
}

/// Why something is no policy of a run.
fn no_policy(given: &Bound<'_, PyAny>) -> PyResult<String> {
    let takes = "`policy` takes an object of ftlab.policy.Policy";
    let Ok(class) = given.cast::<PyType>() else {
        return Ok(format!("{takes}, not of {}", given.get_type().name()?));
    };
    let (name, is_policy) = (class.name()?, class.is_subclass(&base(given.py())?)?);
    let remedy = if is_policy { format!("; make one: {name}()") } else { String::new() };
    Ok(format!("{takes}, not the class {name}{remedy}"))
}

/// The number of classes of a policy of this kind.
fn classes(kind: &str, given: &Bound<'_, PyAny>) -> PyResult<Class> {
    let Ok(number) = given.extract::<i64>() else {
        let shown = given.repr()?;
        let what = format!("{kind}: `classes` must be a whole number, and not {shown}");
        return Err(PyTypeError::new_err(what));
    };
    let most = Class::MAX;
    let why = || format!("{kind}: `classes` must be from 1 to {most}, and not {number}");
    let classes = Class::try_from(number).ok().filter(|&classes| classes > 0);
    classes.ok_or_else(|| UsageError::new_err(why()))
}

/// A method of the user; none if it is that of the base class, which does nothing special.
fn method(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<Py<PyAny>>> {
    let method = object.getattr(name)?;
    let inherited = base(object.py())?.getattr(name)?;
    let is_inherited = method.getattr("__func__").is_ok_and(|function| function.is(&inherited));
    Ok((!is_inherited).then(|| method.unbind()))
}

/// The methods that the user has written.
struct Methods {
    place: Option<Py<PyAny>>,
    place_copy: Option<Py<PyAny>>,
    victim: Option<Py<PyAny>>,
    erased: Option<Py<PyAny>>,
}

/// A policy at work.
struct Attached {
    source: PythonPolicy,
    methods: Methods,
}

impl Attached {
    /// The class that a method has chosen. One that no policy can have is refused here, any other
    /// by whoever asked.
    fn class(&self, method: &str, chosen: &Bound<'_, PyAny>) -> PyResult<Class> {
        let number = integer(method, chosen)?;
        Class::try_from(number).map_err(|_| {
            let last = self.source.classes - 1;
            let what = format!("`{method}` returned class {number}; classes are from 0 to {last}");
            crate::failure::RunError::new_err(what)
        })
    }
}

/// The integer that a method returned.
fn integer(method: &str, returned: &Bound<'_, PyAny>) -> PyResult<i64> {
    returned.extract().map_err(|_| {
        let kind = returned.get_type().name().map_or("?".into(), |name| name.to_string());
        PyTypeError::new_err(format!("`{method}` must return an integer, not a value of {kind}"))
    })
}

impl PagePolicy for Attached {
    fn classes(&self) -> Class {
        self.source.classes
    }

    fn place(&mut self, write: &HostWrite) -> ftl::Result<Class> {
        let Some(place) = &self.methods.place else { return Ok(0) };
        self.source.call(|py| {
            let chosen = place.bind(py).call1((write.lpn.0, WriteFacts::from(write)))?;
            self.class("place", &chosen)
        })
    }

    fn place_copy(&mut self, copy: &MovedPage) -> ftl::Result<Class> {
        let Some(place_copy) = &self.methods.place_copy else { return Ok(copy.class) };
        self.source.call(|py| {
            let chosen = place_copy.bind(py).call1((copy.lpn.0, CopyFacts::from(copy)))?;
            self.class("place_copy", &chosen)
        })
    }

    fn chooses_victims(&self) -> bool {
        self.methods.victim.is_some()
    }

    fn victim(&mut self, candidates: &Candidates) -> ftl::Result<usize> {
        let Some(victim) = &self.methods.victim else { return Ok(0) };
        self.source.call(|py| {
            let blocks = blocks(py, candidates)?;
            let at = integer("victim", &victim.bind(py).call1((blocks,))?)?;
            // The caller refuses what lies beyond the candidates.
            usize::try_from(at).map_err(|_| {
                let count = candidates.blocks.len();
                crate::failure::RunError::new_err(format!(
                    "the policy chooses victim {at} of {count} candidates, which are counted from 0"
                ))
            })
        })
    }

    fn erased(&mut self, block: &ErasedBlock) -> ftl::Result<()> {
        let Some(erased) = &self.methods.erased else { return Ok(()) };
        self.source.call(|py| erased.bind(py).call1((ErasedFacts::from(block),)).map(|_| ()))
    }
}

// ---- What methods are told ---------------------------------------------------------------------

/// The object `ftlab.policy.Blocks` of the candidates; each list is one copy of its bytes.
fn blocks<'py>(py: Python<'py>, candidates: &Candidates) -> PyResult<Bound<'py, PyAny>> {
    let words = |list: &[u32]| bytes(py, list.iter().map(|one| one.to_ne_bytes()));
    let longs = |list: &[u64]| bytes(py, list.iter().map(|one| one.to_ne_bytes()));
    let Candidates { blocks, valid, ages, classes, erases, pages_per_block, now } = candidates;
    let classes = PyBytes::new(py, classes);
    let lists = (words(blocks), words(valid), longs(ages), classes, words(erases));
    py.import("ftlab.policy")?.getattr("Blocks")?.call1((lists, *pages_per_block, *now))
}

fn bytes<const N: usize>(
    py: Python<'_>,
    entries: impl Iterator<Item = [u8; N]>,
) -> Bound<'_, PyBytes> {
    PyBytes::new(py, &entries.flatten().collect::<Vec<u8>>())
}

/// The device that a policy gets.
#[pyclass(frozen, get_all, name = "Device", module = "ftlab.policy")]
pub struct DeviceFacts {
    page_bytes: u32,
    pages_per_block: u32,
    logical_pages: u32,
    extra_blocks: u32,
}

impl From<&PlacedDevice> for DeviceFacts {
    fn from(device: &PlacedDevice) -> DeviceFacts {
        let PlacedDevice { page_bytes, pages_per_block, logical_pages, extra_blocks } = *device;
        DeviceFacts { page_bytes, pages_per_block, logical_pages, extra_blocks }
    }
}

/// A page that the host writes.
#[pyclass(frozen, get_all, name = "Write", module = "ftlab.policy")]
pub struct WriteFacts {
    now: u64,
    lifespan: Option<u64>,
    old_class: Option<Class>,
    request_bytes: u64,
}

impl From<&HostWrite> for WriteFacts {
    fn from(write: &HostWrite) -> WriteFacts {
        let HostWrite { now, lifespan, class: old_class, request_bytes, .. } = *write;
        WriteFacts { now, lifespan, old_class, request_bytes }
    }
}

/// A page that garbage collection copies.
#[pyclass(frozen, get_all, name = "Copy", module = "ftlab.policy")]
pub struct CopyFacts {
    now: u64,
    age: u64,
    old_class: Class,
}

impl From<&MovedPage> for CopyFacts {
    fn from(copy: &MovedPage) -> CopyFacts {
        let MovedPage { now, age, class: old_class, .. } = *copy;
        CopyFacts { now, age, old_class }
    }
}

/// A block that was collected.
#[pyclass(frozen, get_all, name = "Erased", module = "ftlab.policy")]
pub struct ErasedFacts {
    now: u64,
    block: u32,
    old_class: Class,
    lifespan: u64,
    copied: u32,
}

impl From<&ErasedBlock> for ErasedFacts {
    fn from(erased: &ErasedBlock) -> ErasedFacts {
        let ErasedBlock { now, block, class: old_class, lifespan, copied } = *erased;
        ErasedFacts { now, block: block.0, old_class, lifespan, copied }
    }
}
