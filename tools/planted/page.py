"""The scheme page and its map."""

# The checker attacks only these schemes, because the bugs affect no others.
SCHEMES = "page,dac"

PAGE = "crates/ftl/src/scheme/page.rs"
PAGE_MAP = "crates/ftl/src/part/page/page_map.rs"
FLAT_MAP = "crates/ftl/src/part/map/flat_map.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("suspect-trusted", "mount: the suspect page is left where it is", PAGE,
     "if let Some(block) = recovered.endangered {",
     "if let Some(block) = recovered.endangered.filter(|_| false) {"),
    ("fallback-reused", "mount: the fallback of the suspect page is erased first", PAGE_MAP,
     "free.sort_by_key(|&block| Some(block) == plan.fallback);",
     "free.sort_by_key(|&block| Some(block) != plan.fallback);"),
    ("erase-before-copy", "erase order: the victim is erased before its last copy", PAGE_MAP,
     "let mut rest = &moving[..];",
     "let mut rest = &moving[..moving.len().saturating_sub(1)];"),
    ("flush-forgotten", "tombstones: flush does nothing", FLAT_MAP,
     "self.pool.flush(nand)",
     "{ let _ = nand.geometry(); Ok(()) }"),
]
