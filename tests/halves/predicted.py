"""The name of a target in, what `check` says of a program that captures it out."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from graphlint import static
from graphlint.config import Config
from graphlint.finding import Report
from graphlint.rulebook import builtin_rulebook
from graphlint.runtime.examine.target import Spec, parse

# What a user of the factory writes: make the target, warm it up, capture it.
PROGRAM = """\
import torch
from {module} import {name}

call, arguments, keywords = (*{factory}(), {{}})[:3]
call(*arguments, **keywords)
with torch.cuda.graph(torch.cuda.CUDAGraph()):
    call(*arguments, **keywords)
"""


def predict(name: str, packages: Iterable[str]) -> Report:
    """Look at the target's file and the packages that it reaches, from a capture of what its factory gives."""
    spec = parse(name)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder).resolve() / "captures_a_target.py"
        program.write_text(written(spec), encoding="utf-8")
        paths = [program, *([spec.path] if spec.path else [])]
        config = Config(root=program.parent, follow_installed=tuple(packages))
        return static.check(paths, config, builtin_rulebook())


def written(spec: Spec) -> str:
    return PROGRAM.format(module=spec.module, name=spec.factory.partition(".")[0], factory=spec.factory)
