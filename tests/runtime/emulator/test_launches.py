"""Kernels of Triton, where there is no GPU on the emulator: replay runs them again, what they are given is followed."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from graphlint import runtime  # noqa: E402
from graphlint.config import load_config  # noqa: E402
from graphlint.rulebook import builtin_rules, load_rulebook  # noqa: E402

ON = "cuda" if torch.cuda.is_available() else "emulator"
LINES = """\
import torch
import triton
import triton.language as tl


@triton.jit
def twice(x):
    return x * 2


@triton.jit
def scale(x, out, by, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, twice(tl.load(x + i)) * by)


tuned = triton.autotune([triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64})], key=[])(scale)


def launched(x, by):
    out = torch.empty_like(x)
    scale[(2,)](x, out, by, BLOCK=64)
    return out


def right(x):
    torch.testing.assert_close(launched(x, 3.0), x * 6.0) if not torch.cuda.is_current_stream_capturing() else None
    out = torch.empty_like(x)
    tuned[lambda meta: (128 // meta["BLOCK"],)](x, out, 0.5)
    return out + launched(x, 1.0)


class Counting:
    calls = 0

    def __call__(self, x):
        self.calls += 1
        return launched(x, self.calls)


class Freeing:
    def capture(self):
        self.x, self.graph = torch.zeros(128, device="cuda"), torch.cuda.CUDAGraph()
        shifted = self.x + 1
        with torch.cuda.graph(self.graph):
            self.y = launched(shifted, 1.0)

    def replay(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()


class Refreshing:
    def capture(self):
        self.x, self.graph = torch.zeros(128, device="cuda"), torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x + 1

    def replay(self, x):
        scale[(2,)](x, self.x, 1.0, BLOCK=64)
        self.graph.replay()
        return self.y.clone()


def target(call):
    return lambda: (call() if isinstance(call, type) else call, (torch.rand(128, device="cuda"),))


of_right, of_counting, of_freeing, of_refreshing = map(target, (right, Counting, Freeing, Refreshing))
"""


def found(folder: Path, name: str, *, shapes_only: bool = False, on: str = ON) -> list[tuple[str, str]]:
    """Each code with the text of its line."""
    file = folder / "targets.py"
    file.write_text(LINES)
    config, rulebook = load_config(folder, None), load_rulebook(builtin_rules())
    report = runtime.verify([f"{file}:of_{name}"], config, rulebook, on=on, shapes_only=shapes_only)
    assert report.targets[0].problem == "" and report.summary.regions
    return [(one.code, LINES.splitlines()[one.span.line - 1].strip()) for one in report.findings]


def test_a_kernel_computes_what_it_says_and_replay_computes_it_again(tmp_path: Path) -> None:
    """With functions that it calls, and with a configuration that would be chosen by time."""
    assert [] == found(tmp_path, "right")


@pytest.mark.parametrize("shapes_only", [False, True])
def test_a_number_that_is_given_to_a_kernel_is_frozen(shapes_only: bool, tmp_path: Path) -> None:
    """It is one of the arguments that are compared from step to step."""
    lines = [("GL401", "self.calls += 1"), ("GL402", "return launched(x, self.calls)")]
    assert lines == found(tmp_path, "counting", shapes_only=shapes_only, on="emulator")


def test_memory_that_a_kernel_reads_and_nobody_keeps_is_found(tmp_path: Path) -> None:
    """The launch is an operator like others."""
    assert [("GL507", "scale[(2,)](x, out, by, BLOCK=64)")] == found(tmp_path, "freeing")


def test_a_kernel_refreshes_an_input(tmp_path: Path) -> None:
    """What it writes is written."""
    assert [] == found(tmp_path, "refreshing")
