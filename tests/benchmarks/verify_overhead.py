"""What `graphlint verify` costs: the modules below in, a table of seconds against the budget of 3 s + 40 t out.

    python -m tests.benchmarks.verify_overhead [NAME]...

t is an eager step. `command` is everything from the start of the command to its end, `verify` what it says itself,
without the time that loading Python and PyTorch takes; the ratio is (verify - 3 s) / t. A tool, run by hand on a
machine with a GPU that nothing else uses.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from graphlint.runtime.cuda.measure import seconds
from graphlint.runtime.target import made

ROOT = Path(__file__).parents[2]
MODULE = "tests.benchmarks.verify_overhead"
FIXED, FACTOR = 3.0, 40.0  # of the budget: seconds, and eager steps
WARM_UPS = 3

Example = tuple[Callable[..., object], tuple[torch.Tensor, ...]]


def tiny() -> Example:
    def step(x: torch.Tensor) -> torch.Tensor:
        return x * 2 + 1

    return step, (torch.rand(1024, device="cuda"),)


def training_step() -> Example:
    """A whole step of a perceptron with Adam."""
    model = torch.nn.Sequential(
        torch.nn.Linear(1024, 4096),
        torch.nn.GELU(),
        torch.nn.Linear(4096, 4096),
        torch.nn.GELU(),
        torch.nn.Linear(4096, 10),
    ).cuda()
    optimizer = torch.optim.Adam(model.parameters(), capturable=True)

    def step(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step, (torch.rand(512, 1024, device="cuda"), torch.randint(0, 10, (512,), device="cuda"))


def convolutions() -> Example:
    """Sixteen convolutions with batch norm."""
    layers: list[torch.nn.Module] = [torch.nn.Conv2d(3, 128, 3, padding=1)]
    for _ in range(16):
        layers += [torch.nn.Conv2d(128, 128, 3, padding=1), torch.nn.BatchNorm2d(128), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers).cuda().eval().requires_grad_(False)
    return model, (torch.rand(16, 3, 112, 112, device="cuda"),)


def transformer() -> Example:
    """Twelve layers."""
    layer = torch.nn.TransformerEncoderLayer(768, 12, 3072, dropout=0.0, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 12, enable_nested_tensor=False).cuda().eval().requires_grad_(False)
    return model, (torch.rand(8, 512, 768, device="cuda"),)


def recurrent() -> Example:
    model = torch.nn.LSTM(256, 512, num_layers=2).cuda().eval().requires_grad_(False)
    return model, (torch.rand(64, 32, 256, device="cuda"),)


def triton_kernel() -> Example:
    from tests.runtime.cuda.doubling import doubled

    return doubled, (torch.rand(1 << 20, device="cuda"),)


def compiled() -> Example:
    """A perceptron; what compiling it takes is part of what verify takes."""
    model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda()
    return torch.compile(model.eval().requires_grad_(False)), (torch.rand(512, 1024, device="cuda"),)


FACTORIES = (tiny, training_step, convolutions, transformer, recurrent, triton_kernel, compiled)


def eager_step(factory: Callable[[], Example]) -> float:
    """The seconds of a step that is warm, until the device is done."""
    target = made(factory(), factory.__name__)
    for _ in range(WARM_UPS):
        target.call(*target.args)
    return seconds(lambda: target.call(*target.args))


def verified(factory: Callable[[], Example]) -> tuple[float, dict[str, Any]]:
    """The seconds of the command, and its report."""
    command = [sys.executable, "-m", "graphlint", "verify", f"{MODULE}:{factory.__name__}", "--format", "json"]
    started = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    elapsed = time.perf_counter() - started
    if done.returncode > 1:
        sys.exit(f"{factory.__name__}: {done.stderr.strip()}")
    return elapsed, json.loads(done.stdout)


def row(factory: Callable[[], Example]) -> str:
    elapsed, report = verified(factory)
    step, spent = eager_step(factory), report["summary"]["seconds"]
    codes = ", ".join(sorted({finding["code"] for finding in report["findings"]})) or "nothing"
    return (
        f"{factory.__name__:14} t {1000 * step:9.3f} ms  command {elapsed:6.2f} s  verify {spent:6.2f} s  "
        f"ratio {(spent - FIXED) / step:9.1f}  budget {FIXED + FACTOR * step:6.2f} s  found {codes}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="modules whose name holds this text")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("this needs a GPU that torch can use")
    for factory in FACTORIES:
        if any(name in factory.__name__ for name in arguments.names or [""]):
            print(row(factory), flush=True)


if __name__ == "__main__":
    main()
