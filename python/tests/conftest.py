"""Shared parts of the tests: the command beside the package, and real traces if they are there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def command() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the command of the package with these arguments."""

    def run(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "ftlab", *map(str, arguments)]
        return subprocess.run(words, capture_output=True, text=True, **options)

    return run


@pytest.fixture
def traces() -> Path:
    """The folder of real traces; the test is skipped without it, unless it is required."""
    folder = Path(os.environ.get("FTLAB_TRACES", ROOT.parent / "shared" / "traces"))
    if not folder.is_dir():
        missing = f"there are no traces at {folder}"
        if "traces" in os.environ.get("FTLAB_REQUIRE", "").split(","):
            pytest.fail(missing)
        pytest.skip(missing)
    return folder


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A client of a cluster of three processes; the test is skipped without Dask."""
    distributed = pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    cluster = distributed.LocalCluster(
        n_workers=3,
        threads_per_worker=1,
        processes=True,
        # Another Dask may have the usual port of the dashboard.
        dashboard_address=":0",
        host="127.0.0.1",
    )
    # A worker that starts again on a busy machine is not lost.
    patience = dask.config.set({"distributed.deploy.lost-worker-timeout": "5m"})
    with patience, cluster, distributed.Client(cluster) as client:
        yield client
