//! Attacks on images: crashes at every write, damage of every byte, failing disks.

mod chip;
mod crafted;
mod crashes;
mod creation;
mod damage;
mod failures;
mod fixture;
mod headers;
mod heads;
mod random;
mod salvage;
mod split_syncs;
mod work;
