"""How far a replay is from eager, judged by how far eager is from itself."""

from __future__ import annotations

import itertools
import math
from collections import namedtuple
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from graphlint.runtime.compare.comparison import (  # noqa: E402
    FEW_ULPS,
    Difference,
    differing,
    distance,
    leaves,
    noise_floor,
    same,
)

Pair = namedtuple("Pair", ["first", "second"])
FLOATS = [
    torch.float64,
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.float8_e4m3fn,
    torch.float8_e5m2,
    torch.complex64,
    torch.complex128,
]
INTEGERS = [torch.int64, torch.int8, torch.uint8, torch.uint16, torch.uint64]


class Kind(Enum):
    ONE = 1
    OTHER = 2


@dataclass
class Output:
    logits: torch.Tensor
    count: int = 3


class Cache:
    """An object as libraries give them: tensors in its attributes."""

    __slots__ = ("__dict__", "length")

    def __init__(self, keys: torch.Tensor) -> None:
        self.keys = keys
        self.length = 2


def only(differences: list[Difference]) -> Difference:
    (difference,) = differences
    return difference


def test_every_leaf_has_the_path_that_a_reader_would_write() -> None:
    """Dictionaries, sequences, named tuples, dataclasses and plain objects are looked into."""
    x = torch.ones(2)
    tree = {"a": [x, 1], 2: Pair(x, "text"), "out": Output(x), "cache": Cache(x), "empty": ()}
    paths = [path for path, _ in leaves(tree, "output")]
    assert [
        "output['a'][0]",
        "output['a'][1]",
        "output[2].first",
        "output[2].second",
        "output['out'].logits",
        "output['out'].count",
        "output['cache'].length",
        "output['cache'].keys",
        "output['empty']",
    ] == paths
    assert [("", x)] == leaves(x)


def test_a_cycle_ends() -> None:
    """A container in itself is left out, and so is an object that refers to itself."""
    row: list[Any] = [1]
    row.append(row)
    cache = Cache(torch.ones(1))
    cache.owner = cache
    assert [("[0]", 1)] == leaves(row)
    assert [".length", ".keys"] == [path for path, _ in leaves(cache)]


def test_objects_that_all_refer_to_each_other_are_looked_into_once() -> None:
    """The number of paths between them would be without bound."""
    caches = [Cache(torch.ones(1)) for _ in range(30)]
    for cache in caches:
        cache.others = caches
    assert 60 == len(leaves(caches[0]))


def test_the_same_list_twice_is_there_twice() -> None:
    """Sharing is no cycle: otherwise a copy without the sharing would look different."""
    for shared in ([1], {0: 1}, (1,)):
        assert [("[0][0]", 1), ("[1][0]", 1)] == leaves([shared, shared])


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS, ids=str)
def test_a_distance_is_measured_in_every_dtype(dtype: torch.dtype) -> None:
    """Two instead of four, in the second row: two, half of the larger, and the place of it."""
    expected = torch.tensor([[1.0, 2.0], [4.0, 0.0]]).to(dtype)
    found = torch.tensor([[1.0, 2.0], [2.0, 0.0]]).to(dtype)
    apart = distance(found, expected)
    assert (2.0, 0.5, (1, 0)) == (apart.absolute, apart.relative, apart.index)
    assert 0.0 == distance(expected.clone(), expected).absolute
    assert math.isinf(apart.ulps) == (dtype in INTEGERS)


def test_a_unit_in_the_last_place_is_one_of_the_largest_value() -> None:
    """Between 4 and 8 the numbers of bfloat16 lie 1/32 apart."""
    expected = torch.tensor([5.0, 0.5], dtype=torch.bfloat16)
    assert 1.0 == distance(expected + torch.tensor([1 / 32, 0]).bfloat16(), expected).ulps


def test_booleans_and_large_integers_are_exact() -> None:
    """float64, in which distances are given, could not tell the last two apart."""
    assert 1.0 == distance(torch.tensor([True]), torch.tensor([False])).absolute
    assert 1.0 == distance(torch.tensor([2**62 + 1]), torch.tensor([2**62])).absolute


def test_nan_and_infinity_agree_by_their_places() -> None:
    """In the same place they are equal; another place or sign is infinitely far."""
    values = torch.tensor([math.nan, math.inf, -math.inf, 1.0])
    assert 0.0 == distance(values.clone(), values).absolute
    for place, wrong in [(0, 1.0), (1, -math.inf), (2, 0.0), (3, math.nan)]:
        found = values.clone()
        found[place] = wrong
        assert (math.inf, (place,)) == (distance(found, values).absolute, distance(found, values).index)


def test_the_sign_of_zero_is_no_difference() -> None:
    """Eager and replay may reach zero from either side."""
    assert [] == differing(torch.tensor([-0.0]), torch.tensor([0.0]), {})


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(torch.ones(2), torch.ones(2, 1), id="shape"),
        pytest.param(torch.ones(2), torch.ones(2, dtype=torch.float64), id="dtype"),
    ],
)
def test_another_shape_or_dtype_is_infinitely_far(found: torch.Tensor, expected: torch.Tensor) -> None:
    """It is a difference in structure, and the text says which."""
    assert math.inf == distance(found, expected).absolute
    difference = only(differing(found, expected, {}))
    assert "structure" == difference.kind
    assert difference.is_mismatch
    assert difference.found != difference.expected


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
@pytest.mark.parametrize("kind", ["sparse", "transposed", "conjugate", "empty", "quantized", "with gradient"])
def test_a_tensor_of_any_layout_is_compared(kind: str) -> None:
    """Equal to a copy of itself, and not to something else."""
    x = torch.arange(1.0, 7.0).reshape(2, 3)
    made = {
        "sparse": lambda x: x.to_sparse(),
        "transposed": lambda x: x.t(),
        "conjugate": lambda x: torch.complex(x, x).conj(),
        "empty": lambda x: x[:0],
        "quantized": lambda x: torch.quantize_per_tensor(x, 0.5, 0, torch.qint8),
        "with gradient": lambda x: x.clone().requires_grad_(),
    }[kind]
    assert 0.0 == distance(made(x), made(x.clone())).absolute
    assert (0.0 if kind == "empty" else 1.0) == distance(made(x + 1), made(x)).absolute


@pytest.mark.parametrize("steps", [*itertools.permutations((0.0, 0.5, -0.25))], ids=str)
def test_the_floor_is_what_eager_differs_from_itself(steps: tuple[float, ...]) -> None:
    """The largest difference between any two runs, for each leaf, whichever two they are."""
    runs = [{"a": torch.tensor([1.0, 2.0 + step]), "b": torch.ones(1), "c": 1} for step in steps]
    assert {"output['a']": 0.75, "output['b']": 0.0} == noise_floor(runs)


@pytest.mark.parametrize(("gap", "accepted"), [(0.5, True), (1.0, True), (1.0625, False)])
def test_ten_times_the_floor_is_accepted(gap: float, accepted: bool) -> None:
    """What lies beyond is a mismatch, with its distance and floor."""
    differences = differing(torch.tensor([8.0 + gap]), torch.tensor([8.0]), {"output": 0.1})
    assert accepted == (not differences)
    if not accepted:
        assert (0.1, gap, (0,)) == (
            only(differences).floor,
            only(differences).distance.absolute,
            only(differences).distance.index,
        )
        assert only(differences).is_mismatch


def test_without_noise_a_few_ulps_are_noted_and_no_mismatch() -> None:
    """Another algorithm adds in another order; further away is a mismatch."""
    expected = torch.tensor([1.0, 0.25, math.inf])
    for ulps, noted in [(FEW_ULPS, True), (FEW_ULPS + 1, False)]:
        difference = only(differing(expected + torch.tensor([0, ulps * 2.0**-23, 0]), expected, {"output": 0.0}))
        assert noted == ("another algorithm was chosen" == difference.note)
        assert noted == (not difference.is_mismatch)


def test_a_narrow_type_is_rounded_once() -> None:
    """Four ulps of an 8-bit float would be half of the value."""
    expected = torch.tensor([4.0]).to(torch.float8_e5m2)
    assert only(differing(torch.tensor([2.0]).to(torch.float8_e5m2), expected, {})).is_mismatch
    assert not only(differing(torch.tensor([5.0]).to(torch.float8_e5m2), expected, {})).is_mismatch


def test_integers_have_no_ulps() -> None:
    """Off by one is off."""
    assert only(differing(torch.tensor([2**40 + 1]), torch.tensor([2**40]), {})).is_mismatch


def test_where_eager_has_no_bound_nothing_is_held_against_replay() -> None:
    """NaN in some eager runs and not in others: the difference is noted."""
    runs = [torch.tensor([1.0]), torch.tensor([math.nan])]
    difference = only(differing(torch.tensor([2.0]), runs[0], noise_floor(runs)))
    assert "eager differs from itself here" == difference.note


def test_a_host_value_that_differs_is_its_own_kind() -> None:
    """A number is frozen at capture; a floor does not excuse it."""
    difference = only(differing({"loss": 0.5, "n": 1}, {"loss": 0.25, "n": 1}, {"output['loss']": 9.0}))
    assert ("output['loss']", "host", "0.5", "0.25") == (
        difference.path,
        difference.kind,
        difference.found,
        difference.expected,
    )
    assert difference.is_mismatch


@pytest.mark.parametrize(
    ("found", "expected"),
    [([1], [1, 2]), ({"a": 1}, {"b": 1}), (1.0, torch.tensor(1.0)), ([torch.ones(1)], [None]), ([], [torch.ones(1)])],
)
def test_another_structure_is_a_difference(found: object, expected: object) -> None:
    """A leaf that is missing, or is a tensor on one side only."""
    assert {"structure"} == {difference.kind for difference in differing(found, expected, {})}


def test_differences_come_in_the_order_of_the_tree() -> None:
    """Whatever their kinds are."""
    expected = [torch.ones(1), 1, torch.ones(1)]
    found = [torch.zeros(1), 2, torch.zeros(1)]
    assert ["[0]", "[1]", "[2]"] == [difference.path for difference in differing(found, expected, {}, name="")]


@pytest.mark.parametrize(
    ("found", "expected", "equal"),
    [
        (math.nan, math.nan, True),
        (1, 1.0, True),
        (None, 0, False),
        (Kind.ONE, Kind.ONE, True),
        (Kind.ONE, Kind.OTHER, False),
        ("a", "b", False),
        (torch.float32, torch.float16, False),
        (object(), object(), True),
        (object(), "text", False),
        (torch.Generator(), torch.Generator(), True),
        (memoryview(b"four"), memoryview(b"four"), True),
        (memoryview(b"four"), memoryview(b"four").cast("B", (2, 2)), False),
    ],
)
def test_host_values_are_compared_by_equality(found: object, expected: object, equal: bool) -> None:
    """NaN equals itself, and objects that do not say what equality is are not judged."""
    assert equal == same(found, expected)


def test_arrays_of_the_host_are_compared_by_content() -> None:
    """An array that is equal to its copy is no difference; one of another shape is, though it holds the same."""
    numpy = pytest.importorskip("numpy")
    array = numpy.array([1.0, numpy.nan])
    assert same(array, array.copy())
    assert not same(array, array + 1)
    assert not same(array, array[:1])
    assert not same(array, array.reshape(2, 1))
