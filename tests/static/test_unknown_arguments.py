"""Arguments that nobody knows: what a condition asks of them is neither so nor otherwise, and at most a hint."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

from graphlint.finding import Confidence

OPTIMIZER = """
import torch

def main(model, device, cfg, flag, more, rest, default=False):
    {before}
    optimizer = {made}
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        optimizer.step()
"""
UNKNOWN_FLAGS = {
    "compared": 'torch.optim.Adam(model.parameters(), capturable=device.type == "cuda")',
    "read out of a configuration": "torch.optim.Adam(model.parameters(), capturable=bool(cfg.graph))",
    "handed on": "torch.optim.Adam(model.parameters(), capturable=flag)",
    "hidden in keywords": "torch.optim.Adam(model.parameters(), **more)",
    "hidden behind a star": "torch.optim.Adam(*rest)",
    "hidden in another optimizer": "torch.optim.AdamW(model.parameters(), lr=1e-3, **more)",
}
KNOWN_FLAGS = {
    "left out": "torch.optim.Adam(model.parameters())",
    "false": "torch.optim.Adam(model.parameters(), capturable=False)",
    "false by default": "torch.optim.Adam(model.parameters(), capturable=default)",
    "of the host": 'torch.optim.Adam(model.parameters(), capturable=host.type == "cuda")',
    "known keywords": "torch.optim.Adam(model.parameters(), **known)",
}
BEFORE = 'host, known = torch.device("cpu"), {"lr": 0.1}'


@pytest.mark.parametrize("name", UNKNOWN_FLAGS)
def test_an_unknown_flag_of_an_optimizer_is_a_hint(tmp_path: Path, name: str) -> None:
    """What is not known is not said to be false."""
    found = analyse(tmp_path, OPTIMIZER.format(before=BEFORE, made=UNKNOWN_FLAGS[name]), confidence=Confidence.LOW)
    assert [("GL701", Confidence.LOW)] == [(f.code, f.confidence) for f in found.report.findings]


@pytest.mark.parametrize("name", KNOWN_FLAGS)
def test_a_known_flag_of_an_optimizer_is_told(tmp_path: Path, name: str) -> None:
    """Also one that is false unless a caller says otherwise."""
    found = analyse(tmp_path, OPTIMIZER.format(before=BEFORE, made=KNOWN_FLAGS[name]), confidence=Confidence.LOW)
    assert ["GL701"] == [f.code for f in found.report.findings if f.confidence > Confidence.LOW]


def test_an_optimizer_of_somebody_else_is_a_hint(tmp_path: Path) -> None:
    """An annotation does not say how it was made."""
    program = """
        import torch

        def main(optimizer: torch.optim.Adam):
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                optimizer.step()
        """
    assert [("GL701", Confidence.LOW)] == [
        (f.code, f.confidence) for f in analyse(tmp_path, program, confidence=Confidence.LOW).report.findings
    ]


CALL = """
import torch

def main(flag, more, cfg, unknown):
    x = torch.ones(4, device="cuda")
    labels = torch.zeros(4, device="cuda", dtype=torch.long)
    pinned = torch.ones(4).pin_memory()
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        {call}
    return pinned, labels
"""
CALLS = {
    'pinned.to("cuda", non_blocking={})': "GL202",
    'x.to("cpu", non_blocking={})': "GL201",
    "torch.distributions.Normal(x, x, validate_args={})": "GL104",
}
HIDING = {
    'pinned.to("cuda"{})': "GL202",
    'x.to("cpu"{})': "GL201",
    "torch.distributions.Normal(x, x{})": "GL104",
    "torch.nn.functional.one_hot(labels{})": "GL303",
    "torch.repeat_interleave(labels, labels{})": "GL303",
}


def told(call: str, code: str, folder: Path) -> list[Confidence]:
    """How surely a call has the effect that a code stands for."""
    found = analyse(folder, CALL.format(call=call), confidence=Confidence.LOW).report.findings
    return [one.confidence for one in found if one.code == code]


@pytest.mark.parametrize("call", CALLS)
def test_a_flag_that_nobody_knows_is_neither_true_nor_false(tmp_path: Path, call: str) -> None:
    """A known one is: `non_blocking=False` blocks, and `validate_args=True` validates."""
    code = CALLS[call]
    known = "True" if "validate" in call else "False"
    for flag in ("flag", "bool(cfg.flag)", "cfg.kind == 'a'"):
        assert set(told(call.format(flag), code, tmp_path)) <= {Confidence.LOW}
    assert told(call.format(known), code, tmp_path) == [Confidence.HIGH]


@pytest.mark.parametrize("call", HIDING)
def test_what_keywords_hide_is_not_left_out(tmp_path: Path, call: str) -> None:
    """What is left out is."""
    code = HIDING[call]
    assert told(call.format(", **more"), code, tmp_path) == [Confidence.LOW]
    assert told(call.format(""), code, tmp_path) == [Confidence.HIGH]


def test_a_tensor_whose_device_keywords_hide_is_anywhere(tmp_path: Path) -> None:
    """`torch.empty(4, **more)` may be made on the device; `torch.empty(4)` is made on the host."""
    upload = "torch.empty(4{}).to('cuda', non_blocking=True)"
    assert Confidence.HIGH not in told(upload.format(", **more"), "GL202", tmp_path)
    assert told(upload.format(""), "GL202", tmp_path) == [Confidence.HIGH]


PRESET = """
import torch
from torch.distributions.categorical import Categorical, Distribution
{before}
def act(logits):
    {inside}
    drawn = Categorical(logits=logits{argument})
    return drawn.log_prob(torch.ones(4, device="cuda"))
def capture():
    x = torch.ones(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        y = act(x)
"""
SET = "Distribution.set_default_validate_args({})"


@pytest.mark.parametrize(
    ("before", "inside", "argument", "is_reported"),
    [
        (SET.format("False"), "pass", "", False),
        ("if __debug__:\n    " + SET.format("value=False"), "pass", "", False),
        ("pass", SET.format("False"), "", False),
        (SET.format("False"), "pass", ", validate_args=True", True),
        (SET.format("True"), "pass", "", True),
        ("pass", "pass", "", True),
        ("pass", "pass", ", validate_args=False", False),
        (SET.format("False"), SET.format("True"), "", False),
        ("Distribution._validate_args = False", "pass", "", False),
        ("Distribution._validate_args = True", "pass", "", True),
        (
            "class Own(Distribution):\n    def __init__(self):\n        self._validate_args = False",
            "pass",
            "",
            True,
        ),
    ],
)
def test_a_default_is_what_the_module_sets_it_to(
    tmp_path: Path, before: str, inside: str, argument: str, is_reported: bool
) -> None:
    """An argument counts more, and what is set to this and to that is not known."""
    program = PRESET.format(before=before, inside=inside, argument=argument)
    assert is_reported is ("GL104" in [code for _, _, code in analyse(tmp_path, program).found])


IMPORTED = """
# file: policy/{sets}
from torch.distributions import Distribution
{how}
# file: policy/act.py
import torch
from torch.distributions import Distribution, Normal
{imports}
def score(made: Distribution, x):
    return made.log_prob(x) + Normal(x, x).log_prob(x)
# file: run.py
import torch
from policy.act import score
def capture(x: torch.Tensor):
    made = torch.distributions.Laplace(x.cuda(), x.cuda())
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        y = score(made, x.cuda())
"""
ONCE = "Distribution._validate_args = False"
LATER = "def set_up():\n    Distribution.set_default_validate_args(False)"


@pytest.mark.parametrize(
    ("sets", "how", "imports", "is_reported"),
    [
        ("__init__.py", ONCE, "", False),
        ("defaults.py", ONCE, "from policy.defaults import *", False),
        ("defaults.py", ONCE, "from policy import defaults", False),
        ("defaults.py", ONCE, "", True),
        ("defaults.py", LATER, "from policy import defaults", True),
        ("defaults.py", ONCE.replace("False", "True"), "from policy import defaults", True),
    ],
)
def test_a_default_is_what_an_imported_module_sets_it_to(
    tmp_path: Path, sets: str, how: str, imports: str, is_reported: bool
) -> None:
    """A package runs before the modules in it; what an imported function would set nobody may have called."""
    found = analyse(tmp_path, IMPORTED.format(sets=sets, how=how, imports=imports)).found
    assert [line for path, line, code in found if code == "GL104" and path.endswith("act.py")] == [
        5,
        5,
        5,
    ] * is_reported


COMPILED = """
import torch
from torch.distributions import Normal

class Learner:
    def __init__(self, params):
        self.optimizer = torch.optim.Adam(params, lr=1e-3)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 10)

    def act(self, x):
        self.optimizer.step()
        self.scheduler.step()
        return Normal(x, x{argument}).log_prob(x)

def main(params):
    learner, x = Learner(params), torch.ones(4, device="cuda")
    {captured}
"""
CAPTURED = "with torch.cuda.graph(torch.cuda.CUDAGraph()):\n        learner.act(x)"
COMPILES = "torch.compile(learner.act, mode='reduce-overhead')(x)"


@pytest.mark.parametrize(
    ("captured", "argument", "expected"),
    [
        (COMPILES, "", []),
        (COMPILES, ", validate_args=True", ["GL104"]),
        (CAPTURED, "", ["GL104", "GL401", "GL404", "GL701"]),
    ],
)
def test_what_a_compiler_sets_is_so_where_it_compiles(
    tmp_path: Path, captured: str, argument: str, expected: list[str]
) -> None:
    """It makes optimizers capturable, asks for their numbers anew, and turns the checks of distributions off."""
    found = analyse(tmp_path, COMPILED.format(captured=captured, argument=argument)).shown
    assert expected == sorted({code for _, _, code in found})


MEASURED = """
import torch

def step(x, group, counts: list):
    size = {size}
    return x * size

def main(group):
    x = torch.ones(1, dtype=torch.int64, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step(x, group, [1, 2])
"""


@pytest.mark.parametrize("size, said", [("group.size()", []), ("counts + [1]", ["GL101"]), ("x.size()", ["GL101"])])
def test_what_is_not_known_may_have_a_number_for_its_size(tmp_path: Path, size: str, said: list[str]) -> None:
    """A group of processes has; a shape, or a list, that is repeated as often as a tensor says asks the tensor."""
    assert [code for _, _, code in analyse(tmp_path, MEASURED.format(size=size)).shown] == said


ASKED = """
import torch

def step(x: torch.Tensor, scale{annotation}):
    {test}
    return x * scale
"""


@pytest.mark.parametrize("annotation", ["", ": torch.Tensor", ": torch.Tensor | None = None"])
@pytest.mark.parametrize(
    ("test", "is_uploaded"),
    [
        ("if not isinstance(scale, torch.Tensor): scale = torch.tensor([scale], device=x.device)", True),
        ("if not isinstance(scale, (str, torch.Tensor)): scale = torch.tensor(scale, device=x.device)", True),
        ("if not torch.is_tensor(scale): scale = torch.tensor(scale, device=x.device)", True),
        ("scale = scale if torch.is_tensor(scale) else torch.tensor(scale, device=x.device)", True),
        ("if not isinstance(scale, torch.Tensor): raise TypeError(scale)", False),
        ("assert isinstance(scale, torch.Tensor)", False),
        ("if not isinstance(scale, torch.Tensor): scale = float(scale)", False),
        ("if not isinstance(x, torch.Tensor): x = torch.tensor(scale.shape, device='cpu')", False),
    ],
)
def test_what_is_asked_whether_it_is_a_tensor_may_be_a_number(
    tmp_path: Path, annotation: str, test: str, is_uploaded: bool
) -> None:
    """Whatever its annotation says: the other side of the test is there for callers who give one."""
    found = analyse(tmp_path, ASKED.format(annotation=annotation, test=test), regions=("main:step",))
    assert [code for _, _, code in found.found] == (["GL203"] if is_uploaded else [])


def test_what_is_asked_stays_a_tensor_on_the_device(tmp_path: Path) -> None:
    """Where the test says so."""
    program = ASKED.format(annotation="", test="if isinstance(scale, torch.Tensor): scale = scale.item()")
    assert [code for _, _, code in analyse(tmp_path, program, regions=("main:step",)).shown] == ["GL101"]


MASKED = """
import torch

def main(batch, rows):
    x = torch.ones(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        asked = {asked}
        y = {read}
"""


@pytest.mark.parametrize(
    ("asked", "read", "is_told"),
    [
        ("batch.slots >= 0", "x[asked]", True),
        ("batch.slots[:4].to(dtype=torch.long) != -1", "x.view(-1)[asked]", True),
        ("batch.slots >= 0", "rows[asked]", False),
        ("batch.slots >= 0", "x[int(asked)]", False),
        ("batch.slots", "x[asked]", False),
        ("batch.slots >= 0", "torch.where(asked, x, 0)", False),
    ],
)
def test_what_a_tensor_is_indexed_with_was_asked_of_a_tensor(
    tmp_path: Path, asked: str, read: str, is_told: bool
) -> None:
    """A single answer selects nothing in it; of what is no tensor, or no answer, nothing is said."""
    found = analyse(tmp_path, MASKED.format(asked=asked, read=read))
    assert is_told is ("GL305" in {code for _, _, code in found.shown})


SIZED = """
import torch

def capture(n, device):
    {before}
    x, graph = torch.ones(4, 8, device=device), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x.view(1, n // 2)
    return graph, y
"""


@pytest.mark.parametrize(
    ("before", "is_told"),
    [
        ("w = (torch.ones(n, device=device) * n**-0.5).contiguous()", False),
        ("w = (torch.ones(4, n, device=device) * n**-0.5).contiguous()", False),
        ("w = (torch.ones(4, device=device) * n**-0.5).contiguous()", True),
        ("w = torch.empty(n.max(), device=device)\n    v = torch.exp(n)", True),
        ("w = torch.empty(n, device=device)\n    v = n.unsqueeze(0) + torch.exp(n)", True),
    ],
)
def test_what_a_factory_takes_for_a_size_is_a_number(tmp_path: Path, before: str, is_told: bool) -> None:
    """What a tensor is multiplied with may be one; what is asked for what tensors alone have is one, too."""
    analysis = analyse(tmp_path, SIZED.format(before=before))
    assert is_told is ("GL304" in [code for _, _, code in analysis.found])


@pytest.mark.parametrize(("asked", "when"), [("offsets is not None", ["offsets is not None"]), ("x.dim() > 0", None)])
def test_an_argument_of_which_a_function_asks_whether_it_is_there_may_be_left_out(
    tmp_path: Path, asked: str, when: list[str] | None
) -> None:
    """So what stands behind that question happens under a condition."""
    text = f"""
def step(x, offsets):
    if {asked}:
        x = x[: offsets.max().item()]
    return x * 2
"""
    (found,) = [one for one in analyse(tmp_path, text, regions=("main:step",)).report.findings if one.code == "GL101"]
    assert [one.text for one in found.when] == (when or ["x.dim() > 0"])


@pytest.mark.parametrize(
    ("made", "is_reported"),
    [
        ("Layer(4, **settings)", True),
        ("Layer(**dict(settings, size=4))", True),
        ("Layer(4)", False),
        ("Layer(4, **{'name': 'x'})", False),
        ("Layer(4, narrow=0, **settings)", False),
        ("layer_of(4, **settings)", False),
    ],
)
def test_what_a_constructor_has_by_default_may_stand_in_unknown_settings(
    made: str, is_reported: bool, tmp_path: Path
) -> None:
    """A function that is given such keywords hands them on as a rule, and keeps its own defaults."""
    program = f"""
        import torch
        from torch import nn

        class Layer(nn.Module):
            def __init__(self, size=1, narrow=0, name=""):
                super().__init__()
                self.narrow = narrow

            def forward(self, x):
                return x[x > 0] if self.narrow > 0 else x

        def layer_of(size, narrow=0, **more):
            return Layer(size, narrow)

        class Model(nn.Module):
            def __init__(self, settings: dict):
                super().__init__()
                self.layer = {made}

            def forward(self, x: torch.Tensor):
                return self.layer(x)
        """
    found = analyse(tmp_path, program, regions=("main:Model.forward",)).shown
    assert [code for _, _, code in found] == ["GL305"] * is_reported


CONTEXT = """
import torch

class Scaled(torch.autograd.Function):
    @staticmethod
    def forward({taken}x, rows):
        return x * rows.item()  # expect: GL101

    {apart}
    @staticmethod
    def backward(ctx, grad):
        if ctx.T > 3:
            return torch.empty(ctx.T, device=grad.device), None
        return grad * grad.max().item(), None  # expect: GL101
"""
APART = "@staticmethod\n    def setup_context(ctx, inputs, output):\n        pass\n"


@pytest.mark.parametrize(("taken", "apart"), [("ctx, ", ""), ("", APART)])
def test_what_is_kept_for_the_backward_pass_is_no_tensor(tmp_path: Path, taken: str, apart: str) -> None:
    """It has what the forward pass has put there, sizes among it, under whatever names tensors have as well."""
    entries = ("main:Scaled.forward", "main:Scaled.backward")
    analysis = analyse(tmp_path, CONTEXT.format(taken=taken, apart=apart), regions=entries)
    assert analysis.expected == analysis.found
