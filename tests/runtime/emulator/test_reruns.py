"""Programs that capture by themselves: each replay beside the same code without a graph."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from programs import verified  # noqa: E402

from graphlint.runtime.judge.callables import _node_that_drops_a_gradient  # noqa: E402

ASKS = """
def shrink(x):
    if torch.cuda.is_current_stream_capturing():
        return {captured}
    return x / x.sum()

with torch.cuda.graph(graph):
    y = shrink(x)
x.copy_(torch.full((4,), 2.0, device="cuda"))
graph.replay()
"""

MANAGED = """
class Capture:
    def __enter__(self):
        self.around = torch.cuda.stream(stream)
        self.around.__enter__()
        graph.capture_begin()
    def __exit__(self, *failure):
        graph.capture_end()
        self.around.__exit__(*failure)

@contextlib.contextmanager
def recording():
    with torch.cuda.graph(graph):
        yield

class Base:
    def step(self, x):
        return x * 2

class Model(Base):
    def step(self, x):
        self.__scale = 3
        with {manager}:
            ys = [super(Model, self).step(x) * self.__scale for _ in range(2)]
            y = super().step(ys[0]) if {asked} else ys[1]
        graph.replay()
        return y

Model().step(x)
"""

LET_GO = """
import gc, weakref

todo = [1]

def main():
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x + todo.pop()
    graph.replay()
    return weakref.ref(graph)

gc.disable()
assert main()() is None
"""

TABLE = """
class Table(dict):
    def put(self, key, value):
        self[key] = value

def policy(table):
    {step}
    return table

table = Table(x=x)
with torch.cuda.graph(graph):
    out = policy(table)
for value in (2.0, 3.0, 4.0):
    x.fill_(value)
    graph.replay()
    log.append(out["y"].sum().item())
"""

DROPPED = """
class Batch:
    def __init__(self, rows):
        self.rows, self.scale = rows, scale

def capture():
    batch = Batch(x[:2])
    def once():
        return batch.rows * batch.scale
    {local}
    with torch.cuda.graph(graph):
        y.copy_(once())

scale, y = torch.ones(2, device="cuda"), torch.zeros(2, device="cuda")
capture()
for value in (2.0, 3.0):
    x.fill_(value)
    scale{changed}
    graph.replay()
    log.append(y.sum().item())
"""

BETWEEN = """
def record(x):
    with torch.cuda.stream(stream):
        graph.capture_begin()
        y = x * 2 if {asked} else x * 3
        graph.capture_end()
    graph.replay()
    return y

record(x)
"""

TRAINS = """
optimizer = torch.optim.{optimizer}([w], lr=0.1, {options})
def step():
    {zero}
    loss = (w * x).sum()
    loss.backward()
    optimizer.step()
    return loss

with torch.cuda.stream(stream):
    for _ in range(3):
        optimizer.zero_grad(set_to_none=True)
        (w * x).sum().backward()
        optimizer.step()
optimizer.zero_grad(set_to_none=True)
with torch.cuda.graph(graph):
    loss = step()
for number in range(5):
    x.copy_(torch.full((4,), float(number), device="cuda"))
    graph.replay()
"""

AROUND = """
class Context:
    def __init__(self, scale): self.scale = scale
context = None
def use(scale):
    global context
    context = Context(scale)
def step():
    return x * context.scale

scale = torch.ones(4, device="cuda")
use(scale)
with torch.cuda.graph(graph):
    y = step()
for number in range(3):
    use(torch.full((4,), float(number), device="cuda"))
    {filled}
    x.add_(1)
    graph.replay()
    log.append(y.sum().item())
"""

GATHERS = """
optimizer = torch.optim.SGD([w], lr=0.1)
(w * x).sum().backward()
optimizer.zero_grad(set_to_none=False)
with torch.cuda.graph(graph):
    (w * x).sum().backward()
update = torch.cuda.CUDAGraph()
with torch.cuda.graph(update):
    optimizer.step()
    {inside}
for _ in range(3):
    graph.replay()
    graph.replay()
    update.replay()
    {behind}
"""

KEEPS = """
class Runner:
    def __init__(self):
        self.graphs, self.state = {{}}, torch.zeros(4, device="cuda")
    def record(self, n):
        graph, outputs = torch.cuda.CUDAGraph(), []
        with torch.cuda.graph(graph):
            self.state.add_(x)
            out = (x + self.state)[:n]
            outputs.append(out)
            print("captured", n)
        self.graphs[n] = graph, outputs.pop()
    def run(self, n):
        graph, out = self.graphs[n]
        graph.replay()
        return out.clone()

runner = Runner()
for n in (2, 4):
    runner.record(n)
for n in (2, 4, 2):
    x.copy_(torch.full((4,), float(n), device="cuda"))
    log.append(runner.run(n))
assert runner.state[0].item() == 8, runner.state
assert log[0][0].item() == 4 and log[1][0].item() == 10 and log[2][0].item() == 10
"""

DRAWS = """
model = torch.nn.Dropout(0.5).cuda()
before = torch.cuda.get_rng_state()
with torch.cuda.graph(graph):
    y = model(x) if {asked} else torch.nn.functional.dropout(x + 0, 0.5)
graph.replay()
"""

TAKES = """
numbers = {iterator}
with torch.cuda.graph(graph):
    y = x * {value}
graph.replay()
"""
REFUSED = """
def forward(x):
    log.append(1)
    if x.max() > 0:
        x = x * 2
    print(x)
    return x[x.nonzero()].sum().item()

{caught}:
    with torch.cuda.graph(graph):
        y = forward(x)
{handled}
assert log == [1], log
"""
PRECISE = """
model = torch.nn.Linear(4, 4).cuda()
def record(precision):
    is_low = precision == "low"
    with torch.no_grad(), torch.autocast("cuda", enabled=is_low, cache_enabled=False), torch.cuda.graph(graph):
        return model(x)

y = record("{captured}")
with contextlib.ExitStack() as around:
    {around}
    graph.replay()
assert y.dtype is torch.{dtype}
"""
LOWER = "around.enter_context(torch.autocast('cuda', dtype=torch.{}))"
PADDED = """
keys, used = torch.full((4, 2), {empty}, device="cuda"), torch.zeros(4, 1, device="cuda")
with torch.cuda.graph(graph):
    y = torch.where(used > 0, keys, 0.0).sum() if {is_masked} else (keys * used).sum()
keys[:2].fill_(1.0)
used.copy_(torch.tensor([[1.0], [1.0], [0.0], [0.0]], device="cuda"))
graph.replay()
"""
NAN = "float('nan')"
THREADS = """
import threading
with torch.cuda.graph(graph):
    y = x * 2
workers = [threading.Thread(target=graph.replay) for _ in range(2)]
for each in (threading.Thread.start, threading.Thread.join):
    list(map(each, workers))
"""
LOCKS = """
class Box:
    is_locked = False
    def fill(self, value):
        if self.is_locked:
            {locked}
        value.add_(1)

box = Box()
with torch.cuda.graph(graph):
    y = x * 2
    box.fill(y)
box.is_locked = True
for _ in range(2):
    graph.replay()
"""
CAPTURING = "torch.cuda.is_current_stream_capturing()"


@pytest.mark.parametrize(
    ("program", "codes"),
    [
        (ASKS.format(captured="x * 1"), {"GL405"}),
        (ASKS.format(captured="x * 0.125"), set()),
        (ASKS.format(captured="x / x.sum()"), set()),
        (MANAGED.format(manager="torch.cuda.graph(graph)", asked=CAPTURING), {"GL405"}),
        (MANAGED.format(manager="torch.cuda.graph(graph)", asked="True"), set()),
        (MANAGED.format(manager="recording()", asked=CAPTURING), {"GL405"}),
        (MANAGED.format(manager="recording()", asked="True"), set()),
        (MANAGED.format(manager="Capture()", asked=CAPTURING), {"GL405"}),
        (MANAGED.format(manager="Capture()", asked="True"), set()),
        (BETWEEN.format(asked=CAPTURING), {"GL405"}),
        (BETWEEN.format(asked="True"), set()),
        (TRAINS.format(optimizer="SGD", options="momentum=0.9", zero="pass"), set()),
        (TRAINS.format(optimizer="Adam", options="capturable=True", zero="pass"), set()),
        (TRAINS.format(optimizer="Adam", options="capturable=True", zero="optimizer.zero_grad()"), set()),
        (AROUND.format(filled="scale.copy_(context.scale)"), set()),
        (AROUND.format(filled="pass"), {"GL508"}),
        (GATHERS.format(inside="optimizer.zero_grad(set_to_none=False)", behind="pass"), set()),
        (GATHERS.format(inside="pass", behind="optimizer.zero_grad(set_to_none=False)"), set()),
        (GATHERS.format(inside="w.grad.mul_(0.5)", behind="pass"), {"GL705"}),
        (KEEPS.format(), set()),
        (DRAWS.format(asked="True"), set()),
        (DRAWS.format(asked=CAPTURING), set()),
        (TABLE.format(step="table.put('y', table['x'] * 2)"), set()),
        (TABLE.format(step="'y' in table or table.put('y', x * 0); table['y'].add_(table['x'])"), {"GL402"}),
        (TAKES.format(iterator="iter([2, 3, 4])", value="next(numbers)"), {"GL402"}),
        (TAKES.format(iterator="(one for one in (2, 3))", value="next(numbers)"), {"GL402"}),
        (TAKES.format(iterator="itertools.count(2)", value="next(numbers)"), {"GL402"}),
        (TAKES.format(iterator="iter([2, 3, 4])", value="next(iter([2, 3]))"), set()),
        (PADDED.format(empty=NAN, is_masked=False), {"GL511"}),
        (PADDED.format(empty=NAN, is_masked=True), set()),
        (PADDED.format(empty="0.0", is_masked=False), set()),
        (PRECISE.format(captured="low", around="pass", dtype="float16"), set()),
        (PRECISE.format(captured="low", around=LOWER.format("float16"), dtype="float16"), set()),
        (PRECISE.format(captured="low", around=LOWER.format("bfloat16"), dtype="float16"), {"GL405"}),
        (PRECISE.format(captured="full", around="pass", dtype="float32"), set()),
        (PRECISE.format(captured="full", around=LOWER.format("float16"), dtype="float32"), {"GL405"}),
    ],
)
def test_a_replay_is_compared_with_its_own_code(tmp_path: Path, program: str, codes: set[str]) -> None:
    """What differs is told, and nothing that the comparison does is seen by the program."""
    assert codes == verified(tmp_path, program)[0]


@pytest.mark.parametrize(("local", "compared"), [("pass", 2), ("batch.rows = batch.rows.clone()", 0)])
def test_what_a_function_has_dropped_is_made_again(tmp_path: Path, local: str, compared: int) -> None:
    """Views of memory that somebody holds, and what holds those; not memory that nobody holds."""
    codes, report = verified(tmp_path, DROPPED.format(local=local, changed=".mul_(2)"))
    assert compared == report.targets[0].measured["compared"]
    assert (codes == set()) == bool(compared)


def test_what_is_not_compared_is_told(tmp_path: Path) -> None:
    """By its place and with the reason; what is compared is counted."""
    _, report = verified(tmp_path, TAKES.format(iterator="iter([2, 3, 4])", value="next(numbers)"))
    assert "program.py:12 is not compared with eager, since it takes from an iterator" in report.targets[0].unseen
    assert report.targets[0].measured["compared"] == 0
    _, report = verified(tmp_path, THREADS)
    assert "program.py:12 is not compared with eager, since another thread replays it" in report.targets[0].unseen
    _, report = verified(tmp_path, ASKS.format(captured="x * 1"))
    assert report.targets[0].measured["compared"] == 1 and report.targets[0].unseen == ""


def test_a_graph_that_is_not_compared_is_let_go_with_its_last_name(tmp_path: Path) -> None:
    """A collection may come in the next capture, where none can be given back; Python 3.12 leaves a cycle."""
    codes, report = verified(tmp_path, LET_GO)
    assert "GL003" not in codes and "it fails when it runs again" in report.targets[0].unseen


@pytest.mark.parametrize(
    ("locked", "codes", "verdict"),
    [
        ("raise RuntimeError('locked')", set(), "safe"),
        ("value.mul_(2)", {"GL402"}, "differs"),
        ("pass", set(), "safe"),
    ],
)
def test_a_value_is_frozen_where_the_block_runs_with_another_one(
    tmp_path: Path, locked: str, codes: set[str], verdict: str
) -> None:
    """Where it runs no more, nothing says that it would have mattered; which part was not compared is told."""
    found, report = verified(tmp_path, LOCKS.format(locked=locked))
    assert (found, report.targets[0].verdict) == (codes, verdict)
    assert ("fails when it runs again: RuntimeError: locked" in report.targets[0].unseen) == ("raise" in locked)


@pytest.mark.parametrize("handled", ["finally:\n    pass", "except RuntimeError:\n    pass"])
def test_all_that_a_capture_refuses_is_told(tmp_path: Path, handled: str) -> None:
    """And not only what ended it; the program sees nothing of the other captures."""
    codes, report = verified(tmp_path, REFUSED.format(caught="try", handled=handled))
    assert codes == {"GL101", "GL102", "GL301", "GL303"}
    assert report.targets[0].measured["captures"] == 1


GRAPHED = """
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm, self.drop = torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.5)
        self.scale = 2
    def forward(self, x):
        y = self.drop(self.norm(self.linear(x)))
        return y * self.scale, (y * {factor}).sum()

block = Block().cuda()
with torch.autocast("cuda", enabled={is_low}, cache_enabled=False):
    block = torch.cuda.make_graphed_callables(block, (torch.randn(8, 4, device="cuda"),))
block.scale = {scale}
optimizer = torch.optim.SGD(block.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    with torch.autocast("cuda", enabled={is_low}, cache_enabled=False):
        y, loss = block(torch.randn(8, 4, device="cuda"))
    (y.sum() + loss).backward()
    optimizer.step()
"""


SCALED = """
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, gradient):
        return gradient * {factor}

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
    def forward(self, x):
        return torch.nn.functional.dropout(Scale.apply(self.linear(x)))

block = torch.cuda.make_graphed_callables(Block().cuda(), (torch.randn(8, 4, device="cuda"),))
for _ in range(2):
    block.zero_grad()
    block(torch.randn(8, 4, device="cuda")).sum().backward()
"""

NAMED = """
def block(given):
    return {{"output": torch.gather(given["x"], 0, given["index"]) * {factor}}}

sample = torch.ones(4, 4, device="cuda", requires_grad={sample_needs})
index = torch.zeros(4, 4, device="cuda", dtype=torch.int64)
run = torch.cuda.make_graphed_callables(block, ({{"x": sample, "index": index}},))
for _ in range(2):
    x = torch.rand(4, 4, device="cuda", requires_grad=True)
    y = run({{"x": x, "index": index}})["output"]
    {then}
"""
BACKWARD = "y.sum().backward()"


@pytest.mark.parametrize(
    ("program", "codes"),
    [
        (NAMED.format(factor=2, sample_needs=False, then="log.append(y.detach().sum().item())"), set()),
        (NAMED.format(factor=2, sample_needs=True, then=BACKWARD), set()),
        (NAMED.format(factor=2, sample_needs=False, then=f"{BACKWARD} if False else None"), set()),
        (NAMED.format(factor=f"(3 if {CAPTURING} else 4)", sample_needs=True, then=BACKWARD), {"GL405"}),
        (
            NAMED.format(factor="given.get('by', 2)", sample_needs=False, then=BACKWARD),
            {"GL703"},
        ),
    ],
)
def test_arguments_of_a_graphed_callable_are_what_it_was_called_with(
    tmp_path: Path, program: str, codes: set[str]
) -> None:
    """Tensors in dictionaries as well; that a gradient has no place is told where a backward asks for it."""
    found, report = verified(tmp_path, program)
    assert found == codes and report.targets[0].measured["compared"] and report.targets[0].unseen == ""


@pytest.mark.parametrize("sample_needs", [False, True])
@pytest.mark.parametrize("before", [(), (False,)])
def test_inputs_of_autograd_are_those_of_the_graph_behind_what_a_release_puts_before_them(
    before: tuple[bool, ...], sample_needs: bool
) -> None:
    """Torch 2.15 hands its graphs in as well."""
    context = SimpleNamespace(needs_input_grad=(*before, True, False))

    def forward(ctx: object) -> object:
        static_input_surface = (torch.ones(1, requires_grad=sample_needs), torch.ones(1))
        return _node_that_drops_a_gradient() if static_input_surface else None

    assert forward(context) is (None if sample_needs else context)


@pytest.mark.parametrize(
    ("program", "codes"),
    [
        (GRAPHED.format(factor=3, scale=2, is_low=False), set()),
        (GRAPHED.format(factor=3, scale=2, is_low=True), set()),
        (SCALED.format(factor=2), set()),
        (SCALED.format(factor=f"(2 if {CAPTURING} else 3)"), {"GL405"}),
        (GRAPHED.format(factor=3, scale=3, is_low=False), {"GL402"}),
        (GRAPHED.format(factor=f"(3 if {CAPTURING} else 4)", scale=2, is_low=False), {"GL405"}),
    ],
)
def test_a_graphed_callable_is_compared_forward_and_backward(tmp_path: Path, program: str, codes: set[str]) -> None:
    """With the module as it is now, on the inputs that torch has copied for the graph."""
    found, report = verified(tmp_path, program)
    assert found == codes and report.targets[0].measured["compared"] == 4 and report.targets[0].unseen == ""


NESTED = """
whole, batch = torch.cuda.CUDAGraph(), torch.full((4,), 2.0, device="cuda")
with torch.cuda.graph(graph):
    y = x * 2

def double(value):
    if torch.cuda.is_current_stream_capturing():
        return {captured}
    x.copy_(value)
    graph.replay()
    return y.clone()

with torch.cuda.graph(whole):
    z = double(batch) + 1
batch.fill_(3.0)
whole.replay()
"""


@pytest.mark.parametrize(("captured", "found"), [("value * 2", set()), ("value * 3", {"GL405"})])
def test_a_graph_that_is_replayed_in_eager_mode_alone_leaves_nothing_to_compare(
    tmp_path: Path, captured: str, found: set[str]
) -> None:
    """Its memory is its own: what counts is what the way of the capture gives."""
    codes, _ = verified(tmp_path, NESTED.format(captured=captured))
    assert found == codes
