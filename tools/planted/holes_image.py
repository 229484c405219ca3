"""Image files and damaged disks: superblocks, generations, and what is saved of a damaged file."""

PACKAGES = ["ftlab-image", "ftlab-disk --test disk damage"]

BLOCK_TABLE = "crates/image/src/format/block_table.rs"
RECOVERY = "crates/image/src/recovery.rs"
SALVAGE = "crates/image/src/salvage.rs"
STORE = "crates/image/src/image_store.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("hole-superblocks-mixed", "image: superblocks of two images are taken for one", RECOVERY,
     "if one.uuid != other.uuid => {",
     "if one.uuid != other.uuid && one.generation == other.generation => {"),
    ("hole-superblock-copy-mistaken", "image: the first copy counts as current although the second is newer", RECOVERY,
     "if one.generation < other.generation => Ok((other, 1)),",
     "if one.generation < other.generation => Ok((other, 0)),"),
    ("hole-newer-format-passed-over", "image: an old copy is used although the other has a later format", RECOVERY,
     "[Err(error @ Error::OtherFormat { .. }), _]\n        | [_, Err(error @ Error::OtherFormat { .. })] => Err(error),",
     "[Err(error @ Error::OtherFormat { .. }), Err(_)] => Err(error),"),
    ("hole-head-unreadable-foreign", "image: a head that the disk cannot read is no image", RECOVERY,
     "        medium.read_at(&mut copy, at)?;\n        Superblock::decode(&copy)",
     "        let _ = medium.read_at(&mut copy, at);\n        Superblock::decode(&copy)"),
    ("hole-slot-of-two-blocks", "image: two blocks that are not neighbours have one slot", BLOCK_TABLE,
     "        used.sort_unstable();\n",
     ""),
    ("hole-salvage-first-slot", "salvage: of two slots with pages of a block, the first counts", SALVAGE,
     "*place = (*place).max(Some((operation, slot)));",
     "*place = (*place).or(Some((operation, slot)));"),
    ("hole-salvage-stale-page", "salvage: pages of an earlier use of a slot come back", SALVAGE,
     "if operation < last && order != ProgramOrder::Any {",
     "if operation < last && order == ProgramOrder::Sequential {"),
    ("hole-salvage-any-order", "salvage: pages that were programmed in any order are left out", SALVAGE,
     "if operation < last && order != ProgramOrder::Any {",
     "if operation < last && (order != ProgramOrder::Any || last > 0) {"),
    ("hole-salvage-number", "salvage: operations are numbered on from the oldest block", SALVAGE,
     "operation).max().unwrap_or(0))",
     "operation).min().unwrap_or(0))"),
    ("hole-salvage-longer-hides", "salvage: a file that is too long is said to hide pages", SALVAGE,
     "hides_pages: found < made",
     "hides_pages: found != made"),
    ("hole-salvage-head-number", "salvage: the other superblock is said to be damaged", SALVAGE,
     'format!("superblock {number}: {error}")',
     'format!("superblock {}: {error}", 1 - number)'),
    ("hole-salvage-writes", "salvage: changes go to the damaged file", STORE,
     "ImageStore::new(Box::new(View::of(medium)?), recovered)",
     "ImageStore::new(medium, recovered)"),
    ("hole-unreadable-data-whole", "image: a data area that the disk cannot read is not damaged", STORE,
     "(with_data && !(read.is_ok() && record.fits(&data)))",
     "(with_data && read.is_ok() && !record.fits(&data))"),
]
