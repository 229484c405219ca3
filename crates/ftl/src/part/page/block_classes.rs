//! The class of each block, which is that of all its valid pages: blocks are filled by class, and
//! emptied as a whole.
//!
//! The class of a page is in the upper half of its kind byte, so classes survive a power cut as far
//! as 4 bits go.

use nand::{BlockId, Geometry, Lpn, Nand};

use crate::contract::page_policy::Class;
use crate::contract::{Error, Result, Violation, ensure};
use crate::part::page::page_map::PageMap;
use crate::part::recovery::page_kind;
use crate::part::recovery::spare_scan::PageCopy;

/// Maximum number of classes that survive a power cut.
pub const KEPT_CLASSES_MAX: Class = 16;
/// The class of a block that has none.
const NOWHERE: Class = Class::MAX;

/// The class of each block that was opened; it means nothing after the next erase.
#[derive(Debug)]
pub struct BlockClasses {
    of_block: Vec<Class>,
    classes: usize,
}

impl BlockClasses {
    /// No block has a class yet.
    pub fn new(geometry: &Geometry, classes: usize) -> BlockClasses {
        BlockClasses { of_block: vec![NOWHERE; geometry.blocks() as usize], classes }
    }

    /// The class of a block.
    #[inline]
    pub fn of(&self, block: BlockId) -> Class {
        self.of_block[block.0 as usize]
    }

    /// Sets the class of a block that is opened.
    pub fn set(&mut self, block: BlockId, class: Class) {
        debug_assert!(usize::from(class) < self.classes, "{block:?} is put into class {class}");
        self.of_block[block.0 as usize] = class;
    }

    /// All blocks with their classes.
    pub fn iter(&self) -> impl Iterator<Item = (BlockId, Class)> + '_ {
        (0..).map(BlockId).zip(self.of_block.iter().copied())
    }

    /// The blocks that have a class.
    pub fn iter_classed(&self) -> impl Iterator<Item = (BlockId, Class)> + '_ {
        self.iter().filter(|&(_, class)| class != NOWHERE)
    }

    /// The kind of a page in a class.
    pub fn kind_in(&self, class: Class) -> u8 {
        if self.are_kept() { page_kind::DATA | class << 4 } else { page_kind::DATA }
    }

    /// The class of a page of this kind.
    fn class_of(&self, kind: u8) -> Class {
        (kind >> 4).min(self.classes as Class - 1)
    }

    fn are_kept(&self) -> bool {
        self.classes <= usize::from(KEPT_CLASSES_MAX)
    }

    /// Notes that a mount found the newest copy of a page.
    ///
    /// # Errors
    /// The block holds pages of another class, too.
    pub fn found(&mut self, geometry: &Geometry, copy: PageCopy) -> Result<()> {
        let (block, class) = (geometry.block_of(copy.ppn), self.class_of(copy.spare.kind));
        let other = core::mem::replace(&mut self.of_block[block.0 as usize], class);
        match other == NOWHERE || other == class {
            true => Ok(()),
            false => {
                let what = format!("{block:?} holds pages of classes {other} and {class}");
                Err(Error::Unmountable(what))
            }
        }
    }

    /// Checks that the class of each page is the one in its spare area.
    ///
    /// # Errors
    /// The first page of which this is not true.
    pub fn audit(&self, nand: &Nand, map: &PageMap) -> core::result::Result<(), Violation> {
        for lpn in (0..map.logical_pages()).map(Lpn) {
            let Some(ppn) = map.flat.newest(lpn) else { continue };
            let class = self.of(nand.geometry().block_of(ppn));
            ensure!(usize::from(class) < self.classes, "{lpn:?} is mapped, but in no class");
            let spare = self.are_kept().then(|| nand.array().peek_spare(ppn).ok().flatten());
            let own = spare.flatten().map_or(class, |(spare, _)| self.class_of(spare.kind));
            ensure!(own == class, "{lpn:?} is in class {own}, but recorded in class {class}");
        }
        Ok(())
    }
}
