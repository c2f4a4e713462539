"""Segments of source in, their compact forms out where another run has left them; by content, so for every checkout.

A store is lines of text: a digest of the source, a sum, and the form. A line that is broken, or written by another
release of anything that makes these forms, is as good as none.
"""

from __future__ import annotations

import contextlib
import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from graphlint.reading import reads
from graphlint.static.syntax import ir
from graphlint.static.syntax.coding import KnownPlaces, decode, encode, nodes_of

_LARGEST = 1 << 26  # characters; what is beyond keeps only what was asked for in the last run
_BROKEN = (LookupError, TypeError, ValueError, RecursionError)

_used: Store | None = None


class Store:
    """The forms of segments, by a digest of their source; `head` says who can read them."""

    def __init__(self, head: str, text: str) -> None:
        self._head = head
        found, _, lines = text.partition("\n")
        self._lines = {line[:32]: line for line in lines.split("\n") if line} if found == head else {}
        self._asked: dict[str, ir.Block] = {}
        self._length = len(text)
        self.added: dict[str, str] = {}

    def find(self, source: str, lower: Callable[[str], ir.Block]) -> ir.Block:
        """The form of a segment, as it was kept or from its source. Raises what that raises."""
        digest = reads.digest(source.encode("utf-8", "surrogatepass"))
        block = self._read(digest, lambda: lower(source))
        if block is None:
            block = lower(source)
        self._asked[digest] = block
        return block

    def _read(self, digest: str, again: Callable[[], ir.Block]) -> ir.Block | None:
        line = self._lines.get(digest)
        if line is None:
            return None
        try:
            _, total, text = line.split(" ", 2)
            if int(total, 16) != zlib.crc32(text.encode()):
                return None
            data, known = json.loads(text)
            block: ir.Block = decode(data, KnownPlaces(known, again))
            return block
        except _BROKEN:
            return None

    def collect(self) -> dict[str, str]:
        """The lines of what was asked for, as far as they are not kept yet, or without positions that are known now."""
        for digest, block in self._asked.items():
            with_places = _are_known(block)
            kept = self._lines.get(digest, "")
            if digest not in self.added and (not kept or (with_places and kept.endswith("null]"))):
                with contextlib.suppress(*_BROKEN):
                    known = [node.pos for node in nodes_of(block)] if with_places else None
                    text = json.dumps([encode(block), known], separators=(",", ":"))
                    self.added[digest] = f"{digest} {zlib.crc32(text.encode()):08x} {text}"
        return self.added

    def text(self) -> str:
        """All that is kept from now on."""
        kept = self._lines
        if self._length > _LARGEST:
            kept = {digest: line for digest, line in kept.items() if digest in self._asked}
        return "\n".join((self._head, *(kept | self.added).values()))


@contextlib.contextmanager
def used(store: Store) -> Iterator[Store]:
    """Let what is lowered inside be read from a store, and be noted there."""
    global _used
    outer, _used = _used, store
    try:
        yield store
    finally:
        _used = outer


def current() -> Store | None:
    """The store that is used now, if one is."""
    return _used


def head() -> str:
    """Who can read a store: the releases of all that makes the forms."""
    import sys

    made_by = sorted(Path(__file__).parent.rglob("*.py"))
    libcst = Path((reads.package("libcst") or ("",))[0]).with_name("_version.py")
    made_by += [libcst] if reads.is_file(libcst) else []
    texts = b"\0".join(reads.content(path) for path in made_by)
    return f"graphlint code 1 {reads.digest(texts + sys.version.encode())}"


def _are_known(block: ir.Block) -> bool:
    """Whether somebody has asked for a position, for which all are worked out."""
    return bool(block) and getattr(block[0].mark[0], "is_known", False)
