"""Losses: metric learning, image quality, sparse attention."""

import entmax
import kornia
import lpips
import piq
import pytorch_msssim
import torch
from pytorch_metric_learning import losses, miners, reducers, regularizers


def _embeddings():
    return torch.randn(16, 8, device="cuda"), torch.randint(0, 4, (16,), device="cuda")


def _images():
    return torch.rand(2, 3, 64, 64, device="cuda"), torch.rand(2, 3, 64, 64, device="cuda")


def _masks(classes=3):
    return torch.randn(2, classes, 16, 16, device="cuda"), torch.randint(0, classes, (2, 16, 16), device="cuda")


def _graded(loss, *inputs):
    """A step that goes backward, too."""

    def step(x, *rest):
        x = x.detach().requires_grad_()
        loss(x, *rest).backward()
        return x.grad

    return step, inputs


def triplet():
    return losses.TripletMarginLoss(), _embeddings()


def contrastive():
    return losses.ContrastiveLoss(), _embeddings()


def ntxent():
    return losses.NTXentLoss(temperature=0.1), _embeddings()


def multi_similarity():
    return losses.MultiSimilarityLoss(), _embeddings()


def arcface():
    return losses.ArcFaceLoss(num_classes=4, embedding_size=8).cuda(), _embeddings()


def proxy_anchor():
    return losses.ProxyAnchorLoss(num_classes=4, embedding_size=8).cuda(), _embeddings()


def softmax_with_mean_reducer():
    loss = losses.NormalizedSoftmaxLoss(4, 8, reducer=reducers.MeanReducer()).cuda()
    return loss, _embeddings()


def circle_with_regularizer():
    return losses.CircleLoss(embedding_regularizer=regularizers.LpRegularizer()), _embeddings()


def mined_triplets():
    miner, loss = miners.TripletMarginMiner(), losses.TripletMarginLoss()

    def step(embeddings, labels):
        return loss(embeddings, labels, miner(embeddings, labels))

    return step, _embeddings()


def hard_pairs():
    miner = miners.BatchHardMiner()
    return miner, _embeddings()


def sparse_attention():
    return entmax.entmax15, (torch.randn(4, 9, device="cuda"),)


def sparsemax():
    return entmax.sparsemax, (torch.randn(4, 9, device="cuda"),)


def bisected_entmax():
    return entmax.entmax_bisect, (torch.randn(4, 9, device="cuda"),)


def sparsemax_loss():
    loss = entmax.SparsemaxLoss()
    return _graded(loss, torch.randn(4, 9, device="cuda"), torch.randint(0, 9, (4,), device="cuda"))


def multi_scale_similarity():
    def step(x, y):
        return pytorch_msssim.ms_ssim(x, y, data_range=1.0, win_size=3)

    return step, _images()


def similarity_module():
    return pytorch_msssim.SSIM(data_range=1.0).cuda(), _images()


def perceptual():
    return lpips.LPIPS(pretrained=False, pnet_rand=True, verbose=False).cuda().eval(), _images()


def piq_similarity():
    return piq.ssim, _images()


def piq_gradient_magnitude():
    return piq.gmsd, _images()


def piq_information_fidelity():
    return piq.vif_p, _images()


def piq_haar():
    return piq.haarpsi, _images()


def piq_variation():
    return piq.TVLoss(), (_images()[0],)


def piq_feature_similarity():
    return piq.FSIMLoss(), _images()


def kornia_focal():
    loss = kornia.losses.FocalLoss(alpha=0.5, reduction="mean")
    return loss, _masks()


def kornia_lovasz():
    return kornia.losses.LovaszHingeLoss(), _masks(1)


def kornia_similarity():
    return kornia.losses.SSIMLoss(5), _images()


def kornia_robust():
    return _graded(kornia.losses.CharbonnierLoss(reduction="mean"), *_images())


def kornia_hausdorff():
    loss = kornia.losses.HausdorffERLoss(reduction="mean", k=3).cuda()
    return loss, (torch.rand(1, 3, 16, 16, device="cuda"), torch.randint(0, 3, (1, 1, 16, 16), device="cuda"))
