"""What is compiled, graphed or made for a capture comes from another file: its callers are looked for and run."""

from __future__ import annotations

from pathlib import Path

import pytest
from static.analysis import Analysis, analyse

NET = """
# file: net.py
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return self.linear(x) + x.sum().item()  # expect: GL101

def build(path):
    net = Net()
    net.load_state_dict(torch.load(path))
    return net.cuda()
"""
CALLER = """
# file: start.py
import torch
from fast import {name}
from net import build

def start(path, is_quick):
    net = build(path)
    x = torch.zeros(2, 4, device="cuda")
    {call}
"""
COMPILED = """
# file: fast.py
import torch

def faster(net):
    return torch.compile(net, mode="reduce-overhead")
"""
GRAPHED = """
# file: fast.py
import torch

def faster(net, x):
    return torch.cuda.make_graphed_callables(net, (x,))
"""
HELD = """
# file: fast.py
import torch

class Trainer:
    def __init__(self, net, x):
        self.net = net
        self.x = x

    def set_up(self):
        self.net = {made}
"""
MAKER = """
# file: fast.py
import torch

class Captured:
    def __init__(self, net, x):
        graph = torch.cuda.CUDAGraph()
        net(x)
        with torch.cuda.graph(graph):
            self.out = net(x)
"""
MODE = """
# file: fast.py
import torch

def faster(net, mode):
    return torch.compile(net, mode=mode, dynamic=False)
"""
SWITCHED = """
# file: fast.py
import torch

class Network:
    def __init__(self, net, is_compiled=False, mode="default"):
        self.net = net
        if is_compiled:
            self.net = torch.compile(self.net, mode=mode)
"""
HANDED = {
    "a function is given what it compiles": (COMPILED, "faster", "faster(net)"),
    "a function is given what it graphs": (GRAPHED, "faster", "faster(net, x)"),
    "an object compiles what it holds": (
        HELD.format(made='torch.compile(self.net, mode="max-autotune")'),
        "Trainer",
        "Trainer(net, x).set_up()",
    ),
    "an object graphs what it holds": (
        HELD.format(made="torch.cuda.make_graphed_callables(self.net, (self.x,))"),
        "Trainer",
        "Trainer(net, x).set_up()",
    ),
    "an object captures while it is made": (MAKER, "Captured", "Captured(net, x)"),
    "a function is given how it compiles": (MODE, "faster", 'faster(net, "max-autotune" if is_quick else "default")'),
    "a constructor is given how it compiles": (SWITCHED, "Network", 'Network(net, True, mode="reduce-overhead")'),
}


def program(source: str, name: str, called: str) -> str:
    return NET + source + CALLER.format(name=name, call=called)


def readbacks(analysis: Analysis) -> list[tuple[str, int, str]]:
    return [one for one in analysis.shown if one[2] == "GL101"]


@pytest.mark.parametrize("source", [program(*given) for given in HANDED.values()], ids=HANDED)
def test_what_is_captured_is_asked_of_who_hands_it_over(tmp_path: Path, source: str) -> None:
    """The file that opens the region does not know it; and once it is known, no call is left that nobody knows."""
    analysis = analyse(tmp_path, source)
    assert [one for one in analysis.expected if one[2] == "GL101"] == readbacks(analysis)
    assert [] == [hole.callee for hole in analysis.report.holes]


@pytest.mark.parametrize(
    "called",
    ['faster(net, "default")', "faster(net, None)", 'faster(net, "max-autotune-no-cudagraphs")'],
)
def test_who_asks_for_no_graphs_gets_none(tmp_path: Path, called: str) -> None:
    """The same function compiles, but nobody captures."""
    analysis = analyse(tmp_path, program(MODE, "faster", called))
    assert [] == analysis.found and [] == list(analysis.regions)


@pytest.mark.parametrize("source", [COMPILED, GRAPHED])
def test_what_nobody_is_seen_to_hand_over_is_told(tmp_path: Path, source: str) -> None:
    """A region that runs what nobody knows reads as that, and not as one in which nothing was found."""
    analysis = analyse(tmp_path, source)
    assert [] == analysis.found and ["net"] == [hole.callee for hole in analysis.report.holes]


OPTIONS = {
    "a field of a record": """
        import tyro
        from dataclasses import dataclass

        @dataclass
        class Options:
            compile_mode: str = "{mode}"

        options = tyro.cli(Options)
        """,
    "an option of the command line": """
        import argparse

        parser = argparse.ArgumentParser()
        parser.add_argument("--compile-mode", type=str, default="{mode}")
        options = parser.parse_args()
        """,
    "a look-up": """
        import yaml

        class Options:
            def __init__(self, read):
                self.compile_mode = read.get("compile_mode", "{mode}")

        options = Options(yaml.safe_load("options.yaml"))
        """,
}
USES = """
        import torch
        from net import Net

        net = torch.compile(Net().cuda(), mode=options.compile_mode)
        """


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize(("mode", "is_region"), [("reduce-overhead", True), ("default", False)])
def test_a_choice_that_nobody_knows_is_its_default(tmp_path: Path, options: str, mode: str, is_region: bool) -> None:
    """Whoever starts the program chooses; what it says itself is what is meant."""
    lines = [line.removeprefix("        ") for line in (options.format(mode=mode) + USES).splitlines()]
    analysis = analyse(tmp_path, NET + "\n# file: start.py\n" + "\n".join(lines) + "\n")
    assert is_region == bool(readbacks(analysis))


def test_a_choice_of_another_file_is_looked_for_where_it_is_imported_from(tmp_path: Path) -> None:
    """The options of a trainer stand in a file of their own."""
    record = (
        "from dataclasses import dataclass\n\n@dataclass\nclass Options:\n    mode_of_compiler: str = 'max-autotune'\n"
    )
    uses = """
import torch
import tyro
from net import Net
from options import Options

def main():
    options = tyro.cli(Options)
    return torch.compile(Net().cuda(), mode=options.mode_of_compiler)
"""
    assert readbacks(analyse(tmp_path, f"{NET}\n# file: options.py\n{record}\n# file: start.py\n{uses}"))


SAMPLER = """
# file: runner.py
import torch

class Runner:
    def __init__(self, {name}):
        self.{name} = {name}

    def capture(self, x):
        self.x = x
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.out = self.{name}.force(self.x)
# file: sampler.py
import torch
from runner import Runner

class Sampler:
    def __init__(self):
        self.uses_graph = False
        self.weight = torch.ones(4, 4, device="cuda")

    def set_up(self):
        if not self.uses_graph:
            return
        runner = Runner({given})
        runner.capture(torch.zeros(4, device="cuda"))

    def force(self, x):
        y = self.weight @ x
        if (y > 0).any():  # expect: GL301
            y = y * 2
        return y

class Other:
    def force(self, x):
        return x.tolist()
"""


def test_an_object_that_hands_itself_over_is_what_is_run(tmp_path: Path) -> None:
    """Where that is switched off, it is likely all the same: the code says which class it is, and no other one is."""
    analysis = analyse(tmp_path, SAMPLER.format(name="sampler", given="self"))
    assert [("sampler.py", 17, "GL301")] == [one for one in analysis.shown if one[2] != "GL609"]
    (found,) = (one for one in analysis.report.findings if one.code == "GL301")
    assert "self.sampler.force is Sampler.force" in [condition.text for condition in found.when]


def test_what_is_handed_over_unseen_is_not_run(tmp_path: Path) -> None:
    """Two classes have such a method, and nothing tells which of them is meant."""
    analysis = analyse(tmp_path, SAMPLER.format(name="sampler", given="self.chosen()"))
    assert not {"GL301", "GL201"} & {code for _, _, code in analysis.shown}


NESTED = """
import torch
from torch import nn

class Extra(nn.Module):
    def __init__(self):
        super().__init__()
        self.seed = nn.Parameter(torch.tensor(3), requires_grad=False)

    def forward(self, x):
        return x * {used}

class Block(nn.Module):
    def __init__(self, extra=None):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.extra = extra

    def forward(self, x):
        if self.extra is not None:
            x = x + self.extra(x)
        return self.linear(x)

class Net(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.parts = nn.ModuleDict(dict(first=nn.Linear(4, 4), blocks={blocks}))
        for place in config.places:
            {changed}

    def forward(self, x):
        for block in self.parts.blocks:
            x = block(x)
        return x
"""


@pytest.mark.parametrize(
    ("blocks", "changed"),
    [
        ("nn.ModuleList([Block() for _ in range(4)])", "self.parts.blocks[place] = Block(extra=Extra())"),
        ("nn.ModuleList()", "self.parts.blocks.append(Block(extra=Extra()))"),
    ],
)
@pytest.mark.parametrize(("used", "is_told"), [("self.seed.item()", True), ("self.seed", False)])
def test_a_list_in_a_table_of_modules_is_changed_there(
    tmp_path: Path, blocks: str, changed: str, used: str, is_told: bool
) -> None:
    """Tables of modules are read by attributes, and so are the lists in them that grow."""
    source = NESTED.format(blocks=blocks, changed=changed, used=used)
    analysis = analyse(tmp_path, f"# file: net.py\n{source}", regions=("net:Net.forward",))
    assert is_told == bool(readbacks(analysis))
