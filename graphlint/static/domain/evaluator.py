"""What a transfer function may ask of whoever evaluates the program around it."""

from __future__ import annotations

from typing import Protocol

from graphlint.rule import Event, Hit
from graphlint.rulebook.lexicon import Lexicon
from graphlint.rulebook.operations import Catalogue
from graphlint.static.domain.contexts import Context, Frame, Mode, OpenRegion, RegionKey
from graphlint.static.domain.program import Function, Instance
from graphlint.static.index.module import ClassDefinition, Module
from graphlint.static.index.project import Project
from graphlint.static.syntax import ir
from graphlint.values import Arguments, Value


class Evaluator(Protocol):
    """The interpreter, as the models see it."""

    project: Project
    catalogue: Catalogue
    lexicon: Lexicon
    regions: dict[RegionKey, OpenRegion]

    # Code

    def eval(self, node: ir.Expr, frame: Frame) -> Value:
        """The value of an expression."""

    def condition(self, node: ir.Expr, frame: Frame) -> bool | None:
        """The truth of a condition if it is known."""

    def test(self, node: ir.Expr, value: Value, frame: Frame) -> bool | None:
        """The truth of an evaluated expression if it is known."""

    def call(self, target: Value, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        """The result of calling a value."""

    def call_method(
        self, receiver: Value, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame
    ) -> Value:
        """The result of calling a method by name."""

    def call_special(self, value: Value, name: str, arguments: Arguments, node: ir.Node, frame: Frame) -> Value | None:
        """What an operator gives that a class of the project defines; None where none does."""

    def summary(self, function: Function, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Context:
        """What a call of a function leaves behind; regions that it leaves open stay open in the frame."""

    def run_backward(self, node: ir.Call | None, frame: Frame) -> None:
        """Run the `backward` of the autograd functions that were applied on the way here."""

    def decorate(self, decorator: Value, value: Value, frame: Frame) -> Value:
        """What a decorator makes of a function."""

    def changed_copy(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        """What a call of `dataclasses.replace` makes."""

    def named_tuple(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        """The class that a call of `namedtuple` makes."""

    def unresolved(self, node: ir.Call | None, frame: Frame, arguments: Arguments | None = None) -> None:
        """Count a call that could not be followed; it is kept with its arguments where nobody knows the callee."""

    # Values, names and the heap

    def element(self, value: Value) -> Value:
        """What iterating over a value gives."""

    def attribute(self, value: Value, name: str, frame: Frame) -> Value:
        """An attribute of a value."""

    def module_member(self, module: Module, name: str) -> Value | None:
        """What a module binds a name to; None if it does not."""

    def module_value(self, name: str) -> Value:
        """A module by its dotted name."""

    def static_value(self, node: ir.Expr, module: Module) -> Value:
        """A dotted name at the top level of a module."""

    def instance(self, cls: ClassDefinition, arguments: Arguments | None, in_region: bool) -> Instance:
        """The object of a class that is made with these arguments; None: not known which."""

    def held(self, instance: Instance) -> dict[str, Value]:
        """What an object holds."""

    def makes_in_regions(self, cls: ClassDefinition) -> bool:
        """Whether regions make objects of a class, which are others in each run."""

    def lacks(self, instance: Instance, name: str) -> bool:
        """Whether nothing in the source gives an object an attribute."""

    def write_attribute(self, instance: Instance, name: str, value: Value, target: ir.Expr, frame: Frame) -> None:
        """An assignment to an attribute, seen by whoever reads it later; `target` is what says so."""

    def outlives_region(self, target: ir.Expr, frame: Frame) -> bool:
        """Whether what a name or attribute holds is there before the region and after it."""

    def put_back(self, target: ir.Expr, value: Value, frame: Frame) -> None:
        """Store a container, changed in place, where it came from."""

    # Classes and signatures

    def class_method(self, cls: ClassDefinition, name: str) -> Value | None:
        """A method of a class as it stands there; None if it has none."""

    def class_order(self, cls: ClassDefinition) -> tuple[ClassDefinition | str, ...]:
        """The classes whose members a class has, nearest first; those outside the project by name."""

    def external_bases(self, cls: ClassDefinition) -> list[str]:
        """The classes outside the project that a class is derived from."""

    def default(self, parameter: ir.Parameter, function: Function) -> Value:
        """The default of a parameter."""

    def refine(self, value: Value, parameter: ir.Parameter, function: Function) -> Value:
        """A value as the annotation of the parameter that takes it says."""

    # Regions and what happens in them

    def open_region(self, frame: Frame, node: ir.Node, kind: str, mode: Mode, foreign: bool = False) -> OpenRegion:
        """Begin a region here."""

    def close_region(self, frame: Frame) -> None:
        """End the innermost region."""

    def enter(self, node: ir.Node | None, manager: Value, frame: Frame) -> Value:
        """Enter a context manager: open its region if it has one, and give what `as` binds."""

    def opened_by(self, manager: Function) -> frozenset[Value]:
        """What is in force in the block of a context manager, since it sets flags for as long as that is open."""

    def observe(self, frame: Frame, node: ir.Node, event: Event) -> None:
        """Let the detectors look at an event, if a region is open."""

    def report(self, frame: Frame, node: ir.Node, effect: str, report: Hit) -> None:
        """Record that what stands here has an effect, if a region is open."""

    def used(self, kind: str, node: ir.Expr | None, value: Value, frame: Frame) -> None:
        """A value decides what a region does, in one of the ways of `graphlint.rule.HostStateRead`."""

    def consumed(self, node: ir.Call, frame: Frame) -> None:
        """`next` is called."""

    def hooked(self, hook: Value) -> None:
        """A function is registered as a hook."""

    def is_hook(self, frame: Frame) -> bool:
        """Whether a function that runs is registered as a hook."""

    def worked(self) -> None:
        """Something runs on the device in a region."""
