"""The emulator without numbers: nothing takes memory, and what needs no numbers is found all the same."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from graphlint import runtime  # noqa: E402
from graphlint.cli import commands  # noqa: E402
from graphlint.config import load_config  # noqa: E402
from graphlint.errors import UsageError  # noqa: E402
from graphlint.finding import Severity  # noqa: E402
from graphlint.rulebook import builtin_rules, load_rulebook  # noqa: E402
from graphlint.runtime.examine.target import parse  # noqa: E402
from graphlint.runtime.session.isolation import run_isolated, server  # noqa: E402
from graphlint.runtime.session.session import Found, Measured, Session  # noqa: E402

LINES = """\
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.norm, self.mix = nn.LayerNorm(size), nn.Linear(size, 3 * size)
        self.out, self.up, self.down = nn.Linear(size, size), nn.Linear(size, 4 * size), nn.Linear(4 * size, size)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (16, -1)).transpose(1, 2) for part in self.mix(self.norm(x)).chunk(3, -1))
        x = x + self.out(nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.down(nn.functional.gelu(self.up(x)))


def large():
    rates = [rate.item() for rate in torch.linspace(0.0, 0.5, 2)]
    assert rates == [0.0, 0.5]
    model = nn.Sequential(*(Block(16384) for _ in rates), nn.Dropout(rates[-1])).cuda()
    assert sum(one.numel() for one in model.parameters()) > 6e9 and all(one.is_cuda for one in model.parameters())
    return torch.no_grad()(model), (torch.rand(2, 64, 16384, device="cuda"),)


def training():
    model = Block(4096).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), capturable=True)

    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.detach()

    return step, (torch.rand(2, 64, 4096, device="cuda"),)


def reading():
    def read(x):
        if x.isnan().any():
            raise ValueError("no numbers, so none that is wrong")
        if x.sum() > 0:
            x = x + 1
        rows = x[x > 0]
        places = x.nonzero()
        top = x.argmax(-1).tolist()
        assert top == [1] * 4096
        print(x)
        on_host = x.cpu()
        weight = torch.tensor([1.0, 2.0], device="cuda")
        kinds = x.unique()
        return rows.sum() + places.sum() + weight.sum() + kinds.sum(), x * x.mean().item()

    return read, (torch.rand(4096, 4096, device="cuda"),)


def counting():
    calls = [0]

    def step(x):
        calls[0] += 1
        return x * 2

    return step, (torch.rand(4096, 4096, device="cuda"),)


def dropping():
    class Runner:
        def capture(self):
            self.graph = torch.cuda.CUDAGraph()
            self.x = torch.zeros(4096, 4096, device="cuda")
            scale = torch.ones(4096, 4096, device="cuda")
            with torch.cuda.graph(self.graph):
                self.y = self.x * scale

        def replay(self, x):
            self.x.copy_(x)
            self.graph.replay()
            return self.y.clone()

        def eager(self, x):
            return x * 1

    return Runner(), (torch.rand(4096, 4096, device="cuda"),)
"""


class Peak:
    """Looks at a target, and sends how much memory its process has taken in bytes."""

    def __init__(self, target: str) -> None:
        self.session = Session(parse(target), load_rulebook(builtin_rules()), shapes_only=True)

    def __call__(self, send: Callable[[Any], None]) -> None:
        self.session(send)
        send(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


@pytest.fixture
def targets(tmp_path: Path) -> str:
    """The file of the targets."""
    file = tmp_path / "targets.py"
    file.write_text(LINES)
    return str(file)


def found(targets: str, factory: str, *, shapes_only: bool = True) -> list[tuple[str, str]]:
    """Each code with the text of its line."""
    config, rulebook = load_config(Path(), None), load_rulebook(builtin_rules())
    report = runtime.verify([f"{targets}:{factory}"], config, rulebook, on="emulator", shapes_only=shapes_only)
    assert report.witness == ("shapes" if shapes_only else "emulator")
    return [(one.code, LINES.splitlines()[one.span.line - 1].strip()) for one in report.findings]


def test_six_billion_parameters_take_less_than_two_gibibytes(targets: str) -> None:
    """Built on the host, moved to the device, captured; and small tensors of the host have their numbers."""
    heard: list[Any] = []
    ending = run_isolated(server(), Peak(f"{targets}:large"), 300.0, heard.append)
    assert ending.how == ""
    assert not any(isinstance(one, Found) and one.finding.severity > Severity.NOTE for one in heard)
    (measured,) = (one.values for one in heard if isinstance(one, Measured))
    assert measured["captures"] == 1 and measured["kernel_nodes"] > 20
    assert heard[-1] < 2 << 30


def test_a_training_step_without_numbers_is_silent(targets: str) -> None:
    """Backward and optimizer too have shapes alone."""
    assert [] == found(targets, "training")


def test_all_that_needs_no_numbers_is_found(targets: str) -> None:
    """Each read is given a number with which the program goes on."""
    assert found(targets, "reading") == [
        ("GL301", "if x.isnan().any():"),
        ("GL301", "if x.sum() > 0:"),
        ("GL305", "rows = x[x > 0]"),
        ("GL303", "places = x.nonzero()"),
        ("GL101", "top = x.argmax(-1).tolist()"),
        ("GL102", "print(x)"),
        ("GL201", "on_host = x.cpu()"),
        ("GL203", 'weight = torch.tensor([1.0, 2.0], device="cuda")'),
        ("GL303", "kinds = x.unique()"),
        ("GL101", "return rows.sum() + places.sum() + weight.sum() + kinds.sum(), x * x.mean().item()"),
    ]


def test_what_the_host_does_is_found_without_numbers(targets: str) -> None:
    """A change of its state, and memory that is freed while a graph reads it."""
    assert [("GL401", "calls[0] += 1")] == found(targets, "counting")
    assert [("GL507", "self.y = self.x * scale")] == found(targets, "dropping")


def test_the_first_line_says_that_there_are_no_numbers(targets: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody takes a silent report for a comparison."""
    status = commands.main(["verify", f"{targets}:counting", "--shapes-only"], standalone_mode=False)
    first = capsys.readouterr().out.splitlines()[0]
    assert status == 1 and first.startswith("shapes only: no numbers are computed, so nothing is compared with eager; ")


def test_a_gpu_has_numbers(targets: str) -> None:
    """What contradicts itself is refused before anything runs."""
    with pytest.raises(UsageError, match="`--shapes-only` is for the emulator"):
        runtime.verify(
            [targets], load_config(Path(), None), load_rulebook(builtin_rules()), on="cuda", shapes_only=True
        )
