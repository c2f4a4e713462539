"""The name of a target in, what `check` says of a program that captures it out, in a process of its own."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from graphlint import static
from graphlint.config import Config
from graphlint.finding import Finding
from graphlint.rulebook import builtin_rulebook
from graphlint.runtime.examine.target import Spec, parse
from graphlint.runtime.session.isolation import run_isolated, server
from graphlint.runtime.session.session import Send

# What a user of the factory writes: make the target, warm it up, capture it.
PROGRAM = """\
import torch
from {module} import {name}

call, arguments, keywords = (*{factory}(), {{}})[:3]
call(*arguments, **keywords)
with torch.cuda.graph(torch.cuda.CUDAGraph()):
    call(*arguments, **keywords)
"""


@dataclass(frozen=True, slots=True)
class Predicted:
    """What `check` reports; `problem` says why it does not come to its end."""

    findings: tuple[Finding, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class Checking:
    """Looks at the target's file and the packages that it reaches, from a capture of what its factory gives."""

    spec: Spec
    packages: tuple[str, ...]

    def __call__(self, send: Send) -> None:
        name = self.spec.factory.partition(".")[0]
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder).resolve() / "captures_a_target.py"
            text = PROGRAM.format(module=self.spec.module, name=name, factory=self.spec.factory)
            program.write_text(text, encoding="utf-8")
            paths = [program, *([self.spec.path] if self.spec.path else [])]
            config = Config(root=program.parent, follow_installed=self.packages)
            send(Predicted(static.check(paths, config, builtin_rulebook()).findings))


def predict(name: str, packages: tuple[str, ...], deadline: float) -> Predicted:
    """What `check` says within so many seconds."""
    heard: list[Predicted] = []
    ending = run_isolated(server(), Checking(parse(name), packages), deadline, heard.append)
    return heard[0] if heard else Predicted(problem=f"`check`: {ending.how}")
