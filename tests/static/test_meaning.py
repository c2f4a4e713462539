"""What is found out about a program is asked of its code: spaces, line breaks, comments and strings change nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

REGION = """
def main(model):
    x = torch.ones(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step(x)
"""


def check(tmp_path: Path, program: str, region: str = REGION) -> None:
    analysis = analyse(tmp_path, f"import torch\n{program}\n{region}")
    assert analysis.expected == analysis.found


@pytest.mark.parametrize(
    ("assignment", "is_set"),
    [
        ("self.debug = True", True),
        ("self.debug=True", True),
        ("self.debug: bool = True", True),
        ("self.debug |= flag", True),
        ("self.debug, self.level = True, 1", True),
        ("(\n            self.debug\n        ) = True", True),
        ("with flag as self.debug: pass", True),
        ("pass  # self.debug = True", False),
        ("print('self.debug = True')", False),
        ("print(self.debug == True)", False),
        ("other.debug.level = True", False),
        ("self.debug: bool", False),
    ],
)
def test_an_attribute_is_set_where_code_assigns_it(tmp_path: Path, assignment: str, is_set: bool) -> None:
    """A constant of the constructor lasts unless some code assigns the attribute, however that is written."""
    program = f"""
class Model:
    def __init__(self):
        self.debug = False

    def __call__(self, x):
        if self.debug:
            x.sum().item(){"  # expect: GL101" if is_set else ""}

    def prepare(self, flag, other):
        {assignment}

step = Model()
"""
    check(tmp_path, program)


@pytest.mark.parametrize(("prepared", "is_set"), [("pass", False), ("self.delayed = True", True)])
def test_the_last_word_of_a_constructor_stands_unless_something_else_assigns(
    tmp_path: Path, prepared: str, is_set: bool
) -> None:
    """An attribute that is assigned twice while an object is made is what it was given last."""
    program = f"""
class Buffer:
    def __init__(self, delayed=None):
        self.delayed = delayed
        if delayed is None:
            delayed = False
        self.delayed = delayed

    def prepare(self):
        {prepared}

    def __call__(self, x):
        if self.delayed:
            x.sum().item(){"  # expect: GL101" if is_set else ""}

step = Buffer()
"""
    check(tmp_path, program)


def test_an_attribute_of_another_class_is_another_one(tmp_path: Path) -> None:
    """That a class of the same file assigns to its own `debug` says nothing of this one."""
    program = """
class Model:
    def __init__(self):
        self.debug = False

    def __call__(self, x):
        if self.debug:
            x.sum().item()

class Other:
    def switch(this):
        this.debug = True

step = Model()
"""
    check(tmp_path, program)


def test_an_attribute_may_be_set_by_a_class_that_derives_from_the_promised_one(tmp_path: Path) -> None:
    """An annotation names the base class, and the object may be any that derives from it."""
    program = """
class Layer:
    def __init__(self):
        self.ready = False

class Dynamic(Layer):
    def prepare(self):
        self.ready = True

def run(x, layer: Layer):
    if layer.ready:
        x.item()  # expect: GL101
"""
    check(tmp_path, program, REGION.replace("(model)", "(layer: Layer)").replace("step(x)", "run(x, layer)"))


@pytest.mark.parametrize(
    ("use", "is_written"),
    [
        ("SCALE.fill_(3.0)", True),
        ("SCALE . fill_ (3.0)", True),
        ("SCALE *= 2", True),
        ("SCALE[...]=3", True),
        ("SCALE[\n    ...\n] = 3", True),
        ("pass  # SCALE.fill_(3.0)", False),
        ("'''SCALE *= 2'''", False),
        ("SCALE.requires_grad_()", False),
        ("print(SCALE[...] == 3)", False),
    ],
)
def test_a_scalar_is_written_to_where_code_does_so(tmp_path: Path, use: str, is_written: bool) -> None:
    """A number in a host tensor is as good as a number unless some code changes it in place."""
    program = f"""
SCALE = torch.tensor(2.0)

def step(x):
    return x * SCALE{"  # expect: GL207" if is_written else ""}

{use}
"""
    check(tmp_path, program)


@pytest.mark.parametrize(
    ("use", "is_written"),
    [
        ("from scaling import SCALE\nSCALE.fill_(3.0)", True),
        ("from scaling import SCALE as factor\nfactor.fill_(3.0)", True),
        ("import scaling\nscaling.SCALE.fill_(3.0)", True),
        ("from scaling import SCALE as factor\nSCALE = torch.ones(1)\nSCALE.fill_(3.0)", False),
        ("SCALE = torch.ones(1)\nSCALE.fill_(3.0)", False),
    ],
)
def test_a_scalar_is_written_to_by_whoever_imports_it(tmp_path: Path, use: str, is_written: bool) -> None:
    """What other files do to a name counts if they have it from here."""
    marked = "  # expect: GL207" if is_written else ""
    program = f"""
from scaling import step
{use}
{REGION}
# file: scaling.py
import torch

SCALE = torch.tensor(2.0)

def step(x):
    return x * SCALE{marked}
"""
    check(tmp_path, program, region="")


@pytest.mark.parametrize("also", ["pass  # layer.cuda()", "'layer.to(1)'", "print(layer.to)"])
def test_a_module_is_moved_where_code_moves_it(tmp_path: Path, also: str) -> None:
    """What a comment or a string says of other moves does not make this one harmless, nor the other way round."""
    program = f"""
layer = torch.nn.Linear(4, 4)

def step(x):
    return layer.cuda()(x)  # expect: GL202

{also}
"""
    check(tmp_path, program)


@pytest.mark.parametrize("store", ["FOUND[name]=cls", "FOUND[\n            name\n        ] = cls", "FOUND . update"])
def test_a_registry_is_filled_by_the_function_that_stores_into_it(tmp_path: Path, store: str) -> None:
    """However the store is written; a function that stores nothing fills nothing."""
    is_filled = "cls" in store
    program = f"""
FOUND = {{}}

def register(name):
    def add(cls):
        {store}
        return cls
    return add

@register("scale")
class Scale:
    def __call__(self, x):
        return x.item(){"  # expect: GL101" if is_filled else ""}

def step(x):
    return FOUND["scale"]()(x)
"""
    check(tmp_path, program)


@pytest.mark.parametrize(
    ("body", "is_rebound"),
    [
        ("global DEBUG; DEBUG = True", True),
        ("if True: global DEBUG", True),
        ("pass  # global DEBUG", False),
        ("'''\n    global DEBUG\n    '''", False),
    ],
)
def test_a_name_is_rebound_where_code_declares_it_global(tmp_path: Path, body: str, is_rebound: bool) -> None:
    """A constant of the module lasts unless a function may rebind it."""
    program = f"""
DEBUG = False

def switch():
    {body}

def step(x):
    if DEBUG:
        x.sum().item(){"  # expect: GL101" if is_rebound else ""}
"""
    check(tmp_path, program)


@pytest.mark.parametrize("added", ["FLAGS + (False,)  # FLAGS", "(False,)  # FLAGS", "(False, 'FLAGS')"])
def test_a_second_assignment_adds_to_a_name_if_its_value_is_made_of_it(tmp_path: Path, added: str) -> None:
    """Otherwise it is an alternative, and both values count."""
    is_made_of_it = added.startswith("FLAGS")
    program = f"""
FLAGS = (True,)
FLAGS = {added}

def step(x):
    if FLAGS[0]:
        return x
    return x.item(){"" if is_made_of_it else "  # expect: GL101"}
"""
    check(tmp_path, program)


def test_nested_functions_are_part_of_the_function_around_them(tmp_path: Path) -> None:
    """Before a region, functions inside of others are followed however many there are."""
    program = """
def passing(function):
    def passed(*args):
        return function(*args)
    return passed

@passing
def sample():
    return made()

@passing
def made():
    return torch.ones(4, device="cuda")

def step(x):
    return int(x.sum())  # expect: GL101

@passing
def main():
    x = sample()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step(x)
"""
    check(tmp_path, program, region="")


def test_members_of_a_class_are_found_in_any_block_of_it(tmp_path: Path) -> None:
    """Loops and handlers bind names in a class body, too."""
    program = """
class Model:
    for size in (1,):
        def double(self, x):
            return x.item()  # expect: GL101
    try:
        pass
    finally:
        def __call__(self, x):
            return self.double(x)

step = Model()
"""
    check(tmp_path, program)


def test_modules_in_a_container_may_be_given_by_keyword(tmp_path: Path) -> None:
    """`modules=` of a `ModuleDict` and a `ModuleList`."""
    program = """
class Layer(torch.nn.Module):
    def forward(self, x):
        return x[x > 0]  # expect: GL305

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = torch.nn.ModuleDict(modules={"main": Layer()})

    def forward(self, x):
        return self.heads["main"](x)

step = Model()
"""
    check(tmp_path, program)


def test_a_generator_that_opens_a_region_may_be_handed_on(tmp_path: Path) -> None:
    """A context manager made of a function that returns what a generator function gives."""
    program = """
import contextlib

def opened(graph):
    with torch.cuda.graph(graph):
        yield

@contextlib.contextmanager
def captured(graph):
    return opened(graph)

def main():
    x = torch.ones(4, device="cuda")
    with captured(torch.cuda.CUDAGraph()):
        x.item()  # expect: GL101
"""
    check(tmp_path, program, region="")


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_nested_function_reads_what_is_bound_behind_it(tmp_path: Path, device: str) -> None:
    """`step` is defined in front of what it reads, and called behind."""
    text = f"""
import torch

def forward(x: torch.Tensor, sizes: list[int]):
    def step():
        return least(), x[: rest.minimum(rest).tolist()[0]]

    def least():
        return rest.numel()

    rest = torch.tensor(sizes, device="{device}")
    return step()

x = torch.ones(4, device="cuda")
with torch.cuda.graph(torch.cuda.CUDAGraph()):
    forward(x, [1, 2])
"""
    analysed = analyse(tmp_path, text)
    found = {code for _, _, code in analysed.shown}
    assert ("GL101" in found) is (device == "cuda")
    assert analysed.report.summary.unresolved_calls == 0
