"""Steps of optimizers, with the backward pass before them."""

import adabelief_pytorch
import dadaptation
import lion_pytorch
import prodigyopt
import pytorch_optimizer
import schedulefree
import torch
import torch_optimizer


def _trained(make):
    """A step of training; `make` gets the parameters."""
    model = torch.nn.Linear(8, 4).cuda()
    optimizer = make(model.parameters())

    def step(x):
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step, (torch.randn(16, 8, device="cuda"),)


def lion():
    return _trained(lion_pytorch.Lion)


def ada_bound():
    return _trained(torch_optimizer.AdaBound)


def lamb():
    return _trained(torch_optimizer.Lamb)


def yogi():
    return _trained(torch_optimizer.Yogi)


def rectified_adam():
    return _trained(torch_optimizer.RAdam)


def lookahead():
    return _trained(lambda parameters: torch_optimizer.Lookahead(torch_optimizer.Yogi(parameters)))


def novograd():
    return _trained(torch_optimizer.NovoGrad)


def shampoo():
    return _trained(torch_optimizer.Shampoo)


def projected_adam():
    return _trained(torch_optimizer.AdamP)


def apollo():
    return _trained(lambda parameters: torch_optimizer.Apollo(parameters, lr=0.1))


def adafactor():
    return _trained(torch_optimizer.Adafactor)


def layerwise():
    return _trained(lambda parameters: torch_optimizer.LARS(parameters, lr=0.1))


def swats():
    return _trained(torch_optimizer.SWATS)


def a2grad():
    return _trained(torch_optimizer.A2GradExp)


def ada_belief():
    return _trained(lambda parameters: adabelief_pytorch.AdaBelief(parameters, print_change_log=False))


def schedule_free():
    optimizer = []

    def make(parameters):
        optimizer.append(schedulefree.AdamWScheduleFree(parameters, foreach=False))
        optimizer[0].train()
        return optimizer[0]

    return _trained(make)


def prodigy():
    return _trained(prodigyopt.Prodigy)


def adapted_adam():
    return _trained(dadaptation.DAdaptAdam)


def adapted_descent():
    return _trained(dadaptation.DAdaptSGD)


def tiger():
    return _trained(pytorch_optimizer.Tiger)


def adan():
    return _trained(pytorch_optimizer.Adan)


def came():
    return _trained(pytorch_optimizer.CAME)


def memory_efficient():
    return _trained(pytorch_optimizer.SM3)


def fromage():
    return _trained(pytorch_optimizer.Fromage)
