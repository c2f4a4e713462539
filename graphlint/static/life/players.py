"""Classes that are tried for what nobody knows, and which of them a run does not tell apart."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from graphlint.static.index.module import ClassDefinition, Module
from graphlint.static.interpreter.classes import Classes
from graphlint.static.life.frames import Decisions, Plan


@dataclass
class Player:
    """A class whose methods are called back on what nobody knows, or none; `asked` is what a run asks of it."""

    definition: ClassDefinition | None
    classes: Classes
    asked: dict[object, bool] = field(default_factory=dict)

    def is_any(self) -> bool:
        return self._ask(None)

    def is_from(self, module: Module) -> bool:
        """Whether it stands in a file."""
        return self._ask(module)

    def having(self, name: str) -> ClassDefinition | None:
        """The class, if it has a method; from then on, a run knows which one it is."""
        return self.definition if self._ask(name) and self._ask(self.definition) else None

    def _ask(self, question: object) -> bool:
        answer = self.asked[question] = self._answer(question)
        return answer

    def _answer(self, question: object) -> bool:
        """Whether it is of a file, has a method of a name, is a class, or is any."""
        if self.definition is None or question is None:
            return self.definition is not None
        if isinstance(question, str):
            return self.classes.find(self.definition, question) is not None
        return question is self.definition or question is self.definition.module

    def is_like(self, asked: dict[object, bool]) -> bool:
        """Whether it answers everything in the same way."""
        return all(self._answer(question) is answer for question, answer in asked.items())


class Mode(NamedTuple):
    """How a program is run: the machine has these too."""

    is_wide: bool = False
    is_thrifty: bool = False


class Run(NamedTuple):
    """What came of a run, and what it asked of its player: another one that answers the same makes no difference.

    It `is_making` the object that its program is about, or `has_begun` to use it; or what it called `is_refused`.
    """

    decisions: Decisions
    steps: int
    is_making: bool
    has_begun: bool
    is_refused: bool
    is_given_up: bool
    has_captured: bool
    has_replayed: bool
    asked: dict[object, bool]


@dataclass
class Runs:
    """The runs of one program, with whatever player, by what was planned for them, and how."""

    known: defaultdict[tuple[tuple[bool, ...], Mode], list[Run]] = field(default_factory=lambda: defaultdict(list))

    def find(self, plan: Plan, mode: Mode, player: Player) -> Run | None:
        return next((one for one in self.known[plan.outcomes, mode] if player.is_like(one.asked)), None)

    def add(self, plan: Plan, mode: Mode, run: Run) -> None:
        self.known[plan.outcomes, mode].append(run)
