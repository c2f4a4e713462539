"""The edits by name, and the share of the programs that each of them has to find something to do in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from metamorphic import calls, functions, layout, modules, names, statements
from metamorphic.sources import Change, Sources


@dataclass(frozen=True)
class Edit:
    """A change of a program that leaves its meaning as it is.

    `applies` is the least share of programs; an edit of the layout leaves the syntax tree as it is, too.
    """

    apply: Callable[[Sources], Iterator[Change]]
    applies: float
    is_layout: bool = False

    @property
    def name(self) -> str:
        return self.apply.__name__

    def __str__(self) -> str:
        return self.name


EDITS = (
    Edit(layout.squeezed, 0.99, is_layout=True),
    Edit(layout.spread_out, 0.99, is_layout=True),
    Edit(layout.comments, 0.99),
    Edit(names.rename, 0.99),
    Edit(names.import_as, 0.99),
    Edit(names.import_member, 0.99),
    Edit(calls.keywords, 0.95),
    Edit(statements.temporaries, 0.99),
    Edit(statements.in_loop, 0.99),
    Edit(statements.in_container, 0.99),
    Edit(functions.extract_function, 0.9),
    Edit(functions.extract_method, 0.1),
    Edit(functions.extract_body, 0.9),
    Edit(functions.nested_function, 0.9),
    Edit(functions.decorate, 0.9),
    Edit(modules.move, 0.8),
)
