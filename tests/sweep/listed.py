"""The listed statements: a line of `statements.txt` in, a sample with operands made as in `operands.py` out."""

from __future__ import annotations

from contextlib import suppress
from functools import cache

from tests.sweep.operand_lines import imports, lines, needed
from tests.sweep.sample import Namespace, Program, Sample, Trial, seed
from tests.sweep.spelling import describe

compiled = cache(Program)  # a line of an operand serves many statements


def make(names: set[str]) -> Namespace:
    """The operands among some names, made anew, and what every statement has."""
    seed()
    namespace = dict(_imported())
    for line in needed(names):
        compiled(line.text).run(namespace)
    return namespace


@cache
def _imported() -> Namespace:
    namespace: Namespace = {}
    exec("\n".join(imports()), namespace)
    return namespace


def sample(text: str) -> Sample:
    program = Program(text)
    direct = sorted(program.names & {line.operand for line in lines()})
    facts: dict[str, object] = {
        "operation": None,
        "statement": text,
        "spelled": True,
        "form": "statement",
        "pass": "forward",
    }
    with suppress(Exception):  # operands that cannot be made here are the sample's error, at its turn
        namespace = make(program.names)
        facts["operands"] = {name: describe(namespace[name]) for name in direct}
    return Sample(f"statement/{text}", facts, lambda: Trial(program, make(program.names)))
