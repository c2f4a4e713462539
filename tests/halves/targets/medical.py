"""Losses, networks and inference of monai."""

import monai.losses
import torch
from monai.inferers import SlidingWindowInferer
from monai.networks import blocks, nets


def dice():
    loss = monai.losses.DiceLoss(to_onehot_y=True, softmax=True)
    return loss, (torch.randn(2, 3, 8, 8, device="cuda"), torch.randint(0, 3, (2, 1, 8, 8), device="cuda"))


def generalized_dice():
    loss = monai.losses.GeneralizedDiceLoss(sigmoid=True)
    return loss, (torch.randn(2, 3, 8, 8, device="cuda"), torch.randint(0, 2, (2, 3, 8, 8), device="cuda"))


def focal():
    loss = monai.losses.FocalLoss(to_onehot_y=True, use_softmax=True)
    return loss, (torch.randn(2, 3, 8, 8, device="cuda"), torch.randint(0, 3, (2, 1, 8, 8), device="cuda"))


def cross_correlation():
    loss = monai.losses.LocalNormalizedCrossCorrelationLoss(spatial_dims=2).cuda()
    return loss, (torch.rand(1, 1, 16, 16, device="cuda"), torch.rand(1, 1, 16, 16, device="cuda"))


def tversky():
    loss = monai.losses.TverskyLoss(sigmoid=True)
    return loss, (torch.randn(2, 1, 8, 8, device="cuda"), torch.randint(0, 2, (2, 1, 8, 8), device="cuda"))


def unet():
    model = nets.UNet(2, 1, 2, channels=(4, 8), strides=(2,)).cuda().eval()
    return model, (torch.rand(1, 1, 16, 16, device="cuda"),)


def squeeze():
    return blocks.ChannelSELayer(2, 4).cuda(), (torch.rand(2, 4, 8, 8, device="cuda"),)


def sliding_window():
    inferer, network = SlidingWindowInferer((8, 8), overlap=0.5), torch.nn.Conv2d(1, 1, 3, padding=1).cuda()

    def step(image):
        return inferer(image, network)

    return step, (torch.rand(1, 1, 16, 16, device="cuda"),)
