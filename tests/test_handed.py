"""`graphlint init` proposes what an engine is given before what would fit its call."""

from __future__ import annotations

from pathlib import Path

import pytest
from static.analysis import write

from graphlint import static
from graphlint.config import Config

ENGINE = """
# file: engine.py
import torch

class Engine:
    def __init__(self, model, size=4):
        self.model = model
        self.size = size

    def capture(self):
        ids = torch.zeros(self.size, device="cuda")
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            return self.model(ids)
# file: models.py
from torch import nn

class Part(nn.Module):
    def forward(self, x, y, z):
        return x + y + z

class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()

    def forward(self, ids):
        return ids

class Fast(nn.Module):
    def forward(self, ids):
        return ids * 2

class Other(nn.Module):
    def forward(self, ids, mask):
        return ids * mask
# file: {file}
from far.away.engine import Engine
from far.away.models import Fast, Other, Plain
from elsewhere import Outer, load

{main}
"""
FAST = ("models:Fast.forward",)
EITHER = ("models:Fast.forward", "models:Plain.forward")
GUESSED = ("models:Plain.forward",)  # which is built of others
GIVEN = {
    "a name": ("def main():\n    net = Fast()\n    return Engine(net, 8)", FAST),
    "a keyword": ("def main():\n    return Engine(size=8, model=Fast())", FAST),
    "what is moved": (
        "def main(half):\n    net = Fast()\n    net.eval()\n    net = net.half().cuda() if half else net.cuda()\n"
        "    return Engine(model=net)",
        FAST,
    ),
    "an attribute": (
        "class Server:\n    def __init__(self):\n        self.net = Fast()\n\n    def begin(self):\n"
        "        self.engine = Engine(self.net)",
        FAST,
    ),
    "through a function": (
        "def make(net):\n    return Engine(net)\n\ndef main():\n    return make(Fast())",
        FAST,
    ),
    "one of two": ("def main(fast):\n    return Engine(Fast() if fast else Plain())", EITHER),
    "what a class makes": ("def main():\n    return Engine(Fast.from_pretrained('a').half())", FAST),
    "what is promised": ("import models\n\ndef make(net: models.Fast):\n    return Engine(net)", FAST),
    "what others are derived from": (
        "import models\n\nclass Faster(models.Fast):\n    pass\n\ndef make(net: models.Fast):\n    return Engine(net)",
        GUESSED,
    ),
    "what any module is": ("import torch\n\ndef make(net: torch.nn.Module):\n    return Engine(net)", GUESSED),
    "what a function changes": (
        "import models\n\ndef tuned(net: models.Fast):\n    return net\n\n"
        "def main():\n    return Engine(tuned(load()).eval())",
        FAST,
    ),
    "what a function changes of one that is seen": (
        "def tuned(net):\n    return net\n\ndef main():\n    return Engine(tuned(Fast().half()))",
        FAST,
    ),
    "one that does not fit": ("def main():\n    return Engine(Other())", ()),
    "one of another package": ("def main():\n    return Engine(Outer())", ()),
    "what is not seen": ("def main():\n    return Engine(load())", GUESSED),
    "nobody": ("def main():\n    return Engine", GUESSED),
}


@pytest.mark.parametrize("form", GIVEN)
def test_what_the_constructor_is_given_is_a_target(tmp_path: Path, form: str) -> None:
    main, runs = GIVEN[form]
    text = ENGINE.format(file="main.py", main=main)
    targets = static.survey([write(tmp_path, text)], Config(root=tmp_path)).targets
    assert [one.runs for one in targets if one.call == "self.model"] == ([runs] if runs else [])


def test_what_a_test_gives_says_nothing(tmp_path: Path) -> None:
    """It may be a stand-in."""
    text = ENGINE.format(file="tests/test_engine.py", main=GIVEN["a name"][0])
    assert [GUESSED] == [one.runs for one in static.survey([write(tmp_path, text)], Config(root=tmp_path)).targets]


@pytest.mark.parametrize("call", ["self.model(ids)", "self.model.forward(ids)"])
def test_a_method_of_what_is_given_is_that_of_its_class(tmp_path: Path, call: str) -> None:
    text = ENGINE.format(file="main.py", main=GIVEN["a name"][0]).replace("self.model(ids)", call)
    assert [FAST] == [one.runs for one in static.survey([write(tmp_path, text)], Config(root=tmp_path)).targets]
