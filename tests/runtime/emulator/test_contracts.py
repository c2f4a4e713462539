"""What each graph depends on and what it changes, and what is otherwise than a file says."""

from __future__ import annotations

import importlib
import json
import os
import warnings
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.utils._python_dispatch import _disable_current_modes, _get_current_dispatch_mode_stack  # noqa: E402

import graphlint  # noqa: E402
from graphlint import runtime  # noqa: E402
from graphlint.cli import commands  # noqa: E402
from graphlint.config import Config  # noqa: E402
from graphlint.errors import UsageError  # noqa: E402
from graphlint.rulebook import builtin_rules, load_rulebook  # noqa: E402
from graphlint.runtime.device.emulator import library  # noqa: E402
from graphlint.runtime.judge.workspaces import ARE_KEPT  # noqa: E402
from graphlint.snapshot import changes  # noqa: E402
from graphlint.testing.settings import read_settings  # noqa: E402

DECODER = """
import torch

class Cache:
    def __init__(self):
        self.k = torch.zeros(4, 8, device="cuda")

class Decoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head, self.cache, self.scale = torch.nn.Linear(8, 8, device="cuda"), Cache(), 0.5
        self.place = torch.zeros(1, dtype=torch.long, device="cuda")
        self.register_buffer("mask", torch.ones(4, device="cuda"))

    def forward(self, x):
        self.cache.k.index_copy_(0, self.place, x)
        return self.head(x) * self.scale + self.mask @ self.cache.k

class Runner:
    def __init__(self, model):
        self.model, self.x = model, torch.zeros(1, 8, device="cuda")
        self.graph = torch.cuda.CUDAGraph()
        with torch.no_grad():
            self.model(self.x)
            torch.cuda.synchronize()
            with torch.cuda.graph(self.graph):
                self.y = self.model(self.x)

    def step(self, x, place):
        self.x.copy_(x)
        self.model.place.fill_(place)
        self.graph.replay()
        return self.y.clone()

runner = Runner(Decoder())
for place in range(4):
    runner.step(torch.randn(1, 8, device="cuda"), place)
"""


def verify(folder: Path, program: str, *options: str, name: str = "") -> tuple[int, dict[str, Any]]:
    """The status, and the report as JSON."""
    (folder / "program.py").write_text(program)
    file = folder / "report.json"
    given = [str(folder / "program.py") + name, "--on", "emulator", "--format", "json", "--output-file", str(file)]
    status = commands.main(["verify", *given, *options], standalone_mode=False)
    return status, json.loads(file.read_text())


def contracts(folder: Path, program: str, name: str = "") -> list[dict[str, Any]]:
    """Those of its graphs, in order of capture."""
    status, report = verify(folder, program, "--contracts", name=name)
    assert (status, report["findings"]) == (0, [])
    (target,) = report["targets"]
    return target["contracts"]


def kinds(contract: dict[str, Any]) -> dict[str, tuple[str, str, str]]:
    """Of each buffer what it is, what the graph does with it, and for how many replays somebody refreshes it."""
    return {one["name"]: (one["kind"], one["access"], one["refreshed"]) for one in contract["buffers"]}


def test_each_buffer_is_told_by_the_name_that_the_code_has_for_it(tmp_path: Path) -> None:
    """With its kind, what the graph does with it, and who refreshes it."""
    (contract,) = contracts(tmp_path, DECODER)
    assert kinds(contract) == {
        "model.cache.k": ("state", "read and written", "none"),
        "model.place": ("input", "read", "all"),
        "self.x": ("input", "read", "all"),
        "model.head.weight": ("weight", "read", "none"),
        "model.head.bias": ("weight", "read", "none"),
        "model.mask": ("constant", "read", "none"),
    }
    assert (contract["name"], contract["replays"], contract["draws"]) == ("program.py:Runner.__init__", 4, False)
    assert [("self.y", "float32", [1, 8], 32)] == [tuple(one.values()) for one in contract["outputs"]]
    assert [("self.scale", "Decoder.forward", "0.5")] == [tuple(one.values())[:3] for one in contract["values"]]


def test_lines_are_told_that_use_a_buffer_and_that_refresh_it(tmp_path: Path) -> None:
    """Each with the operator, the stream, and before how many replays."""
    (contract,) = contracts(tmp_path, DECODER)
    cache, place = ({**one} for one in contract["buffers"] if one["name"] in ("model.cache.k", "model.place"))
    lines = DECODER.splitlines()
    used = [(lines[one["line"] - 1].split("(")[0].strip(), one["access"]) for one in cache["uses"]]
    assert used == [("self.cache.k.index_copy_", "reads and writes"), ("return self.head", "reads")]
    assert {"program.py"} == {Path(one["path"]).name for one in cache["uses"]}
    (refresh,) = place["refreshes"]
    assert "self.model.place.fill_(place)" == lines[refresh["line"] - 1].strip()
    assert ("the default stream", 4) == (refresh["stream"], refresh["replays"])


TRAINS = """
import torch

model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5)).cuda()
optimizer = torch.optim.Adam(model.parameters(), capturable=True)
x, side, graph = torch.randn(2, 4, device="cuda"), torch.cuda.Stream(), torch.cuda.CUDAGraph()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    model(x).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
torch.cuda.current_stream().wait_stream(side)
with torch.cuda.graph(graph):
    loss = model(x).sum()
    loss.backward()
    optimizer.step()
for _ in range(2):
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        x.copy_(torch.randn(2, 4, device="cuda"))
    torch.cuda.current_stream().wait_stream(side)
    graph.replay()
x.add_(1)
graph.replay()
"""


def test_a_training_step_changes_weights_and_the_state_of_its_optimizer(tmp_path: Path) -> None:
    """Gradients that it makes are outputs; that it draws random numbers is told."""
    (contract,) = contracts(tmp_path, TRAINS)
    found = kinds(contract)
    assert found["model[0].weight"] == ("weight", "read and written", "none")
    assert found["optimizer.state[model[0].weight]['exp_avg']"] == ("state", "read and written", "none")
    assert len(found) == 3 + 2 * 3 and contract["draws"]
    assert {"loss", "model[0].weight.grad", "model[0].bias.grad"} == {one["name"] for one in contract["outputs"]}


def test_each_stream_that_refreshes_an_input_is_told(tmp_path: Path) -> None:
    """They have numbers, in order of use."""
    (contract,) = contracts(tmp_path, TRAINS)
    (given,) = (one for one in contract["buffers"] if one["name"] == "x")
    assert [("stream 1", 2), ("the default stream", 1)] == [
        (one["stream"], one["replays"]) for one in given["refreshes"]
    ]
    assert given["refreshed"] == "all"


def unheard(size: tuple[int, ...], stride: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Memory of the emulated device that no other mode hears of, as the kernels of Inductor take it on a GPU."""
    modes = _get_current_dispatch_mode_stack()
    device = next(mode for mode in modes if type(mode).__module__.startswith("graphlint.runtime.device"))
    with _disable_current_modes(), device:
        return torch.empty_strided(size, stride, dtype=dtype, device="cuda")


def test_what_compiled_code_takes_by_itself_is_memory_of_the_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no buffer that the graph writes, and an output where somebody holds it."""
    monkeypatch.setattr(torch._C._dynamo.guards, "_empty_strided_cuda", unheard)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importlib.import_module("torch._dynamo.convert_frame")  # the compiler is followed where it is loaded

    def step(x: torch.Tensor) -> torch.Tensor:
        allocate = torch._C._dynamo.guards._empty_strided_cuda
        between, result = (allocate((4,), (1,), torch.float32) for _ in range(2))
        torch.mul(x, 2.0, out=between)
        return torch.add(between, 1.0, out=result)

    report = graphlint.verify(step, (torch.ones(4),), on="emulator", has_contracts=True)
    (contract,) = report.targets[0].contracts
    assert ["args[0]"] == [one.name for one in contract.buffers]
    assert [(4,)] == [one.shape for one in contract.outputs]


BUCKETS = """
import torch

pool, weight, graphs = torch.cuda.graph_pool_handle(), torch.randn(4, 4, device="cuda"), {}

def capture(rows):
    x, graph = torch.zeros(rows, 4, device="cuda"), torch.cuda.CUDAGraph()
    x @ weight
    with torch.cuda.graph(graph, pool=pool):
        y = x @ weight
    graphs[rows] = graph, x, y

for rows in (4, 2):
    capture(rows)
for rows in (4, 2, 4):
    graph, x, y = graphs[rows]
    if rows > 2:
        x.copy_(torch.randn(rows, 4, device="cuda"))
    else:
        x.add_(1)
    graph.replay()
    print(y.sum().item())
"""


COMPILED = """
import torch

step = torch.compile(torch.nn.Linear(8, 8).cuda(), mode="reduce-overhead")
with torch.no_grad():
    for _ in range(4):
        step(torch.randn(4, 8, device="cuda"))
"""


@pytest.mark.skipif(not library.COMPILES, reason="compiled functions of this release cannot be followed")
def test_the_input_of_a_compiled_function_is_written_by_its_replays(tmp_path: Path) -> None:
    """Its tree lays another storage over the memory of the capture, and copies the argument there."""
    (contract,) = contracts(tmp_path, COMPILED)
    (given,) = (one for one in contract["buffers"] if one["kind"] == "input")
    assert ("read", [4, 8], contract["replays"] - 1) == (
        given["access"],
        given["shape"],
        given["refreshes"][0]["replays"],
    )


def test_graphs_of_one_function_have_numbers_and_tell_whose_pool_they_share(tmp_path: Path) -> None:
    """Each bucket has a contract of its own."""
    first, second = contracts(tmp_path, BUCKETS)
    assert (first["name"], first["shares"], first["replays"]) == ("program.py:capture", [], 2)
    assert (second["name"], second["shares"], second["replays"]) == ("program.py:capture #2", [first["name"]], 1)
    assert [[4, 4], [2, 4]] == [one["shape"] for it in (first, second) for one in it["buffers"] if one["name"] == "x"]
    assert kinds(second)["weight"] == ("constant", "read", "none")


CHAINED = """
import torch

def record(function):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        function()
    return graph

given, between = torch.zeros(4, device="cuda"), torch.zeros(4, device="cuda")
hosted, result = torch.zeros(4).pin_memory(), torch.zeros(4, device="cuda")
first = record(lambda: between.copy_(given * 2))
second = record(lambda: result.copy_(between + hosted.to("cuda", non_blocking=True)))
for value in (1.0, 2.0):
    given.fill_(value)
    hosted.fill_(value)
    first.replay()
    second.replay()
    torch.cuda.synchronize()
"""


def test_a_graph_may_refresh_the_input_of_another(tmp_path: Path) -> None:
    """Then the line that captured it does; what is overwritten is not read, and what lies on the host is told."""
    first, second = contracts(tmp_path, CHAINED)
    assert kinds(first) == {"given": ("input", "read", "all"), "between": ("state", "written", "none")}
    assert kinds(second)["between"] == ("input", "read", "all")
    (between,) = (one for one in second["buffers"] if one["name"] == "between")
    assert first["line"] == between["refreshes"][0]["line"]
    assert {"hosted"} == {one["name"] for one in second["buffers"] if one["is_host"]}


PASSED_ON = """
import torch

weight, given, gain = torch.ones(4, 4, device="cuda"), torch.zeros(4, 4, device="cuda"), torch.ones(4, device="cuda")
first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
given @ weight
with torch.cuda.graph(first):
    hidden = given @ weight
with torch.cuda.graph(second):
    result = hidden.sum(0) * gain
for value in (1.0, 2.0, 3.0):
    given.fill_(value)
    first.replay()
    second.replay()
"""


def test_what_another_graph_has_made_is_told_with_its_name(tmp_path: Path) -> None:
    """It is no constant: the other one writes it when it is replayed. What eager has made is none of a graph's."""
    first, second = contracts(tmp_path, PASSED_ON)
    (hidden,) = (one for one in second["buffers"] if one["name"] == "hidden")
    assert ("another graph's", first["name"], "all") == tuple(hidden[name] for name in ("kind", "maker", "refreshed"))
    assert [(first["line"], 3)] == [(one["line"], one["replays"]) for one in hidden["refreshes"]]
    assert {""} == {one["maker"] for one in (*first["buffers"], *second["buffers"]) if one is not hidden}


def test_memory_of_another_graph_that_is_not_replayed_is_written_by_nobody(tmp_path: Path) -> None:
    """And that of one that was replayed before the capture is as it left it."""
    never = PASSED_ON.replace("    first.replay()\n", "")
    before = never.replace("with torch.cuda.graph(second)", "first.replay()\nwith torch.cuda.graph(second)")
    for program, refreshed in ((never, "none"), (before, "some")):
        (tmp_path / refreshed).mkdir()
        _, report = verify(tmp_path / refreshed, program, "--contracts")
        (_, second) = report["targets"][0]["contracts"]
        assert ("another graph's", "read", refreshed) == kinds(second)["hidden"]


def test_a_table_names_who_made_memory_and_whose_workspace_is_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the words of the file."""
    (tmp_path / "program.py").write_text(PASSED_ON.replace("hidden.sum(0)", "(hidden @ weight).sum(0)"))
    commands.main(["verify", str(tmp_path / "program.py"), "--on", "emulator", "--contracts"], standalone_mode=False)
    (second,) = (table for table in capsys.readouterr().out.split("contract of ") if table.startswith("program.py #2"))
    (made,) = (line for line in second.splitlines() if "another graph's" in line)
    handed = [line for line in second.splitlines() if "workspace" in line]
    assert "made by program.py, read at" in made and "written before 3 of 3 replays" in made
    assert len(handed) == ARE_KEPT
    for line in handed:
        assert line.split()[:2] == ["workspace", "cuBLAS"] and line.endswith("lies in the pool of program.py")


def workspaces(folder: Path, program: str) -> list[list[tuple[str, str]]]:
    """Of each graph those that it is given and has not taken, with the graph that has."""
    given = (one["workspaces"] for one in contracts(folder, program))
    return [[(one["name"], one["maker"]) for one in all_of_one] for all_of_one in given]


MULTIPLIES = """
import torch

x, graphs = torch.ones(4, 4, device="cuda"), []
weight, second = (torch.ones(4, 4, device="cuda", requires_grad=True) for _ in range(2))

def capture(step, stream=None, pool=None):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream, pool=pool):
        y = step()
    graphs.append((graph, y))

def multiply():
    return x @ weight.detach()

def add():
    return torch.addmm(x[0], x, x)

def train(weight=weight):
    (x @ weight).sum().backward()

stream, other = torch.cuda.Stream(), torch.cuda.Stream()
train()
weight.grad = None
torch.cuda.synchronize()
"""
ENDS = """
for graph, _ in graphs:
    x.fill_(2.0)
    graph.replay()
"""
_OTHERS = [("cuBLAS", "program.py:capture")]


@pytest.mark.skipif(not ARE_KEPT, reason="this release keeps no workspace")
@pytest.mark.parametrize(
    ("steps", "told"),
    [
        pytest.param("capture(multiply)\ncapture(multiply)", [[], _OTHERS], id="of the graph before on this stream"),
        pytest.param("capture(multiply, stream)\ncapture(multiply, other)", [[], []], id="a stream of its own"),
        pytest.param(
            "with torch.cuda.stream(stream):\n    multiply()\ncapture(multiply, stream)\ncapture(multiply, stream)",
            [[("cuBLAS", "")], [("cuBLAS", "")]],
            id="of eager work on this stream",
        ),
        pytest.param(
            "pool = torch.cuda.graph_pool_handle()\ncapture(multiply, pool=pool)\ncapture(multiply, pool=pool)",
            [[], []],
            id="in the pool that both share",
        ),
        pytest.param(
            "capture(multiply)\ntorch._C._cuda_clearCublasWorkspaces()\ncapture(multiply)", [[], []], id="given back"
        ),
        pytest.param("capture(multiply)\ncapture(lambda: x * 2)", [[], []], id="no product"),
        pytest.param("capture(add)\ncapture(add)", [[], [("cuBLASLt", "program.py:capture")]], id="of cuBLASLt"),
        pytest.param("capture(add)\ncapture(multiply)", [[], _OTHERS], id="which takes that of cuBLAS as well"),
        pytest.param("capture(multiply)\ncapture(add)", [[], []], id="each of another library"),
        pytest.param("capture(multiply)\ncapture(lambda: torch.addmm(x, x, x))", [[], _OTHERS], id="adds no vector"),
        pytest.param(
            "capture(train)\ncapture(lambda: train(second))",
            [[], [*_OTHERS, ("cuBLAS, in backward", "program.py:capture")]],
            id="of autograd",
        ),
        pytest.param("capture(multiply)\ncapture(train)", [[], _OTHERS], id="autograd has its own"),
    ],
)
def test_the_memory_of_cublas_that_others_use_is_told(
    tmp_path: Path, steps: str, told: list[list[tuple[str, str]]]
) -> None:
    """Torch keeps one piece for a thread and a stream; what a graph takes into its own pool is not told."""
    assert told == workspaces(tmp_path, MULTIPLIES + steps + ENDS)


def test_the_stream_of_a_target_is_not_its_own(tmp_path: Path) -> None:
    """What was taken there before it is captured is none of its workspaces."""
    (contract,) = contracts(tmp_path, TARGET.replace("self.body(x)", "self.body(x @ x.T @ x)"), name=":target")
    assert [] == contract["workspaces"] and "aten.mm.default" in {
        use["operator"] for one in contract["buffers"] for use in one["uses"]
    }


def test_what_an_operator_reads_and_gives_its_result_to_is_read(tmp_path: Path) -> None:
    """An argument that is named twice, unlike one that is only filled."""
    program = PASSED_ON.replace("result = hidden.sum(0) * gain", "torch.maximum(gain, hidden[0], out=gain)")
    program = program.replace("hidden = given", "torch.mul(given, 2, out=weight)\n    hidden = given")
    first, second = contracts(tmp_path, program)
    assert ("state", "read and written", "none") == kinds(second)["gain"]
    uses = {one["operator"]: one["access"] for it in first["buffers"] if it["name"] == "weight" for one in it["uses"]}
    assert {"aten.mul.out": "writes", "aten.mm.default": "reads"} == uses


TARGET = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.BatchNorm1d(4)

    def forward(self, x, *, scale):
        return self.body(x) * scale

def target():
    return Model().cuda(), (torch.randn(2, 4, device="cuda"),), {"scale": torch.ones(4, device="cuda")}
"""


def test_the_contract_of_a_target_names_its_arguments(tmp_path: Path) -> None:
    """Which its caller fills."""
    (contract,) = contracts(tmp_path, TARGET, name=":target")
    found = kinds(contract)
    assert contract["name"] == "model"
    assert {"args[0]", "scale"} == {name for name, (kind, *_) in found.items() if kind == "argument"}
    assert found["model.body.running_mean"] == ("state", "read and written", "none")


def test_nothing_is_told_where_nobody_asks(tmp_path: Path) -> None:
    """Not even to a reader of JSON."""
    _, report = verify(tmp_path, DECODER)
    assert "contracts" not in report["targets"][0]


EDITS = {
    "an input that nobody refreshes": ("        self.model.place.fill_(place)\n", "", "model.place", "self.cache.k"),
    "the same in another order": ("self.head(x) * self.scale +", "self.scale * self.head(x) +", None, None),
    "another value": ("Cache(), 0.5", "Cache(), 0.25", "self.scale in Decoder.forward", "return self.head"),
    "a value newly read": (
        "* self.scale +",
        "* self.scale * self.head.in_features +",
        "self.head.in_features in",
        "return",
    ),
    "an output": (
        "return self.head(x)",
        "self.kept = self.head(x)\n        return self.kept",
        "model.kept",
        "with torch",
    ),
    "memory of the host": (
        'self.register_buffer("mask", torch.ones(4, device="cuda"))\n',
        "self.mask = torch.ones(4).pin_memory()\n",
        "model.mask",
        "return self.head",
    ),
    "another type": ("torch.ones(4, device", "torch.ones(4, dtype=torch.float64, device", "model.mask", "return self"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_that_changes_a_contract_is_told_at_its_line(tmp_path: Path, edit: str) -> None:
    """And one that does not is silent."""
    before, after, about, line = EDITS[edit]
    program = DECODER.replace(
        "self.mask @ self.cache.k", 'self.mask.to("cuda", non_blocking=True).float() @ self.cache.k'
    )
    assert before in program
    file = tmp_path / "contract.json"
    assert 0 == verify(tmp_path, program, "--contract", str(file))[0]
    status, report = verify(tmp_path, program.replace(before, after), "--contract", str(file))
    found = [one for one in report["findings"] if one["code"] == "GL005"]
    if about is None:
        assert (status, found) == (0, [])
        return
    edited = program.replace(before, after).splitlines()
    told = {one["message"]: edited[one["line"] - 1].strip() for one in found}
    assert [True] == [text.startswith(line) for said, text in told.items() if said.startswith(f"`{about}")]
    assert (status, report["targets"][0]["verdict"]) == (1, "differs")


@pytest.mark.parametrize(
    ("after", "told"),
    [
        pytest.param(
            "hidden.sum(0)", {"hidden": "another graph's, float32[4, 4], made by program.py"}, id="its memory"
        ),
        pytest.param("(kept @ gain)", {"cuBLAS": "in the pool of program.py"} if ARE_KEPT else {}, id="its workspace"),
        pytest.param("(kept * 1).sum(0)", {}, id="nothing of it"),
    ],
)
def test_an_edit_by_which_a_graph_depends_on_another_is_told(tmp_path: Path, after: str, told: dict[str, str]) -> None:
    """At the line that does."""
    program = PASSED_ON.replace("given @ weight\n", "kept = given @ weight\n", 1).replace("hidden.sum", "kept.sum")
    file = tmp_path / "contract.json"
    assert 0 == verify(tmp_path, program, "--contract", str(file))[0]
    _, report = verify(tmp_path, program.replace("kept.sum(0)", after), "--contract", str(file))
    found = {one["message"].split("`")[1]: one for one in report["findings"] if "not there before" in one["why"]}
    assert found.keys() == told.keys()
    lines = program.splitlines()
    for about, what in told.items():
        assert f"program.py #2: not there before, {what}" in found[about]["why"]
        assert lines[found[about]["line"] - 1].strip().startswith("result = ")


def test_a_file_is_written_where_there_is_none_and_the_same_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names neither lines nor places, and an edit that moves lines changes nothing."""
    file, again = tmp_path / "contract.json", tmp_path / "again.json"
    verify(tmp_path, DECODER, "--contract", str(file))
    said = f"there was no contract of `program.py` to compare with, so it was added to {file}"
    assert said in capsys.readouterr().err
    verify(tmp_path, "# moved\n\n" + DECODER, "--contract", str(again))
    assert file.read_text() == again.read_text()
    assert str(tmp_path) not in file.read_text()
    status, report = verify(tmp_path, "\n" + DECODER, "--contract", str(file))
    assert (status, report["findings"]) == (0, [])


def test_a_graph_that_is_gone_and_one_that_is_new_are_told(tmp_path: Path) -> None:
    """By their names."""
    file = tmp_path / "contract.json"
    verify(tmp_path, DECODER, "--contract", str(file))
    _, report = verify(tmp_path, DECODER.replace("Runner", "Server"), "--contract", str(file))
    gone, new = (one["message"].split("`")[1] for one in report["findings"])
    assert {gone, new} == {"program.py:Runner.__init__", "program.py:Server.__init__"}


def test_graphs_that_are_gone_are_told_in_the_order_of_the_file() -> None:
    """The same in every run."""
    known = {name: {} for name in "hgfedcba"}
    assert [*known] == [one.about for one in changes(known, (), "program.py")]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"targets": {"a": {"b": {}}}, "format": 1}', '{"targets": 1}', "\xff"]
)
def test_a_file_that_holds_no_contract_is_one_line(tmp_path: Path, text: str) -> None:
    """And is left as it is."""
    file = tmp_path / "contract.json"
    file.write_text(text, encoding="latin-1")
    with pytest.raises(UsageError, match="holds no contract: delete it"):
        verify(tmp_path, "x = 1\n", "--contract", str(file))
    assert file.read_text(encoding="latin-1") == text


def test_a_program_that_captures_nothing_writes_no_contract(tmp_path: Path) -> None:
    """An empty file would be a green for nothing."""
    file = tmp_path / "contract.json"
    assert 2 == verify(tmp_path, "x = 1\n", "--contract", str(file))[0]
    assert not file.exists()


def test_what_nothing_is_known_of_is_added(tmp_path: Path) -> None:
    """And what is known stays."""
    file = tmp_path / "contract.json"
    verify(tmp_path, DECODER, "--contract", str(file))
    (tmp_path / "other.py").write_text(BUCKETS)
    given = [str(tmp_path / "other.py"), "--on", "emulator", "--contract", str(file)]
    assert 0 == commands.main(["verify", *given], standalone_mode=False)
    assert ["program.py", "other.py"] == list(json.loads(file.read_text())["targets"])


def test_two_changes_on_one_line_are_two_findings(tmp_path: Path) -> None:
    """Each part of a contract is told by itself."""
    file = tmp_path / "contract.json"
    verify(tmp_path, CHAINED, "--contract", str(file))
    edited = CHAINED.replace("zeros(4, device", "zeros(4, dtype=torch.float64, device")
    _, report = verify(tmp_path, edited, "--contract", str(file))
    assert {"given", "between", "result"} <= {one["message"].split("`")[1] for one in report["findings"]}


def test_the_function_and_the_fixture_compare_with_a_file(tmp_path: Path) -> None:
    """As the command does."""

    def step(x: torch.Tensor) -> torch.Tensor:
        return x * weight

    file, weight = tmp_path / "contract.json", torch.ones(4)
    first = graphlint.verify(step, (torch.ones(4),), on="emulator", contract=file)
    assert ([], 1) == (list(first.findings), len(first.notices))
    weight = torch.ones(1)
    again = graphlint.verify(step, (torch.ones(4),), on="emulator", contract=file, has_contracts=True)
    assert ["GL005"] == [one.code for one in again.findings]
    (contract,) = again.targets[0].contracts
    assert {"args[0]", "weight"} == {one.name for one in contract.buffers}
    assert read_settings({"contract": "decode.json"}).contract == Path("decode.json")


def test_what_ends_its_process_is_not_compared(tmp_path: Path) -> None:
    """Nobody knows what it would have captured."""

    def step(x: torch.Tensor) -> torch.Tensor:
        if is_broken:
            os._exit(3)
        return x * 2

    is_broken = False
    for codes in ([], ["GL003"]):
        report = graphlint.verify(step, (torch.ones(4),), on="emulator", contract=tmp_path / "contract.json")
        assert codes == [one.code for one in report.findings]
        is_broken = True


@pytest.mark.parametrize("is_command", [True, False])
def test_rank_0_alone_compares_with_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_command: bool) -> None:
    """The others would write it at the same time."""
    for name in ("WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.setenv(name, "2")
    monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", "True")
    program, file, rulebook = tmp_path / "program.py", tmp_path / "contract.json", load_rulebook(builtin_rules())
    program.write_text(CHAINED)
    for rank in ("1", "0"):
        monkeypatch.setenv("RANK", rank)
        if is_command:
            report = runtime.verify([str(program)], Config(tmp_path), rulebook, on="emulator", contract=file)
        else:
            report = graphlint.verify(lambda x: x * 2, (torch.ones(4),), on="emulator", contract=file)
        assert ["safe"] == [target.verdict for target in report.targets]
        assert file.exists() == bool(report.notices) == (rank == "0")
