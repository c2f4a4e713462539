"""`graphlint init`: which models are those that no other one is built of."""

from __future__ import annotations

from pathlib import Path

import pytest
from static.analysis import write

from graphlint import static
from graphlint.config import Config

PROGRAM = """
# file: serve/__init__.py
# file: serve/layers.py
from torch import nn

class Block(nn.Module):
    def forward(self, x):
        return x
# file: {path}
import torch
from torch import nn
import serve.layers
from serve import layers
{imports}

class Net(nn.Module):
    {text}
    def __init__(self, made):
        super().__init__()
        self.made = {made}

    def forward(self, x):
        {body}
        return self.made(x)
"""
IMPORT, BLOCK = "from serve.layers import Block", "serve.layers:Block.forward"
OWN = "class Block(nn.Module):\n    def forward(self, x):\n        return x + 1"


def candidates(folder: Path, **given: str) -> tuple[str, ...]:
    """The models that are proposed of the program."""
    words = {"path": "serve/net.py", "imports": IMPORT, "text": "", "made": "made", "body": "", **given}
    write(folder, PROGRAM.format(**words))
    return static.survey([folder], Config(root=folder)).models


@pytest.mark.parametrize(
    "given",
    [
        {"made": "Block()"},
        {"made": "nn.ModuleList([Block() for _ in range(2)])"},
        {"made": "{'block': Block}[made]()"},
        {"made": "BLOCKS[made]()", "imports": f"{IMPORT}\nBLOCKS = {{'block': Block}}"},
        {"made": "layers.Block()", "imports": ""},
        {"made": "serve.layers.Block()", "imports": ""},
        {"made": "Part()", "imports": "from serve.layers import Block as Part"},
        {"made": "Block()", "imports": "from serve.layers import *"},
        {"made": "made(Block) if isinstance(made, Block) else made"},
    ],
)
def test_what_a_model_is_built_of_is_no_candidate(tmp_path: Path, given: dict[str, str]) -> None:
    """However it is spelt, the class is part of another one."""
    assert ("serve.net:Net.forward",) == candidates(tmp_path, **given)


@pytest.mark.parametrize(
    "given",
    [
        {"body": "assert isinstance(self.made, Block)"},  # somebody else has made it
        {"body": "assert isinstance(self.made, (nn.Linear, Block)) or issubclass(type(self.made), Block)"},
        {"text": '"""Like `Block` of `serve.layers.Block`, but for Block() of others."""', "imports": ""},
        {"text": "# not a Block", "imports": ""},
        {"body": "assert made in BLOCKS or BLOCKS[made]", "imports": f"{IMPORT}\nBLOCKS = {{'block': Block}}"},
        {"made": "Block()", "imports": OWN},  # another class of this name
        {"made": "Block()", "path": "tests/test_net.py"},  # which captures nothing for anybody
    ],
)
def test_what_a_model_only_speaks_of_is_a_candidate(tmp_path: Path, given: dict[str, str]) -> None:
    """To ask for a class, to mention it, or to have one of the same name builds nothing of it."""
    assert BLOCK in candidates(tmp_path, **given)


DERIVED = """
# file: serve/__init__.py
# file: serve/router.py
from torch import nn

class Router(nn.Module):
    def forward(self, x):
        return x.relu()

class Fast(Router):
    def forward(self, x):
        return x
# file: serve/{file}.py
from dataclasses import dataclass
from serve.specs import Spec
from serve.router import Fast, Router
{made}
"""


@pytest.mark.parametrize(
    ("file", "made", "is_whole"),
    [
        ("main", "router = Router()", True),
        ("main", "spec = Spec(module=Router)", True),
        ("main", "@dataclass\nclass Parts:\n    router: type = Router", True),
        ("main", "class Other(Router):\n    limit = 1", False),
        ("main", "def route(router: Router):\n    return Router.forward", False),
        ("main", "fast = Fast()", False),
        ("test_main", "router = Router()", False),
        ("main", "class Router:\n    pass\n\nrouter = Router()", False),
    ],
)
def test_a_base_is_a_candidate_if_somebody_makes_it(tmp_path: Path, file: str, made: str, is_whole: bool) -> None:
    """What others derive from is mostly there for that alone."""
    write(tmp_path, DERIVED.format(file=file, made=made))
    models = static.survey([tmp_path], Config(root=tmp_path)).models
    assert is_whole is ("serve.router:Router.forward" in models) and "serve.router:Fast.forward" in models
