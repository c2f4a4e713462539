"""Densities and flows, structured prediction, decompositions."""

import tensorly
import tensorly.decomposition
import torch
import torch_struct
import torchcrf
import zuko


def _x():
    return torch.randn(16, 3, device="cuda")


def spline_flow():
    flow = zuko.flows.NSF(3, 0, transforms=2, hidden_features=(16, 16)).cuda()

    def step(x):
        return flow().log_prob(x)

    return step, (_x(),)


def masked_flow_samples():
    flow = zuko.flows.MAF(3, 0, transforms=2, hidden_features=(16,)).cuda()

    def step(x):
        return flow().rsample((4,)) + x.mean()

    return step, (_x(),)


def conditioned_flow():
    flow = zuko.flows.NICE(3, 2, transforms=2, hidden_features=(16,)).cuda()

    def step(x, c):
        return flow(c).log_prob(x)

    return step, (_x(), torch.randn(16, 2, device="cuda"))


def continuous_flow():
    flow = zuko.flows.CNF(3, 0, hidden_features=(16,)).cuda()

    def step(x):
        return flow().log_prob(x)

    return step, (_x(),)


def mixture():
    flow = zuko.flows.GMM(3, 0, components=3).cuda()

    def step(x):
        return -flow().log_prob(x).mean()

    return step, (_x(),)


def bernstein_flow():
    flow = zuko.flows.BPF(3, 0, transforms=2, hidden_features=(16,)).cuda()

    def step(x):
        return flow().log_prob(x)

    return step, (_x(),)


def tagging_loss():
    crf = torchcrf.CRF(5, batch_first=True).cuda()
    emissions = torch.randn(2, 7, 5, device="cuda")
    tags = torch.randint(0, 5, (2, 7), device="cuda")
    mask = torch.ones(2, 7, dtype=torch.bool, device="cuda")

    def step(emissions, tags, mask):
        return -crf(emissions, tags, mask=mask)

    return step, (emissions, tags, mask)


def tagging_decode():
    crf = torchcrf.CRF(5, batch_first=True).cuda()

    def step(emissions):
        return crf.decode(emissions)

    return step, (torch.randn(2, 7, 5, device="cuda"),)


def chain_marginals():
    def step(potentials):
        return torch_struct.LinearChainCRF(potentials).marginals

    return step, (torch.randn(2, 6, 4, 4, device="cuda"),)


def chain_argmax_with_lengths():
    def step(potentials, lengths):
        return torch_struct.LinearChainCRF(potentials, lengths).argmax

    return step, (torch.randn(2, 6, 4, 4, device="cuda"), torch.tensor([7, 5], device="cuda"))


def canonical_decomposition():
    tensorly.set_backend("pytorch")

    def step(x):
        _weights, factors = tensorly.decomposition.parafac(x, rank=2, n_iter_max=3, init="svd")
        return factors[0]

    return step, (torch.randn(4, 5, 6, device="cuda"),)


def tucker():
    tensorly.set_backend("pytorch")

    def step(x):
        core, _factors = tensorly.decomposition.tucker(x, rank=[2, 2, 2], n_iter_max=2)
        return core

    return step, (torch.randn(4, 5, 6, device="cuda"),)


def mode_product():
    tensorly.set_backend("pytorch")

    def step(x, m):
        return tensorly.tenalg.mode_dot(x, m, 1)

    return step, (torch.randn(4, 5, 6, device="cuda"), torch.randn(3, 5, device="cuda"))
