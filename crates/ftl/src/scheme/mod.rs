//! The schemes, one file each; those of today's drives in [`placement`], those from outside in
//! [`guest`].

pub mod bast;
pub mod block;
pub mod dac;
pub mod dftl;
pub mod fast;
pub mod faster;
pub mod fmax;
pub mod guest;
pub mod last;
pub mod lsb;
pub mod nftl;
pub mod page;
pub mod placement;
pub mod superblock;
