"""Holes and the classes that fit them in, the targets that are proposed for a configuration out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path

from graphlint.static.index.module import ClassDefinition
from graphlint.static.index.parts import WORD
from graphlint.static.index.roots import is_test
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.interpreter.names import MODULE_CODE
from graphlint.static.regions.handed import classes_handed_in
from graphlint.static.regions.holes import MAX_HOPS, Candidates, Hole, find_holes, spelt
from graphlint.static.regions.patterns import is_named
from graphlint.static.regions.targets import telling
from graphlint.static.syntax import ir
from graphlint.targets import Target, call_mistake

LISTED = 4  # classes that are named one by one; more of them are grouped by how they are called
MOST = 24  # more classes that have nothing in common fit by chance
SHARE = 10  # a group that is less than one in so many says nothing of what is called


def propose_targets(
    interpreter: Interpreter,
    files: Sequence[Path],
    shown: Set[Path],
    whole: Mapping[str, int],
    holes: Iterable[Hole],
    most: int | None = None,
) -> tuple[Target, ...]:
    """A target for each of these near a region that no table knows, of what something speaks for besides the arguments.

    What is only `shown`, or timed, has made what it captures.
    What the object that makes the call is seen to be given counts more than what would fit.
    Of modules, those that are `whole` models count, each with how many others it is built of.
    Where more than `most` classes are spoken for, none is proposed.
    """
    candidates, ambiguous = Candidates(interpreter, files), interpreter.project.ambiguous
    found: dict[tuple[str, str | None], Target] = {}
    for hole in holes:
        if not is_open(interpreter, hole):
            continue
        at = hole.functions[-1].partition(".<locals>")[0]
        module = interpreter.project.module_at(Path(hole.context.path)).name
        is_shown = is_test(module) or Path(hole.context.path) in shown
        if is_shown or module in ambiguous:
            continue
        if at.endswith(f":{MODULE_CODE.name}"):  # what a script runs has no name that a target could stand for
            continue
        call = ".".join(hole.names)
        key = (at, call if not call_mistake(call) else None)
        fitting = [
            (cls, method)
            for cls, method in candidates.fitting(hole)
            if cls.module.name not in ambiguous and (_is_public(cls) or at.startswith(f"{cls.module.name}:"))
        ]
        handed = classes_handed_in(interpreter, hole)
        chosen = [one for one in fitting if one[0].name in handed]
        if not handed:
            callee, method = candidates.callee(hole), candidates.method(hole)
            chosen = _told(callee, method, fitting, whole, interpreter.lexicon.modules, is_guess=most is not None)
            chosen = _nearest(chosen, fitting, whole, module)
        runs = () if most is not None and len(chosen) > most else tuple(_patterns(chosen, fitting))
        if runs:
            found.setdefault(key, Target(at, runs, key[1]))
    return tuple(found.values())


def runs_anything(interpreter: Interpreter) -> bool:
    """Whether a region runs what it is given, which is called a model or a function and no more."""
    words = interpreter.lexicon.modules
    holes = (hole for hole in find_holes(interpreter.regions.values()) if hole.hops <= MAX_HOPS)
    return any(not _words(hole.names).isdisjoint(words["general"] | words["functions"]) for hole in holes)


def is_open(interpreter: Interpreter, hole: Hole) -> bool:
    """Whether a hole is close to a region, and no table says what it runs."""
    return hole.hops <= MAX_HOPS and not telling(interpreter, hole)


def is_nameless(callee: ir.Expr, interpreter: Interpreter) -> bool:
    """Whether something is called a model, and no more."""
    return _words(spelt(callee)) <= interpreter.lexicon.modules["general"]


def _words(names: Iterable[str]) -> set[str]:
    return {word.lower() for name in names if name != "self" for word in WORD.findall(name)}


def _told(
    callee: ir.Expr,
    method: str | None,
    fitting: list[tuple[ClassDefinition, str]],
    whole: Mapping[str, int],
    words: Mapping[str, Set[str]],
    is_guess: bool,
) -> list[tuple[ClassDefinition, str]]:
    """The classes that a call speaks of: they share a word with its name; where that is as good as none, models, or
    the only one that takes it.

    What is called by the name of a function may be anything that is handed in. Of an object whose name says nothing,
    the method tells which classes are meant. What a class shares by chance, or takes alone, is not enough for a guess.
    """
    names = spelt(callee)
    is_method = any(name == method for _, name in fitting)
    said = _words(names[:-1] if is_method else names) - words["general"]
    if said & words["functions"] or (is_guess and is_method):
        return []
    if not said:
        is_only = len(fitting) == 1 and not is_guess
        return fitting if is_method or is_only else [one for one in fitting if whole.get(_entry(*one))]
    named = _sharing(said, fitting) or _sharing(_words(names) - words["general"], fitting)
    return [one for one in named if _entry(*one) in whole] or named


def _nearest(
    chosen: list[tuple[ClassDefinition, str]],
    fitting: list[tuple[ClassDefinition, str]],
    whole: Mapping[str, int],
    module: str,
) -> list[tuple[ClassDefinition, str]]:
    """Where several classes are chosen, those of the package that makes the call; where none is of that, the models of
    its own file, if it has any.
    """
    package = module.rpartition(".")[0]
    if len(chosen) > 1 and package:
        near = [one for one in chosen if one[0].module.name.rpartition(".")[0] == package]
        return near or [one for one in fitting if one[0].module.name == module and _entry(*one) in whole] or chosen
    return chosen


def _sharing(said: Set[str], fitting: list[tuple[ClassDefinition, str]]) -> list[tuple[ClassDefinition, str]]:
    """The classes that share one of these words."""
    return [one for one in fitting if said & {word.lower() for word in WORD.findall(one[0].name)}]


def _patterns(chosen: list[tuple[ClassDefinition, str]], fitting: list[tuple[ClassDefinition, str]]) -> Iterator[str]:
    """The chosen by name if they are few; else by what those of one package end in, as far as that means no others."""
    entries = {_entry(cls, method) for cls, method in chosen}
    if len(entries) <= LISTED:
        yield from sorted(entries)
        return
    groups: Counter[str] = Counter()
    for cls, method in chosen:
        package = cls.module.name.rpartition(".")[0]
        for ending in _endings(cls.name):
            groups[f"{package}.*:*{ending}.{method}" if package else f"*:*{ending}.{method}"] += 1
    known = {_entry(cls, method) for cls, method in fitting}
    left = set(entries)
    for pattern, _ in sorted(groups.items(), key=lambda group: (-group[1], -len(group[0]))):
        meant = {entry for entry in known if is_named(entry, pattern)}
        new = meant & left
        if len(new) > 1 and len(new) * SHARE >= len(entries) and len(meant & entries) * 2 > len(meant):
            yield pattern
            left -= new
    if len(left) == len(entries) <= MOST:
        yield from sorted(left)


def _endings(name: str) -> Iterator[str]:
    """What the name of a class may share with others: its last words, the longest first."""
    words = WORD.findall(name)
    yield from ("".join(words[start:]) for start in range(1, len(words)))


def _is_public(cls: ClassDefinition) -> bool:
    return not cls.name.startswith("_")


def _entry(cls: ClassDefinition, method: str) -> str:
    return f"{cls.module.name}:{cls.qualname}.{method}"
