"""What parameters of a declared region are, as far as nothing but their uses says it, and where tensors are made."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from analysis import analyse

from graphlint.finding import Confidence

HEAD = "import functools\nimport torch\nfrom torch import nn\n\n"

USES = {
    "a name that is compared with strings": """
        def step(x, mode):
            if "slow" in mode or mode == "late" or mode in ("a", "b"):
                return x.item()  # expect: GL101
            return x
        """,
    "a table by words, of which a method is called": """
        def step(x, cache):
            y = cache.max()
            return y + x if cache["is_filled"] else x * cache[0].item()  # expect: GL101
        """,
    "how large a number is": """
        def step(x, degree, rate, loss):
            assert degree <= 4 and degree >= 0
            y = x if 0.0 < rate else x + 1
            if degree > 2:
                y = y * x
            if loss > 0:  # expect: GL301
                return y + loss.exp()
            return y
        """,
    "a pair that is compared with one": """
        def step(x, window):
            if window == (-1, 0) or window[0] == -1:
                return x + 1
            return x
        """,
    "numbers among the data of a tensor": """
        def step(x, heads):
            heads_t = torch.tensor([heads])
            return x
        """,
    "an item that is handed on as a number": """
        import torch.distributed as dist
        def send(x, target):
            dist.isend(x, target)
        def keep(x, row):
            return x + row
        def step(x, ranks, rows):
            row = rows[1]
            target = ranks[0]
            send(x, target)
            return keep(x, row)[: rows[2]]  # expect: GL304
        """,
    "what is reckoned with, and is a size in the end": """
        def tiles(counts, experts, gates):
            most = gates
            if gates > experts:
                most = experts - 1 - (experts - gates - 1) // 16
            return counts + torch.ones(most, device=counts.device)
        def step(x: torch.Tensor, chosen, loss):
            tiles(x, 8, x.shape[0] * chosen)
            total = x.shape[0] * loss
            if total > 3:  # expect: GL301
                return total
        """,
    "a tuple that is taken apart into sizes, into bounds of slices, and into tensors": """
        def step(x, block, slices, pair):
            rows, _, columns = block
            count = (x.shape[1] + columns - 1) // columns
            if count * columns != x.shape[1]:
                x = x.new_zeros((4, count * columns))
            x = x.view(-1, count, columns)
            first, last = slices[0]
            query, key = pair
            if query.sum() > 0:  # expect: GL301
                return x[:, first : last + 1] + key
            return x + query
        """,
    "a size and the end of a slice": """
        def step(x, width, count):
            return x.reshape(-1, width)[:count]
        """,
    "sizes in what makes a mask, roots and multiples, and a tuple of sizes under a name": """
        import math
        def step(x, heads, length, width, eps):
            part = width
            assert part % 8 == 0
            shape = (heads, width)
            mask = torch.tril(torch.ones(length, length, device=x.device))
            x = (torch.matmul(x, mask) / math.sqrt(heads + 1)).view(shape)
            return torch.layer_norm(x, (x.shape[-1],), None, None, eps)
        """,
    "what its name says of a tensor that nobody knows": """
        def step(x: torch.Tensor, batch):
            lens_cpu = batch.lens[1:]
            most = lens_cpu.max().item() + batch.seq_lens_cpu_upper_bound[:4].max().item()
            return x[:most] + batch.seq_lens.max().item()  # expect: GL101
        """,
    "what a condition compares for equality": """
        def step(x, choices, model):
            return x if model.choices == choices else x + 1
        """,
    "a tensor that is compared, and scaled": """
        def step(x, limit, model):
            y = torch.exp(limit)
            return y if model.limit == limit else x  # expect: GL301
        """,
    "a tensor that a mask is computed of": """
        def step(x, length):
            mask = torch.tril(torch.exp(length))
            return x[:length] + mask  # expect: GL304
        """,
    "what a function does with it that it is handed to": """
        def pick(values, at):
            return values[:at] if at != "all" else values
        def step(x, at):
            return pick(x.exp(), at=at)
        """,
    "what is promised of it where it is handed to": """
        def blocks(x: torch.Tensor, size: int, extra: torch.Tensor):
            return x if x.numel() % size == 0 else extra.item()  # expect: GL101
        def step(x, size, extra):
            if size == 4:
                return blocks(x, size, extra)
            return x
        """,
    "a tensor that is a number for somebody": """
        def step(x, count):
            count = count.clamp(max=4)
            return x[:count]  # expect: GL304
        """,
    "the only input": """
        def step(count):
            return torch.ones(4, device="cuda")[:count]  # expect: GL304
        """,
}

PLACES = {
    "a module that sets the default device": """
        class Runner:
            def __init__(self):
                torch.set_default_device("cuda")
                try:
                    self.capture()
                finally:
                    torch.set_default_device("cpu")
            def capture(self):
                x, out = torch.zeros(4), torch.zeros(4)
                with torch.cuda.graph(torch.cuda.CUDAGraph()):
                    out[:2] = x[:2].cuda()
                    y = torch.ones(4, device="cpu").cuda()  # expect: GL202
        """,
    "one that does not": """
        def capture():
            x, out = torch.zeros(4), torch.zeros(4)
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                y = x.cuda()  # expect: GL202
                out[:2] = y[:2]  # expect: GL201
        """,
    "a caller that says where tensors are made": """
        class Runner:
            def __init__(self, device: torch.device):
                with device:
                    self.load()
                    self.capture()
            def load(self):
                self.inputs = torch.zeros(4)
            def capture(self):
                out = torch.zeros(4)
                with torch.cuda.graph(torch.cuda.CUDAGraph()):
                    out[:2] = self.inputs[:2].cuda()
                    y = torch.ones(4, device="cpu").cuda()  # expect: GL202
        """,
    "a constructor that is called there": """
        class Angles(nn.Module):
            def __init__(self):
                super().__init__()
                self.table = torch.linspace(0, 1, 4)
            def forward(self, x):
                return x + self.table.cuda() + torch.zeros(4).cuda()  # expect: GL202
        class Model(nn.Module):
            def __init__(self):
                super().__init__()
                self.angles = Angles()
            def forward(self, x):
                return self.angles(x)
        class Runner:
            def __init__(self):
                with torch.utils._device.DeviceContext("cuda"):
                    self.model = Model()
            def capture(self, x):
                with torch.cuda.graph(torch.cuda.CUDAGraph()):
                    y = self.model(x.cuda())
        """,
    "a device that is chosen at the top level": """
        PLACE = torch.device("cuda")
        def fill():
            return torch.zeros(4)
        def capture():
            out = fill()
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                out[:2] = torch.ones(2, device="cuda")
        with PLACE:
            capture()
        """,
    "callers that build on the host, or with sizes alone": """
        class Runner:
            def __init__(self):
                with torch.device("meta"):
                    self.load()
                with torch.device("cpu"):
                    self.capture()
            def load(self):
                self.inputs = torch.zeros(4)
            def capture(self):
                with torch.cuda.graph(torch.cuda.CUDAGraph()):
                    y = self.inputs.cuda()  # expect: GL202
        """,
    "a caller that says so of something else": """
        def warm_up(model):
            with torch.device("cuda"):
                model(torch.zeros(4))
        def build():
            return torch.zeros(4)
        def capture(model):
            x = build()
            warm_up(model)
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                y = model(x.cuda())  # expect: GL202
        """,
    "a module that the region makes": """
        class Basis(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("centres", torch.linspace(0, 1, 4))
                self.width = nn.Parameter(torch.ones(4))
            def reset(self):
                self.centres.copy_(torch.linspace(0, 1, 4))
                self.width.data.copy_(torch.ones(4))
        def step(x):
            Basis().reset()
            return x
        """,
    "one that is there": """
        class Basis(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("centres", torch.linspace(0, 1, 4))
            def forward(self, x):
                self.centres.copy_(torch.linspace(0, 1, 4))  # expect: GL202
                return x
        def step(x, basis: Basis):
            return basis(x)
        """,
    "one stride among several": """
        def step(x: torch.Tensor):
            return torch.arange(4, device=x.device) * x.stride(0) * x.size(1)
        """,
    "a string that is sought in what a tensor is one of": """
        class Optimizer:
            def __init__(self):
                self.state = {"step": torch.zeros(1, device="cuda")}
            def ready(self, name):
                return "moments" in self.state[name]
        def step(x, optimizer: Optimizer, name):
            return x if optimizer.ready(name) else x + 1
        """,
}


@pytest.mark.parametrize("program", [pytest.param(text, id=name) for name, text in (USES | PLACES).items()])
def test_a_value_is_what_its_uses_and_its_origin_say(tmp_path: Path, program: str) -> None:
    """What is marked is reported, and nothing else."""
    text = HEAD + textwrap.dedent(program)
    analysis = analyse(tmp_path, text, regions=("main:step",) if "def step" in text else ())
    assert analysis.expected == analysis.found


@pytest.mark.parametrize(
    ("given", "key", "confidence"),
    [("device", "x.device", Confidence.LOW), ("ids", "x", Confidence.MEDIUM)],
    ids=["what runs before a capture has asked for it", "each tensor is another key"],
)
def test_a_cached_function_runs_at_its_first_call(tmp_path: Path, given: str, key: str, confidence: Confidence) -> None:
    """What it does is told with that condition, what its cache does is not."""
    program = f"""{HEAD}
@functools.lru_cache(maxsize=4)
def table({given}):
    return torch.tensor([1, 2], device="cuda")
def step(x: torch.Tensor):
    return x + table({key})
"""
    findings = analyse(tmp_path, program, regions=("main:step",), confidence=Confidence.LOW).report.findings
    told = {finding.code: [condition.text for condition in finding.when] for finding in findings}
    assert told == {"GL203": ["table is called for the first time"], "GL502": []}
    assert confidence == next(finding.confidence for finding in findings if finding.code == "GL203")


@pytest.mark.parametrize("call", ["x.numpy()", "np.asarray(x)"])
def test_what_raises_in_eager_as_well_is_hardly_sure(tmp_path: Path, call: str) -> None:
    """Code that runs at all hands no device tensor to it."""
    program = f"import numpy as np\nimport torch\ndef step(x: torch.Tensor):\n    return {call}\n"
    assert analyse(tmp_path, program, regions=("main:step",)).found == []


@pytest.mark.parametrize("is_method", [True, False])
def test_a_method_may_be_given_numbers_alone(tmp_path: Path, is_method: bool) -> None:
    """Its object has tensors; where nothing else is in reach, one of the arguments is the input of the graph."""
    method = "class Filter(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    method += "        self.taps = nn.Parameter(torch.randn(4, 8))\n"
    method += "    @torch.compile(mode='reduce-overhead')\n    def first(self, n):\n        return self.taps[:, :n]\n"
    function = (
        "taps = torch.ones(4, 8)\n@torch.compile(mode='reduce-overhead')\ndef first(n):\n    return taps[:, :n]\n"
    )
    found = analyse(tmp_path, HEAD + (method if is_method else function)).report.findings
    assert is_method is not ("GL304" in {one.code for one in found})


LONGEST = """
import torch

def step(x: torch.Tensor, offsets: torch.Tensor, count: int):
    longest = count
    if {asked}:
        longest = offsets.sum()
    return x * max(longest, count)
"""


@pytest.mark.parametrize(("asked", "is_told"), [("offsets.ndim == 2", False), ("True", True)])
def test_the_larger_of_what_may_be_numbers_is_a_hint(tmp_path: Path, asked: str, is_told: bool) -> None:
    """No condition of the way says that one of them is a tensor."""
    found = analyse(tmp_path, LONGEST.format(asked=asked), regions=("main:step",)).shown
    assert ("GL301" in {code for _, _, code in found}) is is_told
