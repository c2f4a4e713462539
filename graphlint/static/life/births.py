"""State that gets its first value in a region, because nothing has made it before: each replay makes it anew."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphlint.rule import StateBorn
from graphlint.static.interpreter.names import MODULE_CODE
from graphlint.static.life.forms import kept_by, taken_by
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Arguments, Capture, Made, Object, Place, Symbol, Thing, things_in
from graphlint.static.life.record import Call
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import walk

CACHED = "functools.cache"  # what a cached function is answered by, the first time
NOTHING = (None, False, 0)
ANEW = frozenset(
    {"copy_", "fill_", "requires_grad_", "retain_grad_", "zero_"}
)  # what was there before is not asked for


@dataclass
class Births(Listener):
    """Follows one run.

    An optimizer that is given one of the `stateful` parameters makes state in its first step; so do objects of the
    `lazy` classes when they are first called, or when the method of that name is.
    """

    tell: Tell
    stateful: frozenset[str]
    lazy: frozenset[str]
    used: set[Thing] = field(default_factory=set)  # what may have its state

    # Of libraries

    def answered(self, call: Call) -> None:
        if call.name == CACHED:
            self._cached(call)
        if call.name in self.lazy and isinstance(call.owner, Made):
            self._used(call.owner, call.place)
        for one in (call.owner, *call.given.all()):
            if isinstance(one, Made) and self._is_stateful(one):
                if call.last == "step":
                    self._used(one, call.place)
                elif call.owner is not one and call.name.startswith("?"):
                    self.used.add(one)

    def _cached(self, call: Call) -> None:
        """A cached function keeps what it gives: a tensor of the region, if this is the first call of all."""
        capture = self.ledger.capture
        is_known = self.ledger.is_whole and not (self.ledger.decided or self.ledger.is_cut)
        if capture is not None and is_known and any(one.root.made_in is capture for one in things_in(call.result)):
            self.tell(StateBorn(in_cache=True), call.place, capture)

    def ran(self, module: Thing, given: tuple[Object, ...], result: Object, place: Place) -> None:
        if isinstance(module, Made) and module.cls in self.lazy:
            self._used(module, place)

    def trained(self, owner: Object, name: str, given: Arguments, place: Place) -> None:
        if name == "load_state_dict" and isinstance(owner, Thing):
            self.used.add(owner)

    def _is_stateful(self, made: Made) -> bool:
        values = [made.given[name] for name in self.stateful if name in made.given]
        return any(one not in NOTHING and not isinstance(one, (Thing, Symbol)) for one in values)

    def _used(self, made: Made, place: Place) -> None:
        capture = self.ledger.capture
        is_new = made not in self.used and made not in self.ledger.escaped
        self.used.add(made)
        if capture is not None and is_new and made.made_in is not capture and self._is_first(made, capture):
            self.tell(StateBorn(), place, capture)

    def _is_first(self, made: Thing, capture: Capture) -> bool:
        """Whether nobody else can have used an object that this run has made: what made it has not returned."""
        if self.ledger.decided or made.made is None or (isinstance(made, Made) and made.given.get("enabled") is False):
            return False
        maker, began = made.made.function, self.ledger.frames[0].function
        if maker.qualname == MODULE_CODE.name and maker.module is not began.module:
            return False  # what the file that makes it goes on to do is not run
        makers = [frame for frame in self.ledger.frames if frame.function.code is made.made.function.code]
        return self.ledger.is_whole or any(frame.way == made.made.way for frame in makers)

    # Of the program

    def tested(self, place: Place, outcome: bool, is_known: bool) -> None:
        """A condition in a region: if it asks whether state is there that the other calls change in place."""
        capture, frame = self.ledger.capture, self.ledger.frames[-1]
        if capture is None or not is_known or not self.ledger.is_whole or self.ledger.decided:
            return
        taken = taken_by(frame.statement, place.node, outcome)
        body = walk(frame.function.code.body) if taken else ()
        rest = [one for one in body if all(one is not part for part in walk(taken))]
        for target, value in kept_by(taken):
            spelt = place.function.source(target)
            is_made = isinstance(value, ir.Call) and _is_asked(place.node, spelt, place)
            if is_made and any(_changes(one, spelt, place) for one in rest):
                self.tell(StateBorn(is_own=True), place._replace(node=target), capture)


def _is_asked(test: ir.Node, spelt: str, place: Place) -> bool:
    """Whether a condition asks whether something is None."""
    is_none = isinstance(test, ir.Compare) and any(
        isinstance(one, ir.Literal) and one.value is None for one in walk(test)
    )
    return is_none and any(isinstance(one, ir.Expr) and place.function.source(one) == spelt for one in walk(test))


def _changes(node: object, spelt: str, place: Place) -> bool:
    """Whether a node changes something in place, by what it held."""
    match node:
        case ir.AugAssign():
            return place.function.source(node.target) == spelt
        case ir.Call(func=ir.Attribute(attr=name) as method) if name.endswith("_") and not name.endswith("__"):
            return name not in ANEW and place.function.source(method.value) == spelt
    return False
