"""Several calls in one step keep what they give until the next step."""
# graphed: wholly

import torch

model = torch.compile(torch.nn.Linear(8, 8).cuda(), mode="reduce-overhead")
with torch.no_grad():
    for _ in range(4):
        torch.compiler.cudagraph_mark_step_begin()
        x, states = torch.randn(2, 8, device="cuda"), []
        for _ in range(3):
            x = model(x)
            states.append(x)
        print(torch.stack(states).sum().item())
