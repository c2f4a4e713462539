"""Audio: filters, spectra, losses and metrics."""

import asteroid_filterbanks
import auraloss
import julius
import nnAudio.features
import torch
from torchmetrics.functional import audio


def _sound():
    return (torch.randn(2, 1, 2048, device="cuda"),)


def _two():
    return torch.randn(2, 1024, device="cuda"), torch.randn(2, 1024, device="cuda")


def resampled():
    return julius.ResampleFrac(4, 5).cuda(), _sound()


def low_passed():
    return julius.LowPassFilter(0.25).cuda(), _sound()


def bands():
    return julius.SplitBands(16_000, 4).cuda(), _sound()


def convolved():
    return julius.fft_conv1d, (*_sound(), torch.randn(1, 1, 64, device="cuda"))


def spectral_loss():
    loss = auraloss.freq.MultiResolutionSTFTLoss([256], [64], [256]).cuda()
    return loss, (*_sound(), *_sound())


def mel_loss():
    loss = auraloss.freq.STFTLoss(256, 64, 256, perceptual_weighting=False).cuda()
    return loss, (*_sound(), *_sound())


def distortion_loss():
    return auraloss.time.SISDRLoss(), (*_sound(), *_sound())


def direct_current_loss():
    return auraloss.time.DCLoss(), (*_sound(), *_sound())


def short_time_spectrum():
    layer = nnAudio.features.STFT(n_fft=256, hop_length=64, verbose=False, output_format="Magnitude").cuda()
    return layer, (torch.randn(2, 2048, device="cuda"),)


def mel_spectrum():
    layer = nnAudio.features.MelSpectrogram(sr=16_000, n_fft=256, n_mels=16, hop_length=64, verbose=False).cuda()
    return layer, (torch.randn(2, 2048, device="cuda"),)


def filterbank():
    encoder = asteroid_filterbanks.Encoder(asteroid_filterbanks.FreeFB(16, 32, stride=16)).cuda()
    return encoder, _sound()


def windowed_filterbank():
    encoder = asteroid_filterbanks.Encoder(asteroid_filterbanks.STFTFB(64, 64, stride=32)).cuda()
    return encoder, _sound()


def parametric_filterbank():
    encoder = asteroid_filterbanks.Encoder(asteroid_filterbanks.ParamSincFB(16, 33, stride=16)).cuda()
    return encoder, _sound()


def signal_to_noise():
    return audio.signal_noise_ratio, _two()


def scale_invariant():
    return audio.scale_invariant_signal_distortion_ratio, _two()


def distortion():
    return audio.signal_distortion_ratio, _two()


def permuted_sources():
    preds, target = torch.randn(2, 2, 256, device="cuda"), torch.randn(2, 2, 256, device="cuda")

    def step(preds, target):
        return audio.permutation_invariant_training(preds, target, audio.scale_invariant_signal_noise_ratio)

    return step, (preds, target)
