"""Captures that are begun by hand and what an exception leaves of them, and the streams of backward passes."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

PROGRAM = """
from cuda.bindings import runtime as cudart

def check(result, text):
    if isinstance(result, tuple):
        result = result[0]
    if result != cudart.cudaError_t.cudaSuccess:
        raise RuntimeError(text)

def rows_of(x):
    if x.shape[0] > 4:
        raise ValueError("too large")
    return x

def capture(stream, kernel, x):
    {begin}
    {inside}
    kernel(x)
    error, graph = cudart.cudaStreamEndCapture(stream)
    return graph
"""
BEGINS = {
    "its result is checked": "check(cudart.cudaStreamBeginCapture(stream, 0), 'begin')",
    "its result has a name": "error = cudart.cudaStreamBeginCapture(stream, 0)\n    check(error, 'begin')",
    "its result is unpacked": "(error,) = cudart.cudaStreamBeginCapture(stream, 0)\n    check(error, 'begin')",
}


@pytest.mark.parametrize("begin", BEGINS.values(), ids=BEGINS)
@pytest.mark.parametrize("inside", ["pass", "rows_of(x)  # expect: GL606"])
def test_a_capture_that_did_not_begin_is_not_left_open(tmp_path: Path, begin: str, inside: str) -> None:
    """What checks the result of beginning raises where there is no capture; what comes later leaves one."""
    analysis = analyse(tmp_path, PROGRAM.format(begin=begin, inside=inside))
    assert analysis.expected == analysis.shown


BACKWARD = """
import torch

model, x = torch.nn.Linear(4, 4).cuda(), torch.ones(4, 4, device="cuda")
side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
with torch.cuda.stream({stream}):
    loss = model(x).sum()
with torch.cuda.graph(graph):
    loss.backward()  {mark}
graph.replay()
"""


@pytest.mark.parametrize("stream, mark", [("torch.cuda.default_stream()", "# expect: GL602"), ("side", "")])
def test_a_backward_pass_goes_back_to_the_stream_of_its_forward_pass(tmp_path: Path, stream: str, mark: str) -> None:
    """A side stream is drawn into the capture, and the default stream cannot be."""
    analysis = analyse(tmp_path, BACKWARD.format(stream=stream, mark=mark))
    assert analysis.expected == [one for one in analysis.shown if one[2] == "GL602"]


CHOSEN = """
import torch

class Wrapper:
    def __init__(self, model, graphs=False):
        self.model, self.graphs, self.graph = model, graphs, None
        if graphs:
            self.stream = {chosen}
        else:
            self.stream = torch.cuda.default_stream()

    def {name}(self, x):
        self.x = x.clone()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=self.stream):  {mark}
            self.y = self.model(self.x)

    def _replay(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y

    def step(self, x):
        {guard}
        if self.graph is None:
            self.{name}(x)
        return self._replay(x)
"""
GUARD = "if not self.graphs: return self.model(x)"


@pytest.mark.parametrize(
    ("name", "chosen", "guard", "mark"),
    [
        ("_capture", "torch.cuda.Stream()", GUARD, ""),
        ("_capture", "torch.cuda.default_stream()", GUARD, "# expect: GL606"),
        ("_capture", "torch.cuda.Stream()", "pass", "# expect: GL606"),
        ("capture", "torch.cuda.Stream()", GUARD, "# expect: GL606"),
    ],
    ids=[
        "by the condition of the capture",
        "always",
        "by another condition",
        "by a condition that a caller need not ask",
    ],
)
def test_a_private_method_captures_under_the_conditions_of_what_leads_to_it(
    tmp_path: Path, name: str, chosen: str, guard: str, mark: str
) -> None:
    """The stream is the default one where nothing is captured; a stranger may call what is public at any time."""
    analysis = analyse(tmp_path, CHOSEN.format(name=name, chosen=chosen, guard=guard, mark=mark))
    assert analysis.expected == [one for one in analysis.shown if one[2] == "GL606"]


LAYERS = """
import torch

def capture(layers, x):
    graphs = [torch.cuda.CUDAGraph() for _ in range(len(layers) + 1)]
    for number in range(len(layers)):
        with torch.cuda.graph(graphs[{index}]):{mark}
            x = layers[number](x)
    with torch.cuda.graph(graphs[len(layers)]):
        y = x + 1
    return graphs, y
"""


@pytest.mark.parametrize(("index", "mark"), [("number", ""), ("number + 1", ""), ("0", "  # expect: GL606")])
def test_graphs_of_a_list_are_told_apart(tmp_path: Path, index: str, mark: str) -> None:
    """Under a number that nobody knows stands another one each time."""
    analysis = analyse(tmp_path, LAYERS.format(index=index, mark=mark))
    assert analysis.expected == analysis.shown


PARALLEL = """
import torch
from torch.nn.parallel import DistributedDataParallel

side = torch.cuda.Stream()
model = torch.nn.Linear(4, 4).cuda()
with torch.cuda.stream({stream}):
    model = DistributedDataParallel(model)  # expect: GL602
model.train()
x = torch.ones(4, device="cuda")
with torch.cuda.stream(side):
    for _ in range(11):
        model(x).sum().backward()
        model.zero_grad(set_to_none=True)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    model(x).sum().backward()
graph.replay()
"""


@pytest.mark.parametrize("stream, is_told", [("side", False), ("torch.cuda.default_stream()", True)])
def test_a_model_belongs_to_the_stream_that_it_is_made_parallel_on(tmp_path: Path, stream: str, is_told: bool) -> None:
    """And not to the one on which it is used next, for it gives itself then."""
    analysis = analyse(tmp_path, PARALLEL.format(stream=stream))
    found = [one for one in analysis.shown if one[2] == "GL602"]
    assert found == (analysis.expected if is_told else [])


@pytest.mark.parametrize("zeroed", ["inner", "model", None])
def test_gradients_of_what_is_made_parallel_are_those_of_its_module(tmp_path: Path, zeroed: str | None) -> None:
    """Who drops these has dropped all of them."""
    inner = PARALLEL.replace("model = torch", "inner = torch").replace("Parallel(model)", "Parallel(inner)")
    program = inner.replace("model.zero_grad(set_to_none=True)", f"{zeroed}.zero_grad()" if zeroed else "pass")
    codes = {code for _, _, code in analyse(tmp_path, program.format(stream="side")).shown}
    assert ("GL705" in codes) is (zeroed is None)


BEGUN = """
import torch
from cuda.bindings import runtime

class Recorder:
    def __init__(self):
        self.stream = torch.cuda.Stream()

    def __enter__(self):
        (error,) = runtime.cudaStreamBeginCapture(self.stream.cuda_stream, 0)
        if {test}:
            raise RuntimeError(error)
        return self

    def __exit__(self, *error):
        runtime.cudaStreamEndCapture(self.stream.cuda_stream)

def main(flag):
    x = torch.ones(4, device="cuda")
    with Recorder():
        x.add_(1)
"""


@pytest.mark.parametrize("test, is_told", [("error != 0", False), ("self.stream.priority > 0", True)])
def test_a_capture_that_could_not_begin_is_not_left_open(tmp_path: Path, test: str, is_told: bool) -> None:
    """What is raised behind a test of what beginning has given says that it has failed."""
    found = [code for _, _, code in analyse(tmp_path, BEGUN.format(test=test)).shown]
    assert ("GL606" in found) is is_told


KEPT = """
import torch

model, x = torch.nn.Linear(4, 4).cuda(), torch.ones(4, 4, device="cuda")
for _ in range(3):
    model.zero_grad()
    loss = model(x).sum()
    loss.backward(){mark}
{between}
graph = torch.cuda.CUDAGraph()
model.zero_grad()
with torch.cuda.graph(graph):
    loss = model(x).sum()
    loss.backward()
graph.replay()
"""


@pytest.mark.parametrize("between, mark", [("torch.cuda.synchronize()", "  # expect: GL602"), ("del loss", "")])
def test_the_loss_of_a_warm_up_that_has_a_name_where_the_capture_begins_ties_it_to_its_stream(
    tmp_path: Path, between: str, mark: str
) -> None:
    """The region gives the name away, but only when its own forward pass has met the nodes that the loss has kept."""
    analysis = analyse(tmp_path, KEPT.format(between=between, mark=mark))
    assert analysis.shown == analysis.expected


CAUGHT = """
import torch

class Runner:
    def capture(self, model, x):
        try:
            self.x = x.clone()
            self.graph = torch.cuda.CUDAGraph()
            {}
            return True
        except RuntimeError:
            return False{}

    def replay(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y
"""
BY_HAND = """self.graph.capture_begin()
            self.y = model(self.x)
            self.graph.capture_end()"""


@pytest.mark.parametrize(
    ("captured", "mark"),
    [
        ("with torch.cuda.graph(self.graph): self.y = model(self.x)", ""),
        (BY_HAND, "  # expect: GL606"),
    ],
    ids=["by a block", "by hand"],
)
def test_a_handler_leaves_a_capture_open_that_is_begun_by_hand(tmp_path: Path, captured: str, mark: str) -> None:
    """A block ends it, whatever the methods around it are called."""
    analysis = analyse(tmp_path, CAUGHT.format(captured, mark))
    assert analysis.expected == [one for one in analysis.shown if one[2] == "GL606"]


LOOP = """
import torch
from cuda import cudart

class Decoder:
    def __init__(self):
        self.mask = torch.ones(4, device="cuda")
        self.step, self.out = torch.ones(4, device="cuda"), torch.ones(4, device="cuda")

    def capture(self, body, stream):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.step = self.mask * 2
            {begin}
            self.out.add_(1)
            cudart.cudaStreamEndCapture(stream)
            {inside}
        {behind}
"""


@pytest.mark.parametrize(
    ("inside", "behind", "mark"),
    [
        ("self.out = self.step + self.out", "pass", ""),
        ("pass", "print(self.step.sum())", "  # expect: GL509"),
    ],
)
def test_the_end_of_the_body_of_a_loop_is_not_that_of_its_graph(
    tmp_path: Path, inside: str, behind: str, mark: str
) -> None:
    """A block ends what it begins: what stands behind the body is captured as well, and only what stands behind both
    reads what no replay has computed.
    """
    begin = "cudart.cudaStreamBeginCaptureToGraph(stream, body, None, None, 0, 1)"
    analysis = analyse(tmp_path, LOOP.format(begin=begin, inside=inside, behind=behind + mark))
    assert analysis.expected == [one for one in analysis.shown if one[2] == "GL509"]


AWAITED = """
import torch

class Runner:
    def __init__(self, model, x):
        self.model, self.x = model, x.clone()
        self.stream, self.graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
        with torch.no_grad():
            self.model(self.x)

    def capture(self):
        with torch.no_grad(), torch.cuda.graph(self.graph{stream}):
            self.y = self.model(self.x)

    def __call__(self, x):
        with {current}:
            self.x.copy_(x)
            self.graph.replay()
        {between}
        self.stream.synchronize(){mark}
        return self.y
"""
CURRENT, OWN, ON_OWN = "torch.no_grad()", "torch.cuda.stream(self.stream)", ", stream=self.stream"


@pytest.mark.parametrize(
    "stream, current, between, is_told",
    [
        (ON_OWN, CURRENT, "pass", True),
        (ON_OWN, OWN, "pass", False),
        (ON_OWN, CURRENT, "self.stream.wait_stream(torch.cuda.current_stream())", False),
        (ON_OWN, CURRENT, "torch.cuda.synchronize()", False),
        (ON_OWN, CURRENT, "with torch.cuda.stream(self.stream): self.x.zero_()", False),
        ("", CURRENT, "pass", False),
    ],
)
def test_who_waits_for_the_stream_of_a_capture_does_not_wait_for_a_replay_on_another_one(
    tmp_path: Path, stream: str, current: str, between: str, is_told: bool
) -> None:
    """Unless that stream waits for it, or has got work of its own which the host may want."""
    mark = "  # expect: GL602" if is_told else ""
    analysis = analyse(tmp_path, AWAITED.format(stream=stream, current=current, between=between, mark=mark))
    assert [one for one in analysis.shown if one[2] == "GL602"] == list(analysis.expected)


FITTED = """
import torch

class Fit:
    def __init__(self, net):
        self.net = net
        self.x = torch.zeros(4, 8, device="cuda")
        self.graph = torch.cuda.CUDAGraph()

    def capture(self):
        with torch.cuda.graph(self.graph):
            self.y = self.net(self.x)

    def fit(self, loader):
        self.net(self.x); torch.cuda.synchronize()
        self.capture()
        for x in loader:
            self.x.copy_(x)
            self.graph.replay()
"""
AGAIN = FITTED.replace("self.graph):", "self.graph):  # expect: GL606")


@pytest.mark.parametrize(
    ("program", "uses"),
    [
        (FITTED, ""),
        (FITTED, "Fit(net()).fit(data())"),
        (AGAIN, "fit = Fit(net())\nfor _ in range(2):\n    fit.fit(data())"),
        (AGAIN.replace("        for x in", "        self.capture()\n        for x in"), ""),
    ],
    ids=["by whom nobody knows", "once", "twice", "twice in a call"],
)
def test_who_captures_once_may_keep_to_one_graph(tmp_path: Path, program: str, uses: str) -> None:
    """Whoever calls again what captures hears of it at once, and most never do."""
    analysis = analyse(tmp_path, f"{program}\n{uses}\n")
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL606"]


SWALLOWED = """
import torch

class Safe:
    def __init__(self, fn, x):
        self.graph = torch.cuda.CUDAGraph()
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            fn(x)
            try:
                self.graph.capture_begin(){mark}
                self.y = fn(x)
                {end}
                self.works = True
            except RuntimeError:
                {handled}
            {behind}
        torch.cuda.current_stream().wait_stream(stream)
"""
END = "self.graph.capture_end()"


@pytest.mark.parametrize(
    ("end", "handled", "behind", "is_told"),
    [
        (END, "self.works = False", "pass", True),
        (END, "log.warning('no graph')", "pass", True),
        (END, f"{END}; self.works = False", "pass", False),
        (END, "self.works = False", f"finally:\n                {END}", False),
        (END, "self.works = False; raise", "pass", False),
        (END, "self.give_up()", "pass", False),
        ("pass", "self.works = False", END, False),
    ],
    ids=["passed over", "logged", "ended there", "ended at last", "raised again", "by another method", "ended behind"],
)
def test_who_passes_over_an_exception_has_to_end_the_capture(
    tmp_path: Path, end: str, handled: str, behind: str, is_told: bool
) -> None:
    """A handler that goes on leaves the stream in a capture, and all that follows is captured."""
    mark = "  # expect: GL606" if is_told else ""
    analysis = analyse(tmp_path, SWALLOWED.format(mark=mark, end=end, handled=handled, behind=behind))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL606"]
