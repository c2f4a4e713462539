"""The state in reach of a callable: named, compared, and put back so that the next run is the first again."""

from __future__ import annotations

import functools
import json
import math
import random
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from graphlint.runtime.compare.state import Change, kept, reachable  # noqa: E402

TOTAL = 0
SCALE = torch.ones(2)
UNNAMED = torch.ones(2)
Step = Callable[[torch.Tensor], object]


class Decoder(torch.nn.Module):
    """Layers in a list, batch statistics, dropout, a counter, a history, and a buffer that the first run makes."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList([torch.nn.Linear(4, 4), torch.nn.Linear(4, 4, bias=False)])
        self.norm = torch.nn.BatchNorm1d(4)
        self.drop = torch.nn.Dropout(0.5)
        self.count = 0
        self.history: list[torch.Tensor] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count += 1
        for block in self.blocks:
            x = block(x)
        x = self.drop(self.norm(x)) * self.count
        if not hasattr(self, "late"):
            self.register_buffer("late", torch.zeros(8, 4), persistent=False)
        self.late += x.detach()
        self.history.append(x.detach())
        return x + len(self.history)


@dataclass
class Engine:
    cache: torch.Tensor
    lengths: list[int] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    runs = 0

    def step(self, x: torch.Tensor) -> torch.Tensor:
        Engine.runs += 1
        return x + self.cache


class Slotted:
    __slots__ = ("cache", "count")

    def __init__(self) -> None:
        self.count = 0
        self.cache = torch.zeros(2)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.count += 1
        self.cache = x + self.cache
        return self.cache * self.count


def training(optimizer_of: Callable[[Any], Any]) -> Step:
    """A whole step on a fresh model."""
    torch.manual_seed(0)
    model = Decoder()
    optimizer = optimizer_of(model.parameters())

    def step(x: torch.Tensor) -> list[torch.Tensor]:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return [loss.detach(), *(parameter.detach().clone() for parameter in model.parameters())]

    return step


def of_generator() -> Step:
    """Draws from generators that it owns and from those that everyone uses."""
    own, host = torch.Generator().manual_seed(3), random.Random(4)

    def step(x: torch.Tensor) -> object:
        return [torch.rand(2, generator=own), torch.rand(2), torch.tensor([host.random(), random.random()])]

    return step


def of_containers() -> Step:
    """Changes everything that can be changed in place."""
    kept: dict[str, Any] = {"row": [1], "set": {1}, "recent": deque([1], maxlen=2), "view": torch.zeros(4)[1:]}

    def step(x: torch.Tensor) -> object:
        kept["row"].append(len(kept["row"]))
        kept["set"].add(len(kept["set"]) + 1)
        kept["recent"].append(len(kept["row"]))
        kept["view"].add_(1)
        kept["view"] = kept["view"] + 1
        kept.setdefault("new", x.clone()).mul_(2)
        numbers = [*kept["row"], *sorted(kept["set"]), *kept["recent"]]
        return [torch.tensor(numbers), kept["view"].clone(), kept["new"].clone()]

    return step


def of_globals(x: torch.Tensor) -> object:
    """Counts in a global, and writes to one through a helper."""
    global TOTAL, MADE
    TOTAL += 1
    MADE = TOTAL
    return scaled(x[0, :2] * TOTAL)


def scaled(x: torch.Tensor) -> torch.Tensor:
    SCALE.mul_(2)
    return x * SCALE


def with_default(x: torch.Tensor, seen: list[int] = []) -> torch.Tensor:  # noqa: B006
    seen.append(1)
    return x * len(seen)


def of_memory() -> Step:
    """Moves a tensor to other memory."""
    weight = torch.nn.Parameter(torch.ones(4))

    def step(x: torch.Tensor) -> object:
        weight.data = weight.data * 2
        return weight.detach().clone()

    return step


class Counted(Slotted):
    """A subclass works out what the one above it keeps, anew each time."""

    __slots__ = ("factor",)

    @property
    def count(self) -> int:  # type: ignore[override]
        return 1000 * self.factor

    def __init__(self) -> None:
        self.factor = 1
        self.cache = torch.zeros(2)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        self.factor += 1
        return x * self.factor * (1 + self.count)


CALLABLES: dict[str, Callable[[], Step]] = {
    "SGD with momentum": lambda: training(lambda p: torch.optim.SGD(p, 0.1, momentum=0.9)),
    "Adam": lambda: training(lambda p: torch.optim.Adam(p, 0.1)),
    "AdamW with amsgrad": lambda: training(lambda p: torch.optim.AdamW(p, 0.1, amsgrad=True)),
    "module": Decoder,
    "bound method": lambda: Engine(torch.ones(4)).step,
    "slots": lambda: (lambda slotted: lambda x: slotted(x[0, :2]))(Slotted()),
    "a slot that a subclass works out": lambda: (lambda counted: lambda x: counted(x[0, :2]))(Counted()),
    "generators": of_generator,
    "containers": of_containers,
    "globals": lambda: of_globals,
    "default argument": lambda: with_default,
    "partial": lambda: functools.partial(with_default, seen=[]),
    "other memory": of_memory,
}


def same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    return all(map(same, one, other))


def kinds(changes: list[Change]) -> dict[str, str]:
    return {change.name: change.kind for change in changes}


def changes(step: Callable[..., object], *args: Any) -> list[Change]:
    """What a run changes."""
    state = reachable(step, args, {})
    before = state.snapshot()
    step(*args)
    return before.changes(state.snapshot())


@pytest.mark.parametrize("name", CALLABLES)
def test_after_restoring_the_next_run_is_the_first_again(name: str) -> None:
    """Bit for bit, twice; and nothing of the state differs from what it was."""
    step, x = CALLABLES[name](), torch.randn(8, 4, generator=torch.Generator().manual_seed(0))
    state = reachable(step, (x,), {})
    before = state.snapshot()
    first = step(x)
    assert before.changes(state.snapshot()), "a step that changes nothing proves nothing"
    for _ in range(2):
        step(x)
        before.restore()
        assert [] == before.changes(state.snapshot())
        assert same(first, step(x))
    before.restore()
    assert "MADE" not in globals()


@pytest.mark.parametrize("name", ["SGD with momentum", "Adam", "module", "containers", "generators"])
def test_a_state_in_the_middle_is_restored_as_well(name: str) -> None:
    """After runs that created state, the second run can be repeated."""
    step, x = CALLABLES[name](), torch.randn(8, 4, generator=torch.Generator().manual_seed(0))
    step(x)
    before = reachable(step, (x,), {}).snapshot()
    second = step(x)
    third = step(x)
    before.restore()
    assert same(second, step(x))
    assert same(third, step(x))


def test_names_read_like_the_source() -> None:
    """A parameter is named after its module, although the optimizer is closer."""
    model = Decoder()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    engine = Engine(torch.ones(2), [1, 2], {"mode": "fast"})

    def step(x: torch.Tensor, scale: float) -> None:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
        engine.step(SCALE)

    step.count = 3
    state = reachable(step, (torch.ones(8, 4),), {"scale": 0.5})
    assert {
        "args[0]",
        "model.blocks[0].weight",
        "model.blocks[0].bias",
        "model.blocks[1].weight",
        "model.norm.weight",
        "model.norm.bias",
        "model.norm.running_mean",
        "model.norm.running_var",
        "model.norm.num_batches_tracked",
        "engine.cache",
        "SCALE",
    } == set(state.tensors)
    expected = {
        "step.count": 3,
        "scale": 0.5,
        "model.training": True,
        "model.count": 0,
        "model.blocks[1].bias": None,
        "model.norm.momentum": 0.1,
        "optimizer.param_groups[0]['lr']": 0.1,
        "engine.lengths[1]": 2,
        "engine.options['mode']": "fast",
        "len(engine.lengths)": 2,
        "len(model.history)": 0,
        "Engine.runs": 0,
    }
    assert expected.items() <= state.hosts.items()
    assert (0, ()) == (state.unvisited, state.unreadable)
    step(torch.ones(8, 4), 1.0)
    later = reachable(step, (), {})
    assert "optimizer.state[model.blocks[0].weight]['momentum_buffer']" in later.tensors
    assert "model.blocks[0].weight.grad" in later.tensors


def test_a_callable_names_what_it_holds_itself() -> None:
    """A module, a bound method, an object with a call, a partial."""
    x = torch.ones(2)
    assert "decoder.norm.weight" in reachable(Decoder(), (), {}).tensors
    assert "self.cache" in reachable(Engine(x).step, (), {}).tensors
    assert "slotted.cache" in reachable(Slotted(), (), {}).tensors
    assert {"scaled.args[0]", "SCALE"} == set(reachable(functools.partial(scaled, x), (), {}).tensors)


def test_only_globals_that_are_named_are_reached() -> None:
    """Through the functions that are called, and not beyond; installed packages are left alone."""
    names = set(reachable(of_globals, (), {}).tensors)
    assert "SCALE" in names
    assert "UNNAMED" not in names

    def uses_library(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.relu(x) * len(json.dumps(1))

    assert {} == reachable(uses_library, (), {}).tensors
    assert {} == reachable(uses_library, (), {}).hosts


def test_functions_inside_a_function_are_read_too() -> None:
    """What a lambda or a comprehension names is named."""
    assert ["SCALE"] == list(reachable(lambda xs: [(lambda y: y * SCALE)(x) for x in xs], (), {}).tensors)


def test_globals_of_a_module_of_the_user_are_reached_where_they_are_named() -> None:
    """`settings.scale` is a global of another module."""
    settings = ModuleType("settings")
    settings.scale, settings.other = torch.ones(1), torch.ones(1)
    namespace = {"settings": settings, "__name__": "serve"}
    exec("def step(x):\n    settings.scale += 1\n    return x * settings.scale", namespace)
    state = reachable(namespace["step"], (), {})
    assert ["settings.scale"] == list(state.tensors)


def test_a_wrapped_function_is_looked_through() -> None:
    """A decorator of a library keeps the function in its closure."""
    weight = torch.ones(1)

    @torch.no_grad()
    def step(x: torch.Tensor) -> torch.Tensor:
        return x * weight

    assert ["weight"] == list(reachable(step, (), {}).tensors)


def test_a_tensor_with_two_names_is_listed_once() -> None:
    """Tied weights, and the same object twice."""
    a, b = torch.nn.Linear(2, 2, bias=False), torch.nn.Linear(2, 2, bias=False)
    b.weight = a.weight
    state = reachable(lambda x: b(a(x)), (a.weight,), {})
    assert ["args[0]"] == list(state.tensors)


def test_a_large_state_is_cut_and_says_so() -> None:
    """The nearest is kept."""
    row: list[Any] = []
    for _ in range(50):
        row = [torch.ones(1), row]
    state = reachable(len, (row,), {}, limit=20)
    assert "args[0][0]" in state.tensors
    assert state.unvisited
    assert not reachable(len, (row,), {}).unvisited


def test_a_vocabulary_is_one_host_value() -> None:
    """A long row of plain values is compared as a whole."""
    words = {str(number): number for number in range(30_000)}
    numbers = list(range(30_000))

    def step() -> None:
        words["new"] = 1
        numbers[7] = 0

    assert 30_000 == len(reachable(step, (), {}).hosts["words"])
    assert {"words": "host", "numbers": "host", "len(words)": "host"} == kinds(changes(step))


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("box.x.add_(1)", {"box.x": "value"}),
        ("box.x = box.x + 1", {"box.x": "rebound"}),
        ("box.x = box.x[:]", {}),
        ("box.x = box.x[:].add_(1)", {"box.x": "value"}),
        ("box.x.data = box.x.clone()", {"box.x": "moved"}),
        ("box.x[1:].add_(1)", {"box.x": "value"}),
        ("box.n += 1", {"box.n": "host"}),
        ("box.n = box.nan", {"box.n": "host"}),
        ("box.nan = box.nan * 1", {}),
        ("box.row.append(1)", {"box.row[1]": "created", "len(box.row)": "host"}),
        ("box.row.clear()", {"box.row[0]": "removed", "len(box.row)": "host"}),
        ("box.y = box.x + 1", {"box.y": "created"}),
        ("box.also = box.x", {}),
        ("del box.x", {"box.x": "removed"}),
        ("del box.q", {}),
        ("box.n = box.x + 1", {"box.n": "created"}),
        ("box.x = None", {"box.x": "removed"}),
        ("box.kept['x'] = box.x", {"len(box.kept)": "host"}),
        ("box.p.grad = box.x + 1", {"box.p.grad": "created"}),
        ("box.p.requires_grad_(False).add_(1).requires_grad_()", {"box.p": "value"}),
        ("box.set.add(2)", {"box.set": "host", "len(box.set)": "host"}),
        ("box.random.random()", {"box.random": "generator"}),
        ("torch.rand(1)", {"torch.default_generator": "generator"}),
        ("box.x.new_zeros(3)", {}),
    ],
)
def test_a_change_is_told_by_its_kind(statement: str, expected: dict[str, str]) -> None:
    """One statement at a time."""
    box = SimpleNamespace(x=torch.ones(3), p=torch.nn.Parameter(torch.ones(3)), n=1, nan=float("nan"), row=[0])
    box.q, box.kept, box.set, box.random = box.p, {}, {1}, random.Random(0)

    def step() -> None:
        exec(statement, {"box": box, "torch": torch})

    state = reachable(step, (box,), {})
    names = {name.replace("args[0]", "box"): kind for name, kind in kinds(changes(step, *[])).items()}
    assert expected == names
    assert state.tensors


def test_a_host_change_tells_before_and_after() -> None:
    """Also for a length."""
    row = [5]
    assert [Change("row[1]", "created"), Change("len(row)", "host", 1, 2)] == changes(lambda: row.append(6))

    def step() -> None:
        row[0] += 1

    assert [Change("row[0]", "host", 5, 6)] == changes(step)


def test_restoring_brings_back_the_same_objects() -> None:
    """A graph keeps addresses, so what was rebound has to be the old tensor again, in its old memory."""
    box = SimpleNamespace(x=torch.ones(3), p=torch.nn.Parameter(torch.ones(3)))
    x, address = box.x, box.p.data_ptr()
    before = reachable(lambda: box, (), {}).snapshot()
    box.x, box.p.data, box.p.grad = torch.zeros(3), torch.zeros(3), torch.zeros(3)
    x.zero_()
    before.restore()
    assert box.x is x
    assert torch.equal(torch.ones(3), x)
    assert (address, None) == (box.p.data_ptr(), box.p.grad)
    assert torch.equal(torch.ones(3), box.p)


def test_what_a_proxy_stands_for_is_restored() -> None:
    """A wrapper refers to itself so in its own closures; where it is gone, there is nothing."""
    model = torch.nn.Linear(2, 1)
    owner = type("Owner", (), {"model": model})()
    state = reachable(weakref.proxy(owner), (), {})
    before = state.snapshot()
    model(torch.ones(1, 2)).sum().backward()
    assert model.weight.grad is not None
    before.restore()
    assert model.weight.grad is None
    gone = weakref.proxy(type(owner)())
    assert not reachable(print, (gone,), {}).tensors


def test_variables_of_a_closure_without_a_value_are_restored() -> None:
    """To the value that they had, or to none."""

    def function_and_swap() -> tuple[Callable[[], list[int]], Callable[[], None]]:
        def values() -> list[int]:
            return [early, late]

        def swap() -> None:
            nonlocal early, late
            late = early
            del early

        early = 1
        if early > 1:
            late = 0
        return values, swap

    values, swap = function_and_swap()
    before = reachable(values, (), {}).snapshot()
    swap()
    before.restore()
    with pytest.raises(NameError, match="late"):
        values()
    swap()
    with pytest.raises(NameError, match="early"):
        values()


def test_memory_that_tensors_share_is_restored_once() -> None:
    """Views, expanded ones, and tensors that want gradients or were made for inference."""
    base = torch.arange(6.0)
    with torch.inference_mode():
        inferred = torch.ones(2)
    box = [base, base[::2], base[:1].expand(4), torch.nn.Parameter(base), inferred]
    before = reachable(lambda: box, (), {}).snapshot()
    base.fill_(9)
    with torch.inference_mode():
        inferred.zero_()
    before.restore()
    assert torch.equal(torch.arange(6.0), base)
    assert [1.0, 1.0] == inferred.tolist()


def test_a_class_and_its_counter_are_restored() -> None:
    """State of a class is shared by its objects."""
    engine = Engine(torch.ones(2))
    state = reachable(engine.step, (), {})
    before, runs = state.snapshot(), Engine.runs
    engine.step(SCALE)
    assert {"Engine.runs": "host"} == kinds(before.changes(state.snapshot()))
    before.restore()
    assert runs == Engine.runs


def test_arrays_and_generators_of_numpy_are_state() -> None:
    """Host arrays are compared by content and restored in place."""
    numpy = pytest.importorskip("numpy")
    array, generator = numpy.zeros(3), numpy.random.default_rng(0)

    def step() -> float:
        array[1] += 1
        return float(generator.random() + numpy.random.random())

    state = reachable(step, (), {})
    before, kept = state.snapshot(), array
    first = step()
    expected = {"array": "host", "generator": "generator", "numpy.random": "generator"}
    assert expected == kinds(before.changes(state.snapshot()))
    before.restore()
    assert array is kept
    assert not array.any()
    assert first == step()


def test_an_array_that_can_only_be_read_is_left_as_it_is() -> None:
    """Nobody has changed it, and nobody can put it back."""
    numpy = pytest.importorskip("numpy")
    table = numpy.broadcast_to(numpy.ones(1), (3,))
    state = reachable(lambda: float(table.sum()), (), {})
    state.snapshot().restore()
    assert table.sum() == 3


def test_a_class_need_not_name_its_module() -> None:
    """Extensions have classes whose `__module__` is no text; what they hold is state like that of any other."""

    class Kind(type):
        __module__ = property(lambda kind: "of its instances")  # type: ignore[assignment]

    class Counter(metaclass=Kind):
        def __init__(self) -> None:
            self.count = 0

    counter = Counter()

    def step() -> None:
        counter.count += 1

    assert not isinstance(Kind.__module__, str)
    state = reachable(lambda: (Counter, step()), (), {})
    before = state.snapshot()
    step()
    assert {"counter.count": "host"} == kinds(before.changes(state.snapshot()))


def test_tensors_without_memory_of_their_own_are_named() -> None:
    """They are left as they are."""
    box = [torch.eye(2).to_sparse(), torch.ones(2, device="meta"), torch.ones(2), torch.ones(0)]
    state = reachable(len, (box,), {})
    assert ("args[0][0]", "args[0][1]") == state.unreadable
    state.snapshot().restore()


def test_looking_changes_nothing() -> None:
    """Neither random states nor gradients nor modules."""
    step = training(lambda p: torch.optim.Adam(p))
    state = reachable(step, (), {})
    before = state.snapshot()
    state.snapshot().restore()
    assert [] == before.changes(state.snapshot())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_training_step_on_a_device_is_restored() -> None:
    """With dropout, whose generator is the device's."""
    torch.manual_seed(0)
    model, x = Decoder().cuda(), torch.randn(8, 4, device="cuda")
    model.register_buffer("late", torch.zeros(8, 4, device="cuda"))
    optimizer = torch.optim.Adam(model.parameters(), capturable=True)

    def step(x: torch.Tensor) -> list[torch.Tensor]:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        return [parameter.detach().clone() for parameter in model.parameters()]

    state = reachable(step, (x,), {})
    before = state.snapshot()
    first = step(x)
    assert "torch.cuda.default_generators[0]" in kinds(before.changes(state.snapshot()))
    before.restore()
    assert [] == before.changes(state.snapshot())
    assert same(first, step(x))


def test_a_mapping_that_makes_its_values_is_not_asked_for_them() -> None:
    """Such as a registry that imports what it names."""

    class Registry(dict):
        def __getitem__(self, key: str) -> object:
            raise AssertionError("asked")

        values = items = __iter__ = __getitem__

    registry = Registry(model="package.model")

    def step(x: torch.Tensor) -> torch.Tensor:
        return x if registry else x + 1

    state = reachable(step, (), {})
    assert "package.model" in state.hosts.values()
    state.snapshot().restore()


def test_a_copy_of_what_has_not_changed_is_kept() -> None:
    """NaN in the same place is no change; another shape, another value and another name are."""
    same = torch.tensor([1.0, math.nan])
    held = {"same": same, "changed": torch.ones(2), "grown": torch.ones(2)}
    first = kept(reachable(lambda: held, (), {}), {})
    held["changed"][0] = 2.0
    held["grown"], held["new"] = torch.ones(3), torch.ones(1)
    second = kept(reachable(lambda: held, (), {}), first)
    names = {name: next(one for one in second if name in one) for name in held}
    assert ["same"] == [name for name, path in names.items() if first.get(path) is second[path]]
    assert second[names["same"]] is not same
    assert all(torch.equal(second[path], held[name]) for name, path in names.items() if name != "same")


def test_a_later_snapshot_shares_what_has_not_changed() -> None:
    """It restores its own moment all the same."""
    held = {"same": torch.ones(2), "changed": torch.ones(2)}
    state = reachable(lambda: held, (), {})
    first = state.snapshot()
    held["changed"].zero_()
    second = state.snapshot(first)
    shared = {name: one.data_ptr() == second.held()[name].data_ptr() for name, one in first.held().items()}
    assert {"held['same']": True, "held['changed']": False} == shared
    for one in held.values():
        one.fill_(7)
    second.restore()
    assert [[1, 1], [0, 0]] == [one.tolist() for one in held.values()]


class Strict:
    """Whoever asks it for anything runs its code."""

    def __eq__(self, other: object) -> bool:
        raise LookupError

    __hash__ = None  # type: ignore[assignment]

    __slots__ = ("__dict__", "empty")

    def __getattr__(self, name: str) -> Any:
        raise LookupError(name)


class Irregular(tuple[Any, ...]):
    """It counts and gives something else than it holds."""

    def __len__(self) -> int:
        raise NotImplementedError

    def __iter__(self) -> Any:
        raise NotImplementedError

    def __getitem__(self, place: Any) -> Any:
        raise NotImplementedError


class Logged(list[Any]):
    """It may be filled by its maker alone."""

    def extend(self, _values: Any) -> None:
        raise LookupError

    def clear(self) -> None:
        raise LookupError

    def __iter__(self) -> Any:
        raise LookupError

    def __len__(self) -> int:
        raise LookupError


def test_looking_at_objects_runs_none_of_their_code() -> None:
    """Neither what they count, nor how they compare, nor how they are filled; what they hold is seen all the same."""
    x = torch.ones(2)
    holder = SimpleNamespace(strict=Strict(), irregular=Irregular([x, 1]), logged=Logged([1, 2]))

    def step() -> object:
        return holder.strict, holder.irregular, holder.logged

    state = reachable(step, (), {})
    before = state.snapshot()
    list.append(holder.logged, 3)
    x.add_(1)
    changes = {(one.name, one.kind) for one in before.changes(state.snapshot())}
    assert {("holder.irregular[0]", "value"), ("len(holder.logged)", "host")} <= changes
    before.restore()
    assert [1, 2] == list.__getitem__(holder.logged, slice(None)) and x.tolist() == [1, 1]
