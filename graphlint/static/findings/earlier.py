"""The first calls on a way from a region in, whether what is called there has run before the region out."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.reading.questions import HoldsAny
from graphlint.static.domain.contexts import Site
from graphlint.static.index.parts import called, function_at, segments_with
from graphlint.static.index.project import Project
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered_in_run
from graphlint.static.syntax.traversal import assignments_in, calls_in, stands_before, words_in


def run_before(sites: tuple[Site, ...], project: Project) -> bool:
    """Whether the first call on a way from a region is made before it as well, or what a function beside it calls; by
    whoever hands in what is called, too.
    """
    if any(map(_runs_before, sites[:1])) or any(_stands_around(site, sites[0]) for site in sites[:2]):
        return True
    return any(_is_run_by_callers(site, project) for site in sites[:1])


@remembered_in_run
def _stands_around(site: Site, first: Site) -> bool:
    """Whether the function that others stand in makes the same call before it calls the one that captures.

    `for _ in range(3): step(x)` comes before `measure()`, which captures `step(x)`, or `run()`, which calls `step(x)`.
    """
    opener, call = first.function, site.node
    definition = function_at(opener.module, opener.first_line)
    if definition is None or definition.code is None or not isinstance(call, ir.Call):
        return False
    inside = {*calls_in(opener.code), *calls_in(site.function.code)}
    is_nested = site.function.is_nested and function_at(site.function.module, site.function.first_line) is definition
    outside = [other for other in calls_in(definition.code) if other not in inside]
    opening = [other for other in outside if isinstance(other.func, ir.Name) and other.func.id == opener.code.name]
    return is_nested and any(
        words_in(other.func) == words_in(call.func) and stands_before(other, last)
        for last in opening[-1:]
        for other in outside
    )


@remembered_in_run
def _runs_before(site: Site) -> bool:
    """Whether what a region calls is called before it, too, or by a function that captures only now and then."""
    match site.node:
        case ir.Call(func=ir.Name(id=name) | ir.Attribute(attr=name)) as call:
            opener = site.function
            if any(
                words_in(other.func) == words_in(call.func)
                for other in calls_in(opener.code)
                if stands_before(other, call)
            ):
                return True
            capturing, calling = (
                {segment.first for _, segment in segments_with(opener.module, word, called)}
                for word in (opener.code.name, name)
            )
            return not capturing.isdisjoint(calling - {opener.first_line})
    return False


@remembered_in_run
def _is_run_by_callers(site: Site, project: Project) -> bool:
    """Whether what a region calls is handed in by a function that has called it before: `step(x); capture(step, x)`."""
    match site.node:
        case ir.Call(func=ir.Name(id=name)):
            opener = site.function.code
            names = [parameter.name for parameter in opener.parameters]
            paths = project.answering(HoldsAny([f"{opener.name}("])) if name in names else ()
            modules = (project.module_at(path) for path in paths)
            codes = (one.code for m in modules for one, _ in segments_with(m, opener.name, called) if one is not None)
            return any(_has_called(code, opener, name) for code in codes if code is not None and code is not opener)
    return False


def _has_called(code: ir.Code, opener: ir.Code, name: str) -> bool:
    """Whether a function calls another one with what it has called by then, as its parameter of a name."""
    calls = calls_in(code)
    for call in calls:
        match call.func:
            case ir.Name(id=asked) | ir.Attribute(attr=asked) if asked == opener.name:
                given = _given(call, opener, name)
                before = {one.func.id for one in calls if isinstance(one.func, ir.Name) and stands_before(one, call)}
                if isinstance(given, ir.Name) and not before.isdisjoint({given.id, *_other_names(code, given.id)}):
                    return True
    return False


def _other_names(code: ir.Code, name: str) -> Iterator[str]:
    """What else a function calls by other names: `warm = step if other is None else other`."""
    for one in assignments_in(code):
        chosen = (one.value.body, one.value.orelse) if isinstance(one.value, ir.Conditional) else (one.value,)
        if any(isinstance(value, ir.Name) and value.id == name for value in chosen):
            yield from (target.id for target in one.targets if isinstance(target, ir.Name))


def _given(call: ir.Call, opener: ir.Code, name: str) -> ir.Expr | None:
    """What a call gives a parameter, by its place or its name."""
    names = [parameter.name for parameter in opener.parameters]
    is_method = names[0] in ("self", "cls")
    given = dict(zip(names[is_method:], (a.value for a in call.arguments if a.keyword is None), strict=False))
    given |= {argument.keyword: argument.value for argument in call.arguments if argument.keyword is not None}
    return given.get(name)
