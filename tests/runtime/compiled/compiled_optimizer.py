"""The update of an optimizer is compiled, whose state the compiler makes while it traces."""
# graphed: partly

import torch

model = torch.nn.Linear(8, 1).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=torch.tensor(0.1, device="cuda"), capturable=True)
update = torch.compile(optimizer.step, mode="reduce-overhead")
for _ in range(5):
    optimizer.zero_grad(set_to_none=False)
    model(torch.randn(4, 8, device="cuda")).pow(2).mean().backward()
    update()  # expect: GL707
print(model.weight.sum().item())
