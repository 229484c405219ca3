//! The reader of all workloads.

use spec::Params;

use crate::error::Result;
use crate::generate::course::Course;
use crate::generate::workload::{AddressSpace, Placement, Workload};
use crate::reader::{BATCH, ReadReport, Reader};
use crate::request::Request;

/// The reader of a workload.
pub(crate) struct Generator {
    name: &'static str,
    placement: Box<dyn Placement>,
    course: Course,
}

impl Generator {
    /// Checks all parameters, so that generating requests cannot fail.
    pub(crate) fn new(
        workload: &'static Workload,
        params: &Params,
        space: &AddressSpace,
        seed: u64,
    ) -> Result<Generator> {
        let impossible = |what| workload.error(what);
        Ok(Generator {
            name: workload.name,
            course: Course::new(params, seed).map_err(impossible)?,
            placement: (workload.placement)(params, space).map_err(impossible)?,
        })
    }

    /// Whether writes name streams.
    pub(crate) fn names_streams(&self) -> bool {
        self.placement.names_streams()
    }

    /// The number of requests.
    pub(crate) fn requests(&self) -> u64 {
        self.course.requests()
    }
}

impl Reader for Generator {
    fn next_batch(&mut self, out: &mut Vec<Request>, max: usize) -> Result<usize> {
        let left = self.course.requests() - self.course.done();
        let count = (max as u64).min(left) as usize;
        for first in (0..count).step_by(BATCH) {
            self.placement.place(&mut self.course, BATCH.min(count - first), out);
        }
        Ok(count)
    }

    fn position_bytes(&self) -> u64 {
        self.course.done()
    }

    fn report(&self) -> ReadReport {
        ReadReport { devices: vec![self.name.to_owned()], ..ReadReport::default() }
    }
}
