"""Two functions that `torch.compile` graphs, the second on what the first gives.

Sizes are multiples of four: others are padded where the compiler finds that faster, which differs from run to run.
"""

import torch

encoder, decoder = torch.nn.Linear(8, 8).cuda(), torch.nn.Linear(8, 4).cuda()
encode, decode = (torch.compile(one, mode="reduce-overhead") for one in (encoder, decoder))
with torch.no_grad():
    for _ in range(5):
        torch.compiler.cudagraph_mark_step_begin()
        decode(encode(torch.randn(4, 8, device="cuda")))
