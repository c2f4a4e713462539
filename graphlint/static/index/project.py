"""Files in, modules found by name and indexed by definition out; nothing is parsed before something asks for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import TypeAlias

from graphlint.reading import reads
from graphlint.reading.questions import Answer, Holds, HoldsAny, Names, Question
from graphlint.static.index.looked import source_text
from graphlint.static.index.module import Module
from graphlint.static.index.roots import Roots
from graphlint.static.syntax.trees import Problem

Problems: TypeAlias = dict[Path, Problem]
_Asking: TypeAlias = Callable[[Path, Question[Answer], reads.Texts], Answer]

_KEPT = 128 << 20  # bytes of files; a run searches all of them about ten times, and memory is read faster


class Project:
    """Finds modules by dotted name below the folders that are checked and the packages that are followed."""

    def __init__(
        self, files: Iterable[Path], known: dict[Path, Module] | None = None, folder: Path | None = None
    ) -> None:
        self.files = list(files)
        self.trials: frozenset[str] = frozenset()  # files that only try the others, of which is told in a low voice
        self._known = known  # modules of an earlier run, which are those of this one where their text is the same
        self.roots = Roots(self.files, self.ask, folder)
        self.modules: dict[str, Module | None] = {}
        self.by_path: dict[Path, Module] = {}
        self.unreadable: dict[Path, str] = {}
        self._texts = reads.Texts(_KEPT)

    def ask(self, path: Path, question: Question[Answer]) -> Answer:
        """What a file answers to a question, or an empty one if it cannot be read."""
        return self._asked(reads.ask, path, question)

    def _asked(self, ask: _Asking[Answer], path: Path, question: Question[Answer]) -> Answer:
        try:
            return ask(path, question, self._texts)
        except OSError as problem:
            self.unreadable[path] = f"cannot be read: {problem.strerror or problem}"
        return question(b"")

    @cached_property
    def ambiguous(self) -> frozenset[str]:
        """The names that several of the files are modules by, such as scripts of one name in several folders."""
        counted = Counter(map(self.roots.name_of, self.files))
        return frozenset(name for name, count in counted.items() if count > 1)

    def is_named(self, module: Module) -> bool:
        """Whether the name of a module leads back to it, and to no script of that name in another folder."""
        return module.name not in self.ambiguous and self.roots.locate(module.name) == module.path

    def answering(self, question: Question[bool]) -> Sequence[Path]:
        """The checked files that answer a question with yes."""
        found = [path for path, answer in self.answers(question) if answer]
        reads.search(question, found)
        return found

    def answers(self, question: Question[Answer]) -> Iterator[tuple[Path, Answer]]:
        """What each of the checked files answers, for who notes what he needs of it."""
        return ((path, self._asked(reads.answer_of, path, question)) for path in self.files)

    def problems(self) -> Problems:
        """Why, and at which line, files could not be read or parsed when they were needed."""
        found: Problems = {path: (text, 1) for path, text in self.unreadable.items()}
        return found | {path: m.problem for path, m in self.by_path.items() if m.problem is not None}

    def add_installed(self, package: str | Path) -> None:
        """Make an installed package, or one in a folder, followable. Raises LookupError if there is none."""
        folder = Path(package)
        if reads.is_folder(folder):
            self.roots.add(reads.resolved(folder))
            return
        name = str(package).partition(".")[0]
        found = reads.package(name)
        if found is None:
            raise LookupError(str(package))
        file, *folders = found
        origin = Path(file).parent if file else Path(folders[0])
        self.roots.add_one(origin.parent if folders else origin, name)

    def expect(self, pattern: str) -> None:
        """Let the modules that a user means by a dotted name, which may end in a glob, be called so."""
        self.roots.expect(".".join(takewhile(str.isidentifier, pattern.split("."))))

    def module_at(self, path: Path) -> Module:
        """The module of a file: one, whatever names it is found by."""
        known = self.by_path.get(path)
        if known is None:
            known = self.by_path[path] = self._made(self.roots.name_of(path), path)
            self.modules[known.name] = self.modules.get(known.name) or known
        return known

    def _made(self, name: str, path: Path) -> Module:
        if self._known is None:
            return Module(name, path)
        try:
            text = source_text(reads.known(path))
        except (OSError, UnicodeError, SyntaxError, LookupError):
            return Module(name, path)  # which tells why
        known = self._known.get(path)
        if known is None or known.name != name or known.looked.text != text:
            known = self._known[path] = Module(name, path, text)
        reads.look(path, known.begin())
        return known

    def module(self, name: str) -> Module | None:
        """The module of that dotted name, if its source lies below a root; a folder without __init__ has none."""
        if name not in self.modules:
            path = self.roots.locate(name)
            self.modules[name] = self.module_at(path) if path is not None else None
        return self.modules[name]

    def subclass_modules(self, name: str) -> Iterator[Module]:
        """The modules of the checked files in which a class statement names a class among its bases."""
        return map(self.module_at, self._deriving.files(name))

    def calling(self, name: str) -> Iterator[Module]:
        """The modules of the checked files in which something by a name may be called."""
        spelt = rf"{name}(?<!\w{name})(?<!class {name})[\s\\)]*\("  # begins with plain text, which is found faster
        return map(self.module_at, self.answering(HoldsAny([name], spelt)))

    def is_set_from_outside(self, attribute: str) -> bool:
        """Whether an attribute of that name is assigned to anything but the object that a method is called on."""
        return bool(self.storing(attribute))

    def storing(self, attribute: str) -> Sequence[Path]:
        """The files that assign to an attribute of that name of anything but the object of a method."""
        return self._storing.files(attribute)

    def owning(self, attribute: str) -> Set[Path]:
        """The files in which methods assign to an attribute of that name of their own object."""
        return frozenset(self._owning.files(attribute))

    def defining(self, name: str) -> Sequence[Path]:
        """The files that define a function or a method of that name."""
        return self._defining.files(name)

    def registering(self, name: str) -> Iterator[Module]:
        """The modules of the checked files in which a decorator, or a call of the top level, is spelt with a name."""
        return map(self.module_at, self._registering.files(name))

    @cached_property
    def _registering(self) -> Named:
        return Named(self, Names("registers"))

    @cached_property
    def _defining(self) -> Named:
        return Named(self, Names("defines"))

    @cached_property
    def _deriving(self) -> Named:
        return Named(self, Names("bases"))

    @cached_property
    def _storing(self) -> Named:
        return Named(self, Names("stores"))

    @cached_property
    def _owning(self) -> Named:
        return Named(self, Names("owns"))

    @cached_property
    def _saying(self) -> Named:
        return Named(self, Names("says"))

    @cached_property
    def _checked(self) -> Set[Path]:
        return frozenset(self.files)

    def is_checked(self, module: Module) -> bool:
        """Whether a module is one of the program, and not of a package that is followed."""
        return module.path in self._checked

    def says(self, text: str) -> bool:
        """Whether a text stands somewhere in the checked files, by itself and between quotes."""
        return bool(self._saying.files(text))

    def saying(self, text: str) -> Iterator[Module]:
        """The modules of the checked files in which a text stands by itself and between quotes."""
        return map(self.module_at, self._saying.files(text))

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
        asked = {home: Holds([member, *_named(home)]) for home, member in homes.items()}
        for path in self.files:
            for home, member in homes.items():
                if self.ask(path, asked[home]) and (user := self.module_at(path)) not in homes:
                    yield from ((user, spelling) for spelling in _spellings(user, home.name, member))

    def has_package(self, name: str) -> bool:
        """Whether a module or a folder of modules has that dotted name."""
        return self.module(name) is not None or self.roots.has_folder(name)


class Named:
    """The checked files by the names that stand in them in one role; they are all searched once, for the first name."""

    def __init__(self, project: Project, question: Question[frozenset[bytes]]) -> None:
        self._question = question
        self._files: dict[bytes, list[Path]] = {}
        for path, names in project.answers(question):
            for name in names:
                self._files.setdefault(name, []).append(path)

    def files(self, name: str) -> Sequence[Path]:
        found = self._files.get(name.encode(), ())
        reads.look_up(self._question, name, found)
        return found


def _named(home: Module) -> list[str]:
    """What stands in a file that imports from a module: its last name, if it is no package."""
    return [] if home.is_package else [home.name.rpartition(".")[2]]


def _spellings(user: Module, home: str, member: str) -> Iterator[str]:
    """How a module that imports from another one may spell a member of it, or an attribute of what it imports."""
    for bound, imports in user.index.imports.items():
        for imported in imports:
            origin = ".".join(filter(None, (imported.module, imported.member)))
            if imported.module == home and imported.member == member:
                yield bound
            elif imported.module == home or f"{home}.".startswith(f"{origin}."):
                yield f".{member}"
