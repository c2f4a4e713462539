"""The rows of operators in, whether the emulator captures the proof of each once the row is dropped, as JSON, out.

    python -m tests.sweep.operator_proofs

Keys are the schemas with the number of the row behind a `#`; a value tells of the statement that is the proof whether
it is captured with the row, and without.
"""

from __future__ import annotations

import copy
import json
import os
import tomllib
from collections.abc import Iterator
from dataclasses import replace

from graphlint.rulebook import builtin_catalogue, builtin_rules
from graphlint.rulebook.operations import Catalogue
from graphlint.rulebook.operators import operator_name
from graphlint.runtime.device.emulator.refusals import Refusals
from tests.sweep.worker import emulated, quiet

PAGE = builtin_rules() / "operations.toml"


def main() -> None:
    report, backend = quiet(), emulated()

    from tests.sweep.listed import sample
    from tests.sweep.observe import Observer

    observer, catalogue = Observer(backend), builtin_catalogue()
    device = observer.driver.emulator.device
    found: dict[str, list[object]] = {}
    for schema, number, proof in proofs():
        for known in (catalogue, without(catalogue, operator_name(schema)[0], number)):
            device.refusals = Refusals(known)
            found.setdefault(f"{schema}#{number}", []).append(observer.observe(sample(proof)).get("captures"))
    json.dump(found, report)
    report.flush()
    os._exit(0)  # abandoned graphs must not be destroyed


def proofs() -> Iterator[tuple[str, int, str]]:
    """Each row that has a proof: the schema, the number of the row, and the proof."""
    for schema, rows in tomllib.loads(PAGE.read_text("utf-8"))["operators"].items():
        if not isinstance(rows, str):
            yield from ((schema, number, row["proof"]) for number, row in enumerate(rows) if "proof" in row)


def without(catalogue: Catalogue, name: str, number: int) -> Catalogue:
    """The catalogue with one row of an operator dropped."""
    changed = copy.copy(catalogue)
    operation = catalogue.operators[name]
    rows = operation.effects[:number] + operation.effects[number + 1 :]
    changed.operators = catalogue.operators | {name: replace(operation, effects=rows)}
    changed._found = {}  # what was looked up before
    return changed


if __name__ == "__main__":
    main()
