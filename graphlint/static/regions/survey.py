"""An interpreter that has run the regions of a project in, what is captured there and what may be besides out."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from graphlint.finding import Region
from graphlint.static.domain.contexts import OpenRegion
from graphlint.static.findings.collect import gather
from graphlint.static.findings.makers import named_for_device
from graphlint.static.index.module import Module
from graphlint.static.index.roots import is_test
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.regions.compiled import compiled
from graphlint.static.regions.exports import exported, only_shown, outermost
from graphlint.static.regions.holes import find_holes
from graphlint.static.regions.plain import plain_models
from graphlint.static.regions.proposals import propose_targets, runs_anything
from graphlint.static.regions.replaced import replacing
from graphlint.static.regions.targets import rows_for
from graphlint.static.regions.whole import Models, entry_of
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import calls_in
from graphlint.targets import Target


@dataclass(frozen=True, slots=True)
class Survey:
    """The regions that the code opens, models that no region and no other model uses, and the packages behind those.

    A model is `module:Class.forward`, the one that is built of most others first; the packages are those whose classes
    models derive from, PyTorch left out. `targets` are what fits calls in regions that nobody knows the callee of,
    `exports` what a library offers to those who may capture it, `replaced` what other packages run in the place of
    their own, and `compiled` what is compiled without graphs by code that captures nothing. An `engine` has more models
    than these, and regions that run what they are given. It `captures` models unless its regions run none of its own,
    but what they are given, and no table knows what that is.
    """

    files: int
    regions: tuple[Region, ...]
    models: tuple[str, ...]
    packages: tuple[str, ...]
    targets: tuple[Target, ...] = ()
    exports: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    compiled: tuple[str, ...] = ()
    engine: bool = False
    captures: bool = False


def look_around(interpreter: Interpreter, files: Sequence[Path]) -> Survey:
    """What there is to declare in these files; tests and examples declare nothing."""
    models, shown = Models(interpreter, files), only_shown(interpreter, files)
    opened = interpreter.regions.values()
    own = [one for one in opened if not _is_beside(one.region, interpreter, shown)]
    # What a benchmark compiles is looked at for that alone, and may be captured by others as it stands.
    reached = gather((one for one in opened if one in own or not one.region.soft), interpreter)
    whole = models.whole(shown, reached.functions)
    found = {entry_of(cls): built_of for cls, built_of in whole.items()}
    found |= {} if own else plain_models(interpreter, files, shown)
    packages = {base.partition(".")[0] for cls in whole for base in interpreter.classes.external_bases(cls)}
    known = {"builtins", *interpreter.lexicon.libraries["catalogued"], *sys.stdlib_module_names}
    captured = [interpreter.project.module_at(path) for path in files if path not in shown]
    captures = gather(own, interpreter)
    capturing = _capturing(interpreter, own, captures.functions, captured)
    offered = tuple(one for one in exported(interpreter, files, shown, capturing) if one not in reached.functions)
    run_elsewhere = tuple(replacing(interpreter, (one for one in captured if not is_test(one.name))))
    fit = frozenset(named_for_device((*found, *offered, *run_elsewhere), interpreter.lexicon))
    offered = tuple(one for one in offered if one in fit)
    known_by_now = {*reached.functions, *offered, *found}
    # Where the code captures by itself, what it compiles without graphs is left out of these on purpose.
    prepared = () if own else (one for one in compiled(interpreter, captured) if one not in known_by_now)
    is_open = runs_anything(interpreter)
    is_engine = is_open and len(found) > len(offered)
    if is_engine:  # it runs what it offers, but for the models, of which the others of them are no better
        offered = tuple(one for one in offered if one not in found)
    ordered = sorted(found.keys() - offered, key=lambda entry: (-found[entry], entry))
    captures_models = bool(rows_for(interpreter)) or not captures.functions.isdisjoint(map(entry_of, models.parts))
    return Survey(
        len(files),
        tuple(sorted({one.region for one in opened})),
        tuple(one for one in ordered if one in fit),
        tuple(sorted(packages - known)),
        propose_targets(interpreter, files, shown, found, find_holes(opened)),
        offered,
        tuple(dict.fromkeys(one for one in run_elsewhere if one in fit and one not in known_by_now)),
        tuple(dict.fromkeys(prepared)),
        is_engine,
        bool(reached.regions) and (not is_open or captures_models),
    )


def _capturing(
    interpreter: Interpreter, own: Iterable[OpenRegion], reached: Iterable[str], modules: Iterable[Module]
) -> Set[str]:
    """The outermost packages that capture by themselves, or are captured by what does: what lies beside these in the
    same folder is another library. A script stands for all that is beside it.
    """
    names = {interpreter.project.module_at(Path(one.region.path)).name for one in own}
    found = {outermost(name) for name in (*names, *(one.partition(":")[0] for one in reached))}
    return found if "" not in found else {outermost(module.name) for module in modules}


def _is_beside(region: Region, interpreter: Interpreter, shown: Set[Path]) -> bool:
    """Whether a region is one of what tests or times the others, or shows how they are used."""
    path, stopwatch = Path(region.path), interpreter.lexicon.phases["stopwatch"]
    module = interpreter.project.module_at(path)
    if path in shown or is_test(module.name):
        return True
    around = (one for one in module.index.all_functions() if one.segment.first <= region.line <= one.segment.last)
    calls = (call for one in around if one.code is not None for call in calls_in(one.code))
    return any(isinstance(call.func, ir.Attribute) and stopwatch.match(call.func.attr) for call in calls)
