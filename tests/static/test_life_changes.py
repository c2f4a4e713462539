"""Methods that somebody may call between two replays, and that exchange what a graph reads."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from analysis import analyse

ENGINE = """
import torch
from torch import nn

class Cache:
    def __init__(self, size):
        self.keys = torch.zeros(size, 8, device="cuda")

class Engine:
    def __init__(self, net, size):
        self.net = net
        self.model = nn.Linear(8, 8).cuda()
        self.cache = Cache(size)
        self.x = torch.zeros(4, 8, device="cuda")
        self.graph = None

    @torch.no_grad()
    def capture(self):
        self.net(self.model(self.x)); torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.net(self.model(self.x)) @ self.cache.keys.t()

    def run(self, x):
        if self.graph is None:
            self.capture()
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()

    def {name}(self, given):
{body}
"""

TOLD = {
    "a buffer": 'self.x = torch.zeros(len(given), 8, device="cuda")  # expect: GL508',
    "a model of torch": "self.model = nn.Linear(8, 8).cuda()  # expect: GL508",
    "a model that nobody knows": "self.net = given  # expect: GL508",
    "what an object holds": "self.cache.keys = given.zeros()  # expect: GL508",
    "an object": "self.cache = Cache(len(given))  # expect: GL508",
    "the data of parameters": """
        for name, parameter in self.model.named_parameters():
            parameter.data = given[name]  # expect: GL508
        """,
    "the parameters of its modules": """
        for module in self.model.modules():
            if isinstance(module, nn.Linear):
                module.weight = nn.Parameter(module.weight.round())  # expect: GL508
        """,
    "the parameters of modules that nobody knows": """
        for name, module in self.net.named_modules():
            module.weight = nn.Parameter(given[name])  # expect: GL508
        """,
    "a model is moved away": 'self.model.to("cpu")  # expect: GL508',
    "what is assigned when it is loaded": "self.model.load_state_dict(given, assign=True)  # expect: GL508",
    "in a function of the method": """
        def exchange():
            self.x = given.clone()  # expect: GL508
        exchange()
        """,
}

SILENT = {
    "a copy": "self.x.copy_(given)",
    "the weights are filled": "self.model.load_state_dict(given)",
    "the data of parameters is filled": """
        for name, parameter in self.model.named_parameters():
            parameter.data.copy_(given[name])
        """,
    "the parameters of its modules are filled": """
        for module in self.model.modules():
            module.weight.copy_(module.weight.round())
        """,
    "the parameters of another one": """
        for name, module in given.named_modules():
            module.weight = nn.Parameter(torch.zeros(8, device="cuda"))
        """,
    "the graph is dropped": """
        self.x = given.clone()
        self.graph = None
        """,
    "it is captured anew": """
        self.model = nn.Linear(8, 8).cuda()
        self.capture()
        """,
    "what no graph reads": "self.latest = given",
    "a model stays where it is": 'self.model.to("cuda")',
    "a number": "self.size = len(given)",
    "it is filled under its other name": """
        x = self.x
        self.x = given
        x.copy_(given)
        self.x = x
        """,
}


def program(body: str, name: str = "update") -> str:
    """The engine with a method of this name that does this."""
    return ENGINE.format(name=name, body=textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 8))


@pytest.mark.parametrize("body", TOLD.values(), ids=TOLD)
def test_a_method_that_exchanges_what_a_graph_reads_is_told(tmp_path: Path, body: str) -> None:
    """Whoever calls it between two replays gets a replay of the old memory."""
    analysis = analyse(tmp_path, program(body))
    assert analysis.expected == analysis.shown
    assert {str(one.confidence) for one in analysis.report.findings} == {"medium"}


@pytest.mark.parametrize("body", SILENT.values(), ids=SILENT)
def test_a_method_that_keeps_or_drops_the_graph_in_order_is_silent(tmp_path: Path, body: str) -> None:
    """The graph reads what is filled in place, or is gone."""
    assert [] == analyse(tmp_path, program(body)).shown


@pytest.mark.parametrize("name", ["load_model", "init_buffers", "_exchange", "setup"])
def test_a_method_that_sets_up_is_called_before_the_capture(tmp_path: Path, name: str) -> None:
    """Nobody calls it between two replays, as its name says."""
    assert [] == analyse(tmp_path, program("self.x = given.clone()", name)).shown
