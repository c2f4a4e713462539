"""A function of the program in, the calls in it out, and whether one may be a call of another function.

No types are asked: what a method is called on is known by its name alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from graphlint.static.index.module import Definition, Module, Segment
from graphlint.static.writes.called import Branches, Called, branches_at, calls_in, imports_in


@dataclass(frozen=True, slots=True)
class Body:
    """The statements of a function, or one at the top level of a module with all others there."""

    module: Module
    definition: Definition | None
    inner: tuple[str, ...] = ()

    @property
    def qualname(self) -> str:
        """The name of the function."""
        outer = self.definition.qualname if self.definition is not None else "<module>"
        return ".<locals>.".join((outer, *self.inner))

    @property
    def called_as(self) -> str:
        """The name that stands where it is called."""
        if self.inner:
            return self.inner[-1]
        assert self.definition is not None
        path = self.definition.qualname.split(".")
        return path[-2] if len(path) > 1 and path[-1].startswith("__") else path[-1]

    def branches_at(self, line: int) -> Branches:
        """The branches that a line of it stands in."""
        if self.definition is None:
            return ()
        segment = self.definition.segment
        return branches_at(self.module.source_of(segment), segment.first - 1, line)

    def calls(self) -> Iterator[Called]:
        """The calls that stand in it."""
        segments = [self.definition.segment] if self.definition is not None else self.module.index.statements
        for segment in segments:
            for called in calls_in(self.module.source_of(segment), segment.first - 1):
                if called.inner == self.inner:
                    yield called


def may_call(module: Module, segment: Segment, call: Called, body: Body) -> bool:
    """Whether a call can be one of a function: one at the top level of a module is called by a name for it, or as an
    attribute of a name for its module, and not as a method.
    """
    if body.inner or body.definition is None or "." in body.definition.qualname:
        return True
    if not call.owner and module is body.module:
        return True
    name = call.owner or call.name
    if name in module.index.imports or name in imports_in(module.source_of(segment)):
        return True
    return (not call.owner and bool(module.index.stars)) or name == body.module.name.rpartition(".")[2]
