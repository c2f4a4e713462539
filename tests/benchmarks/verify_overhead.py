"""What `graphlint verify` costs: the modules below in, a table of seconds against the budget of 3 s + 40 t out.

    python -m tests.benchmarks.verify_overhead [NAME]...

t is an eager step. Side by side, each from a fresh process to its end: `plain` imports PyTorch, builds the module and
runs one step, `verify` is the command on the same module, and what it takes longer is the overhead. A tool, run by hand
on a machine with a GPU that nothing else uses.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

from graphlint.runtime.examine.measure import seconds
from graphlint.runtime.examine.target import made

ROOT = Path(__file__).parents[2]
MODULE = "tests.benchmarks.verify_overhead"
FIXED, FACTOR = 3.0, 40.0  # of the budget: seconds, and eager steps
WARM_UPS = 3
RUNS = 2  # of which the faster one counts

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


FACTORIES = {one.__name__: one for one in (
    tiny, training_step, convolutions, transformer, recurrent, triton_kernel, compiled,
)}  # fmt: skip


def step(factory: Callable[[], Example]) -> float:
    """The seconds of a step that is warm, until the device is done."""
    target = made(factory(), factory.__name__)
    for _ in range(WARM_UPS):
        target.call(*target.args)
    return seconds(lambda: target.call(*target.args))


def timed(*command: str) -> tuple[float, str]:
    """The seconds of a Python process, and what it prints."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    elapsed = time.perf_counter() - began
    if done.returncode > 1:
        sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
    return elapsed, done.stdout


def row(name: str, factory: Callable[[], Example]) -> str:
    command = ("-m", "graphlint", "verify", f"{MODULE}:{name}", "--format", "json")
    runs = [(timed("-m", MODULE, "--plain", name)[0], *timed(*command)) for _ in range(RUNS)]
    plain, verified = min(run[0] for run in runs), min(run[1] for run in runs)
    t, report = step(factory), json.loads(runs[-1][2])
    codes = ", ".join(sorted({finding["code"] for finding in report["findings"]})) or "nothing"
    return (
        f"{name:14} t {1000 * t:9.3f} ms  plain {plain:6.2f} s  verify {verified:6.2f} s  overhead "
        f"{verified - plain:6.2f} s  budget {FIXED + FACTOR * t:6.2f} s  found {codes}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="modules whose name holds this text")
    parser.add_argument("--plain", choices=FACTORIES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.plain:
        call, inputs = FACTORIES[arguments.plain]()
        call(*inputs)
        torch.cuda.synchronize()
        return
    if not torch.cuda.is_available():
        sys.exit("this needs a GPU that torch can use")
    for name, factory in FACTORIES.items():
        if any(wanted in name for wanted in arguments.names or [""]):
            print(row(name, factory), flush=True)


if __name__ == "__main__":
    main()
