"""How the code around a region is rehearsed: what is run, in which order, and which ways through it are tried."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from analysis import Analysis, analyse

from graphlint.static.life import ways

RUNNER = """
import torch

class Runner:
    def __init__(self, model, flag, other):
        self.model, self.flag, self.other = model, flag, other
        self.x = torch.zeros(4, device="cuda")
        self.spare = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x * 2

    def given(self, x):
        yield x

    def fail(self):
        raise ValueError

    def fine(self):
        return True

    def run(self, x):
{body}
        self.graph.replay()
        return self.y.clone()
"""


def rehearsed(folder: Path, body: str) -> Analysis:
    """What is said of a method that does this before it replays; the region reads `self.x`."""
    body = textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 8)
    return analyse(folder, RUNNER.format(body=body))


TOLD = {
    "the attribute is bound anew": """
        self.x = x  # expect: GL508
        """,
    "a condition that nobody knows": """
        if self.flag:
            self.x = x  # expect: GL508
        else:
            self.x.copy_(x)
        """,
    "the other side of it": """
        if self.flag:
            self.x.copy_(x)
        else:
            self.x = x  # expect: GL508
        """,
    "two conditions": """
        if self.flag:
            if x.shape[0] > 4:
                self.x.copy_(x)
            else:
                self.x = x  # expect: GL508
        else:
            self.x.copy_(x)
        """,
    "a conditional expression": """
        self.x = x if self.flag else self.x  # expect: GL508
        """,
    "another question": """
        old = self.x
        if self.flag:
            self.x = x  # expect: GL508
        if self.other:
            self.x = old
        """,
    "another question about the same value": """
        old = self.x
        if x.shape[0] > 4:
            self.x = x  # expect: GL508
        if x.shape[0] > 8:
            self.x = old
        """,
    "what was assigned is not None": """
        pending = x
        if pending is not None:
            self.x = pending  # expect: GL508
        """,
    "a list with the name": """
        for name in ("spare", "x"):
            setattr(self, name, x)  # expect: GL508
        """,
    "a loop of one round": """
        for _ in range(1):
            self.x = x  # expect: GL508
        """,
    "a loop that a break ends later": """
        for number in range(3):
            if number == 1:
                break
            self.x = x  # expect: GL508
        """,
    "a round that is not left out": """
        for number in range(3):
            if number < 2:
                continue
            self.x = x  # expect: GL508
        """,
    "a loop that nothing breaks, and its else": """
        for number in range(2):
            if number == 5:
                break
        else:
            self.x = x  # expect: GL508
        """,
    "a loop over what nobody knows": """
        for part in x.unbind():
            self.x = part  # expect: GL508
        """,
    "a loop that counts": """
        number = 0
        while number < 2:
            number += 1
        if number == 2:
            self.x = x  # expect: GL508
        """,
    "a loop over a generator": """
        for value in self.given(x):
            self.x = value  # expect: GL508
        """,
    "a tuple is unpacked": """
        for name, value in (("spare", self.spare), ("x", x)):
            setattr(self, name, value)  # expect: GL508
        """,
    "a dictionary is gone through": """
        for name, value in {"x": x}.items():
            setattr(self, name, value)  # expect: GL508
        """,
    "a keyword of dict": """
        table = dict(value=x)
        self.x = table["value"]  # expect: GL508
        """,
    "an attribute by its name": """
        self.other = x
        setattr(self, "x", getattr(self, "other"))  # expect: GL508
        """,
    "a handler": """
        try:
            self.fail()
        except ValueError:
            self.x = x  # expect: GL508
        """,
    "no exception, and an else": """
        try:
            self.fine()
        except ValueError:
            pass
        else:
            self.x = x  # expect: GL508
        """,
    "a finally": """
        try:
            self.fine()
        finally:
            self.x = x  # expect: GL508
        """,
    "a nested function": """
        def prepare():
            self.x = x  # expect: GL508
        prepare()
        """,
    "a lambda": """
        (lambda: setattr(self, "x", x))()  # expect: GL508
        """,
    "an attribute that was deleted and is made again": """
        del self.x
        self.x = x  # expect: GL508
        """,
    "a walrus": """
        if (value := x) is not None:
            self.x = value  # expect: GL508
        """,
    "a case that matches": """
        match "a":
            case "b":
                pass
            case "a":
                self.x = x  # expect: GL508
        """,
    "a starred argument": """
        def prepare(runner, value):
            runner.x = value  # expect: GL508
        prepare(*(self, x))
        """,
    "keywords out of a dictionary": """
        def prepare(runner, value):
            runner.x = value  # expect: GL508
        prepare(**{"runner": self, "value": x})
        """,
}


@pytest.mark.parametrize("body", TOLD.values(), ids=TOLD)
def test_what_comes_before_a_replay_is_run(tmp_path: Path, body: str) -> None:
    """On one way at least, another tensor stands where the graph reads."""
    analysis = rehearsed(tmp_path, body)
    assert analysis.expected == analysis.shown


SILENT = {
    "a copy": """
        self.x.copy_(x)
        """,
    "another attribute": """
        self.spare = x
        """,
    "the same question": """
        old = self.x
        if self.flag:
            self.x = x
        if self.flag:
            self.x = old
        """,
    "the same comparison": """
        old = self.x
        if x.shape[0] > 4:
            self.x = x
        if x.shape[0] > 4:
            self.x = old
        """,
    "the opposite question": """
        old = self.x
        if not self.flag:
            self.x = x
        if self.flag:
            pass
        else:
            self.x = old
        """,
    "what was assigned is None": """
        pending = None
        if pending is not None:
            self.x = x
        self.spare.copy_(x)
        """,
    "an attribute that was assigned": """
        if self.x is None:
            self.x = x
        """,
    "a list without the name": """
        for name in ("spare", "flag"):
            setattr(self, name, x)
        """,
    "an empty list": """
        for name in []:
            self.x = x
        """,
    "a loop of no round": """
        for _ in range(0):
            self.x = x
        """,
    "a break before": """
        for number in range(3):
            if number == 0:
                break
            self.x = x
        """,
    "an else behind a break": """
        for number in range(3):
            if number == 1:
                break
        else:
            self.x = x
        """,
    "a round that is left out": """
        for number in range(3):
            if number < 3:
                continue
            self.x = x
        """,
    "a comparison of numbers": """
        if 1 + 1 == 3:
            self.x = x
        """,
    "a handler of what raises nothing": """
        try:
            self.fine()
        except ValueError:
            self.x = x
        """,
    "an else behind an exception": """
        try:
            self.fail()
        except ValueError:
            pass
        else:
            self.x = x
        """,
    "behind a return": """
        if self.flag:
            return x
            self.x = x
        """,
    "a nested function that nobody calls": """
        def prepare():
            self.x = x
        """,
    "an exception ends the run": """
        if self.flag:
            self.x = x
            raise ValueError
        """,
    "a case that does not match": """
        match "a":
            case "b":
                self.x = x
            case "a":
                pass
        """,
}


@pytest.mark.parametrize("body", SILENT.values(), ids=SILENT)
def test_ways_that_cannot_be_gone_are_not_tried(tmp_path: Path, body: str) -> None:
    """What is known, or has been asked before, has one answer."""
    assert [] == rehearsed(tmp_path, textwrap.dedent(body) + "print(x.shape)").shown


@pytest.mark.parametrize(
    "endless",
    [
        "while True:\n    x = x + 1",
        "while self.flag:\n    self.other += 1",
        "def again(n):\n    return again(n + 1)\nagain(0)",
        "for n in range(1000000):\n    self.spare.add_(n)",
    ],
    ids=["a loop", "a condition that nobody knows", "recursion", "many rounds"],
)
def test_what_does_not_end_is_left(tmp_path: Path, endless: str) -> None:
    """What comes behind it is run all the same."""
    assert ["GL508"] == [code for _, _, code in rehearsed(tmp_path, f"{endless}\nself.x = x").shown]


def test_a_run_of_too_many_steps_is_given_up(tmp_path: Path) -> None:
    """Nothing is said of what comes behind loops in loops; what came before stays."""
    loops = "".join(f"{'    ' * n}for n{n} in range(4):\n" for n in range(9)) + "    " * 9 + "n8 + n7\n"
    assert [] == rehearsed(tmp_path, f"{loops}self.x = x").shown
    early = f"self.x = x  # expect: GL508\nself.graph.replay()\n{loops}"
    analysis = rehearsed(tmp_path, early)
    assert analysis.expected == analysis.shown


@pytest.mark.parametrize(("steps", "codes"), [(0, []), (100_000, ["GL508"])])
def test_the_runs_of_a_program_share_their_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int, codes: list[str]
) -> None:
    """A way that is gone second is gone while there are some left."""
    monkeypatch.setattr(ways, "MAX_STEPS_IN_ALL", steps)
    body = "if self.flag:\n    pass\nelse:\n    self.x = x"
    assert codes == [code for _, _, code in rehearsed(tmp_path, body).shown]


PROGRAMS = {
    "a generator opens the region": """
        from contextlib import contextmanager
        import torch

        @contextmanager
        def recording(graph):
            torch.cuda.synchronize()
            with torch.cuda.graph(graph):
                yield

        def main(first, second):
            x = torch.zeros(4, device="cuda")
            graph = torch.cuda.CUDAGraph()
            with recording(graph):
                y = x * 2
            for batch in (first, second):
                {stale}graph.replay()  # expect: GL512
                {fresh}x.copy_(batch)
                {fresh}graph.replay()
                print(y.sum().item())
        """,
    "an object opens the region": """
        import torch

        class Recording:
            def __init__(self, graph):
                self.manager = torch.cuda.graph(graph)
            def __enter__(self):
                torch.cuda.synchronize()
                return self.manager.__enter__()
            def __exit__(self, *error):
                return self.manager.__exit__(*error)

        class Runner:
            def __init__(self):
                self.x = torch.zeros(4, device="cuda")
                self.graph = torch.cuda.CUDAGraph()
                self.graph.capture_begin()
                self.y = self.x * 2
                self.graph.capture_end()

            def run(self, x):
                {stale}self.x = x  # expect: GL508
                {fresh}self.x.copy_(x)
                self.graph.replay()
                return self.y.clone()
        """,
    "a function that was returned": """
        import torch

        def compiled(model):
            x = torch.zeros(4, device="cuda")
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = model(x)
            def run(batch):
                {fresh}x.copy_(batch)
                graph.replay(){stale}  # expect: GL512
                return y.clone()
            return run
        """,
    "the base class makes the input": """
        import torch

        class Base:
            def __init__(self, size):
                self.x = torch.zeros(size, device="cuda")

        class Runner(Base):
            def __init__(self, size):
                super().__init__(size)
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.y = self.x * 2

            def run(self, x):
                {stale}self.x = x  # expect: GL508
                {fresh}self.x.copy_(x)
                self.graph.replay()
                return self.y.clone()
        """,
    "the base class replays": """
        import torch

        class Base:
            def run(self, x):
                self.prepare(x)
                self.graph.replay()
                return self.y.clone()

        class Runner(Base):
            def __init__(self, size):
                self.x = torch.zeros(size, device="cuda")
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.y = self.x * 2

            def prepare(self, x):
                {stale}self.x = x  # expect: GL508
                {fresh}self.x.copy_(x)

            def run(self, x):
                out = super().run(x)
                self.graph.replay()
                return out
        """,
    "a property": """
        import torch

        class Runner:
            def __init__(self):
                self.buffers = [torch.zeros(4, device="cuda")]
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.y = self.x * 2

            @property
            def x(self):
                return self.buffers[0]

            def run(self, x):
                {fresh}self.x.copy_(x)
                self.graph.replay(){stale}  # expect: GL512
                return self.y.clone()
        """,
    "an attribute of the class": """
        import torch

        class Runner:
            {stale}keep = False
            {fresh}keep = True
            def __init__(self):
                self.x = torch.zeros(4, device="cuda")
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.y = self.x * 2

            def run(self, x):
                if self.keep:
                    self.x.copy_(x)
                else:
                    self.x = x{stale}  # expect: GL508
                self.graph.replay()
                return self.y.clone()
        """,
    "a dictionary of graphs": """
        import torch

        class Runner:
            def __init__(self):
                self.x = torch.zeros(8, device="cuda")
                self.graphs, self.out = {{}}, {{}}
                for size in (1, 2, 4):
                    graph = torch.cuda.CUDAGraph()
                    with torch.cuda.graph(graph):
                        self.out[size] = self.x[:size] * 2
                    self.graphs[size] = graph

            def run(self, x, size):
                {stale}self.x = x  # expect: GL508
                {fresh}self.x.copy_(x)
                self.graphs[size].replay()
                return self.out[size].clone()
        """,
    "a list of graphs and what belongs to them": """
        import torch

        class Runner:
            def __init__(self):
                self.x = torch.zeros(8, device="cuda")
                self.entries = []
                for size in (1, 2, 4):
                    graph = torch.cuda.CUDAGraph()
                    with torch.cuda.graph(graph):
                        out = self.x * size
                    self.entries.append((graph, out))

            def run(self, x, number):
                graph, out = self.entries[number]
                {stale}self.x = x  # expect: GL508
                {fresh}self.x.copy_(x)
                graph.replay()
                return out.clone()
        """,
    "a table of tuples": """
        import torch

        class Runner:
            def __init__(self):
                self.table = {{}}

            def capture(self, size):
                x, graph = torch.zeros(4, device="cuda"), torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    y = x * 2
                self.table[4] = (graph, x, y)

            def run(self, batch):
                graph, x, y = self.table[4]
                {fresh}x.copy_(batch)
                graph.replay(){stale}  # expect: GL512
                return y.clone()
        """,
    "globals of a file": """
        import torch

        X = torch.zeros(4, device="cuda")
        GRAPH = torch.cuda.CUDAGraph()
        with torch.cuda.graph(GRAPH):
            Y = X * 2

        for batch in torch.rand(3, 4, device="cuda"):
            {fresh}X.copy_(batch)
            GRAPH.replay(){stale}  # expect: GL512
            print(Y.sum().item())
        """,
    "a global that a function sets, and that a check asks for": """
        import torch

        GROUP = None

        def init(group):
            global GROUP
            GROUP = group

        def group():
            assert GROUP is not None
            return GROUP

        class Runner:
            def __init__(self, size):
                self.group = group()
                self.x = torch.zeros(size, device="cuda")
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.y = self.x * 2

            def run(self, x):
                {stale}self.x = x  # expect: GL508
                {fresh}self.x.copy_(x)
                self.graph.replay()
                return self.y.clone()
        """,
    "a global of another file": """
        import torch
        from buffers import X

        class Runner:
            def __init__(self):
                self.x = X
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.y = self.x * 2

            def run(self, x):
                {stale}self.x = x  # expect: GL508
                {fresh}X.copy_(x)
                self.graph.replay()
                return self.y.clone()
        # file: buffers.py
        import torch
        X = torch.zeros(4, device="cuda")
        """,
    "a helper of another file": """
        import torch
        import helpers

        class Runner:
            def __init__(self):
                self.x = torch.zeros(4, device="cuda")
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.y = self.x * 2

            def run(self, x):
                helpers.prepare(self, x)
                self.graph.replay()
                return self.y.clone()
        # file: helpers.py
        def prepare(runner, x):
            {stale}runner.x = x  # expect: GL508
            {fresh}runner.x.copy_(x)
        """,
    "a method for the capture": """
        import torch

        class Runner:
            def __init__(self):
                self.x = torch.zeros(4, device="cuda")

            def record(self):
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.y = self.x * 2

            def run(self, x):
                {stale}self.x = x  # expect: GL508
                {fresh}self.x.copy_(x)
                self.graph.replay()
                return self.y.clone()
        """,
    "a capture when it is first needed": """
        import torch

        class Runner:
            def __init__(self, model):
                self.model, self.graph = model, None
                self.x = torch.zeros(4, device="cuda")

            def run(self, x):
                if self.graph is None:
                    self.graph = torch.cuda.CUDAGraph()
                    with torch.cuda.graph(self.graph):
                        self.y = self.x * 2
                {stale}self.x = x  # expect: GL508
                {fresh}self.x.copy_(x)
                self.graph.replay()
                return self.y.clone()
        """,
    "inputs in a dictionary": """
        import torch

        class Runner:
            def __init__(self):
                self.inputs = dict(x=torch.zeros(4, device="cuda"))
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.y = self.inputs["x"] * 2

            def run(self, x):
                {stale}self.inputs["x"] = x  # expect: GL508
                {fresh}self.inputs["x"].copy_(x)
                self.graph.replay()
                return self.y.clone()
        """,
    "a static method and a class method": """
        import torch

        class Runner:
            def __init__(self):
                self.x = torch.zeros(4, device="cuda")
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.y = self.x * 2

            @staticmethod
            def put(runner, x):
                {stale}runner.x = x  # expect: GL508
                {fresh}runner.x.copy_(x)

            @classmethod
            def prepare(cls, runner, x):
                cls.put(runner, x)

            def run(self, x):
                self.prepare(self, x)
                self.graph.replay()
                return self.y.clone()
        """,
}


def one_of(program: str, kept: str) -> str:
    """A program without the lines, or the ends of lines, of its other form."""
    lines = []
    for line in program.splitlines():
        for form in ("stale", "fresh"):
            before, mark, after = line.partition("{" + form + "}")
            if mark:
                line = before + after if form == kept else before.rstrip()
        lines.append(line)
    return "\n".join(lines).replace("{{", "{").replace("}}", "}")


@pytest.mark.parametrize("form", ["stale", "fresh"])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_is_followed_as_it_runs(tmp_path: Path, program: str, form: str) -> None:
    """What stands around the region in other functions, classes and files; its corrected form is silent."""
    analysis = analyse(tmp_path, one_of(program, form))
    assert analysis.expected == analysis.shown
    assert bool(analysis.expected) is (form == "stale")
