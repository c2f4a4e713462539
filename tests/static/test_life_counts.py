"""What is captured once calls have been counted, or once somebody has enabled it; and the stream of what warms up."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

COUNTED = """
import torch

class Static:
    def __init__(self, model, limit{default}):
        self.model, self.limit = model, limit
        self.calls = 0
        self.graph = torch.cuda.CUDAGraph()
        self.x = torch.zeros(4, device="cuda")

    def step(self, x):
        if {warms_up}:
            self.y = self.model(x)
        elif {captures}:
            with torch.cuda.graph(self.graph):
                self.y = self.model(self.x)
            self.graph.replay()
        else:
            {fill}
            self.graph.replay()
        self.calls += 1
        return self.y.clone()
"""
WITHIN = ("self.calls <= self.limit", "self.calls == self.limit + 1")
BELOW = ("self.calls < self.limit", "self.calls == self.limit")


@pytest.mark.parametrize(
    ("warms_up", "captures"), [BELOW, ("self.calls <= self.limit", "self.calls == self.limit + 1")]
)
@pytest.mark.parametrize("default", ["=3", "=11"])
def test_a_region_that_many_calls_come_before_is_reached(
    tmp_path: Path, default: str, warms_up: str, captures: str
) -> None:
    """As many as it counts."""
    check_counted(tmp_path, default, warms_up, captures)


@pytest.mark.parametrize(("warms_up", "captures"), [BELOW, ("self.limit > self.calls", "self.limit == self.calls")])
def test_what_counts_to_an_unknown_limit_captures_at_some_time(tmp_path: Path, warms_up: str, captures: str) -> None:
    """It lies between the count that was below it and the one that was not."""
    check_counted(tmp_path, "", warms_up, captures)


def check_counted(folder: Path, default: str, warms_up: str, captures: str) -> None:
    """Replays are run: what they replace is told of, and what they fill is not."""
    for fill, is_told in (("self.x = x", True), ("self.x.copy_(x)", False)):
        program = COUNTED.format(default=default, warms_up=warms_up, captures=captures, fill=fill)
        assert is_told is ("GL508" in {code for _, _, code in analyse(folder / fill, program).shown})


ENABLED = """
import torch

class Generator:
    def __init__(self, model):
        self.model, self.asked = model, False
        self.x = torch.zeros(4, device="cuda")
        self.y = torch.zeros(4, device="cuda")
        self.graph = None

    def {enables}(self):
        {flag} = {value}

    def step(self, x):
        self.x.copy_(x)
        if self.asked:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y.copy_(self.x * 2)
            self.asked = False
            {replays}
        else:
            self.graph.replay()
        return self.y + 1
"""


@pytest.mark.parametrize(
    ("enables", "flag", "value", "is_run"),
    [
        ("enable_graph", "self.asked", "True", True),
        ("prepare", "self.asked", "True", True),
        ("prepare", "self.asked", "False", False),
        ("prepare", "self.other", "True", False),
    ],
)
def test_what_is_captured_once_it_is_enabled_is_run(
    tmp_path: Path, enables: str, flag: str, value: str, is_run: bool
) -> None:
    """The method that sets the flag which the capture asks for is called before."""
    told = ENABLED.format(enables=enables, flag=flag, value=value, replays="pass")
    assert is_run is ("GL509" in {code for _, _, code in analyse(tmp_path / "told", told).shown})
    silent = ENABLED.format(enables=enables, flag=flag, value=value, replays="self.graph.replay()")
    assert [] == analyse(tmp_path / "silent", silent).shown


WARMED_UP = """
import torch

class Static:
    def __init__(self, model):
        self.model, self.graph = model, None
        self.x = torch.zeros(4, device="cuda")

    def step(self, {given}):
        if self.graph is None:
            side = torch.cuda.Stream()
            {before}
            with torch.cuda.stream({stream}):
                self.model({read})
            {after}
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = self.model(self.x)
        self.x.copy_({copied})
        self.graph.replay()
        return self.y.clone()
"""
JOINED = "torch.cuda.current_stream().wait_stream(side)"
FORKED = "side.wait_stream(torch.cuda.current_stream())"
PLAIN = {"given": "x", "stream": "side", "read": "x", "copied": "x", "before": "pass", "after": JOINED}


@pytest.mark.parametrize(
    ("changed", "is_told"),
    [
        ({}, True),
        ({"given": "*args", "read": "*args", "copied": "args[0]"}, True),
        ({"after": "torch.cuda.current_stream().wait_stream(side); torch.cuda.synchronize()"}, True),
        ({"before": FORKED}, False),
        ({"before": "torch.cuda.synchronize()"}, False),
        ({"before": "side.wait_event(torch.cuda.current_stream().record_event())"}, False),
        ({"after": "torch.cuda.synchronize()"}, False),  # the host orders all, and the caller may, too
        ({"stream": "torch.cuda.current_stream()"}, False),
        ({"read": ""}, False),
    ],
)
def test_a_side_stream_that_joins_the_caller_waits_for_it_first(
    tmp_path: Path, changed: dict[str, str], is_told: bool
) -> None:
    """What it is given may not be written yet."""
    found = analyse(tmp_path, WARMED_UP.format(**{**PLAIN, **changed})).shown
    assert is_told is ("GL602" in {code for _, _, code in found})


ZEROED = """
import torch

class Static:
    def __init__(self, model, optimizer=None):
        self.model, self.optimizer, self.graph = model, optimizer, None
        self.x = torch.zeros(4, device="cuda")

    def zero(self):
        {zeroes}

    def step(self, x):
        if self.graph is None:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                self.model(self.x).sum().backward()
            torch.cuda.current_stream().wait_stream(side)
            self.zero()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.model(self.x).sum().backward()
        self.x.copy_(x)
        self.graph.replay()
"""
FALLS_BACK = """try:
            self.optimizer.zero_grad()
        except AttributeError:
            {fallback}"""


@pytest.mark.parametrize(
    ("zeroes", "is_told"),
    [
        ("pass", True),
        ("self.model.zero_grad()", False),
        (FALLS_BACK.format(fallback="self.model.zero_grad()"), False),
        (FALLS_BACK.format(fallback="pass"), True),
    ],
)
def test_a_method_of_none_raises_where_that_is_handled(tmp_path: Path, zeroes: str, is_told: bool) -> None:
    """Then the handler is what runs."""
    found = analyse(tmp_path, ZEROED.format(zeroes=zeroes)).shown
    assert is_told is ("GL705" in {code for _, _, code in found})


LOOPED = """
import torch

class Generator:
    def __init__(self):
        self.net = torch.nn.Linear(4, 4).cuda()
        self.step = torch.compile(self.net, mode="reduce-overhead")

    {decorator}
    def generate(self, x):
        for _ in range(8):
            x = self.step(x)
        return x

generator = Generator()
generator.generate(torch.ones(4, 4, device="cuda"))
"""


@pytest.mark.parametrize(
    ("decorator", "is_told"), [("", True), ("@torch.inference_mode()", False), ("@torch.no_grad()", False)]
)
def test_a_function_without_gradients_leaves_no_backward_pass(tmp_path: Path, decorator: str, is_told: bool) -> None:
    """Whatever is decorated with them computes none."""
    found = analyse(tmp_path, LOOPED.format(decorator=decorator)).shown
    assert is_told is ("GL707" in {code for _, _, code in found})


GIVEN = """
import torch

class Layer(torch.nn.Module):
    def forward(self, {given}):
        return self.run({handed})

    def run(self, x: torch.Tensor, mask: torch.Tensor | None = None):
        if mask is not None:
            x = x + torch.zeros(4).cuda()
        return x
"""


@pytest.mark.parametrize(
    ("given", "handed", "is_told"), [("*args", "*args", True), ("x, mask=None", "x, mask", True), ("x", "x", False)]
)
def test_what_a_region_hands_on_behind_a_star_may_be_all_of_it(
    tmp_path: Path, given: str, handed: str, is_told: bool
) -> None:
    """A region with `*args` is called with some."""
    found = analyse(tmp_path, GIVEN.format(given=given, handed=handed), regions=["main:Layer.forward"]).shown
    assert is_told is ("GL202" in {code for _, _, code in found})


CHECKED = """
# file: base.py
class Base:
    def __init__(self, model):
        self.model = model
        missing = []
        for one in model.parameters():
            if one.is_meta:
                missing.append(one)
        if missing:
            raise RuntimeError
# file: main.py
import torch
from base import Base

class Runner(Base):
    def __init__(self, model):
        super().__init__(model)
        self.x = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x * 2

    def run(self, x):
        {fill}
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(("fill", "told"), [("self.x = x", ["GL508"]), ("self.x.copy_(x)", [])])
def test_a_constructor_is_followed_past_what_another_file_checks(tmp_path: Path, fill: str, told: list[str]) -> None:
    """What it raises for is the case that nobody captures in."""
    assert told == [code for _, _, code in analyse(tmp_path, CHECKED.format(fill=fill)).shown]


ANEW = """
import torch
from outside import Params, allocate

class Cache:
    def __init__(self):
        self.keys = torch.zeros(8, device="cuda")

class Model:
    def __init__(self, layer):
        self.layer, self.graph, self.size = layer, None, None

    def decode(self, x, cache):
        if {asks}:
            self.size = x.size(0)
            self.x, self.cache = x.clone(), cache
            self.layer(self.x, cache)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = {computes}
        else:
            self.x.copy_(x)
            {fill}
        self.graph.replay()
        return self.y.clone()

    def generate(self, x):
        cache = {made}
        for _ in range(3):
            x = self.decode(x, cache)
        return x
"""
AT_HAND = {
    "asks": "self.graph is None or self.size != x.size(0)",
    "computes": "self.layer(self.x, self.cache)",
    "fill": "pass",
    "made": "Cache()",
}


@pytest.mark.parametrize(
    ("changed", "is_told"),
    [
        ({}, True),
        ({"made": "Params(allocate(), 0)"}, True),
        ({"computes": "self.x + self.cache.keys"}, True),
        ({"fill": "self.cache.keys.copy_(cache.keys)"}, False),
        ({"asks": "self.graph is None or self.cache is not cache"}, False),
        ({"asks": "True"}, False),
        ({"made": "self.held"}, False),  # the same each time, as far as anybody knows
        ({"computes": "self.layer(self.x)"}, False),
    ],
)
def test_an_object_that_each_request_makes_anew_is_not_that_of_the_capture(
    tmp_path: Path, changed: dict[str, str], is_told: bool
) -> None:
    """The graph reads the one that it was captured with."""
    found = analyse(tmp_path, ANEW.format(**{**AT_HAND, **changed})).shown
    assert is_told is ("GL512" in {code for _, _, code in found})
