"""Wavelets, transforms, spectra, sampling of images."""

import ptwt
import pytorch_wavelets
import torch
import torch_dct
import torch_harmonics
import torchkbnufft


def wavelet_image():
    layer = pytorch_wavelets.DWTForward(J=2, wave="db2", mode="zero").cuda()
    return layer, (torch.randn(1, 3, 32, 32, device="cuda"),)


def wavelet_and_back():
    there = pytorch_wavelets.DWTForward(J=1, wave="haar").cuda()
    back = pytorch_wavelets.DWTInverse(wave="haar").cuda()

    def step(x):
        low, high = there(x)
        return back((low, [h * 0.5 for h in high]))

    return step, (torch.randn(1, 1, 16, 16, device="cuda"),)


def dual_tree():
    layer = pytorch_wavelets.DTCWTForward(J=2).cuda()
    return layer, (torch.randn(1, 1, 32, 32, device="cuda"),)


def scattering():
    layer = pytorch_wavelets.ScatLayer().cuda()
    return layer, (torch.randn(1, 3, 16, 16, device="cuda"),)


def packet_levels():
    def step(x):
        return ptwt.wavedec(x, "haar", level=3, mode="zero")

    return step, (torch.randn(2, 64, device="cuda"),)


def packets_of_planes():
    def step(x):
        return ptwt.waverec2(ptwt.wavedec2(x, "db2", level=2), "db2")

    return step, (torch.randn(2, 32, 32, device="cuda"),)


def stationary_wavelet():
    def step(x):
        return ptwt.swt(x, "haar", level=2)

    return step, (torch.randn(2, 64, device="cuda"),)


def wavelet_tree():
    def step(x):
        packet = ptwt.WaveletPacket(x, "haar", maxlevel=2)
        return torch.stack([packet[node] for node in packet.get_level(2)])

    return step, (torch.randn(2, 64, device="cuda"),)


def cosine_transform():
    return torch_dct.dct, (torch.randn(2, 32, device="cuda"),)


def cosine_and_back():
    def step(x):
        return torch_dct.idct_2d(torch_dct.dct_2d(x))

    return step, (torch.randn(2, 16, 16, device="cuda"),)


def cosine_layer():
    layer = torch_dct.LinearDCT(16, "dct").cuda()
    return layer, (torch.randn(2, 16, device="cuda"),)


def harmonics():
    layer = torch_harmonics.RealSHT(16, 32).cuda()
    return layer, (torch.randn(2, 16, 32, device="cuda"),)


def harmonics_and_back():
    there, back = torch_harmonics.RealSHT(16, 32).cuda(), torch_harmonics.InverseRealSHT(16, 32).cuda()

    def step(x):
        return back(there(x))

    return step, (torch.randn(2, 16, 32, device="cuda"),)


def harmonic_resampling():
    layer = torch_harmonics.ResampleS2(16, 32, 8, 16).cuda()
    return layer, (torch.randn(2, 16, 32, device="cuda"),)


def uneven_fourier():
    layer = torchkbnufft.KbNufft(im_size=(16, 16)).cuda()

    def step(image, omega):
        return layer(image, omega)

    return step, (torch.randn(1, 1, 16, 16, dtype=torch.complex64, device="cuda"), torch.rand(2, 50, device="cuda"))


def uneven_adjoint():
    layer = torchkbnufft.KbNufftAdjoint(im_size=(16, 16)).cuda()

    def step(data, omega):
        return layer(data, omega)

    return step, (torch.randn(1, 1, 50, dtype=torch.complex64, device="cuda"), torch.rand(2, 50, device="cuda"))


def density_weights():
    def step(omega):
        return torchkbnufft.calc_density_compensation_function(omega, im_size=(16, 16), num_iterations=2)

    return step, (torch.rand(2, 50, device="cuda"),)
