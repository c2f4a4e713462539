"""An operator says of itself that it cannot be captured."""
# graphed: partly

import torch


@torch.library.custom_op("compiled_programs::peak", mutates_args=(), tags=(torch._C.Tag.cudagraph_unsafe,))
def peak(x: torch.Tensor) -> torch.Tensor:
    return x / x.max().item()


@peak.register_fake
def _(x):
    return torch.empty_like(x)


@torch.compile(mode="reduce-overhead")
def step(x):
    y = peak(x * 2)  # expect: GL707
    return y + 1


with torch.no_grad():
    for _ in range(4):
        y = step(torch.rand(4, device="cuda"))
print(y.sum().item())
