"""Elements are counted in the middle of a function, which cannot be captured."""
# graphed: partly

import torch

torch._dynamo.config.capture_dynamic_output_shape_ops = True


@torch.compile(mode="reduce-overhead")
def step(x):
    y = x * 2
    found = y.nonzero()  # expect: GL707
    return found, y + 1


with torch.no_grad():
    for _ in range(4):
        found, y = step(torch.ones(8, device="cuda"))
assert found.shape == (8, 1)
