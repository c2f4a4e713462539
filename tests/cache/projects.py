"""Programs in several files, for what is kept of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

PROJECT = {
    "pyproject.toml": '[tool.graphlint]\nexclude = ["/left_out"]\nbaseline = "known.json"\n',
    "known.json": '{"paths": ["."], "findings": []}\n',
    ".gitignore": "generated/\n",
    "generated/made.py": "import torch\n",
    "left_out/old.py": "import torch\n",
    "serve/__init__.py": "",
    "serve/run.py": """\
import torch

from serve.steps import Step, step


def capture(x: torch.Tensor, chosen: Step):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = step(x)
        chosen.run(x)
    return graph, y
""",
    "serve/steps.py": """\
class Step:
    def run(self, x):
        raise NotImplementedError


def step(x):
    return x * x.sum().item()


def unreached(x):
    return x
""",
    "serve/others.py": """\
def unheard_of(x):
    return x + 1
""",
}


def write_files(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder
