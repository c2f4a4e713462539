"""Beside a compiled function without graphs, one with them; breaks of the first cost no graph."""
# graphed: wholly

import torch


@torch.compile
def report(x):
    print("mean", x.mean())
    return x + 1


@torch.compile(mode="reduce-overhead")
def step(x):
    return x * 2


with torch.no_grad():
    for _ in range(4):
        y = step(torch.ones(8, device="cuda"))
        report(y)
