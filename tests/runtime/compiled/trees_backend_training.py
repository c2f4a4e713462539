"""The backend that does nothing but graph, forward and backward."""
# graphed: wholly

import torch

weight = torch.ones(4, device="cuda", requires_grad=True)


@torch.compile(backend="cudagraphs")
def step(x):
    return (x * weight * weight).sum()


for number in range(4):
    weight.grad = None
    step(torch.full((4,), float(number), device="cuda")).backward()
    assert weight.grad.tolist() == [2.0 * number] * 4
