"""Vision: filters, geometry, colours and augmentations of kornia, parts of timm, functions of torchvision."""

import kornia
import kornia.augmentation
import timm.layers
import torch
import torchvision.transforms.v2.functional as functional
from timm.data.mixup import Mixup


def _image():
    return (torch.rand(2, 3, 32, 32, device="cuda"),)


def blurred():
    def step(image):
        return kornia.filters.gaussian_blur2d(image, (3, 3), (1.5, 1.5))

    return step, _image()


def edges():
    return kornia.filters.canny, _image()


def gradients():
    return kornia.filters.sobel, _image()


def median():
    def step(image):
        return kornia.filters.median_blur(image, (3, 3))

    return step, _image()


def corners():
    return kornia.feature.harris_response, _image()


def hsv():
    return kornia.color.rgb_to_hsv, _image()


def lab():
    return kornia.color.rgb_to_lab, _image()


def equalized():
    return kornia.enhance.equalize, _image()


def normalized():
    mean, deviation = torch.full((3,), 0.5, device="cuda"), torch.full((3,), 0.2, device="cuda")
    return kornia.enhance.normalize, (*_image(), mean, deviation)


def normalized_by_numbers():
    return kornia.enhance.Normalize(0.5, 0.2), _image()


def histogram():
    bins, width = torch.linspace(0, 1, 16, device="cuda"), torch.tensor(0.9, device="cuda")
    return kornia.enhance.histogram, (torch.rand(2, 64, device="cuda"), bins, width)


def warped():
    def step(image, matrix):
        return kornia.geometry.warp_perspective(image, matrix, (32, 32))

    return step, (*_image(), torch.eye(3, device="cuda").expand(2, 3, 3).clone())


def rotated():
    def step(image, angle):
        return kornia.geometry.rotate(image, angle)

    return step, (*_image(), torch.tensor([10.0, 20.0], device="cuda"))


def homography():
    return kornia.geometry.find_homography_dlt, (torch.rand(1, 6, 2, device="cuda"), torch.rand(1, 6, 2, device="cuda"))


def quaternions():
    return kornia.geometry.rotation_matrix_to_quaternion, (torch.eye(3, device="cuda").expand(2, 3, 3).clone(),)


def cropped_boxes():
    boxes = torch.tensor([[[1.0, 1.0], [8.0, 1.0], [8.0, 8.0], [1.0, 8.0]]], device="cuda").repeat(2, 1, 1)

    def step(image, boxes):
        return kornia.geometry.crop_and_resize(image, boxes, (8, 8))

    return step, (*_image(), boxes)


def random_flip():
    return kornia.augmentation.RandomHorizontalFlip(p=0.5), _image()


def sure_flip():
    return kornia.augmentation.RandomHorizontalFlip(p=1.0), _image()


def random_affine():
    return kornia.augmentation.RandomAffine(degrees=15.0, p=1.0), _image()


def colour_jitter():
    return kornia.augmentation.ColorJiggle(0.1, 0.1, 0.1, 0.1, p=1.0), _image()


def erased():
    return kornia.augmentation.RandomErasing(p=1.0), _image()


def centred_crop():
    return kornia.augmentation.CenterCrop(16), _image()


def patches():
    return timm.layers.PatchEmbed(img_size=32, patch_size=8, embed_dim=16).cuda(), _image()


def rotary_positions():
    layer = timm.layers.RotaryEmbeddingCat(16, feat_shape=[4, 4], in_pixels=False).cuda()

    def step(x):
        return timm.layers.apply_rot_embed_cat(x, layer.get_embed())

    return step, (torch.randn(2, 1, 16, 16, device="cuda"),)


def dropped_path():
    return timm.layers.DropPath(0.2).train(), _image()


def dropped_blocks():
    return timm.layers.DropBlock2d(0.1, 3).train(), _image()


def dropped_patches():
    return timm.layers.PatchDropout(0.5).train(), (torch.randn(2, 17, 8, device="cuda"),)


def mixed_up():
    mixup = Mixup(mixup_alpha=0.8, cutmix_alpha=1.0, num_classes=5)
    return mixup, (*_image(), torch.randint(0, 5, (2,), device="cuda"))


def resized():
    def step(image):
        return functional.resize(image, [16, 16])

    return step, _image()


def contrast():
    def step(image):
        return functional.adjust_contrast(image, 1.5)

    return step, _image()


def equalized_by_torchvision():
    return functional.equalize, (torch.randint(0, 255, (3, 16, 16), device="cuda", dtype=torch.uint8),)


def perspective():
    def step(image):
        return functional.perspective(image, None, None, coefficients=[1.0, 0.1, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])

    return step, _image()
