"""Policies in Python: equal to those in Rust where they do the same, honest about themselves, and
clear about mistakes."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import ftlab
import pytest
from ftlab.policy import Blocks, Copy, Device, Erased, Policy, Write

TRACE = "uniform:writes=10K"


def run(policy: Policy | None = None, trace: str = TRACE, **options: object) -> ftlab.Result:
    """A short run on a small device: 128 blocks of 64 pages of 2 KiB, 20 of them extra."""
    given = {"capacity": "16MiB", "extra": "20blocks", **options}
    return ftlab.run(trace, policy=policy, **given)  # type: ignore[arg-type]


def counts(result: ftlab.Result) -> object:
    """Everything that the flash did."""
    names = ["reads", "programs", "erases", "copies", "spare_reads", "wear", "service_us"]
    # Only a policy has classes to report.
    scheme = {name: count for name, count in result["scheme"].items() if "class_" not in name}
    return {**{name: result[name] for name in names}, "scheme": scheme}


class Greedy(Policy):
    """The fewest valid pages; the lowest block wins a tie."""

    def victim(self, blocks: Blocks) -> int:
        return int(blocks.valid.argmin())


class GreedyByHand(Policy):
    """The same without NumPy."""

    def victim(self, blocks: Blocks) -> int:
        return min(range(len(blocks)), key=lambda at: (blocks.valid[at], blocks.number[at]))


class CostBenefit(Policy):
    """The highest age·(Np−v)/2v."""

    def victim(self, blocks: Blocks) -> int:
        dead = (blocks.valid == 0).nonzero()[0]
        if len(dead):
            return int(dead[0])
        valid, age = blocks.valid.astype(float), blocks.age.astype(float)
        return int((age * (blocks.pages_per_block - valid) / (2 * valid)).argmax())


class HotCold(Policy):
    """Pages that are rewritten soon share blocks. Copies stay in their class."""

    classes = 2

    def start(self, device: Device) -> None:
        self.young = device.logical_pages

    def place(self, lpn: int, write: Write) -> int:
        return 0 if write.lifespan is not None and write.lifespan < self.young else 1


@pytest.mark.parametrize(
    ("policy", "ftl"),
    [
        (Policy(), "page"),
        (Policy(), "page:victim=fifo"),
        (Greedy(), "page"),
        (GreedyByHand(), "page"),
        (CostBenefit(), "page:victim=cost_benefit"),
    ],
)
def test_the_same_rule_gives_the_same_counts(policy: Policy, ftl: str) -> None:
    own = type(policy).victim is not Policy.victim
    ours, native = run(policy, ftl="page" if own else ftl), run(ftl=ftl)
    assert counts(ours) == counts(native)
    assert native["copies"]["gc"] > 10_000


@pytest.mark.parametrize("policy", [HotCold(), CostBenefit()])
def test_runs_under_a_policy_are_verified(policy: Policy) -> None:
    plain, verified = run(policy), run(policy, verify=True)
    assert counts(plain) == counts(verified)


def test_layers_stand_above_a_policy() -> None:
    result = run(Greedy(), buffer="64KiB", verify=True)
    assert counts(result) == counts(run(buffer="64KiB", verify=True))


def test_separating_hot_and_cold_pages_saves_copies() -> None:
    skewed = "skew:writes=20K,hot=90/10"
    apart, mixed = run(HotCold(), skewed), run(None, skewed)
    assert apart.write_amplification is not None and mixed.write_amplification is not None
    assert apart.write_amplification < 0.75 * mixed.write_amplification


def test_d_choices_approaches_greedy() -> None:
    class Choices(Policy):
        def __init__(self, d: int) -> None:
            self.d, self.draws = d, random.Random(1)

        def victim(self, blocks: Blocks) -> int:
            drawn = [self.draws.randrange(len(blocks)) for _ in range(self.d)]
            return min(drawn, key=lambda at: int(blocks.valid[at]))

    amplifications = [run(Choices(d)).write_amplification or 0 for d in (1, 2, 8)]
    assert amplifications == sorted(amplifications, reverse=True)
    assert amplifications[-1] == pytest.approx(run(Greedy()).write_amplification, rel=0.05)


def test_results_say_that_a_policy_placed_the_pages() -> None:
    result = run(HotCold())
    assert result.ftl == "page"
    assert result["ftl"]["params"]["policy"] == "HotCold, written in Python"
    assert any("policy: HotCold, written in Python" in note for note in result.notes)
    assert "HotCold" in repr(result) and "HotCold" in str(result)
    assert result == run(HotCold())
    assert "policy" not in run()["ftl"]["params"]


def test_a_policy_is_told_what_happens() -> None:
    class Recorder(Policy):
        classes = 2

        def start(self, device: Device) -> None:
            self.device, self.written, self.copied, self.erases = device, 0, 0, 0

        def place(self, lpn: int, write: Write) -> int:
            assert write.now == self.written and write.request_bytes > 0
            assert (write.lifespan is None) == (write.old_class is None)
            self.written += 1
            return 1

        def place_copy(self, lpn: int, copy: Copy) -> int:
            assert copy.old_class in (0, 1) and copy.age <= copy.now
            self.copied += 1
            return 0

        def erased(self, block: Erased) -> None:
            assert block.copied < self.device.pages_per_block
            assert block.lifespan <= block.now and block.old_class in (0, 1) and block.block >= 0
            self.erases += 1

        def victim(self, blocks: Blocks) -> int:
            assert len(blocks.number) == len(blocks.valid) == len(blocks.age) == len(blocks)
            assert list(blocks.number) == sorted(set(blocks.number))
            assert max(blocks.valid) < blocks.pages_per_block and max(blocks.age) <= blocks.now
            assert set(blocks.old_class) <= {0, 1}
            assert len(blocks.erases) == len(blocks) and sum(blocks.erases) <= self.erases
            return len(blocks) - 1

    policy = Recorder()
    for _ in range(2):
        result = run(policy, precondition="none", warmup=0)
        assert policy.written == result["programs"]["host"]
        assert policy.copied == result["copies"]["gc"] > 0
        assert policy.erases == result["erases"]["gc"] > 0
    assert (policy.device.page_bytes, policy.device.pages_per_block) == (2048, 64)
    assert (policy.device.logical_pages, policy.device.extra_blocks) == (8192, 20)


ANSWERS = {
    "place": lambda lpn, write: 0,
    "place_copy": lambda lpn, copy: 0,
    "victim": lambda blocks: 0,
    "erased": lambda block: None,
}


@pytest.mark.parametrize("written", [(), *((name,) for name in ANSWERS), tuple(ANSWERS)], ids=str)
def test_the_price_of_a_policy_is_a_call_for_each_page_copy_and_victim(
    written: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = dict.fromkeys(ANSWERS, 0)

    def counted(name: str) -> Callable[..., object]:
        def method(self: Policy, *given: object) -> object:
            calls[name] += 1
            return ANSWERS[name](*given)

        return method

    # Those that a policy does not write would be counted here.
    for name in ANSWERS:
        monkeypatch.setattr(Policy, name, counted(name))
    policy = type("Own", (Policy,), {name: counted(name) for name in written})()
    result = run(policy, precondition="none", warmup=0)
    price = {
        "place": result["programs"]["host"],
        "place_copy": result["copies"]["gc"],
        "victim": result["erases"]["gc"],
        "erased": result["erases"]["gc"],
    }
    assert all(price.values())
    assert calls == {name: price[name] if name in written else 0 for name in ANSWERS}


# ---- Mistakes ------------------------------------------------------------------------------------


def test_an_exception_of_a_policy_is_that_exception() -> None:
    class Broken(Policy):
        def place_copy(self, lpn: int, copy: Copy) -> int:
            raise LookupError(f"no class for page {lpn}")

    with pytest.raises(LookupError, match="no class for page") as caught:
        run(Broken())
    assert any(entry.name == "place_copy" for entry in caught.traceback)


@pytest.mark.parametrize(
    ("method", "returns", "error", "sentence"),
    [
        ("place", 2, ftlab.RunError, r"into class 2; it has 2, from 0 to 1"),
        ("place", -1, ftlab.RunError, r"`place` returned class -1; classes are from 0 to 1"),
        ("place_copy", 300, ftlab.RunError, r"`place_copy` returned class 300"),
        ("place", None, TypeError, r"`place` must return an integer, not a value of NoneType"),
        ("place", 0.5, TypeError, r"`place` must return an integer, not a value of float"),
        ("victim", 10_000, ftlab.RunError, r"victim 10000 of \d+ candidates"),
        ("victim", -1, ftlab.RunError, r"candidates, which are counted from 0"),
        ("victim", "0", TypeError, r"`victim` must return an integer, not a value of str"),
    ],
)
def test_nonsense_of_a_policy_is_a_clear_error(
    method: str, returns: object, error: type[Exception], sentence: str
) -> None:
    kind = type("Odd", (Policy,), {"classes": 2, method: lambda *_: returns})
    with pytest.raises(error, match=sentence):
        run(kind())


def test_what_cannot_be_placed_is_refused() -> None:
    with pytest.raises(ftlab.UsageError, match="fast: it takes no policy"):
        run(Greedy(), ftl="fast")
    with pytest.raises(ftlab.UsageError, match="`frontiers`"):
        run(Greedy(), ftl="page:frontiers=2")
    many = type("Many", (Policy,), {"classes": 11})
    with pytest.raises(ftlab.UsageError, match="at least 22 extra blocks, this device has 20"):
        run(many())
    for classes in (0, 256, -1):
        with pytest.raises(ftlab.UsageError, match="`classes` must be from 1 to 255"):
            run(type("Odd", (Policy,), {"classes": classes})())
    for wrong in ("2", 1.5, None):
        with pytest.raises(TypeError, match=f"Odd: `classes` must be a whole number, and not {wrong!r}"):
            run(type("Odd", (Policy,), {"classes": wrong})())
    for wrong, why in ((Greedy, r", not the class Greedy; make one: Greedy\(\)$"),
                       (dict, ", not the class dict$"),
                       (lambda lpn: 0, ", not of function$"),
                       ("greedy", ", not of str$")):
        with pytest.raises(TypeError, match=f"an object of ftlab.policy.Policy{why}"):
            run(wrong)  # type: ignore[arg-type]


def test_without_numpy_the_lists_are_memoryviews(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("raise ImportError('there is no numpy')\n")
    program = """
import ftlab
from ftlab.policy import Policy

class Greedy(Policy):
    def victim(self, blocks):
        assert type(blocks.valid) is type(blocks.age) is memoryview
        return min(range(len(blocks)), key=blocks.valid.__getitem__)

options = {"capacity": "16MiB", "extra": "20blocks"}
ours = ftlab.run("uniform:writes=20K", policy=Greedy(), **options)
assert ours["erases"] == ftlab.run("uniform:writes=20K", **options)["erases"]
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_ctrl_c_stops_a_run_under_a_policy() -> None:
    program = """
import ftlab
from ftlab.policy import Policy

class Slow(Policy):
    def place(self, lpn, write):
        if write.now == 10_000:
            print("placing", flush=True)
        return 0

ftlab.run("uniform:writes=1G", capacity="16MiB", policy=Slow())
"""
    running = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert running.stdout is not None and running.stdout.readline() == "placing\n"
    running.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, errors = running.communicate(timeout=30)
    assert "KeyboardInterrupt" in errors
    assert time.monotonic() - began < 5


def test_a_misspelt_method_is_an_error() -> None:
    with pytest.raises(TypeError, match="Wrong: no policy has `place_copys`; did you mean `place_"):
        type("Wrong", (Policy,), {"place_copys": lambda self, lpn, copy: 0})
    for name, meant in [("Place", "place"), ("victims", "victim"), ("classs", "classes")]:
        with pytest.raises(TypeError, match=f"no policy has `{name}`; did you mean `{meant}`"):
            type("Wrong", (Policy,), {name: None})
    helpers = {"place": lambda self, lpn, write: 0, "_score": 1, "young": 2, "is_hot": len}
    assert run(type("Right", (Policy,), helpers)()).ftl == "page"


def test_a_negative_victim_is_named_as_it_was_returned() -> None:
    class Last(Policy):
        def victim(self, blocks: Blocks) -> int:
            return -1

    with pytest.raises(ftlab.RunError, match="victim -1 of [0-9]+ candidates"):
        run(Last())


def test_policies_are_compared_with_ftls() -> None:
    options = {"capacity": "16MiB", "extra": "20blocks"}
    both = ftlab.compare(TRACE, ["page", "fast"], policy=HotCold(), **options)
    assert both.labels == ["page", "fast", "HotCold"]
    assert both["HotCold"] == run(HotCold()) and both["page"] == run()
    assert "HotCold" in str(both) and "HotCold" in both.to_html()
    named = ftlab.compare(TRACE, policy={"a": HotCold(), "b": Greedy()}, **options)
    assert named.labels == ["a", "b"] and counts(named["b"]) == counts(run())
    assert ftlab.compare(TRACE, policy=[HotCold(), Greedy()], **options).labels[1] == "Greedy"
    with pytest.raises(ftlab.UsageError, match="two results are called `Greedy`"):
        ftlab.compare(TRACE, policy=[Greedy(), Greedy()], **options)
    with pytest.raises(TypeError, match="one durability"):
        ftlab.compare(TRACE, policy=Greedy(), trim=["honour", "ignore"], **options)
    with pytest.raises(TypeError, match="takes an object of ftlab.policy.Policy"):
        ftlab.compare(TRACE, policy={"a": "greedy"}, **options)


class Counted(HotCold):
    """Knows how many of it were made, and serves a single device."""

    made = 0

    def __init__(self) -> None:
        Counted.made += 1
        self.devices = 0

    def start(self, device: Device) -> None:
        self.devices += 1
        assert self.devices == 1, "rows share a policy"
        super().start(device)


def test_policies_in_plans_are_the_runs_with_them(tmp_path: Path) -> None:
    plan = {
        "base": {"trace": TRACE, "capacity": "8MiB", "extra": "20blocks"},
        "list": [{"policy": ["hot and cold", "greedy"]}],
        "grid": [{"seed": [1, 2]}],
    }
    policies = {"hot and cold": Counted, "greedy": Greedy}
    sweep = ftlab.sweep(plan, jobs=2, policies=policies, out=tmp_path / "rows.jsonl")
    varied = [row["sweep"]["varied"] for row in sweep]
    assert varied == [{"policy": "hot and cold"}, {"policy": "greedy"}, {"seed": 1}, {"seed": 2}]
    assert Counted.made >= 2
    alone = ftlab.run(TRACE, policy=HotCold(), capacity="8MiB", extra="20blocks")
    assert sweep[0]["programs"] == alone["programs"]
    assert sweep[0]["ftl"]["params"]["policy"] == "Counted, written in Python"
    assert "policy" not in sweep[2]["ftl"]["params"], "rows without a policy are those of the FTL"
    assert ftlab.Sweep.read(tmp_path / "rows.jsonl", plan) == sweep


@pytest.mark.filterwarnings("ignore:the runs of all rows failed")
def test_policies_that_a_plan_lacks_or_that_fail_are_named() -> None:
    class Bad(Policy):
        def place(self, lpn: int, write: Write) -> int:
            raise ValueError("no idea")

    line = Bad.place.__code__.co_firstlineno + 1
    plan = {"base": {"trace": "uniform:writes=2K", "capacity": "4MiB", "policy": "mine"}}
    with pytest.raises(ftlab.UsageError, match="no policy is called `mine`"):
        ftlab.sweep(plan)
    with pytest.raises(TypeError, match="a class of policies, or a function"):
        ftlab.sweep(plan, policies={"mine": Greedy()})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="takes an object of ftlab.policy.Policy"):
        ftlab.sweep(plan, policies={"mine": dict})  # type: ignore[dict-item]
    with pytest.raises(ftlab.UsageError, match="called `mine`; did you mean `mne`. `policies` has mne$"):
        ftlab.sweep(plan, policies={"mne": Greedy})
    [failed] = ftlab.sweep(plan, policies={"mine": Bad}).failed
    assert f"no idea ({__file__}:{line})" in failed["sweep"]["error"]["message"]


class Counting(Policy):
    """Sends its first pages elsewhere, and never forgets how many it has seen."""

    classes = 2

    def __init__(self) -> None:
        self.seen = 0

    def place(self, lpn: int, write: Write) -> int:
        self.seen += 1
        return int(self.seen < 5_000)


class Forgetting(Counting):
    """The same, but it begins anew."""

    def start(self, device: Device) -> None:
        self.seen = 0


def test_a_policy_that_keeps_what_it_learned_serves_one_run() -> None:
    sentence = "this object of Counting has served a run before, and keeps what it learned there"
    options = {"capacity": "16MiB", "extra": "20blocks"}
    used = Counting()
    with pytest.raises(ftlab.UsageError, match="it takes no policy"):
        run(used, ftl="fast")
    first = run(used)
    with pytest.raises(ftlab.UsageError, match=sentence):
        run(used)
    with pytest.raises(ftlab.UsageError, match=sentence):
        ftlab.compare("no such file", ["page"], policy=used, **options)
    assert run(Counting()) == first
    # These have nothing to forget, or forget it.
    forgetting, greedy = Forgetting(), Greedy()
    assert run(forgetting) == run(forgetting) and counts(run(forgetting)) == counts(first)
    assert run(greedy) == run(greedy)
    # Each row of a sweep needs a new object.
    made = [Counting(), Counting(), Counting()]
    taken = iter([*made, *made])
    plan = {"base": {"trace": TRACE, **options, "policy": "mine"}, "grid": [{"seed": [1, 2, 3, 4]}]}
    sweep = ftlab.sweep(plan, jobs=1, policies={"mine": lambda: next(taken)})
    assert [sentence in row["sweep"]["error"]["message"] for row in sweep.failed] == [True]


def test_a_policy_is_not_shared_by_runs() -> None:
    one = HotCold()
    with pytest.raises(ftlab.UsageError, match="one policy has two labels"):
        ftlab.compare(TRACE, policy={"a": one, "b": one}, capacity="16MiB", extra="20blocks")
    plan = {"base": {"trace": TRACE, "capacity": "8MiB"}, "list": [{"policy": ["mine"]}]}
    with pytest.raises(ftlab.UsageError, match="returns the same object again"):
        ftlab.sweep(plan, policies={"mine": lambda: one})
