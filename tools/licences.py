#!/usr/bin/env python3
"""Writes the bill of materials of ftlab: every crate and script that it links, with its licence.

    python3 tools/licences.py             writes the file that `ftlab licences` prints
    python3 tools/licences.py --check     fails if the file is not what Cargo.lock asks for

The file is a CycloneDX SBOM in JSON. It covers the command and the extension of the Python package as they are built
for Linux. Crates that only run while others compile (macros, build scripts) or in tests are not linked. Where a crate
lets us choose, the first licence of PREFERRED holds. It runs offline, on the sources that the build has fetched.
"""

import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BILL = ROOT / "crates/cli/src/commands/about/bill.cdx.json"
ROOTS = ("ftlab", "ftlab-python")
PLATFORMS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu")
# Licences in the order of our choice, each with words that only its text has.
PREFERRED = {
    "MIT": "Permission is hereby granted, free of charge",
    "BSD-3-Clause": "Neither the name",
    "BSD-2-Clause": "Redistributions in binary form",
    "ISC": "Permission to use, copy, modify, and",
    "Zlib": "This software is provided",
    "Apache-2.0": "Apache License",
}
# Code of others inside a crate or beside the crates: name, version, licence, file, address.
BUNDLED = {
    "zstd-sys": ("zstd", "BSD-3-Clause", "zstd/LICENSE", "https://github.com/facebook/zstd"),
    "rquickjs-sys": ("quickjs", "MIT", "quickjs/LICENSE", "https://github.com/quickjs-ng/quickjs"),
}
# Crates whose package lacks the text that another crate of their repository has.
BESIDE = {"rquickjs-core": "rquickjs", "rquickjs-sys": "rquickjs"}


def metadata(platform: str) -> dict:
    command = ["cargo", "metadata", "--locked", "--offline", "--format-version", "1", "--filter-platform", platform]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"cargo metadata failed; after `cargo fetch --locked` it has all sources:\n{done.stderr}")
    return json.loads(done.stdout)


def linked(found: dict) -> list[dict]:
    """The packages of others that end in the binaries, by name and version."""
    packages = {package["id"]: package for package in found["packages"]}
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    waiting = [package["id"] for package in found["packages"] if package["name"] in ROOTS]
    seen: set[str] = set()
    while waiting:
        one = waiting.pop()
        if one in seen or any("proc-macro" in target["kind"] for target in packages[one]["targets"]):
            continue
        seen.add(one)
        needs = nodes[one]["deps"]
        waiting += [it["pkg"] for it in needs if any(kind["kind"] is None for kind in it["dep_kinds"])]
    others = [packages[one] for one in seen if packages[one]["source"]]
    return sorted(others, key=lambda package: (package["name"], package["version"]))


def choice(expression: str) -> list[str]:
    """The licences that we follow: of alternatives the preferred one."""
    parts = expression.replace("/", " OR ").replace("(", "").replace(")", "").split(" AND ")
    chosen = []
    for part in parts:
        names = [name.split(" WITH ")[0].strip() for name in part.split(" OR ")]
        known = [name for name in PREFERRED if name in names]
        if not known:
            sys.exit(f"tools/licences.py does not know the licence `{expression}`: add it to PREFERRED, if it is free")
        chosen.append(known[0])
    return chosen


def text_of(package: dict, licence: str) -> str | None:
    folder = pathlib.Path(package["manifest_path"]).parent
    if beside := BESIDE.get(package["name"]):
        folder = folder.with_name(f"{beside}-{package['version']}")
    files = [path for path in sorted(folder.iterdir()) if path.name.upper().startswith(("LICEN", "COPYING"))]
    files = [path for path in files if path.is_file()] + [
        below for path in files if path.is_dir() for below in sorted(path.iterdir())
    ]
    texts = [path.read_text(errors="replace") for path in files]
    return next((text for text in texts if PREFERRED[licence] in text), None)


def component(name: str, version: str | None, licences: list[tuple[str, str]], **more) -> dict:
    named = [{"license": {"id": id, "text": {"content": text}}} for id, text in licences]
    return {"type": "library", "name": name} | ({"version": version} if version else {}) | more | {"licenses": named}


def of_package(package: dict) -> list[dict]:
    licences = [(id, text_of(package, id)) for id in choice(package["license"] or "none")]
    missing = [id for id, text in licences if not text]
    if missing:
        sys.exit(f"{package['name']} has no text of its licence {missing[0]}, nor has its repository: see BESIDE")
    purl = f"pkg:cargo/{package['name']}@{package['version']}"
    made = [component(package["name"], package["version"], licences, purl=purl)]
    if bundled := BUNDLED.get(package["name"]):
        name, licence, file, address = bundled
        text = (pathlib.Path(package["manifest_path"]).parent / file).read_text()
        source = [{"type": "vcs", "url": address}]
        made.append(component(name, None, [(licence, text)], externalReferences=source))
    return made


def vendored() -> list[dict]:
    """The libraries of third_party/README.md, whose table has name, version and licence."""
    made = []
    for line in (ROOT / "third_party/README.md").read_text().splitlines():
        cells = [cell.strip().strip("`") for cell in line.split("|")[1:-1]]
        if len(cells) == 5 and cells[3] in PREFERRED:
            folder, name, version, licence, _ = cells
            text = (ROOT / "third_party" / folder / f"LICENSE.{name}").read_text()
            made.append(component(name, version or None, [(licence, text)]))
    return made


def bill() -> str:
    packages = {package["id"]: package for name in PLATFORMS for package in linked(metadata(name))}
    components = [one for package in packages.values() for one in of_package(package)] + vendored()
    version = next(it["version"] for it in metadata(PLATFORMS[0])["packages"] if it["name"] == "ftlab")
    whole = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "ftlab", "version": version,
                                   "licenses": [{"license": {"id": "MIT"}}]}},
        "components": sorted(components, key=lambda one: (one["name"], one.get("version", ""))),
    }
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    text = bill()
    if not parser.parse_args().check:
        BILL.write_text(text)
    elif not BILL.exists() or BILL.read_text() != text:
        sys.exit(f"{BILL.relative_to(ROOT)} is stale: `python3 tools/licences.py` writes it anew")


if __name__ == "__main__":
    main()
