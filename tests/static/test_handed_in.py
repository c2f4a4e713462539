"""What decides what a region runs is handed in: by whom, is looked for in functions and files that open none."""

from __future__ import annotations

from pathlib import Path

import pytest
from static.analysis import analyse

STEPS = """
# file: learner.py
import torch

class Learner:
    def __init__(self, device):
        self.weight = torch.ones(3, device=device)

    def update(self):
        return self.weight.sum().item()  # expect: GL101
"""
LOOP = """
# file: loop.py
import torch
from collections.abc import Callable
from learner import Learner
from tensordict.nn import CudaGraphModule

def train(config, {parameter}):
    learner = make_learner()
    update = learner.update
    if config.compiles:
        update = torch.compile(update)
    if config.graphs:
        update = CudaGraphModule(update)
    while True:
        update()
"""
START = """
# file: start.py
import torch
import loop
from checked import typed
from learner import Learner

class Start:
    @typed
    def run(self):
        @typed
        def make_learner():
            return Learner(torch.device("cuda"))

        loop.train(config=self.config, make_learner=make_learner)
"""


def test_what_a_local_is_made_of_may_be_handed_in(tmp_path: Path) -> None:
    """It is a parameter that makes what is captured, three assignments further on; another file calls the function."""
    assert_as_expected(tmp_path, STEPS + LOOP.format(parameter="make_learner") + START)


@pytest.mark.parametrize("promise", ["Callable[[], Learner]", "Callable[..., Learner]", "type[Learner]"])
def test_what_a_callable_is_promised_to_give_is_known(tmp_path: Path, promise: str) -> None:
    """Nobody in the project calls it."""
    assert_as_expected(tmp_path, STEPS + LOOP.format(parameter=f"make_learner: {promise}"))


@pytest.mark.parametrize("promise", ["Callable", "Callable[[], int]", "type"])
def test_a_callable_that_promises_no_object_is_not_known(tmp_path: Path, promise: str) -> None:
    """Then the call is one that nobody knows the callee of."""
    run = analyse(tmp_path, STEPS + LOOP.format(parameter=f"make_learner: {promise}"))
    assert [] == run.found and ["update"] == [hole.callee for hole in run.report.holes]


HOLDER = """
# file: graphed.py
import torch

class Graphed:
    def __init__(self, base):
        self.base = base

    def capture(self, x):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            {call}

    def record(self, x):
        return x
"""
MANAGER = """
# file: manager.py
from graphed import Graphed

class Manager:
    def __init__(self):
        self.all = []

    def of(self, layer):
        made = Graphed(layer)
        self.all.append(made)
        return made

    def __call__(self, layer, x):
        return self.of(layer).record(x)
"""
LAYER = """
# file: layer.py
from torch import nn
from manager import Manager

class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        if config.graphs:
            self.manager = Manager()

    def __call__(self, x):
        if hasattr(self, "manager"):
            return {given}
        return super().__call__(x)

    def forward(self, x):
        return x * x.sum().item()
"""


@pytest.mark.parametrize("call", ["self.base(x)", "self.base.forward(x)"])
def test_who_gives_itself_to_a_manager_is_captured(tmp_path: Path, call: str) -> None:
    """The manager hands it to the object that captures, and is called by the attribute that keeps it."""
    program = HOLDER.format(call=call) + MANAGER + LAYER.format(given="self.manager(self, x)")
    assert [("layer.py", 16, "GL101")] == analyse(tmp_path, program).shown


def test_who_is_not_given_to_a_manager_is_not_captured(tmp_path: Path) -> None:
    """It gives away a part of itself, which nobody knows."""
    program = HOLDER.format(call="self.base(x)") + MANAGER + LAYER.format(given="self.manager(self.inner, x)")
    assert [] == analyse(tmp_path, program).shown


OPTIONAL = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, ids, positions):
        return ids.sum().item() + positions

def capture(hidden, options):
    inputs = dict(ids=torch.ones(4, device="cuda"), positions=torch.ones(4, device="cuda"))
    STORED
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        Model()(**inputs)
"""


@pytest.mark.parametrize(
    ("stored", "is_called"),
    [
        ("if hidden is not None:\n        inputs['hidden'] = hidden", True),
        ("if options.inner:\n        inputs.update({'hidden': hidden})", True),
        ("if options.inner:\n        inputs |= dict(hidden=hidden)", True),
        ("inputs = {**inputs, **({'hidden': hidden} if options.inner else {})}", True),
        ("inputs['hidden'] = hidden", False),
    ],
)
def test_a_keyword_that_a_dict_may_not_have_is_no_type_error(tmp_path: Path, stored: str, is_called: bool) -> None:
    """The model does not take it, so it is not handed over where the model is the one that is captured."""
    run = analyse(tmp_path, OPTIONAL.replace("STORED", stored))
    assert ["GL101"] * is_called == [code for _, _, code in run.shown]


KEYS = """
import torch

def step(x, options):
    held = {{}}
    {stored}
    if {condition}:
        x.item()

def main(options):
    x = torch.ones(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        step(x, options)
"""


@pytest.mark.parametrize(
    ("stored", "condition", "found"),
    [
        ("if options.a: held['a'] = 1", "'a' not in held", ["'a' not in held"]),
        ("if options.a: held['a'] = 1", "held.get('a') is None", ["held.get('a') is None"]),
        ("if options.a: held['a'] = 1", "held.setdefault('a', 1) is None", None),
        ("held['a'] = 1", "'a' not in held", None),
        ("held['a'] = 1", "held.get('a') is None", None),
        ("if options.a: held['a'] = 1\n    held['a'] = 2", "'a' not in held", None),
        ("if options.a: held['a'] = 1\n    held.pop('a', None)", "'a' in held", None),
    ],
)
def test_a_key_that_is_stored_on_one_way_may_be_missing(
    tmp_path: Path, stored: str, condition: str, found: list[str] | None
) -> None:
    """What asks for it is not decided, unless all ways store it, or none."""
    run = analyse(tmp_path, KEYS.format(stored=stored, condition=condition))
    assert ([] if found is None else [found]) == [[when.text for when in f.when] for f in run.report.findings]


@pytest.mark.parametrize(
    "wrapped", ["torch._dynamo.disable(self.inner)", "torch.jit.unused(self.inner)", "checked.timed(self.inner)"]
)
def test_what_wraps_a_function_calls_it(tmp_path: Path, wrapped: str) -> None:
    """As where it is a decorator."""
    program = f"""
import torch
import checked

class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.call = {wrapped}

    def inner(self, x):
        return x.item()  # expect: GL101

    def forward(self, x):
        return self.call(x)

def main():
    layer = Layer()
    x = torch.ones(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        layer(x)
"""
    assert_as_expected(tmp_path, program)


def assert_as_expected(folder: Path, program: str) -> None:
    run = analyse(folder, program)
    assert run.expected == run.found


WARMED = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scales = {{}}

    def scale(self, kind):
        {fill}
        return self.scales[kind]

    def forward(self, x):
        return x * self.scale("half")

def main(net, sizes):
    net = Net().cuda()
    x = torch.ones(4, device="cuda")
    for size in {sizes}:
        net(x)
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        net(x)
"""


@pytest.mark.parametrize(
    "fill",
    [
        "if kind not in self.scales: self.scales[kind] = torch.tensor([0.5], device='cuda')",
        "if self.scales.get(kind) is None: self.scales[kind] = torch.tensor([0.5], device='cuda')",
    ],
)
@pytest.mark.parametrize(("sizes", "found"), [("sizes", []), ("()", ["GL203"])])
def test_what_a_run_before_may_have_filled_is_filled(tmp_path: Path, fill: str, sizes: str, found: list[str]) -> None:
    """That it may never run is not believed of a loop; one that surely does not run fills nothing."""
    codes = {code for _, _, code in analyse(tmp_path, WARMED.format(fill=fill, sizes=sizes)).shown}
    assert found == sorted(codes & {"GL203"})


SHOWN = """
import torch

class View:
    def __init__(self, address):
        self.{name} = {{"data": (address, False), "shape": (4,), "typestr": "<f4", "version": 3}}

class Wrapped:
    @property
    def {name}(self):
        return {{}}

def step(x, address):
    return x + torch.as_tensor({made}, device="cuda")

def main(address: int):
    x = torch.ones(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = step(x, address)
    graph.replay()
    return y
"""


@pytest.mark.parametrize("made", ["View(address)", "Wrapped()"])
@pytest.mark.parametrize(("name", "is_uploaded"), [("__cuda_array_interface__", False), ("array", True)])
def test_what_shows_memory_of_the_device_is_not_uploaded(
    tmp_path: Path, made: str, name: str, is_uploaded: bool
) -> None:
    """An object with the interface of arrays on the device, in an attribute or a property, shares its memory."""
    found = analyse(tmp_path, SHOWN.format(made=made, name=name)).found
    assert is_uploaded is ("GL203" in {code for _, _, code in found})
