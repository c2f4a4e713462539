"""Operators of a program's own: those written in Python run as on a GPU, and what is not modelled is told by name."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from graphlint.cli import commands  # noqa: E402
from graphlint.runtime.device.emulator.settings import unmodelled  # noqa: E402

LINES = """\
import torch

library = torch.library.Library("mine", "DEF")
library.define("opaque(Tensor x) -> Tensor")
library.define("scaled(Tensor x, float by) -> Tensor")
library.define("reading(Tensor x) -> Tensor")
library.impl("scaled", lambda x, by: x * by, "CUDA")
library.impl("reading", lambda x: x * x.max().item(), "CUDA")


@torch.library.custom_op("mine::shaped", mutates_args=())
def shaped(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(x.cpu().numpy()).cuda()


@shaped.register_fake
def _(x):
    return torch.empty_like(x)


def target(step):
    return lambda: (step, (torch.rand(4, 4, device="cuda"),))


scaled = target(lambda x: torch.ops.mine.scaled(x, 2.0))
reading = target(lambda x: torch.ops.mine.reading(x))
opaque = target(lambda x: torch.ops.mine.opaque(x))
of_shape = target(lambda x: torch.ops.mine.shaped(x) + 1)
inference = target(torch.inference_mode()(lambda x: x * x.max().item()))
"""
PROGRAM = """\
import torch

library = torch.library.Library("mine", "DEF")
library.define("opaque(Tensor x) -> Tensor")
x = torch.ones(4, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = torch.ops.mine.opaque(x)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the targets and the program lie."""
    (tmp_path / "targets.py").write_text(LINES)
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


def verified(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """The status, what was found, and what is said besides."""
    status = commands.main(["verify", *arguments], standalone_mode=False)
    out, err = capsys.readouterr()
    return status, out, err


def test_a_function_that_is_registered_for_cuda_is_followed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It runs in place of the operator, with numbers and without."""
    for more in (["--on", "emulator"], ["--shapes-only"]):
        status, out, _ = verified(capsys, f"{folder}/targets.py:scaled", *more)
        assert status == 0 and "nodes: 1 kernel" in out
    status, out, _ = verified(capsys, f"{folder}/targets.py:reading", "--on", "emulator")
    assert status == 1 and "error[GL104] hidden-sync: `torch.ops.mine.reading(x)`" in out


def test_what_has_no_kernel_is_one_line_and_no_verdict(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The operator and the line are named, whether or not the program captures by itself."""
    targets = [f"{folder}/targets.py:opaque", f"{folder}/program.py"]
    status, out, err = verified(capsys, *targets, "--on", "emulator")
    said = [f"graphlint: error: target `{one}`: {one.partition(':')[0]}" for one in targets]
    lines = [LINES.splitlines().index(next(one for one in LINES.splitlines() if "opaque = " in one)) + 1, 8]
    for begins, line, found in zip(said, lines, err.splitlines(), strict=True):
        assert found.startswith(f"{begins}:{line}: not modelled: the emulator has no kernel for `mine.opaque.default`")
    assert status == 2 and [line.split("  ")[0] for line in out.splitlines()[-2:]] == ["cannot tell"] * 2


def test_a_fake_kernel_is_enough_for_shapes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The body would ask for numbers; where nothing tells the shape, that is said."""
    status, out, _ = verified(capsys, f"{folder}/targets.py:of_shape", "--shapes-only")
    assert status == 0 and "nodes: 2 kernel" in out
    status, _, err = verified(capsys, f"{folder}/targets.py:opaque", "--shapes-only")
    assert status == 2 and "the emulator knows no shape of what `mine.opaque.default` gives" in err


def test_inference_mode_hides_no_wait(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There, torch does not take operators apart by itself."""
    status, out, _ = verified(capsys, f"{folder}/targets.py:inference", "--on", "emulator")
    assert status == 1 and "error[GL101] scalar-readback: `x.max().item()`" in out


ASKING = """
import inspect
import torch

def answered():
    for name in dir(torch.cuda):
        call = getattr(torch.cuda, name)
        if name.startswith("_") or not inspect.isroutine(call) or name in dir(torch.cuda.nvtx):
            continue
        try:
            inspect.signature(call).bind()
        except (TypeError, ValueError):
            continue
        try:
            call()
        except ModuleNotFoundError:  # of a library that torch asks for the health of a card
            pass
    torch.cuda.set_per_process_memory_fraction(0.5)
    assert torch.cuda.get_per_process_memory_fraction() == 0.5
    major, minor = map(int, torch.version.cuda.split("."))
    assert torch._C._cuda_getCompiledVersion() == major * 1000 + minor * 10
    return (lambda x: x * 2), (torch.ones(2, device="cuda"),)

def unanswered():
    torch._C._cuda_customAllocator(1, 2)
    return answered()
"""


def test_every_function_of_torch_cuda_works_or_says_that_it_is_not_modelled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """That is no failure of the target."""
    (tmp_path / "asking.py").write_text(ASKING)
    status, out, err = verified(capsys, f"{tmp_path}/asking.py:answered", "--on", "emulator")
    assert (status, err) == (0, "") and "safe" in out

    status, out, err = verified(capsys, f"{tmp_path}/asking.py:unanswered", "--on", "emulator")
    assert status == 2 and "asking.py:25: not modelled: the emulator has no `torch._C._cuda_customAllocator`" in err


HIDDEN = """
import os

os.environ["CUDA_VISIBLE_DEVICES"] = ""

import torch
from torch.cuda.random import device_count

assert 1 == device_count() and 0 == torch.cuda._get_nvml_device_index(0)
drawn = []
for _ in range(2):
    torch.manual_seed(0)
    drawn.append(torch.rand(4, device="cuda"))
assert torch.equal(*drawn)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = drawn[0] * 2
graph.replay()
"""


def test_where_real_gpus_are_hidden_the_emulated_one_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is counted, and so it is seeded."""
    (tmp_path / "hidden.py").write_text(HIDDEN)
    assert (0, "") == verified(capsys, f"{tmp_path}/hidden.py", "--on", "emulator")[::2]


POOLED = """
import torch

pool = torch.cuda.MemPool()
with torch.cuda.use_mem_pool(pool):
    x = torch.ones(4, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph, pool=pool.id):
    y = x * 2{read}
x.fill_(3)
graph.replay()
assert pool.use_count() == 1 and y.sum().item() == 24
"""


@pytest.mark.parametrize(("read", "status"), [("", 0), ("; y.sum().item()", 1)])
def test_a_pool_that_a_program_makes_is_memory_like_any_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], read: str, status: int
) -> None:
    """What is made in it is captured, and what a capture may not do is told there as well."""
    (tmp_path / "pooled.py").write_text(POOLED.format(read=read))
    found, out, err = verified(capsys, f"{tmp_path}/pooled.py", "--on", "emulator")
    assert (found, err) == (status, "") and ("error[GL101]" in out) == bool(status)


def test_what_torch_has_for_a_real_device_is_not_modelled_either() -> None:
    """A build of torch for CUDA has all of its functions, and they would ask for a GPU."""
    assert "_cuda_customAllocator" in dict(unmodelled({}))
    assert "_cuda_endAllocateToPool" in dict(unmodelled({})) and hasattr(torch._C, "_cuda_endAllocateToPool")
    assert "_cuda_endAllocateToPool" not in dict(unmodelled({"_cuda_endAllocateToPool"}))
