//! The declaration of a workload, and the placement of its requests.

use spec::{Param, Params, Share, Value};

use crate::error::{Error, Result};
use crate::generate::course::Course;
use crate::generate::params::{PAGES, READS, REQUESTS, SHARE, SPACE, WRITES};
use crate::generate::random::Random;
use crate::request::{Op, Request};

/// The address space that a workload fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressSpace {
    /// Its size; no request extends beyond it.
    pub capacity_bytes: u64,
    /// The page size of the device: the unit of `pages=` and the default size of requests.
    pub page_bytes: u32,
}

/// A workload.
pub struct Workload {
    /// Its name in a spec.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// The origin of the idea or of its figures.
    pub source: &'static str,
    /// Its keys, including the common ones.
    pub params: &'static [Param],
    /// Prepares the placement of requests; an error says what is impossible.
    pub(crate) placement: fn(&Params, &AddressSpace) -> PlacementResult,
}

/// Decides the address and size of each request.
pub(crate) trait Placement: Send {
    /// The offset and the length of the next request, in bytes.
    fn next_range(&mut self, op: Op, random: &mut Random) -> (u64, u64);

    /// Whether writes name streams. Then [`place`](Self::place) sets them.
    fn names_streams(&self) -> bool {
        false
    }

    /// Makes the next `count` requests of a course and appends them to `out`. Some of them may be
    /// on top of the course. A placement is called once for all of them, so that drawing a place
    /// can be compiled into the loop.
    fn place(&mut self, course: &mut Course, count: usize, out: &mut Vec<Request>) {
        if let Some(interval_ns) = course.interval_of_writes() {
            let place = |random: &mut Random| self.next_range(Op::Write, random);
            return course.next_writes(count, interval_ns, out, place);
        }
        out.extend((0..count).map(|_| course.next(|op, random| self.next_range(op, random))));
    }
}

/// A placement, or a sentence that says why it is impossible.
pub(crate) type PlacementResult = std::result::Result<Box<dyn Placement>, String>;

impl Workload {
    /// Checks the keys of a spec and adds the defaults.
    ///
    /// # Errors
    /// Unknown key, invalid value, or both `writes` and `requests`.
    pub fn resolve(&self, pairs: &[(String, String)]) -> Result<Params> {
        let resolve =
            |pairs: &[_]| spec::resolve(&format!("workload {}", self.name), pairs, self.params);
        let params = resolve(pairs)?;
        let given = |key: &str| pairs.iter().any(|(given, _)| given == key);
        match (given(WRITES.name), given(REQUESTS.name)) {
            (true, true) => {
                let what = "give `writes` or `requests`; each determines the other";
                Err(self.error(String::from(what)))
            }
            // Without writes, the default number of writes is that of all requests.
            (false, false) if params.share(READS.name) == Share::WHOLE => {
                let requests = params.count(WRITES.name).to_string();
                Ok(resolve(&[pairs, &[(REQUESTS.name.to_owned(), requests)]].concat())?)
            }
            _ => Ok(params),
        }
    }

    /// The capacity that it needs, in bytes; used if the user gives none. It is `space=`, or the
    /// space of which `pages=` is the touched share, else 1 GiB.
    ///
    /// # Errors
    /// Unknown key, invalid value, or a capacity beyond 64 bits.
    pub fn default_capacity(&self, pairs: &[(String, String)], page_bytes: u32) -> Result<u64> {
        let params = self.resolve(pairs)?;
        if let Some(Value::Size(space_bytes)) = params.get(SPACE.name) {
            return Ok(*space_bytes);
        }
        if params.get(PAGES.name).is_none() {
            return Ok(1 << 30);
        }
        let pages = params.count(PAGES.name);
        let share = match params.get(SHARE.name) {
            Some(Value::Share(share)) => *share,
            _ => Share::WHOLE,
        };
        let whole = (u128::from(pages) * u128::from(share.denominator()))
            .div_ceil(u128::from(share.numerator().max(1)));
        let bytes = whole.saturating_mul(u128::from(page_bytes));
        let fits = u64::try_from(bytes).ok().filter(|bytes| *bytes <= u64::MAX - (1 << 30));
        fits.ok_or_else(|| self.error(format!("{pages} pages of {page_bytes} bytes are too many")))
    }

    pub(crate) fn error(&self, what: String) -> Error {
        Error::Workload { workload: self.name, what }
    }
}
