"""The text of a file in, the answer out of which more cannot be learnt: what a search asks of files that it goes over.

A file may change as it likes, as long as it answers the questions of a run as before. Each question can be written
down: by the name of its class and its fields.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Generic, TypeAlias, TypeVar

Answer = TypeVar("Answer")
Written: TypeAlias = "str | int | list[Written] | dict[str, Written] | None"  # as JSON has it

_PIECE = 5  # bytes that marks may share: fewer stand in too many files

_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+(\.*)((?:\w[\w.]*)?)[ \t]+import[ \t]+\(?\s*(\w+)|import[ \t]+([\w.]+))", re.MULTILINE
)
# Begins with a plain word, which is found ten times faster; without an end, each would be looked for to the last line.
_CLASS_BASES = re.compile(rb"class\s+\w+\(([^)]{0,5000})\)")
_BASE = re.compile(rb"(\w+)\s*(?:\[|,|$)")
_STORE = re.compile(rb"\.(?<!self\.)(?<!cls\.)(\w+)[ \t]*[-+*/|&]?=(?!=)")
_OWN = re.compile(rb"self\.(\w+)[ \t]*(?::[^=\n]{1,500})?=(?!=)")
_QUOTED = re.compile(rb"[\"']([^\"'\\\n]+)[\"']")
_METHOD = re.compile(rb"def (\w+)\s*\(")
_DEFINED = re.compile(rb"def ([^\s(\[]+)")
_PART = re.compile(rb"\w+")
# Begins with a line break, which is found faster than a beginning by `^`; so a text is given one in front.
_REGISTRATION = re.compile(rb"\n(?:[ \t]*@(?=\w)|(?=\w[\w.]*\())([\w.]+)")


class Question(Generic[Answer]):
    """What is asked of the text of a file; two with the same fields are one."""

    def __init__(self, *fields: str | Sequence[str]) -> None:
        self.fields = tuple(one if isinstance(one, str) else tuple(one) for one in fields)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.fields == other.fields

    def __hash__(self) -> int:
        return hash((type(self), self.fields))

    def __call__(self, text: bytes) -> Answer:
        raise NotImplementedError


class Holds(Question[bool]):
    """Whether all of some words stand in a file."""

    def __init__(self, words: Sequence[str]) -> None:
        super().__init__(words)
        self._words = [word.encode() for word in words]

    def __call__(self, text: bytes) -> bool:
        return all(word in text for word in self._words)


class HoldsAny(Question[bool]):
    """Whether one of some marks stands in a file, and whether a pattern matches there if one is given."""

    def __init__(self, marks: Sequence[str], pattern: str = "") -> None:
        super().__init__(marks, pattern)
        self._marks = [mark.encode() for mark in marks]
        self._pattern = re.compile(pattern) if pattern else None

    @cached_property
    def _groups(self) -> list[tuple[bytes, list[bytes]]]:
        return list(by_shared_piece(self._marks).items())

    def __call__(self, text: bytes) -> bool:
        # A plain search for each mark is faster than one expression for all of them.
        for piece, group in self._groups:
            if piece in text and any(mark in text for mark in group):
                return self._pattern is None or self._pattern.search(text.decode("utf-8", "replace")) is not None
        return False


class HoldsLine(Question[bool]):
    """Whether a pattern matches from the beginning of a line that holds a mark."""

    def __init__(self, mark: str, pattern: str) -> None:
        super().__init__(mark, pattern)
        self._mark, self._pattern = mark.encode(), re.compile(pattern.encode())

    def __call__(self, text: bytes) -> bool:
        at = text.find(self._mark)
        while at >= 0:
            if self._pattern.match(text, text.rfind(b"\n", 0, at) + 1):
                return True
            end = text.find(b"\n", at)
            at = text.find(self._mark, end) if end >= 0 else end
        return False


class HoldsPair(Question[bool]):
    """Whether a method with one word in its name is defined, and a name stands there that has another word instead."""

    def __init__(self, word: str, other: str) -> None:
        super().__init__(word, other)
        self._word, self._other = word.encode(), other.encode()

    def __call__(self, text: bytes) -> bool:
        names = {name for name in _METHOD.findall(text) if self._word in name} if self._other in text else ()
        return any(name.replace(self._word, self._other) in text for name in names)


class Imports(Question[list[list[str]]]):
    """What a file imports: the dots and the module of `from`, its first member, or the module of a plain import."""

    def __call__(self, text: bytes) -> list[list[str]]:
        return [[part.decode("utf-8", "replace") for part in found] for found in _IMPORT.findall(text)]


class SyntaxMistake(Question[list[int]]):
    """The line at which a file stops being Python, if it does."""

    def __call__(self, text: bytes) -> list[int]:
        import symtable  # takes half of the time of a tree
        import warnings

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                symtable.symtable(text, "", "exec")  # type: ignore[arg-type]
        except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
            return [getattr(problem, "lineno", None) or 1]
        return []


class Names(Question[frozenset[bytes]]):
    """The names that stand in a file in one role: `bases` of classes, attributes that it `stores` or `owns`, functions
    that it `defines`, texts that it `says`, the parts of names that it decorates with or calls in a statement of its
    top level (`registers`).

    They are looked up one at a time, and who looks one up depends on no other.
    """

    def __init__(self, role: str) -> None:
        super().__init__(role)
        self._pattern = {
            "bases": _BASE, "stores": _STORE, "owns": _OWN, "defines": _DEFINED, "says": _QUOTED, "registers": _PART,
        }[role]  # fmt: skip
        self._within = {"bases": _CLASS_BASES, "registers": _REGISTRATION}.get(role)

    def __call__(self, text: bytes) -> frozenset[bytes]:
        return frozenset(self._pattern.findall(b",".join(self._within.findall(b"\n" + text)) if self._within else text))


class Registered(Question[frozenset[bytes]]):
    """The names under which some methods put something on another object: `layer.register_buffer("scale", scale)`."""

    def __init__(self, methods: Sequence[str]) -> None:
        super().__init__(methods)
        self._pattern = re.compile(rf"(?<!self)\.(?:{'|'.join(methods)})\(\s*[\"'](\w+)[\"']".encode())
        self._marks = [method.encode() for method in methods]

    def __call__(self, text: bytes) -> frozenset[bytes]:
        is_called = any(mark in text for mark in self._marks)
        return frozenset(self._pattern.findall(text) if is_called else ())


_KINDS = {
    kind.__name__: kind for kind in (Holds, HoldsAny, HoldsLine, HoldsPair, Imports, Names, Registered, SyntaxMistake)
}


def written(question: Question[Answer]) -> Written:
    """A question as it is written down."""
    fields: list[Written] = [one if isinstance(one, str) else [*one] for one in question.fields]
    return [type(question).__name__, *fields]


def as_written(spelt: list[str]) -> Question[object]:
    """The question that was written down. Raises LookupError or TypeError for what is none."""
    kind, *fields = spelt
    made: Question[object] = _KINDS[kind](*fields)  # type: ignore[assignment]
    return made


def by_shared_piece(marks: Collection[bytes]) -> dict[bytes, list[bytes]]:
    """The marks by a piece that they share: a text without the piece holds none of them, which saves most searches."""
    groups, left = {}, sorted(marks)
    while left:
        counts = Counter(piece for mark in left for piece in set(_pieces(mark)))
        piece, count = max(counts.items(), key=lambda item: (item[1], item[0]), default=(b"", 1))
        if count == 1:
            break
        groups[piece] = [mark for mark in left if piece in mark]
        left = [mark for mark in left if piece not in mark]
    return groups | {mark: [mark] for mark in left}


def _pieces(mark: bytes) -> Iterator[bytes]:
    for begin in range(len(mark) - _PIECE + 1):
        yield mark[begin : begin + _PIECE]
