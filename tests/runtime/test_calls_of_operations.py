"""Functions, methods and classes by name in; what takes their place while a capture is under way, and not longer."""

from __future__ import annotations

import sys
import threading
import types
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from graphlint.runtime.trace.places import Stack  # noqa: E402
from graphlint.runtime.watch.calls import Calls  # noqa: E402
from graphlint.runtime.watch.standins import patched  # noqa: E402

LIBRARY = """
class Base:
    def push(self, x):
        return x

class Queue(Base):
    def __init__(self, size=1):
        self.size = size

    @staticmethod
    def count(x):
        return 1

class Pair(tuple):
    def __new__(cls, left, right):
        return super().__new__(cls, (left, right))

class Mark:
    def __new__(cls, name):
        return super().__new__(cls)

def flush(x):
    return x
"""
NAMES = (
    "acme_calls.flush",
    "acme_calls.Queue",
    "acme_calls.Queue.push",
    "acme_calls.Queue.count",
    "acme_calls.Pair",
    "acme_calls.Mark",
    "acme_calls.gone",
    "nowhere.at_all",
    "builtins.int",
    "torch.sort",
)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """A module that is loaded."""
    module = types.ModuleType("acme_calls")
    exec(compile(LIBRARY, "acme_calls.py", "exec"), vars(module))
    monkeypatch.setitem(sys.modules, "acme_calls", module)
    return module


def follow(told: list[tuple[str, tuple[Any, ...], object]]) -> Calls:
    """Calls under a capture of this thread, taken down with what they give."""
    capture = SimpleNamespace(thread=threading.get_ident())
    calls = Calls(SimpleNamespace(capture=capture))

    def called(_capture: object, name: str, args: tuple[Any, ...], _kwargs: Mapping[str, Any], _stack: Stack) -> Any:
        return lambda result: told.append((name, args, result))

    calls.follow(NAMES, called, has_torch=False)
    return calls


def test_calls_are_told_with_what_they_are_given_and_give(library: types.ModuleType) -> None:
    """Of a function, of methods, and of a class that makes an object."""
    told: list[tuple[str, tuple[Any, ...], object]] = []
    with patched(follow(told).patches()):
        queue = library.Queue(3)
        given = library.flush(4), queue.push(5), library.Queue.count(6), queue.count(7)
    assert (4, 5, 1, 1) == given and 3 == queue.size and isinstance(queue, library.Queue)
    flush, made, push, count = NAMES[:4]
    expected = [(made, (3,), queue), (flush, (4,), 4), (push, (queue, 5), 5), (count, (6,), 1), (count, (7,), 1)]
    assert expected == told


def test_a_class_may_make_its_objects_without_initialising_them(library: types.ModuleType) -> None:
    """What `__new__` is given is told as well."""
    told: list[tuple[str, tuple[Any, ...], object]] = []
    with patched(follow(told).patches()):
        pair, mark = library.Pair(1, 2), library.Mark("m")
    assert [("acme_calls.Pair", (1, 2), pair), ("acme_calls.Mark", ("m",), mark)] == told
    assert (1, 2) == library.Pair(1, 2) and isinstance(library.Mark("m"), library.Mark)


def test_nothing_stays_replaced(library: types.ModuleType) -> None:
    """Neither in the module nor in a class, where an inherited method is inherited again."""
    before, own = dict(vars(library)), dict(vars(library.Queue))
    told: list[tuple[str, tuple[Any, ...], object]] = []
    calls = follow(told)
    with patched(calls.patches()):
        assert before != dict(vars(library)) and own != dict(vars(library.Queue))
    library.flush(library.Queue().push(1))
    assert (before, own, []) == (dict(vars(library)), dict(vars(library.Queue)), told)
