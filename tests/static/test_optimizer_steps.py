"""Optimizers of the program: what they keep for each parameter, and what they count on the host."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from analysis import analyse

from graphlint.finding import Confidence

HEAD = """
import torch
from torch.optim import Optimizer
"""
MAIN = """
def main(model, x):
    optimizer = Own(model.parameters(), {})
    optimizer.step()
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        model(x).backward()
        optimizer.step()"""
COUNTED = {
    "in a tensor of the host": """
        class Own(Optimizer):
            @torch.no_grad()
            def step(self, closure=None):
                for p in self.param_groups[0]["params"]:
                    state = self.state[p]
                    if len(state) == 0:
                        state["step"] = torch.tensor(0.0)
                    state["step"] += 1
                    p.add_(p.grad, alpha=-1 / state["step"].item())
        """,
    "in one that has a name": """
        class Own(Optimizer):
            @torch.no_grad()
            def step(self, closure=None):
                for p in self.param_groups[0]["params"]:
                    state = self.state[p]
                    if "step" not in state:
                        state["step"] = torch.zeros(())
                    count = state["step"]
                    count += 1
                    p.add_(p.grad, alpha=-1 / state["step"].item())
        """,
    "in the state of each parameter": """
        class Own(Optimizer):
            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        state = self.state[p]
                        if len(state) == 0:
                            state["step"] = 0
                        state["step"] += 1
                        p.add_(p.grad, alpha=-1 / state["step"])
        """,
    "in the group": """
        class Own(Optimizer):
            def step(self, closure=None):
                for group in self.param_groups:
                    if "step" in group:
                        group["step"] += 1
                    else:
                        group["step"] = 1
                    for p in group["params"]:
                        p.add_(p.grad, alpha=-1 / group["step"])
        """,
    "in the optimizer, in a method of its own": """
        class Own(Optimizer):
            def __init__(self, params, defaults):
                super().__init__(params, defaults)
                self.count = 0
            def advance(self):
                self.count += 1
            @torch.no_grad()
            def step(self, closure=None):
                self.advance()
                self.param_groups[0]["params"][0].mul_(self.count)
        """,
    "in the class that it is derived from": """
        class Base(Optimizer):
            def step(self, closure=None):
                for p in self.param_groups[0]["params"]:
                    state = self.state[p]
                    if not len(state):
                        state["step"] = 0
                    state["step"] += 1
                    p.add_(p.grad, alpha=-1 / state.get("step"))
        class Own(Base):
            def step(self, closure=None):
                return super().step(closure)
        """,
}
NOT_COUNTED = {
    "a copy is counted on": """
        class Own(Optimizer):
            @torch.no_grad()
            def step(self, closure=None):
                for p in self.param_groups[0]["params"]:
                    state = self.state[p]
                    if len(state) == 0:
                        state["step"] = torch.tensor(0.0)
                    count = state["step"].clone()
                    count += 1
                    p.mul_(2.0)
        """,
    "the count is a tensor of the device where one asks for that": """
        class Own(Optimizer):
            @torch.no_grad()
            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        state = self.state[p]
                        if len(state) == 0:
                            on = p.device if group["capturable"] else "cpu"
                            state["step"] = torch.zeros((), device=on)
                        count = state["step"]
                        count += 1
                        p.div_(count)
        """,
    "the count is a tensor": """
        class Own(Optimizer):
            def step(self, closure=None):
                for p in self.param_groups[0]["params"]:
                    state = self.state[p]
                    if len(state) == 0:
                        state["step"] = torch.zeros((), device=p.device)
                    state["step"] += 1
        """,
    "nobody says what it is": """
        class Own(Optimizer):
            def step(self, closure=None):
                for p in self.param_groups[0]["params"]:
                    self.state[p]["step"] += 1
        """,
    "a number of the step alone": """
        class Own(Optimizer):
            def step(self, closure=None):
                done = 0
                for p in self.param_groups[0]["params"]:
                    done += 1
                return done
        """,
    "a number under a key that nothing computes with": """
        class Own(Optimizer):
            def step(self, closure=None):
                for p in self.param_groups[0]["params"]:
                    state = self.state[p]
                    if "step" not in state:
                        state["step"] = 0
                    state["step"] += 1
                    p.add_(p.grad)
        """,
    "a number of the optimizer that nothing computes with": """
        class Own(Optimizer):
            def __init__(self, params, defaults):
                super().__init__(params, defaults)
                self.count = 0
            def step(self, closure=None):
                self.param_groups[0]["params"][0].mul_(2)
                self.count += 1
        """,
    "no optimizer": """
        class Own:
            def __init__(self, params, defaults):
                self.count = 0
            def step(self):
                self.count += 1
        """,
}


@pytest.mark.parametrize("optimizer", [pytest.param(text, id=name) for name, text in COUNTED.items()])
def test_an_optimizer_that_counts_on_the_host_is_told_where_it_steps(tmp_path: Path, optimizer: str) -> None:
    """What the count decides in the region is told besides."""
    program = HEAD + textwrap.dedent(optimizer) + MAIN + "  # expect: GL701\n"
    found = analyse(tmp_path, program)
    assert [one for one in found.found if one[2] == "GL701"] == found.expected


@pytest.mark.parametrize("optimizer", [pytest.param(text, id=name) for name, text in NOT_COUNTED.items()])
def test_an_optimizer_that_does_not_is_silent(tmp_path: Path, optimizer: str) -> None:
    assert analyse(tmp_path, HEAD + textwrap.dedent(optimizer) + MAIN).found == []


def test_the_step_of_an_optimizer_inside_another_is_told_there(tmp_path: Path) -> None:
    program = f"""{HEAD}
class Inner(Optimizer):
    def __init__(self, params, defaults):
        super().__init__(params, defaults)
        self.count = 0
    def step(self, closure=None):
        self.count += 1
        self.param_groups[0]["params"][0].mul_(self.count)
class Own(Optimizer):
    def __init__(self, params, defaults):
        self.inner = Inner(params, defaults)
    def step(self, closure=None):
        self.inner.step(closure)  # expect: GL701
{MAIN}
"""
    found = analyse(tmp_path, program)
    assert [one for one in found.found if one[2] == "GL701"] == found.expected


STATE = """
class Own(Optimizer):
    def step(self, closure=None):
        for p in self.param_groups[0]["params"]:
            state = self.state[p]
            if len(state) == 0:
                state["step"] = torch.zeros((), device=p.device)
                state["norm"] = torch.zeros(()).to(p.device)
            if state["norm"] == 0:  # expect: GL301
                p.add_(p.grad)
            if state["step"].device.type == "cpu":
                state["step"].item()
"""


def test_what_is_kept_for_a_parameter_is_known_where_it_is_filled(tmp_path: Path) -> None:
    """The state is filled by the step before the region: what fills it is not part of the graph."""
    found = analyse(tmp_path, HEAD + STATE + MAIN)
    assert found.found == found.expected


def test_a_count_is_any_number_once_it_is_there(tmp_path: Path) -> None:
    program = f"""{HEAD}
class Own(Optimizer):
    def step(self, closure=None):
        for p in self.param_groups[0]["params"]:
            state = self.state[p]
            if len(state) == 0:
                state["rounds"] = 0
            if state["rounds"] > 3:
                p.grad.item()  # expect: GL101
{MAIN}
"""
    found = analyse(tmp_path, program)
    assert found.found == found.expected


SWITCHED = {
    "by an assignment": 'optimizer.param_groups[0]["capturable"] = {on}',
    "in a loop": """
    for group in optimizer.param_groups:
        group["capturable"] = {on}""",
}
ADAM = """
def main(model, x):
    optimizer = torch.optim.Adam({params}, lr=1e-3)
    {switch}
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        optimizer.step(){mark}
"""


@pytest.mark.parametrize("switch", SWITCHED.values(), ids=SWITCHED)
@pytest.mark.parametrize(("on", "mark"), [("True", ""), ("False", "  # expect: GL701")])
def test_a_group_is_switched_after_it_is_made(tmp_path: Path, switch: str, on: str, mark: str) -> None:
    """Which is no schedule either."""
    switched = switch.format(on=on).strip()
    found = analyse(tmp_path, HEAD + ADAM.format(params="model.parameters()", switch=switched, mark=mark))
    assert found.found == found.expected


@pytest.mark.parametrize(("on", "mark"), [("True", ""), ("False", "  # expect: GL701")])
def test_a_group_may_bring_a_switch_of_its_own(tmp_path: Path, on: str, mark: str) -> None:
    """In the list of groups that an optimizer is made of."""
    params = f'[{{"params": model.parameters(), "capturable": {on}}}]'
    found = analyse(tmp_path, HEAD + ADAM.format(params=params, switch="pass", mark=mark))
    assert found.found == found.expected


def test_a_switch_that_is_computed_is_unknown(tmp_path: Path) -> None:
    """It is not taken for one that is off."""
    switch = 'optimizer.param_groups[0]["capturable"] = x.device.type == "cuda"'
    found = analyse(tmp_path, HEAD + ADAM.format(params="model.parameters()", switch=switch, mark="")).report.findings
    assert [] == [one for one in found if one.code == "GL701" and one.confidence is Confidence.HIGH]


SCHEDULED = """
from torch.optim.lr_scheduler import LambdaLR, LRScheduler
import acme
{before}
def main(model, x):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3){mark}
    schedule = {made}
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        model(x).backward()
        optimizer.step()
    optimizer.zero_grad()
"""
EXPECTED = "  # expect: GL404"
CHANGING = {
    "one of torch": ("LambdaLR(optimizer, abs)", ""),
    "one of a library": ("acme.cosine_schedule(optimizer=optimizer)", ""),
    "one that is given one of several": (
        "acme.cosine_schedule(optimizers[0])",
        "optimizers = []\noptimizers[0].step()",
    ),
    "a function that makes one": (
        "cosine_schedule(optimizer)",
        """
def cosine_schedule(stepped):
    return LambdaLR(stepped, abs)
""",
    ),
    "a function that writes into groups": (
        "cosine_schedule(optimizer)",
        """
def cosine_schedule(stepped):
    rates = [group["lr"] for group in stepped.param_groups]
    return rates
""",
    ),
    "a class of its own": (
        "LinearLR(optimizer)",
        """
class LinearLR(LRScheduler):
    def get_lr(self):
        return [0.1]
""",
    ),
    "something unknown that is given the optimizer": ("model.cosine_schedule(optimizer)", ""),
}
CHANGING_NOTHING = {
    "a function of numbers": (
        "linear_schedule(1.0, 0.1)",
        """
def linear_schedule(first, last):
    while True:
        yield first - last
""",
    ),
    "a class of numbers": (
        "noise_schedule(8)",
        """
class noise_schedule:
    def __init__(self, steps):
        self.steps = steps
""",
    ),
    "a function of a library": ("acme.noise_schedule(8)", ""),
    "something unknown": ("model.noise_schedule(8)", ""),
}


@pytest.mark.parametrize(("made", "before"), CHANGING.values(), ids=CHANGING)
def test_a_schedule_changes_the_rate_of_an_optimizer(tmp_path: Path, made: str, before: str) -> None:
    """By its name, or since it touches an optimizer."""
    found = analyse(tmp_path, HEAD + SCHEDULED.format(made=made, before=before, mark=EXPECTED))
    assert found.found == found.expected


@pytest.mark.parametrize(("made", "before"), CHANGING_NOTHING.values(), ids=CHANGING_NOTHING)
def test_a_schedule_of_something_else_changes_none(tmp_path: Path, made: str, before: str) -> None:
    """It has such a name, and never sees an optimizer."""
    found = analyse(tmp_path, HEAD + SCHEDULED.format(made=made, before=before, mark=""))
    assert found.found == found.expected


RATE = """
import torch

class Loop:
    def __init__(self, net):
        self.net = net
        self.rate = torch.tensor(0.01{where})
        self.optimizer = torch.optim.Adam(net.parameters(), lr=self.rate, capturable=True){mark}
        {made}

    def step(self):
        self.net(torch.ones(4, device="cuda")).sum().backward()
        self.optimizer.step()

    def train(self):
        self.step()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.step()
        for epoch in range(4):
            {change}
            graph.replay()
"""


@pytest.mark.parametrize(
    ("made", "change"),
    [
        ("self.schedule = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, 0.9)", "self.schedule.step()"),
        ("pass", "self.rate.mul_(0.9)"),
        ("pass", "for group in self.optimizer.param_groups:\n                group['lr'].fill_(0.1 ** epoch)"),
    ],
    ids=["by a schedule", "by its name", "in its group"],
)
@pytest.mark.parametrize("where", ["", ', device="cuda"'], ids=["host", "device"])
def test_a_rate_in_a_tensor_is_read_where_it_lies(tmp_path: Path, where: str, made: str, change: str) -> None:
    """One on the host is read at capture, and one on the device by each replay."""
    mark = "" if where else "  # expect: GL404"
    analysis = analyse(tmp_path, RATE.format(where=where, made=made, change=change, mark=mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL404"]


OWN = """
import torch
from torch import Tensor
from torch.optim import Optimizer

class Descent(Optimizer):
    def __init__(self, params, {rate}):
        super().__init__(params, dict(lr=lr))
        {set}

    def changes(self):
        for group in self.param_groups:
            rate = torch.tensor({read})
            yield from ((p, p.grad * -rate) for p in group["params"])

    def step(self):
        for p, change in self.changes():
            p.add_(change)
"""


@pytest.mark.parametrize(
    ("rate", "read", "set_", "found"),
    [
        ("lr: float = 0.1", 'group["lr"]', "pass", [(13, "GL404")]),
        ("lr=0.1", 'group["lr"]', "pass", [(13, "GL404")]),
        ("lr: float", "group['lr'] * 2", "pass", [(13, "GL404")]),
        ("lr: float | Tensor = 0.1", 'group["lr"]', "pass", []),
        ("lr: Tensor", 'group["lr"]', "pass", []),
        ("lr", 'group["lr"]', "pass", []),
        ("lr: float = 0.1", 'group["momentum"]', "pass", []),
        ("lr: float = 0.1", 'group["lr"]', "self.param_groups[0]['lr'] = torch.tensor(lr, device='cuda')", []),
        ("lr: float = 0.1", 'group["lr"]', "self.param_groups[0]['lr'] = lr / 2", [(13, "GL404")]),
    ],
)
def test_an_optimizer_of_the_program_takes_its_rate_out_of_a_group(
    tmp_path: Path, rate: str, read: str, set_: str, found: list[tuple[int, str]]
) -> None:
    """Who captures its step may well have a schedule; what may be a tensor is not known to be frozen."""
    program = OWN.format(rate=rate, read=read, set=set_)
    analysis = analyse(tmp_path, program, regions=("main:Descent.step",))
    assert found == [(line, code) for _, line, code in analysis.shown if code == "GL404"]


def test_a_rate_that_is_read_outside_of_a_region_is_not_frozen(tmp_path: Path) -> None:
    """The step is taken in front of the capture, and nothing else reads the group."""
    program = OWN.format(rate="lr: float = 0.1", read='group["lr"]', set="pass")
    program += (
        "\n\ndef main(x):\n    Descent([x]).step()\n    with torch.cuda.graph(torch.cuda.CUDAGraph()):\n        x + 1\n"
    )
    assert [] == analyse(tmp_path, program).shown


MADE = """
import torch

def build(net, capturable):
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1, capturable=capturable)
    return optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 1)

class Loop:
    def __init__(self, net, {optimizer}):
        self.optimizer, self.schedule = {made}

    def train(self):
        self.optimizer.step()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.optimizer.step()
        self.schedule.step()
        graph.replay()

if __name__ == "__main__":
    Loop(torch.nn.Linear(2, 2)).train()
"""


@pytest.mark.parametrize(
    ("capturable", "code", "lines"),
    [("False", "GL701", (16, 5)), ("True", "GL404", (5, 16))],
    ids=["refused", "frozen"],
)
def test_a_step_and_its_optimizer_tell_of_each_other(
    tmp_path: Path, capturable: str, code: str, lines: tuple[int, int]
) -> None:
    """It is mended where it is made, in another function it may be, and still told once: a rate is told there."""
    program = MADE.format(optimizer="*rest", made=f"build(net, {capturable})")
    told = [one for one in analyse(tmp_path, program).report.findings if one.code == code]
    line, related = lines
    assert [(line, [related])] == [(one.span.line, [other.line for other in one.related]) for one in told]


@pytest.mark.parametrize(
    ("call", "line"),
    [
        ("SGD(net.parameters(), lr=0.1)", 7),
        ("Descent(net.parameters(), lr=0.1)", 7),
        ("KINDS['sgd'](net.parameters(), lr=0.1)", 12),
    ],
    ids=["by its class", "by a name of it", "out of a table"],
)
def test_a_rate_is_told_where_a_call_of_the_class_gives_it(tmp_path: Path, call: str, line: int) -> None:
    """Where no call of that class stands in the line that makes an optimizer, the step is told."""
    program = f"""
    import torch
    from torch.optim import SGD
    from torch.optim import SGD as Descent
    KINDS = {{"sgd": SGD}}
    net = torch.nn.Linear(2, 2).cuda()
    optimizer = {call}
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    optimizer.step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        optimizer.step()
    """
    told = [one for one in analyse(tmp_path, program).shown if one[2] == "GL404"]
    assert [("main.py", line, "GL404")] == told


def test_momentum_is_told_at_the_step(tmp_path: Path) -> None:
    """It can be no tensor: only another place for the step mends that."""
    program = """
    import torch
    net = torch.nn.Linear(2, 2).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, 10)
    optimizer.step()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        optimizer.step()  # expect: GL404
    """
    analysis = analyse(tmp_path, program)
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL404"]


def test_a_step_of_an_optimizer_that_is_handed_in_tells_of_no_place(tmp_path: Path) -> None:
    """Who has made it is not known."""
    program = MADE.format(optimizer="optimizer: torch.optim.SGD, schedule", made="optimizer, schedule")
    told = [one for one in analyse(tmp_path, program).report.findings if one.code == "GL404"]
    assert [(16, ())] == [(one.span.line, one.related) for one in told]
