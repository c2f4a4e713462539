"""What trains in, what `graphlint init` proposes of it out: the step of a loop, and the losses, not the loop itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from static.analysis import write

from graphlint import static
from graphlint.config import Config

AGENT = """
# file: agents/__init__.py
# file: agents/agent.py
import torch
from torch import nn
from agents.losses import value_loss

class Agent:
    def __init__(self, policy, optimizer):
        self.policy = policy
        self.optimizer = optimizer

    def {method}(self, batch, step):
{body}
# file: agents/losses.py
import torch
from torch.nn import functional as F

def value_loss(value, target):
    return F.mse_loss(value, target)

def weight_loss(config):
    return config["weight"] * 2

def build_loss(config):
    return torch.nn.functional.mse_loss if config else torch.zeros(1)

def eval_loss(model, batch):
    model.eval()
    return F.mse_loss(model(batch.x), batch.y)

def _total_loss(value, target):
    return F.mse_loss(value, target)
"""
STEP = """
        loss = value_loss(self.policy(batch.x), batch.y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return {"loss": loss.item()}
"""
LOOP = """
        for x, y in batch:
            loss = value_loss(self.policy(x), y)
            loss.backward()
            self.optimizer.step()
"""
CLIPPED = """
        loss = value_loss(self.policy(batch.x), batch.y)
        self.grad_scaler.scale(loss).backward()
        for group in self.optimizer.param_groups:
            group["lr"] = 1e-3
        self.grad_scaler.step(self.optimizer)
"""
INNER = """
        def closure():
            loss = value_loss(self.policy(batch.x), batch.y)
            loss.backward()
            return loss

        self.optimizer.step(closure)
"""
SEVERAL = """
        loss = value_loss(self.policy(batch.x), batch.y)
        loss.backward()
        self.optimizer.step()
        for part in batch.parts:
            value_loss(self.policy(part), batch.y).backward()
"""
ENVIRONMENT = """
        loss = value_loss(self.policy(batch.x), batch.y)
        loss.backward()
        return self.environment.step(loss)
"""


def offered(folder: Path, body: str, method: str = "update") -> tuple[str, ...]:
    write(folder, AGENT.format(method=method, body=body.strip("\n")))
    return static.survey([folder], Config(root=folder)).exports


@pytest.mark.parametrize(
    ("body", "is_step"),
    [(STEP, True), (CLIPPED, True), (LOOP, False), (INNER, False), (SEVERAL, False), (ENVIRONMENT, False)],
)
def test_what_goes_backward_and_steps_once_is_a_step(tmp_path: Path, body: str, is_step: bool) -> None:
    """Where training is captured, that is what is; what goes through batches itself is the loop around it."""
    assert is_step == ("agents.agent:Agent.update" in offered(tmp_path, body))


def test_a_step_is_given_what_it_trains_on(tmp_path: Path) -> None:
    """What takes nothing gets its batches by itself."""
    body = STEP.replace("batch.", "self.batch.")
    write(tmp_path, AGENT.format(method="update", body=body.strip("\n")).replace("(self, batch, step)", "(self)"))
    assert "agents.agent:Agent.update" not in static.survey([tmp_path], Config(root=tmp_path)).exports


def test_a_loss_is_offered_though_the_library_calls_it(tmp_path: Path) -> None:
    """It is part of what is captured; what only has such a name, and computes nothing of tensors, is not."""
    found = [one for one in offered(tmp_path, STEP) if one.startswith("agents.losses:")]
    assert ["agents.losses:value_loss"] == found


def test_who_captures_has_left_the_others_out(tmp_path: Path) -> None:
    """A library that opens regions by itself captures what it means to."""
    captured = """
# file: agents/fast.py
import torch

def capture(x):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x.add_(1)
"""
    write(tmp_path, AGENT.format(method="update", body=STEP.strip("\n")) + captured)
    assert () == static.survey([tmp_path], Config(root=tmp_path)).exports


LEARNER = """
# file: train.py
import torch
from learner import Learner

def main(options):
    learner = Learner(8)
    explore = learner.explore
    if options.is_compiled:
        explore = torch.compile(explore{mode})
    return explore(torch.zeros(8, device="cuda"))
# file: learner.py
import torch

class Learner:
    def __init__(self, size):
        self.weight = torch.ones(size, device="cuda")

    def explore(self, x):
        return torch.relu(x * self.weight)
"""


@pytest.mark.parametrize("mode", ["", ", mode=None", ', mode="default"'])
def test_what_a_name_stands_for_where_it_is_compiled_is_proposed(tmp_path: Path, mode: str) -> None:
    """Which function that is, is told by the objects that are made on the way."""
    write(tmp_path, LEARNER.format(mode=mode))
    assert ("learner:Learner.explore",) == static.survey([tmp_path], Config(root=tmp_path)).compiled


def test_what_is_compiled_with_graphs_is_a_region_and_no_proposal(tmp_path: Path) -> None:
    """It is captured already."""
    write(tmp_path, LEARNER.format(mode=', mode="reduce-overhead"'))
    found = static.survey([tmp_path], Config(root=tmp_path))
    assert () == found.compiled and 1 == len(found.regions)
