//! What blocks are for and what a scheme does with them, in the scheme's own words. Films show it.

use nand::{BlockId, Cause};

/// What a block is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRole {
    /// The block.
    pub block: BlockId,
    /// The scheme's word for it.
    pub name: &'static str,
    /// The number of the logical block, superblock or region that it serves, if it serves one.
    pub of: Option<u32>,
}

impl BlockRole {
    /// The role of a block that serves number `of`.
    pub fn of(block: BlockId, name: &'static str, of: u32) -> BlockRole {
        BlockRole { block, name, of: Some(of) }
    }

    /// The role of a block that serves nothing in particular.
    pub fn plain(block: BlockId, name: &'static str) -> BlockRole {
        BlockRole { block, name, of: None }
    }
}

/// Something that a scheme does, with a name and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Act {
    /// The cause of its operations.
    pub cause: Cause,
    /// The role of a block from which pages are copied; empty if it does not matter.
    pub from: &'static str,
    /// The role of the block that takes pages; empty if it does not matter.
    pub to: &'static str,
    /// The name, as the paper calls it.
    pub name: &'static str,
    /// What happens and why, in a sentence or two.
    pub says: &'static str,
}
