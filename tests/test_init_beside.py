"""`graphlint init`: libraries beside one that captures, imports in tests, and functions within functions."""

from __future__ import annotations

from pathlib import Path

import pytest
from static.analysis import analyse, write

from graphlint import static
from graphlint.config import Config
from graphlint.errors import UsageError
from graphlint.static.regions.survey import Survey

BESIDE = """
# file: kernels/__init__.py
# file: kernels/norm.py
import torch

def scale(x: torch.Tensor):
    return x * 2
# file: {package}/__init__.py
# file: {package}/run.py
import torch
{imports}

def capture(run, x: torch.Tensor):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        {body}
    return graph
"""
TESTED = """
# file: kernels/__init__.py
from kernels.ops import scale
# file: kernels/ops.py
import torch

def scale(x: torch.Tensor):
    return x * 2
# file: kernels/attention.py
import torch

def attend(x: torch.Tensor):
    return x.item()

def other(x: torch.Tensor):
    return x
# file: tests/test_attention.py
def test_attention():
{imports}
"""
OPERATORS = """
# file: kernels/__init__.py
# file: kernels/ops.py
import torch

def add(x: torch.Tensor):
    return x + 1

def add_alike(x: torch.Tensor):
    return torch.empty_like(x)

{registers}
"""
PATCH = """
# file: patch/__init__.py
# file: patch/rope.py
import torch

def install(config):
    import torch.nn.functional as F
    from {package} import layers
    scale = config.scale

    def forward(t: torch.Tensor, lengths: torch.Tensor):
        if {asked}:
            return t
        return F.relu(torch.mul(t, scale))

    {put}
"""


def survey(folder: Path, program: str) -> Survey:
    """What `init` sees in a program."""
    return static.survey([write(folder, program)], Config(root=folder))


@pytest.mark.parametrize(
    ("package", "imports", "body", "is_offered"),
    [
        ("saver", "", "run(x)", True),
        ("saver", "", "x.mul_(2)", True),
        ("saver", "from kernels import norm", "x.add_(norm.helper(x))", True),
        ("kernels.serve", "", "run(x)", False),
        ("saver", "from kernels.other import step", "step(x)", False),  # captures that library
    ],
)
def test_a_library_beside_one_that_captures_offers_what_it_has(
    tmp_path: Path, package: str, imports: str, body: str, is_offered: bool
) -> None:
    """Each of the packages of a folder is captured by itself or by others."""
    program = BESIDE.replace("{package}", package.replace(".", "/")).format(imports=imports, body=body)
    program += "# file: kernels/other.py\nimport torch\ndef step(x: torch.Tensor):\n    return x * 3\n"
    assert is_offered is ("kernels.norm:scale" in survey(tmp_path, program).exports)


def test_what_a_script_captures_may_be_anything_beside_it(tmp_path: Path) -> None:
    """It is handed in, so nobody else is sure to capture the rest."""
    program = BESIDE.replace("{package}/__init__.py", "other.py").replace("{package}/run.py", "run.py")
    found = survey(tmp_path, program.format(imports="", body="run(x)"))
    assert "kernels.norm:scale" not in found.exports


@pytest.mark.parametrize(
    ("imports", "is_offered"),
    [
        ("    from kernels.attention import attend", True),
        ("    from kernels.attention import other, attend  # both", True),
        ("    from kernels.attention import (\n        attend as run,\n    )", True),
        ("    from kernels.attention import other", False),
        ("    from kernels import attention", False),
        ("    from elsewhere.attention import attend", False),
    ],
)
def test_what_a_test_imports_where_it_needs_it_is_offered(tmp_path: Path, imports: str, is_offered: bool) -> None:
    """A test that may be skipped imports what it tests in its own body."""
    found = survey(tmp_path, TESTED.format(imports=imports))
    assert is_offered is ("kernels.attention:attend" in found.exports)


@pytest.mark.parametrize(
    ("registers", "is_offered"),
    [
        ('torch.library.impl_abstract("kernels::add", add_alike)', False),
        ('def setup():\n    torch.library.register_fake("kernels::add", add_alike)', False),
        ('torch.library.register_fake("kernels::add")(add_alike)', False),
        ('torch.library.impl("kernels::add", "cuda", add_alike)', True),
        ("print(add_alike)", True),
    ],
)
def test_what_is_handed_to_who_asks_what_an_operator_gives_is_not_offered(
    tmp_path: Path, registers: str, is_offered: bool
) -> None:
    """It runs where shapes are computed, and never on a device."""
    found = survey(tmp_path, OPERATORS.format(registers=registers)).exports
    assert "kernels.ops:add" in found and is_offered is ("kernels.ops:add_alike" in found)


@pytest.mark.parametrize(
    ("package", "put", "is_offered"),
    [
        ("engine", "layers.forward = forward", True),
        ("engine", "layers.Rope.forward = forward", True),
        ("engine", "layers.forward = config.forward", False),
        ("engine", "forward(config.first, config.lengths)", False),
        ("patch", "layers.forward = forward", False),  # a module of the program's own
    ],
)
def test_a_function_that_another_makes_to_put_it_into_an_engine_is_offered(
    tmp_path: Path, package: str, put: str, is_offered: bool
) -> None:
    """The engine runs it in the place of its own."""
    found = survey(tmp_path, PATCH.format(package=package, put=put, asked="t is None")).replaced
    assert found == (("patch.rope:install.<locals>.forward",) if is_offered else ())


@pytest.mark.parametrize(
    ("asked", "codes"),
    [("(lengths[-1] == 4).item()", ["GL101"]), ("lengths.shape[0] == 4", []), ("F.relu(lengths).any()", ["GL301"])],
)
def test_a_function_within_another_one_can_be_declared(tmp_path: Path, asked: str, codes: list[str]) -> None:
    """It knows what the function around it has imported and made."""
    program = PATCH.format(package="engine", put="layers.forward = forward", asked=asked)
    found = analyse(tmp_path, program, regions=("patch.rope:install.<locals>.forward",))
    assert [finding.code for finding in found.report.findings] == codes


@pytest.mark.parametrize("name", ["install.<locals>.backward", "setup.<locals>.forward", "install.forward"])
def test_a_function_that_is_within_no_other_one_is_an_error(tmp_path: Path, name: str) -> None:
    """What nobody can find is not declared in silence."""
    program = PATCH.format(package="engine", put="layers.forward = forward", asked="t is None")
    with pytest.raises(UsageError, match="is called"):
        analyse(tmp_path, program, regions=(f"patch.rope:{name}",))
