"""Parameters of regions that nothing is promised of: what their callers hand in, and what they are used as."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from analysis import analyse

HEAD = "from typing import List, Optional\nimport torch\n\nMODE = 3\nTABLE = torch.ones(4, device='cuda')\n\n"

CALLED = """
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        return x * scale + int(scale)

def scaled(x, scale):
    return x * scale + int(scale)

scaled_by = Scale.apply

{callers}
"""

HANDED = {
    "a name of the module": ("def run(x):\n    return {call}(x, MODE)", False),
    "what is reckoned with sizes": ("def run(x):\n    return {call}(x, 2 * x.shape[0] - 1)", False),
    "the number of dimensions": ("def run(xs, y):\n    return [{call}(x, y.ndim) for x in xs]", False),
    "how many there are": ("def run(x, ys):\n    count = len(ys)\n    return {call}(x, count)", False),
    "what is promised to be a number": ("def run(x, scale: int):\n    return {call}(x, scale=scale)", False),
    "a number that is handed on": (
        "def run(x, n):\n    return {call}(x, n)\n\ndef go(x):\n    return run(x, 2)",
        False,
    ),
    "a tensor that is handed on": (
        "def run(x, n):\n    return {call}(x, n)\n\ndef go(x):\n    return run(x, TABLE)",
        True,
    ),
    "a number before what a star gives": ("def run(x, xs):\n    return {call}(x, 2, *xs)", False),
    "what a star gives": ("def run(x, xs):\n    return {call}(*xs, 2)", True),
    "a tensor of the module": ("def run(x):\n    return {call}(x, TABLE)", True),
    "what is reckoned with a tensor": ("def run(x, y):\n    return {call}(x, 2 * y)", True),
    "each of what nobody knows": ("def run(x, ys):\n    return [{call}(x, MODE) for MODE in ys]", True),
    "a part of what is taken apart": ("def run(x, ys):\n    scale, _ = ys\n    return {call}(x, scale)", True),
    "a number once, and a tensor": ("def run(x, y):\n    return {call}(x, 2), {call}(x, y)", True),
}


@pytest.mark.parametrize("call", ["Scale.apply", "scaled_by", "scaled"])
@pytest.mark.parametrize("form", HANDED)
def test_all_who_call_a_function_say_what_it_is_given(tmp_path: Path, form: str, call: str) -> None:
    """Whether they call it by its name, or apply an autograd function."""
    callers, is_told = HANDED[form]
    entry = "scaled" if call == "scaled" else "Scale.forward"
    text = HEAD + CALLED.format(callers=callers.format(call=call))
    shown = analyse(tmp_path, text, regions=(f"main:{entry}",)).shown
    assert [code for _, _, code in shown] == (["GL101"] if is_told else [])


def test_a_list_that_is_made_for_an_autograd_function_holds_no_tensor(tmp_path: Path) -> None:
    """One of tensors would have no gradients."""
    text = """
class Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, count, sizes, *xs):
        first, rest = xs[:count], xs[count:]
        return tuple(x[: int(size)] for x, size in zip(first, sizes)) + rest

def rows(xs, sizes):
    return Rows.apply(len(xs), list(sizes), *xs)
"""
    assert not analyse(tmp_path, HEAD + text, regions=("main:Rows.forward",)).shown


PROGRAMS = {
    "a number that is handed on to what is promised a list": """
        @torch.library.custom_op("engine::joined", mutates_args=())
        def joined(x: torch.Tensor, dims: List[int], width: int) -> torch.Tensor:
            rows = x.shape[0] // dims[0]
            if sum(dims) != width:
                return x.new_zeros((rows, width))
            for d in dims:
                x = x[: rows * d]
            return x + int(dims[0])
        def step(x, dims, width):
            return joined(x, dims, width)
        """,
    "tensors that are handed on to what is promised a list of them": """
        def joined(x: torch.Tensor, xs: List[torch.Tensor]):
            return x + int(xs[0])  # expect: GL101
        def step(x: torch.Tensor, xs):
            return joined(x, xs)
        """,
    "a number that one of two functions is promised": """
        def plain(x, share):
            return torch.nn.functional.dropout(x, share)
        def quick(x, share: float):
            return torch.nn.functional.dropout(x, share)
        def step(x: torch.Tensor, share, is_quick=True):
            return (quick if is_quick else plain)(x, share)
        """,
    "a number that nobody is promised": """
        def plain(x, share):
            return x * share.relu().item()  # expect: GL101
        def quick(x, share):
            return x * share
        def step(x: torch.Tensor, share, is_quick=True):
            return (quick if is_quick else plain)(x, share)
        """,
    "what a number is made of with a size": """
        def step(x, share):
            rows = x.size()[0]
            return x[: int(share * rows)]
        """,
    "what a number is made of with a size, and a tensor besides": """
        def step(x, share):
            rows = x.size()[0]
            return x[: int(share * rows)] * share.relu()  # expect: GL101
        """,
    "sizes, which are no array": """
        import numpy as np
        def listed(sizes):
            if isinstance(sizes, np.ndarray):
                sizes = sizes.tolist()
            return sizes
        def step(x: torch.Tensor):
            return x.view(listed(x.shape)) + len(listed([1, 2])) + listed(3)
        """,
    "a tensor, which is no array": """
        import numpy as np
        def listed(sizes):
            if not isinstance(sizes, np.ndarray):
                sizes = sizes.tolist()  # expect: GL101
            return sizes
        def step(x: torch.Tensor):
            return x.view(listed(x))
        """,
    "what says which dimensions are meant": """
        def step(x: torch.Tensor, dims):
            last = x.size(dims[0])
            return torch.cat([x, x], dim=dims[1]).transpose(dims[0], 1)[:last]
        """,
    "what several sizes are less": """
        def step(x: torch.Tensor, wanted):
            rows, columns = x.shape
            top, left = (rows - wanted[0]) // 2, (columns - wanted[1]) // 2
            return x[top : rows - top, left : columns - left]
        """,
    "what one size is less": """
        def step(x: torch.Tensor, lengths):
            rows, _ = x.shape
            return x[: rows - lengths[0]]  # expect: GL304
        """,
    "what says how much is meant": """
        def step(x: torch.Tensor, lengths):
            return torch.cat([x, x], dim=0).narrow(0, 0, lengths[1])  # expect: GL304
        """,
    "what has no tensor's methods once it is divided": """
        def step(x: torch.Tensor, longest):
            size = longest * x.element_size()
            if size > 1000:
                return x + 1
            return x << (1000 // size).bit_length()
        """,
    "what has a tensor's methods once it is divided": """
        def step(x: torch.Tensor, longest):
            size = longest * x.element_size()
            if size > 1000:  # expect: GL301
                return x + 1
            return x << (1000 // size).to(torch.int32)
        """,
    "a number until a tensor is made of it": """
        def step(x: torch.Tensor, bound):
            bound = torch.full((4,), bound, device=x.device)
            return torch.searchsorted(x, bound)
        """,
    "a number that another one is made of": """
        def step(x: torch.Tensor, height, factor):
            height = 2 * (height // factor)
            rows = x.reshape(height, 4)
            return rows[: height // 2]
        """,
    "a tensor that another one is made of": """
        def step(x: torch.Tensor, bound):
            y = x * bound + int(bound)  # expect: GL101
            bound = bound.float()
            return torch.searchsorted(y, bound)
        """,
    "what may be a string": """
        def step(x: torch.Tensor, names):
            if isinstance(names, str):
                names = [names]
            return x, ["{}!".format(name) for name in names]
        """,
    "what may be a string that a tensor is read from": """
        def step(x: torch.Tensor, image):
            if isinstance(image, str):
                image = torch.load(image)
            return x * image + int(image)  # expect: GL101
        """,
    "a string or a tensor": """
        def step(x: torch.Tensor, name):
            if isinstance(name, (str, torch.Tensor)):
                return x, "{}".format(name)  # expect: GL102
            return x
        """,
    "a text that is taken apart": """
        def key(value):
            if isinstance(value, int):
                return value
            return int(str(value).strip())
        def step(x: torch.Tensor, *, seed):
            return x * key(seed)
        """,
    "what has items by words is a table": """
        def step(x: torch.Tensor, state, current):
            factor = torch.tensor(1 - 2 * current["step"] / current["steps"])
            state["limit"] = torch.round(state["ratio"] / factor)
            state["y"] = x * 2
            return state["y"].item()  # expect: GL101
        """,
    "what has items by numbers is a tensor": """
        def step(x: torch.Tensor, state, current):
            factor = torch.tensor(1 - 2 * current["step"] / current["steps"])
            state[0] = torch.round(current["ratio"] / factor)  # expect: GL202
            return x + state.sum()
        """,
    "no tensor is made of None": """
        def expanded(t, x):
            if not torch.is_tensor(t):
                t = torch.tensor([t], device=x.device)
            return t.expand(4)
        def step(x, t: torch.Tensor = None, other: Optional[torch.Tensor] = None):
            y = x * expanded(t, x)
            return y if other is None else y + expanded(other, x)
        """,
    "one is made of a number, or None": """
        def expanded(t, x):
            if not torch.is_tensor(t):
                t = torch.tensor([t], device=x.device)  # expect: GL203
            return t.expand(4)
        def step(x, t: Optional[float] = None):
            return x * expanded(t, x)
        """,
    "a text that is shown": """
        def step(x: torch.Tensor, seed):
            print(str(seed))  # expect: GL102
            return x
        """,
}


@pytest.mark.parametrize("program", [pytest.param(text, id=name) for name, text in PROGRAMS.items()])
def test_uses_say_what_a_function_is_given(tmp_path: Path, program: str) -> None:
    """What is marked is told as more than a hint, and nothing else."""
    analysis = analyse(tmp_path, HEAD + textwrap.dedent(program), regions=("main:step",))
    assert analysis.expected == analysis.shown


OWN = """
from torch import nn

class Filter(nn.Module):
    def __init__(self):
        super().__init__()
        self.decay = nn.Parameter(torch.ones(4, 8))

    {decorator}
    def taken({parameters}):
        {body}

    def forward(self, size, *args, **kwargs):
        return self.taken(size, *args, **kwargs)
"""


@pytest.mark.parametrize(
    ("decorator", "parameters", "body", "is_told"),
    [
        ("", "self, size, *args", "return self.decay[:, :size] + torch.ones(8)[:size]", False),
        ("@torch.compile", "self, size, *args", "return self.decay[:, :size]", False),
        ("@staticmethod", "size, *args", "return torch.linspace(0, 1, size)", False),
        ("", "self, size, *args", "return self.decay[:, : int(size.sum())]", True),
        ("", "self, decay, size=1", "return self.decay[:, : int((decay * size).sum())]", True),
    ],
    ids=["as a bound", "compiled", "as a size", "as a tensor", "for another parameter"],
)
def test_what_a_method_hands_to_another_one_is_what_that_takes_it_for(
    tmp_path: Path, decorator: str, parameters: str, body: str, is_told: bool
) -> None:
    text = HEAD + OWN.format(decorator=decorator or "# plain", parameters=parameters, body=body)
    (tmp_path / "program.py").write_text(text, encoding="utf-8")
    analysis = analyse(tmp_path, "", regions=("program:Filter.forward",))
    assert is_told is any(place[2] in ("GL101", "GL304") for place in analysis.shown)
