"""The tests on the way to a statement in, what they decide of further tests out.

Behind `if not checked: if limit is None: raise ...`, a later `if limit is None:` is not reached without the check: what
came to an end together does not hold together any more. A local name that keeps a test says what that says. Only tests
of local names count: nothing but the function itself gives these another value.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from graphlint.static.domain.contexts import Frame, Ground, Said
from graphlint.static.index.parts import rebound_in
from graphlint.static.interpreter import choices
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.traversal import names_in, walk
from graphlint.values import NONE, Const, Host, Unknown, members

_TESTS = (ir.Compare, ir.Boolean, ir.Call, ir.Unary)
_PARTS = (*_TESTS, ir.Name, ir.Attribute, ir.Literal, ir.Display, ir.Argument, str, tuple)
_OF_CLASSES = ("isinstance", "issubclass")


def keep(target: ir.Expr, test: ir.Expr, frame: Frame) -> None:
    """A name is given what a test comes to."""
    if isinstance(target, ir.Name) and isinstance(test, _TESTS):
        words = choices.words_of(test)
        if words and target.id not in words:
            stamp = _stamp(words | {target.id}, frame)
            frame.ground = replace(frame.ground, kept={**frame.ground.kept, target.id: (test, stamp)})


def meant(name: str, frame: Frame) -> ir.Expr | None:
    """The test that a name keeps, as long as what it asks stays the same."""
    test, stamp = frame.ground.kept.get(name, (None, None))
    return test if test is not None and stamp == _stamp(choices.words_of(test) | {name}, frame) else None


def settled(test: ir.Expr, frame: Frame) -> bool | None:
    """How a test comes out, if what is known here leaves but one outcome."""
    if frame.searches or not (frame.ground.said or frame.excluded):
        return None
    left = [outcome for outcome in (True, False) if not _is_excluded(frozenset(_says(test, outcome, frame)), frame)]
    return left[0] if len(left) == 1 else None


def behind(test: ir.Expr, outcome: bool, before: Ground, frame: Frame) -> Ground:
    """What is known where a test comes out like this."""
    return replace(before, said=before.said.union(_says(test, outcome, frame)))


@contextmanager
def apart(frame: Frame) -> Iterator[None]:
    """What is found out here holds nowhere else: it may not run, or run again."""
    before = frame.ground, frame.excluded
    yield
    frame.ground, frame.excluded = before


def _is_excluded(new: Said, frame: Frame) -> bool:
    if any((question, not outcome) in frame.ground.said for question, outcome in new):
        return True
    together = frame.ground.said | new
    return any(one <= together for one in frame.excluded if not new.isdisjoint(one))


def _says(test: ir.Expr, outcome: bool, frame: Frame) -> Iterator[tuple[Hashable, bool]]:
    """What a test says by its outcome; of one that may come out otherwise the next time, that it is this one."""
    match test:
        case ir.Unary(operator="not"):
            yield from _says(test.operand, not outcome, frame)
            return
        case ir.Boolean(operator=operator, left=left, right=right):
            goes_on = operator == "and"
            sides = [side for side in (left, right) if frame.known.get(side) is not goes_on]
            if goes_on is outcome or len(sides) == 1:
                for side in sides:
                    yield from _says(side, outcome, frame)
                return
        case ir.Name(id=name):
            kept = meant(name, frame)
            if kept is not None:
                yield from _says(kept, outcome, frame)
                return
    if _is_of_names(test, frame):
        question, is_so = choices.question_of(test)
        yield (question, _stamp(names_in(test), frame)), outcome is is_so
    else:
        yield test, outcome


def _stamp(words: frozenset[str], frame: Frame) -> Hashable:
    """Tells apart what words stand for before and after they are given other values."""
    return tuple(frame.changes.get(word, 0) for word in sorted(words))


def _is_of_names(test: ir.Expr, frame: Frame) -> bool:
    """Whether a test comes out the same each time, as long as its names stand for the same."""
    code, names = frame.function.code, names_in(test)
    if isinstance(test, ir.Name) and (test.id in _opened_in(code) or not _is_flag(test.id, frame)):
        return False
    is_shared = not names.isdisjoint(rebound_in(frame.module) | _shared_in(code))
    return _lasts(test) and not is_shared and not any(name in frame.env for name in _owners_in(test))


def _is_flag(name: str, frame: Frame) -> bool:
    """Whether a name stands for nothing that could be filled and be true from then on."""
    return all(isinstance(one, (Const, Host, Unknown)) for one in members(frame.env.get(name, NONE)))


@remembered
def _lasts(test: ir.Expr) -> bool:
    """Whether a test compares names, or asks for their truth or their classes, and nothing else."""
    return all(map(_is_plain, walk(test)))


def _is_plain(part: object) -> bool:
    match part:
        case ir.Call():
            return isinstance(part.func, ir.Name) and part.func.id in _OF_CLASSES
        case ir.Compare(comparisons=[("in" | "not in", among)]):
            return isinstance(among, ir.Display)
    return isinstance(part, _PARTS)


@remembered
def _owners_in(test: ir.Expr) -> frozenset[str]:
    """The names of which a test asks an attribute, which others may change."""
    return frozenset().union(*(names_in(part.value) for part in walk(test) if isinstance(part, ir.Attribute)))


@remembered
def _opened_in(code: ir.Code) -> frozenset[str]:
    """The names of which a function takes a part or calls a method: what they hold may change."""
    inside = (part.value for part in walk(code.body) if isinstance(part, (ir.Attribute, ir.Subscript)))
    return frozenset(part.id for part in inside if isinstance(part, ir.Name))


@remembered
def _shared_in(code: ir.Code) -> frozenset[str]:
    """The names that a function, or one inside it, declares to be another one's."""
    return frozenset(name for part in walk(code.body) if isinstance(part, ir.Scope) for name in part.names)
