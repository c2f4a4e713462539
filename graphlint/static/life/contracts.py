"""What libraries ask of who captures calls of theirs: a mode, a step before each replay, tensors, a call before."""

from __future__ import annotations

from dataclasses import dataclass, field

from graphlint.rule import ContractBroken
from graphlint.rulebook.contracts import Contract, Contracts
from graphlint.static.life.ledger import Listener, Tell
from graphlint.static.life.objects import Capture, Made, Object, Place, Symbol, Tensor, Thing, things_in
from graphlint.static.life.record import Call


@dataclass
class Kept(Listener):
    """Follows one run."""

    tell: Tell
    contracts: Contracts
    used: dict[Capture, dict[Made, Contract]] = field(default_factory=dict)
    prepared: dict[Thing, int] = field(default_factory=dict)  # when objects were prepared last
    warm: set[object] = field(default_factory=set)  # functions, and modules, that were called before

    def answered(self, call: Call) -> None:
        row = self.contracts.find(call.name)
        if row is not None and call.owner is None:
            self._called(row, call.name, call.name.rpartition(".")[2], call.place)
            for name in row.tensors:
                self._number(call, name)
        owner = call.owner
        row = self.contracts.find(owner.cls, owner.given) if isinstance(owner, Made) else None
        if row is None or not isinstance(owner, Made):
            return
        capture = self.ledger.capture
        if call.last in row.prepare:
            self.prepared[owner] = self.ledger.now
        elif capture is not None and (call.last in row.calls or not row.calls):
            self.used.setdefault(capture, {})[owner] = row
            self._mode(owner, row, capture)

    def ran(self, module: Thing, given: tuple[Object, ...], result: Object, place: Place) -> None:
        row = self.contracts.find(module.cls, module.given) if isinstance(module, Made) else None
        if row is not None and isinstance(module, Made):
            self._called(row, module, module.cls.rpartition(".")[2], place)

    def called(self, callee: Object, given: list[Object], place: Place) -> None:
        """What nobody knows may prepare the objects that it is given."""
        if self.prepared and self.ledger.capture is None:
            held = (one for value in given for one in things_in(value))
            self.prepared |= {one: self.ledger.now for one in held if one in self.prepared}

    def _called(self, row: Contract, key: object, name: str, place: Place) -> None:
        """Note a call; tell of it in a region if there was none before."""
        capture = self.ledger.capture
        if row.warm_up and capture is not None and key not in self.warm and self.ledger.is_whole:
            self.tell(ContractBroken("warm_up", name), place, capture)
        self.warm.add(key)

    def _number(self, call: Call, name: str) -> None:
        """Tell of a number, or of data on the host, where only a tensor on the device is seen by replays."""
        value, capture = call.given.keywords.get(name), self.ledger.capture
        is_number = isinstance(value, (int, float, Symbol)) and not isinstance(value, bool)
        if capture is not None and (is_number or (isinstance(value, Tensor) and value.place == "host")):
            self.tell(ContractBroken("tensors", name), call.place, capture)

    def _mode(self, owner: Made, row: Contract, capture: Capture) -> None:
        """Tell of an object that was made in a mode which may not be captured."""
        positional = (value for key, value in owner.given.items() if isinstance(key, int))
        if owner.made is None or any(isinstance(value, (bool, Symbol)) for value in positional):
            return  # one of them may say it
        for name, wanted in row.mode:
            value = owner.given.get(name)
            if value is None or (isinstance(value, (bool, int, str)) and value != wanted):
                self.tell(ContractBroken("mode", f"{name}={wanted}"), owner.made, capture)

    def replayed(self, capture: Capture, place: Place) -> None:
        """Tell of a replay of new inputs before which nothing has prepared what the graph was captured with."""
        for owner, row in self.used.get(capture, {}).items() if self._is_filled(capture) else ():
            if self.prepared.get(owner, capture.replays[-1]) < capture.replays[-1]:
                self.tell(ContractBroken("prepare", row.prepare[0]), place, capture)

    def _is_filled(self, capture: Capture) -> bool:
        """Whether something was written since the last replay into what a graph reads: a benchmark does without."""
        return bool(capture.replays) and any(self.ledger.since(one, capture.replays[-1]) for one in capture.reads)
