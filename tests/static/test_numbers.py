"""Numbers of the host that look like tensors: what callers, comparisons and annotations say of them."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from analysis import Analysis, analyse

HEAD = "from typing import Optional\nimport engine\nimport torch\n\n"

APPLIED = """
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, {name}):
        return x * 2 if {name} is None else x * {name} + int({name})

{callers}
"""

CALLERS = {
    "a number that is made there": ("def scaled(x, scale):\n    return Scale.apply(x, float(scale))", False),
    "what is promised to the caller": (
        "def scaled(x, scale: Optional[float] = None):\n    return Scale.apply(x, scale)",
        False,
    ),
    "a flag of the caller, and None": (
        "def scaled(x):\n    fast = False\n    if x.ndim == 2:\n        fast = True\n    return Scale.apply(x, fast)\n"
        "def plain(x):\n    return Scale.apply(x, None)",
        False,
    ),
    "one of two callers": (
        "def scaled(x, scale: float):\n    return Scale.apply(x, scale)\n"
        "def other(x, y):\n    return Scale.apply(x, y)",
        True,
    ),
    "what a list holds besides": (
        "def scaled(x, scale: float):\n    return Scale.apply(x, scale)\n"
        "def other(given):\n    return Scale.apply(*given)",
        True,
    ),
    "what is promised to be a tensor": ("def scaled(x, scale: torch.Tensor):\n    return Scale.apply(x, scale)", True),
    "what nobody says": ("def scaled(x, scale):\n    return Scale.apply(x, scale)", True),
    "nobody": ("", True),
}


@pytest.mark.parametrize("form", CALLERS)
def test_an_autograd_function_is_applied_to_what_its_callers_hand_in(tmp_path: Path, form: str) -> None:
    """A number where all of them say so."""
    callers, is_told = CALLERS[form]
    text = HEAD + APPLIED.format(name="scale", callers=callers)
    assert _told(analyse(tmp_path, text, regions=("main:Scale.forward",))) == ({"GL101"} if is_told else set())


def test_what_comes_back_to_an_autograd_function_is_no_argument_of_it(tmp_path: Path) -> None:
    """The gradient of `backward` stands where `forward` has its first argument."""
    text = """
class Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, count, x):
        return x[:count]
    @staticmethod
    def backward(ctx, grad):
        return None, grad * int(grad.sum())

def rows(x):
    return Rows.apply(4, x)
"""
    assert _told(analyse(tmp_path, HEAD + text, regions=("main:Rows.backward",))) == {"GL101"}


def _told(analysis: Analysis) -> set[str]:
    return {code for _, _, code in analysis.shown}


PROGRAMS = {
    "what `and` asks of a number": """
        def step(x: torch.Tensor, most):
            small = most <= 128 and x.shape[0] >= 256
            return x + 1 if small else x
        """,
    "what `and` asks of a tensor": """
        def step(x: torch.Tensor, most):
            small = most.sum() <= 128 and x.shape[0] >= 256  # expect: GL301
            return x + 1 if small else x
        """,
    "what is only made a number of": """
        def resolve(fast):
            return fast is None or bool(fast)
        def step(x: torch.Tensor, scale, count, fast):
            count = int(count)
            y = x * float(scale) + x * count * count
            return y if resolve(fast) else y + 1
        """,
    "what is a number in the end": """
        def step(x: torch.Tensor, scale, count):
            y = x * scale
            if count.dim() == 0:
                count = int(count)  # expect: GL101
            return y * float(scale) * count  # expect: GL101
        """,
    "a number or None, where it is handed to": """
        def scaled(x: torch.Tensor, scale: Optional[float] = None):
            return x if scale is None else x * float(scale)
        def step(x: torch.Tensor, scale):
            return scaled(x, scale=scale)
        """,
    "what is rounded up to": """
        def step(x, lengths, ranks, rank):
            each = ((lengths + ranks - 1) // ranks).to(torch.int32)
            base = (x.shape[0] + ranks - 1) // ranks
            if rank < ranks - 1:
                return x.narrow(0, base * rank, base)
            return x + each
        """,
    "what is divided": """
        def step(x, lengths, ranks):
            each = (lengths // ranks).to(torch.int32)
            if lengths > 1:  # expect: GL301
                return x + each
            return x
        """,
    "a list of tensors that numbers are in as well": """
        def step(x: torch.Tensor, inputs: list[torch.Tensor]):
            a, size, gate, out = inputs
            if size != 16 or out is None:
                return a
            if gate.sum() > 0:  # expect: GL301
                return a + out
            return x
        """,
    "a flag that is kept beside tensors": """
        class Cache:
            def __init__(self, knobs, n: int):
                self.kept = {}
                self.fast = "fast" in knobs
                self.kept[n] = torch.zeros(4, dtype=torch.int32, device=engine.place())
            def forward(self, x: torch.Tensor):
                found = self.kept.get("pair")
                if found is None or found[0] is not x or found[1] != self.fast:
                    self.kept["pair"] = (x, self.fast)
                return x
        def step(x: torch.Tensor, knobs, n: int):
            return Cache(knobs, n).forward(x)
        """,
    "a tensor that is compared with a flag": """
        def step(x: torch.Tensor, fast: bool):
            y = torch.ones(4, device="cuda").sum()
            if y == fast:  # expect: GL301
                return x + 1
            return x
        """,
    "a tensor of the host, or of whoever gives one": """
        def split(x, lengths):
            lengths = lengths if isinstance(lengths, torch.Tensor) else torch.tensor(lengths)
            return x[: int(lengths.sum())]
        def step(x: torch.Tensor, lengths):
            if not isinstance(lengths, torch.Tensor):
                lengths = torch.tensor(lengths, dtype=torch.int32)
            for one in lengths:
                x = x[: int(one)]
            rounded = ((lengths + 3) // 4 * 4).to(torch.int32)
            return split(x, engine.lengths()) if sum(rounded) > 4 else x
        """,
    "a tensor that is made where the others are": """
        def step(x: torch.Tensor, lengths):
            if not isinstance(lengths, torch.Tensor):
                lengths = torch.tensor(lengths, device=x.device)  # expect: GL203
            return x[: int(lengths.sum())]  # expect: GL101
        """,
    "one that is moved to the device behind": """
        def step(x: torch.Tensor, lengths):
            lengths = lengths if isinstance(lengths, torch.Tensor) else torch.tensor(lengths)
            lengths = lengths.to(x.device)  # expect: GL202
            return x[: int(lengths.sum())]  # expect: GL101
        """,
    "one that is on the device": """
        def split(x, lengths):
            if not isinstance(lengths, torch.Tensor):
                lengths = torch.tensor(lengths)
            return x[: int(lengths.sum())]  # expect: GL101
        def step(x: torch.Tensor):
            return split(x, torch.ones(4, device=x.device))
        """,
    "one of two functions, by what they are promised": """
        def first(x: torch.Tensor, size: int, scale: torch.Tensor):
            return x[:size] if size > 2 else x * scale
        def second(x: torch.Tensor, scale: torch.Tensor, size: int):
            return x * scale.item() if size > 2 else x  # expect: GL101
        def step(x: torch.Tensor, scale: torch.Tensor, kind: str):
            run = first if kind == "first" else second
            return run(x, scale, 4)
        """,
    "the only one, whatever it is promised": """
        def first(x: torch.Tensor, size: int, scale: torch.Tensor):
            return x[:1] if size > 2 else x * scale  # expect: GL301
        def step(x: torch.Tensor, scale: torch.Tensor):
            return first(x, scale, 4)
        """,
}


@pytest.mark.parametrize("program", [pytest.param(text, id=name) for name, text in PROGRAMS.items()])
def test_a_number_is_none_of_the_tensors_around_it(tmp_path: Path, program: str) -> None:
    """What is marked is told as more than a hint, and nothing else."""
    analysis = analyse(tmp_path, HEAD + textwrap.dedent(program), regions=("main:step",))
    assert analysis.expected == analysis.shown
