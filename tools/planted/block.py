"""The scheme block."""

# The checker attacks only these schemes, because the bugs affect no others.
SCHEMES = "block"

BLOCK = "crates/ftl/src/scheme/block.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("newer-block-kept", "block, mount: of two blocks for one logical block, the unfinished one is kept", BLOCK,
     "born[other.0 as usize] < born[block.0 as usize]",
     "born[other.0 as usize] > born[block.0 as usize]"),
    ("unfinished-block-left", "block, mount: the unfinished block is not given up", BLOCK,
     "        for block in unfinished {\n            self.pool.erase(nand, block, Cause::Meta)?;\n        }\n",
     "        let _ = unfinished;\n"),
    ("seal-forgotten", "block, mount: erased pages of an open block are trusted", BLOCK,
     "            self.used.insert_all(lbn * per_block..(lbn + 1) * per_block);\n",
     ""),
    ("block-suspect-trusted", "block, mount: the suspect page is left where it is", BLOCK,
     "used.first().map_or(Ok(()), |copy| {",
     "used.first().filter(|_| false).map_or(Ok(()), |copy| {"),
    ("block-erase-first", "block, rewrite: the old block is erased before the rest is copied", BLOCK,
     "            self.copy_live(nand, lbn, old, new, end..per_block, cause)?;\n        }",
     "            nand.erase(old, cause)?;\n            self.copy_live(nand, lbn, old, new, end..per_block, cause)?;\n        }"),
    ("block-base-forgotten", "block, write: a partial write loses the other sectors of the page", BLOCK,
     "let base = |lpn: Lpn| old.filter(|_| self.live.contains(lpn.0));",
     "let base = |lpn: Lpn| old.filter(|_| self.live.contains(lpn.0) && false);"),
    ("block-flush-forgotten", "block, tombstones: flush does nothing", BLOCK,
     "self.pool.flush(nand)",
     "{ let _ = nand.geometry(); Ok(()) }"),
]
