"""Media that fail below images and disks: opening, the end, failures on command."""

PACKAGES = ["ftlab-nand --lib", "ftlab-disk --test disk"]

ARRAY = "crates/nand/src/flash_array/mod.rs"
ON_MEDIA = "crates/nand/src/nand/on_media.rs"
MEDIA = "crates/nand/src/nand/media/mod.rs"
COMMANDS = "crates/nand/src/nand/media_commands.rs"
DISK = "crates/disk/src/disk/mod.rs"
RECIPE = "crates/disk/src/recipe.rs"
STORE = "crates/image/src/image_store.rs"
SUPERBLOCK = "crates/image/src/format/superblock.rs"
ERRORS = "crates/ftl/src/contract/error.rs"

MUTANTS = [
    ("disk-erases-forgotten", "opening: blocks of an image begin their lives anew", ARRAY,
     "        lives.resume(&self.wear);\n",
     ""),
    ("disk-media-forgotten", "image: its head does not say how the flash fails", SUPERBLOCK,
     "for text in [chip, scheme, layers, parameters, media] {",
     "for text in [chip, scheme, layers, parameters] {\n            let _ = media;"),
    ("disk-reserve-is-extra", "recipe: blocks in reserve count as extra ones", RECIPE,
     "all.checked_sub(others).filter(|&blocks| blocks > 0)",
     "all.checked_sub(others.min(0)).filter(|&blocks| blocks > 0)"),
    ("disk-wear-forgotten", "recipe: how wear is levelled is not kept", RECIPE,
     "    media.chain(wear.map(|wear| (\"wear\", wear))).collect()",
     "    let _ = wear;\n    media.collect()"),
    ("disk-end-writes", "end: a disk takes writes although the flash is worn out", DISK,
     "        Ok(self.nand().map_or(Ok(()), Nand::expect_writable)?)",
     "        Ok(())"),
    ("disk-end-is-failure", "end: the first refused write ends the disk", ERRORS,
     "nand::Error::Unreadable(_) | nand::Error::WornOut { .. }",
     "nand::Error::Unreadable(_)"),
    ("disk-view-writes", "end: the view of a worn out file writes to it", STORE,
     "                let view = View::of(reader).map_err(storage)?;\n                Ok(Box::new(self.copy_on(Box::new(view))))",
     "                Ok(Box::new(self.copy_on(reader)))"),
    ("disk-sync-lost", "end: a sync that had begun ends on the copy in memory", ARRAY,
     "            (Some(flash), _) => flash.end_sync(done),\n",
     "            (Some(_), Some(pages)) => pages.store_mut().end_sync(done),\n            (Some(_), None) => done,\n"),
    ("disk-all-loses", "end: each flush of a worn out disk is refused", MEDIA,
     "self.froze_in_use && self.quiet_programs < u64::MAX",
     "self.is_frozen"),
    ("disk-nothing-loses", "end: a flush is answered although pages are in memory only", MEDIA,
     "self.froze_in_use && self.quiet_programs < u64::MAX",
     "self.froze_in_use && self.quiet_programs < 3"),
    ("disk-mount-loses", "end: what a mount changes counts as written by the host", ON_MEDIA,
     "freeze(die, !is_mounting)",
     "freeze(die, is_mounting || !is_mounting)"),
    ("disk-other-place", "numbers: the header of a page names its number, not its place", ARRAY,
     "let place = self.stored().store().page(ppn);",
     "let place = ppn;"),
    ("disk-leave-not-end", "command: without a reserve the host can still write", COMMANDS,
     "        self.its_media().look_for_exhausted(&all);\n",
     "        let _ = all;\n"),
]
