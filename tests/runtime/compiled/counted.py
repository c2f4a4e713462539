"""What a mask finds has a size that nobody knows before."""
# graphed: partly

import torch

torch._dynamo.config.capture_dynamic_output_shape_ops = True


@torch.compile(mode="reduce-overhead")
def step(x):
    found = x[x > 0]  # expect: GL707
    return x.sum() + found.sum()


x = torch.tensor([1.0, -1.0, 2.0, -2.0], device="cuda")
with torch.no_grad():
    for _ in range(4):
        y = step(x)
print(y.item())
