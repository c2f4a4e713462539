"""What becomes of the outputs of a graph, of its state, its gradients, and of the graphs themselves."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from analysis import Analysis, analyse


def of(folder: Path, program: str, *codes: str) -> tuple[list[tuple[str, int, str]], list[tuple[str, int, str]]]:
    """What a program expects, and what is shown of these codes."""
    analysis: Analysis = analyse(folder, program)
    return analysis.expected, [place for place in analysis.shown if place[2] in codes]


MAIN = """
import torch

def step(x):
    return x * 2

def main(first, second, show):
    x = torch.zeros(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = step(x)
{body}
"""


def after(body: str) -> str:
    """A function that does this after its capture."""
    return MAIN.format(body=textwrap.indent(textwrap.dedent(body).strip("\n"), "    "))


EARLY = {
    "it is computed with": "z = y + 1  # expect: GL509\nx.copy_(first)\ngraph.replay()",
    "a method of it": "z = y.sum()  # expect: GL509\ngraph.replay()",
    "a view of it": "z = y[:2].clone()  # expect: GL509\ngraph.replay()",
    "another tensor is filled with it": "x.copy_(first)\nfirst.copy_(y)  # expect: GL509\ngraph.replay()",
    "on one way only": "if show:\n    graph.replay()\nz = y.sum()  # expect: GL509",
    "it is stacked": "z = torch.stack([y, y])  # expect: GL509\ngraph.replay()",
}


@pytest.mark.parametrize("body", EARLY.values(), ids=EARLY)
def test_an_output_is_read_before_it_is_computed(tmp_path: Path, body: str) -> None:
    """A capture runs no kernel."""
    expected, shown = of(tmp_path, after(body), "GL509")
    assert expected == shown


@pytest.mark.parametrize(
    "body",
    [
        "graph.replay()\nz = y + 1",
        "x.copy_(first)\ngraph.replay()\nz = y.sum()",
        "print(y.shape)\nrows = y.size(0)\ngraph.replay()",
        "z = torch.empty_like(y)\ngraph.replay()",
        "if show:\n    graph.replay()\n    z = y.sum()",
        "show(graph)\nz = y.sum()",
        "z = y\ngraph.replay()\nw = z + 1",
        "def run():\n    graph.replay()\n    return y.clone()\nz = run() + 1",
        "y = torch.ones(4)\nz = y + 1\ngraph.replay()",
        "is_ready = bool({4: y})\ngraph.replay()",
        "largest = max({4: y, 8: y})\ngraph.replay()",
    ],
    ids=[
        "replayed",
        "filled and replayed",
        "its size is known",
        "another one has its size",
        "read where it is replayed",
        "somebody may replay",
        "another name",
        "in a function",
        "another tensor",
        "what holds it is asked if it is empty",
        "what holds it is asked for its keys",
    ],
)
def test_an_output_is_read_after_its_replay(tmp_path: Path, body: str) -> None:
    """Or not its values."""
    assert ([], []) == of(tmp_path, after(body), "GL509")


KEPT = {
    "in a list": """
        results = []
        for batch in (first, second):
            x.copy_(batch)
            graph.replay()
            results.append(y)  # expect: GL510
        """,
    "in a list that is added": """
        results = []
        for batch in (first, second):
            x.copy_(batch)
            graph.replay()
            results += [(batch, y)]  # expect: GL510
        """,
    "in a list that is handed over": """
        results = []
        for batch in (first, second):
            x.copy_(batch)
            graph.replay()
            results.extend([batch, y])  # expect: GL510
        """,
    "in a dictionary": """
        results = {}
        for number, batch in enumerate((first, second)):
            x.copy_(batch)
            graph.replay()
            results[number] = y  # expect: GL510
        """,
    "a view": """
        results = []
        for batch in (first, second):
            x.copy_(batch)
            graph.replay()
            results.append(y[:2])  # expect: GL510
        """,
    "a detached view": """
        results = []
        for batch in (first, second):
            x.copy_(batch)
            graph.replay()
            results.append(y.detach())  # expect: GL510
        """,
    "the one before, by its name": """
        last = first
        for batch in (first, second):
            x.copy_(batch)
            graph.replay()
            show(last - y)
            last = y  # expect: GL510
        """,
    "the one before, in a list": """
        last = [first]
        for batch in (first, second):
            x.copy_(batch)
            graph.replay()
            show(last[0] - y)
            last = [y, batch]  # expect: GL510
        """,
    "a part of the one before": """
        last, number = first, 0
        while number < 3:
            x.copy_(second)
            graph.replay()
            show(last.sum())
            last = y[:2]  # expect: GL510
            number += 1
        """,
    "a list that is made anew, and used behind the next replay": """
        parts = []
        for batch in (first, second):
            x.copy_(batch)
            graph.replay()
            show(sum(part.sum() for part in parts))
            parts = [y[number:] for number in range(2)]  # expect: GL510
        """,
    "what a function returns": """
        def run(batch):
            x.copy_(batch)
            graph.replay()
            return y  # expect: GL510
        one = run(first)
        two = run(second)
        print(one - two)
        """,
    "in a comprehension": """
        def run(batch):
            x.copy_(batch)
            graph.replay()
            return y  # expect: GL510
        results = [run(batch) for batch in (first, second)]
        """,
    "what a generator yields": """
        def run(batches):
            for batch in batches:
                x.copy_(batch)
                graph.replay()
                yield y  # expect: GL510
        results = list(run((first, second)))
        """,
}


@pytest.mark.parametrize("body", KEPT.values(), ids=KEPT)
def test_an_output_that_is_kept_is_written_over(tmp_path: Path, body: str) -> None:
    """All that is kept is one tensor, which the last replay has filled."""
    expected, shown = of(tmp_path, after(body), "GL510")
    assert expected == shown


COPIED = {
    "a copy in a list": """
        results = []
        for batch in (first, second):
            x.copy_(batch)
            graph.replay()
            results.append(y.clone())
        """,
    "a number": """
        results = []
        for batch in (first, second):
            x.copy_(batch)
            graph.replay()
            results.append(y.sum().item())
        """,
    "what is computed from it": """
        results = []
        for batch in (first, second):
            x.copy_(batch)
            graph.replay()
            results.append(y + 1)
        """,
    "a list for each round": """
        for batch in (first, second):
            results = []
            x.copy_(batch)
            graph.replay()
            results.append(y)
            show(results[0].sum())
        """,
    "a list that is made anew behind each replay": """
        kept = []
        for batch in (first, second):
            x.copy_(batch)
            graph.replay()
            parts = [y[number:] for number in range(2)]
            kept.append(parts[0].clone())
        """,
    "a list that is joined at once": """
        kept = []
        for batch in (first, second):
            x.copy_(batch)
            graph.replay()
            kept.append(torch.cat([part.view(-1) for part in (y[:1], y[1:])]))
        """,
    "the one before, which is fed in before the next replay": """
        last = first
        for batch in (first, second):
            x.copy_(last)
            graph.replay()
            last = y
        """,
    "a name for the output of this round": """
        for batch in (first, second):
            x.copy_(batch)
            now = y
            graph.replay()
            show(now.sum())
        """,
    "a name for the output of each round": """
        now = y
        for batch in (first, second):
            x.copy_(batch)
            graph.replay()
            show(now.sum())
        """,
    "a list that is emptied": """
        results = []
        for batch in (first, second):
            results.clear()
            x.copy_(batch)
            graph.replay()
            results.append(y)
        """,
    "one replay": """
        results = []
        x.copy_(first)
        graph.replay()
        results.append(y)
        """,
    "a function that returns a copy": """
        def run(batch):
            x.copy_(batch)
            graph.replay()
            return y.clone()
        one = run(first)
        two = run(second)
        print(one - two)
        """,
    "the first is used before the second": """
        def run(batch):
            x.copy_(batch)
            graph.replay()
            return y
        one = run(first)
        total = one.sum()
        two = run(second)
        print(total - two.sum())
        """,
    "one name for all": """
        def run(batch):
            x.copy_(batch)
            graph.replay()
            return y
        for batch in (first, second):
            result = run(batch)
            print(result.sum())
        """,
    "a comprehension of copies": """
        def run(batch):
            x.copy_(batch)
            graph.replay()
            return y
        results = [run(batch).clone() for batch in (first, second)]
        """,
}


@pytest.mark.parametrize("body", COPIED.values(), ids=COPIED)
def test_an_output_that_is_copied_stays(tmp_path: Path, body: str) -> None:
    """Or is not needed any more when it is written over."""
    assert ([], []) == of(tmp_path, after(body), "GL510")


HELD = {
    "its name is deleted": "graph.replay()\ndel graph\nz = y.sum()",
    "it is reset": "graph.replay()\ngraph.reset()\nz = y.sum()",
    "a view is read": "graph.replay()\ntop = y[:2]\ngraph.reset()\ndel y\nz = top + 1",
    "another name has it": "graph.replay()\nother = graph\ndel graph\nz = y.sum()",
}
SECOND = """
second = torch.cuda.CUDAGraph()
with torch.cuda.graph(second{pool}):
    z = y * 3{mark}
graph.replay()
{then}
second.replay()
"""
GONE = {
    "both are deleted": ("del graph, y", "", "  # expect: GL507"),
    "it is reset, and its output deleted": ("graph.reset()\ndel y", "", "  # expect: GL507"),
    "its output has another value": ("y = None\ndel graph", "", "  # expect: GL507"),
    "its output is held": ("del graph", "", ""),
    "a part of its output is held": ("top = y[:2]\ndel graph, y", "", ""),
    "a list holds its output": ("kept = [y]\ndel graph, y", "", ""),
    "the graph is held": ("del y", "", ""),
    "both graphs share a pool": ("del graph, y", ", pool=graph.pool()", ""),
}


@pytest.mark.parametrize("body", HELD.values(), ids=HELD)
def test_an_output_that_is_held_outlives_its_graph(tmp_path: Path, body: str) -> None:
    """The pool gives no memory back that a tensor lies in."""
    assert ([], []) == of(tmp_path, after(body), "GL507")


@pytest.mark.parametrize(("then", "pool", "mark"), GONE.values(), ids=GONE)
def test_an_output_that_another_graph_reads_is_gone_with_its_graph(
    tmp_path: Path, then: str, pool: str, mark: str
) -> None:
    """A graph holds no reference to what it reads."""
    expected, shown = of(tmp_path, after(SECOND.format(pool=pool, then=then, mark=mark)), "GL507")
    assert expected == shown


SUM = """
import torch

class Counter:
    def __init__(self):
        self.x, self.total = torch.zeros(4, device="cuda"), torch.zeros(4, device="cuda")
        {before}
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            {inside}
            self.total += self.x

    def run(self, x):
        self.x.copy_(x)
        {each}
        self.graph.replay(){mark}
        return self.total.sum().item()
"""


@pytest.mark.parametrize(
    ("before", "inside", "each", "mark"),
    [
        ("self.total.zero_()", "pass", "pass", "  # expect: GL705"),
        ("self.total.zero_()", "self.total.zero_()", "pass", ""),
        ("self.total.zero_()", "pass", "self.total.zero_()", ""),
        ("pass", "pass", "pass", ""),
    ],
    ids=["reset once", "reset in the region", "reset before each replay", "a sum over all on purpose"],
)
def test_a_sum_that_was_reset_is_reset_for_each_replay(
    tmp_path: Path, before: str, inside: str, each: str, mark: str
) -> None:
    """The graph has no reset of its own unless one is in it."""
    program = SUM.format(before=before, inside=inside, each=each, mark=mark)
    expected, shown = of(tmp_path, program, "GL705")
    assert expected == shown


WARM = """
import torch

class Decoder:
    def __init__(self):
        self.x = torch.zeros(4, device="cuda")
        self.position = torch.zeros(4, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.position += 1
            self.y = self.x + self.position
        {warm}

    def run(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("warm", "mark"),
    [
        ("for _ in range(3):\n            self.graph.replay()", "  # expect: GL401"),
        ("for _ in range(3):\n            self.graph.replay()\n        self.position.zero_()", ""),
        ("pass", ""),
    ],
    ids=["replayed", "reset behind it", "not replayed"],
)
def test_replays_that_warm_up_leave_their_state(tmp_path: Path, warm: str, mark: str) -> None:
    """The first request finds it."""
    program = WARM.format(warm=warm.replace("replay()", f"replay(){mark}"))
    expected, shown = of(tmp_path, program, "GL401")
    assert expected == shown


TRAINED = """
import torch

class Trainer:
    def __init__(self):
        self.model = torch.nn.Linear(4, 1).cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.x = torch.ones(2, 4, device="cuda")
        self.model(self.x).mean().backward()
        {before}
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            {inside}
            self.loss = self.model(self.x).mean()
            self.loss.backward(){mark}

    def step(self, x):
        {each}
        self.x.copy_(x)
        self.graph.replay()
        return self.loss.clone()
"""


@pytest.mark.parametrize(
    ("before", "inside", "each", "mark"),
    [
        ("pass", "pass", "pass", "  # expect: GL705"),
        ("self.model.zero_grad(set_to_none=False)", "pass", "pass", "  # expect: GL705"),
        ("self.model.zero_grad(set_to_none=True)", "pass", "pass", ""),
        ("self.optimizer.zero_grad(set_to_none=True)", "pass", "pass", ""),
        ("pass", "self.model.zero_grad(set_to_none=False)", "pass", ""),
        ("self.model.zero_grad()", "pass", "pass", ""),
    ],
    ids=["kept", "zeroed", "dropped", "dropped by the optimizer", "zeroed in the region", "dropped by default"],
)
def test_gradients_that_a_warm_up_leaves_are_added_to(
    tmp_path: Path, before: str, inside: str, each: str, mark: str
) -> None:
    """A backward in the region that finds a gradient adds to it, in every replay."""
    program = TRAINED.format(before=before, inside=inside, each=each, mark=mark)
    expected, shown = of(tmp_path, program, "GL705")
    assert expected == shown


GIVEN = """
import torch

class Service:
    def __init__(self):
        self.criterion = torch.nn.MSELoss()

    def warm_up(self, model, x, optimizer):
        for _ in range(3):
            optimizer.zero_grad()
            self.criterion(model(x), x).backward()
            optimizer.step()

    def capture(self, model, x, optimizer):
        self.x = torch.empty_like(x)
        self.warm_up(model, self.x, optimizer)
        {before}
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.criterion(model(self.x), self.x)
            self.loss.backward(){mark}
            optimizer.step()
"""


@pytest.mark.parametrize(
    ("before", "mark"), [("optimizer.zero_grad(set_to_none=True)", ""), ("pass", "  # expect: GL705")]
)
def test_an_optimizer_that_nobody_knows_may_drop_all_gradients(tmp_path: Path, before: str, mark: str) -> None:
    """Those of a loss as well, which has none; another method of the optimizer was called before."""
    expected, shown = of(tmp_path, GIVEN.format(before=before, mark=mark), "GL705")
    assert expected == shown


IN_PLACE = "self.model.zero_grad(set_to_none=False)"
EACH = "for p in self.model.parameters(): p.grad.zero_()"
IF_ANY = """for p in self.model.parameters():
            if p.grad is not None:
                p.grad.zero_()
"""
ALL = "torch._foreach_zero_([p.grad for p in self.model.parameters()])"


@pytest.mark.parametrize(
    ("before", "inside", "each", "mark"),
    [
        ("pass", "pass", IN_PLACE, ""),
        ("pass", "pass", EACH, ""),
        ("pass", "pass", IF_ANY, ""),
        ("pass", "pass", ALL, ""),
        ("pass", "pass", "self.clear()", ""),
        ("pass", "self.clear()", "pass", ""),
        ("self.clear()", "pass", "self.graph.replay(); self.clear()", ""),
        ("self.clear()", "pass", "pass", "  # expect: GL705"),
        ("pass", "pass", "self.graph.replay(); self.clear()", "  # expect: GL705"),
        ("pass", "pass", "self.x.zero_()", "  # expect: GL705"),
        ("pass", "pass", "zeros = torch.zeros_like(self.model.weight.grad)", "  # expect: GL705"),
    ],
    ids=[
        "by the model",
        "one by one",
        "each that there is",
        "all at once",
        "by a helper",
        "by a helper in the region",
        "at first, and after each replay",
        "at first alone",
        "after each replay, and not at first",
        "something else",
        "something like them",
    ],
)
def test_gradients_that_are_zeroed_in_place_before_each_replay_are_added_to_rightly(
    tmp_path: Path, before: str, inside: str, each: str, mark: str
) -> None:
    """The sum begins at zero again."""
    helper = "    def clear(self):\n        for p in self.model.parameters():\n            p.grad.zero_()\n"
    program = TRAINED if "replay" not in each else TRAINED.replace("        self.graph.replay()\n", "")
    program = program.format(before=before, inside=inside, each=each, mark=mark) + helper
    expected, shown = of(tmp_path, program, "GL705")
    assert expected == shown


@pytest.mark.parametrize(("zeroed", "told"), [("self.model.zero_grad()", []), ("pass", ["GL705"])])
def test_a_loss_that_nobody_knows_has_no_gradients(tmp_path: Path, zeroed: str, told: list[str]) -> None:
    """What drops the gradients of a model leaves none behind; without that, there are some."""
    program = f"""
        import torch
        class Trainer:
            def __init__(self, model, criterion):
                self.model, self.criterion = model, criterion
            def capture(self):
                x = torch.zeros(4, device="cuda")
                self.criterion(self.model(x), x).backward()
                {zeroed}
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    self.criterion(self.model(x), x).backward()
                return graph
        """
    assert told == [code for _, _, code in analyse(tmp_path, program).shown if code == "GL705"]


GATHERED = """
import sys, torch

steps = int(sys.argv[1])

model = torch.nn.Linear(4, 1).cuda()
optimizer = torch.optim.AdamW(model.parameters(), capturable=True)
x = torch.ones(2, 4, device="cuda")

def gather():
    model(x).sum().backward(){mark}

def update():
    optimizer.step()
    {zeroed}

gather()
optimizer.zero_grad(set_to_none=False)
gathering, updating = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
with torch.cuda.graph(gathering):
    gather()
with torch.cuda.graph(updating):
    update()

def train():
    for number in range(steps):
        gathering.replay()
        gathering.replay()
        updating.replay()
        {after}

train()
"""
ZEROED = "optimizer.zero_grad(set_to_none=False)"


@pytest.mark.parametrize(
    ("zeroed", "after", "mark"),
    [
        (ZEROED, "pass", ""),
        ("pass", ZEROED, ""),
        ("pass", f"if number % 2: {ZEROED}", ""),
        ("pass", "pass", "  # expect: GL705"),
    ],
)
def test_gradients_that_something_sets_to_zero_are_gathered(tmp_path: Path, zeroed: str, after: str, mark: str) -> None:
    """Another graph, or what runs behind replays, begins them anew; in between, they add up on purpose."""
    expected, shown = of(tmp_path, GATHERED.format(zeroed=zeroed, after=after, mark=mark), "GL705")
    assert expected == shown


LOSS = """
import torch

class Loss(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale, self.activation = 2.0, torch.nn.Sigmoid()
        {own}

    def forward(self, x):
        return (self.activation(x) * self.scale).sum()

model, criterion = torch.nn.Linear(4, 1).cuda(), {criterion}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.ones(2, 4, device="cuda")

def step():
    optimizer.zero_grad()
    loss = criterion({given})
    loss.backward(){mark}

step()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    step()
for _ in range(3):
    graph.replay()
"""


@pytest.mark.parametrize(
    ("criterion", "given", "own", "mark"),
    [
        ("torch.nn.MSELoss()", "model(x), x", "pass", ""),
        ("Loss()", "model(x)", "pass", ""),
        ("Loss()", "model(x)", "self.scale = torch.nn.Parameter(torch.ones(1))", "  # expect: GL705"),
        ("torch.nn.PReLU().cuda()", "model(x)", "pass", "  # expect: GL705"),
    ],
)
def test_a_loss_without_parameters_has_no_gradients(
    tmp_path: Path, criterion: str, given: str, own: str, mark: str
) -> None:
    """The optimizer, which does not know of it, drops all that there are."""
    expected, shown = of(tmp_path, LOSS.format(criterion=criterion, given=given, own=own, mark=mark), "GL705")
    assert expected == shown


@pytest.mark.parametrize(
    "each",
    [
        "self.model.zero_grad()  # expect: GL704",
        "self.model.zero_grad(set_to_none=True)  # expect: GL704",
        "self.optimizer.zero_grad()  # expect: GL704",
        "self.model.weight.grad = None  # expect: GL704",
        "for p in self.model.parameters():\n            p.grad = None  # expect: GL704",
        "self.model.zero_grad(set_to_none=False)",
        "self.optimizer.zero_grad(set_to_none=False)",
        "self.other = torch.nn.Linear(4, 4)\n        self.other.zero_grad()",
        "pass",
    ],
)
def test_gradients_that_the_graph_writes_are_kept(tmp_path: Path, each: str) -> None:
    """`.grad` is None after they were dropped, and no replay sets it."""
    drop = "self.model.zero_grad(set_to_none=True)"
    program = TRAINED.format(before=drop, inside="pass", each=each, mark="")
    expected, shown = of(tmp_path, program, "GL704")
    assert expected == shown


HANDED = """
import torch

class Trainer:
    def __init__(self, model, optimizer, other):
        self.model, self.optimizer, self.other = model, optimizer, other
        self.x = torch.zeros(8, 16, device="cuda")

    def capture(self):
        self.model(self.x).sum().backward(); torch.cuda.synchronize()
        self.optimizer.zero_grad(set_to_none=True)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.loss = self.model(self.x).sum()
            self.loss.backward()
            {inside}

    def step(self, x):
        {each}
        self.x.copy_(x)
        self.graph.replay()
        self.optimizer.step()
        return self.loss.clone()
"""


@pytest.mark.parametrize(
    ("inside", "each"),
    [
        ("pass", "self.optimizer.zero_grad()  # expect: GL704"),
        ("pass", "self.optimizer.zero_grad(set_to_none=True)  # expect: GL704"),
        ("pass", "self.optimizer.zero_grad(set_to_none=False)"),
        ("pass", "self.other.zero_grad()"),
        ("self.optimizer.step()", "self.optimizer.zero_grad()"),
        ("pass", "pass"),
    ],
    ids=["dropped", "asked for", "zeroed", "another one as well", "the graph steps", "left"],
)
def test_the_only_optimizer_drops_the_gradients_that_the_graph_writes(tmp_path: Path, inside: str, each: str) -> None:
    """Whichever it is, and whatever the model."""
    expected, shown = of(tmp_path, HANDED.format(inside=inside, each=each), "GL704")
    assert expected == shown


CACHE = """
import torch

class Cache:
    def __init__(self, model):
        self.model, self.graphs = model, {{}}

    def run(self, x, size):
        {key}
        if key not in self.graphs:
            {guard}
            held, graph = torch.zeros(8, device="cuda"), torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = held * 2
            self.graphs[key] = graph, held, y{mark}
        graph, held, y = self.graphs[key]
        held.copy_(x)
        graph.replay()
        return y.clone()
"""


@pytest.mark.parametrize(
    ("key", "guard", "mark"),
    [
        ("key = size", "pass", ""),
        ("key = x.shape", "pass", "  # expect: GL505"),
        ("key = tuple(x.shape)", "pass", "  # expect: GL505"),
        ("key = (x.shape[0], size)", "pass", ""),
        ("key = x.shape", "if len(self.graphs) > 8: self.graphs.clear()", ""),
        ("key = x.shape", "if self.full: self.graphs.popitem()", ""),
        ("key = 'only'", "pass", ""),
        ("key = self.size", "pass", ""),
        ("key = self.model.bucket(size)", "pass", ""),
    ],
    ids=[
        "a size",
        "a shape",
        "a tuple of it",
        "two sizes",
        "bounded",
        "one is dropped",
        "a constant",
        "an attribute",
        "a bucket",
    ],
)
def test_a_table_of_graphs_by_what_requests_ask_for(tmp_path: Path, key: str, guard: str, mark: str) -> None:
    """Nothing bounds how many keys there are."""
    expected, shown = of(tmp_path, CACHE.format(key=key, guard=guard, mark=mark), "GL505")
    assert expected == shown


LIST = """
import torch

class Runner:
    def __init__(self, sizes, count):
        self.x = torch.zeros(8, device="cuda")
        self.graphs, self.outs = [], []
        for size in {sizes}:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                out = {out}
            self.graphs.append(graph){mark}
            self.outs.append(out)

    def run(self, x, number):
        self.x.copy_(x)
        self.graphs[number].replay()
        return self.outs[number].clone()
"""


@pytest.mark.parametrize(
    ("sizes", "out", "mark"),
    [
        ("range(count)", "self.x * 2", "  # expect: GL505"),
        ("[1, 2, 4]", "self.x[:size] * 2", ""),
        ("[1, 2, 4]", "self.x * 2", ""),
        ("sizes", "self.x[:size] * 2", ""),
        ("reversed(sizes)", "self.x.narrow(0, 0, size) * 2", ""),
    ],
    ids=["the same again", "a fixed set of sizes", "a fixed number", "sizes that are given", "in another order"],
)
def test_a_list_of_graphs(tmp_path: Path, sizes: str, out: str, mark: str) -> None:
    """One for each size is meant; one more of the same is what grows."""
    expected, shown = of(tmp_path, LIST.format(sizes=sizes, out=out, mark=mark), "GL505")
    assert expected == shown


ADDED = """
import torch

class Runner:
    def __init__(self, net):
        self.x = torch.zeros(8, device="cuda")
        self.graphs = []

    def record(self, size):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.y = self.x[:size] * 2
        self.graphs.append(graph){mark}

runner = Runner(None)
for size in {sizes}:
    runner.record({size})
runner.graphs[-1].replay()
"""


@pytest.mark.parametrize(
    ("sizes", "size", "mark"),
    [("range(6)", "8", "  # expect: GL505"), ("(1, 2, 4)", "size", ""), ("range(1)", "8", "")],
    ids=["the same size", "other sizes", "once"],
)
def test_a_method_that_adds_a_graph(tmp_path: Path, sizes: str, size: str, mark: str) -> None:
    """It keeps one more in each call, though the caller counts."""
    expected, shown = of(tmp_path, ADDED.format(sizes=sizes, size=size, mark=mark), "GL505")
    assert expected == shown


@pytest.mark.parametrize(
    ("method", "mark"),
    [("self.graphs.clear()", ""), ("self.sizes.clear()", "  # expect: GL505"), ("pass", "  # expect: GL505")],
    ids=["drops them", "drops something else", "drops nothing"],
)
def test_a_method_that_drops_all_graphs(tmp_path: Path, method: str, mark: str) -> None:
    """Who can drop them keeps those of one recording."""
    text = ADDED.replace("runner = Runner(None)", f"    def drop(self):\n        {method}\n\nrunner = Runner(None)")
    expected, shown = of(tmp_path, text.format(sizes="range(6)", size="8", mark=mark), "GL505")
    assert expected == shown


EACH = """
import torch

class Runner:
    def __init__(self):
        self.x = torch.zeros(8, device="cuda")
        self.graph = None

    def record(self):
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.x * 2

    def run(self, {parameters}):
        self.x.fill_(1)
        {record}
        self.graph.replay()
        return self.y.clone()
"""


@pytest.mark.parametrize(
    ("parameters", "record"),
    [
        ("x", "self.record()  # expect: GL707"),
        ("x", "if self.graph is None:\n            self.record()"),
        ("x", "if x.shape != self.x.shape:\n            self.record()"),
        ("x=None", "self.record()"),
    ],
    ids=["in each call", "in the first", "on a condition", "in what serves no request"],
)
def test_a_graph_is_captured_once(tmp_path: Path, parameters: str, record: str) -> None:
    """A capture for each request costs more than its replay saves."""
    expected, shown = of(tmp_path, EACH.format(parameters=parameters, record=record), "GL707")
    assert expected == shown


TWO = """
import torch

def run(f, x):
    return f(x)

def compare(x):
    first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(first):
        y = run(torch.sin, x)
    first.replay()
    with torch.cuda.graph(second):
        z = run(torch.cos, x)
    second.replay()
    print(y.sum(), z.sum())

def main():
    compare(torch.ones(8, device="cuda"))
"""


def test_two_graphs_of_one_call_are_none_that_is_captured_anew(tmp_path: Path) -> None:
    """Each has a statement of its own."""
    assert ([], []) == of(tmp_path, TWO, "GL707")


@pytest.mark.parametrize(
    ("guard", "mark"), [("if self.graph is None:", ""), ("for _ in range(2):", "  # expect: GL707")]
)
def test_who_calls_may_have_asked_if_there_is_a_graph(tmp_path: Path, guard: str, mark: str) -> None:
    program = EACH.format(parameters="x", record=f"self.record(){mark}")
    program += f"\n    def serve(self, xs):\n        for x in xs:\n            {guard}\n                self.run(x)\n"
    expected, shown = of(tmp_path, program, "GL707")
    assert expected == shown


ROUNDS = """
import torch

def generate(net, x, n):
    kept = []
    for {target} in range(n):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):{mark}
            y = net({read})
        graph.replay()
        {behind}
    return kept
"""


@pytest.mark.parametrize(
    ("target", "read", "behind", "mark"),
    [
        ("_", "x", "kept.append(y.clone()); x.copy_(y)", "  # expect: GL707"),
        ("size", "x[:size]", "kept.append(y.clone())", ""),
        ("_", "x", "kept.append((graph, y))", ""),
        ("_", "torch.cat((x, y)) if kept else x", "kept.append(y.clone()); x = torch.cat((x, y))", ""),
    ],
    ids=["the same", "another size", "kept", "another input"],
)
def test_a_loop_that_captures_the_same_in_each_round_captures_anew(
    tmp_path: Path, target: str, read: str, behind: str, mark: str
) -> None:
    program = ROUNDS.format(target=target, read=read, behind=behind, mark=mark)
    expected, shown = of(tmp_path, program, "GL707")
    assert expected == shown


BUFFER = """
import torch

class Decoder:
    def __init__(self, model):
        self.model, self.graph = model, None
        self.x, self.y = torch.zeros(1, device="cuda"), torch.zeros(1, device="cuda")

    def step(self, x):
        self.x.copy_(x)
        if self.graph is None:
            {warm}
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y.copy_(self.model(self.x))
            {behind}
        else:
            self.graph.replay()
        return self.y.int(){mark}
"""


@pytest.mark.parametrize(
    ("warm", "behind", "mark"),
    [
        ("self.model(self.x)", "pass", "  # expect: GL509"),
        ("self.y.copy_(self.model(self.x))", "pass", ""),
        ("self.model(self.x)", "self.graph.replay()", ""),
    ],
    ids=["empty", "filled by the warm-up", "replayed"],
)
def test_a_buffer_that_only_a_graph_fills_is_empty_before_its_replay(
    tmp_path: Path, warm: str, behind: str, mark: str
) -> None:
    """A capture computes nothing, also where it writes to what was there before."""
    expected, shown = of(tmp_path, BUFFER.format(warm=warm, behind=behind, mark=mark), "GL509")
    assert expected == shown


SEVERAL = """
import torch

class Model:
    def __init__(self, net):
        self.net = net
        self.x = torch.zeros(4, device="cuda")
        self.net(self.x)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.features = self.x * 2
            self.scores = self.features + 1

    def run(self, x):
        self.x.copy_(x)
        self.graph.replay()
        {given}

def main(net, batches):
    model = Model(net)
    {kept}
"""


@pytest.mark.parametrize(
    "kept",
    [
        "return [model.run(batch) for batch in batches]",
        "found = []\n    for batch in batches:\n        found.append(model.run(batch))\n    return found",
        "a, b = model.run(batches[0])\n    c, d = model.run(batches[1])\n    return a + b + c + d",
    ],
    ids=["comprehension", "list", "names"],
)
@pytest.mark.parametrize(
    "given",
    [
        "return self.features, self.scores  # expect: GL510",
        "return self.features.clone(), self.scores  # expect: GL510",
        "return self.features.clone(), self.scores.clone()",
    ],
    ids=["both", "one of them", "copies"],
)
def test_a_tuple_of_outputs_is_kept_over_the_next_replay(tmp_path: Path, given: str, kept: str) -> None:
    """What holds an output keeps it as well as a name does."""
    expected, shown = of(tmp_path, SEVERAL.format(given=given, kept=kept), "GL510")
    assert expected == shown


STAGES = """
import torch

class Stages:
    def __init__(self, net):
        self.x = torch.zeros(4, device="cuda")
        self.graphs, self.outputs = [], []
        y = self.x
        for _ in range(3):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = y * 2
            self.graphs.append(graph)
            self.outputs.append(y)

    def run(self, x):
        self.x.copy_(x)
        for graph in {order}:
            graph.replay(){mark}
        return self.outputs[2].clone()
"""


@pytest.mark.parametrize(
    ("order", "mark"),
    [("reversed(self.graphs)", "  # expect: GL509"), ("self.graphs", "")],
    ids=["the other way round", "as they were captured"],
)
def test_a_graph_is_replayed_behind_those_whose_outputs_it_reads(tmp_path: Path, order: str, mark: str) -> None:
    """It is their reader as much as any other."""
    expected, shown = of(tmp_path, STAGES.format(order=order, mark=mark), "GL509")
    assert expected == shown


SIZED = """
import torch

class Runner:
    def __init__(self, model, most):
        self.x, self.y = torch.zeros(most, 4, device="cuda"), torch.zeros(most, 4, device="cuda")
        self.graphs = {{}}
        for size in (4, 8):
            model(self.x[:size]); torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.y[:size] = model(self.x[:size])
            self.graphs[size] = graph

    def run(self, x, size):
        self.x[: len(x)] = x
        {replayed}
        y = self.y[: len(x)].clone(){mark}
        self.graphs[size].replay()
        return y
"""


@pytest.mark.parametrize(
    ("replayed", "mark"), [("self.graphs[size].replay()", ""), ("pass", "  # expect: GL509")], ids=["one", "none"]
)
def test_any_of_the_graphs_that_write_to_a_buffer_fills_it(tmp_path: Path, replayed: str, mark: str) -> None:
    """Nobody knows which of them is replayed, and one is."""
    expected, shown = of(tmp_path, SIZED.format(replayed=replayed, mark=mark), "GL509")
    assert expected == shown


GROWN = """
import torch

class Table:
    def __init__(self):
        self.rows = None

    def get(self, n):
        if self.rows is None or self.rows.shape[0] < n:
            self.rows = torch.arange(n, device="cuda").float().cos()
        return self.rows[:n]

    def __call__(self, x):
        return x * self.get(x.shape[0])

table = Table()
{warm}
x = torch.ones(8, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = table(x)
print({read})
graph.replay()
"""


@pytest.mark.parametrize("read", ["table(torch.ones(4, device='cuda'))", "table.rows.sum()"])
def test_what_a_table_may_have_from_before_the_region_is_no_output(tmp_path: Path, read: str) -> None:
    """Nobody knows whether the region has made it anew."""
    program = GROWN.format(warm='table(torch.ones(8, device="cuda"))', read=read)
    assert [] == [one for one in analyse(tmp_path, program).shown if one[2] == "GL509"]


def test_what_a_region_has_computed_out_of_a_table_is_an_output(tmp_path: Path) -> None:
    program = GROWN.format(warm='table(torch.ones(8, device="cuda"))', read="y.sum())  # expect: GL509\nprint(1")
    analysis = analyse(tmp_path, program)
    assert analysis.expected == [one for one in analysis.shown if one[2] == "GL509"]


TWICE = """
import torch

class Encoder:
    def __init__(self, function, x):
        self.x = x.clone()
        function(self.x)
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = function(self.x)

    def __call__(self, x):
        self.x.copy_(x)
        self.graph.replay()
        return {given}

encoder = Encoder(lambda x: x * 2, torch.zeros(4, device="cuda"))
one, other = torch.rand(4, device="cuda"), torch.rand(4, device="cuda")
print({asked})
"""


@pytest.mark.parametrize(
    ("given", "asked", "is_told"),
    [
        ("self.y", "(encoder(one) - encoder(other)).sum()", True),
        ("self.y", "torch.dot(encoder(one), encoder(other))", True),
        ("self.y", "torch.stack([encoder(one), encoder(other)])", True),
        ("self.y.clone()", "(encoder(one) - encoder(other)).sum()", False),
        ("self.y", "(encoder(one) - other).sum() + (encoder(other) - one).sum()", False),
        ("self.y", "[y * y for y in [encoder(one)]]", False),
    ],
    ids=["a difference", "a product", "a list", "copies", "one at a time", "the same one"],
)
def test_two_calls_in_one_expression_give_one_output(tmp_path: Path, given: str, asked: str, is_told: bool) -> None:
    """By the time that the first is read, the second has written over it."""
    mark = "  # expect: GL510" if is_told else ""
    analysis = analyse(tmp_path, TWICE.format(given=f"{given}{mark}", asked=asked))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL510"]


SUMMED = """
import torch

total, x = torch.zeros((), device="cuda"), torch.rand(8, device="cuda")

def step():
    {change}
    return total

step()
torch.cuda.synchronize()
total.zero_()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = step()
for _ in range(4):
    x.copy_(torch.rand(8))
    {before}
    graph.replay(){mark}
    print(y.item())
"""


@pytest.mark.parametrize("change", ["total.add_(x.sum())", "total.lerp_(x.mean(), 0.5)", "total += x.sum()"])
@pytest.mark.parametrize(("before", "mark"), [("pass", "  # expect: GL705"), ("total.zero_()", "")])
def test_a_sum_that_nobody_resets_goes_on_with_each_replay(tmp_path: Path, change: str, before: str, mark: str) -> None:
    """A method that adds in place reads what is there, as `+=` does."""
    analysis = analyse(tmp_path, textwrap.dedent(SUMMED).format(change=change, before=before, mark=mark))
    assert [one for one in analysis.shown if one[2] == "GL705"] == analysis.expected


EPISODES = """
import torch

class Agent:
    def __init__(self):
        self.x, self.state = torch.zeros(4, device="cuda"), torch.zeros(4, device="cuda")

    def reset(self):
        self.state.zero_()

    def capture(self):
        {before}
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.state.add_(self.x)
            self.y = self.state * 2

    def act(self, x):
        self.x.copy_(x)
        self.graph.replay(){mark}
        return self.y.clone()

{program}
"""
EPISODE = """
agent = Agent()
agent.reset()
agent.capture()
for episode in range(2):
    {each}
    for _ in range(2):
        print(agent.act(torch.ones(4, device="cuda")))
"""
AGAIN = "  # expect: GL705"


@pytest.mark.parametrize(
    ("before", "program", "mark"),
    [
        ("pass", EPISODE.format(each="pass"), AGAIN),
        ("pass", EPISODE.format(each="agent.reset()"), ""),
        ("self.state.zero_()", "", AGAIN),
        ("self.reset()", "", ""),
    ],
    ids=["never again", "for each episode", "where it is captured", "by a method that others may call"],
)
def test_state_that_is_reset_for_each_sequence_adds_up_within_one(
    tmp_path: Path, before: str, program: str, mark: str
) -> None:
    """What is computed of the sum in the region counts as a look at it."""
    expected, shown = of(tmp_path, EPISODES.format(before=before, program=program, mark=mark), "GL705")
    assert expected == shown


SHARED_OUTPUT = """
import torch

class Buckets:
    def __init__(self):
        self.x, self.y = torch.zeros(4, 2, device="cuda"), torch.zeros(4, 2, device="cuda")
        self.graphs = {{}}

    def capture(self):
        for n in (4, 2):
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.y[:n].copy_(self.x[:n] * 2)
            self.graphs[n] = graph

    def run(self, x):
        n = x.shape[0]
        self.x[:n].copy_(x)
        self.graphs[n].replay()
        return self.y[:n]{copied}

buckets = Buckets()
buckets.capture()
outs = [buckets.run(torch.ones(n, 2, device="cuda")) for n in (4, 2)]
print([out.sum() for out in outs])
"""


@pytest.mark.parametrize("copied", ["  # expect: GL510", ".clone()"])
def test_graphs_of_several_sizes_write_their_outputs_into_one_buffer(tmp_path: Path, copied: str) -> None:
    """What is kept of one is written over by the replay of another."""
    expected, shown = of(tmp_path, SHARED_OUTPUT.format(copied=copied), "GL510")
    assert expected == shown


SEARCH = """
import torch

x = torch.zeros(4, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = torch.sin(x)

def search(batches, limit):
    best, kept = None, None
    for batch in batches:
        x.copy_(batch)
        graph.replay()
        {left}
    return kept

print(search([torch.ones(4, device="cuda"), torch.zeros(4, device="cuda")], 1.0))
"""


@pytest.mark.parametrize(
    "left",
    [
        "if best is None or y.sum().item() > best:\n            best, kept = y.sum().item(), y  # expect: GL510",
        "if best is None or y.sum().item() > best:\n            best, kept = y.sum().item(), y.clone()",
        "kept = y",
    ],
    ids=["of the best round", "a copy of it", "of the last round"],
)
def test_an_output_of_some_round_is_read_behind_the_loop(tmp_path: Path, left: str) -> None:
    """The rounds behind it have written over it."""
    expected, shown = of(tmp_path, SEARCH.format(left=left), "GL510")
    assert expected == shown
