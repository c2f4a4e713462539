"""A piece of state in, the statements of the program out that write it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.sources import Scope, State
from graphlint.static.index.module import ClassDefinition, Module
from graphlint.static.writes.stores import UNKNOWN_KEY, Inner, Named, Written, is_of_file, stores_to


class Writers:
    """Finds what writes to state; each piece is looked for once."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.project = evaluator.project
        self._known: dict[tuple[object, str], tuple[Written, ...]] = {}
        self._families: dict[ClassDefinition, tuple[ClassDefinition, ...]] = {}

    def of(self, state: State) -> list[Written]:
        """Everything that writes to a piece of state."""
        key = (state.owner, state.name)
        if key not in self._known:
            self._known[key] = tuple(self._find(state))
        return [one for one in self._known[key] if _may_be(_key_of(one), state.key)]

    def _find(self, state: State) -> Iterator[Written]:
        match state.owner:
            case ClassDefinition() as cls:
                yield from self._of_attribute(cls, state.name)
            case Module() as module:
                yield from self._of_global(module, state.name)
            case Scope(module, first_line):
                for written in stores_to(module, state.name, False):
                    if written.segment.first == first_line and _is_outermost(written):
                        yield written

    # Attributes

    def family(self, cls: ClassDefinition) -> tuple[ClassDefinition, ...]:
        """A class, its bases, and what derives from one of them in their files."""
        known = self._families.get(cls)
        if known is None:
            order = [base for base in self.evaluator.class_order(cls) if isinstance(base, ClassDefinition)]
            modules = dict.fromkeys(base.module for base in order)
            derived = [one for module in modules for one in module.deriving(cls.name)]
            known = self._families[cls] = tuple(dict.fromkeys([*order, *derived]))
        return known

    def _of_attribute(self, cls: ClassDefinition, name: str) -> Iterator[Written]:
        family = self.family(cls)
        homes = dict.fromkeys(one.module for one in family)  # in an order that is the same in every run
        found = [written for module in homes for written in stores_to(module, name, True)]
        yield from (written for written in found if written.is_own and _lies_in(written, family))
        strangers = any(written.is_own and not _lies_in(written, family) for written in found)
        if not strangers:
            yield from (one for one in found if not one.is_own and not _is_of_class(one, family))
        elsewhere = self.project.owning(name) - {module.path for module in homes}
        if strangers or elsewhere:
            return
        for path in self.project.storing(name):
            module = self.project.module_at(path)
            if module not in homes:
                others = (one for one in stores_to(module, name, True) if not one.is_own)
                yield from (one for one in others if not _is_of_class(one, family))

    # Variables of modules

    def _of_global(self, module: Module, name: str) -> Iterator[Written]:
        for written in stores_to(module, name, False):
            store = written.store
            is_local = written.definition is not None and store.name not in store.shared
            if not is_local or (store.form not in ("assign", "augment", "bind") and not _rebinds(written)):
                yield written
        for path in self.project.storing(name):
            user = self.project.module_at(path)
            if user is not module:
                yield from (one for one in stores_to(user, name, True) if _is_of_module(one, module))


def _key_of(written: Written) -> object:
    """The key of what is written; of an item of any item, that is the key which tells it from others."""
    key = written.store.key
    if isinstance(key, Inner):
        return _known(key.key, written.module) if _known(key.outer, written.module) is UNKNOWN_KEY else UNKNOWN_KEY
    return _known(key, written.module)


def _known(key: object, module: Module) -> object:
    """A key; a name is one that it has everywhere if the file defines or imports it."""
    return UNKNOWN_KEY if isinstance(key, Named) and not is_of_file(key.name, module) else key


def _may_be(written: object, read: object) -> bool:
    """Whether items of these keys can be one; what a name stands for may be what another key spells out."""
    is_open = UNKNOWN_KEY in (written, read) or None in (written, read)
    return is_open or written == read or isinstance(written, Named) is not isinstance(read, Named)


def stands_in(module: Module, line: int, family: Iterable[ClassDefinition]) -> bool:
    """Whether a line of a module stands in one of these classes."""
    return any(one.module is module and one.segment.first <= line <= one.segment.last for one in family)


def _lies_in(written: Written, family: tuple[ClassDefinition, ...]) -> bool:
    """Whether a statement stands in one of these classes."""
    return stands_in(written.module, written.store.line, family)


def _is_of_class(written: Written, family: tuple[ClassDefinition, ...]) -> bool:
    """Whether an attribute is written by the name of a class that is none of these: `Other.scale = value`."""
    holder = written.store.target.value if isinstance(written.store.target, ast.Attribute) else None
    known = written.module.index.classes.get(holder.id) if isinstance(holder, ast.Name) else None
    return known is not None and known not in family


def _is_outermost(written: Written) -> bool:
    """Whether what is written is a variable of the outermost function, and not one of a function inside of it."""
    store = written.store
    return not store.inner or store.name in store.shared or store.form not in ("assign", "augment", "bind")


def _rebinds(written: Written) -> bool:
    """Whether a function has a variable of its own of the name whose items it writes."""
    others = stores_to(written.module, written.store.name, False)
    return any(
        one.segment == written.segment
        and one.store.form in ("assign", "bind")
        and one.store.name not in one.store.shared
        for one in others
    )


def _is_of_module(written: Written, module: Module) -> bool:
    """Whether an attribute that is written is one of a module, by the name that it is imported under."""
    target = written.store.target
    if not (isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)):
        return False
    imported = written.module.index.imports.get(target.value.id, ())
    return any(".".join(filter(None, (one.module, one.member))) == module.name for one in imported)
