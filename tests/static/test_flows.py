"""What objects hold and calls lead to, as far as the program says it: no lost code, and no flow that cannot be."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from analysis import analyse

# `step`, or the `forward` of `Net`, is declared as a region; every `# expect:` must be reported, and nothing else.
HEAD = "import functools\nimport torch\nfrom torch import nn\n\n"
LOUD = """
        class Loud(nn.Module):
            def forward(self, x):
                return x.item()  # expect: GL101
        class Quiet(nn.Module):
            def forward(self, x):
                return x + 1
        class Unused(nn.Module):
            def forward(self, x):
                return x.item()
        """

CALL_SITES = {
    "modules that a function hands to a constructor": f"""{LOUD}
        def build(config):
            body = Loud() if config.loud else nn.Linear(4, 4)
            return Net(body, head=Quiet())
        class Net(nn.Module):
            def __init__(self, body, head: nn.Module, unused=None):
                super().__init__()
                self.body, self.head = body, head
            def forward(self, x):
                return self.head(self.body(x))
        """,
    "one that a method of a builder hands over": f"""{LOUD}
        class Builder:
            def __init__(self, kind):
                self.kind = kind
            def build(self):
                return Net(self.part())
            def part(self):
                return Loud()
        class Net(nn.Module):
            def __init__(self, body):
                super().__init__()
                self.body = body
            def forward(self, x):
                return self.body(x)
        """,
    "one layer, of which the constructor makes several": f"""{LOUD}
        import copy
        from typing import List, Optional, Union
        def build(config):
            return Net(layers=Loud(), number=config.number)
        def clones(layer: nn.Module, number: int) -> nn.ModuleList:
            return nn.ModuleList([copy.deepcopy(layer) for _ in range(number)])
        class Net(nn.Module):
            def __init__(self, layers: Union[nn.Module, List[nn.Module]], number: Optional[int]):
                super().__init__()
                if number is None:
                    if isinstance(layers, nn.Module):
                        raise AssertionError("a list is needed")
                    layers = nn.ModuleList(layers)
                else:
                    layers = clones(layers, number)
                self.layers = layers
            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return x
        """,
    "a class picked from a module by a name that is not known": """
        import parts
        def build(config):
            return Net(getattr(parts, config.name)(4, bias=config.bias))
        class Net(nn.Module):
            def __init__(self, body):
                super().__init__()
                self.body = body
            def forward(self, x):
                return self.body(x)
        # file: parts.py
        class Biased:
            def __init__(self, width, bias):
                self.bias = bias
            def __call__(self, x):
                return x.item()  # expect: GL101
        class Narrow:
            def __init__(self, width):
                self.width = width
            def __call__(self, x):
                return x.item()
        """,
}


@pytest.mark.parametrize("program", [pytest.param(text, id=name) for name, text in CALL_SITES.items()])
def test_what_a_constructor_is_given_is_known_by_its_call_sites(tmp_path: Path, program: str) -> None:
    """A declared module calls what the project hands to its constructor, and nothing that it does not."""
    assert_reported(tmp_path, program)


def assert_reported(folder: Path, program: str, unresolved: int | None = None) -> None:
    """What is marked is reported, and nothing else; so many calls are counted as not followed."""
    text = HEAD + textwrap.dedent(program)
    region = "main:Net.forward" if "class Net" in text else "main:step"
    analysis = analyse(folder, text, regions=(region,))
    assert analysis.expected == analysis.found
    assert unresolved in (None, analysis.report.summary.unresolved_calls)


KEPT = {
    "a buffer registered again": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("scale", torch.ones(4))
            def forward(self, x):
                self.register_buffer("scale", x * 2, persistent=False)  # expect: GL501
                return x * self.scale
        """,
    "an attribute set by name": """
        class Net(nn.Module):
            def forward(self, x):
                setattr(self, "last", x * 2)  # expect: GL501
                return x
        """,
    "the data of a tensor that stays": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("scale", torch.ones(4))
            def forward(self, x):
                self.scale.data = x * 2  # expect: GL501
                return x
        """,
    "what stood there before the region": """
        class Net(nn.Module):
            def forward(self, x):
                setattr(self, "last", x)
                self.register_buffer("first", x)
                return x
        """,
    "a module that the region makes": """
        def step(x):
            made = nn.Module()
            held = Held()
            held.register_buffer("scale", x * 2)
            return held.scale
        class Held(nn.Module):
            pass
        """,
}


@pytest.mark.parametrize("program", [pytest.param(text, id=name) for name, text in KEPT.items()])
def test_a_tensor_of_the_region_is_kept_however_it_is_stored(tmp_path: Path, program: str) -> None:
    """Registering, setting by name and swapping the data store what the region allocated, as an assignment does."""
    assert_reported(tmp_path, program)


DECORATED = {
    "a wrapper that passes through helpers": """
        def named(wrapper, function):
            return attached(functools.wraps(function)(wrapper), function)
        def attached(wrapper, function):
            if function.__name__:
                wrapper.name = function.__name__
            return wrapper
        def logged(function):
            def wrapper(*args):
                result = function(*args)
                print(result.cpu())  # expect: GL201
                return result
            return named(wrapper, function)
        @logged
        def step(x):
            return x + 1
        """,
    "one of two wrappers, by a setting of the process": """
        import os
        LEVEL = int(os.environ.get("LEVEL", "0"))
        def logged(function=None, *, name=None):
            if LEVEL == 0:
                return (lambda f: quiet(f)) if function is None else quiet(function)
            return loud if function is None else loud(function)
        def quiet(function):
            @functools.wraps(function)
            def wrapper(*args):
                return function(*args)
            return wrapper
        def loud(function):
            @functools.wraps(function)
            def wrapper(*args):
                return function(*args).cpu()  # expect: GL201
            return wrapper
        @logged(name="step")
        def step(x):
            return x + 1
        """,
    "a decorator that only registers": """
        KNOWN = []
        def registered(function):
            return kept(function)
        def kept(function):
            KNOWN.append(function)
            return function
        @registered
        def step(x):
            return x.item()  # expect: GL101
        """,
}


@pytest.mark.parametrize("program", [pytest.param(text, id=name) for name, text in DECORATED.items()])
def test_what_a_decorator_puts_around_a_function_is_followed(tmp_path: Path, program: str) -> None:
    """The wrapper may be one of several, and be handed through functions before it is returned."""
    assert_reported(tmp_path, program)


INNER = {
    "classes with a base, a captured name and one another": """
        from base import Base
        def made(scale):
            class Part(nn.Module):
                def forward(self, x):
                    return scale(x)
            class Runner(Base):
                def __init__(self):
                    self.part = Part()
                def run(self, x):
                    return super().run(self.part(x))
            return Runner()
        def loud(x):
            return x.item()  # expect: GL101
        def quiet(x):
            return x
        def step(x):
            made(quiet).run(x)
            return made(loud).run(x)
        # file: base.py
        class Base:
            def run(self, x):
                return x.cpu()  # expect: GL201
        """,
    "a class that nothing makes": """
        def step(x):
            class Part(nn.Module):
                def forward(self, x):
                    return x.item()
            return x + 1
        """,
}


@pytest.mark.parametrize("program", [pytest.param(text, id=name) for name, text in INNER.items()])
def test_a_class_inside_of_a_function_is_followed(tmp_path: Path, program: str) -> None:
    """It reads the names around it, and is a class like those at the top of a module."""
    assert_reported(tmp_path, program)


HELD = {
    "the only object of a class, made when it is first asked for": """
        class Tuner:
            _instance = None
            @classmethod
            def get(cls):
                if cls._instance is None:
                    cls._instance = Tuner()
                return cls._instance
            def pick(self, x):
                return x.item()  # expect: GL101
        def step(x):
            return Tuner.get().pick(x)
        """,
    "defaults of fields, unless something assigns to them": """
        from dataclasses import dataclass, field
        @dataclass
        class Config:
            width: int
            loud: bool = False
            quiet: bool = field(default=False)
            sums: bool = False
        def turn_on(config):
            config.sums = True
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.config = Config(4)
            def forward(self, x):
                if self.config.loud or self.config.quiet:
                    x.item()
                if self.config.sums:
                    x.cpu()  # expect: GL201
                return x
        """,
    "None that nobody replaces": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.hook, self.set_later, self.set_by_name, self.set_outside = None, None, None, None
            def later(self, hook):
                self.set_later = hook
            def named(self, hook):
                self.register_buffer("set_by_name", hook)
            def forward(self, x):
                if self.hook is not None:
                    return x.tolist()
                if self.set_later is not None:
                    x.item()  # expect: GL101
                if self.set_by_name is not None:
                    x.item()  # expect: GL101
                if self.set_outside is not None:
                    x.cpu()  # expect: GL201
                return x
        # file: other.py
        def outside(net, hook):
            net.set_outside = hook
        """,
    "members of an enum and their methods": """
        from enum import Enum, auto
        class Mode(Enum):
            DECODE = auto()
            EXTEND = auto()
            def is_extend(self):
                return self in (Mode.EXTEND,)
            @property
            def decodes(self):
                return self is Mode.DECODE
        def run(x, mode):
            if mode.is_extend():
                x.item()
            if mode.decodes:
                x.cpu()  # expect: GL201
            return x
        def asked(x, mode: Mode):
            return x.item() if mode.is_extend() else x  # expect: GL101
        def step(x, mode: Mode):
            return asked(run(x, Mode.DECODE), mode)
        """,
    "the member that a call of an enum gives": """
        from enum import Enum
        class Kind(str, Enum):
            FUSED = "fused"
            PLAIN = "plain"
        def resolved(kind: Kind | str) -> Kind:
            try:
                return Kind(kind)
            except ValueError:
                raise ValueError(f"no {kind!r}") from None
        def run(x, kind: Kind | str = Kind.FUSED):
            if resolved(kind) is Kind.FUSED:
                return x + 1
            return x.item()
        def asked(x, kind: Kind | str):
            return x.item() if resolved(kind) is Kind.PLAIN else x  # expect: GL101
        def step(x):
            return run(x) + run(x, "fused") + asked(x, "plain")
        """,
}


@pytest.mark.parametrize("program", [pytest.param(text, id=name) for name, text in HELD.items()])
def test_what_an_object_holds_is_known(tmp_path: Path, program: str) -> None:
    """Fields keep what they were given, by defaults, by constructors and by assignments."""
    assert_reported(tmp_path, program)


FOLLOWED = {
    "an alias of apply": """
        class Loud(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.item()  # expect: GL101
        loud = Loud.apply
        def step(x):
            near = Loud.apply
            return loud(x), near(x)
        """,
    "containers that are moved and cast": f"""{LOUD}
        model = nn.Sequential(Loud(), nn.ReLU()).cuda().eval().half()
        layers = nn.ModuleList([Loud() for _ in range(3)]).to("cuda")
        def step(x):
            return model(x), [layer(x) for layer in layers]
        """,
    "children by name": f"""{LOUD}
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.width = 4
                self.part = Loud()
            def forward(self, x):
                for name, child in self.named_children():
                    x = child(x)
                return x
        """,
    "what itertools and deque hand on": """
        import itertools
        from collections import deque
        def loud(x):
            return x.item()  # expect: GL101
        def quiet(x):
            return x + 1
        def copied(x):
            return x.cpu()  # expect: GL201
        def added(total, x):
            return total + x.sum().item()  # expect: GL101
        def step(x):
            waiting = deque([quiet])
            waiting.append(copied)
            waiting.popleft()(x)
            for function in itertools.chain([quiet], [quiet]):
                function(x)
            for function, y in itertools.product([quiet, loud], [x]):
                function(y)
            return functools.reduce(added, [x, x], 0)
        """,
    "rows that are zipped are columns": """
        import itertools
        def flagged(x):
            return x * 2, False
        def summed(x):
            return x * 2, x.sum()
        def step(x, *rows):
            rows, flags = zip(*(flagged(row) for row in (x, x)))
            _, sums = zip(*[summed(row) for row in rows])
            for row in itertools.chain(*[rows, rows]):
                if row.sum() > 0:  # expect: GL301
                    x = x + row
            return any(flags), any(sums)  # expect: GL301
        """,
    "a tensor that may be a list is indexed by a tensor": """
        def doubled(x, is_split):
            return [x, x] if is_split else x
        def step(x, is_split=None):
            held, rows = doubled(x, is_split), torch.arange(2, device="cuda")
            return held[rows], [x, x][rows[0]]  # expect: GL101
        """,
}


@pytest.mark.parametrize("program", [pytest.param(text, id=name) for name, text in FOLLOWED.items()])
def test_a_callable_is_followed_through_what_hands_it_on(tmp_path: Path, program: str) -> None:
    """Aliases, containers of modules and iterators hand on what is called, and each call is resolved."""
    assert_reported(tmp_path, program, unresolved=0)


BOTH = {
    "a mode that is not known": """
        class Net(nn.Module):
            def forward(self, x):
                if self.training:
                    return x.item()  # expect: GL101
                return x.cpu()  # expect: GL201
        """,
    "a tensor beside a string, a dtype, a device": """
        def step(x, mode, *, kind=torch.float32):
            if x.sum() == "auto" or mode != "fast":
                x = x + 1
            if mode == torch.device("cuda") or x == kind:
                x = x + 2
            while x == mode:  # expect: GL302
                x = x + 3
            return x
        """,
    "numbers that nobody promises": """
        def step(x, chunk, groups, rows, table, total, model, scale, loss):
            tokens, width = x.shape
            assert width == total + 2 and total % 2 == 0 and tokens % chunk == 0
            for i in range(x.shape[0] // chunk):
                x = x[i * chunk :]
            for name in table.keys():
                if name == table[name]:
                    x = x + 1
            x = model(x).view(groups, 4) + torch.zeros(rows, *x.shape[1:], device=x.device)
            if chunk > 2 and groups > 2 and rows > 2:
                x = x * 2
            x = x / scale if scale > 2 else x
            return x / loss if loss.mean() > 2 else x  # expect: GL301
        """,
    "a tensor that lies elsewhere than one on the device": """
        class Net(nn.Module):
            def forward(self, x: torch.Tensor):
                table = torch.as_tensor(self.table)
                if table.device != x.device:
                    x = x + float(table.sum())
                if table.device == x.device:
                    x = x + float(table.sum())  # expect: GL101
                return x
        """,
    "a guard behind arguments and among others": """
        def capturing(*args, **kwargs):
            return torch.cuda.is_current_stream_capturing(*args, **kwargs)
        def step(x):
            if not capturing():
                x.item()
            if any([x is None, capturing()]):
                return x
            return x.cpu()
        """,
    "a class that replaces the method that runs": """
        class Base:
            def run(self, x):
                return self.part(x)
            def part(self, x):
                raise NotImplementedError
        class Loud(Base):
            def part(self, x):
                return x.item()  # expect: GL101
        class Extended(Base):
            def run(self, x):
                return super().run(x)
            def part(self, x):
                return x.cpu()  # expect: GL201
        class Other(Base):
            def run(self, x):
                return x
            def part(self, x):
                return x.tolist()
        def step(x, base: Base):
            return Base.run(base, x)
        """,
}


@pytest.mark.parametrize("program", [pytest.param(text, id=name) for name, text in BOTH.items()])
def test_only_what_can_be_is_reported(tmp_path: Path, program: str) -> None:
    """Both sides of what is not known are run, and no side of what cannot be."""
    assert_reported(tmp_path, program)


def test_a_side_that_is_known_lets_the_other_one_decide(tmp_path: Path) -> None:
    """Behind a guard of tensors on the device, what is left lies on the host."""
    program = """
        def show(x):
            if x.device.type == "cuda" and torch.cuda.is_current_stream_capturing():
                return None
            return x.sum().item()
        def other(x):
            if x.device.type == "cuda" and not torch.cuda.is_current_stream_capturing():
                return None
            return x.sum().item()  # expect: GL101
        def step(x: torch.Tensor, unknown: object):
            show(unknown.part)
            other(x)
        """
    assert_reported(tmp_path, program)


WARM = """
import torch
class Net:
    def __init__(self):
        self.window = torch.hann_window(16)
    def __call__(self, x):
        self.window = self.window.to(x.device){moved}
        return x * self.window
net = Net()
x = torch.ones(16, device="cuda")
{before}
with torch.cuda.graph(torch.cuda.CUDAGraph()):
    net(x)
"""


def test_what_a_warm_up_has_moved_lies_there(tmp_path: Path) -> None:
    """It is moved once: in the region nothing is uploaded, and nothing new is kept."""
    assert analyse(tmp_path, WARM.format(before="net(x)", moved="")).found == []


def test_what_nothing_has_moved_before_is_moved_in_the_region(tmp_path: Path) -> None:
    found = analyse(tmp_path, WARM.format(before="", moved="  # expect: GL202 GL501"))
    assert {code for _, _, code in found.found} == {"GL202", "GL501"}


def test_what_another_one_has_moved_is_moved_in_the_region(tmp_path: Path) -> None:
    """What lies on the device by another name is not what the attribute holds."""
    found = analyse(tmp_path, WARM.format(before="moved = net.window.to(x.device)", moved=""))
    assert {code for _, _, code in found.found} == {"GL202", "GL501"}


def test_a_loop_over_nothing_but_under_a_condition_has_that_condition(tmp_path: Path) -> None:
    program = """
        def step(x, other, flag: bool):
            for t in (x, other) if flag else ():
                t.item()
            for t in [] if flag else [x]:
                t.tolist()
            sizes = [t.cpu() for t in ((x,) if flag else ())]
            for t in (x,) if flag else (other,):
                t.numpy(force=True)
        """
    analysis = analyse(tmp_path, HEAD + textwrap.dedent(program), regions=("main:step",))
    told = [(one.code, [condition.text for condition in one.when]) for one in analysis.report.findings]
    assert told == [("GL101", ["flag"]), ("GL101", ["not flag"]), ("GL201", ["flag"]), ("GL201", [])]


def test_a_class_method_of_an_autograd_function_gets_its_class(tmp_path: Path) -> None:
    program = """
        class Scale(torch.autograd.Function):
            @classmethod
            def power(cls, x, alpha):
                return x ** alpha
            @classmethod
            def forward(cls, ctx, x, alpha=2.0):
                if not isinstance(alpha, torch.Tensor):
                    alpha = torch.tensor(alpha, device=x.device)  # expect: GL203
                return cls.power(x, alpha).item()  # expect: GL101
            @classmethod
            def backward(cls, ctx, gradient):
                return gradient.tolist(), None  # expect: GL101
        class Half(Scale):
            pass
        def step(x):
            y = Half.apply(x)
            x.sum().backward()
            return y
        """
    assert_reported(tmp_path, program)


def test_a_metaclass_that_makes_its_objects_is_followed(tmp_path: Path) -> None:
    """And so is the constructor of a class outside of the program, where the object is really made."""
    program = """
        HOOKS = []
        class Meta(type):
            def __call__(cls, *args, **kwargs):
                for hook in HOOKS:
                    made = hook(cls, args, kwargs)
                    if made is not None:
                        return made
                return super().__call__(*args, **kwargs)  # expect: GL104
        class Base(metaclass=Meta):
            def __call__(self, x):
                return x.tolist()  # expect: GL101
        class Normal(torch.distributions.Normal, Base):
            pass
        class Quiet(Base):
            def __init__(self, x):
                self.x = x
        def step(x: torch.Tensor):
            Normal(x, x)
            quiet = Quiet(x)
            quiet(x)
            return quiet.x.item()  # expect: GL101
        """
    assert_reported(tmp_path, program)


BIASED = """
import torch

class Linear(torch.nn.Module):
    def __init__(self, gives_bias=True):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(3, 3))
        self.gives_bias = gives_bias

    def forward(self, x):
        return (x @ self.weight, None) if self.gives_bias else x @ self.weight

def normed(x, weight):
    x = x.to(torch.float32)
    {last}
    return weight * (x * torch.rsqrt(x.pow(2).mean() + 1e-6))

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = Linear()
        self.weight = torch.nn.Parameter(torch.zeros(3))

    def forward(self, x):
        return normed(self.linear(x), self.weight)
"""


@pytest.mark.parametrize(("last", "codes"), [("pass", []), ("x.item()", ["GL101"])])
def test_what_has_no_such_method_is_not_what_it_is_called_of(tmp_path: Path, last: str, codes: list[str]) -> None:
    """A tuple cannot be cast, so it is no tuple that is scaled behind the cast; whatever it is may be read."""
    found = analyse(tmp_path, BIASED.format(last=last), regions=("main:Model.forward",))
    assert [code for _, _, code in found.found] == codes


NAMED = """
import torch

class Base(torch.nn.Module):
    def __init__(self, size, names):
        super().__init__()
        self.size = size
        for name in names:
            setattr(self, name, torch.nn.Parameter(torch.zeros(3)))

    def put(self, name, value):
        {put}

    def prepare(self):
        self.put("is_ready", True)

class Layer(Base):
    def forward(self, x):
        if self.size > 1 and not self.is_ready:
            x.mul_(2)
        self.put("last", x)
        self.put("rows", x.shape[0])
        if self.rows > 3:
            x = x + 1
        if self.last.sum() > 3:  # reported
            x = x + 1
        return x * self.weight
"""


@pytest.mark.parametrize(
    "put", ["self.__dict__[name] = value", "setattr(self, name, value)", "super().__setattr__(name, value)"]
)
def test_an_attribute_is_set_by_its_name(tmp_path: Path, put: str) -> None:
    """It is what it was given under that name, in a method that nobody has called as well."""
    found = analyse(tmp_path, NAMED.format(put=put), regions=("main:Layer.forward",))
    assert [(line, code) for _, line, code in found.found] == [(25, "GL301")]


ROUNDS = """
import torch

def chosen(x, ids, flag):
    if x.shape[0] == 1:
        for one in {rows}:
            if flag:
                {left}
            else:
                return one + 1
    return torch.arange(torch.max(x), device=x.device)
"""


@pytest.mark.parametrize(
    ("rows", "left", "when"),
    [
        ("[x.view(-1)]", "return one", ["x.shape[0] != 1"]),
        ("[x.view(-1)]", "break", []),
        ("[x.view(-1)]", "continue", []),
        ("ids", "return one", []),
    ],
)
def test_a_loop_over_something_is_left_from_inside(tmp_path: Path, rows: str, left: str, when: list[str]) -> None:
    """Where each way through its body returns; one that may have nothing to go over is left by itself."""
    found = analyse(tmp_path, ROUNDS.format(rows=rows, left=left), regions=("main:chosen",))
    assert [[c.text for c in f.when] for f in found.report.findings if f.code == "GL304"] == [when]


HELD = """
import torch
from torch import nn

class Block(nn.Module):
    def forward(self, x):
        return x * x.max().item()

class Cache:
    def __init__(self, rows):
        self.rows = rows

    def update(self, x):
        return x * x.sum().item()

class Model(nn.Module):
    def __init__(self, size, layers: nn.ModuleList | list[nn.Module] = None):
        super().__init__()
        blocks = nn.ModuleList(Block() for _ in range(size))
        self.parts = nn.ModuleDict(dict(first=nn.Linear(size, size), blocks=blocks))
        if isinstance(layers, list):
            layers = nn.ModuleList(layers)
        self.layers = layers
        self.cache = None

    def prepare(self, rows):
        if self.cache is not None:
            raise ValueError(rows)
        self.cache = Cache(rows)

    def disable(self):
        self.is_off = True

    def enable(self):
        self.is_off = False

    def forward(self, x: torch.Tensor):
        {use}

def build(size):
    return Model(size, layers=nn.ModuleList([Block() for _ in range(size)]))
"""
USES = {
    "modules under a name": ("for block in self.parts.blocks: x = block(self.parts.first(x))", [7]),
    "modules that are handed in": ("for layer in self.layers: x = layer(x)", [7]),
    "an object that a method makes": ("if self.cache is not None: x = self.cache.update(x)", [14]),
    "a flag of methods": ("if not self.is_off: x = x.sum().item()", [38]),
    "a method of a dict": ("for name in self.parts.keys(): x = x + 1", []),
}


@pytest.mark.parametrize("use", USES)
def test_what_a_module_holds_is_followed(tmp_path: Path, use: str) -> None:
    """As an item that is an attribute, as what its maker hands over, and as what another method sets."""
    statement, lines = USES[use]
    found = analyse(tmp_path, HELD.format(use=statement), regions=("main:Model.forward",))
    assert [line for _, line, _ in found.found] == lines
    assert found.report.summary.unresolved_calls == 0
