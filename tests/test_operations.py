"""The catalogue of operations: names lead to rows, arguments to parameters, and the rows hold together."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from graphlint.catalogue import load_catalogue
from graphlint.errors import UsageError
from graphlint.operations import Condition, Operation
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


def found(name: str) -> Operation:
    operation = CATALOGUE.find(name)
    assert operation is not None, name
    return operation


def test_effects_belong_to_rules() -> None:
    """Every effect in the catalogue is one that a rule reports."""
    rulebook = load_rulebook(builtin_rules())
    effects = {effect.name for name in CATALOGUE for effect in found(name).effects}
    assert [effect for effect in effects if rulebook.for_effect(effect).slug != effect] == []


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
            if condition.predicate not in ("within", "outside"):  # they speak of a context manager
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
    with pytest.raises(UsageError, match=r"operations\.toml:1: not valid TOML"):
        load_catalogue(page)


def test_catalogue_is_broad() -> None:
    """Operators, modules, optimizers, collectives and distributions are all there."""
    assert len(list(CATALOGUE)) > 1500
    assert all(CATALOGUE.call(f"torch.nn.{name}") for name in ("Linear", "Conv2d", "LayerNorm", "Embedding", "GELU"))
