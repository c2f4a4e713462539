"""An interpreter that has run the regions of a project in, what is captured there and what may be besides out."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from graphlint.finding import Region
from graphlint.reading.questions import Holds
from graphlint.static.domain.contexts import OpenRegion
from graphlint.static.findings.collect import gather
from graphlint.static.index.module import ClassDefinition
from graphlint.static.index.roots import is_test
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.regions.exports import exported, is_captured_whole, only_shown
from graphlint.static.regions.inherited import inherited_passes
from graphlint.static.regions.proposals import propose_targets, runs_anything
from graphlint.static.regions.replaced import replacing
from graphlint.static.regions.targets import rows_for
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import calls_in
from graphlint.targets import Target

_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Survey:
    """The regions that the code opens, models that no region and no other model uses, and the packages behind those.

    A model is `module:Class.forward`, the one that is built of most others first; the packages are those whose classes
    models derive from, PyTorch left out. `targets` are what fits calls in regions that nobody knows the callee of,
    `exports` what a library offers to those who may capture it, and `replaced` what other packages run in the place of
    their own. An `engine` has more models than these, and regions
    that run what they are given. It `captures` models unless its regions run none of its own, but what they are given,
    and no table knows what that is.
    """

    files: int
    regions: tuple[Region, ...]
    models: tuple[str, ...]
    packages: tuple[str, ...]
    targets: tuple[Target, ...] = ()
    exports: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    engine: bool = False
    captures: bool = False


def look_around(interpreter: Interpreter, files: Sequence[Path]) -> Survey:
    """What there is to declare in these files; tests and examples declare nothing."""
    reached = gather(interpreter.regions.values(), interpreter)
    models = list(_models(interpreter, files))
    names = {cls.name for cls in models}
    parts = {cls: _names_in(interpreter, cls) & names for cls in models}
    used = {name for held in parts.values() for name in held}
    shown, found = only_shown(interpreter, files), dict[str, int]()
    packages: set[str] = set()
    for cls in models:
        entry, module = _entry(cls), cls.module.name
        is_free = cls.name not in used and entry not in reached.functions
        if (
            is_free
            and not is_test(module)
            and cls.module.path not in shown
            and interpreter.project.is_named(cls.module)
        ):
            found[entry] = len(_built_of(cls, parts))
            packages.update(base.partition(".")[0] for base in interpreter.classes.external_bases(cls))
    known = {"builtins", *interpreter.lexicon.libraries["catalogued"], *sys.stdlib_module_names}
    own = [one for one in interpreter.regions.values() if not _is_beside(one.region, interpreter, shown)]
    captured = (interpreter.project.module_at(path) for path in files if path not in shown)
    offered = tuple(one for one in exported(interpreter, files, shown, bool(own)) if one not in reached.functions)
    run_elsewhere = replacing(interpreter, (one for one in captured if not is_test(one.name)))
    known_by_now = {*reached.functions, *offered, *found}
    ordered = sorted(found.keys() - offered, key=lambda entry: (-found[entry], entry))
    is_open = runs_anything(interpreter)
    return Survey(
        len(files),
        tuple(sorted(reached.regions)),
        tuple(ordered),
        tuple(sorted(packages - known)),
        propose_targets(interpreter, files, shown, found),
        offered,
        tuple(dict.fromkeys(one for one in run_elsewhere if one not in known_by_now)),
        is_open and len(found) > len(offered),
        bool(reached.regions) and (not is_open or bool(rows_for(interpreter)) or _reaches(own, models, interpreter)),
    )


def _reaches(regions: Iterable[OpenRegion], models: Iterable[ClassDefinition], interpreter: Interpreter) -> bool:
    return not gather(regions, interpreter).functions.isdisjoint(map(_entry, models))


def _entry(cls: ClassDefinition) -> str:
    return f"{cls.module.name}:{cls.qualname}.forward"


def _is_beside(region: Region, interpreter: Interpreter, shown: Set[Path]) -> bool:
    """Whether a region is one of what tests or times the others, or shows how they are used."""
    path, stopwatch = Path(region.path), interpreter.lexicon.phases["stopwatch"]
    module = interpreter.project.module_at(path)
    if path in shown or is_test(module.name):
        return True
    around = (one for one in module.index.all_functions() if one.segment.first <= region.line <= one.segment.last)
    calls = (call for one in around if one.code is not None for call in calls_in(one.code))
    return any(isinstance(call.func, ir.Attribute) and stopwatch.match(call.func.attr) for call in calls)


def _built_of(cls: ClassDefinition, parts: Mapping[ClassDefinition, set[str]]) -> set[str]:
    """The models of its file that a model names, those that they name, and the names of models elsewhere."""
    near = {other.name: other for other in parts if other.module is cls.module}
    found, pending = set[str](), [cls]
    while pending:
        for name in parts[pending.pop()] - found:
            found.add(name)
            pending += [near[name]] if name in near else []
    return found


def _models(interpreter: Interpreter, files: Iterable[Path]) -> Iterator[ClassDefinition]:
    """The classes that derive from a module or model of some package and have a `forward`, or one of a base of theirs
    that calls a method of their own.
    """
    for path in files:
        if interpreter.project.ask(path, Holds(["class "])):
            for cls in interpreter.project.module_at(path).index.classes.values():
                if is_captured_whole(interpreter, cls) or _forward_of(interpreter, cls) is not None:
                    yield cls


def _forward_of(interpreter: Interpreter, cls: ClassDefinition) -> ClassDefinition | None:
    """The model whose `forward` a class has for its own, and that calls a method of the class."""
    if "forward" in cls.methods or not cls.bases or not cls.methods:
        return None
    found = next(inherited_passes(interpreter, cls, "forward".__eq__), None)
    return found[1] if found is not None and is_captured_whole(interpreter, found[1]) else None


def _names_in(interpreter: Interpreter, cls: ClassDefinition) -> set[str]:
    """The names in the statement of a class besides its own, and that of one whose `forward` it has; those of its other
    bases are among them.
    """
    base = _forward_of(interpreter, cls)
    own = {cls.name} if base is None else {cls.name, base.name}
    return set(_WORD.findall(cls.module.source_of(cls.segment, is_exact=True))) - own
