"""Operators that a program registers under a name, and calls by it: what implements them runs in the region."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

CALL = """
# file: main.py
import torch
import kernels

def capture(x):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        torch.ops.engine.{called}(x.cuda())

# file: kernels.py
import torch
from torch.library import Library, custom_op, impl

library = Library("engine", "FRAGMENT")

def register_operator(op_name, op_func, fake_impl=None):
    library.define(op_name + "(Tensor x) -> Tensor")
    library.impl(op_name, op_func, "CUDA")

"""
READS = "def reads(x):\n    return x.max().item()\n"
FORMS = {
    "a decorator": '@custom_op("engine::reads", mutates_args=())\n' + READS,
    "a decorator of a helper": "@register_custom_op()\n" + READS,
    "a decorator for a library": '@impl(library, "reads", "CUDA")\ndef kernel(x):\n    return x.max().item()\n',
    "a call of the library": READS + 'library.impl("reads", reads, "CUDA")\n',
    "a lambda": 'library.impl("reads", lambda x: x.max().item(), "CUDA")\n',
    "a call in a branch": READS + 'if torch.cuda.is_available():\n    library.impl("engine::reads", reads)\n',
    "a kernel": '@torch.library.register_kernel("engine::reads", "cuda")\ndef kernel(x):\n    return x.max().item()\n',
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("called", ["reads", "reads.default"])
def test_what_implements_an_operator_is_run(tmp_path: Path, form: str, called: str) -> None:
    """However it is handed over, and also for an overload."""
    report = analyse(tmp_path, CALL.format(called=called) + FORMS[form]).report
    assert [(Path(f.span.path).name, f.code) for f in report.findings] == [("kernels.py", "GL101")]


@pytest.mark.parametrize(
    "code",
    [
        '@torch.library.register_fake("engine::reads")\ndef fake(x):\n    return x.max().item()\n',
        "def computes(x):\n    return x + 1\ndef fake(x):\n    return x.max().item()\n"
        'library.impl("reads", computes, "CUDA", fake_impl=fake)\n',
        READS + 'library.impl("other", reads, "CUDA")\n',
        "@staticmethod\n" + READS,
        '@torch.library.impl("engine::reads", "cpu")\ndef host(x):\n    return x.max().item()\n',
    ],
)
def test_what_describes_an_operator_or_is_for_the_host_is_not_run(tmp_path: Path, code: str) -> None:
    """Nor what implements another one; the call is one that was not followed."""
    report = analyse(tmp_path, CALL.format(called="reads") + code).report
    is_known = "computes" in code
    assert (report.findings, report.summary.unresolved_calls) == ((), 0 if is_known else 1)


def test_operators_of_the_library_itself_are_no_holes(tmp_path: Path) -> None:
    """What no table knows of them launches kernels, as the others do."""
    program = CALL.replace("torch.ops.engine.{called}", "torch.ops.aten._unknown")
    assert analyse(tmp_path, program).report.summary.unresolved_calls == 0


@pytest.mark.parametrize(("decorator", "is_told"), [("T.prim_func", False), ("make", True)])
def test_code_of_the_device_in_the_words_of_python_never_runs_on_the_host(
    tmp_path: Path, decorator: str, is_told: bool
) -> None:
    """What a decorator that nobody knows gives back may be the function; a kernel is none, and its call is counted."""
    text = f"""
import tilelang.language as T
import torch
from serve import make

def build():
    @{decorator}
    def main(x):
        if x.max() > 0:
            x[0] = 1
    return main

x = torch.ones(4, device="cuda")
with torch.cuda.graph(torch.cuda.CUDAGraph()):
    build()(x)
"""
    analysed = analyse(tmp_path, text)
    assert ("GL301" in {code for _, _, code in analysed.shown}) is is_told
    assert bool(analysed.report.summary.unresolved_calls) is not is_told
