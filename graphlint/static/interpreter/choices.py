"""A test that nobody can decide in, what it chose where the same was asked before out.

`if exact: find = A()` and, further on, `if exact: find(x)` stay together: behind the second, `find` is what the first
has left. That ends where what the test speaks of, or what was chosen, is given another value; what a call changes of
an attribute is not seen, and a test that calls something may come out otherwise each time.
"""

from __future__ import annotations

from collections.abc import Hashable

from graphlint.static.domain.contexts import Env, Frame
from graphlint.static.syntax import ir
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.traversal import form, walk, words_in

_POSITIVE = {"!=": "==", "is not": "is", "not in": "in"}
_OF_KINDS = ("hasattr", "isinstance", "issubclass")  # what a value is it stays


def ask(test: ir.Expr, frame: Frame) -> None:
    """Before the branches of a test: what is given to its words from here on makes it another one."""
    words = words_of(test)
    if words:
        frame.choices.setdefault(question_of(test)[0], (words, {}))


def settle(test: ir.Expr, ends: dict[bool, Env], met: Env, frame: Frame) -> None:
    """Behind its branches: what each of them left."""
    question, sign = question_of(test)
    if question not in frame.choices:
        return
    ways = {outcome is sign: env for outcome, env in ends.items()}
    chosen = {
        key: (value, {outcome: env[key] for outcome, env in ways.items() if key in env})
        for key, value in met.items()
        if any(env.get(key) is not value for env in ways.values())
    }
    words, known = frame.choices[question]
    frame.choices[question] = words, {**known, **chosen}


def recall(test: ir.Expr, outcome: bool, env: Env, frame: Frame) -> None:
    """Where the test is asked again, put back what it has chosen."""
    if not frame.choices:
        return
    question, sign = question_of(test)
    _, chosen = frame.choices.get(question, (None, {}))
    for key, (met, ways) in chosen.items():
        before = ways.get(outcome is sign)
        if before is not None and env.get(key) is met:
            env[key] = before


def forget(word: str, frame: Frame) -> None:
    """A name or an attribute is given another value."""
    frame.changes[word] = frame.changes.get(word, 0) + 1
    for question in [question for question, (words, _) in frame.choices.items() if word in words]:
        del frame.choices[question]


@remembered
def words_of(test: ir.Expr) -> frozenset[str]:
    """What a test speaks of; nothing if it may come out otherwise each time."""
    return words_in(test) if all(map(_lasts, walk(test))) else frozenset()


def _lasts(part: object) -> bool:
    """Whether a part of a test is the same when it is asked again."""
    if isinstance(part, ir.Call):
        return isinstance(part.func, ir.Name) and part.func.id in _OF_KINDS
    return not isinstance(part, ir.Walrus)


@remembered
def question_of(test: ir.Expr) -> tuple[Hashable, bool]:
    """What a test asks, the same for all that ask it and for their opposites, and the outcome that means yes."""
    match test:
        case ir.Unary(operator="not"):
            question, sign = question_of(test.operand)
            return question, not sign
        case ir.Compare(left=left, comparisons=[(operator, right)]) if operator in _POSITIVE:
            return (_POSITIVE[operator], form(left), form(right)), False
        case ir.Compare(left=left, comparisons=[(operator, right)]):
            return (operator, form(left), form(right)), True
    return form(test), True
