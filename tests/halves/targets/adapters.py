"""Quantization, adapters, and attention of many kinds."""

import einops
import hqq.core.quantize
import local_attention
import peft
import perceiver_pytorch
import performer_pytorch
import rotary_embedding_torch
import torch
import vector_quantize_pytorch as quantizers
import x_transformers
from einops.layers.torch import Rearrange
from linear_attention_transformer import LinearAttentionTransformer
from memory_efficient_attention_pytorch import Attention
from product_key_memory import PKM


def _tokens(width=32):
    return (torch.randn(2, 16, width, device="cuda"),)


def _words():
    return (torch.randint(0, 64, (2, 16), device="cuda"),)


def _adapted(config):
    model = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    return peft.get_peft_model(model, config).cuda().eval(), _tokens()


def lora():
    return _adapted(peft.LoraConfig(r=4, target_modules=["0", "2"]))


def dora():
    return _adapted(peft.LoraConfig(r=4, target_modules=["0"], use_dora=True))


def scaled_activations():
    return _adapted(peft.IA3Config(target_modules=["0", "2"], feedforward_modules=["2"]))


def adaptive_lora():
    return _adapted(peft.LoHaConfig(r=4, target_modules=["0"]))


def orthogonal_adapter():
    return _adapted(peft.OFTConfig(r=4, oft_block_size=0, target_modules=["0"]))


def vectors_of_banks():
    return _adapted(peft.VeraConfig(r=4, target_modules=["0"]))


def fourier_adapter():
    return _adapted(peft.FourierFTConfig(n_frequency=16, target_modules=["0"]))


def quantized_vectors():
    return quantizers.VectorQuantize(dim=32, codebook_size=16).cuda().eval(), _tokens()


def quantized_vectors_in_training():
    quantizer = quantizers.VectorQuantize(dim=32, codebook_size=16, threshold_ema_dead_code=2).cuda().train()
    return quantizer, _tokens()


def residual_quantizer():
    return quantizers.ResidualVQ(dim=32, num_quantizers=2, codebook_size=16).cuda().eval(), _tokens()


def finite_scalars():
    return quantizers.FSQ(levels=[8, 5, 5], dim=32).cuda().eval(), _tokens()


def lookup_free():
    return quantizers.LFQ(dim=4, codebook_size=16).cuda().train(), _tokens(4)


def random_projection():
    layer = quantizers.RandomProjectionQuantizer(dim=32, codebook_size=16, codebook_dim=8, num_codebooks=1)
    return layer.cuda().eval(), _tokens()


def half_quadratic():
    def step(weight):
        return hqq.core.quantize.Quantizer.quantize(weight, nbits=4, group_size=16, optimize=False, device="cuda")[0]

    return step, (torch.randn(32, 32, device="cuda"),)


def rotary():
    layer = rotary_embedding_torch.RotaryEmbedding(dim=16).cuda()
    return layer.rotate_queries_or_keys, (torch.randn(1, 2, 8, 32, device="cuda"),)


def local():
    layer = local_attention.LocalAttention(window_size=8, causal=True, dim=32).cuda()
    q = torch.randn(2, 4, 16, 32, device="cuda")
    return layer, (q, q.clone(), q.clone())


def local_transformer():
    model = local_attention.LocalTransformer(
        num_tokens=64, dim=32, depth=1, max_seq_len=16, local_attn_window_size=8, causal=True
    )
    return model.cuda().eval(), _words()


def performer():
    return performer_pytorch.Performer(dim=32, depth=1, heads=2, dim_head=16).cuda().eval(), _tokens()


def perceiver():
    model = perceiver_pytorch.Perceiver(
        input_channels=3, input_axis=2, num_freq_bands=2, max_freq=4.0, depth=1, num_latents=4, latent_dim=16
    )
    return model.cuda().eval(), (torch.randn(1, 8, 8, 3, device="cuda"),)


def linear_transformer():
    return LinearAttentionTransformer(dim=32, heads=2, depth=1, max_seq_len=16).cuda().eval(), _tokens()


def memory_efficient():
    layer = Attention(dim=32, dim_head=16, heads=2, memory_efficient=True, q_bucket_size=8, k_bucket_size=8)
    return layer.cuda().eval(), _tokens()


def key_memory():
    return PKM(dim=32, heads=2, num_keys=8, topk=4, dim_head=16).cuda().eval(), _tokens()


def transformer():
    layers = x_transformers.Decoder(dim=32, depth=1, heads=2, rotary_pos_emb=True)
    model = x_transformers.TransformerWrapper(num_tokens=64, max_seq_len=16, attn_layers=layers)
    return model.cuda().eval(), _words()


def biased_transformer():
    layers = x_transformers.Encoder(dim=32, depth=1, heads=2, alibi_pos_bias=True)
    model = x_transformers.TransformerWrapper(num_tokens=64, max_seq_len=16, attn_layers=layers)
    return model.cuda().eval(), _words()


def masked_transformer():
    layers = x_transformers.Encoder(dim=32, depth=1, heads=2)
    model = x_transformers.TransformerWrapper(num_tokens=64, max_seq_len=16, attn_layers=layers).cuda().eval()

    def step(words, mask):
        return model(words, mask=mask)

    return step, (*_words(), torch.ones(2, 16, dtype=torch.bool, device="cuda"))


def autoregressive_loss():
    layers = x_transformers.Decoder(dim=32, depth=1, heads=2)
    model = x_transformers.TransformerWrapper(num_tokens=64, max_seq_len=16, attn_layers=layers)
    return x_transformers.AutoregressiveWrapper(model).cuda().eval(), _words()


def rearranged():
    layer = torch.nn.Sequential(Rearrange("b n d -> b (n d)"), torch.nn.Linear(512, 4)).cuda()
    return layer, _tokens()


def reduced():
    def step(x):
        return einops.reduce(x, "b n d -> b d", "max")

    return step, _tokens()


def packed():
    def step(x, y):
        packed, shapes = einops.pack([x, y], "b * d")
        return einops.unpack(packed * 2, shapes, "b * d")

    return step, (*_tokens(), *_tokens())
