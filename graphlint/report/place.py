"""Paths and counts of a report in, the words for them out."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Iterator
from pathlib import Path

from graphlint.finding import Condition, Finding, Notice, Region, Related, Span
from graphlint.reading.notebooks import SUFFIX, Notebook, parse

NAMED_PLACES = 5


def shown_path(path: str, base: Path) -> str:
    """The path relative to `base` where it lies under it, with forward slashes."""
    absolute = Path(os.path.normpath(base / path))
    return (absolute.relative_to(base) if absolute.is_relative_to(base) else absolute).as_posix()


def leads_away(path: Path, base: Path) -> bool:
    """Whether a link leads from below `base`, or else from the folder of a file, to a place outside of that."""
    absolute = Path(os.path.normpath(base / path))
    folder = base if absolute.is_relative_to(base) else absolute.parent
    return not absolute.resolve().is_relative_to(folder.resolve())


def shown_place(path: str, line: int, base: Path) -> str:
    """A line of a file, or of a cell of a notebook."""
    cell, line = in_cell(path, line, base)
    return f"{shown_path(path, base)}:{f'cell {cell}:' if cell else ''}{line}"


def in_cell(path: str, line: int, base: Path) -> tuple[int, int]:
    """The cell of a notebook that a line of its code lies in, and the line there; cell 0 in any other file."""
    found = notebook(path, base)
    return (0, line) if found is None else found.place(line)


def notebook(path: str, base: Path) -> Notebook | None:
    """The notebook at a path, if one lies there."""
    if not path.endswith(SUFFIX):
        return None
    try:
        return _read_notebook(base / path, (base / path).stat().st_mtime_ns)
    except (OSError, ValueError):
        return None


@functools.lru_cache(maxsize=16)
def _read_notebook(path: Path, _modified: int) -> Notebook:
    return parse(path.read_bytes())


def in_file(span: Span, base: Path) -> tuple[Span, str]:
    """The span for who knows lines of files alone, and what to say before: one in a notebook stands at its top."""
    cell, line = in_cell(span.path, span.line, base)
    return (Span(span.path, 1), f"cell {cell}, line {line}: ") if cell else (span, "")


def finding_in_file(finding: Finding, base: Path) -> Finding:
    """The finding for who knows lines of files alone."""
    span, said = in_file(finding.span, base)
    fix = None if said else finding.fix
    return dataclasses.replace(finding, span=span, message=f"{said}{finding.message}", fix=fix)


def shown_region(region: Region, base: Path) -> str:
    """What opens the region, and where."""
    entry = f" {region.entry}" if region.entry else ""
    return f"{region.kind}{entry} at {shown_place(region.path, region.line, base)}"


def shown_condition(condition: Condition, base: Path) -> str:
    """What has to hold, and where that is asked."""
    return f"{condition.text} ({shown_place(condition.path, condition.line, base)})"


def shown_related(related: Related, base: Path) -> str:
    """What stands at another place, and where that is."""
    return f"{related.text} ({shown_place(related.path, related.line, base)})"


def told_below(finding: Finding, base: Path) -> Iterator[str]:
    """What there is to say of a finding below its message, in lines."""
    if finding.regions:
        yield f"region: {shown_region(finding.regions[0], base)}"
    for one in finding.when:
        yield f"when: {shown_condition(one, base)}"
    for hop in finding.chain:
        yield f"by way of {shown_place(hop.path, hop.line, base)} in {hop.function}"
    for other in finding.related:
        yield f"see: {shown_related(other, base)}"
    yield f"help: {finding.help}"


def page_command(code: str) -> str:
    """What prints the page of a rule, if it is one that everybody has."""
    return f"graphlint rule {code}" if code.startswith("GL") else ""


def shown_notice(notice: Notice, base: Path) -> str:
    """What is said, and the first of the places that it is said of."""
    named = ", ".join(shown_place(span.path, span.line, base) for span in notice.places[:NAMED_PLACES])
    more = f" and {len(notice.places) - NAMED_PLACES} more" if len(notice.places) > NAMED_PLACES else ""
    return f"{notice.message}: {named}{more}" if named else notice.message


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 file`, `2 files`."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"
