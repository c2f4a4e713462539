"""Tables of operations in, one Catalogue out, which is checked as a whole."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from graphlint.errors import nearest
from graphlint.operations import Catalogue, Effect, Row, Value
from graphlint.schema import AROUND, METHODS, check_operations, rows_of
from graphlint.tables import Table, read_table

_IMPLIED = frozenset({"*", "self", "out", "device"})  # parameters that a signature need not tell


def load_catalogue(*files: Path, effects: Collection[str] | None = None) -> Catalogue:
    """Read the tables; a row of a later one takes the place of an earlier one of its name. Raises UsageError.

    `effects` are those that a rule reports; where they are not given, any name will do.
    """
    tables = [read_table(file) for file in files]
    rows: dict[str, Row] = {}
    bases: dict[str, str] = {}
    for table in tables:
        check_operations(table)
        rows |= _rows(table)
        blocks = table.data.get("operations", {})
        bases |= {namespace: found["base"] for namespace, found in blocks.items() if "base" in found}
    sections = {name: [table.data.get(name, {}) for table in tables] for name in ("effects", "aliases", "methods")}
    methods = {
        group: frozenset(name for found in sections["methods"] for name in found.get(group, ())) for group in METHODS
    }
    catalogue = Catalogue(rows, bases, _merged(sections["effects"]), _merged(sections["aliases"]), methods)
    for table in tables:
        _check_aliases(table, catalogue)
        _check_classes(table, catalogue)
        _check_effects(table, catalogue, effects)
    return catalogue


def _merged(sections: Iterable[dict[str, Value]]) -> dict[str, Value]:
    return {name: row for section in sections for name, row in section.items()}


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
    for alias, target in table.data.get("aliases", {}).items():
        if alias in catalogue:
            raise table.error(f"`{alias}` is an operation of its own, and no other name of one", "aliases", alias)
        for head, star, _ in (one.partition("*") for one in target.split("|")):
            if not (any(name.startswith(head) for name in catalogue) if star else catalogue.find(alias)):
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
    for name, entries in table.data.get("effects", {}).items():
        namespace = name.removesuffix("*")
        if not any(one.startswith(namespace) for one in catalogue) if name.endswith(".*") else name not in catalogue:
            said = f"no row of [operations] is called `{name}`{nearest(name, catalogue)}"
            raise table.error(said, "effects", name)
        for place, entry in enumerate(entries):
            if known is not None and entry["effect"] not in known:
                said = f"no rule is called `{entry['effect']}`, so no page tells of it{nearest(entry['effect'], known)}"
                raise table.error(said, "effects", name, place, at=entry["effect"])
        operation = catalogue.find(name)
        if operation is not None and operation.params is not None:
            names = _IMPLIED | {param.name for param in operation.params}
            for effect in operation.effects:
                _check_parameters(table, name, effect, names)


def _check_parameters(table: Table, name: str, effect: Effect, names: Collection[str]) -> None:
    for condition in effect.when:
        asked = [condition.argument.partition(".")[0]] if condition.predicate not in AROUND else []
        asked += [condition.value] if condition.predicate == "distinct" and condition.value else []
        for one in asked:
            if one not in names:
                said = f"`when`: `{name}` has no parameter `{one}`{nearest(one, names)}"
                raise table.error(said, "effects", name, at=f"{condition.predicate}:{condition.argument}")
