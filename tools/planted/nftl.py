"""The scheme nftl."""

# The checker attacks only these schemes, because the bugs affect no others.
SCHEMES = "nftl"

NFTL = "crates/ftl/src/scheme/nftl.rs"
LOG_MOUNT = "crates/ftl/src/part/log/log_mount.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("nftl-forwards", "nftl, look-up: the replacement block is read from its first page on", NFTL,
     "for slot in (0..log.filled).rev() {", "for slot in 0..log.filled {"),
    ("nftl-reads-on", "nftl, look-up: it goes on after it has found the page", NFTL,
     "                break;\n", ""),
    ("nftl-part-not-looked-up", "nftl, write: a page is completed without a look-up", NFTL,
     "if run.whole_pages_from(index, nand.geometry().full_mask()) == 0 {", "if false {"),
    ("nftl-first-allocated", "nftl, victim: the replacement block allocated first is folded", NFTL,
     "        self.replacements.put_off(self.map.lbn_of(lpn));\n", ""),
    ("nftl-dead-folded", "nftl, fold: a dead replacement block is folded instead of erased", NFTL,
     "0 => merge::dead(", "u32::MAX => merge::dead("),
    ("nftl-behind", "nftl, write: on a sequential chip a page is written in place after its copy in the replacement block", NFTL,
     "order == ProgramOrder::Sequential || self.map.data_block(lbn).is_none()", "self.map.data_block(lbn).is_none()"),
    ("nftl-behind-after-mount", "nftl, write: a new primary block is opened beside a replacement block that a mount found", NFTL,
     "order == ProgramOrder::Sequential || self.map.data_block(lbn).is_none()", "order == ProgramOrder::Sequential"),
    ("nftl-roles-by-last", "nftl, mount: of two blocks at home the one programmed last becomes the replacement block", LOG_MOUNT,
     "blocks.sort_by_key(|block| trace(block).first);",
     "blocks.sort_by_key(|block| trace(block).last + 0);"),
    ("nftl-one-map", "nftl, RAM: the block numbers of replacement blocks are not counted", NFTL,
     "        report.ram.map *= 2;\n", ""),
]
