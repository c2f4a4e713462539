"""Contracts of graphs in, a file of them out; and what is otherwise now than in such a file.

A file names neither lines nor addresses, so that it is the same on the next machine and after an edit elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphlint.contract import Buffer, Contract, HostValue, Tensor, distinct
from graphlint.errors import UsageError
from graphlint.finding import Finding, Notice, Span
from graphlint.report.place import shown_path
from graphlint.rulebook import Rulebook

CHANGED = "changed-contract"
_FORMAT = 1
_ABOUT = "contracts of CUDA graphs, written by `graphlint verify --contract`"
_PARTS = {
    "buffers": "buffer",
    "values": "value",
    "outputs": "output",
    "shares": "pool shared with",
    "workspaces": "workspace",
    "draws": "draw",
}
_REFRESHED = {"all": ", refreshed for every replay", "some": ", refreshed for some replays"}


@dataclass(frozen=True, slots=True)
class Change:
    """How a graph is not what was written down: what it is about, and where that stands."""

    about: str
    said: str
    span: Span


class Snapshot:
    """The contracts that a file holds; those of targets that it does not know are added. Raises UsageError."""

    def __init__(self, file: Path, rulebook: Rulebook) -> None:
        self.file = file
        self.rule = rulebook.for_effect(CHANGED)
        self.known = read(file) if file.exists() else {}
        self._new: dict[str, dict[str, Any]] = {}

    def compare(self, target: str, contracts: Sequence[Contract]) -> Iterator[Finding]:
        """A finding for each way in which a graph of a target is not as it was written down."""
        file, colon, rest = target.partition(":")
        folder = self.file.absolute().parent
        name = shown_path(str(Path(file).absolute()), folder) + colon + rest if file.endswith(".py") else target
        if name not in self.known:
            self._new |= {name: {one.name: _entry(one) for one in contracts}} if contracts else {}
            return
        for change in changes(self.known[name], contracts, file):
            message = self.rule.message.format(operation=change.about)
            yield self.rule.finding(change.span, message, said=change.said)

    def end(self) -> tuple[Notice, ...]:
        """Write down what nothing was known of, and say so. Raises UsageError."""
        if not self._new:
            return ()
        document = {"about": _ABOUT, "format": _FORMAT, "targets": self.known | self._new}
        try:
            self.file.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write the contract to {self.file}: {error.strerror}") from error
        names = ", ".join(f"`{name}`" for name in self._new)
        return (Notice(f"there was no contract of {names} to compare with, so it was added to {self.file}"),)


def read(file: Path) -> dict[str, dict[str, Any]]:
    """The entries of a file by target and graph. Raises UsageError."""
    try:
        document = json.loads(file.read_text("utf-8"))
        targets = document["targets"]
        entries = [entry for graphs in targets.values() for entry in graphs.values()]
        if document["format"] != _FORMAT or not all(isinstance(one[part], dict) for one in entries for part in _PARTS):
            raise ValueError("of another format")
    except OSError as error:
        raise UsageError(f"cannot read the contract in {file}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"{file} holds no contract: delete it, and the next run writes it anew") from error
    return dict(targets)


def _entry(contract: Contract) -> dict[str, Any]:
    """What is written down of a graph: each part by name, without places."""
    return {
        "buffers": {name: _buffer(one) for name, one in _named(contract.buffers)},
        "values": {_value(one): one.value for one in contract.own_values},
        "outputs": {name: one.type for name, one in _named(contract.outputs)},
        "shares": dict.fromkeys(contract.shares, "memory"),
        "workspaces": {one.name: one.lies for one in contract.workspaces},
        "draws": {"random numbers": "of torch"} if contract.draws else {},
    }


def _named(parts: Sequence[Tensor]) -> Iterator[tuple[str, Any]]:
    """Each part by its name; those without one by what they are."""
    return zip(distinct(one.name or f"without a name: {one.type}" for one in parts), parts, strict=True)


def _value(value: HostValue) -> str:
    return f"{value.name} in {value.function}"


def _buffer(buffer: Buffer) -> str:
    """What a contract says of a buffer, in words that a diff shows."""
    place = ", on the host" if buffer.is_host else ""
    maker = f", made by {buffer.maker}" if buffer.maker else ""
    return f"{buffer.kind}, {buffer.type}{place}{maker}, {buffer.access}{_REFRESHED.get(buffer.refreshed, '')}"


def changes(known: dict[str, Any], contracts: Iterable[Contract], file: str) -> Iterator[Change]:
    """How the graphs of a target, which lies in a file, are not what is known of them."""
    present = {contract.name: contract for contract in contracts}
    for name in known:
        if name not in present:
            yield Change(name, "it is not captured any more", Span(file, 1))
    for name, contract in present.items():
        region = Span(contract.path, contract.line)
        if name not in known:
            yield Change(name, "nothing is written down of it", region)
            continue
        places, entry = _places(contract), _entry(contract)
        for part, noun in _PARTS.items():
            before, now = known[name][part], entry[part]
            for one in dict.fromkeys((*before, *now)):
                if before.get(one) != now.get(one):
                    said = f"{noun} of {name}: {before.get(one, 'not there')} before, {now.get(one, 'gone')} now"
                    yield Change(one, said, places.get((part, one), region))


def _places(contract: Contract) -> dict[tuple[str, str], Span]:
    """Where each part is used: the first line that reads or writes a buffer or hands it over, or reads a value."""
    used = {("buffers", name): one.uses[0] for name, one in _named(contract.buffers) if one.uses}
    read = {("values", _value(one)): one for one in contract.own_values}
    handed = {("workspaces", one.name): one for one in contract.workspaces}
    return {key: Span(one.path, one.line) for key, one in (used | read | handed).items()}
