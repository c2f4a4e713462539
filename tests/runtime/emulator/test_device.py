"""The emulated device itself, in processes of their own: where tensors lie, what is refused, what a replay does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

torch = pytest.importorskip("torch")

from graphlint.runtime.session.isolation import run_isolated, server  # noqa: E402

Send = Callable[[Any], None]


@pytest.fixture(scope="module")
def context() -> Any:
    return server()


class Emulated:
    """Does work in a process where torch believes in a GPU, and sends what it gives."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work

    def __call__(self, send: Send) -> None:
        from graphlint.runtime.device.emulator.library import Emulator

        Emulator().install()
        send(self.work())


def done(context: Any, work: Callable[[], Any]) -> Any:
    """What the work gives."""
    heard: list[Any] = []
    ending = run_isolated(context, Emulated(work), 60.0, heard.append)
    assert ending.how == ""
    return heard[0]


def refusal(call: Callable[[], object]) -> str:
    """What a call is refused with; empty where it is not."""
    try:
        call()
    except RuntimeError as error:
        return str(error)
    return ""


def residences() -> list[str]:
    host, module = torch.ones(4), torch.nn.Linear(4, 4)
    device, parameter = host.cuda(), module.weight
    module.cuda()
    with torch.device("cuda"):
        by_default = torch.tensor([1.0])
    made = [
        host, device, device[1:], device + 1, device.cpu(), device.to("cpu"), device.detach(), parameter, module.bias,
        device.new_zeros(2), torch.zeros(2, device=device.device), torch.tensor(1.0, device="cuda"), by_default,
        device.float().double(), torch.empty_like(device), torch.ones(2),
    ]  # fmt: skip
    return [tensor.device.type for tensor in made]


def test_storages_remember_where_they_lie(context: Any) -> None:
    """Views, results and parameters lie where their memory does, and what is moved does not."""
    cuda, cpu = "cuda", "cpu"
    expected = [cpu, cuda, cuda, cuda, cpu, cpu, cuda, cuda, cuda, cuda, cuda, cuda, cuda, cuda, cuda, cpu]
    assert expected == done(context, residences)


def mixed() -> list[str]:
    x, host = torch.ones(3, device="cuda"), torch.ones(3)
    calls = [lambda: x + host, lambda: x + 1.0, lambda: x * torch.tensor(2.0), lambda: x.copy_(host)]
    return [refusal(call) for call in calls]


def test_tensors_of_both_sides_are_not_mixed(context: Any) -> None:
    """But for single numbers, and copies."""
    first, *others = done(context, mixed)
    assert "same device" in first and others == ["", "", ""]


REFUSED = {
    "x.item()": "synchronizing",
    "bool(x > 0)": "synchronizing",
    "x.expand(3).nonzero()": "synchronizing",
    "v[m]": "synchronizing",
    "torch.isin(v, v.repeat(8))": "synchronizing",
    "v.cpu()": "unless the CPU tensor is pinned",
    "v.copy_(host)": "unless the CPU tensor is pinned",
    "torch.tensor(1.0, device='cuda')": "unless the CPU tensor is pinned",
    "v[[0, 1]]": "unless the CPU tensor is pinned",
    "torch.cuda.Stream.synchronize(torch.cuda.current_stream())": "synchronizing",
    "torch.cuda.current_stream().query()": "STREAM_CAPTURE_UNSUPPORTED",
    "torch.cuda.synchronize()": "STREAM_CAPTURE_UNSUPPORTED",
    "torch.cuda.current_stream().wait_stream(torch.cuda.default_stream())": "STREAM_CAPTURE_ISOLATION",
    "torch.cuda.manual_seed(1234)": "only if new seed is the same",
    "torch.rand(2, device='cuda', generator=own)": "not in capture mode",
    "x.tolist()": "unless the CPU tensor is pinned",
    "v.type_as(host)": "unless the CPU tensor is pinned",
    "v.new([1.0])": "unless the CPU tensor is pinned",
    "torch.tensor([x, x])": "synchronizing",
    "v[:2].copy_(pinned[::2], non_blocking=True)": "unless the CPU tensor is pinned",
    "torch.cuda.Stream().query()": "not permitted when stream is capturing",
    "v.repeat(1024).mode()": "synchronizing",
    "torch.linalg.lu(v.repeat(2, 1))": "synchronizing",
    "v.to_sparse()": "synchronizing",
    "(v.detach().requires_grad_() * 2).prod().backward()": "synchronizing",
    "v + 1": "",
    "torch.tensor(v)": "",
    "torch.as_tensor(x, dtype=torch.float64)": "",
    "v.new_tensor(v)": "",
    "v.new(3)": "",
    "torch.cuda.FloatTensor(4)": "",
    "v.copy_(pinned.double().pin_memory(), non_blocking=True)": "",
    "v.mode()": "",
    "torch.linalg.lu(v.repeat(4, 1))": "",
    "torch.nn.utils.rnn.pad_sequence([v, v[:2]])": "",
    "torch.from_dlpack(v)": "",
    "torch.vander(v)": "",
    "v[m] = 0.0": "",
    "torch.where(m, v, 0.0)": "",
    "v.copy_(pinned, non_blocking=True)": "",
    "v.to('cpu', non_blocking=True)": "",
    "torch.rand(2, device='cuda')": "",
    "torch.nn.functional.one_hot(m.long(), 3)": "",
    "v.quantile(0.5)": "",
    "torch.nanquantile(v, v[:2] * 0)": "",
    "torch.equal(v, v)": "",
    "torch.isin(v, v)": "",
    "torch.isin(v, 1.0)": "",
}


def refusals() -> list[str]:
    names = {
        "torch": torch,
        "x": torch.ones((), device="cuda"),
        "v": torch.ones(4, device="cuda"),
        "m": torch.ones(4, device="cuda") > 0,
        "host": torch.ones(4),
        "pinned": torch.ones(4).pin_memory(),
        "own": torch.Generator("cuda").manual_seed(0),
    }
    torch.cuda.manual_seed(0)
    found = []
    for statement in REFUSED:
        graph, said = torch.cuda.CUDAGraph(), []

        def capture(graph: Any = graph, said: list[str] = said, statement: str = statement) -> None:
            with torch.cuda.graph(graph):
                torch._C._cuda_set_sync_debug_mode(2)
                said.append(refusal(lambda: exec(statement, dict(names))))
                torch._C._cuda_set_sync_debug_mode(0)

        refusal(capture)
        found.append(said[0])
    return found


def test_a_capture_is_refused_what_a_gpu_refuses(context: Any) -> None:
    """In the same words, and nothing else is."""
    for (statement, words), said in zip(REFUSED.items(), done(context, refusals), strict=True):
        assert (words in said) if words else not said, statement


def replays() -> dict[str, object]:
    x, weight, counts = torch.zeros(2, device="cuda"), torch.ones(2, device="cuda"), torch.zeros(1, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kept = x * weight
        counts.add_(1)
        view = (kept + 1)[1:]
    found: dict[str, object] = {"capture": counts.item(), "before": kept.isnan().all().item()}
    for number in (1.0, 2.0):
        x.fill_(number)
        graph.replay()
    del weight
    return {**found, "after": [kept.tolist(), view.tolist(), counts.item()]}


def test_a_replay_runs_on_the_memory_of_the_capture(context: Any) -> None:
    """A capture runs nothing: what it writes is as before, and what it makes holds nothing."""
    assert {"capture": 0.0, "before": True, "after": [[2.0, 2.0], [3.0], 2.0]} == done(context, replays)


def freed() -> list[object]:
    weight, x = torch.ones(2, device="cuda"), torch.ones(2, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * weight
    graph.replay()
    before = y.tolist()
    del weight
    graph.replay()
    return [before, y.isnan().all().item()]


def test_a_graph_holds_addresses_and_no_references(context: Any) -> None:
    """What it reads from memory that was freed means nothing."""
    assert [[1.0, 1.0], True] == done(context, freed)


def forked() -> list[str]:
    x, found = torch.ones(2, device="cuda"), []
    for is_joined in (True, False):
        side, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()

        def capture(side: Any = side, graph: Any = graph, is_joined: bool = is_joined) -> None:
            with torch.cuda.graph(graph):
                side.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(side):
                    x.add(1)
                if is_joined:
                    torch.cuda.current_stream().wait_stream(side)

        found.append(refusal(capture))
    return found


def test_a_forked_stream_has_to_be_joined(context: Any) -> None:
    """The work of the other one would be lost."""
    joined, unjoined = done(context, forked)
    assert joined == "" and "unjoined" in unjoined


def drawn() -> list[bool]:
    x, generator = torch.ones(64, device="cuda"), torch.cuda.default_generators[0]
    graph, state = torch.cuda.CUDAGraph(), generator.get_state()
    with torch.cuda.graph(graph):
        y = torch.nn.functional.dropout(x, 0.5)
    is_moved = not torch.equal(state, generator.get_state())
    eager = [torch.nn.functional.dropout(x, 0.5) for _ in range(2)]
    generator.set_state(state)
    found = []
    for expected in eager:
        graph.replay()
        found.append(torch.equal(expected, y))
    return [is_moved, *found]


def test_replays_draw_what_eager_draws(context: Any) -> None:
    """A capture leaves the generator where it was, and each replay moves it on."""
    assert [False, True, True] == done(context, drawn)


def trained() -> float:
    def model() -> tuple[Any, Any]:
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)).cuda()
        return net, torch.optim.Adam(net.parameters(), lr=torch.tensor(0.01, device="cuda"), capturable=True)

    def step(net: Any, optimizer: Any, x: Any) -> None:
        optimizer.zero_grad(set_to_none=False)
        net(x).square().mean().backward()
        optimizer.step()

    (net, optimizer), (twin, other) = model(), model()
    batches = [torch.rand(4, 8, device="cuda") for _ in range(5)]
    static, side, graph = batches[0].clone(), torch.cuda.Stream(), torch.cuda.CUDAGraph()
    with torch.cuda.stream(side):
        step(net, optimizer, static)
        step(twin, other, static)
    with torch.cuda.graph(graph, stream=side):
        step(net, optimizer, static)
    for number, batch in enumerate(batches):
        for one in (optimizer, other):
            one.param_groups[0]["lr"].fill_(0.01 / (number + 1))
        static.copy_(batch)
        graph.replay()
        step(twin, other, batch)
    pairs = zip(net.parameters(), twin.parameters(), strict=True)
    return max((one - another).abs().max().item() for one, another in pairs)


def test_a_captured_training_step_follows_eager(context: Any) -> None:
    """Forward, backward and Adam with a rate on the device, five steps on other batches and with other rates."""
    assert done(context, trained) <= 1e-7


def in_a_thread() -> list[str]:
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(torch.ones(2, device="cuda").device.type))
    thread.start()
    thread.join()
    return found


def test_a_thread_of_the_program_has_the_device_too(context: Any) -> None:
    """Modes of torch belong to one thread."""
    assert ["cuda"] == done(context, in_a_thread)


def root(x: torch.Tensor) -> torch.Tensor:
    return x * torch.sqrt(torch.tensor(x.size(-1), dtype=torch.float))


def scripted() -> list[tuple[str, list[float]]]:
    found = [torch.jit.script(root)(torch.ones(4, device=name)) for name in ("cuda", "cpu")]
    return [(one.device.type, one.tolist()) for one in found]


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
def test_torchscript_compiles_the_functions_that_have_a_stand_in(context: Any) -> None:
    """What builds a tensor is known to it by identity."""
    assert [(name, [2.0] * 4) for name in ("cuda", "cpu")] == done(context, scripted)


def sparse(places: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    return torch.sparse_coo_tensor(indices=places, values=values, size=[2, 2]).to_dense()


def scripted_sparse() -> tuple[str, list[list[float]]]:
    places, values = torch.tensor([[0, 1], [1, 0]], device="cuda"), torch.ones(2, device="cuda")
    found = torch.jit.script(sparse)(places, values)
    return found.device.type, found.tolist()


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
def test_torchscript_compiles_functions_that_two_stand_ins_lie_in_front_of(context: Any) -> None:
    assert ("cuda", [[0.0, 1.0], [1.0, 0.0]]) == done(context, scripted_sparse)


class Pose(torch.Tensor):
    """A tensor of a class of its own, which keeps it, as those of torch do that are derived from it."""


class Named(torch.Tensor):
    """One that says what is done with it."""

    asked: ClassVar[list[str]] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.asked.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs)


def of_own_classes() -> list[Any]:
    module = torch.nn.Linear(2, 2)
    module.register_buffer("pose", torch.ones(3).as_subclass(Pose))
    pose, named = torch.ones(3).as_subclass(Pose).cuda(), torch.ones(3).as_subclass(Named)
    Named.asked.clear()
    named.to("cuda")
    weight = module.cuda().weight
    made = [pose, pose.cpu(), pose.to("cpu"), pose + 1, module.pose, weight, weight.cpu()]
    return [[(type(one).__name__, one.device.type) for one in made], Named.asked]


def test_tensors_keep_their_class_where_they_are_moved(context: Any) -> None:
    pose, plain = ("Pose", "cuda"), ("Tensor", "cpu")
    kept = [pose, ("Pose", "cpu"), ("Pose", "cpu"), pose, pose, ("Parameter", "cuda"), plain]
    assert [kept, ["to"]] == done(context, of_own_classes)


def conflicts() -> dict[str, bool]:
    found = {}
    for mode in ("global", "thread_local", "relaxed"):
        graph, said = torch.cuda.CUDAGraph(), []

        def capture(graph: Any = graph, said: list[str] = said, mode: str = mode) -> None:
            with torch.cuda.graph(graph, capture_error_mode=mode):
                said.append(refusal(torch.cuda.Stream().synchronize))

        refusal(capture)
        found[mode] = bool(said[0])
    return found


def test_a_stream_beside_a_capture_is_waited_for_where_that_allows_it(context: Any) -> None:
    """Only a relaxed one does."""
    assert {"global": True, "thread_local": True, "relaxed": False} == done(context, conflicts)


def layouts() -> list[Any]:
    places, values = torch.tensor([[0, 1], [1, 0]], device="cuda"), torch.ones(2, device="cuda")
    x, rows = torch.ones(2, 2, device="cuda"), torch.eye(2, device="cuda").to_sparse_csr()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        crossed = torch.sparse_coo_tensor(places, values, (2, 2))
        product, doubled, same = crossed @ x, crossed * 2, rows @ x
    values.fill_(3.0)
    x.fill_(2.0)
    graph.replay()
    return [one.tolist() for one in (product, doubled.to_dense(), same)]


def test_a_replay_runs_on_tensors_of_other_layouts(context: Any) -> None:
    """What they are made of is memory like any other."""
    assert [[[6.0, 6.0], [6.0, 6.0]], [[0.0, 6.0], [6.0, 0.0]], [[2.0, 2.0], [2.0, 2.0]]] == done(context, layouts)


def launched() -> dict[str, int]:
    x, flag = torch.ones(4, 2, device="cuda"), torch.tensor(True, device="cuda")
    calls = {
        "a wait of the device for itself": lambda: torch.cuda._sleep(10),
        "an operator that gives nothing": lambda: torch._assert_async(flag),
        "a view in place": lambda: x.t_(),
        "a copy into itself": lambda: x.copy_(x.detach()),
    }
    found = {}
    for name, call in calls.items():
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            call()
        found[name] = len(graph.recording.nodes)
    return found


def test_work_is_what_a_device_has_to_do(context: Any) -> None:
    """Also where nothing comes of it, but not where memory is only looked at in another way."""
    expected = {
        "a wait of the device for itself": 1,
        "an operator that gives nothing": 1,
        "a view in place": 0,
        "a copy into itself": 0,
    }
    assert expected == done(context, launched)


def cast() -> list[str]:
    of_cpu = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
    x, weight = torch.ones(2, 2, device="cuda"), torch.ones(2, 2, device="cuda", requires_grad=True)
    half, index = x.half(), torch.zeros(2, dtype=torch.long, device="cuda")
    calls = [
        lambda: x @ weight, lambda: torch.mv(x, x[0]), lambda: half.softmax(-1), lambda: half.sum(),
        lambda: half + half, lambda: torch.index_put(x, (index,), half[0]),
        lambda: torch.addcmul(half, half, half), lambda: half.double().exp(),
    ]  # fmt: skip

    def dtypes() -> list[str]:
        return [str(call().dtype).removeprefix("torch.") for call in calls]

    with torch.autocast("cuda"):
        inside = dtypes()
        (x @ weight).softmax(-1).sum().backward()
        with torch.autocast("cuda", enabled=False):
            off = str((x @ weight).dtype).removeprefix("torch.")
    is_as_before = of_cpu == (torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"))
    return [*inside, off, str((x @ weight).dtype), str(weight.grad.dtype), str(is_as_before)]


def test_autocast_casts_what_a_gpu_casts(context: Any) -> None:
    """To a narrow type, to a wide one, to the widest, or not at all; outside of it, and where it is off, nothing."""
    inside = ["float16", "float16", "float32", "float32", "float16", "float32", "float16", "float64"]
    assert [*inside, "float32", "torch.float32", "torch.float32", "True"] == done(context, cast)
