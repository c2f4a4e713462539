"""The block of a capture in, how to run it once more out."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FunctionType

from graphlint.runtime.compare.ambient import Ambient
from graphlint.runtime.compare.reach import is_atom
from graphlint.runtime.compare.remembered import Recall
from graphlint.runtime.trace.frames import running
from graphlint.runtime.watch.blocks import Block

Roots = tuple[tuple[str, object], ...]
Variables = dict[str, object]


@dataclass
class Rerun:
    """A captured block, what it was given, and the tensors that its graph writes its results to."""

    block: Block
    function: FunctionType
    recall: dict[str, Recall]
    ambient: Ambient
    results: dict[str, Recall] = field(default_factory=dict)

    def given(self) -> Variables:
        """Raises GoneError."""
        return {name: recall() for name, recall in self.recall.items()}

    def given_now(self) -> Variables:
        """The same with what numbers and text of those names are now, where the function around it runs."""
        frame = next((frame for frame in running() if frame.f_code is self.block.around), None)
        now = self.block.given(frame) if frame is not None else {}
        return self.given() | {name: value for name, value in now.items() if is_atom(value)}

    def roots(self, given: Variables, made: Variables) -> Roots:
        """What the block can reach, by name."""
        return ("block", self.function), *(given | made).items()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Inside, nothing is said a second time."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield
