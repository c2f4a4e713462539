"""The README's consoles: each command is run, and what it prints is what stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from generated import assert_section
from sessions import with_plugin

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


SAMPLER = """import torch


class Sampler(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, logits):
        self.calls += 1
        return (logits / self.calls).softmax(-1)


def sampler():
    return Sampler(), (torch.randn(4, 8, device="cuda"),)
"""
VERIFIED = ("verify", "decode.py:sampler", "--on", "emulator", "--select", "GL402")


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


def test_what_a_run_shows_is_what_the_command_prints(tmp_path: Path, bless: bool) -> None:
    """Of a program that captures without a complaint."""
    pytest.importorskip("torch")
    (tmp_path / "decode.py").write_text(SAMPLER)
    done = subprocess.run(
        [sys.executable, "-m", "graphlint", *VERIFIED],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    assert 1 == done.returncode and "" == done.stderr
    assert_section(README, "verified program", f"```python\n{SAMPLER}```\n", bless)
    assert_section(README, "verified", console(f"graphlint {' '.join(VERIFIED)}", done.stdout), bless)


def test_the_failure_of_a_test_is_what_pytest_prints(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, bless: bool
) -> None:
    """The test that stands there, in a session of its own that finds no GPU."""
    pytest.importorskip("torch")
    plugin = with_plugin(monkeypatch)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    pytester.makepyfile(test_decoder=TEST)
    done = pytester.runpytest_subprocess(*plugin, "-q", "-p", "no:cacheprovider", "--tb=short", "test_decoder.py")
    assert_section(README, "plugin test", f"```python\n{TEST}```\n", bless)
    shown = "\n".join(line.rstrip() for line in done.stdout.lines)
    assert_section(README, "plugin failure", console("pytest -q --tb=short test_decoder.py", shown), bless)


def test_no_console_is_left_out() -> None:
    """Each block with a prompt is one of those above."""
    assert 3 == len(re.findall(r"^```console$", README.read_text("utf-8"), re.MULTILINE))
