"""Regions in, what detectors say of the code around them out.

Long, because it knows all who listen to a run, and shares the runs between two processes.
"""

from __future__ import annotations

import gc
import sys
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from pathlib import Path

from graphlint.finding import Confidence, Hop, Region, Span
from graphlint.rule import Event, InputReplaced, OutsideDependency
from graphlint.rulebook.detectors import Detectors
from graphlint.static.domain.contexts import Occurrence
from graphlint.static.domain.program import Function, function_of
from graphlint.static.index.module import ClassDefinition, Module
from graphlint.static.index.parallel import Turns, begin
from graphlint.static.interpreter.interpreter import Interpreter
from graphlint.static.life.adopted import Adopted
from graphlint.static.life.anew import Anew
from graphlint.static.life.backward import Backward
from graphlint.static.life.batches import Batches
from graphlint.static.life.beside import Beside
from graphlint.static.life.births import Births
from graphlint.static.life.borrowed import Borrowed
from graphlint.static.life.callables import Callables
from graphlint.static.life.contracts import Kept
from graphlint.static.life.copies import Copies
from graphlint.static.life.decided import Decided
from graphlint.static.life.declared import declared, on_default
from graphlint.static.life.derived import Derived
from graphlint.static.life.devices import Devices
from graphlint.static.life.doubled import Doubled, doubled_buffers
from graphlint.static.life.empty import Empty
from graphlint.static.life.examples import Examples
from graphlint.static.life.firsts import FirstCalls, Knowledge
from graphlint.static.life.foreign import Foreign
from graphlint.static.life.forks import Forks
from graphlint.static.life.generators import Generators
from graphlint.static.life.given import Given
from graphlint.static.life.gradients import Gradients
from graphlint.static.life.growth import Growth
from graphlint.static.life.handed_back import gradients_handed_back
from graphlint.static.life.holders import Holders
from graphlint.static.life.hooked import Hooked
from graphlint.static.life.hosts import Hosts
from graphlint.static.life.idle import idle_buffers
from graphlint.static.life.inputs import Inputs
from graphlint.static.life.late import Late
from graphlint.static.life.ledger import Ledger, Listener, Tell
from graphlint.static.life.memos import Memos, memo_in
from graphlint.static.life.modes import Modes
from graphlint.static.life.moved import Moved
from graphlint.static.life.objects import Capture, Closure, Instance, Place
from graphlint.static.life.outputs import Outputs
from graphlint.static.life.padded import Padded
from graphlint.static.life.picked import Picked
from graphlint.static.life.pinned import Pinned
from graphlint.static.life.players import Runs
from graphlint.static.life.pools import OwnPools, Pools
from graphlint.static.life.process import Process
from graphlint.static.life.programs import Program, Programs
from graphlint.static.life.protocol import Protocol
from graphlint.static.life.shared import Shared
from graphlint.static.life.siblings import left_behind
from graphlint.static.life.silence import Silence
from graphlint.static.life.sized import sized_graphs, skips_sizes
from graphlint.static.life.soft import Soft
from graphlint.static.life.streams import Streams
from graphlint.static.life.threads import THREADS, Threads
from graphlint.static.life.undone import Left, Undone
from graphlint.static.life.unrefreshed import Unrefreshed
from graphlint.static.life.warmups import WarmUps
from graphlint.static.life.ways import rehearse
from graphlint.static.life.witness import Testimony, Witness
from graphlint.static.life.workers import Workers
from graphlint.static.syntax import ir
from graphlint.values import UNKNOWN, Tensor, members

LONG = 100_000  # steps, which take a second, before it pays to let two processes run what is left
VAIN = 150_000  # steps of programs about one subject, after which no other is expected to capture
MANY = 5_000  # contexts, which take some seconds, after which there is much to run


@dataclass(frozen=True, slots=True)
class Told:
    """What a detector says of a place around a region."""

    occurrence: Occurrence
    function: str
    way: tuple[Hop, ...]
    region: Region
    turn: int  # of its program among all

    @property
    def rank(self) -> tuple[Confidence, int]:
        """The highest is the one to tell of."""
        return self.occurrence.confidence, -self.turn


@dataclass
class Rehearsal:
    """The runs of all programs around some regions, and what came of them."""

    interpreter: Interpreter
    detectors: Detectors
    found: dict[tuple[str, Span], Told] = field(default_factory=dict)
    witness: Witness = field(default_factory=Witness)
    stuck: set[object] = field(default_factory=set)  # of which no run came behind the making of its object, or far
    vain: Counter[object] = field(default_factory=Counter)  # the steps of those of which no run captured
    runs: defaultdict[object, Runs] = field(default_factory=lambda: defaultdict(Runs))
    steps: int = 0
    turn: int = 0
    heard: Ledger | None = None  # of the run that is listened to
    left: dict[tuple[ir.Code, ir.Node], Left] = field(default_factory=dict)  # by what a capture may raise

    def begin(self, places: Iterable[tuple[str, int]], files: Iterable[Path]) -> Callable[[], list[Told]]:
        """Rehearse what is around the regions at these places, and what prepares for those of others in these files.

        The call that is returned does what is left of it. Where the search took long, another process begins at once.
        """
        lines: dict[str, set[int]] = defaultdict(set)
        for path, line in places:
            lines[path].add(line)
        programs = Programs(self.interpreter, list(files), lines)
        around = deque(enumerate((*programs.around(), *programs.pairs())))
        is_long = len(around) > 1 and len(self.interpreter.contexts) > MANY
        begun = self._share(around, self._listen) if is_long else None

        def result() -> list[Told]:
            begun() if begun is not None else self._rehearse(around, self._listen)
            for look in (idle_buffers, sized_graphs, left_behind, doubled_buffers):
                for event, place, capture in look(self.interpreter, programs.files):
                    self._tell(event, place, capture)
            for kept, place, capture in gradients_handed_back(self.interpreter) if lines else ():
                self._tell(kept, place, capture)
            self._rehearse(deque(enumerate(programs.changes())), self._listen_between)
            return self._in_order()

        return result

    def run_declared(self) -> list[Told]:
        """Rehearse what is declared; what is around it, nobody knows."""
        inside = partial(self._listen_inside, self._tell)
        self._rehearse(deque(enumerate(declared(self.interpreter))), inside)
        at_times = partial(self._listen_inside, self._tell_at_times)
        self._rehearse(deque(enumerate(on_default(self.interpreter))), at_times)
        return self._in_order()

    def _in_order(self) -> list[Told]:
        """What is told, in an order that does not depend on who found it."""
        return [told for _, told in sorted(self.found.items(), key=lambda one: (one[1].turn, one[0]))]

    def _rehearse(self, programs: deque[tuple[int, Program]], listen: Callable[[Ledger], None]) -> None:
        """Run programs; where they take long, another process takes its share of what is left."""
        self._run(self._first(programs), listen)
        if programs:
            self._share(programs, listen)()

    def _first(self, programs: deque[tuple[int, Program]]) -> Iterator[tuple[int, Program]]:
        """Those of programs that run before it pays to share them."""
        while programs and self.steps < LONG:
            yield programs.popleft()

    def _share(self, programs: Iterable[tuple[int, Program]], listen: Callable[[Ledger], None]) -> Callable[[], None]:
        """Let another process run programs; the call that is returned runs others of them here, until all have run."""
        subjects: dict[object, list[tuple[int, Program]]] = {}  # programs about one subject stay together
        for turn, program in programs:
            subjects.setdefault(program.subject, []).append((turn, program))
        turns = Turns([*subjects.values()])
        other = begin(lambda: self._run(chain.from_iterable(turns), listen))

        def result() -> None:
            self._run(chain.from_iterable(turns), listen)
            found, witness = other()
            turns.close()
            self.witness.merge(witness)
            for key, told in found.items():
                self._add(key, told)

        return result

    def _run(
        self, programs: Iterable[tuple[int, Program]], listen: Callable[[Ledger], None]
    ) -> tuple[dict[tuple[str, Span], Told], Witness]:
        """What is known once these programs have run as well."""
        gc.freeze()  # what was made before is not looked through for what a program leaves, which are cycles
        collected = self.steps
        for self.turn, program in programs:
            begun = program.subject, program.player
            if begun in self.stuck or self.vain[program.subject] > VAIN:
                continue  # another one, which would run the same, or as far
            ran = rehearse(self.interpreter, program, listen, self.runs[program.run])
            self.steps += ran.steps
            self.vain[program.subject] += ran.vain
            if not ran.has_begun:
                self.stuck.add(begun)
            if self.steps - collected > LONG:
                collected = self.steps
                gc.collect()
                gc.freeze()
        return self.found, self.witness

    @cached_property
    def knowledge(self) -> Knowledge:
        """What the tables say of what sets itself up when it is first called."""
        life = self.interpreter.lexicon.life

        def decorators(function: Function) -> set[str]:
            names = self.interpreter.names
            return {names.qualified_name(node, function.module) for node in function.code.decorators}

        libraries = {name: kind for kind in ("convolution", "product", "transform") for name in life[kind]}
        return Knowledge(life["compiling"], libraries, decorators, life["benchmark"], life["collective"])

    @cached_property
    def ends(self) -> frozenset[str]:
        """The methods that end a capture."""
        return frozenset(name for name, entry in self.interpreter.entries.by_last_name.items() if entry.form == "end")

    @cached_property
    def _varying(self) -> frozenset[str]:
        """What says of a tensor that its size varies, where torch records a graph for each."""
        return frozenset() if skips_sizes(self.interpreter) else self.interpreter.lexicon.life["varying"]

    @cached_property
    def makers(self) -> frozenset[str]:
        """The functions that graph callables, their backward pass too."""
        return frozenset(name for name, entry in self.interpreter.entries.by_name.items() if entry.backward)

    def _is_shaped(self, name: str) -> bool:
        """Whether an operation takes nothing but the shape of what it is given."""
        operation = self.interpreter.catalogue.find(name)
        return operation is not None and operation.returns in ("factory", "like")

    def _is_factory(self, name: str) -> bool:
        operation = self.interpreter.catalogue.find(name)
        return operation is not None and operation.returns == "factory"

    def _run_by(self, thread: Instance) -> Closure | None:
        """What a thread of a class of the program runs; None for an object of any other class."""
        classes = self.interpreter.classes
        found = classes.find(thread.cls, "run") if THREADS.intersection(classes.external_bases(thread.cls)) else None
        owner, methods = found if found is not None else (None, None)
        if not isinstance(owner, ClassDefinition) or not isinstance(methods, list):
            return None
        made = function_of(methods[-1], owner)
        return Closure(made, receiver=thread) if made is not None else None

    def _may_keep(self, cls: str) -> bool:
        """Whether objects of a class may keep tensors: it is one of a library that no table knows."""
        package = cls.partition(".")[0]
        return "." in cls and package not in sys.stdlib_module_names and not self.interpreter.lexicon.is_catalogued(cls)

    def _promises(self, parameter: ir.Parameter, module: Module) -> bool:
        annotation = parameter.annotation
        promised = self.interpreter.annotations.promised(annotation, module) if annotation is not None else UNKNOWN
        return any(isinstance(one, Tensor) for one in members(promised))

    def _draws(self, name: str) -> bool:
        operation = self.interpreter.catalogue.find(name)
        takes = operation is not None and any(one.name == "generator" for one in operation.params or ())
        return takes or name.rpartition(".")[2] in self.interpreter.lexicon.life["drawing"]

    def _is_foreign(self, capture: Capture) -> bool:
        entry = self.interpreter.entries.find(capture.region.kind)
        return entry is not None and entry.foreign

    def _listen_inside(self, tell: Tell, ledger: Ledger) -> None:
        self.heard = ledger
        ledger.listen(Streams(tell, self.interpreter.lexicon.life))

    def _listen_between(self, ledger: Ledger) -> None:
        self.heard = ledger
        silence = Silence(self.interpreter.lexicon.life["inferring"], self.interpreter.names.qualified_name)
        ledger.listen(Inputs(self._tell_replaced, self.interpreter.lexicon.life["unfilled"], is_between=True))
        ledger.listen(Moved(self._tell_replaced))
        ledger.listen(Holders(self._tell_replaced, self._may_keep))
        ledger.listen(Given(self._tell_replaced, self.interpreter.lexicon.life["arrays"]))
        ledger.listen(silence)
        ledger.listen(Gradients(self._tell_replaced, self.interpreter.lexicon.is_trained, silence))

    def _listen(self, ledger: Ledger) -> None:
        self.heard = ledger
        life, qualified = self.interpreter.lexicon.life, self.interpreter.names.qualified_name
        streams = Streams(self._tell, life)
        silence = Silence(life["inferring"], qualified)
        inputs = Inputs(self._tell, life["unfilled"], life["reducing"], picked=Picked(life["placing"]))
        for listener in (
            *self._filled(inputs),
            Unrefreshed(self._tell, inputs, self.interpreter.project, self.interpreter.lexicon.host_state["caches"]),
            Batches(self._tell, inputs),
            *self._of_host(),
            Copies(self._tell, life["loaders"], life["casting"]),
            Derived(self._tell, self._is_shaped, life["training"]),
            Anew(self._tell),
            Adopted(self._tell),
            Late(self._tell),
            Outputs(self._tell, life["replays"], life["posting"]),
            Shared(self._tell, life["single"]),
            Borrowed(self._tell, self.interpreter.project),
            silence,
            Gradients(self._tell, self.interpreter.lexicon.is_trained, silence),
            Births(self._tell, life["stateful"], life["lazy"]),
            Growth(self._tell, life["replays"], self.interpreter.project, self._promises),
            streams,
            Backward(self._tell, streams),
            Forks(self._tell, streams),
            WarmUps(self._tell, streams, silence, life["gradients"], self.interpreter.lexicon.applied),
            Pools(self._tell, streams),
            Examples(self._tell),
            Empty(self._tell, life["uploads"]),
            Testimony(self.witness),
            Beside(self._tell, life["replays"], qualified, self.interpreter.lexicon.is_catalogued),
            Threads(self._tell, life["waiting"], life["uploads"], self._is_factory, qualified, self._run_by),
            Kept(self._tell, self.interpreter.entries.contracts),
            Protocol(self._tell, self.ends, self.makers, life["collective"]),
            Generators(self._tell, life["states"], self._draws, life["generators"]),
            Callables(self._tell, self.makers, silence),
            FirstCalls(self._tell, self.knowledge),
            Foreign(
                self._tell, life["kernels"], life["foreign"], life["apart"], self._is_foreign, self.knowledge.decorators
            ),
            Soft(self._tell, self.interpreter.entries, silence, self._varying),
            Workers(self._tell, self.interpreter.entries),
            Process(self._tell, life["settings"], life["lasting"], qualified),
            *self._modal(inputs),
            self._undone(),
            Pinned(self._tell, streams, life["uploads"]),
            Devices(self._tell, life["choosing"], life["uploads"]),
        ):
            ledger.listen(listener)

    def _filled(self, inputs: Inputs) -> Iterator[Listener]:
        """What looks at how the memory of a graph is filled, whether it stays what it was, and whose else it is."""
        yield from (
            inputs,
            inputs.picked,
            Moved(self._tell),
            Doubled(self._tell),
            OwnPools(self._tell, self._is_foreign),
        )
        yield Memos(self._tell, partial(memo_in, self.interpreter.project))
        yield from (Holders(self._tell, self._may_keep), Given(self._tell, self.interpreter.lexicon.life["arrays"]))

    def _of_host(self) -> Iterator[Listener]:
        """What looks at what Python does for a region, at its capture alone."""
        yield from (Hosts(self._tell), Decided(self._tell), Hooked(self._tell))

    def _modal(self, inputs: Inputs) -> tuple[Modes, Padded]:
        life = self.interpreter.lexicon.life
        modes = Modes(self._tell, life["modal"], life["replays"])
        of_rows = life["counting"], life["batched"], life["ranking"], life["reducing"], life["biased"]
        return modes, Padded(self._tell, inputs, modes, *of_rows)

    def _undone(self) -> Undone:
        names, classes = self.interpreter.lexicon.host_state, self.interpreter.classes
        pairs = self.interpreter.lexicon.life["pairs"]
        held = self.interpreter.project, names["releases"], names["resets"], pairs, classes.order
        return Undone(self._tell, *held, self.left)

    def _tell_at_times(self, event: Event, place: Place, capture: Capture) -> None:
        """Tell of waits that a region may come to, under conditions that nobody has asked."""
        if isinstance(event, OutsideDependency):
            self._tell(event, place, capture, Confidence.MEDIUM)

    def _tell_replaced(self, event: Event, place: Place, capture: Capture) -> None:
        """Tell of what a method exchanges that somebody may call between two replays."""
        if isinstance(event, InputReplaced):
            self._tell(event, place, capture, Confidence.MEDIUM)

    def _tell(self, event: Event, place: Place, capture: Capture, most: Confidence = Confidence.HIGH) -> None:
        """Tell of a place what the detectors say. Where a run has gone one of several ways, it may not come to that."""
        if self.heard is not None and self.heard.decided:
            most = min(most, Confidence.MEDIUM)
        for detector in self.detectors.get(type(event), ()):
            for hit in detector.reports(event):
                sure = min(hit.confidence, most)
                said = hit.message, hit.help, (), hit.related, hit.is_note
                occurrence = Occurrence(detector.effect, place.span, place.text, sure, *said)
                told = Told(occurrence, place.name, place.way, capture.region, self.turn)
                self._add((detector.effect, place.span), told)

    def _add(self, key: tuple[str, Span], told: Told) -> None:
        known = self.found.get(key)
        if known is None or known.rank < told.rank:
            self.found[key] = told
