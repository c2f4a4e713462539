"""What graphed callables are made of, and how they are called: the contract of `make_graphed_callables`.

A module stays the same object when it is graphed; what is known of it is kept under that.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from graphlint.finding import Region
from graphlint.rule import ActivationsOverwritten, CaptureMisused, CopySpread, GraphedMisuse, ModeSwitched
from graphlint.static.life.copies import is_spread
from graphlint.static.life.ledger import tensors_in
from graphlint.static.life.lent import Lent, Output
from graphlint.static.life.objects import (
    Arguments,
    Capture,
    Closure,
    Container,
    Frame,
    Instance,
    Made,
    Object,
    Place,
    Tensor,
    Thing,
)
from graphlint.static.life.record import Call
from graphlint.static.life.samples import told_of_samples
from graphlint.static.life.silence import Silence
from graphlint.static.life.tensors import has_gradient, history, is_parallel, modules_in, tensors_of
from graphlint.static.syntax import ir

HOOKS = frozenset({"register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook"})
MODES = frozenset({"eval", "train"})


@dataclass(eq=False)
class Graphed:
    """A callable that was graphed, with these samples and in this mode; `later` were graphed with it, behind it."""

    region: Capture
    samples: list[Object]
    training: bool
    has_parameters: bool
    later: list[Graphed] = field(default_factory=list)
    switched: Place | None = None
    exchanged: Place | None = None  # where a part of the module was replaced
    hooked: Place | None = None  # where a hook was given to a part of it
    calls: list[Place] = field(default_factory=list)
    waiting: set[int] = field(default_factory=set)  # the calls whose backward has not run
    summed: int | None = 0  # backward passes since gradients were None; None if they are not the graph's


@dataclass
class Callables(Lent):
    """Follows one run; `makers` are the names of what graphs callables."""

    makers: frozenset[str]
    silence: Silence
    graphed: dict[Thing, Graphed] = field(default_factory=dict)
    trained_by: dict[Thing, tuple[Graphed, int]] = field(default_factory=dict)  # with the number of the call
    training: dict[Thing, bool] = field(default_factory=dict)
    hooked: set[Thing] = field(default_factory=set)
    wanting: set[Thing] = field(default_factory=set)  # tensors that were asked to require a gradient
    trainable: dict[Thing, Place] = field(default_factory=dict)  # modules with a buffer that does
    casts: list[tuple[Object, Call, Place]] = field(default_factory=list)  # that are in force
    warm: set[Thing] = field(default_factory=set)  # modules that have been called

    # What is around

    def surrounded(self, manager: Object, place: Place) -> None:
        call = self.ledger.origin(manager)
        if call is not None and call.last == "autocast":
            self.casts.append((manager, call, place))

    def exited(self, manager: Object, place: Place) -> None:
        self.casts = [one for one in self.casts if one[0] is not manager]

    def answered(self, call: Call) -> None:
        owner = call.owner
        if call.name in self.makers:
            self._graph(call)
        elif call.last == "deepcopy":
            self._copied(call)
        elif call.last == "grad" and call.given.keywords.get("create_graph") is True:
            self._differentiated(call.given.get(0, "outputs"), call.place)
        if isinstance(call.result, Tensor) and call.given.keywords.get("requires_grad") is True:
            self.wanting.add(call.result)
        if call.last == "requires_grad_" and isinstance(owner, Thing):
            self._asked(owner, call.given.get(0, "requires_grad") is not False, call.place)
        if isinstance(owner, (Instance, Made)):
            self._of_module(owner, call)

    def _of_module(self, module: Instance | Made, call: Call) -> None:
        if call.last in MODES:
            self._switched(module, call.last == "train" and call.given.get(0, "mode") is not False, call.place)
        elif call.last in HOOKS:
            self.hooked.add(module)
            for target, known in self.graphed.items():
                if target is not module and module not in self.graphed and module in modules_in(target):
                    known.hooked = known.hooked or call.place
        elif call.last == "register_buffer" and has_gradient(call.given.get(1, "tensor"), self.wanting):
            self.trainable[module] = call.place

    # Graphing

    def _graph(self, call: Call) -> None:
        if len(call.given.all()) < 2 and not call.given.is_open:
            return  # without samples it raises, and graphs nothing
        region = Region("make_graphed_callables", call.place.path, call.place.line)
        capture = Capture(Thing(), region, call.place, self.ledger.now)
        for _, cast, place in self.casts:
            if cast.given.get(3, "cache_enabled") is not False and cast.given.get(2, "enabled") is not False:
                self.tell(GraphedMisuse("autocast"), place, capture)
        target, samples = call.given.get(0, "callables", "modules"), call.given.get(1, "sample_args")
        if not isinstance(target, Container):
            self._examine(call, target, samples, call.result, capture)
            return
        group: list[Graphed] = []
        given = samples.elements if isinstance(samples, Container) else []
        results = call.result.elements if isinstance(call.result, Container) else target.elements
        for number, (one, result) in enumerate(zip(target.elements, results, strict=True)):
            made = self._examine(call, one, given[number] if number < len(given) else None, result, capture)
            group += [made] if made is not None else []
        for number, made in enumerate(group):
            made.later = group[number + 1 :]

    def _examine(self, call: Call, target: Object, given: Object, result: Object, capture: Capture) -> Graphed | None:
        if not isinstance(target, (Thing, Closure)):
            return None
        held = modules_in(target)
        samples = given.elements if isinstance(given, Container) else [] if given is None else [given]
        if any(one in self.graphed for one in held):
            self.tell(GraphedMisuse("again"), call.place, capture)
        if isinstance(target, Thing) and target in self.hooked:
            self.tell(GraphedMisuse("hooks"), call.place, capture)
        for place in [self.trainable[module] for module in held if module in self.trainable]:
            self.tell(GraphedMisuse("buffer"), place, capture)
        if is_parallel(target):
            self.tell(GraphedMisuse("parallel"), call.place, capture)
        if call.given.keywords.get("num_warmup_iters") == 0 and target not in self.warm:
            self.tell(GraphedMisuse("cold"), call.place, capture)
        for how, place in told_of_samples(call, target, samples, self.wanting):
            self.tell(GraphedMisuse(how), place, capture)
        is_module = isinstance(target, Thing)
        known = Graphed(capture, samples, self.training.get(target, True) if is_module else True, is_module)
        known.summed = 0 if is_module else None
        wrapped = isinstance(result, Made) and "wrapped" in result.state
        self.graphed[result if wrapped else target] = known
        return known

    # Afterwards

    def _copied(self, call: Call) -> None:
        source = call.given.get(0, "x")
        known = next((self.graphed[one] for one in modules_in(source) if one in self.graphed), None)
        if known is not None:
            self.tell(GraphedMisuse("copied"), call.place, known.region)

    def _switched(self, module: Thing, training: bool, place: Place) -> None:
        for one in modules_in(module):
            self.training[one] = training
            known = self.graphed.get(one)
            if known is not None:
                known.switched = place if training is not known.training else None

    def _asked(self, owner: Thing, wants: bool, place: Place) -> None:
        """A tensor, or the parameters of a module, shall require gradients or not."""
        if wants:
            self.wanting.add(owner)
        for one in history(owner):
            known = next((known for module, known in self.graphed.items() if one in modules_in(module)), None)
            if known is not None and not wants:
                self.tell(GraphedMisuse("parameters"), place, known.region)
                return

    def ran(self, module: Thing, given: tuple[Object, ...], result: Object, place: Place) -> None:
        known, capture = self.graphed.get(module), self.ledger.capture
        self.warm.add(module)
        is_replayed = known is not None and self.training.get(module, known.training) is known.training
        if is_replayed and capture is not None:
            self.tell(CaptureMisused("replay"), place, capture)
        if known is None or capture is not None:
            return
        if known.switched is not None:
            self.tell(ModeSwitched(), known.switched, known.region)
            known.switched = None
        if not is_replayed:
            return
        if known.exchanged is not None:
            self.tell(GraphedMisuse("exchanged"), known.exchanged, known.region)
            known.exchanged = None
        if known.hooked is not None:
            self.tell(GraphedMisuse("inner hook"), known.hooked, known.region)
            known.hooked = None
        if isinstance(place.node, ir.Call) and any(one.keyword for one in place.node.arguments):
            self.tell(GraphedMisuse("keyword"), place, known.region)
        if any(isinstance(one, Tensor) and is_spread(two, one) for one, two in zip(known.samples, given, strict=False)):
            self.tell(CopySpread(), place, known.region)
        known.calls.append(place)
        # What it computes from the same again is the same.
        self.over(lambda output: output.by is known and not _are_same(output.given, given))
        made = Output(known.region, place, True, known, given)
        self.outputs |= dict.fromkeys([one.root for one in tensors_of(result)], made)
        if self.silence.managers:
            return
        known.waiting.add(len(known.calls))
        for one in tensors_of(result):
            self.trained_by[one] = known, len(known.calls)
        for sample, real in zip(known.samples, given, strict=False):
            is_other = isinstance(sample, Tensor) and isinstance(real, Tensor)
            if is_other and has_gradient(real, self.wanting) and not has_gradient(sample, self.wanting):
                self.tell(GraphedMisuse("sample gradient"), known.region.place, known.region)

    def collected(self, container: Container, key: Object, value: Object, place: Place) -> None:
        """An output that is put somewhere is told of there, once its values are asked for."""
        output = self.outputs.get(value.root) if isinstance(value, Thing) else None
        if output is not None and isinstance(value, Thing):
            self.outputs[value.root] = output._replace(place=place)

    def returned(self, value: Object, place: Place, frame: Frame) -> None:
        for thing in tensors_in(value) if frame.is_entry else ():
            self.read(thing, place, is_sure=True)

    # Backward

    def trained(self, owner: Object, name: str, given: Arguments, place: Place) -> None:
        if self.ledger.capture is not None:
            return
        if name == "zero_grad":
            for known in self.graphed.values():
                known.summed = 0 if known.has_parameters and given.get(0, "set_to_none") is not False else None
        if name == "backward" and isinstance(owner, Thing):
            if given.keywords.get("create_graph") is True:
                self._differentiated(owner, place)
            self._backward(owner, place)

    def _backward(self, loss: Thing, place: Place) -> None:
        numbers: dict[Graphed, set[int]] = {}
        for one in history(loss):
            if one in self.trained_by:
                known, number = self.trained_by[one]
                numbers.setdefault(known, set()).add(number)
        for known, called in numbers.items():
            first = min(called)
            if first < len(known.calls):
                self.tell(ActivationsOverwritten("call"), known.calls[first], known.region)
            elif any(later.waiting and later not in numbers for later in known.later):
                self.tell(ActivationsOverwritten("order"), place, known.region)
            known.waiting -= called
            if known.summed is not None:
                known.summed += 1
                if known.summed == 2:
                    self.tell(GraphedMisuse("summed"), place, known.region)

    def rebound(self, owner: object, name: str, before: Object, value: Object, place: Place) -> None:
        super().rebound(owner, name, before, value, place)
        if name == "grad":
            for known in self.graphed.values():
                known.summed = 0 if known.has_parameters and value is None else None
        elif name == "requires_grad" and isinstance(owner, Thing):
            self._asked(owner, value is not False, place)
        elif _is_trained(before) or _is_trained(value):
            self._exchanged(owner, place)

    def deleted(self, owner: object, name: str, before: Object, place: Place) -> None:
        if _is_trained(before):
            self._exchanged(owner, place)

    def _exchanged(self, owner: object, place: Place) -> None:
        """Note what was graphed and has other parts now."""
        for target, known in self.graphed.items() if isinstance(owner, (Instance, Made)) else ():
            if owner in modules_in(target):
                known.exchanged = known.exchanged or place

    def _differentiated(self, value: Object, place: Place) -> None:
        known = next((self.trained_by[one][0] for one in history(value) if one in self.trained_by), None)
        if known is not None:
            self.tell(GraphedMisuse("differentiated"), place, known.region)


def _are_same(one: tuple[Object, ...], other: tuple[Object, ...]) -> bool:
    return len(one) == len(other) and all(mine is its for mine, its in zip(one, other, strict=True))


def _is_trained(part: Object) -> bool:
    """Whether a part of a module is a module, or a parameter."""
    return bool(modules_in(part)[:1]) or (isinstance(part, Tensor) and part.factory.endswith("Parameter"))
