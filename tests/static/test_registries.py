"""What a program registers somewhere and picks by a key that nobody knows: each of it may be what a region runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

REGION = """
# file: main.py
import torch
import models
import stores

def capture(args, x):
    model = {picked}
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        model.run(x + 1)

# file: models.py
import torch
import stores
from stores import *

{first}
    def run(self, x):
        return x.max().item()

{second}
    def run(self, x):
        return x + 1
"""
OBJECT = """
# file: stores.py
class Store:
    def __init__(self):
        self.held = {}
    def put(self, name, value):
        if name in self.held:
            raise KeyError(name)
        self.held[name] = value
    def register(self, name=None):
        def keep(cls):
            self.put(name or cls.__name__, cls)
            return cls
        return keep
    def get(self, name):
        found = self.held.get(name)
        if found is None:
            raise KeyError(name)
        return found
MODELS = Store()
OTHERS = Store()
"""
FUNCTION = """
# file: stores.py
MODELS, OTHERS = {}, {}
def register(name):
    def keep(cls):
        MODELS[name] = cls
        return cls
    return keep
"""
CLASS = """
# file: stores.py
class Store:
    held = {}
    @classmethod
    def register(cls, name):
        def keep(one):
            cls.held[name] = one
            return one
        return keep
class Others:
    held = {}
"""
BIRTH = """
# file: stores.py
MODELS, OTHERS = {}, {}
class Base:
    held = {}
    others = {}
    def __init_subclass__(cls, key=None, **rest):
        super().__init_subclass__(**rest)
        MODELS[key] = cls
        cls.held[cls.__name__] = cls
"""
LISTS = """
# file: stores.py
from collections import defaultdict
from dataclasses import dataclass

@dataclass
class Entry:
    cls: type
    condition: object = None

class Store:
    def __init__(self):
        self.held = defaultdict(list)
    def __call__(self, kinds, condition=None):
        def keep(cls):
            for kind in [kinds] if isinstance(kinds, str) else kinds:
                self.held[kind].append(Entry(cls=cls, condition=condition))
            return cls
        return keep
    def get(self, name):
        matches = []
        for one in self.held.get(name, []):
            if one.condition is None or one.condition(name):
                matches.append(one)
        return matches[0].cls
MODELS = Store()
OTHERS = Store()
"""
DEFAULTS = """
# file: stores.py
MODELS, OTHERS = {}, {}
def register(name):
    def keep(cls):
        MODELS.setdefault(name, []).append(cls)
        return cls
    return keep
"""
NESTED = """
# file: stores.py
from collections import defaultdict
MODELS, OTHERS = defaultdict(dict), {"kind": {}}
def register(kind, name):
    def keep(cls):
        MODELS[kind][name] = cls
        return cls
    return keep
"""
PAIRS = """
# file: stores.py
MODELS, OTHERS = {}, {}
def register(name, scale=1):
    def keep(cls):
        MODELS[name] = (cls, scale)
        return cls
    return keep
def build(table, name):
    cls, scale = table[name]
    return cls()
"""
LIST = """
# file: stores.py
MODELS, OTHERS = [], []
def register(cls):
    MODELS.append(cls)
    return cls
"""
FORMS = {
    "an object": (OBJECT, '@MODELS.register("{0}")\nclass {0}:', "MODELS.get(args.name)()", "OTHERS.get(args.name)()"),
    "of a module": (
        OBJECT,
        "@stores.MODELS.register()\nclass {0}:",
        "MODELS.get(args.name)()",
        "OTHERS.get(args.name)()",
    ),
    "a dict": (FUNCTION, '@register("{0}")\nclass {0}:', "MODELS[args.name]()", "OTHERS[args.name]()"),
    "a class": (CLASS, '@Store.register("{0}")\nclass {0}:', "Store.held[args.name]()", "Others.held[args.name]()"),
    "subclasses": (BIRTH, "class {0}(Base, key='{0}'):", "MODELS[args.name]()", "OTHERS[args.name]()"),
    "an object of lists": (LISTS, '@MODELS("{0}")\nclass {0}:', "MODELS.get(args.name)()", "OTHERS.get(args.name)()"),
    "a dict of lists": (DEFAULTS, '@register("{0}")\nclass {0}:', "MODELS[args.name][-1]()", "OTHERS[args.name][-1]()"),
    "a dict of dicts": (
        NESTED,
        '@register("kind", "{0}")\nclass {0}:',
        "MODELS[args.kind][args.name]()",
        "OTHERS[args.kind][args.name]()",
    ),
    "a dict of pairs": (
        PAIRS,
        '@register("{0}")\nclass {0}:',
        "build(stores.MODELS, args.name)",
        "build(stores.OTHERS, args.name)",
    ),
    "a list": (LIST, "@register\nclass {0}:", "MODELS[args.number]()", "OTHERS[args.number]()"),
    "a dict of the base": (BIRTH, "class {0}(Base):", "Base.held[args.name]()", "Base.others[args.name]()"),
}


def _program(form: str, picked: int) -> str:
    stores, registered = FORMS[form][:2]
    first, second = (registered.format(name) for name in ("Reads", "Computes"))
    return REGION.format(picked=f"stores.{FORMS[form][picked]}", first=first, second=second) + stores


@pytest.mark.parametrize("form", FORMS)
def test_what_is_registered_is_picked_by_a_key(tmp_path: Path, form: str) -> None:
    """In whichever file it is, and with what it hangs on in the words of the source."""
    report = analyse(tmp_path, _program(form, 2)).report
    assert [(f.code, [c.text for c in f.when]) for f in report.findings] == [("GL101", ["isinstance(model, Reads)"])]


@pytest.mark.parametrize("form", FORMS)
def test_what_is_registered_elsewhere_is_not_picked(tmp_path: Path, form: str) -> None:
    """One registry has nothing of another one, and says that nobody knows what it gives."""
    report = analyse(tmp_path, _program(form, 3)).report
    assert (report.findings, report.summary.unresolved_calls) == ((), 1)


def test_what_the_top_level_of_another_file_registers_is_picked_by_a_key(tmp_path: Path) -> None:
    """By a call of a function that stores it."""
    stores = "# file: stores.py\nMODELS, OTHERS = {}, {}\ndef register(name, cls):\n    MODELS[name] = cls\n"
    calls = 'stores.register("Reads", Reads)\nstores.register("Computes", Computes)\n'
    program = REGION.format(picked="stores.MODELS[args.name]()", first="class Reads:", second="class Computes:")
    report = analyse(tmp_path, f"{program}\n{calls}\n{stores}").report
    assert [(f.code, [c.text for c in f.when]) for f in report.findings] == [("GL101", ["isinstance(model, Reads)"])]


CHOSEN = """
# file: base.py
import torch

class Base:
    {declared}
    other_class = None

    def __init__(self, size):
        self.size = size
        self.layer = self.layer_class(size)

    def step(self, x):
        return self.layer.run(x)

    def capture(self, x):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            self.step(x + 1)

# file: models.py
from base import Base

class Reads:
    def __init__(self, size):
        self.size = size
    def run(self, x):
        return x.max().item()

class Computes(Reads):
    def run(self, x):
        return x + 1

class Near(Base):
    {named} = Computes

class Far(Near):
    {named} = Reads
"""


@pytest.mark.parametrize("declared", ["layer_class = None", "layer_class: type", "pass"])
def test_a_class_that_subclasses_choose_is_one_of_those(tmp_path: Path, declared: str) -> None:
    """Where a class leaves it to them, also to those of its subclasses."""
    report = analyse(tmp_path, CHOSEN.format(declared=declared, named="layer_class")).report
    assert [(f.code, [c.text for c in f.when]) for f in report.findings] == [
        ("GL101", ["isinstance(self.layer, Reads)"])
    ]


@pytest.mark.parametrize(
    ("declared", "named"), [("layer_class = None", "other_class"), ("layer_class = str", "layer_class")]
)
def test_what_subclasses_choose_for_something_else_is_not_run(tmp_path: Path, declared: str, named: str) -> None:
    """Nor what they choose where the class, which is the one that captures, has made its own choice."""
    assert analyse(tmp_path, CHOSEN.format(declared=declared, named=named)).report.findings == ()


HELPED = """
# file: eng/__init__.py
# file: eng/pool.py
class Pool:
    _known: dict[tuple[str, str], object] = {{}}

    @classmethod
    def register(cls, kind, backend, function):
        key = (kind, backend)
        if key in cls._known:
            raise ValueError(key)
        cls._known[key] = function

    @classmethod
    def get(cls, kind, backend):
        return cls._known.get((kind, backend))

def register(kind, backend):
    def decorate(function):
        {stores}
        return function
    return decorate

# file: eng/kernels.py
from eng.pool import register

@register("plain", "gemm")
def prepare(x):
    return x.max().item()

# file: eng/run.py
import torch
from eng.pool import Pool

def capture(x, kind, backend):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        Pool.get(kind, backend)(x.cuda())
"""


@pytest.mark.parametrize(
    ("stores", "codes"), [("Pool.register(kind, backend, function)", ["GL101"]), ("print(kind, backend)", [])]
)
def test_a_function_beside_a_class_registers_in_it(tmp_path: Path, stores: str, codes: list[str]) -> None:
    """A decorator of its file calls the method that stores; one that does something else registers nothing."""
    report = analyse(tmp_path, HELPED.format(stores=stores)).report
    assert [finding.code for finding in report.findings] == codes
