"""Solvers of equations, integrals, Gaussian processes, rotations and constraints."""

import e3nn.o3
import geotorch
import gpytorch
import linear_operator
import opt_einsum
import roma
import torch
import torchcde
import torchdiffeq
import torchquad
import torchsde
from botorch.acquisition import analytic, monte_carlo
from botorch.models import SingleTaskGP
from botorch.utils import sampling, transforms


def _decay(_time, y):
    return -y


def _solved(method, **options):
    times = torch.linspace(0.0, 1.0, 5, device="cuda")

    def step(y, times):
        return torchdiffeq.odeint(_decay, y, times, method=method, **options)

    return step, (torch.ones(4, device="cuda"), times)


def euler():
    return _solved("euler")


def euler_of_given_steps():
    return _solved("euler", options={"step_size": 0.1})


def runge_kutta():
    return _solved("rk4")


def adaptive():
    return _solved("dopri5", rtol=1e-3)


def implicit_adams():
    return _solved("explicit_adams", options={"step_size": 0.25})


class _Noisy(torch.nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def f(self, _time, y):
        return -y

    def g(self, _time, y):
        return 0.1 * torch.ones_like(y)


def stochastic():
    sde, times = _Noisy().cuda(), torch.linspace(0.0, 1.0, 3, device="cuda")

    def step(y, times):
        return torchsde.sdeint(sde, y, times, method="euler", dt=0.25)

    return step, (torch.ones(2, 3, device="cuda"), times)


def natural_spline():
    return torchcde.natural_cubic_coeffs, (torch.randn(2, 6, 3, device="cuda"),)


def hermite_spline():
    return torchcde.hermite_cubic_coefficients_with_backward_differences, (torch.randn(2, 6, 3, device="cuda"),)


def evaluated_spline():
    coefficients = torchcde.linear_interpolation_coeffs(torch.randn(2, 6, 3, device="cuda"))

    def step(coefficients, time):
        return torchcde.LinearInterpolation(coefficients).evaluate(time)

    return step, (coefficients, torch.tensor(1.5, device="cuda"))


class _Process(gpytorch.models.ExactGP):
    def __init__(self, x, y):
        super().__init__(x, y, gpytorch.likelihoods.GaussianLikelihood())
        self.mean = gpytorch.means.ConstantMean()
        self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))


def process_likelihood():
    x, y = torch.rand(8, 1, device="cuda"), torch.randn(8, device="cuda")
    model = _Process(x, y).cuda().train()
    loss = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)

    def step(x, y):
        return loss(model(x), y)

    return step, (x, y)


def process_prediction():
    x, y = torch.rand(8, 1, device="cuda"), torch.randn(8, device="cuda")
    model = _Process(x, y).cuda().eval()

    def step(x):
        with torch.no_grad():
            return model(x).mean

    return step, (torch.rand(4, 1, device="cuda"),)


def kernel():
    kernel = gpytorch.kernels.MaternKernel(nu=2.5).cuda()

    def step(x):
        return kernel(x).to_dense()

    return step, (torch.rand(8, 2, device="cuda"),)


def periodic_kernel():
    kernel = gpytorch.kernels.PeriodicKernel().cuda()

    def step(x):
        return kernel(x).to_dense()

    return step, (torch.rand(8, 2, device="cuda"),)


def cholesky():
    def step(matrix):
        return linear_operator.to_linear_operator(matrix).cholesky().to_dense()

    matrix = torch.randn(6, 6, device="cuda")
    return step, (matrix @ matrix.T + 6 * torch.eye(6, device="cuda"),)


def diagonal_solve():
    def step(diagonal, right):
        return linear_operator.operators.DiagLinearOperator(diagonal).solve(right)

    return step, (torch.rand(6, device="cuda") + 1, torch.randn(6, 1, device="cuda"))


def _surrogate():
    x, y = torch.rand(8, 2, device="cuda").double(), torch.randn(8, 1, device="cuda").double()
    return SingleTaskGP(x, y).cuda().eval()


def expected_improvement():
    acquisition = analytic.LogExpectedImprovement(_surrogate(), best_f=0.0)
    return acquisition, (torch.rand(3, 1, 2, device="cuda").double(),)


def noisy_improvement():
    acquisition = monte_carlo.qSimpleRegret(_surrogate())
    return acquisition, (torch.rand(3, 2, 2, device="cuda").double(),)


def standardized():
    return transforms.standardize, (torch.randn(8, 2, device="cuda"),)


def simplex_samples():
    def step(x):
        return x + sampling.sample_simplex(d=3, n=4, device=x.device, dtype=x.dtype)

    return step, (torch.zeros(4, 3, device="cuda"),)


def normalized():
    bounds = torch.tensor([[0.0, 0.0], [1.0, 2.0]], device="cuda")
    return transforms.normalize, (torch.rand(8, 2, device="cuda"), bounds)


def simpson():
    rule = torchquad.Simpson()
    domain = torch.tensor([[0.0, 1.0]], device="cuda")

    def step(domain):
        return rule.integrate(torch.sin, dim=1, N=101, integration_domain=domain, backend="torch")

    return step, (domain,)


def rotations():
    def step(vectors):
        return roma.unitquat_to_rotmat(roma.rotvec_to_unitquat(vectors))

    return step, (torch.randn(4, 3, device="cuda"),)


def nearest_rotation():
    return roma.special_procrustes, (torch.randn(4, 3, 3, device="cuda"),)


def rotation_vectors():
    return roma.rotmat_to_rotvec, (torch.eye(3, device="cuda").expand(4, 3, 3).clone(),)


def interpolated_rotations():
    q = torch.nn.functional.normalize(torch.randn(2, 4, device="cuda"), dim=-1)
    return roma.utils.unitquat_slerp, (q, q.flip(0), torch.linspace(0.0, 1.0, 3, device="cuda"))


def contraction():
    def step(a, b, c):
        return opt_einsum.contract("ij,jk,kl->il", a, b, c)

    return step, tuple(torch.randn(4, 4, device="cuda") for _ in range(3))


def spherical_harmonics():
    def step(x):
        return e3nn.o3.spherical_harmonics([0, 1, 2], x, normalize=True)

    return step, (torch.randn(8, 3, device="cuda"),)


def equivariant_linear():
    layer = e3nn.o3.Linear("2x0e + 1x1o", "1x0e + 2x1o").cuda()
    return layer, (torch.randn(4, 5, device="cuda"),)


def orthogonal_layer():
    layer = torch.nn.Linear(6, 6)
    geotorch.orthogonal(layer, "weight")
    return layer.cuda(), (torch.randn(4, 6, device="cuda"),)


def low_rank_layer():
    layer = torch.nn.Linear(6, 6)
    geotorch.low_rank(layer, "weight", rank=2)
    return layer.cuda(), (torch.randn(4, 6, device="cuda"),)
