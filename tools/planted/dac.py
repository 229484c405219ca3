"""The scheme dac."""

# The checker attacks only these schemes, because the bugs affect no others.
SCHEMES = "dac"

DAC = "crates/ftl/src/scheme/dac.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("dac-young-inclusive", "dac, write: a page exactly as old as `young` still moves up", DAC,
     "self.pages.since[lpn.0 as usize] < self.young;",
     "self.pages.since[lpn.0 as usize] <= self.young;"),
    ("dac-region-after-gc", "dac, write: the region is decided after garbage collection made room", DAC,
     "        self.make_room(nand, region)?;\n        let written = self.map.written();",
     "        self.make_room(nand, region)?;\n        let region = self.target(first, self.map.written());\n"
     "        self.make_room(nand, region)?;\n        let written = self.map.written();"),
    ("dac-together", "dac, write: all pages of a run go to the region of the first", DAC,
     "(1..most).find(|page| !goes_along(page)).unwrap_or(most)",
     "(most..most).find(|page| !goes_along(page)).unwrap_or(most)"),
    ("dac-first-write-hot", "dac, write: a first write goes to the hottest region", DAC,
     "            NOWHERE => 0,\n            _ => (region",
     "            NOWHERE => self.frontiers.len() as Region - 1,\n            _ => (region"),
    ("dac-no-demotion", "dac, garbage collection: copied pages stay in their region", DAC,
     "self.region_of_block(nand, victim).saturating_sub(1);",
     "self.region_of_block(nand, victim);"),
    ("dac-copy-ages", "dac, garbage collection: a page copied within the coldest region counts as young again", DAC,
     "            self.demotions += 1;\n            self.since[lpn.0 as usize] = written;\n        }",
     "            self.demotions += 1;\n        }\n        self.since[lpn.0 as usize] = written;"),
    ("dac-mount-cold", "dac, mount: every page is put into the coldest region", DAC,
     "region_of(copy.spare.kind).min(hottest)",
     "(region_of(copy.spare.kind) & 0).min(hottest)"),
    ("dac-copies-keep-kind", "dac, garbage collection: copies keep the kind of the region that they leave", DAC,
     "self.map.empty(nand, victim, frontier, Some(kind_in(target)), cause, |lpn, _| {",
     "self.map.empty(nand, victim, frontier, None, cause, |lpn, _| {"),
]
