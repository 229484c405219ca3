"""Power cuts under programs: the examples, the command and the fixture find what is wrong, and nothing else."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from ftlab_powercut import Campaign, Cut, Trouble

EXAMPLES = ROOT / "examples" / "powercut"


def example(name: str, *arguments: str) -> list[str]:
    return [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments]


@pytest.fixture(autouse=True)
def tmp_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command ftlab of this package."""
    monkeypatch.setenv("FTLAB", str(Path(sys.executable).parent / "ftlab"))


def findings(command: list[str], check: list[str], **options: object) -> list[str]:
    """What a campaign finds; the test is skipped where no disk can be mounted, unless that is required."""
    campaign = Campaign(command, check, **options)  # type: ignore[arg-type]
    if absent := campaign.absent():
        if "nbd" in os.environ.get("FTLAB_REQUIRE", "").split(",") and not os.geteuid() and os.path.exists("/dev/fuse"):
            pytest.fail(f"missing: {absent}")
        pytest.skip(f"power cuts need {absent}")
    return [finding.said for _, finding in campaign.rounds() if finding]


def test_a_promise_without_a_sync_is_broken_and_one_with_it_is_kept() -> None:
    found = findings(example("ledger", "write"), example("ledger", "check"), cuts=2)
    assert len(found) == 2
    assert "numbers were promised, 0 are there" in found[0]
    assert findings(example("ledger", "write", "--synced"), example("ledger", "check"), cuts=3) == []


def test_sqlite_keeps_its_promise_unless_it_is_told_not_to() -> None:
    check = example("bank", "check")
    opened = {"setup": example("bank", "open")}
    assert findings(example("bank", "work"), check, cuts=3, **opened) == []
    found = findings(example("bank", "work", "OFF"), check, cuts=3, **opened)
    assert found
    assert "transfers were promised" in found[0]


def test_an_embedded_store_keeps_its_promise_unless_it_is_told_not_to() -> None:
    pytest.importorskip("lmdb")
    assert findings(example("store", "work"), example("store", "check"), cuts=3) == []
    found = findings(example("store", "work", "unsynced"), example("store", "check"), cuts=3)
    assert found
    assert "are lost" in found[0]


def test_a_server_with_many_processes_recovers() -> None:
    if not list(Path("/usr/lib/postgresql").glob("*/bin/initdb")):
        pytest.skip("there is no PostgreSQL")
    script = str(EXAMPLES / "postgres.sh")
    serve = shlex.split("--ftl page --buffer 1MiB --capacity 256MiB")
    assert findings([script, "work"], [script, "check"], setup=[script, "open"], serve=serve, cuts=1) == []
    running = subprocess.run(["pgrep", "-f", "ftlab-powercut-.*/data"], capture_output=True, text=True).stdout
    assert not running, f"the server lives on after its power failed: {running}"


def test_a_virtual_machine_keeps_what_its_guest_has_synced() -> None:
    needed = ["qemu-system-x86_64", "busybox", "cpio", "modprobe"]
    absent = [program for program in needed if not shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")]
    if absent or not list(Path("/boot").glob("vmlinuz-*")):
        pytest.skip(f"a virtual machine needs {', '.join(absent or ['a kernel in /boot'])}")
    script = str(EXAMPLES / "vm.sh")
    campaign: dict[str, Any] = {"setup": [script, "open"], "filesystem": None, "cuts": 1}
    assert findings([script, "work"], [script, "check"], **campaign) == []
    found = findings([script, "work", "unsynced"], [script, "check"], **campaign)
    assert found
    assert "are lost" in found[0]


def test_the_fixture_fails_with_the_finding_and_the_seed(powercut: Callable[..., None]) -> None:
    def nothing(place: Path, printed: str) -> None:
        assert (place / "book").exists() or not printed

    powercut(example("ledger", "write", "--synced"), nothing, cuts=1)

    def impossible(place: Path, printed: str) -> None:
        raise AssertionError(f"{place.name} is never right")

    expected = r"round 0, power cut(?s:.*)root is never right(?s:.*)--powercut-seed 1"
    with pytest.raises(pytest.fail.Exception, match=expected):
        powercut(example("ledger", "write", "--synced"), impossible, cuts=1)


def test_a_round_is_drawn_from_seed_and_number_alone() -> None:
    assert Cut.drawn(7, 3, 2000) == Cut.drawn(7, 3, 2000)
    drawn = [Cut.drawn(7, number, 2000) for number in range(200)]
    assert len({cut.outcome for cut in drawn}) == 12
    assert min(cut.after for cut in drawn) < 5
    assert 1000 < max(cut.after for cut in drawn) < 2000


def test_a_command_that_does_not_work_is_trouble_and_not_a_finding() -> None:
    with pytest.raises(Trouble, match="ended with 1 before the power failed"):
        findings(["false"], ["true"], cuts=1)


def powercut_command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "ftlab_powercut", *arguments], capture_output=True, text=True)


def test_the_command_prints_what_repeats_a_finding() -> None:
    findings(["true"], ["true"], cuts=1)
    check = shlex.join(example("ledger", "check"))
    done = powercut_command("--cuts", "2", "--seed", "5", "--check", check, "--", *example("ledger", "write"))
    assert done.returncode == 3
    line = next(line for line in done.stdout.splitlines() if line.startswith("replay:  ftlab-powercut --only 1 "))
    again = powercut_command(*shlex.split(line)[2:])
    assert again.returncode == 3
    assert "1 power cuts, seed 5: 1 of them lost something" in again.stdout
    assert powercut_command("--check", "true").returncode == 2
    assert "behind `--`" in powercut_command("--check", "true").stderr
