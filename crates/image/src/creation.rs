//! Blank images.
//!
//! The superblock is written last, after everything else is durable. So an image whose creation was
//! interrupted is not taken for an image, or is complete.

use std::fs::{self, File};
use std::path::Path;

use crate::error::{Error, Result};
use crate::format::block_table::BlockTable;
use crate::format::checksum::checksum;
use crate::format::layout::{Layout, Room, SUPERBLOCK_BYTES};
use crate::format::superblock::Superblock;
use crate::medium::Medium;
use crate::medium::disk_file::DiskFile;
use crate::recipe::Recipe;

/// Creates an image of a factory-fresh chip in a new file. `uuid` are 16 random bytes, which tell
/// images apart.
///
/// # Errors
/// The file exists or cannot be written, or such an image is impossible. Then there is no file.
pub fn create_at(path: &Path, recipe: &Recipe, room: Room, uuid: [u8; 16]) -> Result<()> {
    let mut file = DiskFile::create(path)?;
    let created = create(&mut file, recipe, room, uuid).and_then(|()| sync_folder(path));
    if created.is_err() {
        // The first error says more than a failure to remove the file.
        let _ = fs::remove_file(path);
    }
    created
}

/// Makes the name of a new file durable.
fn sync_folder(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    Ok(File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?)
}

/// Creates an image of a factory-fresh chip in an empty file.
///
/// # Errors
/// The file is not empty or cannot be written, or such an image is impossible.
pub fn create(medium: &mut dyn Medium, recipe: &Recipe, room: Room, uuid: [u8; 16]) -> Result<()> {
    if !medium.is_empty()? {
        return Err(Error::Impossible("the file is not empty".into()));
    }
    let layout = Layout { geometry: recipe.geometry, room };
    layout.check().map_err(Error::Impossible)?;
    let table = BlockTable::blank(&layout).encode();
    let superblock = Superblock {
        recipe: recipe.clone(),
        room,
        uuid,
        generation: 1,
        operation: 0,
        table: 0,
        table_crc: checksum(&table),
        clean: true,
    };
    let head = superblock.encode()?;
    medium.set_len(layout.file_bytes())?;
    medium.write_at(&table, layout.table(0))?;
    medium.sync()?;
    for copy in 0..2 {
        medium.write_at(&head, copy * SUPERBLOCK_BYTES as u64)?;
        medium.sync()?;
    }
    Ok(())
}
