//! sepgc: host writes and copies are kept apart (Van Houdt 2014; the baseline of SepBIT).
//!
//! ```text
//! class 0  host writes    [3 0 7 3 _ _]     a page that is still valid when its block is collected
//! class 1  copies         [5 1 9 _ _ _]     has lived long, and is likely to live on
//! ```
//! This is the least that a scheme can do to separate pages. Counts equal those of
//! `page:frontiers=2`.

use nand::{ChipModel, Nand};
use spec::{Param, Params};

use crate::contract::page_policy::{Class, HostWrite, MovedPage, PagePolicy};
use crate::contract::{Ftl, Lecture, MountConfig, Result, Scheme, table_bytes};
use crate::part::page::placed;
use crate::part::page::victims::registry;

const HOST: Class = 0;
const COPIES: Class = 1;

const PARAMS: &[&[Param]] = &[&[registry::victim_param("greedy")], &registry::OWN_PARAMS];

/// Host writes and copies apart.
pub static SCHEME: Scheme = Scheme {
    name: "sepgc",
    summary: "page mapping with one open block for host writes and one for copies",
    source: "Van Houdt: On the necessity of hot and cold data identification to reduce the write \
             amplification in flash-based SSDs, Performance Evaluation 82, 2014",
    lecture: Lecture::of(file!(), include_str!("sepgc.rs")),
    params: &spec::joined::<{ spec::total_len(PARAMS) }>(PARAMS),
    refuses: |params: &Params, _: &ChipModel| registry::refuses(params),
    least_extra: |_, _, _| placed::extra_blocks(2, 1),
    open_blocks: Some(|_| 2),
    memory: |_, geometry, _| table_bytes(geometry, 4, 48),
    mount,
    ..Scheme::PLAIN
};

fn mount(nand: &mut Nand, device: &MountConfig) -> Result<Box<dyn Ftl>> {
    placed::mount(nand, device, |_| SepGc)
}

/// The policy.
pub(super) struct SepGc;

impl PagePolicy for SepGc {
    fn classes(&self) -> Class {
        2
    }

    fn copy_classes(&self) -> Class {
        1
    }

    fn follows_times(&self) -> bool {
        false
    }

    fn place(&mut self, _: &HostWrite) -> Result<Class> {
        Ok(HOST)
    }

    fn place_copy(&mut self, _: &MovedPage) -> Result<Class> {
        Ok(COPIES)
    }
}
