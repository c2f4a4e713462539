"""The name of a target, and what its factory gives."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")

from graphlint.errors import UsageError
from graphlint.runtime.examine.target import Runs, load, made, parse

PROGRAM = """
import helper

def factory():
    return step, (1, 2)

def step(x, y):
    return helper.add(x, y)

class Models:
    @staticmethod
    def small():
        return lambda x: -x, [3]

number = 3
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory with a program, a module beside it and a package; imports are forgotten afterwards."""
    (tmp_path / "bench.py").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "helper.py").write_text("def add(x, y):\n    return x + y\n", encoding="utf-8")
    (tmp_path / "serve").mkdir()
    (tmp_path / "serve" / "__init__.py").touch()
    (tmp_path / "serve" / "model.py").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "serve" / "broken.py").write_text("import not_installed_at_all\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("name", "module", "path", "factory"),
    [
        ("serve.model:factory", "serve.model", None, "factory"),
        ("serve.model:Models.small", "serve.model", None, "Models.small"),
        ("bench.py:factory", "bench", Path("bench.py"), "factory"),
        ("bench.py", "bench", Path("bench.py"), ""),
    ],
)
def test_a_name_is_read(name: str, module: str, path: Path | None, factory: str) -> None:
    """A module or a file, with the factory in it; a file alone is a program."""
    spec = parse(name)
    assert (name, module, path, factory) == (spec.name, spec.module, spec.path, spec.factory)
    assert spec.is_program == (not factory)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        pytest.param("gone.py:factory", "the file gone.py does not exist", id="a file that is not there"),
        pytest.param("gone.py", "the file gone.py does not exist", id="a program that is not there"),
        pytest.param("serve.model", "is none of `package.module:factory`", id="a module without a factory"),
        pytest.param("serve.model:", "is none of", id="an empty factory"),
        pytest.param("serve/model:factory", "is none of", id="a path without its ending"),
        pytest.param("", "is none of", id="nothing"),
        pytest.param(":factory", "is none of", id="no module"),
        pytest.param("bench.py:", "is none of", id="a colon and nothing behind it"),
        pytest.param("bench.py:1st", "is none of", id="a factory that is no name"),
    ],
)
def test_a_name_of_the_wrong_form_is_refused(name: str, said: str) -> None:
    """One line that names the target."""
    with pytest.raises(UsageError) as error:
        parse(name)
    assert str(error.value).startswith(f"target `{name}`") and said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["bench.py:factory", "serve.model:factory"])
def test_a_factory_is_imported_and_asked(name: str) -> None:
    """A file sees the modules beside it, a module those of the working directory."""
    target = load(parse(name))
    assert (1, 2) == target.args and {} == target.kwargs and target.replay is None
    assert 3 == target.call(*target.args, **target.kwargs)


def test_a_factory_may_lie_in_a_class() -> None:
    """And its arguments may be a list."""
    target = load(parse("serve.model:Models.small"))
    assert -3 == target.call(*target.args)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        pytest.param("gone.model:factory", "there is no module `gone`", id="a package that is not there"),
        pytest.param("serve.gone:factory", "there is no module `serve.gone`", id="a module that is not there"),
        pytest.param("bench.py:factroy", "`bench` has no `factroy`; did you mean `factory`?", id="a misspelt factory"),
        pytest.param("bench.py:Models.large", "`bench` has no `large`", id="a factory that a class lacks"),
        pytest.param("bench.py:number", "`number` is not callable, so it is no factory", id="a number"),
        pytest.param("bench.py:step", "the factory `step` takes arguments", id="the callable itself"),
    ],
)
def test_a_factory_that_cannot_be_asked_is_refused(name: str, said: str) -> None:
    """One line that names the target."""
    with pytest.raises(UsageError) as error:
        load(parse(name))
    assert str(error.value).startswith(f"target `{name}`: ") and said in str(error.value)
    assert "\n" not in str(error.value)


def test_an_import_that_fails_inside_the_module_goes_its_way() -> None:
    """What the module lacks is not the name of the target."""
    with pytest.raises(ModuleNotFoundError, match="not_installed_at_all"):
        load(parse("serve.broken:factory"))


def runner(**parts: Any) -> SimpleNamespace:
    return SimpleNamespace(capture=lambda: "captured", replay=lambda *_, **__: "replayed", **parts)


@pytest.mark.parametrize(
    ("given", "args", "kwargs"),
    [
        pytest.param((abs, (1,)), (1,), {}, id="callable and arguments"),
        pytest.param((abs, [1]), (1,), {}, id="arguments as a list"),
        pytest.param((abs, 1), (1,), {}, id="one argument"),
        pytest.param((dict, (), {"a": 1}), (), {"a": 1}, id="keyword arguments"),
        pytest.param((list,), (), {}, id="a callable alone"),
    ],
)
def test_what_a_factory_gives_is_a_target(given: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """A callable with its example arguments."""
    target = made(given, "t")
    assert (args, kwargs, None) == (target.args, target.kwargs, target.replay)


@pytest.mark.parametrize("given", [runner(), (runner(),), (runner(), (1,)), (runner(), (1,), {"a": 2})])
def test_a_runner_captures_itself(given: Any) -> None:
    """An object with `capture` and `replay`, alone or with example arguments."""
    target = made(given, "t")
    assert target.replay is not None and target.eager is None
    assert ("captured", "replayed") == (target.call(), target.replay(*target.args, **target.kwargs))
    assert target.args == (given[1] if isinstance(given, tuple) and len(given) > 1 else ())


def test_a_runner_may_have_an_eager_way() -> None:
    """It gives the same without a graph."""
    target = made((runner(eager=lambda x: x), (1,)), "t")
    assert target.eager is not None and 1 == target.eager(*target.args)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param(None, "the factory gave a NoneType; expected", id="nothing"),
        pytest.param(abs, "the factory gave a builtin_function_or_method; expected", id="no tuple"),
        pytest.param([abs, (1,)], "the factory gave a list; expected", id="a list"),
        pytest.param((), "the factory gave a tuple of 0; expected", id="an empty tuple"),
        pytest.param((abs, (), {}, 1), "the factory gave a tuple of 4; expected", id="too much"),
        pytest.param((1, ()), "the factory gave a int, which is not callable", id="no callable"),
        pytest.param((abs, (1,), [2]), "the third value of the factory is a list, no dictionary", id="a list third"),
        pytest.param((abs, (1,), {2: 3}), "does not take the example arguments: keywords must be", id="a number key"),
        pytest.param((lambda x: x, ()), "does not take the example arguments: missing", id="an argument too few"),
        pytest.param((lambda: 1, (2,)), "does not take the example arguments: too many", id="one too many"),
        pytest.param((lambda x: x, (1,), {"y": 2}), "does not take the example arguments: got", id="an unknown name"),
    ],
)
def test_what_is_no_target_is_refused(given: object, said: str) -> None:
    """One clear line for each wrong shape."""
    with pytest.raises(UsageError) as error:
        made(given, "bench.py:f")
    assert str(error.value).startswith("target `bench.py:f`: ") and said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_builtin_without_a_signature_is_taken_as_it_is() -> None:
    """Whether it takes its arguments shows when it runs."""
    assert (1, 2) == made((max, (1, 2)), "t").args


def test_replays_beyond_the_third_have_new_inputs() -> None:
    """The same values come first, then another order."""
    assert [(0,), (0, 1, 2), (0, 1, 2, 2, 2)] == [Runs(replays=number).levels for number in (1, 3, 5)]
