"""The hook as pre-commit runs it: a project of 200 files in; what a bad commit prints, and seconds of clean ones, out.

    python tests/benchmarks/hook.py [ROUNDS]

Needs pre-commit and git, and takes the hook from the last commit of this checkout. The project lies in a folder of its
own, as does what pre-commit installs. Ends with an error where a clean commit fails or a bad one passes.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent.parent
ROUNDS = 10
PARTS = 198
LAYERS = 8
USED = range(0, PARTS, 20)
LAYER = """

class Layer{part}_{number}(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix = nn.Linear(width, width)
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x):
        y = self.mix(x) * self.scale
        for _ in range(2):
            y = torch.relu(y) + x
        return y


def helper{part}_{number}(names, shortest={number}):
    kept = []
    for name in names:
        if len(name) > shortest:
            kept.append(name.strip().lower())
    return {{"kept": kept, "count": len(kept)}}
"""
MODEL = """import torch
from torch import nn
{imports}


class Decoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.ModuleList([{layers}])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""
RUN = """import torch
from serve.model import Decoder


def capture(x):
    model = Decoder(64).cuda()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(x)
    return graph, y
"""
HOOK = "repos:\n  - repo: {repo}\n    rev: {rev}\n    hooks:\n      - id: graphlint\n"


def write_project(folder: Path) -> None:
    """A package of 200 modules, of which a captured model uses ten."""
    serve = folder / "serve"
    serve.mkdir(parents=True)
    for part in range(PARTS):
        layers = "".join(LAYER.format(part=part, number=number) for number in range(LAYERS))
        (serve / f"part{part}.py").write_text(f"import torch\nfrom torch import nn\n{layers}")
    imports = "\n".join(f"from serve.part{part} import Layer{part}_0" for part in USED)
    layers = ", ".join(f"Layer{part}_0(width)" for part in USED)
    (serve / "__init__.py").touch()
    (serve / "model.py").write_text(MODEL.format(imports=imports, layers=layers))
    (serve / "run.py").write_text(RUN)


class Repository:
    """A scratch repository with the hook installed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.environment = {**os.environ, "PRE_COMMIT_HOME": str(folder / "home")}
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)
        write_project(self.folder)
        rev = self.run("git", "-C", str(CHECKOUT), "rev-parse", "HEAD").stdout.strip()
        (self.folder / ".pre-commit-config.yaml").write_text(HOOK.format(repo=CHECKOUT, rev=rev))
        self.run("git", "init", "-q", ".")
        self.run(sys.executable, "-m", "pre_commit", "install", "--install-hooks")

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )

    def commit(self, file: str, old: str, new: str) -> tuple[int, str]:
        """Replace the first such text of a file and commit it: the status, and what the hook said."""
        path = self.folder / file
        path.write_text(path.read_text().replace(old, new, 1))
        self.run("git", "add", "-A")
        done = self.run("git", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "-m", "change")
        return done.returncode, done.stdout + done.stderr

    def seconds(self) -> float:
        """How long the hook takes on what is staged, as pre-commit says."""
        said = self.run(sys.executable, "-m", "pre_commit", "run", "--verbose", "--all-files").stdout
        return float(re.findall(r"duration: ([\d.]+)s", said)[0])


def main(rounds: int) -> None:
    """Clean, bad, clean again, and timed."""
    with tempfile.TemporaryDirectory() as folder:
        repository = Repository(Path(folder))
        tried = repository.run(
            sys.executable, "-m", "pre_commit", "try-repo", str(CHECKOUT), "graphlint", "--all-files"
        )
        clean, said = repository.commit("serve/run.py", "64", "128")
        if tried.returncode or clean:
            sys.exit(tried.stdout + said)
        bad, said = repository.commit("serve/part0.py", "        return y", "        return y / y.max().item()")
        if not bad:
            sys.exit(f"the bad commit passed\n{said}")
        print(said)
        repository.run("git", "checkout", "-q", "HEAD", "--", ".")
        times = [repository.seconds() for _ in range(rounds)]
    print(f"warm, {rounds} runs: {min(times):.2f} s to {max(times):.2f} s, median {statistics.median(times):.2f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
