"""Neural operators, robots, transport, chemistry, minimisation."""

import geomloss
import neuralop.losses
import neuralop.models
import ot
import pypose
import pytorch_kinematics
import pytorch_tcn
import torch
import torchani
import torchmin


def fourier_operator():
    model = neuralop.models.FNO(n_modes=(8, 8), in_channels=1, out_channels=1, hidden_channels=8, n_layers=2)
    return model.cuda().eval(), (torch.randn(2, 1, 16, 16, device="cuda"),)


def operator_loss():
    loss = neuralop.losses.H1Loss(d=2)

    def step(x, y):
        return loss(x, y)

    return step, (torch.randn(2, 1, 16, 16, device="cuda"), torch.randn(2, 1, 16, 16, device="cuda"))


def relative_loss():
    loss = neuralop.losses.LpLoss(d=2, p=2)

    def step(x, y):
        return loss.rel(x, y)

    return step, (torch.randn(2, 1, 16, 16, device="cuda"), torch.randn(2, 1, 16, 16, device="cuda"))


def rotations():
    def step(x):
        return pypose.so3(x).Exp().matrix()

    return step, (torch.randn(4, 3, device="cuda"),)


def poses():
    def step(x, p):
        return pypose.se3(x).Exp().Act(p)

    return step, (torch.randn(4, 6, device="cuda"), torch.randn(4, 3, device="cuda"))


def pose_logarithm():
    def step(x):
        return pypose.Log(pypose.Exp(pypose.se3(x))).tensor()

    return step, (torch.randn(4, 6, device="cuda"),)


def inertial():
    integrator = pypose.module.IMUPreintegrator(torch.zeros(3), pypose.identity_SO3(), torch.zeros(3)).cuda()

    def step(dt, gyro, acc):
        return integrator(dt=dt, gyro=gyro, acc=acc)["pos"]

    return step, (
        torch.full((1, 5, 1), 0.01, device="cuda"),
        torch.randn(1, 5, 3, device="cuda"),
        torch.randn(1, 5, 3, device="cuda"),
    )


def rotation_conversions():
    def step(q):
        matrix = pytorch_kinematics.quaternion_to_matrix(q)
        return pytorch_kinematics.matrix_to_euler_angles(matrix, "XYZ")

    return step, (torch.nn.functional.normalize(torch.randn(4, 4, device="cuda"), dim=-1),)


def back_to_quaternions():
    def step(m):
        return pytorch_kinematics.matrix_to_quaternion(m)

    return step, (torch.eye(3, device="cuda").repeat(4, 1, 1),)


_ARM = """<robot name="arm"><link name="a"/><link name="b"/><link name="c"/>
<joint name="j1" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0 0 1" rpy="0 0 0"/>
<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="j2" type="prismatic"><parent link="b"/><child link="c"/><origin xyz="0 1 0" rpy="0 0 0"/>
<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


def forward_kinematics():
    chain = pytorch_kinematics.build_serial_chain_from_urdf(_ARM, "c").to(device="cuda")

    def step(angles):
        return chain.forward_kinematics(angles).get_matrix()

    return step, (torch.randn(4, 2, device="cuda"),)


def chain_jacobian():
    chain = pytorch_kinematics.build_serial_chain_from_urdf(_ARM, "c").to(device="cuda")

    def step(angles):
        return chain.jacobian(angles)

    return step, (torch.randn(4, 2, device="cuda"),)


def sinkhorn_divergence():
    loss = geomloss.SamplesLoss("sinkhorn", p=2, blur=0.1, backend="tensorized")
    return loss, (torch.randn(10, 2, device="cuda"), torch.randn(12, 2, device="cuda"))


def sinkhorn_of_known_size():
    loss = geomloss.SamplesLoss("sinkhorn", p=2, blur=0.1, diameter=4.0, backend="tensorized")
    return loss, (torch.randn(10, 2, device="cuda"), torch.randn(12, 2, device="cuda"))


def energy_distance():
    loss = geomloss.SamplesLoss("energy", backend="tensorized")
    return loss, (torch.randn(10, 2, device="cuda"), torch.randn(12, 2, device="cuda"))


def entropic_plan():
    def step(a, b, cost):
        return ot.sinkhorn(a, b, cost, 0.5, numItermax=5, warn=False)

    ones = torch.ones(6, device="cuda") / 6
    return step, (ones, ones.clone(), torch.rand(6, 6, device="cuda"))


def exact_distance():
    def step(a, b, cost):
        return ot.emd2(a, b, cost)

    ones = torch.ones(6, device="cuda") / 6
    return step, (ones, ones.clone(), torch.rand(6, 6, device="cuda"))


def sliced_distance():
    def step(x, y):
        return ot.sliced_wasserstein_distance(x, y, n_projections=5)

    return step, (torch.randn(6, 3, device="cuda"), torch.randn(6, 3, device="cuda"))


def line_distance():
    def step(x, y):
        return ot.wasserstein_1d(x, y)

    return step, (torch.randn(6, device="cuda"), torch.randn(6, device="cuda"))


def second_order():
    def step(x0):
        return torchmin.minimize(lambda x: ((x - 1) ** 4).sum(), x0, method="bfgs", max_iter=3).x

    return step, (torch.zeros(4, device="cuda"),)


def conjugate_gradients():
    def step(x0):
        return torchmin.minimize(lambda x: ((x - 1) ** 4).sum(), x0, method="newton-cg", max_iter=2).x

    return step, (torch.zeros(4, device="cuda"),)


def causal_convolutions():
    model = pytorch_tcn.TCN(8, [16, 16], kernel_size=3, causal=True).cuda().eval()
    return model, (torch.randn(2, 8, 20, device="cuda"),)


def local_environments():
    computer = torchani.AEVComputer.like_2x(strategy="pyaev").cuda()
    species = torch.tensor([[0, 1, 1, 2]], device="cuda")

    def step(coordinates):
        return computer(species, coordinates)

    return step, (torch.randn(1, 4, 3, device="cuda"),)
