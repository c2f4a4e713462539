"""What a program chooses of a package that it uses, and what objects do not have, decides which code is reached."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

from graphlint.finding import Confidence

PACKAGE = """
def plain(x):
    return x * 2

def packed(x):
    return x[x > 0]

KERNELS = {"plain": plain, "packed": packed}

class Layer:
    def __init__(self, options):
        self.options = options

    def run(self, x):
        return KERNELS[self.options.kernel](x)
"""
PROGRAM = """
import torch, vendor.layers
NAME = {name}
def main(options, x):
    layer = vendor.layers.Layer(options)
    x = torch.ones(4, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        layer.run(x)
"""


@pytest.mark.parametrize(("name", "confidence"), [('"other"', Confidence.LOW), ('"packed"', Confidence.MEDIUM)])
def test_what_a_package_may_choose_and_the_program_never_names_is_told_in_a_low_voice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, confidence: Confidence
) -> None:
    """The key comes from options that nobody knows; the program has to name what it does not get by itself."""
    folder = tmp_path / "site" / "vendor"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "layers.py").write_text(PACKAGE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder.parent))
    (tmp_path / "project").mkdir()
    options = {"follow_installed": ("vendor",), "confidence": Confidence.LOW}
    report = analyse(tmp_path / "project", PROGRAM.format(name=name), **options).report
    told = [(finding.confidence, [condition.text for condition in finding.when]) for finding in report.findings]
    assert [(confidence, ["KERNELS[self.options.kernel] is packed"])] == told


def test_what_the_program_itself_may_choose_needs_no_name(tmp_path: Path) -> None:
    """A registry in the files that are checked is theirs, whatever else they name."""
    main = PROGRAM.format(name='"other"').replace("vendor.layers", "layers")
    report = analyse(tmp_path, f"{main}\n# file: layers.py\n{PACKAGE}").report
    assert [Confidence.MEDIUM] == [finding.confidence for finding in report.findings]


LACKING = """
import torch
{around}
class Options:
    width = 4
{inside}
def step(options: Options, x):
    if getattr(options, "window", None) is not None:
        x.item()
    if hasattr(options, "window"):
        x.item()

def main(options: Options, key, value):
    x = torch.ones(4, device="cuda")
    {before}
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        step(options, x)
"""


@pytest.mark.parametrize(
    ("around", "inside", "before", "is_reached"),
    [
        ("", "", "pass", False),
        ("", "    depth: int = 2", "pass", False),
        ("", "    def fill(self, key, value):\n        setattr(self, key, value)", "options.fill(key, value)", False),
        ("", "    window: int | None = None", "pass", True),
        ("", "    def open(self):\n        self.window = 2", "pass", True),
        ("", "    def __getattr__(self, name):\n        return 1", "pass", True),
        ("", "", "options.window = 3", True),
        ("class Other:\n    def open(self):\n        self.window = 2", "", "pass", False),
    ],
)
def test_an_attribute_that_nothing_gives_an_object_is_not_there(
    tmp_path: Path, around: str, inside: str, before: str, is_reached: bool
) -> None:
    """`getattr` gives its default then, and `hasattr` is false; a class that derives from it may have it, too."""
    program = LACKING.format(around=around, inside=inside, before=before)
    assert is_reached is bool(analyse(tmp_path, program).shown)
    derived = f"{program}\nclass Wider(Options):\n    window = 2\n"
    assert analyse(tmp_path, derived).shown


ASSIGNED = """
import torch
{around}
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.window = None

        def open(self):
            {more}

        def forward(self, x):
            if self.window is not None:
                x.item()

model = Model()
with torch.cuda.graph(torch.cuda.CUDAGraph()):
    model(torch.ones(4, device="cuda"))
"""


@pytest.mark.parametrize("around", ["if torch.cuda.is_available():", "try:\n    pass\nfinally:"])
@pytest.mark.parametrize(("more", "is_reached"), [("pass", False), ("self.window = 2", True)])
def test_what_a_constructor_assigns_is_counted_once(tmp_path: Path, around: str, more: str, is_reached: bool) -> None:
    """Also where the class stands in another statement."""
    program = ASSIGNED.format(around=around, more=more)
    assert is_reached is ("GL101" in str(analyse(tmp_path, program, confidence=Confidence.LOW).found))


def test_a_copy_of_an_object_is_the_same_object(tmp_path: Path) -> None:
    """What `copy` and `deepcopy` give of anything but a tensor is of the same class, with the same attributes."""
    program = """
        import copy, torch
        class Options:
            def __init__(self):
                self.wide = False
        class Table:
            def read(self, x):
                return x.item()
        def main():
            x = torch.ones(4, device="cuda")
            table, options = Table(), Options()
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                copy.deepcopy(table).read(x)
                if copy.copy(options).wide:
                    x.item()
        """
    assert [8] == [line for _, line, code in analyse(tmp_path, program).shown if code == "GL101"]


def test_a_declared_function_behind_a_decorator_that_may_wrap_it_is_told_by_its_name(tmp_path: Path) -> None:
    """Which of the two runs is a condition like any other, and does not show the whole definition."""
    program = """
        import os, torch
        def logged(function):
            if os.environ.get("LOG"):
                return function
            def wrapper(*given):
                return function(*given)
            return wrapper

        @logged
        def step(x: torch.Tensor, y: torch.Tensor, more: torch.Tensor):
            return x.item()
        """
    report = analyse(tmp_path, program, regions=("main:step",)).report
    said = [condition.text for finding in report.findings for condition in finding.when]
    assert said and all(text.startswith("step is ") for text in said)


@pytest.mark.parametrize(
    ("looked_up", "may_be_missing"),
    [
        ('os.environ.get("SPLITS")', True),
        ('os.getenv("SPLITS")', True),
        ('re.match("[0-9]+", name)', True),
        ('str(os.environ.get("SPLITS"))', False),
        ("len(name)", False),
    ],
)
def test_what_the_host_looks_up_may_be_missing(looked_up: str, may_be_missing: bool, tmp_path: Path) -> None:
    program = f"""
        import os, re, torch
        def step(lengths: torch.Tensor, name: str):
            forced = {looked_up}
            if forced is not None:
                return lengths
            return lengths.min().item()
        """
    found = analyse(tmp_path, program, regions=("main:step",)).shown
    assert [code for _, _, code in found] == ["GL101"] * may_be_missing


_FLAGGED = """
import torch

class Buffer:
    def __init__(self, eager, n):
        self.eager = bool(eager)
        self.n = n
        {chosen}

    def change(self, n):
        {change}

def prepare(buffer: Buffer, x):
    if {asked}:
        return x[: buffer.total.item()]
    return x + buffer.total

def capture(eager, x: torch.Tensor, {given}):
    {made}
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        prepare(buffer, x)
"""
_BY_FLAG = """if self.eager:
            self.total = torch.empty(1, dtype=torch.int64, pin_memory=True)
        else:
            self.total = torch.empty(1, dtype=torch.int64, device="cuda")"""
_NEW = ("n", "buffer = Buffer(eager, 3)")
_GIVEN = ("buffer: Buffer", "pass")


@pytest.mark.parametrize(("given", "made"), [_NEW, _GIVEN])
@pytest.mark.parametrize(
    ("asked", "chosen", "change", "is_told"),
    [
        ("buffer.eager", _BY_FLAG, "pass", False),
        ("not buffer.eager", _BY_FLAG, "pass", True),
        ("not buffer.eager", _BY_FLAG.replace("if self", "if not self"), "pass", False),
        ("buffer.eager", _BY_FLAG.replace("if self.eager", "if n > 3"), "pass", True),
        ("buffer.eager", _BY_FLAG, "self.total = self.total + 1", True),
        ("buffer.eager", _BY_FLAG, "self.eager = not self.eager", True),
        ("buffer.eager", _BY_FLAG, "n.total = n", True),
        ("buffer.n", _BY_FLAG, "pass", True),
    ],
)
def test_what_an_object_is_made_with_stays_with_its_flag(
    tmp_path: Path, asked: str, chosen: str, change: str, is_told: bool, given: str, made: str
) -> None:
    """Where the flag is asked later, the attribute is that of the flag, if nothing has changed one of them."""
    text = _FLAGGED.format(asked=asked, chosen=chosen, change=change, given=given, made=made)
    assert is_told is ("GL101" in {one.code for one in analyse(tmp_path, text).report.findings})


COMPILED = """
import torch

class Sum(torch.nn.Module):
    def forward(self, x):
        return x.sum().item()

class Most(torch.nn.Module):
    def forward(self, x):
        return x

def named(name):
    if name == "sum":
        return Sum
    {other}

def main(name):
    model = torch.compile(named(name)().cuda(), mode="max-autotune")
    return model(torch.ones(4, device="cuda"))
"""


@pytest.mark.parametrize(
    ("other", "when"), [("return Most", ["isinstance(named(name)().cuda(), Sum)"]), ("return Sum", [])]
)
def test_which_model_is_compiled_is_a_condition(tmp_path: Path, other: str, when: list[str]) -> None:
    """Where it is one of several classes."""
    (finding,) = analyse(tmp_path, COMPILED.format(other=other)).report.findings
    assert [condition.text for condition in finding.when] == when
