"""What a run has looked at of a source in; whether another text says the same there, and where its lines are, out.

A text has a layout, which is its functions without what stands in them, and lines of code; comments, empty lines and
docstrings say nothing. Of a function that nobody has looked into, any text says the same.
"""

from __future__ import annotations

import importlib.util
import tokenize
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, takewhile
from typing import Any, TypeAlias, TypeVar

from graphlint.reading.record import Lines
from graphlint.reading.tokens import tokens_of
from graphlint.static.syntax.outline import outline
from graphlint.static.syntax.trees import is_python

Fits: TypeAlias = Callable[[str, int, int], bool]  # a text, and where in it a word begins and ends
Answer = TypeVar("Answer")

_LAYOUT = (tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.NEWLINE, tokenize.ENDMARKER)
_KEPT = 64  # texts


@dataclass
class Looked:
    """What was looked at of a text: its layout, and of the rest these lines and words, or `is_whole`.

    A segment is there with whether its comments were looked at, too. `words` are those that functions and statements
    were searched for, `answers` what was asked of the whole text; all of it `is_parsed` if it was found to be Python.
    """

    text: str
    is_whole: bool = False
    is_parsed: bool = False
    segments: dict[tuple[int, int], bool] = field(default_factory=dict)
    words: set[tuple[str, Fits]] = field(default_factory=set)
    answers: dict[tuple[Callable[..., object], tuple[Any, ...]], object] = field(default_factory=dict)

    def see(self, segment: tuple[int, int], is_exact: bool = False) -> None:
        """Note a segment, by its first and its last line."""
        self.segments[segment] = is_exact or self.segments.get(segment, False)

    def ask(self, question: Callable[..., Answer], *given: Any) -> Answer:
        """What a question to the whole text comes to, which has to be the same for another text."""
        key = question, given
        if key not in self.answers:
            self.answers[key] = question(self.text, *given)
        return self.answers[key]  # type: ignore[return-value]

    def copy(self) -> Looked:
        return Looked(self.text, self.is_whole, self.is_parsed, {**self.segments}, {*self.words}, {**self.answers})

    def of(self, text: bytes, lines: Lines) -> Looked:
        other = Looked(source_text(text), self.is_whole, self.is_parsed, {}, {*self.words}, {**self.answers})
        for (first, last), is_exact in self.segments.items():
            if first in lines and last in lines:
                other.see((lines[first], lines[last]), is_exact)
            else:
                other.is_whole = True
        return other

    def merge(self, other: Looked) -> None:
        self.is_whole |= other.is_whole
        self.is_parsed |= other.is_parsed
        for segment, is_exact in other.segments.items():
            self.see(segment, is_exact)
        self.words |= other.words
        self.answers |= other.answers

    def lines_in(self, text: bytes) -> Lines | None:
        try:
            other = source_text(text)
        except (UnicodeError, SyntaxError, LookupError):
            return None
        if other == self.text:
            return {}
        lines = None if self.is_whole or not other else self._lines_in(other)
        is_same = lines is not None and all(ask(other, *given) == known for (ask, given), known in self.answers.items())
        return lines if is_same else None

    def _lines_in(self, text: str) -> Lines | None:
        old, new = outline(self.text), outline(text)
        layout = _aligned(old.text, new.text) if old is not None and new is not None else None
        if old is None or new is None or layout is None or self._asks_for(_different(old.text, new.text)):
            return None
        begun = _code(old.text) or {}
        lines = {**layout}
        for first, last in old.functions:
            if not begun.get(first, "").endswith(":\n"):  # what looks like a function in a string
                return None
            inner = self._inner(_Piece(self.text, first, last), _Piece(text, layout[first], layout[last]))
            if inner is None:
                return None
            lines |= inner
        return lines

    def _asks_for(self, different: Sequence[str]) -> bool:
        """Whether a word that was searched for stands in one of the comments that differ outside of functions."""
        return any(word in line for line in different for word, _ in self.words)

    def _inner(self, old: _Piece, new: _Piece) -> Lines | None:
        """Where the lines of a function are; none of them if nobody has looked at these, None if it is another one."""
        if old.text == new.text:
            return {line: line - old.first + new.first for line in range(old.first, old.last + 1)}
        if any(old.holds(*word) != new.holds(*word) for word in self.words):
            return None
        if self.is_parsed and not is_python(new.text):
            return None
        seen = [is_exact for span, is_exact in self.segments.items() if span[0] <= old.last and span[1] >= old.first]
        inner = _aligned(old.text, new.text) if not any(seen) else None
        if not seen:
            return {}
        return inner and {old.first + line - 1: new.first + other - 1 for line, other in inner.items()}


class _Piece:
    """Some whole lines of a text."""

    def __init__(self, whole: str, first: int, last: int) -> None:
        self.first, self.last = first, last
        starts = line_starts(whole)
        self._whole, self._at, self._end = whole, starts[first - 1], starts[last]
        self.text = whole[self._at : self._end]

    def holds(self, word: str, fits: Fits) -> bool:
        """Whether a word stands there where the text around it fits."""
        return word in self.text and any(True for _ in places(self._whole, word, fits, self._at, self._end))


def source_text(data: bytes) -> str:
    """The text of a source. Raises UnicodeError, SyntaxError (an unknown encoding declared) or LookupError."""
    text = importlib.util.decode_source(data)  # honours coding comments and the byte order mark
    return text.replace("\r\n", "\n").replace("\r", "\n")


def anywhere(text: str, at: int, end: int) -> bool:
    """Whether a word fits: wherever it stands."""
    return True


def places(text: str, word: str, fits: Fits, first: int = 0, end: int | None = None) -> Iterator[int]:
    """Where a word begins in a part of a text, as far as the text around it fits; no word is nowhere."""
    at = text.find(word, first, end) if word else -1
    while at >= 0:
        if fits(text, at, at + len(word)):
            yield at
        at = text.find(word, at + len(word), end)


def uncommented(lines: Sequence[str]) -> Sequence[str]:
    """The lines of an expression, without the comments between them."""
    found = _code("(" + "\n".join(lines) + "\n)") if any("#" in line for line in lines) else None
    return lines if found is None else [line.removeprefix("(") if at == 1 else line for at, line in found.items()][:-1]


def _different(old: str, new: str) -> Sequence[str]:
    """The lines that are not in both of two texts, from the first of them to the last, but for empty ones."""
    first, second = ([line for line in text.split("\n") if line.strip()] for text in (old, new))
    while first and second and first[-1] == second[-1]:
        del first[-1], second[-1]
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False)))
    return (*first[same:], *second[same:])


def _aligned(old: str, new: str) -> Lines | None:
    """Where each line of code of one text is in another one, if these are the same; None for what cannot be read."""
    first, second = _code(old), _code(new)
    if first is None or second is None or [*first.values()] != [*second.values()]:
        return None
    return dict(zip(first, second, strict=True))


@lru_cache(_KEPT)
def _code(text: str) -> Mapping[int, str] | None:
    """The lines of code of a text, without comments and prose; what ends a statement ends in a line break."""
    tokens = tokens_of(text)
    if tokens is None:
        return None
    lines = text.split("\n")
    found: dict[int, str] = {}
    statement: list[tokenize.TokenInfo] = []
    for token in tokens:
        if token.type == tokenize.NEWLINE and statement:
            found |= _prose(statement[0]) if len(statement) == 1 else {}
            found[statement[-1].end[0]] += "\n"
            statement = []
        elif token.type not in _LAYOUT:
            (first, _), (last, end) = token.start, token.end
            found |= {line: lines[line - 1] for line in range(first, last)}  # of a string
            found[last] = lines[last - 1][:end]
            statement.append(token)
    return {line: code for line, code in found.items() if code}


def _prose(statement: tokenize.TokenInfo) -> Mapping[int, str]:
    """The lines of a statement that is a text and nothing else: it does nothing, whatever it says, if that is no name.

    Where it begins and ends may be asked for.
    """
    (first, column), (last, _) = statement.start, statement.end
    prefix = statement.string[:2].lower()
    if statement.type != tokenize.STRING or "f" in prefix or not any(map(str.isspace, statement.string)):
        return {}
    return dict.fromkeys(range(first, last), "") | {last: "''"} | {first: " " * column + "''"}


@lru_cache(_KEPT)
def line_starts(text: str) -> Sequence[int]:
    """Where each line begins in a text, and where one after the last would."""
    return array("q", accumulate((len(line) + 1 for line in text.split("\n")), initial=0))
