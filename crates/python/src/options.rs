//! Keywords become the options of an experiment: the same names, notations and defaults as those of
//! the command.

use std::num::NonZeroUsize;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use sim::config::experiment::{ExperimentOption, options};
use sim::memory::limit::MemoryLimit;
use sim::{Experiment, parallel_runs};

use crate::failure::{UsageError, raised};

/// The experiment that keywords describe; `None` stands for the default.
///
/// # Errors
/// `TypeError` for an unknown keyword or a value of another type, `UsageError` for a wrong value.
pub fn experiment(keywords: &Bound<'_, PyDict>) -> PyResult<Experiment> {
    let mut experiment = Experiment::default();
    for (name, value) in keywords {
        let name: String = name.extract()?;
        let option = option(&name)?;
        if !value.is_none() {
            set(option, &mut experiment, &value)?;
        }
    }
    Ok(experiment)
}

fn option(name: &str) -> PyResult<&'static ExperimentOption> {
    let known = || options().iter().map(|option| option.name);
    options().iter().find(|option| option.name == name).ok_or_else(|| {
        let nearest = spec::nearest(name, known());
        let hint = match nearest {
            Some(nearest) => format!("; did you mean `{nearest}`?"),
            None => "; `help(ftlab.run)` describes them all".to_owned(),
        };
        PyTypeError::new_err(format!("there is no option `{name}`{hint}"))
    })
}

fn set(
    option: &ExperimentOption,
    experiment: &mut Experiment,
    value: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let set = match (option.is_list, items(value)) {
        (true, Some(items)) => {
            let texts =
                items.iter().map(|item| text(option, item)).collect::<PyResult<Vec<_>>>()?;
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            option.set_all(experiment, &texts)
        }
        (true, None) => option.set_all(experiment, &[&text(option, value)?]),
        (false, _) => option.set(experiment, &text(option, value)?),
    };
    // Messages about specs say what they are about; those about values do not.
    set.map_err(|why| match option.usage.has_keys {
        true => raised(why),
        false => raised(sim::Error::Impossible(format!("`{}`: {why}", option.name))),
    })
}

/// The items of a list or tuple.
fn items<'py>(value: &Bound<'py, PyAny>) -> Option<Vec<Bound<'py, PyAny>>> {
    let is_list = value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>();
    is_list.then(|| value.try_iter().ok()?.collect::<PyResult<_>>().ok()).flatten()
}

/// The value of an option as the command writes it.
fn text(option: &ExperimentOption, value: &Bound<'_, PyAny>) -> PyResult<String> {
    if option.name == "ftl"
        && let Some(spec) = crate::guest::spec_of(value)?
    {
        return Ok(spec);
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(value.extract::<bool>()?.to_string());
    }
    let is_number = value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>();
    if is_number || value.is_instance_of::<PyString>() {
        return value.str()?.extract();
    }
    // A scalar of NumPy is what it stands for.
    let is_of_numpy = value.hasattr("dtype")?;
    if is_of_numpy && value.getattr("shape")?.len()? == 0 {
        let plain = value.call_method0("tolist")?;
        let written = value.str()?.extract::<String>()?;
        return Ok(if plain.is_instance_of::<PyBool>() { written.to_lowercase() } else { written });
    }
    // So are other whole numbers, and a path is a text.
    for conversion in ["__index__", "__fspath__"] {
        if !is_of_numpy && value.hasattr(conversion)? {
            return value.call_method0(conversion)?.str()?.extract();
        }
    }
    let kind = value.get_type().name()?;
    let what = format!("`{}` takes a text or a number, not a value of type {kind}", option.name);
    Err(PyTypeError::new_err(what))
}

/// The number of runs at a time: a whole number from 1 on, or the number of cores.
///
/// # Errors
/// `UsageError` if it is another value.
pub fn jobs(value: Option<&Bound<'_, PyAny>>) -> PyResult<NonZeroUsize> {
    let count = value.map(|value| count("jobs", value)).transpose()?;
    Ok(parallel_runs::jobs(count.and_then(|count| NonZeroUsize::new(count as usize))))
}

/// A number of things, at least one: a whole number, or a text such as `4M`.
///
/// # Errors
/// `UsageError` if it is another value.
pub fn count(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    let text: String = value.str()?.extract()?;
    match spec::parse_count(&text) {
        Ok(0) => Err(UsageError::new_err(format!("{name}: `0` is too few; the least is 1"))),
        Ok(count) => Ok(count),
        Err(why) => Err(UsageError::new_err(format!("{name}: {why}"))),
    }
}

/// The memory for requests that runs share: bytes, a size such as `8GiB`, or 1 GiB.
///
/// # Errors
/// `UsageError` if it is not a size.
pub fn cache_bytes(value: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
    let Some(value) = value else { return Ok(parallel_runs::CACHE_BYTES) };
    let text: String = value.str()?.extract()?;
    spec::parse_size(&text).map_err(|why| UsageError::new_err(format!("memory: {why}")))
}

/// The memory that runs may take: bytes, a size such as `8GiB`, `unlimited`, or half of what is
/// available.
///
/// # Errors
/// `UsageError` if it is not a size.
pub fn memory_limit(value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<u64>> {
    let limit = match value {
        None => None,
        Some(value) => Some(
            value
                .str()?
                .extract::<String>()?
                .parse()
                .map_err(|why: String| UsageError::new_err(format!("memory_limit: {why}")))?,
        ),
    };
    Ok(MemoryLimit::bytes(limit))
}

/// Every option of a run that the command has, too: its name, help, default as text, keywords to
/// choose from, whether it takes several values, the heading under which help lists it, and whether
/// a life and an advice have it.
#[pyfunction]
pub fn run_options(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let described = |option: &ExperimentOption| {
        let entry = PyDict::new(py);
        entry.set_item("name", option.name)?;
        entry.set_item("help", option.help())?;
        entry.set_item("default", option.text(&Experiment::default()))?;
        entry.set_item("keywords", option.keywords.to_vec())?;
        entry.set_item("is_switch", option.is_switch)?;
        entry.set_item("is_list", option.is_list)?;
        entry.set_item("heading", option.usage.heading)?;
        entry.set_item("is_of_life", sim::run::life::takes(option))?;
        entry.set_item("is_of_advice", sim::advise::takes(option))?;
        Ok(entry)
    };
    options().iter().filter(|option| !option.usage.is_of_python).map(described).collect()
}
