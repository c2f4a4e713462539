"""Programs that capture by themselves: what is wrong with them, and what only looks like it."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from graphlint import runtime
from graphlint.config import load_config
from graphlint.finding import Severity
from graphlint.rulebook import builtin_rules, load_rulebook

HEAD = """
import functools
import threading
import torch

x, stream, graph = torch.ones(4, device="cuda"), torch.cuda.Stream(), torch.cuda.CUDAGraph()
"""

RAISES = """
def checked(x):
    if len(x) > 3:
        raise ValueError("too long")
    return x * 2

try:
    with torch.cuda.graph(graph):
        y = checked(x)
except {caught}:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * 2
graph.replay()
"""

UNENDED = """
def record():
    with torch.cuda.stream(stream):
        graph.capture_begin()
        if len(x) > {limit}:
            raise ValueError("too long")
        y = x * 2
        graph.capture_end()
    graph.replay()

try:
    record()
except ValueError:
    print("eager")
"""

CACHED = """
@functools.lru_cache(maxsize=2)
def table(n):
    return torch.arange(n, device="cuda").float()

class Runner:
    def __init__(self):
        {keeps}
        with torch.cuda.graph(graph):
            self.y = x + table(4)

table(4)
runner = Runner()
graph.replay()
"""

LOOPS = """
{before}
with torch.cuda.graph(graph):
    y = x
    for number in range(3):
        y = y + 1
        {inside}
graph.replay()
"""

SETS = """
def audit(function):
    torch.cuda.set_sync_debug_mode("error")
    try:
        function()
    except RuntimeError:
        {caught}
        return False
    {after}
    return True

audit(lambda: x.sum().item())
torch.cuda.set_sync_debug_mode("default") if {again} else None
with torch.cuda.graph(graph):
    y = x * 2
graph.replay()
"""

WRITTEN = """
with torch.cuda.graph(graph):
    y = x * 2

def serve(batch):
    {copies}
    graph.replay()
    return y.clone()

for number in range(3):
    batch = torch.full((4,), float(number), device="cuda")
    {calls}
"""
PARTS = """
table = torch.zeros(4, 8, device="cuda")
with torch.cuda.graph(graph):
    y = table{read}.sum(1)
for rows, width in ((4, 8), (2, 3), (2, 3)):
    {before}
    table[:rows, :width] = rows
    graph.replay()
"""

SERVES = """
with torch.cuda.graph(graph):
    y = x * {factor}

def serve(batch):
    {copies}
    graph.replay()
    return y.clone()

assert serve(torch.full((4,), 5.0, device="cuda"))[0].item() == 10
"""
SAMPLED = """
with torch.cuda.graph(graph):
    y = {drawn}

for seed in range(3):
    torch.cuda.manual_seed({seed})
    batch = torch.rand(4, device="cuda")
    graph.replay()
    print(y.sum().item())
"""
THREAD = "one = threading.Thread(target=serve, args=(batch,)); one.start(); one.join()"
BACK = 'torch.cuda.set_sync_debug_mode("default")'


@pytest.mark.parametrize(
    ("program", "codes"),
    [
        (RAISES.format(caught="ValueError"), set()),
        (RAISES.format(caught="KeyError"), {"GL609"}),
        (UNENDED.format(limit=3), {"GL606"}),
        (UNENDED.format(limit=4), set()),
        (CACHED.format(keeps="pass"), {"GL502"}),
        (CACHED.format(keeps="self.table = table(4)"), set()),
        (LOOPS.format(before="", inside="pass"), set()),
        (LOOPS.format(before="count = 0", inside="count += 1"), {"GL401"}),
        (SETS.format(caught="pass", after=BACK, again=False), {"GL902"}),
        (SETS.format(caught=BACK, after=BACK, again=False), set()),
        (SETS.format(caught="pass", after="pass", again=True), set()),
        (WRITTEN.format(copies="x.copy_(batch)", calls="serve(batch)"), set()),
        (WRITTEN.format(copies="pass", calls="serve(batch)"), {"GL512"}),
        (WRITTEN.format(copies="x.copy_(batch)", calls=THREAD), set()),
        (PARTS.format(read="", before="pass"), {"GL511"}),
        (PARTS.format(read="", before="table.zero_()"), set()),
        (PARTS.format(read="", before="table[rows:].zero_(); table[:, width:].zero_()"), set()),
        (PARTS.format(read="", before="table[:, width:].zero_()"), {"GL511"}),
        (PARTS.format(read="[:2, :3]", before="pass"), set()),
        (SAMPLED.format(drawn="torch.bernoulli(x / 2)", seed="seed"), set()),
        (SAMPLED.format(drawn="torch.bernoulli(x / 2)", seed="0"), {"GL512"}),
        (SAMPLED.format(drawn="x / 2", seed="seed"), {"GL512"}),
        (SERVES.format(factor=2, copies="pass"), {"GL512"}),
        (SERVES.format(factor=2, copies="x.copy_(batch)"), set()),
        (SERVES.format(factor=3, copies="x.copy_(batch)"), {"GL003"}),
    ],
)
def test_what_a_program_does_is_told_and_nothing_else(tmp_path: Path, program: str, codes: set[str]) -> None:
    """Errors and warnings."""
    (tmp_path / "program.py").write_text(HEAD + program)
    rulebook = load_rulebook(builtin_rules())
    report = runtime.verify([str(tmp_path / "program.py")], load_config(tmp_path, None), rulebook, on="emulator")
    assert codes == {one.code for one in report.findings if one.severity > Severity.NOTE}
    assert report.targets[0].problem == ""
