"""A module that `make_graphed_callables` captures, forward and backward, inside of a step that is not."""

import torch

body = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 4)).cuda()
head = torch.nn.Linear(4, 1).cuda()
optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
body = torch.cuda.make_graphed_callables(body, (torch.randn(2, 4, device="cuda"),))
for _ in range(3):
    optimizer.zero_grad(set_to_none=True)
    head(body(torch.randn(2, 4, device="cuda"))).sum().backward()
    optimizer.step()
