"""What an object holds that a region gave whole to a call which nobody can follow."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

SIMULATION = """
import physics
import torch

def widen(model, worlds, names):
    for name in names:
        old = getattr(model, name)
        new = old.expand(worlds, *old.shape[1:]).contiguous()
        setattr(model, name, new){of_widen}

class Simulation:
    def __init__(self, spec, worlds):
        self.worlds = worlds
        self.model = physics.put_model(spec)
        self.data = physics.put_data(spec)
        self.capture()

    def capture(self):
        physics.step(self.model, self.data)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            physics.step(self.model, self.data)

    def change(self, names, mass):
        {body}

    def step(self):
        self.graph.replay()
"""
BRIDGE = """
import physics
import torch
import warp as wp

class Bridge:
    def __init__(self, struct):
        super().__setattr__("_struct", struct)

    def __setattr__(self, name, value):
        if isinstance(getattr(self._struct, name), wp.array):
            {body}
        else:
            setattr(self._struct, name, value)

class Simulation:
    def __init__(self, spec):
        self._wp_model = physics.put_model(spec)
        self._model = Bridge(self._wp_model)
        with wp.ScopedCapture() as capture:
            physics.step(self._wp_model)
        self.graph = capture.graph

    @property
    def model(self):
        return self._model

    def step(self):
        wp.capture_launch(self.graph)
"""


def check(folder: Path, program: str) -> None:
    """What is found is what the program expects."""
    analysis = analyse(folder, program)
    assert analysis.shown == analysis.expected


MARK = "  # expect: GL508"


@pytest.mark.parametrize(
    "body",
    [
        "self.model.mass = torch.as_tensor(mass, device=self.model.mass.device)" + MARK,
        "self.model.mass = torch.full(self.model.mass.shape, mass, device='cuda')" + MARK,
        "old = self.model.mass; self.model.mass = old.expand(self.worlds, *old.shape)" + MARK,
    ],
)
def test_an_array_of_it_is_replaced_behind_the_capture(tmp_path: Path, body: str) -> None:
    check(tmp_path, SIMULATION.format(body=body, of_widen=""))


def test_a_function_replaces_what_it_is_told_by_name(tmp_path: Path) -> None:
    """The object leads there through a function of another kind, and the names are values."""
    body = "widen(self.model, self.worlds, names)"
    check(tmp_path / "kept", SIMULATION.format(body=body, of_widen=MARK))
    renewed = f"{body}; self.capture()"
    check(tmp_path / "renewed", SIMULATION.format(body=renewed, of_widen=""))


@pytest.mark.parametrize(
    "body",
    [
        "self.model.mass.copy_(torch.as_tensor(mass))",
        "self.model.limit = mass",
        "self.model.limit = 3",
        "self.model.latest = torch.as_tensor(mass)",
        "self.other = torch.as_tensor(mass)",
    ],
)
def test_what_is_no_array_of_it_may_change(tmp_path: Path, body: str) -> None:
    """In place, on the host, and what it did not hold before."""
    check(tmp_path, SIMULATION.format(body=body, of_widen=""))


def test_who_changes_it_captures_anew(tmp_path: Path) -> None:
    """A class that calls both has it in hand."""
    user = """
class Environment:
    def __init__(self, spec):
        self.simulation = Simulation(spec, 4)
        self.simulation.change(["mass"], 1.0)
        self.simulation.capture()
"""
    program = SIMULATION.format(body="widen(self.model, self.worlds, names)", of_widen="") + user
    check(tmp_path, program)


def test_a_part_that_takes_attributes_for_it(tmp_path: Path) -> None:
    """Whoever sets an attribute of what a property gives replaces the array that the graph reads."""
    bad = f"setattr(self._struct, name, wp.from_torch(value)){MARK}"
    check(tmp_path / "bad", BRIDGE.format(body=bad))
    good = "wp.to_torch(getattr(self._struct, name)).copy_(value)"
    check(tmp_path / "good", BRIDGE.format(body=good))


LOOP = """
import physics
import torch

class Loop:
    def __init__(self, spec):
        self.cache = physics.put_cache(spec)
        self.layers = physics.put_layers(spec)
        self.at = torch.zeros(4, device="cuda")
        self.rows = torch.zeros(64, device="cuda")
        self.cache.at = torch.zeros(4, device="cuda")
        self.cache.rows = self.rows[:4]
        self.capture()

    def forward(self, at):
        {forward}

    def capture(self):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.forward(self.at)

    def prefill(self, n):
        {prefill}

    def step(self):
        self.graph.replay()
"""
GIVES = "self.layers(self.cache)"


@pytest.mark.parametrize(
    ("forward", "mark"),
    [
        (f"self.cache.at = at; {GIVES}", ""),
        (f"cache = self.cache\n        cache.at = at + 1\n        {GIVES}", ""),
        (f"self.place(at); {GIVES}\n\n    def place(self, at):\n        self.cache.at = at", ""),
        (f"setattr(self.cache, 'at', at); {GIVES}", ""),
        (f"self.cache.rows = at; {GIVES}", MARK),
        (f"{GIVES}; self.cache.at = at", MARK),
        (GIVES, MARK),
    ],
)
def test_what_the_region_sets_before_it_is_read_is_its_own(tmp_path: Path, forward: str, mark: str) -> None:
    """Whatever others put there between replays; what it sets later on, or beside it, is not."""
    check(tmp_path, LOOP.format(forward=forward, prefill=f"self.cache.at = torch.arange(n){mark}"))


@pytest.mark.parametrize(
    ("value", "mark"),
    [
        ("self.rows[:n]", ""),
        ("self.rows[0:n]", ""),
        ("self.rows", ""),
        ("self.rows[n:]", MARK),
        ("self.rows[:n].clone()", MARK),
        ("self.at[:n]", MARK),
        ("self.rows[::n]", MARK),
    ],
)
def test_what_begins_in_the_same_place_of_one_memory_is_no_other_array(tmp_path: Path, value: str, mark: str) -> None:
    """The graph has its address, whatever the length."""
    check(tmp_path, LOOP.format(forward=GIVES, prefill=f"self.cache.rows = {value}{mark}"))


MEANT = """
import torch
from enum import Enum
from kernels import scaled

class Kind(str, Enum):
    FUSED = "fused"
    PLAIN = "plain"

def resolved(kind):
    try:
        return Kind(kind)
    except ValueError:
        raise ValueError(kind) from None

def run(x, lengths, kind=Kind.FUSED):
    if resolved(kind) is Kind.FUSED:
        return x * 2
    return scaled(x, lengths[0].item())

def main():
    x, lengths = torch.ones(4, device="cuda"), torch.tensor([2, 3], device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = run(x, lengths, {kind})
    lengths.copy_(torch.tensor([3, 4], device="cuda"))
    graph.replay()
    return y

main()
"""


@pytest.mark.parametrize(
    ("kind", "is_told"),
    [("Kind.FUSED", False), ("'fused'", False), ("resolved('fused')", False), ("'plain'", True), ("Kind.PLAIN", True)],
)
def test_the_member_that_a_call_of_an_enum_gives_decides(tmp_path: Path, kind: str, is_told: bool) -> None:
    assert is_told is ("GL402" in {code for *_, code in analyse(tmp_path, MEANT.format(kind=kind)).shown})
