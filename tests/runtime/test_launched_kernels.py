"""A launch that goes by no dispatcher is an operator: it says what a kernel reads and what it writes."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from graphlint.runtime.device.loading import Loading  # noqa: E402
from graphlint.runtime.trace.operators import Call  # noqa: E402
from graphlint.runtime.watch.launches import Launches  # noqa: E402


class Listening(TorchDispatchMode):
    """Keeps the calls that it sees."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []

    def __torch_dispatch__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> object:
        self.calls.append(Call(func, args, kwargs or {}))
        return func(*args, **(kwargs or {}))


def names(found: Any, known: dict[str, Any]) -> list[str]:
    """What tensors are called."""
    return [name for one in found for name, tensor in known.items() if tensor is one]


@pytest.fixture
def tensors() -> dict[str, Any]:
    return {name: torch.ones(2) for name in ("x", "state", "out")}


def test_a_kernel_of_a_program_may_read_and_write_all(tensors: dict[str, Any]) -> None:
    """Its result is that of the launch, which is made once; another number makes another launch."""
    kernel = SimpleNamespace(__name__="scale", arg_names=["x", "out", "by"])
    launched = Launches()._of_program(lambda kernel, *given, **named: (given, named))
    with Listening() as listening:
        given, _ = launched(kernel, tensors["x"], out=tensors["out"], by=2, num_warps=4)
        launched(kernel, tensors["x"], out=tensors["out"], by=3)
        launched(kernel, tensors["x"], warmup=True)
    first, second = listening.calls
    assert given[0] is tensors["x"]
    assert first.name == "triton_kernels.scale.default"
    assert names(first.tensors, tensors) == ["x", "out"] * 2
    assert names(first.written(), tensors) == ["x", "out"]
    assert first.numbers != second.numbers


@pytest.mark.parametrize(
    ("arguments", "changed", "read", "written"),
    [
        (["in_ptr0", "in_ptr1", "out_ptr0"], [], ["x", "state"], ["out"]),
        (["in_ptr0", "in_out_ptr0", "out_ptr0"], ["in_out_ptr0"], ["x", "state"], ["state", "out"]),
        (["in_ptr0", "ws_ptr", "out_ptr0"], ["ws_ptr", "out_ptr0"], ["x", "state", "out"], ["state", "out"]),
    ],
)
def test_a_kernel_of_the_compiler_says_by_names_what_it_does(
    tensors: dict[str, Any], arguments: list[str], changed: list[str], read: list[str], written: list[str]
) -> None:
    """What it fills it does not read."""
    function = SimpleNamespace(__name__="triton_poi_0", arg_names=[*arguments, "xnumel", "XBLOCK"])
    kernel = SimpleNamespace(fn=function, mutated_arg_names=changed, custom_kernel=False)
    with Listening() as listening:
        Launches()._of_compiler(lambda *given, **named: None)(kernel, *tensors.values(), 2, stream=0)
    (call,) = listening.calls
    assert (read, written) == (names(call.args[0], tensors), names(call.written(), tensors))


def test_an_error_of_a_launch_is_the_one_of_the_program(tensors: dict[str, Any]) -> None:
    """And the next launch is none the worse for it."""

    def run(kernel: object, *given: Any) -> int:
        if given[1] is None:
            raise LookupError("no such kernel")
        return 3

    launched = Launches()._of_program(run)
    kernel = SimpleNamespace(__name__="failing", arg_names=["x", "by"])
    with pytest.raises(LookupError, match="no such kernel"):
        launched(kernel, tensors["x"], None)
    assert launched(kernel, tensors["x"], 1) == 3


class Skipping(TorchDispatchMode):
    """Runs nothing."""

    def __torch_dispatch__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> object:
        return None


def test_a_launch_that_a_capture_goes_past_is_not_made_later(tensors: dict[str, Any]) -> None:
    """Nor is it taken for another one."""
    made: list[int] = []
    launched = Launches()._of_program(lambda kernel, x, by: made.append(by) or by)
    kernel = SimpleNamespace(__name__="passed", arg_names=["x", "by"])
    with Skipping():
        assert launched(kernel, tensors["x"], 1) is None
    assert launched(kernel, tensors["x"], 2) == 2
    assert made == [2]


def test_a_module_is_told_of_once_it_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inside; one that is there is told of at once, and no other one is."""
    (tmp_path / "waited_for.py").write_text("value = 1\n")
    (tmp_path / "another.py").write_text("import waited_for\n")
    monkeypatch.syspath_prepend(tmp_path)
    told: list[int] = []
    with Loading("waited_for", lambda module: told.append(module.value)).listening():
        assert told == []
        importlib.import_module("another")
        assert told == [1]
    with Loading("waited_for", lambda module: told.append(module.value)).listening():
        assert told == [1, 1]
    del sys.modules["waited_for"], sys.modules["another"]
    with Loading("waited_for", lambda module: told.append(module.value)).listening():
        pass
    importlib.import_module("another")
    assert told == [1, 1]
    del sys.modules["waited_for"], sys.modules["another"]
