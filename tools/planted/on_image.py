"""Images below schemes and layers: what `check --on image` alone must notice."""

SCHEMES = "page,fast"
PACKAGES = ["ftlab-check --test on_image"]

IMAGE = "crates/image/src/"
BLOCK_TABLE = IMAGE + "format/block_table.rs"
HEALTH_CODE = IMAGE + "format/health_code.rs"
JOURNAL = IMAGE + "format/journal.rs"
PAGE_CODEC = IMAGE + "format/page_codec.rs"
RECOVERY = IMAGE + "recovery.rs"
SLOTS = IMAGE + "slots.rs"
STORE = IMAGE + "image_store.rs"
CELLS = "crates/nand/src/cells.rs"
OPERATIONS = "crates/nand/src/nand/operations.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("on-image-sync-ignored", "chip: a sync does not reach the storage", OPERATIONS,
     "        self.array.sync(SyncBy::Store).map(drop)",
     "        Ok(())"),
    ("on-image-sync-forgotten", "image: a sync of the chip does not sync the file", STORE,
     "            return Ok(());\n        }\n        self.sync_medium()?;\n        self.keep(self.journal)",
     "            return Ok(());\n        }\n        self.synced = true;\n        self.keep(self.journal)"),
    ("on-image-last-operation-unsynced", "image: a sync leaves the last operation out", STORE,
     "        for operations in self.buffer.chunks(FRAME_ENTRIES) {",
     "        for operations in self.buffer[..self.buffer.len() - 1].chunks(FRAME_ENTRIES) {"),
    ("on-image-prefix-not-cut", "image: an operation counts although its page is incomplete", RECOVERY,
     "if entry.number > self.settled && !is_whole",
     "if entry.number > u64::MAX - 1 && !is_whole"),
    ("on-image-subset-kept", "image: an incomplete operation is skipped, and later ones count", RECOVERY,
     "&& !is_whole(medium, layout, &entry)? {\n                break;",
     "&& !is_whole(medium, layout, &entry)? {\n                continue;"),
    ("on-image-settled-ignored", "image: pages of settled operations are looked for in their old slots", RECOVERY,
     "journal.settled = journal.settled.max(frame.durable);",
     "journal.settled = journal.settled.max(frame.durable * 0);"),
    ("on-image-slot-at-once", "image: a slot is used again at once after its erase", SLOTS,
     "        self.waiting.push_back((number, slot));",
     "        self.warm.push_back(slot + 0 * number as u32);"),
    ("on-image-slot-early", "image: a slot is used again one sync too early", STORE,
     "self.settled = self.settled.max(promise.durable);",
     "self.settled = self.settled.max(promise.operation);"),
    ("on-image-superblocks-together", "image: both superblocks are in flight at once", STORE,
     "            self.sync_medium()?;\n        }\n        self.buffer.clear();",
     "        }\n        self.sync_medium()?;\n        self.buffer.clear();"),
    ("on-image-table-in-place", "image: the block table that counts is overwritten", STORE,
     "let which = 1 - self.superblock.table;",
     "let which = self.superblock.table;"),
    ("on-image-crc-unchecked", "image: an operation counts although its data are incomplete", RECOVERY,
     " == record_crc && checked.fits(&data))",
     " == record_crc && (checked.fits(&data) || ppn.0 > 0))"),
    ("on-image-half-erase-lost", "image: a half-erased block comes back whole", BLOCK_TABLE,
     "let flags = if record.half_erased { HALF_ERASED } else { 0 };",
     "let flags = if record.half_erased { HALF_ERASED * 0 } else { 0 };"),
    ("on-image-half-erase-unjournaled", "image: the journal says erase where a block was half erased", JOURNAL,
     "Operation::HalfErase(block) => (4,",
     "Operation::HalfErase(block) => (2,"),
    ("on-image-wear-lost", "image: the wear of a block is not kept", BLOCK_TABLE,
     "put(&mut entry, 4, &record.erases.to_le_bytes());",
     "put(&mut entry, 4, &(record.erases * 0).to_le_bytes());"),
    ("on-image-unstable-good", "image: an unstable page comes back as a good one", HEALTH_CODE,
     "Health::Unstable => 4,",
     "Health::Unstable => 1,"),
    ("on-image-decay-forgotten", "image: pages that have decayed can be read after the next opening", JOURNAL,
     "5 => Some(Operation::Decay),",
     "5 => Some(Operation::HalfErase(BlockId(place))),"),
    ("on-image-wrong-sector", "chip: a partial write of bytes replaces the first sectors", CELLS,
     "                    let from = byte_span(index as usize..index as usize + 1);\n",
     "                    let from = byte_span(index as usize / 2..index as usize / 2 + 1);\n"),
    ("on-image-metadata-cut", "image: only the first half of a page's metadata comes back", PAGE_CODEC,
     "meta.truncate(self.meta_len);",
     "meta.truncate(self.meta_len / 2);"),
    ("on-image-stale-record", "image: a scan of spare areas reads records from before the last program", STORE,
     "        self.records.get_mut().slot = None;\n        self.medium",
     "        self.medium"),
    ("on-image-begin-without-frames", "image: the begin of a sync leaves the buffered operations out", STORE,
     "    fn begin(&mut self) -> io::Result<Option<SyncJob>> {\n        self.write_buffer()?;",
     "    fn begin(&mut self) -> io::Result<Option<SyncJob>> {"),
    ("on-image-job-idle", "image: the job of a sync does not sync the file", STORE,
     "move || job().map_err(storage)",
     "move || if true { Ok(()) } else { job().map_err(storage) }"),
    ("on-image-end-claims-now", "image: the end of a sync claims operations after its begin", STORE,
     "            image.keep(promise)",
     "            image.keep(Promise { operation: image.operation, ..promise })"),
    ("on-image-end-awaited", "image: a flush relies on a sync that has not ended", STORE,
     "self.synced && self.pending.is_none()",
     "self.synced"),
]
