"""A program in, what the static half reports on it out."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from proof.programs import Place, Program

from graphlint import static
from graphlint.config import Config
from graphlint.finding import Finding
from graphlint.rulebook import builtin_rules, load_rulebook

RULEBOOK = load_rulebook(builtin_rules())


def findings(program: Program, ignore: tuple[str, ...] = ()) -> list[Finding]:
    """The findings, with paths relative to the program's folder."""
    allocations = "strict" if program.rules else "default"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        program.write(folder)
        config = Config(root=folder, select=program.rules, ignore=ignore, allocations=allocations)
        found = static.check([folder], config, RULEBOOK).findings
    return [replace(f, span=replace(f.span, path=Path(f.span.path).relative_to(folder).as_posix())) for f in found]


def reported(program: Program, ignore: tuple[str, ...] = ()) -> list[Place]:
    """The (file, line, code) of every finding."""
    return sorted((f.span.path, f.span.line, f.code) for f in findings(program, ignore))


def expected(program: Program) -> list[Place]:
    """The (file, line, code) of every finding that the program's comments ask for."""
    return program.marks("expect", "false-alarm")
