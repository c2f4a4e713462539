"""Files in, the folders out that Python would import them from, and what their modules are called from there.

A folder without `__init__.py` is a package as well, if the folder above is on the path. Nothing but the program tells
whether it is, by what it imports and how it names its modules.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain, islice, takewhile
from pathlib import Path
from typing import Protocol

from graphlint.reading import reads
from graphlint.reading.notebooks import SUFFIX as NOTEBOOK
from graphlint.reading.questions import Answer, Imports, Question

MAX_LEVELS = 6  # folders without __init__.py, one in the other, in the name of a module
MAX_WITNESSES = 100  # files that are asked what they import
PROJECT_FILES = (".git", "pyproject.toml", "setup.cfg", "setup.py")  # the folder of these is no package

_IMPORTS = Imports()
_TEST = re.compile(r"conftest|test_.*|(.*_)?tests?(_(utils?|utilities|helpers?|common|cases?|data))?|testing")


def is_test(module: str) -> bool:
    """Whether a module is one of tests by its name, or by that of a folder: `tests`, `test_model`, `op_test_utils`."""
    return any(_TEST.fullmatch(part) for part in module.split("."))


class Ask(Protocol):
    """What a file answers to a question."""

    def __call__(self, path: Path, question: Question[Answer], /) -> Answer: ...


class Roots:
    """The folders that dotted names begin below: those above the packages, and those that the program itself tells."""

    def __init__(self, files: Sequence[Path], ask: Ask, project: Path | None = None) -> None:
        """Let names begin where the files lie; the folder of a `project` is one before a file of it says so."""
        self.files = files
        self.ask = ask
        self.project = project
        self.folders: dict[Path, None] = {}
        self._only: dict[Path, set[str]] = {}  # the packages below a folder, where not all of them are looked at
        self._packages: dict[Path, bool] = {}
        self._projects: dict[Path, bool] = {}
        self._entries: dict[Path, reads.Folder] = {}
        self._bases: dict[Path, Path] = {}
        for folder in dict.fromkeys(file.parent for file in files):
            self.add(folder)
        self.checked = tuple(self.folders)

    def add(self, folder: Path) -> None:
        """Let names begin above the package that a folder belongs to, or in the folder if it is none.

        The folder of a project may have an `__init__.py` and be no package: names begin there as well.
        """
        above = self.above_package(folder)
        self.folders.setdefault(above)
        outermost = above.joinpath(*folder.relative_to(above).parts[:1])
        if outermost not in self._projects:
            self._projects[outermost] = self._is_project(outermost)
        if self._projects[outermost]:
            self.folders.setdefault(outermost)

    def add_one(self, folder: Path, name: str) -> None:
        """Let the names of one package begin in a folder, which may hold many others."""
        if folder not in self.folders:
            self._only[folder] = set()
            self.folders[folder] = None
        if folder in self._only:
            self._only[folder].add(name)

    def above_package(self, folder: Path) -> Path:
        """The nearest folder above that is not part of a package."""
        while self._is_package(folder):
            folder = folder.parent
        return folder

    def name_of(self, path: Path) -> str:
        """The dotted name of the module in a file."""
        file = path.relative_to(self._base(self.above_package(path.parent)))
        if path.suffix == NOTEBOOK:
            return ".".join(file.parts)  # which nobody imports
        parts = list(file.with_suffix("").parts)
        if parts[-1] == "__init__" and len(parts) > 1:
            parts.pop()
        return ".".join(parts)

    def locate(self, name: str) -> Path | None:
        """The file of a module, if it lies below one of the folders; a folder without __init__ has none."""
        parts = name.split(".")
        for root in self._beginning(parts[0]):
            path = _file(root, parts)
            if path is not None:
                self._bases.setdefault(self.above_package(path.parent), root)
                self.folders.setdefault(root)
                return path
        return None

    def has_folder(self, name: str) -> bool:
        """Whether a folder of modules has that dotted name."""
        parts = name.split(".")
        return any(reads.is_folder(root.joinpath(*parts)) for root in self._beginning(parts[0]))

    def expect(self, name: str) -> None:
        """Let names begin where one that the user gives a module, or a folder of modules, does."""
        parts = tuple(name.split("."))
        for base in () if self.locate(name) is not None else self._namespaces.get(parts[0], ()):
            for root in self.checked:
                outer = root.relative_to(base).parts if root.is_relative_to(base) else ()
                if outer and all(one == other for one, other in zip(outer, parts, strict=False)):
                    self._bases.setdefault(root, base)
                    self.folders.setdefault(base)

    def _beginning(self, name: str) -> Iterator[Path]:
        """The folders that a dotted name may begin in, by its first part."""
        known = (root for root in self.folders if name in self._only.get(root, (name,)) and self._holds(root, name))
        return chain(known, self._namespaces.get(name, ()))

    @cached_property
    def _namespaces(self) -> dict[str, list[Path]]:
        """Where names would begin if folders above the packages were packages, by the first of the folder's name."""
        found: dict[str, list[Path]] = {}
        for root in self.checked:
            for base in self._possible(root):
                places = found.setdefault(root.relative_to(base).parts[0], [])
                if base not in places:
                    places.append(base)
        return found

    def _possible(self, root: Path) -> Iterator[Path]:
        """The folders above that Python may import what lies below a folder from, the nearest first.

        The folder of a project is none of these packages, unless it has an `__init__.py`.
        """
        for base in islice(root.parents, MAX_LEVELS):
            inner = root.relative_to(base).parts[0]
            if not inner.isidentifier() or (self._is_project(base / inner) and not self._is_package(base / inner)):
                return
            if not self._is_package(base):
                yield base

    def _base(self, root: Path) -> Path:
        """The folder that the names of what lies below a folder above packages begin in, by what is imported there."""
        known = self._bases.get(root)
        if known is None:
            possible = tuple(self._possible(root))
            told = (self._told(root, possible, path) for path in self._witnesses(root, possible))
            known = self._bases[root] = next(filter(None, told), root)
            self.folders.setdefault(known)
        return known

    def _witnesses(self, root: Path, possible: Sequence[Path]) -> Iterator[Path]:
        """Some of the files below a folder, and of those that lie in the folders above."""
        first = bisect_left(self.files, f"{root}{os.sep}", key=str)
        below = takewhile(lambda path: root in path.parents, islice(self.files, first, None))
        yield from islice(below if possible else (), MAX_WITNESSES)
        beside = (path for base in possible for path in self._files_in.get(base, ()))
        yield from islice(beside, MAX_WITNESSES)

    @cached_property
    def _files_in(self) -> dict[Path, list[Path]]:
        found: dict[Path, list[Path]] = {}
        for path in self.files:
            found.setdefault(path.parent, []).append(path)
        return found

    def _told(self, root: Path, possible: Sequence[Path], path: Path) -> Path | None:
        """The folder that a file imports what lies in a folder above packages from, if it does."""
        for dots, module, member, whole in self.ask(path, _IMPORTS):
            if dots:
                package = _above(path, len(dots))
                found = (base for base in possible if package.is_relative_to(base) and package != base)
                if root.is_relative_to(package) and (base := next(found, None)) is not None:
                    return base
                continue
            parts = tuple((whole or f"{module}.{member}").split("."))
            for base in possible:
                outer = root.relative_to(base).parts
                if len(parts) > len(outer) and parts[: len(outer)] == outer and self._holds(root, parts[len(outer)]):
                    return base
        return None

    def _is_project(self, folder: Path) -> bool:
        return folder == self.project or any(reads.exists(folder / name) for name in PROJECT_FILES)

    def _is_package(self, folder: Path) -> bool:
        known = self._packages.get(folder)
        if known is None:
            inside = folder.name.isidentifier() and reads.is_file(folder / "__init__.py")
            # A folder without __init__.py between packages belongs to them: large trees forget one now and then.
            known = inside or (folder.parent != folder and reads.is_file(folder.parent / "__init__.py"))
            self._packages[folder] = known
        return known

    def _holds(self, root: Path, top: str) -> bool:
        entries = self._entries.get(root)
        if entries is None:
            entries = self._entries[root] = reads.Folder(root)
        return any(name in entries for name in (top, f"{top}.py", f"{top}{NOTEBOOK}"))


def _above(path: Path, levels: int) -> Path:
    """The package that so many dots mean in a file."""
    return path.parents[min(levels, len(path.parents)) - 1]


def _file(root: Path, parts: Sequence[str]) -> Path | None:
    base = root.joinpath(*parts)
    candidates = [base / "__init__.py", base.with_name(base.name + ".py")]
    if f".{parts[-1]}" == NOTEBOOK:
        candidates.append(base.parent.with_suffix(NOTEBOOK))
    for candidate in candidates:
        if reads.is_file(candidate):
            return candidate
    return None
