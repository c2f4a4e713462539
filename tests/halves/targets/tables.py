"""Spiking networks, tables, recommenders, images, losses without labels, optimizers."""

import deepctr_torch.layers
import efficientnet_pytorch
import facenet_pytorch
import lightly.loss
import lightly.models.utils
import madgrad
import norse.torch
import pytorch_tabnet.tab_network
import rtdl_num_embeddings
import rtdl_revisiting_models
import snntorch
import snntorch.functional
import spikingjelly.activation_based.functional
import spikingjelly.activation_based.layer
import spikingjelly.activation_based.neuron
import torch


def leaky_spikes():
    neuron = snntorch.Leaky(beta=0.9, init_hidden=False).cuda()

    def step(x):
        memory = neuron.init_leaky()
        spikes = []
        for t in range(4):
            spike, memory = neuron(x[t], memory)
            spikes.append(spike)
        return torch.stack(spikes)

    return step, (torch.randn(4, 2, 8, device="cuda"),)


def rate_loss():
    loss = snntorch.functional.ce_rate_loss()

    def step(spikes, targets):
        return loss(spikes, targets)

    return step, (torch.rand(4, 2, 5, device="cuda"), torch.randint(0, 5, (2,), device="cuda"))


def lasting_spikes():
    layer = norse.torch.LIFCell().cuda()

    def step(x):
        spikes, state = layer(x)
        return spikes, state.v

    return step, (torch.randn(2, 8, device="cuda"),)


def recurrent_spikes():
    layer = norse.torch.LIFRecurrentCell(8, 6).cuda()

    def step(x):
        spikes, _state = layer(x)
        return spikes

    return step, (torch.randn(2, 8, device="cuda"),)


def integrate_and_fire():
    net = torch.nn.Sequential(
        spikingjelly.activation_based.layer.Linear(8, 8), spikingjelly.activation_based.neuron.LIFNode(tau=2.0)
    ).cuda()

    def step(x):
        out = net(x)
        spikingjelly.activation_based.functional.reset_net(net)
        return out

    return step, (torch.randn(2, 8, device="cuda"),)


def many_steps():
    net = spikingjelly.activation_based.neuron.LIFNode(tau=2.0, step_mode="m").cuda()

    def step(x):
        out = net(x)
        net.reset()
        return out

    return step, (torch.randn(4, 2, 8, device="cuda"),)


def attentive_table():
    net = (
        pytorch_tabnet.tab_network.TabNet(
            8, 3, n_d=4, n_a=4, n_steps=2, virtual_batch_size=4, group_attention_matrix=torch.eye(8, device="cuda")
        )
        .cuda()
        .eval()
    )
    return net, (torch.randn(8, 8, device="cuda"),)


def attentive_table_in_training():
    net = (
        pytorch_tabnet.tab_network.TabNet(
            8, 3, n_d=4, n_a=4, n_steps=2, virtual_batch_size=4, group_attention_matrix=torch.eye(8, device="cuda")
        )
        .cuda()
        .train()
    )
    return net, (torch.randn(8, 8, device="cuda"),)


def piecewise_numbers():
    bins = [torch.linspace(-2, 2, 6) for _ in range(4)]
    layer = rtdl_num_embeddings.PiecewiseLinearEmbeddings(bins, 8, activation=False, version="B").cuda()
    return layer, (torch.randn(8, 4, device="cuda"),)


def periodic_numbers():
    layer = rtdl_num_embeddings.PeriodicEmbeddings(4, 8, lite=False).cuda()
    return layer, (torch.randn(8, 4, device="cuda"),)


def tokens_of_features():
    model = (
        rtdl_revisiting_models.FTTransformer(
            n_cont_features=4,
            cat_cardinalities=[3, 5],
            d_out=2,
            **rtdl_revisiting_models.FTTransformer.get_default_kwargs(),
        )
        .cuda()
        .eval()
    )
    return model, (torch.randn(8, 4, device="cuda"), torch.randint(0, 3, (8, 2), device="cuda"))


def crossing():
    layer = deepctr_torch.layers.CrossNet(8, layer_num=2, device="cuda").cuda()
    return layer, (torch.randn(8, 8, device="cuda"),)


def compressed_interaction():
    layer = deepctr_torch.layers.CIN(4, (6, 4), device="cuda").cuda()
    return layer, (torch.randn(8, 4, 5, device="cuda"),)


def pooled_sequence():
    layer = deepctr_torch.layers.SequencePoolingLayer(mode="mean", supports_masking=False, device="cuda").cuda()

    def step(x, lengths):
        return layer([x, lengths])

    return step, (torch.randn(4, 6, 5, device="cuda"), torch.tensor([[2], [3], [6], [1]], device="cuda"))


def top_pooled_sequence():
    layer = deepctr_torch.layers.KMaxPooling(k=2, axis=1, device="cuda").cuda()
    return layer, (torch.randn(4, 6, 5, device="cuda"),)


def scaled_network():
    model = efficientnet_pytorch.EfficientNet.from_name("efficientnet-b0", num_classes=5).cuda().eval()
    return model, (torch.randn(1, 3, 64, 64, device="cuda"),)


def scaled_network_in_training():
    model = efficientnet_pytorch.EfficientNet.from_name("efficientnet-b0", num_classes=5).cuda().train()
    return model, (torch.randn(2, 3, 64, 64, device="cuda"),)


def faces():
    model = facenet_pytorch.InceptionResnetV1(classify=False).cuda().eval()
    return model, (torch.randn(1, 3, 96, 96, device="cuda"),)


def self_supervised_loss():
    loss = lightly.loss.NTXentLoss(temperature=0.5)
    return loss, (torch.randn(8, 16, device="cuda"), torch.randn(8, 16, device="cuda"))


def loss_with_memory():
    loss = lightly.loss.NTXentLoss(temperature=0.5, memory_bank_size=(32, 16)).cuda()
    return loss, (torch.randn(8, 16, device="cuda"), torch.randn(8, 16, device="cuda"))


def decorrelation_loss():
    loss = lightly.loss.BarlowTwinsLoss()
    return loss, (torch.randn(8, 16, device="cuda"), torch.randn(8, 16, device="cuda"))


def distillation_loss():
    loss = lightly.loss.DINOLoss(output_dim=16).cuda()

    def step(teacher, student):
        return loss([teacher], [student, teacher], epoch=1)

    return step, (torch.randn(8, 16, device="cuda"), torch.randn(8, 16, device="cuda"))


def regularised_loss():
    loss = lightly.loss.VICRegLoss()
    return loss, (torch.randn(8, 16, device="cuda"), torch.randn(8, 16, device="cuda"))


def random_mask():
    def step(x):
        keep, _mask = lightly.models.utils.random_token_mask((4, 16), mask_ratio=0.5, device=x.device)
        return lightly.models.utils.get_at_index(x, keep)

    return step, (torch.randn(4, 16, 8, device="cuda"),)


def momentum_of_two():
    model = torch.nn.Linear(8, 8).cuda()
    optimizer = madgrad.MADGRAD(model.parameters(), lr=0.01)

    def step(x):
        optimizer.zero_grad(set_to_none=False)
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return step, (torch.randn(4, 8, device="cuda"),)


def mirrored_momentum():
    model = torch.nn.Linear(8, 8).cuda()
    optimizer = madgrad.MirrorMADGRAD(model.parameters(), lr=0.01)

    def step(x):
        optimizer.zero_grad(set_to_none=False)
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return step, (torch.randn(4, 8, device="cuda"),)
