"""Seeds that a declared region takes as a number from whoever calls it, and hands on to a kernel."""

from __future__ import annotations

from collections.abc import Iterator, Set

from graphlint.rule import Event, HandedSeed
from graphlint.static.domain.contexts import Context
from graphlint.static.domain.sources import Place, Taken
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import walk
from graphlint.static.writes.traces import Traces

_BY_VALUE = ("operand", "argument", "handed")
# What an annotation says that allows no tensor.
_NUMBER = frozenset({"Literal", "None", "Optional", "Union", "int", "typing"})


def handed_seeds(traces: Traces) -> Iterator[tuple[Place, Event]]:
    """Parameters that are seeds and numbers by what is written there; each stands at its annotation."""
    is_seed = traces.evaluator.lexicon.host_state["seeds"].match
    entered = {taken.context for taken in traces.given}
    told: dict[tuple[str, int], tuple[Place, Event]] = {}
    for source, uses in traces.uses.items():
        use = next((uses[kind] for kind in _BY_VALUE if kind in uses), None)
        if use is None or use.place.is_soft:
            continue
        for taken in traces.origins(source):
            if not isinstance(taken, Taken) or is_seed(taken.name) is None or not _is_open(taken, entered, traces):
                continue
            if (annotation := _annotation(taken)) is not None:
                place = Place(taken.function, annotation, taken.context, use.place.assumed)
                used = f"{use.place.function.module.path.name}:{use.place.line}"
                told.setdefault((place.span.path, place.line), (place, HandedSeed(taken.name, used)))
    yield from told.values()


def _is_open(taken: Taken, entered: Set[Context], traces: Traces) -> bool:
    """Whether whoever calls the region gives a parameter, if through a wrapper that hands on all that it is given."""
    if taken.context in traces.openers:
        return False  # each capture has one of its own
    outer = [one for one in traces.origins(taken) if isinstance(one, Taken) and (one == taken or _is_star(one))]
    return any(one.context not in entered for one in outer)


def _is_star(taken: Taken) -> bool:
    return any(one.name == taken.name and one.kind in ("*", "**") for one in taken.function.code.parameters)


def _annotation(taken: Taken) -> ir.Expr | None:
    """What is written of the type of a parameter, if that is a number or nothing."""
    for parameter in taken.function.code.parameters:
        if parameter.name == taken.name and parameter.annotation is not None:
            said = {part.id for part in walk(parameter.annotation) if isinstance(part, ir.Name)}
            said |= {part.attr for part in walk(parameter.annotation) if isinstance(part, ir.Attribute)}
            return parameter.annotation if "int" in said and said <= _NUMBER else None
    return None
