"""Fresh inputs are other inputs of the same kind."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from graphlint.runtime.examine.fresh_inputs import (  # noqa: E402
    LEVELS,
    NEW_VALUES,
    OTHER_ORDER,
    SAME_VALUES,
    TRAITS,
    fresh,
    trait_of,
)

DICE = torch.Generator().manual_seed(0)


def rand(*shape: int) -> torch.Tensor:
    return torch.rand(shape, generator=DICE)


def integers(high: int, *shape: int) -> torch.Tensor:
    return torch.randint(0, high, shape, generator=DICE)


def rows(x: torch.Tensor) -> list[Any]:
    return x.tolist() if x.dim() else [x.item()]


def is_sorted(x: torch.Tensor) -> bool:
    return bool((x.long().diff() >= 0).all())


# name -> an example, and what new values of it have to fulfil besides dtype, shape and range
EXAMPLES: dict[str, tuple[torch.Tensor, Callable[[torch.Tensor, torch.Tensor], bool]]] = {
    "empty": (torch.empty(0, 3), torch.equal),
    "flag": (torch.tensor(3.0), torch.equal),
    "constant": (torch.full((2, 3), 0.5), torch.equal),
    "complex": (torch.complex(rand(3, 4), rand(3, 4)), lambda old, new: not torch.equal(old, new)),
    "mask of infinities": (torch.full((4, 4), -torch.inf).triu(1), torch.equal),
    "triangular": (torch.ones(1, 1, 4, 6).tril(2).bool(), torch.equal),
    "range": (torch.arange(6).expand(2, 6), torch.equal),
    "permutation": (
        torch.randperm(12, generator=DICE),
        lambda old, new: new.sort().values.tolist() == list(range(12)) and not torch.equal(old, new),
    ),
    "one-hot rows": (
        torch.eye(9)[[1, 2, 0, 0, 8]],
        lambda old, new: bool((new.sum(-1) == 1).all()) and set(new.unique().tolist()) == {0.0, 1.0},
    ),
    "prefixes": (
        torch.tensor([[1, 1, 1, 0, 0], [1, 0, 0, 0, 0], [1, 1, 1, 1, 1]]),
        lambda old, new: sorted(new.sum(-1).tolist()) == [1, 3, 5] and bool((new.diff() <= 0).all()),
    ),
    "two values": (
        rand(4, 16) > 0.5,
        lambda old, new: torch.equal(old.sum(-1), new.sum(-1)) and not torch.equal(old, new),
    ),
    "sorted rows": (
        torch.tensor([0, 3, 10, 11, 20, 60, 61], dtype=torch.int32),
        lambda old, new: (
            is_sorted(new)
            and (new[0], new[-1], new.diff().max()) == (old[0], old[-1], old.diff().max())
            and not torch.equal(old, new)
        ),
    ),
    "rows that sum to one": (
        rand(3, 7).softmax(-1),
        lambda old, new: torch.allclose(new.sum(-1), torch.ones(3)) and not torch.equal(old, new),
    ),
    "list of integers": (
        torch.tensor([7, 3, 9, 1, 3, 3, 8]),
        lambda old, new: torch.equal(old.sort().values, new.sort().values) and not torch.equal(old, new),
    ),
    "integers": (
        torch.tensor([[-100, 4, 3], [5, -100, 5], [9, 9, 0]]).repeat(1, 4),
        lambda old, new: torch.equal(old < 0, new < 0) and not torch.equal(old, new),
    ),
    "whole numbers": (
        integers(255, 3, 5).float(),
        lambda old, new: torch.equal(new, new.round()) and not torch.equal(old, new),
    ),
    "numbers": (rand(3, 5).relu() - 0.5, lambda old, new: not torch.equal(old, new)),
}


@dataclass
class Batch:
    ids: torch.Tensor
    longest: int


def test_every_trait_has_an_example() -> None:
    """The table and the examples name the same."""
    assert [trait.name for trait in TRAITS] == list(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_trait_is_told_and_kept(name: str) -> None:
    """New values have the trait, the range and the sign of the old ones, and differ where they may."""
    example, holds = EXAMPLES[name]
    assert name == trait_of(example).name
    for seed in range(5):
        made = fresh(example, NEW_VALUES, seed)
        assert (example.dtype, example.shape, example.stride()) == (made.dtype, made.shape, made.stride())
        assert holds(example, made), made
        if example.numel() and not example.is_complex():
            assert example.min() <= made.min()
            assert made.max() <= example.max()


@pytest.mark.parametrize("name", EXAMPLES)
def test_level_0_has_the_same_values_elsewhere(name: str) -> None:
    """Only the address tells it from the example."""
    example, _ = EXAMPLES[name]
    made = fresh(example, SAME_VALUES, 0)
    assert torch.equal(example, made)
    assert example.stride() == made.stride()
    assert not example.numel() or example.data_ptr() != made.data_ptr()


@pytest.mark.parametrize("name", EXAMPLES)
def test_level_1_permutes_rows_where_the_trait_allows(name: str) -> None:
    """The rows are the same ones; what has an order keeps it."""
    example, _ = EXAMPLES[name]
    made = fresh(example, OTHER_ORDER, 0)
    assert sorted(map(str, rows(example))) == sorted(map(str, rows(made)))
    ordered = {"empty", "flag", "constant", "mask of infinities", "triangular", "range", "sorted rows"}
    assert (name in ordered) == torch.equal(example, made)


def test_rows_that_belong_together_stay_together() -> None:
    """Inputs of one batch size are permuted alike."""
    x = rand(6, 3)
    example = {"x": x, "twice": 2 * x, "mask": x > 0.5}
    made = fresh(example, OTHER_ORDER, 3)
    assert not torch.equal(x, made["x"])
    assert torch.equal(2 * made["x"], made["twice"])
    assert torch.equal(made["x"] > 0.5, made["mask"])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    "dtype",
    [
        torch.float64,
        torch.float16,
        torch.bfloat16,
        torch.float8_e4m3fn,
        torch.int8,
        torch.uint8,
        torch.uint16,
        torch.uint64,
        torch.bool,
        torch.complex128,
    ],
    ids=str,
)
def test_every_dtype_is_made(dtype: torch.dtype, level: int) -> None:
    """With its own strides, in range."""
    example = torch.tensor([[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 3.0, 0.5], [1.0, 0.0, 2.0, 0.0]]).to(dtype).t()
    made = fresh(example, level, 0)
    assert (dtype, example.shape, example.stride()) == (made.dtype, made.shape, made.stride())
    assert level == SAME_VALUES or made.tolist() != example.tolist()


def test_unsigned_offsets_stay_sorted() -> None:
    """The difference of unsigned numbers wraps around, that of their values does not."""
    example = torch.tensor([0, 3, 10, 11, 20, 60], dtype=torch.uint8)
    assert "sorted rows" == trait_of(example).name
    assert "list of integers" == trait_of(example.flip(0)[[1, 0, 2, 4, 3, 5]]).name
    assert is_sorted(fresh(example, NEW_VALUES, 1))


@pytest.mark.parametrize(
    ("example", "name"),
    [
        pytest.param(torch.tensor([0, 10]), "sorted rows", id="offsets of one sequence"),
        pytest.param(torch.arange(0, 40, 8), "range", id="offsets of equal sequences"),
        pytest.param(torch.linspace(0, 1, 9), "range", id="linspace"),
        pytest.param(torch.linspace(1, 0, 9) ** 2, "sorted rows", id="falling"),
        pytest.param(torch.tensor([[5, 6, 0], [7, 8, 9]]), "list of integers", id="padded tokens are no triangle"),
        pytest.param(torch.tensor([[-100, 4, 5], [-100, -100, 5]]), "integers", id="labels are no offsets"),
        pytest.param(torch.full((3, 3), torch.finfo(torch.float16).min).half().triu(1), "mask of infinities", id="min"),
        pytest.param(torch.full((3, 3), -1e9).triu(1), "triangular", id="large negative numbers"),
        pytest.param(torch.tensor([0.75, 0.25]).half(), "rows that sum to one", id="half"),
        pytest.param(torch.tensor([0.7, 0.2]), "numbers", id="two numbers"),
        pytest.param(torch.tensor([False, False, True, True]), "prefixes", id="one prefix"),
    ],
)
def test_what_looks_alike_is_told_apart(example: torch.Tensor, name: str) -> None:
    """The first trait of the table decides."""
    assert name == trait_of(example).name


def test_negative_integers_stay_where_they_are() -> None:
    """A label between -100 and 0 would be none at all."""
    example = torch.tensor([[-100, 4, 5], [-100, 7, 5]]).repeat(4, 1)
    made = fresh(example, NEW_VALUES, 0)
    assert {-100} == set(made[example < 0].tolist())
    assert 4 <= made[example >= 0].min()


def test_zeros_stay_where_they_are() -> None:
    """They pad."""
    example = rand(4, 6) * (torch.arange(6) < 4)
    assert torch.equal(example == 0, fresh(example, NEW_VALUES, 0) == 0)


@pytest.mark.parametrize("level", LEVELS)
def test_tensors_that_share_memory_go_on_sharing_it(level: int) -> None:
    """A view stays a view, of the fresh tensor."""
    whole = rand(4, 12)
    query = whole.chunk(3, 1)[0]
    made = fresh({"query": query, "whole": whole, "again": whole, "other": rand(4)}, level, 0)
    assert made["again"] is made["whole"]
    assert torch.equal(made["whole"][:, :4], made["query"])
    made["whole"].zero_()
    assert not made["query"].any()
    assert made["other"].any()
    assert whole.any()


def test_a_part_of_a_tensor_follows_the_whole() -> None:
    """New values of its own would break what the whole is."""
    whole = rand(3, 7).softmax(-1)
    made = fresh((whole[:, :4], whole), NEW_VALUES, 0)
    assert not torch.equal(whole, made[1])
    assert torch.allclose(made[1].sum(-1), torch.ones(3))
    assert torch.equal(made[0], made[1][:, :4])


def test_another_order_is_never_the_same_order() -> None:
    """Not even of two rows."""
    example = rand(2, 3)
    assert all(torch.equal(example.flip(0), fresh(example, OTHER_ORDER, seed)) for seed in range(8))


def test_views_that_share_no_element_are_both_made_anew() -> None:
    """Chunks lie between each other in memory."""
    query, key, _ = rand(4, 12).chunk(3, 1)
    made = fresh((query, key), NEW_VALUES, 0)
    assert not torch.equal(query, made[0])
    assert not torch.equal(key, made[1])
    assert made[0].untyped_storage()._cdata == made[1].untyped_storage()._cdata


def test_a_small_view_does_not_copy_a_large_storage() -> None:
    """Only the part that the inputs span is made."""
    pool = torch.zeros(100_000)
    made = fresh(pool[50_000:50_010], SAME_VALUES, 0)
    assert made.untyped_storage().nbytes() < 1000


def test_expanded_tensors_stay_expanded() -> None:
    """An element that many rows share is written once."""
    example = rand(1, 5).expand(3, 5)
    made = fresh(example, NEW_VALUES, 0)
    assert (0, 1) == made.stride()
    assert not torch.equal(example, made)


def test_gradients_are_asked_for_as_before() -> None:
    """A parameter or an intermediate result becomes a leaf of its own."""
    leaf = rand(3, 4).requires_grad_()
    made = fresh([leaf, leaf * 2, torch.nn.Parameter(rand(2, 2)), rand(2)], NEW_VALUES, 0)
    assert [True, True, True, False] == [tensor.requires_grad for tensor in made]
    assert all(tensor.is_leaf for tensor in made)


@pytest.mark.parametrize("kind", ["sparse", "conjugate", "inference"])
@pytest.mark.parametrize("level", LEVELS)
def test_an_unusual_tensor_is_copied(kind: str, level: int) -> None:
    """It is another object with the same values."""
    with torch.inference_mode(kind == "inference"):
        example = {
            "sparse": torch.eye(3).to_sparse(),
            "conjugate": torch.complex(rand(3), rand(3)).conj(),
            "inference": torch.ones(3),
        }[kind]
    made = fresh(example, level, 0)
    assert made is not example
    assert torch.equal(made.to_dense(), example.to_dense())


def test_the_tree_keeps_its_form_and_its_host_values() -> None:
    """Dataclasses, plain objects and cycles come back; what holds no tensor is the same object."""
    settings, model, nothing = {"depth": 3}, torch.nn.Linear(2, 2), object()
    cache = SimpleNamespace(keys=rand(2, 3), settings=settings, lock=nothing)
    cache.itself = cache
    example: dict[str, Any] = {"batch": Batch(integers(9, 2, 4), 4), "cache": cache, "model": model, "rest": (1, "a")}
    made = fresh(example, NEW_VALUES, 0)
    assert isinstance(made["batch"], Batch)
    assert 4 == made["batch"].longest
    assert made["batch"].ids is not example["batch"].ids
    assert made["cache"].itself is made["cache"]
    assert made["cache"].settings is settings
    assert made["cache"].lock is nothing
    assert made["model"] is model
    assert made["rest"] is example["rest"]
    assert example["cache"] is cache


def test_a_seed_decides_everything() -> None:
    """The same seed gives the same, another one something else, and the global state is left alone."""
    example = {"x": rand(8, 8), "n": integers(90, 3, 40)}
    torch.manual_seed(1)
    before = torch.get_rng_state(), random.getstate()
    first, again, other = (fresh(example, NEW_VALUES, seed) for seed in (5, 5, 6))
    assert torch.equal(before[0], torch.get_rng_state())
    assert before[1] == random.getstate()
    for key in example:
        assert torch.equal(first[key], again[key])
        assert not torch.equal(first[key], other[key])


def test_another_level_is_refused() -> None:
    """There are three."""
    with pytest.raises(ValueError, match="level 3 is none of"):
        fresh(torch.ones(1), 3, 0)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("name", EXAMPLES)
def test_a_device_tensor_stays_on_its_device(name: str) -> None:
    """The same traits, told and kept there."""
    example, holds = EXAMPLES[name]
    for level in LEVELS:
        made = fresh(example.cuda(), level, 0)
        assert made.is_cuda
        assert level != NEW_VALUES or holds(example, made.cpu())
