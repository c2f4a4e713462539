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
