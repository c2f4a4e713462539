"""Files in, modules found by name and indexed by definition out; nothing is parsed before something asks for it."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import TypeAlias

from graphlint.static.index.module import Module
from graphlint.static.index.roots import Roots

Problems: TypeAlias = dict[Path, tuple[str, int]]  # what is wrong with a file, and at which line

_CLASS_BASES = re.compile(rb"class\s+\w+\(([^)]*)\)")  # begins with a plain word, which is found ten times faster
_STORE = re.compile(rb"\.(?<!self\.)(?<!cls\.)(\w+)[ \t]*[-+*/|&]?=(?!=)")
_OWN = re.compile(rb"\bself\.(\w+)[ \t]*(?::[^=\n]+)?=(?!=)")
_BASE = re.compile(rb"(\w+)\s*(?:\[|,|$)")


class Project:
    """Finds modules by dotted name below the folders that are checked and the packages that are followed."""

    def __init__(self, files: Iterable[Path]) -> None:
        self.files = list(files)
        self.roots = Roots(self.files, self.raw)
        self.modules: dict[str, Module | None] = {}
        self.by_path: dict[Path, Module] = {}
        self.unreadable: dict[Path, str] = {}
        self._bases: dict[bytes, list[Path]] | None = None

    def raw(self, path: Path) -> bytes | None:
        """What stands in a file; None if it cannot be read. Kept by nobody, since memory costs more than reading."""
        try:
            with path.open("rb", buffering=0) as file:
                return file.readall()
        except OSError as problem:
            self.unreadable[path] = f"cannot be read: {problem.strerror or problem}"
        return None

    def problems(self) -> Problems:
        """Why, and at which line, files could not be read or parsed when they were needed."""
        found: Problems = {path: (text, 1) for path, text in self.unreadable.items()}
        return found | {path: m.problem for path, m in self.by_path.items() if m.problem is not None}

    def add_installed(self, package: str | Path) -> None:
        """Make an installed package, or one in a folder, followable. Raises LookupError if there is none."""
        folder = Path(package)
        if folder.is_dir():
            self.roots.add(folder.resolve())
            return
        name = str(package).partition(".")[0]
        spec = importlib.machinery.PathFinder.find_spec(name, sys.path)
        if spec is None:
            raise LookupError(str(package))
        origin = Path(spec.origin).parent if spec.origin else Path(next(iter(spec.submodule_search_locations or ())))
        is_module = spec.submodule_search_locations is None
        self.roots.add_one(origin if is_module else origin.parent, name)

    def expect(self, pattern: str) -> None:
        """Let the modules that a user means by a dotted name, which may end in a glob, be called so."""
        self.roots.expect(".".join(takewhile(str.isidentifier, pattern.split("."))))

    def module_at(self, path: Path) -> Module:
        """The module of a file: one, whatever names it is found by."""
        known = self.by_path.get(path)
        if known is None:
            known = self.by_path[path] = Module(self.roots.name_of(path), path)
            self.modules[known.name] = self.modules.get(known.name) or known
        return known

    def module(self, name: str) -> Module | None:
        """The module of that dotted name, if its source lies below a root; a folder without __init__ has none."""
        if name not in self.modules:
            path = self.roots.locate(name)
            self.modules[name] = self.module_at(path) if path is not None else None
        return self.modules[name]

    def subclass_modules(self, name: str) -> Iterator[Module]:
        """The modules of the checked files in which a class statement names a class among its bases."""
        if self._bases is None:
            self._bases = {}
            for path in self.files:
                bases = b",".join(_CLASS_BASES.findall(self.raw(path) or b""))
                for word in set(_BASE.findall(bases)):
                    self._bases.setdefault(word, []).append(path)
        for path in self._bases.get(name.encode(), ()):
            yield self.module_at(path)

    def naming(self, name: str) -> Iterator[Module]:
        """The modules of the checked files in which a name stands somewhere."""
        for path in self.files:
            if name.encode() in (self.raw(path) or b""):
                yield self.module_at(path)

    def is_set_from_outside(self, attribute: str) -> bool:
        """Whether an attribute of that name is assigned to anything but the object that a method is called on."""
        return attribute.encode() in self._stored

    def storing(self, attribute: str) -> Sequence[Path]:
        """The files that assign to an attribute of that name of anything but the object of a method."""
        return self._stored.get(attribute.encode(), ())

    def owning(self, attribute: str) -> Set[Path]:
        """The files in which methods assign to an attribute of that name of their own object."""
        return self._owned.get(attribute.encode(), frozenset())

    @cached_property
    def _stored(self) -> Mapping[bytes, list[Path]]:
        """The attributes that are assigned from outside, with the files that do it."""
        return self._files_by(_STORE)

    @cached_property
    def _owned(self) -> Mapping[bytes, Set[Path]]:
        return {name: frozenset(paths) for name, paths in self._files_by(_OWN).items()}

    def _files_by(self, pattern: re.Pattern[bytes]) -> dict[bytes, list[Path]]:
        """The checked files by the names that a pattern finds in them."""
        found: dict[bytes, list[Path]] = {}
        for path in self.files:
            for name in set(pattern.findall(self.raw(path) or b"")):
                found.setdefault(name, []).append(path)
        return found

    def sharing(self, module: Module, name: str, is_attribute: bool) -> Iterator[tuple[Module, str]]:
        """Who may have what a module has under a name, and how it is spelt there, with a dot before an attribute.

        That is the module itself, the one that it has the name from, and whoever imports from one of them.
        """
        homes = {module: name}
        for imported in module.index.imports.get(name, ()):
            home = self.module(imported.module)
            if home is not None and imported.member is not None:
                homes[home] = imported.member
        for home, member in homes.items():
            yield home, member
            yield home, f".{member}"
        index = module.index
        if not (is_attribute or index.stars or name in index.imports or name in index.assignments):
            return  # a name of a function, which no module has
        for path in self.files:
            raw = self.raw(path) or b""
            for home, member in homes.items():
                names_home = home.is_package or home.name.rpartition(".")[2].encode() in raw
                if names_home and member.encode() in raw and (user := self.module_at(path)) not in homes:
                    yield from ((user, spelling) for spelling in _spellings(user, home.name, member))

    def has_package(self, name: str) -> bool:
        """Whether a module or a folder of modules has that dotted name."""
        return self.module(name) is not None or self.roots.has_folder(name)


def _spellings(user: Module, home: str, member: str) -> Iterator[str]:
    """How a module that imports from another one may spell a member of it, or an attribute of what it imports."""
    for bound, imports in user.index.imports.items():
        for imported in imports:
            origin = ".".join(filter(None, (imported.module, imported.member)))
            if imported.module == home and imported.member == member:
                yield bound
            elif imported.module == home or f"{home}.".startswith(f"{origin}."):
                yield f".{member}"
