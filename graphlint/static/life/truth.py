"""What is true in a rehearsed run, and how far it has come: what nobody knows is decided once."""

from __future__ import annotations

from abc import abstractmethod

from graphlint.static.domain.program import ModuleValue, PackageValue
from graphlint.static.index.module import Module
from graphlint.static.life.bounds import Bounds
from graphlint.static.life.frames import MAX_STEPS, Decisions, Stopped, Wearied
from graphlint.static.life.ledger import Ledger
from graphlint.static.life.objects import (
    ClassRef,
    Closure,
    Container,
    Frame,
    Instance,
    Made,
    MethodOf,
    Object,
    Outside,
    Place,
    Symbol,
    Tensor,
    Thing,
)
from graphlint.static.life.players import Player
from graphlint.static.life.questions import ArrayAsked, Opposite, Question, identity
from graphlint.static.syntax import ir


class Truth:
    """The conditions of one run."""

    def __init__(self, ledger: Ledger, decisions: Decisions, player: Player) -> None:
        self.ledger = ledger
        self.decisions = decisions
        self.player = player
        self.steps = 0
        self.limit = MAX_STEPS  # to the steps; what takes more is left
        self.is_making, self.has_begun = False, False  # whether the object that a program is about is made, or was
        self.is_wide = False  # whether conditions are tried both ways wherever they stand, while it is made
        self.is_thrifty = False  # whether what other files do is left if it takes long
        self.is_refused = False  # an exception has ended what the program called
        self.home: Module | None = None  # the file whose conditions are tried both ways
        self.outcomes: dict[object, bool] = {}  # of questions and symbols
        self.bounds = Bounds()

    def step(self) -> None:
        """Count a step. Raises Stopped after too many, or Wearied after too many of what can be left."""
        self.steps += 1
        if self.steps > self.limit:
            raise Stopped if self.limit == MAX_STEPS else Wearied

    @abstractmethod
    def eval(self, node: ir.Expr, frame: Frame) -> Object: ...

    @abstractmethod
    def condition(self, node: ir.Expr, frame: Frame, likely: bool, is_guard: bool = False) -> Object: ...

    def known_truth(self, value: Object) -> bool | None:
        """The truth of a value if it is known, or has been decided in this run."""
        match value:
            case Opposite():
                inner = self.known_truth(value.negated)
                return None if inner is None else not inner
            case Question():
                known = self.outcomes.get(value.asked)
                return self.bounds.answer(value.asked) if known is None and value.is_counted else known
            case Container(is_sifted=True):
                return value.truth
            case Container():
                return True if value.values() else (None if value.is_open else False)
            case Tensor():
                return None
            case Instance() | Made() | Closure() | ClassRef() | MethodOf():
                return True
            case Thing():
                return value.truth
            case Symbol():
                return self.outcomes.get(value)
            case Outside() | ModuleValue() | PackageValue():
                return True
        return bool(value)

    def decide_on(self, value: Object, place: Place, likely: bool, is_guard: bool = False) -> bool:
        """Decide the truth of a value that nobody knows, for the rest of the run."""
        if isinstance(value, Opposite):
            return not self.decide_on(value.negated, place, not likely, is_guard)
        if self._is_unlikely(value):
            likely = False
        likely = likely if getattr(value, "likely", None) is None or is_guard else value.likely
        outcome = self.decide(place, likely, is_guard)
        match value:
            case Question():
                if isinstance(value, ArrayAsked):
                    value.array.is_array = outcome
                self.outcomes[value.asked] = outcome
                if value.is_counted:
                    self.bounds.learn(value.asked, outcome)
            case Tensor():
                pass
            case Thing():
                value.truth = outcome
            case Symbol():
                self.outcomes[value] = outcome
        return outcome

    def _is_unlikely(self, value: Object) -> bool:
        """Whether a question is denied first: a count that is due, or that what somebody gives is nothing."""
        if not isinstance(value, Question):
            return False
        if value.is_counted:
            return self.bounds.is_due(value.asked)
        return value.asked[0] == "is" and identity(None) in value.asked

    def is_tried(self, place: Place) -> bool:
        """Whether a condition is tried both ways, as a rule."""
        is_home = place.function.module is self.home or self.player.is_from(place.function.module)
        return is_home or (self.is_wide and self.is_making)

    def decide(self, place: Place, likely: bool, is_guard: bool = False) -> bool:
        self.ledger.decided += 1
        capture = self.ledger.capture
        is_closed = capture is not None and capture.manager is not None  # no exception leaves it open
        is_inside = is_closed and capture is not None and place.function.code is not capture.place.function.code
        is_free = self.is_tried(place) and not is_inside and not is_guard
        return self.decisions.decide(place, likely, is_free, self.has_begun)

    def test(self, node: ir.Expr, frame: Frame, likely: bool, is_guard: bool = False) -> bool:
        """The outcome of a condition: known, or decided; of one that is a guard, the other leads nowhere."""
        value = self.condition(node, frame, likely, is_guard)
        known = self.known_truth(value)
        outcome = known if known is not None else self.decide_on(value, frame.place(node), likely, is_guard)
        self.ledger.tested(frame.place(node), outcome, known is not None)
        return outcome
