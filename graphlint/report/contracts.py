"""Contracts of graphs in, tables for a terminal out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from graphlint.contract import Buffer, Contract
from graphlint.finding import Report
from graphlint.report.escaping import escaped
from graphlint.report.place import counted, shown_place

NAMELESS = "(no name)"
_BEGINNING = "  "


def tables(report: Report, base: Path) -> Iterator[str]:
    """Each graph with what it depends on."""
    return ("\n".join(lines(contract, base)) for target in report.targets for contract in target.contracts)


def lines(contract: Contract, base: Path) -> Iterator[str]:
    """Parameters that are read together, all else one a line."""
    place = shown_place(contract.path, contract.line, base)
    counts = f"{counted(contract.nodes, 'node')}, {counted(contract.replays, 'replay')}"
    yield escaped(f"contract of {contract.name} at {place}: {counts}")
    read = [one for one in contract.buffers if _is_plain(one)]
    if read:
        size = in_units(sum(one.size for one in read))
        yield f"{_BEGINNING}weights: {counted(len(read), 'parameter')}, {size}, read"
    rows = [row(contract, one, base) for one in contract.buffers if not _is_plain(one)]
    rows += [("output", one.name or NAMELESS, one.type, in_units(one.size), "") for one in contract.outputs]
    for one in contract.workspaces:
        handed = f"handed to it at {shown_place(one.path, one.line, base)}, lies {one.lies}"
        rows.append(("workspace", one.name, "", "", handed))
    for value in contract.own_values:
        rows.append(("value", value.name, value.value, "", shown_place(value.path, value.line, base)))
    yield from aligned(rows)
    if others := len(contract.values) - len(contract.own_values):
        yield f"{_BEGINNING}and {counted(others, 'value')} that installed packages read"
    if contract.draws:
        yield f"{_BEGINNING}draws random numbers"
    if contract.shares:
        yield escaped(f"{_BEGINNING}shares its pool with {', '.join(contract.shares)}")


def _is_plain(buffer: Buffer) -> bool:
    """Whether there is no more to say of a buffer than of other parameters."""
    return buffer.kind == "weight" and buffer.access == "read" and not buffer.is_host


def row(contract: Contract, buffer: Buffer, base: Path) -> tuple[str, ...]:
    what = f"{'host ' if buffer.is_host else ''}{buffer.type}"
    return buffer.kind, buffer.name or NAMELESS, what, in_units(buffer.size), ", ".join(told(contract, buffer, base))


def told(contract: Contract, buffer: Buffer, base: Path) -> Iterator[str]:
    """What the graph does with a buffer, where first, and who writes it between replays."""
    if buffer.maker:
        yield f"made by {buffer.maker}"
    first = f" at {shown_place(buffer.uses[0].path, buffer.uses[0].line, base)}" if buffer.uses else ""
    yield f"{buffer.access}{first}"
    for one in buffer.refreshes:
        place = shown_place(one.path, one.line, base)
        yield f"written before {one.replays} of {contract.replays} replays at {place} on {one.stream}"
    if (buffer.kind == "constant" or buffer.maker) and not buffer.refreshes and contract.replays:
        yield "written by nobody"


def aligned(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """The rows as columns, each as wide as its longest text."""
    texts = [tuple(escaped(" ".join(text.split())) for text in row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for row in texts:
        yield _BEGINNING + "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()


def in_units(size: int) -> str:
    """Bytes, for a reader."""
    units = ("B", "KiB", "MiB", "GiB")
    power = min(max(size.bit_length() - 1, 0) // 10, len(units) - 1)
    return f"{size} B" if not power else f"{size / 1024**power:.1f} {units[power]}"
