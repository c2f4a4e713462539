"""What has to hold on the way to a finding is told in the words of the source, and says how sure it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

from graphlint.errors import UsageError
from graphlint.finding import Confidence

HEAD = """
import torch
from serve import Options, ready

def used(x):
    return x.item()

def step(options: Options, flag: bool, mode="fast", **keywords):
    x = torch.ones(4, device="cuda")
"""
OTHER = """
# file: serve.py
class Options:
    def __init__(self, kind, fast, scale):
        self.kind = kind
        self.fast = fast
        self.scale = scale

READY = object()

def ready():
    return READY
"""


def told(tmp_path: Path, body: str, **options: object) -> list[tuple[int, str, list[str]]]:
    """(line in the body, confidence, conditions) of each finding in `step`."""
    text = HEAD + "".join(f"    {line}\n" for line in body.splitlines()) + OTHER
    chosen = {"regions": ("main:step",), "confidence": Confidence.LOW} | options
    report = analyse(tmp_path, text, **chosen).report
    first = HEAD.count("\n")
    return [
        (
            (f.chain[-1].line if f.span.line < first else f.span.line) - first,
            str(f.confidence),
            [condition.text for condition in f.when],
        )
        for f in report.findings
    ]


@pytest.mark.parametrize(
    ("body", "conditions"),
    [
        ("x.item()", []),
        ("if flag:\n    x.item()", ["flag"]),
        ("if not flag:\n    x.item()", ["not flag"]),
        ("if flag:\n    pass\nelse:\n    x.item()", ["not flag"]),
        ("if not flag:\n    pass\nelse:\n    x.item()", ["flag"]),
        ('if options.kind == "dynamic":\n    x.item()', ['options.kind == "dynamic"']),
        ('if options.kind == "dynamic":\n    return x\nx.item()', ['options.kind != "dynamic"']),
        ("if options.scale < 2 and flag:\n    x.item()", ["options.scale < 2", "flag"]),
        ("if options.scale < 2 or flag:\n    return x\nx.item()", ["options.scale >= 2", "not flag"]),
        ("if options.scale < 2 and flag:\n    return x\nx.item()", ["not (options.scale < 2 and flag)"]),
        ("if options.kind is None or flag:\n    return x\nx.item()", ["options.kind is not None", "not flag"]),
        ("if True and flag:\n    x.item()", ["flag"]),
        ("if flag:\n    if options.fast:\n        x.item()", ["flag", "options.fast"]),
        ("if flag:\n    x = x + 1\nx.item()", []),
        ("if flag:\n    raise ValueError\nx.item()", []),
        ("if flag:\n    raise ValueError\nelse:\n    x.item()", []),
        ("for n in range(3):\n    if flag:\n        continue\n    x.item()", ["not flag"]),
        ("for n in range(3):\n    if flag:\n        continue\nx.item()", []),
        ("while options.fast:\n    x.item()", ["options.fast"]),
        ("y = x.item() if flag else 0", ["flag"]),
        ("y = 0 if flag else x.item()", ["not flag"]),
        ("y = flag and x.item()", ["flag"]),
        ("y = flag or x.item()", ["not flag"]),
        ("y = [one.item() for one in [x, x] if flag]", ["flag"]),
        ("try:\n    pass\nexcept KeyError:\n    x.item()", ["except KeyError"]),
        ('match options.kind:\n    case "a":\n        x.item()', ['options.kind == "a"']),
        ("if flag:\n    used(x)", ["flag"]),
        ("if flag:\n    used(x)\nelse:\n    used(x)", []),
        ("if flag:\n    used(x)\nelif options.fast:\n    used(x)\nelse:\n    used(x)", []),
        ("if flag:\n    used(x)\nif options.fast and flag:\n    used(x)", ["flag"]),
    ],
)
def test_a_finding_tells_the_conditions_on_its_way(tmp_path: Path, body: str, conditions: list[str]) -> None:
    """Those that are not known, each once; what happens whichever way a test comes out has none."""
    ((_, confidence, when),) = told(tmp_path, body)
    assert conditions == when
    assert ("high" if not conditions else "medium") == confidence


@pytest.mark.parametrize(
    ("body", "confidence"),
    [
        ('if mode == "slow":\n    x.item()', "medium"),
        ('if keywords.get("debug", False):\n    x.item()', "low"),
        ('if not keywords.get("debug", False):\n    x.item()', "medium"),
        ('if keywords.get("debug"):\n    x.item()', "medium"),
        ('if getattr(keywords["options"], "debug", False):\n    x.item()', "low"),
        ('kind = keywords.get("kind", "plain")\nif options.kind == "dynamic":\n    x.item()', "low"),
        ('kind = keywords.get("kind", "plain")\nif options.kind == "plain":\n    x.item()', "medium"),
        ('keywords.get("kind", keywords.get("type", "plain"))\nif "dyn" in keywords["kind"]:\n    x.item()', "low"),
        ('keywords.get("kind", 1)\nkeywords.get("kind", "a")\nif options.kind == "b":\n    x.item()', "low"),
        ('keywords.get("kind", "b")\nkeywords.get("kind", "a")\nif options.kind == "b":\n    x.item()', "medium"),
        (
            'keywords.get("kind", "a")\nOptions(kind="b", fast=1, scale=1)\nif options.kind == "b":\n    x.item()',
            "medium",
        ),
        ('keywords.get("kind", "a")\nkeywords["kind"] = "b"\nif options.kind == "b":\n    x.item()', "medium"),
    ],
)
def test_what_a_default_speaks_against_is_hardly_sure(tmp_path: Path, body: str, confidence: str) -> None:
    """A flag or a choice that the source gives a value; what is None by default is often given, parameters always."""
    ((_, found, _),) = told(tmp_path, body)
    assert confidence == found


@pytest.mark.parametrize("holder", ["self", "ctx"])
@pytest.mark.parametrize(("number", "confidence"), [(4, "medium"), (5, "low")])
def test_what_needs_many_things_at_once_is_hardly_sure(
    tmp_path: Path, number: int, confidence: str, holder: str
) -> None:
    """Several tests of one thing count once; what a pass backward finds in its context are several."""
    names = [f"flag{i}" for i in range(number)]
    body = "if options.a and not options.b and options.c == 1 and isinstance(options.d, int):\n    x.item()"
    assert [found for _, found, _ in told(tmp_path, body)] == ["medium"]
    body = "".join(f"{'    ' * i}if {holder}.{name}:\n" for i, name in enumerate(names)) + "    " * number + "x.item()"
    assert [found for _, found, _ in told(tmp_path, f"{holder} = options\n{body}")] == [confidence]


@pytest.mark.parametrize(
    ("effect", "flags", "confidences"),
    [
        ('torch.zeros(4, pin_memory=True).to("cuda", non_blocking=True)', "", {"medium", "high"}),
        ('torch.zeros(4, pin_memory=True).to("cuda", non_blocking=True)', "a", {"low"}),
        ("SEEN.append(x * 2)", "ab", {"medium", "high"}),
        ("SEEN.append(x * 2)", "abc", {"low"}),
    ],
)
def test_some_effects_need_a_way_of_few_conditions(
    tmp_path: Path, effect: str, flags: str, confidences: set[str]
) -> None:
    """Those of which none was true in what was read of others."""
    asked = " and ".join(f"{flag}(x)" for flag in flags) or "True"
    program = f"""
        import torch
        from other import a, b, c
        SEEN = []
        def step(x: torch.Tensor):
            if {asked}:
                {effect}
            return x
    """
    found = analyse(tmp_path, program, regions=("main:step",), confidence=Confidence.LOW).report.findings
    assert {one.confidence.name.lower() for one in found if one.code in ("GL205", "GL505")} <= confidences
    assert any(one.code in ("GL205", "GL505") for one in found)


@pytest.mark.parametrize(("asked", "confidence"), [("self.d and x.ndim", "medium"), ("self.e", "low")])
def test_what_is_asked_again_in_the_same_words_counts_once(tmp_path: Path, asked: str, confidence: str) -> None:
    """As who hands something on asks for it, and who gets it."""
    (tmp_path / "other.py").write_text(f"def read(self, x):\n    if {asked}:\n        x.item()\n")
    body = "from other import read\nself = options\nif self.a and self.b and self.c and self.d:\n    read(self, x)"
    assert [found for _, found, _ in told(tmp_path, body)] == [confidence]


@pytest.mark.parametrize(
    ("inner", "confidence"), [('mode == "slow"', "medium"), ('mode != "fast"', "low"), ("mode != 'fast'", "medium")]
)
def test_what_holds_and_does_not_is_hardly_sure(tmp_path: Path, inner: str, confidence: str) -> None:
    """The same words, in the function and in one that it calls, mean the same thing most of the time."""
    program = f"""
        import torch
        def inner(x, mode):
            if {inner}:
                x.item()
        def step(x: torch.Tensor, mode: str):
            if mode == "fast":
                inner(x, mode)
        """
    (finding,) = analyse(tmp_path, program, regions=("main:step",), confidence=Confidence.LOW).report.findings
    assert confidence == str(finding.confidence)


@pytest.mark.parametrize(("warm_up", "confidence"), [("pass", "medium"), ("layer.forward(x)", "low")])
@pytest.mark.parametrize("later", ["pass", "layer.forward(x)"])
@pytest.mark.parametrize(
    "unfilled",
    [
        "not self.ready",
        "self.scale is None",
        "n > self.size",
        "self.scale is None or n > self.size",
        "not (self.scale is not None and n == self.size)",
        "not (self.ready and n == self.size)",
        "x.shape not in self.rows",
        "not x.shape in self.rows",
    ],
)
def test_what_a_warm_up_fills_is_filled(
    tmp_path: Path, unfilled: str, warm_up: str, later: str, confidence: str
) -> None:
    """State that a function fills when it runs first is there where it ran before the region."""
    program = f"""
        import torch
        class Layer:
            def __init__(self):
                self.ready, self.scale, self.size, self.rows = False, None, 0, {{}}
            def fill(self, x):
                self.ready, self.scale, self.size = True, x.sum().item(), x.shape[0]
            def forward(self, x):
                n = x.shape[0]
                if {unfilled}:
                    self.fill(x)
                return x
        def main():
            layer = Layer()
            x = torch.ones(4, device="cuda")
            {warm_up}
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                layer.forward(x)
            {later}
        """
    report = analyse(tmp_path, program, confidence=Confidence.LOW).report
    assert {confidence} == {str(f.confidence) for f in report.findings if f.code == "GL101"}


@pytest.mark.parametrize(
    ("filling", "before", "confidence"),
    [
        ("self._index = x.sum().item()", "pass", "low"),
        ("self._index = x.sum().item()", "self._index = None", "medium"),
        ("self._index = x.sum().item()", "self._other = None", "low"),
        ("self._other = x.sum().item()", "pass", "medium"),
    ],
)
def test_what_is_emptied_again_or_never_filled_is_not_there(
    tmp_path: Path, filling: str, before: str, confidence: str
) -> None:
    """A warm-up fills what it assigns, until the region sets it to None; properties give attributes of their name."""
    program = f"""
        import torch
        class Layer:
            def __init__(self):
                self._index = None
                self._other = None
            def start(self, index):
                self._index = index
            @property
            def index(self):
                return self._index
            def forward(self, x):
                {before}
                if self.index is None:
                    {filling}
                return x
        def main():
            layer = Layer()
            x = torch.ones(4, device="cuda")
            layer.forward(x)
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                layer.forward(x)
        """
    report = analyse(tmp_path, program, confidence=Confidence.LOW).report
    assert {confidence} == {str(f.confidence) for f in report.findings if f.code == "GL101"}


@pytest.mark.parametrize("before", ["", "step(x, 2)"])
@pytest.mark.parametrize(
    ("kept", "confidence"),
    [
        ("global WORKSPACE\n            if WORKSPACE is None:\n                WORKSPACE = x.item()", "low"),
        ("known = TABLE.get(n)\n            if known is None:\n                TABLE[n] = x.item()", "low"),
        (
            "known = TABLE.get(n)\n            if known is not None:\n                return x\n            x.item()",
            "low",
        ),
        ("known = x if n else None\n            if known is None:\n                known = x.item()", "medium"),
    ],
)
def test_a_warm_up_fills_globals_and_tables(tmp_path: Path, kept: str, confidence: str, before: str) -> None:
    """What a local name holds is nothing that lasts."""
    program = f"""
        import torch
        WORKSPACE, TABLE = None, {{}}
        def step(x, n):
            {kept}
            return x
        def main(n):
            x = torch.ones(4, device="cuda")
            {before}
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                step(x, n)
        """
    report = analyse(tmp_path, program, confidence=Confidence.LOW).report
    expected = confidence if before else "medium"
    assert {expected} == {str(f.confidence) for f in report.findings if f.code == "GL101"}


@pytest.mark.parametrize(
    ("capture", "confidence"),
    [
        ("torch.cuda.make_graphed_callables(layer, (x,))", "low"),
        ("torch.compile(layer, mode='reduce-overhead')", "low"),
        (
            "for n in range(9):\n"
            "                with torch.cuda.graph(torch.cuda.CUDAGraph()) if n == 8 else contextlib.nullcontext():\n"
            "                    layer(x)",
            "low",
        ),
        ("torch.cuda.CUDAGraph().capture_begin()\n            layer(x)", "medium"),
    ],
)
def test_what_graphs_callables_warms_them_up(tmp_path: Path, capture: str, confidence: str) -> None:
    """It runs them a few times before it captures, as does a loop of which one round is captured."""
    program = f"""
        import contextlib
        import torch
        class Layer(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.index = None
            def forward(self, x):
                if self.index is None:
                    self.index = x.sum().item()
                return x
        def main():
            layer, x = Layer(), torch.ones(4, device="cuda")
            {capture}
        """
    report = analyse(tmp_path, program, confidence=Confidence.LOW).report
    assert {confidence} == {str(f.confidence) for f in report.findings if f.code == "GL101"}


def test_each_of_several_callees_is_one_of_the_conditions(tmp_path: Path) -> None:
    """An object of one class or another: what only one of them does happens where it is that one."""
    program = """
        import torch
        class Plain:
            def forward(self, x):
                return x
        class Reading:
            def forward(self, x):
                return x.item()
        class Model:
            def __init__(self, flag):
                self.part = Plain() if flag else Reading()
            def forward(self):
                return self.part.forward(torch.ones(4, device="cuda"))
        """
    finding = analyse(tmp_path, program, regions=("main:Model.forward",)).finding
    assert Confidence.MEDIUM is finding.confidence
    assert ["isinstance(self.part, Reading)"] == [condition.text for condition in finding.when]


MANAGED = """
import contextlib
import torch

class Timer:
    def __init__(self, x):
        self.x = x

    def __enter__(self):
        {entered}

    def __exit__(self, *args):
        {left}

    @contextlib.contextmanager
    def wrap(self):
        {entered}
        yield
        {left}

def timed(timer):
    return {ask}

class Runner:
    def __init__(self):
        self.timer = None

    def attach(self):
        self.timer = Timer(torch.zeros(3, device="cuda"))

    def capture(self):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            with {manager}:
                torch.zeros(3, device="cuda").add_(1)

Runner().capture()
"""


@pytest.mark.parametrize(("entered", "left"), [("self.x.item()", "pass"), ("pass", "self.x.item()")])
@pytest.mark.parametrize(
    ("ask", "manager", "condition"),
    [
        ("contextlib.nullcontext() if timer is None else timer.wrap()", "timed(self.timer)", " is Timer.wrap"),
        ("contextlib.nullcontext() if timer is None else timer", "timed(self.timer)", "isinstance("),
        ("None", "contextlib.nullcontext() if self.timer is None else self.timer.wrap()", " is Timer.wrap"),
    ],
)
def test_which_of_several_context_managers_is_entered_is_a_condition(
    tmp_path: Path, entered: str, left: str, ask: str, manager: str, condition: str
) -> None:
    program = MANAGED.format(entered=entered, left=left, ask=ask, manager=manager)
    finding = analyse(tmp_path, program, select=("GL101",)).finding
    assert str(finding.confidence) == "medium"
    assert any(condition in one.text and manager in one.text for one in finding.when)


def test_the_only_context_manager_is_entered_whenever_the_region_runs(tmp_path: Path) -> None:
    program = MANAGED.format(entered="self.x.item()", left="pass", ask="timer", manager="timed(Timer(self.x))")
    program = program.replace("self.timer = None", "self.x = torch.zeros(3, device='cuda')")
    finding = analyse(tmp_path, program, select=("GL101",)).finding
    assert (str(finding.confidence), finding.when) == ("high", ())


def test_what_decides_whether_a_region_begins_is_no_condition(tmp_path: Path) -> None:
    """It happens whenever the region runs."""
    program = """
        import torch
        def main(flag):
            x = torch.ones(4, device="cuda")
            graph = torch.cuda.CUDAGraph()
            if flag:
                with torch.cuda.graph(graph):
                    x.sum().item()
        """
    finding = analyse(tmp_path, program).finding
    assert () == finding.when
    assert Confidence.HIGH is finding.confidence


@pytest.mark.parametrize(
    ("assumed", "left"),
    [
        ((), [(2, ['options.kind == "a"']), (4, ["options.fast"])]),
        (("serve:Options.kind == 'b'",), [(4, ["options.fast"])]),
        (("serve:Options.kind in ('b', 'c')", "not serve:Options.fast"), []),
        (("serve:Options.kind == 'a'", "serve:Options.fast"), [(2, []), (4, [])]),
        (("serve:Options.kind in ('a', 'b')", "serve:Options.fast is None"), [(2, ['options.kind == "a"'])]),
    ],
)
def test_a_configuration_decides_conditions(
    tmp_path: Path, assumed: tuple[str, ...], left: list[tuple[int, list[str]]]
) -> None:
    """By what attributes of a class are: what they rule out goes, and what they decide is no condition."""
    body = 'if options.kind == "a":\n    x.item()\nif options.fast:\n    x.item()'
    assert left == [(line, when) for line, _, when in told(tmp_path, body, assume=assumed)]


@pytest.mark.parametrize(
    ("assumed", "said"),
    [
        ("service:Options.kind == 'b'", "no module `service` in the checked paths; did you mean `serve`?"),
        ("serve:Option.kind == 'b'", "no class `Option` in `serve`; did you mean `Options`?"),
        ("serve:Options.kin == 'b'", "nothing of `Options` is called `kin`"),
        ("serve:REDY is None", "`serve` binds no `REDY`"),
        ("serve:Options.kind < 3", "write it as in `serve.config:Options.backend == 'fa3'`"),
        ("serve:Options.kind(3) == 2", "write it as in `serve.config:Options.backend == 'fa3'`"),
    ],
)
def test_what_nothing_refers_to_cannot_be_assumed(tmp_path: Path, assumed: str, said: str) -> None:
    """One line says what is not there."""
    with pytest.raises(UsageError) as refused:
        told(tmp_path, "x.item()", assume=(assumed,))
    assert f"assume `{assumed}`: {said}" in str(refused.value)


@pytest.mark.parametrize(("asked", "confidence"), [("self.ready", "low"), ("self.fast", "medium")])
def test_a_flag_that_a_warm_up_sets_is_set(tmp_path: Path, asked: str, confidence: str) -> None:
    """One that nothing sets there is a choice, whoever ran before."""
    program = f"""
        import torch
        class Layer:
            def __init__(self, fast):
                self.ready, self.fast = False, fast
            def prepare(self, x):
                if {asked}:
                    return
                self.ready = True
                x.item()
        def main(fast):
            layer, x = Layer(fast), torch.ones(4, device="cuda")
            layer.prepare(x)
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                layer.prepare(x)
        """
    report = analyse(tmp_path, program, confidence=Confidence.LOW).report
    assert {confidence} == {str(f.confidence) for f in report.findings if f.code == "GL101"}


SPREAD = """
import torch

class Model(torch.nn.Module):
    def forward(self, x, pixels=None):
        return embed(x, pixels=pixels)

def embed(x, pixels=None):
    if pixels {asked} None:
        return x.item()
    return x

def handed(*args, **kwargs):
    return Model()(*args, **kwargs)

def capture(request, inputs, more):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        {call}
"""


@pytest.mark.parametrize(
    ("call", "asked", "confidence"),
    [
        ("handed(*inputs)", "is not", "low"),
        ("handed(*inputs, **request.more)", "is not", "low"),
        ("handed(*inputs)", "is", "medium"),
        ("handed(*inputs, pixels=request.pixels)", "is not", "medium"),
        ("handed(request.x, request.pixels)", "is not", "medium"),
        ('more["pixels"] = request.pixels\n        handed(*inputs, **more)', "is not", "medium"),
    ],
)
def test_what_no_call_names_is_hardly_given(tmp_path: Path, call: str, asked: str, confidence: str) -> None:
    """A parameter has its default where the arguments are spread from something that nobody knows."""
    report = analyse(tmp_path, SPREAD.format(call=call, asked=asked), confidence=Confidence.LOW).report
    assert [("GL101", confidence)] == [(found.code, str(found.confidence)) for found in report.findings]


@pytest.mark.parametrize(
    ("given", "asked", "confidence"),
    [
        ("has = pixels is not None", "has", "low"),
        ("has = pixels is not None and x is not None", "has is True", "low"),
        ("has = pixels is not None or x is not None", "has", "medium"),
        ("none = pixels is None", "not none", "low"),
        ("none = pixels is None", "none is False", "low"),
        ("none = pixels is None", "none", "medium"),
        ("has = pixels is not None\n    has = x.ndim > 2", "has", "medium"),
    ],
)
def test_what_a_local_name_was_given_asks_the_same(tmp_path: Path, given: str, asked: str, confidence: str) -> None:
    """It is looked up if it is given one thing alone."""
    program = SPREAD.replace("if pixels {asked} None:", f"{given}\n    if {asked}:").replace(
        "{call}", "handed(*inputs)"
    )
    report = analyse(tmp_path, program, confidence=Confidence.LOW).report
    assert [("GL101", confidence)] == [(found.code, str(found.confidence)) for found in report.findings]


WRAPPED = """
import torch

def logged(function):
    if level == 0:
        return function
    def call(*args):
        print(args[0].shape)
        return function(*args[1:])
    return call

@logged
def step(x):
    return x.item()

def capture(x: torch.Tensor):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        step(x)
"""


def test_what_a_decorator_may_leave_as_it_is_is_said_so(tmp_path: Path) -> None:
    """Both sides of `step is step` have one name."""
    found = analyse(tmp_path, WRAPPED, confidence=Confidence.LOW).report.findings
    assert ["step is not wrapped"] in [[one.text for one in finding.when] for finding in found]


def test_a_container_that_a_class_may_have_is_asked_for_each_time(tmp_path: Path) -> None:
    """What is stored in it where it is there says nothing of where it is not."""
    program = """
import torch

class Layer:
    shown: dict | None = None

    def __call__(self, x):
        if Layer.shown is not None:
            Layer.shown["x"] = x
        if Layer.shown is not None:
            x.sum().item()
        return x

def show():
    Layer.shown = {}

layer = Layer()
x = torch.ones(4, device="cuda")
layer(x)
with torch.cuda.graph(torch.cuda.CUDAGraph()):
    layer(x)
"""
    (finding,) = analyse(tmp_path, program, select=("GL101",)).report.findings
    assert ["Layer.shown is not None"] == [condition.text for condition in finding.when]


APART = """
import torch

class Layer:
    shown: dict | None = {default}

    def __call__(self, x):
        if Layer.shown is not None:
            x.sum().item()
        return x

# file: serve.py
import torch
from main import Layer
{used}

layer = Layer()
x = torch.ones(4, device="cuda")
layer(x)
with torch.cuda.graph(torch.cuda.CUDAGraph()):
    layer(x)

# file: look.py
from main import Layer

def show():
    Layer.shown = {{}}
"""


@pytest.mark.parametrize(
    ("default", "used", "is_told"), [("None", "", False), ("None", "import look", True), ("{}", "", True)]
)
def test_what_only_a_script_apart_sets_is_not_set_in_a_capture(
    tmp_path: Path, default: str, used: str, is_told: bool
) -> None:
    """A member of a class that is there to look at what runs: nobody imports what gives it something."""
    program = APART.format(default=default, used=used)
    assert [code for *_, code in analyse(tmp_path, program).shown] == ["GL101"] * is_told


ENCODING = """
import torch

class Encoding(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.pe = None
        self.extend(torch.tensor(0.0).expand(1, 5000))

    def extend(self, x):
        if self.pe is not None:
            if self.pe.size(1) >= x.size(1):
                {left}
        self.pe = torch.zeros(1, x.size(1)).to(x.device)

    def forward(self, x: torch.Tensor):
        self.extend(x)
        return x * self.pe[:, : x.size(1)]
"""


@pytest.mark.parametrize(
    ("left", "when"), [("return", ["self.pe is not None", "self.pe.size(1) < x.size(1)"]), ("print(x.shape)", [])]
)
def test_what_is_left_where_kept_state_fits_is_a_condition(tmp_path: Path, left: str, when: list[str]) -> None:
    """That there is none yet is the first run alone."""
    report = analyse(tmp_path, ENCODING.format(left=left), regions=("main:Encoding.forward",), select=("GL202",)).report
    (finding,) = report.findings
    assert when == [condition.text for condition in finding.when]


@pytest.mark.parametrize(
    ("files", "tests", "confidence"),
    [(7, 4, Confidence.LOW), (7, 3, Confidence.MEDIUM), (4, 4, Confidence.MEDIUM)],
)
def test_a_way_through_many_files_under_many_conditions_is_told_in_a_low_voice(
    tmp_path: Path, files: int, tests: int, confidence: Confidence
) -> None:
    for number in range(files):
        ask = f"if MODE_{number}:\n        " if number < tests else ""
        onward = f"part{number + 1}.step(x)" if number + 1 < files else "x.item()"
        more = f"import part{number + 1}\n" if number + 1 < files else ""
        mode = f"import os\nMODE_{number} = os.cpu_count()\n"
        text = f"{more}{mode}def step(x):\n    {ask}return {onward}\n"
        (tmp_path / f"part{number}.py").write_text(text, encoding="utf-8")
    program = """
    import part0
    import torch

    def run(x: torch.Tensor):
        return part0.step(x)
    """
    found = analyse(tmp_path, program, regions=("main:run",), confidence=Confidence.LOW)
    assert found.finding.confidence == confidence
