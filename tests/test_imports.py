"""Who may import whom, read from the import statements; in which layers a package lies; and what is loaded when."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Container, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent
PACKAGE = CHECKOUT / "graphlint"
MODULES = sorted([*PACKAGE.rglob("*.py"), *(CHECKOUT / "rules").glob("*.py")])

# What stands directly in a package, from the lowest layer up: an import goes to a lower layer, never to its own or up.
LAYERS: dict[str, list[set[str]]] = {
    "graphlint.static": [
        {"syntax"},
        {"index"},
        {"domain"},
        {"facts", "writes"},
        {"findings"},
        {"models"},
        {"interpreter"},
        {"life", "regions"},
    ],
    "graphlint.runtime": [{"trace"}, {"compare", "device"}, {"watch"}, {"judge"}, {"examine"}, {"session"}],
    "graphlint.runtime.device": [{"backend", "launched", "loading"}, {"cuda", "emulator"}],
    "graphlint.testing": [{"options"}, {"settings", "verdict"}, {"asserting", "emulation"}, {"plugin"}],
}
CIRCLES = ("graphlint.static.interpreter",)  # packages whose own modules may import each other in a circle


def imports(module: Path, root: Path) -> Iterator[str]:
    """The absolute names of the modules and members that a module imports, at any depth."""
    package = module.relative_to(root).parent.as_posix().replace("/", ".")
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*parents, *([node.module] if node.module else [])])
            yield from (f"{source}.{name.name}" for name in node.names)


def within(name: str, *modules: str) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in modules)


def forbidden(module: Path, root: Path = CHECKOUT) -> list[str]:
    """The imports of a module that the design does not allow."""
    place = module.relative_to(root).as_posix()
    names = list(imports(module, root))
    if place != "graphlint/__main__.py" and any(within(name, "graphlint.cli") for name in names):
        return ["graphlint.cli"]
    if place.startswith("graphlint/static/"):
        return [name for name in names if within(name, "torch", "graphlint.runtime", "graphlint.report")]
    if place.startswith("graphlint/runtime/"):
        return [name for name in names if within(name, "libcst", "graphlint.static", "graphlint.report")]
    if place.startswith("graphlint/report/"):
        # The last two are maps: of the lines of a notebook, and of rules to their pages.
        data = ("graphlint.contract", "graphlint.finding", "graphlint.reading.notebooks", "graphlint.pages")
        allowed = (*data, "graphlint.report")
        return [name for name in names if not within(name, *allowed, *sys.stdlib_module_names)]
    if place.startswith("rules/"):
        allowed = ("graphlint.rule", "graphlint.finding")
        return [name for name in names if not within(name, *allowed, *sys.stdlib_module_names)]
    return [name for name in names if within(name, "torch", "libcst")]


@cache
def importing(root: Path) -> dict[str, set[str]]:
    """Each module of the package, and the modules of it that it imports, at any depth and for its types as well."""
    names = {}
    for module in root.joinpath("graphlint").rglob("*.py"):
        names[module.relative_to(root).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")] = module
    found: dict[str, set[str]] = {}
    for name, module in names.items():
        known = (nearest(imported, names) for imported in imports(module, root))
        found[name] = {one for one in known if one is not None and one != name}
    return found


def nearest(name: str, known: Container[str]) -> str | None:
    """The module that a name belongs to, which is that of a module or of something in it."""
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name or None


def rising(graph: Mapping[str, set[str]], package: str, layers: list[set[str]]) -> list[str]:
    """The imports between the parts of a package that do not go to a lower layer, and parts without a layer."""
    height = {part: number for number, layer in enumerate(layers) for part in layer}
    inside = [name for name in graph if name.startswith(f"{package}.")]
    part_of = {name: name.removeprefix(f"{package}.").partition(".")[0] for name in inside}
    found = [f"{part} has no layer" for part in sorted(set(part_of.values()) - height.keys())]
    found += [f"{part} is not there" for part in sorted(height.keys() - set(part_of.values()))]
    for name in inside:
        for imported in sorted(graph[name]):
            if imported == package:  # its `__init__` lies above all of them
                found.append(f"{name} -> {imported}")
            target = part_of.get(imported, part_of[name])
            if target != part_of[name] and height.get(target, 0) >= height.get(part_of[name], 0):
                found.append(f"{name} -> {imported}")
    return found


def circles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """The largest sets of modules in which each leads to all the others."""
    reached: dict[str, set[str]] = {}
    for start in graph:
        pending, reached[start] = [*graph[start]], set()
        while pending:
            if (name := pending.pop()) not in reached[start]:
                reached[start].add(name)
                pending += graph[name]
    found = [{other for other in reached[name] if name in reached[other]} for name in graph]
    return [circle for number, circle in enumerate(found) if circle and circle not in found[:number]]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.relative_to(CHECKOUT).as_posix())
def test_a_module_imports_only_what_it_may(module: Path) -> None:
    """The flow is one-way: static without torch, runtime without libcst, reports from findings alone."""
    assert [] == forbidden(module)


@pytest.mark.parametrize(
    ("place", "statement", "expected"),
    [
        ("graphlint/static/x.py", "import torch.cuda", ["torch.cuda"]),
        ("graphlint/static/x.py", "def f():\n    from torch import cuda", ["torch.cuda"]),
        ("graphlint/static/x.py", "import torchlike, libcst", []),
        ("graphlint/report/x.py", "from graphlint import config", ["graphlint.config"]),
        ("graphlint/report/x.py", "from ..config import Config", ["graphlint.config.Config"]),
        ("graphlint/report/x.py", "from .place import counted\nfrom graphlint.finding import Finding", []),
        ("graphlint/rulebook.py", "from . import cli", ["graphlint.cli"]),
    ],
)
def test_a_forbidden_import_is_seen(tmp_path: Path, place: str, statement: str, expected: list[str]) -> None:
    """The test of the imports finds what it is there for."""
    module = tmp_path / place
    module.parent.mkdir(parents=True)
    module.write_text(statement, encoding="utf-8")
    assert expected == forbidden(module, tmp_path)


@pytest.mark.parametrize("package", LAYERS)
def test_imports_inside_a_package_go_to_lower_layers(package: str) -> None:
    """What lies in one layer does not know its neighbours, and nothing knows what lies above it."""
    assert [] == rising(importing(CHECKOUT), package, LAYERS[package])


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Not for their types either; but for a package whose parts cannot do without each other."""
    found = circles(importing(CHECKOUT))
    assert [] == [circle for circle in found if not any(all(within(one, each) for one in circle) for each in CIRCLES)]


def tree(root: Path, sources: Mapping[str, str]) -> dict[str, set[str]]:
    """What the modules of a package import that is written for a test; its folders need no `__init__`."""
    for name, text in sources.items():
        file = root / "graphlint" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return importing(root)


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        pytest.param({"half/low": "", "half/high": "from graphlint.half.low import f"}, [], id="down"),
        pytest.param(
            {"half/low": "from graphlint.half.high import f", "half/high": ""},
            ["graphlint.half.low -> graphlint.half.high"],
            id="up",
        ),
        pytest.param(
            {"half/low": "def f():\n    from graphlint.half import high", "half/high": ""},
            ["graphlint.half.low -> graphlint.half.high"],
            id="in a function",
        ),
        pytest.param(
            {"half/low/a": "if TYPE_CHECKING:\n    from ..high.b import f", "half/high/b": ""},
            ["graphlint.half.low.a -> graphlint.half.high.b"],
            id="for its types, in packages",
        ),
        pytest.param(
            {"half/low": "", "half/high": "from graphlint.half import next", "half/next": ""},
            ["graphlint.half.high -> graphlint.half.next"],
            id="to a neighbour",
        ),
        pytest.param(
            {"half/__init__": "", "half/low": "from graphlint.half import check", "half/high": ""},
            ["graphlint.half.low -> graphlint.half"],
            id="to the package itself",
        ),
        pytest.param({"half/low/a": "from ..low import b", "half/low/b": "", "half/high": ""}, [], id="in"),
        pytest.param({"half/low": "", "half/high": "", "half/x": ""}, ["x has no layer"], id="a part unheard of"),
        pytest.param({"half/low": ""}, ["high is not there"], id="a layer without a part"),
    ],
)
def test_an_import_that_does_not_go_to_a_lower_layer_is_seen(
    tmp_path: Path, sources: Mapping[str, str], expected: list[str]
) -> None:
    """Wherever the statement stands; what a package does inside a part of it is the part's own affair."""
    layers = [{"low"}, {"high", "next"} if "half/next" in sources else {"high"}]
    assert expected == rising(tree(tmp_path, sources), "graphlint.half", layers)


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        pytest.param({"a": "from graphlint import b", "b": "from graphlint import c", "c": ""}, [], id="none"),
        pytest.param(
            {"a": "from graphlint.b import f", "b": "if TYPE_CHECKING:\n    from graphlint.a import T"},
            [{"graphlint.a", "graphlint.b"}],
            id="of two, one for its types",
        ),
        pytest.param(
            {"a": "from . import b", "b": "def f():\n    import graphlint.c", "c": "from .a import f", "d": "import a"},
            [{"graphlint.a", "graphlint.b", "graphlint.c"}],
            id="of three, one in a function",
        ),
        pytest.param(
            {
                "a": "from .b import f",
                "b": "from .a import f",
                "c": "from .d import f\nfrom .a import f",
                "d": "from .c import f",
            },
            [{"graphlint.a", "graphlint.b"}, {"graphlint.c", "graphlint.d"}],
            id="two of them",
        ),
    ],
)
def test_a_circle_is_seen(tmp_path: Path, sources: Mapping[str, str], expected: list[set[str]]) -> None:
    """Each once, with all who belong to it."""
    assert sorted(map(sorted, expected)) == sorted(map(sorted, circles(tree(tmp_path, sources))))


@pytest.mark.parametrize(
    "module",
    ["graphlint", "graphlint.cli", "graphlint.rulebook", "graphlint.report", "graphlint.testing.plugin"],
)
def test_nothing_heavy_is_loaded_before_it_is_used(module: str) -> None:
    """Neither torch nor libcst: asking for help costs nothing."""
    program = f"import sys, {module}; print([name for name in ('torch', 'libcst') if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=CHECKOUT, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert "[]\n" == done.stdout, done.stderr


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["check", "--help"]])
def test_what_a_command_does_not_need_is_not_loaded(arguments: list[str]) -> None:
    """Nothing of graphlint but the command itself, and no library but that of commands."""
    program = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr));"
    program += f"sys.argv[1:] = {arguments}; from graphlint import cli; cli.main()"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=CHECKOUT, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    loaded = set(done.stderr.split())
    expected = {
        "graphlint",
        *(f"graphlint.{name}" for name in ["cli", "choices", "deadline", "errors", "report", "version"]),
        "graphlint.report.escaping",
    }
    assert expected == {name for name in loaded if within(name, "graphlint")}
    assert set() == {"libcst", "pathspec", "tomllib", "json", "hashlib", "difflib"} & loaded


@pytest.mark.parametrize(("source", "is_loaded"), [("", True), (None, False)])
def test_a_folder_without_a_file_waits_for_no_analysis(tmp_path: Path, source: str | None, is_loaded: bool) -> None:
    """What looks at files, and what it goes by, is loaded where there is one."""
    if source is not None:
        tmp_path.joinpath("x.py").write_text(source)
    program = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr));"
    program += "sys.argv[1:] = ['check', '--no-cache']; from graphlint import cli; cli.main()"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    heavy = {"graphlint.static", "graphlint.rulebook", "pathspec"}
    assert (heavy if is_loaded else set()) == heavy & set(done.stderr.split())
