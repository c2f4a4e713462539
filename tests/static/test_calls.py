"""Calls are followed wherever the program says what is called, and the way to a finding is told hop by hop."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from analysis import analyse, in_region

from graphlint.static.domain.contexts import Context
from graphlint.static.interpreter.interpreter import Interpreter

# `step` of these programs is captured; every `# expect:` must be reported, and nothing else.
CAPTURE = """\
# file: run.py
import torch
from main import step

def main():
    x = torch.ones(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        step(x)
"""

ACROSS_FILES = {
    "from import": """
        from layers import scale
        def step(x):
            return scale(x)
        # file: layers.py
        def scale(x):
            return x.item()  # expect: GL101
        def other(x):
            return x.item()
        """,
    "an implementation of another file": """
        import kinds
        from scaling import scale
        def step(x):
            return scale(kinds.Loud(), x)
        # file: scaling.py
        import functools
        @functools.singledispatch
        def scale(kind, x):
            return x.cpu()
        # file: kinds.py
        import scaling
        class Loud: pass
        @scaling.scale.register(Loud)
        def loudly(kind, x):
            return x.item()  # expect: GL101
        """,
    "a package that imports late": """
        import late
        layer, other = late.Layer(), late.layers.Other()
        def step(x):
            return layer(x) + other(x) + late.shift(x)
        # file: late/__init__.py
        import importlib
        MODULES, NAMES = {"layers"}, {"Layer": "layers"}
        ATTRIBUTES = {"shift": ".layers:shift"}
        def __getattr__(name):
            if name in MODULES:
                return importlib.import_module(f".{name}", __name__)
            if name in NAMES:
                return getattr(importlib.import_module(f".{NAMES[name]}", __name__), name)
            if name in ATTRIBUTES:
                path, attribute = ATTRIBUTES[name].split(":")
                return getattr(importlib.import_module(path, __package__), attribute)
            raise AttributeError(name)
        # file: late/layers.py
        class Layer:
            def __call__(self, x):
                return x.item()  # expect: GL101
        class Other:
            def __call__(self, x):
                return x.tolist()  # expect: GL101
        def shift(x):
            return x.max().item()  # expect: GL101
        def unused(x):
            return x.item()
        """,
    "a list that a function fills where a file is read": """
        import kinds
        def step(x):
            for kind in kinds.KINDS:
                x = kind().run(x)
            return x
        # file: kinds.py
        KINDS = []
        def register(kind):
            KINDS.append(kind)
        class First:
            def run(self, x):
                return x + x.item()  # expect: GL101
        class Second:
            def run(self, x):
                return x + x.max().item()  # expect: GL101
        class Other:
            def run(self, x):
                return x.item()
        register(First)
        try:
            import somewhere
            register(Second)
        except ImportError:
            pass
        """,
    "import": """
        import layers
        def step(x):
            return layers.scale(x)
        # file: layers.py
        def scale(x):
            return x.item()  # expect: GL101
        """,
    "import as": """
        import model.layers as l
        from model import layers as k
        def step(x):
            return l.scale(x) + k.shift(x)
        # file: model/__init__.py
        # file: model/layers.py
        def scale(x):
            return x.item()  # expect: GL101
        def shift(x):
            return x.item()  # expect: GL101
        """,
    "import of a dotted name": """
        import model.layers
        def step(x):
            return model.layers.scale(x)
        # file: model/__init__.py
        # file: model/layers.py
        def scale(x):
            return x.item()  # expect: GL101
        """,
    "relative imports": """
        from pkg.sub.inner import scale
        def step(x):
            return scale(x)
        # file: pkg/__init__.py
        # file: pkg/sibling.py
        def shift(x):
            return x.item()  # expect: GL101
        # file: pkg/sub/__init__.py
        def whole(x):
            return x.item()  # expect: GL101
        # file: pkg/sub/near.py
        def near(x):
            return x.item()  # expect: GL101
        # file: pkg/sub/inner.py
        from . import near, whole
        from .. import sibling
        from ..sibling import shift
        from .near import near as close
        def scale(x):
            return close(x) + near.near(x) + whole(x) + shift(x) + sibling.shift(x)
        """,
    "a package imports its modules": """
        import pkg
        def step(x):
            pkg.other.hide(x)
            return pkg.near.scale(x) + pkg.same.same(x)
        # file: pkg/__init__.py
        from . import near, same
        from pkg import other
        # file: pkg/near.py
        def scale(x):
            return x.item()  # expect: GL101
        # file: pkg/same.py
        def same(x):
            return x.item()  # expect: GL101
        # file: pkg/other.py
        def hide(x):
            return x * 2
        """,
    "re-exported": """
        from pkg import scale
        from pkg.sub import shift as moved
        def step(x):
            return scale(x) + moved(x)
        # file: pkg/__init__.py
        from .sub import scale
        # file: pkg/sub/__init__.py
        from .inner import scale, shift
        # file: pkg/sub/inner.py
        def scale(x):
            return x.item()  # expect: GL101
        def shift(x):
            return x.item()  # expect: GL101
        """,
    "star import": """
        from layers import *
        def step(x):
            return scale(x)
        # file: layers.py
        from inner import *
        # file: inner.py
        def scale(x):
            return x.item()  # expect: GL101
        """,
    "a fallback for a missing package": """
        try:
            from fast import scale
        except ImportError:
            scale = None
        def step(x):
            if scale is not None:
                return scale(x)
        # file: fast.py
        def scale(x):
            return x.item()  # expect: GL101
        """,
    "imported in the function": """
        def step(x):
            from layers import scale
            return scale(x)
        # file: layers.py
        def scale(x):
            return x.item()  # expect: GL101
        """,
    "an import in a circle": """
        import layers
        def step(x):
            return layers.scale(x)
        def back(x):
            return x.item()  # expect: GL101
        # file: layers.py
        import main
        def scale(x):
            return main.back(x)
        """,
    "folders without __init__": """
        from space.inner import layers
        def step(x):
            return layers.scale(x)
        # file: space/inner/layers.py
        def scale(x):
            return x.item()  # expect: GL101
        """,
    "a module that gives names on demand": """
        import lazy
        def step(x):
            return lazy.scale(x)
        # file: lazy.py
        from inner import scale
        def __getattr__(name):
            raise AttributeError(name)
        # file: inner.py
        def scale(x):
            return x.item()  # expect: GL101
        """,
}

OBJECTS = {
    "a method of a base class": """
        class Base:
            def run(self, x):
                return self.inner(x)
            def inner(self, x):
                return x.item()
        class Model(Base):
            def inner(self, x):
                return x.tolist()  # expect: GL101
        model = Model()
        def step(x):
            return model.run(x)
        """,
    "super": """
        class Base:
            def run(self, x):
                return x.item()  # expect: GL101
        class Middle(Base):
            pass
        class Model(Middle):
            def run(self, x):
                return super().run(x)
        class Old(Middle):
            def run(self, x):
                return super(Old, self).run(x) + Base.run(self, x)
        def step(x):
            return Model().run(x) + Old().run(x)
        """,
    "mixins in order": """
        class Base:
            def run(self, x):
                return x.item()  # expect: GL101
            def hidden(self, x):
                return x.item()
        class Left(Base):
            def run(self, x):
                return super().run(x)
        class Right(Base):
            def run(self, x):
                x.tolist()  # expect: GL101
                return super().run(x)
            def hidden(self, x):
                return x
        class Model(Left, Right):
            pass
        def step(x):
            model = Model()
            return model.run(x) + model.hidden(x)
        """,
    "a property": """
        import functools
        class Model:
            def __init__(self, x):
                self.x = x
            @property
            def scale(self):
                return self.x.item()  # expect: GL101
            @functools.cached_property
            def count(self):
                return self.x.tolist()  # expect: GL101
            @property
            def unused(self):
                return self.x.item()
        def step(x):
            model = Model(x)
            return model.scale, model.count
        """,
    "properties of other libraries, and of the project": """
        from torch.distributions.utils import lazy_property
        from somewhere import classproperty
        class kept_property(property):
            pass
        class Model:
            def __init__(self, x):
                self.x = x
            @lazy_property
            def mean(self):
                return self.x.item()  # expect: GL101
            @kept_property
            def total(self):
                return self.x.tolist()  # expect: GL101
            @classproperty
            def other(cls):
                return cls.make().max().item()  # expect: GL101
            @staticmethod
            def make():
                return torch.ones(3, device="cuda")
            @lazy_property
            def unused(self):
                return self.x.item()
        def step(x):
            model = Model(x)
            return model.mean, model.total, model.other
        import torch
        """,
    "descriptors": """
        class Once:
            def __init__(self, function):
                self.function = function
            def __get__(self, instance, owner=None):
                return self.function(instance)
        class Scaled:
            def __init__(self, scale):
                self.scale = scale
            def __get__(self, instance, owner=None):
                return instance.x.item() * self.scale  # expect: GL101
        class Plain:
            def get(self, x):
                return x.max().item()  # expect: GL101
        class Model:
            scaled = Scaled(2)
            plain = Plain()
            def __init__(self, x):
                self.x = x
            @Once
            def mean(self):
                return self.x.item()  # expect: GL101
            @Once
            def unused(self):
                return self.x.item()
        def step(x):
            model = Model(x)
            return model.mean + model.scaled + model.plain.get(x)
        """,
    "__call__ and forward": """
        import torch
        class Called:
            def __call__(self, x):
                return x.item()  # expect: GL101
        class Layer(torch.nn.Module):
            def forward(self, x):
                return x.item()  # expect: GL101
        class Both(torch.nn.Module):
            def __call__(self, x):
                return super().__call__(x)
            def forward(self, x):
                return x.item()  # expect: GL101
        called, layer, both = Called(), Layer(), Both()
        def step(x):
            return called(x) + layer(x) + both(x)
        """,
    "operators": """
        class Money:
            def __init__(self, x):
                self.x = x
            def __add__(self, other):
                return self.x.item()  # expect: GL101
            def __getitem__(self, index):
                return self.x.item()  # expect: GL101
            def __len__(self):
                return self.x.item()  # expect: GL101
            def __iter__(self):
                yield self.x.item()  # expect: GL101
            def __bool__(self):
                return self.x.item() > 0  # expect: GL101
            def __contains__(self, other):
                return self.x.item() == other  # expect: GL101
            def __eq__(self, other):
                return self.x.item() == other  # expect: GL101
            def __neg__(self):
                return self.x.item()  # expect: GL101
        def step(x):
            money = Money(x)
            sum = money + 1
            first = money[0]
            count = len(money)
            for part in money:
                pass
            if money:
                pass
            if 3 in money:
                pass
            if money == 3:
                pass
            return -money
        """,
    "containers of modules": """
        import torch
        from torch import nn
        class Part(nn.Module):
            def forward(self, x):
                return x + x.item()  # expect: GL101
        class Other(nn.Module):
            def forward(self, x):
                return x + x.tolist()[0]  # expect: GL101
        class Third(nn.Module):
            def forward(self, x):
                if x.any():  # expect: GL301
                    return x
        class Fourth(nn.Module):
            def forward(self, x):
                return x.nonzero()  # expect: GL303
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.chain = nn.Sequential(nn.Linear(4, 4), Part())
                self.layers = nn.ModuleList([Other() for _ in range(4)])
                self.heads = nn.ModuleDict({"a": Third(), "b": nn.Identity()})
                self.add_module("tail", Fourth())
            def forward(self, x):
                x = self.chain(x)
                for layer in self.layers:
                    x = layer(x)
                self.heads["a"](x)
                return self.tail(x)
        model = Model()
        def step(x):
            return model(x)
        """,
    "other ways through containers": """
        from torch import nn
        class Part(nn.Module):
            def forward(self, x):
                return x + x.item()  # expect: GL101
        class Second(nn.Module):
            def forward(self, x):
                return x + x.item()  # expect: GL101
        class Third(nn.Module):
            def forward(self, x):
                return x + x.item()  # expect: GL101
        class Fourth(nn.Module):
            def forward(self, x):
                return x + x.item()  # expect: GL101
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.parts = nn.ModuleList()
                self.parts.append(Part())
                self.heads = nn.ModuleDict()
                self.heads["a"] = Third()
                self.named = nn.Sequential()
                self.named.add_module("x", Fourth())
                self.listed = [Second(), Second()]
            def forward(self, x):
                for index, part in enumerate(self.parts):
                    x = part(x)
                for name, head in self.heads.items():
                    x = head(x)
                return self.named(self.listed[0](x))
        model = Model()
        def step(x):
            return model(x)
        """,
    "a subclass of Sequential": """
        from torch import nn
        class Part(nn.Module):
            def forward(self, x):
                return x + x.item()  # expect: GL101
        class Chain(nn.Sequential):
            def __init__(self):
                super().__init__(nn.ReLU(), Part())
        model = Chain()
        def step(x):
            return model(x)
        """,
    "class attributes": """
        def scale(x):
            return x.item()  # expect: GL101
        class Part:
            def run(self, x):
                return x.item()  # expect: GL101
        class Model:
            part_class = Part
            scaled = staticmethod(scale)
            def run(self, x):
                return self.part_class().run(x), self.scaled(x)
        def step(x):
            return Model().run(x)
        """,
    "static and class methods": """
        class Model:
            @staticmethod
            def fixed(x):
                return x.item()  # expect: GL101
            @classmethod
            def made(cls, x):
                return cls.fixed(x)
        def step(x):
            return Model.made(x), Model().made(x)
        """,
    "dataclasses": """
        import dataclasses
        from dataclasses import dataclass, field
        @dataclass
        class Batch:
            x: object
            length: int = 0
            def total(self):
                return self.x.item()  # expect: GL101
        @dataclasses.dataclass(frozen=True)
        class Settings:
            value: object
            def __post_init__(self):
                self.value.item()  # expect: GL101
        def step(x):
            Settings(value=x)
            return Batch(x, length=3).total()
        """,
    "named tuples": """
        from typing import NamedTuple
        class Batch(NamedTuple):
            x: object
            count: int
            def total(self):
                return self.x.item()  # expect: GL101
        def step(x):
            batch = Batch(x, 3)
            return batch.total()
        """,
    "an object handed over": """
        class Sampler:
            def sample(self, x):
                return x.item()  # expect: GL101
        class Model:
            def __init__(self, sampler):
                self.sampler = sampler
            def run(self, x):
                return self.sampler.sample(x)
        model = Model(Sampler())
        def step(x):
            return model.run(x)
        """,
    "an annotated parameter": """
        class Sampler:
            def sample(self, x):
                return x.item()  # expect: GL101
        from elsewhere import chosen
        def sampled(x, sampler: "Sampler | None" = None):
            return sampler.sample(x)
        def passed_on(x, sampler: Sampler):
            return sampled(x, sampler)
        def step(x):
            return passed_on(x, chosen())
        """,
    "a function in a namespace": """
        from types import SimpleNamespace
        def made():
            def loud(x):
                return x.item()  # expect: GL101
            def other(x):
                return x.tolist()
            return SimpleNamespace(loud=loud, other=other)
        def step(x):
            return made().loud(x)
        """,
    "an abstract method": """
        import abc
        class Base(abc.ABC):
            @abc.abstractmethod
            def run(self, x): ...
        class One(Base):
            def run(self, x):
                return x.item()  # expect: GL101
        class Two(Base):
            def run(self, x):
                return x.tolist()  # expect: GL101
        from elsewhere import chosen
        def run(x, model: Base):
            return model.run(x)
        def step(x):
            return run(x, chosen())
        """,
    "a method of a nested class": """
        class Outer:
            class Inner:
                def run(self, x):
                    return x.item()  # expect: GL101
        def step(x):
            return Outer.Inner().run(x)
        """,
    "autograd functions": """
        import torch
        class Scaled(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x.max().item()  # expect: GL101
            @staticmethod
            def backward(ctx, gradient):
                return gradient
        scaled = Scaled.apply
        def step(x):
            return scaled(x) + Scaled.apply(x)
        """,
    "hooks": """
        import torch
        def hook(module, inputs, output):
            return output.item()  # expect: GL101
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(4, 4)
                self.layer.register_forward_hook(hook)
            def forward(self, x):
                return self.layer(x)
        model = Model()
        def step(x):
            return model(x)
        """,
    "a manager of the program": """
        class Timer:
            def __init__(self, x):
                self.x = x
            def __enter__(self):
                self.x.item()  # expect: GL101
            def __exit__(self, *error):
                self.x.tolist()  # expect: GL101
        def step(x):
            with Timer(x):
                pass
        """,
}

FUNCTIONS = {
    "partial": """
        from functools import partial
        def scale(factor, x, *, bias=None):
            return x.item()  # expect: GL101
        halved = partial(scale, 0.5, bias=1)
        def step(x):
            return halved(x)
        """,
    "lambdas": """
        scale = lambda x: x.item()  # expect: GL101
        def step(x):
            shift = lambda y: y.item()  # expect: GL101
            unused = lambda y: y.item()
            return scale(x), shift(x)
        """,
    "closures": """
        def make(factor):
            def scale(x):
                def inner():
                    return x.item() * factor  # expect: GL101
                return inner()
            return scale
        halved = make(0.5)
        def step(x):
            return halved(x)
        """,
    "decorators": """
        import functools
        def logged(function):
            @functools.wraps(function)
            def wrapper(*args, **kwargs):
                result = function(*args, **kwargs)
                result.item()  # expect: GL101
                return result
            return wrapper
        def named(name):
            def decorate(function):
                def wrapper(x):
                    return function(x)
                return wrapper
            return decorate
        @logged
        def scale(x):
            x.tolist()  # expect: GL101
            return x
        @named("shift")
        @unknown.decorator
        def shift(x):
            return x.item()  # expect: GL101
        def step(x):
            return scale(x) + shift(x)
        """,
    "a class as a decorator": """
        class Logged:
            def __init__(self, function):
                self.function = function
            def __call__(self, *args):
                args[0].item()  # expect: GL101
                return self.function(*args)
        @Logged
        def scale(x):
            return x.tolist()  # expect: GL101
        def step(x):
            return scale(x)
        """,
    "callbacks": """
        def apply(function, value):
            return function(value)
        def scale(x):
            return x.item()  # expect: GL101
        def step(x):
            return apply(scale, x), list(map(scale, [x])), sorted([x], key=lambda y: y.item())  # expect: GL101
        """,
    "registries": """
        HANDLERS = {}
        def register(name):
            def decorate(function):
                HANDLERS[name] = function
                return function
            return decorate
        @register("scale")
        def scale(x):
            return x.item()  # expect: GL101
        def shift(x):
            return x.item()  # expect: GL101
        def hidden(x):
            return x.item()
        TABLE = {"shift": shift, "hidden": hidden}
        def step(x):
            return HANDLERS["scale"](x), TABLE["shift"](x)
        """,
    "a registry of an unknown key": """
        def scale(x):
            return x.item()  # expect: GL101
        def shift(x):
            return x.tolist()  # expect: GL101
        TABLE = {"scale": scale, "shift": shift}
        NAME = open("name").read()
        def step(x):
            return TABLE[NAME](x), TABLE.get(NAME)(x)
        """,
    "getattr": """
        class Model:
            def scale(self, x):
                return x.item()  # expect: GL101
            def hidden(self, x):
                return x.item()
        model = Model()
        def step(x):
            return getattr(model, "scale")(x), getattr(model, "missing", None)
        """,
    "generators": """
        def rows(x):
            yield x.item()  # expect: GL101
            yield from others(x)
        def others(x):
            yield x.tolist()  # expect: GL101
        def step(x):
            for row in rows(x):
                pass
        """,
    "recursion": """
        def down(x, depth):
            if depth == 0:
                return x.item()  # expect: GL101
            return down(x, depth - 1)
        def even(x, n):
            return odd(x, n - 1)
        def odd(x, n):
            x.tolist()  # expect: GL101
            return even(x, n - 1) if n else x
        def step(x):
            return down(x, 5), even(x, 10**9)
        """,
    "arguments passed on": """
        def last(x, y, *, scale=None, other=None):
            if other is None:
                y.item()
            return scale.item()  # expect: GL101
        def middle(*args, **kwargs):
            return last(*args, **kwargs)
        def step(x):
            return middle(1, 2, scale=x)
        """,
    "arguments unpacked": """
        def last(first, second):
            first.item()
            return second.item()  # expect: GL101
        def step(x):
            pair = (3, x)
            named = {"first": 3, "second": x}
            return last(*pair), last(**named)
        """,
    "arguments gathered": """
        def total(*values, **named):
            values[0].item()  # expect: GL101
            for value in values:
                value.tolist()  # expect: GL101
            return named["bias"].item()  # expect: GL101
        def step(x):
            return total(x, x, bias=x)
        """,
    "defaults": """
        def scale(x, function=lambda y: y.item()):  # expect: GL101
            return function(x)
        def step(x):
            return scale(x)
        """,
    "a function in a tuple": """
        def scale(x):
            return x.item()  # expect: GL101
        STEPS = (scale, abs)
        def step(x):
            for function in STEPS:
                function(x)
        """,
    "checkpoint and its like": """
        from torch.utils.checkpoint import checkpoint
        def scale(x):
            return x.item()  # expect: GL101
        def step(x):
            return checkpoint(scale, x, use_reentrant=False)
        """,
    "a nested function handed to the unknown": """
        import somewhere
        def step(x):
            def inner():
                return x.item()  # expect: GL101
            return somewhere.call(inner)
        """,
    "functools.reduce": """
        import functools
        def join(left, right):
            return left + right.item()  # expect: GL101
        def step(x):
            return functools.reduce(join, [x, x])
        """,
    "a cached function": """
        import functools
        @functools.lru_cache(maxsize=None)
        def scale(x):
            return x.item()  # expect: GL101
        def step(x):
            return scale(x)
        """,
    "a decorated recursion": """
        import torch
        @torch.no_grad()
        def down(x, n):
            if n:
                return down(x, n - 1)
            return x.item()  # expect: GL101
        def step(x):
            return down(x, 3)
        """,
    "singledispatch": """
        import functools
        @functools.singledispatch
        def scale(x):
            return x.item()  # expect: GL101
        def step(x):
            return scale(x)
        """,
    "an implementation for a class": """
        import functools
        class Base: pass
        class Loud(Base): pass
        class Quiet(Base): pass
        @functools.singledispatch
        def scale(kind, x):
            return x.cpu()
        @scale.register
        def _(kind: Base, x):
            return x.tolist()
        @scale.register
        def _(kind: Loud, x):
            return x.item()  # expect: GL101
        @scale.register(Quiet)
        def _quiet(kind, x):
            return x
        def step(x):
            return scale(Loud(), x) + scale(Quiet(), x)
        """,
    "an implementation for any of two": """
        import functools
        from typing import Union
        @functools.singledispatch
        def scale(kind, x):
            return x.item()  # expect: GL101
        @scale.register
        def _(kind: int | None, x):
            return x.tolist()
        @scale.register
        def _(kind: Union[str, list], x):
            return x.cpu()  # expect: GL201
        def step(x):
            return scale("a", x) + scale(3.0, x)
        """,
    "an implementation as a method": """
        import functools
        class Model:
            @functools.singledispatchmethod
            def scale(self, kind, x):
                return x
            @scale.register
            def _(self, kind: int, x):
                return x.item()  # expect: GL101
            @scale.register(str)
            def named(self, kind, x):
                return x.cpu()
        def step(x):
            return Model().scale(2, x)
        """,
    "async": """
        async def scale(x):
            return x.item()  # expect: GL101
        async def step(x):
            return await scale(x)
        """,
}

PROGRAMS = [pytest.param(text, id=name) for table in (ACROSS_FILES, OBJECTS, FUNCTIONS) for name, text in table.items()]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_call_is_followed(tmp_path: Path, program: str) -> None:
    """What is marked is reported, and nothing else in files that the region reaches."""
    analysis = analyse(tmp_path, textwrap.dedent(program) + CAPTURE)
    assert analysis.expected == analysis.found


MADE = """
    import torch
    def chosen():
        return loud
    def picked():
        return chosen()
    def loud(x):
        return x.item()  # expect: GL101
    def made():
        return torch.ones(4)
    def passed_on():
        return made()
    class Runner:
        def __init__(self, graph, x):
            self.graph, self.x = graph, x
        def capture(self):
            step, host = picked(), passed_on()
            with torch.cuda.graph(self.graph):
                step(self.x)
                host.item()
    """


def test_what_a_region_uses_is_followed_to_where_it_is_made(tmp_path: Path) -> None:
    """Two calls before the region: a function is known and so is run, a tensor is known to lie on the host."""
    analysis = analyse(tmp_path, MADE)
    assert analysis.expected == analysis.found


ENTRIES = {
    "declared": "# file: unrelated.py\n",
    "compiled": "# file: run.py\nimport torch, main\ntorch.compile(main.step, mode='reduce-overhead')\n",
    "make_graphed_callables": "# file: run.py\nimport torch, main\n"
    "torch.cuda.make_graphed_callables(main.step, (torch.ones(4, device='cuda'),))\n",
    "capture_begin": "# file: run.py\nimport main, torch\ndef run(graph):\n    x = torch.ones(4, device='cuda')\n"
    "    graph.capture_begin()\n    main.step(x)\n    graph.capture_end()\n    return x\n",
}


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_call_is_followed_from_every_kind_of_region(tmp_path: Path, program: str, entry: str) -> None:
    """How the region is opened changes nothing in what it reaches."""
    regions = ("main:step",) if entry == "declared" else ()
    analysis = analyse(tmp_path, textwrap.dedent(program) + ENTRIES[entry], regions=regions)
    assert analysis.expected == analysis.found


@pytest.mark.parametrize("program", [pytest.param(*program.values, id=program.id) for program in PROGRAMS])
def test_without_a_region_everything_is_silent(tmp_path: Path, program: str) -> None:
    """The same program, never captured, has no finding."""
    never = CAPTURE.replace("torch.cuda.graph(torch.cuda.CUDAGraph())", "torch.no_grad()")
    never = never.replace("import torch\n", "import torch  # torch.cuda.graph\n")
    assert [] == analyse(tmp_path, textwrap.dedent(program) + never).found


SILENT = {
    "a function that does not take the arguments": """
        def loud(x):
            return x.item()
        def step(x):
            return loud(x, x)
        """,
    "one of several modules, which does not take the arguments": """
        import torch
        from elsewhere import chosen
        class Loud(torch.nn.Module):
            def forward(self, x):
                return x.item()
        class Quiet(torch.nn.Module):
            def forward(self, x, y):
                return x + y
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.part = Quiet()
                if chosen():
                    self.part = Loud()
            def forward(self, x):
                return self.part(x, x)
        def step(x, model=Model()):
            return model(x)
        """,
    "a method that is overridden": """
        class Base:
            def run(self, x):
                return x.item()
        class Model(Base):
            def run(self, x):
                return x
        def step(x):
            return Model().run(x)
        """,
    "another branch of a registry": """
        TABLE = {"quick": lambda x: x, "slow": lambda x: x.item()}
        def step(x):
            return TABLE["quick"](x)
        """,
    "a name that is bound anew": """
        def scale(x):
            return x.item()
        def step(x):
            scale = abs
            return scale(x)
        """,
    "a parameter of that name": """
        def item(x):
            return x.item()
        def run(item):
            return item
        def step(x):
            return run(x)
        """,
    "a function that is only named": """
        def scale(x):
            return x.item()
        def step(x):
            return scale.__name__, scale is None
        """,
    "a function of another file": """
        from layers import scale
        def step(x):
            return scale(x)
        # file: layers.py
        def scale(x):
            return x
        # file: other/layers.py
        def scale(x):
            return x.item()
        """,
    "the constructor of an object made before": """
        class Model:
            def __init__(self, x):
                self.scale = x.item()
            def run(self, x):
                return x * self.scale
        import torch
        model = Model(torch.ones(4, device="cuda"))
        def step(x):
            return model.run(x)
        """,
    "a lambda that is not called": "def step(x):\n    return lambda: x.item()\n",
    "a generator that is not reached": """
        def rows(x):
            return x
            yield x.item()
        def step(x):
            return list(rows(x))
        """,
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_what_is_not_called_is_silent(tmp_path: Path, program: str) -> None:
    """Standing in the same file, or bearing the same name, is not enough."""
    assert [] == analyse(tmp_path, textwrap.dedent(program) + CAPTURE).found


@pytest.mark.xfail(strict=True, reason="one name means one module, whoever imports it")
def test_a_script_imports_from_its_own_folder(tmp_path: Path) -> None:
    """Two folders of scripts may have a helper of the same name each."""
    program = f"""\
        # file: one/layers.py
        def scale(x):
            return x
        # file: two/layers.py
        def scale(x):
            return x.item()
        # file: two/main.py
        from layers import scale
        def step(x):
            return scale(x)
        {textwrap.indent(CAPTURE, " " * 8).strip().replace("run.py", "two/run.py")}
        """
    assert [("two/layers.py", 2, "GL101")] == analyse(tmp_path, program).found


def test_the_chain_tells_every_hop(tmp_path: Path) -> None:
    """Each hop is a call: its file, its line, and the function that makes it."""
    program = """\
        from pkg.model import Model
        model = Model()
        def step(x):
            x = x + 1
            return model(
                x)
        # file: pkg/__init__.py
        # file: pkg/model.py
        import torch
        from .layers import scale
        class Model(torch.nn.Module):
            def forward(self, x):
                return self.inner(x)

            def inner(self, x):
                y = [scale(part) for part in (x,)]
                return y
        # file: pkg/layers.py
        def scale(x):
            return x.item()
        """
    analysis = analyse(tmp_path, textwrap.dedent(program) + CAPTURE)
    assert [
        ("run.py", 7, "run:main"),
        ("main.py", 5, "main:step"),
        ("pkg/model.py", 5, "pkg.model:Model.forward"),
        ("pkg/model.py", 8, "pkg.model:Model.inner"),
    ] == analysis.chain
    assert "pkg.layers:scale" == analysis.finding.function
    assert [("torch.cuda.graph", 6)] == [(region.kind, region.line) for region in analysis.regions]


def test_the_chain_of_a_finding_in_the_region_itself_is_empty(tmp_path: Path) -> None:
    """No call lies between the two."""
    analysis = analyse(tmp_path, CAPTURE.replace("step(x)", "x.item()").replace("# file: run.py\n", ""))
    assert ([], "main:main") == (analysis.chain, analysis.finding.function)


DIAMOND = """
    import torch
    def bottom(x):
        return x.item()
    def left(x):
        return bottom(x)
    def right(x):
        return left(x)
    def one(x):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            right(x)
    def two(x):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            right(x)
            left(x)
    """


def test_a_line_that_many_ways_lead_to_is_reported_once(tmp_path: Path) -> None:
    """With the shortest way, the region where it begins, and then every other region that reaches the line."""
    analysis = analyse(tmp_path, DIAMOND)
    assert [13, 10] == [region.line for region in analysis.finding.regions]
    assert [("main.py", 15, "main:two"), ("main.py", 6, "main:left")] == analysis.chain


def test_regions_and_functions_are_counted(tmp_path: Path) -> None:
    """The summary counts files, regions, and each function that a region reaches once."""
    summary = analyse(tmp_path, DIAMOND).report.summary
    assert (1, 2) == (summary.files, summary.regions)
    assert 5 == summary.functions  # bottom, left, right, and the two that hold the regions


def test_calls_that_cannot_be_followed_are_counted(tmp_path: Path) -> None:
    """Once for each place in a region, by callee, most frequent first; calls outside count for nothing."""
    program = """
        import torch, somewhere
        def main(x, function):
            function(x)
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                function(x)
                somewhere.run(x); somewhere.run(x)
                torch.relu(x); len([x]); x.sum()
        """
    report = analyse(tmp_path, program).report
    assert 3 == report.summary.unresolved_calls
    assert (("somewhere.run", 2), ("function", 1)) == report.statistics


def test_a_call_of_what_others_put_into_a_list_is_counted(tmp_path: Path) -> None:
    """A list is empty at first, and a function fills it that nobody calls here; nobody fills the other one."""
    program = """
        import torch
        OTHERS = []
        NONE = []
        def add(hook):
            OTHERS.append(hook)
        def step(x):
            for hook in OTHERS:
                x = hook(x)
            for function in NONE:
                x = function(x)
        def main(x):
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                step(x)
        """
    assert (("hook", 1),) == analyse(tmp_path, program).report.statistics


def test_a_program_that_is_resolved_has_no_holes(tmp_path: Path) -> None:
    """Known operations, built-ins and functions of the program are no holes."""
    program = in_region(
        "y = torch.relu(x) + abs(number)\nhelper(y)\nreturn [y]", "def helper(y):\n    return y.sum()\n"
    )
    report = analyse(tmp_path, program).report
    assert (0, ()) == (report.summary.unresolved_calls, report.statistics)


INSTALLED = """
    import torch, vendor.layers
    def main(x):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            vendor.layers.scale(x)
    """


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package on the path of the interpreter."""
    folder = tmp_path / "site"
    (folder / "vendor").mkdir(parents=True)
    (folder / "vendor" / "__init__.py").touch()
    (folder / "vendor" / "layers.py").write_text("def scale(x):\n    return x.item()\n", encoding="utf-8")
    (folder / "single.py").write_text("def scale(x):\n    return x.item()\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    return folder / "vendor"


def test_an_installed_package_is_followed_on_request(tmp_path: Path, installed: Path) -> None:
    """By default it is a hole; by name or by path it is followed, and its regions are not looked for."""
    (tmp_path / "project").mkdir()
    analysis = analyse(tmp_path / "project", INSTALLED)
    assert ([], 1) == (analysis.found, analysis.report.summary.unresolved_calls)
    for package in ("vendor", "vendor.layers", str(installed)):
        report = analyse(tmp_path / "project", INSTALLED, follow_installed=(package,)).report
        assert [str(installed / "layers.py")] == [finding.span.path for finding in report.findings], package
        assert 1 == report.summary.files


def test_what_lies_beside_an_installed_package_is_not_followed(tmp_path: Path, installed: Path) -> None:
    """One folder holds all that is installed; only what was asked for is looked at, package by package."""
    (installed / "layers.py").write_text("from single import scale\n", encoding="utf-8")
    (tmp_path / "project").mkdir()
    alone = analyse(tmp_path / "project", INSTALLED, follow_installed=("vendor",)).report
    assert ([], 1) == (list(alone.findings), alone.summary.unresolved_calls)
    both = analyse(tmp_path / "project", INSTALLED, follow_installed=("vendor", "single")).report
    assert [str(installed.parent / "single.py")] == [finding.span.path for finding in both.findings]


def test_an_installed_module_is_followed(tmp_path: Path, installed: Path) -> None:
    """A package may be a single file; it is not imported."""
    (tmp_path / "project").mkdir()
    program = INSTALLED.replace("vendor.layers", "single")
    report = analyse(tmp_path / "project", program, follow_installed=("single",)).report
    assert [2] == [finding.span.line for finding in report.findings]
    assert "single" not in sys.modules


ENDLESS = """
import torch

class Origin:
    pass

class Item(Origin):
    def __init__(self, base, key):
        self.base = base
        self.key = key

class Kind:
    def __init__(self, origin):
        self.origin = origin

    @classmethod
    def of(cls, value, origin):
        if type(value) is list:
            return Many(origin, cls.parts(enumerate(value), origin))
        if type(value) is tuple:
            return Many(origin, cls.parts(enumerate(value), origin))
        if type(value) is dict:
            return Table(origin, dict(zip(value.keys(), cls.parts(value.items(), origin))))
        return Kind(origin)

    @staticmethod
    def parts(values, origin):
        return [Kind.of(value, Item(origin, key)) for key, value in values]

class Many(Kind):
    def __init__(self, origin, parts):
        super().__init__(origin)
        self.parts = parts

class Table(Kind):
    def __init__(self, origin, parts):
        super().__init__(origin)
        self.parts = parts

def step(x, values):
    Kind.of(values, Origin())
    return x.sum().item()

def main(values):
    x = torch.ones(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        step(x, values)
"""


def test_what_runs_inside_of_itself_for_ever_new_objects_comes_to_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each object is made of the one before, so that no two calls have the same arguments; three calls in each."""
    runs, run = 0, Interpreter.run

    def counted(*arguments: Any, **named: Any) -> Context:
        nonlocal runs
        runs += 1
        assert runs < 5000
        return run(*arguments, **named)

    monkeypatch.setattr(Interpreter, "run", counted)
    assert [("main.py", 42, "GL101")] == analyse(tmp_path, ENDLESS).found


WRAPPER = """
import torch

class Wrapper(torch.nn.Module):
    def __init__(self, wrapped: torch.nn.Module):
        super().__init__()
        self.wrapped = wrapped

    def forward(self, *args):
        given = [one if isinstance(one, torch.Tensor) else torch.tensor(one).cuda() for one in args]
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            return self.wrapped(3, *given)

class Inner(torch.nn.Module):
    def forward(self, *args):
        return {inner}

def main():
    model = Inner()
    for _ in range(2):
        model = Wrapper(model)
    model(torch.ones(4, device="cuda"))
"""


@pytest.mark.parametrize(("inner", "said"), [("args", []), ("args[1].tolist()", ["GL101"])])
def test_what_captures_a_module_is_no_part_of_its_own_region(tmp_path: Path, inner: str, said: list[str]) -> None:
    """Whatever else it may hold is."""
    found = analyse(tmp_path, WRAPPER.format(inner=inner))
    assert [code for _, _, code in found.shown if code in ("GL101", "GL202")] == said


def test_who_registers_for_a_function_inside_of_another_is_not_looked_for_and_counts(tmp_path: Path) -> None:
    body = """
        import functools
        def step(x):
            @functools.singledispatch
            def scale(x):
                return x
            @scale.register
            def _(x: int):
                return x
            return scale(x)
        """
    analysis = analyse(tmp_path, textwrap.dedent(body) + CAPTURE)
    assert ([], 1) == (analysis.found, analysis.report.summary.unresolved_calls)
