#!/usr/bin/env python3
"""Makes the skeleton of something new: a working twin of the simplest one there is, under a name of its own.

    python3 tools/new.py victim NAME      a victim policy, twin of `fifo`
    python3 tools/new.py scheme NAME      a scheme that decides where pages go, twin of `sepgc`
    python3 tools/new.py format NAME      a trace format in columns, twin of `systor`
    python3 tools/new.py workload NAME    a generated workload, twin of `sequential`
    python3 tools/new.py guest NAME       an FTL in C outside of ftlab, twin of `page.c`

The twin is in all lists and passes all tests at once. Change it step by step, and try it after each step.
"""

import argparse
import dataclasses
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


@dataclasses.dataclass(frozen=True)
class Kind:
    """What a twin is made of: its model as lists name it, the file of the model, and the lines of those lists."""

    model: str
    file: str
    lists: tuple[tuple[str, str], ...]
    # Other words of the model that must differ in the twin: a pattern, and what replaces it.
    words: tuple[tuple[str, str], ...]
    then: str


VICTIMS = "crates/ftl/src/part/page/victims"
SCHEMES = "crates/ftl/src/scheme/placement"
TRACES = "crates/trace/src"
KINDS = {
    "victim": Kind("fifo", f"{VICTIMS}/fifo.rs",
                   ((f"{VICTIMS}/mod.rs", "pub mod fifo;"), (f"{VICTIMS}/registry.rs", "    &fifo::POLICY,")),
                   (("Fifo", "{type}"),),
                   "change `specification`, which is the rule, then `Selector`, its fast form; try them with\n"
                   "  cargo test -p ftlab-ftl --lib --test page_granular victims\n"
                   "  cargo run -p ftlab --no-default-features -- compare --ftl page --ftl page:victim={name}"),
    "scheme": Kind("sepgc", f"{SCHEMES}/sepgc.rs",
                   ((f"{SCHEMES}/mod.rs", "pub mod sepgc;"),
                    ("crates/ftl/src/registry.rs", "    &placement::sepgc::SCHEME,"),
                    ("crates/report/src/colours.rs", '    ("sepgc", "#4fb3bf"),'),
                    ("README.md", "| `sepgc` |")),
                   (("SepGc", "{type}"),),
                   "change `place` and `place_copy`, its line in README.md and its colour in\n"
                   "crates/report/src/colours.rs; docs/new-scheme.md has the rest, also for schemes that are no page map;\n"
                   "try it with\n"
                   "  make smoke SCHEMES={name}"),
    "format": Kind("systor", f"{TRACES}/parse/formats/published/systor.rs",
                   ((f"{TRACES}/parse/formats/mod.rs", "        systor,"),),
                   (("Timestamp", "{name}_time"),),
                   "change `HEADER`, `layout`, `detect` and the specimens, and name it in README.md; try it with\n"
                   "  cargo test -p ftlab-trace\n"
                   "  cargo run -p ftlab --no-default-features -- trace info FILE"),
    "workload": Kind("sequential", f"{TRACES}/generate/workloads/plain/sequential.rs",
                     ((f"{TRACES}/generate/workloads/mod.rs", "        sequential,"),),
                     (("Sequential", "{type}"),),
                     "change `placement` and `next_range`, and its fingerprint when it is done; try it with\n"
                     "  cargo test -p ftlab-trace workloads\n"
                     "  cargo run -p ftlab --no-default-features -- run {name}:writes=20k"),
    "guest": Kind("page.c", "examples/guests/page.c", (("examples/guests/Makefile", "SOURCES := page.c "),), (),
                  "change it as docs/guests.md says; try it with\n"
                  "  make -C examples/guests\n"
                  "  ftlab check --ftl guest:lib=examples/guests/build/{name}.so --geometry tiny --workload random"),
}


def planned(kind: Kind, name: str) -> dict[pathlib.Path, str]:
    """The new texts of all files that the twin needs."""
    model = ROOT / kind.file
    twin = model.with_name(f"{name}{model.suffix}")
    if twin.exists():
        sys.exit(f"{twin.relative_to(ROOT)} exists: take another name")
    text = renamed(model.read_text(), kind.model, name + (model.suffix if kind.model == model.name else ""))
    camel = "".join(part.capitalize() for part in name.split("_"))
    for old, new in kind.words:
        text = text.replace(old, new.format(name=name, type=camel))
    return {twin: text} | {ROOT / file: listed(ROOT / file, line, kind.model, name) for file, line in kind.lists}


def renamed(text: str, model: str, name: str) -> str:
    return re.sub(rf"(?<![A-Za-z_]){re.escape(model)}(?![A-Za-z_])", name, text)


def listed(path: pathlib.Path, line: str, model: str, name: str) -> str:
    """The text of a list with a line for the twin below that of the model."""
    lines = path.read_text().splitlines(keepends=True)
    at = [at for at, one in enumerate(lines) if one.startswith(line)]
    if len(at) != 1:
        sys.exit(f"{path.relative_to(ROOT)} has {len(at)} lines `{line.strip()}`: mend the list in tools/new.py")
    if line.startswith("SOURCES"):
        lines[at[0]] = lines[at[0]].replace("page.c", f"page.c {name}.c")
    else:
        lines.insert(at[0] + 1, renamed(lines[at[0]], model, name))
    return "".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("name", help="lower-case letters, digits and _, such as `second_chance`")
    asked = parser.parse_args()
    kind, name = KINDS[asked.kind], asked.name
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        parser.error(f"a name has lower-case letters, digits and _, and begins with a letter, unlike `{name}`")
    texts = planned(kind, name)
    for path, text in texts.items():
        path.write_text(text)
        print(f"wrote {path.relative_to(ROOT)}")
    print(f"Now {kind.then.format(name=name)}")


if __name__ == "__main__":
    main()
