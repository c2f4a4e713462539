"""`graphlint init`: what it proposes for a project, and what it leaves alone."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from string import ascii_uppercase

import pytest
from static.analysis import write

from graphlint import static
from graphlint.cli import commands
from graphlint.config import Config, load_config
from graphlint.errors import UsageError
from graphlint.initial import DECLARED, propose
from graphlint.static.regions.proposals import MOST
from graphlint.static.regions.survey import Survey
from graphlint.targets import Target

MODELS = """
# file: serve/__init__.py
# file: serve/model.py
import torch
from transformers import PreTrainedModel
from torch import nn

class Norm(nn.Module):
    def forward(self, x):
        return x

class Block(nn.Module):
    def __init__(self):
        self.norm = Norm()

    def forward(self, x):
        return self.norm(x)

class Decoder(PreTrainedModel):
    def __init__(self):
        self.block = Block()

    def forward(self, x):
        return self.block(x).item()

class Gate(nn.Module):
    def forward(self, x):
        return x

class Parser:
    def forward(self, x):
        return x
# file: tests/test_model.py
from torch import nn

class Fake(nn.Module):
    def forward(self, x):
        return x
"""
CAPTURE = """
# file: run.py
import torch
from serve.model import Gate

def capture(x):
    gate = Gate()
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        gate(x)
"""


def survey(folder: Path) -> Survey:
    return static.survey([folder], Config(root=folder))


def init(folder: Path, *options: str) -> None:
    commands.main(["init", str(folder), *options], standalone_mode=False)


def test_models_that_nothing_uses_are_candidates(tmp_path: Path) -> None:
    """The one that is built of most others stands first; parts, tests and what is no module are left out."""
    found = survey(write(tmp_path, MODELS))
    assert ("serve.model:Decoder.forward", "serve.model:Gate.forward") == found.models
    assert ("transformers",) == found.packages and () == found.regions


def test_what_a_region_reaches_is_no_candidate(tmp_path: Path) -> None:
    """It is judged already."""
    found = survey(write(tmp_path, MODELS + CAPTURE.lstrip("\n")))
    assert ("serve.model:Decoder.forward",) == found.models
    assert [("torch.cuda.graph", "run.py", 6)] == [(r.kind, Path(r.path).name, r.line) for r in found.regions]


def test_the_table_is_valid_and_finds_what_it_declares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is written is explained, and the next check has regions."""
    init(write(tmp_path, MODELS))
    out, _ = capsys.readouterr()
    assert "The code opens no capture region." in out and '# follow-installed = ["transformers"]' in out
    config = load_config(tmp_path)
    assert ("serve.model:Decoder.forward", "serve.model:Gate.forward") == config.regions
    assert 1 == commands.main(["check", str(tmp_path)], standalone_mode=False)


def test_a_project_with_regions_declares_nothing_by_itself(tmp_path: Path) -> None:
    """Candidates are remarks, and the regions are named."""
    init(write(tmp_path, MODELS + CAPTURE.lstrip("\n")))
    text = (tmp_path / "pyproject.toml").read_text("utf-8")
    assert {"tool": {"graphlint": {}}} == tomllib.loads(text)
    assert "#   torch.cuda.graph at run.py:6\n" in text and '#     "serve.model:Decoder.forward",\n' in text


def test_of_many_candidates_the_first_are_declared(tmp_path: Path) -> None:
    """Nobody captures them all, and nothing would be looked at without any; the number of the others is told."""
    models = tuple(f"m:M{number}.forward" for number in range(DECLARED + 2))
    table = propose(Survey(1, (), models, ()), tmp_path)
    assert {"tool": {"graphlint": {"regions": [*models[:DECLARED]]}}} == tomllib.loads(table)
    assert "# 2 other models could be declared as well.\n" in table


def test_an_empty_project_gets_an_example(tmp_path: Path) -> None:
    """The file is made, and can be read."""
    init(tmp_path)
    assert () == load_config(tmp_path).regions
    assert 'regions = ["serve.model:Decoder.forward"]' in (tmp_path / "pyproject.toml").read_text("utf-8")


def test_what_stands_in_the_file_stays(tmp_path: Path) -> None:
    """The table comes behind it, after one empty line."""
    file = tmp_path / "pyproject.toml"
    file.write_text('[project]\nname = "é"  # ours\n\n\n', encoding="utf-8")
    init(tmp_path)
    assert file.read_text("utf-8").startswith('[project]\nname = "é"  # ours\n\n[tool.graphlint]\n')


@pytest.mark.parametrize("table", ['[tool.graphlint]\nignore = ["GL1"]\n', "[tool.graphlint]\n"])
@pytest.mark.parametrize("options", [(), ("--dry-run",)])
def test_a_table_is_never_overwritten(tmp_path: Path, table: str, options: tuple[str, ...]) -> None:
    """Neither one with keys nor an empty one."""
    (tmp_path / "pyproject.toml").write_text(table)
    with pytest.raises(UsageError, match=r"has a \[tool.graphlint\] table, which stays as it is"):
        init(tmp_path, *options)
    assert table == (tmp_path / "pyproject.toml").read_text()


def test_a_table_that_cannot_be_written_is_called_so(tmp_path: Path) -> None:
    """It is no report."""
    (tmp_path / "pyproject.toml").symlink_to("nowhere/pyproject.toml")
    with pytest.raises(UsageError, match=r"^cannot write the table to .*: No such file"):
        init(tmp_path)


def test_a_dry_run_shows_the_change_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a diff."""
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\n')
    init(tmp_path, "--dry-run")
    out, _ = capsys.readouterr()
    assert out.startswith(f"--- {tmp_path}/pyproject.toml\n+++ ") and "\n+[tool.graphlint]\n" in out
    assert '[project]\nname = "x"\n' == (tmp_path / "pyproject.toml").read_text()


ENGINE = """
# file: serve/run.py
import torch

class Runner:
    def __init__(self, config):
        self.model = load(config)

    def capture(self, ids):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            self.model(ids)
# file: serve/models/__init__.py
""" + "".join(
    f"""
# file: serve/models/m{number}.py
from torch import nn

class M{number}Layer(nn.Module):
    def forward(self, ids):
        return ids

class M{number}ForCausalLM(nn.Module):
    def __init__(self):
        self.layer = M{number}Layer()

    def forward(self, ids):
        return self.layer(ids).item()
""".lstrip("\n")
    for number in range(5)
)


def test_what_fits_a_call_that_nobody_knows_is_a_target(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Many models are one pattern, which means none of their parts; the next check looks into them."""
    init(write(tmp_path, "# file: serve/__init__.py" + ENGINE))
    (target,) = load_config(tmp_path).targets
    assert Target("serve.run:Runner.capture", ("serve.models.*:*ForCausalLM.forward",), "self.model") == target
    capsys.readouterr()
    assert 1 == commands.main(["check", str(tmp_path)], standalone_mode=False)
    out, _ = capsys.readouterr()
    assert "found 5 errors" in out and "not looked at" not in out


def test_what_a_script_calls_is_no_target(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It stands in no function that a target could name; the table that is written is a valid one."""
    script = "def load(path):\n    return path\n\nmodel = load(open('x'))\nids = torch.ones(4, device='cuda')\n"
    script += "with torch.cuda.graph(torch.cuda.CUDAGraph()):\n    model(ids)\n"
    init(write(tmp_path, f"# file: serve/__init__.py{ENGINE}# file: serve/main.py\nimport torch\n\n{script}"))
    assert ["serve.run:Runner.capture"] == [target.at for target in load_config(tmp_path).targets]
    capsys.readouterr()
    assert 1 == commands.main(["check", str(tmp_path)], standalone_mode=False)


def test_few_classes_are_named_one_by_one(tmp_path: Path) -> None:
    """Four can be read; what takes other arguments is left out."""
    others = ENGINE.replace(
        "def forward(self, ids):\n        return self.layer", "def forward(self, ids, x):\n        return self.layer", 3
    )
    found = survey(write(tmp_path, "# file: serve/__init__.py" + others))
    runs = tuple(f"serve.models.m{number}:M{number}ForCausalLM.forward" for number in (3, 4))
    assert [runs] == [target.runs for target in found.targets]


@pytest.mark.parametrize(("number", "is_told"), [(MOST, True), (MOST + 1, False)])
def test_many_classes_that_have_nothing_in_common_are_no_target(tmp_path: Path, number: int, is_told: bool) -> None:
    """Whoever calls `module(x)` takes any of them: that they fit says nothing."""
    parts = "from torch import nn\nclass Part(nn.Module):\n    def forward(self, x):\n        return x\n"
    for letter in ascii_uppercase[:number]:
        parts += f"class {letter}tower(nn.Module):\n    def forward(self, ids):\n        return Part()(ids)\n"
    engine = ENGINE.partition("# file: serve/models/")[0]
    found = survey(
        write(tmp_path, f"# file: serve/__init__.py{engine}# file: serve/parts.py\nfrom torch import nn\n{parts}")
    )
    assert [number] * is_told == [len(target.runs) for target in found.targets]


@pytest.mark.parametrize("path", ["tests/test_run.py", "serve/benchmarks/run.py"])
def test_what_a_test_calls_is_no_target(tmp_path: Path, path: str) -> None:
    """It has made that itself, as has who measures, and is none of the models that fit."""
    moved = ENGINE.replace("# file: serve/run.py", f"# file: {path}")
    assert () == survey(write(tmp_path, f"# file: serve/__init__.py{moved}")).targets


def test_what_shares_its_name_with_another_file_is_no_target(tmp_path: Path) -> None:
    """Which of those in several folders the name of a script stands for, nobody knows."""
    parts = "".join(
        f"# file: {folder}/parts.py\nfrom torch import nn\n\nclass {folder}Tower(nn.Module):\n"
        "    def forward(self, ids):\n        return ids\n"
        for folder in ("Far", "Near")
    )
    init(write(tmp_path, f"{ENGINE.lstrip()}{parts}".replace("self.model(ids)", "self.tower(ids)")))
    assert () == load_config(tmp_path).targets
    assert 0 == commands.main(["check", str(tmp_path)], standalone_mode=False)


@pytest.mark.parametrize(
    ("call", "runs"),
    [
        ("self.vision_tower(ids)", ("serve.parts:VisionTower.forward",)),
        ("self.rollout(ids)", ()),
        ("self.vision_fn(ids)", ()),
        ("self.func(ids)", ()),
        ("self.decoder.propose(ids)", ("serve.parts:Decoder.propose",)),
        ("self.table.propose(ids)", ()),
        ("self.model.propose(ids)", ("serve.parts:Decoder.propose",)),
        ("self.model.propose_all(ids)", ()),
        ("self.model(ids)", ("serve.models.*:*ForCausalLM.forward",)),
    ],
)
def test_a_target_is_what_the_call_speaks_of(tmp_path: Path, call: str, runs: tuple[str, ...]) -> None:
    """A class shares a word with the name that is called; where that says nothing of which, it is a whole model."""
    parts = """
# file: serve/parts.py
from torch import nn

class VisionTower(nn.Module):
    def forward(self, ids):
        return ids

class Decoder:
    def propose(self, ids):
        return ids
"""
    engine = ENGINE.replace("self.model(ids)", call)
    found = survey(write(tmp_path, f"# file: serve/__init__.py{engine}{parts.lstrip()}"))
    assert ([runs] if runs else []) == [target.runs for target in found.targets]


NEAR = """
# file: serve/__init__.py
# file: serve/fast/__init__.py
# file: serve/slow/__init__.py
# file: serve/{runs}/run.py
import torch
from torch import nn

{own}

class Runner:
    def capture(self, decoder, model, ids):
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            {called}(ids)
# file: serve/fast/model.py
from torch import nn

class Layer(nn.Module):
    def forward(self, ids):
        return ids

class FastDecoder(nn.Module):
    def __init__(self):
        self.layer = Layer()

    def forward(self, ids):
        return self.layer(ids)
# file: serve/slow/model.py
from torch import nn
from serve.fast.model import Layer

class SlowDecoder(nn.Module):
    def __init__(self):
        self.layer = Layer()

    def forward(self, ids):
        return self.layer(ids)
"""
FAST, SLOW = "serve.fast.model:FastDecoder.forward", "serve.slow.model:SlowDecoder.forward"
OWN = "class _Own(nn.Module):\n    def forward(self, ids):\n        return ids"


@pytest.mark.parametrize(
    ("runs", "own", "called", "expected"),
    [
        ("fast", "", "decoder", (FAST,)),
        ("slow", "", "decoder", (SLOW,)),
        ("", "", "decoder", (FAST, SLOW)),
        ("fast", OWN, "model", (FAST,)),
        ("", OWN, "model", ("serve.run:_Own.forward",)),
    ],
)
def test_of_several_classes_those_that_are_near_are_the_target(
    tmp_path: Path, runs: str, own: str, called: str, expected: tuple[str, ...]
) -> None:
    """In the package of the call; where it has none, in the very file."""
    text = NEAR.format(runs=runs, own=own, called=called).replace("//", "/")
    assert [expected] == [target.runs for target in survey(write(tmp_path, text)).targets]


LIBRARY = """
# file: kernels/__init__.py
from kernels.ops import masked as masked, scaled, named, as_array, create_state, Wrapper
from kernels.ops import _hidden

def version():
    return "1"
# file: kernels/ops.py
import numpy
import torch

def masked(x):
    assert (x >= 0).all()
    return x

def scaled(x: torch.Tensor, scale: float):
    return x * scale

def named(name: str):
    return name.upper()

def inner(x: torch.Tensor):
    return x

def _hidden(x: torch.Tensor):
    return x

def as_array(x: torch.Tensor) -> numpy.ndarray:
    return x.cpu().numpy()

def create_state(x: torch.Tensor):
    return x.tolist()

class Wrapper:
    def plan(self, sizes):
        self.sizes = sizes

    def run(self, q: torch.Tensor):
        return q

class Adam(torch.optim.Optimizer):
    def step(self):
        pass

    def add(self, group):
        pass

class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2
# file: tests/test_ops.py
import torch

def helper(x: torch.Tensor):
    return x
"""


def test_what_a_library_offers_is_declared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Functions that packages export and that take tensors, what wrappers run, steps, and both passes."""
    init(write(tmp_path, LIBRARY))
    assert (
        "kernels.ops:masked",
        "kernels.ops:scaled",
        "kernels.ops:Wrapper.run",
        "kernels.ops:Adam.step",
        "kernels.ops:Double.forward",
        "kernels.ops:Double.backward",
    ) == load_config(tmp_path).regions
    capsys.readouterr()
    assert 1 == commands.main(["check", str(tmp_path)], standalone_mode=False)
    assert "GL301" in capsys.readouterr().out


def test_a_library_that_exports_nothing_offers_what_is_public(tmp_path: Path) -> None:
    """Its modules are imported one by one; so are those of a package that exports nothing beside one that does."""
    program = LIBRARY.replace(
        "from kernels.ops import masked as masked, scaled, named, as_array, create_state, Wrapper\n", ""
    )
    other = "# file: kernels/more/__init__.py\nfrom kernels.more.parts import part\n# file: kernels/more/parts.py\n"
    other += "import torch\n\ndef part(x: torch.Tensor):\n    return x\n\ndef own(x: torch.Tensor):\n    return x\n"
    offered = survey(write(tmp_path, program + other)).exports
    assert {"kernels.ops:inner", "kernels.more.parts:part"} <= {*offered} and "kernels.more.parts:own" not in offered


@pytest.mark.parametrize(
    ("given", "is_offered"),
    [
        ('y = torch.zeros(4, device="cpu")\n    fill(y, x.cpu())\n    return y', False),
        ('return torch.zeros(4, device="cpu") + x.cpu()', True),
        ("return backend().on_host(x)", False),
        ("return backend().elsewhere(x)", True),
        ('y = torch.zeros(4, device="cuda")\n    return y', True),
        ('y = torch.zeros(4, device="cpu")\n    return x + y.to(x.device)', True),
    ],
)
def test_what_gives_what_it_has_made_on_the_host_is_not_offered(tmp_path: Path, given: str, is_offered: bool) -> None:
    """It gives what it has made there; a value of the host on the way is none of that."""
    more = f"""
def unpacked(x: torch.Tensor):
    {given}

def backend():
    def on_host(x):
        y = torch.zeros(4, device="cpu")
        fill(y, x.cpu())
        return y
    def elsewhere(x):
        return x
    return Namespace(on_host=on_host, elsewhere=elsewhere)
# file: tests/test_ops.py"""
    program = LIBRARY.replace("import masked as masked", "import unpacked, masked as masked")
    offered = survey(write(tmp_path, program.replace("\n# file: tests/test_ops.py", more))).exports
    assert "kernels.ops:masked" in offered and ("kernels.ops:unpacked" in offered) is is_offered


CHECKED = """
# file: kernels/__init__.py
from kernels.ops import compare, scaled, scaled_reference, tested, tested_here, tree_verify, verify_tree, visualize_tree
# file: kernels/ops.py
import cv2
import numpy as np
import torch
from torch.testing import assert_close
from tqdm.auto import trange

def scaled(x: torch.Tensor, scale: float):
    return x * scale

def verify_tree(x: torch.Tensor):
    return x

def tree_verify(x: torch.Tensor):
    return x

def compare(x: torch.Tensor, y: torch.Tensor):
    return x.cpu() == y.cpu()

def visualize_tree(x: torch.Tensor):
    return x.cpu()

def scaled_reference(x: torch.Tensor, scale: float):
    return x.cpu() * scale

def tested(x: torch.Tensor, y: torch.Tensor):
    assert_close(x.cpu(), y.cpu())

def tested_here(x: torch.Tensor, y: torch.Tensor):
    if x.is_cuda:
        torch.testing.assert_close(x.cpu(), y.cpu())

def sampled(x: torch.Tensor, steps: int):
    for _ in trange(steps):
        x = x * 2
    return x

def read(x: torch.Tensor, path: str):
    return x + torch.from_numpy(cv2.imread(path))

def kept(x: torch.Tensor, path: str):
    torch.save(x, path)

def answered(x: torch.Tensor, graph: torch.cuda.CUDAGraph):
    x[0] = 1
    graph.replay()

class Step:
    def run(self, x: torch.Tensor):
        self.x[0] = x
        self.graph.replay()

def print_tree(x: torch.Tensor):
    return x.tolist()

def mask_of(x: torch.Tensor):
    offsets = x.tolist()

    def mask(row, column):
        return row >= offsets[column]

    return mask

def shuffled(x: torch.Tensor, state: np.random.RandomState | None = None):
    return x[state.permutation(4)]

def make_table(x: torch.Tensor):
    return x.tolist()

def repack_weights(x: torch.Tensor):
    return x.tolist()

def ring_config(x: torch.Tensor):
    return x.tolist()

def FusedLayer(x: torch.Tensor):
    return x.tolist()

def MoEEpLayer(x: torch.Tensor):
    return x.tolist()

def short_decode_plan(x: torch.Tensor):
    return x.tolist()

def opened(x: torch.Tensor):
    from kernels.sessions import create_session
    return create_session(x.tolist())
# file: {folder}/helpers.py
import torch

def gathered(x: torch.Tensor):
    return x.relu()
"""


@pytest.mark.parametrize(
    ("folder", "is_offered"),
    [
        ("examples", False),
        ("docs/features", False),
        ("benchmarks/moe", False),
        ("datasets", False),
        ("test/moe", False),
        ("kernels/testing", False),
        ("kernels/torch_ref", False),
        ("kernels/torch_fast", True),
        ("parts", True),
    ],
)
def test_nobody_captures_what_checks_results_or_shows_something(tmp_path: Path, folder: str, is_offered: bool) -> None:
    """A step that drafts are verified in is captured all the same."""
    offered = {entry.partition(":")[2] for entry in survey(write(tmp_path, CHECKED.format(folder=folder))).exports}
    assert {"scaled", "verify_tree", "tree_verify", *(["gathered"] if is_offered else [])} == offered


HOST = """
# file: images/__init__.py
# file: images/ops.py
{imports}
import numpy as np

def weighed(image, weight):
    {body}
# file: images/model.py
from torch import nn

class Detector(nn.Module):
    def forward(self, batch):
        return {given}
"""


@pytest.mark.parametrize(
    ("imports", "body", "is_offered"),
    [
        ("import torch", "return torch.relu(image) * weight", True),
        ("import torch", "return image * weight if image.dtype else image", True),
        ("import math", "return image * weight if image.dtype else image", False),
        ("import torch", "return np.dot(image, weight) + torch.relu(image)", False),
        ("import torch", "return torch.relu(image) * np.asarray([weight])", True),
        ("import torch", "return [torch.relu(one['mask']) * torch.relu(weight) for one in image]", False),
        (
            "import torch",
            "for w in (1, 2):\n        loss = (image * w).sum().item()\n        if loss < 3:\n            best = w\n"
            "    return torch.relu(image) * best",
            False,
        ),
        (
            "import torch\ndef _loss(x) -> float:\n    return x.sum().item()",
            "for w in (1, 2):\n        loss = _loss(image * w)\n        if loss < 3:\n            best = w\n"
            "    return torch.relu(image) * best",
            False,
        ),
        ("import torch", "for w in (1, 2):\n        image = torch.relu(image * w)\n    return image", True),
    ],
    ids=[
        "an operation",
        "a file about tensors",
        "a file of numbers",
        "given to numpy",
        "numbers beside it",
        "records",
        "a search",
        "a search by a helper",
        "a loop",
    ],
)
def test_what_works_on_the_host_is_not_offered(tmp_path: Path, imports: str, body: str, is_offered: bool) -> None:
    """Arrays have attributes and methods of tensors as well."""
    text = HOST.format(imports=imports, body=body, given="batch")
    assert (("images.ops:weighed",) if is_offered else ()) == survey(write(tmp_path, text)).exports


@pytest.mark.parametrize(
    ("parameters", "body", "is_offered"),
    [
        ("x: torch.Tensor, lengths: torch.Tensor", "return x * lengths", True),
        ("x: torch.Tensor, lengths_cpu: torch.Tensor", "return x * int(lengths_cpu[0])", False),
        ("x: torch.Tensor, lengths_cpu: torch.Tensor | None = None", "return x * 2", True),
        ("x: torch.Tensor, to_cpu: bool", "return x * 2", True),
        ("x: torch.Tensor, tokenizer", "return x * tokenizer.eos_token_id", False),
        ("x: torch.Tensor, callback=None", "return x * 2", False),
        ("file_path: str, x: torch.Tensor", "return x * 2", False),
        ("x: torch.Tensor", "return torch.tensor(np.diff(x.cpu().numpy()))", False),
        ("x: torch.Tensor", "return x, {'std': x.std().item(), 'mean': x.mean().item()}", False),
        ("x: torch.Tensor", "return x, {'std': x.std().item(), 'mean': x.mean()}", True),
        ("x: torch.Tensor", "y = torch.hann_window(8)\n    return (y * x.shape[0]).view(1, -1)", False),
        ("x: torch.Tensor", "y = torch.hann_window(8)\n    return (y * x.shape[0]).to(x.device)", True),
        ("x: torch.Tensor", "y = torch.hann_window(8, device=x.device)\n    return y * 2", True),
        ("x: torch.Tensor) -> (Scaled", "return Scaled(x)", False),
        ("x: torch.Tensor) -> (Verdict", "return Verdict(True, x.sum().item(), {})", False),
        ("x: torch.Tensor) -> (Batch", "return Batch(x, x.shape[0])", True),
        ("x: torch.Tensor) -> (list[Best]", "return [Best(0, [], [])]", False),
        ("x: torch.Tensor) -> (list[Batch]", "return [Batch(x, 1)]", True),
    ],
    ids=[
        "tensors",
        "one of the host",
        "one of the host that may be left out",
        "a flag",
        "a tokenizer",
        "who is told of each step",
        "a file",
        "an array on the way",
        "numbers for a log",
        "one number",
        "a table of the host",
        "a table that is moved",
        "a table of the device",
        "gives a module",
        "gives a report",
        "gives tensors",
        "gives reports",
        "gives several tensors",
    ],
)
def test_a_function_that_is_for_the_host_is_not_offered(
    tmp_path: Path, parameters: str, body: str, is_offered: bool
) -> None:
    """By what it takes, makes on the way or gives."""
    classes = (
        "class Scaled(torch.nn.Module):\n    def __init__(self, x):\n        super().__init__()\n\n"
        "@dataclass\nclass Verdict:\n    is_right: bool\n    error: float\n    extra: dict[str, object]\n\n"
        "@dataclass\nclass Batch:\n    x: torch.Tensor\n    rows: int\n\n"
        "@dataclass\nclass Best:\n    row: int\n    first: list[tuple]\n    last: list[tuple]\n\n"
    )
    head = f"from dataclasses import dataclass\nimport numpy as np\nimport torch\n\n{classes}"
    text = f"# file: images/__init__.py\n# file: images/ops.py\n{head}def weighed({parameters}):\n    {body}\n"
    assert (("images.ops:weighed",) if is_offered else ()) == survey(write(tmp_path, text)).exports


@pytest.mark.parametrize(
    ("name", "is_offered"),
    [("naive_attention", False), ("attention_ref", False), ("attention", True), ("attention_naive_bayes", True)],
)
def test_what_is_called_a_reference_is_one(tmp_path: Path, name: str, is_offered: bool) -> None:
    head = "# file: images/__init__.py\n# file: images/ops.py\nimport torch\n"
    text = f"{head}\ndef {name}(x: torch.Tensor):\n    return x\n"
    assert ((f"images.ops:{name}",) if is_offered else ()) == survey(write(tmp_path, text)).exports


DEVICES = """
# file: serve/__init__.py
# file: serve/{one}.py
from torch import nn

class Decoder(nn.Module):
    def forward(self, x):
        return x
# file: serve/{other}.py
from torch import nn

class Encoder(nn.Module):
    def forward(self, x):
        return x
"""


@pytest.mark.parametrize("device", ["npu", "mlx", "openvino"])
def test_what_is_named_for_another_device_is_no_candidate_beside_others(tmp_path: Path, device: str) -> None:
    """Unless all of it is: then it is a project for that device."""
    mixed = survey(write(tmp_path / "mixed", DEVICES.format(one=f"decoder_{device}", other="encoder_gpu")))
    assert mixed.models == ("serve.encoder_gpu:Encoder.forward",)
    alike = survey(write(tmp_path / "alike", DEVICES.format(one=f"decoder_{device}", other=f"encoder_{device}")))
    assert alike.models == (f"serve.decoder_{device}:Decoder.forward", f"serve.encoder_{device}:Encoder.forward")


@pytest.mark.parametrize(("name", "is_offered"), [("reference_attention", False), ("attention", True)])
def test_what_is_imported_as_a_reference_is_one(tmp_path: Path, name: str, is_offered: bool) -> None:
    """Kernels are compared with it."""
    text = f"""
# file: images/__init__.py
# file: images/slow.py
import torch

def each(x: torch.Tensor):
    return x * 2
# file: images/kernels.py
from images.slow import each as {name}
"""
    assert (("images.slow:each",) if is_offered else ()) == survey(write(tmp_path, text)).exports


@pytest.mark.parametrize(
    ("given", "is_offered"),
    [
        ("torch.Tensor", True),
        ("None", True),
        ("'torch.Tensor'", True),
        ("tuple[torch.Tensor, int]", True),
        ("tuple[torch.Tensor, float]", False),
        ("float", False),
        ("bool | None", False),
        ("tuple[int, int]", False),
        ("list[list[float]]", False),
        ("Literal['decode', 'extend']", False),
    ],
)
def test_what_says_that_it_gives_numbers_or_words_is_not_offered(tmp_path: Path, given: str, is_offered: bool) -> None:
    """They would be those of the capture; whole numbers beside tensors may come from shapes."""
    text = "import torch\nfrom typing import Literal\n"
    text += f"def weighed(image: torch.Tensor) -> {given}:\n    return image * 2\n"
    write(tmp_path, f"# file: images/ops.py\n{text}# file: images/__init__.py\nfrom images.ops import weighed\n")
    assert (("images.ops:weighed",) if is_offered else ()) == survey(tmp_path).exports


@pytest.mark.parametrize(("holds", "is_offered"), [("param_groups", True), ("atoms", False)])
def test_what_is_called_an_optimizer_has_groups_of_parameters(tmp_path: Path, holds: str, is_offered: bool) -> None:
    """What relaxes atoms is called so as well, and captures by itself."""
    text = "import torch\nfrom serve.base import Base\nclass SplitOptimizer(Base):\n    def step(self):\n"
    write(tmp_path, f"# file: images/steps.py\n{text}        for one in self.{holds}:\n            torch.relu(one)\n")
    assert (("steps:SplitOptimizer.step",) if is_offered else ()) == survey(tmp_path).exports


@pytest.mark.parametrize(
    ("given", "is_model"),
    [("batch * 2", True), ("[one['image'] for one in batch]", False), ("[one[0] for one in batch]", True)],
)
def test_a_model_of_records_is_fed_by_the_host(tmp_path: Path, given: str, is_model: bool) -> None:
    text = HOST.format(imports="import math", body="return image", given=given)
    assert (("images.model:Detector.forward",) if is_model else ()) == survey(write(tmp_path, text)).models


@pytest.mark.parametrize(("given", "is_model"), [("torch.Tensor", True), ("list[list[float]]", False)])
def test_a_model_that_gives_numbers_works_for_the_host(tmp_path: Path, given: str, is_model: bool) -> None:
    head = "import torch\nfrom torch import nn\nclass Aligner(nn.Module):\n"
    write(tmp_path, f"# file: serve/model.py\n{head}    def forward(self, x) -> {given}:\n        return x\n")
    assert (("model:Aligner.forward",) if is_model else ()) == survey(tmp_path).models
    (tmp_path / "serve" / "__init__.py").write_text("from serve.model import Aligner")
    assert (("serve.model:Aligner.forward",) if is_model else ()) == survey(tmp_path).exports


@pytest.mark.parametrize(
    ("takes", "is_model"),
    [("torch.Tensor", True), ("Picture", False), ("Image.Image", False), ("Picture | None", True)],
)
def test_a_model_of_pictures_works_on_the_host(tmp_path: Path, takes: str, is_model: bool) -> None:
    """What one of a library for pictures is handed to draws, and is not captured."""
    head = (
        "import torch\nfrom PIL import Image\nfrom PIL.Image import Image as Picture\n\nclass Mixed(torch.nn.Module):\n"
    )
    write(tmp_path, f"# file: serve/model.py\n{head}    def forward(self, x: {takes}):\n        return x\n")
    assert (("model:Mixed.forward",) if is_model else ()) == survey(tmp_path).models


@pytest.mark.parametrize(("call", "is_model"), [("self.scales.add_batch(x)", False), ("self.scales.add(x)", True)])
def test_a_model_that_measures_for_others_is_not_captured(tmp_path: Path, call: str, is_model: bool) -> None:
    """It runs once over what weights are quantised by."""
    head = "import torch\n\nclass Wrapped(torch.nn.Module):\n    def forward(self, x):\n"
    write(tmp_path, f"# file: serve/model.py\n{head}        {call}\n        return self.layer(x)\n")
    assert (("model:Wrapped.forward",) if is_model else ()) == survey(tmp_path).models


@pytest.mark.parametrize(("folder", "is_offered"), [("examples", False), ("benchmarks", False), ("models", True)])
def test_a_model_of_an_example_is_no_candidate(tmp_path: Path, folder: str, is_offered: bool) -> None:
    model = "from torch import nn\nclass Shown(nn.Module):\n    def forward(self, x):\n        return x\n"
    write(tmp_path, f"# file: serve/model.py\n{model.replace('Shown', 'Decoder')}# file: {folder}/run.py\n{model}")
    offered = {"model:Decoder.forward", *(["run:Shown.forward"] if is_offered else [])}
    assert offered == set(survey(tmp_path).models)
    assert ("run:Shown.forward",) == survey(tmp_path / folder).models


def test_who_asks_for_examples_is_told_of_them(tmp_path: Path) -> None:
    """All that there is to look at are the files in that folder."""
    write(tmp_path, CHECKED.format(folder="examples"))
    assert ("helpers:gathered",) == survey(tmp_path / "examples").exports


def test_what_has_the_name_of_another_file_is_not_proposed(tmp_path: Path) -> None:
    """Which of both a name would stand for, nobody knows; the check after it has no mistake."""
    part = "import torch\n\nclass {0}(torch.nn.Module):\n    def forward(self, x):\n        return x\n\n"
    part += "def graph(model, x):\n    with torch.cuda.graph(torch.cuda.CUDAGraph()):\n        model.gate(x)\n"
    parts = "".join(f"# file: {name.lower()}/parts.py\n" + part.format(f"{name}Gate") for name in ("Far", "Near"))
    init(write(tmp_path, f"{parts}# file: far/other.py\n" + part.format("FarGate")))
    text = (tmp_path / "pyproject.toml").read_text("utf-8")
    assert "other:FarGate.forward" in text and "parts:" not in text.partition("which need not be declared")[2]
    assert 0 == commands.main(["check", str(tmp_path)], standalone_mode=False)


LAYERS = """
# file: layers/__init__.py
from layers.parts import Attention, Block, _Hidden, Config
# file: layers/parts.py
import torch
from torch import nn

class Attention(nn.Module):
    def forward(self, x: torch.Tensor):
        return x

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.inner = Attention(), Inner()

    def forward(self, x: torch.Tensor):
        return self.inner(self.attention(x))

class Inner(nn.Module):
    def forward(self, x: torch.Tensor):
        return x

class _Hidden(nn.Module):
    def forward(self, x: torch.Tensor):
        return x

class Config:
    def forward(self, x: torch.Tensor):
        return x
"""


def test_the_modules_that_a_library_offers_are_captured_by_others(tmp_path: Path) -> None:
    """Also one that is a part of another one; what its package does not import is none of them."""
    offered = survey(write(tmp_path, LAYERS)).exports
    assert ("layers.parts:Attention.forward", "layers.parts:Block.forward") == offered


@pytest.mark.parametrize("more", [CAPTURE.replace("from serve.model import Gate", "from gate import Gate"), None])
def test_what_captures_by_itself_or_is_run_by_itself_offers_nothing(tmp_path: Path, more: str | None) -> None:
    """Nobody else captures single functions of an application, nor those of a script."""
    program = LIBRARY.replace(
        "from kernels.ops import masked as masked, scaled, named, as_array, create_state, Wrapper\n", ""
    )
    gate = "# file: gate.py\nclass Gate:\n    def __call__(self, x):\n        return x\n"
    if more is None:
        program = program.replace("def version", 'if __name__ == "__main__":\n    pass\n\ndef version')
        program = program.replace("# file: kernels/ops.py\n", '# file: kernels/ops.py\nmain = __name__ == "__main__"\n')
    found = survey(write(tmp_path, program + (gate + more.lstrip("\n") if more else "")))
    assert all(entry.split(":")[1].partition(".")[0] in ("Adam", "Double") for entry in found.exports)


@pytest.mark.parametrize(
    ("folder", "ends", "is_offered"),
    [
        ("scripts/benchmarks", "return None", True),
        ("serve", "return begin.elapsed_time(end)", True),
        ("serve", "return begin, end", False),
    ],
)
def test_a_benchmark_that_captures_what_it_times_is_no_application(
    tmp_path: Path, folder: str, ends: str, is_offered: bool
) -> None:
    """That it calls a function does not mean that something else captures that. What stands for one is never run."""
    program = f"""
# file: kernels/__init__.py
# file: kernels/ops.py
import torch

def scaled(x: torch.Tensor):
    return x * 2

def scaled_fake(x: torch.Tensor):
    return torch.empty_like(x)

def fake_quantized(x: torch.Tensor):
    return x.round()
# file: {folder}/speed.py
import torch
from kernels.ops import scaled

def run(x, timed, begin, end):
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        timed(x)
    {ends}
"""
    if folder != "serve":
        program += "\nprint(scaled(torch.ones(4)))\n"
    offered = ("kernels.ops:scaled", "kernels.ops:fake_quantized") if is_offered else ()
    assert offered == tuple(sorted(survey(write(tmp_path, program)).exports, reverse=True))


COMPILED = """
# file: net/__init__.py
# file: net/model.py
import torch
class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        return x * x.max().item()
# file: {path}
import torch
from net.model import Model
def run(x):
    model = {made}
    return model(x)
"""


@pytest.mark.parametrize(
    ("path", "made", "is_declared"),
    [
        ("benchmarks/inference.py", "torch.compile(Model(), mode='reduce-overhead')", True),
        ("tests/test_model.py", "torch.compile(Model(), mode='reduce-overhead')", True),
        ("net/serve.py", "torch.compile(Model(), mode='reduce-overhead')", False),
        ("benchmarks/inference.py", "torch.cuda.make_graphed_callables(Model(), (x,))", False),
    ],
)
def test_what_only_a_benchmark_compiles_may_be_captured_by_others(
    tmp_path: Path, path: str, made: str, is_declared: bool
) -> None:
    """What is compiled is not looked at as a capture; what a benchmark captures is, and need not be declared."""
    found = survey(write(tmp_path, COMPILED.format(path=path, made=made)))
    assert ("net.model:Model.forward" in found.models) is is_declared
    declared = tomllib.loads(propose(found, tmp_path))["tool"]["graphlint"].get("regions", [])
    assert ("net.model:Model.forward" in declared) is is_declared


OPERATOR = """
# file: kernels/__init__.py
from kernels.ops import scaled
# file: kernels/ops.py
import torch

def scaled(x: torch.Tensor):
    return x * 2
"""


def test_what_an_engine_offers_is_a_remark(tmp_path: Path) -> None:
    """It has more models than operators, and its own regions decide what is captured."""
    init(write(tmp_path, "# file: serve/__init__.py" + ENGINE + OPERATOR.lstrip("\n")))
    assert '#     "kernels.ops:scaled",\n' in (tmp_path / "pyproject.toml").read_text("utf-8")
    assert () == load_config(tmp_path).regions


@pytest.mark.parametrize(("run", "is_declared"), [("self.runnable(ids)", True), ("M0ForCausalLM()(ids)", False)])
def test_models_of_an_engine_that_runs_what_it_is_given_are_declared(
    tmp_path: Path, run: str, is_declared: bool
) -> None:
    """Nobody else would look at them; where its regions run one of its models, the others are a remark."""
    program = ENGINE.replace("import torch\n", "import torch\nfrom serve.models.m0 import M0ForCausalLM\n", 1)
    init(write(tmp_path, "# file: serve/__init__.py" + program.replace("self.model(ids)", run)))
    declared = {f"serve.models.m{number}:M{number}ForCausalLM.forward" for number in range(5)}
    assert set(load_config(tmp_path).regions) == (declared if is_declared else set())


def test_models_that_such_an_engine_offers_are_declared_with_the_others(tmp_path: Path) -> None:
    """They are no better known than those that no package imports; operators stay remarks."""
    program = ENGINE.replace("self.model(ids)", "self.runnable(ids)").replace("serve/models/", "serve/zoo/")
    package = "# file: serve/zoo/__init__.py\nfrom serve.zoo.m0 import M0ForCausalLM\n"
    init(write(tmp_path, f"# file: serve/__init__.py{program}{package}{OPERATOR.lstrip()}"))
    declared = {f"serve.zoo.m{number}:M{number}ForCausalLM.forward" for number in range(5)}
    assert set(load_config(tmp_path).regions) == declared


@pytest.mark.parametrize(("folder", "declared"), [("lmdeploy/pytorch", 0), ("serve/pytorch", 5)])
def test_models_that_a_table_says_an_engine_captures_are_a_remark(tmp_path: Path, folder: str, declared: int) -> None:
    """The same code under a name that no table has leaves them to whoever declares them."""
    program = ENGINE.replace("serve/run.py", f"{folder}/backends/cuda/graph_runner.py").replace("serve/", f"{folder}/")
    runner = program.replace("class Runner", "class CUDASingleGraphRunner").replace(
        "self.model(ids)", "self.runnable(ids)"
    )
    top = folder.partition("/")[0]
    packages = "".join(f"# file: {path}/__init__.py\n" for path in (top, folder, f"{folder}/backends/cuda"))
    init(write(tmp_path, packages + runner.lstrip("\n")))
    assert len(load_config(tmp_path).regions) == declared


# What stands in front of the region, and what the region calls.
STEPS = {
    "as it is": ("pass", "self.model.decode_batch(ids)"),
    "a local name": ("run = self.model.decode_batch", "run(ids)"),
    "compiled": ("run = torch.compile(self.model.decode_batch, fullgraph=True)", "run(ids)"),
    "compiled at times": ("run = self.model.decode_batch\n        if self.fast: run = torch.compile(run)", "run(ids)"),
    "asked for by name": ("run = getattr(self.model, 'decode_batch', None)", "run(ids)"),
    "one of two": ("run = self.model.decode_batch if self.batched else self.model", "run(ids)"),
    "in a closure": ("run = self.model.decode_batch\n        def step(go=run): return go(ids)", "step()"),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_method_tells_which_classes_a_local_name_means(tmp_path: Path, step: str) -> None:
    """What the region calls is an attribute of an object that nobody knows: classes that have one like it are meant."""
    before, call = STEPS[step]
    engine = ENGINE.partition("# file: serve/models/")[0].replace("self.model(ids)", call)
    engine = engine.replace("        with torch", f"        {before}\n        with torch")
    parts = """
# file: serve/parts.py
from torch import nn

class Talker(nn.Module):
    def forward(self, ids):
        return ids

    def decode_batch(self, ids):
        return ids.item()

class Listener(nn.Module):
    def forward(self, ids):
        return ids
"""
    (target,) = survey(write(tmp_path, f"# file: serve/__init__.py{engine}{parts.lstrip()}")).targets
    assert ("serve.parts:Talker.decode_batch",) == target.runs


WRAPPED = """
# file: serve/__init__.py
# file: serve/run.py
from vllm.compilation.cuda_graph import CUDAGraphWrapper

class Runner(Base):
    def load_model(self):
        self.talk = CUDAGraphWrapper(getattr(self.model, "talk", None), self.config, runtime_mode=2)
# file: serve/parts.py
from torch import nn

class Talker(nn.Module):
    def talk(self, ids, scale=None):
        if (ids > 0).any():
            return ids
        return ids * scale
"""


def test_what_a_plugin_lets_the_wrapper_of_an_engine_capture_is_a_target(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The engine is not there, and nobody sees the arguments: it is run as what is declared."""
    init(write(tmp_path, WRAPPED.lstrip("\n")))
    (target,) = load_config(tmp_path).targets
    assert Target("serve.run:Runner.load_model", ("serve.parts:Talker.talk",)) == replace(target, call=None)
    capsys.readouterr()
    assert 1 == commands.main(["check", str(tmp_path)], standalone_mode=False)
    assert "GL301" in capsys.readouterr().out


FOREIGN = """
# file: plug/__init__.py
# file: plug/patches.py
import torch
{imports}

def _own_forward(x: torch.Tensor):
    return x.item()

def apply_patches():
    {inner}
    {put}
"""


@pytest.mark.parametrize(
    ("imports", "inner", "put", "is_offered"),
    [
        ("from engine import attention", "pass", "attention.Layer.forward = _own_forward", True),
        ("from engine.attention import Layer", "pass", "Layer.forward = _own_forward", True),
        ("", "import engine.attention as attention", "attention.run = _own_forward", True),
        ("", "from engine import attention", "attention.run = _own_forward", True),
        ("from plug import other as attention", "pass", "attention.run = _own_forward", False),
        ("import logging as attention", "pass", "attention.run = _own_forward", False),
        ("from engine import attention", "pass", "attention.run = print", False),
        ("from engine import attention", "attention = 1", "run = _own_forward", False),
        ("from engine import attention", "run(enforce_eager=True)", "attention.run = _own_forward", False),
        ("from engine import attention", "run(enforce_eager=False)", "attention.run = _own_forward", True),
        ("from engine import attention", "run(is_lazy=True)", "attention.run = _own_forward", True),
    ],
)
def test_what_is_put_into_another_package_is_offered(
    tmp_path: Path, imports: str, inner: str, put: str, is_offered: bool
) -> None:
    """That package runs it in the place of its own, and may capture it, unless it is asked for no graphs."""
    text = FOREIGN.format(imports=imports, inner=inner, put=put).lstrip("\n")
    found = survey(write(tmp_path, f"{text}# file: plug/other.py\nrun = None\n"))
    assert ["plug.patches:_own_forward"] * is_offered == list(found.replaced)


BOUND = """
# file: plug/__init__.py
# file: plug/patches.py
import functools
import types
from functools import partial
from types import MethodType
import torch
from plug.layers import _run_elsewhere

def _run(self, x: torch.Tensor):
    return x.item()

def _name_of(self, path: str):
    return path

def patch(model, scale):
    def forward(self, x):
        {inner}
    for layer in model.modules():
        {put}
# file: plug/layers.py
import torch

def _run_elsewhere(self, x: torch.Tensor):
    return x.item()
"""


@pytest.mark.parametrize(
    ("inner", "put", "offered"),
    [
        ("pass", "layer.forward = types.MethodType(_run, layer)", ["plug.patches:_run"]),
        (
            "pass",
            "layer.forward = MethodType(\n            _run,\n            layer,\n        )",
            ["plug.patches:_run"],
        ),
        ("pass", "layer.forward = _run.__get__(layer, type(layer))", ["plug.patches:_run"]),
        ("pass", "layer.forward = functools.partial(_run, layer)", ["plug.patches:_run"]),
        ("pass", "layer.forward = MethodType(_run_elsewhere, layer)", ["plug.layers:_run_elsewhere"]),
        ("return _run(self, x)", "layer.forward = forward.__get__(layer)", ["plug.patches:_run"]),
        ("return _run(scale, x)", "layer.forward = forward.__get__(layer)", ["plug.patches:_run"]),
        (
            "y = model(x)\n        return _run(y, x) + y",
            "layer.forward = MethodType(forward, layer)",
            ["plug.patches:_run"],
        ),
        ("return _name_of(self)", "layer.forward = MethodType(forward, layer)", []),
        ("return x", "layer.forward = forward.__get__(layer)", []),
        ("pass", "layer.forward = MethodType(_name_of, layer)", []),
        ("pass", "layer.named = MethodType(_run, layer)", []),
        ("pass", "layer.forward = model.forward.__get__(layer)", []),
    ],
)
def test_what_is_bound_to_objects_as_their_forward_is_offered(
    tmp_path: Path, inner: str, put: str, offered: list[str]
) -> None:
    """The object is run by whoever made it, maybe in a capture."""
    found = survey(write(tmp_path, BOUND.format(inner=inner, put=put).lstrip("\n")))
    assert offered == list(found.replaced)


@pytest.mark.parametrize(
    ("base", "body", "more", "is_offered"),
    [
        ("AttentionImpl", "def forward(self, layer, query: torch.Tensor):", "", True),
        ("AttentionImpl", "def forward(self, path: str):", "", False),
        ("AttentionImpl", "def prepare(self, query: torch.Tensor):", "", False),
        ("Exception", "def forward(self, query: torch.Tensor):", "", False),
        ("AttentionImpl", "def forward(self, layer, query: torch.Tensor):", "held = Backend(1)", False),
    ],
)
def test_what_another_package_runs_of_a_class_like_its_own_is_offered(
    tmp_path: Path, base: str, body: str, more: str, is_offered: bool
) -> None:
    """It makes the objects itself; what is made here is run by what makes it."""
    text = f"import torch\nfrom engine.attention import AttentionImpl\n\nclass Backend({base}):\n    {body}\n"
    text = f"# file: plug/__init__.py\n# file: plug/backend.py\n{text}        return query.item()\n{more}\n"
    found = survey(write(tmp_path, text))
    assert ["plug.backend:Backend.forward"] * is_offered == list(found.replaced)


@pytest.mark.parametrize(
    ("decorator", "is_offered"),
    [
        ("@scale.register_fake", False),
        ('@torch.library.register_fake("kernels::scale")', False),
        ("@functools.lru_cache", True),
        ("", True),
    ],
)
def test_what_says_what_an_operator_gives_is_not_offered(tmp_path: Path, decorator: str, is_offered: bool) -> None:
    """It is run where a model is traced, in the place of the operator."""
    program = f"""
# file: kernels/__init__.py
# file: kernels/ops.py
import functools
import torch

@torch.library.custom_op("kernels::scale", mutates_args=())
def scale(x: torch.Tensor) -> torch.Tensor:
    return x * 2

{decorator}
def scale_alike(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)
"""
    found = survey(write(tmp_path, program.lstrip("\n"))).exports
    assert "kernels.ops:scale" in found and is_offered is ("kernels.ops:scale_alike" in found)


@pytest.mark.parametrize(
    ("imports", "path", "more", "is_offered"),
    [
        ("from kernels.attention import attend", "tests/test_attention.py", "", True),
        ("from kernels.attention import attend", "benchmarks/bench_attention.py", "", True),
        ("from kernels.attention import attend as run", "tests/test_attention.py", "", True),
        ("from kernels import attention", "tests/test_attention.py", "", False),
        ("from kernels.attention import other", "tests/test_attention.py", "", False),
        ("from kernels.attention import attend", "kernels/engine.py", "", False),
        ("from kernels.attention import attend", "tests/test_attention.py", "captures", False),
        ("from kernels.attention import attend", "tests/test_attention.py", "captures, and calls it nowhere", True),
        ("from kernels.attention import other", "tests/test_attention.py", "captures, and calls it nowhere", False),
        ("from kernels.attention import attend", "tests/test_attention.py", "offers nothing", False),
        ("from kernels.attention import attend", "tests/test_attention.py", "promises nothing", False),
    ],
)
def test_what_tests_import_from_a_module_of_a_library_is_offered(
    tmp_path: Path, imports: str, path: str, more: str, is_offered: bool
) -> None:
    """Packages export a part of what they hold; what captures by itself runs by itself what it calls."""
    offer = "" if more == "offers nothing" else "from kernels.ops import scale\n"
    program = f"""
# file: kernels/__init__.py
{offer}# file: kernels/ops.py
import torch
def scale(x: torch.Tensor):
    return x * 2
# file: kernels/attention.py
import torch
def attend(x: torch.Tensor):
    return x.item()
def other(x):
    return attend(x)
# file: kernels/model.py
from kernels.attention import attend
def run(x):
    return attend(x)
"""
    files = f"# file: {path}\n{imports}\n"
    if more == "promises nothing":
        program = program.replace("def attend(x: torch.Tensor):", "def attend(x):\n    x = torch.relu(x)")
    if more.endswith("nowhere"):
        program = program.replace("return attend(x)", "return x")
    if more.startswith("captures"):
        files += CAPTURE.replace("from serve.model import Gate", "from gate import Gate").lstrip("\n")
    found = survey(write(tmp_path, program.lstrip("\n") + files))
    assert is_offered is ("kernels.attention:attend" in found.exports)


@pytest.mark.parametrize(
    ("own", "call", "is_offered"),
    [
        ("def attend", "self.attend(query)", True),
        ("def attend", "self.shared(query)", True),
        ("def other", "self.attend(query)", False),
        ("def __len__", "self.attend(query)", False),
    ],
    ids=["its own method", "by way of another", "nothing calls it", "nobody calls it by name"],
)
def test_a_pass_that_another_package_runs_is_also_that_of_each_class_that_it_calls_a_method_of(
    tmp_path: Path, own: str, call: str, is_offered: bool
) -> None:
    """Nothing in such a class is called `forward`."""
    program = f"""
# file: plug/__init__.py
# file: plug/backend.py
import torch
from engine.attention import AttentionImpl

class Backend(AttentionImpl):
    def forward(self, layer, query: torch.Tensor):
        return {call}
    def shared(self, query):
        return self.attend(query)
    def attend(self, query):
        return query
# file: plug/small.py
from plug.backend import Backend

class Small(Backend):
    {own}(self, query):
        return query.item()
"""
    found = survey(write(tmp_path, program.lstrip("\n")))
    assert "plug.backend:Backend.forward" in found.replaced
    assert is_offered is ("plug.small:Small.forward" in found.replaced)


@pytest.mark.parametrize(
    ("base", "body", "is_offered"),
    [
        ("EngineConfig", "return Method(2)", True),
        ("EngineConfig", "made = Method(2)\n        return made", True),
        ("EngineConfig", "self.held = Method(2)", False),
        ("object", "return Method(2)", False),
    ],
    ids=["given back", "by a name", "kept", "for the program"],
)
def test_what_a_hook_gives_to_another_package_is_run_by_that(
    tmp_path: Path, base: str, body: str, is_offered: bool
) -> None:
    """Who asks a configuration for a new object runs it; what is kept is run here."""
    program = f"""
# file: plug/__init__.py
# file: plug/method.py
import torch
from engine.layers import EngineConfig, MethodBase

class Method(MethodBase):
    def apply(self, layer, x: torch.Tensor):
        return x.item()

class Config({base}):
    def get_method(self, layer):
        {body}
"""
    found = survey(write(tmp_path, program.lstrip("\n")))
    assert ["plug.method:Method.apply"] * is_offered == list(found.replaced)


@pytest.mark.parametrize(
    ("own", "models"),
    [
        ("def encode(self, x):\n        return x.item()", ("serve.model:Net.forward", "serve.model:Small.forward")),
        ("def __init__(self):\n        super().__init__()", ("serve.model:Net.forward",)),
        ("def loss(self, x):\n        return x.sum()", ("serve.model:Net.forward",)),
    ],
    ids=["a step of the forward", "a constructor", "something else"],
)
def test_a_model_that_has_its_forward_from_another_is_a_candidate_of_its_own(
    tmp_path: Path, own: str, models: tuple[str, ...]
) -> None:
    """The forward runs what the class has in the place of the other's; the other stays a candidate."""
    program = f"""
# file: serve/__init__.py
# file: serve/model.py
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        return self.encode(x)
    def encode(self, x):
        return x

class Small(Net):
    {own}
"""
    assert models == survey(write(tmp_path, program.lstrip("\n"))).models


def test_a_name_that_leads_to_another_file_is_not_proposed(tmp_path: Path) -> None:
    """Where imports say what a folder is called and nothing says it of another, one name may stand for both."""
    program = """
# file: engine/__init__.py
# file: engine/parts/calls/run.py
from engine.parts.calls.net import parse
# file: engine/parts/calls/net.py
def parse(text):
    return text
# file: engine/parts/models/net.py
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        return x.max().item()
"""
    init(write(tmp_path, program.lstrip("\n")))
    assert load_config(tmp_path).regions == ()
    assert 0 == commands.main(["check", str(tmp_path)], standalone_mode=False)


@pytest.mark.parametrize("name", ["serve", "serve-of-ours"])
def test_names_are_those_that_hold_once_the_file_is_written(tmp_path: Path, name: str) -> None:
    """A folder that its programs import by its own name is the folder of a project from then on, and no package."""
    program = """
# file: engine/__init__.py
# file: engine/model.py
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        return x.max().item()
# file: run.py
from serve.engine.model import Net
"""
    folder = write(tmp_path / name, program.lstrip("\n"))
    init(folder)
    assert ("engine.model:Net.forward",) == load_config(folder).regions
    assert 1 == commands.main(["check", str(folder)], standalone_mode=False)
