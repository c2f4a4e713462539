"""A graph that reads what another has made, each in a pool of its own, warmed up on the stream that captures both."""

import torch

encoder, decoder = torch.nn.Linear(8, 8).cuda(), torch.nn.Linear(8, 8).cuda()
frames, gain = torch.zeros(4, 8, device="cuda"), torch.ones(8, device="cuda")
first, second, third = (torch.cuda.CUDAGraph() for _ in range(3))
stream = torch.cuda.Stream()
stream.wait_stream(torch.cuda.current_stream())
with torch.no_grad():
    with torch.cuda.stream(stream):
        decoder(encoder(frames))
    with torch.cuda.graph(first, stream=stream):
        hidden = encoder(frames).relu()
    with torch.cuda.graph(second, stream=stream):
        result = decoder(hidden) * gain
    with torch.cuda.graph(third):
        total = result.sum() + hidden[0, 0]
    for value in range(3):
        frames.fill_(float(value))
        first.replay()
        second.replay()
        if value:
            third.replay()
