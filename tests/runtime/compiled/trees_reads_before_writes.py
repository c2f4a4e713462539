"""What was reinplaced by the compiler, and read before; the argument stays as it was."""
# graphed: wholly

import torch


@torch.compile(mode="reduce-overhead")
def step(x):
    y = x + 1
    y.mul_(2)
    return y.cos_(), y


with torch.no_grad():
    for _ in range(4):
        x = torch.randn(4, 8, device="cuda")
        kept = x.clone()
        y, z = step(x)
        assert torch.equal(x, kept)
        assert torch.allclose(y, ((kept + 1) * 2).cos())
