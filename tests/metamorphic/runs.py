"""An edit in, what `graphlint check` says of every program before and after it out."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from metamorphic.sources import Change, Edited, Source, Sources, edited
from proof.programs import Place, Program, all_programs
from proof.reports import RULEBOOK, expected

from graphlint import static
from graphlint.config import Config

AT_ONCE = 50  # programs in one check


@dataclass(frozen=True)
class Variant:
    """A program after an edit; `number` tells it from the others."""

    program: Program
    number: int
    sources: Sources
    files: dict[str, Edited]

    @property
    def stands_alone(self) -> bool:
        """Whether other files in the same check could be taken for its own, or are looked at in another way."""
        return len(self.files) > 1 or bool(self.program.rules)

    @property
    def has_same_tree(self) -> bool:
        """Whether Python itself sees no difference."""
        trees = ((source.tree, ast.parse(self.files[source.path].text)) for source in self.sources)
        return all(ast.dump(before) == ast.dump(after) for before, after in trees)

    def write(self, folder: Path) -> Path:
        """Lay the files out in a folder of their own."""
        inside = folder / str(self.number)
        for path, file in self.files.items():
            (inside / path).parent.mkdir(parents=True, exist_ok=True)
            (inside / path).write_text(file.text, "utf-8")
        return inside

    def difference(self, found: Iterable[Place]) -> str:
        """What is found too little and too much, statement by statement of the program as it was; empty if nothing."""
        lines = {source.path: source.statement_lines for source in self.sources}
        wanted = Counter((path, lines[path].get(line, line), code) for path, line, code in expected(self.program))
        origins = ((*self.files[path].origins[line - 1], code) for path, line, code in found)
        got = Counter((path, lines[path].get(line, line), code) for path, line, code in origins)
        lost, new = sorted((wanted - got).elements()), sorted((got - wanted).elements())
        return f"lost {lost}, new {new}" if lost or new else ""


@cache
def sources_of(program: Program) -> Sources:
    """The files of a program; none if one of them cannot be parsed."""
    try:
        return tuple(Source(path, text) for path, text in program.files)
    except SyntaxError:
        return ()


def variants(edit: Callable[[Sources], Iterator[Change]]) -> list[Variant]:
    """The programs in which an edit finds something to do, after it."""
    found = []
    for number, program in enumerate(all_programs()):
        sources = sources_of(program)
        changes = list(edit(sources))
        if changes:
            found.append(Variant(program, number, sources, edited(sources, changes)))
    return found


def differences(chosen: Iterable[Variant], folder: Path) -> dict[str, str]:
    """The programs whose findings an edit has changed, by name, with what is different."""
    found = {}
    for group in _groups(chosen):
        for variant, places in zip(group, _checked(group, folder), strict=True):
            difference = variant.difference(places)
            if difference:
                found[variant.program.name] = difference
    return found


def _groups(chosen: Iterable[Variant]) -> Iterator[list[Variant]]:
    together: list[Variant] = []
    for variant in chosen:
        if variant.stands_alone:
            yield [variant]
        else:
            together.append(variant)
    for start in range(0, len(together), AT_ONCE):
        yield together[start : start + AT_ONCE]


def _checked(group: list[Variant], folder: Path) -> Iterator[list[Place]]:
    """The findings in each of some programs, which are checked together."""
    roots = [variant.write(folder) for variant in group]
    rules = group[0].program.rules
    config = Config(root=folder, select=rules, allocations="strict" if rules else "default")
    found: defaultdict[str, list[Place]] = defaultdict(list)
    for one in static.check(roots, config, RULEBOOK).findings:
        root, _, path = Path(one.span.path).relative_to(folder).as_posix().partition("/")
        found[root].append((path, one.span.line, one.code))
    for root in roots:
        yield sorted(found[root.name])
