"""What regions call that nobody knows: holes in the report, and targets that say what is run."""

from __future__ import annotations

from pathlib import Path

import pytest
from static.analysis import RULEBOOK, Analysis, analyse, write

from graphlint import static
from graphlint.config import Config
from graphlint.errors import UsageError
from graphlint.finding import Hole
from graphlint.rulebook import builtin_rules, load_rulebook
from graphlint.static.interpreter import interpreter
from graphlint.static.regions import targets
from graphlint.targets import Target

RUNNER = """
# file: serve/__init__.py
# file: serve/runner.py
import torch
from torch import nn

class Runner:
    def __init__(self, model: nn.Module):
        self.model = model

    def capture(self, ids):
        graph = torch.cuda.CUDAGraph()
        ids = torch.zeros(8, dtype=torch.long, device="cuda")
        host = torch.ones(8)
        with torch.cuda.graph(graph):
            self.model(ids, scale=host)
# file: serve/models/__init__.py
# file: serve/models/first.py
from torch import nn
from serve.layers import Norm

class Layer(nn.Module):
    def forward(self, x):
        return x

class FirstForCausalLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = Norm()

    def forward(self, ids, scale=None):
        scale.tolist()
        return self.norm(ids.tolist())  # expect: GL101
# file: serve/models/second.py
from torch import nn
from serve.layers import Norm

class SecondForCausalLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = Norm()

    def forward(self, ids, scale):
        return self.norm(ids)
# file: serve/layers.py
from torch import nn

class Norm(nn.Module):
    def forward(self, x):
        return x / x.max().item()  # expect: GL101
"""
AT, MODELS = "serve.runner:Runner.capture", "serve.models.*:*ForCausalLM.forward"


def holes(analysis: Analysis) -> list[tuple[str, int, str, int]]:
    """(file, line, callee, fitting) of every hole."""
    return [(analysis.name(h.span.path), h.span.line, h.callee, h.fitting) for h in analysis.report.holes]


def test_a_target_runs_with_the_arguments_of_the_call(tmp_path: Path) -> None:
    """What is on the host there is on the host in the model, and each model is run; the hole is none any more."""
    analysis = analyse(tmp_path, RUNNER, targets=(Target(AT, (MODELS,)),))
    assert analysis.expected == analysis.found and 2 == len(analysis.found)
    assert () == analysis.report.holes and 0 == analysis.report.summary.unresolved_calls


def test_the_way_to_a_finding_leads_through_the_call(tmp_path: Path) -> None:
    """The region, the call that was unknown, and the function that the target names."""
    analysis = analyse(tmp_path, RUNNER, targets=(Target(AT, ("serve.models.second:*.forward",)),))
    assert [
        ("serve/runner.py", 13, AT),
        ("serve/models/second.py", 10, "serve.models.second:SecondForCausalLM.forward"),
    ] == analysis.chain


@pytest.mark.parametrize(("given", "when"), [("ids", []), ("*inputs", ["self.model is SecondForCausalLM.forward"])])
def test_what_a_target_is_handed_may_be_more_than_the_call_shows(tmp_path: Path, given: str, when: list[str]) -> None:
    """Who hands on what others gave may call something else that calls it; then it is told as a condition."""
    program = RUNNER.replace("self.model(ids, scale=host)", f"self.model({given}, scale=host)")
    program = program.replace("def capture(self, ids):", "def capture(self, *inputs):\n        ids = inputs[0]")
    found = analyse(tmp_path, program, targets=(Target(AT, ("serve.models.second:*.forward",)),)).report.findings
    assert [when] == [[condition.text for condition in one.when] for one in found]


def test_without_a_target_the_call_is_a_hole(tmp_path: Path) -> None:
    """It is told with its place, and with how many modules would take its arguments; it counts as unresolved."""
    analysis = analyse(tmp_path, RUNNER.replace("self.model(ids, scale=host)", "self.entry(ids, scale=host)"))
    assert [] == analysis.found and 1 == analysis.report.summary.unresolved_calls
    assert [("serve/runner.py", 13, "self.entry", 2)] == holes(analysis)


OTHERS = """
import torch

class Runner:
    def __init__(self, build):
        self.first, self.entry = build(), build()

    def capture(self, x: torch.Tensor, step, kernel):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            {call}

class Head(torch.nn.Module):
    def forward(self, x):
        return x.item()

class Kept:
    def attend(self, x, other):
        return x.item()
"""


@pytest.mark.parametrize(
    ("call", "callee", "fitting"),
    [
        ("self.first(x)", "self.first", 1),
        ("self.first.forward(x)", "self.first.forward", 1),
        ("self.first(x, 1)", "self.first", 0),
        ("self.first(y=x)", "self.first", 0),
        ("step(x)", "step", 1),
        ("self.entry.attend(x, 1)", "self.entry.attend", 1),
        ("self.entry.run_it(x)", "self.entry.run_it", 1),
    ],
)
def test_a_hole_is_told_by_what_is_called(tmp_path: Path, call: str, callee: str, fitting: int) -> None:
    """An attribute of the object, a parameter, and a method of something unknown, where a class has one like it."""
    assert [("main.py", 10, callee, fitting)] == holes(analyse(tmp_path, OTHERS.format(call=call)))


@pytest.mark.parametrize("call", [
    "kernel[(1,)](x)", "torch.relu(x)", "x.add_(1)", "self.entry.reset()", "self.entry.ready.set()", "Head()(x)",
    "step.__class__(x)",
])  # fmt: skip
def test_what_is_known_or_launches_a_kernel_is_no_hole(tmp_path: Path, call: str) -> None:
    """Neither is a method that no class of the code has, or one that takes nothing."""
    found = [hole for hole in holes(analyse(tmp_path, OTHERS.format(call=call))) if hole[3]]
    assert [] == found


HANDED_IN = """
import torch

def capture(run):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        return run()

def serve(x):
    x = torch.ones(4, device="cuda")
    return capture(lambda: x * 2)
"""


def test_what_one_caller_hands_in_is_known(tmp_path: Path) -> None:
    """The function by itself tells nothing of it, but a call of it does."""
    assert [] == holes(analyse(tmp_path, HANDED_IN))


CALLS = """
import torch

class Runner:
    def __init__(self, build):
        self.encoder, self.decoder = build(), build()

    def capture(self, x: torch.Tensor):
        def once():
            return self.decoder(self.encoder(x), x)
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            once()

class Encoder(torch.nn.Module):
    def forward(self, x):
        return x.tolist()

class Decoder(torch.nn.Module):
    def forward(self, x, y):
        return y.tolist()

class Inner(torch.nn.Module):
    def __init__(self, build):
        self.encoder = build()

    def forward(self, x):
        return self.encoder(x)
"""


@pytest.mark.parametrize(
    ("runs", "call", "lines"),
    [
        ("main:Encoder.forward", None, [16]),
        ("main:Decoder.forward", None, [20]),
        ("main:*coder.forward", None, [16, 20]),
        ("main:*coder.forward", "self.encoder", [16]),
        ("main:*coder.forward", "decoder", [20]),
        ("main:Decoder", "self.encoder", []),
    ],
)
def test_a_target_is_run_where_it_fits(tmp_path: Path, runs: str, call: str | None, lines: list[int]) -> None:
    """Where a call of it would be no TypeError, and where the callee is spelt as it says."""
    analysis = analyse(tmp_path, CALLS, targets=(Target("main:Runner.capture", (runs,), call),))
    assert lines == [line for _, line, _ in analysis.found]


def test_what_a_target_calls_itself_is_not_its_own(tmp_path: Path) -> None:
    """A call below it that is spelt alike is not filled: it is counted, like any other that is not resolved."""
    target = Target("main:Runner.capture", ("main:Inner.forward", "main:Encoder.forward"), "self.encoder")
    analysis = analyse(tmp_path, CALLS, targets=(target,))
    assert {"self.decoder": 1, "self.encoder": 1} == dict(analysis.report.statistics)
    assert ["self.decoder"] == [callee for _, _, callee, _ in holes(analysis)]


@pytest.mark.parametrize(
    ("at", "runs", "message"),
    [
        ("serve.runer:Runner.capture", MODELS, r"target `serve.runer:.*`: no module `serve.runer` .*serve.runner"),
        ("serve.runner:Runner.captured", MODELS, r"nothing in `serve.runner` is called `Runner.captured`.*capture"),
        (AT, "serve.models.*:*ForCausalML.forward", r"nothing in `serve.models.\*` is called `\*ForCausalML.forward`"),
    ],
)
def test_a_target_that_names_nothing_is_refused(tmp_path: Path, at: str, runs: str, message: str) -> None:
    """One line says which side, and what is near."""
    with pytest.raises(UsageError, match=message):
        analyse(tmp_path, RUNNER, targets=(Target(at, (runs,)),))


TABLE = f"""
[[target]]
at = "serve.*:Runner.capture"
runs = "{MODELS}"

[[target]]
at = "elsewhere.runner:Runner.capture"
runs = "elsewhere.models:Model.forward"
"""


def in_table(tmp_path: Path, text: str = TABLE, program: str = RUNNER) -> Analysis:
    """What is said of the program with a table of the user's own."""
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "regions.toml").write_text(text, encoding="utf-8")
    folder = write(tmp_path / "code", program)
    return Analysis(
        static.check([folder], Config(root=folder), load_rulebook(builtin_rules(), tmp_path / "rules")), folder
    )


def test_a_row_of_a_table_is_a_target(tmp_path: Path) -> None:
    """Of an engine that is not there, nothing is said."""
    analysis = in_table(tmp_path)
    assert analysis.expected == analysis.found and () == analysis.report.holes


def test_a_budget_that_is_used_up_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many functions were run for a call, and how many of an engine's many were not."""
    monkeypatch.setattr(targets, "BUDGET", 0)
    (hole,) = in_table(tmp_path).report.holes
    assert ("self.model", 2, 1, 1) == (hole.callee, hole.fitting, hole.followed, hole.left_out)


KINDS = """
# file: serve/__init__.py
# file: serve/runner.py
import torch

class Runner:
    def __init__(self, model):
        self.model = model

    def capture(self):
        ids = torch.zeros(8, device="cuda")
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            self.model(ids)
# file: serve/models/__init__.py
# file: serve/models/only.py
def last(ids):
    return ids.item()

def part(ids, place):
    if place == 1:
        ids.sum().item()
    return ids

class OnlyForCausalLM:
    def forward(self, ids):
        ids = part(ids, 0)
        ids = part(ids, 1)
        return last(ids)
"""


def test_once_the_budget_is_used_up_a_function_is_run_for_few_kinds_of_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also inside of one call: what is not run yet is, and what was run before gives what it gave; so is each share."""
    cases = ((4000, 500, 1, {2, 6}), (0, 500, 1, {2}), (4000, 0, 1, {2}), (0, 500, 2, {2, 6}))
    for number, (budget, share, few, lines) in enumerate(cases):
        monkeypatch.setattr(targets, "BUDGET", budget)
        monkeypatch.setattr(targets, "SHARE", share)
        monkeypatch.setattr(interpreter, "FEW_VARIANTS", few)
        (tmp_path / str(number)).mkdir()
        found = in_table(tmp_path / str(number), program=KINDS).found
        assert lines == {line for _, line, code in found if code == "GL101"}


def test_the_second_of_an_engine_is_run_for_one_of_its_calls(tmp_path: Path) -> None:
    """The first one is run for all; that the others were not is told."""
    call = "            self.model(ids, scale=host)\n"
    again = RUNNER.replace(call, f"{call}        with torch.cuda.graph(torch.cuda.CUDAGraph()):\n{call}")
    spelt = TABLE.replace("[[target]]", '[[target]]\ncall = "self.model"', 1)
    (hole,) = in_table(tmp_path, spelt, again).report.holes
    assert ("self.model", 2, 1, 1) == (hole.callee, hole.fitting, hole.followed, hole.left_out)


def test_what_the_user_declares_has_no_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it is run."""
    monkeypatch.setattr(targets, "BUDGET", 0)
    analysis = analyse(tmp_path, RUNNER, targets=(Target(AT, (MODELS,)),))
    assert 2 == len(analysis.found) and () == analysis.report.holes


def test_every_row_of_the_builtin_table_is_a_target(tmp_path: Path) -> None:
    """A program under the names of the engine, with the call that the row means, is followed."""
    assert RULEBOOK.entries.targets
    for number, row in enumerate(RULEBOOK.entries.targets):
        folder = tmp_path / str(number)
        analysis = analyse(folder, program_of(row))
        assert ["GL101"] == [code for _, _, code in analysis.found], row
        assert () == analysis.report.holes


def program_of(row: Target) -> str:
    """An engine that captures as a row says."""
    module, _, qualname = row.at.replace("*", "x").partition(":")
    cls, _, method = qualname.rpartition(".")
    names = (row.call or "self.model").removeprefix("self.").split(".")
    held, called = names[0], ".".join(names)
    home, _, run = row.runs[0].replace("*", "x").partition(":")
    model, _, forward = run.rpartition(".")
    is_module = forward == "forward"
    packages = {part for name in (module, home) for part in parents(name)}
    files = "".join(f"# file: {name.replace('.', '/')}/__init__.py\n" for name in sorted(packages))
    return f"""{files}# file: {module.replace(".", "/")}.py
import torch

class {cls}:
    def __init__(self, {held}):
        self.{held} = {held}

    def {method}(self, {held}: "Any", x: torch.Tensor):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            {called if row.call and not row.call.startswith("self.") else "self." + called}(x)
# file: {home.replace(".", "/")}.py
{"from torch import nn" if is_module else ""}

class {model}{"(nn.Module)" if is_module else ""}:
    def {forward}(self, x):
        return x.tolist()
"""


def parents(name: str) -> list[str]:
    """The packages that a module lies in."""
    parts = name.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts))]


def test_a_hole_says_which_region_it_is_in(tmp_path: Path) -> None:
    """And the function that makes the call."""
    (hole,) = analyse(tmp_path, RUNNER).report.holes
    assert isinstance(hole, Hole) and AT == hole.function
    assert ("torch.cuda.graph", 12) == (hole.region.kind, hole.region.line)


GRAPHED = """
from tensordict.nn import CudaGraphModule

def double(x):
    return x * 2

def train(make, batches):
    step = CudaGraphModule({callee})
    for batch in batches:
        step(batch)
"""


@pytest.mark.parametrize(
    ("callee", "told"), [("make", ["make"]), ("module=make", ["make"]), ("double", []), ("None", [])]
)
def test_a_callable_that_nobody_knows_is_a_hole_of_its_graph(tmp_path: Path, callee: str, told: list[str]) -> None:
    """Nothing is found in what was not looked at."""
    assert told == [name for _, _, name, _ in holes(analyse(tmp_path, GRAPHED.format(callee=callee)))]


ASKED = """
import torch

class FirstBackend:
    parts = None

    def prepare(self, x):
        return x.item()  # line 8

class SecondBackend:
    def __init__(self):
        self.inner = [FirstBackend()]

    def prepare(self, x):
        return x.tolist()  # line 15

class Runner:
    @staticmethod
    def leaves(backend):
        {asks}
        return [backend]

    def run(self, backend, x):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            backend.prepare(x)
        self.state = self.leaves(backend)

def main(backend):
    Runner().run(backend, torch.ones(4, device="cuda"))
"""


@pytest.mark.parametrize(
    ("asks", "runs", "lines"),
    [
        ("parts = [backend, *backend.parts]", "main:*Backend.prepare", [8]),
        ("parts = [backend, *backend.inner]", "main:*Backend.prepare", [15]),
        ("if backend is None: return backend.parts", "main:*Backend.prepare", [8, 15]),
        ("parts = backend.parts if hasattr(backend, 'parts') else []", "main:*Backend.prepare", [8, 15]),
        ("backend.parts = []", "main:*Backend.prepare", [8, 15]),
        ("parts = [backend, *backend.parts]", "main:SecondBackend.prepare", [15]),
    ],
)
def test_a_glob_means_what_has_all_that_is_asked_of_it(tmp_path: Path, asks: str, runs: str, lines: list[int]) -> None:
    """What a function surely asks its object for; who names one class by itself means that."""
    program = ASKED.format(asks=asks)
    analysis = analyse(tmp_path, program, targets=(Target("main:Runner.run", (runs,), "backend.prepare"),))
    assert lines == [line for _, line, _ in analysis.found]
