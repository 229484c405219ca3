//! The head of the file, which is kept twice.
//!
//! The two copies are equal, except while the head changes. Then one copy is written and synced
//! before the other is touched, so that one of them is whole at any time.

use nand::{Geometry, Pairing, ProgramOrder};

use crate::error::{Error, Result};
use crate::format::bytes::{put, u16_at, u32_at, u64_at};
use crate::format::checksum::checksum_of_parts;
use crate::format::layout::{COUNT_MAX, Layout, Room, SUPERBLOCK_BYTES};
use crate::recipe::Recipe;

/// The format that this program reads and writes.
pub const VERSION: u32 = 2;
const MAGIC: &[u8; 8] = b"ftlabIMG";
const CRC_AT: usize = 12;
const TEXTS_AT: usize = 128;
const CLEAN: u32 = 1;
const ORDERS: [ProgramOrder; 3] =
    [ProgramOrder::Any, ProgramOrder::Ascending, ProgramOrder::Sequential];

/// The bytes of one copy.
pub(crate) type Bytes = [u8; SUPERBLOCK_BYTES];

/// What the head of an image says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Superblock {
    /// The chip, and what uses it.
    pub(crate) recipe: Recipe,
    /// Room for slots and journal.
    pub(crate) room: Room,
    /// The name of this image among all.
    pub(crate) uuid: [u8; 16],
    /// Counts the changes of the head.
    pub(crate) generation: u64,
    /// The last operation that the block table contains.
    pub(crate) operation: u64,
    /// Which block table counts: 0 or 1.
    pub(crate) table: u32,
    /// The checksum of this block table.
    pub(crate) table_crc: u32,
    /// Whether the image was closed in order, and not changed since.
    pub(crate) clean: bool,
}

impl Superblock {
    /// Places of all parts of the file.
    pub(crate) fn layout(&self) -> Layout {
        Layout { geometry: self.recipe.geometry, room: self.room }
    }

    /// The bytes of a copy.
    ///
    /// # Errors
    /// The texts are too long, or the file cannot exist.
    pub(crate) fn encode(&self) -> Result<Bytes> {
        self.layout().check().map_err(Error::Impossible)?;
        let mut bytes = [0; SUPERBLOCK_BYTES];
        put(&mut bytes, 0, MAGIC);
        put(&mut bytes, 8, &VERSION.to_le_bytes());
        put(&mut bytes, 16, &self.uuid);
        put(&mut bytes, 32, &self.generation.to_le_bytes());
        put(&mut bytes, 40, &self.operation.to_le_bytes());
        put(&mut bytes, 112, &self.recipe.capacity_bytes.to_le_bytes());
        put(&mut bytes, 120, &self.recipe.seed.to_le_bytes());
        for (at, number) in self.numbers() {
            put(&mut bytes, at, &number.to_le_bytes());
        }
        self.encode_texts(&mut bytes)?;
        let crc = own_checksum(&bytes);
        put(&mut bytes, CRC_AT, &crc.to_le_bytes());
        Ok(bytes)
    }

    /// Numbers of four bytes, with their places.
    fn numbers(&self) -> [(usize, u32); 13] {
        let geometry = &self.recipe.geometry;
        let order = geometry.program_order();
        let order = ORDERS.iter().position(|one| *one == order).unwrap_or_default() as u32;
        [
            (48, self.table),
            (52, self.table_crc),
            (56, if self.clean { CLEAN } else { 0 }),
            (60, self.room.spare_slots),
            (64, self.room.frames),
            (68, geometry.page_bytes()),
            (72, geometry.spare_bytes()),
            (76, geometry.pages_per_block()),
            (80, geometry.blocks()),
            (84, order),
            (88, geometry.pairing().bits),
            (92, geometry.pairing().distance),
            (96, geometry.dies() - 1),
        ]
    }

    fn encode_texts(&self, bytes: &mut Bytes) -> Result<()> {
        let Recipe { chip, scheme, layers, parameters, media, .. } = &self.recipe;
        let mut at = TEXTS_AT;
        for text in [chip, scheme, layers, parameters, media] {
            if at + 2 + text.len() > SUPERBLOCK_BYTES {
                let room = SUPERBLOCK_BYTES - TEXTS_AT - 10;
                let why = format!("the names and parameters take more than {room} bytes");
                return Err(Error::Impossible(why));
            }
            put(bytes, at, &(text.len() as u16).to_le_bytes());
            put(bytes, at + 2, text.as_bytes());
            at += 2 + text.len();
        }
        Ok(())
    }

    /// Whether a file that begins so could be an image.
    pub(crate) fn is_magic(bytes: &[u8; 8]) -> bool {
        bytes == MAGIC
    }

    /// Reads a copy.
    ///
    /// # Errors
    /// It is no superblock, one of another format, or damaged.
    pub(crate) fn decode(bytes: &Bytes) -> Result<Superblock> {
        let damaged = |why: &str| Err(Error::Damaged(format!("superblock: {why}")));
        if &bytes[..8] != MAGIC {
            return Err(Error::Foreign);
        }
        if u32_at(bytes, CRC_AT) != own_checksum(bytes) {
            return damaged("wrong checksum");
        }
        let found = u32_at(bytes, 8);
        if found != VERSION {
            return Err(Error::OtherFormat { found, known: VERSION });
        }
        let (table, flags) = (u32_at(bytes, 48), u32_at(bytes, 56));
        if table > 1 || flags & !CLEAN != 0 {
            return damaged("impossible block table or flags");
        }
        let (generation, operation) = (u64_at(bytes, 32), u64_at(bytes, 40));
        if generation > COUNT_MAX || operation > COUNT_MAX {
            return damaged("impossible generation or operation");
        }
        let room = Room { spare_slots: u32_at(bytes, 60), frames: u32_at(bytes, 64) };
        let recipe = decode_recipe(bytes)?;
        if let Err(why) = (Layout { geometry: recipe.geometry, room }).check() {
            return damaged(&why);
        }
        Ok(Superblock {
            recipe,
            room,
            uuid: bytes[16..32].try_into().expect("16 bytes"),
            generation,
            operation,
            table,
            table_crc: u32_at(bytes, 52),
            clean: flags & CLEAN != 0,
        })
    }
}

fn decode_recipe(bytes: &Bytes) -> Result<Recipe> {
    let mut texts = Texts { bytes, at: TEXTS_AT };
    let (chip, scheme) = (texts.next()?, texts.next()?);
    let (layers, parameters, media) = (texts.next()?, texts.next()?, texts.next()?);
    let geometry = decode_geometry(bytes)?;
    let (capacity_bytes, seed) = (u64_at(bytes, 112), u64_at(bytes, 120));
    Ok(Recipe { geometry, chip, scheme, layers, parameters, media, seed, capacity_bytes })
}

fn decode_geometry(bytes: &Bytes) -> Result<Geometry> {
    let damaged = |why: String| Error::Damaged(format!("superblock: {why}"));
    let order = u32_at(bytes, 84);
    let Some(&order) = ORDERS.get(order as usize) else {
        return Err(damaged(format!("program order {order}")));
    };
    let [page, spare, per_block, blocks] = [68, 72, 76, 80].map(|at| u32_at(bytes, at));
    let pairing = Pairing { bits: u32_at(bytes, 88), distance: u32_at(bytes, 92) };
    let geometry = Geometry::new(page, spare, per_block, blocks, order);
    let further_dies = u32_at(bytes, 96);
    let geometry = geometry.and_then(|geometry| {
        geometry.with_pairing(pairing)?.with_dies(further_dies.saturating_add(1))
    });
    geometry.map_err(|error| damaged(error.to_string()))
}

/// Texts of a superblock, one after the other.
struct Texts<'a> {
    bytes: &'a Bytes,
    at: usize,
}

impl Texts<'_> {
    fn next(&mut self) -> Result<String> {
        let damaged = || Error::Damaged("superblock: a text that is none".into());
        let start = self.at + 2;
        if start > SUPERBLOCK_BYTES {
            return Err(damaged());
        }
        self.at = start + usize::from(u16_at(self.bytes, self.at));
        let text = self.bytes.get(start..self.at).ok_or_else(damaged)?;
        String::from_utf8(text.to_vec()).map_err(|_| damaged())
    }
}

fn own_checksum(bytes: &Bytes) -> u32 {
    checksum_of_parts(&[&bytes[..CRC_AT], &bytes[CRC_AT + 4..]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn superblock(parameters: String) -> Superblock {
        let recipe = Recipe {
            geometry: Geometry::new(512, 32, 4, 4, ProgramOrder::Any).unwrap(),
            chip: String::new(),
            scheme: "page".into(),
            layers: String::new(),
            parameters,
            media: String::new(),
            seed: 5,
            capacity_bytes: 4096,
        };
        Superblock {
            recipe,
            room: Room { spare_slots: 2, frames: 1 },
            uuid: [7; 16],
            generation: COUNT_MAX,
            operation: COUNT_MAX,
            table: 1,
            table_crc: 9,
            clean: true,
        }
    }

    #[test]
    fn texts_may_take_all_the_room_and_no_more() {
        let room = SUPERBLOCK_BYTES - TEXTS_AT - 10 - "page".len();
        let full = superblock("x".repeat(room));
        assert_eq!(Superblock::decode(&full.encode().unwrap()).unwrap(), full);
        for more in 1..4 {
            let refused = superblock("x".repeat(room + more)).encode().unwrap_err().to_string();
            assert!(
                refused.contains("the names and parameters take more than 3958 bytes"),
                "{refused}"
            );
        }
    }

    #[test]
    fn each_number_has_its_limit() {
        let decoded = |at: usize, number: &[u8]| {
            let mut bytes = superblock(String::new()).encode().unwrap();
            put(&mut bytes, at, number);
            let crc = own_checksum(&bytes);
            put(&mut bytes, CRC_AT, &crc.to_le_bytes());
            Superblock::decode(&bytes).is_ok()
        };
        let beyond = (COUNT_MAX + 1).to_le_bytes();
        assert!(decoded(32, &COUNT_MAX.to_le_bytes()) && !decoded(32, &beyond));
        assert!(decoded(40, &COUNT_MAX.to_le_bytes()) && !decoded(40, &beyond));
        assert!(decoded(48, &0_u32.to_le_bytes()) && !decoded(48, &2_u32.to_le_bytes()));
        assert!(decoded(56, &0_u32.to_le_bytes()) && !decoded(56, &2_u32.to_le_bytes()));
        let beyond = [3965_u16, 3966].map(u16::to_le_bytes);
        assert!(
            beyond.iter().all(|bytes| !decoded(TEXTS_AT, bytes)),
            "the next text is beyond the end"
        );
    }
}
