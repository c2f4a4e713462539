"""Samplers: steps of diffusion schedulers, distributions, flows."""

import diffusers
import normflows
import pyro.distributions as dist
import torch
from nflows import distributions, flows, transforms
from normflows.distributions import DiagGaussian


def _stepped(scheduler, timestep=None):
    """One step of a scheduler, at a time that lies on the device or on the host."""
    scheduler.set_timesteps(10, device="cuda")
    sample = torch.randn(1, 4, 8, 8, device="cuda")

    def step(predicted, time, sample):
        scheduler._step_index = None
        return scheduler.step(predicted, time, sample).prev_sample

    return step, (torch.randn_like(sample), scheduler.timesteps[3] if timestep is None else timestep, sample)


def ddim():
    return _stepped(diffusers.DDIMScheduler())


def ddim_at_a_number():
    return _stepped(diffusers.DDIMScheduler(), 301)


def ddpm():
    return _stepped(diffusers.DDPMScheduler())


def euler():
    return _stepped(diffusers.EulerDiscreteScheduler())


def euler_ancestral():
    return _stepped(diffusers.EulerAncestralDiscreteScheduler())


def flow_matching():
    return _stepped(diffusers.FlowMatchEulerDiscreteScheduler())


def multistep():
    return _stepped(diffusers.DPMSolverMultistepScheduler())


def predictor_corrector():
    return _stepped(diffusers.UniPCMultistepScheduler())


def consistency():
    return _stepped(diffusers.LCMScheduler())


def edm():
    return _stepped(diffusers.EDMEulerScheduler())


def added_noise():
    scheduler = diffusers.DDPMScheduler()
    x, times = torch.randn(2, 4, 8, 8, device="cuda"), torch.tensor([10, 20], device="cuda")
    return scheduler.add_noise, (x, torch.randn_like(x), times)


def added_noise_of_flow():
    scheduler = diffusers.FlowMatchEulerDiscreteScheduler()
    x = torch.randn(2, 4, 8, 8, device="cuda")
    return scheduler.scale_noise, (x, scheduler.timesteps[:2].cuda(), torch.randn_like(x))


def velocity():
    scheduler = diffusers.DDIMScheduler()
    x, times = torch.randn(2, 4, 8, 8, device="cuda"), torch.tensor([10, 20], device="cuda")
    return scheduler.get_velocity, (x, torch.randn_like(x), times)


def normal():
    def step(mean, scale):
        return dist.Normal(mean, scale).rsample()

    return step, (torch.zeros(4, device="cuda"), torch.ones(4, device="cuda"))


def unchecked_normal():
    def step(mean, scale):
        return dist.Normal(mean, scale, validate_args=False).rsample()

    return step, (torch.zeros(4, device="cuda"), torch.ones(4, device="cuda"))


def likelihood():
    def step(mean, value):
        return dist.Normal(mean, 1.0).to_event(1).log_prob(value)

    return step, (torch.zeros(4, device="cuda"), torch.ones(4, device="cuda"))


def zero_inflated():
    def step(gate, rate, value):
        return dist.ZeroInflatedPoisson(rate, gate=gate, validate_args=False).log_prob(value)

    gate, rate = torch.full((4,), 0.3, device="cuda"), torch.ones(4, device="cuda")
    return step, (gate, rate, torch.arange(4.0, device="cuda"))


def projected_normal():
    def step(concentration):
        return dist.ProjectedNormal(concentration, validate_args=False).rsample()

    return step, (torch.ones(3, device="cuda"),)


def masked_mixture():
    def step(mask, value):
        parts = dist.Normal(0.0, 1.0, validate_args=False), dist.Normal(1.0, 1.0, validate_args=False)
        return dist.MaskedMixture(mask, *parts, validate_args=False).log_prob(value)

    return step, (torch.tensor([True, False], device="cuda"), torch.zeros(2, device="cuda"))


def sorted_states():
    def step(probs):
        return dist.RelaxedOneHotCategoricalStraightThrough(torch.tensor(0.5, device="cuda"), probs).rsample()

    return step, (torch.ones(5, device="cuda"),)


def coupling_flow():
    parts = [normflows.flows.AffineCouplingBlock(normflows.nets.MLP([1, 8, 2])), normflows.flows.Permute(2, "swap")]
    model = normflows.NormalizingFlow(DiagGaussian(2), parts).cuda()
    return model.forward_kld, (torch.randn(8, 2, device="cuda"),)


def spline_flow():
    part = normflows.flows.CoupledRationalQuadraticSpline(2, 1, 8)
    model = normflows.NormalizingFlow(DiagGaussian(2), [part]).cuda().eval()
    return model.log_prob, (torch.randn(8, 2, device="cuda"),)


def flow_samples():
    model = normflows.NormalizingFlow(DiagGaussian(2), [normflows.flows.LULinearPermute(2)]).cuda()

    def step():
        return model.sample(8)[0]

    return step, ()


def normalized_activations():
    model = normflows.NormalizingFlow(DiagGaussian(2), [normflows.flows.ActNorm(2)]).cuda()
    return model.log_prob, (torch.randn(8, 2, device="cuda"),)


def autoregressive_flow():
    part = transforms.MaskedAffineAutoregressiveTransform(features=2, hidden_features=8)
    model = flows.Flow(part, distributions.StandardNormal([2])).cuda()
    return model.log_prob, (torch.randn(8, 2, device="cuda"),)


def spline_of_nflows():
    part = transforms.MaskedPiecewiseRationalQuadraticAutoregressiveTransform(2, 8, tails="linear", tail_bound=3.0)
    model = flows.Flow(part, distributions.StandardNormal([2])).cuda()
    return model.log_prob, (torch.randn(8, 2, device="cuda"),)


def permuted_flow():
    parts = transforms.CompositeTransform([transforms.ReversePermutation(2), transforms.LULinear(2)])
    model = flows.Flow(parts, distributions.StandardNormal([2])).cuda()
    return model.log_prob, (torch.randn(8, 2, device="cuda"),)
