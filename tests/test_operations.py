"""The catalogue of operations: names lead to rows, arguments to parameters, and the rows hold together."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from graphlint.errors import UsageError
from graphlint.rulebook import builtin_rules, load_rulebook, schema
from graphlint.rulebook.catalogue import load_catalogue
from graphlint.rulebook.effects import PREDICATES as ACCEPTED
from graphlint.rulebook.effects import Condition
from graphlint.rulebook.signatures import Operation

PAGE = builtin_rules() / "operations.toml"
CATALOGUE = load_catalogue(PAGE)
KIND_WORDS = """
    tensor elementwise promoted same-shape embedded copy bool-tensor int-tensor indices scalar-tensor reduction
    bool-reduction int-reduction extremum where unique loss factory like moved self host-tensor device-tensor
    host-array tensors pair triple quad
    int float bool number str list groups states shape device dtype none object
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


def test_words_are_explained() -> None:
    """What a table may say is what the documentation of the catalogue explains."""
    assert PREDICATES == schema.PREDICATES
    assert {*KIND_WORDS.split(), "instance"} == schema.RETURNS


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


@pytest.mark.parametrize("name", ["cat", "stack", "block_diag"])
def test_what_takes_a_list_of_tensors_is_no_method(name: str) -> None:
    assert found(f"torch.{name}").returns == "tensor"
    assert CATALOGUE.find(f"torch.Tensor.{name}") is None


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


def test_the_predicates_that_are_accepted_are_those_that_are_documented() -> None:
    """A row that says anything else is refused."""
    assert ACCEPTED == PREDICATES


def test_every_built_in_row_says_how_it_is_known() -> None:
    """By a proof, or by what else is assumed."""
    data = tomllib.loads(PAGE.read_text("utf-8"))
    rows = [(name, row) for part in ("effects", "operators") for name, own in data[part].items() for row in own]
    told = [(name, row) for name, row in rows if isinstance(row, dict)]
    assert len(told) > 400
    assert [] == [name for name, row in told if not {"proof", "assumed"} & row.keys()]


@pytest.mark.parametrize(
    ("operator", "same"),
    [
        pytest.param("aten.index_fill_.int_Tensor", "torch.index_fill", id="an overload, in place"),
        pytest.param("aten.linalg_eigh.default", "torch.linalg.eigh", id="of a namespace of torch"),
        pytest.param("aten.bernoulli_.Tensor", "torch.Tensor.bernoulli_", id="a method alone"),
        pytest.param("aten._unique2.default", "torch.unique", id="under another name"),
        pytest.param("torchvision.nms.default", "torchvision.ops.nms", id="of another library"),
    ],
)
def test_an_operator_does_what_its_function_does(operator: str, same: str) -> None:
    """The effects stand once, at the function."""
    assert [one.name for one in found(f"torch.ops.{operator}").told] == [one.name for one in found(same).told] != []


def test_an_operator_that_is_no_function_has_its_own_row() -> None:
    """For all of its overloads, or for one; what it gives is what the function of its name gives."""
    assert ["hidden-sync"] == [one.name for one in found("torch.ops.aten._linalg_svd.default").told]
    assert found("torch.ops.aten.add.Tensor").told and not found("torch.ops.aten.add.Scalar").told
    assert "promoted" == found("torch.ops.aten.add.Tensor").returns
    assert CATALOGUE.find("torch.ops.aten.no_such_operator.default") is None


def test_what_operators_do_the_same_as_is_there() -> None:
    """No row speaks of an operation that the catalogue does not have."""
    names = [given for given in CATALOGUE.operators.values() if isinstance(given, str)]
    assert names and [name for name in names if CATALOGUE.find(name) is None] == []


def test_catalogue_is_broad() -> None:
    """Operators, modules, optimizers, collectives and distributions are all there."""
    assert len(list(CATALOGUE)) > 1500
    assert all(CATALOGUE.call(f"torch.nn.{name}") for name in ("Linear", "Conv2d", "LayerNorm", "Embedding", "GELU"))
