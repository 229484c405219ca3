"""Wear levelling: which blocks change places, what moves, what a cut leaves, what it costs."""

PACKAGES = [
    "ftlab-nand",
    "ftlab-sim --test wear",
    "ftlab-check --test known_cuts",
]

LEVEL = "crates/nand/src/nand/level.rs"
LEVELLING = "crates/nand/src/nand/wear/levelling.rs"
SWAP = "crates/nand/src/nand/wear/swap.rs"
MEDIA = "crates/nand/src/nand/media/mod.rs"
MOUNT = "crates/nand/src/nand/media_mount.rs"
LIST = "crates/nand/src/nand/media/move_list.rs"
ON_MEDIA = "crates/nand/src/nand/on_media.rs"
POOL = "crates/ftl/src/part/map/block_pool.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("wear-not-recorded", "wear: the list of moves does not have the blocks that change places", LEVEL,
     "            self.its_media().moves.place(number, block);\n",
     "            let _ = (number, block);\n"),
    ("wear-not-erased", "wear: blocks in reserve are taken for erased", LEVEL,
     "let is_good = is_clean || self.erase_of_media(by, Cause::Wear)?;",
     "let is_good = is_clean || self.array.filled(by) == 0 || self.erase_of_media(by, Cause::Wear)?;"),
    ("wear-list-takes-it", "wear: a list of moves may take the block that is prepared", LEVEL,
     "        self.its_media().forget(by);\n",
     ""),
    ("wear-lost-reserve", "wear: blocks that give their data away are lost to the reserve", LEVEL,
     "        settle.iter().for_each(|(_, young)| reserve.push(*young));\n",
     ""),
    ("wear-in-mount", "wear: blocks change places while a mount is running", LEVEL,
     "if is_mounting || exhausted",
     "if (is_mounting && false) || exhausted"),
    ("wear-warm-data", "wear: data that have just come move", LEVELLING,
     "since(it) <= cold_until && may(it)",
     "since(it) <= cold_until + self.blocks_of_die() && may(it)"),
    ("wear-other-way", "wear: cold data move to the youngest block", LEVELLING,
     "others.max_by_key(|&it| erases(it))",
     "others.min_by_key(|&it| erases(it))"),
    ("wear-other-die", "wear: cold data of any die move", LEVELLING,
     "(die..self.of_ftl.blocks()).step_by(self.of_ftl.dies() as usize)",
     "(0..self.of_ftl.blocks())"),
    ("wear-always", "wear: the swap of hot and cold blocks waits for nothing", SWAP,
     "(erases_since >= self.every).then_some",
     "(erases_since < u64::MAX).then_some"),
    ("wear-cause", "wear: moves of cold data count as failures", LEVEL,
     "nand.move_pages(cold, worn, None, Cause::Wear)",
     "nand.move_pages(cold, worn, None, Cause::Media)"),
    ("wear-hidden-list", "wear: a list of moves goes where no mount looks for it", ON_MEDIA,
     "array.behind(number).0 >= first",
     "array.behind(number).0 < u32::MAX || first == 0"),
    ("wear-mount-reserve", "wear: a mount takes blocks that have changed places for bad", MOUNT,
     "!bad.contains(&self.array.behind(*number))",
     "self.array.behind(*number) == *number"),
    ("wear-shared-block", "wear: a list in which a block is in two places is believed", LIST,
     "block.0 >= of_ftl.blocks() || self.behind.contains_key(block)",
     "block.0 >= of_ftl.blocks() || !self.behind.is_empty()"),
    ("wear-long-list", "wear: a list of moves that may become too long is accepted", MEDIA,
     "move_list::pages(all.blocks() as usize, all.page_bytes())",
     "move_list::pages(of_ftl.dies() as usize, all.page_bytes())"),
    ("wear-dynamic-first", "wear: dynamic takes the most worn free block", POOL,
     "(0..self.free.len()).min_by_key(erases)",
     "(0..self.free.len()).max_by_key(erases)"),
    ("wear-all-pages", "move: pages that a block with one bit per cell has not are moved, too", "crates/nand/src/nand/on_media.rs",
     "self.array.usable_pages(number).min(self.array.fill_level(number)?);",
     "self.array.fill_level(number)?;"),
]
