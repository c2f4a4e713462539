"""A condition that an object is of a class in, whether the program names that class nowhere, but its siblings, out.

An annotation promises a base class, and a call on it may go to any class that derives from it. One that nobody makes,
imports, or has in a table is what nobody hands in, as long as there is one that somebody names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from graphlint.reading.questions import HoldsAny
from graphlint.static.domain.assumptions import Assumption
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.index.module import ClassDefinition
from graphlint.static.index.parts import is_word

_OF_CLASS = re.compile(r"isinstance\(\{\}, (\w+)\)")
_REGISTERING = "__init_subclass__"


class Unnamed:
    """Knows which classes of a program nothing in it names."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._order = evaluator.class_order
        self._project = evaluator.project
        self._known: dict[str, bool] = {}

    def denies(self, assumption: Assumption) -> bool:
        """Whether an object is assumed to be of a class that nothing names."""
        asked = _OF_CLASS.fullmatch(assumption.form)
        return asked is not None and self._is_nobodys(asked[1])

    def _is_nobodys(self, name: str) -> bool:
        if name not in self._known:
            modules = list(map(self._project.module_at, self._project.answering(_says(name))))
            cls = modules[0].index.classes.get(name) if len(modules) == 1 else None
            self._known[name] = cls is not None and not self._is_named(cls) and any(map(self._is_named, self._kin(cls)))
        return self._known[name]

    def _kin(self, cls: ClassDefinition) -> Iterator[ClassDefinition]:
        """The classes that a class derives from, and the others that derive from them."""
        for base in self._order(cls):
            if isinstance(base, ClassDefinition) and base is not cls:
                for module in self._project.subclass_modules(base.name):
                    yield from (one for one in module.deriving(base.name) if one is not cls)

    def _is_named(self, cls: ClassDefinition) -> bool:
        """Whether anything outside of a class says its name, or something collects such classes by itself."""
        bases = [base for base in self._order(cls) if isinstance(base, ClassDefinition)]
        if cls.decorators or any(_REGISTERING in base.methods for base in bases):
            return True
        first, last = cls.segment.first, cls.segment.last
        return any(
            module is not cls.module or any(not first <= line <= last for line in module.lines_with(cls.name, is_word))
            for module in map(self._project.module_at, self._project.answering(_says(cls.name)))
        )


def _says(name: str) -> HoldsAny:
    return HoldsAny([name], rf"\b{name}\b")
