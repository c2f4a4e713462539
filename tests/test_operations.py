"""The catalogue of operations: what was measured under capture comes out of it, and its rows hold together."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from graphlint.errors import UsageError
from graphlint.finding import Confidence
from graphlint.operations import Condition, Operation, load_catalogue
from graphlint.rulebook import builtin_rules, load_rulebook

PAGE = builtin_rules() / "operations.toml"
CATALOGUE = load_catalogue(PAGE)
KIND_WORDS = """
    tensor elementwise same-shape bool-tensor int-tensor indices scalar-tensor reduction bool-reduction int-reduction
    extremum where unique loss factory like moved self host-tensor device-tensor host-array tensors pair triple quad
    int float bool number str list shape device dtype none object
"""
PREDICATES = set(
    re.findall(r"[a-z]+(?:-[a-z]+)?", " ".join(re.findall(r"(?m)^    (\S.*?)  ", Condition.__doc__ or "")))
)


@dataclass(frozen=True)
class Call:
    """A call in the tables below: what is called, and with what; its result has methods and can be called."""

    name: str
    positional: tuple[object, ...] = ()
    keywords: tuple[tuple[str, object], ...] = ()

    def __getattr__(self, method: str) -> Spelled:
        return Spelled(f"{self.name}.{method}", (self,))

    def __call__(self, *positional: object, **keywords: object) -> Call:
        return Spelled(f"{self.name}.forward", (self,))(*positional, **keywords)

    def bound(self) -> dict[str, tuple[object, ...]]:
        return found(self.name).bind(self.positional, dict(self.keywords))


@dataclass(frozen=True)
class Spelled:
    """A dotted name in the tables below; calling it records the call."""

    path: str
    receiver: tuple[object, ...] = ()

    def __getattr__(self, name: str) -> Spelled:
        return Spelled(f"{self.path}.{name}")

    def __call__(self, *positional: object, **keywords: object) -> Call:
        return Call(self.path, self.receiver + positional, tuple(keywords.items()))


@dataclass(frozen=True)
class Tensor:
    """A tensor in the tables below."""

    device: bool = True
    pinned: bool = False
    fresh: bool = False
    mask: bool = False
    dtype: str = "float32"

    def __getattr__(self, method: str) -> Spelled:
        return Spelled(f"torch.Tensor.{method}", (self,))


TENSORS = {
    "x": Tensor(),
    "y": Tensor(dtype="float16"),
    "idx": Tensor(dtype="int64"),
    "mask": Tensor(mask=True),
    "bf16": Tensor(dtype="bfloat16"),
    "host": Tensor(device=False),
    "pinned": Tensor(device=False, pinned=True),
    "fresh": Tensor(device=False, pinned=True, fresh=True),
}
NAMES = {"F": "torch.nn.functional", "nn": "torch.nn", "linalg": "torch.linalg", "D": "torch.distributions"}
ROOTS = ("torch", "math", "numpy", "pickle", "copy", "cupy", "cuda")


def holds(condition: Condition, bound: dict[str, tuple[object, ...]]) -> bool:
    """Whether the condition holds of arguments that are fully known."""
    name, _, attribute = condition.argument.partition(".")
    values = [one for many in bound.values() for one in many] if name == "*" else list(bound.get(name, ()))
    if attribute:
        values = [one for owner in values if isinstance(owner, Call) for one in owner.bound().get(attribute, ())]
    flat = [part for one in values for part in (one if isinstance(one, list | tuple) else [one])]
    tensors = [one for one in flat if isinstance(one, Tensor)]
    passed = [one for one in flat if one is not None]
    words = " ".join(str(one) for one in passed if isinstance(one, str))
    return {
        "absent": not passed,
        "given": bool(passed),
        "none": flat == [None],
        "true": flat == [True],
        "not-true": flat != [True],
        "false": flat == [False],
        "not-false": flat != [False],
        "equals": any(str(one) in (condition.value or "").split("|") for one in passed),
        "device": any(one.device for one in tensors),
        "host": any(not one.device for one in tensors),
        "tensor": bool(tensors),
        "not-tensor": bool(passed) and not any(isinstance(one, Tensor) for one in values),
        "number": any(isinstance(one, int | float) and not isinstance(one, bool) for one in flat),
        "sequence": any(isinstance(one, list | tuple) for one in values),
        "bool": any(one.mask for one in tensors),
        "cuda": "cuda" in words or any(one.device for one in tensors),
        "cpu": "cpu" in words or any(not one.device for one in tensors),
        "pinned": any(one.pinned for one in tensors),
        "not-pinned": any(not one.pinned for one in tensors),
        "fresh": any(one.fresh for one in tensors),
        "distinct": values != list(bound.get(condition.value or "", ())),
        "not-dtype": any(one.dtype != condition.value for one in tensors),
        "within": False,
    }[condition.predicate]


def found(name: str) -> Operation:
    operation = CATALOGUE.find(name)
    assert operation is not None, name
    return operation


def effects_of(statement: str) -> set[str]:
    """The effects that a finding is shown for, allocations and frozen host operands aside."""
    names = {root: Spelled(root) for root in ROOTS} | {name: Spelled(path) for name, path in NAMES.items()}
    called = eval(statement, {}, names | TENSORS)
    return {
        effect.name
        for effect in found(called.name).effects
        if effect.confidence >= Confidence.MEDIUM and all(holds(condition, called.bound()) for condition in effect.when)
    } - {"allocation"}


def statements(text: str) -> list[str]:
    return [statement.strip() for line in text.strip().splitlines() for statement in line.split(";")]


FAILS = {
    "scalar-readback": """
        x.item(); x.tolist(); x.is_nonzero(); math.sqrt(x); torch.tensor([x, x]); torch.as_tensor([x, x])
        torch.add(x, x, alpha=x); x.add_(x, alpha=x); torch.addcmul(x, x, x, value=x); torch.addmm(x, x, x, beta=x)
        F.dropout(x, p=x); F.leaky_relu(x, x); F.pad(x, (1, 1), value=x); F.softplus(x, beta=x); x.clamp(x, 1.0)
        torch.full((3,), x, device="cuda"); torch.full_like(x, x); x.new_full((2,), x); torch.nan_to_num(x, nan=x)
        F.scaled_dot_product_attention(x, x, x, scale=x)
    """,
    "tensor-size": """
        torch.arange(x, device="cuda"); torch.arange(0, x); torch.topk(x, x); torch.zeros(x, device="cuda")
        x.view(2, -1, x); x.narrow(1, 0, x); x.roll(x, 0); x.select(1, x); x.expand(2, x); x.chunk(x); x.unsqueeze(x)
        x.sum(dim=x); x.sum(axis=x); torch.split(x, [x, x], 0); F.interpolate(x, size=(x, x))
        nn.utils.rnn.unpad_sequence(x, idx)
    """,
    "device-to-host": """
        x.cpu(); x.to("cpu"); x.numpy(force=True); x.type("torch.cpu.FloatTensor"); x.type_as(host); numpy.asarray(x)
        torch.save(x, "file"); pickle.dumps(x); host.copy_(x); host.copy_(x, non_blocking=True); pinned.copy_(x)
        nn.utils.rnn.pack_padded_sequence(x, x)
        nn.utils.rnn.pad_packed_sequence(nn.utils.rnn.pack_padded_sequence(x, host, enforce_sorted=False))
    """,
    "host-to-device": """
        host.to("cuda"); host.to(x); host.to("cuda", non_blocking=True); host.cuda(non_blocking=True); pinned.to("cuda")
        pinned.cuda(); x.copy_(host); x.copy_(host, non_blocking=True); x.copy_(pinned); host.type_as(x)
        torch.where(mask, x, host); torch.where(mask, host, host); torch.where(host, x, x); x.where(mask, host)
        torch.asarray(host, device="cuda"); nn.utils.rnn.pack_padded_sequence(x, host, enforce_sorted=False)
    """,
    "stale-readback": """x.to("cpu", non_blocking=True); x.to("cpu", y, non_blocking=True)""",
    "pinned-source": """fresh.cuda(non_blocking=True); x.copy_(fresh, non_blocking=True)""",
    "literal-upload": """
        torch.tensor(1.0, device="cuda"); torch.tensor([1.0, 2.0], device="cuda")
        torch.as_tensor([1, 2], device="cuda"); torch.asarray([1.0], device="cuda"); x.new_tensor([1.0]); x.new([1.0])
        torch.cuda.FloatTensor([1.0]); x.copy_(1.0); torch.unravel_index(idx, (2, 4))
        D.Normal(x, 1.0, validate_args=False); D.StudentT(x, validate_args=False)
    """,
    "host-operand": """torch.add(x, host); torch.mul(x, host); torch.eq(x, host); x.pow(host); x.fill_(host)""",
    "explicit-sync": """
        torch.cuda.synchronize(); torch.accelerator.synchronize(); torch.cuda.Stream().synchronize()
        torch.cuda.Stream().query(); torch.cuda.Event().synchronize(); torch.cuda.Event().query()
    """,
    "hidden-sync": """
        torch.linspace(x, 1.0, 5, device="cuda"); torch.linspace(0.0, x, 5, device="cuda")
        torch.amp.GradScaler().get_scale(); nn.BatchNorm2d(3, momentum=None, training=True)(x)
        torch.equal(x, y); torch.allclose(x, x); torch.testing.assert_close(x, x); torch.cov(x); torch.corrcoef(x)
        x.masked_fill(mask, x); x.masked_fill_(mask, x); x.index_fill_(1, idx, x); torch.normal(x, x)
        torch.normal(0.0, x); torch.histc(x); torch.istft(x, 64); F.ctc_loss(x, x, host, host); F.ctc_loss(x, x, x, x)
        F.gaussian_nll_loss(x, x, x); torch.segment_reduce(x, "sum", lengths=idx); torch._grouped_mm(x, x, idx)
        F.grouped_mm(y, y, offs=idx); D.Normal(x, x); D.Normal(0.0, 1.0).log_prob(x); D.Normal(x, x).sample()
        D.Multinomial(4, x, validate_args=False); D.MultivariateNormal(x, x, validate_args=False)
        D.VonMises(x, x, validate_args=False).sample(); D.Categorical(x); linalg.inv(x); x.inverse(); linalg.solve(x, x)
        linalg.cholesky(x); linalg.svd(x); linalg.svdvals(x); linalg.eigh(x); linalg.eig(x); linalg.eigvals(x)
        linalg.lstsq(x, x); linalg.pinv(x); linalg.matrix_rank(x); linalg.matrix_exp(x); linalg.lu_factor(x)
        linalg.ldl_factor_ex(x); linalg.inv_ex(x, check_errors=True); linalg.matrix_power(x, -1); linalg.norm(x, 2)
        linalg.norm(x, 2, dim=(0, 1)); linalg.matrix_norm(x, "nuc"); linalg.cond(x); linalg.tensorinv(x)
        torch.cholesky(x); torch.svd(x); torch.pinverse(x); torch.pca_lowrank(x, 2); torch.norm(x, "nuc")
        torch.lobpcg(x); nn.utils.clip_grad_norm_([x], 1.0, error_if_nonfinite=True)
        nn.utils.get_total_norm([x], error_if_nonfinite=True)
        nn.TransformerEncoder(nn.Identity(), 1)(x, src_key_padding_mask=mask)
        nn.TransformerEncoder(nn.Identity(), 1)(x, x); torch.amp.GradScaler().step(torch.optim.SGD(x))
    """,
    "data-dependent-shape": """
        x.nonzero(); torch.where(mask); torch.argwhere(mask); x.masked_select(mask); torch.unique(x); x.unique(dim=0)
        torch.unique_consecutive(x); torch.bincount(x); torch.bincount(x, minlength=20); torch.combinations(x)
        x.to_sparse(); torch.repeat_interleave(x, idx, dim=1); x.repeat_interleave(idx); torch.repeat_interleave(idx)
        F.one_hot(idx); F.one_hot(idx, num_classes=-1); nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5])(x, idx)
        torch.sparse_coo_tensor(idx, x); torch.ops.aten.nonzero.default(x)
    """,
    "boolean-mask": """x.index_put_((mask,), x); torch.index_put(x, [mask], x)""",
    "host-index": """nn.init.dirac_(x); nn.init.sparse_(x, 0.5)""",
    "allocator-call": """torch.cuda.empty_cache(); torch.cuda.memory.empty_cache()""",
    "foreign-allocation": """cupy.zeros(3); cuda.bindings.runtime.cudaMalloc(8)""",
    "optimizer-host-state": """
        torch.optim.LBFGS(x).step(); torch.optim.SGD(x, lr=x).step()
        torch.optim.Adam(x).step(); torch.optim.AdamW(x, fused=True).step(); torch.optim.RMSprop(x).step()
        torch.optim.adamax.Adamax(x).step(); torch.optim.Adafactor(x).step(); torch.optim.NAdam(x).step()
    """,
}

CAPTURES = """
    torch.sum(x); torch.sort(x); torch.median(x); torch.mode(x); torch.cumsum(x, 0); torch.bernoulli(x)
    torch.poisson(x); torch.topk(x, 2); x.kthvalue(2); torch.quantile(x, 0.5); torch.searchsorted(x, x); torch.isnan(x)
    x.any(); x.all(); x.zero_(); x.normal_(); x.uniform_(); x.exponential_(); x.cauchy_(); x.random_(0, 5)
    torch.rand_like(x); torch.multinomial(x, 2); linalg.inv_ex(x); linalg.cholesky_ex(x); linalg.solve_ex(x, x)
    linalg.lu_factor_ex(x); linalg.qr(x); linalg.det(x); linalg.slogdet(x); linalg.lu(x); linalg.norm(x)
    linalg.norm(x, 2, dim=-1); linalg.matrix_norm(x); linalg.vector_norm(x, 2); linalg.cond(x, 1)
    linalg.matrix_power(x, 3); torch.norm(x, 2); torch.triangular_solve(x, x); torch.cdist(x, x)
    torch.zeros(3, device="cuda"); torch.empty(3, device="cuda"); torch.arange(8, device="cuda")
    torch.eye(3, device="cuda"); torch.full((3,), 2.5, device="cuda"); torch.scalar_tensor(3.0, device="cuda")
    torch.randperm(10, device="cuda"); x.new_zeros(3); torch.tensor(1.0); torch.tensor(x)
    torch.as_tensor(x, device="cuda"); x.new_tensor(x); torch.asarray(x); torch.equal(x, x); torch.where(mask, x, 0.0)
    torch.where(mask, x, x); torch.where(mask, 1.0, 0.0); torch._assert_async(x); x.masked_fill(mask, 0.0)
    x.masked_fill(mask, host); x.masked_scatter(mask, x); x.index_fill_(1, idx, 0.5); x.fill_(x)
    torch.repeat_interleave(x, idx, dim=1, output_size=8); torch.repeat_interleave(x, 2, dim=1); x.repeat_interleave(2)
    F.one_hot(idx, 16); torch.nonzero_static(x, size=10); torch.histc(x, 10, 0.0, 1.0); torch.isin(idx, 3)
    torch.isin(idx, idx); torch.normal(x, 1.0); torch.clamp(x, min=x); x.clamp_min(x); torch.pow(x, x)
    torch.lerp(x, x, x); torch.heaviside(x, x); x.to("float16"); x.to(y); x.half(); x.type("float16"); host.to("cpu")
    host.cpu(); host.item(); x.to("cuda"); x.copy_(y); x.copy_(pinned, non_blocking=True)
    pinned.copy_(x, non_blocking=True); pinned.to("cuda", non_blocking=True); x.index_select(1, idx); x.gather(1, idx)
    x.scatter_add_(1, idx, x); x.index_add_(1, idx, x); x.index_put_((idx,), x); F.embedding(idx, x)
    F.embedding(idx, x, max_norm=1.0); F.cross_entropy(x, idx); F.interpolate(x, scale_factor=2)
    F.scaled_dot_product_attention(x, x, x, is_causal=True); F.dropout(x, 0.5); F.gumbel_softmax(x)
    F.batch_norm(x, x, x); F.grouped_mm(x, x); torch._grouped_mm(bf16, bf16, idx); F.gaussian_nll_loss(x, x, 1.0)
    F.conv2d(x, x); F.layer_norm(x, (8,)); D.Normal(x, x, validate_args=False).log_prob(x); D.Normal(0.0, 1.0)
    D.Normal(x, x, validate_args=False); D.Normal(x, x).rsample(); D.Categorical(logits=x).sample()
    D.Normal(x, x).entropy(); torch.split(x, [2, 2], 1); nn.BatchNorm2d(3)(x)
    nn.BatchNorm2d(3, momentum=None, training=False)(x); nn.Embedding(8, 4, max_norm=1.0)(idx); nn.LSTM(8, 8)(x)
    nn.MultiheadAttention(8, 2)(x, x, x); nn.TransformerEncoder(nn.Identity(), 1)(x)
    nn.TransformerEncoder(nn.Identity(), 1, enable_nested_tensor=False)(x, src_key_padding_mask=mask)
    nn.utils.clip_grad_norm_([x], 1.0); nn.utils.rnn.pack_padded_sequence(x, host); torch.tensor_split(x, host, 1)
    torch.optim.SGD(x).step(); torch.optim.SGD(x, lr=x, fused=True).step(); torch.optim.Adam(x, capturable=True).step()
    torch.optim.RMSprop(x, capturable=True).step(); torch.optim.Muon(x).step(); torch.optim.Adam(x).zero_grad()
    torch.amp.GradScaler().step(torch.optim.Adam(x, fused=True)); torch.amp.GradScaler().update(); copy.deepcopy(x)
    torch.cuda.mem_get_info(); torch.cuda.memory_stats(); torch.cuda.current_stream()
    torch.cuda.is_current_stream_capturing(); torch.distributed.all_reduce(x); torch.stack([x, x]); torch.cat([x, x])
    x.data_ptr(); x.numel(); x.size(0); x.detach()
"""


@pytest.mark.parametrize(
    ("effect", "statement"), [(effect, statement) for effect, text in FAILS.items() for statement in statements(text)]
)
def test_what_breaks_or_freezes_a_capture_has_its_effect(effect: str, statement: str) -> None:
    """Each of these failed to capture, or was frozen or stale at replay, and the catalogue says why."""
    assert effect in effects_of(statement)


@pytest.mark.parametrize("statement", statements(CAPTURES))
def test_what_captures_has_no_effect(statement: str) -> None:
    """Each of these captured without a wait, and the catalogue is silent."""
    assert effects_of(statement) == set()


def test_effects_belong_to_rules() -> None:
    """Every effect in the catalogue is one that a rule reports."""
    rulebook = load_rulebook(builtin_rules())
    effects = {effect.name for name in CATALOGUE for effect in found(name).effects}
    assert [effect for effect in effects if rulebook.for_effect(effect) is None] == []


def test_kinds_and_types_are_known() -> None:
    """Results are of the documented kinds or of a class in the catalogue, and parameters of the documented types."""
    for name in CATALOGUE:
        operation = found(name)
        assert operation.returns in KIND_WORDS.split() or CATALOGUE.is_class(operation.returns), name
        assert {param.type for param in operation.params or ()} <= {"", "number", "int", "size"}, name


def test_conditions_name_known_predicates_and_parameters() -> None:
    """A condition is documented, and speaks of a parameter of its operation or of any argument."""
    for name in CATALOGUE:
        operation = found(name)
        names = {"*", "self", "out", "device"} | {param.name for param in operation.params or ()}
        for condition in [condition for effect in operation.effects for condition in effect.when]:
            assert condition.predicate in PREDICATES, f"{name}: {condition}"
            if condition.predicate != "within":  # speaks of a context manager
                assert condition.argument.partition(".")[0] in names, f"{name}: {condition}"
            assert condition.predicate != "distinct" or condition.value in names, f"{name}: {condition}"


def test_effects_and_aliases_name_operations() -> None:
    """No row of effects and no alias speaks of an operation that the catalogue does not have."""
    assert [name for name in CATALOGUE.effects if not name.endswith(".*") and name not in set(CATALOGUE)] == []
    assert [name for name in CATALOGUE.aliases if "*" not in name and CATALOGUE.find(name) is None] == []
    assert set(CATALOGUE.aliases) & set(CATALOGUE) == set()


def test_rows_stand_in_order_and_once() -> None:
    """Names are sorted within their block, and none stands twice, so that two edits meet only where they touch."""
    blocks = re.findall(r"(?s)'''\n(.*?)'''", PAGE.read_text(encoding="utf-8"))
    names = [[line.partition("(")[0] for line in block.splitlines()] for block in blocks]
    assert names == [sorted(block) for block in names]
    assert sum(map(len, names)) == len(list(CATALOGUE))


@pytest.mark.parametrize(
    ("name", "same"),
    [
        pytest.param("torch.nn.modules.linear.Linear", "torch.nn.Linear", id="where the class is defined"),
        pytest.param("torch.optim.adam.Adam.step", "torch.optim.Adam.step", id="a method where the class is defined"),
        pytest.param("torch.cuda.streams.Event.query", "torch.cuda.Event.query", id="an event"),
        pytest.param("torch.ops.aten.nonzero.default", "torch.nonzero", id="an overload"),
        pytest.param("torch.cuda.amp.GradScaler.step", "torch.amp.GradScaler.step", id="a method of an alias"),
        pytest.param("torch.optim.AdamW.zero_grad", "torch.optim.Optimizer.zero_grad", id="a method of the base class"),
        pytest.param("torch.inverse", "torch.linalg.inv", id="another name"),
    ],
)
def test_an_operation_has_several_names(name: str, same: str) -> None:
    """An alias, a defining module and a base class lead to the same row."""
    assert found(name) is found(same)


def test_a_function_serves_as_a_method() -> None:
    """A method without a row of its own is the function with the receiver in front, in its conditions as well."""
    method = found("torch.Tensor.masked_fill")
    assert [param.name for param in method.params or ()] == ["self", "mask", "value"]
    spread = found("torch.Tensor.repeat_interleave").effects[1].when
    assert [condition.argument for condition in spread] == ["self", "repeats", "output_size"]


def test_an_operation_in_place_returns_its_first_argument() -> None:
    """A trailing underscore means the same operation, written into the tensor itself."""
    assert found("torch.Tensor.add_").returns == found("torch.nn.functional.relu_").returns == "self"
    assert CATALOGUE.find("torch.Tensor.no_such_operation_") is None


def test_an_unknown_name_is_not_found() -> None:
    """What the catalogue does not have, it says nothing about."""
    assert CATALOGUE.find("torch.no_such_operation") is None
    assert CATALOGUE.find("torch.nn.Linear.no_such_method") is None
    assert CATALOGUE.call("torch.nn.ModuleList") is None


def test_calling_an_instance_is_its_forward() -> None:
    """A module of torch is called through `forward`."""
    assert CATALOGUE.call("torch.nn.LSTM") is found("torch.nn.LSTM.forward")
    assert found("torch.nn.LSTM").returns == "torch.nn.LSTM"
    assert CATALOGUE.is_class("torch.nn.LSTM") and not CATALOGUE.is_class("torch.abs")


def test_attributes_are_told_from_methods() -> None:
    """`shape` is read, `size` is called."""
    assert found("torch.Tensor.shape").attribute and found("torch.distributions.Normal.mean").attribute
    assert not found("torch.Tensor.size").attribute


def test_arguments_find_their_parameters() -> None:
    """Positions, keywords, repeated parameters and NumPy's spellings are told apart; the rest keeps its place."""
    assert found("torch.Tensor.sum").bind(["x", 1], {}) == {"self": ("x",), "dim": (1,)}
    assert found("torch.Tensor.sum").bind(["x"], {"axis": 1, "out": "y"}) == {
        "self": ("x",),
        "dim": (1,),
        "out": ("y",),
    }
    assert found("torch.Tensor.view").bind(["x", 2, 3], {}) == {"self": ("x",), "shape": (2, 3)}
    assert found("torch.zeros").bind([], {"size": 3}) == {"size": (3,)}
    assert found("torch.cuda.synchronize").bind(["a", "b"], {}) == {"device": ("a",), "1": ("b",)}


def test_a_broken_catalogue_is_a_usage_error(tmp_path: Path) -> None:
    """A file that is no TOML is named, not traced."""
    page = tmp_path / "operations.toml"
    page.write_text("[operations\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"operations\.toml"):
        load_catalogue(page)


def test_catalogue_is_broad() -> None:
    """Operators, modules, optimizers, collectives and distributions are all there."""
    assert len(list(CATALOGUE)) > 1500
    assert all(CATALOGUE.call(f"torch.nn.{name}") for name in ("Linear", "Conv2d", "LayerNorm", "Embedding", "GELU"))
