"""Rows of each volume of a trace, and rows that are read back."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from sweep_plans import LONG, PLAN, Command, rows_of

import ftlab

pytest.importorskip("distributed")

# ---- each volume of a trace ----------------------------------------------------------------------

FLEET = """
[base]
trace = "t.csv"
each_volume = true
volumes = "writes>9"
fit = "compact"
warmup = 0
chip = "slc-lsb:pages_per_block=16"
[[grid]]
ftl = ["page", "sepgc"]
"""


def write_volumes(path: Path) -> None:
    """A trace in the format of Alibaba with the volumes 145, 7 and 12, the last of one request."""
    lines = []
    for n in range(3000):
        volume = ["145", "7", "12"][n] if n < 3 else ["145", "7", "7"][n % 3]
        lines.append(f"{volume},W,{n * 7919 % 300 * 4096},4096,{1577808000000000 + 50 * n}")
    path.write_text("\n".join(lines) + "\n")


def test_each_volume_has_the_same_rows_on_a_cluster_and_in_the_command(
    here: Path, command: Command, client: Any
) -> None:
    write_volumes(here / "t.csv")
    wanted = rows_of(command, FLEET)
    local = ftlab.sweep(FLEET, jobs=3)
    plan = FLEET.replace('"t.csv"', f'"{here / "t.csv"}"')
    on_cluster = ftlab.sweep(plan, client)
    assert [row["sweep"]["varied"] for row in local] == [
        {"volume": volume, "ftl": ftl} for volume in ["145", "7"] for ftl in ["page", "sepgc"]
    ]
    assert local.to_jsonl() == wanted
    assert on_cluster.to_jsonl() == wanted.replace('"t.csv"', f'"{here / "t.csv"}"')
    assert "of the 2 volumes together" in str(local)
    assert local.figures[0].id == "volumes"
    with pytest.raises(ftlab.UsageError, match="in plans of sweeps"):
        ftlab.run("t.csv", each_volume=True)


# ---- rows that are read back ---------------------------------------------------------------------


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_rows_that_are_read_are_those_of_the_sweep(here: Path, form: str) -> None:
    sweep = ftlab.sweep(PLAN, out=f"rows.{form}", progress=None)
    read = ftlab.Sweep.read(f"rows.{form}", PLAN)
    assert (str(read), read.claims, read.to_csv()) == (str(sweep), sweep.claims, sweep.to_csv())
    assert [row["sweep"] for row in read.failed] == [row["sweep"] for row in sweep.failed]
    assert read[0]["write_amplification"] == sweep[0]["write_amplification"]
    assert read.frame().equals(sweep.frame()) and read.to_latex() == sweep.to_latex()
    alone = ftlab.Sweep.read(f"rows.{form}")
    assert len(alone) == 12 and not alone.claims and alone.figures
    alone.write_svg("figures")
    with pytest.raises(ftlab.UsageError, match="row 0 is not one of this plan: sweep.varied is "):
        ftlab.Sweep.read(f"rows.{form}", LONG)
    other = PLAN.replace("[base]", "[base]\nwarmup = 7")
    with pytest.raises(ftlab.UsageError, match="run.warmup is . there, and 7 in the plan"):
        ftlab.Sweep.read(f"rows.{form}", other)


def test_the_rows_of_a_running_sweep_can_be_watched(here: Path) -> None:
    seen: list[int] = []

    def look(run: int, stage: str, done: int, total: int | None) -> None:
        if done > 2 and os.path.exists("rows.csv.journal"):
            rows = ftlab.Sweep.read("rows.csv.journal", plan)
            assert all(row["sweep"]["error"] for row in rows.failed)
            seen.append(len(rows))

    plan = PLAN.replace("4K", "400K")
    sweep = ftlab.sweep(plan, out="rows.csv", progress=look)
    assert len(sweep) == 12 and seen and 2 < seen[0] < 12 and seen == sorted(seen)


def test_a_file_without_rows_is_refused(here: Path) -> None:
    Path("rows.csv").write_text("a,b\n1,2\n")
    Path("rows.jsonl").write_text('{"a": 1}\n')
    Path("rows.txt").write_text("rows")
    for name, why in [
        ("rows.csv", "columns are not those"),
        ("rows.jsonl", "not the JSON of a row"),
        ("rows.txt", "neither .csv nor .jsonl nor a journal"),
    ]:
        with pytest.raises(ftlab.UsageError, match=why):
            ftlab.Sweep.read(name)
    with pytest.raises(ftlab.RunError, match="cannot read the rows missing.csv"):
        ftlab.Sweep.read("missing.csv")
