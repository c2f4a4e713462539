"""What is still known of a value after it went through containers, attributes, globals and other functions."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse, in_region

from graphlint.finding import Confidence

IN_REGION = {
    "the first elements of a tuple keep their place when others follow": """
        outputs = (x, 3)
        if number:
            outputs += (x,)
        for _ in range(outputs[1]):
            pass
        return outputs[0].item()  # expect: GL101
        """,
    "a slice of a tuple keeps its elements": """
        first, rest = (x, 3, 4)[0], (x, 3, 4)[1:]
        return range(rest[0]), first.item()  # expect: GL101
        """,
    "a mask of rank 0 is read where something is written through it": """
        total = x.sum()
        none = total == 0
        total[none] = 0  # expect: GL304
        x[x == 0] = 0
        """,
    "a tuple inside of an index is a list of numbers": """
        y = x.view(2, 2)
        y[:, (0, 1)]  # expect: GL204
        return y[(0, 1)], y[:, 0:1], y[(slice(None), 1)]
        """,
    "what stands before a star keeps its place": """
        first, scale, *rest = x, 3, *numbers, x
        return torch.ones(scale, device="cuda"), first.item()  # expect: GL101
        """,
    "unpacking with a star": """
        first, *middle, last = (x, 1, 2, x)
        return range(middle[0]), last.item()  # expect: GL101
        """,
    "a number that may be a tensor is no alarm": """
        length = 3 if number else x.sum()
        return torch.ones(length + 1, device="cuda"), length > 2 or None
        """,
    "an operator in place leaves the tensor where it was kept": """
        kept.total += 1
        return kept.total.item()  # expect: GL101
        """,
    "an index on the device of a tensor on the host is a number that the host reads": """
        table, steps = torch.linspace(0, 1, 8), torch.arange(8, device="cuda")
        y = table[steps.max()]  # expect: GL304
        return y, table[2], table[torch.tensor(2)]
        """,
    "how often a list or a text is repeated is read on the host": """
        count = x.argmax()
        print([0] * count)  # expect: GL101
        print("-" * count)  # expect: GL101
        scaled, pair = [0] * x.float(), x.sort()
        return [0] * 3, "-" * number, [0] * len(x), 3 * x, x * x, scaled, pair * x.argmax(), (0, 1) * 2
        """,
    "of a tensor without elements nothing is copied": """
        none = torch.Tensor().cuda(), torch.tensor([]).cuda(), torch.empty(0).cuda(), torch.zeros((0, 3)).to("cuda")
        some = torch.Tensor([1.0]).cuda()  # expect: GL202
        return none, some, torch.zeros(()).cuda()  # expect: GL202
        """,
    "what the predicate of a filter gives is asked for true or false": """
        kept = list(filter(lambda value: value > 0, x))  # expect: GL301
        return kept, list(filter(None, ["a", ""])), list(filter(lambda value: value.dim() > 0, [x, x]))
        """,
    "a mask with an index beside it is counted on the host": """
        mask, positions = x > 0, x.argsort()
        x[mask] = 0.0
        x[mask, 0] = 0.0
        x[mask, positions] = 0.0  # expect: GL305
        """,
    "one mask takes a number along, and two tensors of an index do not": """
        rows = torch.stack([unknown, unknown])[0]
        y = x.view(2, 2)
        y[rows] = 1.0
        y[rows, rows] = 1.0  # expect: GL204
        """,
    "an array that NumPy makes lies on the host": """
        import numpy as np
        order = np.random.permutation(4)  # expect: GL403
        y = x[order]  # expect: GL204
        return y, x[np.arange(2)], x[:2]  # expect: GL204
        """,
    "one element written from the host is uploaded, whether from a number or a tensor": """
        scalar = torch.tensor(0.5)
        x[0] = scalar  # expect: GL204
        x[:2] = scalar
        x[1] = x[0]
        """,
    "a module of torch is copied where it is moved": """
        made = torch.nn.Linear(4, 4)
        there = torch.nn.Linear(4, 4, device="cuda")
        made.cuda()  # expect: GL202
        there.cpu()  # expect: GL201
        torch.nn.Linear(4, 4).to("cuda", non_blocking=True)  # expect: GL202
        return there.to("cuda"), there.half(), torch.nn.ReLU().cuda(), torch.nn.Linear(4, 4).to(torch.half)
        """,
    "a module that is moved twice may be there already": """
        made = torch.nn.Linear(4, 4)
        made.cuda()
        made.cuda()
        """,
    "the predicate of `torch.cond` is read, and its branches are called": """
        def read(value):
            return value.tolist()  # expect: GL101
        torch.cond(number > 3, torch.sin, read, (x,))
        return torch.cond(x.any(), torch.sin, torch.cos, (x,))  # expect: GL101
        """,
    "what an operation does for a name of torch": """
        torch.nested.nested_tensor([x, x])
        torch.nested.nested_tensor([x, x], layout=torch.jagged)  # expect: GL202
        """,
    "the special methods of a tensor, called by name, and the functions of `operator`": """
        count, flag, mask = x.argmax(), x.any(), x > 0
        count.__index__()  # expect: GL101
        flag.__bool__()  # expect: GL301
        x.__repr__()  # expect: GL102
        x.__contains__(0.5)  # expect: GL301
        x.__getitem__(mask)  # expect: GL305
        operator.truth(flag)  # expect: GL301
        operator.getitem(x, mask)  # expect: GL305
        return x.__getitem__(0), x.__len__(), operator.getitem(x, 0), operator.contains([1, 2], 2)
        """,
    "a list of tensors is no number": """
        torch._foreach_add_([x, x], [x, x])
        torch._foreach_add_([x, x], x.sum())  # expect: GL101
        torch._foreach_mul_([x, x], x.sum())
        """,
    "an operator of ATen may be a function or a method": """
        torch.ops.aten.copy_(x, host)  # expect: GL202
        return torch.ops.aten.item.default(x.sum())  # expect: GL101
        """,
    "numbers copied into a tensor are uploaded": """
        x.copy_(3.0)  # expect: GL203
        x.copy_(unknown)
        """,
}
KEPT = """
import operator
class Kept:
    def __init__(self):
        self.total = torch.zeros((), device="cuda")
kept = Kept()
"""
PROGRAMS = {
    "a global that a function rebinds is not what it was": """
        import torch
        _active = None
        _static = None
        def begin(context):
            global _active
            _active = context
        def run(x):
            if _static is not None:
                return x.tolist()
            if _active is None:
                return x
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                return x.item()  # expect: GL101
        """,
    "a function that is for the host": """
        import torch
        import settings
        def moved_cpu(x):
            return x.tolist()
        def moved_cuda(x):
            return x.item()  # expect: GL101
        moved = moved_cpu if settings.HOST else moved_cuda
        def main(x):
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                moved(x)
        """,
    "a name that says the host": """
        import torch
        def step(x: torch.Tensor, lengths_cpu: torch.Tensor):
            return int(lengths_cpu.max()), int(x.max())  # expect: GL101
        def main(x, batch):
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                step(x, batch.lengths)
        """,
    "a name that says the host, of what a closure reads": """
        import torch
        def main(batch, lens_cpu, lens):
            ends = torch.cumsum(lens_cpu, 0), torch.cumsum(lens, 0)
            def step():
                return int(lens_cpu.max()), int(lens.max())  # expect: GL101
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                step()
        """,
    "a device that is not known is no host": """
        import torch
        class Runner:
            def __init__(self, device):
                with torch.device(device):
                    self.ids = torch.zeros(4, dtype=torch.int64)
                self.host = torch.zeros(4, dtype=torch.int64)
                self.table = torch.zeros(4, device="cuda")
            def run(self):
                with torch.cuda.graph(torch.cuda.CUDAGraph()):
                    a = self.table[self.ids]
                    b = self.table[self.host]  # expect: GL204
        """,
    "a region in a function that is kept": """
        import torch
        class Module:
            def __init__(self, inner):
                def call(x):
                    with torch.cuda.graph(torch.cuda.CUDAGraph()):
                        return x.item()  # expect: GL101
                self.call = call
        """,
    "an object that captures what it was given": """
        # file: graphed.py
        import torch
        class Graphed:
            def __init__(self, function):
                self.function = function
            def __call__(self, *args):
                with torch.cuda.graph(torch.cuda.CUDAGraph()):
                    return self.function(*args)
        # file: model.py
        import torch
        from graphed import Graphed
        class Model:
            def build(self):
                self.fast = Graphed(self.step)
            def step(self, x: torch.Tensor):
                return x.item()  # expect: GL101
            def other(self, x: torch.Tensor):
                return x.item()
        """,
    "an abstract method runs on the classes that have it": """
        # file: base.py
        class Encoder:
            def encode(self, x):
                raise NotImplementedError
        # file: encoders.py
        from base import Encoder
        class Tower:
            def __call__(self, x):
                return x.item()  # expect: GL101
        class Vision(Encoder):
            def __init__(self):
                self.tower = Tower()
            def encode(self, x):
                return self.tower(x)
        # file: runner.py
        import torch
        from base import Encoder
        def capture(model: Encoder, x: torch.Tensor):
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                model.encode(x)
        """,
    "a parameter is what its class says of the attribute of its name": """
        import torch
        class Scale:
            def apply(self, x):
                return x.item()  # expect: GL101
        class Base:
            scale: Scale
        class Model(Base):
            def __init__(self, scale):
                self.inner = scale
            def run(self, x: torch.Tensor):
                with torch.cuda.graph(torch.cuda.CUDAGraph()):
                    self.inner.apply(x)
        """,
    "what is changed in place is not kept anew": """
        import torch
        class Runner:
            def __init__(self, scores):
                self.scores = scores
                self.last = None
            def step(self, x):
                self.scores += x * 2
                self.last = x * 2
            def other(self, x):
                self.scores = self.scores + x  # expect: GL501
            def capture(self):
                x = torch.ones(8, device="cuda")
                with torch.cuda.graph(torch.cuda.CUDAGraph()):
                    self.step(x)
                with torch.cuda.graph(torch.cuda.CUDAGraph()):
                    self.other(x)
        """,
    "a list that is made anew does not grow": """
        import torch
        class Runner:
            def __init__(self):
                self.rows = []
                self.history = []
            def step(self, x):
                self.rows = []
                self.rows.append(x * 2)
                self.history.append(x * 2)  # expect: GL505
            def capture(self):
                x = torch.ones(8, device="cuda")
                with torch.cuda.graph(torch.cuda.CUDAGraph()):
                    self.step(x)
        """,
    "what a class keeps outlives the region": """
        import torch
        class Rotary:
            tables = {}
            last = None
            def table(self, n):
                if n not in Rotary.tables:
                    Rotary.tables[n] = torch.arange(n, device="cuda")  # expect: GL501
                Rotary.last = torch.ones(n, device="cuda")  # expect: GL501
                return Rotary.tables[n]
        def capture():
            rotary = Rotary()
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                found = {}
                found[4] = rotary.table(4)
            return rotary.table(8)
        """,
    "a list in a table grows": """
        import torch
        RESULTS = {"loss": []}
        def keep(name, value):
            RESULTS[name].append(value)  # expect: GL505
        def step(x):
            y = x * 2
            keep("loss", y)
            found = {"loss": []}
            found["loss"].append(y)
            return found
        def capture():
            x = torch.ones(8, device="cuda")
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                step(x)
        """,
    "a branch of `torch.where` that may be None is given": """
        import torch
        def pick(mask, x, given=None):
            if given is None:
                torch.where(mask)  # expect: GL303
            return torch.where(mask, given, 0)
        def capture(mask: torch.Tensor, x: torch.Tensor):
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                pick(mask, x)
        """,
    "a flag that is worked out pins where there is a GPU": """
        import torch
        class Writer:
            def __init__(self, device):
                self.pinned = torch.empty(8, pin_memory=device.type == "cuda")
                self.pageable = torch.empty(8)
            def capture(self, x: torch.Tensor):
                with torch.cuda.graph(torch.cuda.CUDAGraph()):
                    self.pinned.copy_(x, non_blocking=True)
                    self.pageable.copy_(x, non_blocking=True)  # expect: GL201
        """,
    "memory of Warp belongs to its own capture": """
        import torch
        import warp as wp
        def fill():
            return wp.zeros(8)
        def scratch(array):
            return wp.empty_like(array)  # expect: GL503
        def captured(stream):
            with wp.ScopedCapture() as capture:
                fill()
            with torch.cuda.graph(torch.cuda.CUDAGraph(), stream=stream):
                with wp.ScopedStream(wp.stream_from_torch(stream)):
                    fill()
        def foreign():
            wp.capture_begin()
            fill()
            torch.ones(8, device="cuda")  # expect: GL503
            wp.capture_end()
            array = fill()
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                scratch(array)
        """,
    "recursion over what nests ever deeper ends": """
        import torch
        def flatten(value):
            if isinstance(value, tuple):
                return [flat for part in value for flat in flatten((part, value))]
            return [value]
        def run(x: torch.Tensor):
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                flatten((x, (x, x)))
                x.item()  # expect: GL101
        """,
    "what is promised to be a number is none of the tensors among unknown keywords": """
        import torch
        from elsewhere import wanted
        def message(x: torch.Tensor, size: int | None, index, scale: float = 1.0):
            index.item()  # expect: GL101
            return x.new_zeros(size), x.new_zeros(index)  # expect: GL304
        def run(x: torch.Tensor):
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                message(**{name: value for name, value in {"x": x, "index": x}.items() if name in wanted})
        """,
    "an optimizer updates tensors on the device": """
        import torch
        class Sign(torch.optim.Optimizer):
            def step(self, closure=None):
                for group in self.param_groups:
                    if group["lr"] > 0:
                        for p in group["params"]:
                            p.add_(p.sign(), alpha=-p.norm().item())  # expect: GL101
        def run(optimizer: Sign, loss: torch.Tensor):
            for group in optimizer.param_groups:
                if group["params"][0].max() < 0:
                    return
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                optimizer.step()
        """,
    "recursion of a nested function over objects that nest ever deeper ends": """
        import torch
        class Interval:
            def __init__(self, start, end, parent):
                self.start, self.end, self.parent = start, end, parent
            def left(self):
                return Interval(self.start, (self.start + self.end) / 2, self)
            def right(self):
                return Interval((self.start + self.end) / 2, self.end, self)
        def build(x: torch.Tensor, number: int):
            def split(interval):
                interval.end.item()
                x.item()  # expect: GL101
                if interval.end - interval.start > number:
                    split(interval.left())
                    split(interval.right())
            split(Interval(0, 100, None))
        def run(x: torch.Tensor, number: int):
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                build(x, number)
        """,
}


@pytest.mark.parametrize("body", IN_REGION.values(), ids=IN_REGION)
def test_a_value_is_known_behind_what_it_went_through(tmp_path: Path, body: str) -> None:
    """Exact lines, both directions."""
    analysis = analyse(tmp_path, in_region(body, KEPT))
    assert analysis.expected == analysis.found


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_is_judged_by_what_reaches_its_region(tmp_path: Path, program: str) -> None:
    """Exact lines, both directions."""
    analysis = analyse(tmp_path, program)
    assert analysis.expected == analysis.found


@pytest.mark.parametrize(
    ("condition", "confidence"),
    [
        ("mask is not None and mask.any()", "medium"),
        ("other is not None and mask.any()", "low"),
        ("mask.dtype == torch.float16 and mask.any()", "low"),
        ("mask.any()", "medium"),
        ("flag", "low"),
    ],
)
def test_a_guard_that_is_not_known_is_a_doubt(tmp_path: Path, condition: str, confidence: str) -> None:
    """A test of None or of a kind says what the value is; any other comparison may well be false."""
    program = f"""
        import torch
        def step(mask: torch.Tensor | None, other: torch.Tensor | None, flag):
            if {condition}:
                return 1
        """
    for least in ("low", "medium", "high"):
        found = analyse(tmp_path, program, regions=("main:step",), confidence=_confidence(least)).found
        assert bool(found) is (_confidence(least) <= _confidence(confidence))


def _confidence(name: str) -> Confidence:
    return Confidence[name.upper()]


@pytest.mark.parametrize(
    "made",
    ["numpy.polynomial.legendre.leggauss(4)[1]", "numpy.linalg.eigh(numpy.ones((2, 2)))[0]", "numpy.fft.rfft([1.0])"],
)
@pytest.mark.parametrize("form", ["0.5 * {}", "{} * 2", "-{}", "{} + numpy.pi"])
def test_what_numpy_makes_stays_on_the_host_in_whatever_it_is_worked_into(tmp_path: Path, made: str, form: str) -> None:
    """Also where no table knows the function."""
    program = in_region(f"steps = ({form.format(made)}).tolist()\nread = (0.5 * x).tolist()", "import numpy")
    assert [(line, code) for _, line, code in analyse(tmp_path, program).found] == [(7, "GL101")]


@pytest.mark.parametrize(
    ("made", "is_sure"),
    [
        ("torch.Tensor([True])", True),
        ("torch.Tensor([not hint])", True),
        ("torch.FloatTensor(1)", True),
        ("torch.LongTensor([0])", True),
        ("torch.Tensor(given)", False),
        ("torch.FloatTensor(unknown())", False),
    ],
)
def test_a_flag_that_an_old_constructor_makes_is_a_tensor_of_known_size(
    tmp_path: Path, made: str, is_sure: bool
) -> None:
    """What has a truth has one element; of a size that nobody knows it may be many, and then nobody asks."""
    program = f"""
        import torch
        from engine import unknown
        class Codebook(torch.nn.Module):
            def __init__(self, given, hint: int = False):
                super().__init__()
                self.register_buffer("is_filled", {made})
            def forward(self, x):
                if self.is_filled:
                    return x
                return x * 2
        def capture(x: torch.Tensor, given):
            book = Codebook(given).cuda()
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                y = book(x)
        """
    found = analyse(tmp_path, program, confidence=Confidence.LOW).report.findings
    assert [(one.code, one.confidence is Confidence.HIGH) for one in found] == [("GL301", is_sure)]
