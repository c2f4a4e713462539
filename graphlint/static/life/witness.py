"""What whole programs surely do in their captures: conditions that never hold there, and state that nobody reads."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphlint.finding import Condition, Span
from graphlint.static.life.ledger import Listener
from graphlint.static.life.objects import Frame, Object, Place, Thing

Line = tuple[str, int]


@dataclass
class Witness:
    """What all runs saw; what a part of a program alone was run for, nobody knows for sure."""

    outcomes: dict[Line, dict[tuple[str, bool], None]] = field(default_factory=dict)  # of conditions, in captures
    unsure: set[Line] = field(default_factory=set)
    kept: dict[Span, bool] = field(default_factory=dict)  # statements that keep something, and whether it is read

    def merge(self, other: Witness) -> None:
        """Add what other runs saw."""
        for line, outcomes in other.outcomes.items():
            self.outcomes.setdefault(line, {}).update(outcomes)
        self.unsure |= other.unsure
        for span, is_read in other.kept.items():
            self.kept[span] = self.kept.get(span, False) or is_read

    def refutes(self, when: tuple[Condition, ...], span: Span) -> bool:
        """Whether a finding is about what never happens, or about what is kept and read by nobody."""
        return any(map(self._never_holds, when)) or self._is_unread(span)

    def confirms(self, condition: Condition) -> bool:
        """Whether what a finding asks for is known to hold in the capture of a whole program."""
        known = self.outcomes.get((condition.path, condition.line), {})
        return (condition.text, True) in known or (condition.opposite, False) in known

    def _never_holds(self, condition: Condition) -> bool:
        """Whether what a finding asks for holds in no capture."""
        line = condition.path, condition.line
        known = self.outcomes.get(line, {})
        texts = {text for text, _ in known}
        if line in self.unsure or len(texts) != 1:
            return False
        if condition.text in texts:
            return (condition.text, True) not in known
        return condition.opposite in texts and (condition.opposite, False) not in known

    def _is_unread(self, span: Span) -> bool:
        """Whether a statement that begins here keeps what no program reads."""
        return any(
            not read and (kept.path, kept.line, kept.column) == (span.path, span.line, span.column)
            for kept, read in self.kept.items()
        )


@dataclass
class Testimony(Listener):
    """Follows one run for the witness."""

    witness: Witness
    kept: dict[tuple[int, str], tuple[Object, Span]] = field(default_factory=dict)  # attributes, by object and name
    looks: set[tuple[int, str]] = field(default_factory=set)  # attributes that were read, in captures or outside

    def tested(self, place: Place, outcome: bool, is_known: bool) -> None:
        line = place.path, place.line
        if is_known and self.ledger.is_whole and not self.ledger.is_cut:
            self.witness.outcomes.setdefault(line, {})[place.text, outcome] = None
        else:
            self.witness.unsure.add(line)

    def assigned(self, owner: Thing, name: str, value: Object, place: Place) -> None:
        if self.ledger.capture is not None:
            is_read = not self.ledger.is_whole or (id(owner), name) in self.looks
            self.witness.kept[place.span] = self.witness.kept.get(place.span, False) or is_read
            self.kept[id(owner), name] = owner, place.span

    def finished(self) -> None:
        if self.ledger.is_cut:
            self.witness.kept |= {span: True for _, span in self.kept.values()}

    def looked(self, owner: Thing | Frame, name: str) -> None:
        key = (id(owner), name)
        self.looks.add(key)
        known = self.kept.get(key)
        if known is not None:
            self.witness.kept[known[1]] = True
