"""Every spelling of a capture region is found, and what only looks like one is not."""

from __future__ import annotations

import textwrap
import tomllib
from pathlib import Path

import pytest
from analysis import analyse

from graphlint import graph_safe
from graphlint.errors import UsageError
from graphlint.rulebook import builtin_rules
from graphlint.static.interpreter import interpreter
from graphlint.static.regions.search import Search

ROWS = tomllib.loads((builtin_rules() / "regions.toml").read_text("utf-8"))["entry"]
# What stands before a program of the tables below: `step` is what regions capture.
HEAD = """\
import torch

def step(x):
    return x * x.sum().item()

"""
STEP = ("main.py", 4, "GL101")
MODULE = """\
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:  # expect: GL301
            return x
        return -x

    def half(self, x):
        return x / 2

"""

LEXICAL = {
    "torch.cuda.graph": """
        def main(x):
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                step(x)
        """,
    "with a pool and a stream": """
        def main(x, pool, stream):
            g = torch.cuda.CUDAGraph()
            with torch.cuda.graph(g, pool=pool, stream=stream, capture_error_mode="thread_local"):
                step(x)
        """,
    "import as": """
        import torch.cuda as c
        def main(x):
            with c.graph(c.CUDAGraph()):
                step(x)
        """,
    "from torch import cuda": """
        from torch import cuda
        def main(x):
            with cuda.graph(cuda.CUDAGraph()):
                step(x)
        """,
    "from torch.cuda import graph as": """
        from torch.cuda import CUDAGraph, graph as capture
        def main(x):
            with capture(CUDAGraph()):
                step(x)
        """,
    "from torch.cuda.graphs": """
        from torch.cuda.graphs import CUDAGraph, graph
        def main(x):
            with graph(CUDAGraph()):
                step(x)
        """,
    "imported in the function": """
        def main(x):
            from torch.cuda import graph as record
            with record(torch.cuda.CUDAGraph()):
                step(x)
        """,
    "module under another name": """
        c = torch.cuda
        def main(x):
            with c.graph(torch.cuda.CUDAGraph()):
                step(x)
        """,
    "managers side by side": """
        def main(x, stream):
            with torch.cuda.stream(stream), torch.cuda.graph(torch.cuda.CUDAGraph()), torch.no_grad():
                step(x)
        """,
    "managers in brackets": """
        def main(x, stream):
            with (
                torch.cuda.stream(stream),
                torch.cuda.graph(torch.cuda.CUDAGraph()) as captured,
            ):
                step(x)
        """,
    "manager made before": """
        def main(x):
            manager = torch.cuda.graph(torch.cuda.CUDAGraph())
            with manager:
                step(x)
        """,
    "manager made on a condition": """
        import contextlib
        def main(x, capturing):
            manager = torch.cuda.graph(torch.cuda.CUDAGraph()) if capturing else contextlib.nullcontext()
            with manager:
                step(x)
        """,
    "at the top level": """
        x = torch.ones(4, device="cuda")
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            step(x)
        """,
    "under __main__": """
        if __name__ == "__main__":
            x = torch.ones(4, device="cuda")
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                step(x)
        """,
    "in a nested function": """
        def main(x):
            def record(value):
                with torch.cuda.graph(torch.cuda.CUDAGraph()):
                    step(value)
            record(x)
        """,
    "in an async function": """
        async def main(x):
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                step(x)
        """,
    "in a loop": """
        def main(sizes):
            for size in sizes:
                with torch.cuda.graph(torch.cuda.CUDAGraph()):
                    step(torch.ones(size, device="cuda"))
        """,
    "in a try": """
        def main(x):
            try:
                with torch.cuda.graph(torch.cuda.CUDAGraph()):
                    step(x)
            finally:
                print("done")
        """,
    "exit stack": """
        import contextlib
        def main(x):
            with contextlib.ExitStack() as stack:
                stack.enter_context(torch.cuda.graph(torch.cuda.CUDAGraph()))
                step(x)
        """,
    "exit stack by name": """
        from contextlib import ExitStack
        def main(x, capturing):
            with ExitStack() as stack, torch.no_grad():
                if capturing:
                    stack.enter_context(torch.cuda.graph(torch.cuda.CUDAGraph()))
                step(x)
        """,
    "capture_begin": """
        def main(x):
            g = torch.cuda.CUDAGraph()
            g.capture_begin()
            step(x)
            g.capture_end()
        """,
    "capture_begin of an attribute": """
        class Runner:
            def __init__(self):
                self.graph = torch.cuda.CUDAGraph()
            def record(self, x):
                self.graph.capture_begin(pool=None)
                step(x)
                self.graph.capture_end()
        """,
    "capture_begin of a parameter": """
        def main(g, x):
            g.capture_begin()
            try:
                step(x)
            finally:
                g.capture_end()
        """,
    "capture_begin in two branches": """
        def main(x, pool):
            g = torch.cuda.CUDAGraph()
            if pool is not None:
                g.capture_begin(pool=pool)
            else:
                g.capture_begin()
            step(x)
            g.capture_end()
            torch.cuda.synchronize()
        """,
    "capture_begin in one branch": """
        def main(x, captures):
            g = torch.cuda.CUDAGraph()
            if captures:
                g.capture_begin()
            step(x)
            if captures:
                g.capture_end()
            torch.cuda.synchronize()
        """,
    "capture_end in two branches": """
        def main(x, shown):
            g = torch.cuda.CUDAGraph()
            g.capture_begin()
            step(x)
            if shown:
                g.capture_end()
                print(g)
            else:
                g.capture_end()
            torch.cuda.synchronize()
        """,
    "capture_begin in a helper": """
        def begin(g):
            g.capture_begin()
        def end(g):
            g.capture_end()
        def main(x):
            g = torch.cuda.CUDAGraph()
            begin(g)
            step(x)
            end(g)
        """,
    "make_graphed_callables": """
        def main(x: torch.Tensor):
            torch.cuda.make_graphed_callables(step, (x,))
        """,
    "make_graphed_callables by name": """
        from torch.cuda import make_graphed_callables as graphed
        def main(x: torch.Tensor):
            return graphed(step, sample_args=(x,), num_warmup_iters=5)
        """,
    "make_graphed_callables by keyword": """
        def main(x: torch.Tensor):
            return torch.cuda.make_graphed_callables(callables=step, sample_args=(x,))
        """,
    "make_graphed_callables of several": """
        def other(x):
            return x + 1
        def main(x: torch.Tensor):
            return torch.cuda.make_graphed_callables((other, step), ((x,), (x,)))
        """,
    "a capturing class with __enter__": """
        class Capture:
            def __init__(self):
                self.graph = torch.cuda.CUDAGraph()
            def __enter__(self):
                self.graph.capture_begin()
                return self
            def __exit__(self, *error):
                self.graph.capture_end()
        def main(x):
            with Capture():
                step(x)
        """,
    "a capturing class that holds the manager": """
        class Capture:
            def __init__(self):
                self.manager = torch.cuda.graph(torch.cuda.CUDAGraph())
            def __enter__(self):
                self.manager.__enter__()
                return self
            def __exit__(self, *error):
                self.manager.__exit__(*error)
        def main(x):
            with Capture() as capture:
                step(x)
        """,
    "a generator": """
        import contextlib
        @contextlib.contextmanager
        def capture(g):
            torch.cuda.synchronize()
            with torch.cuda.graph(g):
                yield g
            torch.cuda.synchronize()
        def main(x):
            with capture(torch.cuda.CUDAGraph()):
                step(x)
        """,
    "a generator that begins": """
        from contextlib import contextmanager
        @contextmanager
        def capture():
            g = torch.cuda.CUDAGraph()
            g.capture_begin()
            try:
                yield g
            finally:
                g.capture_end()
        def main(x):
            with capture() as g:
                step(x)
        """,
    "a method that is a generator": """
        import contextlib
        class Runner:
            graph = torch.cuda.CUDAGraph()
            @contextlib.contextmanager
            def recording(self):
                with torch.cuda.graph(self.graph):
                    yield
            def record(self, x):
                with self.recording():
                    step(x)
        """,
    "a helper that returns the manager": """
        def capture():
            return torch.cuda.graph(torch.cuda.CUDAGraph())
        def main(x):
            with capture():
                step(x)
        """,
    "a function that is handed over": """
        def record(function, *arguments):
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                function(*arguments)
        def main(x):
            record(step, x)
        """,
    "a decorator that captures": """
        import functools
        def graphed(function):
            @functools.wraps(function)
            def wrapper(*args, **kwargs):
                with torch.cuda.graph(torch.cuda.CUDAGraph()):
                    return function(*args, **kwargs)
            return wrapper
        @graphed
        def main(x):
            return step(x)
        """,
    "a function that is given back": """
        def recorder():
            def record(x):
                with torch.cuda.graph(torch.cuda.CUDAGraph()):
                    step(x)
            return record
        """,
    "a manager entered by hand": """
        def main(x):
            manager = torch.cuda.graph(torch.cuda.CUDAGraph())
            manager.__enter__()
            step(x)
            manager.__exit__(None, None, None)
        """,
    "a subclass of the manager": """
        class Capture(torch.cuda.graph):
            pass
        def main(x):
            with Capture(torch.cuda.CUDAGraph()):
                step(x)
        """,
    "behind a flag that is passed by keyword alone": """
        def main(x, *, captured=False):
            if captured:
                with torch.cuda.graph(torch.cuda.CUDAGraph()):
                    step(x)
        """,
    "behind a default that somebody else replaces": """
        class Settings:
            mode: int = 0
        def settings() -> Settings:
            return CURRENT[-1]
        def main(x):
            if settings().mode == 0:
                return step(x)
            assert settings().mode, "no mode"
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                step(x)
        """,
    "behind a decorator that refuses": """
        AVAILABLE = False
        def required(function):
            if AVAILABLE:
                return function
            def refuse(*args, **kwargs):
                raise ImportError("cuda")
            return refuse
        @required
        def main(x):
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                step(x)
        """,
    "of a pool that is not there yet": """
        POOL = []
        def main(x):
            if POOL:
                with torch.cuda.graph(torch.cuda.CUDAGraph(), pool=POOL[0]):
                    step(x)
            else:
                with torch.cuda.graph(torch.cuda.CUDAGraph()):
                    x + 1
        """,
    "a subclass of the graph": """
        class Graph(torch.cuda.CUDAGraph):
            pass
        def main(x):
            g = Graph()
            g.capture_begin()
            step(x)
            g.capture_end()
        """,
}


def program(source: str, head: str = HEAD) -> str:
    """A program of the tables."""
    return head + textwrap.dedent(source)


@pytest.mark.parametrize("source", LEXICAL.values(), ids=LEXICAL)
def test_a_region_is_found(tmp_path: Path, source: str) -> None:
    """What is called inside is followed."""
    assert [STEP] == analyse(tmp_path, program(source)).found


def test_a_region_is_found_behind_code_that_takes_too_long_to_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The values that it would have made are not known; each function that opens a region begins anew."""
    source = """
        def number(n: int):
            return n
        def other(x):
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                step(x)
        def main(x: torch.Tensor):
            for n in (1, 2, 3, 4):
                kept = number(n)
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                step(x)
                if kept != 4:
                    x.tolist()
        """
    assert [STEP] == analyse(tmp_path, program(source)).found
    monkeypatch.setattr(interpreter, "MAX_OUTSIDE", 2)
    analysis = analyse(tmp_path, program(source))
    assert [STEP, ("main.py", 18, "GL101")] == analysis.found
    assert 2 == analysis.report.summary.regions


NO_REGION = {
    "never captured": "def main(x):\n    step(x)\n",
    "another graph": "import networkx as torch_\ndef main(x):\n    with torch_.cuda.graph(x):\n        step(x)\n",
    "a graph of the program": "class cuda:\n    @staticmethod\n    def graph(g):\n        return g\n"
    "def main(x):\n    # torch.cuda.graph\n    with cuda.graph(open('x')):\n        step(x)\n",
    "only named": "def main(x):\n    '''with torch.cuda.graph(g): step(x)'''\n    step(x)\n",
    "a graph that is replayed": "def main(x):\n    g = torch.cuda.CUDAGraph()\n    g.replay()\n    step(x)\n",
    "before and after": """
        def main(x):
            step(x)
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                x + 1
            step(x)
        """,
    "before and after capture_begin": """
        def main(x):
            g = torch.cuda.CUDAGraph()
            step(x)
            g.capture_begin()
            x + 1
            g.capture_end()
            step(x)
        """,
    "around the yield of a helper": """
        import contextlib
        @contextlib.contextmanager
        def capture(x):
            step(x)
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                yield
            step(x)
        def main(x):
            with capture(x):
                x + 1
            step(x)
        """,
    "the managers before it": """
        import contextlib
        @contextlib.contextmanager
        def warmed(x):
            step(x)
            yield
        def main(x):
            with warmed(x), torch.cuda.graph(torch.cuda.CUDAGraph()):
                x + 1
        """,
    "after the exit stack": """
        import contextlib
        def main(x):
            with contextlib.ExitStack() as stack:
                stack.enter_context(torch.cuda.graph(torch.cuda.CUDAGraph()))
                x + 1
            step(x)
        """,
    "a branch that a region never takes": """
        DEBUG = False
        def main(x):
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                if DEBUG:
                    step(x)
            if DEBUG:
                with torch.cuda.graph(torch.cuda.CUDAGraph()):
                    if DEBUG:
                        step(x)
        """,
    "after the callables": """
        def other(x):
            return x + 1
        def main(x: torch.Tensor):
            graphed = torch.cuda.make_graphed_callables(other, (x,))
            step(graphed(x))
        """,
}


@pytest.mark.parametrize("source", NO_REGION.values(), ids=NO_REGION)
def test_what_is_not_in_a_region_is_silent(tmp_path: Path, source: str) -> None:
    """Names alone open nothing, and a region ends where it ends."""
    assert [] == analyse(tmp_path, program(source)).found


HELPERS = {
    "a generator in another file": """
        from capturing import capture
        from head import step
        def main(x):
            with capture():
                step(x)
        # file: capturing.py
        import contextlib, torch
        @contextlib.contextmanager
        def capture():
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                yield
        """,
    "a helper of a helper": """
        import outer
        from head import step
        def main(x):
            with outer.recording():
                step(x)
        # file: outer.py
        from inner import capturing
        def recording():
            return capturing()
        # file: inner.py
        import torch
        def capturing():
            return torch.cuda.graph(torch.cuda.CUDAGraph())
        """,
    "a class in another file": """
        from capturing import Capture
        from head import step
        def main(x):
            with Capture():
                step(x)
        # file: capturing.py
        import torch
        class Capture:
            def __init__(self):
                self.graph = torch.cuda.CUDAGraph()
            def __enter__(self):
                self.graph.capture_begin()
            def __exit__(self, *error):
                self.graph.capture_end()
        """,
    "a class that holds the manager, in another file": """
        from capturing import Capture
        from head import step
        def main(x):
            with Capture():
                step(x)
        # file: capturing.py
        import torch
        class Capture:
            def __init__(self):
                self.manager = torch.cuda.graph(torch.cuda.CUDAGraph())
            def __enter__(self):
                self.manager.__enter__()
            def __exit__(self, *error):
                self.manager.__exit__(*error)
        """,
    "a runner in another file": """
        from head import step
        from running import Runner
        runner = Runner(step)
        def main(x):
            runner.record(x)
        # file: running.py
        import torch
        class Runner:
            def __init__(self, function):
                self.function = function
                self.graph = torch.cuda.CUDAGraph()
            def record(self, x):
                with torch.cuda.graph(self.graph):
                    self.output = self.function(x)
        """,
    "a capturing base class": """
        from head import step
        from running import Runner
        class Mine(Runner):
            def run(self, x):
                return step(x)
        def main(x):
            Mine().record(x)
        # file: running.py
        import torch
        class Runner:
            def record(self, x):
                with torch.cuda.graph(torch.cuda.CUDAGraph()):
                    self.output = self.run(x)
            def run(self, x):
                raise NotImplementedError
        """,
    "a decorator in another file": """
        import head
        from capturing import graphed
        @graphed
        def main(x):
            return head.step(x)
        # file: capturing.py
        import functools, torch
        def graphed(function):
            @functools.wraps(function)
            def wrapper(*args, **kwargs):
                with torch.cuda.graph(torch.cuda.CUDAGraph()):
                    return function(*args, **kwargs)
            return wrapper
        """,
    "an alias re-exported": """
        from head import step
        from tools import record
        def main(x):
            with record(object()):
                step(x)
        # file: tools/__init__.py
        from .graphs import record
        # file: tools/graphs.py
        from torch.cuda import graph as record
        """,
}


@pytest.mark.parametrize("source", HELPERS.values(), ids=HELPERS)
def test_a_helper_in_another_file_opens_a_region_for_its_users(tmp_path: Path, source: str) -> None:
    """The helper is found first, then the files that use it."""
    found = analyse(tmp_path, f"{textwrap.dedent(source)}# file: head.py\n{HEAD}").found
    assert [("head.py", 4, "GL101")] == found


COMPILED = {
    "a call": 'fast = torch.compile(step, mode="reduce-overhead")',
    "max-autotune": 'fast = torch.compile(step, fullgraph=True, mode="max-autotune")',
    "in a function": 'def main():\n    return torch.compile(step, mode="reduce-overhead")',
    "by keyword": 'fast = torch.compile(model=step, mode="reduce-overhead")',
    "options": 'fast = torch.compile(step, options={"triton.cudagraphs": True})',
    "options among others": 'fast = torch.compile(step, options={"max_autotune": True, "triton.cudagraphs": True})',
    "backend": 'fast = torch.compile(step, backend="cudagraphs")',
    "a mode by name": 'MODE = "reduce-overhead"\nfast = torch.compile(step, mode=MODE)',
    "a mode on a condition": 'def main(quick):\n    torch.compile(step, mode="max-autotune" if quick else "default")',
    "a decorator": '@torch.compile(mode="reduce-overhead")\ndef run(x):\n    return step(x)',
    "imported": 'from torch import compile as build\nfast = build(step, mode="reduce-overhead")',
    "partial": 'import functools\nfast = functools.partial(torch.compile, mode="reduce-overhead")(step)',
    "a partial decorator": 'from functools import partial\n@partial(torch.compile, mode="reduce-overhead")\n'
    "def run(x):\n    return step(x)",
    "keywords unpacked": 'OPTIONS = {"mode": "reduce-overhead"}\nfast = torch.compile(step, **OPTIONS)',
    "a decorated method": "class Model:\n"
    '    @torch.compile(mode="reduce-overhead")\n    def run(self, x):\n        return step(x)',
    "a bound method": "class Model:\n    def __init__(self):\n"
    '        self.run = torch.compile(self.run, mode="reduce-overhead")\n'
    "    def run(self, x):\n        return step(x)",
    "an object's method": "class Model(torch.nn.Module):\n    def forward(self, x):\n        return step(x)\n"
    'model = Model()\nmodel.compile(mode="reduce-overhead")',
    "its forward": "class Model(torch.nn.Module):\n    def forward(self, x):\n        return step(x)\n"
    'model = Model()\nmodel.forward = torch.compile(model.forward, mode="reduce-overhead")',
    "a lambda": 'fast = torch.compile(lambda x: step(x), mode="reduce-overhead")',
}


@pytest.mark.parametrize("source", COMPILED.values(), ids=COMPILED)
def test_a_compiled_function_is_a_soft_region(tmp_path: Path, source: str) -> None:
    """A mode that implies graphs falls back instead of failing, so that errors are warnings."""
    analysis = analyse(tmp_path, program(source + "\n"))
    assert [STEP] == analysis.found
    assert ["torch.compile"] == [region.kind for region in analysis.regions]
    assert "warning" == str(analysis.finding.severity)


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        ', mode="default"',
        ', mode="max-autotune-no-cudagraphs"',
        ', options={"triton.cudagraphs": False}',
        ', backend="inductor"',
        ", mode=None",
    ],
)
def test_a_compiled_function_without_graphs_is_no_region(tmp_path: Path, arguments: str) -> None:
    """The modes that do not use graphs are left alone, although the file names one that does."""
    source = f'# "reduce-overhead"\nfast = torch.compile(step{arguments})\n'
    assert [] == analyse(tmp_path, program(source)).found


def test_a_hard_region_outweighs_a_soft_one(tmp_path: Path) -> None:
    """What one region fails on is an error, although another would fall back."""
    source = """
        fast = torch.compile(step, mode="reduce-overhead")
        def main(x):
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                step(x)
        """
    analysis = analyse(tmp_path, program(source))
    assert [("torch.compile", 7), ("torch.cuda.graph", 9)] == [(r.kind, r.line) for r in analysis.regions]
    assert "error" == str(analysis.finding.severity)


MODULES = {
    "make_graphed_callables": "torch.cuda.make_graphed_callables(Model(), (x,))",
    "several": "torch.cuda.make_graphed_callables((Model(), torch.nn.ReLU()), ((x,), (x,)))",
    "compile": 'torch.compile(Model(), mode="reduce-overhead")',
    "with": "with torch.cuda.graph(torch.cuda.CUDAGraph()):\n        Model()(x)",
}


@pytest.mark.parametrize("source", MODULES.values(), ids=MODULES)
def test_a_module_is_captured_through_its_forward(tmp_path: Path, source: str) -> None:
    """An object stands for the method that calling it runs."""
    analysis = analyse(tmp_path, program(f"def main(x: torch.Tensor):\n    {source}\n", MODULE))
    assert analysis.expected == analysis.found


def minimal(row: dict[str, object], name: str) -> str:
    """The least program that uses one row of the table under one of its names."""
    module, _, last = name.rpartition(".")
    kind = row["form"]
    if kind in ("context", "callable", "compile", "decorator"):
        top = f"import {module}\n"
        if kind == "context":
            made, called = ("step", "run") if "takes" in row else ("object()", "step")
            return f"{top}def main(x: torch.Tensor):\n    with {name}({made}) as run:\n        {called}(x)\n"
        if kind == "decorator":
            return f"{top}@{name}\ndef main(x):\n    return step(x)\n"
        if kind == "callable":
            return f"{top}def main(x: torch.Tensor):\n    {name}(step, (x,))\n"
        owner = module if name != "torch.nn.Module.compile" else "Model()"
        model = top + "class Model(torch.nn.Module):\n    def forward(self, x):\n        return step(x)\n"
        function = "step, " if owner == module else ""
        graphing = 'mode="reduce-overhead"' if owner != "torch_tensorrt" else "use_cuda_graph=True"
        return f"{model}{owner}.compile({function}{graphing})\n"
    ends = {
        "capture_begin": "capture_end", "begin_building": "end_building", "begin_capture": "end_capture",
        "streamBeginCapture": "streamEndCapture", "cudaStreamBeginCapture": "cudaStreamEndCapture",
        "cudaStreamBeginCaptureToGraph": "cudaStreamEndCapture", "cuStreamBeginCapture": "cuStreamEndCapture",
        "cuStreamBeginCapture_v2": "cuStreamEndCapture",
    }  # fmt: skip
    if kind == "end":
        begin = next(begin for begin, end in ends.items() if end == last)
        start, end = f"{module}.{begin}(stream)", f"{name}(stream)"
        silent = "    step(x)\n"
    else:
        start, end = f"{name}(stream, 0)", f"{module}.{ends[last]}(stream)"
        silent = ""
    if module.rpartition(".")[2][0].isupper():  # a method: of an object made here
        package = module.rpartition(".")[0]
        made = f"import {package}\ndef main(x):\n    stream = {module}()\n"
        start, end = (call.replace(f"{module}.", "stream.").replace("stream, 0", "") for call in (start, end))
    else:
        made = f"import {module}\ndef main(x, stream):\n"
    inside = "    x + 1\n" if silent else "    step(x)\n"
    return f"{made}    {start}\n{inside}    {end}\n{silent}"


SPELLINGS = [(row, name) for row in ROWS for name in row["names"]]


@pytest.mark.parametrize(("row", "name"), SPELLINGS, ids=[f"{row['form']} {name}" for row, name in SPELLINGS])
def test_every_name_of_the_table_of_regions_works(tmp_path: Path, row: dict[str, object], name: str) -> None:
    """A name opens or closes a region by itself; one that closes leaves silence behind it."""
    analysis = analyse(tmp_path, program(minimal(row, name)))
    assert ([] if row["form"] == "end" else [STEP]) == analysis.found
    if row["form"] != "end":
        assert [(row["kind"], bool(row.get("soft")))] == [(region.kind, region.soft) for region in analysis.regions]


TELLING = [(row, name) for row in ROWS if row.get("telling") and row["form"] != "end" for name in row["names"][:1]]


@pytest.mark.parametrize(("row", "name"), TELLING, ids=[name for _, name in TELLING])
def test_a_telling_name_is_enough(tmp_path: Path, row: dict[str, object], name: str) -> None:
    """An object of which nothing is known opens a region by the last name of its method alone."""
    call = f"anything.{name.rpartition('.')[2]}(0)"
    body = f"with {call}:\n        step(x)" if row["form"] == "context" else f"{call}\n    step(x)"
    assert [STEP] == analyse(tmp_path, program(f"def main(x, anything):\n    {body}\n")).found


DECLARED = """\
import functools
import torch

def step(x):
    return x.item()  # 5

class Base:
    def run(self, x):
        return self.inner(x)
    def inner(self, x):
        return x

class Model(Base):
    @staticmethod
    def fixed(x):
        return x.item()  # 16
    @classmethod
    def made(cls, x):
        return x.item()  # 19
    def inner(self, x):
        return x.item()  # 21
    class Part:
        def forward(self, x):
            return x.item()  # 24

class Layer(torch.nn.Module):
    def forward(self, x):
        return x.item()  # 28

class Callable:
    def __call__(self, x):
        return x.item()  # 32

def wrapped(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args).item()  # 37
    return wrapper

@wrapped
def decorated(x):
    return x.sum()

@torch.no_grad()
def quiet(x):
    return x.item()  # 46
# file: pkg/__init__.py
# file: pkg/heads.py
class Head:
    def forward(self, x):
        return x.item()
    def other(self, x):
        return x.tolist()
"""


@pytest.mark.parametrize(
    ("region", "expected"),
    [
        ("main:step", [("main.py", 5)]),
        ("main:Model.inner", [("main.py", 21)]),
        ("main:Model.run", [("main.py", 21)]),
        ("main:Base.run", []),
        ("main:Model.fixed", [("main.py", 16)]),
        ("main:Model.made", [("main.py", 19)]),
        ("main:Model.Part", [("main.py", 24)]),
        ("main:Model.Part.forward", [("main.py", 24)]),
        ("main:Layer", [("main.py", 28)]),
        ("main:Callable", [("main.py", 32)]),
        ("main:decorated", [("main.py", 37)]),
        ("main:quiet", [("main.py", 46)]),
        ("main:*.forward", [("main.py", 24), ("main.py", 28)]),
        ("main:Model.f*", [("main.py", 16)]),
        ("main:[sq]*", [("main.py", 5), ("main.py", 46)]),
        ("pkg.heads:Head", [("pkg/heads.py", 3)]),
        ("pkg.*:*.other", [("pkg/heads.py", 5)]),
        ("*:*.forward", [("main.py", 24), ("main.py", 28), ("pkg/heads.py", 3)]),
    ],
)
def test_a_declared_region_is_run(tmp_path: Path, region: str, expected: list[tuple[str, int]]) -> None:
    """A function, a method of the class or of its bases, a class for what calling it runs, and globs over these."""
    analysis = analyse(tmp_path, DECLARED, regions=(region,))
    assert expected == [(file, line) for file, line, _ in analysis.found]
    assert all(found.kind == "declared" for found in analysis.regions)


def test_a_declared_region_names_its_entry(tmp_path: Path) -> None:
    """The module and qualified name stand in the report, where the function is defined."""
    analysis = analyse(tmp_path, DECLARED, regions=("main:Model.run",))
    (region,) = analysis.regions
    assert ("declared", "main.py", 8, "main:Model.run") == (
        region.kind,
        analysis.name(region.path),
        region.line,
        region.entry,
    )


@pytest.mark.parametrize(
    ("region", "message"),
    [
        ("mian:step", "no module `mian` in the checked paths; did you mean `main`"),
        ("main:stpe", "nothing in `main` is called `stpe`; did you mean `step`"),
        ("main:Model.iner", "nothing in `main` is called `Model.iner`; did you mean `Model.inner`"),
        ("main:Nope*", r"nothing in `main` is called `Nope\*`"),
        ("heads:Head", "no module `heads` in the checked paths; did you mean `pkg.heads`?"),
        ("src.pkg.heads:Head", "did you mean `pkg.heads`?"),
        ("./pkg/heads.py:Head", "no module `./pkg/heads.py` in the checked paths; did you mean `pkg.heads`?"),
        ("pkg.heds:Head", "no module `pkg.heds` in the checked paths; did you mean `pkg.heads`"),
        ("other.*:step", r"no module `other.\*` in the checked paths"),
        ("step", "write it as module:qualname"),
    ],
)
def test_a_declared_region_that_names_nothing_is_refused(tmp_path: Path, region: str, message: str) -> None:
    """The error names what was not found, and what comes nearest."""
    with pytest.raises(UsageError, match=message):
        analyse(tmp_path, DECLARED, regions=(region,))


def test_a_name_that_several_scripts_have_is_proposed_once(tmp_path: Path) -> None:
    scripts = "# file: one/model.py\nx = 1\n# file: other/model.py\nx = 1\n"
    with pytest.raises(UsageError, match=r"did you mean `model`\?$"):
        analyse(tmp_path, scripts, regions=("serve.model:Decoder.step",))


SAFE = {
    "by its full name": "import graphlint\n@graphlint.graph_safe\ndef run(x):\n    x.item()  # expect: GL101\n",
    "by name": "from graphlint import graph_safe\n@graph_safe\ndef run(x):\n    x.item()  # expect: GL101\n",
    "by another name": "from graphlint import graph_safe as safe\n@safe\ndef run(x):\n    x.item()  # expect: GL101\n",
    "by another module name": "import graphlint as gl\n@gl.graph_safe\ndef run(x):\n    x.item()  # expect: GL101\n",
    "assigned": "import graphlint\nsafe = graphlint.graph_safe\n@safe\ndef run(x):\n    x.item()  # expect: GL101\n",
    "among decorators": "import functools, graphlint\n@graphlint.graph_safe\n@functools.cache\ndef run(x):\n"
    "    x.item()  # expect: GL101\n",
    "where graphlint may be missing": "try:\n    from graphlint import graph_safe\nexcept ImportError:\n"
    "    def graph_safe(function):\n        return function\n"
    "@graph_safe\ndef run(x):\n    x.item()  # expect: GL101\n",
    "a method": "import graphlint\nclass Model:\n    def __init__(self):\n        self.scale = 2\n"
    "    @graphlint.graph_safe\n    def run(self, x):\n        return self.inner(x)\n"
    "    def inner(self, x):\n        if self.scale > 1:\n            x.item()  # expect: GL101\n",
    "a static method": "import graphlint\nclass Model:\n    @staticmethod\n    @graphlint.graph_safe\n"
    "    def run(x):\n        x.item()  # expect: GL101\n",
    "a class": "import graphlint, torch\n@graphlint.graph_safe\nclass Model(torch.nn.Module):\n"
    "    def forward(self, x):\n        x.item()  # expect: GL101\n    def other(self, x):\n        x.item()\n",
    "a nested class": "import graphlint\nclass Outer:\n    @graphlint.graph_safe\n    class Inner:\n"
    "        def __call__(self, x):\n            x.item()  # expect: GL101\n",
    "a function in a function": "import graphlint\ndef make(scale):\n    other = scale + 1\n"
    "    @graphlint.graph_safe\n    def run(x):\n        x.item()  # expect: GL101\n        return other\n"
    "    return run\n",
    "an async function": "import graphlint\n@graphlint.graph_safe\nasync def run(x):\n    x.item()  # expect: GL101\n",
    "handed on by another file": "from tools.marks import safe\n@safe\ndef run(x):\n    x.item()  # expect: GL101\n"
    "# file: tools/__init__.py\n# file: tools/marks.py\nfrom graphlint import graph_safe as safe\n",
    "handed on twice": "from tools import marked\n@marked\ndef run(x):\n    x.item()  # expect: GL101\n"
    "# file: tools/__init__.py\nfrom .marks import safe as marked\n"
    "# file: tools/marks.py\nfrom graphlint import graph_safe as safe\n",
    "in graphlint's own tree": "from graphlint import graph_safe\n@graph_safe\n"
    "def run(x):\n    x.item()  # expect: GL101\n"
    "# file: graphlint/__init__.py\ndef graph_safe(target):\n    return target\n",
}


@pytest.mark.parametrize("source", SAFE.values(), ids=SAFE)
def test_a_function_marked_graph_safe_is_a_region(tmp_path: Path, source: str) -> None:
    """`graphlint.graph_safe` declares what it decorates, through imports and aliases."""
    analysis = analyse(tmp_path, source)
    assert analysis.expected == analysis.found
    assert ["declared"] == [region.kind for region in analysis.regions]


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("def graph_safe(f):\n    return f\n@graph_safe\ndef run(x):\n    x.item()\n", id="of its own"),
        pytest.param("from other import graph_safe\n@graph_safe\ndef run(x):\n    x.item()\n", id="of another package"),
        pytest.param("import graphlint\n# graph_safe\ndef run(x):\n    x.item()\n", id="in a comment"),
        pytest.param("import graphlint\n@graphlint.other\ndef run(x):\n    graph_safe = x.item()\n", id="another"),
    ],
)
def test_what_is_not_marked_graph_safe_is_silent(tmp_path: Path, source: str) -> None:
    """The name alone declares nothing."""
    assert [] == analyse(tmp_path, source).found


def test_graph_safe_gives_back_what_it_decorates() -> None:
    """Neither a function nor a class is changed."""

    def function() -> None: ...

    class Class: ...

    before = dict(vars(Class))
    assert function is graph_safe(function)
    assert Class is graph_safe(Class)
    assert (before, {}) == (dict(vars(Class)), vars(function))


USED = """
import torch

class Model(torch.nn.Module):
    def forward(self, x, place):
        return x * place.item()  # expect: GL101

def decode(model, x, place):
    y = model(x, place)
    return y * y.max().item()  # expect: GL101

def loop(model, x, place):
    return decode(model, x, place)

def main():
    {compiled}
    {called}(Model().cuda(), torch.ones(4, device="cuda"), torch.zeros(1, device="cuda"))
"""
MAKE = 'torch.compile(decode, mode="reduce-overhead")'


@pytest.mark.parametrize(
    ("compiled", "called"),
    [
        pytest.param(f"fast = {MAKE}", "fast", id="a name"),
        pytest.param(f"global decode\n    decode = {MAKE}", "loop", id="in the place of the function"),
        pytest.param(
            "from tensordict.nn import CudaGraphModule\n    fast = CudaGraphModule(decode)", "fast", id="eager"
        ),
    ],
)
def test_calls_of_what_is_captured_say_what_it_gets(tmp_path: Path, compiled: str, called: str) -> None:
    """A model that is handed over is followed, and what is computed with it."""
    analysis = analyse(tmp_path, USED.format(compiled=compiled, called=called))
    assert analysis.expected == analysis.found and () == analysis.report.holes


@pytest.mark.parametrize(
    ("imported", "call"),
    [
        ("from vllm.compilation.cuda_graph import CUDAGraphWrapper", "CUDAGraphWrapper(step, config, runtime_mode=1)"),
        ("from vllm.compilation.cuda_graph import CUDAGraphWrapper", "CUDAGraphWrapper(runnable=step, vllm_config=1)"),
        ("from vllm_ascend.compilation.acl_graph import ACLGraphWrapper", "ACLGraphWrapper(step, config, 1)"),
        ("from sfast.cuda.graphs import make_dynamic_graphed_callable", "make_dynamic_graphed_callable(step)"),
        ("import habana_frameworks.torch as ht", "ht.hpu.wrap_in_hpu_graph(step)"),
    ],
)
def test_what_the_wrapper_of_an_engine_is_given_is_captured(tmp_path: Path, imported: str, call: str) -> None:
    """The engine is not there: its row says which argument it captures."""
    program = f"""
        import torch
        {imported}
        def step(x: torch.Tensor):
            return x.item()  # expect: GL101
        def load(config):
            return {call}
        """
    analysis = analyse(tmp_path, program)
    assert analysis.expected == analysis.found


def test_the_wrapper_of_an_engine_says_itself_what_it_captures(tmp_path: Path) -> None:
    """In the files of the engine its row says nothing: this one keeps what it is given, and captures nothing."""
    program = """
        # file: vllm/__init__.py
        # file: vllm/compilation/__init__.py
        # file: vllm/compilation/cuda_graph.py
        class CUDAGraphWrapper:
            def __init__(self, runnable):
                self.runnable = runnable
        # file: vllm/runner.py
        import torch
        from vllm.compilation.cuda_graph import CUDAGraphWrapper
        def step(x: torch.Tensor):
            return x.item()
        def load():
            return CUDAGraphWrapper(step)
        """
    analysis = analyse(tmp_path, textwrap.dedent(program).lstrip())
    assert ([], 0) == (analysis.found, analysis.report.summary.regions)


def test_what_is_handed_over_and_called_is_no_tensor(tmp_path: Path) -> None:
    """Where nobody is seen to call what is captured, what it calls is not known, and that is told."""
    analysis = analyse(tmp_path, USED.format(compiled=f"fast = {MAKE}", called="print"))
    (hole,) = analysis.report.holes
    assert ("model", 1) == (hole.callee, hole.fitting)


def test_a_model_that_is_looked_up_by_the_names_of_its_module_and_class_is_followed(tmp_path: Path) -> None:
    """Modules and classes are chosen together, some calls before the capture."""
    files = """
        # file: zoo/__init__.py
        # file: zoo/first.py
        import torch
        class First(torch.nn.Module):
            def forward(self, x):
                return x.item()  # expect: GL101
        # file: zoo/second.py
        import torch
        class Second(torch.nn.Module):
            def forward(self, x):
                return x.tolist()  # expect: GL101
        # file: loader.py
        import importlib
        MODELS = {"A": ("first", "First"), "B": ("second", "Second")}
        def find(name):
            if name not in MODELS:
                return None
            module, cls = MODELS[name]
            return getattr(importlib.import_module(f"zoo.{module}"), cls, None)
        def load(config):
            for name in config.names:
                cls = find(name)
                if cls is not None:
                    return cls().cuda()
            raise ValueError(config)
        # file: runner.py
        import torch
        from loader import load
        class Runner:
            def __init__(self, config):
                self.config, self.model = config, None
            def prepare(self):
                self.model = load(self.config)
            def capture(self, x: torch.Tensor):
                with torch.cuda.graph(torch.cuda.CUDAGraph()):
                    self.model(x)
        """
    analysis = analyse(tmp_path, textwrap.dedent(files))
    assert analysis.expected == analysis.found and 2 == len(analysis.found)


def test_a_declared_region_that_names_nothing_is_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who mistypes a name in a large program waits for no search."""
    monkeypatch.setattr(Search, "lexical", lambda _: pytest.fail("the search has begun"))
    with pytest.raises(UsageError, match="nothing in `main` is called `stpe`"):
        analyse(tmp_path, DECLARED, regions=("main:stpe",))
