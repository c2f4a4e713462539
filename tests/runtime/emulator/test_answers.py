"""What programs ask of a device, and check: the emulator answers as a GPU would, or says that it does not know."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from programs import HEAD, verified  # noqa: E402

from graphlint import runtime  # noqa: E402
from graphlint.config import load_config  # noqa: E402
from graphlint.errors import UsageError  # noqa: E402
from graphlint.finding import Report  # noqa: E402
from graphlint.rulebook import builtin_rules, load_rulebook  # noqa: E402
from graphlint.runtime.device.emulator import library, memory  # noqa: E402
from graphlint.runtime.watch.failures import is_own  # noqa: E402

DEFAULT_DEVICE = """
torch.set_default_device("cuda")
with torch.cuda.graph(graph):
    y = torch.ones(4) * {factor}
with torch.device("cuda"):
    graph.replay()
    assert y.tolist() == [3.0] * 4
"""

GENERATORS = """
def draw(generator, one, other):
    generator.graphsafe_set_state(one)
    drawn = [torch.rand(3, device="cuda", generator=generator)]
    generator.graphsafe_set_state(other)
    return drawn + [torch.rand(3, device="cuda", generator=generator) for _ in range(2)]

def states(generator):
    generator.manual_seed(7)
    return generator, generator.graphsafe_get_state(), generator.clone_state()

known, beside = states(torch.cuda.default_generators[0]), states(torch.Generator("cuda"))
for state in known[{first}:]:
    graph.register_generator_state(state)
with torch.cuda.graph(graph):
    before = known[0].graphsafe_get_state()
    drawn = draw(*known)
    known[0].graphsafe_set_state(before)
for _ in range(3):
    expected = draw(*beside)
    graph.replay()
    assert all(map(torch.equal, drawn, expected))
"""

OUT_OF_MEMORY = """
try:
    with torch.cuda.graph(graph):
        y = torch.zeros(2 ** {power}, device="cuda")
except torch.OutOfMemoryError as error:
    assert "CUDA out of memory" in str(error)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = torch.zeros(4, device="cuda")
graph.replay()
"""

EMPTY = """
import warnings

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with torch.cuda.graph(graph):
        y = {captured}
assert any("CUDA Graph is empty" in str(one.message) for one in caught) is {is_empty}
graph.replay()
"""

TIMED = """
begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
with torch.cuda.graph(graph):
    y = x * 2
begin.record()
graph.replay()
end.record()
end.synchronize()
log.append(1000 / begin.elapsed_time(end))
"""

MEMORY = """
large = torch.ones(4 << 20, device="cuda")

def asked(name, pool="all"):
    return torch.cuda.memory_stats()[f"{{name}}.{{pool}}.current"]

names = ("allocation", "allocated_bytes", "reserved_bytes")
before = [asked(name) for name in names]
with torch.cuda.graph(graph):
    z = large * 2
graph.replay()
pools = [one["segment_pool_id"] for one in torch.cuda.memory_snapshot() if one["segment_pool_id"] != (0, 0)]
assert pools and set(pools) == {{graph.pool()}}
{ends}
now = [asked(name) for name in names]
assert [one - other for one, other in zip(now, before)] == {more}
assert torch.cuda.max_memory_allocated() >= torch.cuda.memory_allocated() >= large.nbytes
assert "allocated memory" in torch.cuda.memory_summary().lower()
"""
STATES = 2  # blocks for the state of a generator

FREED = """
total = torch.ones(4, device="cuda", dtype=torch.int64)
kept = {kept}
with torch.cuda.graph(graph):
    total.fill_(2)
    total = total + 3
graph.replay()
assert total.tolist() == [5] * 4
"""


FAKE = """
from torch._subclasses import FakeTensorMode

with FakeTensorMode():
    fake = torch.rand(6, 5, device="cuda")[1:]
    fake = fake @ fake.t()
assert (fake.device.type, fake.shape) == ("cuda", (5, 5))
with torch.cuda.graph(graph):
    y = x * {factor}
graph.replay()
"""

# A number of a device is one, as `torch.cuda.current_device()` gives it.
NUMBERED = """
device = torch.cuda.current_device()
made = torch.zeros(4, device=device), torch.empty_like(torch.ones(4), device=device), torch.tensor([1.0], device=device)
layer = torch.nn.Linear(4, 4).to(device)
assert {{one.device for one in (*made, layer.weight, torch.ones(1).to(device))}} == {{torch.device("cuda", 0)}}
with torch.cuda.graph(graph):
    y = layer(x) + torch.arange(4, device=device) * {factor}
graph.replay()
"""

# Workers that are forked, and a thread that pins what they give, on the device that it sets.
LOADED = """
from torch.utils.data import DataLoader
torch.accelerator.set_device_index(torch.accelerator.current_device_index())
assert torch.accelerator.memory_allocated() == torch.cuda.memory_allocated() > 0
loader = DataLoader(torch.eye(4), num_workers=1, pin_memory=True)
with torch.cuda.graph(graph):
    y = x * {factor}
for row in loader:
    assert row.is_pinned()
    x.copy_(row[0], non_blocking=True)
    graph.replay()
    assert y.tolist() == (2 * row[0]).tolist()
"""

# Nothing is read of a tensor whose shape another one is given.
SHAPED = """
unused = torch.ones(4, device="cuda")
with torch.cuda.graph(graph):
    y = x + torch.ones_like(unused)
z = {reads}(y)
del unused
graph.replay()
"""

# Sums of many small numbers, which half precision would lose.
HALVES = """
ones = torch.ones(1, 4096, device="cuda", dtype={dtype})
small = torch.full((4096, 1), 2 ** -12, device="cuda", dtype={dtype})
with torch.cuda.graph(graph):
    y = ones @ small
    z = torch.nn.functional.conv1d(ones[None], small.view(1, 1, 4096))
graph.replay()
assert y.item() == z.item() == (ones @ small).item() == {expected} and y.dtype is z.dtype is {dtype}
"""


@pytest.mark.parametrize(
    ("program", "codes"),
    [
        (HALVES.format(dtype="torch.float16", expected=1), set()),
        (HALVES.format(dtype="torch.float32", expected=1), set()),
        (HALVES.format(dtype="torch.float16", expected=2), {"GL003"}),
        (NUMBERED.format(factor=2), set()),
        (NUMBERED.format(factor="x.sum().item()"), {"GL101"}),
        (LOADED.format(factor=2), set()),
        (LOADED.format(factor="x.sum().item() / 2"), {"GL101"}),
        (SHAPED.format(reads="torch.zeros_like"), set()),
        (SHAPED.format(reads="torch.clone"), {"GL509"}),
        (FAKE.format(factor=2), set()),
        (FAKE.format(factor="x.sum().item()"), {"GL101"}),
        (DEFAULT_DEVICE.format(factor=3), set()),
        (DEFAULT_DEVICE.format(factor="x.sum().item() - 1"), {"GL101"}),
        (GENERATORS.format(first=0), set()),
        (GENERATORS.format(first=3), {"GL605"}),
        (OUT_OF_MEMORY.format(power=4), set()),
        (OUT_OF_MEMORY.format(power=40), {"GL513"}),
        (EMPTY.format(captured="x * 2", is_empty=False), set()),
        (EMPTY.format(captured="x[1:]", is_empty=True), {"GL901"}),
        (TIMED, set()),
        (MEMORY.format(ends="", more=[1 + STATES, (16 << 20) + STATES * 512, 16 << 20]), set()),
        (MEMORY.format(ends="del z", more=[STATES, STATES * 512, 16 << 20]), set()),
        (MEMORY.format(ends="del z; graph.reset()", more=[0, 0, 0]), set()),
        (FREED.format(kept="total"), set()),
        (FREED.format(kept="None"), {"GL507"}),
    ],
)
def test_a_program_gets_the_answers_of_a_gpu(tmp_path: Path, program: str, codes: set[str]) -> None:
    """What it checks holds, and errors and warnings are those that it deserves."""
    assert codes == verified(tmp_path, program)[0]


GROWS = """
before = {asks}
with torch.cuda.graph(graph):
    y = x * 2
graph.replay()
assert {check}
"""
ASKS = "torch.cuda.memory_stats()['num_device_alloc']"
STARTS = "subprocess.run([sys.executable, '-c', 'import torch; torch.ones(1, device=\"cuda\")'], capture_output=True)"
PROCESS = f"""
import subprocess, sys

with torch.cuda.graph(graph):
    y = x * 2
graph.replay()
done = {STARTS}
assert done.returncode == {{expected}}
"""
SHARED = """
other = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x + 1
with torch.cuda.graph(other, pool={pool}):
    z = x + 2
graph.replay()
other.replay()
assert y.sum().item() == 12
"""
COMPILES = """
step = torch.compile(lambda x: x * 2)
for _ in range(3):
    y = step(x).clone()
from torch._inductor import metrics
assert metrics.generated_kernel_count == {count}
with torch.cuda.graph(graph):
    z = x * 2
graph.replay()
"""


COMPILED = pytest.mark.skipif(not library.COMPILES, reason="this release of torch cannot be followed")


def looked_at(folder: Path, program: str) -> Report:
    (folder / "program.py").write_text(HEAD + program)
    rulebook = load_rulebook(builtin_rules())
    return runtime.verify([str(folder / "program.py")], load_config(folder, None), rulebook, on="emulator")


@pytest.mark.parametrize(
    ("program", "guessed"),
    [
        (GROWS.format(asks=ASKS, check=f"{ASKS} > before"), "how much memory is used"),
        (SHARED.format(pool="graph.pool()"), "what a graph writes over in a pool that it shares"),
        (PROCESS.format(expected=0), "what another process does"),
        pytest.param(COMPILES.format(count=1), "what Inductor makes of compiled functions", marks=COMPILED),
    ],
)
def test_a_check_of_what_the_emulator_does_not_know_is_no_verdict(tmp_path: Path, program: str, guessed: str) -> None:
    """The check is named, and why it may fail; nothing is said against the program."""
    report = looked_at(tmp_path, program)
    problem = report.targets[0].problem
    assert report.findings == () or all(one.code != "GL003" for one in report.findings)
    assert "AssertionError" in problem and "program.py" in problem and "\n" not in problem
    assert f"this may come of {guessed}, which the emulator does not know" in problem


@pytest.mark.parametrize(
    ("program", "codes"),
    [
        (GROWS.format(asks=ASKS, check="before >= 0"), set()),
        (GROWS.format(asks="0", check="y.sum().item() == 9"), {"GL003"}),
        (SHARED.format(pool="torch.cuda.graph_pool_handle()"), {"GL003"}),
        (PROCESS.format(expected=1), set()),
        pytest.param(COMPILES.format(count="metrics.generated_kernel_count"), set(), marks=COMPILED),
    ],
)
def test_what_it_knows_and_what_holds_is_judged(tmp_path: Path, program: str, codes: set[str]) -> None:
    """A guess that nobody trips over changes nothing, and a check that asks for nothing unknown fails as it is."""
    assert codes == verified(tmp_path, program)[0]


def test_a_host_with_less_memory_than_the_device_is_no_failure_of_the_program() -> None:
    """What neither would have is told as a device tells it."""
    said = "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate: you tried to allocate"
    assert isinstance(memory.out_of_memory(RuntimeError(f"{said} {memory.CAPACITY} bytes.")), UsageError)
    refused = memory.out_of_memory(RuntimeError(f"{said} {1 << 42} bytes."))
    assert isinstance(refused, torch.OutOfMemoryError) and "Tried to allocate 4096.00 GiB" in str(refused)
    assert memory.out_of_memory(RuntimeError("shape mismatch")) is None


def test_what_torch_raises_in_a_line_of_the_program_is_not_raised_by_it() -> None:
    """Its half in C++ has no frame of its own."""

    def raised(error: Exception) -> Exception:
        try:
            raise error
        except Exception as caught:
            return caught

    assert is_own(raised(ValueError("too long")))
    assert not is_own(raised(torch.OutOfMemoryError("CUDA out of memory")))
