"""Damaged flash: pages without readable data, and contents that no FTL wrote."""

PACKAGES = ["ftlab-nand --test chip", "ftlab-check --test damage"]

STORED_PAGES = "crates/nand/src/flash_array/stored_pages.rs"
FLASH_ARRAY = "crates/nand/src/flash_array/mod.rs"
RMW = "crates/ftl/src/part/map/rmw.rs"
BELOW = "crates/ftl/src/layer/below.rs"
SCAN = "crates/ftl/src/part/recovery/spare_scan.rs"
READING = "crates/ftl/src/scheme/dftl/reading.rs"
SECTOR_LOG = "crates/ftl/src/layer/sector_log/cleaning.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("lost-copy-heals", "lost data: a copy of an unreadable page can be read", STORED_PAGES,
     "        if is_lost {", "        if is_lost && tentative {"),
    ("lost-page-unstable", "lost data: a cut makes an unreadable page readable until it decays", FLASH_ARRAY,
     "(Health::Unstable, Health::DataLost, _) => return Ok(()),",
     "(Health::Torn, Health::DataLost, _) => return Ok(()),"),
    ("lost-base-unchecked", "lost data: a write finds out too late that it needs an unreadable page", RMW,
     "    if nand.array().keeps_pages() { check_ends", "    if nand.has_guard() && nand.mounting().is_tentative() { check_ends"),
    ("lost-tail-unchecked", "lost data: a write does not check what its last page needs", RMW,
     "let last = if run.pages > 1 { Some(run.pages - 1) } else { None };", "let last: Option<u32> = None;"),
    ("lost-rest-zero", "lost data: a page that leaves a layer reads zero where its rest is lost", BELOW,
     "tail: full, data: Data::Lost, ..*run", "tail: full, ..*run"),
    ("lost-log-page-stale", "lost data: sectors of an unreadable page of the sector log are left out", SECTOR_LOG,
     "            self.write_lost(nand, lpn, mask)?;\n        }\n        self.counts.evicts", "        }\n        self.counts.evicts"),
    ("lost-entries-clean", "lost data: the entries of a lost translation page are not looked for", READING,
     "            done => return Ok(done.map(|()| true)?),\n        }", "            done => return Ok(done.map(|()| true)?),\n        }\n        nand.read_meta(ppn, Cause::Map)?;"),
    ("crafted-order-unchecked", "mount: pages in an impossible order are believed", SCAN,
     "        _ if before < spare.sequence => Ok(()),", "        _ if before < u64::MAX => Ok(()),"),
]
