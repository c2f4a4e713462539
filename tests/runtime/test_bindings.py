"""The state that the lines of a region read and change, as they run."""

from __future__ import annotations

import gc
import importlib.util
import random
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from graphlint.runtime.trace.bindings import Binding  # noqa: E402
from graphlint.runtime.trace.frames import MISSING  # noqa: E402
from graphlint.runtime.trace.host_values import TensorMemory, describe, follow  # noqa: E402
from graphlint.runtime.watch.bindings import RecordedBindings  # noqa: E402

Load = Callable[[str], ModuleType]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """A program of the user, from its text."""

    def loaded(text: str) -> ModuleType:
        path = tmp_path / f"program_{len(list(tmp_path.iterdir()))}.py"
        path.write_text(text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return loaded


def bound(region: Callable[..., object], *args: Any) -> RecordedBindings:
    """The bindings of one run of a region."""
    bindings = RecordedBindings(region.__code__ if hasattr(region, "__code__") else None)
    bindings.start()
    try:
        region(*args)
    finally:
        bindings.stop()
    return bindings


def name_of(binding: Binding) -> str:
    steps = (f"[{step[0]!r}]" if isinstance(step, tuple) else f".{step}" for step in binding.access.steps)
    return binding.access.root + "".join(steps)


def changed(bindings: RecordedBindings) -> set[str]:
    """What holds something else at the end than before the first line that touched it, as `line name`."""
    found = bindings.found.values()
    return {f"{one.access.line} {name_of(one)}" for one in found if one.left.items() - one.entered.items()}


def read(bindings: RecordedBindings) -> dict[str, Any]:
    """What was read, by name."""
    return {name_of(one): dict(one.entered) for one in bindings.found.values() if one.access.how == "read"}


CHANGES = {
    "an attribute": ("class M:\n    n = 0\n    def __call__(self): self.n = 1\nstep = M().__call__\n", {"3 self.n"}),
    "a count of an instance": (
        "class M:\n    n = 3\n    def __call__(self):\n        self.n += 1\nstep = M().__call__\n",
        {"4 self.n"},
    ),
    "a slot": (
        "class M:\n    __slots__ = ('n',)\n    def __call__(self):\n        self.n += 1\n"
        "m = M()\nm.n = 0\nstep = m.__call__\n",
        {"4 self.n"},
    ),
    "a global": ("N = 0\ndef step():\n    global N\n    N += 1\n", {"4 N"}),
    "a global that is new": ("def step():\n    global N\n    N = 1\n", {"3 N"}),
    "an item of a dictionary": ("C = {'a': 1}\ndef step():\n    C['a'] = 2\n", {"3 C['a']"}),
    "a computed item": ("C = [1, 2]\nI = 1\ndef step():\n    C[I] += 1\n", {"4 C"}),
    "a Counter": ("from collections import Counter\nC = Counter()\ndef step():\n    C['a'] += 1\n", {"4 C['a']"}),
    "a list that grows": ("C = []\ndef step():\n    C.append(1)\n", {"3 C"}),
    "an item of a dictionary that was there before": (
        "C = {}\ndef fill(d):\n    d['a'] = 1\ndef step():\n    d = {}\n    d = C\n    fill(d)\n",
        {"3 d['a']", "6 C", "7 d"},
    ),
    "an attribute of an object that a function returns": (
        "import types\nOLD = types.SimpleNamespace(y=0)\ndef old(): return OLD\ndef step():\n    o = old()\n"
        "    o.y = 1\n",
        {"6 o.y"},
    ),
    "a list that is given an object without a constructor": (
        "class Out:\n    __slots__ = ('y',)\ndef put(o):\n    o.y = 1\ndef inner(kind):\n    o = kind()\n    put(o)\n"
        "    return o\nlog = []\ndef step():\n    log.append(inner(Out))\n",
        {"11 log"},
    ),
    "a list that is given a copy": (
        "import copy, types\nOLD = types.SimpleNamespace(y=0)\nlog = []\ndef inner():\n    o = copy.copy(OLD)\n"
        "    o.y = 1\n    return o\ndef step():\n    log.append(inner())\n",
        {"9 log"},
    ),
    "a dictionary that becomes an item of another": (
        "C = {}\ndef step():\n    d = {}\n    d['a'] = 1\n    C['d'] = d\n",
        {"5 C['d']"},
    ),
    "a list of an instance": (
        "class M:\n    def __init__(self): self.seen = []\n    def __call__(self):\n        self.seen.append(1)\n"
        "step = M().__call__\n",
        {"4 self.seen"},
    ),
    "a list that is passed on": (
        "class M:\n    seen = []\ndef note(seen):\n    seen.append(1)\ndef step():\n    note(M.seen)\n",
        {"6 M.seen"},
    ),
    "a variable of a closure that is left": (
        "def make():\n    n = 0\n    def inner():\n        nonlocal n\n        n += 1\n    return inner\n"
        "step = make()\n",
        {"5 n"},
    ),
    "one closure of two": (
        "def make(n):\n    def inner():\n        nonlocal n\n        n += 1\n    return inner\n"
        "other = make(5)\nstep = make(7)\n",
        {"4 n"},
    ),
    "a function that the region calls": (
        "N = 0\ndef count():\n    global N\n    N += 1\ndef step():\n    count()\n",
        {"4 N"},
    ),
    "a parameter of a module": (
        "import torch\nM = torch.nn.Linear(2, 2)\ndef step():\n    M.weight = torch.nn.Parameter(torch.ones(2, 2))\n",
        {"4 M.weight"},
    ),
    "a scheduler": (
        "import torch\nO = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)\n"
        "S = torch.optim.lr_scheduler.LambdaLR(O, float)\ndef step():\n    O.step()\n    S.step()\n",
        {"6 S"},
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_is_taken_down_at_its_line(load: Load, what: str) -> None:
    """What holds something else when the region has run."""
    text, expected = CHANGES[what]
    assert expected == changed(bound(load(text).step))


SILENT = {
    "a variable of a function": "def inner():\n    n = 0\n    n += 1\n    return n\ndef step(): inner()\n",
    "a list of a function": "def inner():\n    found = []\n    found.append(1)\ndef step(): inner()\n",
    "an item of a dictionary of a function": "def inner():\n    d = dict()\n    d['a'] = 1\ndef step(): inner()\n",
    "an item of a dictionary that is given on": (
        "def fill(d):\n    d['a'] = 1\ndef step():\n    d = {\n        'b': len(''),\n    }\n    fill(d)\n"
    ),
    "an item of a dictionary that is given with it": (
        "def fill(d):\n    d['a'] = 1\ndef new():\n    return {}\ndef step():\n    d = new()\n"
        "    fill(d)\n    fill({})\n"
    ),
    "an item of keyword arguments": (
        "def inner(**options):\n    options['a'] = 1\n    return 2\ndef step():\n    return inner(b=3)\n"
    ),
    "a tensor that is written in place": "import torch\nN = torch.zeros(2)\ndef step():\n    N.add_(1)\n    N[0] = 3\n",
    "a value that is set to what it is": "N = 1\ndef step():\n    global N\n    N = 1\n",
    "a constant": "N = 1\ndef step(): return N + 1\n",
    "a method": "class M:\n    def f(self): pass\n    def __call__(self): self.f()\nstep = M().__call__\n",
    "the variable of a comprehension": "i = 5\ndef step(): return [i for i in range(3)]\n",
}


@pytest.mark.parametrize("what", SILENT)
def test_what_the_region_leaves_as_it_was_is_no_change(load: Load, what: str) -> None:
    """Locals, constants, and memory that stays where it is."""
    assert set() == changed(bound(load(SILENT[what]).step))


def test_what_is_read_is_taken_down_with_its_value(load: Load) -> None:
    """Numbers, text, the length and elements of containers, and where tensors lie."""
    text = (
        "import torch\nclass Model:\n    depth = 3\n    def __init__(self):\n        self.rate = 0.5\n"
        "        self.config = {'mode': 'fast'}\n        self.weight = torch.ones(2)\n    def f(self): pass\n"
        "    def __call__(self):\n        a = self.rate, self.depth, self.config['mode'], self.weight\n"
        "        b = self.f, LIMITS, len(LIMITS), self.config.get('mode')\n        return a, b\n"
        "LIMITS = [1, 2]\nmodel = Model()\nstep = model.__call__\n"
    )
    module = load(text)
    assert {
        "self.rate": {"": 0.5},
        "self.depth": {"": 3},
        "self.config['mode']": {"": "fast"},
        "self.weight": {"": TensorMemory.of(module.model.weight)},
        "self.config": {"length": 1, "[mode]": "fast"},
        "LIMITS": {"length": 2, "[0]": 1, "[1]": 2},
    } == {name: value for name, value in read(bound(module.step)).items() if name not in ("a", "b")}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("import torch\ndef step(): return torch.nn.functional\n", id="a module"),
        pytest.param("def f(): pass\ndef step(): return f\n", id="a function"),
        pytest.param("class C: pass\ndef step(): return C\n", id="a class"),
        pytest.param("class C:\n    def f(self): pass\nc = C()\ndef step(): return c.f\n", id="a method"),
        pytest.param("class C:\n    p = property(id)\nc = C()\ndef step(): return c.p\n", id="a property"),
        pytest.param("def step(): return len, undefined if 0 else 1\n", id="a builtin"),
        pytest.param("def inner(n): return n\ndef step(): return inner(1)\n", id="an argument of a function"),
        pytest.param("T = 2\ndef step(): return [T for T in (1, 2)]\n", id="a variable of a comprehension"),
    ],
)
def test_what_is_no_state_is_not_read(load: Load, text: str) -> None:
    """Functions, classes, modules, locals and what is computed."""
    assert {} == read(bound(load(text).step))


def test_a_later_change_is_seen_by_the_same_name(load: Load) -> None:
    """A binding looks up what a replay does not look at."""
    module = load("class M:\n    rate = 1.0\n    def __call__(self): return self.rate\nm = M()\nstep = m.__call__\n")
    (binding,) = bound(module.step).found.values()
    module.m.rate = 2.0
    assert ({"": 1.0}, {"": 2.0}) == (binding.entered, binding.look_up())


def test_a_tensor_that_is_replaced_later_is_seen_as_another_memory(load: Load) -> None:
    """Also where it is a parameter of a module."""
    module = load("import torch\nmodel = torch.nn.Linear(2, 2)\ndef step(x): return x @ model.weight\n")
    bindings = bound(module.step, torch.ones(2, 2))
    (binding,) = [one for one in bindings.found.values() if "model.weight" == name_of(one)]
    assert binding.entered == binding.look_up()
    module.model.weight = torch.nn.Parameter(torch.ones(2, 2))
    assert binding.entered != binding.look_up()


def test_a_change_is_seen_once_though_its_line_runs_often(load: Load) -> None:
    """What it held before the first round counts."""
    module = load("N = 0\ndef step():\n    global N\n    for _ in range(4):\n        N += 1\n")
    (binding,) = [one for one in bound(module.step).found.values() if "N" == name_of(one)]
    assert ({"": 0}, {"": 4}) == (binding.entered, binding.left)


def test_the_function_that_opens_the_region_is_listened_to_from_there_on(load: Load) -> None:
    """It runs already, and only what it does after the opening counts; its own variables are local."""
    text = (
        "A = B = C = 0\ndef main(bindings):\n    global A, B, C\n    A = 1\n    bindings.start()\n    B = 1\n"
        "    y = B\n    y = 2\n    bindings.stop()\n    C = 1\n    return y\n"
    )
    module = load(text)
    bindings = RecordedBindings(module.main.__code__)
    assert 2 == module.main(bindings)
    assert {"6 B", "7 y", "8 y"} == changed(bindings)
    assert {"B": False, "y": True} == {name_of(one): one.is_local for one in bindings.found.values() if one.left}


def test_a_variable_that_a_function_inside_uses_is_local_too(load: Load) -> None:
    """Where it stands in the function that opens the region."""
    text = (
        "def main(bindings):\n    n = 0\n    def get(): return n\n    bindings.start()\n    n += 1\n"
        "    bindings.stop()\n    return get()\n"
    )
    module = load(text)
    bindings = RecordedBindings(module.main.__code__)
    assert 1 == module.main(bindings)
    assert [("n", True)] == [(name_of(one), one.is_local) for one in bindings.found.values() if one.left]


def test_a_variable_of_a_function_that_runs_is_seen_from_a_function_inside_it(load: Load) -> None:
    """Its closure holds what the function around it holds."""
    text = (
        "def main(bindings):\n    n = 0\n    def count():\n        nonlocal n\n        n += 1\n    bindings.start()\n"
        "    count()\n    bindings.stop()\n    return n\n"
    )
    module = load(text)
    bindings = RecordedBindings(module.main.__code__)
    assert 1 == module.main(bindings)
    assert {"5 n"} == changed(bindings)


def test_libraries_are_not_listened_to(load: Load) -> None:
    """What PyTorch and the standard library keep for themselves is their affair."""
    module = load("import torch, json\ndef step():\n    json.dumps({})\n    torch.nn.Linear(2, 2)(torch.ones(2, 2))\n")
    paths = {one.place.path for one in bound(module.step).found.values()}
    assert paths <= {module.__file__}


def test_nothing_is_kept_alive(load: Load) -> None:
    """Memory that the program gives up is free, though a binding names it."""
    text = (
        "import torch, weakref\nclass Model:\n    def __init__(self):\n        self.rows = torch.ones(2)\n"
        "    def __call__(self, x, kept):\n        y = self.rows + x\n        kept.append(y)\n        z = kept[0] + y\n"
        "        return z.sum()\n"
        "def main(bindings):\n    model, x, kept = Model(), torch.ones(2), []\n    bindings.start()\n"
        "    out = model(x, kept)\n    bindings.stop()\n"
        "    return [weakref.ref(one) for one in (model, model.rows, x, kept[0], out)]\n"
    )
    module = load(text)
    bindings = RecordedBindings(module.main.__code__)
    references = module.main(bindings)
    assert bindings.found
    assert [None] * 5 == [reference() for reference in references]


def test_a_running_function_does_not_keep_what_it_deletes(load: Load) -> None:
    """A copy of its variables, which Python makes up to 3.12 where they are looked at, is emptied."""
    text = (
        "import torch, weakref\ndef main(bindings):\n    x = torch.ones(2)\n    bindings.start()\n    y = x + 1\n"
        "    bindings.stop()\n    reference = weakref.ref(x)\n    del x\n    return reference(), y\n"
    )
    module = load(text)
    gone, y = module.main(RecordedBindings(module.main.__code__))
    assert gone is None and [2.0, 2.0] == y.tolist()


def test_the_program_keeps_its_own_view_of_its_variables(load: Load) -> None:
    """`locals()` gives the program what it gives without listening."""
    module = load(
        "class M:\n    def __call__(self, rate, mode):\n        given = locals()\n        y = mode.real, rate.real\n"
        "        return sorted(given)\ndef step(found):\n    found += M()(1, 2)\n"
    )
    found: list[str] = []
    bound(module.step, found)
    assert {"mode", "rate", "self"} <= set(found)


def test_a_region_in_a_module_or_a_class_leaves_their_names_alone(load: Load) -> None:
    """Their variables are the names themselves, not a copy."""
    module = load(
        "from graphlint.runtime.watch.bindings import RecordedBindings\n"
        "B = RecordedBindings(None)\nN = 1\nclass C:\n    a = 1\n    B.start()\n"
        "    b = N\n    B.stop()\n    c = a + b\nB = RecordedBindings(None)\nB.start()\nN += C.c\nB.stop()\nM = N\n"
    )
    assert (2, 3, 3) == (module.C.c, module.N, module.M)
    assert {"12 N"} == changed(module.B)


DRAWS = {
    "random": "import random\ndef step():\n    a = 1\n    b = random.random()\n    return a + b\n",
    "torch": "import torch\ndef step():\n    a = 1\n    b = torch.rand(1)\n    return a + b\n",
    "numpy": "import numpy\ndef step():\n    a = 1\n    b = numpy.random.rand()\n    return a + b\n",
    "the last line": "import random\ndef step():\n    a = 1\n    return random.random()\n",
    "a function below": "import random\ndef draw():\n\n    random.random()\ndef step():\n    a = draw()\n    b = 1\n",
}


@pytest.mark.parametrize("what", DRAWS)
def test_a_draw_of_the_host_is_taken_down_at_its_line(load: Load, what: str) -> None:
    """From Python's generator, NumPy's functions or PyTorch's generator of the host."""
    if what == "numpy":
        pytest.importorskip("numpy.random")
    assert [4] == [place.line for place in bound(load(DRAWS[what]).step).draws]


def test_a_generator_of_its_own_draws_nothing_from_the_host(load: Load) -> None:
    """And neither does a line that runs no generator, or one that draws before the region."""
    random.random()
    module = load("import random\nG = random.Random(1)\ndef step():\n    a = G.random()\n    b = a + 1\n    return b\n")
    assert [] == bound(module.step).draws


def test_a_listener_of_somebody_else_is_left_alone(load: Load) -> None:
    """A debugger keeps its place, and nothing is taken down."""
    module = load("N = 0\ndef step():\n    global N\n    N += 1\n")
    bindings = RecordedBindings(module.step.__code__)
    first = RecordedBindings(module.step.__code__)
    first.start()
    try:
        bindings.start()
        module.step()
        bindings.stop()
        module.step()
    finally:
        first.stop()
    assert ({}, {""}) == (bindings.found, {key for one in first.found.values() for key in one.left})
    assert [2] == [one.left[""] for one in first.found.values()]


def test_nothing_listens_when_the_region_has_run(load: Load) -> None:
    """Lines that run later are not taken down, and no trace function is left on a frame."""
    module = load("N = 0\ndef step():\n    global N\n    N += 1\n")
    bindings = RecordedBindings(None)
    bindings.start()
    bindings.stop()
    module.step()
    assert {} == bindings.found
    assert sys.gettrace() is None and sys._getframe().f_trace is None


def test_an_exception_in_the_region_goes_its_way(load: Load) -> None:
    """And what was taken down until then is there."""
    module = load("N = 0\ndef step():\n    global N\n    N += 1\n    raise LookupError\n")
    bindings = RecordedBindings(module.step.__code__)
    bindings.start()
    with pytest.raises(LookupError):
        module.step()
    bindings.stop()
    assert {"4 N"} == changed(bindings)


def test_a_binding_of_an_object_that_is_gone_holds_nothing(load: Load) -> None:
    """It neither fails nor reports."""
    module = load("class M:\n    n = 1\n    def __call__(self): return self.n\ndef make(): return M()\n")
    model = module.make()
    bindings = bound(model.__call__)
    reference = weakref.ref(model)
    del model
    gc.collect()
    assert reference() is None
    assert [{}] == [dict(one.look_up()) for one in bindings.found.values()]


class Asking:
    """Looks up in a slot whatever it does not have, and so runs without end where the slot is empty."""

    __slots__ = ("parts",)

    def __getattr__(self, name: str) -> object:
        return self.parts[name]


def test_attributes_are_looked_up_without_running_code_of_their_object() -> None:
    """Neither the class of an object is asked for what is not there, nor for its dictionary."""
    assert follow(Asking(), ("scale",)) is MISSING
    assert follow(Asking(), ("parts",)) is MISSING
    assert describe(Asking()) == {}


def test_a_module_that_a_region_imports_changes_nothing(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it sets up is set up once in any case; what is called in it afterwards counts."""
    (tmp_path / "imported_late.py").write_text("SEEN = []\ndef note(n):\n    SEEN.append(n)\nnote(1)\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = load("def step():\n    import imported_late\n\ndef other():\n    import imported_late as m; m.note(2)\n")
    assert set() == changed(bound(module.step))
    assert {"3 SEEN"} == changed(bound(module.other))


def test_objects_that_a_region_makes_are_no_state(load: Load) -> None:
    """Each call makes another one; what was there before is state, also if it is changed in a constructor."""
    module = load(
        "class Cache:\n    def __init__(self, log):\n        self.n = 0\n        log.n = 1\n"
        "    def put(self):\n        self.n += 1\n"
        "old = Cache(type('Log', (), {})())\n"
        "def step():\n    new = Cache(old)\n    new.put()\n"
        "def other():\n    old.put()\n"
    )
    assert {"4 log.n"} == changed(bound(module.step))
    assert {"6 self.n"} == changed(bound(module.other))


def test_an_object_that_opens_a_region_in_its_constructor_is_state(load: Load) -> None:
    """It was there before the region."""
    module = load(
        "class Runner:\n    def __init__(self):\n        self.n = 0\n        self.n += 1\n"
        "step = Runner.__init__\nrunner = object.__new__(Runner)\n"
    )
    assert {"3 self.n", "4 self.n"} & changed(bound(module.step, module.runner))


class Locked(tuple[Any, ...]):
    """What it holds may be asked for by its own class alone."""

    def __len__(self) -> int:
        raise NotImplementedError

    def __iter__(self) -> Any:
        raise NotImplementedError

    def __getitem__(self, place: Any) -> Any:
        raise NotImplementedError


class Counted(dict[str, Any]):
    """It makes what it is asked for, and remembers that."""

    def __missing__(self, key: str) -> int:
        self[key] = 0
        return 0


def test_what_a_region_reads_is_looked_at_without_running_its_code() -> None:
    """Else a correct program is refused by what is done to look at it, or changes under the look."""
    locked, counted = Locked([1, torch.ones(2)]), Counted(seen=1)
    assert describe(locked)["[0]"] == 1 and describe(locked)["length"] == 2
    assert describe(counted) == {"length": 1, "[seen]": 1}
    assert follow(locked, ((0,),)) == 1
    assert follow(counted, (("unseen",),)) is MISSING and dict(counted) == {"seen": 1}
