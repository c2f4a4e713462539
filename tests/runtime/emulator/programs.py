"""A program in, what `graphlint verify --on emulator` says of it out."""

from __future__ import annotations

from pathlib import Path

from graphlint import runtime
from graphlint.config import load_config
from graphlint.finding import Report, Severity
from graphlint.rulebook import builtin_rules, load_rulebook

HEAD = """
import contextlib
import itertools
import torch

torch.manual_seed(0)
x, stream, graph = torch.ones(4, device="cuda"), torch.cuda.Stream(), torch.cuda.CUDAGraph()
w = torch.full((4,), 3.0, device="cuda", requires_grad=True)
log = []
"""


def verified(folder: Path, program: str) -> tuple[set[str], Report]:
    """The codes of errors and warnings, and the report."""
    (folder / "program.py").write_text(HEAD + program)
    rulebook = load_rulebook(builtin_rules())
    report = runtime.verify([str(folder / "program.py")], load_config(folder, None), rulebook, on="emulator")
    assert report.targets[0].problem == ""
    return {one.code for one in report.findings if one.severity > Severity.NOTE}, report
