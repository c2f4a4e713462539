"""Functions in, contexts out: each is run over abstract values, once for every kind of arguments.

Long, because it is where all parts meet, and answers for them to the models.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

from graphlint.finding import Confidence, Region
from graphlint.rule import Event, Hit
from graphlint.rulebook.detectors import Detectors
from graphlint.rulebook.entries import Entries
from graphlint.rulebook.lexicon import Lexicon
from graphlint.rulebook.operations import Catalogue
from graphlint.static.domain.assumptions import agreed
from graphlint.static.domain.contexts import Context, Env, Frame, Mode, Occurrence, OpenRegion, RegionKey
from graphlint.static.domain.program import Function, Instance
from graphlint.static.domain.sources import Place
from graphlint.static.index.project import Project
from graphlint.static.interpreter.annotations import Annotations
from graphlint.static.interpreter.assignment import Assignment
from graphlint.static.interpreter.attributes import Attributes
from graphlint.static.interpreter.calls import Calls
from graphlint.static.interpreter.classes import Classes
from graphlint.static.interpreter.conditions import Conditions
from graphlint.static.interpreter.decorators import Decorators
from graphlint.static.interpreter.expressions import Expressions
from graphlint.static.interpreter.heap import Heap
from graphlint.static.interpreter.instances import Instances
from graphlint.static.interpreter.items import Items
from graphlint.static.interpreter.loops import Loops
from graphlint.static.interpreter.methods import Methods, is_abstract
from graphlint.static.interpreter.names import Names
from graphlint.static.interpreter.optimizers import Optimizers
from graphlint.static.interpreter.placements import Placements
from graphlint.static.interpreter.records import Records
from graphlint.static.interpreter.signatures import Signatures
from graphlint.static.interpreter.statements import Statements
from graphlint.static.models.builtins import Builtins
from graphlint.static.models.capture import Capture
from graphlint.static.models.comparisons import Comparisons
from graphlint.static.models.containers import Containers
from graphlint.static.models.modules import Modules
from graphlint.static.models.operators import Operators
from graphlint.static.models.tensors import Tensors
from graphlint.static.syntax import ir
from graphlint.static.writes.judged import Judged
from graphlint.static.writes.traces import Traces
from graphlint.values import NONE, Const, Host, Mapping, Sequence, Value, join, limit_depth, union

MAX_DEPTH = 70  # calls inside calls
MAX_OPEN = 100  # captures that a function leaves open, or ends for its caller: what calls itself doubles them
MAX_VARIANTS_OUTSIDE = 1000  # before a region; kinds that come this late tell nothing new
MAX_OUTSIDE = 10_000  # contexts on the way to one region; what comes this late tells nothing of it
RESERVED = 2_000  # and those that make what the region asks for first, behind so many others
MAX_RECURSION = 3  # calls of a function inside itself before its arguments are taken together
MAX_DEPTH_OUTSIDE = 10  # before a region only the kinds of values matter
MAX_VARIANTS = 16  # argument kinds of one function before they are taken together
MAX_WIDENED = 64  # kinds before what containers hold is forgotten, which tuples inside tuples need
MAX_CONTEXTS = 50_000  # in all, before functions are run for few kinds of arguments
FEW_VARIANTS = 6  # of one function, once the contexts that there may be are used up
MANY_VARIANTS = 100  # of one function inside itself, each for objects of its own


class Interpreter:
    """Runs functions, each once for every kind of arguments, and remembers what came of it."""

    reserve = RESERVED  # what is left of it for this function

    def __init__(
        self, project: Project, catalogue: Catalogue, lexicon: Lexicon, entries: Entries, detectors: Detectors
    ) -> None:
        self.max_depth_outside = MAX_DEPTH_OUTSIDE
        self.project = project
        self.catalogue = catalogue
        self.lexicon = lexicon
        self.entries = entries
        self.detectors = detectors
        self.traces: Traces = Traces(self)
        self.names = Names(self)
        self.annotations = Annotations(self)
        self.classes = Classes(self)
        self.heap = Heap(self)
        self.signatures = Signatures(self)
        self.decorators = Decorators(self)
        self.instances = Instances(self)
        self.records = Records(self)
        self.placements = Placements(self)
        self.optimizers = Optimizers(self)
        self.methods = Methods(self)
        self.calls = Calls(self)
        self.assignment = Assignment(self)
        self.attributes: Attributes = Attributes(self)
        self.conditions: Conditions = Conditions(self)

        self.capture = Capture(self, entries)
        self.tensors: Tensors = Tensors(self, self.capture)
        self.containers = Containers(self, self.tensors)
        self.modules = Modules(self)
        self.builtins = Builtins(self, self.tensors)
        self.operators: Operators = Operators(self, self.tensors)
        self.comparisons: Comparisons = Comparisons(self, self.tensors)

        self.items: Items = Items(self)
        self.loops: Loops = Loops(self)
        self.expressions = Expressions(self)
        self.statements = Statements(self)

        self.contexts: dict[tuple[object, ...], Context] = {}
        self.unnamed: set[Value] = set()  # what may be chosen by a key that the program does not name
        self.ran_outside: set[Function] = set()  # what ran before a region since then
        self.variants: Counter[object] = Counter()  # and those of functions since their outermost call began
        self.running: Counter[object] = Counter()
        self.limit = MAX_CONTEXTS  # contexts that there may be before functions are run for few kinds of arguments
        self.latest: dict[tuple[Function, Mode], tuple[int, Context]] = {}  # of each function, and how many it has
        self.outside = 0  # contexts that were made before a region since the search began with this function
        self.regions: dict[RegionKey, OpenRegion] = {}
        self.places_of_regions: set[tuple[str, int]] = set()
        self._answer_models()

    def _answer_models(self) -> None:
        """What the models ask of an `Evaluator`, answered by the part that knows."""
        self.eval = self.expressions.eval
        self.block = self.statements.block
        self.condition = self.conditions.condition
        self.test = self.conditions.test
        self.call = self.calls.call
        self.call_method = self.methods.call
        self.call_special = self.methods.special
        self.summary = self.calls.context
        self.run_backward = self.calls.run_backward
        self.unresolved = self.calls.unresolved
        self.named_tuple = self.records.define
        self.changed_copy = self.records.changed_copy
        self.decorate = self.decorators.apply
        self.element = self.expressions.element
        self.attribute = self.attributes.load
        self.module_member = self.names.member
        self.module_value = self.names.module_value
        self.static_value = self.names.static_value
        self.instance = self.heap.instance
        self.held = self.heap.attributes
        self.makes_in_regions = self.instances.makes_in_regions
        self.lacks = self.heap.lacks
        self.write_attribute = self.assignment.write
        self.outlives_region = self.assignment.outlives_region
        self.put_back = self.assignment.put_back
        self.class_method = self.classes.method
        self.class_order = self.classes.order
        self.external_bases = self.classes.external_bases
        self.default = self.signatures.default
        self.refine = self.signatures.refine
        self.enter = self.capture.enter
        self.opened_by = self.heap.modes.opened_by
        self.used = self.traces.used
        self.worked = self.traces.worked
        self.is_hook = self.traces.is_hook
        self.hooked = self.traces.hooked
        self.consumed = self.traces.consumed

    def anew(self) -> Interpreter:
        """One for the same program that has run nothing, and reports nothing."""
        return Interpreter(self.project, self.catalogue, self.lexicon, self.entries, {})

    # Functions

    def begin(self, budget: int | None = None) -> None:
        """What runs from now on is what runs before the regions that one function or script opens; it makes so many
        contexts, or as many as there may be.
        """
        self.outside = 0 if budget is None else MAX_OUTSIDE - budget
        self.reserve = RESERVED
        self.ran_outside.clear()
        self.heap.recent.begin()

    @contextmanager
    def aside(self, budget: int) -> Iterator[None]:
        """What runs here, before a region, makes so many contexts at most; if it would make more, they are not kept."""
        before, known = self.outside, len(self.contexts)
        begun = self.outside = max(before, MAX_OUTSIDE - budget)
        yield
        if self.outside > MAX_OUTSIDE:
            for key in list(islice(self.contexts, known, None)):
                del self.contexts[key]
        self.outside += before - begun

    @contextmanager
    def reserved(self) -> Iterator[None]:
        """What runs here has contexts, up to a bound, even if what ran before has used up its own."""
        before = self.outside
        is_spent = before > MAX_OUTSIDE
        if is_spent:
            self.outside = MAX_OUTSIDE - self.reserve
        yield
        if is_spent:
            self.reserve = max(MAX_OUTSIDE - self.outside, 0)
            self.outside = before

    def run(
        self,
        function: Function,
        bound: Env,
        mode: Mode,
        depth: int,
        constructing: Instance | None,
        around: frozenset[Value] = frozenset(),
    ) -> Context:
        """The context of a function with these parameters; a call that is already under way has no result yet."""
        if mode is Mode.OUTSIDE:
            self.ran_outside.add(function)
        limit = MAX_DEPTH_OUTSIDE if mode is Mode.OUTSIDE else MAX_DEPTH
        versions = tuple(self.heap.version(v) for v in bound.values() if isinstance(v, Instance))
        receiver = next((value for value in bound.values() if isinstance(value, Instance)), None)
        where = (function, receiver)
        key: tuple[object, ...] = (function, tuple(bound.items()), mode, versions, constructing, around)
        context = self.contexts.get(key)
        if context is not None:
            return context
        variants, running = self.variants[where, mode], self.running[where]
        made, latest = self.latest.get((function, mode), (0, None))
        if latest is not None and self._is_used_up(function, made):
            return Context(latest.function, latest.path, result=latest.result)
        if variants >= MAX_VARIANTS or running >= MAX_RECURSION:
            bound = {name: _widened(value, variants) for name, value in bound.items()}
            key = (where, tuple(bound.items()), mode, None, constructing, around)
            context = self.contexts.get(key)
            if context is not None:
                return context
        self.variants[where, mode] += 1
        name = f"{function.module.name}:{function.qualname}"
        context = Context(name, str(function.module.path))
        inside = self.running[function] if function.is_nested else 0  # whose calls do not count for the depth
        too_many = max(running, inside) >= 2 * MAX_RECURSION
        if mode is Mode.OUTSIDE:
            self.outside += 1
            too_many |= variants >= MAX_VARIANTS_OUTSIDE or self.outside > MAX_OUTSIDE
        if depth > limit or too_many:
            return context
        self.contexts[key] = context
        self.latest[function, mode] = made + 1, context
        frame = Frame(function, context, mode, depth, around, dict(bound))
        frame.constructing = constructing
        self.running.update((where, function))
        work = self.traces.work
        self.execute(frame, function.code.body)
        context.has_work = self.traces.work > work
        self._ended(where, function)
        return context

    def _ended(self, *keys: object) -> None:
        """What has run to its end is not among what runs, which is gone through."""
        for key in keys:
            self.running[key] -= 1
            if not self.running[key]:
                del self.running[key]

    def _is_used_up(self, function: Function, made: int) -> bool:
        """Whether a function has its contexts: of all that there may be, or of those inside itself."""
        self.variants[function] = self.variants[function] + 1 if self.running[function] else 0
        is_endless = self.running[function] >= MAX_RECURSION and self.variants[function] > MANY_VARIANTS
        return is_endless or (made >= FEW_VARIANTS and len(self.contexts) > self.limit)

    def execute(self, frame: Frame, body: ir.Block) -> None:
        """Run the body and settle what the frame's context says about it."""
        context, given = frame.context, self.heap.recent.count
        if self.block(body, frame):
            frame.returns.append(NONE)
        if len(frame.returns) > 1 or frame.function.code.is_generator:  # it may end before it comes to all that it does
            self.heap.recent.leave_open(given)
        context.raises = not frame.returns and not (
            frame.function.code.is_generator or is_abstract(frame.function.code)
        )
        context.left_open = frame.regions[:MAX_OPEN]
        if frame.function.code.is_generator:
            context.result = Sequence("iterator", None, union(frame.yields))
        else:
            context.result = limit_depth(union(frame.returns))
        if frame.constructing is not None:
            self.heap.settle(frame.constructing, frame.env)

    # Regions

    def open_region(self, frame: Frame, node: ir.Node, kind: str, mode: Mode, foreign: bool = False) -> OpenRegion:
        """Begin a region here; the same place is the same region for every context of its function."""
        hop = frame.site(node).hop
        path, line = hop.path, hop.line
        key = (kind, path, line, None)
        region = self.regions.get(key)
        is_known = frame.found_before is not None and key in frame.found_before
        if region is None or is_known:  # what a search for others makes of a known one is nobody's
            described = Region(kind, path, line, None, mode is Mode.SOFT)
            inside, warm = Context(frame.context.function, path), frozenset(self.ran_outside)
            region = OpenRegion(described, inside, mode, foreign, warm)
            self.regions.setdefault(key, region)
            self.places_of_regions.add((path, line))
        region.assumed = agreed(region.assumed, frame.assumed)
        if frame.in_region:
            frame.sink.reach(region.context, frame.site(node), frame.assumptions)
        frame.enter((region,))
        self.traces.opened(region.context, node, frame)
        return region

    def close_region(self, frame: Frame) -> None:
        if frame.regions:
            frame.regions.pop()
        else:
            frame.context.closes = min(frame.context.closes + 1, MAX_OPEN)

    def observe(self, frame: Frame, node: ir.Node, event: Event) -> None:
        """Let the detectors look at an event, if a region is open."""
        if frame.in_region:
            for detector in self.detectors.get(type(event), ()):
                for report in detector.reports(event):
                    self.report(frame, node, detector.effect, report)

    def report(self, frame: Frame, node: ir.Node, effect: str, report: Hit) -> None:
        """Record that what stands here has an effect, if a region is open."""
        if frame.in_region:
            frame.sink.add(_occurrence(Place.of(frame, node), effect, report))

    def settle(self) -> None:
        """Once all regions have run: report the state that they read, and that is written after a capture."""
        for place, event in Judged(self, self.traces).events():
            for detector in self.detectors.get(type(event), ()):
                for report in detector.reports(event):
                    place.sink.add(_occurrence(place, detector.effect, report))

    # Where paths meet

    def merge(self, left: Env, right: Env) -> Env:
        """The environment where two paths meet; what only one of them has bound stays bound."""
        if left is right:
            return left
        merged = dict(left)
        for key, value in right.items():
            known = left.get(key)
            if known is None:
                merged[key] = value if isinstance(key, str) else self.heap.joined(key, value)
            elif known is not value:
                merged[key] = join(known, value)
        for key, value in left.items():
            if not isinstance(key, str) and key not in right:
                merged[key] = self.heap.joined(key, value)
        return merged

    def merge_all(self, envs: list[Env]) -> Env:
        merged = envs[0]
        for env in envs[1:]:
            merged = self.merge(merged, env)
        return merged


def _occurrence(place: Place, effect: str, report: Hit) -> Occurrence:
    """What stands at a place and has an effect."""
    confidence = report.confidence
    if place.is_doubtful:
        confidence = Confidence(max(confidence - 1, Confidence.LOW))
    said = place.function.source(place.node), confidence, report.message, report.help
    return Occurrence(effect, place.span, *said, place.assumed, report.related, report.is_note)


def _widened(value: Value, variants: int) -> Value:
    """An argument of a function that has been run for so many kinds."""
    return limit_depth(widen(value), 0) if variants >= MAX_WIDENED else widen(value)


def widen(value: Value) -> Value:
    """A kind of value that stands for many; how many there are of them in a tuple stays."""
    if isinstance(value, Const) and value.value is not None and not isinstance(value.value, str):
        return Host(type(value.value).__name__)
    if isinstance(value, Sequence):
        if value.elements is None or value.kind != "tuple":
            prefix = tuple(map(widen, value.prefix)) if value.kind == "tuple" else ()
            return Sequence(value.kind, None, widen(value.any_element), prefix)
        return Sequence(value.kind, tuple(map(widen, value.elements)))
    if isinstance(value, Mapping):
        items = tuple((key, widen(held)) for key, held in value.items)
        return Mapping(items, None if value.other is None else widen(value.other), value.optional)
    return value
