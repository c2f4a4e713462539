"""Lines that open regions in, the names by which the code around calls what was opened out."""

from __future__ import annotations

from collections.abc import Iterator, Set

from graphlint.static.index.module import ClassDefinition, Definition, Module, Segment
from graphlint.static.life.hooks import classes_of
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import called_name, walk


def holds(segment: Segment, lines: Set[int]) -> bool:
    return any(segment.first <= line <= segment.last for line in lines)


def speaks_of(definition: Definition, names: Set[str]) -> bool:
    """Whether a function speaks of something by one of these names."""
    if not any(definition.module.holds(definition.segment, name) for name in names):
        return False  # which saves parsing most functions
    code = definition.code
    parts = walk(code.body) if code is not None else ()
    return any(isinstance(part, ir.Name) and part.id in names for part in parts)


def openers_in(module: Module, lines: Set[int]) -> set[str]:
    """The functions and classes of a file that open regions on these lines."""
    owners = {one.name for one in classes_of(module) if holds(one.segment, lines)}
    return owners | {one.name for one in module.index.own_functions() if holds(one.segment, lines)}


def names_opened(module: Module, lines: Set[int]) -> set[str]:
    """The names of a file that are given what opens a region, as `step = torch.compile(step)`."""
    assigned = module.index.assignments.items()
    return {name for name, segments in assigned if any(holds(segment, lines) for segment in segments)}


def entrances_to(module: Module, names: Set[str]) -> list[Definition]:
    """The functions of a file that come to what has one of these names, by which a stranger would: no other calls them.

    What the statements of the file call, they run themselves.
    """
    known, found = set(names), list[Definition]()
    while more := [one for one in module.index.own_functions() if one not in found and names and speaks_of(one, known)]:
        found += more
        known |= {one.name for one in more}
    statements = (module.lowered(segment) for segment in module.index.statements if found)
    spoken = {part.id for block in statements for part in walk(block) if isinstance(part, ir.Name)}
    spoken |= {one.name for one in found if any(speaks_of(other, {one.name}) for other in found if other is not one)}
    return [one for one in found if one.name not in spoken]


def methods_calling(owner: ClassDefinition, lines: Set[int], openers: Set[str]) -> list[str]:
    """The methods that call what the class compiles, by functions of these names: `self.step = torch.compile(...)`."""
    opened = {name for one in owner.methods.values() for name in _opened(one[-1], lines, openers)}
    opened |= {name for name, one in owner.methods.items() if any(_heads(part, lines) for part in one)}
    return [name for name, one in owner.methods.items() if name != "__init__" and _calls_any(one[-1], opened)]


def _opened(definition: Definition, lines: Set[int], openers: Set[str]) -> Iterator[str]:
    """The attributes that statements of a method on these lines assign, or compile where they are."""
    code = definition.code if holds(definition.segment, lines) else None
    for node in walk(code.body) if code is not None else ():
        if not isinstance(node, ir.Assign | ir.Evaluate) or definition.segment.first + node.pos[0] not in lines:
            continue
        if isinstance(node.value, ir.Call) and called_name(node.value) in openers:
            targets = node.targets if isinstance(node, ir.Assign) else (node.value,)
            yield from filter(None, map(attribute_of, targets))


def _heads(definition: Definition, lines: Set[int]) -> bool:
    """Whether the header of a method, its decorators included, opens a region."""
    return any(definition.segment.first <= line <= definition.line for line in lines)


def _calls_any(definition: Definition, opened: Set[str]) -> bool:
    code = definition.code if opened else None
    parts = walk(code.body) if code is not None else ()
    return any(isinstance(part, ir.Call) and attribute_of(part.func) in opened for part in parts)


def attribute_of(node: ir.Expr) -> str | None:
    """The attribute of an object's own that an expression begins with: `layers` in `self.layers[0].forward`."""
    while isinstance(node, ir.Attribute | ir.Call | ir.Subscript):
        inner = node.func if isinstance(node, ir.Call) else node.value
        if isinstance(node, ir.Attribute) and isinstance(inner, ir.Name):
            return node.attr if inner.id == "self" else None
        node = inner
    return None
