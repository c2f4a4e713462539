"""What the program asserts of its captures in, whether what is assumed on a way goes against it out.

`assert not (args.use_graphs and args.unpad)` says that nothing is captured where `unpad` is set; `if args.unpad: assert
not args.use_graphs` and `if args.use_graphs and args.unpad: raise ValueError` say the same. Flags are known by their
last names, since a configuration is handed on under many.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property

from graphlint.reading.questions import HoldsLine
from graphlint.rulebook.lexicon import Lexicon
from graphlint.static.index.project import Project
from graphlint.static.syntax.asserted import Promise, is_broken, promises_in

_WORD = "graph"
_ASKING = HoldsLine(_WORD, rf"[ \t]*(assert|if|elif)\b.*{_WORD}")
_NAME = re.compile(r"\w+")


class Promises:
    """What the files of a program assert of flags by which it captures."""

    def __init__(self, project: Project, lexicon: Lexicon) -> None:
        self.project = project
        self.captures = lexicon.host_state["captures"]

    def forbid(self, said: Mapping[str, bool]) -> bool:
        """Whether nothing is captured where flags of these names are so."""
        return any(is_broken(one, self._known(said)) for one in self._of(said))

    def _known(self, said: Mapping[str, bool]) -> dict[str, bool]:
        return {**dict.fromkeys(self._flags, True), **said}

    def _of(self, said: Mapping[str, bool]) -> Iterator[Promise]:
        for names, promise in self._all:
            if not names.isdisjoint(said):
                yield promise

    @cached_property
    def _flags(self) -> frozenset[str]:
        return frozenset(name for names, _ in self._all for name in names if self.captures.match(name))

    @cached_property
    def _all(self) -> list[tuple[frozenset[str], Promise]]:
        """Every promise that speaks of such a flag, with the names in it."""
        found = []
        for path in self.project.answering(_ASKING):
            module = self.project.module_at(path)
            segments = [one.segment for one in module.index.all_functions()]
            for segment in (*segments, *module.index.statements):
                source = module.source_of(segment)
                for names, promise in promises_in(source) if self._may_promise(source) else ():
                    if any(map(self.captures.match, names)):
                        found.append((names, promise))
        return found

    def _may_promise(self, source: str) -> bool:
        """Whether a segment may assert something of such a flag: which saves parsing most of them."""
        is_said = _WORD in source and ("assert" in source or "raise" in source)
        return is_said and any(map(self.captures.match, set(_NAME.findall(source))))
