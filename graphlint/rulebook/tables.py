"""A TOML text in; its data out, and for each mistake in it an error that names the file and the line."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from graphlint.errors import KINDS, UsageError, describe, nearest
from graphlint.reading import reads

Key = str | int
_POSITION = re.compile(r" \(at line (\d+), column \d+\)$")


class Table:
    """The data of a text that begins at `first_line` of its file. Raises UsageError where it is no TOML."""

    def __init__(self, file: Path, text: str, first_line: int = 1) -> None:
        self.file = file
        self._lines = text.splitlines(keepends=True)
        self._first_line = first_line
        try:
            self.data: dict[str, Any] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            position = _POSITION.search(str(error))
            line = int(position[1]) if position else len(self._lines)
            raise UsageError(
                f"{file}:{first_line + line - 1}: not valid TOML: {_POSITION.sub('', str(error))}"
            ) from error

    def error(self, said: str, *path: Key, at: str = "") -> UsageError:
        """An error about what stands under these keys; `at` is a piece of the line that is meant, if there are many."""
        return UsageError(f"{self.file}:{self.line(*path, at=at)}: {said}")

    def line(self, *path: Key, at: str = "") -> int:
        """The line of a key, or of the nearest table that could hold it; in a list of tables, keys are numbers."""
        start, count = 0, 1
        depth = -1
        for place, length, keys in self._statements():
            shared = _shared(keys, path)
            if shared > depth and shared == min(len(keys), len(path)):
                depth, start, count = shared, place, length
        told = (n for n in range(start, start + count) if at in self._lines[n])
        return self._first_line + next(told, start)

    def _statements(self) -> Iterator[tuple[int, int, tuple[Key, ...]]]:
        """The first line, the number of lines, and the keys of each statement: as few lines as are valid TOML."""
        header: tuple[Key, ...] = ()
        seen: Counter[tuple[Key, ...]] = Counter()
        start = 0
        for end in range(1, len(self._lines) + 1):
            text = "".join(self._lines[start:end])
            try:
                keys = _keys(tomllib.loads(text))
            except tomllib.TOMLDecodeError:
                continue
            if text.lstrip().startswith("["):
                header = keys
                if text.lstrip().startswith("[["):
                    header = (*keys, seen[keys])
                    seen[keys] += 1
                yield start, end - start, header
            elif keys:
                yield start, end - start, (*header, *keys)
            start = end

    def expect(self, value: object, kind: type, *path: Key) -> None:
        """Raises UsageError where a value is of another kind."""
        if not isinstance(value, kind):
            raise self.error(f"`{path[-1]}`: expected {KINDS[kind]}, found {describe(value)}", *path)

    def strings(self, value: object, *path: Key) -> tuple[str, ...]:
        """The strings of a list. Raises UsageError where it is none."""
        if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
            raise self.error(f"`{path[-1]}`: expected a list of strings, none of them empty", *path)
        return tuple(value)

    def known(self, row: Mapping[str, object], keys: Mapping[str, object] | tuple[str, ...], *path: Key) -> None:
        """Raises UsageError where a table has a key that means nothing."""
        for key in row:
            if key not in keys:
                raise self.error(f"unknown key `{key}`{nearest(key, keys)}", *path, key, at=key)


def read_table(file: Path) -> Table:
    """The table in a file. Raises UsageError."""
    return Table(file, read_text(file))


def read_text(file: Path) -> str:
    """What stands in a file. Raises UsageError."""
    try:
        return reads.content(file).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: cannot be read: {error}") from error


def _keys(data: Mapping[str, Any]) -> tuple[Key, ...]:
    """The keys that lead to the only value of a statement."""
    keys: list[Key] = []
    value: Any = data
    while isinstance(value, dict) and len(value) == 1:
        ((key, value),) = value.items()
        keys.append(key)
        if isinstance(value, list) and value == [{}]:
            break
    return tuple(keys)


def _shared(one: tuple[Key, ...], other: tuple[Key, ...]) -> int:
    """How many keys both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (left, right) in pairs if left != right), min(len(one), len(other)))
