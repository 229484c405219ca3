//! A policy of page mapping: which pages share a block, and which block is collected. Schemes that
//! separate pages are policies, and others come from outside.
//!
//! ```text
//! write of the host ──place──────▶ class ─▶ open block of the class ─▶ full: a candidate
//! copy of a page    ──place_copy─▶ class ─▶          "                     │
//!                     erased ◀── the block is erased, its copies made ◀── victim
//! ```
//! A class has one open block, so pages of one class share blocks. What separates a good placement
//! from others is the choice of the class: pages that die at about the same time should share a
//! block. Ages are counted in pages that the host has written; a policy sees no time.

use core::fmt::Debug;

use nand::{BlockId, Lpn};

use super::error::{Error, Result};
use super::report::Metric;

/// A number of a class, from 0.
pub type Class = u8;

/// Where policies come from. Each mount gets a new one.
pub trait PolicySource: Debug + Send + Sync {
    /// The name that results give for it, with what it is written in.
    fn name(&self) -> &str;

    /// A policy for a device on which no page is written.
    ///
    /// # Errors
    /// There is none, with the reason.
    fn policy(&self, device: &PlacedDevice) -> Result<Box<dyn PagePolicy>>;
}

/// The device on which a policy places pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedDevice {
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Pages that the host sees.
    pub logical_pages: u32,
    /// Blocks beyond the capacity.
    pub extra_blocks: u32,
}

/// A policy. The caller asks once for each page, in the order of the writes.
///
/// An error of a policy ends the run. So does a class that it does not have, and a victim that is
/// not among the candidates.
pub trait PagePolicy: Send {
    /// Number of classes, at least 1. It never changes.
    fn classes(&self) -> Class;

    /// Number of classes that can receive copies. It never changes.
    fn copy_classes(&self) -> Class {
        self.classes()
    }

    /// Whether the policy needs lifespans and ages of pages, and the classes that they leave. It is
    /// asked once. If not, these are none and 0, and nothing is spent on them.
    fn follows_times(&self) -> bool {
        true
    }

    /// The blocks of a reclaim unit, if the policy separates reclaim units: they are collected as a
    /// whole and reported. It is asked once.
    fn unit_blocks(&self) -> Option<u32> {
        None
    }

    /// The class of a page that the host writes.
    ///
    /// # Errors
    /// The policy failed.
    fn place(&mut self, write: &HostWrite) -> Result<Class>;

    /// The class of a page that garbage collection copies.
    ///
    /// # Errors
    /// The policy failed.
    fn place_copy(&mut self, copy: &MovedPage) -> Result<Class>;

    /// Whether [`victim`](Self::victim) is to be called. It is asked once. If not, the scheme
    /// chooses victims as its parameters say.
    fn chooses_victims(&self) -> bool {
        false
    }

    /// The position of the next victim among the candidates, of which there is at least one.
    ///
    /// # Errors
    /// The policy failed.
    fn victim(&mut self, _candidates: &Candidates) -> Result<usize> {
        Err(Error::Policy(String::from("the policy does not choose victims")))
    }

    /// Tells what became of a block that was collected.
    ///
    /// # Errors
    /// The policy failed.
    fn erased(&mut self, _block: &ErasedBlock) -> Result<()> {
        Ok(())
    }

    /// Bytes of RAM that a controller would spend on what the policy keeps.
    fn ram_bytes(&self) -> u64 {
        0
    }

    /// Metrics of its own, for the report of the scheme. They count since the mount: nobody tells
    /// a policy when a measurement begins.
    fn figures(&self) -> Vec<(&'static str, Metric)> {
        Vec::new()
    }
}

/// A page that the host writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostWrite {
    /// The page.
    pub lpn: Lpn,
    /// Host pages written before it.
    pub now: u64,
    /// Host pages from the last write of the page to this one, which counts: 1 if the page is
    /// written twice in a row. None if the page holds nothing, because it is new or was trimmed.
    pub lifespan: Option<u64>,
    /// The class that the page leaves, if it holds something.
    pub class: Option<Class>,
    /// Size of the request of the host, in bytes.
    pub request_bytes: u64,
    /// The stream that the host names, from 1; 0 if it names none.
    pub stream: u8,
}

/// A valid page in a victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MovedPage {
    /// The page.
    pub lpn: Lpn,
    /// Host pages written so far.
    pub now: u64,
    /// Host pages written since the host wrote the page.
    pub age: u64,
    /// The class of the victim.
    pub class: Class,
}

/// The full blocks with at least one dead page, in the order of their numbers. Each list has one
/// entry for each block.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    /// Their numbers.
    pub blocks: Vec<u32>,
    /// Valid pages of each.
    pub valid: Vec<u32>,
    /// Host pages written since each was full.
    pub ages: Vec<u64>,
    /// The class of each.
    pub classes: Vec<Class>,
    /// Erases that each has taken. On media that can fail: the block of the chip that stands behind
    /// its number.
    pub erases: Vec<u32>,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Host pages written so far.
    pub now: u64,
}

/// A block that was collected and erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErasedBlock {
    /// The block.
    pub block: BlockId,
    /// Its class.
    pub class: Class,
    /// Host pages written from the opening of the block to its collection.
    pub lifespan: u64,
    /// Pages that were valid and had to be copied.
    pub copied: u32,
    /// Host pages written so far.
    pub now: u64,
}
