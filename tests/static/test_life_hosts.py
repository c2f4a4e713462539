"""Numbers of the host in an object that is made anew for each request, and that a region reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

RUNNER = """
# file: context.py
from dataclasses import dataclass
import torch

@dataclass
class Adapters:
    slots: torch.Tensor | None = None
    count: int = 0

{home}

# file: runner.py
import torch
from context import Adapters, get_adapters, set_adapters

class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = torch.nn.Parameter(torch.rand(8, 16))

    def forward(self, x):
        adapters = get_adapters()
        for n in range({count}):
            x = x + self.weights[n] * adapters.slots[n]
        return x

class Runner:
    def __init__(self, sizes):
        self.layer = Layer().cuda()
        self.sizes = sizes
        self.graphs = {{}}
        self.x = torch.zeros(16, device="cuda")
        self.slots = torch.zeros(8, device="cuda")
        self.capture()

    def prepare(self, adapters):
        count = adapters.slots.size(0)
        self.slots.zero_()
        self.slots[:count].copy_(adapters.slots)
        set_adapters(
            Adapters(
                slots=self.slots,
                count={given},
            )
        )

    @torch.inference_mode()
    def capture(self):
        for size in self.sizes:
            self.prepare(Adapters(torch.zeros(size, device="cuda"), size))
            self.layer(self.x)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.y = self.layer(self.x)
            self.graphs[size] = graph, self.y

    @torch.inference_mode()
    def run(self, x, adapters):
        self.x.copy_(x)
        self.prepare(adapters)
        graph, y = self.graphs[{key}]
        graph.replay()
        return y.clone()
"""
HOMES = {
    "a global": """
_ADAPTERS = Adapters()

def set_adapters(adapters):
    global _ADAPTERS
    _ADAPTERS = adapters

def get_adapters():
    return _ADAPTERS
""",
    "a dictionary": """
_ADAPTERS = {}

def set_adapters(adapters, domain="lm"):
    _ADAPTERS[domain] = adapters

def get_adapters(domain="lm"):
    return _ADAPTERS.get(domain, Adapters())
""",
    "an object": """
class Current:
    adapters = None

_CURRENT = Current()

def set_adapters(adapters):
    _CURRENT.adapters = adapters

def get_adapters():
    return _CURRENT.adapters
""",
}


def program(
    home: str,
    count: str = "adapters.count",
    given: str = "count",
    key: str = "next(one for one in self.sizes if one >= 4)",
    mark: str = "",
) -> str:
    text = RUNNER.format(home=HOMES[home], count=count, given=given, key=key)
    return text.replace(f"count={given},", f"count={given},{mark}")


@pytest.mark.parametrize("home", HOMES)
def test_a_number_of_the_request_that_the_region_has_read(tmp_path: Path, home: str) -> None:
    """Told where the object is given it, if nothing picks the graph by it."""
    analysis = analyse(tmp_path, program(home, mark="  # expect: GL402"))
    assert analysis.shown == analysis.expected


@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize(
    "changes",
    [{"key": "get_adapters().count"}, {"given": "8"}, {"count": "8"}],
    ids=["the graph is picked by it", "it is always the same", "nothing reads it"],
)
def test_a_number_that_is_right_in_every_replay(tmp_path: Path, home: str, changes: dict[str, str]) -> None:
    found = analyse(tmp_path, program(home, **changes)).found
    assert [] == [one for one in found if one[2] == "GL402"]


def test_the_capture_has_code_of_its_own(tmp_path: Path) -> None:
    """It may choose a number that is large enough for all."""
    text = program("a global").replace(
        'self.prepare(Adapters(torch.zeros(size, device="cuda"), size))', "set_adapters(Adapters(self.slots, 8))"
    )
    assert [] == [one for one in analyse(tmp_path, text).found if one[2] == "GL402"]


def test_each_object_has_a_graph_of_its_own(tmp_path: Path) -> None:
    """The name goes from one to the next, and each replays what it was captured with."""
    text = """
    import torch

    class Runner:
        def __init__(self, n):
            self.n = n
            self.x = torch.zeros(n, device="cuda")

        def capture(self):
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = self.x * self.n

    runners = []
    for n in (8, 16):
        runner = Runner(n)
        runner.capture()
        runners.append(runner)
    for one in runners:
        one.x.normal_()
        one.graph.replay()
        print(one.y.sum().item())
    """
    assert [] == [one for one in analyse(tmp_path, text).found if one[2] == "GL402"]


STEP = """
import torch
from typing import Optional

class Step:
    def __init__(self, net):
        self.net, self.graph, self.scale, self.graphs = net, None, 1, {{}}

    def _capture(self, x, scale: {kind}):
        self.x = x.clone()
        self.scale = scale
        self.net(self.x, {used}); torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.net(self.x, {used})

    def __call__(self, x, scale: {kind} = None):
        if {asked}:
            self._capture(x, scale)
        else:
            self.x.copy_(x)
            self.scale = {kept}
        self.graph.replay()
        return self.y.clone()
"""
PLAIN = {"kind": "float", "used": "self.scale", "asked": "self.graph is None", "kept": "scale"}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({}, id="a number"),
        pytest.param({"kind": "Optional[int]"}, id="a number that may be left out"),
        pytest.param({"kind": "int | None"}, id="as well, in other words"),
    ],
)
def test_call_that_replays_keeps_a_number_which_the_region_has_read(tmp_path: Path, change: dict[str, str]) -> None:
    """It was read once, at capture; what is kept later is for nobody."""
    program = STEP.format(**PLAIN | change).replace(
        "= scale\n        self.graph.", "= scale  # expect: GL402\n        self.graph."
    )
    analysis = analyse(tmp_path, program)
    assert analysis.expected == [place for place in analysis.shown if place[2] in ("GL402", "GL508")] != []


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"asked": "self.graph is None or scale != self.scale"}, id="another number has another graph"),
        pytest.param({"used": "1"}, id="the region does not read it"),
        pytest.param({"kept": "1"}, id="a constant"),
    ],
)
def test_number_that_no_graph_has_read_or_that_has_its_own_graph_is_kept(
    tmp_path: Path, change: dict[str, str]
) -> None:
    """Every replay has the number that it was given."""
    analysis = analyse(tmp_path, STEP.format(**PLAIN | change))
    assert [place for place in analysis.shown if place[2] in ("GL402", "GL508")] == []


HANDED = """
import torch

def attend(x, kv, meta):
    {read}
    return x @ kv[:{end}].t()

class Runner:
    def __init__(self):
        self.x = torch.zeros(2, 8, device="cuda")
        self.kv = torch.randn(16, 8, device="cuda")
        self.meta = {{"most": 1, "lens": torch.ones(2, device="cuda")}}
        self.graphs = {{}}

    def capture(self, n):
        attend(self.x, self.kv, self.meta)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = attend(self.x, self.kv, self.meta)
        self.graphs[n] = graph, y

    def decode(self, x, lens):
        self.x.copy_(x)
        {written}
        graph, y = self.graphs[{key}]
        graph.replay()
        return y.clone()

runner = Runner()
runner.capture(1)
for lens in ([1, 1], [9, 2]):
    print(runner.decode(torch.randn(2, 8, device="cuda"), lens))
"""
ITEMS = {
    "a name for it": ('n = meta["most"]{mark}', "n", 'self.meta["most"] = max(lens)', "1", True),
    "as it is": ("pass", 'meta["most"]', 'self.meta["most"] = max(lens)', "1", True),
    "nobody writes it": ('n = meta["most"]', "n", 'self.meta["lens"].zero_()', "1", False),
    "nobody asks for it": ('n = meta["most"]', "", 'self.meta["most"] = max(lens)', "1", False),
    "another one is written": ('n = meta["most"]', "n", 'self.meta["least"] = min(lens)', "1", False),
    "a tensor": ('n = meta["lens"]', "", 'self.meta["lens"].fill_(max(lens))', "1", False),
}


@pytest.mark.parametrize("name", ITEMS)
def test_a_number_in_a_dictionary_that_a_region_is_handed_is_that_of_the_capture(tmp_path: Path, name: str) -> None:
    """Told where the region reads it, once it has been written and the graph replays."""
    read, end, written, key, is_told = ITEMS[name]
    text = HANDED.format(read=read.format(mark="  # expect: GL402"), end=end, written=written, key=key)
    if is_told and "# expect" not in text:
        text = text.replace(".t()", ".t()  # expect: GL402")
    analysis = analyse(tmp_path, text)
    assert analysis.expected if is_told else not analysis.expected
    assert analysis.expected == [one for one in analysis.shown if one[2] == "GL402"]


UNPACKED = """
import torch

class Runner:
    def __init__(self, model):
        self.model = model
        self.inputs = {{"x": torch.zeros(4, device="cuda"), "scale": {first}}}
        self.model(**self.inputs)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.model(**self.inputs){mark}

    def run(self, x, scale):
        self.inputs["x"].copy_(x)
        {filled}
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("first", "filled", "mark"),
    [
        ("2.0", 'self.inputs["scale"] = float(scale)', "  # expect: GL402"),
        ("2", 'self.inputs["scale"] = int(scale)', "  # expect: GL402"),
        ("2.0", 'self.inputs["scale"] = 2.0', ""),
        ("2.0", "pass", ""),
        ("torch.ones(1, device='cuda')", 'self.inputs["scale"].fill_(scale)', ""),
    ],
    ids=["another number", "another count", "the same number", "never written", "a tensor"],
)
def test_a_number_among_inputs_that_a_call_unpacks(tmp_path: Path, first: str, filled: str, mark: str) -> None:
    """It is told where the region has read it, as that of a dictionary that is handed on."""
    analysis = analyse(tmp_path, UNPACKED.format(first=first, filled=filled, mark=mark))
    assert analysis.shown == analysis.expected
