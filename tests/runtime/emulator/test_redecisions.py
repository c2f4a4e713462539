"""What the host decides anew in each step of eager, and a graph once: found whether or not there are numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from graphlint import runtime  # noqa: E402
from graphlint.config import load_config  # noqa: E402
from graphlint.finding import Report  # noqa: E402
from graphlint.rulebook import builtin_rules, load_rulebook  # noqa: E402

# Each function is a step, or a class whose objects are; the comment is the rule that its line has.
LINES = """\
import itertools, random, time
import numpy
import torch


def random_scalar(x):
    return x * random.random()  # GL403


def numpy_scalar(x):
    return x * float(numpy.random.rand())  # GL403


class OwnGenerator:
    source = numpy.random.default_rng(3)

    def __call__(self, x):
        return x + self.source.normal()  # GL402


class SystemDraw:
    source = random.SystemRandom()

    def __call__(self, x):
        return x.roll(self.source.randrange(1, 10**9), 0)  # GL402


def clock(x):
    return x * (time.time() % 7.0)  # GL402


class Loop:
    rounds = 0

    def __call__(self, x):
        self.rounds += 1  # GL401
        for _ in range(self.rounds):  # GL402
            x = x + 1
        return x


class IteratedLoop:
    counts = itertools.count()

    def __call__(self, x):
        for _ in range(next(self.counts)):
            x = x.sin()  # GL402
        return x


class Growing:
    length = 0
    kept = torch.ones(64, 8, device="cuda")

    def __call__(self, x):
        self.length += 1  # GL401
        return self.kept[: self.length].sum(0) + x  # GL402


class Flipping:
    flag = False

    def __call__(self, x):
        self.flag = not self.flag  # GL401
        return x + 1 if self.flag else x - 1  # GL402


class Cycling:
    flags = itertools.cycle([True, False])

    def __call__(self, x):
        return x.sin() if next(self.flags) else x.cos()  # GL402


class Converting:
    types = itertools.cycle([torch.float16, torch.bfloat16])

    def __call__(self, x):
        return x.to(next(self.types))  # GL402


class Refilled:
    ages = itertools.count()

    def __call__(self, x):
        if next(self.ages) % 2 == 0:
            self.kept = x.mean(0)  # GL402
        return x + self.kept


class DrawnBefore:
    factor = random.random()

    def __call__(self, x):
        return torch.nn.functional.dropout(x * self.factor)


def timed(x):
    began = time.time()
    y = x * 2
    assert time.time() >= began
    return y


class FixedLoop(Loop):
    rounds = 3

    def __call__(self, x):
        for _ in range(self.rounds):
            x = x + float("nan") * 0
        return x


class Lazy:
    kept = None

    def __call__(self, x):
        if self.kept is None:
            self.kept = torch.rand(8, device="cuda")
        return x + self.kept


class Counted:
    names = itertools.count()

    def __call__(self, x):
        next(self.names)
        torch.ones(3).mul_(time.time())
        return x * 2


def target(step):
    return lambda: (step() if isinstance(step, type) else step, (torch.rand(8, 8, device="cuda"),))


targets = {name: target(step) for name, step in list(globals().items()) if getattr(step, "__module__", "") == __name__}
globals().update({f"of_{name}": one for name, one in targets.items()})
"""
STEPS = [
    "random_scalar", "numpy_scalar", "OwnGenerator", "SystemDraw", "clock", "Loop", "IteratedLoop", "Growing",
    "Flipping", "Cycling", "Converting", "Refilled", "DrawnBefore", "timed", "FixedLoop", "Lazy", "Counted",
]  # fmt: skip


WITHOUT_NUMBERS = ["random_scalar", "clock", "Loop", "Growing", "Converting", "timed", "FixedLoop"]


def look(folder: Path, names: list[str], *, shapes_only: bool) -> Report:
    """What is found in some steps."""
    file = folder / "steps.py"
    file.write_text(LINES)
    config, rulebook = load_config(folder, None), load_rulebook(builtin_rules())
    targets = [f"{file}:of_{name}" for name in names]
    return runtime.verify(targets, config, rulebook, on="emulator", shapes_only=shapes_only)


def marked(names: list[str]) -> list[tuple[int, str]]:
    """The lines of these steps with a comment, and its code."""
    found, is_asked = [], False
    for number, line in enumerate(LINES.splitlines(), 1):
        code, comment = line.split("  # ") if "  # " in line else (line, "")
        if code.startswith(("def ", "class ")):
            is_asked = re.split(r"\W+", code)[1] in names
        if is_asked and comment:
            found.append((number, comment))
    return found


@pytest.mark.parametrize("names", [pytest.param(STEPS, id="numbers"), pytest.param(WITHOUT_NUMBERS, id="shapes only")])
def test_each_decision_that_changes_is_told_at_its_line(names: list[str], tmp_path: Path) -> None:
    """And the steps that decide the same each time are silent."""
    pytest.importorskip("numpy")
    report = look(tmp_path, names, shapes_only=names is WITHOUT_NUMBERS)
    assert marked(names) == sorted((one.span.line, one.code) for one in report.findings)
    assert [one.problem for one in report.targets] == [""] * len(names)
