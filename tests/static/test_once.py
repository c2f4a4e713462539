"""What puts out the test that it is behind is done by the first run, and what is declared is run before a capture."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

from graphlint.finding import Confidence

PROGRAM = """
import torch

_pool = None
_tables = {{}}

def filled(table, key: str, x):
    found = table.get(key)
    if found is None:
        table[key] = found = x.item()
    return found

def warm_pool(x):
    global _pool
    _pool = x.tolist()

class Base:
    def settle(self, x):
        self.value = x.max().item()
        self.is_raw = False

class Layer(Base):
    def __init__(self, ask):
        self.is_raw, self.value, self.kept, self.ask, self.made = True, None, {{}}, ask, None
        self.tables, self.rows = [{{}}], 0

    def grow(self, n):
        self.rows = n

    def measure(self, x):
        {measure}

    def other(self, x):
        {other}

    def forward(self, x: torch.Tensor, name: str, n: int):
        {body}

class Step:
    def __init__(self):
        self.layer = Layer(ask=True)

    def run(self, x: torch.Tensor, name: str, n: int):
        return self.layer.forward(x, name, n)
"""


def told(folder: Path, body: str, measure: str = "pass", other: str = "pass") -> bool:
    """Whether the declared region reads something on the host that is more than a hint."""
    indented = [part.strip().replace("\n", "\n        ") for part in (body, measure, other)]
    text = PROGRAM.format(body=indented[0], measure=indented[1], other=indented[2])
    found = analyse(folder, text, regions=("main:Step.run",), confidence=Confidence.LOW)
    assert any(one.code == "GL101" for one in found.report.findings)
    return any(code == "GL101" for _, _, code in found.shown)


PUT_OUT = {
    "a flag that a method of a base puts out": "if self.is_raw:\n    self.settle(x)\nreturn x",
    "a flag that is put out further on": "if self.is_raw:\n    self.value = x.item()\nself.is_raw = False\nreturn x",
    "an attribute that is None": "if self.value is None:\n    self.value = x.item()\nreturn x",
    "a local name of an attribute": "value = self.value\nif value is None:\n    self.value = x.item()\nreturn x",
    "a global that a function sets": "if _pool is None:\n    warm_pool(x)\nreturn x",
    "a table by a word": "if name not in _tables:\n    _tables[name] = x.item()\nreturn x",
    "a table by a device": "k = name, str(x.device), x.device.index\nif k not in _tables:\n    _tables[k] = x.item()",
    "a table by another name": "table = self.kept\nif name not in table:\n    table[name] = x.item()\nreturn x",
    "a table in a list": "table = self.tables[0]\nif name not in table:\n    table[name] = x.item()\nreturn x",
    "a table that is handed in": "filled(_tables, name, x)\nreturn x",
    "a table of the object that is handed in": "filled(self.kept, name, x)\nreturn x",
    "a table of the object": "if self.kept.get(x.device) is None:\n    self.kept[x.device] = x.item()\nreturn x",
    "a name that is set": "if not hasattr(self, 'late'):\n    self.late = x.item()\nreturn x",
    "a table that drops what it has no room for": (
        "if name not in _tables:\n    while len(_tables) > 64:\n        _tables.popitem()\n    _tables[name] = x.item()"
    ),
    "a buffer": "if self.value is None:\n    self.register_value('value', x.item())\nreturn x",
}


@pytest.mark.parametrize("form", PUT_OUT)
def test_what_only_the_first_run_does_is_a_hint_in_what_is_declared(tmp_path: Path, form: str) -> None:
    """The run before the capture has done it."""
    assert not told(tmp_path, PUT_OUT[form])


def test_it_may_stand_behind_a_condition_that_the_way_takes(tmp_path: Path) -> None:
    """A flag that is put out under it, by what is called."""
    body = "if self.is_raw:\n    if name == 'scales':\n        self.measure(x)\nreturn x"
    put_out = "self.value = x.item()\nself.is_raw = False"
    assert not told(tmp_path, body, put_out)
    assert told(tmp_path, body, "self.value = x.item()")


STAYS = {
    "a table by another name that is emptied": (
        "table = self.kept\nif name not in table:\n    table[name] = x.item()\nreturn x",
        "self.kept.clear()",
    ),
    "one table of many": (
        "table = self.tables[n]\nif name not in table:\n    table[name] = x.item()\nreturn x",
        "pass",
    ),
    "a table of each run": ("table = {}\nfilled(table, name, x)\nreturn x", "pass"),
    "a flag that stays": ("if self.is_raw:\n    self.value = x.item()\nreturn x", "pass"),
    "a flag that another method lights": (PUT_OUT["a flag that a method of a base puts out"], "self.is_raw = True"),
    "a value that another method may drop": (
        PUT_OUT["an attribute that is None"],
        "self.value = x",
    ),
    "a value that another method drops": (PUT_OUT["an attribute that is None"], "self.value = None"),
    "a table that another method empties": (PUT_OUT["a table by a word"], "_tables.clear()"),
    "a table that drops an item": (PUT_OUT["a table by a word"], "del _tables['a']"),
    "a table that is emptied when something else is full": (
        PUT_OUT["a table by a word"],
        "if len(self.tables) > 4:\n    _tables.clear()",
    ),
    "what is kept only now and then": (
        "if self.value is None:\n    y = x.item()\n    if self.ask:\n        self.value = y\nreturn x",
        "self.ask = bool(x)",
    ),
    "a name for itself": (
        "value = self.value\nvalue = value\nif value is None:\n    self.value = x.item()\nreturn x",
        "pass",
    ),
    "what is too small and stays so": ("if self.rows < n:\n    self.value = x.item()\nreturn x", "self.rows = n"),
    "what another method makes small again": (
        "if self.rows < n:\n    self.rows = n\n    self.value = x.item()\nreturn x",
        "self.rows = 0",
    ),
    "something that is there, without room enough": (
        "if _pool is None or self.rows < n:\n    warm_pool(x)\nreturn x",
        "self.rows = n",
    ),
    "a parameter": ("if not n:\n    n = x.item()\nreturn x", "pass"),
}


@pytest.mark.parametrize("form", STAYS)
def test_what_later_runs_may_do_again_is_told(tmp_path: Path, form: str) -> None:
    """Nothing puts the test out for good."""
    body, other = STAYS[form]
    assert told(tmp_path, body, other=other)


OF_SIZES = {
    "a number": "if n not in _tables:\n    _tables[n] = {made}\nreturn x",
    "a size": "key = (name, x.shape[0])\nif key not in _tables:\n    _tables[key] = {made}\nreturn x",
    "a key that holds itself": "key = name\nkey = (key, name)\nif key not in _tables:\n    _tables[key] = {made}",
    "whether it is still that of its owner": (
        "found = _tables.get(n)\nif found is not None and found[0] is x:\n    return found[1]\n_tables[n] = (x, {made})"
    ),
    "room enough": "if self.rows < n:\n    self.rows = n\n    self.made = {made}\nreturn x",
    "something, and room enough": (
        "if _pool is None or self.rows < n:\n    warm_pool(x)\n    if self.rows < n:\n        self.grow(n)\n"
        "    self.made = {made}\nreturn x"
    ),
    "whether it fits": "if self.made is None or self.made.shape[0] < n:\n    self.made = {made}\nreturn x",
}


@pytest.mark.parametrize("form", OF_SIZES)
def test_what_the_first_run_of_some_sizes_does_is_told_if_it_is_kept(tmp_path: Path, form: str) -> None:
    """A capture of other sizes that is refused is noticed, and these are run before."""
    assert not told(tmp_path / "read", OF_SIZES[form].format(made="x[: int(x.sum().item())]"))
    text = PROGRAM.format(
        body=OF_SIZES[form].format(made="x + 1").replace("\n", "\n        "), measure="pass", other="pass"
    )
    found = analyse(tmp_path / "kept", text, regions=("main:Step.run",)).shown
    assert not {"GL501", "GL505"}.isdisjoint(code for _, _, code in found)


def test_what_never_fits_is_told(tmp_path: Path) -> None:
    """What else is asked for has nothing to do with what is kept."""
    assert told(tmp_path / "none", "if self.made is None or n > 3:\n    self.made = x.item()\nreturn x")
    body = "if self.made is not None and n > 3:\n    return self.made\nself.made = x.item()\nreturn x"
    assert told(tmp_path / "some", body)


_MADE = """
import torch

class Table:
    def __init__(self, rows):
        self.rows, self.sizes = rows, None

    def look(self):
        if self.sizes is None:
            self.sizes = self.rows.tolist()
        return self.sizes

class Step:
    def __init__(self, rows):
        self.table = Table(rows)

    def run(self, x: torch.Tensor):
        {table}.look()
        return x * 2
"""


@pytest.mark.parametrize(("table", "is_told"), [("self.table", False), ("Table(x)", True)])
def test_what_an_object_keeps_that_each_run_makes_is_not_there_in_the_next(
    tmp_path: Path, table: str, is_told: bool
) -> None:
    """The first run fills its own."""
    found = analyse(tmp_path, _MADE.format(table=table), regions=("main:Step.run",)).shown
    assert ("GL201" in {code for _, _, code in found} or "GL101" in {code for _, _, code in found}) is is_told


_OPENED = """
import torch

class Layer:
    def __init__(self):
        self.is_raw = True

    def settle(self, x):
        self.value = x.max().item()
        self.is_raw = False

    def __call__(self, x, times):
        if self.is_raw and times.enabled:
            self.settle(x)
        return x * 2

def main(times):
    layer, x = Layer(), torch.zeros(4, device="cuda")
    {before}
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        layer(x, times)
"""


@pytest.mark.parametrize(("before", "is_told"), [("layer(x, times)", False), ("pass", True)], ids=["warm", "cold"])
def test_a_region_that_the_code_opens_shows_its_run_before(tmp_path: Path, before: str, is_told: bool) -> None:
    """A flag that a method puts out counts there, too."""
    found = analyse(tmp_path, _OPENED.format(before=before)).shown
    assert ("GL101" in {code for _, _, code in found}) is is_told


READING = """
import torch
from functools import cached_property

class Table:
    def __init__(self):
        self.raw = torch.zeros(4, device="cuda")
    @{kind}
    def size(self):
        return self.raw.sum().item()

class Runner:
    def __init__(self, table: Table):
        self.table = table
    def step(self, x):
        return x * {table}.size
    def capture(self):
        x = torch.zeros(4, device="cuda")
        {before}
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            self.step(x)
"""


@pytest.mark.parametrize(
    ("before", "kind", "table", "confidence"),
    [
        ("self.step(x)", "cached_property", "self.table", Confidence.LOW),
        ("self.table.size", "cached_property", "self.table", Confidence.LOW),
        ("pass", "cached_property", "self.table", Confidence.MEDIUM),
        ("self.step(x)", "property", "self.table", Confidence.HIGH),
        ("self.step(x)", "cached_property", "Table()", Confidence.HIGH),
    ],
)
def test_what_a_property_keeps_is_read_once(
    tmp_path: Path, before: str, kind: str, table: str, confidence: Confidence
) -> None:
    program = READING.format(before=before, kind=kind, table=table)
    found = analyse(tmp_path, program, confidence=Confidence.LOW, select=("GL101",)).report.findings
    assert [one.confidence for one in found] == [confidence]
