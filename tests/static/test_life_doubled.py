"""One memory that is given for two buffers of a graph."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse

WORKER = """
import torch
from flashinfer import BatchPrefillWithPagedKVCacheWrapper

class Worker:
    def __init__(self, size: int, graphs: bool):
        self.workspace = torch.zeros(1024, dtype=torch.uint8, device="cuda")
        self.indptr = torch.zeros(size + 1, dtype=torch.int32, device="cuda")
        self.rows = torch.zeros(size + 1, dtype=torch.int32, device="cuda")
        self.wrapper = BatchPrefillWithPagedKVCacheWrapper(
            self.workspace,
            use_cuda_graph={graphs},
            qo_indptr_buf={first},
            paged_kv_indptr_buf={second},{mark}
            scale_buf=None,
            other_buf=None,
        )
"""


@pytest.mark.parametrize("graphs", ["True", "graphs"])
@pytest.mark.parametrize("memory", ["self.indptr", "self.indptr[: size + 1]", "self.indptr[:size + 1]"])
def test_two_buffers_of_a_graph_need_two_memories(tmp_path: Path, graphs: str, memory: str) -> None:
    """What is planned for the second is what the first has, too."""
    program = WORKER.format(graphs=graphs, first=memory, second=memory, mark="  # expect: GL510")
    analysis = analyse(tmp_path, program)
    assert analysis.shown == analysis.expected


@pytest.mark.parametrize(
    ("graphs", "first", "second"),
    [
        ("True", "self.rows", "self.indptr"),
        ("True", "self.indptr[:4]", "self.indptr[4:]"),
        ("False", "self.indptr", "self.indptr"),
        ("True", "None", "None"),
    ],
    ids=["two buffers", "two parts of one", "no graph", "none at all"],
)
def test_buffers_with_a_memory_of_their_own_are_silent(tmp_path: Path, graphs: str, first: str, second: str) -> None:
    """So is what no graph reads."""
    assert not analyse(tmp_path, WORKER.format(graphs=graphs, first=first, second=second, mark="")).found
