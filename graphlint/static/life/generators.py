"""Which generators a region draws from, and which of them its graph was told of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from graphlint.rule import Event, GeneratorUsed
from graphlint.static.life.ledger import Call, Listener
from graphlint.static.life.objects import Capture, Made, Object, Place, Thing

Tell = Callable[[Event, Place, Capture], None]


@dataclass
class Generators(Listener):
    """Follows one run."""

    tell: Tell
    registered: set[tuple[Thing, Thing]] = field(default_factory=set)  # graph, generator

    def answered(self, call: Call) -> None:
        if call.last == "register_generator_state" and isinstance(call.owner, Thing):
            generator = call.given.get(0, "generator")
            if isinstance(generator, Thing):
                self.registered.add((call.owner, generator))
        capture, generator = self.ledger.capture, call.given.keywords.get("generator")
        if capture is None or not isinstance(generator, Made) or generator.cls != "torch.Generator":
            return
        device = generator.given.get(0, generator.given.get("device"))
        if _is_of_host(device) or (capture.graph, generator) in self.registered or generator in self.ledger.escaped:
            return
        if generator.made_in is not capture:
            self.tell(GeneratorUsed(isinstance(device, str)), call.place, capture)


def _is_of_host(device: Object) -> bool:
    return device is None or (isinstance(device, str) and device.startswith("cpu"))
