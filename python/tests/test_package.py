"""The package itself: types, stubs, documentation and the command in it."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import pkgutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import ftlab
import pytest
from conftest import ROOT
from ftlab import _native

STUB = ROOT / "python" / "ftlab" / "_native.pyi"


def modules() -> Iterator[ModuleType]:
    """All modules of the package."""
    for found in pkgutil.iter_modules(ftlab.__path__, "ftlab."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def parameters(function: ast.FunctionDef) -> list[tuple[str, str, bool]]:
    """Name, kind and whether there is a default, for each parameter but ``self`` in a stub."""
    arguments = function.args
    plain = [*arguments.posonlyargs, *arguments.args]
    first_default = len(plain) - len(arguments.defaults)
    found = [(one.arg, "plain", at >= first_default) for at, one in enumerate(plain)]
    for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found.append((one.arg, "keyword", default is not None))
    return [one for one in found if one[0] not in ("self", "cls")]


def runtime_parameters(function: Callable[..., object]) -> list[tuple[str, str, bool]]:
    """The same for a function of the extension."""
    kinds = {inspect.Parameter.KEYWORD_ONLY: "keyword"}
    return [
        (one.name, kinds.get(one.kind, "plain"), one.default is not one.empty)
        for one in inspect.signature(function).parameters.values()
        if one.name not in ("self", "cls")
    ]


def public(names: list[str]) -> set[str]:
    return {name for name in names if not name.startswith("__") or name == "__version__"}


def test_the_stub_has_the_signatures_of_the_extension() -> None:
    body = ast.parse(STUB.read_text()).body
    functions = {one.name: one for one in body if isinstance(one, ast.FunctionDef)}
    classes = {one.name: one for one in body if isinstance(one, ast.ClassDef)}
    variables = {
        one.target.id
        for one in body
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
    }
    assert public(dir(_native)) == {*functions, *classes, *variables}
    for name, function in functions.items():
        assert parameters(function) == runtime_parameters(getattr(_native, name)), name
    for name, stub in classes.items():
        kind = getattr(_native, name)
        methods = {one.name: one for one in stub.body if isinstance(one, ast.FunctionDef)}
        fields = [one.target for one in stub.body if isinstance(one, ast.AnnAssign)]
        fields = {ast.unparse(field) for field in fields}
        assert public(list(vars(kind))) <= {*methods, *fields}, name
        assert all(hasattr(kind, field) for field in fields), name
        for method, function in methods.items():
            found = inspect.getattr_static(kind, method)
            if callable(found) and not method.startswith("__"):
                assert parameters(function) == runtime_parameters(getattr(kind, method)), method


def test_the_types_of_options_are_those_of_the_command() -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        generator = importlib.import_module("python_options")
    finally:
        sys.path.pop(0)
    written = (ROOT / "python" / "ftlab" / "options.py").read_text()
    assert written == generator.text(_native.run_options()), "run tools/python_options.py"


def test_signatures_and_documentation_list_every_option() -> None:
    of_sweeps = ("each_volume", "volumes")
    every = [option for option in _native.run_options() if option["name"] not in of_sweeps]
    of_life = [option for option in every if option["is_of_life"]]
    of_advice = [option for option in every if option["is_of_advice"]]
    some = [(ftlab.life, of_life), (ftlab.advise, of_advice)]
    of_runs = [(function, every) for function in (ftlab.run, ftlab.compare, ftlab.film)]
    for function, options in [*of_runs, *some]:
        names = {option["name"] for option in options}
        listed = set(inspect.signature(function).parameters)
        assert names <= listed and not listed & set(of_sweeps), function.__name__
        for option in options:
            text = " ".join((function.__doc__ or "").split())
            if option["name"] not in ("trace", "ftl", "durability", "trim"):
                assert " ".join(option["help"].split()) in text, option["name"]


def test_everything_public_is_documented() -> None:
    for module in modules():
        assert module.__doc__, module.__name__
        for name, value in vars(module).items():
            is_ours = getattr(value, "__module__", None) == module.__name__
            if name.startswith("_") or not is_ours or not (
                inspect.isfunction(value) or inspect.isclass(value)
            ):
                continue
            assert value.__doc__, f"{module.__name__}.{name}"
            for method, body in vars(value).items():
                if inspect.isfunction(body) and not method.startswith("_"):
                    assert body.__doc__, f"{name}.{method}"


def test_public_names_exist() -> None:
    assert all(hasattr(ftlab, name) for name in ftlab.__all__)


@pytest.mark.timeout(600)
def test_types_check() -> None:
    words = [sys.executable, "-m", "mypy", "python/ftlab", "python/ftlab_powercut", "tools/python_options.py"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_brings_the_command(
    command: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    assert command("--version").stdout.strip() == f"ftlab {ftlab.__version__}"
    beside = Path(sys.executable).with_name("ftlab")
    done = subprocess.run([beside, "list", "ftls"], capture_output=True, text=True)
    assert done.stdout == command("list", "ftls").stdout
    wrong = command("run", "--ftl", "pgae")
    assert wrong.returncode == 2
    assert "page" in wrong.stderr
    assert command("run", "missing.csv").returncode == 1


def test_the_command_names_itself_in_remedies(
    command: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    bad = tmp_path / "bad trace.csv"
    bad.write_text("0,0,4096,W,0.0\n0,x,4096,W,0.1\n")
    done = command("run", bad, "--format", "spc")
    assert f"ftlab run '{bad}' --format spc --skip-bad" in done.stderr


@pytest.mark.timeout(600)
def test_the_wheel_needs_nothing_else(tmp_path: Path) -> None:
    folder = ROOT / os.environ.get("FTLAB_WHEELS", "no wheels")
    wheels = sorted(folder.glob("ftlab-*.whl"))
    if not wheels:
        pytest.skip("FTLAB_WHEELS names no folder with a wheel; `make python` does")
    assert "-abi3-" in wheels[0].name
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "bare"], check=True)
    python = tmp_path / "bare" / "bin" / "python"
    # No cargo, no compiler, no index.
    bare = {"PATH": "/nonexistent", "HOME": str(tmp_path)}
    words = [python, "-m", "pip", "install", "--quiet", "--no-index", wheels[0]]
    subprocess.run(words, check=True, env=bare)
    program = """
import sys, ftlab
result = ftlab.run("uniform:writes=2K", capacity="16MiB")
both = ftlab.compare("uniform:writes=2K", ["page", "fast"], capacity="16MiB")
assert both["page"] == result and result._repr_html_() and both.to_html()
assert not {"numpy", "pandas", "pyarrow", "altair", "distributed"} & set(sys.modules)
"""
    subprocess.run([python, "-c", program], check=True, env=bare, cwd=tmp_path)
    words = [python.with_name("ftlab"), "run", "uniform:writes=2K", "--capacity", "16MiB"]
    done = subprocess.run(words, check=True, env=bare, capture_output=True, text=True)
    assert "write amplification" in done.stdout
