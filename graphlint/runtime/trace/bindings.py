"""The numbers, tensors and containers of the host that a region read and changed, by the names that led to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType

from graphlint.finding import Span
from graphlint.runtime.trace.host_values import Description
from graphlint.runtime.trace.places import Place


@dataclass(frozen=True, slots=True)
class Access:
    """A chain of attributes and constant subscripts behind a name, such as `self.config["rate"]`.

    `steps` are the attributes (as text) and the subscripts (as a tuple of one). `how` is `read`, `write`, `change`
    (a method that changes a container, or a subscript that is not constant) or `call`. `line` is where it stands;
    `is_method` says that a container is changed by a method.
    """

    root: str
    steps: tuple[str | tuple[object], ...]
    how: str
    line: int
    column: int
    end_line: int
    end_column: int
    is_method: bool = False


@dataclass(slots=True)
class Binding:
    """A name of the host's state that a region read or changed: how to look it up again, and what it held.

    `entered` is what it held before the line ran for the first time, `left` what it held when the region had run. It
    `is_given` by the region if what it belongs to is.
    """

    access: Access
    place: Place
    look_up: Callable[[], Description]
    entered: Description
    is_local: bool
    left: Description = field(default_factory=dict)
    is_given: bool = False

    @property
    def span(self) -> Span:
        one = self.access
        return Span(self.place.path, one.line, one.column, one.end_line, one.end_column)

    @property
    def statement(self) -> Span:
        """The line as a whole."""
        return Span(self.place.path, self.access.line)


@dataclass(slots=True, eq=False)
class Bindings:
    """Those of one capture, and the lines that drew random numbers; `opening` is the code that opens the region."""

    opening: CodeType | None
    found: dict[tuple[Access, CodeType], Binding] = field(default_factory=dict)
    draws: list[Place] = field(default_factory=list)
