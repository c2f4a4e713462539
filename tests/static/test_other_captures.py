"""Torch-TensorRT and raw CUDA as programs spell them: what is captured, what is not, and what waits in there."""

from pathlib import Path

import pytest
from analysis import analyse

TENSORRT = """\
    import torch
    import torch_tensorrt
    class Model(torch.nn.Module):
        def forward(self, x):
            return x * x.sum().item()  # 5
    def host(x):
        return x.tolist()
    def helper(model, x):
        return model(x)
    def main(x: torch.Tensor, unknown):
        model = Model().cuda()
        {before}
        {around}:
            {body}
        {after}
    """
WITH = "with torch_tensorrt.runtime.enable_cudagraphs(model) as graphed"
INSIDE = ("main.py", 5, "GL101")


def tensorrt(body: str, before: str = "x", after: str = "x", around: str = WITH) -> str:
    return TENSORRT.format(body=body, before=before, after=after, around=around)


@pytest.mark.parametrize(
    "program",
    [
        tensorrt("graphed(x)"),
        tensorrt("model(x)"),
        tensorrt("y = host(graphed(x))"),
        tensorrt("helper(graphed, x)"),
        tensorrt("graphed(x)", before="model = torch_tensorrt.compile(model, inputs=[x])"),
        tensorrt("graphed(x)", before='model = torch.compile(model, backend="torch_tensorrt")'),
        tensorrt("graphed(x)", around=WITH.replace("(model)", "(compiled_module=model)")),
        tensorrt("graphed(x)", before="manager = torch_tensorrt.runtime.enable_cudagraphs(model)",
                 around="with manager as graphed"),
    ],
)  # fmt: skip
def test_the_calls_of_what_tensorrt_is_given_are_captured(tmp_path: Path, program: str) -> None:
    """Under the name that the context manager gives, under its own, here or in a helper, and nothing beside them."""
    analysis = analyse(tmp_path, program)
    assert [INSIDE] == analysis.found
    (region,) = analysis.regions
    assert ("torch_tensorrt.runtime.enable_cudagraphs", True) == (region.kind, region.soft)


@pytest.mark.parametrize(
    "program",
    [
        tensorrt("host(x)"),
        tensorrt("x.item()"),
        tensorrt("unknown(x).item()"),
        tensorrt("x", before="model(x)"),
        tensorrt("graphed", after="graphed(x)"),
    ],
)
def test_what_stands_beside_these_calls_is_not_captured(tmp_path: Path, program: str) -> None:
    """The body of the context manager may wait, and what is called before it or behind it."""
    assert [] == analyse(tmp_path, program).found


@pytest.mark.parametrize("given", ["(unknown)", "(compiled_module=unknown)"])
@pytest.mark.parametrize("called", ["unknown(x)", "graphed(x)"])
def test_a_given_module_that_nobody_knows_is_told(tmp_path: Path, given: str, called: str) -> None:
    """It was captured, and not looked at."""
    report = analyse(tmp_path, tensorrt(called, around=WITH.replace("(model)", given))).report
    assert ((), 1) == (report.findings, report.summary.unresolved_calls)
    assert 1 == len(report.holes)


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ("torch_tensorrt.compile(Model(), use_cuda_graph=True)", "torch_tensorrt.compile"),
        ("torch_tensorrt.compile(module=Model(), use_cuda_graph=True)", "torch_tensorrt.compile"),
        ('torch.compile(Model(), backend="torch_tensorrt", options={"use_cuda_graph": True})', "torch.compile"),
    ],
)
def test_a_compiler_is_told_to_capture(tmp_path: Path, call: str, kind: str) -> None:
    """By a switch, or by an option that is one."""
    program = tensorrt("x", around="with torch.no_grad()", before=f"fast = {call}")
    analysis = analyse(tmp_path, program)
    assert [INSIDE] == analysis.found
    assert [kind] == [region.kind for region in analysis.regions]
    assert [] == analyse(tmp_path, program.replace("True", "False")).found


RAW = """\
    {imports}
    import torch
    def main(stream, event):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            {call}
    """


@pytest.mark.parametrize(
    ("imports", "call", "code"),
    [
        ("from cuda.bindings import runtime", "runtime.cudaStreamSynchronize(stream)", "GL103"),
        ("from cuda import cudart", "cudart.cudaStreamSynchronize(stream)", "GL103"),
        ("import cuda.cudart as rt", "rt.cudaDeviceSynchronize()", "GL103"),
        ("from cuda.cudart import cudaEventQuery", "cudaEventQuery(event)", "GL103"),
        ("from cuda import cudart", "cudart.cudaMalloc(8)", "GL503"),
        ("from cuda import cuda", "cuda.cuStreamSynchronize(stream)", "GL103"),
        ("from cuda import cuda", "cuda.cuCtxSynchronize()", "GL103"),
        ("from cuda import cuda", "cuda.cuMemAlloc(8)", "GL503"),
        ("from cuda.bindings import driver", "driver.cuEventSynchronize(event)", "GL103"),
        ("from cuda.bindings import driver as cu", "cu.cuMemFree(8)", "GL503"),
        ("", "torch.cuda.cudart().cudaDeviceSynchronize()", "GL103"),
        ("from torch.cuda import cudart", "cudart().cudaFree(0)", "GL503"),
    ],
)
def test_raw_cuda_is_known_by_each_of_its_names(tmp_path: Path, imports: str, call: str, code: str) -> None:
    """The bindings have moved once, the driver has names of its own, and torch hands out the runtime."""
    assert [("main.py", 6, code)] == analyse(tmp_path, RAW.format(imports=imports, call=call)).found


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("from cuda import cudart", "cudart.cudaStreamWaitEvent(stream, event, 0)"),
        ("from cuda import cuda", "cuda.cuEventRecord(event, stream)"),
        ("from cuda import tooling", "tooling.cudaStreamSynchronize(stream)"),
        ("", "torch.cuda.cudart().cudaProfilerStart()"),
    ],
)
def test_raw_cuda_that_only_enqueues_is_silent(tmp_path: Path, imports: str, call: str) -> None:
    """As are functions of other modules that are called alike."""
    assert [] == analyse(tmp_path, RAW.format(imports=imports, call=call)).found


@pytest.mark.parametrize(
    ("spelt", "kind"),
    [
        ("torch.cuda.graph(graph)", "torch.cuda.graph"),
        ("torch.npu.graph(graph)", "torch.npu.graph"),
        ("torch.xpu.graph(graph)", "torch.xpu.graph"),
        ("torch.musa.graph(graph)", "torch.musa.graph"),
    ],
)
def test_a_region_is_called_as_it_is_spelt(tmp_path: Path, spelt: str, kind: str) -> None:
    """A report speaks of the device that the program names."""
    program = f"import torch\ndef main(graph, x: torch.Tensor):\n    with {spelt}:\n        x.item()\n"
    assert [kind] == [region.kind for region in analyse(tmp_path, program).regions]


ON_STREAM = """\
    import torch
    from cuda.bindings import runtime
    def main():
        x = torch.ones(4, device="cuda")
        _, raw = runtime.cudaStreamCreate()
        stream = {stream}
        runtime.cudaStreamBeginCapture(raw, runtime.cudaStreamCaptureMode.cudaStreamCaptureModeGlobal)
        with torch.cuda.stream(stream):
            x.mul_(2)
        _, graph = runtime.cudaStreamEndCapture(raw)
    """


@pytest.mark.parametrize(
    ("stream", "is_told"), [("torch.cuda.ExternalStream(int(raw))", False), ("torch.cuda.Stream()", True)]
)
def test_a_stream_that_others_have_made_may_be_the_one_that_captures(
    tmp_path: Path, stream: str, is_told: bool
) -> None:
    """One that torch makes is another one."""
    assert is_told is ("GL603" in {code for *_, code in analyse(tmp_path, ON_STREAM.format(stream=stream)).found})
