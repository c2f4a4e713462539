"""Every kind of result and every predicate that the catalogue may use is one that the static half knows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from analysis import CAPTURE, analyse

from graphlint.finding import Confidence
from graphlint.rulebook import builtin_rules
from graphlint.rulebook.catalogue import load_catalogue
from graphlint.rulebook.effects import Condition
from graphlint.rulebook.lexicon import load_lexicon
from graphlint.rulebook.signatures import Operation
from graphlint.static.models.results import RESULTS, Application, result
from graphlint.values import UNKNOWN, Const, DeviceName, ExternalObject, Place, Sequence, Tensor, Value, members
from graphlint.values.predicates import TESTS, Facts

CATALOGUE = load_catalogue(builtin_rules() / "operations.toml")
LEXICON = load_lexicon(builtin_rules() / "lexicon.toml")
DEVICE = Tensor(Place.DEVICE, 2, "float32", Confidence.HIGH)
INDEX, MASK = (Tensor(Place.DEVICE, 1, dtype, Confidence.HIGH) for dtype in ("int64", "bool"))
SPECIAL = {"within", "outside", "distinct", "same"}  # speak of the call or of two arguments


def documented(text: str | None, first_word: str) -> set[str]:
    """The words in the left column of a docstring's table that begins with a word."""
    table = (text or "")[(text or "").index(f"    {first_word}") :]
    return set(re.findall(r"[a-z]+(?:-[a-z]+)*", " ".join(re.findall(r"(?m)^    ([a-z].*?)(?: {2,}|$)", table))))


def test_every_documented_kind_has_a_result() -> None:
    """The table in `Operation` and the functions in `results` name the same kinds."""
    kinds = documented(Operation.__doc__, "tensor  ")
    kinds |= {word for word in re.findall(r"[a-z]+(?:-[a-z]+)+", Operation.__doc__ or "") if word in RESULTS}
    assert kinds == set(RESULTS)


def test_every_documented_predicate_has_a_test() -> None:
    """The table in `Condition` and the tests in `predicates` name the same predicates."""
    assert documented(Condition.__doc__, "absent, given") == set(TESTS) | SPECIAL


def made(name: str, *positional: Value, **keywords: Value) -> Value:
    operation = CATALOGUE.find(name)
    assert operation is not None
    receiver = positional[0] if name.startswith("torch.Tensor.") else None
    facts = Facts(operation.bind(positional, keywords))
    return result(Application(operation, facts, LEXICON, receiver, in_region=True, is_view=False))


@pytest.mark.parametrize(
    ("value", "place", "ndim", "dtype"),
    [
        pytest.param(made("torch.zeros", Const(4)), Place.HOST, 1, "float32", id="a factory without a device"),
        pytest.param(
            made("torch.zeros", Const(4), device=DeviceName(Place.DEVICE)), Place.DEVICE, 1, "float32", id="with one"
        ),
        pytest.param(made("torch.as_tensor", DEVICE), Place.DEVICE, 2, "float32", id="a factory given a tensor"),
        pytest.param(
            made("torch.tensor", Sequence("list", (Const(True),))), Place.HOST, 1, "bool", id="a literal mask"
        ),
        pytest.param(made("torch.cuda.FloatTensor", Const(4)), Place.DEVICE, None, None, id="a tensor on the device"),
        pytest.param(made("torch.nonzero", DEVICE), Place.DEVICE, None, "int64", id="positions are integers"),
        pytest.param(made("torch.Tensor.max", DEVICE), Place.DEVICE, 0, "float32", id="the extremum of all"),
        pytest.param(made("torch.unique", DEVICE), Place.DEVICE, 1, "float32", id="distinct values alone"),
        pytest.param(made("torch.Tensor.sum", DEVICE, Const(1)), Place.DEVICE, 1, None, id="one dimension less"),
        pytest.param(
            made("torch.clamp", INDEX, Const(0)), Place.DEVICE, 1, "int64", id="integers beside a whole number"
        ),
        pytest.param(
            made("torch.clamp", INDEX, Const(0.5)), Place.DEVICE, 1, None, id="integers beside another number"
        ),
        pytest.param(made("torch.add", INDEX, DEVICE), Place.DEVICE, 2, None, id="tensors of two dtypes"),
        pytest.param(made("torch.add", MASK, Const(1)), Place.DEVICE, 1, None, id="a mask beside a number"),
        pytest.param(made("torch.bitwise_and", MASK, MASK), Place.DEVICE, 1, "bool", id="masks that meet"),
        pytest.param(made("torch.where", MASK, INDEX, Const(7)), Place.DEVICE, 1, "int64", id="one of two by a mask"),
        pytest.param(
            made("torch.where", MASK, INDEX, UNKNOWN), Place.DEVICE, None, None, id="one of which is not known"
        ),
    ],
)
def test_a_result_has_place_rank_and_dtype(value: Value, place: Place, ndim: int | None, dtype: str | None) -> None:
    """What the kind of result says, applied to arguments that are known."""
    assert isinstance(value, Tensor)
    assert (place, ndim, dtype) == (value.place, value.ndim, value.dtype)


@pytest.mark.parametrize(
    ("value", "dtypes"),
    [
        pytest.param(made("torch.Tensor.max", DEVICE, Const(1)), ["float32", "int64"], id="max along a dimension"),
        pytest.param(made("torch.max", DEVICE, dim=Const(1)), ["float32", "int64"], id="the dimension by keyword"),
        pytest.param(
            made("torch.unique", DEVICE, return_counts=Const(True)), ["float32", "int64"], id="values and counts"
        ),
    ],
)
def test_some_results_are_tuples(value: Value, dtypes: list[str]) -> None:
    """Values and positions, or values and counts."""
    assert isinstance(value, Sequence) and value.elements is not None
    assert dtypes == [m.dtype for element in value.elements for m in members(element) if isinstance(m, Tensor)]


@pytest.mark.parametrize(
    ("read", "codes"),
    [
        ("torch.sort(x).indices.cpu()", ["GL201"]),
        ("rows.topk(5).values.tolist()", ["GL101"]),
        ("torch.max(x, 1).indices.item()", ["GL101"]),
        ("torch.cummax(x, 0).values.sum()", []),
        ("torch.sort(x).count(x)", []),
    ],
)
def test_several_results_have_names(tmp_path: Path, read: str, codes: list[str]) -> None:
    """Beside their positions; a tuple has methods of its own."""
    analysis = analyse(tmp_path, CAPTURE.format(around="", body=f"    rows = x.float()\n    {read}"))
    assert [code for _, _, code in analysis.shown] == codes


def test_within_asks_for_a_context_manager_in_force() -> None:
    """A condition on the surroundings of the call holds inside the `with` alone."""
    condition = Condition("within", "torch.autograd.detect_anomaly")
    inside = Facts({}, {}, frozenset({ExternalObject("torch.autograd.detect_anomaly")}))
    assert inside.holds(condition) is Confidence.HIGH
    assert Facts({}).holds(condition) is None
    outside = Condition("outside", "torch.autograd.detect_anomaly")
    assert inside.holds(outside) is None
    assert Facts({}).holds(outside) is Confidence.HIGH


def test_one_name_given_twice_is_one_object() -> None:
    """`torch.equal(x, x)` compares a tensor with itself."""
    bound: dict[str, tuple[Value, ...]] = {"input": (DEVICE,), "other": (DEVICE,)}
    condition = Condition("distinct", "input", "other")
    assert Facts(bound, {"input": ("x",), "other": ("x",)}).holds(condition) is None
    assert Facts(bound, {"input": ("x",), "other": ("y",)}).holds(condition) is Confidence.HIGH


@pytest.mark.parametrize(
    ("given", "is_told"),
    [("getattr(holder, 'sizes', [])", False), ("getattr(holder, 'sizes', ())", False), ("holder.sizes", True)],
)
def test_what_has_a_list_for_a_default_is_a_list(tmp_path: Path, given: str, is_told: bool) -> None:
    """Whatever a function says that it takes; what nobody knows is a tensor where that is promised."""
    text = f"""
        import torch
        def split(x, sizes: torch.IntTensor):
            at = 0
            for size in sizes:
                x.narrow(0, at, size)
                at += 1
        def step(x: torch.Tensor, holder):
            split(x, {given})
            for one in getattr(holder, "parts", []):
                x.item()
    """
    codes = [code for _, _, code in analyse(tmp_path, text, regions=("main:step",)).shown]
    assert ("GL304" in codes) is is_told and "GL101" in codes


@pytest.mark.parametrize(
    "made",
    [
        "torch.arange(n)",
        "torch.arange(n).reshape(n, 2)",
        "torch.arange(n).view(n, -1)",
        "torch.nn.functional.pad(torch.arange(n), (0, n))",
    ],
)
def test_a_size_of_the_device_says_nothing_of_where_a_result_lies(tmp_path: Path, made: str) -> None:
    """It is read on the host, where the tensor is made, and a mask of that is counted there."""
    body = f"    n = x.long().sum()\n    rows = {made}\n    rows[rows != 1]\n    rows.to(x.device)"
    found = [(line, code) for _, line, code in analyse(tmp_path, CAPTURE.format(around="", body=body)).found]
    assert {code for line, code in found if line == 8} == set() and (9, "GL202") in found
