"""What a release needs of its sources. Each check returns what is wrong, in a sentence with its remedy."""

import datetime
import json
import pathlib
import re
import subprocess
import sys
import tomllib

VERSION = re.compile(r"\d+\.\d+\.\d+")
LINES_SHOWN = 12
HEADING = re.compile(r"^## (\S+)(?: — (\S+))?$", re.MULTILINE)


def ran(root: pathlib.Path, *command: str) -> subprocess.CompletedProcess:
    return subprocess.run(command, cwd=root, capture_output=True, text=True)


def complaint_of(root: pathlib.Path, *command: str) -> list[str]:
    """The last lines of what a command says, if it fails. A file has all of them if they are more."""
    done = ran(root, *command)
    if done.returncode == 0:
        return []
    words = " ".join(command)
    said = (done.stderr.strip() or done.stdout.strip()).splitlines()
    complaint = f"`{words}` failed: " + "\n  ".join(said[-LINES_SHOWN:])
    if len(said) > LINES_SHOWN:
        log = root / "target/release-check" / (re.sub(r"\W+", "-", words).strip("-") + ".log")
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(done.stdout + done.stderr)
        complaint += f"\n  All that it said is in {log}."
    return [complaint]


def versions(root: pathlib.Path, version: str) -> list[str]:
    """Every place that states the version states this one."""
    workspace = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]
    stated = {"Cargo.toml": workspace["package"]["version"]}
    for name, needed in workspace["dependencies"].items():
        if isinstance(needed, dict) and "path" in needed:
            stated[f"Cargo.toml, dependency {name}"] = needed.get("version", "none").removeprefix("=")
    for lock in ("Cargo.lock", "fuzz/Cargo.lock"):
        for package in tomllib.loads((root / lock).read_text())["package"]:
            if "source" not in package and package["name"] != "ftlab-fuzz":
                stated[f"{lock}, {package['name']}"] = package["version"]
    cited = re.search(r"^version: (\S+)$", (root / "CITATION.cff").read_text(), re.MULTILINE)
    stated["CITATION.cff"] = cited[1] if cited else "none"
    return [f"{place} says {found}; write {version}" for place, found in stated.items() if found != version]


def changelog(root: pathlib.Path, version: str) -> list[str]:
    """The newest part is that of this version, with a date and notes, and CITATION.cff has the same date."""
    found = HEADING.search((root / "CHANGELOG.md").read_text())
    if not found or found[1] != version:
        newest = found[1] if found else "none"
        return [f"the newest part of CHANGELOG.md is {newest}; call it `## {version} — DATE` and say what is new"]
    try:
        datetime.date.fromisoformat(found[2] or "")
    except ValueError:
        return [f"CHANGELOG.md gives {version} no date; write `## {version} — YYYY-MM-DD`"]
    if f"date-released: {found[2]}\n" not in (root / "CITATION.cff").read_text():
        return [f"CITATION.cff has another date; write `date-released: {found[2]}`"]
    text = notes(root, version)
    if not re.match(r"[A-Z]", text) or "\n- " not in text:
        return [f"CHANGELOG.md has no notes for {version}; begin with what is new for users, as a sentence and a list"]
    return []


def notes(root: pathlib.Path, version: str) -> str:
    """What the changelog says of a version to its users: all above its first list of changes."""
    part = (root / "CHANGELOG.md").read_text().partition(f"\n## {version}")[2].partition("\n")[2]
    return re.split(r"^##", part, maxsplit=1, flags=re.MULTILINE)[0].strip()


def repository(root: pathlib.Path, version: str) -> list[str]:
    changed = ran(root, "git", "status", "--porcelain").stdout.splitlines()
    wrong = [f"{len(changed)} files are not committed, such as {changed[0][3:]}"] if changed else []
    if ran(root, "git", "tag", "--list", f"v{version}").stdout:
        wrong.append(f"the tag v{version} exists; a release is made once, take the next version")
    return wrong


def licences(root: pathlib.Path, _version: str) -> list[str]:
    """Every linked library has its licence in what the command prints."""
    return complaint_of(root, sys.executable, "tools/licences.py", "--check")


def crates(root: pathlib.Path, _version: str) -> list[str]:
    """Every crate to be published says what a registry shows, and has its licence. All can be packaged."""
    done = ran(root, "cargo", "metadata", "--no-deps", "--offline", "--format-version", "1")
    if done.returncode:
        return [f"cargo metadata failed: {done.stderr.strip()}"]
    published = [package for package in json.loads(done.stdout)["packages"] if package["publish"] is None]
    wrong = []
    for package in published:
        missing = [key for key in ("description", "license", "repository", "readme", "keywords") if not package[key]]
        wrong += [f"{package['manifest_path']} has no {key}" for key in missing]
        folder = pathlib.Path(package["manifest_path"]).parent
        if not (folder / "LICENSE").is_file():
            wrong.append(f"{folder.name} has no LICENSE: `ln -s ../../LICENSE {folder}`")
    return wrong


def pages(root: pathlib.Path, _version: str) -> list[str]:
    """No page is an orphan, and no link inside the repository is dead."""
    return complaint_of(root, sys.executable, "tools/build_site.py", "--check")


def planted_bugs(root: pathlib.Path, _version: str) -> list[str]:
    """Every planted bug finds its place, and a test caught it."""
    return complaint_of(root, sys.executable, "tools/mutants.py", "--check")
