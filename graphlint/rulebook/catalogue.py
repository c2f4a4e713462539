"""Tables of operations in, one Catalogue out, which is checked as a whole."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from graphlint.errors import nearest
from graphlint.rulebook.operations import Catalogue, Row
from graphlint.rulebook.operators import FAMILY_NAMES, operator_name, read_operators
from graphlint.rulebook.schema import METHODS, check_operations, rows_of
from graphlint.rulebook.signatures import Operation, Value
from graphlint.rulebook.tables import Table, read_text

_IMPLIED = frozenset({"*", "self", "out", "device"})  # parameters that a signature need not tell


def load_catalogue(*files: Path, effects: Collection[str] | None = None) -> Catalogue:
    """Read the tables; a row of a later one takes the place of an earlier one of its name. Raises UsageError.

    `effects` are those that a rule reports; where they are not given, any name will do.
    """
    texts = tuple((file, read_text(file)) for file in files)
    return _catalogue(texts, None if effects is None else frozenset(effects))


@functools.lru_cache(maxsize=8)
def _catalogue(texts: tuple[tuple[Path, str], ...], effects: frozenset[str] | None) -> Catalogue:
    """The catalogue of these texts; a process that looks at one thing after another parses them once."""
    tables = [Table(file, text) for file, text in texts]
    rows: dict[str, Row] = {}
    bases: dict[str, str] = {}
    for table in tables:
        check_operations(table)
        rows |= _rows(table)
        blocks = table.data.get("operations", {})
        bases |= {namespace: found["base"] for namespace, found in blocks.items() if "base" in found}
    catalogue = Catalogue(
        rows,
        bases,
        _merged(table.data.get("effects", {}) for table in tables),
        _merged(table.data.get("aliases", {}) for table in tables),
        _joined(METHODS, [table.data.get("methods", {}) for table in tables]),
        _merged(read_operators(table.data.get("operators", {})) for table in tables),
        _joined(FAMILY_NAMES, [table.data.get("families", {}) for table in tables]),
    )
    for table in tables:
        _check_aliases(table, catalogue)
        _check_classes(table, catalogue)
        _check_effects(table, catalogue, effects)
        _check_operators(table, catalogue, effects)
    return catalogue


def _merged(sections: Iterable[dict[str, Value]]) -> dict[str, Value]:
    """Each row once, the latest of its name."""
    return {name: row for section in sections for name, row in section.items()}


def _joined(groups: Iterable[str], sections: Sequence[dict[str, list[str]]]) -> dict[str, frozenset[str]]:
    """All names of each group."""
    return {group: frozenset(name for found in sections for name in found.get(group, ())) for group in groups}


def _rows(table: Table) -> dict[str, Row]:
    """The rows of a table by qualified name. Raises UsageError for a name that stands twice."""
    found: dict[str, Row] = {}
    for namespace, blocks in table.data.get("operations", {}).items():
        for returns, block in blocks.items():
            for name, signature in rows_of(block) if returns != "base" else ():
                full = f"{namespace}.{name}"
                if full in found:
                    raise table.error(f"`{full}` stands twice", "operations", namespace, returns, at=name)
                found[full] = Row(namespace, returns, signature)
    return found


def _check_aliases(table: Table, catalogue: Catalogue) -> None:
    """Raises UsageError for another name of nothing."""
    names = {*catalogue, *catalogue.aliases}
    for alias, target in table.data.get("aliases", {}).items():
        if alias in catalogue:
            raise table.error(f"`{alias}` is an operation of its own, and no other name of one", "aliases", alias)
        for head, star, _ in (one.partition("*") for one in target.split("|")):
            if not (any(name.startswith(head) for name in names) if star else catalogue.find(alias)):
                said = f"`{alias}` is another name of `{target}`, which is no operation{nearest(target, catalogue)}"
                raise table.error(said, "aliases", alias)


def _check_classes(table: Table, catalogue: Catalogue) -> None:
    """Raises UsageError where instances of a class are given that the catalogue does not have."""
    for namespace, blocks in table.data.get("operations", {}).items():
        for returns, block in blocks.items():
            cls = block if returns == "base" else returns
            if "." in cls and not catalogue.is_class(cls):
                classes = [name for name in catalogue if catalogue.is_class(name)]
                said = f"no row of [operations] is an `instance` called `{cls}`{nearest(cls, classes)}"
                raise table.error(said, "operations", namespace, returns)


def _check_effects(table: Table, catalogue: Catalogue, known: Collection[str] | None) -> None:
    """Raises UsageError for an effect of nothing, one that no rule reports, and one that depends on no parameter."""
    for name in table.data.get("effects", {}):
        namespace = name.removesuffix("*")
        if not any(one.startswith(namespace) for one in catalogue) if name.endswith(".*") else name not in catalogue:
            said = f"no row of [operations] is called `{name}`{nearest(name, catalogue)}"
            raise table.error(said, "effects", name)
        _check_known(table, "effects", name, known)
        operation = catalogue.find(name)
        if operation is not None and operation.params is not None:
            _check_parameters(table, "effects", name, operation, _IMPLIED)


def _check_operators(table: Table, catalogue: Catalogue, known: Collection[str] | None) -> None:
    """Raises UsageError for an operator that does what nothing does, and for effects as those of operations."""
    for schema, given in table.data.get("operators", {}).items():
        name, _ = operator_name(schema)
        if isinstance(given, str):
            if catalogue.find(name) is None:
                said = f"`{schema}` does what `{given}` does, which is no operation{nearest(given, catalogue)}"
                raise table.error(said, "operators", schema)
            continue
        _check_known(table, "operators", schema, known)
        operation = read_operators({schema: given})[name]
        assert isinstance(operation, Operation)
        _check_parameters(table, "operators", schema, operation, {"*"})


def _check_known(table: Table, section: str, name: str, known: Collection[str] | None) -> None:
    """Raises UsageError for an effect that no rule reports."""
    for place, row in enumerate(table.data[section][name]):
        if known is not None and row["effect"] not in known:
            said = f"no rule is called `{row['effect']}`, so no page tells of it{nearest(row['effect'], known)}"
            raise table.error(said, section, name, place, at=row["effect"])


def _check_parameters(table: Table, section: str, name: str, operation: Operation, others: Collection[str]) -> None:
    """Raises UsageError for a condition on a parameter that neither the signature nor `others` have."""
    names = {*others, *(param.name for param in operation.params or ())}
    for condition in (condition for effect in operation.effects for condition in effect.when):
        for one in condition.parameters:
            if one not in names:
                said = f"`when`: `{name}` has no parameter `{one}`{nearest(one, names)}"
                raise table.error(said, section, name, at=f"{condition.predicate}:{condition.argument}")
