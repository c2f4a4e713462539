"""The catalogue and what was measured in, the proof of each effect out: what goes unnoticed once the effect is dropped.

An effect is proven by a measured statement that failed to capture and is reported because of this effect alone, or else
by a program with evidence whose findings depend on it. Where neither can be had, `assumed` says why, and `example` is a
statement that is reported because of it.
"""

from __future__ import annotations

import copy
import json
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from unittest import mock

from proof.programs import Program, all_programs
from proof.reports import RULEBOOK, expected, findings, reported
from sweep.predictions import Record, judge, statements

from graphlint.rulebook import builtin_rules
from graphlint.rulebook.catalogue import load_catalogue
from graphlint.rulebook.operations import Catalogue

PAGE = builtin_rules() / "operations.toml"
_KEYS = ("effect", "when", "confidence", "help", "proof", "assumed", "example")
_WIDTH = 120

Row = dict[str, str]
Effect = tuple[str, int]  # the operation's name, and the place among its effects
Witness = Record | Program


def witnesses() -> dict[Effect, list[Witness]]:
    """For each effect the failed statements, then the programs, in which it is what is reported."""
    catalogue = unread()
    catalogue.effects = copy.deepcopy(catalogue.effects)
    labels = {
        f"{name}#{place}": (name, place) for name, rows in catalogue.effects.items() for place in range(len(rows))
    }
    for label, (name, place) in labels.items():
        catalogue.effects[name][place]["message"] = label
    catalogue._found = {}  # what was looked up before
    found: dict[Effect, list[Witness]] = defaultdict(list)
    with using(catalogue):
        for judged in judge((one for one in statements() if not one["captures"]), everything=True):
            for label in labels.keys() & {f.message for f in judged.findings if f.code in judged.breaking}:
                found[labels[label]].append(judged.record)
        for program in all_programs():
            asked = expected(program)
            for finding in findings(program) if asked else ():
                if finding.message in labels and (finding.span.path, finding.span.line, finding.code) in asked:
                    found[labels[finding.message]].append(program)
    return found


def using(catalogue: Catalogue) -> Any:
    """Let the static half read this catalogue; the detectors, which are loaded when they are asked for, stay."""
    assert RULEBOOK.detectors
    return mock.patch.dict(vars(RULEBOOK), catalogue=catalogue)


def without(effect: Effect) -> Catalogue:
    """The catalogue with one effect dropped."""
    name, place = effect
    catalogue = unread()
    rows = catalogue.effects[name]
    catalogue.effects = catalogue.effects | {name: rows[:place] + rows[place + 1 :]}
    return catalogue


def unread() -> Catalogue:
    """A copy of the catalogue, in which nothing has been looked up."""
    catalogue = copy.copy(load_catalogue(PAGE))
    catalogue._found = {}
    return catalogue


def proof_of(effect: Effect, candidates: Iterable[Witness]) -> str | None:
    """The first of the witnesses that is judged otherwise without the effect."""
    with using(without(effect)):
        for witness in candidates:
            if isinstance(witness, Program):
                if reported(witness) != expected(witness):
                    return witness.name
            elif not judge([witness], everything=True)[0].breaking:
                return str(witness["statement"])
    return None


def is_decisive(effect: Effect, example: str) -> bool:
    """Whether a statement is reported, and is not without the effect."""
    record = {"form": "statement", "statement": example, "operands": {}}
    with using(without(effect)):
        others = judge([record], everything=True)[0].findings
    return len(judge([record], everything=True)[0].findings) > len(others)


def proven(rows: Mapping[str, list[Row]]) -> dict[str, list[Row]]:
    """The rows of effects with the proofs that are found today."""
    found = witnesses()
    result: dict[str, list[Row]] = {}
    for name, effects in rows.items():
        result[name] = []
        for place, row in enumerate(effects):
            known = {key: value for key, value in row.items() if key not in ("proof", "assumed", "example")}
            proof = proof_of((name, place), found[name, place])
            if proof is not None:
                known["proof"] = proof
            else:
                known |= {key: row[key] for key in ("assumed", "example") if key in row}
            result[name].append(known)
    return result


def rewritten(text: str) -> str:
    """The text of the catalogue with its effects proven anew; headings and order stay."""
    head, _, rest = text.partition("\n[effects]\n")
    section, _, tail = rest.partition("\n[operators]\n")
    rows = proven(tomllib.loads(section))
    body = "".join(part if isinstance(part, str) else shown(part[0], rows[part[0]]) for part in parts(section))
    return f"{head}\n[effects]\n{body}\n[operators]\n{tail}"


def parts(section: str) -> Iterator[str | tuple[str]]:
    """The headings and blank lines of a section as they are, and the name of each row."""
    for line in section.splitlines(keepends=True):
        if line.startswith('"'):
            yield (json.loads(line.partition(" = ")[0]),)
        elif not line.startswith((" ", "]")):
            yield line


def shown(name: str, effects: list[Row]) -> str:
    """One row; a line for each effect where one line for all is too long."""
    tables = ["{ " + ", ".join(f"{key} = {quoted(e[key])}" for key in _KEYS if key in e) + " }" for e in effects]
    line = f"{json.dumps(name)} = [{', '.join(tables)}]\n"
    if len(line) <= _WIDTH and len(tables) == 1:
        return line
    return f"{json.dumps(name)} = [\n" + "".join(f"  {table},\n" for table in tables) + "]\n"


def quoted(text: str) -> str:
    return f"'{text}'" if '"' in text and "'" not in text else json.dumps(text, ensure_ascii=False)
