"""An engine checks what it is given before it captures: a rehearsal comes past that, as a program that works does."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from analysis import analyse

ENGINE = """
# file: registry.py
from collections import OrderedDict, defaultdict
from enum import Enum, auto

class Mode(Enum):
    WHOLE = auto()
    PARTS = auto()

class Kind:
    name = "cuda"

{registry}

# file: main.py
import torch
from registry import ask

class Engine:
    def __init__(self, model):
        self.kind = ask(model)
        self.x = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x * 2

    def run(self, x):
        self.x = x{mark}
        self.graph.replay()
        return self.y.clone()
"""
MANY = "".join(f"    if model.part_{n} is None or model.held_{n}:\n        raise ValueError\n" for n in range(24))
PASSED = {
    "many that have two conditions": f"def ask(model):\n{MANY}    return model",
    "one of two conditions that nobody knows": """
        _ranks = None

        def start(ranks):
            global _ranks
            _ranks = ranks

        def ask(model):
            if _ranks is None or model.name not in _ranks:
                raise RuntimeError("not started")
            return _ranks[model.name]
        """,
    "one of three, in brackets": """
        def ask(model):
            if not (model.name and (model.size or model.rank)):
                raise ValueError
            return model.name
        """,
    "a number between two bounds": """
        def ask(model):
            if model.seed < model.least or model.seed > model.most:
                raise ValueError
            return model.seed
        """,
    "an ordered dictionary by keywords": """
        KINDS = OrderedDict(cuda=Kind)

        def ask(model):
            for name, kind in KINDS.items():
                if name == "cuda":
                    return kind()
            raise RuntimeError("no device")
        """,
    "a dictionary with defaults and more": """
        KINDS = defaultdict(list, {"cuda": Kind})

        def ask(model):
            for name in KINDS:
                return KINDS[name]()
            raise RuntimeError("no device")
        """,
    "a dictionary of pairs": """
        KINDS = dict([("cuda", Kind), ("cpu", Kind)])

        def ask(model):
            for name in KINDS:
                return KINDS[name]()
            raise RuntimeError("no device")
        """,
    "a member of an enumeration": """
        def ask(model):
            mode = Mode.PARTS
            if mode is Mode.WHOLE:
                return 1
            elif mode is Mode.PARTS:
                return 2
            raise NotImplementedError(mode)
        """,
    "one that is compared by what it is": """
        def ask(model):
            mode = Mode.PARTS
            if mode != Mode.PARTS:
                raise NotImplementedError(mode)
            return 2
        """,
    "how many a comprehension gives": """
        def ask(model):
            sizes = [one.size for one in model.layers]
            if len(sizes) > 1:
                raise NotImplementedError("no batches")
            return sizes[0]
        """,
    "how many one gives of what another one gave": """
        def ask(model):
            names = [f"layer {number}" for number in range(model.depth)]
            layers = [model.get(name) for name in names]
            if len(layers) > 1:
                raise NotImplementedError("no batches")
            return layers[0]
        """,
    "a comprehension that looks for what is wrong": """
        def ask(model):
            wrong = [one for one in model.layers if one.is_frozen]
            if wrong:
                raise ValueError(wrong)
            return model
        """,
    "what holds, though it looks otherwise": """
        def ask(model):
            policies = {}
            for kind in ():
                policies[kind] = model
            assert len(policies) > 0
            return policies
        """,
    "an error that only gets another name": """
        def ask(model):
            held = None
            try:
                return held.start(model)
            except AttributeError as error:
                raise RuntimeError("not started") from error
        """,
}
ENDED = {
    "an empty ordered dictionary": """
        KINDS = OrderedDict()

        def ask(model):
            for name, kind in KINDS.items():
                return kind()
            raise RuntimeError("no device")
        """,
    "another member of an enumeration": """
        def ask(model):
            mode = Mode.PARTS
            if mode is not Mode.WHOLE:
                raise NotImplementedError(mode)
            return 1
        """,
    "a list that is repeated": """
        def ask(model):
            ready = [False] * model.depth
            if not ready[model.rank]:
                raise ValueError
            return ready
        """,
    "as many as a list has": """
        def ask(model):
            sizes = [one + 1 for one in (1, 2)]
            if len(sizes) > 1:
                raise NotImplementedError("no batches")
            return sizes[0]
        """,
    "a comprehension whose condition is known": """
        def ask(model):
            wrong = [one for one in (1, 2) if one > 1]
            if wrong:
                raise ValueError(wrong)
            return model
        """,
    "an assertion that something handles": """
        def ask(model):
            policies = {}
            try:
                assert len(policies) > 0
            except AssertionError:
                policies = None
            if policies is None:
                raise ValueError
            return policies
        """,
    "one of two conditions that holds": """
        SEED = 7

        def ask(model):
            if model.seed < 0 or SEED > 4:
                raise ValueError
            return model.seed
        """,
}


@pytest.mark.parametrize("registry", PASSED.values(), ids=PASSED)
def test_a_rehearsal_comes_past_a_check_that_may_hold(tmp_path: Path, registry: str) -> None:
    program = ENGINE.format(registry=textwrap.dedent(registry).strip(), mark="  # expect: GL508")
    analysis = analyse(tmp_path, program)
    assert analysis.shown == analysis.expected


@pytest.mark.parametrize("registry", ENDED.values(), ids=ENDED)
def test_what_a_check_always_refuses_is_never_made(tmp_path: Path, registry: str) -> None:
    assert analyse(tmp_path, ENGINE.format(registry=textwrap.dedent(registry).strip(), mark="")).shown == []
