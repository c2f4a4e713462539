"""Forward hooks: what is registered on a module is called wherever that is, and not where it has been removed."""

import textwrap
from pathlib import Path

import pytest
from analysis import analyse

PROGRAM = """\
import torch

def hook(module, inputs, output):
    return output.item()  # 4

def before(module, inputs):
    inputs[0].tolist()  # 7

def named(module, inputs, keywords, output):
    keywords["scale"].item()  # 10

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
    def forward(self, x, scale=None):
        return self.layer(x)

def main():
    x = torch.ones(4, device="cuda")
    layer, block, other = torch.nn.Linear(4, 4).cuda(), Block().cuda(), torch.nn.ReLU()
    {registered}
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        {called}
"""


def found(tmp_path: Path, registered: str, called: str) -> list[int]:
    registered = textwrap.indent(registered, "    ").strip()
    analysis = analyse(tmp_path, PROGRAM.format(registered=registered, called=called))
    assert all(code in ("GL101", "GL201") for _, _, code in analysis.found)
    return [line for _, line, _ in analysis.found]


@pytest.mark.parametrize(
    ("registered", "called", "line"),
    [
        ("layer.register_forward_hook(hook)", "layer(x)", 4),
        ("layer.register_forward_pre_hook(before)", "layer(x)", 7),
        ("block.register_forward_hook(hook)", "block(x)", 4),
        ("block.register_forward_pre_hook(before)", "block(x)", 7),
        ("block.layer.register_forward_hook(hook)", "block(x)", 4),
        ("block.register_forward_hook(named, with_kwargs=True)", "block(x, scale=x)", 10),
        ("layer.register_forward_hook(always_call=True, hook=hook)", "layer(x)", 4),
        ("layer.register_forward_hook(lambda *given: hook(*given))", "layer(x)", 4),
        (
            "handle = layer.register_forward_hook(hook)\nhandle.remove()\nlayer.register_forward_hook(hook)",
            "layer(x)",
            4,
        ),
        ("layer.register_forward_hook(hook)", "torch.nn.Sequential(layer, other)(x)", 4),
    ],
)
def test_what_is_hooked_to_a_module_is_called_with_it(tmp_path: Path, registered: str, called: str, line: int) -> None:
    """With the module, its arguments and its result, whichever kind of module it is."""
    assert [line] == found(tmp_path, registered, called)


@pytest.mark.parametrize(
    ("registered", "called"),
    [
        ("layer.register_forward_hook(hook)", "other(x)"),
        ("other.register_forward_hook(hook)", "block(x)"),
        ("handle = layer.register_forward_hook(hook)\nhandle.remove()", "layer(x)"),
        ("handles = [block.register_forward_hook(hook)]\nfor handle in handles:\n    handle.remove()", "block(x)"),
        ("layer.register_full_backward_hook(hook)", "layer(x)"),
        ("block.register_forward_hook(hook)\nblock(x)", "x + 1"),
        ("layer.register_forward_hook(lambda *given: None)", "layer(x)"),
    ],
)
def test_no_other_hook_is_called(tmp_path: Path, registered: str, called: str) -> None:
    """That of another module, one that is removed, one for gradients, and one that runs before the region."""
    assert [] == found(tmp_path, registered, called)


@pytest.mark.parametrize(
    ("hook", "codes"),
    [
        ("lambda module, inputs, output: output.shape[0]", []),
        ("lambda module, inputs, output: None", ["GL301"]),
        ("unknown", ["GL301"]),
    ],
)
def test_a_hook_may_give_another_result(tmp_path: Path, hook: str, codes: list[str]) -> None:
    """What comes out of a module is what the hook gives, unless that is nothing."""
    program = f"""\
        import torch
        def main(unknown):
            layer = torch.nn.Linear(4, 4).cuda()
            layer.register_forward_hook({hook})
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                if layer(torch.ones(4, device="cuda")) > 3:
                    return 1
        """
    assert codes == [code for _, _, code in analyse(tmp_path, program).found]
