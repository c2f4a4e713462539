"""The block of a capture in, how to run it once more out."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FunctionType
from typing import Protocol

from graphlint.runtime.compare.ambient import Ambient
from graphlint.runtime.compare.reach import is_atom
from graphlint.runtime.compare.remembered import Recall
from graphlint.runtime.trace.frames import running
from graphlint.runtime.watch.blocks import Block

Roots = tuple[tuple[str, object], ...]
Variables = dict[str, object]


class Rerun(Protocol):
    """What was captured, to be run again in its `ambient`; `results` are the tensors that its graph writes.

    Where it `does_more` than the graph, what else it changes is no matter.
    """

    does_more: bool = False
    ambient: Ambient
    results: dict[str, Recall]

    def given(self) -> Variables:
        """What the replay is given that begins now. Raises GoneError where that is not to be had."""

    def given_now(self) -> Variables:
        """The same with numbers and text as they are now, where they are the program's variables."""
        return self.given()

    def roots(self, given: Variables, made: Variables) -> Roots:
        """What it can reach, by name."""

    def run(self, given: Variables) -> Variables:
        """Run it; what it has made, by the names of `results`."""


@dataclass
class BlockRerun(Rerun):
    """A captured block, what it was given, and the tensors that its graph writes its results to."""

    block: Block
    function: FunctionType
    recall: dict[str, Recall]
    ambient: Ambient
    results: dict[str, Recall] = field(default_factory=dict)

    def given(self) -> Variables:
        return {name: recall() for name, recall in self.recall.items()}

    def given_now(self) -> Variables:
        frame = next((frame for frame in running() if frame.f_code is self.block.around), None)
        now = self.block.given(frame) if frame is not None else {}
        return self.given() | {name: value for name, value in now.items() if is_atom(value)}

    def roots(self, given: Variables, made: Variables) -> Roots:
        return ("block", self.function), *(given | made).items()

    def run(self, given: Variables) -> Variables:
        return self.block.run(self.function, given)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Inside, nothing is said a second time."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield
