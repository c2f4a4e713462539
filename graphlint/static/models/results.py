"""An operation of the catalogue and its arguments in, the value that it returns out: a function for each kind.

The kinds share what places, ranks and dtypes follow from, which is why they stand together in a long module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from graphlint.finding import Confidence
from graphlint.rulebook.lexicon import Factory, Lexicon
from graphlint.rulebook.signatures import Operation
from graphlint.static.models import extents
from graphlint.static.models.copies import copied
from graphlint.values import (
    FALSE,
    NONE,
    UNKNOWN,
    Const,
    DeviceName,
    External,
    ExternalObject,
    Host,
    Mapping,
    Place,
    Sequence,
    Tensor,
    Unknown,
    Value,
    members,
    union,
)
from graphlint.values.predicates import Facts, names_device
from graphlint.values.queries import place_of_device, tensors_in, truth

INTEGER, BOOLEAN = "int64", "bool"  # of positions, and of masks
_NEITHER_DEVICE_NOR_DTYPE = frozenset({"self", "input", "non_blocking", "copy", "memory_format"})


@dataclass(frozen=True, slots=True)
class Application:
    """An operation applied to arguments."""

    operation: Operation
    facts: Facts
    lexicon: Lexicon
    receiver: Value | None
    in_region: bool
    is_view: bool
    is_compiled: bool = False

    @property
    def factory(self) -> Factory:
        return self.lexicon.factories.get(self.operation.name, Factory())

    @property
    def data(self) -> Value | None:
        """What a factory makes its tensor of."""
        return self.facts.value("data") or self.facts.value("obj")

    @property
    def dtype(self) -> str | None:
        """The dtype that is asked for."""
        return dtype_name(self.facts.value("dtype"), self.lexicon)


def result(call: Application) -> Value:
    """What the call returns."""
    returns = call.operation.returns
    if "." in returns:
        held = call.facts.bound.items()
        given = tuple((name, values[0]) for name, values in held if values)
        return ExternalObject(returns, given, call.facts.is_open)
    return RESULTS[returns](call)


def plain(returns: str) -> Value:
    """The value of a kind that does not depend on a call."""
    return _PLAIN.get(returns, UNKNOWN)


# Where a result lies, its rank and its dtype


def places(values: Iterable[Value]) -> list[tuple[Place, Confidence]]:
    """Where the result of an operation on these values can be, and how sure that is."""
    found: dict[Place, Confidence] = {}
    for value in values:
        tensors = list(tensors_in(value))
        sure_on_device = [t for t in tensors if t.place is Place.DEVICE]
        if sure_on_device and len(sure_on_device) == len(tensors):
            return [(Place.DEVICE, max(t.sure for t in sure_on_device))]
        for tensor in tensors:
            found[tensor.place] = max(found.get(tensor.place, Confidence.LOW), tensor.sure)
    if len(found) != 1:  # a value that is moved to and fro was somewhere else at another time
        elsewhere = (sure for place, sure in found.items() if place is not Place.HOST)
        return [(Place.ANYWHERE, min(max(elsewhere, default=Confidence.MEDIUM), Confidence.MEDIUM))]
    return list(found.items())


def dtype_name(value: Value | None, lexicon: Lexicon) -> str | None:
    """The dtype that a value names: `torch.int64`, `torch.long`, `int`, or the old tensor type of that name."""
    return lexicon.dtypes.get(value.name) if isinstance(value, External) else None


def number_dtype(kind: str, lexicon: Lexicon) -> str | None:
    """The dtype of a tensor that is made of Python's numbers."""
    return lexicon.dtypes.get(f"builtins.{kind}")


def with_dtype(value: Value, dtype: str) -> Value:
    return union(replace(m, dtype=dtype) if isinstance(m, Tensor) else m for m in members(value))


def _with_rank(value: Value, ndim: int | None) -> Value:
    return union(replace(m, ndim=ndim, ones=()) if isinstance(m, Tensor) else m for m in members(value))


def _literal_dtype(value: Value | None, lexicon: Lexicon) -> str | None:
    """The dtype of a tensor that is made of numbers of one type, or of lists of them."""
    match value:
        case Sequence():
            elements = (value.element,) if value.elements is None else value.elements
            found = {_literal_dtype(element, lexicon) for element in elements}
            return found.pop() if len(found) == 1 else None
        case Host():
            return number_dtype(value.kind, lexicon)
        case Const():
            return number_dtype(value.kind.__name__, lexicon)
        case Tensor():
            return value.dtype
    return None


# Tensors made where the tensor arguments are


def _computed(
    call: Application, ndim: int | None = None, dtype: str | None = None, ones: tuple[int, ...] = ()
) -> Value:
    facts = call.facts
    first = facts.first_tensor()
    dtype = call.dtype or dtype
    fresh = call.in_region and not (call.is_view and first is not None and not first.fresh)
    literal = first is not None and first.literal
    is_turned = call.operation.name.rpartition(".")[2] in call.lexicon.life["turning"]  # and so copied by pieces
    pinned = call.is_view and not is_turned and first is not None and first.pinned
    return union(
        Tensor(place, ndim, dtype, sure, pinned, fresh, literal and place is Place.HOST, ones)
        for place, sure in places(_met(call))
    )


def _met(call: Application) -> list[Value]:
    """The arguments that a result lies with: a view lies with what it is one of, and no result with sizes."""
    first = call.facts.first()
    met = [first] if call.is_view and first is not None else _read_on_device(call)
    return met if any(True for value in met for _ in tensors_in(value)) else call.facts.all_values()


def _kept_dtype(call: Application) -> str | None:
    first = call.facts.first_tensor()
    return first.dtype if first is not None else None


def _kept_rank(call: Application) -> int | None:
    first = call.facts.first_tensor()
    return first.ndim if first is not None else None


def _embedded(call: Application) -> Value:
    """One more dimension than there are of indices: a vector for each."""
    indices = call.facts.value("indices") or call.facts.value("input")
    given = [member for member in members(indices or UNKNOWN) if isinstance(member, Tensor)]
    if len(given) != 1 or given[0].ndim is None:
        return _computed(call)
    return _computed(call, given[0].ndim + 1, ones=given[0].ones)


def _tensor(call: Application) -> Value:
    return _computed(call, dtype=_kept_dtype(call))


def _broadcast(call: Application) -> int | None:
    return extents.broadcast_rank(call.facts.all_values())


def _elementwise(call: Application) -> Value:
    return _computed(call, _broadcast(call))


def _promoted(call: Application) -> Value:
    return _computed(call, _broadcast(call), _shared_dtype(call, call.facts.all_values()))


def _shared_dtype(call: Application, values: Iterable[Value]) -> str | None:
    """The dtype in which tensors meet, if it is that of each of them and no number among the values changes it."""
    met = [member for value in values for member in members(value) if member != NONE]
    dtypes = {member.dtype for member in met if isinstance(member, Tensor)}
    whole = {*dtypes, INTEGER} - {None} if BOOLEAN not in dtypes else dtypes
    is_kept = len(dtypes) == 1 and all(_literal_dtype(member, call.lexicon) in whole for member in met)
    return dtypes.pop() if is_kept else None


def _bool_tensor(call: Application) -> Value:
    return _computed(call, _broadcast(call), BOOLEAN)


def _reduced(dtype: str | None) -> Callable[[Application], Value]:
    def reduce(call: Application) -> Value:
        return _computed(call, _reduced_rank(call, call.facts.value("dim")), dtype)

    return reduce


def _reduced_rank(call: Application, dim: Value | None) -> int | None:
    """One dimension less, or none left if all are reduced."""
    if dim is None or dim == NONE:
        return 0
    rank = _kept_rank(call)
    if rank is None or not isinstance(dim, (Const, Host)):
        return None
    is_kept = truth(call.facts.value("keepdim") or FALSE)
    return None if is_kept is None else rank if is_kept else max(rank - 1, 0)


def _extremum(call: Application) -> Value:
    """`max(x)`, `max(x, other)`, or values and positions along a dimension: `max(x, dim)`."""
    dtype, dim = _kept_dtype(call), call.facts.value("dim")
    other = call.facts.value("other")
    if dim is None and other is not None:
        if any(isinstance(m, (Tensor, Unknown)) for m in members(other)):
            return _computed(call, _broadcast(call), dtype)
        dim = other
    ndim = _reduced_rank(call, dim)
    made = _computed(call, ndim, dtype)
    return made if dim is None or dim == NONE else Sequence("tuple", (made, with_dtype(made, INTEGER)))


def _where(call: Application) -> Value:
    if call.facts.value("input") is None:
        return Sequence("tuple", None, _computed(call, 1, INTEGER))
    chosen = [value for name in ("input", "other") for value in call.facts.bound.get(name, ())]
    return _computed(call, _broadcast(call), _shared_dtype(call, chosen))


def _unique(call: Application) -> Value:
    made = _with_rank(_tensor(call), 1 if call.facts.value("dim") is None else None)
    asked = [truth(call.facts.value(name) or NONE) for name in ("return_inverse", "return_counts")]
    if asked == [False, False]:
        return made
    several = Sequence("tuple", (made, *(with_dtype(made, INTEGER) for wanted in asked if wanted is not False)))
    return several if True in asked else union((made, several))


def _several(count: int | None) -> Callable[[Application], Value]:
    def make(call: Application) -> Value:
        made = _computed(call, dtype=_kept_dtype(call))
        return Sequence("tuple", None, made) if count is None else Sequence("tuple", (made,) * count)

    return make


def _loss(call: Application) -> Value:
    return _computed(call, 0 if call.facts.value("reduction") is None else None)


# Tensors made or moved elsewhere


def _made(call: Application) -> Value:
    """`torch.zeros(..., device=...)`: without a device where a tensor argument is, else on the host."""
    facts, data, factory = call.facts, call.data, call.factory
    dtype = call.dtype or _factory_dtype(call)
    rank, ones = _factory_rank(call), extents.ones(call.facts.bound.get("size") or ())
    literal = data is not None and factory.data == "copied" and not any(True for _ in tensors_in(data))
    # A flag that is worked out stands for "where there is a GPU", and what captures has one.
    pinned = truth(facts.value("pin_memory") or FALSE) is not False
    named = place_of_device(facts.value("device"))
    where = [(named, Confidence.MEDIUM if named is Place.ANYWHERE else Confidence.HIGH)] if named is not None else []
    if named is None:
        given = [m for value in _read_on_device(call) for m in members(value)]
        where = [(m.place, m.sure) for m in given if isinstance(m, Tensor)]
        if not where and factory.data == "shared" and UNKNOWN in given:
            where = [(Place.ANYWHERE, Confidence.MEDIUM)]
    where = where or [(Place.HOST, Confidence.HIGH)]
    is_moved = call.is_compiled and data is None and not call.lexicon.host_state["draws"].match(call.operation.name)
    if is_moved or call.facts.makes_nothing:  # where it is moved next; of no elements none are copied, as measured
        where = [(p, Confidence.LOW if p is Place.HOST else sure) for p, sure in where]
    return union(Tensor(place, rank, dtype, sure, pinned, call.in_region, literal, ones) for place, sure in where)


def _read_on_device(call: Application) -> list[Value]:
    """The arguments of a factory whose value is not read on the host."""
    typed = {param.name for param in call.operation.params or () if param.type}
    return [value for name, values in call.facts.bound.items() if name not in typed for value in values]


def _factory_dtype(call: Application) -> str | None:
    if call.factory.data is not None:
        return _literal_dtype(call.data, call.lexicon)
    if call.factory.dtype == INTEGER:
        given = call.facts.all_values()
        return None if any(isinstance(v, Const) and isinstance(v.value, float) for v in given) else INTEGER
    return call.factory.dtype


def _factory_rank(call: Application) -> int | None:
    if call.factory.data is not None:
        return extents.literal_rank(call.data)
    given = call.facts.bound.get("data") or ()
    if len(given) == 1 and isinstance(given[0], Sequence):  # `FloatTensor([0.5])`; what is no list may be a size
        return extents.literal_rank(given[0]) if given[0].kind == "list" else None
    sizes = given or call.facts.bound.get("size") or ()
    return extents.rank(sizes) if call.factory.rank is None else call.factory.rank


def _shape(call: Application) -> Value:
    """All extents or strides of a tensor, or the one that is asked for."""
    asked, tensor = call.facts.value("dim"), call.facts.first_tensor()
    if tensor is None or tensor.ndim is None or call.operation.name.rpartition(".")[2] != "size":
        return _PLAIN["shape"] if asked is None else Host("int")
    return extents.shape(tensor) if asked is None else extents.size(tensor, asked)


def _like(call: Application) -> Value:
    return _placed(call, place_of_device(call.facts.value("device")), call.dtype, always_fresh=True)


def _moved(call: Application) -> Value:
    named: Place | None = None
    dtype: str | None = None
    for name, values in call.facts.bound.items():
        for value in values if name not in _NEITHER_DEVICE_NOR_DTYPE else ():
            dtype = dtype_name(value, call.lexicon) or dtype
            if names_device(value) or (value == UNKNOWN and not call.in_region):  # what prepares moves it there
                named = place_of_device(value) or Place.ANYWHERE
    return _placed(call, named, dtype, always_fresh=False)


def _placed(call: Application, named: Place | None, dtype: str | None, always_fresh: bool) -> Value:
    """The first argument on the device that is named, else where it is."""
    moved: list[Value] = []
    for member in members(call.facts.first() or UNKNOWN):
        if not isinstance(member, Tensor):
            continue
        place, sure = member.place, member.sure
        if named is not None and not (named is Place.ANYWHERE and place is Place.DEVICE):
            place, sure = named, Confidence.MEDIUM if named is Place.ANYWHERE else Confidence.HIGH
        fresh = call.in_region if always_fresh or place is not member.place else member.fresh
        pinned = member.pinned and place is Place.HOST
        dtype_kept = dtype or member.dtype
        moved.append(Tensor(place, member.ndim, dtype_kept, sure, pinned, fresh, member.literal, member.ones))
    return union(moved or [Tensor(named or Place.ANYWHERE, None, dtype, Confidence.MEDIUM, fresh=call.in_region)])


def _host_tensor(call: Application) -> Value:
    rank, dtype = _kept_rank(call), _kept_dtype(call)
    return Tensor(Place.HOST, rank, dtype, Confidence.HIGH, call.factory.pinned, call.in_region)


def _device_tensor(call: Application) -> Value:
    return Tensor(Place.DEVICE, None, None, Confidence.HIGH, False, call.in_region)


def _self(call: Application) -> Value:
    if call.receiver is not None:
        return call.receiver
    params = call.operation.params
    return (call.facts.value(params[0].name) if params else call.facts.first()) or UNKNOWN


_PARAMETER = Tensor(Place.DEVICE, None, None, Confidence.HIGH)
_PLAIN: dict[str, Value] = {
    "int": Host("int"), "float": Host("float"), "bool": Host("bool"), "number": Host("number"), "str": Host("str"),
    "shape": Sequence("tuple", None, Host("int")), "dtype": Host("dtype"), "none": NONE, "host-array": Host("array"),
    "states": Mapping((), Mapping((), UNKNOWN)),
    "groups": Sequence("list", None, Mapping(((Const("params"), Sequence("list", None, _PARAMETER)),), UNKNOWN)),
    "device": DeviceName(Place.ANYWHERE), "list": Sequence("list", None, UNKNOWN), "object": UNKNOWN,
}  # fmt: skip
RESULTS: dict[str, Callable[[Application], Value]] = {
    **{kind: lambda call: _PLAIN[call.operation.returns] for kind in _PLAIN}, "shape": _shape,
    "tensor": _tensor, "elementwise": _elementwise, "promoted": _promoted, "bool-tensor": _bool_tensor, "where": _where,
    "loss": _loss, "copy": lambda call: copied(call.facts.first(), RESULTS["same-shape"](call)),
    "same-shape": lambda call: _computed(call, _kept_rank(call), _kept_dtype(call)), "embedded": _embedded,
    "int-tensor": lambda call: _computed(call, _kept_rank(call), INTEGER),
    "indices": lambda call: _computed(call, None, INTEGER), "scalar-tensor": lambda call: _computed(call, 0),
    "reduction": _reduced(None), "bool-reduction": _reduced(BOOLEAN), "int-reduction": _reduced(INTEGER),
    "extremum": _extremum, "unique": _unique, "factory": _made, "like": _like, "moved": _moved, "self": _self,
    "device": lambda call: DeviceName(place_of_device(call.facts.first()) or Place.ANYWHERE),
    "host-tensor": _host_tensor, "device-tensor": _device_tensor, "tensors": _several(None),
    "pair": _several(2), "triple": _several(3), "quad": _several(4),
}  # fmt: skip
