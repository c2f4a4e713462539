"""Caches that a run before the capture has filled are not filled in it; without such a run they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

PROGRAM = """
import os
import torch

_tables, _one = {{}}, torch.ones(4)

class Layer:
    def __init__(self):
        self.trains = bool(os.environ.get("TRAINS"))
        self.scale, self.parts, self.room = None, {{}}, torch.empty(0, device="cuda")
        self.table = torch.ones(4)
        self.state, self.is_raw, self.n = "raw", True, 0

    def __call__(self, x):
        {body}

def main():
    layer, x = Layer(), torch.zeros(4, device="cuda")
    {before}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        layer(x)
    graph.replay()
"""
MADE = "torch.ones(16, device=x.device)"
FORMS = {
    "an attribute that is None": f"""
        if self.scale is None:
            self.scale = {MADE}
        return x * self.scale[:4]""",
    "an attribute that may lie elsewhere": f"""
        if self.scale is None or self.scale.device != x.device:
            self.scale = {MADE}
        return x * self.scale[:4]""",
    "an attribute that may be of another mode": f"""
        if self.scale is None or (self.trains and self.scale.is_inference()):
            self.scale = {MADE}
        return x * self.scale[:4]""",
    "an item that a table is asked for in the test": f"""
        if self.parts.get("a", None) is None:
            self.parts["a"] = {MADE}
        return x * self.parts["a"][:4]""",
    "an attribute that may be too small": f"""
        if self.scale is None or self.scale.size(0) < x.size(0):
            self.scale = {MADE}
        return x * self.scale[:4]""",
    "an attribute that is asked for by its name": f"""
        found = getattr(self, "made", None)
        if found is None or found.shape[0] < x.shape[0]:
            self.made = found = {MADE}
        return x * found[:4]""",
    "room of a size that is asked for by its name": f"""
        if not hasattr(self, "made") or int(getattr(self, "room_of", 0)) < x.shape[0]:
            self.made, self.room_of = {MADE}, 16
        return x * self.made[:4]""",
    "an attribute that is moved to where it is needed": """
        self.table = self.table.to(x.device)
        return x * self.table""",
    "an attribute that is moved if there is one": """
        self.table = self.table.to(dtype=x.dtype, device=x.device) if self.table is not None else None
        return x * self.table""",
    "an attribute that lies elsewhere": """
        if self.table.device != x.device:
            self.table = self.table.to(x.device)
        return x * self.table""",
    "a tensor of a module that lies elsewhere": """
        global _one
        if _one.device != x.device:
            _one = _one.to(x.device)
        return x * _one""",
    "room that is too small": f"""
        if self.room.numel() < x.numel():
            self.room = {MADE}
        return x * self.room[:4]""",
    "rows for a number of them that may lie elsewhere": f"""
        n = x.shape[0]
        if n > self.n or self.table.device != x.device or self.table.dtype != x.dtype:
            self.n, self.size = n, 16
            self.table = {MADE}
        return x * self.table[:4]""",
    "a table of an object": f"""
        if "a" not in self.parts:
            self.parts["a"] = {MADE}
        return x * self.parts["a"][:4]""",
    "a table of a module": f"""
        if "a" not in _tables:
            _tables["a"] = {MADE}
        return x * _tables["a"][:4]""",
    "a table of a module that is asked": f"""
        found = _tables.get("a")
        if found is None:
            found = _tables["a"] = {MADE}
        return x * found[:4]""",
    "a table of a module that is asked for room": f"""
        found = _tables.get("a")
        if found is None or found.size(0) < x.size(0):
            found = {MADE}
            _tables["a"] = found
        return x * found[:4]""",
}
SIDE_STREAM = """for _ in range(3):
        with torch.cuda.stream(torch.cuda.Stream()):
            layer(x)"""
WARM_UPS = {"a call": "layer(x)", "calls on a side stream": SIDE_STREAM}


@pytest.mark.parametrize("warm_up", WARM_UPS)
@pytest.mark.parametrize("form", FORMS)
def test_what_a_run_before_the_capture_fills_is_silent(tmp_path: Path, form: str, warm_up: str) -> None:
    """The test comes out the other way in the region."""
    assert analyse(tmp_path, PROGRAM.format(body=FORMS[form].strip(), before=WARM_UPS[warm_up])).shown == []


@pytest.mark.parametrize("form", FORMS)
def test_what_the_region_fills_first_is_told(tmp_path: Path, form: str) -> None:
    """Its memory is that of the graph."""
    found = analyse(tmp_path, PROGRAM.format(body=FORMS[form].strip(), before="")).shown
    assert {code for _, _, code in found} in ({"GL501"}, {"GL505"}, {"GL202"}, {"GL202", "GL501"})  # kept, grown, moved


@pytest.mark.parametrize(("asked", "is_told"), [("time.time() - self.last > 9", True), ("self.last < 9", False)])
@pytest.mark.parametrize("is_named", [True, False])
def test_what_the_clock_says_comes_out_so_again(tmp_path: Path, asked: str, is_told: bool, is_named: bool) -> None:
    """A run before leaves the time that was, and what is asked beside its absence is no question of whether it fits."""
    named = "now = time.time()\n        " if is_named else ""
    asked = asked.replace("time.time()", "now") if is_named else asked
    body = f"""{named}if self.last is None or {asked}:
            self.last = {asked.split()[0] if is_told else 1}
            x.max().item()
        return x"""
    program = PROGRAM.replace("import os", "import os\nimport time").replace(
        "self.scale, ", "self.last = None\n        self.scale, "
    )
    found = analyse(tmp_path, program.format(body=body, before="layer(x)")).shown
    assert ("GL101" in {code for _, _, code in found}) is is_told


SWITCHES = {
    "a state that is left": ('self.state == "raw"', 'self.state = "ready"'),
    "a state that is reached": ('self.state != "ready"', 'self.state = "ready"'),
    "a flag": ("self.is_raw", "self.is_raw = False"),
}


@pytest.mark.parametrize("switch", SWITCHES)
@pytest.mark.parametrize(("before", "is_told"), [("layer(x)", False), ("", True)], ids=["warm", "cold"])
def test_what_a_branch_does_that_puts_out_its_own_test_is_done_by_a_run_before(
    tmp_path: Path, switch: str, before: str, is_told: bool
) -> None:
    """It is told where no such run is, or nothing puts the test out."""
    asked, put_out = SWITCHES[switch]
    body = "if {}:\n            self.n = int(x.sum())\n            {}\n        return x * self.n"
    found = analyse(tmp_path, PROGRAM.format(body=body.format(asked, put_out), before=before)).shown
    assert ("GL101" in {code for _, _, code in found}) is is_told
    found = analyse(tmp_path, PROGRAM.format(body=body.format(asked, "self.scale = 1"), before=before)).shown
    assert "GL101" in {code for _, _, code in found}


def test_what_a_call_moves_for_itself_is_moved_in_each(tmp_path: Path) -> None:
    """Its name does not outlive the call."""
    body = """kept = self.table
        if kept.device != x.device:
            kept = kept.to(x.device)
        return x * kept"""
    found = analyse(tmp_path, PROGRAM.format(body=body, before="layer(x)")).shown
    assert "GL202" in {code for _, _, code in found}


def test_a_test_that_asks_for_something_else_as_well_is_not_settled_by_a_run(tmp_path: Path) -> None:
    """What else it asks may have changed since."""
    body = f"""if self.scale is None or len(self.parts) > len(os.environ):
            self.scale = {MADE}
        return x * self.scale[:4]"""
    found = analyse(tmp_path, PROGRAM.format(body=body, before="layer(x)")).shown
    assert "GL501" in {code for _, _, code in found}


@pytest.mark.parametrize(("asked", "is_told"), [("self.scale.dtype", False), ("self.other.dtype", True)])
def test_what_else_is_asked_for_may_have_changed_since(tmp_path: Path, asked: str, is_told: bool) -> None:
    """What the branch makes is of the kind that it was asked for."""
    body = f"""n = x.shape[0]
        if self.scale is None or n > self.n or {asked} != x.dtype:
            self.n = n
            self.scale = {MADE}
        return x * self.scale[:4]"""
    found = analyse(tmp_path, PROGRAM.format(body=body, before="layer(x)")).shown
    assert ("GL501" in {code for _, _, code in found}) is is_told


_BESIDE = """
import torch

class Runner:
    def __call__(self, x, room):
        if room.numel() < 2 * x.numel():
            room.resize_(2 * x.numel())
        return x + 1

class Other(Runner):
    pass

def profile(runner, other, x, room, times):
    def measure():
        def run():
            for _ in range(times):
                runner(x, room)
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            run()
    {before}
    measure()
    {behind}

def main(times):
    profile(Runner(), Other(), torch.zeros(4, device="cuda"), torch.zeros(2, device="cuda"), times)
"""


@pytest.mark.parametrize(
    ("before", "behind", "is_told"),
    [
        ("for _ in range(times): runner(x, room)", "pass", False),
        ("runner(x, room)", "pass", False),
        ("pass", "pass", True),
        ("pass", "runner(x, room)", True),
        ("other(x)", "pass", True),
    ],
)
def test_the_function_around_warms_up_for_those_inside(tmp_path: Path, before: str, behind: str, is_told: bool) -> None:
    """Where one of them captures what the other calls, the same call in front of the first has made the room."""
    text = _BESIDE.format(before=before, behind=behind)
    assert is_told is ("GL505" in {one.code for one in analyse(tmp_path, text).report.findings})


_HANDED_IN = """# file: graphs.py
import torch

class Graphed:
    def capture(self, model, x):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = model(x)

# file: model.py
import torch

class Layer:
    def __init__(self):
        self.scale = None

    def __call__(self, x):
        if self.scale is None:
            self.scale = torch.ones(4, device=x.device)
        return x * self.scale

# file: serve.py
import torch
from graphs import Graphed
from model import Layer

def generate(model: Layer, other: Layer, x: torch.Tensor):
    graphed = Graphed()
    {before}
    graphed.capture({given})
    {behind}

generate(Layer(), Layer(), torch.zeros(4, device="cuda"))
"""


@pytest.mark.parametrize(
    ("before", "given", "behind", "is_told"),
    [
        ("model(x)", "model, x", "pass", False),
        ("model(x)", "x=x, model=model", "pass", False),
        ("model(x)", "other, x", "pass", True),
        ("pass", "model, x", "model(x)", True),
    ],
)
def test_who_hands_in_what_is_captured_warms_it_up(
    tmp_path: Path, before: str, given: str, behind: str, is_told: bool
) -> None:
    """`generate` calls the model for the prompt, and then has the same model captured."""
    text = _HANDED_IN.format(before=before, given=given, behind=behind)
    assert is_told is ("GL501" in {one.code for one in analyse(tmp_path, text).report.findings})


_TABLE = """
import torch

class Table:
    def __init__(self):
        self.longest = None

    def fill(self, x, n):
        self.longest = n
        self.rows = x.tolist()

    def __call__(self, x, n):
        if self.longest is None or n > self.longest:
            self.fill(x, n)
        return self.rows

class Slow(Table):
    def __call__(self, x, n):
        if self.longest is None:
            return x.tolist()
        return x

def profile(table, x, n):
    def measure():
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            table(x, n)
    {before}
    measure()

def main(n):
    profile({made}(), torch.zeros(4, device="cuda"), n)
"""


@pytest.mark.parametrize(
    ("made", "before", "is_told"),
    [("Table", "table(x, n)", False), ("Table", "pass", True), ("Slow", "table(x, n)", True)],
)
def test_what_is_called_where_something_is_missing_fills_it(
    tmp_path: Path, made: str, before: str, is_told: bool
) -> None:
    """A method that sets it, in the run before; another one that nobody calls there has not."""
    text = _TABLE.format(made=made, before=before)
    assert is_told is ("GL101" in {one.code for one in analyse(tmp_path, text).report.findings})


_LENT = """
import torch

class Batch:
    def __init__(self):
        self.last = None

{step}

def capture(given: Batch):
    batch, x = {batch}, torch.zeros(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        step(x, batch)
    return batch

def look(batch: Batch):
    return batch.last + 1
"""


_FUNCTION = "def step(x, batch: Batch):\n    if batch.last is None:\n        batch.last = x * 2\n    return x"
_STATIC = """class Steps:
    @staticmethod
    def run(batch: Batch, x):
        if batch.last is None:
            batch.last = x * 2
        return x

def step(x, batch):
    return Steps.run(batch, x)"""


@pytest.mark.parametrize("step", [_FUNCTION, _STATIC], ids=["a function", "a static method"])
@pytest.mark.parametrize(("batch", "is_told"), [("given", False), ("Batch()", True)])
def test_what_is_kept_in_an_object_that_nothing_was_seen_to_make_is_a_hint(
    tmp_path: Path, batch: str, is_told: bool, step: str
) -> None:
    """It may be one for this run; what is made in front of a region and returned outlives it."""
    found = analyse(tmp_path, _LENT.format(batch=batch, step=step)).shown
    assert is_told is ("GL501" in {code for _, _, code in found})


_ALIASED = """
import torch

class Layer:
    def __init__(self):
        self.scale = None

    def __call__(self, x):
        if self.scale is None:
            self.scale = torch.ones(16, device=x.device)
        return x * self.scale[:4]

def capture(run, x):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        run(x)

def main(other):
    layer, x = Layer(), torch.zeros(4, device="cuda")
    warm = {warm}
    warm(x)
    capture(layer, x)

main(None)
"""


@pytest.mark.parametrize(("warm", "is_told"), [("layer if other is None else other", False), ("other", True)])
def test_a_run_under_another_name_fills_a_cache(tmp_path: Path, warm: str, is_told: bool) -> None:
    """What is run before the capture may be a choice, of which what is captured is one."""
    found = analyse(tmp_path, _ALIASED.format(warm=warm)).shown
    assert is_told is ("GL501" in {code for _, _, code in found})


_PASS = """
import torch

class Stage:
    def __init__(self, is_last):
        self.is_last, self.outputs = is_last, []

    def step(self, x):
        if self.is_last:
            self.outputs.append(x * 2)

    def forward(self, x, n):
        {made}
        for _ in range(n):
            {run}
        return x

def main(is_last, n: int):
    stage = Stage(is_last)
    x = torch.ones(4, device="cuda")
    {region}
    return stage
"""
_WHOLE = "with torch.cuda.graph(torch.cuda.CUDAGraph()): stage.forward(x, n)"


@pytest.mark.parametrize(
    ("made", "run", "region", "is_told"),
    [
        ("if self.is_last: self.outputs = []", "self.step(x)", _WHOLE, False),
        ("pass", "self.step(x)", _WHOLE, True),
        (
            "self.outputs = []",
            "with torch.cuda.graph(torch.cuda.CUDAGraph()): self.step(x)",
            "stage.forward(x, n)",
            True,
        ),
    ],
)
def test_a_list_that_the_pass_makes_before_its_steps_fill_it_does_not_grow(
    tmp_path: Path, made: str, run: str, region: str, is_told: bool
) -> None:
    """The method of the region that calls the one with `append` makes it; one that opens the region does not count."""
    text = _PASS.format(made=made, run=run, region=region)
    assert is_told is ("GL505" in {one.code for one in analyse(tmp_path, text).report.findings})
