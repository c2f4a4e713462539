"""Tests that assert where there is no GPU: they run where one is emulated, and are reported as if they had run here."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sessions import with_plugin

torch = pytest.importorskip("torch")

if torch.cuda.is_available():
    pytest.skip("is about machines without a GPU", allow_module_level=True)

Session = Callable[..., pytest.RunResult]
TARGETS = """
import logging
import os
import pytest
import torch

class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)
    def forward(self, x):
        return self.inner(x) * 2

class Reading(Scaled):
    def forward(self, x):
        return self.inner(x) / x.max().item()

def ones(*shape):
    return torch.ones(shape, device="cuda")

@pytest.fixture
def model():
    return Scaled()
"""


@pytest.fixture
def session(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Session:
    """Run tests in a process of their own, where warnings are errors."""
    plugin = with_plugin(monkeypatch)

    def run(tests: str, *options: str) -> pytest.RunResult:
        pytester.makeini("[pytest]\nfilterwarnings = error")
        pytester.makepyfile(test_serve=TARGETS + tests)
        return pytester.runpytest_subprocess(*plugin, "--strict-markers", "-p", "no:cacheprovider", *options)

    return run


def test_a_test_runs_where_torch_finds_a_gpu(session: Session) -> None:
    """Its own line and the finding are in the report, with what it printed; afterwards nothing of it is left."""
    tests = """
def test_safe(graph_safe, model, record_property):
    record_property("said", 1)
    graph_safe(model.cuda(), (ones(2, 4),))
    graph_safe(model, (ones(2, 4),), replays=1)

def test_wrong(graph_safe):
    print("in the test")
    logging.getLogger().warning("in the log")
    graph_safe(Reading().cuda(), (ones(2, 4),))

@pytest.mark.graph_safe(shapes=[(2, 4), (4,)])
def test_marked(model, shape):
    return model.cuda(), (ones(*shape),)

@pytest.mark.graph_safe
def test_marked_wrong():
    return Reading().cuda(), (ones(2, 4),)

def test_of_the_host(graph_safe, model):
    graph_safe(model, (torch.ones(2, 4),))

def test_late(request):
    request.getfixturevalue("graph_safe")(Reading(), (torch.ones(2, 4),))

def test_afterwards():
    assert not torch.cuda.is_available() and "emulator" not in repr(torch.cuda.get_device_name)
"""
    result = session(tests, "-rA", "--capture", "sys")
    result.assert_outcomes(passed=5, failed=3)
    result.stdout.fnmatch_lines(
        [
            "E*AssertionError: GL101 at test_serve.py:15: Reading is not safe to capture",
            "E*15 |*return self.inner(x) / x.max().item()",
            "E*= region: torch.cuda.graph at test_serve.py:*",
            "E*= way: test_serve.py:* in test_serve:test_wrong",
            "E*test_serve.py:15 in test_serve:Reading.forward",
            "*Captured stdout call*",
            "in the test",
            "*Captured log call*",
            "*in the log",
            "GL101 at test_serve.py:15: Reading is not safe to capture",
            ">*graph_safe*(Reading(), (torch.ones(2, 4),))",
            "E*error?GL101? scalar-readback: `x.max().item()` *",
            "8 graph-safe assertions: 8 emulated",
        ],
    )
    shown = result.stdout.str()
    assert "emulation.py" not in shown and "asserting.py" not in shown and "_pytest" not in shown


def test_whatever_becomes_of_a_test_is_its_outcome(session: Session) -> None:
    """Skipped, expected to fail, unexpectedly passed, another assertion, a wrong target, a bad end, or none.

    One that wants a GPU is skipped or fails before it asks torch for a device.
    """
    tests = """
def test_skipped(graph_safe):
    pytest.skip("not today")

@pytest.mark.xfail(raises=ValueError)
def test_expected(graph_safe):
    raise ValueError

@pytest.mark.xfail(strict=True)
def test_unexpected(graph_safe):
    assert torch.ones(1, device="cuda").is_cuda

@pytest.mark.xfail
def test_lucky(graph_safe):
    pass

def test_own(graph_safe):
    one = 1
    assert one == 2

@pytest.mark.graph_safe
def test_misspelled():
    return torch.nn.functional.relu, (ones(2, 4),), {"no": 1}

def test_leaving(graph_safe):
    os._exit(0)

@pytest.mark.graph_safe(deadline=10)
def test_endless():
    def late(x):
        while True:
            x = x + 1
    return late, (ones(2),)

@pytest.mark.graph_safe(on="cuda")
def test_real():
    return relu, (ones(2, 4),)

@pytest.mark.graph_safe(on="require-cuda")
def test_required(graph_safe):
    graph_safe(torch.relu, (ones(2, 4),))
"""
    result = session(tests, "-rs")
    result.assert_outcomes(skipped=2, xfailed=1, xpassed=1, failed=5, errors=1)
    result.stdout.fnmatch_lines(
        [
            "graphlint: torch finds no GPU here*",
            "*XPASS(strict)*",
            ">*assert one == 2",
            "E*assert 1 == 2",
            "graphlint: target `relu`: the callable does not take the example arguments: *",
            "GL003 at test_serve.py:*: test_leaving is not safe to capture",
            "*its process ended with status 0*",
            "GL003 at test_serve.py:*late is not safe to capture",
            "*it was not done after 10 seconds*",
            "2 graph-safe assertions: 2 emulated",
            "SKIPPED * not today",
            "SKIPPED *test_serve.py:*: graphlint: torch finds no GPU here*",
        ]
    )


def test_fixtures_find_the_gpu_too(session: Session) -> None:
    """What was set up before, in this process, is used there and torn down here, once, when its time has come."""
    tests = """
@pytest.fixture(scope="module")
def served():
    yield Scaled().cuda()
    with open("log", "a") as log:
        log.write("served down\\n")

@pytest.fixture(scope="class")
def shared():
    with open("log", "a") as log:
        log.write("shared up\\n")
    yield 2
    with open("log", "a") as log:
        log.write("shared down\\n")

class TestOne:
    def test_before(self, shared):
        assert shared == 2

    def test_safe(self, graph_safe, served, shared):
        graph_safe(served, (ones(shared, 4),))

    def test_broken(self, graph_safe, broken):
        pass

    @pytest.fixture
    def broken(self):
        raise ValueError("no model")

class TestTwo:
    def test_after(self):
        with open("log") as log:
            assert log.read().split() == "shared up served down shared down".split()
"""
    result = session(tests)
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["E*ValueError: no model"])


GPU = """
import os
import graphlint
import torch
from graphlint.finding import Report, Summary, TargetReport
from graphlint.runtime.session import inprocess

HOME = os.getpid()
torch.cuda.is_available = lambda: True
inprocess.device = lambda: "a GPU"

def verify(call, args=(), kwargs=None, **options):
    assert os.getpid() == HOME
    return Report("capture", (), Summary(regions=1), targets=(TargetReport("step"),))

graphlint.verify = verify
"""


def test_where_torch_finds_a_gpu_no_test_is_forked(session: Session, pytester: pytest.Pytester) -> None:
    """It is captured in the process of the session, where its fixtures are set up as well."""
    pytester.makeconftest(GPU)
    tests = """
@pytest.fixture
def home():
    return os.getpid()

def test_fixture(graph_safe, home):
    from conftest import HOME
    assert home == HOME
    graph_safe(torch.relu, (torch.ones(2),))

@pytest.mark.graph_safe(on="require-cuda")
def test_marked():
    return torch.relu, (torch.ones(2),)
"""
    result = session(tests)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["2 graph-safe assertions: 2 captured on a GPU"])


def test_engines_capture_on_the_emulator(session: Session) -> None:
    """One that captures its buckets by itself serves what eager gives, and one that leaves its tail does not."""
    tests = """
class Engine:
    def __init__(self, model, sizes, clears):
        self.model, self.sizes, self.clears = model, sizes, clears
        self.x = ones(sizes[-1], 4)
        self.graphs = {}
        for size in sizes:
            self.model(self.x[:size])
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = self.model(self.x[:size])
            self.graphs[size] = graph, y
    def decode(self, x):
        if len(x) > self.sizes[-1]:
            raise ValueError("too many rows")
        size = next(size for size in self.sizes if size >= len(x))
        self.x[: len(x)].copy_(x)
        if self.clears:
            self.x[len(x):size].zero_()
        graph, y = self.graphs[size]
        graph.replay()
        return y[: len(x)].clone()

@pytest.mark.parametrize("clears", [True, False])
def test_buckets(graph_safe, model, clears):
    with torch.no_grad():
        engine = Engine(model.cuda(), (2, 4), clears)
        graph_safe.buckets(
            engine.decode, engine.sizes, lambda n: torch.rand(n, 4, device="cuda"), eager=model, buffers=[engine.x]
        )
"""
    result = session(tests)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["E*decode does not keep its batches apart:", "E*rows 1 to 1 of static buffer 0 still hold the batch before"]
    )
    result.stdout.fnmatch_lines(["4 graph-safe assertions: 4 emulated"])


def test_workers_of_xdist_emulate_too(session: Session) -> None:
    """They are counted together."""
    pytest.importorskip("xdist")
    tests = """
@pytest.mark.graph_safe
@pytest.mark.parametrize("kind", [Scaled, Scaled, Reading])
def test_it(kind):
    return kind().cuda(), (ones(2, 4),)
"""
    result = session(tests, "-n", "2")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        ["GL101 at test_serve.py:15: Reading is not safe to capture", "3 graph-safe assertions: 3 emulated"]
    )


def test_what_is_compiled_is_graphed_as_a_whole_or_fails(session: Session) -> None:
    """What is left out is told by its line; what compiles nothing proves nothing."""
    tests = """
class Broken(Scaled):
    def forward(self, x):
        y = self.inner(x)
        torch._dynamo.graph_break()
        return y * 2

@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("kind", (Scaled, Broken))
def test_compiled(graph_safe, kind):
    with torch.no_grad():
        graph_safe.compiled(kind().cuda().eval(), (ones(2, 4),))

@pytest.mark.filterwarnings("default")
def test_other_mode(graph_safe):
    with torch.no_grad():
        graph_safe.compiled(Scaled().cuda().eval(), (ones(2, 4),), mode="default")
"""
    result = session(tests, "-q")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*GL707 at test_serve.py:*", "*torch._dynamo.graph_break()*"])
    result.stdout.fnmatch_lines(["*compiles nothing that could run in CUDA graphs*"])
