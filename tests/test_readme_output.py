"""The README's consoles: each command is run, and what it prints is what stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from generated import assert_section

CHECKOUT = Path(__file__).resolve().parent.parent
README = CHECKOUT / "README.md"
FIRST = ("check", "fixtures/first_steps", "--select", "GL101")
TEST = """import torch


class Decoder(torch.nn.Module):
    def forward(self, x):
        peak = x.abs().max().item()
        return x / peak


def test_decoder(graph_safe):
    graph_safe(Decoder().eval(), (torch.ones(8, 64, device="cuda"),))
"""
# Stands in for the capture where there is no GPU: the words of the finding are those of its rule.
ANSWER = """
import inspect

import graphlint
import torch
from graphlint.finding import Confidence, Finding, Hop, Region, Report, Span, Summary, TargetReport
from graphlint.rulebook import builtin_rules, load_rulebook
from graphlint.runtime import inprocess

torch.ones = lambda *shape, device: None


def verify(call, args=(), kwargs=None, **options):
    path, (lines, first) = inspect.getsourcefile(call.forward), inspect.getsourcelines(call.forward)
    test = next(frame for frame in inspect.stack() if frame.filename == path)
    rule = load_rulebook(builtin_rules()).rule("GL101")
    operation = "x.abs().max().item()"
    column = lines[1].index(operation) + 1
    span = Span(path, first + 1, column, first + 1, column + len(operation))
    finding = Finding(
        rule.code, rule.slug, rule.severity, Confidence.HIGH, span, "test_decoder:Decoder.forward",
        rule.message.format(operation=operation), rule.help, f"{rule.why} (called a synchronizing CUDA operation)",
        (Region("torch.cuda.graph", path, test.lineno),), (Hop(path, test.lineno, "test_decoder:test_decoder"),),
    )
    return Report("capture", (finding,), Summary(regions=1, seconds=0.1), targets=(TargetReport("Decoder"),))


graphlint.verify = verify
inprocess.device = lambda: "NVIDIA H200"
inprocess.is_healthy = lambda: True
"""


def console(command: str, output: str) -> str:
    """A block with a command and its output, in which times are always the same."""
    output = re.sub(r"\d+\.\d+ ?s\b", lambda found: "0.3 s" if " " in found[0] else "0.31s", output)
    return f"```console\n$ {command}\n{output.strip()}\n```\n"


def test_the_first_finding_is_what_the_command_prints(bless: bool) -> None:
    """In the checkout, as a newcomer runs it."""
    done = subprocess.run(
        [sys.executable, "-m", "graphlint", *FIRST],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert 1 == done.returncode and "" == done.stderr
    assert_section(README, "first finding", console(f"graphlint {' '.join(FIRST)}", done.stdout), bless)


def test_the_failure_of_a_test_is_what_pytest_prints(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, bless: bool
) -> None:
    """The test that stands there, in a session of its own."""
    torch = pytest.importorskip("torch")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    pytester.makepyfile(test_decoder=TEST)
    if not torch.cuda.is_available():
        pytester.makeconftest(ANSWER)
    output = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider", "--tb=short", "test_decoder.py").stdout.str()
    output = re.sub(r"captured on .*", "captured on NVIDIA H200", output)
    assert_section(README, "plugin test", f"```python\n{TEST}```\n", bless)
    shown = "\n".join(line.rstrip() for line in output.splitlines())
    assert_section(README, "plugin failure", console("pytest -q --tb=short test_decoder.py", shown), bless)


def test_no_console_is_left_out() -> None:
    """Each block with a prompt is one of those above."""
    assert 2 == len(re.findall(r"^```console$", README.read_text("utf-8"), re.MULTILINE))
