"""Values that are joined and limited: what has been worked out once stays as it is."""

from __future__ import annotations

from graphlint import values
from graphlint.static.models.containers import updated
from graphlint.values import UNKNOWN, Const, Host, Mapping, Sequence, Value, join, limit_depth


def nested(leaf: Value, levels: int) -> Value:
    """A list in a list in a list."""
    for _ in range(levels):
        leaf = Sequence("list", (leaf,))
    return leaf


def doubled(leaf: Value, levels: int) -> Value:
    """A dict that has one value twice, which has one value twice, and so on."""
    for _ in range(levels):
        leaf = Mapping(((Const("a"), leaf), (Const("b"), leaf)))
    return leaf


def test_what_has_been_limited_is_not_made_again() -> None:
    limited = limit_depth(nested(Const(1), 10))
    assert limited != nested(Const(1), 10)
    assert limit_depth(limited) is limited
    filled = limit_depth(doubled(Const(1), 10))
    assert limit_depth(filled) is filled


def test_what_is_known_of_a_container_at_the_lowest_level_is_forgotten() -> None:
    for known in (Sequence("list", ()), Sequence("list", (UNKNOWN,)), Sequence("list", None, Host("int"))):
        assert limit_depth(known, 0) == Sequence("list", None)
    for held in (Mapping(), Mapping(((Const("a"), UNKNOWN),)), Mapping((), Host("int"))):
        assert limit_depth(held, 0) == Mapping((), UNKNOWN)


def test_what_containers_share_is_joined_once() -> None:
    values.forget_unions()
    joined = join(doubled(Const("left"), 8), doubled(Const("right"), 8))
    assert values._kept_union.cache_info().misses < 8  # of 255 pairs that are in it
    assert limit_depth(joined) == limit_depth(doubled(join(Const("left"), Const("right")), 8))


def test_a_mapping_has_a_hash_after_an_update() -> None:
    """Which keys it may lack stays a frozen set, so that it can be an argument that summaries are kept by."""
    may_lack = Mapping(((Const("a"), UNKNOWN), (Const("b"), UNKNOWN)), None, frozenset({Const("a"), Const("b")}))
    surely = Mapping(((Const("a"), UNKNOWN),))
    assert {updated(may_lack, surely).optional, updated(surely, may_lack).optional} == {frozenset({Const("b")})}
    assert len({updated(may_lack, surely), updated(surely, may_lack)}) == 1
