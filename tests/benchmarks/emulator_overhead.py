"""What the emulator costs: a transformer on the CPU in, a table of ratios to the same steps in plain PyTorch out.

    python -m tests.benchmarks.emulator_overhead [--rounds N]

Twelve encoder layers in float32, training mode without dropout; a step is a forward without gradients, or a forward
with the backward of the mean square. `plain` has loaded nothing of graphlint; `device` runs on the emulated device, as
all but one of the eager steps of `verify` do; `followed` is that one step, of which each operator is looked at. Each
has a process of its own, and they take turns, step by step. What counts is the least of the processor seconds, on one
thread, so that other programs disturb little.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection

LAYERS = 12
SIZES = ((256, 8, 64), (512, 4, 128), (768, 4, 128))  # width, batch, tokens
WARM_UPS = 2
PLAIN, DEVICE, FOLLOWED = "plain", "device", "followed"


def run(where: str, size: tuple[int, int, int], orders: Connection) -> None:
    """A process: the seconds of a step for each order, which says whether it goes backward."""
    if where == PLAIN:
        serve(size, "cpu", orders)
        return
    from graphlint.rulebook import builtin_rules, load_rulebook
    from graphlint.runtime.judge.findings import Findings
    from graphlint.runtime.session.session import EMULATOR, watch_for

    watch, _ = watch_for(Findings(load_rulebook(builtin_rules()), lambda key, one: None), EMULATOR)
    if where == DEVICE:
        serve(size, "cuda", orders)
        return
    with watch.watching():
        serve(size, "cuda", orders)


def serve(size: tuple[int, int, int], device: str, orders: Connection) -> None:
    steps = made(size, device)
    for step in steps * WARM_UPS:
        step()
    orders.send(None)
    while (goes_back := orders.recv()) is not None:
        began = time.process_time()
        steps[goes_back]()
        orders.send(time.process_time() - began)


def made(size: tuple[int, int, int], device: str) -> list[Callable[[], object]]:
    """A forward, and a forward with its backward."""
    import torch

    torch.set_num_threads(1)
    width, batch, tokens = size
    layer = torch.nn.TransformerEncoderLayer(width, 8, 4 * width, dropout=0.0, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False).to(device)
    inputs = torch.rand(batch, tokens, width, device=device)

    def both() -> None:
        model.zero_grad(set_to_none=True)
        model(inputs).square().mean().backward()

    return [torch.no_grad()(lambda: model(inputs)), both]


def row(size: tuple[int, int, int], rounds: int) -> str:
    context = multiprocessing.get_context("spawn")
    ends: dict[str, Connection] = {}
    for where in (PLAIN, DEVICE, FOLLOWED):
        ends[where], other = context.Pipe()
        context.Process(target=run, args=(where, size, other), daemon=True).start()
        ends[where].recv()
    texts = []
    for goes_back, name in enumerate(("forward", "with backward")):
        least = dict.fromkeys(ends, float("inf"))
        for _ in range(rounds):
            for where, end in ends.items():
                end.send(goes_back)
                least[where] = min(least[where], end.recv())
        ratios = "  ".join(f"{where} {least[where] / least[PLAIN]:4.2f}" for where in (DEVICE, FOLLOWED))
        texts.append(f"{name}: plain {1000 * least[PLAIN]:7.1f} ms  {ratios}")
    for end in ends.values():
        end.send(None)
    return f"width {size[0]}, batch {size[1]}, tokens {size[2]}  " + "  ".join(texts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10, metavar="N", help="how often each step runs")
    arguments = parser.parse_args()
    for size in SIZES:
        print(row(size, arguments.rounds), flush=True)


if __name__ == "__main__":
    sys.exit(main())
