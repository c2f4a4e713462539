"""Objects that are made on the way to a region: what they are given takes the place of what they held.

Of other objects, nobody sees in which order their methods are called, so that they may hold anything that one of them
gave them. `batch = Batch(...); batch.mark_ready()` in front of a region is one order. Where a branch may be left out,
what it gives joins what was there; so it does where an object is made anew with the same arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from graphlint.static.domain.program import Instance
from graphlint.static.syntax import ir
from graphlint.values import UNKNOWN, Value, join, limit_depth

Replace = Callable[[Instance, str, Value], None]


class Recent:
    """Knows what the objects were given that were made since a search began with a function."""

    def __init__(self, objects: dict[Instance, dict[str, Value]], replace: Replace) -> None:
        self.objects = objects
        self.replace = replace
        self.made: dict[Instance, tuple[ir.Call, ir.Code] | None] = {}  # by the call that makes it, if it is but one
        self.ever: dict[Instance, tuple[ir.Call, ir.Code] | None] = {}  # the same, whatever was run since
        self.replaced: list[tuple[Instance, str, Value]] = []  # what was held before, for each time

    def begin(self) -> None:
        """Another function is run: in which order, nobody sees."""
        self._rejoin(self.replaced)
        self.made.clear()
        self.replaced.clear()

    def make(self, instance: Instance, call: ir.Call | None, code: ir.Code) -> None:
        """An object is made by a call in a function, or another one that cannot be told from it."""
        if instance in self.made:
            self._rejoin([entry for entry in self.replaced if entry[0] is instance])
        made = None if call is None else (call, code)
        for known in (self.made, self.ever):
            known[instance] = made if known.get(instance, made) == made else None

    def assign(self, instance: Instance, name: str, value: Value) -> None:
        """An object holds a value from here on, if it was made on the way, and no other is taken for it."""
        if self.made.get(instance) is None:
            return
        held = self.objects[instance].get(name, UNKNOWN)
        if held != value:
            self.replaced.append((instance, name, held))
            self.replace(instance, name, value)

    @property
    def count(self) -> int:
        """How often something was replaced."""
        return len(self.replaced)

    def leave_open(self, begun: int) -> None:
        """What has been replaced since then may not have been."""
        self._rejoin(self.replaced[begun:])

    @contextmanager
    def perhaps(self) -> Iterator[None]:
        """What runs here may be left out."""
        begun = self.count
        yield
        self.leave_open(begun)

    def _rejoin(self, entries: list[tuple[Instance, str, Value]]) -> None:
        for instance, name, held in entries:
            now = self.objects[instance].get(name, UNKNOWN)
            self.replace(instance, name, limit_depth(join(held, now)))
