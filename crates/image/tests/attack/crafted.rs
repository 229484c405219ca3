//! Images under right checksums that this program would never write.

use image::layout::{BLOCK_ENTRY_BYTES, Layout, SUPERBLOCK_BYTES};
use image::medium::shared_bytes::SharedBytes;
use image::{Error, ImageStore, LossyDisk};

use crate::fixture::{NARROW, blank, refusal, tiny};

/// The checksum of a part.
fn checksum(parts: &[&[u8]]) -> [u8; 4] {
    crc32fast::hash(&parts.concat()).wrapping_mul(0x9E37_79B1).to_le_bytes()
}

/// A blank image, with other bytes at a place of both superblocks.
fn with_head(place: usize, new: &[u8]) -> Vec<u8> {
    with_copies(&[0, 1], place, new)
}

/// The same for some of the superblocks.
fn with_copies(copies: &[usize], place: usize, new: &[u8]) -> Vec<u8> {
    let mut bytes = blank(tiny(), NARROW).to_vec();
    for copy in copies {
        let copy = &mut bytes[copy * SUPERBLOCK_BYTES..][..SUPERBLOCK_BYTES];
        copy[place..place + new.len()].copy_from_slice(new);
        let crc = checksum(&[&copy[..12], &copy[16..]]);
        copy[12..16].copy_from_slice(&crc);
    }
    bytes
}

fn salvage(bytes: impl Into<SharedBytes>) -> image::Result<ImageStore> {
    Ok(ImageStore::salvage(Box::new(LossyDisk::of(bytes.into())))?.0)
}

#[test]
fn numbers_that_could_overflow_are_refused() {
    let right = "the image is damaged: superblock: impossible generation or operation";
    for place in [32, 40] {
        let bytes = with_head(place, &u64::MAX.to_le_bytes());
        assert_eq!(refusal(bytes.clone()), right);
        assert_eq!(salvage(bytes).err().unwrap().to_string(), right);
    }
}

/// A record that claims a number near the highest is not believed.
#[test]
fn a_record_with_an_impossible_number_is_not_salvaged() {
    let layout = Layout { geometry: tiny(), room: NARROW };
    let record_with = |number: u64| {
        let mut bytes = with_head(52, &[0; 4]);
        let at = layout.slot(0) as usize;
        let record = &mut bytes[at..at + layout.record_bytes()];
        record[8..16].copy_from_slice(&number.to_le_bytes());
        let crc = checksum(&[&record[4..]]);
        record[..4].copy_from_slice(&crc);
        salvage(bytes).unwrap().operation()
    };
    assert_eq!(record_with(9), 9);
    assert_eq!(record_with(u64::MAX), 0);
}

/// Otherwise a head that claims a large chip would take memory for it.
#[test]
fn a_file_that_ends_before_its_first_page_is_not_salvaged() {
    let layout = Layout { geometry: tiny(), room: NARROW };
    let bytes = blank(tiny(), NARROW).to_vec();
    let length = layout.slot(1) as usize;
    assert!(salvage(bytes[..length].to_vec()).is_ok());
    assert!(matches!(salvage(bytes[..length - 1].to_vec()), Err(Error::Length { .. })));
    let large = with_head(80, &(1_u32 << 29).to_le_bytes());
    assert!(matches!(salvage(large), Err(Error::Length { .. })));
}

/// The older copy may describe a state that the newer format no longer keeps.
#[test]
fn an_image_with_one_superblock_of_another_format_is_refused() {
    for (copy, format) in [(0, 1), (1, 1), (0, 3), (1, 3)] {
        let why = refusal(with_copies(&[copy], 8, &[format]));
        assert_eq!(why, format!("the image has format {format}; this program reads format 2"));
    }
}

#[test]
fn two_blocks_in_one_slot_are_refused_wherever_they_are() {
    let layout = Layout { geometry: tiny(), room: NARROW };
    let place = layout.table(0) as usize;
    let mut table = blank(tiny(), NARROW).to_vec()[place..][..layout.table_bytes()].to_vec();
    for (block, slot) in [(0, 1), (1, 2), (3, 1)] {
        table[block * BLOCK_ENTRY_BYTES] = slot;
        table[block * BLOCK_ENTRY_BYTES + 1..][..3].fill(0);
    }
    let mut bytes = with_head(52, &checksum(&[&table]));
    bytes[place..][..table.len()].copy_from_slice(&table);
    assert_eq!(refusal(bytes), "the image is damaged: two blocks are in slot 1");
}
