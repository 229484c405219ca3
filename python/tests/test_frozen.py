"""Figures of results cannot be changed, and are dicts and lists all the same."""

from __future__ import annotations

import copy
import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import ftlab
import pandas as pd
import pytest
from ftlab.frozen import FrozenDict, FrozenList, frozen

TRACE = "uniform:writes=2K"
DEVICE: dict[str, Any] = {"capacity": "16MiB"}
PLAN = {"base": {"trace": TRACE, **DEVICE}, "grid": [{"seed": [1, 2]}]}
REFUSED = r"results cannot be changed; copy\.deepcopy"


class NoFtl(ftlab.Ftl):
    """An FTL whose check has findings: it mounts nothing."""

    def mount(self, chip: ftlab.guest.Chip, device: ftlab.guest.Device) -> None:
        raise OSError("no")


def nested(value: Any) -> Iterator[dict[str, Any] | list[Any]]:
    """All dicts and lists in a value, and itself."""
    if isinstance(value, (dict, list)):
        yield value
        for one in value.values() if isinstance(value, dict) else value:
            yield from nested(one)


def everything() -> dict[str, list[Any]]:
    """The figures of everything that has some."""
    result = ftlab.run(TRACE, interval="auto", **DEVICE)
    sweep = ftlab.sweep(PLAN)
    lives = ftlab.life(TRACE, media="real:endurance=9", reserve="10%", **DEVICE)
    check = ftlab.check(NoFtl, workload="hot", second_cuts=0)
    figures = ftlab.figures.of(ftlab.compare(TRACE, ["page", "fast"], **DEVICE))
    return {
        "Result": [result[field] for field in result],
        "Comparison": [ftlab.Comparison(["a"], [result]).labels],
        "Film": [ftlab.film(TRACE, **DEVICE).labels],
        "TraceInfo": list(ftlab.trace.info(TRACE, **DEVICE).values()),
        "Advice": list(ftlab.advise(TRACE).values()),
        "Sweep": [sweep[0], *sweep[:], sweep.claims],
        "Lives": [lives[0], lives.labels],
        "Figure": [figure.table for figure in figures],
        "Check": [check.verdicts, check.findings, check.findings[0].cuts, check.smallest],
    }


def test_no_figure_can_be_changed() -> None:
    for name, figures in everything().items():
        found = [one for figure in figures for one in nested(figure)]
        assert found, name
        for one in found:
            with pytest.raises(TypeError, match=REFUSED):
                one.clear()


def test_every_way_to_change_is_refused() -> None:
    both = [FrozenDict({"a": 1}), FrozenList([2, 1])]
    for value, plain in zip(both, ({"a": 1}, [2, 1])):
        changes = {*dir(type(plain))} - {*dir(tuple), *dir(object)}
        changes -= {"copy", "fromkeys", "get", "items", "keys", "values"}
        changes -= {"__or__", "__ror__", "__reversed__", "__class_getitem__"}
        assert {"__setitem__", "__delitem__", "pop", "clear"} < changes
        for change in changes:
            with pytest.raises(TypeError, match=REFUSED):
                getattr(value, change)()
        assert value == plain and type(value.copy()) is type(plain)
    with pytest.raises(TypeError, match=REFUSED):
        both[0] |= {"b": 2}
    with pytest.raises(TypeError, match=REFUSED):
        both[1] += [3]


def test_a_result_keeps_what_it_says() -> None:
    result = ftlab.run(TRACE, **DEVICE)
    before = (result.to_json(), result["erases"]["gc"])
    with pytest.raises(TypeError, match=REFUSED):
        result["erases"]["gc"] = -5
    with pytest.raises(TypeError, match=REFUSED):
        dict(result)["programs"].update(host=0)
    assert before == (result.to_json(), result["erases"]["gc"])
    own = result.to_dict()
    own["erases"]["gc"] = -5
    assert result["erases"]["gc"] == before[1]


def test_figures_are_dicts_and_lists() -> None:
    result = ftlab.run(TRACE, **DEVICE)
    assert json.dumps(dict(result)) == json.dumps(result.to_dict())
    assert isinstance(result["erases"], dict) and isinstance(result["notes"], list)
    assert dict(result) == result.to_dict() and {**result["erases"]} == result["erases"]
    assert pd.DataFrame([result["erases"]])["gc"][0] == result["erases"]["gc"]
    assert pd.json_normalize(dict(result))["erases.gc"][0] == result["erases"]["gc"]
    assert repr(frozen({"a": [1]})) == "{'a': [1]}"


def test_a_misspelt_field_is_named_at_any_depth() -> None:
    sweep = ftlab.sweep(PLAN)
    advice = ftlab.advise(TRACE)
    for fields, name, meant in (
        (sweep[0], "write_amplificaton", "write_amplification"),
        (sweep[0]["sweep"], "roww", "row"),
        (sweep[0]["erases"], "g", None),
        (ftlab.run(TRACE, **DEVICE)["time_us"], "totl", "total"),
        (advice, "latenzy", "latency"),
    ):
        asked = f"; did you mean `{meant}`?" if meant else ""
        with pytest.raises(KeyError, match=re.escape(f"there is no field '{name}'{asked}") + "['\"]"):
            fields[name]
        assert fields.get(name) is None and name not in fields
    base = {"trace": "uniform:writes=100", "capacity": "4MiB"}
    failed = ftlab.sweep({"base": base, "grid": [{"extra": ["0blocks", "8blocks"]}]}).failed[0]
    with pytest.raises(KeyError, match=r"the run of this row failed, and row\['sweep'\]\['error'\]"):
        failed["write_amplification"]


@pytest.mark.parametrize("value", [{"a": [{"b": 1}]}, [{"a": [1]}]])
def test_a_deep_copy_can_be_changed_and_a_pickle_cannot(value: Any) -> None:
    kept = frozen(value)
    copied = copy.deepcopy(kept)
    assert copied == value and not any(isinstance(one, FrozenList) for one in nested(copied))
    copied.clear()
    for again in (pickle.loads(pickle.dumps(kept)), copy.copy(kept)):
        assert again == value and all(type(one) in (FrozenDict, FrozenList) for one in nested(again))
    info = ftlab.trace.info(TRACE, **DEVICE)
    for again in (pickle.loads(pickle.dumps(info)), copy.deepcopy(info)):
        assert again == info and again.to_json() == info.to_json()
        with pytest.raises(TypeError, match=REFUSED):
            again["writes"].clear()


def test_a_field_that_is_read_as_an_attribute_is_named() -> None:
    result = ftlab.run(TRACE, **DEVICE)
    info, advice = ftlab.trace.info(TRACE), ftlab.advise(TRACE)
    for named, name, sentence in [
        (result, "time_us", "Result has no attribute 'time_us'; 'time_us' is a field: […]['time_us']"),
        (info, "requests", "TraceInfo has no attribute 'requests'; 'requests' is a field"),
        (advice, "spare", "Advice has no attribute 'spare'; 'spare' is a field"),
        (result["erases"], "gc", "FrozenDict has no attribute 'gc'; 'gc' is a field"),
        (result, "headlin", "Result has no attribute 'headlin'; did you mean `headline`?"),
        (result, "write_amp", "no attribute 'write_amp'; did you mean `write_amplification`?"),
        (result, "nothing_like_it", "Result has no attribute 'nothing_like_it'$"),
    ]:
        with pytest.raises(AttributeError, match=re.escape(sentence).replace(r"\$", "$")):
            getattr(named, name)
    assert not hasattr(result, "_repr_png_") and pickle.loads(pickle.dumps(result)) == result


def test_a_place_that_does_not_exist_is_named() -> None:
    both, sweep = ftlab.compare(TRACE, ["page", "fast"], **DEVICE), ftlab.sweep(PLAN)
    lives = ftlab.life(TRACE, media="real:endurance=9", reserve="10%", **DEVICE)
    for several, what in [(both, "run"), (sweep, "row"), (lives, "life")]:
        last = len(several) - 1
        assert several[-1] == several[last] and several[last + 1 :] == []
        for place in (last + 1, -last - 2):
            sentence = f"there is no {what} {place}; the last one is {last}"
            with pytest.raises(IndexError, match=sentence):
                several[place]


PICKLED = """
import pickle, ftlab
both = ftlab.compare("uniform:writes=2K", ["page", "fast"], capacity="16MiB")
again = pickle.loads(pickle.dumps(both))
texts = [both, again, pickle.loads(pickle.dumps(both[0]))]
print(["\\x1b" in str(text) for text in texts])
"""


def test_what_is_pickled_in_a_notebook_has_no_colours() -> None:
    # Kernels of notebooks set it.
    colours = {**os.environ, "CLICOLOR_FORCE": "1"}
    colours.pop("NO_COLOR", None)
    words = [sys.executable, "-c", PICKLED]
    said = subprocess.run(words, env=colours, capture_output=True, text=True, check=True).stdout
    assert said == "[True, False, False]\n"
