"""The operands that the lines of `statements.txt` name: nothing in, tensors, modules and optimizers out."""

# Each statement gets the lines that it needs, run anew, and the imports as its other names. A line without a target
# of its own belongs to the name that it begins with.

# ruff: noqa: F401, PTH123, SIM115 - statements use the imports, and a trial is short

import copy
import functools
import io
import itertools
import json
import logging
import math
import operator
import os
import pickle
import random
import time
import warnings

import numpy as np
import torch
import torch.distributions as D
import torch.nn.functional as F
import torch.nn.utils.prune
import torch.utils.checkpoint
from torch import nn

# Tensors on the device.
x = torch.rand(4, 4, device="cuda")
w = torch.rand(4, 4, device="cuda")
h = torch.rand(2, 4, 8, device="cuda")
y = torch.rand(4, 4, device="cuda", dtype=torch.float16)
bf16 = torch.rand(16, 16, device="cuda", dtype=torch.bfloat16)
double = torch.rand(4, 4, device="cuda", dtype=torch.float64)
z = torch.rand(4, 4, device="cuda", dtype=torch.complex64)
row = torch.rand(4, device="cuda")
srt = torch.linspace(0.0, 1.0, 8, device="cuda")
long = torch.rand(4096, device="cuda")
xg = torch.rand(4, 4, device="cuda", requires_grad=True)
hg = torch.rand(2, 4, 8, device="cuda", requires_grad=True)
out = torch.empty(4, 4, device="cuda")
many = [torch.rand(4, device="cuda") for _ in range(8)]
named = {"first": torch.rand(4, device="cuda"), "second": torch.rand(4, device="cuda")}

# One element.
scalar = torch.tensor(0.5, device="cuda")
low = torch.tensor(0.25, device="cuda")
count = torch.tensor(2, device="cuda")
flag = torch.tensor(True, device="cuda")
single = torch.ones(1, device="cuda")
momentum = torch.tensor(0.1, device="cuda")

# Integers and masks on the device.
idx = torch.tensor([0, 2, 1, 3], device="cuda")
ids = torch.tensor([[0, 2, 1, 3], [3, 1, 0, 2]], device="cuda")
reps = torch.tensor([1, 2, 3, 2], device="cuda")
offs = torch.tensor([8, 16], device="cuda", dtype=torch.int32)
mask = torch.eye(4, device="cuda", dtype=torch.bool)
hmask = torch.rand(2, 4, 8, device="cuda") > 0.5
rows = torch.tensor([True, False, True, True], device="cuda")
bytes8 = torch.ones(4, 4, device="cuda", dtype=torch.uint8)

# On the host.
host = torch.rand(4, 4)
host_scalar = torch.tensor(0.5)
host_count = torch.tensor(2)
host_idx = torch.tensor([0, 2, 1, 3])
host_mask = torch.eye(4, dtype=torch.bool)
host_rows = torch.tensor([True, False, True, True])
pinned = torch.rand(4, 4).pin_memory()
pinned_idx = torch.tensor([0, 2, 1, 3]).pin_memory()
array = np.ones((4, 4), dtype=np.float32)
number = 2
factor = 0.5

# Matrices.
sq = torch.rand(8, 8, device="cuda") + 4 * torch.eye(8, device="cuda")
spd = sq @ sq.mT
chol = torch.linalg.cholesky(spd)
tri = torch.triu(sq)
vec = torch.rand(8, 1, device="cuda")
batch = torch.rand(3, 4, 4, device="cuda") + 4 * torch.eye(4, device="cuda")
lu_data = torch.linalg.lu_factor(sq)

# Signals, images, attention.
sig = torch.rand(512, device="cuda")
win = torch.hann_window(64, device="cuda")
spec = torch.stft(sig, 64, window=win, return_complex=True)
img = torch.rand(2, 4, 8, 8, device="cuda")
vol = torch.rand(1, 2, 4, 4, 4, device="cuda")
grid = torch.rand(2, 8, 8, 2, device="cuda") * 2 - 1
wconv = torch.rand(4, 4, 3, 3, device="cuda")
rm = torch.zeros(4, device="cuda")
rv = torch.ones(4, device="cuda")
q = torch.rand(2, 2, 4, 8, device="cuda")
q16 = torch.rand(2, 2, 16, 16, device="cuda", dtype=torch.float16)
amask = torch.zeros(4, 4, device="cuda")
bmask = torch.ones(4, 4, device="cuda", dtype=torch.bool).tril()
pad = torch.tensor([[False, False, False, True], [False, False, True, True]], device="cuda")
scale = torch.tensor(0.3, device="cuda")
f8 = torch.rand(16, 16, device="cuda").to(torch.float8_e4m3fn)
f8t = torch.rand(16, 16, device="cuda").to(torch.float8_e4m3fn).t()
sc1 = torch.ones((), device="cuda")
bank16 = torch.rand(2, 16, 16, device="cuda", dtype=torch.bfloat16)
bank32 = torch.rand(2, 16, 16, device="cuda")
x32 = torch.rand(16, 16, device="cuda")

# Classes, lengths, probabilities.
table = torch.rand(8, 4, device="cuda")
labels = torch.tensor([0, 2, 1, 3], device="cuda")
bags = torch.tensor([0, 2], device="cuda")
host_bags = torch.tensor([0, 2])
logp = torch.rand(12, 2, 8, device="cuda").log_softmax(-1)
tgt = torch.randint(1, 8, (2, 3), device="cuda")
host_tgt = torch.randint(1, 8, (2, 3), dtype=torch.int32)
il_cpu = torch.tensor([12, 12])
tl_cpu = torch.tensor([3, 2])
il_gpu = torch.tensor([12, 12], device="cuda")
tl_gpu = torch.tensor([3, 2], device="cuda")
lens_cpu = torch.tensor([4, 2])
lens_gpu = torch.tensor([4, 2], device="cuda")
unsorted = nn.utils.rnn.pack_sequence([row, srt], enforce_sorted=False)
packed = nn.utils.rnn.pack_padded_sequence(h, lens_cpu, batch_first=True)
p = torch.full((4, 4), 0.25, device="cuda")
host_p = torch.full((4, 4), 0.25)
value = torch.full((4, 4), 0.5, device="cuda")
half_normal = D.HalfNormal(value, validate_args=False)
uniform = D.Uniform(torch.zeros(4, 4, device="cuda"), torch.ones(4, 4, device="cuda"))

# Sparse and nested.
coo = x.to_sparse()
uncoalesced = torch.sparse_coo_tensor(torch.zeros(2, 4, dtype=torch.long, device="cuda"), row, (4, 4))
block_ends = torch.tensor([0, 1], device="cuda")
block_column = torch.tensor([0], device="cuda")
blocks = torch.ones(1, 2, 2, device="cuda")
csr = x.to_sparse_csr()
indices = torch.tensor([[0, 1, 2], [2, 0, 1]], device="cuda")
values = torch.rand(3, device="cuda")
crow = torch.tensor([0, 1, 2, 3, 4], device="cuda")
nested = torch.nested.nested_tensor([row, srt])
jagged = torch.nested.nested_tensor([row, srt], layout=torch.jagged)

# Generators and their states.
gen = torch.Generator(device="cuda")
host_gen = torch.Generator()
rng = torch.cuda.get_rng_state()
host_rng = torch.get_rng_state()

# Streams and events.
main = torch.cuda.current_stream()
side = torch.cuda.Stream()
event = torch.cuda.Event()
timed = torch.cuda.Event(enable_timing=True)
ended = torch.cuda.Event(enable_timing=True)
graph = torch.cuda.CUDAGraph()

# Where text and bytes go.
devnull = open(os.devnull, "w")
devnull_b = open(os.devnull, "wb")
text = io.StringIO()
buffer = io.BytesIO()
logger = logging.getLogger("sweep")
logger.handlers = [logging.StreamHandler(text)]
loud = logging.getLogger("sweep.loud")
loud.handlers = [logging.StreamHandler(text)]
loud.setLevel(logging.INFO)
seen = []
log = {}

# Modules.
lin = nn.Linear(8, 8, device="cuda")
lin4 = nn.Linear(4, 4, device="cuda")
host_lin = nn.Linear(4, 4)
mlp = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)).cuda()
lstm = nn.LSTM(8, 8, batch_first=True, device="cuda")
gru = nn.GRU(8, 8, batch_first=True, device="cuda")
rnn = nn.RNN(8, 8, batch_first=True, device="cuda")
lstm_drop = nn.LSTM(8, 8, num_layers=2, dropout=0.5, batch_first=True, device="cuda")
lstm_cell = nn.LSTMCell(8, 8, device="cuda")
gru_cell = nn.GRUCell(8, 8, device="cuda")
mha = nn.MultiheadAttention(8, 2, batch_first=True, device="cuda")
mha_eval = nn.MultiheadAttention(8, 2, batch_first=True, device="cuda").eval()
tel = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, device="cuda")
tel_eval = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, device="cuda").eval()
enc = nn.TransformerEncoder(tel, 2)
enc_eval = nn.TransformerEncoder(tel_eval, 2).eval()
enc_plain = nn.TransformerEncoder(tel_eval, 2, enable_nested_tensor=False).eval()
tdl = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True, device="cuda")
dec = nn.TransformerDecoder(tdl, 2)
transformer = nn.Transformer(8, 2, 1, 1, 16, batch_first=True, device="cuda")
bn = nn.BatchNorm2d(4, device="cuda")
bn_average = nn.BatchNorm2d(4, momentum=None, device="cuda")
bn_plain = nn.BatchNorm2d(4, track_running_stats=False, device="cuda")
emb = nn.Embedding(8, 4, device="cuda")
emb_norm = nn.Embedding(8, 4, max_norm=1.0, device="cuda")
emb_sparse = nn.Embedding(8, 4, sparse=True, device="cuda")
bag = nn.EmbeddingBag(8, 4, device="cuda")
adaptive = nn.AdaptiveLogSoftmaxWithLoss(4, 20, [5, 10], device="cuda")
spectral = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4, device="cuda"))
weighted = nn.utils.parametrizations.weight_norm(nn.Linear(4, 4, device="cuda"))
orthogonal = nn.utils.parametrizations.orthogonal(nn.Linear(4, 4, device="cuda"))
pruned = nn.Linear(4, 4, device="cuda")
model = nn.Linear(4, 4, device="cuda")
model(x).sum().backward()
params = list(model.parameters())
flat = nn.utils.parameters_to_vector(model.parameters()).detach()
average = torch.optim.swa_utils.AveragedModel(model)
frozen = torch.jit.script(nn.ReLU())
traced = torch.jit.trace(lin4, x)

# Gradient scaling.
scaler = torch.amp.GradScaler("cuda")
scaler.scale(scalar)
scaler_off = torch.amp.GradScaler("cuda", enabled=False)
plain_sgd = torch.optim.SGD(model.parameters(), lr=0.1)
fused_adam = torch.optim.Adam(model.parameters(), fused=True, capturable=True)
fused_only = torch.optim.Adam(model.parameters(), fused=True)

# Schedules.
scheduled = torch.optim.SGD(model.parameters(), lr=0.1)
tensor_rate = torch.optim.SGD(model.parameters(), lr=torch.tensor(0.1, device="cuda"))
step_rate = torch.optim.lr_scheduler.StepLR(scheduled, 1)
step_tensor = torch.optim.lr_scheduler.StepLR(tensor_rate, 1)
cosine = torch.optim.lr_scheduler.CosineAnnealingLR(scheduled, 10)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(scheduled)

# Optimizers, each after a first step.
sgd = torch.optim.SGD(model.parameters(), lr=0.1)
sgd.step()
sgd_momentum = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
sgd_momentum.step()
sgd_foreach = torch.optim.SGD(model.parameters(), lr=0.1, foreach=True)
sgd_foreach.step()
sgd_fused = torch.optim.SGD(model.parameters(), lr=0.1, fused=True)
sgd_fused.step()
sgd_foreach_off = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
sgd_foreach_off.step()
adam = torch.optim.Adam(model.parameters())
adam.step()
adam_capturable = torch.optim.Adam(model.parameters(), capturable=True)
adam_capturable.step()
adam_fused = torch.optim.Adam(model.parameters(), fused=True)
adam_fused.step()
adam_foreach = torch.optim.Adam(model.parameters(), foreach=True)
adam_foreach.step()
adam_foreach_capturable = torch.optim.Adam(model.parameters(), foreach=True, capturable=True)
adam_foreach_capturable.step()
adam_foreach_off_capturable = torch.optim.Adam(model.parameters(), foreach=False, capturable=True)
adam_foreach_off_capturable.step()
adam_amsgrad_capturable = torch.optim.Adam(model.parameters(), amsgrad=True, capturable=True)
adam_amsgrad_capturable.step()
adamw = torch.optim.AdamW(model.parameters())
adamw.step()
adamw_capturable = torch.optim.AdamW(model.parameters(), capturable=True)
adamw_capturable.step()
adamw_fused = torch.optim.AdamW(model.parameters(), fused=True)
adamw_fused.step()
adamw_foreach_capturable = torch.optim.AdamW(model.parameters(), foreach=True, capturable=True)
adamw_foreach_capturable.step()
nadam = torch.optim.NAdam(model.parameters())
nadam.step()
nadam_capturable = torch.optim.NAdam(model.parameters(), capturable=True)
nadam_capturable.step()
nadam_foreach_off_capturable = torch.optim.NAdam(model.parameters(), foreach=False, capturable=True)
nadam_foreach_off_capturable.step()
radam = torch.optim.RAdam(model.parameters())
radam.step()
radam_capturable = torch.optim.RAdam(model.parameters(), capturable=True)
radam_capturable.step()
radam_foreach_off_capturable = torch.optim.RAdam(model.parameters(), foreach=False, capturable=True)
radam_foreach_off_capturable.step()
adamax = torch.optim.Adamax(model.parameters())
adamax.step()
adamax_capturable = torch.optim.Adamax(model.parameters(), capturable=True)
adamax_capturable.step()
asgd = torch.optim.ASGD(model.parameters())
asgd.step()
asgd_capturable = torch.optim.ASGD(model.parameters(), capturable=True)
asgd_capturable.step()
rprop = torch.optim.Rprop(model.parameters())
rprop.step()
rprop_capturable = torch.optim.Rprop(model.parameters(), capturable=True)
rprop_capturable.step()
rmsprop = torch.optim.RMSprop(model.parameters())
rmsprop.step()
rmsprop_capturable = torch.optim.RMSprop(model.parameters(), capturable=True)
rmsprop_capturable.step()
rmsprop_foreach_off_capturable = torch.optim.RMSprop(model.parameters(), foreach=False, capturable=True)
rmsprop_foreach_off_capturable.step()
adadelta = torch.optim.Adadelta(model.parameters())
adadelta.step()
adadelta_capturable = torch.optim.Adadelta(model.parameters(), capturable=True)
adadelta_capturable.step()
adadelta_foreach_off_capturable = torch.optim.Adadelta(model.parameters(), foreach=False, capturable=True)
adadelta_foreach_off_capturable.step()
adagrad = torch.optim.Adagrad(model.parameters())
adagrad.step()
adagrad_fused = torch.optim.Adagrad(model.parameters(), fused=True)
adagrad_fused.step()
adagrad_foreach_off = torch.optim.Adagrad(model.parameters(), foreach=False)
adagrad_foreach_off.step()
adafactor = torch.optim.Adafactor(model.parameters())
adafactor.step()
adafactor_foreach = torch.optim.Adafactor(model.parameters(), foreach=True)
adafactor_foreach.step()
adafactor_foreach_off = torch.optim.Adafactor(model.parameters(), foreach=False)
adafactor_foreach_off.step()
sgd_tensor_rate = torch.optim.SGD(model.parameters(), lr=torch.tensor(0.1, device="cuda"))
sgd_tensor_rate.step()
sgd_fused_tensor_rate = torch.optim.SGD(model.parameters(), lr=torch.tensor(0.1, device="cuda"), fused=True)
sgd_fused_tensor_rate.step()
sgd_host_rate = torch.optim.SGD(model.parameters(), lr=torch.tensor(0.1))
sgd_host_rate.step()
adam_tensor_rate = torch.optim.Adam(model.parameters(), lr=torch.tensor(0.1, device="cuda"), capturable=True)
adam_tensor_rate.step()
adam_host_rate = torch.optim.Adam(model.parameters(), lr=torch.tensor(0.1), capturable=True, foreach=False)
adam_host_rate.step()
muon = torch.optim.Muon([model.weight])
muon.step()
emb_sparse(idx).sum().backward()
sparse_adam = torch.optim.SparseAdam(emb_sparse.parameters())
sparse_adam.step()
lbfgs = torch.optim.LBFGS(model.parameters())
