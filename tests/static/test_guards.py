"""Whoever asks whether a capture is under way is answered, by whatever name the question goes."""

from pathlib import Path

import pytest
from analysis import analyse, in_region

from graphlint import static
from graphlint.config import Config
from graphlint.rulebook import builtin_rules, load_rulebook

ASKING = {
    "an operator": ("torch.ops.acme.is_stream_capturing()", ""),
    "an operator with an overload": ("torch.ops.acme.is_current_stream_capturing.default()", ""),
    "a library's function": ("acme.is_current_stream_capturing()", "import acme"),
    "a method of something unknown": ("unknown.is_current_stream_capturing()", ""),
    "a method of a library's object": ("acme.Device().is_capturing()", "import acme"),
    "an attribute of something unknown": ("unknown.is_capturing", ""),
    "an attribute of a library's object": ("acme.device().is_capturing", "import acme"),
    "Warp": ("wp.get_device().is_capturing", "import warp as wp"),
    "a helper": ("capturing()", "def capturing():\n    return torch.ops.acme.is_stream_capturing()"),
    "a helper whose answer is not known": ("is_graph_capturing()", "import acme\n"
                                           "def is_graph_capturing():\n    return acme.state()"),
    "a helper with its own name for it": ("_is_cuda_graph_capturing()", "import acme\n"
                                          "def _is_cuda_graph_capturing():\n    return acme.state() == 1"),
}  # fmt: skip


@pytest.mark.parametrize(("asked", "around"), ASKING.values(), ids=ASKING)
def test_a_question_after_the_capture_is_a_guard(tmp_path: Path, asked: str, around: str) -> None:
    """What happens only outside of one is silent, and what happens only inside is sure."""
    assert [] == analyse(tmp_path, in_region(f"if not {asked}:\n    x.item()", around)).found
    assert [] == analyse(tmp_path, in_region(f"if {asked}:\n    return x\nx.item()", around)).found
    (finding,) = analyse(tmp_path, in_region(f"if {asked}:\n    x.item()", around)).report.findings
    assert "GL101" == finding.code
    assert () == finding.when


@pytest.mark.parametrize(
    ("asked", "around"),
    [
        ("torchvision._is_tracing()", "import torchvision"),
        ("is_jit_tracing()", "from acme import is_jit_tracing"),
        ("torch.jit.is_tracing() or torch._C._is_tracing()", ""),
    ],
)
def test_nothing_is_traced_for_an_export_where_it_is_captured(tmp_path: Path, asked: str, around: str) -> None:
    assert [] == analyse(tmp_path, in_region(f"if {asked}:\n    x.item()", around)).found
    assert ["GL101"] == [
        code for _, _, code in analyse(tmp_path, in_region(f"if not ({asked}):\n    x.item()", around)).found
    ]


@pytest.mark.parametrize(
    ("asked", "around"),
    [
        ("acme.is_recapturing_allowed()", "import acme"),
        ("acme.is_tracing()", "import acme"),
        ("unknown.capturing_stream", ""),
        ("is_stream_capturing()", "def is_stream_capturing():\n    return False"),
    ],
)
def test_another_question_is_no_guard(tmp_path: Path, asked: str, around: str) -> None:
    """What only looks like one, and a function that answers by itself."""
    analysis = analyse(tmp_path, in_region(f"if not {asked}:\n    x.item()", around))
    assert ["GL101"] == [code for _, _, code in analysis.found]


def test_a_guard_of_ones_own_is_a_row(tmp_path: Path) -> None:
    """A function of the program, by its whole name or a glob, in a table beside the rules."""
    program = in_region("if not quiet():\n    x.item()", "import acme\ndef quiet():\n    return acme.state()")
    (tmp_path / "src").mkdir()
    assert ["GL101"] == [code for _, _, code in analyse(tmp_path / "src", program).found]
    for name in ("main.quiet", "*quiet"):
        (tmp_path / "lexicon.toml").write_text(f'[guards]\n"{name}" = {{ capturing = true }}\n')
        rulebook = load_rulebook(builtin_rules(), tmp_path)
        report = static.check([tmp_path / "src"], Config(root=tmp_path), rulebook)
        assert () == report.findings


MAYBE = "y = unknown.field\nif unknown:\n    y = x\n"


@pytest.mark.parametrize(
    "body",
    [
        "if not y.is_cuda:\n    x.item()",
        "if y.is_cpu:\n    x.tolist()",
        'if str(y.device) == "cpu":\n    x.item()',
        'if "cpu" in str(y.device):\n    x.item()',
        "asked = y.is_cuda and torch.cuda.is_current_stream_capturing()\nif not y.is_cuda or not asked:\n    x.item()",
    ],
)
def test_what_may_be_a_tensor_of_the_device_lies_there(tmp_path: Path, body: str) -> None:
    """A branch for tensors of the host is one of programs without a device."""
    assert [] == analyse(tmp_path, in_region(MAYBE + body)).found
    opposite = body.replace("not y", "y").replace("is_cpu", "is_cuda").replace("or not asked", "or asked")
    opposite = opposite.replace('== "cpu"', '!= "cpu"').replace('"cpu" in', '"cpu" not in')
    assert 1 == len(analyse(tmp_path, in_region(MAYBE + opposite)).found)
    assert 1 == len(analyse(tmp_path, in_region(MAYBE.replace("y = x", "y = host") + body)).found)


@pytest.mark.parametrize("asked", ["type(y) == bool", "type(y) is int", "isinstance(y, (bool, float))"])
def test_what_is_asked_to_be_a_number_is_no_tensor_behind_it(tmp_path: Path, asked: str) -> None:
    """Whatever it was taken for."""
    for test, count in ((asked, 0), ("isinstance(y, torch.Tensor)", 1), (f"not ({asked})", 1)):
        analysis = analyse(tmp_path, in_region(f"y = x\nif {test}:\n    text = str(y)"))
        assert ["GL102"] * count == [code for _, _, code in analysis.found]


KEPT = """
asked = False
if {condition}:
    with contextlib.suppress(Exception):
        asked = torch.cuda.is_current_stream_capturing()
if asked:
    pass
elif y.numel() > 0:
    y.item()
"""


@pytest.mark.parametrize(
    "condition", ["y.is_cuda", "y.is_cuda and hasattr(torch.cuda, 'is_current_stream_capturing')", "not y.is_cpu"]
)
def test_what_is_asked_for_tensors_of_the_device_alone_is_a_guard(tmp_path: Path, condition: str) -> None:
    """In a region the tensor lies there, so the answer counts, and not what the name held before."""
    mixed = "y = torch.bfloat16 if unknown else unknown.field if unknown.more else x\n"
    text = in_region(mixed + KEPT.format(condition=condition), "import contextlib")
    assert [] == analyse(tmp_path, text).found


@pytest.mark.parametrize("condition", ["unknown.debug", "y.is_cuda and unknown.debug", "y.is_cpu"])
def test_what_is_not_always_asked_there_is_none(tmp_path: Path, condition: str) -> None:
    """Without the answer, the name holds what it held before."""
    mixed = "y = torch.bfloat16 if unknown else unknown.field if unknown.more else x\n"
    text = in_region(mixed + KEPT.format(condition=condition), "import contextlib")
    assert ["GL101"] == [code for _, _, code in analyse(tmp_path, text).found]


def test_a_question_does_not_fail(tmp_path: Path) -> None:
    """What stands in the `except` behind it does not come about; behind anything else it may."""
    kept = "try:\n    asked = {}\nexcept RuntimeError:\n    asked = False\nif not asked:\n    x.item()"
    assert [] == analyse(tmp_path, in_region(kept.format("torch.cuda.is_current_stream_capturing()"))).found
    assert 1 == len(analyse(tmp_path, in_region(kept.format("unknown.asked()"))).found)


def test_a_tensor_of_the_host_is_asked_where_it_lies(tmp_path: Path) -> None:
    """It is known there."""
    analysis = analyse(tmp_path, in_region("if not host.is_cuda:\n    x.item()"))
    assert ["GL101"] == [code for _, _, code in analysis.found]


WRAPPED = """
import functools
def constant(function):
    @functools.wraps(function)
    def run(*args, **kwargs):
        return function(*args, **kwargs)
    return run
@functools.lru_cache
@constant
def is_torch_npu_available(deep=False):
    import vendor
    return vendor.found(deep)
@constant
def is_known():
    import vendor
    return vendor.found()
"""


def test_a_guard_behind_decorators_is_one(tmp_path: Path) -> None:
    """Its name says what it asks; a helper of another name is not known."""
    asked = in_region("if is_torch_npu_available():\n    x.item()\nif is_known():\n    x.tolist()", WRAPPED)
    analysis = analyse(tmp_path, asked)
    assert [["is_known()"]] == [[one.text for one in finding.when] for finding in analysis.report.findings]


STATUS = """
import cuda.bindings.runtime as runtime
import torch

def capture_of(stream):
    status = runtime.cudaStreamGetCaptureInfo(stream)[1]
    if status == runtime.cudaStreamCaptureStatus.cudaStreamCaptureStatusNone:
        return stream, None
    return stream, 1

def step(x, stream):
    if {test}:
        raise RuntimeError("not in a capture")
    return x.tolist()

def main(stream):
    x = torch.ones(4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step(x, stream)
"""


@pytest.mark.parametrize(
    ("test", "is_told"),
    [
        ("capture_of(stream)[1] is not None", False),
        ("capture_of(stream)[1] is None", True),
        ("stream.status != runtime.cudaStreamCaptureStatus.cudaStreamCaptureStatusNone", False),
        ("stream.status == runtime.cudaStreamCaptureStatus.cudaStreamCaptureStatusActive", False),
        ("stream.status == runtime.cudaStreamCaptureStatus.cudaStreamCaptureStatusInvalidated", True),
    ],
)
def test_a_stream_in_a_region_is_captured(tmp_path: Path, test: str, is_told: bool) -> None:
    """What compares its status knows that."""
    found = analyse(tmp_path, STATUS.format(test=test))
    assert ("GL101" in [code for _, _, code in found.shown]) is is_told


@pytest.mark.parametrize(
    ("asked", "is_told"),
    [
        ('str(x.device) == "cpu"', False),
        ('str(x.device) != "cpu"', True),
        ('"cpu" in str(x.device)', False),
        ('"cuda" in str(x.device)', True),
        ('str(x.device) == "cuda:0"', True),
        ('str(x.device) != "cuda:0"', True),
        ('str(x.device).startswith("cuda")', True),
        ('x.device == "cpu"', False),
    ],
)
def test_the_text_of_a_device_tells_the_host_from_others(tmp_path: Path, asked: str, is_told: bool) -> None:
    """Which of several devices it is stays open."""
    assert is_told is bool(analyse(tmp_path, in_region(f"if {asked}:\n    x.item()")).found)


def test_the_text_of_a_device_that_nobody_knows_may_be_any(tmp_path: Path) -> None:
    """A place that is handed in decides nothing."""
    program = """
        import torch

        def step(x, device: torch.device):
            if str(device) == "cpu":
                x.sum().item()  # expect: GL101
            return x

        def capture(device: torch.device):
            x, graph = torch.zeros(4, device="cuda"), torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                y = step(x, device)
            return graph, y
        """
    analysis = analyse(tmp_path, program)
    assert analysis.expected == analysis.shown


BEHIND = """
    import torch

    def _is_active(device: torch.device) -> bool:
        return {asked}

    def step(x, y):
        if not _is_active(y.device):
            x.sum().item()
        return x

    def capture(y):
        x, graph = torch.zeros(4, device="cuda"), torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = step(x, y)
        return graph, y
"""


@pytest.mark.parametrize(
    ("asked", "is_told"),
    [
        ('device.type == "cuda" and torch.cuda.is_current_stream_capturing()', False),
        ('not (device.type != "cuda" or not torch.cuda.is_current_stream_capturing())', False),
        ('device.type == "cuda" and debugging()', True),
        ('device.type == "cpu" and torch.cuda.is_current_stream_capturing()', True),
        ("device.index == 0 and torch.cuda.is_current_stream_capturing()", True),
        ('device.type != "cuda" or torch.cuda.is_current_stream_capturing()', False),
    ],
)
def test_a_guard_behind_the_type_of_a_device_is_one(tmp_path: Path, asked: str, is_told: bool) -> None:
    """That of a device that nobody knows does not undo it; other questions before it do."""
    found = analyse(tmp_path, BEHIND.format(asked=asked)).shown
    assert is_told is ("GL101" in [code for _, _, code in found])
