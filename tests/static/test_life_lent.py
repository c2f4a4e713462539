"""What a graphed callable gives is lent until its next call."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

STACK = """
import torch

class Stack:
    def __init__(self):
        net, other = torch.nn.Linear(8, 8).cuda(), torch.nn.Linear(8, 8).cuda()
        sample = torch.zeros(2, 8, device="cuda")
        self.net, self.other = torch.cuda.make_graphed_callables((net, other), ((sample,), (sample.clone(),)))
        self.kept = {{}}

    @torch.no_grad()
    def run(self, xs):
        outs = []
        {body}

stack = Stack()
stack.run([torch.randn(2, 8, device="cuda") for _ in range(3)])
"""
LOOP = "for x in xs:\n            outs.append({kept}){mark}\n        return torch.stack(outs)"
MARK = "  # expect: GL510"


@pytest.mark.parametrize(
    "body",
    [
        LOOP.format(kept="self.net(x)", mark=MARK),
        LOOP.format(kept="self.net(x).clone()", mark=""),
        LOOP.format(kept="self.net(x).sum()", mark=""),
        LOOP.format(kept="self.net(x).detach()", mark=MARK),
        LOOP.format(kept="self.net(x)", mark="").replace("torch.stack(outs)", "len(outs)"),
        f"first = self.net(xs[0]){MARK}\n        second = self.net(xs[1])\n        return first - second",
        "first = self.net(xs[0])\n        second = self.other(xs[1])\n        return first - second",
        "first = self.net(xs[0])\n        second = self.net(first)\n        return second.sum()",
        "first, again = self.net(xs[0]), self.net(xs[0])\n        return first - again",
        f"self.kept['a'] = self.net(xs[0]){MARK}\n        self.net(xs[1])\n        return self.kept['a'] + 1",
        "self.kept['a'] = self.net(xs[0])\n        return self.kept['a'] + 1",
        "for x in xs:\n            total = self.net(x)\n        return total.sum()",
    ],
    ids=[
        "collected", "copied", "computed from", "a view of it", "never read", "read behind the next call", "of another",
        "given to the next call", "of the same again", "kept by key", "read in time", "the last one",
    ],
)  # fmt: skip
def test_who_keeps_an_output_over_the_next_call_has_to_copy_it(tmp_path: Path, body: str) -> None:
    """All calls write to the memory that the graph was captured with."""
    analysis = analyse(tmp_path, STACK.format(body=body))
    assert analysis.expected == [place for place in analysis.shown if place[2] == "GL510"]
