"""What a captured backward pass writes, and autograd gets as it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

NESTED = """
import torch

def graphed(module, static_x, y, grads, forward_graph, backward_graph):
    parameters = tuple(module.parameters())

    class Graphed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, *parameters):
            static_x.copy_(x)
            forward_graph.replay()
            return y.detach()

        @staticmethod
        def backward(ctx, gradient):
            {replay}
            {returned}

    return lambda x: Graphed.apply(x, {given})

def capture(module, static_x, y, parameters):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        grads = torch.autograd.grad(y, parameters)
    return graph, grads
"""
TOLD = "  # expect: GL510"
LOOKED = f"return (None, *(one.detach() for one in grads)){TOLD}"


def told(folder: Path, **given: str) -> tuple[object, object]:
    """What is expected and shown of the rule for a backward pass like this."""
    filled = {"replay": "backward_graph.replay()", "returned": LOOKED, "given": "*parameters", **given}
    analysis = analyse(folder, NESTED.format(**filled))
    return analysis.expected, [one for one in analysis.shown if one[2] == "GL510"]


RETURNED = {
    "looks": {},
    "looks, if there are some": {
        "returned": f"return (None,) + tuple(g.detach() if g is not None else g for g in grads){TOLD}"
    },
    "a list by its name": {"returned": f"mine = [g.detach() for g in grads]{TOLD}\n            return None, *mine"},
    "copies": {"returned": "return (None, *(one.clone() for one in grads))"},
    "copies, by a name": {"returned": "mine = [g.clone() for g in grads]\n            return None, *mine"},
    "looks at copies": {"returned": "return (None, *(one.detach().clone() for one in grads))"},
    "what is computed here": {
        "returned": "made = [g * 2 for g in grads]\n            return (None, *(one.detach() for one in made))"
    },
    "no replay": {"replay": "pass", "returned": LOOKED.removesuffix(TOLD)},
    "no parameters": {"given": "x", "returned": LOOKED.removesuffix(TOLD)},
}


@pytest.mark.parametrize("given", RETURNED.values(), ids=RETURNED.keys())
def test_autograd_may_keep_what_the_next_replay_writes_over(tmp_path: Path, given: dict[str, str]) -> None:
    expected, shown = told(tmp_path, **given)
    assert shown == expected


OBJECT = """
import torch

class Replayed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, runner, x, *weights):
        ctx.runner = runner
        runner.forward_graph.replay()
        return runner.y.detach()

    @staticmethod
    def backward(ctx, gradient):
        ctx.runner.backward_graph.replay()
        return None, None, *[one.{taken}() for one in ctx.runner.grads]{mark}

class Runner:
    def capture(self, module, x):
        self.weights, self.y = tuple(module.parameters()), module(x)
        self.backward_graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.backward_graph):
            self.grads = torch.autograd.grad(self.y, self.weights)

    def __call__(self, x):
        return Replayed.apply(self, x, *self.weights)
"""


@pytest.mark.parametrize(("taken", "mark"), [("detach", TOLD), ("clone", "")])
def test_a_function_of_a_file_may_return_what_an_object_holds(tmp_path: Path, taken: str, mark: str) -> None:
    analysis = analyse(tmp_path, OBJECT.format(taken=taken, mark=mark))
    assert [one for one in analysis.shown if one[2] == "GL510"] == analysis.expected


SPELT = {
    "in another file": ("class Runner:", "# file: runner.py\nimport torch\nfrom main import Replayed\n\nclass Runner:"),
    "by another name": ("import torch\n", "import torch\nfrom torch.autograd import Function as Base\n"),
    "with a helper": ("ctx.runner.backward_graph.replay()", "launch(ctx.runner)"),
}


@pytest.mark.parametrize(("part", "instead"), SPELT.values(), ids=SPELT)
def test_it_may_be_spelt(tmp_path: Path, part: str, instead: str) -> None:
    program = OBJECT.format(taken="detach", mark=TOLD).replace(part, instead, 1)
    if "Base" in instead:
        program = program.replace("torch.autograd.Function", "Base")
    if "launch" in instead:
        program += "\ndef launch(runner):\n    runner.backward_graph.replay()\n"
    analysis = analyse(tmp_path, program)
    assert len(analysis.expected) == 1
    assert [one for one in analysis.shown if one[2] == "GL510"] == analysis.expected
