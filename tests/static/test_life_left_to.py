"""A class says how captures are opened, and another one, from which it derives, does all the rest."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

PROGRAM = """
# file: runner.py
import torch

class Runner:
    def __init__(self, target):
        self.target, self.stream, self.graph = target, None, None

    @classmethod
    def make_graph(cls):
        raise NotImplementedError

    @classmethod
    def make_stream(cls):
        raise NotImplementedError

    @classmethod
    def context(cls, *args, **kwargs):
        \"\"\"What opens a region.\"\"\"
        raise NotImplementedError

    def capture(self, x):
        self.stream = self.make_stream()
        self.graph = self.make_graph()
        self.x = x.clone()
        self.target(self.x)
        with self.context(self.graph, stream=self.stream):
            self.y = self.target(self.x)

    def run(self, x):
        self.x.copy_(x)
        self.graph.replay()
        {wait}
        return self.y.clone()

# file: device.py
import torch
from runner import Runner

class DeviceRunner(Runner):
    @classmethod
    def make_graph(cls):
        return torch.{graph}()

    @classmethod
    def make_stream(cls):
        return torch.{device}.Stream()

    @classmethod
    def context(cls, *args, **kwargs):
        return torch.{device}.{opened}(*args, **kwargs)
"""
CUDA = {"device": "cuda", "graph": "cuda.CUDAGraph", "opened": "graph"}
NPU = {"device": "npu", "graph": "npu.NPUGraph", "opened": "graph"}
CAPTURING = "self.stream.synchronize()"


@pytest.mark.parametrize("device", [CUDA, NPU], ids=["cuda", "npu"])
@pytest.mark.parametrize(
    ("wait", "mark"),
    [(CAPTURING, "  # expect: GL602"), ("torch.{device}.current_stream().synchronize()", ""), ("pass", "")],
    ids=["for the capture", "for the replay", "not at all"],
)
def test_a_region_is_opened_by_what_a_subclass_gives(
    tmp_path: Path, device: dict[str, str], wait: str, mark: str
) -> None:
    analysis = analyse(tmp_path, PROGRAM.format(**device, wait=wait.format(**device) + mark))
    assert len(analysis.report.findings) == len(analysis.expected)
    assert analysis.shown == analysis.expected
    assert analysis.report.summary.regions == 1


def test_a_subclass_that_opens_something_else_opens_no_region(tmp_path: Path) -> None:
    analysis = analyse(tmp_path, PROGRAM.format(**CUDA | {"opened": "device"}, wait=CAPTURING))
    assert analysis.report.summary.regions == 0
