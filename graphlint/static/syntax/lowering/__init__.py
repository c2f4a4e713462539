"""Source of one definition or statement in, compact form out: Python itself parses, one pass lowers.

What this release of Python cannot read, or misplaces, libcst reads; the forms are the same. They depend on the text
alone, so that they are shared by every file that repeats it.
"""

from __future__ import annotations

from graphlint.static.syntax import ir
from graphlint.static.syntax.lowering.abstract import statements as abstract
from graphlint.static.syntax.lowering.abstract.positions import Misplaced
from graphlint.static.syntax.nesting import too_deep
from graphlint.static.syntax.remembered import remembered
from graphlint.static.syntax.store import current
from graphlint.static.syntax.trees import UNPARSABLE


class UnparsableSource(Exception):
    """A segment that neither this Python nor libcst can read."""


class EndlessSource(UnparsableSource):
    """A segment that is too deep or too long, and at which of its lines, from 0."""

    def __init__(self, what: str, line: int) -> None:
        super().__init__(what)
        self.line = line


@remembered
def lower_segment(text: str) -> ir.Block:
    """The statements of a segment of whole source lines, indented or not; of a store, where one is used."""
    store = current()
    return _lower(text) if store is None else store.find(text, _lower)


def _lower(text: str) -> ir.Block:
    deep = too_deep(text)
    if deep is not None:
        raise EndlessSource(*deep)
    try:
        return abstract.lower(text)
    except RecursionError:
        raise EndlessSource("nests too deep", 0) from None
    except (*UNPARSABLE, Misplaced):
        return _lower_concrete(text)


def _lower_concrete(text: str) -> ir.Block:
    # Imported here: only what this Python cannot read needs libcst, which takes longer to load than all the rest.
    from libcst import ParserSyntaxError

    from graphlint.static.syntax.lowering.concrete.statements import lower

    try:
        return lower(text)
    except RecursionError:
        raise EndlessSource("nests too deep", 0) from None
    except (ParserSyntaxError, ValueError) as problem:  # a literal may have no value: too many digits, half a character
        raise UnparsableSource(str(problem)) from problem


def lower_expression(text: str) -> ir.Expr | None:
    """An expression given as text; None for anything else."""
    try:
        statements = lower_segment(text + "\n")
    except UnparsableSource:
        return None
    return statements[0].value if statements and isinstance(statements[0], ir.Evaluate) else None
