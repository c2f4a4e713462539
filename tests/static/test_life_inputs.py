"""What a graph reads around its replays: filled, whole, in the same memory, and alive."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from analysis import Analysis, analyse

CLASS = """
import torch

class Runner:
    def __init__(self, model, helper):
        self.model, self.helper = model, helper
        self.x = torch.zeros(16, 8, device="cuda")
        self.lengths = torch.zeros(16, dtype=torch.int32, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x.sum(0) + self.lengths.sum()

    def run(self, x, n):
{body}
        self.graph.replay()
        return self.y{cut}.clone()
"""
FUNCTION = """
import torch

def compiled(model, helper):
    x = torch.zeros(16, 8, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x.sum(0)

    def run(batch, n):
{body}
        graph.replay()
        return y.clone()
    return run
"""
SCRIPT = """
import torch
import library

x = torch.zeros(16, 8, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = x.sum(0)
for batch in library.batches():
{body}
    graph.replay()
    print(y.sum().item())
"""


def filled_in(template: str, body: str, depth: int = 2, **others: str) -> str:
    """A program with this body before its replay."""
    return template.format(body=textwrap.indent(textwrap.dedent(body).strip("\n"), " " * 4 * depth), **others)


def of_class(folder: Path, body: str, cut: str = "") -> Analysis:
    return analyse(folder, filled_in(CLASS, body, cut=cut))


def of_program(folder: Path, program: str) -> Analysis:
    return analyse(folder, program)


FORMS = [(CLASS, 2, "self.x", "x"), (FUNCTION, 2, "x", "batch"), (SCRIPT, 1, "x", "batch")]
IN_FORMS = pytest.mark.parametrize(
    ("template", "depth", "held", "given"), FORMS, ids=["a class", "a function that it returns", "a script"]
)


@IN_FORMS
def test_data_that_goes_nowhere(tmp_path: Path, template: str, depth: int, held: str, given: str) -> None:
    """The replay computes the last request again, unless something is copied."""
    stale = analyse(tmp_path / "stale", filled_in(template, "pass", depth, cut=""))
    assert ["GL512"] == [code for _, _, code in stale.shown]
    fresh = analyse(tmp_path / "fresh", filled_in(template, f"{held}.copy_({given})", depth, cut=""))
    assert [] == fresh.shown


@IN_FORMS
def test_a_name_that_is_bound_anew(tmp_path: Path, template: str, depth: int, held: str, given: str) -> None:
    """The graph reads the tensor that the name held before; a nested function binds a name of its own."""
    body = f"{held} = {given}  # expect: GL508"
    if template is FUNCTION:
        body = f"nonlocal x\n{body}"
    analysis = analyse(tmp_path, filled_in(template, body, depth, cut=""))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL508"]


@pytest.mark.parametrize(
    "body",
    [
        "self.x.copy_(x)",
        "self.x[:] = x",
        "self.x[...] = x",
        "self.x[:].copy_(x)",
        "self.x[...].copy_(x)",
        "self.x[:, :].copy_(x)",
        "self.x.view(-1).copy_(x.view(-1))",
        "torch.add(x, 1, out=self.x)",
        "self.x.zero_()\nself.x[:n].copy_(x)",
        "self.x[:n].copy_(x)\nself.x[n:].zero_()",
        "self.x[:n] = x\nself.x[n:] = 0",
        "held = self.x\nheld.copy_(x)",
        "view = self.x.view(128)\nview.copy_(x.reshape(128))",
        "for target, source in zip([self.x], [x]):\n    target.copy_(source)",
        "for target in (self.x, self.lengths):\n    target.copy_(x)",
        "self.helper(self.x, x)",
        "self.helper.fill({'x': self.x}, x)",
        "self.helper(self, x)",
        "torch._foreach_copy_([self.x], [x])",
        "getattr(self, 'x').copy_(x)",
        "self.x.fill_(n)",
        "self.x.index_copy_(0, n, x)",
        "self.x[n].copy_(x)",
        "self.x[0:4].copy_(x)",
    ],
)
def test_a_write_to_an_input_is_seen(tmp_path: Path, body: str) -> None:
    """Under any name, by any operation, whole or at a place that a constant or a tensor says."""
    assert [] == of_class(tmp_path, f"{body}\nprint(n)").shown


@pytest.mark.parametrize(
    "body",
    [
        "pass",
        "print(self.lengths.shape)",
        "held = torch.zeros(16, 8, device='cuda')",
        "number = n + 1",
        "self.helper(self.model)",
    ],
)
def test_what_writes_to_no_input_does_not_count(tmp_path: Path, body: str) -> None:
    """Nothing that the graph reads is given to anybody."""
    assert ["GL512"] == [code for _, _, code in of_class(tmp_path, body).shown]


def test_a_loop_that_counts_has_no_data(tmp_path: Path) -> None:
    """A benchmark replays as often as it likes."""
    for number, head in enumerate(["range(10)", "range(int(library.count()))", "enumerate([1, 2])"]):
        program = filled_in(SCRIPT, "pass", 1).replace("library.batches()", head)
        assert [] == analyse(tmp_path / str(number), program).shown, head
    unused = filled_in(SCRIPT, "pass", 1).replace("for batch in", "for _ in")
    assert [] == analyse(tmp_path / "unused", unused).shown


def test_a_graph_without_inputs_computes_what_it_likes(tmp_path: Path) -> None:
    """Nothing is to be filled."""
    program = filled_in(SCRIPT, "pass", 1).replace("y = x.sum(0)", 'y = torch.rand(4, device="cuda")')
    assert [] == analyse(tmp_path, program).shown


LAZY = """
import torch

class Lazy:
    def __init__(self, model):
        self.model, self.graph = model, None

    def __call__(self, x, mask):
        if self.graph is None:
            {prepare}
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = self.x * mask * 2{mark}
        self.x.copy_(x)
        {again}
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("prepare", "again", "mark"),
    [
        ("self.x = x.clone()", "pass", "  # expect: GL512"),
        ("self.x, mask = x.clone(), mask.clone()", "pass", "  # expect: GL512"),
        ("self.x = x.clone(); self.mask = mask = mask.clone()", "self.mask.copy_(mask)", ""),
        ("self.x = x.clone(); mask = torch.ones(4, device='cuda')", "pass", ""),
        ("self.x = torch.empty_like(x); self.mask = mask", "self.mask.copy_(mask)", ""),
    ],
    ids=["its argument", "a copy of it", "a copy that is filled", "a constant", "the argument itself, filled"],
)
def test_what_the_call_that_captured_was_given(tmp_path: Path, prepare: str, again: str, mark: str) -> None:
    """A later call has an argument of its own, which the graph never reads."""
    analysis = analyse(tmp_path, LAZY.format(prepare=prepare, again=again, mark=mark))
    codes = [place for place in analysis.shown if place[2] == "GL512"]
    assert analysis.expected == codes


MADE = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cache = torch.zeros(4, device="cuda")

    def encode(self, x):
        return {made}

    def decode(self, hidden):
        return hidden * 2

class Runner:
    def __init__(self, model: Model):
        self.model, self.graph = model, None

    def run(self, x: torch.Tensor):
        hidden = self.model.encode(x)
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = self.model.decode(hidden){mark}
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("made", "mark"),
    [("x + 1", "  # expect: GL512"), ("self.cache.copy_(x)", ""), ("self.cache", "")],
    ids=["a new tensor", "a buffer that it fills", "a buffer"],
)
def test_what_each_call_makes_anew_is_the_first_one_to_the_graph(tmp_path: Path, made: str, mark: str) -> None:
    """Another function makes it, and another one reads it in the region."""
    analysis = analyse(tmp_path, MADE.format(made=made, mark=mark))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL512"]


PARTS = {
    "a slice": "self.x[:n].copy_(x)  # expect: GL511",
    "an item": "self.x[:n] = x  # expect: GL511",
    "a size of the argument": "self.x[:x.shape[0]].copy_(x)  # expect: GL511",
    "a local name": "rows = x.size(0)\nself.x[:rows] = x  # expect: GL511",
    "another extent": "self.x[:, :n] = x  # expect: GL511",
    "a view that has a name": "part = self.x[:n]\npart.copy_(x)  # expect: GL511",
    "a view of a view": "self.x.view(16, 8)[:n].copy_(x)  # expect: GL511",
    "another part behind it": "self.x[:n] = x  # expect: GL511\nif n < 4:\n    self.x[4:8].zero_()",
    "an operation with out": "torch.mul(x, 2, out=self.x[:n])  # expect: GL511",
}


@pytest.mark.parametrize("body", PARTS.values(), ids=PARTS)
def test_an_input_that_is_filled_in_part(tmp_path: Path, body: str) -> None:
    """What lies behind is of an earlier request, and the graph sums over it."""
    analysis = of_class(tmp_path, f"print(n)\n{body}")
    assert analysis.expected == analysis.shown


@pytest.mark.parametrize(
    "body",
    [
        "self.x[:n].copy_(x)\nself.x[n:].zero_()",
        "self.x[n:].fill_(0)\nself.x[:n] = x",
        "self.x[:n] = x\nself.x[n:] = 0",
        "self.x[:n] = x\nif n < 8:\n    self.x[n:8].zero_()",
        "self.x.zero_()\nself.x[:n] = x",
        "self.x.fill_(0)\nself.x[:n] = x",
        "self.x[:4] = x",
        "self.x[:n] = x\nself.helper(self.x)",
        "self.x[:n] = x\nself.lengths.fill_(n)",
        "padded = torch.nn.functional.pad(x, (0, n))\nself.x.copy_(padded)",
    ],
    ids=[
        "the rest is zeroed",
        "the rest was zeroed",
        "the rest is assigned",
        "the rest is zeroed up to the size, where there is one",
        "all is zeroed before",
        "all is filled before",
        "a constant bound",
        "an unknown call may fill it",
        "the graph is told where it ends",
        "padded",
    ],
)
def test_the_rest_of_an_input_does_not_matter(tmp_path: Path, body: str) -> None:
    """It is filled as well, or the graph knows where its data ends."""
    assert [] == of_class(tmp_path, f"print(n)\n{body}").shown


def test_outputs_that_are_cut_with_their_inputs_are_rows(tmp_path: Path) -> None:
    """Each row is likely computed by itself; where the whole output is used, the rest is in it."""
    body = "self.x[:n].copy_(x)"
    assert [] == of_class(tmp_path / "cut", body, cut="[:n]").shown
    assert ["GL511"] == [code for _, _, code in of_class(tmp_path / "whole", body).shown]
    kept = f"rows = {{'y': self.y[:n]}}\nprint(n)\n{body}"
    assert [] == of_class(tmp_path / "kept", kept, cut="[:n]").shown


TABLES = """
import torch

class Runner:
    def __init__(self, model):
        self.model = model
        self.lengths = torch.zeros(16, dtype=torch.int32, device="cuda")
        self.table = torch.zeros(16, 8, dtype=torch.int32, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = {step}

    def run(self, table, lengths, n):
        self.lengths.zero_()
        self.lengths[:n] = lengths
        self.table[:n, :table.size(1)] = table
        self.graph.replay()
        return self.y[:n].clone()
"""


@pytest.mark.parametrize(
    ("step", "is_told"),
    [("self.model(self.table, self.lengths)", False), ("self.table.sum(1) + self.lengths", True)],
    ids=["an unknown model may heed the lengths", "all columns are summed"],
)
def test_columns_of_a_table_whose_lengths_are_reset(tmp_path: Path, step: str, is_told: bool) -> None:
    """A length of zero, or a short one, bounds what a model reads of its row."""
    assert is_told is ("GL511" in {code for _, _, code in analyse(tmp_path, TABLES.format(step=step)).shown})


def test_a_state_of_the_graph_keeps_what_outputs_cut_off(tmp_path: Path) -> None:
    """Old rows are written to it again, and later replays read them."""
    body = "        self.x[:n].copy_(x)"
    for kept, expected in {
        "self.lengths[:8] += 1": ["GL511"],
        "self.lengths[:8] = self.x.sum(1)": ["GL511"],
        "self.extra[:8] = self.x": [],
    }.items():
        program = CLASS.replace("self.y =", f"{kept}\n            self.y =").format(body=body, cut="[:n]")
        assert expected == [code for _, _, code in analyse(tmp_path / str(len(kept)), program).shown]


def test_outputs_of_the_capture_itself_are_no_answers(tmp_path: Path) -> None:
    """What sets buffers up looks at all of them once."""
    program = (
        CLASS.replace("            self.y =", "            y =")
        + "\n    def of(self, y):\n        return torch.cat([y, y])\n"
    )
    program = program.replace("\n    def run", "\n        self.y = self.of(y)[:8]\n\n    def run", 1)
    program = program.format(body="        self.x[:n].copy_(x)", cut="[:n]")
    assert [] == [one for one in analyse(tmp_path, program).shown if one[2] == "GL511"]


VIEWS = """
import torch

class Runner:
    def __init__(self, rows):
        self.x = torch.zeros(16, 8, device="cuda")
        self.part = self.rows_of(rows)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.{read}.sum(0)

    def rows_of(self, count):
        return self.x[:count]

    def run(self, x, n):
        self.{filled}.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    "read, filled, bound", [("x", "rows_of(n)", "count"), ("x", "part", "count"), ("part", "part", "")]
)
def test_a_view_that_another_function_took(tmp_path: Path, read: str, filled: str, bound: str) -> None:
    """Its end is told in the words of that function; the view that the graph reads is whole to it."""
    shown = analyse(tmp_path, VIEWS.format(read=read, filled=filled)).report.findings
    told = [finding.message.partition(" up to ")[2].partition(",")[0] for finding in shown]
    assert told == ([f"`{bound}`"] if bound else [])


EMPTY = """
import torch

class Runner:
    def __init__(self, model):
        self.x = torch.empty(16, 8, device="cuda"){mark}
        {warm}
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x.sum(0)

    def run(self, x, n):
        self.x[:n].copy_(x)
        self.graph.replay()
        return self.y[:n].clone()
"""


@pytest.mark.parametrize(
    ("warm", "mark"),
    [("pass", "  # expect: GL511"), ("self.x.zero_()", ""), ("self.x.fill_(float('nan'))", "  # expect: GL511")],
    ids=["nothing", "zeros", "what is no number"],
)
def test_memory_that_nothing_has_filled(tmp_path: Path, warm: str, mark: str) -> None:
    """What `torch.empty` finds there may be NaN."""
    analysis = analyse(tmp_path, EMPTY.format(warm=warm, mark=mark))
    assert analysis.expected == analysis.shown


EMPTY_ROWS = """
import torch

class Runner:
    def __init__(self, model):
        self.model = model
        self.x = torch.empty(16, 8, device="cuda")
        self.y = torch.zeros(16, 8, device="cuda")

    def run(self, x, n):
        self.x[:n].copy_(x)
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                {region}
        else:
            self.graph.replay()
        return self.y{cut}.clone()
"""


@pytest.mark.parametrize(
    ("region", "cut", "is_told"),
    [
        ("self.y.copy_(self.model(self.x * 2))", "[:n]", False),
        ("self.y.copy_(self.model(self.x * 2))", "", True),
        ("self.y.copy_(self.model((self.x * 2).sum(0)))", "[:n]", True),
        ("self.y.copy_(self.x.sum(0))", "[:n]", True),
    ],
)
def test_rows_that_nothing_has_filled_are_cut_off(tmp_path: Path, region: str, cut: str, is_told: bool) -> None:
    """Where each row is likely computed on its own, what is no number stays in its row."""
    shown = analyse(tmp_path, EMPTY_ROWS.format(region=region, cut=cut)).shown
    assert is_told is ("GL511" in {code for _, line, code in shown if line == 7})


def test_an_input_that_the_graph_changes_is_no_state_if_it_is_given_each_time(tmp_path: Path) -> None:
    """Old rows are changed once more, and nothing reads them: those of the request are filled before."""
    body = "        self.x[:n].copy_(x)"
    for given, is_told in {"": True, "\n        self.lengths[:n].copy_(n)": False}.items():
        program = CLASS.replace("self.y =", "self.lengths[:8] += 1\n            self.y =")
        codes = {
            code for _, _, code in analyse(tmp_path / str(is_told), program.format(body=body + given, cut="[:n]")).shown
        }
        assert is_told is ("GL511" in codes)


MEMORY = {
    "resized": ("self.x.resize_(n, 8)  # expect: GL508", "self.x[:n].zero_()"),
    "set to other memory": ("self.x.set_(x)  # expect: GL508", "self.x.copy_(x)"),
    "bound anew and filled": ("self.x = torch.zeros_like(x)  # expect: GL508", "self.x.zero_()"),
    "a sum": ("self.x = self.x + x  # expect: GL508", "self.x += x"),
    "moved": ("self.x = x.to('cuda')  # expect: GL508", "self.x.copy_(x.to('cuda'))"),
}


@pytest.mark.parametrize(("bad", "good"), MEMORY.values(), ids=MEMORY)
def test_other_memory_is_not_what_the_graph_reads(tmp_path: Path, bad: str, good: str) -> None:
    """What works in place keeps the address."""
    rest = "\nself.lengths.fill_(n)\nprint(x.shape)"
    analysis = of_class(tmp_path / "bad", bad + rest)
    assert analysis.expected == analysis.shown
    assert [] == of_class(tmp_path / "good", good + rest).shown


def test_a_replacement_counts_as_soon_as_it_is_replayed(tmp_path: Path) -> None:
    """What is captured again reads the new tensor, and an attribute that gets its tensor back never lost it."""
    again = """
        self.x = x
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x.sum(0)
        """
    assert "GL508" not in {code for _, _, code in of_class(tmp_path / "again", again).found}
    back = "old = self.x\nself.x = x\nself.model(self.x)\nself.x = old\nself.x.copy_(x)\nprint(n)"
    assert [] == of_class(tmp_path / "back", back).shown


HELPER = """
import torch

{around}
def record(net, out):
    {made}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * 2{mark}
    {kept}
    {result}

def main(net, batch):
    out = []
    got = record(net, out)
    for _ in range(2):
        id(got)
"""
LOCAL = 'x = torch.zeros(4, device="cuda")'


@pytest.mark.parametrize(
    "result", ["return graph, y", "return graph", "return {'graph': graph, 'y': y}", "return graph.replay"]
)
def test_an_input_that_nobody_holds(tmp_path: Path, result: str) -> None:
    """The function is over, its graph is not."""
    program = HELPER.format(around="", made=LOCAL, kept="pass", result=result, mark="  # expect: GL507")
    analysis = analyse(tmp_path, program)
    assert analysis.expected == analysis.shown


@pytest.mark.parametrize(
    ("made", "kept", "result"),
    [
        (LOCAL, "pass", "return graph, x, y"),
        (LOCAL, "pass", "return {'graph': graph, 'x': x, 'y': y}"),
        (LOCAL, "out.append(x)", "return graph, y"),
        (LOCAL, "KEPT.append(x)", "return graph, y"),
        (LOCAL, "net.x = x", "return graph, y"),
        (LOCAL, "graph.x = x", "return graph, y"),
        (LOCAL, "unknown(x)", "return graph, y"),
        ("x = net.x", "pass", "return graph, y"),
        (LOCAL, "graph.replay()", "return y.clone()"),
        (
            LOCAL,
            "def run(batch):\n        x.copy_(batch)\n        graph.replay()\n        return y.clone()",
            "return run",
        ),
    ],
    ids=[
        "it is returned",
        "in a dictionary",
        "in a list of the caller",
        "in a global list",
        "in an object",
        "in the graph",
        "in an unknown call",
        "it was there before",
        "the graph is dropped as well",
        "in a closure",
    ],
)
def test_an_input_that_somebody_holds(tmp_path: Path, made: str, kept: str, result: str) -> None:
    """As long as the graph, or the graph is gone too."""
    around = "from elsewhere import unknown\nKEPT = []"
    program = HELPER.format(around=around, made=made, kept=kept, result=result, mark="")
    assert [] == [place for place in analyse(tmp_path, program).shown if place[2] == "GL507"]


def test_an_object_holds_its_own_inputs(tmp_path: Path) -> None:
    """An attribute does, a local name of the constructor does not."""
    program = """
    import torch

    class Runner:
        def __init__(self, net):
            {name} = torch.zeros(4, device="cuda")
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = {name} * 2{mark}

        def run(self):
            self.graph.replay()
            return self.y.clone()
    """
    bad = analyse(tmp_path / "bad", program.format(name="x", mark="  # expect: GL507"))
    assert bad.expected == bad.shown
    assert [] == analyse(tmp_path / "good", program.format(name="self.x", mark="")).shown


def test_a_call_that_captures_has_captured_its_own_data(tmp_path: Path) -> None:
    """What it is given and does not use belongs to no later request, as it does where another call has captured."""
    program = """
        import torch
        def measure(model, data, times):
            x = torch.zeros(16, device="cuda")
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = x.sum()
            for _ in range(times):
                graph.replay()
            for _ in range(times):
                graph.replay()
            return y.item()
        """
    assert [] == of_program(tmp_path, program).shown


STAGES = """
import torch

def captured(run):
    run()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        output = run()
    return graph, output

class Decoder:
    def __init__(self, config, model):
        self.count, self.model = config.count, model

    def stage(self, number, x):
        return x + self.model.blocks[number + 1](x)

    def build(self):
        self.x = torch.empty(4, device="cuda")
        graph, output = captured(lambda: self.model.embed(self.x))
        self.graphs = [graph]
        {early}
        for number in range(self.count - 1):
            graph, output = captured(lambda number=number, x=output: self.stage(number, x))
            self.graphs.append(graph)
        self.y = output

    def run(self, x):
        self.x.copy_(x)
        for graph in self.graphs:
            graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize("early", ["pass", "self.first = output * 2  # expect: GL509"])
def test_graphs_of_which_one_reads_the_other_are_warmed_up_with_what_is_there(tmp_path: Path, early: str) -> None:
    """Nobody looks at what the run before a capture gives; and the number of a loop is no input."""
    analysis = analyse(tmp_path, STAGES.format(early=early))
    assert analysis.expected == analysis.shown


ROWS = """
import torch

class Model:
    def __init__(self, rows):
        self.table = torch.zeros(rows, 4, device="cuda")
        self.graphs, self.inputs = {{}}, {{}}

    def prepare(self, x):
        n = len(x)
        self.table[:n].copy_(x.square()){mark}
        return self.table[:n]

    def __call__(self, x):
        table, size = self.prepare(x), {size}
        if size not in self.graphs:
            self.inputs[size] = x.clone()
            self.graphs[size] = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graphs[size]):
                self.y = self.inputs[size] * {read}
        self.inputs[size].copy_(x)
        self.graphs[size].replay()
        return self.y.sum().clone()
"""


@pytest.mark.parametrize(("read", "is_told"), [("table", False), ("self.table", True), ("self.table[:size]", True)])
def test_a_graph_for_each_length_reads_as_far_as_its_call_fills(tmp_path: Path, read: str, is_told: bool) -> None:
    """As long as one function cuts both; another one may cut by a length that is rounded up."""
    size = "x.shape[0]" if read == "table" else "round_up(x.shape[0])"
    mark = "  # expect: GL511" if is_told else ""
    analysis = analyse(tmp_path, ROWS.format(read=read, size=size, mark=mark))
    assert analysis.expected == analysis.shown


PICKED = """
import torch

def capture(model, x):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(x)
    return graph.replay

def order(calls, rounds):
    return calls.arrange(rounds)

def main(models, x, rounds):
    calls = [capture(model, x.cuda()) for model in models]
    for one in order(models, rounds):
        calls[{index}](){mark}
"""


@pytest.mark.parametrize(("index", "mark"), [("one", ""), ("0", "  # expect: GL512")])
def test_what_picks_the_graph_is_no_data_for_it(tmp_path: Path, index: str, mark: str) -> None:
    """Where a loop goes through the places of graphs, each round launches another one."""
    analysis = analyse(tmp_path, PICKED.format(index=index, mark=mark))
    assert analysis.expected == analysis.shown


MOVING = """
import torch

class Decoder:
    def __init__(self):
        self.history = torch.zeros(4, 64, 2, device="cuda")
        self.graph, self.out, self.at = None, None, 0

    @torch.no_grad()
    def step(self, x: torch.Tensor):
        self.history[:, {written}] = x
        row = self.history[:, {read}]
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.out = {use}
        self.graph.replay()
        self.at += 1
        return self.out.clone()
"""


@pytest.mark.parametrize(
    "use", ["row * 2", "row[:, 0] * 2", "row[:, :1].sum(-1) * 2", "torch.where(row[:, 0] > 0, 1, 2)"]
)
def test_a_view_at_a_place_that_moves(tmp_path: Path, use: str) -> None:
    """The graph reads the row of the call that captured, and a part of it as well; one at a fixed place is filled."""
    moving = analyse(tmp_path, MOVING.format(written="self.at", read="self.at", use=use))
    assert {("main.py", 16, "GL512")} == set(moving.found)
    fixed = analyse(tmp_path, MOVING.format(written="0", read="0", use=use))
    assert [] == fixed.found


WRAPPED = """
import functools
import torch

@functools.lru_cache
def captured(model, shapes):
    x = torch.{made}
    model(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(x)
    return graph, x, y

class Wrapped:
    def __init__(self, model):
        self.model = model

    def __call__(self, *data):
        for one in data:
            graph, x, y = captured(self.model, one)
            {later}
            graph.replay()
        return y.clone()
"""


@pytest.mark.parametrize(
    "made, later",
    [
        ("empty_like(shapes)  # expect: GL511", "x.copy_(one)"),
        ("zeros_like(shapes)", "x.copy_(one)"),
        ('empty(8, device="cuda")', "x.copy_(one)"),
        ('empty((len(shapes), 4), device="cuda")', "x.copy_(one)"),
    ],
)
def test_an_input_that_is_made_like_data_and_filled_after_its_capture_alone(
    tmp_path: Path, made: str, later: str
) -> None:
    """A cached function gives the same graph again, and what is called with any number of tensors has some."""
    analysis = analyse(tmp_path, WRAPPED.format(made=made, later=later))
    assert analysis.expected == analysis.shown


UPDATED = """
import torch

def build(net, x):
    held = {{"x": x.clone(), "mask": torch.ones(4, 1, device="cuda")}}
    net(held["x"])
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = net(held["x"]) * held["mask"]

    def run(x, mask):
        held["x"].copy_(x)
        {body}
        graph.replay()
        return y.clone()
    return run
"""


@pytest.mark.parametrize(
    "body",
    [
        "held.update(mask=mask.cuda())  # expect: GL508",
        "held.update(dict(mask=mask.cuda()))  # expect: GL508",
        'held["mask"].copy_(mask)',
        "held.update(other=mask)",
    ],
)
def test_a_table_of_inputs_is_updated(tmp_path: Path, body: str) -> None:
    """What it gives for a name is another tensor then."""
    analysis = analyse(tmp_path, UPDATED.format(body=body))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL508"]


TABLE = """
import torch

class Lookup:
    def __init__(self, table):
        self.table = table
        self.rows = torch.zeros(4, dtype=torch.long, device="cuda")
        self.scores = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            {read}

    def run(self, rows):
        {body}
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize("read", ["self.y = self.table[self.rows]", "self.y = self.scores[self.rows] * 2"])
@pytest.mark.parametrize("body", ["self.rows = rows.cuda()  # expect: GL508", "self.rows.copy_(rows)"])
def test_a_tensor_that_a_graph_indexes_with_is_one_of_its_inputs(tmp_path: Path, read: str, body: str) -> None:
    """It is read on the device, as what it picks from is; and what it picks is a tensor of its own."""
    analysis = analyse(tmp_path, TABLE.format(read=read, body=body))
    assert analysis.expected == analysis.shown


CACHE = """
import torch

class Decoder:
    def __init__(self, model):
        self.model = model
        self.x = torch.zeros(1, 8, device="cuda")
        self.k = torch.zeros(16, 8, device="cuda")
        self.slot = torch.zeros(1, dtype=torch.long, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.k.index_copy_(0, self.slot, self.x)
            self.y = self.x @ self.k.T

    def reset(self):
        {reset}

    def run(self, x):
        self.reset()
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


def test_a_cache_that_the_region_writes_before_it_reads_it_must_stay_where_it_is(tmp_path: Path) -> None:
    moved = analyse(tmp_path, CACHE.format(reset="self.k = torch.zeros_like(self.k)  # expect: GL508"))
    assert moved.shown == moved.expected
    assert not analyse(tmp_path / "kept", CACHE.format(reset="self.k.zero_()")).shown


PIECES = """
import torch

class Piece(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(8, 8)

    def forward(self, x):
        return self.inner(x).sum(-1)

class Pieces:
    def __init__(self, first, second, x):
        self.x, self.graphs = x, []
        h = x
        for piece in (first, second):
            piece(h)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                h = piece(h)
            self.graphs.append(graph)
        self.y = h

    def __call__(self, x):
        self.x.copy_(x)
        for graph in self.graphs:
            graph.replay()
        return self.y.clone()

with torch.no_grad():
    pieces = Pieces(torch.nn.ReLU(), {second}, torch.zeros(4, 8, device="cuda"))
    print(pieces(torch.randn(4, 8, device="cuda")))
"""


@pytest.mark.parametrize("second", ["torch.nn.Tanh()", "Piece()"])
def test_what_one_graph_hands_to_the_next_lives_in_its_pool_and_may_warm_that_up(tmp_path: Path, second: str) -> None:
    assert not analyse(tmp_path, PIECES.format(second=second)).shown


GROWING = """
import torch

class Cache:
    def __init__(self, n):
        self.mask = torch.full((n,), float("-inf"), device="cuda")
        self.seen = 0

    def advance(self):
        self.seen {step}
        self.mask[: self.seen + 1] = 0{mark}

class Engine:
    def __init__(self):
        self.cache = Cache(64)
        self.q = torch.zeros(1, 64, device="cuda")
        (self.q + self.cache.mask).sum(); torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = (self.q + self.cache.mask).sum()

    def step(self, q, n: int):
        self.q.copy_(q)
        self.cache.advance({given})
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("step", "given", "is_told"),
    [("+= 1", "", False), ("= n", "n", True), ("= 8 - self.seen", "", True)],
    ids=["one more each time", "what a request says", "less at times"],
)
def test_behind_what_only_grows_lies_nothing_of_before(tmp_path: Path, step: str, given: str, is_told: bool) -> None:
    """A mask that lets one more through each time has never let more through."""
    mark = "  # expect: GL511" if is_told else ""
    program = GROWING.format(step=step, given=given, mark=mark).replace("advance(self)", "advance(self, n=0)")
    analysis = analyse(tmp_path, program)
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL511"]
