"""Segmentation: losses and networks of segmentation_models_pytorch."""

import segmentation_models_pytorch as smp
import torch


def _masks(classes=3):
    return torch.randn(2, classes, 16, 16, device="cuda"), torch.randint(0, classes, (2, 16, 16), device="cuda")


def dice():
    return smp.losses.DiceLoss("multiclass"), _masks()


def dice_of_some_classes():
    return smp.losses.DiceLoss("multiclass", classes=[0, 2], ignore_index=255), _masks()


def jaccard():
    return smp.losses.JaccardLoss("multiclass"), _masks()


def lovasz():
    return smp.losses.LovaszLoss("multiclass"), _masks()


def focal():
    return smp.losses.FocalLoss("multiclass"), _masks()


def binary_focal_with_ignored():
    return smp.losses.FocalLoss("binary", ignore_index=255), _masks(1)


def matthews():
    return smp.losses.MCCLoss(), _masks(1)


def soft_cross_entropy():
    return smp.losses.SoftCrossEntropyLoss(smooth_factor=0.1), _masks()


def unet():
    return smp.Unet("resnet18", encoder_weights=None, classes=2).cuda().eval(), (
        torch.rand(1, 3, 64, 64, device="cuda"),
    )


def pyramid():
    model = smp.FPN("resnet18", encoder_weights=None, classes=2).cuda().eval()
    return model, (torch.rand(1, 3, 64, 64, device="cuda"),)
