"""Runs stop at Ctrl-C, report progress, and leave the interpreter to other threads."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import ftlab
import pytest

STAGES = {
    "fill": ("uniform:writes=10", {"capacity": "64GiB", "chip": "slc-fast2010:page=512B"}),
    "warm-up 1": ("uniform:writes=2000M", {"capacity": "64MiB"}),
    "measure": ("uniform:writes=2000M", {"capacity": "64MiB", "warmup": 0}),
}


def interrupted(trace: str, options: str, stage: str) -> float:
    """Run in a process of its own, interrupt it in a stage; returns the seconds until it ended."""
    program = f"""
        import ftlab, sys
        reached = []
        def tell(run, stage, done, total):
            if stage == {stage!r} and not reached:
                reached.append(stage)
                print("reached", flush=True)
        try:
            ftlab.run({trace!r}, progress=tell, memory_limit="unlimited", **{options})
        except KeyboardInterrupt:
            sys.exit(77)
    """
    return seconds_to_stop(program, after=0.3)


def seconds_to_stop(program: str, after: float) -> float:
    """Interrupt a program so many seconds after it has told that it was reached."""
    words = [sys.executable, "-c", textwrap.dedent(program)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "reached\n"
        time.sleep(after)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        took = time.monotonic() - began
    assert process.returncode == 77
    return took


@pytest.mark.parametrize("stage", STAGES)
def test_ctrl_c_stops_every_stage(stage: str) -> None:
    trace, options = STAGES[stage]
    # A second on a quiet machine; others may be busy.
    assert interrupted(trace, repr(options), stage) < 5


@pytest.mark.parametrize("sort", [False, True])
def test_ctrl_c_stops_survey_and_sorting(tmp_path: Path, sort: bool) -> None:
    path = tmp_path / "long.csv"
    lines = "".join(f"0,{n * 8},4096,W,{n}.5\n" for n in range(10_000))
    with path.open("w") as file:
        for _ in range(1000):
            file.write(lines)
    assert interrupted(str(path), repr({"format": "spc", "sort": sort}), "survey") < 5


@pytest.mark.parametrize("body", ["time.sleep(0.05); return 0", "while True: pass"])
@pytest.mark.parametrize("call", ["run(**BASE, policy=Slow())", "sweep(PLAN, policies={'mine': Slow}, jobs=2)"])
def test_ctrl_c_stops_a_policy_that_takes_its_time(body: str, call: str) -> None:
    program = f"""
        import os, sys, time, ftlab
        BASE = {{"trace": "uniform:writes=3K", "capacity": "16MiB", "extra": "20blocks"}}
        PLAN = {{"base": {{**BASE, "policy": "mine"}}, "grid": [{{"seed": [1, 2, 3]}}]}}
        class Slow(ftlab.policy.Policy):
            def place(self, *_):
                os.write(1, b"reached\\n")
                {body}
        try:
            ftlab.{call}
        except KeyboardInterrupt:
            sys.exit(77)
    """
    assert seconds_to_stop(program, after=0) < 20


@pytest.mark.parametrize("brief", [False, True])
def test_ctrl_c_stops_the_description_of_a_trace(brief: bool) -> None:
    program = f"""
        import sys, ftlab
        print("reached", flush=True)
        try:
            ftlab.trace.info("uniform:writes=2000M", capacity="64MiB", brief={brief})
        except KeyboardInterrupt:
            sys.exit(77)
    """
    assert seconds_to_stop(program, after=0.5) < 5


def test_a_callback_can_stop_a_run() -> None:
    class Enough(Exception):
        pass

    def tell(*_: object) -> None:
        raise Enough

    with pytest.raises(Enough):
        ftlab.run("uniform:writes=2000M", capacity="64MiB", progress=tell)


def test_progress_is_told_at_most_ten_times_a_second() -> None:
    calls: list[tuple[float, str, int, int | None]] = []

    def tell(run: int, stage: str, done: int, total: int | None) -> None:
        assert run == 0
        calls.append((time.monotonic(), stage, done, total))
        if len(calls) == 12:
            raise StopIteration

    with pytest.raises(StopIteration):
        ftlab.run("uniform:writes=2000M", capacity="64MiB", progress=tell)
    assert calls[-1][0] - calls[0][0] > 1.0
    done = [done for _, stage, done, _ in calls if stage == "warm-up 1"]
    assert done == sorted(done)
    assert done[-1] > 0
    assert calls[-1][3] == 2_000_000_000


def test_bars_are_shown_and_removed(capfd: pytest.CaptureFixture[str]) -> None:
    ftlab.run("uniform:writes=3M", capacity="64MiB", progress=True)
    assert "page" not in capfd.readouterr().out


def test_other_threads_go_on_while_a_run_is_under_way() -> None:
    counted = 0
    ended = threading.Event()

    def count() -> None:
        nonlocal counted
        while not ended.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    ftlab.run("uniform:writes=2M", capacity="64MiB")
    ended.set()
    thread.join()
    assert counted > 20


def test_two_runs_in_two_threads_use_two_cores() -> None:
    def work() -> None:
        ftlab.run("uniform:writes=3M", capacity="64MiB")

    threads = [threading.Thread(target=work) for _ in range(2)]
    before = (time.monotonic(), time.process_time())
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wall, processor = time.monotonic() - before[0], time.process_time() - before[1]
    if len(os.sched_getaffinity(0)) < 2 or os.getloadavg()[0] > 1.5:
        pytest.skip("two cores that are free are needed")
    assert processor > 1.3 * wall


def test_no_handler_of_signals_is_installed() -> None:
    kinds = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    before = [signal.getsignal(kind) for kind in kinds]
    ftlab.run("uniform:writes=1K", capacity="16MiB")
    assert [signal.getsignal(kind) for kind in kinds] == before
    handled = Path("/proc/self/status").read_text().split("SigCgt:")[1].split()[0]
    assert not int(handled, 16) >> (signal.SIGTERM - 1) & 1
