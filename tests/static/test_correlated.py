"""What one test has chosen and another one asks again; attributes that something has moved; what ran before."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

from graphlint.finding import Confidence

CHOSEN = """
import torch

class Exact(torch.nn.Module):
    def forward(self, x):
        return x[x > 0]

class Padded(torch.nn.Module):
    def forward(self, x):
        return x * (x > 0)

def main(exact, other, config):
    x = torch.ones(4, device="cuda")
    {chosen}:
        find = Exact()
    else:
        find = Padded()
    {between}
    {asked}:
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            find(x)
"""


@pytest.mark.parametrize(
    ("chosen", "asked"),
    [
        ("if exact", "if not exact"),
        ("if not not exact", "if not exact"),
        ("if exact", "if other and not exact"),
        ("if exact == 'yes'", "if exact != 'yes'"),
        ("if exact is None", "if (exact is  not None)"),
        ("if config.exact", "if not config.exact"),
        ("if isinstance(exact, str)", "if not isinstance(exact, str)"),
        ("if exact", "if exact:\n        find(x)\n    else"),
    ],
)
def test_what_a_test_has_chosen_stays_with_it(tmp_path: Path, chosen: str, asked: str) -> None:
    """Behind the same test, or its opposite, there is only what that has left."""
    assert analyse(tmp_path, CHOSEN.format(chosen=chosen, asked=asked, between="pass")).found == []


@pytest.mark.parametrize(
    ("chosen", "between", "asked"),
    [
        ("if exact", "pass", "if exact"),
        ("if exact", "pass", "if other"),
        ("if exact", "pass", "if True"),
        ("if exact == 'yes'", "pass", "if exact != 'no'"),
        ("if exact", "exact = other", "if not exact"),
        ("if exact", "exact, y = other", "if not exact"),
        ("if config.exact", "config.exact = other", "if not config.exact"),
        ("if exact", "find = find if other else Exact()", "if not exact"),
        ("if exact", "exact.append(1)", "if exact"),
        ("if exact()", "pass", "if not exact()"),
        ("for exact in other:\n      if exact", "pass", "for exact in other:\n      if not exact"),
    ],
)
def test_another_test_has_chosen_nothing(tmp_path: Path, chosen: str, between: str, asked: str) -> None:
    """One whose names have another value by then is another one, and so is what was chosen."""
    program = CHOSEN.format(chosen=chosen, asked=asked, between=between)
    if chosen.startswith("for"):
        program = program.replace("    else:\n        find = P", "      else:\n        find = P")
    assert "GL305" in {code for _, _, code in analyse(tmp_path, program).shown}


MOVED = """
import torch

class Table:
    def __init__(self):
        self.ids = torch.arange(8)

    def load(self, head, n):
        {moved}

    def step(self, x):
        {first}
        return x + self.ids.to(x.device)

class Runner:
    def __init__(self, table: Table):
        self.table = table

    def capture(self):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            self.table.step(torch.zeros(8, device="cuda"))
"""


@pytest.mark.parametrize(
    ("moved", "first", "is_told"),
    [
        ("self.ids = self.ids.to(head.device)", "pass", False),
        ("self.ids = move(self.ids, head)", "pass", False),
        ("del self.ids", "pass", False),
        ("self.other = self.ids.to(head.device)", "pass", True),
        ("self.ids = torch.arange(n)", "pass", True),
        ("pass", "self.ids = self.ids.to(x.device)", True),
    ],
)
def test_an_attribute_that_a_method_moves_may_lie_there(tmp_path: Path, moved: str, first: str, is_told: bool) -> None:
    """Nobody knows whether it has, where nothing that runs before the region calls the method."""
    assert is_told is bool(analyse(tmp_path, MOVED.format(moved=moved, first=first)).shown)


MADE = """
import torch

class Table:
    def __init__(self, kind):
        self.ids = torch.arange(8)
        {made}

    def step(self, x):
        return x + self.ids.to(x.device)

class Runner:
    def __init__(self, table: Table):
        self.table = table

    def capture(self):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            self.table.step(torch.zeros(8, device="cuda"))
"""


@pytest.mark.parametrize(
    ("made", "is_told"),
    [
        ("self.ids = self.ids.to(torch.float16)", True),
        ("self.ids = self.ids.float() if kind else self.ids.contiguous()", True),
        ("self.ids = self.ids.to(kind)", False),
        ("self.ids = self.ids.to(device=kind)", False),
        ("self.ids = self.ids.cuda()", False),
        ("if kind: self.ids = self.ids.cuda()", False),
        ("self.ids = move(self.ids)", False),
    ],
)
def test_what_a_constructor_makes_of_an_attribute_is_known(tmp_path: Path, made: str, is_told: bool) -> None:
    """A cast leaves it on the host; what nobody knows may be a device."""
    assert is_told is bool(analyse(tmp_path, MADE.format(made=made)).shown)


FETCHED = """
import torch

class Splits:
    def __init__(self):
        self.sizes = None

    def start(self, x, flag):
        self.sizes = x.sum(dim=0)
        if flag:
            self.sizes = {fetched}

    def read(self):
        return self.sizes.tolist()

def main(flag):
    x, splits = torch.ones(4, 4, device="cuda"), Splits()
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        splits.start(x, flag)
        splits.read()
"""


@pytest.mark.parametrize(
    ("fetched", "is_told"), [("self.sizes.to('cpu', non_blocking=True).numpy()", False), ("self.sizes * 2", True)]
)
def test_what_may_be_an_array_of_the_host_by_then_is_a_hint(tmp_path: Path, fetched: str, is_told: bool) -> None:
    shown = analyse(tmp_path, FETCHED.format(fetched=fetched)).shown
    assert is_told is ("GL101" in {code for _, _, code in shown})


CACHED = """
import torch

class Layer:
    def __init__(self):
        self.weight = None

    def forward(self, x):
        if self.weight is None:
            self.weight = x.sum().item()
        return x + self.weight

class Runner:
    def __init__(self, layer: Layer, steps):
        self.layer, self.steps = layer, steps

    def run(self, x):
        if self.steps < 2:
            {otherwise}
        self.capture(x)

    def fall_back(self, x):
        return self.layer.forward(x)

    def capture(self, x: torch.Tensor):
        {before}
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            self.layer.forward(x)
        {behind}
"""
CALLED = "self.layer.forward(x)"


@pytest.mark.parametrize(
    ("otherwise", "before", "behind", "is_told"),
    [
        ("return None", "pass", "pass", True),
        ("return None", "pass", CALLED, True),
        ("return None", "for _ in range(3):\n            " + CALLED, "pass", False),
        ("return " + CALLED, "pass", "pass", False),
    ],
)
def test_what_runs_without_a_capture_first_has_filled_its_state(
    tmp_path: Path, otherwise: str, before: str, behind: str, is_told: bool
) -> None:
    """Before the region, or in the function that captures only now and then; elsewhere it may come later."""
    program = CACHED.format(otherwise=otherwise, before=before, behind=behind)
    assert is_told is ("GL101" in {code for _, _, code in analyse(tmp_path, program).shown})


@pytest.mark.parametrize(("table", "is_told"), [("self.state[p]", False), ("found(p)", True)])
def test_the_state_of_an_optimizer_is_there_behind_its_first_step(tmp_path: Path, table: str, is_told: bool) -> None:
    """A key that an item of a table lacks is one that the first run has put there."""
    program = f"""
        import torch
        class Sum:
            def __init__(self, params):
                self.params, self.state = params, {{}}
            def step(self, x):
                for p in self.params:
                    if "sum" not in {table}:
                        x.item()
        def main(params):
            x, total = torch.ones(4, device="cuda"), Sum(params)
            total.step(x)
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                total.step(x)
        """
    (finding,) = analyse(tmp_path, program, confidence=Confidence.LOW).report.findings
    assert is_told is (finding.confidence is Confidence.MEDIUM)


def test_an_attribute_of_what_is_outside_is_not_taken_for_a_method(tmp_path: Path) -> None:
    """It may be a flag, which is a condition like any other."""
    program = """
        import torch
        def step(config: dict, x):
            if config.wide:
                x.item()
        def main(config: dict):
            x = torch.ones(4, device="cuda")
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                step(config, x)
        """
    (finding,) = analyse(tmp_path, program).report.findings
    assert ["config.wide"] == [condition.text for condition in finding.when]


PROMISED = """
import torch

class Model:
    def forward(self, batch):
        raise NotImplementedError

class Reading(Model):
    def forward(self, batch{more}):
        return batch.item()

class Runner:
    def __init__(self, model: Model):
        self.model = model

    def capture(self):
        x = torch.ones(4, device="cuda")
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            self.model.forward({given})
"""


@pytest.mark.parametrize(
    ("given", "more", "is_reached"),
    [
        ("x", "", True),
        ("batch=x", "", True),
        ("x, ids=x", "", False),
        ("x, ids=x", ", ids", True),
        ("x, ids=x", ", **more", True),
        ("ids=x", "", False),
    ],
)
def test_what_cannot_be_called_like_this_is_not_what_is_called(
    tmp_path: Path, given: str, more: str, is_reached: bool
) -> None:
    """An annotation that promises it is wrong then; that nobody knows what is called is told."""
    report = analyse(tmp_path, PROMISED.format(given=given, more=more)).report
    assert is_reached is bool(report.findings)
    assert is_reached is not bool(report.summary.unresolved_calls)


ASKED = """
import torch

GRAPHS, KNOWN = {{}}, set()

def scale(x, factor):
    return x * factor

def capture(x: torch.Tensor, name: str, factor: float):
    if name not in {table}:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            scale(x, factor)
        {kept}
    return graph
"""


@pytest.mark.parametrize(
    ("table", "kept", "is_told"),
    [
        ("GRAPHS", "GRAPHS[name] = graph", True),
        ("KNOWN", "print(name)", False),
        ("KNOWN", "KNOWN[name] = graph", True),
    ],
)
def test_only_a_table_that_is_filled_there_may_hold_graphs(
    tmp_path: Path, table: str, kept: str, is_told: bool
) -> None:
    """What a set of names has or lacks picks no graph."""
    report = analyse(tmp_path, ASKED.format(table=table, kept=kept), select=("GL402",)).report
    assert is_told is bool(report.findings)


@pytest.mark.parametrize("given", ["x * 2", "given"])
@pytest.mark.parametrize(
    ("test", "is_told"),
    [
        ("sizes.device != x.device", False),
        ("not sizes.device == device", False),
        ("sizes.device == x.device", True),
        ("sizes.device != 'cpu'", True),
        ("device != 0", True),
    ],
)
def test_what_lies_on_another_device_than_the_rest_lies_on_the_host(
    tmp_path: Path, test: str, is_told: bool, given: str
) -> None:
    """Behind that test nothing of it has to be read from the accelerator."""
    program = f"""
        import torch
        def step(x, sizes, device):
            if {test}:
                sizes.tolist()
        def main(device, given: torch.Tensor):
            x = torch.ones(4, device="cuda")
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                step(x, {given}, device)
        """
    assert is_told is bool(analyse(tmp_path, program).shown)


@pytest.mark.parametrize(
    ("test", "is_told"),
    [
        ("x.device.type != 'cuda'", False),
        ("not x.is_cuda", False),
        ("x.device.type == 'cuda'", True),
        ("x.dim() != 1", True),
    ],
)
def test_nothing_supports_that_what_a_region_is_given_lies_on_the_host(
    tmp_path: Path, test: str, is_told: bool
) -> None:
    """What stands behind such a test, whatever it asks for, is a hint."""
    program = f"""
        import torch
        def step(x, y):
            if {test}:
                y.item()
        def main(x):
            y = torch.ones(4, device="cuda")
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                step(x, y)
        """
    assert is_told is bool(analyse(tmp_path, program).shown)
