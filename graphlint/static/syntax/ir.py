"""The compact form of a function that the interpreter walks: plain nodes with positions, and no syntax tree.

Positions are relative to a segment, the run of source lines of one definition or statement.
`pos` is (line, column, end line, end column); lines count from 0 at the segment's first line, columns from 0.
Few nodes are ever asked for theirs, so that a node says only where to look it up.
Long, because there is a small class for every kind of node.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

Pos: TypeAlias = tuple[int, int, int, int]


class Places(Protocol):
    """The positions of a segment, by keys that mean something to it alone."""

    def __getitem__(self, key: Any, /) -> Pos: ...


Mark: TypeAlias = tuple[Places, Any]
NOWHERE: Mark = (((0, 0, 0, 0),), 0)


@dataclass(slots=True, eq=False)
class Node:
    """Anything with a place in the source."""

    mark: Mark

    @property
    def pos(self) -> Pos:
        places, key = self.mark
        return places[key]


@dataclass(slots=True, eq=False)
class Literal(Node):
    value: object


@dataclass(slots=True, eq=False)
class Name(Node):
    id: str


@dataclass(slots=True, eq=False)
class Attribute(Node):
    value: Expr
    attr: str


@dataclass(slots=True, eq=False)
class Subscript(Node):
    value: Expr
    index: Expr


@dataclass(slots=True, eq=False)
class Slice(Node):
    bounds: tuple[Expr | None, Expr | None, Expr | None]


@dataclass(slots=True, eq=False)
class Argument:
    """One argument of a call: `star` is "", "*" or "**"."""

    value: Expr
    keyword: str | None = None
    star: str = ""


@dataclass(slots=True, eq=False)
class Call(Node):
    func: Expr
    arguments: tuple[Argument, ...]


@dataclass(slots=True, eq=False)
class Display(Node):
    """A tuple, list or set display."""

    kind: str
    elements: tuple[Expr, ...]


@dataclass(slots=True, eq=False)
class DictDisplay(Node):
    """A dict display; a key of None marks an unpacked mapping."""

    items: tuple[tuple[Expr | None, Expr], ...]


@dataclass(slots=True, eq=False)
class Starred(Node):
    value: Expr


@dataclass(slots=True, eq=False)
class Binary(Node):
    operator: str
    left: Expr
    right: Expr


@dataclass(slots=True, eq=False)
class Unary(Node):
    operator: str
    operand: Expr


@dataclass(slots=True, eq=False)
class Boolean(Node):
    """`and` or `or` over two operands."""

    operator: str
    left: Expr
    right: Expr


@dataclass(slots=True, eq=False)
class Compare(Node):
    left: Expr
    comparisons: tuple[tuple[str, Expr], ...]


@dataclass(slots=True, eq=False)
class Conditional(Node):
    test: Expr
    body: Expr
    orelse: Expr


@dataclass(slots=True, eq=False)
class Comprehension(Node):
    """A comprehension or generator expression; `key` is set for dicts only."""

    kind: str
    key: Expr | None
    element: Expr
    clauses: tuple[tuple[Expr, Expr, tuple[Expr, ...]], ...]


@dataclass(slots=True, eq=False)
class Formatted(Node):
    """An f-string: its expressions, and the texts between them if it is `plain`: none has a format or conversion."""

    parts: tuple[str | Expr, ...]
    plain: bool


@dataclass(slots=True, eq=False)
class Walrus(Node):
    target: Expr
    value: Expr


@dataclass(slots=True, eq=False)
class Yield(Node):
    value: Expr | None
    delegated: bool = False


@dataclass(slots=True, eq=False)
class Await(Node):
    value: Expr


@dataclass(slots=True, eq=False)
class Lambda(Node):
    code: Code


Expr: TypeAlias = (
    Literal
    | Name
    | Attribute
    | Subscript
    | Slice
    | Call
    | Display
    | DictDisplay
    | Starred
    | Binary
    | Unary
    | Boolean
    | Compare
    | Conditional
    | Comprehension
    | Formatted
    | Walrus
    | Yield
    | Await
    | Lambda
)


@dataclass(slots=True, eq=False)
class Assign(Node):
    targets: tuple[Expr, ...]
    value: Expr | None
    annotation: Expr | None = None


@dataclass(slots=True, eq=False)
class AugAssign(Node):
    target: Expr
    operator: str
    value: Expr


@dataclass(slots=True, eq=False)
class Evaluate(Node):
    """An expression statement."""

    value: Expr


@dataclass(slots=True, eq=False)
class Return(Node):
    value: Expr | None


@dataclass(slots=True, eq=False)
class Raise(Node):
    value: Expr | None


@dataclass(slots=True, eq=False)
class Assert(Node):
    test: Expr
    message: Expr | None


@dataclass(slots=True, eq=False)
class Delete(Node):
    targets: tuple[Expr, ...]


@dataclass(slots=True, eq=False)
class If(Node):
    test: Expr
    body: Block
    orelse: Block


@dataclass(slots=True, eq=False)
class For(Node):
    target: Expr
    iterable: Expr
    body: Block
    orelse: Block


@dataclass(slots=True, eq=False)
class While(Node):
    test: Expr
    body: Block
    orelse: Block


@dataclass(slots=True, eq=False)
class With(Node):
    items: tuple[tuple[Expr, Expr | None], ...]
    body: Block


@dataclass(slots=True, eq=False)
class Handler:
    kind: Expr | None
    name: str | None
    body: Block


@dataclass(slots=True, eq=False)
class Try(Node):
    body: Block
    handlers: tuple[Handler, ...]
    orelse: Block
    final: Block


@dataclass(slots=True, eq=False)
class Case:
    """One arm of a match statement: the literal that it can match, and what it binds.

    `target` is the pattern as the target of an assignment, where it has that form: a name takes whatever there is.
    """

    literal: Expr | None
    binds: tuple[str, ...]
    guard: Expr | None
    body: Block
    target: Expr | None = None


@dataclass(slots=True, eq=False)
class Match(Node):
    subject: Expr
    cases: tuple[Case, ...]


@dataclass(slots=True, eq=False)
class Jump(Node):
    """`break`, `continue`, or `pass`."""

    kind: str


@dataclass(slots=True, eq=False)
class Scope(Node):
    """`global` or `nonlocal`."""

    kind: str
    names: tuple[str, ...]


@dataclass(slots=True, eq=False)
class Import(Node):
    """`import a.b as c` (member None) or `from a import b as c`; `level` counts leading dots, `alias` is bound."""

    module: str
    member: str | None
    alias: str
    level: int


@dataclass(slots=True, eq=False)
class Define(Node):
    """A nested function."""

    code: Code


@dataclass(slots=True, eq=False)
class DefineClass(Node):
    """A class statement, by its name, bases and body."""

    name: str
    bases: tuple[Expr, ...]
    body: Block
    decorators: tuple[Expr, ...]


Stmt: TypeAlias = (
    Assign
    | AugAssign
    | Evaluate
    | Return
    | Raise
    | Assert
    | Delete
    | If
    | For
    | While
    | With
    | Try
    | Match
    | Jump
    | Scope
    | Import
    | Define
    | DefineClass
)
Block: TypeAlias = tuple[Stmt, ...]


@dataclass(slots=True, eq=False)
class Parameter:
    """A parameter; `kind` is "positional", "keyword", "*" or "**"."""

    name: str
    kind: str
    default: Expr | None = None
    annotation: Expr | None = None


@dataclass(slots=True, eq=False)
class Code(Node):
    """A function or lambda. `loads` are the names it reads, so that a closure keeps no more than it needs."""

    name: str
    parameters: tuple[Parameter, ...]
    body: Block
    decorators: tuple[Expr, ...] = ()
    returns: Expr | None = None
    is_generator: bool = False
    is_async: bool = False
    loads: frozenset[str] = field(default_factory=frozenset)
