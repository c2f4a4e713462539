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
_numbers = iter(range(100))

def filled(table, key: str, x):
    found = table.get(key)
    if found is None:
        table[key] = found = x.item()
    return found

def warm_pool(x):
    global _pool
    _pool = x.tolist()

def rounded(n, device):
    return (n + 7) // 8, str(device)

def numbered(n):
    return n, next(_numbers)

def counted(n):
    global _pool
    _pool = n if _pool is None else _pool + n
    return _pool

class Base:
    def fill(self, x, sizes: tuple[int, ...], rows: int | None):
        if (sizes, rows) not in _tables:
            _tables[sizes, rows] = x + 1

    def settle(self, x):
        self.value = x.max().item()
        self.is_raw = False

class Layer(Base):
    def __init__(self, ask):
        self.is_raw, self.value, self.kept, self.ask, self.made = True, None, {{}}, ask, None
        self.tables, self.rows, self.calls = [{{}}], 0, 0

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

    def again(self, x):
        self.layer.other(x)
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
    "one table of many, by a number": (
        "table = self.tables[n]\nif name not in table:\n    table[name] = x.item()\nreturn x"
    ),
    "a table that is handed in": "filled(_tables, name, x)\nreturn x",
    "a table of the object that is handed in": "filled(self.kept, name, x)\nreturn x",
    "a table of the object": "if self.kept.get(x.device) is None:\n    self.kept[x.device] = x.item()\nreturn x",
    "a name that is set": "if not hasattr(self, 'late'):\n    self.late = x.item()\nreturn x",
    "a table that drops what it has no room for": (
        "if name not in _tables:\n    while len(_tables) > 64:\n        _tables.popitem()\n    _tables[name] = x.item()"
    ),
    "a table that raises": (
        "try:\n    return self.kept[name]\nexcept KeyError:\n    self.kept[name] = x.item()\nreturn x"
    ),
    "an attribute that is not there": (
        "try:\n    return self.late\nexcept AttributeError:\n    self.late = x.item()\nreturn x"
    ),
    "a part of what a table has": (
        "one, two = self.kept.get(name, (None, None))\nif one is None:\n    one, two = x.item(), 2\n"
        "    self.kept[name] = (one, two)\nreturn one"
    ),
    "a name in a test": "if (hit := self.kept.get(name)) is None:\n    hit = self.kept[name] = x.item()\nreturn hit",
    "a table of a table": (
        "table = _tables.setdefault(name, {})\nif name not in table:\n    table[name] = x.item()\nreturn x"
    ),
    "the size of what is kept, left early": (
        "if self.made == n:\n    return x\nself.value = x.item()\nself.made = n\nreturn x"
    ),
    "the size of what is kept": "if self.made != n:\n    self.made = n\n    self.value = x.item()\nreturn x",
    "a table with nothing in it": "if not self.kept:\n    self.kept[name] = x.item()\nreturn x",
    "a table that is counted": "if len(self.kept) == 0:\n    self.kept[name] = x.item()\nreturn x",
    "what a table has for a key": (
        "held = self.kept[name]\nif len(held) == 0:\n    held['count'] = x.item()\nreturn x"
    ),
    "what a table has for a key, left early": (
        "held = self.kept[name]\nif len(held) != 0:\n    return x\nheld['count'] = x.item()\nreturn x"
    ),
    "a key of what a table has for another": (
        "held = self.kept[name]\nif 'count' not in held:\n    held['count'] = x.item()\nreturn x"
    ),
    "a table whose keys are counted": "if len(list(self.kept.keys())) == 0:\n    self.kept[name] = x.item()\nreturn x",
    "what has been put there meanwhile": (
        "rows = len(_tables)\nfilled(_tables, n, x)\nif len(_tables) > rows:\n    self.value = x.item()\nreturn x"
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
    "one table of those that each run makes": (
        "table = [{}, {}][n]\nif name not in table:\n    table[name] = x.item()\nreturn x",
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
    "a part that is there by default": (
        "one, two = self.kept.get(name, (None, 2))\nif one is None:\n    one, two = x.item(), 2\n"
        "    self.kept[name] = (one, two)\nreturn one",
        "pass",
    ),
    "a part of what is emptied": (
        "one, two = self.kept.get(name, (None, None))\nif one is None:\n    one, two = x.item(), 2\n"
        "    self.kept[name] = (one, two)\nreturn one",
        "self.kept.clear()",
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
    "another exception": (
        "try:\n    return self.kept[name]\nexcept ValueError:\n    self.kept[name] = x.item()\nreturn x",
        "pass",
    ),
    "a table that raises and is emptied": (
        "try:\n    return self.kept[name]\nexcept KeyError:\n    self.kept[name] = x.item()\nreturn x",
        "self.kept.clear()",
    ),
    "a table that raises and stays": (
        "try:\n    return self.kept[name]\nexcept KeyError:\n    return x.item()",
        "pass",
    ),
    "a size that another method forgets": (
        "if self.made != n:\n    self.made = n\n    self.value = x.item()\nreturn x",
        "self.made = None",
    ),
    "what is taken from what a table has for a key": (
        "held = self.kept[name]\nif len(held) == 0:\n    held['count'] = x.item()\nreturn x",
        "for held in self.kept:\n            self.kept[held].clear()",
    ),
    "what a table that is new has for a key": (
        "held = self.kept[name]\nif len(held) == 0:\n    held['count'] = x.item()\nreturn x",
        "self.kept = {}",
    ),
    "what a table has for a key, which is not filled": (
        "held = self.kept[name]\nif len(held) == 0:\n    self.value = x.item()\nreturn x",
        "pass",
    ),
    "a size that is not kept, left early": (
        "if self.made == n:\n    return x\nself.value = x.item()\nreturn x",
        "pass",
    ),
    "a size that is not kept": ("if self.made != n:\n    self.value = x.item()\nreturn x", "pass"),
    "more than there may be": (
        "rows = len(name)\nif len(_tables) > rows:\n    self.value = x.item()\nreturn x",
        "pass",
    ),
    "a table that is counted and stays empty": ("if len(self.kept) == 0:\n    self.value = x.item()\nreturn x", "pass"),
    "a table that is counted and emptied": (PUT_OUT["a table whose keys are counted"], "self.kept.clear()"),
    "a parameter": ("if not n:\n    n = x.item()\nreturn x", "pass"),
}


@pytest.mark.parametrize("form", STAYS)
def test_what_later_runs_may_do_again_is_told(tmp_path: Path, form: str) -> None:
    """Nothing puts the test out for good."""
    body, other = STAYS[form]
    assert told(tmp_path, body, other=other)


OF_SIZES = {
    "whether it is still that of its owner": (
        "found = _tables.get(n)\nif found is not None and found[0] is x:\n    return found[1]\n_tables[n] = (x, {made})"
    ),
    "room enough": "if self.rows < n:\n    self.rows = n\n    self.made = {made}\nreturn x",
    "something, and room enough": (
        "if _pool is None or self.rows < n:\n    warm_pool(x)\n    if self.rows < n:\n        self.grow(n)\n"
        "    self.made = {made}\nreturn x"
    ),
    "whether it fits": "if self.made is None or self.made.shape[0] < n:\n    self.made = {made}\nreturn x",
    "a key of no known kind": "if x in _tables:\n    return _tables[x]\n_tables[x] = {made}\nreturn x",
    "what is made of a state": (
        "key = counted(n)\nif key in _tables:\n    return _tables[key]\n_tables[key] = {made}\nreturn x"
    ),
    "what goes on in a function": "key = numbered(n)\nif key not in _tables:\n    _tables[key] = {made}\nreturn x",
    "a list of no known kind": "key = (*gather(x), n)\nif key not in _tables:\n    _tables[key] = {made}\nreturn x",
    "a key that counts": (
        "self.calls += 1\nkey = (name, self.calls)\nif key not in self.kept:\n    self.kept[key] = {made}\nreturn x"
    ),
}


def kept(folder: Path, body: str, other: str = "pass", regions: tuple[str, ...] = ("main:Step.run",)) -> bool:
    """Whether it is more than a hint that the graph's memory is kept."""
    text = PROGRAM.format(body=body.replace("\n", "\n        "), measure="pass", other=other)
    found = analyse(folder, text, regions=regions, confidence=Confidence.LOW)
    codes = {"GL501", "GL505"}
    assert not codes.isdisjoint(one.code for one in found.report.findings)
    return not codes.isdisjoint(code for _, _, code in found.shown)


@pytest.mark.parametrize("form", OF_SIZES)
def test_what_the_first_run_of_some_sizes_does_is_told_if_it_is_kept(tmp_path: Path, form: str) -> None:
    """A capture of other sizes that is refused is noticed, and these are run before."""
    assert not told(tmp_path / "read", OF_SIZES[form].format(made="x[: int(x.sum().item())]"))
    assert kept(tmp_path / "kept", OF_SIZES[form].format(made="x + 1"))


BY_KEY = {
    "a number": "if n not in _tables:\n    _tables[n] = x + 1\nreturn x",
    "a size": "key = (name, x.shape[0])\nif key not in _tables:\n    _tables[key] = x + 1\nreturn x",
    "an early end": "if (x.dim(), n) in self.kept:\n    return self.kept[x.dim(), n]\nself.kept[x.dim(), n] = x + 1",
    "a table that is asked": (
        "key = (len(x), x.device, x.dtype)\nhit = self.kept.get(key)\nif hit is not None:\n    return hit\n"
        "self.kept[key] = x + 1\nreturn x"
    ),
    "a text": "key = f'{name}_{n // 2}'\nif key not in self.kept:\n    self.kept[key] = x + 1\nreturn x",
    "parts of a shape": (
        "rows, columns = x.shape[:2]\nkey = (rows * n, -columns)\nif key not in _tables:\n    _tables[key] = x + 1"
    ),
    "all of a shape, and a mode": (
        "sizes, mode = list(x.shape), torch.is_grad_enabled()\nkey = (*sizes, mode)\n"
        "if key not in _tables:\n    _tables[key] = x + 1"
    ),
    "the number of a device": (
        "at = x.device\ndevice = at\nkey = device.index if device.index is not None else torch.cuda.current_device()\n"
        "if key not in _tables:\n    _tables[key] = x + 1"
    ),
    "what a function makes of it": "key = rounded(n, x.device)\nif key not in _tables:\n    _tables[key] = x + 1",
    "a parameter of several kinds": "self.fill(x, (n, 2), None)",
    "an address": "key = (n, x.data_ptr())\nif key not in _tables:\n    _tables[key] = x + 1",
    "a name for the question": (
        "key = (len(x), n)\nfound = _tables.get(key)\nis_new = found is None\nif is_new:\n    _tables[key] = x + 1"
    ),
    "names of another branch": (
        "if n > 4:\n    key = ('many', len(x))\n    found = _tables.get(key)\n    is_new = found is None\n"
        "    if is_new:\n        found = x + 1\n        _tables[key] = found\n"
        "else:\n    key = tuple(int(one) for one in x.shape)\n"
        "    found = _tables.get(key)\n    is_new = found is None\n"
        "    if is_new:\n        found = x + 2\n        _tables[key] = found"
    ),
    "what is there otherwise": (
        "key = tuple(x.shape)\nif key in _tables:\n    y = _tables[key]\nelse:\n    y = x + 1\n    _tables[key] = y"
    ),
}


@pytest.mark.parametrize("form", BY_KEY)
def test_what_is_kept_by_sizes_and_kinds_is_there_from_the_run_before(tmp_path: Path, form: str) -> None:
    """A graph is one of its sizes, as is the run before it; who empties the table takes that away."""
    assert not kept(tmp_path / "stays", BY_KEY[form])
    emptied = "_tables.clear()\n        self.kept.clear()"
    assert kept(tmp_path / "emptied", BY_KEY[form], emptied)


@pytest.mark.parametrize(("key", "is_told"), [("(len(x), n)", False), ("self.ask(x)", True), ("id(x)", True)])
def test_what_is_kept_with_its_key_is_there_from_the_run_before(tmp_path: Path, key: str, is_told: bool) -> None:
    body = f"key = {key}\nif self.made is None or self.calls != key:\n    self.made = x + 1\n    self.calls = key"
    assert kept(tmp_path / "stays", body) is is_told
    assert kept(tmp_path / "anew", body, "self.made = None")


def test_a_table_that_nobody_empties_holds_what_a_refused_capture_has_been_run_before_for(tmp_path: Path) -> None:
    """There is a function for it, which nothing calls: what is kept may still be dropped from outside."""
    body = "if n not in _tables:\n            _tables[n] = {}\n        return x"
    for made, code in (("x.item()", "GL101"), ("x + 1", "GL501")):
        text = PROGRAM.format(body=body.format(made), measure="pass", other="_tables.clear()")
        program = text.replace("self.layer.other(x)", "pass")
        shown = analyse(tmp_path / code, program, regions=("main:Step.run",)).shown
        assert (code in {found for _, _, found in shown}) is (code == "GL501")


@pytest.mark.parametrize(("file", "is_told"), [("tests/test_other.py", False), ("other.py", True)])
def test_a_test_that_sets_an_attribute_says_nothing_of_the_program(tmp_path: Path, file: str, is_told: bool) -> None:
    """Something else in the program, which has the name as well, may be handed the object."""
    text = PROGRAM.format(body=BY_KEY["an early end"].replace("\n", "\n        "), measure="pass", other="pass")
    more = f"# file: {file}\ndef reset(service):\n    service.kept = {{}}\n"
    shown = analyse(tmp_path, f"# file: main.py\n{text}{more}", regions=("main:Step.run",)).shown
    assert ("GL501" in {code for _, _, code in shown}) is is_told


CLOSURE = """
import torch

def memo(function):
    made = {{}}
    def call(x, n: int):
        key = (n, x.device)
        {body}
    return call

@memo
def table(x, n):
    return x.sum().item()

def run(x: torch.Tensor, n: int):
    return table(x, n)
"""


@pytest.mark.parametrize(
    ("body", "is_told"),
    [
        ("if key not in made:\n            made[key] = function(x, n)\n        return made[key]", False),
        (
            "if key in made:\n            return made[key]\n        made[key] = y = function(x, n)\n        return y",
            False,
        ),
        (
            "made = {}\n        if key not in made:\n            made[key] = function(x, n)\n        return made[key]",
            True,
        ),
        ("if key not in made:\n            return function(x, n)\n        return made[key]", True),
    ],
)
@pytest.mark.parametrize("is_anew", [False, True])
def test_a_table_of_a_decorator_outlives_the_call(tmp_path: Path, body: str, is_told: bool, is_anew: bool) -> None:
    """But not one of a function that each run calls for a new one."""
    text = CLOSURE.format(body=body).replace(
        "return table(x, n)", "return memo(table)(x, n)" if is_anew else "return table(x, n)"
    )
    found = analyse(tmp_path, text, regions=("main:run",), confidence=Confidence.LOW)
    assert "GL101" in {one.code for one in found.report.findings}
    assert ("GL101" in {code for _, _, code in found.shown}) is (is_told or is_anew)


MOVED = """
import torch

class Batch:
    def __init__(self):
        self.lengths = torch.ones(4)

class Rotary:
    def __init__(self):
        self.table, self.tables = torch.arange(8), {{"cos": torch.arange(8)}}

    def other(self, x):
        {other}

    def forward(self, x: torch.Tensor, device: torch.device, batch: Batch):
        {body}
        return x

    __call__ = forward
"""
IN_PLACE = "self.table = self.table.to(x.device)"
MOVES = {
    "each time": IN_PLACE,
    "to what lies beside it": "self.table = self.table.type_as(x)",
    "by another method": "self.table = self.table.cuda()",
    "where it lies elsewhere": f"if self.table.device != x.device:\n            {IN_PLACE}",
    "where it does not lie there": f"if not self.table.device == device:\n            {IN_PLACE}",
    "under another name": (
        "table = self.table\n        if table.device != device:\n            table = table.to(device)\n"
        "            self.table = table"
    ),
    "by its key": (
        'if self.tables["cos"].device != x.device:\n            self.tables["cos"] = self.tables["cos"].to(x.device)'
    ),
}


@pytest.mark.parametrize("form", MOVES)
def test_what_is_moved_where_it_is_needed_lies_there_in_the_next_run(tmp_path: Path, form: str) -> None:
    """Unless something brings it back, or puts something new there."""
    told = {}
    for other in (
        "pass",
        "self.table = x.cpu(); self.tables = {}",
        "self.table = torch.arange(4); self.tables = {}",
    ):
        text = MOVED.format(body=MOVES[form], other=other)
        shown = analyse(tmp_path / str(len(told)), text, regions=("main:Rotary.forward",)).shown
        told[other] = not {"GL202", "GL501"}.isdisjoint(code for _, _, code in shown)
    assert list(told.values()) == [False, True, True]


@pytest.mark.parametrize(("name", "is_told"), [("setup_caches", False), ("enlarge", True)])
def test_what_sets_up_makes_a_table_before_it_is_moved(tmp_path: Path, name: str, is_told: bool) -> None:
    """By its name it runs before what is captured, and the run before the capture moves what it has made."""
    text = MOVED.format(body=IN_PLACE, other="self.table = torch.arange(16)").replace("def other", f"def {name}")
    shown = analyse(tmp_path, text, regions=("main:Rotary.forward",)).shown
    assert is_told is not {"GL202", "GL501"}.isdisjoint(code for _, _, code in shown)


@pytest.mark.parametrize(
    ("made", "is_moved"),
    [("x", True), ("self.table.cpu()", False), ("torch.ones(8).to(x.device)", False)],
    ids=["beside one of the device", "beside itself", "beside another that is moved"],
)
def test_what_is_computed_of_it_lies_there_in_the_next_run(tmp_path: Path, made: str, is_moved: bool) -> None:
    """But it is another tensor each time, which the graph keeps."""
    text = MOVED.format(body=f"self.table = torch.minimum(self.table.to(x.device), {made})", other="pass")
    codes = {code for _, _, code in analyse(tmp_path, text, regions=("main:Rotary.forward",)).shown}
    assert "GL501" in codes
    assert ("GL202" not in codes) == is_moved


@pytest.mark.parametrize(
    "body",
    [
        "batch.lengths = batch.lengths.to(x.device)",
        "y = self.table.to(x.device)",
        'self.table = torch.zeros(4, device="cpu").to(x.device)',
        "if x.device != device:\n            self.table = self.table.cpu().to(x.device)",
    ],
)
def test_what_is_moved_anew_in_each_run_is_told(tmp_path: Path, body: str) -> None:
    """What comes with each call, and what is not kept."""
    text = MOVED.format(body=body, other="pass")
    shown = analyse(tmp_path, text, regions=("main:Rotary.forward",)).shown
    assert not {"GL201", "GL202", "GL501"}.isdisjoint(code for _, _, code in shown)


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


_GROUPS = """
import torch

class Step(torch.optim.Optimizer):
    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            {body}
            for p in group["params"]:
                p.add_(p.grad)

    def restart(self):
        {other}
"""
_COUNTED = 'if "step" in group:\n    group["step"] += 1\nelse:\n    group["step"] = torch.tensor([1], device="cuda")'


@pytest.mark.parametrize(
    ("body", "other", "is_told"),
    [
        (_COUNTED, "pass", False),
        ('if "step" not in group:\n    group["step"] = torch.tensor([1], device="cuda")', "pass", False),
        ('if "step" not in group:\n    first = torch.tensor([1], device="cuda")', "pass", True),
        (f"group = dict(group)\n{_COUNTED}", "pass", True),
        (_COUNTED, "self.param_groups = [dict(group) for group in self.param_groups]", True),
    ],
)
def test_what_is_put_into_each_group_is_there_in_the_next_step(
    tmp_path: Path, body: str, other: str, is_told: bool
) -> None:
    program = _GROUPS.format(body=body.replace("\n", "\n            "), other=other)
    for number, loop in enumerate(
        (
            "for group in self.param_groups",
            "for group, masters in zip(self.param_groups, self.masters)",
            "for at, group in enumerate(self.param_groups)",
        )
    ):
        text = program.replace("for group in self.param_groups", loop)
        found = analyse(tmp_path / str(number), text, regions=("main:Step.step",), confidence=Confidence.LOW)
        assert [one.confidence > Confidence.LOW for one in found.report.findings if one.code == "GL203"] == [is_told]


_LAYERS = """
import torch

class Manager:
    def __init__(self, size):
        self.cache, self.other, self.size = {{}}, {{}}, size

    def allocate(self, number):
        self.{table}[number] = torch.zeros(self.size, device="cuda")

    def restart(self):
        {other}

class Params:
    def __init__(self, size):
        self.manager = Manager(size)

    def allocate(self, number):
        self.manager.allocate(number)

class Layer(torch.nn.Module):
    def __init__(self, number):
        super().__init__()
        self.number = number

    def forward(self, x, params: Params, count: int):
        if {key} not in params.manager.cache:
            params.allocate({key})
        return params.manager.cache[{key}].copy_(x)
"""


@pytest.mark.parametrize(
    ("table", "other", "key", "is_told"),
    [
        ("cache", "pass", "self.number", False),
        ("cache", "pass", "params.number", True),  # which the next call may give another one of
        ("cache", "pass", "count + id(x)", True),
        ("cache", "self.cache.clear()", "self.number", True),
        ("other", "pass", "self.number", True),
    ],
)
def test_what_an_argument_keeps_for_a_layer_is_filled_by_the_run_before(
    tmp_path: Path, table: str, other: str, key: str, is_told: bool
) -> None:
    program = _LAYERS.format(table=table, other=other, key=key)
    found = analyse(tmp_path, program, regions=("main:Layer.forward",), confidence=Confidence.LOW)
    assert [one.confidence > Confidence.LOW for one in found.report.findings if one.code == "GL501"] == [is_told]


_TABLE = """
import torch

class Table(torch.nn.Module):
    def __init__(self, is_long: bool):
        super().__init__()
        self.is_long, self.rows = is_long, 8

    def forward(self, rows: int):
        {asked}
            self.rows = rows
        return torch.arange(self.rows, device="cuda")

class Turned(Table):
    def forward(self, x: torch.Tensor, rows: int):
        if self.is_long and rows > self.rows:
            self.register_buffer("turn", super().forward({given}), persistent=False)
        return x * self.turn[:rows]

class Step:
    def __init__(self, is_long: bool):
        self.table = Turned(is_long)

    def run(self, x: torch.Tensor, rows: int):
        return self.table(x, rows)

def main(is_long, rows):
    step = Step(is_long)
    {run}
    return step
"""


@pytest.mark.parametrize(
    ("is_compiled", "asked", "given", "is_told"),
    [
        (True, "if self.is_long and rows > self.rows:", "rows", False),
        (False, "if self.is_long and rows > self.rows:", "rows", True),
        (True, "if rows > 4096:", "rows", True),
        (True, "if self.is_long and rows > self.rows:", "rows // 2", True),
    ],
)
def test_what_a_compiler_records_has_run_before_with_the_same_sizes(
    tmp_path: Path, is_compiled: bool, asked: str, given: str, is_told: bool
) -> None:
    """It compiles anew for others; a base may say how large a table is, if it is asked the same there."""
    run = "torch.compile(step.run, mode='reduce-overhead')(torch.zeros(4, device='cuda'), rows)"
    text = _TABLE.format(asked=asked, given=given, run=run if is_compiled else "pass")
    found = analyse(tmp_path, text, regions=() if is_compiled else ("main:Step.run",), confidence=Confidence.LOW)
    assert "GL501" in {one.code for one in found.report.findings}
    assert is_told is ("GL501" in {code for _, _, code in found.shown})


_PARTS = """
import torch

class Model:
    def __init__(self):
        self.kept = {{}}

    def embed(self, x):
        rows, columns = x.shape
        count, buffer = self.kept.get((rows, columns), {left})
        if buffer is None:
            count, buffer = 1, torch.empty((rows, columns), device="cuda")
            self.kept[(rows, columns)] = (count, buffer)
        return buffer

def bench(model: Model, x: torch.Tensor):
    {before}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model.embed(x)
    return graph, y
"""


@pytest.mark.parametrize(
    ("left", "before", "is_told"),
    [("(None, None)", "model.embed(x)", False), ("(None, None)", "pass", True), ("(0, None)", "model.embed(x)", True)],
    ids=["the run before", "no run before", "a part that is there by default"],
)
def test_a_part_of_what_the_run_before_has_kept_is_there(tmp_path: Path, left: str, before: str, is_told: bool) -> None:
    found = analyse(tmp_path, _PARTS.format(left=left, before=before)).shown
    assert is_told is any(code == "GL501" for _, _, code in found)
