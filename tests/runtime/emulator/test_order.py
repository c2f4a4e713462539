"""Programs with several streams, and with many graphs: what no order keeps apart, and what piles up."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from programs import verified

STREAMS = """
side, done = torch.cuda.Stream(), torch.cuda.Event()
batch = torch.full((4,), 2.0, device="cuda")
with torch.cuda.graph(graph):
    y = x * 2

def serve():
    main = torch.cuda.current_stream()
    {before}
    with torch.cuda.stream(side):
        {beside}
        {after}
    {joined}
    {then}

for _ in range(3):
    serve()
torch.cuda.synchronize()
"""
FORK, JOIN, BY_EVENT = "side.wait_stream(main)", "main.wait_stream(side)", "done.record(side); done.wait()"
COPY, REPLAY, READ = "x.copy_(batch)", "graph.replay()", "z = y.clone()"

PINNED = """
host, result = torch.zeros(4).pin_memory(), torch.zeros(4).pin_memory()
done = torch.cuda.Event()
with torch.cuda.graph(graph):
    x.copy_(host, non_blocking=True)
    result.copy_(x * 2, non_blocking=True)
for number in range(3):
    {write}
    graph.replay()
    done.record()
    {wait}
    {read}
    done.synchronize()
"""

EXTERNAL = """
loaded, batch = torch.cuda.Event(external=True), torch.zeros(4, device="cuda")

def fetch():
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        batch.copy_(x, non_blocking=True)
        {record}

fetch()
with torch.cuda.graph(graph):
    torch.cuda.current_stream().wait_event(loaded)
    y = batch * 2
fetch()
graph.replay()
"""

THREADS = """
import threading

with torch.cuda.graph(graph):
    y = x * 2
torch.cuda.synchronize()

def serve():
    with torch.cuda.stream(torch.cuda.Stream()):
        x.copy_(torch.ones(4, device="cuda"))
        graph.replay()
        log.append(y.clone())
        {wait}

for _ in range(2):
    worker = threading.Thread(target=serve)
    worker.start()
    worker.join()
"""

POOLED = """
other, side = torch.cuda.CUDAGraph(), torch.cuda.Stream()
with torch.cuda.graph(graph):
    y = (x + 1) * 2
with torch.cuda.graph(other, pool={pool}):
    z = (x + 2) * 3
for _ in range(2):
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        other.replay()
        {after}
    graph.replay()
    torch.cuda.current_stream().wait_stream(side)
    log.append((y.sum().item(), z.sum().item()))
"""

AGAIN = """
graphs = {{}}
def serve(n):
    if {asks} or n not in graphs:
        graphs.pop(n, None)
        made, part = torch.cuda.CUDAGraph(), x[:n]
        with torch.cuda.graph(made):
            y = part * 2
        graphs[n] = made, y
    graphs[n][0].replay()

x = torch.ones(16, device="cuda")
for number in range({requests}):
    serve(number % {sizes} + 1)
"""

ALL = """
made = []
for number in range(3):
    {reset}
    one = torch.cuda.CUDAGraph()
    with torch.cuda.graph(one):
        y = x * 2
    made.append(one)
made[-1].replay()
"""
MANY = AGAIN.format


def streams(before: str, beside: str, after: str, joined: str, then: str) -> str:
    return STREAMS.format(before=before, beside=beside, after=after, joined=joined, then=then)


@pytest.mark.parametrize(
    ("program", "codes"),
    [
        (streams(FORK, COPY, REPLAY, JOIN, READ), set()),
        (streams(FORK, COPY, REPLAY, BY_EVENT, READ), set()),
        (streams(FORK, COPY, REPLAY, "side.synchronize()", READ), set()),
        (streams(FORK, COPY, REPLAY, "pass", READ), {"GL602"}),
        (streams(FORK, COPY, "pass", JOIN, REPLAY), set()),
        (streams(FORK, COPY, "pass", "pass", REPLAY), {"GL602"}),
        (streams("pass", COPY, "pass", JOIN, REPLAY), {"GL602"}),
        (streams(REPLAY, "pass", "pass", FORK, COPY), set()),
        (PINNED.format(write="host.fill_(number)", wait="pass", read="pass"), set()),
        (PINNED.format(write="pass", wait="pass", read="host.fill_(number)"), {"GL205"}),
        (PINNED.format(write="host.fill_(number)", wait="pass", read="log.append(result.sum())"), {"GL206"}),
        (PINNED.format(write="host.fill_(number)", wait="done.synchronize()", read="log.append(result.sum())"), set()),
        (PINNED.format(write="host.fill_(number)", wait="x.sum().item()", read="log.append(result.sum())"), set()),
        (PINNED.format(write="host.fill_(number)", wait="print(x)", read="log.append(result.sum())"), set()),
        (EXTERNAL.format(record="loaded.record()"), set()),
        (EXTERNAL.format(record="pass"), {"GL602"}),
        (THREADS.format(wait="torch.cuda.current_stream().synchronize()"), set()),
        (THREADS.format(wait="pass"), {"GL510"}),
        (POOLED.format(pool="graph.pool()", after="pass"), {"GL510"}),
        (POOLED.format(pool="graph.pool()", after="side.synchronize()"), set()),
        (POOLED.format(pool="torch.cuda.graph_pool_handle()", after="pass"), set()),
        (MANY(asks="False", requests=12, sizes=4), set()),
        (MANY(asks="False", requests=12, sizes=12), {"GL505"}),
        (MANY(asks="True", requests=4, sizes=1), set()),
        (ALL.format(reset="pass"), {"GL505"}),
        (ALL.format(reset="[one.reset() for one in made]"), set()),
    ],
)
def test_what_no_order_keeps_apart_and_what_piles_up(tmp_path: Path, program: str, codes: set[str]) -> None:
    """Errors and warnings."""
    assert codes == verified(tmp_path, program)[0]


def test_work_that_is_captured_for_each_replay_is_told_in_a_note(tmp_path: Path) -> None:
    """It is right, and no graph saves anything."""
    _, report = verified(tmp_path, MANY(asks="True", requests=4, sizes=1))
    assert ["GL707"] == [one.code for one in report.findings]


STAGES = """
second, features = torch.cuda.CUDAGraph(), torch.zeros(4, device="cuda")
with torch.cuda.graph(graph):
    between = x * 2
with torch.cuda.graph(second, pool=graph.pool()):
    y = between + 1

def serve(request):
    x.copy_(request)
    {first}
    features = between.clone()
    second.replay()
    return features, y.clone()

for number in range(3):
    serve(torch.full((4,), float(number), device="cuda"))
"""


@pytest.mark.parametrize(("first", "found"), [("graph.replay()", set()), ("pass", {"GL512"})])
def test_what_another_graph_computes_is_a_new_input(tmp_path: Path, first: str, found: set[str]) -> None:
    """Its replay writes to the memory that it has made."""
    codes, _ = verified(tmp_path, STAGES.format(first=first))
    assert found == codes & {"GL512"}
