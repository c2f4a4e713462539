"""A refused operator and its line become the effect that a rule reports."""

from __future__ import annotations

import contextlib
import dis
import importlib.util
import io
import logging
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from proof.programs import Program, all_programs

torch = pytest.importorskip("torch")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from graphlint.rulebook import builtin_rules, load_rulebook  # noqa: E402
from graphlint.rulebook.catalogue import load_catalogue  # noqa: E402
from graphlint.runtime.judge.causes import Causes  # noqa: E402
from graphlint.runtime.trace.capture import Refusal  # noqa: E402
from graphlint.runtime.trace.places import Place, libraries_between, segment, user_stack  # noqa: E402

RULEBOOK = load_rulebook(builtin_rules())
CAUSES = Causes(load_catalogue(builtin_rules() / "operations.toml"))
SYNCHRONIZES = "called a synchronizing CUDA operation"
WAITING = (
    "aten._local_scalar_dense", "aten.nonzero.", "aten.masked_select", "aten._unique2", "aten.unique_consecutive",
    "aten.unique_dim", "aten.repeat_interleave.Tensor",
)  # fmt: skip


def takes_shift() -> bool:
    """Whether `roll` takes a tensor at all, which that of torch 2.6 does not."""
    try:
        torch.ones(2).roll(torch.tensor(1))
    except RuntimeError:
        return False
    return True


TAKES_SHIFT = takes_shift()


class Refusing(TorchDispatchMode):
    """Takes the operators that wait for the device for refused, on the host as well."""

    def __init__(self) -> None:
        super().__init__()
        self.refusals: list[Refusal] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = str(func)
        is_mask = name.startswith("aten.index") and any(one.dtype == torch.bool for one in _indices(args))
        if name.startswith(WAITING) or is_mask:
            frame = sys._getframe(1)
            self.refusals.append(Refusal(name, SYNCHRONIZES, user_stack(frame), libraries_between(frame)))
        return func(*args, **kwargs or {})


def _indices(args: tuple[Any, ...]) -> Iterator[Any]:
    for one in args[1] if len(args) > 1 and isinstance(args[1], list) else ():
        if one is not None:
            yield one


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """What programs print, log and warn of is no matter here."""
    before = set(sys.modules)
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable()
        yield
        logging.disable(logging.NOTSET)
    for name in set(sys.modules) - before:
        if name.startswith("program_of_"):
            del sys.modules[name]


def loaded(path: Path, text: str) -> ModuleType:
    """A program, which is found among the modules as in a run of its own."""
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(f"program_of_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module.__name__] = module
    spec.loader.exec_module(module)
    return module


def effects(path: Path, lines: str) -> list[str]:
    """The effects of the statements of a function, of each line and operator once."""
    setting = "x, n, words = torch.arange(1.0, 5.0), torch.tensor(2), []"
    body = "".join(f"    {line}\n" for line in lines.split("\n"))
    head = "import math\nimport random\nimport torch\nNUMBERS = [1, 2, 3]\nF = torch.nn.functional\n"
    module = loaded(path, f"{head}def step():\n    {setting}\n{body}")
    with Refusing() as mode:
        module.step()
    found = {(one.stack[0].line, one.operator, CAUSES.effect(one)): one for one in mode.refusals}
    return [effect for _, _, effect in found]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        # read back as a number
        ("y = n.item()", ["scalar-readback"]),
        ("y = int(n)", ["scalar-readback"]),
        ("y = float(x.sum()) + 1", ["scalar-readback"]),
        ("y = complex(n)", ["scalar-readback"]),
        ("y = math.sqrt(n)", ["scalar-readback"]),
        ("y = round(x.max().item(), 2)", ["scalar-readback"]),
        ("y = 'ab' * n", ["scalar-readback"]),
        ("y = NUMBERS[n]", ["scalar-readback"]),
        ("y = [1, 2, 3][n]", ["scalar-readback"]),
        ("y = F.leaky_relu(x, n)", ["scalar-readback"]),
        ("y = torch.full((2,), n)", ["scalar-readback"]),
        ("if n.item() > 1:\n    y = x", ["scalar-readback"]),
        # turned into text
        ("y = f'{n}'", ["tensor-printing"]),
        ("y = f'{n:.2f}'", ["tensor-printing"]),
        ("y = '%d' % n", ["tensor-printing"]),
        ("y = '%s of %d' % ('x', n)", ["tensor-printing"]),
        ("y = '{}'.format(n)", ["tensor-printing"]),
        # asked for true or false
        ("if n > 1:\n    y = x", ["data-dependent-branch"]),
        ("if n:\n    y = x", ["data-dependent-branch"]),
        ("if (\n    n\n    > 1\n):\n    y = x", ["data-dependent-branch"]),
        ("y = x if n > 1 else -x", ["data-dependent-branch"]),
        ("assert n > 1", ["data-dependent-branch"]),
        ("assert n > 1, 'too few'", ["data-dependent-branch"]),
        ("y = not n", ["data-dependent-branch"]),
        ("y = n and x", ["data-dependent-branch"]),
        ("y = n or x", ["data-dependent-branch"]),
        ("y = 0 < n < 3", ["data-dependent-branch"]),
        ("y = n in [torch.tensor(2)]", ["data-dependent-branch"]),
        ("y = bool(n)", ["data-dependent-branch"]),
        ("y = any(x)", ["data-dependent-branch"]),
        ("y = all(x)", ["data-dependent-branch"]),
        ("y = sorted(x)", ["data-dependent-branch"]),
        ("y = max(n, 1)", ["data-dependent-branch"]),
        ("y = min(x)", ["data-dependent-branch"]),
        ("y = [one for one in x if one > 1]", ["data-dependent-branch"]),
        ("for _ in range(2):\n    if n > 1:\n        break", ["data-dependent-branch"]),
        # asked how often a loop runs
        ("while n > 0:\n    n = n - 1", ["data-dependent-loop"]),
        ("while not (x < 0).all():\n    x = x - 9", ["data-dependent-loop"]),
        ("while (\n    n > 0\n    and x.sum() > 0\n):\n    n = n - 1", ["data-dependent-loop", "data-dependent-loop"]),
        ("while True:\n    if n > 1:\n        break", ["data-dependent-branch"]),
        ("for _ in range(n):\n    pass", ["data-dependent-loop"]),
        ("y = [0 for _ in range(n)]", ["data-dependent-loop"]),
        # taken for a size or a position
        ("y = x[:n]", ["tensor-as-size"]),
        ("y = x[n]", ["tensor-as-size"]),
        ("x[n] = 1.0", ["tensor-as-size"]),
        ("y = torch.arange(n)", ["tensor-as-size"]),
        ("y = torch.zeros(n)", ["tensor-as-size"]),
        ("y = torch.zeros(n, 2)", ["tensor-as-size"]),
        ("y = torch.full((n,), 1.0)", ["tensor-as-size"]),
        ("y = x.topk(n)", ["tensor-as-size"]),
        ("y = x.view(n, 2)", ["tensor-as-size"]),
        pytest.param(
            "y = x.roll(n)", ["tensor-as-size"], marks=pytest.mark.skipif(not TAKES_SHIFT, reason="`roll` fails here")
        ),
        # the size of the result
        ("y = F.one_hot(n)", ["data-dependent-shape"]),
        ("y = x.nonzero()", ["data-dependent-shape"]),
        ("y = torch.nonzero(x, as_tuple=True)", ["data-dependent-shape"]),
        ("y = torch.where(x > 1)", ["data-dependent-shape"]),
        ("y = torch.masked_select(x, x > 1)", ["data-dependent-shape"]),
        ("y = torch.unique(x)", ["data-dependent-shape"]),
        ("y = x.unique(return_counts=True)", ["data-dependent-shape"]),
        ("y = torch.unique_consecutive(x)", ["data-dependent-shape"]),
        ("y = torch.repeat_interleave(x, torch.tensor([1, 2, 1, 1]))", ["data-dependent-shape"]),
        # indexed by a mask
        ("y = x[x > 1]", ["boolean-mask-index"]),
        ("x[x > 1] = torch.tensor(0.0)", ["boolean-mask-index"]),
        ("x.index_put_((x > 1,), torch.tensor(0.0))", ["boolean-mask-index"]),
        # inside a function of torch
        ("y = torch.nn.utils.clip_grad_norm_([F], 1.0) if False else x.allclose(x)", []),
        ("y = torch.nn.BatchNorm1d(4, momentum=None)(torch.ones(2, 4))", ["hidden-sync"]),
        # nothing is refused
        ("y = x + n\ny = torch.where(x > 1, x, 0.0)\ny = x[1:3]\ny = x[torch.tensor([1])]", []),
    ],
)
def test_a_line_that_needs_device_values_has_an_effect(tmp_path: Path, lines: str, expected: list[str]) -> None:
    """What the line does with the value decides, not the operator alone."""
    assert expected == effects(tmp_path / "lines.py", lines)


def test_clipping_that_asks_for_the_norm_waits_for_it(tmp_path: Path) -> None:
    """The branch lies in a function of torch, so the line waits without saying so."""
    lines = "w = torch.nn.Parameter(x)\nw.grad = x\ntorch.nn.utils.clip_grad_norm_([w], 1.0, error_if_nonfinite=True)"
    assert {"hidden-sync"} == set(effects(tmp_path / "lines.py", lines))


FAMILIES = ("gl101", "gl102", "gl301", "gl302", "gl303", "gl304", "gl305")
# Fixtures that read values in another way on the host than on a device, so that no operator is seen.
OTHERWISE = (
    "gl101_scalar_readback/tolist", "gl102_tensor_printing/print_tensor", "gl102_tensor_printing/str_of_container",
    "gl303_data_dependent_shape/bincount", *(() if TAKES_SHIFT else ("gl304_tensor_as_size/roll",)),
)  # fmt: skip


def readable() -> list[Program]:
    """The fixtures that break because a value is read, or the size of a result."""
    families = tuple(f"fixtures/{family}_" for family in FAMILIES)
    others = {f"fixtures/{name}.py" for name in OTHERWISE}
    broken = [one for one in all_programs() if one.outcome == "capture-error" and one.name not in others]
    return [one for one in broken if one.name.startswith(families) and one.is_about(torch.__version__)]


@pytest.mark.parametrize("program", readable(), ids=str)
def test_a_fixture_is_refused_where_and_as_its_comments_say(tmp_path: Path, program: Program) -> None:
    """Its step runs on the host, where the same operators read values."""
    text = program.files[0][1].replace('"cuda"', '"cpu"').replace(".cuda()", ".cpu()")
    module = loaded(tmp_path / "fixture.py", text)
    given = module.samples()[0]
    with Refusing() as mode:
        module.step(given)
    found = {(one.stack[0].line, RULEBOOK.for_effect(CAUSES.effect(one))) for one in mode.refusals}
    assert {(line, code) for _, line, code in program.marks("expect", "missed")} == {
        (line, rule.code if rule is not None else None) for line, rule in found
    }


@pytest.mark.parametrize(
    ("said", "effect"),
    [
        ("CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "unjoined-stream"),
        ("operation would make the legacy stream depend on a capturing blocking stream", "uncaptured-dependency"),
        ("CUDA_ERROR_STREAM_CAPTURE_ISOLATION: dependency created on uncaptured work", "uncaptured-dependency"),
        ("cudaErrorCapturedEvent", "explicit-sync"),
        ("operation not permitted on an event last recorded in a capturing stream", "explicit-sync"),
        ("operation would result in a merge of separate capture sequences", "uncaptured-dependency"),
        ("the capture was not initiated in this stream", "capture-protocol"),
        ("CUDA graphs must be captured on a non-default stream.", "capture-protocol"),
        ("Cannot prepare for replay during capturing stage.", "capture-protocol"),
        ("Offset increment outside graph capture; register_generator_state was not called", "unregistered-generator"),
        ("Cannot call CUDAGeneratorImpl::current_seed during CUDA graph capture", "random-state-access"),
        ("CUDA out of memory. Tried to allocate 2 GiB", "out-of-memory"),
        (
            "Attempting CUDA graph capture of step() for an instance of Adam but capturable=False",
            "non-capturable-optimizer",
        ),
        ("CUDA error: operation not permitted when stream is capturing", "capture-refused"),
    ],
)
def test_what_was_said_names_the_effect(said: str, effect: str) -> None:
    """Where no operator tells."""
    assert effect == CAUSES.effect(Refusal("", said, ()))


def test_an_effect_that_is_known_stands() -> None:
    """Whatever was said besides."""
    refusal = Refusal("aten.nonzero.default", "out of memory", (), effect="concurrent-call")
    assert "concurrent-call" == CAUSES.effect(refusal)


@pytest.mark.parametrize(
    ("expression", "operator", "direction", "effect"),
    [
        pytest.param("x.cpu()", "aten._to_copy.default", "download", "device-to-host-copy", id="cpu"),
        pytest.param("x.to('cpu')", "aten._to_copy.default", "download", "device-to-host-copy", id="to the host"),
        pytest.param("x.tolist()", "aten._to_copy.default", "download", "scalar-readback", id="tolist"),
        pytest.param("x.cuda()", "aten._to_copy.default", "upload", "host-to-device-copy", id="cuda"),
        pytest.param("x.copy_(y)", "aten.copy_.default", "upload", "host-to-device-copy", id="copy"),
        pytest.param("torch.tensor([1.0])", "torch.tensor", "literal", "literal-upload", id="tensor"),
        pytest.param("torch.as_tensor([1.0])", "torch.as_tensor", "literal", "literal-upload", id="as_tensor"),
        pytest.param("x[[0, 1]]", "aten.index.Tensor", "upload", "host-index", id="list index"),
        pytest.param("x[y]", "aten._to_copy.default", "upload", "host-index", id="host index"),
        pytest.param("torch.cuda.synchronize()", "torch.cuda.synchronize", "", "explicit-sync", id="synchronize"),
        pytest.param("event.query()", "torch.cuda.query", "", "explicit-sync", id="query"),
        pytest.param("torch.linalg.eigh(x)", "aten.linalg_eigh.default", "", "hidden-sync", id="eigh"),
        pytest.param("torch.distributed.new_group([0])", "", "", "capture-refused", id="a group"),
        pytest.param("x.allclose(y)", "aten.allclose.default", "", "hidden-sync", id="allclose"),
    ],
)
def test_a_copy_or_a_wait_has_an_effect(
    tmp_path: Path, expression: str, operator: str, direction: str, effect: str
) -> None:
    """The line is only read here: it needs a device to run."""
    module = loaded(tmp_path / "lines.py", f"import torch\ndef step(x, y, event):\n    return {expression}\n")
    place = running(module.step, expression)
    assert effect == CAUSES.effect(Refusal(operator, SYNCHRONIZES, (place,), direction=direction))


def running(function: Any, expression: str) -> Place:
    """The instruction of a function that computes an expression."""
    code = function.__code__
    places = [Place(code, one.offset, function.__module__) for one in dis.get_instructions(code)]
    computing = [one for one in places if segment(one.span) == expression]
    assert computing
    return computing[-1]


@pytest.mark.parametrize(
    ("refusal", "effect"),
    [
        pytest.param(Refusal("", "", ()), "capture-refused", id="nothing is known"),
        pytest.param(
            Refusal("aten._to_copy.default", "", (), direction="download"), "device-to-host-copy", id="a copy"
        ),
        pytest.param(Refusal("aten._local_scalar_dense.default", "", ()), "scalar-readback", id="a number"),
        pytest.param(
            Refusal("aten._local_scalar_dense.default", "", (), through=("torch.optim.adam:step",)),
            "hidden-sync",
            id="a number that a function of torch reads",
        ),
        pytest.param(
            Refusal("aten._local_scalar_dense.default", "", (), through=("torch._inductor.runtime:benchmark",)),
            "capture-refused",
            id="tuning",
        ),
        pytest.param(
            Refusal("aten.mm.default", "", (), through=("torch._tensor_str:_str",)),
            "tensor-printing",
            id="a tensor's text",
        ),
        pytest.param(Refusal("my::operator", "", (), is_from_driver=True), "capture-refused", id="a foreign operator"),
        pytest.param(
            Refusal("aten.svd.default", "", (), is_from_driver=True), "hidden-sync", id="an operator of torch"
        ),
    ],
)
def test_a_refusal_without_a_line_has_an_effect(refusal: Refusal, effect: str) -> None:
    """From the operator and the functions of libraries alone."""
    assert effect == CAUSES.effect(refusal)
