"""What a call is given for an input of a graph by its name, and does nothing with."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

RUNNER = """
import torch

class Runner:
    def __init__(self, model):
        self.model = model
        self.ids = torch.zeros(8, dtype=torch.long, device="cuda")
        self.buffers = {{"slots": torch.zeros(8, dtype=torch.long, device="cuda")}}

    def capture(self, scale, note):
        note(scale)
        self.model(self.ids, self.buffers["slots"], scale); torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.model(self.ids, self.buffers["slots"], scale)

    def run(self, {given}):
        self.ids.copy_(ids)
        {filled}
        self.graph.replay(){mark}
        return self.y.clone()
"""
TOLD = "  # expect: GL512"


@pytest.mark.parametrize(
    ("given", "filled", "mark"),
    [
        ("ids, slots", "pass", TOLD),
        ("*, ids, slots", "pass", TOLD),
        ("ids, slots", "slots = slots.to(ids.device)", TOLD),
        ("ids, scale", 'self.buffers["slots"].zero_()', TOLD),
        ("ids, slots", 'self.buffers["slots"].copy_(slots)', ""),
        ("ids, slots", "fill(self.buffers, slots)", ""),
        ("ids, scale", "check(scale)", ""),
        ("ids, note", "pass", ""),
        ("ids, other", "pass", ""),
        ("ids, slots=None", "pass", ""),
    ],
    ids=[
        "an input",
        "given by name",
        "moved alone",
        "a number",
        "filled",
        "filled elsewhere",
        "used",
        "no part of it",
        "another name",
        "left out",
    ],
)
def test_what_a_call_is_given_for_an_input_goes_there(tmp_path: Path, given: str, filled: str, mark: str) -> None:
    """A parameter that is called like an input, or as the one of the capture, says what it is for."""
    analysis = analyse(tmp_path, RUNNER.format(given=given, filled=filled, mark=mark))
    assert analysis.expected == analysis.shown


CALLED = """
import torch

class Graphed:
    def __init__(self, fn):
        self.fn = fn
        self.graph = None

    def __call__(self, x, {given}):
        if self.graph is None{asked}:
            self.x = x.clone()
            self.scale = scale
            self.fn(self.x, scale); torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):{mark}
                self.y = self.fn(self.x, {used})
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("given", "asked", "used", "mark"),
    [
        ("scale: float", "", "scale", TOLD),
        ("scale=1.0", "", "scale", TOLD),
        ("scale", "", "scale", ""),
        ("scale=None", "", "scale", ""),
        ("scale: float", " or scale != self.scale", "scale", ""),
        ("scale: float", "", "self.x", ""),
    ],
    ids=["annotated", "a default", "nobody knows", "left out", "captured anew for another one", "no part of it"],
)
def test_a_number_of_the_call_that_captured_is_that_of_each_replay(
    tmp_path: Path, given: str, asked: str, used: str, mark: str
) -> None:
    """A later call with another one gets the graph of the first."""
    analysis = analyse(tmp_path, CALLED.format(given=given, asked=asked, used=used, mark=mark))
    assert analysis.expected == analysis.shown


HELPER = """
import torch

GRAPH, X, Y = None, None, None

def graph_for(model, x, cache):
    global GRAPH, X, Y
    if GRAPH is not None and len(X) >= len(x):
        return GRAPH
    X = torch.zeros_like(x)
    model(X, cache); torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        Y = model(X, cache){mark}
    GRAPH = graph
    return graph

def serve(model, x):
    cache = {cache}
    graph = graph_for(model, x, cache)
    X.copy_(x)
    {filled}
    graph.replay()
    return Y.clone()
"""


@pytest.mark.parametrize(
    ("cache", "filled", "is_told"),
    [
        pytest.param("model.prefill(x)", "pass", True, id="a cache of each request"),
        pytest.param("torch.cumsum(x, 0)", "pass", True, id="a tensor of each request"),
        pytest.param("model.cache", "pass", False, id="a cache that stays"),
        pytest.param("CACHE", "CACHE.copy_(x)", False, id="a buffer that is filled"),
    ],
)
def test_helper_gives_the_graph_of_before_to_who_brings_something_new(
    tmp_path: Path, cache: str, filled: str, is_told: bool
) -> None:
    """It is over before the replay; what it was given is read by nobody then."""
    mark = "  # expect: GL512" if is_told else ""
    program = HELPER.format(cache=cache, filled=filled, mark=mark) + "CACHE = torch.zeros(4, device='cuda')\n"
    analysis = analyse(tmp_path, program)
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL512"]


@pytest.mark.parametrize(
    ("gone_through", "is_told"),
    [("batches", True), ("tqdm(batches)", True), ("tqdm(range(5000))", False), ("range(len(batches))", False)],
)
def test_a_loop_that_counts_brings_no_data(tmp_path: Path, gone_through: str, is_told: bool) -> None:
    """However its progress is shown."""
    text = f"""
import torch
from tqdm import tqdm

def main(model, batches):
    x = torch.zeros(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(x)
    for batch in {gone_through}:
        graph.replay()
        print(y.sum())
"""
    assert is_told is ("GL512" in {code for _, _, code in analyse(tmp_path, text).shown})


HELPED = """
import torch

class Graphed:
    def __init__(self, model):
        self.model, self.graph = model, None

    def _capture(self, x, mask):
        self.x, self.mask = x.clone(), mask.clone()
        self.model(self.x, self.mask); torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.model(self.x, self.mask){mark}

    def __call__(self, x: torch.Tensor, mask: torch.Tensor):
        if self.graph is None{asked}:
            self._capture(x, mask)
        self.x.copy_(x)
        {filled}
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("asked", "filled", "mark"),
    [
        ("", "pass", TOLD),
        ("", "self.mask.copy_(mask)", ""),
        ("", "self.mask[: mask.shape[0]] = mask", ""),
        (" or self.mask is not mask", "pass", ""),
    ],
    ids=["left", "filled", "filled in part", "captured anew for another one"],
)
def test_what_a_call_hands_to_the_one_that_captures_is_of_that_call(
    tmp_path: Path, asked: str, filled: str, mark: str
) -> None:
    """A later call brings another one, which the graph of before never gets."""
    analysis = analyse(tmp_path, HELPED.format(asked=asked, filled=filled, mark=mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL512"]


MAKER = """
import torch

def graphed(model, x: torch.Tensor, mask: torch.Tensor):
    static, held = x.clone(), mask.clone()
    model(static, held); torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(static, held)

    def run(x, mask):
        static.copy_(x)
        {filled}
        graph.replay(){mark}
        return y.clone()

    return run
"""


@pytest.mark.parametrize(("filled", "mark"), [("pass", TOLD), ("held.copy_(mask)", "")])
def test_an_input_under_another_name_is_still_what_it_was_given_for(tmp_path: Path, filled: str, mark: str) -> None:
    """The copy of an argument stands for it."""
    analysis = analyse(tmp_path, MAKER.format(filled=filled, mark=mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL512"]


CACHED = """
import torch
from library import Cache

class Decoder:
    def __init__(self, model):
        self.model, self.graph, self.size, self.cache = model, None, 0, None

    def decode(self, x: torch.Tensor, cache: Cache):
        if self.graph is None{asked}:
            self.cache = cache{mark}
            self.x = x.clone()
            self.model(self.x, cache); torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = self.model(self.x, self.cache)
        else:
            self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()

    {more}
"""
NO_MORE = "# that is all"
HOLDING = """def generate(self, x):
        held = self.held
        return [self.decode(x, held) for _ in range(3)]"""


@pytest.mark.parametrize(
    ("asked", "more", "mark"),
    [
        ("", NO_MORE, TOLD),
        (" or self.cache is not cache", NO_MORE, ""),
        ("", HOLDING, ""),
        ("", "def refill(self, keys): self.cache.keys.copy_(keys)", ""),
    ],
    ids=["of each request", "captured anew for another one", "the same each time", "read elsewhere"],
)
def test_an_object_that_is_kept_for_the_graph_alone_is_of_the_call_that_captured(
    tmp_path: Path, asked: str, more: str, mark: str
) -> None:
    """Nothing else reads the attribute, so nothing fills what it holds for later calls."""
    analysis = analyse(tmp_path, CACHED.format(asked=asked, more=more, mark=mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL512"]


ENTRY = """
import torch
from dataclasses import dataclass

@dataclass
class Entry:
    graph: torch.cuda.CUDAGraph
    x: torch.Tensor
    y: torch.Tensor

class Runner:
    def __init__(self, model):
        self.model, self.entry = model, None

    def build(self, x):
        static = x.clone()
        self.model(static); torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = self.model(static)
        return Entry(graph, static, y)

    def run(self, x: torch.Tensor):
        if self.entry is None:
            self.entry = self.build(x)
        {filled}
        self.entry.graph.replay()
        return self.entry.y.clone()
"""


@pytest.mark.parametrize("filled", ["self.entry.x = x  # expect: GL508", "self.entry.x.copy_(x)"])
def test_an_input_beside_its_graph_is_not_replaced(tmp_path: Path, filled: str) -> None:
    """The region has read it by a local name, and the object that keeps both is where it is looked for later."""
    analysis = analyse(tmp_path, ENTRY.format(filled=filled))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL508"]


LOOP = """
import torch

def train(model, loss_of, optimizer, loader):
    x, labels = torch.zeros(4, 8, device="cuda"), torch.zeros(4, device="cuda")
    loss_of(model(x), labels).backward(); torch.cuda.synchronize()
    optimizer.zero_grad(set_to_none=True)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = loss_of(model(x), {read})
        loss.backward()
    for {batch} in {batches}:
        x.copy_(a)
        {filled}
        graph.replay(){mark}
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("read", "batch", "batches", "filled", "mark"),
    [
        ("labels", "a, b", "loader", "pass", TOLD),
        ("labels", "n, (a, b)", "enumerate(loader)", "pass", TOLD),
        ("labels", "a, b", "loader", "b = b.cuda()", TOLD),
        ("labels", "a, b", "loader", "labels.copy_(b)", ""),
        ("labels", "a, _b", "loader", "pass", ""),
        ("x", "a, b", "loader", "pass", ""),
        ("labels", "b, a", "zip(range(9), loader)", "pass", ""),
    ],
    ids=["left", "counted", "moved and left", "filled", "left on purpose", "no input for it", "a number"],
)
def test_a_loop_fills_each_part_of_its_batches(
    tmp_path: Path, read: str, batch: str, batches: str, filled: str, mark: str
) -> None:
    """Labels that stay in the batch are those of the capture to the graph."""
    analysis = analyse(tmp_path, LOOP.format(read=read, batch=batch, batches=batches, filled=filled, mark=mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL512"]


LIST = """
import torch

class Runner:
    def __init__(self, model):
        self.inputs = [torch.zeros(4, 8, device="cuda") for _ in range(2)]
        model(*self.inputs); torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = model(*self.inputs)

    def run(self, *given):
        for number, one in enumerate(given):
            {filled}
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize("filled", ["self.inputs[number] = one  # expect: GL508", "self.inputs[number].copy_(one)"])
def test_an_input_in_a_list_is_not_replaced(tmp_path: Path, filled: str) -> None:
    """The graph reads the tensor that the list held."""
    analysis = analyse(tmp_path, LIST.format(filled=filled))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL508"]


GENERATING = """
import torch

class Cache:
    def __init__(self, size):
        self.keys = torch.zeros(size, 8, device="cuda")

class Model:
    def __init__(self, layer):
        self.layer, self.graph = layer, None

    def decode(self, x, cache):
        if self.graph is None:
            self.x = x.clone()
            self.layer(self.x, cache.keys); torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = self.layer(self.x, cache.keys){mark}
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()

    def generate(self, x, count):
        cache = {cache}
        for _ in range(count):
            x = self.decode(x, cache)
        return x
"""


@pytest.mark.parametrize(("cache", "mark"), [("Cache(count)", TOLD), ("self.cache", "")])
def test_what_a_request_makes_and_captures_with_is_of_that_request(tmp_path: Path, cache: str, mark: str) -> None:
    """The next one makes another, which the graph does not read."""
    analysis = analyse(tmp_path, GENERATING.format(cache=cache, mark=mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL512"]


FIRST = """
# file: decoder.py
import functools
import torch

class Decoder:
    def __init__(self, model):
        self.model, self.graph, self.graphs = model, None, {{}}

    def step(self, x, {name}{more}):
        if self.graph is None{asked}:
            self.x = x.clone()
            self.model(self.x, {name}); torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = self.model(self.x, {name}){mark}
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()

# file: serve.py
class Server:
    def __init__(self, decoder, caches):
        self.decoder, self.caches = decoder, caches

    {calls}
"""
MAKES = "def serve(self, x):\n        return self.decoder.step(x, self.decoder.model.empty())"
KEEPS = "def serve(self, x):\n        return self.decoder.step(x, self.caches)"
PICKS = "def serve(self, x, n):\n        return self.decoder.step(x, self.caches[n])"
LOOPS = "def serve(self, x):\n        for cache in self.caches:\n            self.decoder.step(x, cache)"
PASSES = (
    "def serve(self, x):\n        return self.run(x, self.caches)\n\n"
    "    def run(self, x, cache):\n        return self.decoder.step(x, cache)"
)


@pytest.mark.parametrize(
    ("given", "mark"),
    [
        ({"name": "past_key_values"}, TOLD),
        ({"name": "kv_cache"}, TOLD),
        ({"name": "cache", "calls": MAKES}, TOLD),
        ({"name": "cache", "calls": KEEPS}, ""),
        ({"name": "cache", "calls": PICKS}, ""),
        ({"name": "cache", "calls": LOOPS}, ""),
        ({"name": "cache", "calls": PASSES}, ""),
        ({"name": "cache", "asked": " or cache is not self.cache"}, ""),
        ({"name": "options"}, ""),
    ],
    ids=[
        "what layers have computed",
        "by another name",
        "one for each request",
        "one that is kept",
        "one of those that are kept",
        "each of those that are kept",
        "one that is handed on",
        "one that is compared",
        "nothing that is known",
    ],
)
def test_a_cache_of_the_first_request_is_read_by_each_replay(tmp_path: Path, given: dict[str, str], mark: str) -> None:
    program = FIRST.format(**{"more": "", "asked": "", "calls": "pass", **given}, mark=mark)
    analysis = analyse(tmp_path, program)
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL512"]


MEMO = """
# file: graphs.py
import torch

GRAPHS = {{}}

def graph_of(model, size, caches):
    if size in GRAPHS{asked}:
        return GRAPHS[size]
    buffers = {{"x": torch.zeros(size, device="cuda"), "caches": {kept}}}
    model(**buffers); torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(**buffers){mark}
    GRAPHS[size] = graph, buffers, y
    return GRAPHS[size]

# file: generate.py
import torch
from graphs import graph_of

LASTING = [torch.zeros(64, device="cuda") for _ in range(4)]

def generate(model, x, length):
    caches = {caches}
    graph, buffers, y = graph_of(model, x.shape[0], caches)
    {filled}
    for _ in range(length):
        buffers["x"].copy_(x)
        graph.replay()
        x = y.argmax(-1)
    return x
"""
OWN = '[torch.zeros(length, device="cuda") for _ in range(4)]'
COPIED = 'for kept, new in zip(buffers["caches"], caches): kept.copy_(new)'


@pytest.mark.parametrize(
    ("given", "mark"),
    [
        ({}, TOLD),
        ({"caches": "LASTING"}, ""),
        ({"kept": "[torch.zeros_like(one) for one in caches]", "filled": COPIED}, ""),
        ({"filled": COPIED}, ""),
    ],
    ids=["those of the first", "the same for all", "copies", "filled"],
)
def test_a_graph_that_a_global_keeps_reads_what_the_first_request_has_made(
    tmp_path: Path, given: dict[str, str], mark: str
) -> None:
    program = {"asked": "", "kept": "caches", "caches": OWN, "filled": "pass", "mark": mark, **given}
    analysis = analyse(tmp_path, MEMO.format(**program))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL512"]


INHERITED = """
import functools
import torch

class Base:
    def __init__(self, model):
        self.model, self.graph = model, None

    {base}

class Decoder(Base):
    {derived}
"""
BUILD = """def build(self, x, cache):
        self.x = x.clone()
        self.model(self.x, cache); torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.model(self.x, cache)  # expect: GL512"""
STEP = """def step(self, x, cache):
        if self.graph is None:
            self.build(x, cache)
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()"""


@pytest.mark.parametrize(("base", "derived"), [(BUILD, STEP), (STEP, BUILD)], ids=["captures", "replays"])
def test_one_class_may_capture_and_the_other_replay(tmp_path: Path, base: str, derived: str) -> None:
    analysis = analyse(tmp_path, INHERITED.format(base=base, derived=derived))
    assert analysis.shown == analysis.expected


OPENED = """
import contextlib
import torch

class Decoder:
    def __init__(self, model):
        self.model, self.graph = model, None

    @contextlib.contextmanager
    def capturing(self):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            yield

    def step(self, x, {name}):
        if self.graph is None:
            self.x = x.clone()
            self.model(self.x, {name}); torch.cuda.synchronize()
            with self.capturing():
                self.y = self.model(self.x, {name}){mark}
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(("name", "mark"), [("kv_cache", TOLD), ("options", "")])
def test_a_helper_may_open_the_region_that_reads_a_cache(tmp_path: Path, name: str, mark: str) -> None:
    analysis = analyse(tmp_path, OPENED.format(name=name, mark=mark))
    assert [one for one in analysis.shown if one[2] == "GL512"] == analysis.expected


REMEMBERED = """
import functools
import torch

class Decoder:
    def __init__(self, model):
        self.model, self.cache = model, None

    {decorator}
    def graph_of(self, size):
        x = torch.zeros(size, device="cuda")
        self.model(x, self.cache); torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = self.model(x, self.cache)
        return graph, x, y

    def step(self, token, cache):
        self.cache = cache{mark}
        graph, x, y = self.graph_of(token.shape[0])
        x.copy_(token)
        graph.replay()
        return y.clone()
"""


@pytest.mark.parametrize("decorator", ["@functools.cache", "@functools.lru_cache(maxsize=None)"])
def test_a_method_that_remembers_its_results_captures_once(tmp_path: Path, decorator: str) -> None:
    analysis = analyse(tmp_path, REMEMBERED.format(decorator=decorator, mark="  # expect: GL508"))
    assert analysis.shown == analysis.expected


SERVED = """
import torch

def record(net, x):
    net(x); torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = net(x) * {factor}
    return graph, y

def serve({given}, graph, x, y, batch):
    x.copy_(batch)
    graph.replay(){mark}
    return y.clone()

with torch.no_grad():
    net = torch.nn.Linear(8, 2).cuda()
    x, factor = torch.zeros(4, 8, device="cuda"), torch.ones((), device="cuda")
    graph, y = record(net, x)
    print(serve({given}, graph, x, y, torch.randn(4, 8, device="cuda")))
"""


def test_a_model_that_a_call_is_given_and_that_the_region_called_is_no_input(tmp_path: Path) -> None:
    """Its graph calls it no more."""
    text = SERVED.format(given="net", factor="2", mark="")
    assert [] == [place for place in analyse(tmp_path, text).shown if place[2] == "GL512"]


SOLVER = """
import torch

class Solver:
    def __init__(self, model):
        self.model = model
        self.field, self.graph = torch.zeros(8, device="cuda"), None

    def advance(self):
        self.out = self.model(self.field)

    def capture(self):
        self.advance(); torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.advance()
        self.graph = graph

    def run(self, step):
        if self.graph is not None:
            self.graph.replay()
        {other}
        return self.out.clone()
"""


@pytest.mark.parametrize(
    ("other", "is_told"), [("else: self.advance()", False), ("else: self.capture()", True), ("pass", True)]
)
def test_what_no_way_uses_is_no_data(tmp_path: Path, other: str, is_told: bool) -> None:
    """A number of the step that only others look at; where nothing is done without the graph, it may be missed."""
    assert is_told is ("GL512" in {code for _, _, code in analyse(tmp_path, SOLVER.format(other=other)).shown})
