"""The outputs of graphs in, those that are still in use after a replay has written over them out."""

from __future__ import annotations

import ast
import gc
import weakref
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import count

import torch

from graphlint.finding import Span
from graphlint.runtime.trace.capture import Capture, External, Internal
from graphlint.runtime.trace.containers import elements
from graphlint.runtime.trace.operators import storage_key
from graphlint.runtime.trace.places import Place, Stack, source_tree

_SCANS = 32  # of everything that Python holds, for those that hold an output
_KEEPERS = frozenset({"append", "appendleft", "add", "insert", "put", "put_nowait", "setdefault", "send"})

Counts = dict[tuple[int, int], int]  # how often a container holds a tensor, by the identities of both


class Kept:
    """Outputs that a container holds from more than one replay, and outputs over which another graph has written."""

    def __init__(self, *, shares_memory: bool) -> None:
        """`shares_memory` says whether captures of one pool may use the same addresses."""
        self._shares_memory = shares_memory
        self._outputs: dict[int, list[weakref.ref[torch.Tensor]]] = {}  # the very tensors of the capture
        self._stacks: dict[int, Stack] = {}  # of the last replay of a capture
        self._held: Counts = {}  # at the last replay
        self._scans = 0
        self._stretches: list[tuple[Capture, list[int], list[int]]] = []  # where a graph writes: from, to
        self._victims: dict[int, list[tuple[Capture, int]]] = {}  # outputs that lie where a graph writes
        self._spoiled: set[int] = set()  # outputs over which another graph has written, by storage
        self._makers: dict[int, Capture] = {}  # whose graph writes it, by storage
        self._turn = count()
        self._turns: dict[int, int] = {}  # when a capture was replayed last, among all replays

    def captured(self, capture: Capture) -> None:
        """Its outputs are what it has made and what is still there."""
        self._outputs[id(capture)] = [made for made in capture.made if made() is not None]
        for other, starts, ends in self._stretches if self._shares_memory else ():
            if other.pool == capture.pool:
                for key, internal in capture.internals.items():
                    if not internal.storage.expired() and _is_hit(internal, starts, ends):
                        self._victims.setdefault(id(other), []).append((capture, key))
        self._stretches.append((capture, *_merged(capture)))
        if self._shares_memory:
            self._makers |= dict.fromkeys(capture.internals, capture)

    def gave(self, capture: Capture, outputs: list[torch.Tensor]) -> None:
        """What a replay has given in place of the tensors of the capture."""
        known = self._outputs.setdefault(id(capture), [])
        known += [weakref.ref(one) for one in outputs if not any(made() is one for made in known)]

    def replays(self, capture: Capture, stack: Stack) -> None:
        """A graph is about to be replayed, from the line on top of the stack."""
        self._stacks[id(capture)] = stack
        self._turns[id(capture)] = next(self._turn)
        self._spoiled -= capture.internals.keys()
        self._spoiled |= {key for other, key in self._victims.get(id(capture), ()) if other.replays}
        if self._scans < _SCANS:
            self._scans += 1
            self._held |= _counts([made() for made in self._outputs.get(id(capture), ())])

    def reused_inputs(self, capture: Capture) -> Iterator[External]:
        """What a graph is about to read of another that was let go, and that the pool has given to a third since."""
        for key, external in capture.externals.items() if self._shares_memory else ():
            if external.storage.expired() and (maker := self._makers.get(key)) is not None:
                turn = self._turns.get(id(maker), -1)
                for other, starts, ends in self._stretches:
                    is_later = self._turns.get(id(other), -1) > turn and other.pool == maker.pool
                    if is_later and _is_hit(external, starts, ends):
                        yield external
                        break

    def overwritten(self, capture: Capture, tensor: torch.Tensor) -> str:
        """Why an output that is read holds something else than when it was kept; empty where it does not."""
        if storage_key(tensor) in self._spoiled:
            return "another graph of the same pool has written there"
        if capture.replays < 2:
            return ""
        before = {key: count for key, count in self._held.items() if key[1] == id(tensor)}
        if before and any(count > before.get(key, count) for key, count in _counts([tensor]).items()):
            self._held = {key: count for key, count in self._held.items() if key not in before}  # once is enough
            return "one container holds it from several replays"
        return ""

    def keeping(self, capture: Capture) -> tuple[Stack, Span | None]:
        """The statement that keeps an output behind the last replay; the replay itself where none is found."""
        stack = self._stacks.get(id(capture), ())
        for depth, place in enumerate(stack):
            span = statement_that_keeps(place)
            if span is not None:
                return stack[depth:], span
        return stack, None


def _merged(capture: Capture) -> tuple[list[int], list[int]]:
    """The stretches of memory that a graph made for itself, in order and without overlap: from, to."""
    starts: list[int] = []
    ends: list[int] = []
    for start, end in sorted((one.address, one.address + one.size) for one in capture.internals.values()):
        if ends and start <= ends[-1]:
            ends[-1] = max(ends[-1], end)
        else:
            starts.append(start)
            ends.append(end)
    return starts, ends


def _is_hit(memory: Internal | External, starts: list[int], ends: list[int]) -> bool:
    """Whether one of the stretches reaches into it."""
    place = bisect_right(starts, memory.address + memory.size - 1) - 1
    return place >= 0 and ends[place] > memory.address


def _counts(outputs: list[torch.Tensor | None]) -> Counts:
    """How often each container that can grow holds each of the tensors."""
    alive = {id(one): one for one in outputs if one is not None}
    found: Counts = {}
    for container in gc.get_referrers(*alive.values()) if alive else ():
        if container is not alive and container is not outputs:
            for value in _collected(container):
                if id(value) in alive:
                    key = id(container), id(value)
                    found[key] = found.get(key, 0) + 1
    return found


def _collected(container: object) -> Iterable[object]:
    """What a container that may grow holds; the names of a namespace are no collection."""
    is_namespace = isinstance(container, dict) and all(
        isinstance(one, str) and one.isidentifier() for one in dict.keys(container)
    )
    return elements(container) if isinstance(container, list | deque | dict) and not is_namespace else ()


def statement_that_keeps(place: Place) -> Span | None:
    """The first `append`, `yield`, `return` or the like behind a line of a function; None where there is none."""
    last = max(line or 0 for *_, line in place.code.co_lines())
    nodes = (node for node in ast.walk(source_tree(place.path)) if isinstance(node, ast.expr | ast.stmt))
    lines = (node.lineno for node in nodes if place.line <= node.lineno <= last and _keeps(node))
    line = min(lines, default=None)
    return Span(place.path, line) if line is not None else None


def _keeps(node: ast.AST) -> bool:
    match node:
        case ast.Yield(value=ast.expr() as value) | ast.Return(value=ast.expr() as value):
            return _is_reference(value)
        case ast.Call(func=ast.Attribute(attr=name), args=[*_, value]) if name in _KEEPERS:
            return _is_reference(value)
        case ast.Assign(targets=[ast.Subscript()], value=value):
            return _is_reference(value)
    return False


def _is_reference(value: ast.expr) -> bool:
    """Whether an expression names something that is there already."""
    if isinstance(value, ast.Tuple | ast.List):
        return any(_is_reference(one) for one in value.elts)
    return isinstance(value, ast.Name | ast.Attribute | ast.Subscript)
