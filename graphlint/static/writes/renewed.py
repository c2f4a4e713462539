"""A statement that writes to a variable in, whether each capture of its function has another one of its own out.

The variable then has one name for two things: `n = 8` in the branch of another request says nothing to a graph that has
been captured behind `n = len(batch)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from graphlint.static.writes.bodies import Body
from graphlint.static.writes.stores import Written


def is_renewed(written: Written, others: Iterable[Written], lines: Set[int]) -> bool:
    """Whether a statement stands on another way than the captures at these lines, which all write anew before."""
    if written.definition is None:
        return False
    body = Body(written.module, written.definition, written.store.inner)
    segment = written.definition.segment
    own = [line for line in lines if segment.first <= line <= segment.last]
    anew = [
        one
        for one in others
        if one.definition is written.definition and one.store.inner == written.store.inner and _is_new(one)
    ]
    return bool(own) and all(_is_apart(written, line, body) and _has_own(line, anew, written, body) for line in own)


def _is_new(written: Written) -> bool:
    return written.store.form in ("assign", "bind") and not written.store.depends_on_itself


def _is_apart(written: Written, line: int, body: Body) -> bool:
    """Whether a statement and a line stand in two branches of one condition."""
    here = body.branches_at(written.store.line)
    return any((test, not way) in here for test, way in body.branches_at(line))


def _has_own(line: int, anew: list[Written], written: Written, body: Body) -> bool:
    """Whether one of some statements stands right before a line, in each round of the loops around another one."""
    here = body.branches_at(line)
    for one in anew:
        around = body.branches_at(one.store.line)
        in_each = set(one.store.loops) >= {span for span in written.store.loops if span[0] <= line <= span[1]}
        if one is not written and one.store.line < line and around == here[: len(around)] and in_each:
            return True
    return False
