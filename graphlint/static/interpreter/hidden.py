"""A class and a method of it in, what the program gives objects of that class in its place out.

`wrapper.plan = partial(fast_plan, wrapper)` behind a warm-up hides the method of its class from then on. Of an object
that an annotation speaks of, nobody sees whether it is one of these: nothing speaks for either.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from graphlint.static.index.module import ClassDefinition, Definition
from graphlint.static.index.parts import stores
from graphlint.static.interpreter.constructions import BUDGET, MAX_SITES, WITH_CODE
from graphlint.values import UNKNOWN, Value, members, union

if TYPE_CHECKING:
    from graphlint.static.interpreter.interpreter import Interpreter


class Hidden:
    """Knows what stands in for methods, once a region calls them on objects that are promised to it."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self.known: dict[tuple[ClassDefinition, str], tuple[Value, ...]] = {}

    def by(self, cls: ClassDefinition, name: str) -> tuple[Value, ...]:
        """What objects of a class are given under the name of a method, by whoever made them."""
        if (cls, name) not in self.known:
            self.known[cls, name] = ()  # while that is run
            with self.interpreter.aside(BUDGET):
                for definition in islice(self._givers(name), MAX_SITES):
                    self.interpreter.instances.constructions.run(definition)
            heap = self.interpreter.heap
            made = [one for one in heap.objects if one.cls is cls and one.arguments and (one, name) in heap.written]
            given = union(heap.objects[one].get(name, UNKNOWN) for one in made) if made else UNKNOWN
            self.known[cls, name] = tuple(member for member in members(given) if isinstance(member, WITH_CODE))
        return self.known[cls, name]

    def _givers(self, name: str) -> dict[Definition, None]:
        """The functions that give an attribute of that name to another object than their own."""
        project = self.interpreter.project
        modules = map(project.module_at, project.storing(name))
        found = (part.definition for one in modules for part, store in stores(one, name) if not part.is_own(store))
        return dict.fromkeys(definition for definition in found if definition is not None)
