"""What nothing in the source speaks for is told in a low voice, and what something speaks for is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

from graphlint.finding import Confidence

STATE = """
import torch

class State:
    def __init__(self):
        self.trace = None

{more}

def step(state, x):
    if state.trace is not None:
        state.trace.append(x.max().item())
    return x * 2

def capture(state):
    x = torch.zeros(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = step(state, x)
    return graph, x, y
"""
GIVERS = {
    "a method": "    def begin(self):\n        self.trace = []",
    "a function": "def begin(state):\n    state.trace = []",
    "its name": "def begin(state):\n    setattr(state, 'trace', [])",
    "a call": "def begin(make):\n    return make(trace=[])",
    "a field": "class Other:\n    trace: list",
}


@pytest.mark.parametrize("giver", GIVERS)
def test_what_something_gives_a_value_may_have_one(tmp_path: Path, giver: str) -> None:
    """Who gives it, and how, is all the same."""
    assert "GL101" in {code for _, _, code in analyse(tmp_path, STATE.format(more=GIVERS[giver])).shown}


def test_what_is_only_ever_none_is_none(tmp_path: Path) -> None:
    """A hook for those who debug, whom nothing in the source speaks of."""
    assert "GL101" not in {code for _, _, code in analyse(tmp_path, STATE.format(more="")).shown}


BLOCKS = """
import torch
from torch import nn

class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        {plain}

    def forward(self, x):
        return x * x.max().item()

class Crossing(nn.Module):
    def __init__(self):
        super().__init__()
        self.crosses = True

    def forward(self, x):
        return x + 1

class Net(nn.Module):
    def __init__(self, kinds):
        super().__init__()
        self.blocks = nn.ModuleList([Crossing() if kind else Plain() for kind in kinds])

    def forward(self, x):
        for block in self.blocks:
            if hasattr(block, "crosses") and block.crosses:
                x = block(x)
        return x

def main(kinds):
    net, x = Net(kinds).cuda(), torch.zeros(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = net(x)
    graph.replay()
    return y.clone()
"""


@pytest.mark.parametrize(("plain", "is_told"), [("self.size = 1", False), ("self.crosses = x", True)])
def test_of_several_objects_those_are_asked_for_that_have_an_attribute(
    tmp_path: Path, plain: str, is_told: bool
) -> None:
    """Others do not get there."""
    found = analyse(tmp_path, BLOCKS.format(plain=plain)).shown
    assert ("GL101" in {code for _, _, code in found}) is is_told


REGION = """
import torch

class Keeper:
    def __init__(self, model):
        self.model, self.last, self.current = model, None, None

    def start(self, x):
        if self.current is None:
            self.current = torch.zeros(4, device="cuda")
            self.last = torch.zeros(4, device="cuda")

    def step(self, x):
        self.start(x)
        {step}
        return x + self.last

def cat(a, b, size):
    return a.view(2, size)

def capture(keeper, parts, given, flag):
    x = torch.zeros(4, device="cuda")
    table = {table}
    keeper = Keeper(None)
    keeper.step(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        {region}
    graph.replay()
    return y.clone()
"""
_HOST = "torch.ones(4)"
_EITHER = "torch.ones(4) if flag else torch.ones(4, device='cuda')"
_ANY = f"torch.ones(4, device=given) if parts else {_EITHER}"


@pytest.mark.parametrize(
    ("table", "region", "step", "code", "is_told"),
    [
        (_HOST, "y = table.to(x.device) + x", "pass", "GL202", True),
        (_EITHER, "y = table.to(x.device) + x", "pass", "GL202", True),
        (_ANY, "y = table.to(x.device) + x", "pass", "GL202", False),
        (_HOST, "table[:2] = x[:2]; y = x", "pass", "GL201", True),
        (_EITHER, "table[:2] = x[:2]; y = x", "pass", "GL201", True),
        (_ANY, "table[:2] = x[:2]; y = x", "pass", "GL201", False),
        (_HOST, "y = torch.as_tensor([1.0, 2.0], device='cuda') + x", "pass", "GL203", True),
        (_HOST, "y = torch.as_tensor(given, device='cuda') + x", "pass", "GL203", False),
        (_HOST, "y = keeper.step(x)", "self.current = x * 2", "GL501", True),
        (_HOST, "y = keeper.step(x)", "self.last = self.current", "GL501", False),
        (_HOST, "y = keeper.step(x)", "old = self.last; self.last = self.current; self.current = old", "GL501", False),
        (_HOST, "y = cat(x, x, x.sum())", "pass", "GL304", True),
        (_HOST, "y = cat(*[torch.zeros(4, device='cuda') for _ in parts], len(parts))", "pass", "GL304", False),
    ],
)
def test_a_guess_is_no_more_than_that(
    tmp_path: Path, table: str, region: str, step: str, code: str, is_told: bool
) -> None:
    """Where a tensor lies, what is handed over, what is kept already, and which of several arguments is which."""
    found = analyse(tmp_path, REGION.format(table=table, region=region, step=step)).shown
    assert (code in {code for _, _, code in found}) is is_told


@pytest.mark.parametrize(("asked", "is_told"), [("is_npu", False), ("is_tpu", False), ("is_rocm", True)])
def test_devices_of_other_makers_are_not_there(tmp_path: Path, asked: str, is_told: bool) -> None:
    """Where a GPU captures, a platform is that GPU's."""
    program = f"""
import torch
from engine import platform

def capture():
    x = torch.zeros(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * x.max().item() if platform.{asked}() else x
    return graph, x, y
"""
    assert ("GL101" in {code for _, _, code in analyse(tmp_path, program).shown}) is is_told


OTHER = """
# file: {opener}.py
import torch
from {kernel} import narrow

def capture():
    x = torch.ones(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        narrow(x)

# file: {kernel}.py
def narrow(x):
    return x[x > 0]
"""


@pytest.mark.parametrize(
    ("opener", "kernel", "is_told"),
    [("run", "npu_ops", False), ("ascend_run", "npu_ops", True), ("ascend_run", "ops", True), ("run", "ops", True)],
)
def test_what_is_for_devices_of_another_maker_is_told_where_these_capture(
    tmp_path: Path, opener: str, kernel: str, is_told: bool
) -> None:
    """By the names of what captures, which says nothing of a kernel that is named for nobody."""
    found = analyse(tmp_path, OTHER.format(opener=opener, kernel=kernel)).shown
    assert ("GL305" in {code for _, _, code in found}) is is_told


@pytest.mark.parametrize("folder", ["serve", "serve-metax", "npu"])
def test_what_a_project_lies_in_may_be_named_as_anybody_likes(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir()
    for kernel, is_told in {"metax_ops": False, "ops": True}.items():
        found = analyse(tmp_path / folder, OTHER.format(opener="run", kernel=kernel)).shown
        assert ("GL305" in {code for _, _, code in found}) is is_told


LOADER = """
import torch
from torch import nn

class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale, self.table = torch.tensor(1.0), self._table()

    def _table(self):
        return torch.ones(4)

    def forward(self, x):
        self.scale.copy_(x.max())
        return x * self.table.to(x.device)

class Rows:
    def __init__(self):
        self.rows = torch.ones(4)

def load(registry, config, model):
    place = torch.device(config.device)
    with place:
        {loaded}
    return model

def make(registry, config):
    return registry.find(config)(config=config)

def capture(layer: Layer, rows: Rows):
    x = torch.zeros(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = layer(x) {more}
    return graph, x, y
"""


@pytest.mark.parametrize(
    ("loaded", "more", "is_told"),
    [
        ("model = make(registry, config)", "", False),
        ("model = make(registry, config)", "+ rows.rows.to(x.device)", True),
        ("model(torch.zeros(4))", "", True),
        ("pass", "", True),
    ],
    ids=["a registry makes modules", "what is no module", "a model that is there is called", "nothing is made"],
)
def test_what_a_registry_makes_on_a_device_may_be_any_module(
    tmp_path: Path, loaded: str, more: str, is_told: bool
) -> None:
    """Nobody knows which class it is, so nobody knows where the tensors of a module lie."""
    found = analyse(tmp_path, LOADER.format(loaded=loaded, more=more)).shown
    assert bool({"GL201", "GL202"} & {code for _, _, code in found}) is is_told


PHASES = """
import torch

def step(meta, x):
    if {asked}:
        return x * x.max().item()
    return x

def {opener}(meta):
    x = torch.zeros(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = step(meta, x)
    return graph, x, y
"""


@pytest.mark.parametrize(
    ("asked", "opener", "is_told"),
    [
        ("meta.is_prefill", "capture", False),
        ("meta.mode.is_extend()", "capture", True),
        ("meta.is_prompt()", "capture", False),
        ("meta.num_prefills > 0", "capture", False),
        ("not meta.decode_only", "capture", False),
        ("meta.num_prefill_tokens == 0", "capture", True),
        ("params.seqlen_offset == 0", "capture", False),
        ("params.seqlen_offset > 0", "capture", True),
        ("meta.decode_only", "capture", True),
        ("not meta.is_prefill", "capture", True),
        ("meta.is_prefill", "capture_prefill", True),
        ("meta.is_large", "capture", True),
        ("meta.should_chunk_for_prefill", "capture", True),
    ],
)
def test_what_is_captured_is_no_step_of_whole_prompts(tmp_path: Path, asked: str, opener: str, is_told: bool) -> None:
    """But where who captures says so."""
    found = analyse(tmp_path, PHASES.format(asked=asked, opener=opener)).shown
    assert ("GL101" in {code for _, _, code in found}) is is_told


@pytest.mark.parametrize(
    ("error", "is_told"),
    [("RuntimeError", False), ("torch.cuda.OutOfMemoryError", False), ("(KeyError)", True), ("ValueError", True)],
)
def test_what_the_device_refuses_is_handled_in_no_capture(tmp_path: Path, error: str, is_told: bool) -> None:
    """It ends there; what the host raises may be handled."""
    program = f"""
import torch

class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor, table):
        try:
            return self.matched(x, table)
        except {error}:
            return self.matched(x.cpu(), table)
"""
    shown = analyse(tmp_path, program, regions=("main:Model.forward",)).shown
    assert ("GL201" in {code for _, _, code in shown}) is is_told


@pytest.mark.parametrize(
    ("asked", "is_told"),
    [
        ("image_input is not None", False),
        ("not (image_input is None)", False),
        ("image_input is None", True),
        ("need_vision.any()", False),
        ("not need_vision.any()", True),
        ("need_rows.any()", True),
        ("image_grid is not None", True),
    ],
)
def test_engines_hand_in_pictures_as_embeddings(tmp_path: Path, asked: str, is_told: bool) -> None:
    """A model that asks for them by the name that those of engines have does so for who runs it alone."""
    program = f"""
import torch

class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor, image_grid=None, **kwargs):
        image_input, need_vision, need_rows = self.parsed(**kwargs), self.flags(**kwargs), self.flags(**kwargs)
        if {asked}:
            x = x * x.max().item()
        return x
"""
    shown = analyse(tmp_path, program, regions=("main:Model.forward",)).shown
    assert ("GL101" in {code for _, _, code in shown}) is is_told


@pytest.mark.parametrize(
    ("asked", "is_told"),
    [
        ("is_in_onnx_export_mode()", False),
        ("ranges.is_calibrating()", False),
        ("meta.fp8_calibrating", True),
        ("meta.is_exporting", False),
        ("meta.exporting and meta.is_large", False),
        ("not meta.is_exporting", True),
        ("meta.is_exporting or meta.is_large", True),
        ("meta.exported_names", True),
        ("meta.is_tracing()", True),
    ],
)
def test_what_is_exported_is_not_captured(tmp_path: Path, asked: str, is_told: bool) -> None:
    """What runs in both cases, or in the other one, is; so is what asks for traces, which may be captures as well."""
    program = "from serve.export import is_in_onnx_export_mode\n" + PHASES.format(asked=asked, opener="capture")
    found = analyse(tmp_path, program, confidence=Confidence.LOW)
    firm = {code for _, _, code in found.shown}
    assert ("GL101" in firm) is is_told and "GL101" in {one.code for one in found.report.findings}


@pytest.mark.parametrize(
    ("asked", "is_told"),
    [
        ('meta.device_type != "cuda"', False),
        ('not meta.device.type == "cuda"', False),
        ('meta.device_type not in ("cuda", "hip")', False),
        ('meta.device.type in ("mps", "xpu")', False),
        ('not str(meta.device).startswith("cuda")', False),
        ('"cuda" not in str(meta.device)', False),
        ('meta.device == "npu"', False),
        ('meta.device_type != "cuda" or meta.is_large', True),
        ('meta.device_type == "cuda"', True),
        ('meta.device_type in ("cuda", "mps")', True),
        ('meta.device_type != "mps"', True),
        ('meta.offload_device != "cuda"', True),
        ('meta.backend != "cuda"', True),
        ('meta.device_type != "fast"', True),
        ("meta.device != x.device", True),
    ],
)
def test_what_runs_on_other_devices_is_not_captured(tmp_path: Path, asked: str, is_told: bool) -> None:
    """Where something else shall go says nothing of where it is."""
    found = analyse(tmp_path, PHASES.format(asked=asked, opener="capture"), confidence=Confidence.LOW)
    firm = {code for _, _, code in found.shown}
    assert ("GL101" in firm) is is_told and "GL101" in {one.code for one in found.report.findings}


@pytest.mark.parametrize(
    ("asked", "is_told"),
    [
        ("not settings.SERVE_ENABLE_CUDA_GRAPH.get()", False),
        ("not meta.is_cuda_graph_enabled", False),
        ("not is_cuda_graph_capture_active(x.device)", False),
        ("not meta.can_replay_with_kernels(x)", False),
        ("not (meta.use_cuda_graph and meta.use_graph)", True),
        ("meta.use_cuda_graph", True),
        ("not meta.disable_cuda_graph", True),
        ("not meta.can_run_graph", True),
        ("not meta.cuda_graph_runner", True),
    ],
)
def test_where_no_graphs_are_used_nothing_is_captured(tmp_path: Path, asked: str, is_told: bool) -> None:
    """What asks whether there is a graph to replay is something else: while one is captured, there is none yet."""
    program = PHASES.format(asked=asked, opener="capture")
    program = f"from serve import is_cuda_graph_capture_active, settings\n{program}"
    found = analyse(tmp_path, program, confidence=Confidence.LOW)
    firm = {code for _, _, code in found.shown}
    assert ("GL101" in firm) is is_told and "GL101" in {one.code for one in found.report.findings}


MAKERS = """
import torch

class {attention}:
    def __call__(self, x):
        return x * x.max().item()

class Plain:
    def __call__(self, x):
        return x

class Block:
    def __init__(self, which):
        self.attention = {attention}() if which else Plain()

    def forward(self, x):
        return self.attention(x)

class {runner}:
    def __init__(self, which):
        self.block = Block(which)

    def capture(self):
        x = torch.zeros(4, device="cuda")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = self.block.forward(x)
        return graph, x, y
"""


@pytest.mark.parametrize(
    ("attention", "runner", "is_told"),
    [
        ("AscendAttention", "Runner", False),
        ("flash_attention_npu", "Runner", False),
        ("XPUFlashAttention", "Runner", False),
        ("FlashAttention", "Runner", True),
        ("InputAttention", "Runner", True),
        ("AscendAttention", "AscendRunner", True),
    ],
)
def test_what_is_named_for_other_devices_is_hardly_captured(
    tmp_path: Path, attention: str, runner: str, is_told: bool
) -> None:
    """But where what captures has the name, too."""
    found = analyse(tmp_path, MAKERS.format(attention=attention, runner=runner)).shown
    assert ("GL101" in {code for _, _, code in found}) is is_told


OF_MANY = """
import torch

class Batch:
    lengths: torch.Tensor | None

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)
        self.stopped = torch.zeros((), dtype=torch.bool, device="cuda")

    def forward(self, x: torch.Tensor, batch: Batch):
        return self.inner(x) if {asked} else x
"""


@pytest.mark.parametrize(
    ("asked", "is_told"),
    [
        ("self.inner.bias", False),
        ("self.stopped", True),
        ("batch.lengths", True),
        ("self.inner.bias.max() > 0", True),
    ],
)
def test_a_parameter_has_no_truth(tmp_path: Path, asked: str, is_told: bool) -> None:
    """It raises in eager runs as well, or there is none."""
    found = analyse(tmp_path, OF_MANY.format(asked=asked), regions=("main:Model.forward",)).shown
    assert ("GL301" in {code for _, _, code in found}) is is_told


SCALED = """
import torch

class Step(torch.optim.Optimizer):
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                {first}
                {more}
                p.data.add_(p.grad, alpha=scale)
"""


@pytest.mark.parametrize(
    ("first", "more", "expected"),
    [
        ("scale = torch.norm(p)", "scale = scale * 2", Confidence.HIGH),
        ("scale = -group['lr']", "if group['trust']:\n                    scale *= torch.norm(p)", Confidence.MEDIUM),
    ],
)
def test_what_is_a_tensor_on_one_way_alone_is_a_guess(
    tmp_path: Path, first: str, more: str, expected: Confidence
) -> None:
    """On the other way nobody knows what it is, and a number waits for nothing."""
    found = analyse(tmp_path, SCALED.format(first=first, more=more), regions=("main:Step.step",)).report.findings
    assert [expected] == [one.confidence for one in found if one.code == "GL101"]


@pytest.mark.parametrize(
    ("name", "is_mask"),
    [("padding_mask", True), ("image_masks", True), ("mask_rows", False), ("masks_to_rows", False)],
)
def test_a_tensor_that_is_called_a_mask_is_one_where_it_selects(name: str, is_mask: bool, tmp_path: Path) -> None:
    program = f"""
        import torch
        def step(x: torch.Tensor, {name}: torch.Tensor):
            return x[{name}, :]
        """
    found = analyse(tmp_path, program, regions=("main:step",)).shown
    assert [code for _, _, code in found] == ["GL305"] * is_mask
