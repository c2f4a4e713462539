"""A table of a project in; its names mean what those of torch mean."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from analysis import Analysis, analyse, in_region, write

from graphlint import static
from graphlint.config import Config
from graphlint.rulebook import builtin_rules, load_rulebook

READER = """
    import acme
    def read(y):
        return y.item()  # expect: GL101
    """
AUTOGRAD = """
    import acme
    class Double(acme.Function):
        @staticmethod
        def forward(ctx, y):
            return y * 2{forward}
        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2{backward}
    """
MADE = """
    import acme
    class Reader(acme.Model):
        def __call__(self, y):
            return y.item()  # expect: GL101
    class Other(acme.Model):
        def __call__(self, y):
            return y.tolist()
    """
READS = " + y.item()  # expect: GL101"
MODULES = """
    import acme
    class Reader(torch.nn.Module):
        def forward(self, y):
            return y.item()  # expect: GL101
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            {init}
        def forward(self, y):
            {forward}
    model = Model()
    """


def modules(init: str, forward: str) -> str:
    return textwrap.dedent(MODULES).format(init=init, forward=forward)


CASES = {
    "a guard": ('guards."acme.is_quiet" = true', in_region("if not acme.is_quiet(): x.item()", "import acme")),
    "a function that calls its first argument": (
        'callables.called = ["acme.run"]',
        in_region("acme.run(read, x)", READER),
    ),
    "a function that calls one of two branches": (
        'callables.branches = ["acme.choose"]',
        in_region("acme.choose(number, read, len, (x,))", READER),
    ),
    "a method that makes an object of the class that it is called on": (
        'methods.makes = ["acquire"]',
        in_region("READER(x)", MADE + "READER = Reader.acquire('weights')"),
    ),
    "a class of autograd functions": (
        'callables.applied = ["acme.Function"]',
        in_region("Double.apply(x)", textwrap.dedent(AUTOGRAD).format(forward=READS, backward="")),
    ),
    "a function that runs the backward pass": (
        'callables = { applied = ["acme.Function"], backward = ["acme.differentiate"] }',
        in_region(
            "acme.differentiate(Double.apply(x))",
            textwrap.dedent(AUTOGRAD).format(forward="", backward=READS.replace("y", "gradient")),
        ),
    ),
    "a list of modules": (
        'containers.list = ["acme.Layers"]',
        in_region("model(x)", modules("self.parts = acme.Layers([Reader()])", "[part(y) for part in self.parts]")),
    ),
    "a dict of modules": (
        'containers.dict = ["acme.Layers"]',
        in_region("model(x)", modules("self.parts = acme.Layers({'a': Reader()})", "self.parts['a'](y)")),
    ),
    "modules one after the other": (
        'containers.sequential = ["acme.Chain"]',
        in_region("model(x)", modules("self.parts = acme.Chain(Reader(), Reader())", "self.parts(y)")),
    ),
    "a package of modules": (
        'modules.namespaces = ["acme.nn"]',
        in_region(
            "model(x)",
            """
            import acme
            class Model(acme.nn.Block):
                def __init__(self):
                    self.register_buffer("kept", torch.zeros(4))
                def forward(self, y):
                    return 1 if self.kept else y  # expect: GL301
            model = Model()
            """,
        ),
    ),
    "a function that gives a module": (
        'named."acme.gpu" = "torch.cuda"',
        in_region("acme.gpu().synchronize()  # expect: GL103", "import acme"),
    ),
    "a type of devices": ('devices.device = ["acme"]', in_region('if x.device.type != "acme": x.item()')),
    "a class of tensors": (
        'tensors.some = ["acme.Batch"]',
        in_region(
            "read(x, unknown)",
            """
            import acme
            def read(x, y: acme.Batch):
                return y if isinstance(y, torch.Tensor) else x.item()
            """,
        ),
    ),
    "a class of parameters": (
        'tensors.parameters = ["acme.Weight"]',
        in_region(
            "return 1 if weight else 2  # expect: GL301", "import acme, torch\nweight = acme.Weight(torch.zeros(1))"
        ),
    ),
    "a test for tensors": (
        'tensors.tests = ["acme.holds_data"]',
        in_region("y = x if number else 3\nreturn y if acme.holds_data(y) else y.item()", "import acme"),
    ),
    "a dtype": (
        'dtypes.bool = ["acme.mask"]',
        in_region("return x[x.to(acme.mask)]  # expect: GL305", "import acme"),
    ),
}


def analysed(folder: Path, program: str, **tables: str) -> Analysis:
    """What is said of a program with these tables besides the built-in ones."""
    rules = folder / "rules"
    rules.mkdir()
    for name, text in tables.items():
        (rules / f"{name}.toml").write_text(textwrap.dedent(text), encoding="utf-8")
    write(folder / "program", program)
    rulebook = load_rulebook(builtin_rules(), rules)
    return Analysis(static.check([folder / "program"], Config(root=folder), rulebook), folder / "program")


@pytest.mark.parametrize("case", CASES)
def test_a_name_means_what_a_table_says(tmp_path: Path, case: str) -> None:
    """With the row, what is expected is found and nothing else; without it, something is missing or too much."""
    row, program = CASES[case]
    for number, lexicon in enumerate((row, "")):
        folder = tmp_path / str(number)
        folder.mkdir()
        analysis = analysed(folder, program, lexicon=lexicon)
        assert (analysis.found == analysis.expected) is bool(lexicon), analysis.found


def test_what_a_capture_entry_takes_stands_in_the_table(tmp_path: Path) -> None:
    """The keyword of what it compiles, and the values that imply that it is captured."""
    regions = """\
    [[entry]]
    kind = "acme.compile"
    form = "compile"
    names = ["acme.compile"]
    marks = ["acme"]
    takes = ["function"]
    graphing = { mode = ["fast"], options = ["graphs"] }
    """
    program = """
    import acme

    def first(x):
        return x.item()  # expect: GL101

    def second(x):
        return x.item()  # expect: GL101

    def third(x):
        return x.item()

    acme.compile(function=first, mode="fast")
    acme.compile(second, options={"graphs": True})
    acme.compile(function=third, mode="slow")
    acme.compile(other=third, mode="fast")
    acme.compile(third, options={"graphs": False})
    """
    analysis = analysed(tmp_path, program, regions=regions)
    assert analysis.expected == analysis.found
    assert {"acme.compile"} == {region.kind for region in analysis.regions}


SHARED = """
import torch

_tracker = None
_other = None

class Plain:
    def rows(self, x):
        return x.item()

class Quiet:
    def rows(self, x):
        return x

def initialize(is_quiet):
    global _tracker
    kind = Quiet if is_quiet else {kind}
    _tracker = {made}

def get():
    initialize(True)
    return {got}

def capture():
    x = torch.ones(1, device="cuda")
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        get().rows(x)
"""


@pytest.mark.parametrize(
    ("kind", "made", "got", "is_told"),
    [
        ("Plain", "kind()", "_tracker", True),
        ("Plain", "Plain()", "_tracker", True),
        ("Quiet", "kind()", "_tracker", False),
        ("Plain", "None", "_tracker", False),
        ("Plain", "kind()", "_other", False),
    ],
)
def test_a_global_that_a_function_makes_is_of_the_classes_that_it_names(
    tmp_path: Path, kind: str, made: str, got: str, is_told: bool
) -> None:
    """There is one object for all, made when it is first asked for."""
    found = analyse(tmp_path, SHARED.format(kind=kind, made=made, got=got)).shown
    assert is_told is ("GL101" in {code for _, _, code in found})
