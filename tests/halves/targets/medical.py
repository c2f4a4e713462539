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
