//! Runs whose pages a policy from outside places.

use std::sync::Arc;

use ftl::contract::page_policy::{
    Candidates, Class, ErasedBlock, HostWrite, MovedPage, PagePolicy, PlacedDevice, PolicySource,
};
use sim::{Error, Experiment, RunOptions, RunResult, Setup, run};

/// Host writes and copies in blocks of their own.
#[derive(Debug)]
struct Separated {
    classes: Class,
}

impl PolicySource for Separated {
    fn name(&self) -> &'static str {
        "Separated, written in Rust"
    }

    fn policy(&self, device: &PlacedDevice) -> ftl::Result<Box<dyn PagePolicy>> {
        assert_eq!((device.page_bytes, device.pages_per_block), (2048, 64));
        assert_eq!((device.logical_pages, device.extra_blocks), (8192, 13));
        Ok(Box::new(Separated { classes: self.classes }))
    }
}

impl PagePolicy for Separated {
    fn classes(&self) -> Class {
        self.classes
    }

    fn place(&mut self, _: &HostWrite) -> ftl::Result<Class> {
        Ok(0)
    }

    fn place_copy(&mut self, _: &MovedPage) -> ftl::Result<Class> {
        Ok(1)
    }

    fn chooses_victims(&self) -> bool {
        false
    }

    fn victim(&mut self, _: &Candidates) -> ftl::Result<usize> {
        unreachable!("the scheme chooses victims")
    }

    fn erased(&mut self, _: &ErasedBlock) -> ftl::Result<()> {
        Ok(())
    }
}

fn placed(classes: Class, ftl: &str) -> Result<RunResult, Error> {
    let experiment = Experiment {
        trace: Some("uniform:writes=20K,reads=10%".into()),
        capacity_bytes: Some(16 << 20),
        extra: Some("13blocks".parse().unwrap()),
        ftl: ftl.into(),
        verify: true,
        ..Experiment::default()
    };
    let policy: Option<Arc<dyn PolicySource>> = Some(Arc::new(Separated { classes }));
    run(&Setup::new(&experiment).unwrap(), RunOptions { policy, ..RunOptions::default() })
}

#[test]
fn a_result_names_the_policy_that_placed_its_pages() {
    let result = placed(2, "page").unwrap();
    assert_eq!(result.ftl.name, "page");
    assert_eq!(result.ftl.params["policy"], "Separated, written in Rust");
    let note = "the pages were not placed by page, but by a policy: Separated, written in Rust";
    assert!(result.notes.iter().any(|known| known == note), "{:?}", result.notes);
    assert!(result.copies.gc > 0, "garbage collection had nothing to copy");
}

#[test]
fn only_page_takes_a_policy_and_only_one_that_fits() {
    let why = |classes, ftl| {
        let error = placed(classes, ftl).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{error}");
        error.to_string()
    };
    assert!(why(2, "fast").starts_with("fast: it takes no policy"));
    assert!(why(7, "page").ends_with("at least 14 extra blocks, this device has 13"));
}
