"""The listed statements: lines of `statements.txt` in, samples with operands made as in `operands.py` out."""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from pathlib import Path

import torch

from tests.sweep.sample import Namespace, Program, Sample, Trial
from tests.sweep.spelling import describe

OPERANDS = Path(__file__).with_name("operands.py")


class Operands:
    """The lines that make the operands; a statement gets those that it needs, run anew for each trial."""

    def __init__(self, source: str) -> None:
        self.imports: Namespace = {}
        self.lines: list[tuple[str, Program]] = []
        for node in ast.parse(source).body:
            text = ast.unparse(node)
            if isinstance(node, ast.Import | ast.ImportFrom):
                exec(text, self.imports)
            elif name := re.match(r"[a-z]\w*", text):  # what is assigned, or what a line without a target begins with
                self.lines.append((name[0], Program(text)))
        self.names = {name for name, _ in self.lines}

    def make(self, names: set[str]) -> Namespace:
        """The operands among some names, and what these are made of."""
        wanted, programs = set(names), []
        for name, program in reversed(self.lines):
            if name in wanted:
                wanted |= program.names
                programs.append(program)
        torch.manual_seed(0)
        namespace = dict(self.imports)
        for program in reversed(programs):
            program.run(namespace)
        return namespace


def sample(text: str, operands: Operands) -> Sample:
    program = Program(text)
    direct = sorted(program.names & operands.names)
    facts: dict[str, object] = {
        "operation": None,
        "statement": text,
        "spelled": True,
        "form": "statement",
        "pass": "forward",
    }
    with suppress(Exception):  # operands that cannot be made here are the sample's error, at its turn
        namespace = operands.make(program.names)
        facts["operands"] = {name: describe(namespace[name]) for name in direct}
    return Sample(f"statement/{text}", facts, lambda: Trial(program, operands.make(program.names)))
