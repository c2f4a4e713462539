"""What a capture that fails leaves behind, where somebody catches its exception and goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

RUNNER = """
# file: runner.py
import contextlib
import gc
import torch

class State:
    capturing = False

class Base:
    def start(self, sizes):
        {start}

class Runner(Base):
    def __init__(self, model, pool):
        self.model, self.pool, self.graphs, self.state = model, pool, {{}}, State()
        self.capturing, self.mode = False, "eager"
        self.x = torch.zeros(8, 8, device="cuda")

    def capture_one(self, size):
        {before}
        self.model(self.x[:size]); torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with {around}torch.cuda.graph(graph):
            y = self.model(self.x[:size])
        {after}
        self.graphs[size] = graph, y

    def taken(self, size):
        return [self.pool.add(n) for n in range(size)]

    @contextlib.contextmanager
    def in_mode(self):
        self.mode = "capture"{marked}
        yield
        self.mode = "eager"

    @contextlib.contextmanager
    def in_mode_at_last(self):
        self.mode = "capture"
        try:
            yield
        finally:
            self.mode = "eager"

# file: serve.py
from runner import Runner

def serve(model, pool):
    runner = Runner(model, pool)
    {serve}
    return runner
"""
TOLD = "  # expect: GL902"
SKIPS = "for size in sizes:\n            try:\n                self.capture_one(size)\n            {handler}"
GOES_ON = SKIPS.format(handler="except Exception as error:\n                print(error)")


def capturing(folder: Path, **given: str) -> tuple[object, object]:
    """What is expected and shown of the rule for a runner like this."""
    filled = {"before": "pass", "after": "pass", "around": "", "marked": "", "start": GOES_ON, "serve": "pass", **given}
    analysis = analyse(folder, RUNNER.format(**filled))
    return analysis.expected, [one for one in analysis.shown if one[2] == "GL902"]


CHANGES = {
    "a flag": ("self.capturing = True" + TOLD, "self.capturing = False"),
    "a flag of a part": ("self.state.capturing = True" + TOLD, "self.state.capturing = False"),
    "a flag of somebody": ("self.pool.is_capturing = True" + TOLD, "self.pool.is_capturing = False"),
    "a mode": ('self.mode = "capture"' + TOLD, 'self.mode = "eager"'),
    "what was there before": ("old = self.mode; self.mode = size" + TOLD, "self.mode = old"),
    "one of several": ("self.capturing = True" + TOLD, "self.done, self.capturing = size, False"),
    "an item": ('self.graphs["busy"] = True' + TOLD, 'self.graphs["busy"] = False'),
    "what is taken": ("slots = self.pool.take(size)", "self.pool.free(slots)" + TOLD),
    "all that is taken": ("slots = self.taken(size)", f"for slot in slots: self.pool.release(slot){TOLD}"),
    "what is told to be given back": ("slot = self.pool.take(size)", "self.pool.touch(slot, free=True)" + TOLD),
    "a call": ("self.pool.freeze()" + TOLD, "self.pool.unfreeze()"),
    "a call by its name": ("self.pool.enter_capture()" + TOLD, "self.pool.exit_capture()"),
    "a call that is undone before": ("self.pool.freeze(); self.pool.unfreeze()", "self.pool.unfreeze()"),
    "an item of its own": ('own = {}; own["busy"] = True', 'own["busy"] = False'),
    "a flag that says what is done": ("self.ready = False", "self.ready = True"),
    "a flag that begins so": ("self.capturing = False", "self.capturing = True"),
    "a name of the function": ("capturing = True", "capturing = False"),
    "another mode": ('self.mode = "warm"', 'self.mode = "graphs"'),
    "what nobody takes": ("slots = list(range(size))", "self.pool.free(self.x)"),
    "another call": ("self.pool.freeze()", "self.x.unfreeze()"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_what_is_put_back_behind_a_region_stays_changed_if_it_fails(tmp_path: Path, change: tuple[str, str]) -> None:
    expected, shown = capturing(tmp_path, before=change[0], after=change[1])
    assert shown == expected


HANDLERS = {
    "goes on": ("except RuntimeError:\n                continue", True),
    "goes on with any": ("except:\n                break", True),
    "goes on with what others raise": ("except torch.cuda.OutOfMemoryError:\n                break", True),
    "passes it on": ("except RuntimeError as error:\n                raise ValueError from error", False),
    "ends the program": ("except RuntimeError:\n                exit(1)", False),
    "catches something else": ("except KeyError:\n                continue", False),
    "sets it back": ("except RuntimeError:\n                self.capturing = False", False),
    "has it set back": ("except RuntimeError:\n                self.reset()", False),
    "sets it back at last": ("finally:\n                self.capturing = False", False),
}


@pytest.mark.parametrize(("handler", "is_told"), HANDLERS.values(), ids=HANDLERS.keys())
def test_it_counts_what_a_handler_does(tmp_path: Path, handler: str, is_told: bool) -> None:
    before = "self.capturing = True" + (TOLD if is_told else "")
    start = SKIPS.format(handler=handler)
    expected, shown = capturing(tmp_path, before=before, after="self.capturing = False", start=start)
    assert shown == expected


SERVES = "try:\n        runner.capture_one(8)\n    except Exception:\n        print('eager')"


@pytest.mark.parametrize(("serve", "mark"), [(SERVES, TOLD), ("runner.capture_one(8)", "")], ids=["goes on", "ends"])
def test_another_file_may_catch_what_a_capture_raises(tmp_path: Path, serve: str, mark: str) -> None:
    given = {"before": "self.capturing = True" + mark, "after": "self.capturing = False"}
    expected, shown = capturing(tmp_path, start="pass", serve=serve, **given)
    assert shown == expected


@pytest.mark.parametrize(
    ("around", "marked"), [("self.in_mode(), ", TOLD), ("self.in_mode_at_last(), ", "")], ids=["behind", "at last"]
)
def test_a_context_manager_may_skip_what_stands_behind_its_yield(tmp_path: Path, around: str, marked: str) -> None:
    expected, shown = capturing(tmp_path, around=around, marked=marked)
    assert shown == expected


INSIDE = """
import torch

class Runner:
    def __init__(self, model):
        self.model, self.capturing, self.graph = model, False, None
        self.x = torch.zeros(8, device="cuda")

    def capture(self):
        {outside}
        try:
            {first}
            self.model(self.x); torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.y = self.model(self.x)
            {last}
            self.graph = graph
        except Exception as error:
            print(error)
        {behind}
"""


@pytest.mark.parametrize(
    "given",
    [
        {"first": "self.capturing = True" + TOLD, "last": "self.capturing = False"},
        {"outside": "self.capturing = True" + TOLD, "last": "self.capturing = False"},
        {"first": "self.capturing = True", "behind": "self.capturing = False"},
        {"outside": "self.capturing = True", "behind": "self.capturing = False"},
    ],
    ids=["inside", "from outside", "behind the handler", "around it"],
)
def test_what_stands_behind_the_handler_is_done_in_any_case(tmp_path: Path, given: dict[str, str]) -> None:
    filled = {"outside": "pass", "first": "pass", "last": "pass", "behind": "pass", **given}
    analysis = analyse(tmp_path, INSIDE.format(**filled))
    assert [one for one in analysis.shown if one[2] == "GL902"] == analysis.expected
