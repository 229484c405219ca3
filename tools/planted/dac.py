"""dac."""

# Which schemes the attacks of the checker are worth running on.
SCHEMES = "dac"

DAC = "crates/ftl/src/scheme/dac.rs"

# name, what it breaks, file, original, replacement
MUTANTS = [
    ("dac-young-inclusive", "dac, write: a page exactly as old as `young` still climbs", DAC,
     "self.pages.since[lpn.0 as usize] < self.young;",
     "self.pages.since[lpn.0 as usize] <= self.young;"),
    ("dac-region-after-gc", "dac, write: the region is decided after the collection that makes room", DAC,
     "        self.make_room(nand, region)?;\n        let written = self.map.written();",
     "        self.make_room(nand, region)?;\n        let region = self.target(first, self.map.written());\n"
     "        self.make_room(nand, region)?;\n        let written = self.map.written();"),
    ("dac-together", "dac, write: pages of a run follow the first into its region", DAC,
     "(1..most).find(|page| !goes_along(page)).unwrap_or(most)",
     "(most..most).find(|page| !goes_along(page)).unwrap_or(most)"),
    ("dac-first-write-hot", "dac, write: a page never written starts in the hottest region", DAC,
     "            NOWHERE => 0,\n            _ => (region",
     "            NOWHERE => self.frontiers.len() as Region - 1,\n            _ => (region"),
    ("dac-no-demotion", "dac, collection: valid pages stay in their region", DAC,
     "self.region_of_block(nand, victim).saturating_sub(1);",
     "self.region_of_block(nand, victim);"),
    ("dac-copy-ages", "dac, collection: a page copied within the coldest region is young again", DAC,
     "            self.demotions += 1;\n            self.since[lpn.0 as usize] = written;\n        }",
     "            self.demotions += 1;\n        }\n        self.since[lpn.0 as usize] = written;"),
    ("dac-mount-cold", "dac, mount: every page is in the coldest region", DAC,
     "region_of(copy.spare.kind).min(hottest)",
     "(region_of(copy.spare.kind) & 0).min(hottest)"),
    ("dac-copies-keep-kind", "dac, collection: copies keep the mark of the region they leave", DAC,
     "self.map.empty(nand, victim, frontier, Some(kind_in(target)), cause, |lpn, _| {",
     "self.map.empty(nand, victim, frontier, None, cause, |lpn, _| {"),
]
