"""Media that fail: how often, which block takes the place, what is counted, and the end."""

PACKAGES = ["ftlab-nand", "ftlab-sim --test media", "ftlab-sim --lib"]

MEDIA = "crates/nand/src/nand/media/mod.rs"
ON_MEDIA = "crates/nand/src/nand/on_media.rs"
GUARD = "crates/nand/src/nand/guard.rs"
OPERATIONS = "crates/nand/src/nand/operations.rs"
LIFE = "crates/sim/src/run/life.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("media-block-0-bad", "media: block 0 may come bad", MEDIA,
     "let is_bad = !is_first && model",
     "let is_bad = model"),
    ("media-bad-in-use", "media: a bad block in use is not replaced", MEDIA,
     "let good = block.or_else(|| reserve[die as usize].pop());",
     "let good = block.or(Some(GoodBlock { limit: 1 }));"),
    ("media-no-spread", "media: all blocks take the same number of erases", MEDIA,
     "cycles * (1.0 + model.spread.as_f64() * normal(&mut rng))",
     "cycles * (1.0 + 0.0 * model.spread.as_f64() * normal(&mut rng))"),
    ("media-wide-spread", "media: the spread is twice as wide", MEDIA,
     "radius * (core::f64::consts::TAU * turn).cos()",
     "2.0 * radius * (core::f64::consts::TAU * turn).cos()"),
    ("media-late-wear", "media: a block takes an erase more for each hundred", MEDIA,
     "(erases > self.limits[block.0 as usize])",
     "(erases > self.limits[block.0 as usize] + self.limits[block.0 as usize] / 20)"),
    ("media-other-die", "media: a block of any die takes the place", MEDIA,
     "match self.reserve[die as usize].pop() {",
     "match self.reserve.iter_mut().rev().find_map(Vec::pop).filter(|_| die < u32::MAX) {"),
    ("media-seldom", "media: programs fail half as often", MEDIA,
     "self.quiet_programs = gap(&mut self.rng, self.program_fail);\n        self.replace",
     "self.quiet_programs = 2 * gap(&mut self.rng, self.program_fail);\n        self.replace"),
    ("media-erases-never-fail", "media: erases fail only once by chance", MEDIA,
     "                self.quiet_erases = gap(&mut self.rng, self.erase_fail);\n                Some",
     "                self.quiet_erases = u64::MAX;\n                Some"),
    ("media-writable-again", "media: after the end, programs go on", MEDIA,
     "                self.quiet_programs = 0;\n",
     "                self.quiet_programs = u64::MAX;\n"),
    ("media-erases-in-the-end", "media: after the end, erases go on", OPERATIONS,
     "            media.expect_writable()?;\n        }\n        self.let_dies_end();",
     "            let _ = media.is_exhausted();\n        }\n        self.let_dies_end();"),
    ("media-pages-stay", "media: pages do not move when a program fails", ON_MEDIA,
     "let moved: Vec<Ppn> = (0..pages).map",
     "let moved: Vec<Ppn> = (0..pages * 0).map"),
    ("media-not-repeated", "media: a program that failed is not made again", ON_MEDIA,
     "        self.ledger.record(Cause::Media, Operation::Program { first: repeated, owners: &owners });\n",
     "        let _ = (repeated, owners);\n"),
    ("media-list-forgotten", "media: the list of moves is written once", ON_MEDIA,
     "const LIST_COPIES: u32 = 2;",
     "const LIST_COPIES: u32 = 1;"),
    ("media-old-wear", "media: a new block has the erases of the old one", ON_MEDIA,
     "let erases = self.array.renew_wear(block);",
     "let erases = self.array.wear()[block.0 as usize];"),
    ("media-guard-hides", "media: with a guard of the FTL nothing fails", GUARD,
     "            done?;\n        }\n        self.program_on_media",
     "            return done;\n        }\n        self.program_on_media"),
    ("media-life-forgets-reserve", "life: blocks in reserve do not count for even wear", LIFE,
     "let good = blocks + reserve_blocks - media.counts().factory_bad;",
     "let good = blocks - media.counts().factory_bad;"),
    ("media-life-first-is-last", "life: the first failure is noted as the last one", LIFE,
     "self.first_retired.get_or_insert(written);",
     "self.first_retired = Some(written);"),
]
