"""Copies of data with fewer rows into what a graph reads: `copy_` spreads a single one over all, without a word."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from graphlint.rule import CopySpread
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Frame, Made, Object, Tensor, Thing, things_in
from graphlint.static.life.record import Write
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import walk

_COPY = "copy_"
_SIZES = frozenset({"len", "numel", "shape", "size"})


@dataclass
class Copies(Listener):
    """Follows one run; `loaders` give batches of data, and `casting` are methods that keep its shape."""

    tell: Tell
    loaders: frozenset[str]
    casting: frozenset[str]

    def written(self, write: Write) -> None:
        root = write.target.root
        if write.method != _COPY or not write.is_sure or not write.is_whole or len(write.values) == 0:
            return
        for capture in self.ledger.latest.values():
            if root not in capture.reads:
                continue
            value = write.values[0]
            is_sure = not any(root in things_in(one) for one in self.ledger.guessed)
            if isinstance(root, Tensor) and root is write.target and is_sure and is_spread(value, root):
                self.tell(CopySpread(), write.place, capture)
            elif (left := self._left_over(value)) != 0 and not any(map(_asks_for_size, self.ledger.frames)):
                self.tell(CopySpread(of_loader=True, left=left), write.place, capture)

    def _left_over(self, value: Object) -> int | None:
        """How many rows the last batch has that a value is one of; None if nobody knows, and 0 if all are alike."""
        loader = next((one for one in self._origins(value) if isinstance(one, Made) and one.cls in self.loaders), None)
        if loader is None or loader.given.get("drop_last") not in (None, False):
            return 0
        size = loader.given.get("batch_size", loader.given.get(1))
        if size in (None, 1) or "batch_sampler" in loader.given:
            return 0
        data = loader.given.get(0, loader.given.get("dataset"))
        rows = data.given.get(0) if isinstance(data, Made) else None
        count = rows.sizes[0] if isinstance(rows, Tensor) and rows.sizes else None
        return count % size if isinstance(count, int) and isinstance(size, int) else None

    def _origins(self, value: Object) -> Iterator[Thing]:
        """What data was taken from, and moved or cast."""
        while isinstance(value, Thing):
            yield value
            is_called = value.made is not None and isinstance(value.made.node, ir.Call)
            if is_called and not (isinstance(value, Tensor) and value.factory.rpartition(".")[2] in self.casting):
                return
            value = next(iter(value.source), None)


def is_spread(value: Object, target: Tensor) -> bool:
    """Whether one row is written to several."""
    given, asked = value.sizes if isinstance(value, Tensor) else None, target.sizes
    if not given or not asked or len(given) != len(asked):
        return False
    return given[0] == 1 and isinstance(asked[0], int) and asked[0] > 1


def _asks_for_size(frame: Frame) -> bool:
    """Whether a function compares a size, as it does where it leaves out a batch that is too small."""
    for part in walk(frame.function.code.body):
        if isinstance(part, ir.Compare):
            for one in walk(part):
                match one:
                    case ir.Attribute(attr=name) | ir.Name(id=name) if name in _SIZES:
                        return True
    return False
