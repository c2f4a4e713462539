"""What stands between the user and a model is captured by nobody, and `graphlint init` does not propose it."""

from __future__ import annotations

from pathlib import Path

import pytest
from static.analysis import write

from graphlint import static
from graphlint.config import Config

PROGRAM = """
# file: serve/__init__.py
from serve.ops import step
# file: serve/ops.py
import functools
import gc
import logging
import math
import time

import numpy as np
import torch
from PIL import Image
from torch import nn
from tqdm import tqdm

logger = logging.getLogger(__name__)

def builtin(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        if "_builder" not in kwargs or kwargs["_builder"] is None:
            raise ValueError("call it in a kernel")
        return function(*args, **kwargs)
    return wrapper

def timed(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        if "name" not in kwargs:
            kwargs["name"] = "step"
        return function(*args, **kwargs)
    return wrapper

{decorator}
def step(x: torch.Tensor, prompts=None, tokenizer=None, mode: str = "sum"):
    {body}

class Model(nn.Module):
    def inner(self, x, prompts, tokenizer, mode):
        {body}

    def forward(self, x, prompts=None, tokenizer=None, mode="sum"):
        {forward}

    def listed(self, value):
        if torch.is_tensor(value):
            value = value.cpu().tolist()
        return value if isinstance(value, list) else [value]

    def doubled(self, value):
        return value * 2
"""
ALONE = {
    "a clock": "start = time.perf_counter()\n    y = x * 2\n    print(time.perf_counter() - start)\n    return y",
    "memory that is freed": "y = x * 2\n    torch.cuda.empty_cache()\n    return y",
    "what is collected": "y = x * 2\n    gc.collect()\n    return y",
    "memory of the host": "if not x.is_pinned():\n        x = x * 2\n    return x",
    "what it brings there first": "x = x.cpu()\n    x = x * 2\n    return x.cuda()",
    "what it hands to another library": "rows = np.histogram(x.float().cpu().numpy())\n    return x * len(rows)",
    "what it refuses": "if not torch.isfinite(x).all():\n        raise ValueError(f'{x} is not finite')",
    "what it shows": "low, high = x.min(), x.max()\n    print(low, high)\n    logger.info('%s', high)",
    "several devices": (
        "for one in range(4):\n        with torch.cuda.device(one):\n            x = x * 2\n    return x"
    ),
}
HOST = {
    "texts": "if isinstance(prompts, str):\n        prompts = [prompts]\n    return x * len(prompts)",
    "a tokenizer": 'ids = tokenizer(prompts, return_tensors="pt")\n    return x + ids',
    "a progress bar": "for row in tqdm(range(4)):\n        x = x * row\n    return x",
    "pictures": "x = x + len(Image.open(prompts).size)\n    return x",
    "what Python refuses": "for row in range(len(prompts) / 4):\n        x = x * row\n    return x",
    "a copy": "y = x * 2\n    return y.cpu()",
    "an array": "y = (x * 2).float().cpu().numpy()\n    y = y.astype(np.int64)\n    return y",
    "one or the other copy": "if mode == 'sum':\n        return x.sum().cpu()\n    return [row.cpu() for row in x]",
    "a table of numbers": (
        "hits = (x > 0).cpu().numpy()\n    found = int(hits.sum())\n    rate = found / math.sqrt(found)\n"
        "    return {'found': found, 'rate': rate, 'past': rate > 0.5, 'x': x}"
    ),
}
DEVICE = {
    "what it changes besides": "print(x.shape)\n    x.mul_(2)",
    "what it fills besides": "print(x.shape)\n    x[0] = 2",
    "what it hands on besides": "print(x.shape)\n    timed(x)",
    "one device": "for one in range(4):\n        with torch.cuda.device(0):\n            x = x * one\n    return x",
    "a time that is handed in": "time = x * 2\n    return time + math.pi",
    "what it takes": "for row in range(len(prompts) // 4):\n        x = x * row / 4\n    return x",
    "a mode": "if isinstance(mode, str):\n        x = x * 2\n    return x",
    "another list": "prompts = [prompts]\n    return x * len(prompts)",
    "a copy of some": "if mode == 'sum':\n        return x.cpu()\n    return x",
    "a copy in between": "n = x.cpu()\n    return x[: len(n)]",
    "what some bring there": "if mode == 'sum':\n        x = x.cpu()\n    return x * 2",
    "what torch is handed": "rows = torch.histc(x.cpu())\n    return x * len(rows)",
    "a number": "return (x * 2).sum().item()",
    "a number of the host": "n = x.sum().item()\n    return x * n",
    "a table of tensors": "return {'x': x, 'y': x * 2, 'n': x.sum().item()}",
    "a function inside": "def log(y):\n        return y.cpu()\n    log(x)\n    return x * 2",
}


def offered(folder: Path, body: str, decorator: str = "", is_inner: bool = False) -> set[str]:
    indented = body.replace("\n", "\n    ")
    forward = "return self.inner(x, prompts, tokenizer, mode)" if is_inner else indented
    text = PROGRAM.format(decorator=decorator, body="{body}", forward=forward)
    step, inner = text.split("class Model", 1)
    text = step.replace("{body}", body) + "class Model" + inner.replace("{body}", indented)
    found = static.survey([write(folder, text)], Config(root=folder))
    return {entry.partition(":")[2] for entry in (*found.exports, *found.models)}


@pytest.mark.parametrize("form", HOST)
def test_what_drives_a_model_is_not_proposed(tmp_path: Path, form: str) -> None:
    assert offered(tmp_path, HOST[form]) == set()


@pytest.mark.parametrize("form", ALONE)
def test_a_function_that_works_for_the_host_is_not_proposed(tmp_path: Path, form: str) -> None:
    """In a method of a model, the same is likelier a mistake."""
    assert offered(tmp_path, ALONE[form]) == {"Model.forward"}


@pytest.mark.parametrize(
    ("text", "is_offered"),
    [
        ("from serve.ops import {name}\n# file: serve/ops.py", True),
        ("from serve.io.ops import {name}\n# file: serve/io/__init__.py\n# file: serve/io/ops.py", False),
        ("from serve.data.ops import {name}\n# file: serve/data/__init__.py\n# file: serve/data/ops.py", False),
        ("from serve.data import {name}\n# file: serve/data.py", False),
        ("from serve.radio.ops import {name}\n# file: serve/radio/__init__.py\n# file: serve/radio/ops.py", True),
    ],
)
def test_what_makes_objects_of_files_is_not_proposed(tmp_path: Path, text: str, is_offered: bool) -> None:
    assert named(tmp_path, text, "step") is is_offered


@pytest.mark.parametrize(
    ("name", "is_offered"),
    [
        ("torch_scale", False), ("naive_scale", False), ("naively_scaled", True), ("quantize_weights", False),
        ("measure_latency", False), ("output_check", False), ("index_build", False), ("get_batch_for_rank", False),
        ("broadcast_data", False), ("pad_packed_sequences", False), ("generate_position_ids", False),
        ("pad_across_processes", False), ("scale_meta", False), ("scale_abstract", False), ("metascale", True),
        ("scale", True), ("torchscale", True), ("quantize", True), ("measure", True), ("rebuilt", True), ("pad", True),
    ],
)  # fmt: skip
def test_what_others_are_compared_with_is_not_proposed(tmp_path: Path, name: str, is_offered: bool) -> None:
    """Nor what sets weights up, or measures how long something takes."""
    assert named(tmp_path, "from serve.ops import {name}\n# file: serve/ops.py", name) is is_offered


def named(folder: Path, text: str, name: str) -> bool:
    around = f"\n# file: serve/__init__.py\n{text.format(name=name)}\nimport torch\n"
    program = f"{around}def {name}(x: torch.Tensor):\n    return x * 2\n"
    found = static.survey([write(folder, program)], Config(root=folder))
    return [entry.partition(":")[2] for entry in found.exports] == [name]


@pytest.mark.parametrize("form", ["texts", "a tokenizer", "pictures"])
def test_a_method_may_do_so_for_the_model(tmp_path: Path, form: str) -> None:
    assert "Model.forward" not in offered(tmp_path, HOST[form], is_inner=True)


@pytest.mark.parametrize(
    ("body", "is_offered"),
    [
        ("return self.listed(x * 2)", False),
        ("y = self.listed(x * 2)\n    return y", False),
        ("return self.doubled(x)", True),
    ],
)
def test_a_model_whose_own_method_brings_all_to_the_host_is_not_proposed(
    tmp_path: Path, body: str, is_offered: bool
) -> None:
    """As what measures the quality of pictures does: it gives a list of scores."""
    assert ("Model.forward" in offered(tmp_path, body)) is is_offered


@pytest.mark.parametrize("form", DEVICE)
def test_what_works_on_the_device_is_proposed(tmp_path: Path, form: str) -> None:
    """Whatever it reads on the way, which may be a mistake."""
    assert offered(tmp_path, DEVICE[form]) == {"step", "Model.forward"}


@pytest.mark.parametrize(
    ("decorator", "is_offered"), [("@builtin", False), ("@timed", True), ("@torch.no_grad()", True)]
)
def test_what_only_raises_for_those_who_call_it_is_not_proposed(
    tmp_path: Path, decorator: str, is_offered: bool
) -> None:
    """The compiler of a kernel language hands in what is missing."""
    assert ("step" in offered(tmp_path, "return x * 2", decorator)) is is_offered
