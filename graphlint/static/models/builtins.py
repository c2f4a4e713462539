"""Python's own functions, and those that the lexicon knows: guards, containers, what calls what it is given.

Long, because Python has many functions, and each of them gives something else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from graphlint.rule import HostRead, Made, Truth
from graphlint.rulebook.lexicon import Lexicon, package_of
from graphlint.rulebook.operators import OPERATORS, without_overload
from graphlint.static.domain.contexts import Frame
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.program import Bound, Class, Function, Partial, Super
from graphlint.static.models import texts
from graphlint.static.models.iterables import Iterables
from graphlint.static.models.reflection import Reflection, type_of
from graphlint.static.models.tensors import Tensors, of_module
from graphlint.static.syntax import ir
from graphlint.static.syntax.traversal import counted_in
from graphlint.values import (
    NONE,
    UNKNOWN,
    Arguments,
    Const,
    DeviceName,
    External,
    ExternalObject,
    Host,
    Mapping,
    Sequence,
    Value,
    members,
    union,
)
from graphlint.values.queries import device_tensor, truth

Handler: TypeAlias = "Callable[[Arguments, ir.Call | None, Frame], Value | None]"

MAKING = "__new__"  # makes an object, and leaves what it holds to others
_HOST_MODULES = frozenset({"json", "math", "os", "platform", "random", "re", "sys", "time"})
_SCALAR_TYPES = {"int": "int", "float": "float", "bool": "bool", "str": "str", "complex": "float"}
_PASSING = ("itertools.islice", "itertools.cycle", "itertools.accumulate")
_LEAVING = ("builtins.exit", "builtins.quit", "os._exit", "os.abort", "sys.exit")
_GROUPING = ("itertools.combinations", "itertools.pairwise", "itertools.permutations")
_HOST_RESULTS = {
    "len": "int", "id": "int", "hash": "int", "ord": "int", "chr": "str", "callable": "bool", "repr": "str",
    "issubclass": "bool", "input": "str", "open": "object", "vars": "object", "dir": "object", "format": "str",
    "ascii": "str", "type": "object", "bytes": "str", "memoryview": "object", "slice": "slice",
}  # fmt: skip


class Builtins:
    """Calls that the catalogue of operations does not speak of."""

    def __init__(self, evaluator: Evaluator, tensors: Tensors) -> None:
        self.evaluator = evaluator
        self.tensors = tensors
        iterables = Iterables(evaluator)
        self.reflection = reflection = Reflection(evaluator)
        self._iterables = iterables
        self._handlers: dict[str, Handler] = {
            "builtins.super": self._super, "builtins.isinstance": reflection.isinstance,
            "builtins.hasattr": reflection.hasattr, "builtins.getattr": reflection.getattr,
            "builtins.setattr": reflection.setattr, "builtins.enumerate": iterables.enumerate,
            "builtins.zip": iterables.zip, "builtins.next": iterables.next, "builtins.map": iterables.map,
            "builtins.filter": iterables.filter,
            "builtins.dict": iterables.dict, "collections.OrderedDict": iterables.dict, "copy.copy": self._last,
            "collections.defaultdict": iterables.default_dict,
            "typing.cast": self._last, "functools.partial": self._partial, "functools.wraps": self._wraps,
            "functools.update_wrapper": self._wrapper,
            "functools.lru_cache": self._cache("functools.lru_cache"),
            "functools.cache": self._cache("functools.cache"), "importlib.import_module": self._import_module,
            "collections.namedtuple": self._named_tuple, "typing.NamedTuple": self._named_tuple,
            **dict.fromkeys(("dataclasses.replace", "copy.replace"), self._changed_copy),
            "functools.reduce": iterables.reduce, "collections.deque": iterables.queue,
            "itertools.chain": iterables.chain, "itertools.chain.from_iterable": iterables.flattened,
            "itertools.product": iterables.zip, "itertools.zip_longest": iterables.zip,
            "types.SimpleNamespace": _namespace,
            **dict.fromkeys(_PASSING, iterables.passed), **dict.fromkeys(_GROUPING, iterables.grouped),
            **dict.fromkeys(_LEAVING, _leave),
        }  # fmt: skip
        self._handlers |= self._told(evaluator.lexicon)

    def _told(self, lexicon: Lexicon) -> dict[str, Handler]:
        """What handles the names of the lexicon."""
        callables = {
            "called": self._called, "recomputed": self._recomputed, "branches": self._branches,
            "backward": self._backward,
        }  # fmt: skip
        return {
            **{name: _giving(External(given)) for name, given in lexicon.named.items()},
            **dict.fromkeys(lexicon.tensors["parameters"], self._parameter),
            **dict.fromkeys(lexicon.tensors["tests"], self.reflection.is_tensor),
            **{name: self._container(kind) for name, kind in lexicon.containers.items()},
            **{name: callables[kind] for name, kind in lexicon.callables.items() if kind in callables},
        }

    def call(self, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value | None:
        """The result of a call by name; None if it is for somebody else to say."""
        handler = self._handlers.get(name) or self._handlers.get(self.evaluator.catalogue.named(name))
        if handler is not None:
            return handler(arguments, node, frame)
        if (answer := self.guard(name, frame)) is not None:
            return answer
        module, _, member = name.rpartition(".")
        if member == MAKING:
            return self._bare(arguments, frame)
        return self._builtin(member, arguments, node, frame) if module == "builtins" else None

    def _bare(self, arguments: Arguments, frame: Frame) -> Value | None:
        """An object that nobody has set up yet: what it holds is what any object of its class may hold.

        A class that makes its own objects so gives them what it was given.
        """
        if frame.function.code.name == MAKING:
            return None
        made = members(arguments.positional[0]) if arguments.positional else ()
        classes = [one.definition for one in made if isinstance(one, Class)]
        return union(self.evaluator.instance(cls, None, frame.in_region) for cls in classes) if classes else None

    def guard(self, name: str, frame: Frame) -> Value | None:
        """What a function answers that asks what happens at the moment; None if it asks for something else."""
        asked = without_overload(name) if name.startswith(OPERATORS) else self.evaluator.catalogue.named(name)
        answers = self.evaluator.lexicon.guard(asked)
        return None if answers is None else answers[frame.mode.value]

    def content_of(self, arguments: Arguments) -> Value:
        """What a container class is given by its constructor."""
        if arguments.star is not None or len(arguments.positional) != 1:
            return self._module_list("sequential", arguments)
        first = arguments.positional[0]
        if isinstance(first, (Sequence, Mapping)):
            return first
        return Sequence("sequential", (first,))

    def _container(self, kind: str) -> Handler:
        """A class of modules that holds others."""

        def make(arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
            if len(arguments.keywords) == 1:
                arguments = arguments.prepend(arguments.keywords[0][1])
            if kind != "dict":
                return self._module_list(kind, arguments)
            first = arguments.positional[0] if arguments.positional else Mapping()
            return first if isinstance(first, Mapping) else Mapping((), UNKNOWN)

        return make

    @staticmethod
    def _module_list(kind: str, arguments: Arguments) -> Value:
        if arguments.star is not None:
            return Sequence(kind, None, union((*arguments.positional, arguments.star)))
        if len(arguments.positional) == 1 and kind == "list":
            first = arguments.positional[0]
            if isinstance(first, Sequence):
                return Sequence(kind, first.elements, first.element)
            return Sequence(kind, None, UNKNOWN)
        if len(arguments.positional) == 1 and isinstance(arguments.positional[0], Mapping):
            return Sequence(kind, tuple(value for _, value in arguments.positional[0].items))
        return Sequence(kind, arguments.positional)

    def made_by_unknown(self, name: str, arguments: Arguments) -> Value:
        """What a call of an external name gives: an object of that class if it is spelled as one.

        What is given a function alone is taken for a decorator, which gives it back.
        """
        member = name.rpartition(".")[2]
        if self.evaluator.lexicon.host_state["generators"].match(name):
            return ExternalObject(name)
        if package_of(name) in _HOST_MODULES or package_of(name) in self.evaluator.lexicon.libraries["host"]:
            return Host("object")
        if member[:1].isupper():
            keywords: list[tuple[str | int, Value]] = list(enumerate(arguments.positional))
            is_open = arguments.star is not None or arguments.double_star is not None
            return ExternalObject(name, (*keywords, *arguments.keywords), is_open)
        alone = arguments.positional[0] if len(arguments.positional) == 1 else UNKNOWN
        return alone if isinstance(alone, (Function, Bound, Partial)) else UNKNOWN

    # Built-in functions

    def _builtin(self, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value | None:
        values = arguments.positional
        first = values[0] if values else UNKNOWN
        if name in ("int", "float", "bool", "len", "abs", "iter", "next") and node is not None:
            given = self.evaluator.call_special(first, f"__{name}__", Arguments(values[1:]), node, frame)
            if given is not None:
                return given
        match name:
            case "int" | "float" | "complex" | "bool":
                return self._number(name, first, node, frame)
            case "str" | "repr" | "format" | "ascii" | "print":
                return self._text(name, arguments, node, frame)
            case "any" | "all" | "max" | "min" | "sorted":
                return self._iterables.reducing(name, arguments, node, frame)
            case "list" | "tuple" | "set":
                return self._iterables.converted(name, first, values)
            case "frozenset":
                return self._iterables.converted("set", first, values)
            case "iter" | "reversed":
                return self._iterables.converted("iterator", first, values)
            case "len" if isinstance(first, Sequence) and first.elements is not None and first.kind != "iterator":
                is_filled = not first.elements and node is not None and self._is_kept(node.arguments[0].value, frame)
                return Host("int") if is_filled else Const(len(first.elements))
            case "round" | "abs" | "pow" | "divmod":
                return self._computed(name, arguments, node, frame)
            case "range":
                return self._iterables.range(arguments, node, frame)
            case "sum":
                return self._iterables.sum(first)
            case "type" if len(values) == 1:
                return union(type_of(member) for member in members(first))
        if name in _HOST_RESULTS:
            return Host(_HOST_RESULTS[name])
        if name.endswith(("Error", "Exception", "Warning", "StopIteration")) or name == "object":
            return Host("object")
        return None

    def _is_kept(self, counted: ir.Expr, frame: Frame) -> bool:
        """Whether what a region counts outlives it, so that the runs before may have put something there."""
        held = counted_in(counted)
        return frame.in_region and isinstance(held, ir.Attribute) and self.evaluator.outlives_region(held, frame)

    def _text(self, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        self._printed(arguments, node, frame)
        match name, arguments.positional:
            case "print", _:
                return NONE
            case "str", (Const(value=str()) | DeviceName() as first, *_):
                return first
        return Host("str")

    def _computed(self, name: str, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value | None:
        first, *others = arguments.positional or (UNKNOWN,)
        is_round = name == "round"
        if device_tensor(first) is not None:
            return first if is_round else self.tensors.call_function(name, arguments, node, frame)
        return Host("number" if not is_round else "float" if others else "int")

    def _number(self, name: str, value: Value, node: ir.Call | None, frame: Frame) -> Value:
        if device_tensor(value) is not None and node is not None:
            asked = Truth(value, "conversion") if name == "bool" else HostRead(value, "number")
            self.evaluator.observe(frame, node, asked)
        if isinstance(value, Const) and isinstance(value.value, (int, float, str)):
            try:
                return Const({"int": int, "float": float, "bool": bool, "complex": complex}[name](value.value))
            except (ValueError, OverflowError):
                return Host(name)
        if name == "bool":
            known = truth(value)
            return Host("bool") if known is None else Const(known)
        return Host(_SCALAR_TYPES[name])

    def _printed(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> None:
        for value in arguments.positional:
            if node is not None:
                self.tensors.check_printed(node, value, frame)

    # Handlers by qualified name

    def _super(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        owner = frame.function.owner
        if len(arguments.positional) == 2:
            cls, receiver = arguments.positional
            if isinstance(cls, Class):
                return Super(cls.definition, receiver)
        parameters = frame.function.code.parameters
        held = frame.env.get(parameters[0].name) if parameters else None
        if held is None:
            held = dict(frame.function.closure).get("self")
        return Super(owner, held) if owner is not None and held is not None else UNKNOWN

    def _import_module(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        """The module of a name, or of each that it may be."""
        given = [*arguments.positional, *(value for name, value in arguments.keywords if name == "package")]
        name = texts.combined(_absolute, given) if given else UNKNOWN
        if not texts.is_text(name):
            return UNKNOWN
        return union(self.evaluator.module_value(str(m.value)) for m in members(name) if isinstance(m, Const))

    def _changed_copy(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        return self.evaluator.changed_copy(arguments, node, frame)

    def _named_tuple(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        return self.evaluator.named_tuple(arguments, node, frame)

    def _partial(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        if not arguments.positional:
            return UNKNOWN
        return Partial(arguments.positional[0], arguments.positional[1:], arguments.keywords)

    def _parameter(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        first = next(iter(arguments.positional), arguments.keyword("data"))
        return of_module(first or UNKNOWN, frame.in_region)

    def _last(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        return arguments.positional[-1] if arguments.positional else UNKNOWN

    def _wraps(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        return Partial(External("functools.update_wrapper"), (), ())

    def _wrapper(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
        """`update_wrapper(wrapper, wrapped)` gives the wrapper, if it is known what that runs."""
        wrapper = next(iter(arguments.positional), UNKNOWN)
        return wrapper if isinstance(wrapper, (Function, Partial)) else UNKNOWN

    def _branches(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value | None:
        operand = self.evaluator.element(next(iter(arguments.positional[3:]), UNKNOWN))
        for branch in arguments.positional[1:3]:
            self.evaluator.call(branch, Arguments((), (), operand), node, frame)
        return None

    def _backward(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value | None:
        self.evaluator.run_backward(node, frame)
        return None

    def _called(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value | None:
        if not arguments.positional:
            return None
        rest = Arguments(arguments.positional[1:], (), arguments.star, arguments.double_star)
        return self.evaluator.call(arguments.positional[0], rest, node, frame)

    def _recomputed(self, arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value | None:
        """What runs again for the backward pass: that keeps its arguments, which are saved here, and nothing inside."""
        kinds, before = self.evaluator.lexicon.callables, frame.around
        saving = {one for one in before if isinstance(one, ExternalObject) and kinds.get(one.cls) == "saving"}
        if saving and node is not None:
            within = frozenset(one.cls for one in saving)
            self.evaluator.observe(frame, node, Made(UNKNOWN, arguments.positional[1:], within, is_foreign=False))
        frame.around = before - saving
        result = self._called(arguments, node, frame)
        frame.around = before
        return result

    def _cache(self, name: str) -> Handler:
        """`lru_cache(f)`, `lru_cache(maxsize=8)` as a decorator, and `lru_cache(maxsize=8)(f)`."""

        def make(arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
            if node is not None and any(argument.star for argument in node.arguments):
                return Partial(External(name), (UNKNOWN,), ())  # a wrapper hands on the bound, whatever it is
            *options, last = arguments.positional or (NONE,)
            if not isinstance(last, Function):
                return Partial(External(name), arguments.positional, arguments.keywords)
            decorator: Value = External(name)
            if options or arguments.keywords:
                decorator = Partial(decorator, tuple(options), arguments.keywords)
            return self.evaluator.decorate(decorator, last, frame)

        return make


def _namespace(arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
    """Keeps what it is given, and calls nothing of it."""
    return ExternalObject("types.SimpleNamespace", tuple(arguments.keywords), is_open=True)


def _leave(arguments: Arguments, node: ir.Call | None, frame: Frame) -> Value:
    """Nothing runs behind a call that ends the process."""
    if node is not None:
        frame.raised.add(node)
    return NONE


def _giving(given: Value) -> Handler:
    return lambda arguments, node, frame: given


def _absolute(name: str, package: str = "") -> str:
    """The name of a module, which may begin with dots for one beside or above the package."""
    level = len(name) - len(name.lstrip("."))
    base = package.split(".") if level and package else []
    return ".".join([*base[: len(base) - level + 1], name.lstrip(".") if base else name])
