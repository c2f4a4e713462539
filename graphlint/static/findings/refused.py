"""The words that a function refuses in front of its region in, whether a way goes through what stands under one out.

`if backend == "triton": ... elif backend in ("fa3", "fa4"): ... else: raise`: of a table of backends by words, which is
made with the same ones, the others are not captured there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from graphlint.static.domain.contexts import Context, Site
from graphlint.static.index.module import Module
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered, remembered_in_run
from graphlint.static.syntax.traversal import form, last_name, stands_before


def is_refused(sites: tuple[Site, ...], place: Context) -> bool:
    """Whether a way goes through a method of a class that a table has under refused words only."""
    opener = sites[0] if sites else None
    if opener is None or opener.node is None or not _accepted(opener.function.code, opener.node):
        return False
    owners = (site.function.owner for site in sites[1:])
    names = {*(owner.name for owner in owners if owner is not None), *place.function.rpartition(":")[2].split(".")}
    modules = dict.fromkeys(site.function.module for site in sites[1:])
    return any(
        words <= table.keys() and not names.isdisjoint(table.values()) and names.isdisjoint(table[one] for one in words)
        for words in _accepted(opener.function.code, opener.node)
        for module in modules
        for table in _tables(module)
    )


@remembered
def _accepted(code: ir.Code, node: ir.Node) -> tuple[frozenset[str], ...]:
    """The words for which a function goes on, of each choice in front of a node where all others raise."""
    choices = (one for one in code.body if isinstance(one, ir.If) and stands_before(one, node))
    return tuple(words for one in choices if (words := frozenset(_words(one))))


def _words(choice: ir.If) -> Iterator[str]:
    """The words that the branches of a choice are for, if it ends in an error for others."""
    found, last, asked = [], choice, set[object]()
    while True:
        subject, is_one_of, words = _asked(last.test)
        asked.add(subject)
        found += words
        others = last.orelse if is_one_of else last.body
        if len(asked) > 1 or not words:
            return
        if is_one_of and len(others) == 1 and isinstance(others[0], ir.If):
            last = others[0]
            continue
        break
    if others and isinstance(others[-1], ir.Raise):
        yield from found


def _asked(test: ir.Expr) -> tuple[object, bool, list[str]]:
    """What is compared with words, whether the test holds for these, and the words."""
    match test:
        case ir.Compare(left=subject, comparisons=[("==" | "!=" | "in" | "not in" as sign, right)]):
            one_of = right.elements if isinstance(right, ir.Display) else (right,)
            words = [one.value for one in one_of if isinstance(one, ir.Literal) and isinstance(one.value, str)]
            return form(subject), sign in ("==", "in"), words if len(words) == len(one_of) else []
    return None, True, []


@remembered_in_run
def _tables(module: Module) -> tuple[Mapping[str, str], ...]:
    """The tables of a module that have classes by words."""
    segments = (segment for several in module.index.assignments.values() for segment in several)
    made = (one.value for segment in segments for one in module.lowered(segment) if isinstance(one, ir.Assign))
    shown = (value.items for value in made if isinstance(value, ir.DictDisplay))
    tables = ({key.value: last_name(held) for key, held in items if isinstance(key, ir.Literal)} for items in shown)
    return tuple({key: held for key, held in table.items() if isinstance(key, str) and held} for table in tables)
