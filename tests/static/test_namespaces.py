"""A folder without `__init__.py` is a package where the program says so, by what it imports or how it is named."""

import textwrap
from pathlib import Path

import pytest
from analysis import analyse

from graphlint.errors import UsageError

LAYERS = """\
    # file: top/core/__init__.py
    # file: top/core/ops/{init}
    # file: top/core/ops/scale.py
    def scale(x):
        return x.item()
    # file: top/core/model.py
    {imports}
    def step(x):
        return {call}(x)
    # file: top/core/run.py
    import torch
    from top.core.model import step
    def main():
        graph = torch.cuda.CUDAGraph()
        x = torch.ones(4, device="cuda")
        with torch.cuda.graph(graph):
            step(x)
    """
ABSOLUTE = LAYERS.format(init="__init__.py", imports="from top.core.ops.scale import scale", call="scale")
SERVE = """\
    # file: src/serve/model.py
    from serve.layers import scale
    class Decoder:
        def step(self, x):
            return scale(x)
    # file: src/serve/layers.py
    import torch
    def scale(x: torch.Tensor):
        return x.item()
    """


@pytest.mark.parametrize("path", [".", "top", "top/core"])
@pytest.mark.parametrize(
    ("init", "imports", "call"),
    [
        ("__init__.py", "from top.core.ops.scale import scale", "scale"),
        ("__init__.py", "from .ops.scale import scale", "scale"),
        ("__init__.py", "import top.core.ops.scale", "top.core.ops.scale.scale"),
        ("__init__.py", "import top.core.ops.scale as ops", "ops.scale"),
        ("__init__.py", "from top.core import ops", "ops.scale.scale"),
        ("other.py", "from top.core.ops.scale import scale", "scale"),
    ],
)
def test_an_absolute_import_through_a_namespace_is_followed(
    tmp_path: Path, path: str, init: str, imports: str, call: str
) -> None:
    """Wherever in it the given path lies."""
    analysis = analyse(tmp_path, LAYERS.format(init=init, imports=imports, call=call), [path])
    assert [("top/core/ops/scale.py", 2, "GL101")] == analysis.found
    assert ["top.core.run:main", "top.core.model:step"] == [function for _, _, function in analysis.chain]
    assert "top.core.ops.scale:scale" == analysis.finding.function


@pytest.mark.parametrize("path", ["src", ".", "src/serve"])
@pytest.mark.parametrize("region", ["serve.model:Decoder.step", "serve.*:*.step", "src.serve.model:Decoder.step"])
def test_a_region_in_a_namespace_is_declared_by_its_dotted_name(tmp_path: Path, path: str, region: str) -> None:
    """And is called so in the report, whichever of the names that Python accepts is used."""
    analysis = analyse(tmp_path, SERVE, [path], regions=(region,))
    assert [("src/serve/layers.py", 3, "GL101")] == analysis.found
    module = region.split(":")[0].replace("*", "model")
    assert [f"{module}:Decoder.step"] == [found.entry for found in analysis.regions]


@pytest.mark.parametrize("imports", ["from .layers import scale", "from ..serve.layers import scale"])
def test_relative_imports_tell_that_a_folder_is_a_package(tmp_path: Path, imports: str) -> None:
    """Python refuses them anywhere else, so the module is named with the folder before anybody asks for it."""
    program = SERVE.replace("from serve.layers import scale", imports)
    analysis = analyse(tmp_path, program, regions=("*serve.model:*.step",))
    assert [("src/serve/layers.py", 3, "GL101")] == analysis.found
    (region,) = analysis.regions
    assert region.entry is not None and "serve.model" in region.entry


def test_a_program_above_a_namespace_names_its_modules(tmp_path: Path) -> None:
    """A script imports what lies in folders beside it."""
    program = """\
        # file: run.py
        from serve.model import step
        # file: serve/model.py
        import torch
        def step(x):
            return x.item()
        def main():
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                step(torch.ones(4, device="cuda"))
        """
    (finding,) = analyse(tmp_path, program).report.findings
    assert finding.function == "serve.model:step"


def test_a_file_is_one_module_under_all_its_names(tmp_path: Path) -> None:
    """What one name changes is changed under the other; it is found once."""
    program = """\
        # file: top/run.py
        import torch
        import top.layers
        from layers import scale
        def main():
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                scale(torch.ones(4, device="cuda"))
                top.layers.scale(torch.ones(4, device="cuda"))
        # file: top/layers.py
        def scale(x):
            return x.item()
        """
    analysis = analyse(tmp_path, program)
    assert [("top/layers.py", 2, "GL101")] == analysis.found
    assert 2 == analysis.report.summary.functions


@pytest.mark.parametrize("region", ["model:Decoder.step", "*:*.step"])
def test_a_folder_of_scripts_is_no_package(tmp_path: Path, region: str) -> None:
    """Where nothing says that it is, modules are called as by a script that lies beside them."""
    program = SERVE.replace("from serve.layers", "from layers")
    (found,) = analyse(tmp_path, program, regions=(region,)).regions
    assert found.entry == "model:Decoder.step"


@pytest.mark.parametrize("file", ["pyproject.toml", "setup.py"])
def test_the_folder_of_a_project_is_no_package(tmp_path: Path, file: str) -> None:
    """It often has the name of a library that the program imports."""
    (tmp_path / "top").mkdir()
    (tmp_path / "top" / file).touch()
    assert [] == analyse(tmp_path, ABSOLUTE).found


def test_a_package_that_is_configured_in_its_own_folder_keeps_its_name(tmp_path: Path) -> None:
    """As `init` leaves it, if it is run there."""
    (tmp_path / "top").mkdir()
    for name in ("__init__.py", "pyproject.toml"):
        (tmp_path / "top" / name).touch()
    program = ABSOLUTE.replace("top/core/", "top/core/inner/deep/").replace("top.core.", "top.core.inner.deep.")
    (finding,) = analyse(tmp_path, program, ["top"]).report.findings
    assert finding.function == "top.core.inner.deep.ops.scale:scale"


def test_an_import_of_something_else_tells_nothing(tmp_path: Path) -> None:
    """A library may bear the name of the folder: it has modules that the folder has not."""
    program = """\
        # file: serve/model.py
        import torch
        from serve.kernels import fused
        def step(x):
            fused(x)
            return x.item()
        def main():
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                step(torch.ones(4, device="cuda"))
        """
    (finding,) = analyse(tmp_path, program).report.findings
    assert finding.function == "model:step"


def test_a_module_of_no_namespace_is_refused(tmp_path: Path) -> None:
    """The name that is meant is proposed."""
    with pytest.raises(UsageError, match=r"no module `serv\.model` .* did you mean `serve\.model`\?"):
        analyse(tmp_path, SERVE, regions=("serv.model:Decoder.step",))


@pytest.mark.parametrize("marked", ["pyproject.toml", "setup.py"])
@pytest.mark.parametrize("folder", ["Engine", "engine-0.3"])
def test_the_folder_of_a_project_with_an_init_file_is_no_package(tmp_path: Path, folder: str, marked: str) -> None:
    """Names begin in it, whatever it is called."""
    program = f"""
    # file: {folder}/__init__.py
    # file: {folder}/{marked}
    # file: {folder}/serve/__init__.py
    # file: {folder}/serve/ops.py
    def read(x):
        return x.item()  # expect: GL101
    # file: {folder}/serve/run.py
    import torch
    from serve.ops import read

    def capture():
        x = torch.ones(4, device="cuda")
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            read(x)
    """
    analysis = analyse(tmp_path, textwrap.dedent(program))
    assert analysis.expected == analysis.found


BESIDE = """\
    # file: tests/warp/{init}
    # file: tests/warp/kernels.py
    class ScopedCapture:
        def __enter__(self):
            return self
        def __exit__(self, *_):
            return None
    # file: tests/run.py
    import torch
    {imports}
    # file: serve/__init__.py
    # file: serve/cache.py
    import torch
    import warp as wp
    def capture():
        x = torch.ones(4, device="cuda")
        with wp.ScopedCapture():
            x.item()
    """


@pytest.mark.parametrize(
    ("init", "imports", "regions"),
    [("test_a.py", "from warp import kernels", 1), ("__init__.py", "import warp", 0)],
    ids=["a folder", "a package"],
)
def test_a_folder_is_no_package_that_is_installed(tmp_path: Path, init: str, imports: str, regions: int) -> None:
    """Python looks for a folder without `__init__.py` at last, so that one of tests hides no library that captures."""
    program = textwrap.dedent(BESIDE).format(init=init, imports=imports)
    assert regions == analyse(tmp_path, program).report.summary.regions
