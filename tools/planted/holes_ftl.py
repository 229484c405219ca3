"""Translation pages that are lost, and the clock, the ages and the classes of pages after a mount."""

PACKAGES = ["ftlab-ftl --test page_granular dftl", "ftlab-ftl --test page_granular placed"]

DFTL = "crates/ftl/src/scheme/dftl"
READING = f"{DFTL}/reading.rs"
DAC = "crates/ftl/src/scheme/dac/mod.rs"
PAGE_MAP = "crates/ftl/src/part/page/page_map.rs"
PLACED = "crates/ftl/src/part/page/placed.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("hole-lost-map-stays-lost", "dftl: a translation page that cannot be read is not written anew", f"{DFTL}/mod.rs",
     "        if !is_in_flash {\n",
     "        if !is_in_flash && self.capacity == 0 {\n"),
    ("hole-lost-map-fails", "dftl: a read fails because its translation page cannot be read", READING,
     "            Err(nand::Error::Unreadable(_)) => {}\n",
     ""),
    ("hole-lost-map-free", "dftl: to look through all spare areas takes no reads", READING,
     "            nand.book_spare_reads([page], Cause::Map)?;\n",
     "            let _ = page;\n"),
    ("hole-lost-map-unmountable", "dftl, mount: it fails if a translation page cannot be read", READING,
     "unless_lost(nand, read.map_err(Into::into))?.unwrap_or_default()",
     "unless_lost(nand, read.map_err(Into::into))?.expect(\"a readable page\")"),
    ("hole-cache-large-after-mount", "dftl, mount: the cache stays larger than its RAM", f"{DFTL}/recovery.rs",
     "        self.shrink_to(nand, self.capacity)\n",
     "        Ok(())\n"),
    ("hole-clock-restarts", "placement, mount: the clock of host pages begins at zero", PAGE_MAP,
     "            self.written = sequence;\n",
     ""),
    ("hole-clock-of-first-block", "placement, mount: the clock continues from the block that is oldest", PAGE_MAP,
     "            self.written = sequence;\n",
     "            self.written = if self.written == 0 { sequence } else { self.written };\n"),
    ("hole-ages-from-zero", "placement, mount: all pages count as written when the device was new", PLACED,
     "        self.written.fill(now);\n",
     ""),
    ("hole-lives-from-zero", "placement, mount: all blocks count as opened when the device was new", PLACED,
     "            (life.opened, life.filled) = (now, now);\n",
     "            (life.opened, life.filled) = (0, now);\n"),
    ("hole-filled-from-zero", "placement, mount: all blocks count as filled when the device was new", PLACED,
     "            (life.opened, life.filled) = (now, now);\n",
     "            (life.opened, life.filled) = (now, 0);\n"),
]
