"""Metrics that are updated or computed in a step: torchmetrics and ignite."""

import torch
from ignite.metrics import Accuracy, ConfusionMatrix, MeanSquaredError, TopKCategoricalAccuracy
from ignite.metrics.regression import R2Score
from torchmetrics import MeanMetric, MetricCollection
from torchmetrics.aggregation import MaxMetric
from torchmetrics.classification import BinaryF1Score, MulticlassAccuracy, MulticlassRecall, MultilabelHammingDistance
from torchmetrics.functional import classification, image, pairwise, regression, retrieval, text
from torchmetrics.functional import segmentation as segments


def _classes():
    return torch.randn(16, 5, device="cuda").softmax(-1), torch.randint(0, 5, (16,), device="cuda")


def _scores():
    return torch.rand(16, device="cuda"), torch.randint(0, 2, (16,), device="cuda")


def _values():
    return torch.randn(16, device="cuda"), torch.randn(16, device="cuda")


def _images():
    return torch.rand(2, 3, 32, 32, device="cuda"), torch.rand(2, 3, 32, 32, device="cuda")


def checked_accuracy():
    def step(preds, target):
        return classification.multiclass_accuracy(preds, target, num_classes=5)

    return step, _classes()


def unchecked_accuracy():
    def step(preds, target):
        return classification.multiclass_accuracy(preds, target, num_classes=5, validate_args=False)

    return step, _classes()


def confusion():
    def step(preds, target):
        return classification.multiclass_confusion_matrix(preds, target, num_classes=5, validate_args=False)

    return step, _classes()


def exact_auroc():
    def step(preds, target):
        return classification.binary_auroc(preds, target, validate_args=False)

    return step, _scores()


def binned_auroc():
    def step(preds, target):
        return classification.binary_auroc(preds, target, thresholds=8, validate_args=False)

    return step, _scores()


def calibration():
    def step(preds, target):
        return classification.binary_calibration_error(preds, target, n_bins=10, validate_args=False)

    return step, _scores()


def ndcg():
    return retrieval.retrieval_normalized_dcg, _scores()


def reciprocal_rank():
    def step(preds, target):
        return retrieval.retrieval_reciprocal_rank(preds, target)

    return step, _scores()


def structural_similarity():
    def step(preds, target):
        return image.structural_similarity_index_measure(preds, target, data_range=1.0)

    return step, _images()


def structural_similarity_of_unknown_range():
    return image.structural_similarity_index_measure, _images()


def signal_to_noise():
    def step(preds, target):
        return image.peak_signal_noise_ratio(preds, target, data_range=1.0)

    return step, _images()


def total_variation():
    def step(preds, _target):
        return image.total_variation(preds)

    return step, _images()


def squared_error():
    return regression.mean_squared_error, _values()


def pearson():
    return regression.pearson_corrcoef, _values()


def spearman():
    return regression.spearman_corrcoef, _values()


def explained_variance():
    return regression.explained_variance, _values()


def divergence():
    p, q = torch.rand(8, 5, device="cuda").softmax(-1), torch.rand(8, 5, device="cuda").softmax(-1)
    return regression.kl_divergence, (p, q)


def similarities():
    x, y = torch.randn(8, 5, device="cuda"), torch.randn(6, 5, device="cuda")
    return pairwise.pairwise_cosine_similarity, (x, y)


def perplexity():
    preds, target = torch.randn(2, 8, 11, device="cuda"), torch.randint(0, 11, (2, 8), device="cuda")
    return text.perplexity, (preds, target)


def mean_iou():
    preds, target = (torch.randint(0, 2, (2, 3, 8, 8), device="cuda") for _ in range(2))

    def step(preds, target):
        return segments.mean_iou(preds, target, num_classes=3)

    return step, (preds, target)


def kept_f1():
    metric = BinaryF1Score(validate_args=False).cuda()

    def step(preds, target):
        metric.update(preds, target)
        return metric.tp

    return step, _scores()


def forward_of_accuracy():
    return MulticlassAccuracy(num_classes=5).cuda(), _classes()


def unchecked_collection():
    metrics = MetricCollection(
        [
            MulticlassAccuracy(num_classes=5, validate_args=False),
            MulticlassRecall(num_classes=5, validate_args=False),
        ]
    ).cuda()

    def step(preds, target):
        metrics.update(preds, target)
        return metrics.compute()

    return step, _classes()


def hamming_of_labels():
    metric = MultilabelHammingDistance(num_labels=4).cuda()
    preds, target = torch.rand(8, 4, device="cuda"), torch.randint(0, 2, (8, 4), device="cuda")

    def step(preds, target):
        metric.update(preds, target)
        return metric.compute()

    return step, (preds, target)


def mean_of_losses():
    metric = MeanMetric().cuda()

    def step(loss):
        metric.update(loss)
        return metric.compute()

    return step, (torch.rand(4, device="cuda"),)


def largest_loss():
    metric = MaxMetric(nan_strategy="ignore").cuda()

    def step(loss):
        metric.update(loss)
        return metric.max_value

    return step, (torch.rand(4, device="cuda"),)


def ignite_accuracy():
    metric = Accuracy(device="cuda")

    def step(preds, target):
        metric.update((preds, target))
        return metric.compute()

    return step, _classes()


def ignite_squared_error():
    metric = MeanSquaredError(device="cuda")

    def step(preds, target):
        metric.update((preds, target))

    return step, _values()


def ignite_top_k():
    metric = TopKCategoricalAccuracy(k=2, device="cuda")

    def step(preds, target):
        metric.update((preds, target))

    return step, _classes()


def ignite_confusion():
    metric = ConfusionMatrix(num_classes=5, device="cuda")

    def step(preds, target):
        metric.update((preds, target))
        return metric.compute()

    return step, _classes()


def ignite_r2():
    metric = R2Score(device="cuda")

    def step(preds, target):
        metric.update((preds, target))
        return metric.compute()

    return step, _values()
