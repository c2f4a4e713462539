"""The lines of user code that lead to a frame."""

from __future__ import annotations

import importlib.util
import json
import sys
import sysconfig
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest

torch = pytest.importorskip("torch")

import graphlint  # noqa: E402
from graphlint.finding import Span  # noqa: E402
from graphlint.runtime.trace.places import (  # noqa: E402
    Place,
    Stack,
    caller_stack,
    is_user_code,
    libraries_between,
    segment,
    shown,
    traceback_stack,
    user_stack,
    waiting_frame,
)

SITE = sysconfig.get_paths()["purelib"]
Load = Callable[[str], ModuleType]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """A program of the user, which has `note` and may call it."""

    def loaded(text: str) -> ModuleType:
        path = tmp_path / "program.py"
        path.write_text(text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location("program", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        module.stacks = []
        module.note = lambda *_: module.stacks.append(user_stack(sys._getframe(1))) or 1
        spec.loader.exec_module(module)
        return module

    return loaded


def own(module: ModuleType, index: int = 0) -> Stack:
    """The part of a stack that lies in the program."""
    return tuple(place for place in module.stacks[index] if place.path == module.__file__)


def test_the_innermost_line_of_the_user_comes_first_behind_frames_of_torch(load: Load) -> None:
    """What a module or a hook of PyTorch runs in between is left out."""
    module = load(
        "import torch\nclass Block(torch.nn.Module):\n    def forward(self, x):\n        note()\n        return x\n"
        "def step(x):\n    return torch.nn.Sequential(Block())(x)\nstep(torch.ones(1))\n"
    )
    (stack,) = module.stacks
    assert [4, 7, 8] == [place.line for place in own(module)]
    assert not [place for place in stack if "/torch/" in place.path]
    assert ["program:Block.forward", "program:step", "program"] == [place.function for place in own(module)]


def test_a_function_is_named_by_the_functions_around_it(load: Load) -> None:
    """Without the mark of Python for what is local."""
    module = load("def outer():\n    class C:\n        def f(self): note()\n    C().f()\nouter()\n")
    assert "program:outer.C.f" == own(module)[0].function


@pytest.mark.parametrize(
    ("text", "span", "operation"),
    [
        pytest.param("x = 1 + note(2) + 3\n", (1, 9, 1, 16), "note(2)", id="a call in an expression"),
        pytest.param("x = note(\n    2,\n)\n", (1, 5, 3, 2), "note( 2, )", id="a call over three lines"),
        pytest.param("x = 'ä', note(2)\n", (1, 11, 1, 18), "note(2)", id="behind a letter of two bytes"),
        pytest.param("x = [\n    1,\n    note(2),\n]\n", (3, 5, 3, 12), "note(2)", id="in a list over four lines"),
    ],
)
def test_a_place_is_the_stretch_that_runs(
    load: Load, text: str, span: tuple[int, int, int, int], operation: str
) -> None:
    """Lines and columns count from 1 (columns in bytes), and the end is exclusive."""
    place = own(load(text))[0]
    assert Span(place.path, *span) == place.span
    assert operation == shown(place.span)


def test_the_text_of_a_long_operation_is_cut(load: Load) -> None:
    """One line of sixty characters at most."""
    text = shown(own(load(f"note({', '.join(['1234'] * 20)})\n"))[0].span)
    assert 60 == len(text) and text.endswith("…")


def test_the_text_of_a_line_has_no_comment(load: Load) -> None:
    """A span without an end is the whole line."""
    module = load("x = 1  # why\n")
    assert "x = 1" == shown(Span(str(module.__file__), 1))


def test_source_that_is_not_there_has_no_text() -> None:
    """It is no failure."""
    assert ("", "") == (segment(Span("gone.py", 3, 1, 3, 9)), shown(Span("gone.py", 3)))
    assert Place(compile("f(1)", "gone.py", "exec"), 0, "gone").expression is None


def test_an_exception_leads_to_the_line_that_raised_it(load: Load) -> None:
    """From where it was raised outwards, without the frames of libraries."""
    module = load("import json\ndef step(text):\n    return json.loads(text)\ndef main():\n    step('{')\n")
    with pytest.raises(json.JSONDecodeError) as raised:
        module.main()
    stack = traceback_stack(raised.value.__traceback__)
    assert [3, 5] == [place.line for place in stack if place.path == module.__file__]
    assert "json.loads(text)" == shown(stack[0].span)


@pytest.mark.parametrize(
    ("path", "is_user"),
    [
        pytest.param(__file__, True, id="a test"),
        pytest.param("/home/me/serve.py", True, id="a program"),
        pytest.param(f"{SITE}/transformers/models/llama/modeling_llama.py", True, id="a library of models"),
        pytest.param(f"{SITE}/torch_geometric/nn.py", True, id="a library whose name begins like torch"),
        pytest.param(torch.nn.functional.__file__, False, id="torch"),
        pytest.param(f"{SITE}/cupy/_core/core.py", False, id="cupy"),
        pytest.param(f"{SITE}/numpy/__init__.py", False, id="numpy"),
        pytest.param(json.__file__, False, id="the standard library, a package"),
        pytest.param(graphlint.__file__, False, id="graphlint, which a test calls"),
        pytest.param(sysconfig.__file__, False, id="the standard library, a module"),
        pytest.param(sys.modules["graphlint.runtime.trace.places"].__file__, False, id="what looks on"),
        pytest.param("<string>", False, id="a text"),
        pytest.param("<frozen importlib._bootstrap>", False, id="what is frozen in"),
    ],
)
def test_user_code_is_told_from_what_runs_it(path: str, is_user: bool) -> None:
    """Libraries of models are user code: their lines are reported."""
    assert is_user == is_user_code(path)


def test_the_functions_of_libraries_in_between_are_named(load: Load) -> None:
    """From the innermost to the user's line; none where that line runs the operator itself."""
    found: list[tuple[str, ...]] = []

    class Mode(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            found.append(libraries_between(sys._getframe(1)))
            return func(*args, **kwargs or {})

    module = load("import torch\ndef step(x):\n    x + 1\n    torch.nn.functional.leaky_relu(x)\n")
    x = torch.ones(1)
    with Mode():
        module.step(x)
    assert [(), ("torch.nn.functional:leaky_relu",)] == found


def test_a_thread_without_user_code_works_for_the_line_that_waits_for_it() -> None:
    """As a thread of autograd does for the line that runs the backward."""
    with ThreadPoolExecutor(1) as pool:
        stack = pool.submit(caller_stack).result()
    assert __file__ == stack[0].path and "pool" in segment(stack[0].span)


def test_where_a_thread_is_says_no_frame_of_the_question_itself() -> None:
    """It would hold itself, and all that its callers were given, until the garbage is collected."""
    frame = sys._getframe()
    assert frame is waiting_frame(frame, threading.get_ident())
    with ThreadPoolExecutor(1) as pool:
        own = pool.submit(threading.get_ident).result()
        waiting = pool.submit(waiting_frame, sys._current_frames()[own], own).result()
    assert waiting is not None and waiting.f_code is not waiting_frame.__code__
    assert __file__ == user_stack(waiting)[0].path
