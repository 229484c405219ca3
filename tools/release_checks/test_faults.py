"""The release must fail for each planted fault. In `tools`: `python3 -m unittest release_checks.test_faults`"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest

from . import built, sources

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
GIT = ["git", "-c", "user.name=test", "-c", "user.email=test@example.org"]


class Faults(unittest.TestCase):
    """Each test plants one fault in a copy of the repository and takes it out again."""

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = pathlib.Path(folder.name).resolve()
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        for name in listed.stdout.splitlines():
            if (ROOT / name).exists():
                (cls.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, cls.root / name, follow_symlinks=False)
        for command in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message=all"]):
            subprocess.run([*GIT, *command], cwd=cls.root, check=True)

    def plant(self, name: str, old: str, new: str) -> None:
        path = self.root / name
        text = path.read_text()
        changed, count = re.subn(old, new, text, count=1, flags=re.MULTILINE)
        self.assertEqual(count, 1, f"{name} has no place for the fault")
        self.addCleanup(path.write_text, text)
        path.write_text(changed)

    def found(self, check, words: str) -> None:
        """The check complains of this fault, and of nothing else."""
        wrong = check(self.root, VERSION)
        self.assertEqual(len(wrong), 1, wrong)
        self.assertIn(words, wrong[0])

    def test_without_a_fault_the_quick_dry_run_succeeds(self) -> None:
        done = self.dry_run(VERSION)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.count("ok "), 7, done.stdout)

    def test_a_version_that_the_sources_do_not_have_is_refused(self) -> None:
        done = self.dry_run("9.9.9")
        self.assertEqual(done.returncode, 1)
        self.assertIn("version: Cargo.toml says", done.stderr)
        self.assertIn("changelog: the newest part", done.stderr)

    def dry_run(self, version: str) -> subprocess.CompletedProcess:
        command = [sys.executable, "tools/release.py", version, "--dry-run", "--quick"]
        return subprocess.run(command, cwd=self.root, capture_output=True, text=True)

    def test_a_forgotten_version_of_the_workspace(self) -> None:
        self.plant("Cargo.toml", r'^version = ".*"', 'version = "0.0.1"')
        self.found(sources.versions, "Cargo.toml says 0.0.1; write")

    def test_a_forgotten_version_of_a_dependency(self) -> None:
        self.plant("Cargo.toml", r'("ftlab-nand", version = "=).*?"', r'\g<1>0.0.1"')
        self.found(sources.versions, "dependency nand says 0.0.1")

    def test_a_stale_lock(self) -> None:
        self.plant("Cargo.lock", r'(name = "ftlab-sim"\nversion = ").*?"', r'\g<1>0.0.1"')
        self.found(sources.versions, "Cargo.lock, ftlab-sim says 0.0.1")

    def test_a_forgotten_version_of_the_citation(self) -> None:
        self.plant("CITATION.cff", r"^version: .*", "version: 0.0.1")
        self.found(sources.versions, "CITATION.cff says 0.0.1")

    def test_changes_that_are_still_unreleased(self) -> None:
        self.plant("CHANGELOG.md", r"^## ", "## Unreleased\n\n- A new thing.\n\n## ")
        self.found(sources.changelog, "the newest part of CHANGELOG.md is Unreleased")

    def test_a_changelog_without_a_date(self) -> None:
        self.plant("CHANGELOG.md", r"^## .*", f"## {VERSION}")
        self.found(sources.changelog, "no date")

    def test_a_citation_of_another_day(self) -> None:
        self.plant("CITATION.cff", r"^date-released: .*", "date-released: 2001-01-01")
        self.found(sources.changelog, "CITATION.cff has another date")

    def test_a_changelog_without_notes_for_users(self) -> None:
        self.plant("CHANGELOG.md", r"(^## .*\n)[\s\S]*?\n###", r"\1\n###")
        self.found(sources.changelog, "no notes")

    def test_a_file_that_is_not_committed(self) -> None:
        path = self.root / "crates/nand/src/new.rs"
        self.addCleanup(path.unlink)
        path.write_text("")
        self.found(sources.repository, "not committed, such as crates/nand/src/new.rs")

    def test_a_tag_that_exists(self) -> None:
        subprocess.run([*GIT, "tag", f"v{VERSION}"], cwd=self.root, check=True)
        delete = [*GIT, "tag", "--delete", f"v{VERSION}"]
        self.addCleanup(subprocess.run, delete, cwd=self.root, stdout=subprocess.DEVNULL)
        self.found(sources.repository, "exists")

    def test_a_missing_licence(self) -> None:
        self.plant("crates/cli/src/commands/about/bill.cdx.json", r'\n   "name": "clap",', '\n   "name": "clip",')
        self.found(sources.licences, "is stale")

    def test_a_crate_without_the_text_of_its_licence(self) -> None:
        path = self.root / "crates/drive/LICENSE"
        target = path.readlink()
        path.unlink()
        self.addCleanup(path.symlink_to, target)
        self.found(sources.crates, "drive has no LICENSE")

    def test_a_crate_without_a_description(self) -> None:
        self.plant("crates/disk/Cargo.toml", r"^description = .*\n", "")
        self.found(sources.crates, "disk/Cargo.toml has no description")

    def test_a_dead_link(self) -> None:
        self.plant("docs/install.md", r"^# Install", "# Install\n\n[more](nowhere.md)")
        self.found(sources.pages, "nowhere.md does not exist")

    def test_a_page_without_a_place(self) -> None:
        self.plant("docs/SUMMARY.md", r"^\[Install\]\(install.md\)\n", "")
        self.found(sources.pages, "docs/install.md: no page of the site")

    def test_a_planted_bug_that_nothing_caught(self) -> None:
        self.plant("docs/mutants.md", r"^\| victims \|.*\n", "")
        self.found(sources.planted_bugs, "mutants.py --check")

    def test_a_package_that_is_too_large(self) -> None:
        self.assertEqual(built.too_large([self.root / "Cargo.lock"], 10**9), [])
        self.assertIn("the most is 10", built.too_large([self.root / "Cargo.lock"], 10)[0])

    def test_a_command_that_became_slower(self) -> None:
        fast, slow = ["sleep", "0.02"], ["sleep", "0.1"]
        self.assertEqual(built.slower(slow, fast), [])
        self.assertIn("times as long as with the last release", built.slower(fast, slow)[0])
