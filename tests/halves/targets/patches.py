"""Transformers of small packages, experts, memories, diffusion."""

import conformer
import denoising_diffusion_pytorch
import ema_pytorch
import k_diffusion
import open_clip
import soft_moe_pytorch
import st_moe_pytorch
import titans_pytorch
import torch
import vit_pytorch
import vit_pytorch.cct
import vit_pytorch.crossformer
import vit_pytorch.deepvit
import vit_pytorch.efficient
import vit_pytorch.levit
import vit_pytorch.mae
import vit_pytorch.max_vit
import vit_pytorch.na_vit
import vit_pytorch.simple_vit
import vit_pytorch.t2t
import xlstm


def _image(size=32):
    return torch.randn(2, 3, size, size, device="cuda")


def patches():
    model = vit_pytorch.ViT(image_size=32, patch_size=8, num_classes=5, dim=32, depth=2, heads=2, mlp_dim=64)
    return model.cuda().eval(), (_image(),)


def simple_patches():
    model = vit_pytorch.simple_vit.SimpleViT(
        image_size=32, patch_size=8, num_classes=5, dim=32, depth=1, heads=2, mlp_dim=64
    )
    return model.cuda().eval(), (_image(),)


def deep_patches():
    model = vit_pytorch.deepvit.DeepViT(
        image_size=32, patch_size=8, num_classes=5, dim=32, depth=2, heads=2, mlp_dim=64
    )
    return model.cuda().train(), (_image(),)


def compact_patches():
    model = vit_pytorch.cct.CCT(
        img_size=(32, 32),
        embedding_dim=32,
        n_conv_layers=1,
        num_layers=2,
        num_heads=2,
        mlp_ratio=2.0,
        num_classes=5,
        positional_embedding="learnable",
        kernel_size=7,
        stride=2,
        padding=3,
    )
    return model.cuda().train(), (_image(),)


def native_sizes():
    model = (
        vit_pytorch.na_vit.NaViT(image_size=32, patch_size=8, num_classes=5, dim=32, depth=1, heads=2, mlp_dim=64)
        .cuda()
        .eval()
    )

    def step(a, b):
        return model([[a, b]])

    return step, (torch.randn(3, 32, 32, device="cuda"), torch.randn(3, 16, 32, device="cuda"))


def blocks_and_grids():
    model = vit_pytorch.max_vit.MaxViT(
        num_classes=5, dim_conv_stem=16, dim=16, dim_head=8, depth=(1, 1), window_size=4, dropout=0.0
    )
    return model.cuda().eval(), (_image(32),)


def token_to_token():
    model = vit_pytorch.t2t.T2TViT(
        dim=32, image_size=32, depth=1, heads=2, mlp_dim=64, num_classes=5, t2t_layers=((7, 4), (3, 2))
    )
    return model.cuda().eval(), (_image(),)


def speech_block():
    block = conformer.ConformerBlock(dim=32, dim_head=8, heads=2, conv_kernel_size=7)
    return block.cuda().eval(), (torch.randn(2, 10, 32, device="cuda"),)


def soft_experts():
    layer = soft_moe_pytorch.SoftMoE(dim=32, seq_len=16, num_experts=4)
    return layer.cuda(), (torch.randn(2, 16, 32, device="cuda"),)


def dynamic_slots():
    layer = soft_moe_pytorch.DynamicSlotsSoftMoE(dim=32, num_experts=4)
    return layer.cuda(), (torch.randn(2, 16, 32, device="cuda"),)


def sparse_experts():
    layer = st_moe_pytorch.MoE(dim=32, num_experts=4, gating_top_n=2).cuda().eval()
    return layer, (torch.randn(2, 16, 32, device="cuda"),)


def sparse_experts_in_training():
    layer = st_moe_pytorch.MoE(dim=32, num_experts=4, gating_top_n=2).cuda().train()

    def step(x):
        out, total, _balance, _router = layer(x)
        return out.sum() + total

    return step, (torch.randn(2, 16, 32, device="cuda"),)


def neural_memory():
    memory = titans_pytorch.NeuralMemory(dim=32, chunk_size=8).cuda()

    def step(x):
        return memory(x)[0]

    return step, (torch.randn(2, 32, 32, device="cuda"),)


def memory_as_context():
    model = (
        titans_pytorch.MemoryAsContextTransformer(
            num_tokens=64, dim=32, depth=2, segment_len=16, num_persist_mem_tokens=2, num_longterm_mem_tokens=4
        )
        .cuda()
        .eval()
    )
    return model, (torch.randint(0, 64, (1, 40), device="cuda"),)


def noise_unet():
    model = denoising_diffusion_pytorch.Unet(dim=16, dim_mults=(1, 2), flash_attn=False).cuda().eval()
    return model, (_image(16), torch.tensor([3, 7], device="cuda"))


def diffusion_loss():
    net = denoising_diffusion_pytorch.Unet(dim=16, dim_mults=(1, 2), flash_attn=False)
    model = denoising_diffusion_pytorch.GaussianDiffusion(net, image_size=16, timesteps=10).cuda()
    return model, (torch.rand(2, 3, 16, 16, device="cuda"),)


def diffusion_samples():
    net = denoising_diffusion_pytorch.Unet(dim=16, dim_mults=(1, 2), flash_attn=False)
    model = denoising_diffusion_pytorch.GaussianDiffusion(net, image_size=16, timesteps=10, sampling_timesteps=3).cuda()

    def step(x):
        return model.sample(batch_size=2) + x

    return step, (_image(16),)


def moving_average():
    net = torch.nn.Linear(8, 8).cuda()
    average = ema_pytorch.EMA(net, beta=0.99, update_after_step=2, update_every=1).cuda()

    def step(x):
        average.update()
        return average(x)

    return step, (torch.randn(2, 8, device="cuda"),)


def posthoc_average():
    net = torch.nn.Linear(8, 8).cuda()
    average = ema_pytorch.KarrasEMA(net, sigma_rel=0.05).cuda()

    def step(x):
        average.update()
        return average(x)

    return step, (torch.randn(2, 8, device="cuda"),)


def _denoiser():
    scale = torch.nn.Parameter(torch.ones((), device="cuda"))

    def model(x, sigma, **kwargs):
        return x * scale / (1 + sigma.view(-1, 1, 1, 1) ** 2)

    return model


def euler_sampling():
    model = _denoiser()
    sigmas = k_diffusion.sampling.get_sigmas_karras(4, 0.1, 10, device="cuda")

    def step(x):
        return k_diffusion.sampling.sample_euler(model, x, sigmas, disable=True)

    return step, (_image(8),)


def ancestral_sampling():
    model = _denoiser()
    sigmas = k_diffusion.sampling.get_sigmas_karras(4, 0.1, 10, device="cuda")

    def step(x):
        return k_diffusion.sampling.sample_dpmpp_2s_ancestral(model, x, sigmas, disable=True)

    return step, (_image(8),)


def multistep_sampling():
    model = _denoiser()
    sigmas = k_diffusion.sampling.get_sigmas_exponential(4, 0.1, 10, device="cuda")

    def step(x):
        return k_diffusion.sampling.sample_dpmpp_2m(model, x, sigmas, disable=True)

    return step, (_image(8),)


def adaptive_sampling():
    model = _denoiser()

    def step(x):
        return k_diffusion.sampling.sample_dpm_adaptive(model, x, 0.1, 10.0, disable=True)

    return step, (_image(8),)


def linear_multistep():
    model = _denoiser()
    sigmas = k_diffusion.sampling.get_sigmas_karras(4, 0.1, 10, device="cuda")

    def step(x):
        return k_diffusion.sampling.sample_lms(model, x, sigmas, disable=True)

    return step, (_image(8),)


def two_towers():
    model = open_clip.create_model("ViT-B-32", pretrained=None).cuda().eval()

    def step(image, text):
        return model(image, text)

    return step, (torch.randn(1, 3, 224, 224, device="cuda"), torch.randint(0, 1000, (1, 77), device="cuda"))


def contrastive_loss():
    loss = open_clip.loss.ClipLoss()
    scale = torch.tensor(10.0, device="cuda")

    def step(a, b):
        return loss(a, b, scale)

    return step, (torch.randn(4, 8, device="cuda"), torch.randn(4, 8, device="cuda"))


def sigmoid_loss():
    loss = open_clip.loss.SigLipLoss()
    scale, bias = torch.tensor(10.0, device="cuda"), torch.tensor(-10.0, device="cuda")

    def step(a, b):
        return loss(a, b, scale, bias)

    return step, (torch.randn(4, 8, device="cuda"), torch.randn(4, 8, device="cuda"))


def long_short_stack():
    config = xlstm.xLSTMBlockStackConfig(
        mlstm_block=xlstm.mLSTMBlockConfig(mlstm=xlstm.mLSTMLayerConfig(num_heads=2)),
        context_length=16,
        num_blocks=2,
        embedding_dim=32,
        slstm_at=[],
    )
    return xlstm.xLSTMBlockStack(config).cuda().eval(), (torch.randn(2, 16, 32, device="cuda"),)
