"""Records that say which classes a model is built of: known where one is made, and promised where it is used."""

from __future__ import annotations

from pathlib import Path

import pytest
from static.analysis import analyse

PROGRAM = """
# file: net/__init__.py
# file: net/spec.py
from dataclasses import dataclass, field
from typing import Any, Callable, Optional, Protocol, Type, Union

@dataclass
class ModuleSpec:
    module: Union[tuple, type]
    params: dict = field(default_factory=dict)
    submodules: object = None

def build_module(spec, *args, **kwargs):
    if isinstance(spec, type):
        module = spec
    elif hasattr(spec, "module") and isinstance(spec.module, type):
        module = spec.module
    else:
        module = __import__(spec.module)
    if hasattr(spec, "submodules") and spec.submodules is not None:
        kwargs["submodules"] = spec.submodules
    return module(*args, **spec.params if hasattr(spec, "params") else {{}}, **kwargs)
# file: net/parts.py
import torch
from torch import nn
class Gate(nn.Module):
    def __init__(self, config):
        super().__init__()
    def forward(self, x):
        return x * x.max().item()  # expect: GL101
class Identity(nn.Module):
    def __init__(self, config):
        super().__init__()
    def forward(self, x):
        return x
# file: net/layer.py
import torch
from torch import nn
from net.spec import *
from net.parts import Gate, Identity
{record}
class Layer(nn.Module):
    def __init__(self, config, submodules: Optional[Parts] = None):
        super().__init__()
        self.submodules = submodules
        self.gate = {made}
    def forward(self, x):
        return self.gate(x)
# file: net/models.py
from net.layer import Layer, Parts
from net.parts import Gate, Identity
from net.spec import ModuleSpec
def layer_spec(config):
    return ModuleSpec(module=Layer, submodules={given})
"""
RECORD = "@dataclass\nclass Parts:\n    gate: {} = {}\n    size: int = 0"
BUILT = "build_module(submodules.gate, config)"


def _check(tmp_path: Path, annotation: str, default: str, made: str, given: str) -> bool:
    program = PROGRAM.format(record=RECORD.format(annotation, default), made=made, given=given)
    said = analyse(tmp_path, program, regions=["net.layer:Layer.forward"])
    assert {one for one in said.shown if one[2] == "GL101"} <= {*said.expected}
    return bool(said.shown)


@pytest.mark.parametrize(
    ("annotation", "default", "made", "given"),
    [
        ("Union[ModuleSpec, type]", "None", BUILT, "Parts(gate=ModuleSpec(module=Gate))"),
        ("Union[ModuleSpec, type]", "Identity", BUILT, "Parts(gate=Gate, size=1)"),
        ("Optional[ModuleSpec]", "None", "build_module(self.submodules.gate, config)", "Parts(ModuleSpec(Gate))"),
        ("Type[nn.Module]", "Identity", "submodules.gate(config)", "Parts(gate=Gate)"),
        ("Callable[..., nn.Module]", "None", "submodules.gate(config)", "Parts(gate=lambda config: Gate(config))"),
        ("type", "Gate", "submodules.gate(config=config)", "Parts()"),
    ],
)
def test_the_classes_of_a_record_are_known_where_one_is_made(
    tmp_path: Path, annotation: str, default: str, made: str, given: str
) -> None:
    """A class that is used and never called by its name is run, whoever makes it of the record."""
    assert _check(tmp_path, annotation, default, made, given)


@pytest.mark.parametrize(
    ("annotation", "default", "given"),
    [
        ("type", "Identity", "Parts(size=4)"),
        ("Union[ModuleSpec, type]", "None", "Parts(gate=Identity)"),
        ("type", "Identity", "Others(gate=Gate)"),
    ],
)
def test_what_no_record_holds_is_not_run(tmp_path: Path, annotation: str, default: str, given: str) -> None:
    assert not _check(tmp_path, annotation, default, BUILT, given)


def test_numbers_of_a_few_records_say_nothing_of_the_others(tmp_path: Path) -> None:
    """What one caller gives a field that is no class does not hold for all."""
    record = "@dataclass\nclass Parts:\n    gate: type = Identity\n    size: int = 0"
    program = PROGRAM.format(record=record, made=BUILT, given="Parts(gate=Identity, size=4)")
    asked = "if self.submodules.size != 4:\n            return x.sum().item()  # expect: GL101\n        "
    program = program.replace("return self.gate(x)", f"{asked}return self.gate(x)")
    program = program.replace("x.max().item()  # expect: GL101", "x")
    said = analyse(tmp_path, program, regions=["net.layer:Layer.forward"])
    assert said.expected == said.shown != []


ASKED = """
# file: net/__init__.py
# file: net/build.py
import types
from typing import Protocol
def build(one, *args):
    if isinstance(one, {asked}):
        return one(*args)
    return {other}
# file: net/parts.py
import torch
from net.build import build
class Gate(torch.nn.Module):
    def forward(self, x):
        return x * x.max().item()
def make():
    return Gate()
class Box:
    def __init__(self, module):
        self.module = module
class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = build({given})
    def forward(self, x):
        return self.gate(x)
"""


@pytest.mark.parametrize(
    ("asked", "other", "given", "is_run"),
    [
        ("type", "torch.nn.Identity()", "Gate", True),
        ("type", "torch.nn.Identity()", "make", False),
        ("types.FunctionType", "torch.nn.Identity()", "make", True),
        ("(types.FunctionType, type)", "torch.nn.Identity()", "Gate", True),
        ("types.FunctionType", "torch.nn.Identity()", "Gate", False),
        ("types.FunctionType", "one.module()", "Box(Gate)", True),
        ("type", "one", "Box(Gate)", False),
    ],
)
def test_a_class_is_told_from_a_function_and_from_an_object(
    tmp_path: Path, asked: str, other: str, given: str, is_run: bool
) -> None:
    """What builds a module of a class, of a function or of a specification goes one way for each."""
    program = ASKED.format(asked=asked, other=other, given=given).replace("import types", "import torch, types")
    said = analyse(tmp_path, program, regions=["net.parts:Layer.forward"])
    assert ("GL101" in {code for _, _, code in said.shown}) is is_run


@pytest.mark.parametrize(
    "given", ["Box(Gate)", "Box(Gate) if torch.cuda.device_count() > 1 else Box(torch.nn.Identity)"]
)
def test_what_asks_for_the_class_in_a_specification_builds_no_second_one(tmp_path: Path, given: str) -> None:
    """Of several specifications, none holds a function: no class is handed on to be called with tensors."""
    program = ASKED.format(asked="type", other="build_of(one)", given=given).replace(
        "def build(",
        "def build_of(one):\n    if isinstance(one.module, types.FunctionType):\n        return one.module\n"
        "    return one.module()\ndef build(",
    )
    program = program.replace(
        "class Gate(torch.nn.Module):",
        "class Gate(torch.nn.Module):\n    def __init__(self, *x):\n"
        "        super().__init__()\n        if x:\n            x[0].sum().item()",
    )
    said = analyse(tmp_path, program, regions=["net.parts:Layer.forward"])
    assert [code for _, _, code in said.shown] == ["GL101"]
    assert not said.report.statistics
