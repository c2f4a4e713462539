"""What libraries ask of who captures calls of theirs, as rows of a table say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from analysis import analyse, write

from graphlint import static
from graphlint.config import Config
from graphlint.rulebook import builtin_rules, load_rulebook

RUNNER = """
import torch
from flashinfer import BatchDecodeWithPagedKVCacheWrapper

class Decoder:
    def __init__(self, workspace, indptr, cache):
        self.cache = cache
        self.q = torch.zeros(8, 4, 64, device="cuda")
        {made}

    def capture(self, plan):
        self.attention.plan(*plan)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.y = self.attention.run(self.q, self.cache)

    def step(self, q, plan):
        self.q.copy_(q)
        {prepared}
        return self.y.clone()
"""
MODE = 'self.attention = BatchDecodeWithPagedKVCacheWrapper(workspace, "NHD"{mode})'
FIXED = MODE.format(mode=", use_cuda_graph=True, paged_kv_indptr_buffer=indptr")
PLANNED = "self.attention.plan(*plan); self.graph.replay()"


@pytest.mark.parametrize(
    ("made", "prepared"),
    [
        (MODE.format(mode="") + "  # expect: GL508", PLANNED),
        (MODE.format(mode=", use_cuda_graph=False") + "  # expect: GL508", PLANNED),
        (FIXED, "self.graph.replay()  # expect: GL512"),
        (FIXED, PLANNED),
        (MODE.format(mode=", use_cuda_graph=len(cache) > 4"), PLANNED),
        (MODE.format(mode=", True"), PLANNED),
        (FIXED, "self.attention.begin_forward(*plan); self.graph.replay()"),
        (FIXED, "prepare(self.attention, plan); self.graph.replay()"),
        (FIXED, "import flashinfer; flashinfer.fast_decode_plan(self.attention, *plan); self.graph.replay()"),
    ],
    ids=[
        *("not asked for", "refused", "never prepared", "both", "unknown", "positional", "another name", "elsewhere"),
        "a function of the library",
    ],
)
def test_an_object_is_made_for_graphs_and_prepared_for_each_replay(tmp_path: Path, made: str, prepared: str) -> None:
    """A wrapper that is not made for graphs gets other memory; a plan that is not made is that of the last request."""
    analysis = analyse(tmp_path, RUNNER.format(made=made, prepared=prepared))
    assert analysis.shown == analysis.expected


BENCHMARK = """
import torch
from flashinfer import BatchDecodeWithPagedKVCacheWrapper

def measure(workspace, indptr, plan, q, cache):
    attention = BatchDecodeWithPagedKVCacheWrapper(
        workspace, "NHD", use_cuda_graph=True, paged_kv_indptr_buffer=indptr
    )
    attention.plan(*plan)
    q = q.cuda()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = attention.run(q, cache)
    for _ in range(8):
        {each}
        graph.replay(){mark}
    return y.clone()
"""


@pytest.mark.parametrize(
    ("each", "mark"), [("pass", ""), ("q.copy_(q + 1)", "  # expect: GL512"), ("attention.plan(*plan)", "")]
)
def test_what_is_replayed_for_the_same_request_is_prepared_once(tmp_path: Path, each: str, mark: str) -> None:
    """A benchmark fills nothing between its replays."""
    analysis = analyse(tmp_path, BENCHMARK.format(each=each, mark=mark))
    assert analysis.shown == analysis.expected


@pytest.mark.parametrize(
    ("backend", "is_about"),
    [("", True), (', backend="fa2"', True), (', backend="cutlass"', False), (", backend=chosen(cache)", False)],
    ids=["the default", "one of them", "another", "unknown"],
)
def test_a_row_is_about_objects_that_were_made_in_some_way(tmp_path: Path, backend: str, is_about: bool) -> None:
    """What is made in another way, or in one that nobody knows, is asked for nothing: no mode, and no step."""
    mode, step = ("  # expect: GL508", "  # expect: GL512") if is_about else ("", "")
    made = "self.attention = BatchMLAPagedAttentionWrapper(workspace{}" + backend + ")"
    for line, prepared in (
        (made.format("") + mode, PLANNED),
        (made.format(", use_cuda_graph=True"), "self.graph.replay()" + step),
    ):
        program = RUNNER.replace("BatchDecodeWithPagedKVCacheWrapper", "BatchMLAPagedAttentionWrapper")
        analysis = analyse(tmp_path, program.format(made=line, prepared=prepared))
        assert analysis.shown == analysis.expected


CALLED = """
import torch
import bitsandbytes as bnb
import deep_gemm
import flashinfer.comm
from xformers.ops import tiled_matmul
from flash_attn import flash_attn_with_kvcache

q, cache = torch.zeros(8, 1, 4, 64, device="cuda"), torch.zeros(8, 64, 4, 64, device="cuda")
lengths = torch.zeros(8, dtype=torch.int32, device="cuda")
{before}
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = {call}
graph.replay()
"""


@pytest.mark.parametrize(
    ("before", "call"),
    [
        ("", "flash_attn_with_kvcache(q, cache, cache, cache_seqlens=17)  # expect: GL402"),
        ("n = lengths.max().item()", "flash_attn_with_kvcache(q, cache, cache, cache_seqlens=n)  # expect: GL402"),
        ("n = torch.zeros(8)", "flash_attn_with_kvcache(q, cache, cache, cache_seqlens=n)  # expect: GL402"),
        (
            "torch.set_default_device('cuda'); n = torch.zeros(8)",
            "flash_attn_with_kvcache(q, cache, cache, cache_seqlens=n)",
        ),
        ("", "flash_attn_with_kvcache(q, cache, cache, cache_seqlens=lengths)"),
        ("", "flash_attn_with_kvcache(q, cache, cache)"),
        ("", "deep_gemm.fp8_gemm_nt(q, cache, q)  # expect: GL609"),
        ("deep_gemm.fp8_gemm_nt(q, cache, q)", "deep_gemm.fp8_gemm_nt(q, cache, q)"),
        ("", "flashinfer.comm.trtllm_allreduce_fusion(q, scale_factor=0.5)  # expect: GL402"),
        ("", "flashinfer.comm.trtllm_allreduce_fusion(q, scale_factor=lengths)"),
        ("", "tiled_matmul([[q]], [[q]])  # expect: GL609"),
        ("tiled_matmul([[q]], [[q]])", "tiled_matmul([[q]], [[q]])"),
        ("linear = bnb.nn.Linear8bitLt(64, 64); linear.cuda()", "linear(q)  # expect: GL609"),
        ("linear = bnb.nn.Linear8bitLt(64, 64); linear.cuda(); linear(q)", "linear(q)"),
        ("linear = bnb.nn.Linear4bit(64, 64); linear.cuda()", "linear(q)"),
    ],
    ids=[
        *(
            "a number",
            "one that was read",
            "a host tensor",
            "a tensor of the default device",
            "a tensor",
            "nothing",
            "cold",
            "warm",
            "a factor",
            "a tensor of it",
        ),
        *("cold tuning", "warm tuning", "a cold handle", "a warm handle", "no handle"),
    ],
)
def test_a_call_is_given_tensors_and_made_before(tmp_path: Path, before: str, call: str) -> None:
    """Numbers are parameters of the kernel; what compiles itself does so once."""
    analysis = analyse(tmp_path, CALLED.format(before=before, call=call))
    assert analysis.shown == analysis.expected


def test_each_row_names_its_source() -> None:
    """A release of the library and a file in it."""
    table = (builtin_rules() / "regions.toml").read_text(encoding="utf-8")
    above = re.findall(r"((?:^#.*\n)*)\[\[contract\]\]", table, re.MULTILINE)
    assert len(above) == table.count("[[contract]]") > 0
    assert [said for said in above if not re.search(r" \d[\d.]+:\s(# )?[\w/]+\.\w+", said)] == []


def test_a_row_of_ones_own_counts(tmp_path: Path) -> None:
    """Whatever module of its package a name comes from."""
    rules, program = tmp_path / "rules", tmp_path / "program"
    rules.mkdir()
    program.mkdir()
    row = '[[contract]]\nof = ["acme.Attention"]\nprepare = ["schedule"]\n'
    (rules / "regions.toml").write_text(row, encoding="utf-8")
    runner = RUNNER.format(made="self.attention = Attention(cache)", prepared="self.graph.replay()")
    runner = runner.replace("flashinfer import BatchDecodeWithPagedKVCacheWrapper", "acme.layers import Attention")
    write(program, runner.replace(".plan(", ".schedule("))
    report = static.check([program], Config(root=program), load_rulebook(builtin_rules(), rules))
    assert [finding.code for finding in report.findings] == ["GL512"]
