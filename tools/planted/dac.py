"""The scheme dac."""

# The checker attacks only these schemes, because the bugs affect no others.
SCHEMES = "dac"

DAC = "crates/ftl/src/scheme/dac/mod.rs"
CLASSES = "crates/ftl/src/part/page/block_classes.rs"
AGES = "crates/ftl/src/scheme/dac/page_ages.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("dac-young-inclusive", "dac, write: a page exactly as old as `young` still moves up", AGES,
     "self.get(lpn.0 as usize)) < self.young",
     "self.get(lpn.0 as usize)) <= self.young"),
    ("dac-region-after-gc", "dac, write: the region is decided after garbage collection made room", DAC,
     "        self.make_room(nand, region)?;\n        let most",
     "        self.make_room(nand, region)?;\n"
     "        let region = self.target(self.region_of(nand.geometry(), first), first, self.map.written());\n"
     "        self.make_room(nand, region)?;\n        let most"),
    ("dac-together", "dac, write: all pages of a run go to the region of the first", DAC,
     "(1..most).find(leaves).unwrap_or(most)",
     "(most..most).find(leaves).unwrap_or(most)"),
    ("dac-first-write-hot", "dac, write: a first write goes to the hottest region", DAC,
     "old.map_or(0, |region| (region",
     "old.map_or(hottest, |region| (region"),
    ("dac-no-demotion", "dac, garbage collection: copied pages stay in their region", DAC,
     "self.regions.of(victim).saturating_sub(1),",
     "self.regions.of(victim),"),
    ("dac-copy-ages", "dac, garbage collection: a page copied within the coldest region counts as young again", DAC,
     "if from != target {\n                demotions += 1;\n                if let",
     "demotions += u64::from(from != target);\n            {\n                if let"),
    ("dac-always-young", "dac, promote=always: only young pages move up", DAC,
     'params.choice("promote") == "young"', 'params.choice("promote") != "none"'),
    ("dac-always-top", "dac, promote=always: a rewritten page goes to the hottest region at once", DAC,
     "(region + u8::from(rises())).min(hottest)", "(region + u8::from(rises()) * if self.ages.is_none() { 9 } else { 1 }).min(hottest)"),
    ("dac-always-ages-paid", "dac, promote=always: ages take RAM", DAC,
     "let bytes = if self.ages.is_some() { 5 } else { 1 };", "let bytes = 5;"),
    ("dac-mount-cold", "dac, mount: every page is put into the coldest region", CLASSES,
     "(geometry.block_of(copy.ppn), self.class_of(copy.spare.kind));",
     "(geometry.block_of(copy.ppn), self.class_of(copy.spare.kind) & 0);"),
    ("dac-copies-keep-kind", "dac, garbage collection: copies keep the kind of the region that they leave", DAC,
     "self.map.empty(nand, victim, frontier, kind, cause, |lpn, _| {",
     "self.map.empty(nand, victim, frontier, None, cause, |lpn, _| {"),
]
