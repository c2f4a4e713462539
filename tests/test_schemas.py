"""A table with one mistake in; one error with its file, its line and the way out out."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from examples import write_rules

from graphlint.errors import UsageError
from graphlint.rulebook import builtin_rules
from graphlint.rulebook.catalogue import load_catalogue
from graphlint.rulebook.contracts import Contract
from graphlint.rulebook.entries import load_entries
from graphlint.targets import Target

OPERATIONS = """\
    [methods]
    telling = ["flush"]

    [effects]
    "acme.flush" = [
      { effect = "scalar-readback", when = "device:x" },
      { effect = "tensor-printing", when = "device:x not-true:quietly", confidence = "low" },
    ]
    "acme.*" = [{ effect = "tensor-printing", when = "always" }]

    [aliases]
    "acme.drain" = "acme.flush"
    "acme.old.*" = "acme.*"

    [operations."acme"]
    none = '''
    flush(x, quietly)
    '''
    instance = '''
    Queue(...)
    '''
    "acme.Queue" = '''
    connect(...)
    '''
    number = '''
    level
    '''

    [operators]
    "acme::flush_(x)" = [{ effect = "tensor-printing", when = "many:x=8" }]
    "acme::level" = "acme.level"

    [families]
    unfilled = ["acme::new"]
"""
REGIONS = """\
    [[entry]]
    kind = "acme.captured"
    form = "context"
    names = ["acme.captured", "acme.graphs.captured"]
    marks = ["acme"]

    [[entry]]
    kind = "acme.begin"
    form = "begin"
    telling = true
    names = ["acme.begin"]

    [[entry]]
    kind = "acme.begin"
    form = "end"
    names = ["other.end"]

    [[entry]]
    kind = "acme.compile"
    form = "compile"
    names = ["acme.compile"]
    takes = ["function"]
    graphing = { mode = ["fast"] }

    [[target]]
    at = "acme.runner:Runner.capture"
    runs = "acme.models.*:*Model.forward"

    [[target]]
    at = "acme.runner:Runner.capture"
    runs = ["acme.heads:Head.forward"]
    call = "self.head"

    [[contract]]
    of = ["acme.Attention"]
    prepare = ["plan"]
    when = { kind = ["paged"] }
"""


def write(file: Path, text: str, old: str = "", new: str = "") -> Path:
    """A table in which one piece of text is replaced."""
    text = textwrap.dedent(text)
    assert text.count(old) == 1 or not old
    file.write_text(text.replace(old, new) if old else text, encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("old", "new", "line", "expected"),
    [
        ("[methods]", "[method]", 1, "unknown key `method`; did you mean `methods`?"),
        ("telling", "teling", 2, "unknown key `teling`; did you mean `telling`?"),
        ('["flush"]', '"flush"', 2, "`telling`: expected a list of strings"),
        ('"acme.flush" = [', '"acme.flsh" = [', 5, "no row of [operations] is called `acme.flsh`; did you mean"),
        ('"acme.*" = [{', '"acm.*" = [{', 9, "no row of [operations] is called `acm.*`"),
        ("effect = \"scalar-", "efect = \"scalar-", 6, "unknown key `efect`; did you mean `effect`?"),
        ("effect = \"scalar-readback\", ", "", 5, "`acme.flush`: key `effect` is missing"),
        ("scalar-readback", "scalar-readbak", 6, "no rule is called `scalar-readbak`, so no page tells of it; did"),
        ('effect = "scalar-readback"', 'effect = "scalar-readback", message = "{x}"', 6, "`message`: the only"),
        ('"scalar-readback"', "3", 6, "`effect`: expected a string that is not empty"),
        ('confidence = "low"', 'confidence = "little"', 7, "`confidence`: `little` is not one of low, medium, high"),
        ("not-true:quietly", "not-tru:quietly", 7, "no condition is called `not-tru`; did you mean `not-true`"),
        ("not-true:quietly", "not-true", 7, "`not-true` names no parameter; write `not-true:parameter`"),
        ("not-true:quietly", "not-true:quietly=x", 7, "`not-true:quietly=x` is not `not-true:quietly`"),
        ("not-true:quietly", "equals:quietly", 7, "`equals:quietly` is not `equals:quietly=value`"),
        ("not-true:quietly", "not-true:quitely", 7, "`acme.flush` has no parameter `quitely`; did you mean `quietly`?"),
        ("not-true:quietly", "distinct:x=y", 7, "`acme.flush` has no parameter `y`"),
        ('[{ effect = "tensor-printing", when = "always" }]', '"x"', 9, "expected a list, found a string"),
        ('[{ effect = "tensor-printing", when = "always" }]', '["x"]', 9, "`acme.*`: expected a list of tables"),
        ('= "acme.flush"', '= "acme.flash"', 12, "`acme.drain` is another name of `acme.flash`, which is no operation"),
        ('= "acme.*"', '= "acne.*"', 13, "`acme.old.*` is another name of `acne.*`, which is no operation"),
        ('= "acme.flush"', "= 1", 12, "`acme.drain`: expected a string, found `1`"),
        ('"acme.drain"', '"acme.level"', 12, "`acme.level` is an operation of its own"),
        ("none =", "nothing =", 16, "no kind of result is called `nothing`"),
        ("none =", "tensr =", 16, "no kind of result is called `tensr`; did you mean `tensor`"),
        ("flush(x, quietly)", "flush(x, quietly", 17, "`flush(x, quietly` is no operation; write `name("),
        ("flush(x, quietly)", "flush(x: integer)", 17, "`flush(x: integer)` is no operation; write `name("),
        ("flush(x, quietly)", "flush(x,y)", 17, "is no operation; write `name(parameter, *others, size: int)`"),
        ('"acme.Queue" =', '"acme.Quue" =', 22, "no row of [operations] is an `instance` called `acme.Quue`; did"),
        ("level\n", "level\nflush()\n", 27, "`acme.flush` stands twice"),
        ("[operations.", "[operations", 15, "not valid TOML"),
        ('"acme::flush_(x)"', '"acme.flush_(x)"', 30, "`acme.flush_(x)` is no operator; write it as `aten::"),
        ('"acme::flush_(x)"', '"acme::flush_(x: int)"', 30, "`acme::flush_(x: int)` is no operator; write it as"),
        ("many:x=8", "many:y=8", 30, "`acme::flush_(x)` has no parameter `y`"),
        ("many:x=8", "many:x=2*y^0.5", 30, "`acme::flush_(x)` has no parameter `y`"),
        ("many:x=8", "many:x=few", 30, "`few` is no number of elements; write one, or `10*x^0.5`"),
        ("many:x=8", "many:x=1.2.3", 30, "`1.2.3` is no number of elements"),
        ("many:x=8", "mny:x=8", 30, "no condition is called `mny`; did you mean `many`"),
        ("many:x=8", "same:x=y", 30, "`acme::flush_(x)` has no parameter `y`"),
        ('tensor-printing", when = "many', 'tensor-print", when = "many', 30, "no rule is called `tensor-print`"),
        ('effect = "tensor-printing", when = "many', 'when = "many', 30, "key `effect` is missing"),
        ('= "acme.level"', '= "acme.leval"', 31, "`acme::level` does what `acme.leval` does, which is no operation"),
        ('= "acme.level"', "= 1", 31, "`acme::level`: expected a list, found `1`"),
        ("unfilled", "unfiled", 34, "unknown key `unfiled`; did you mean `unfilled`?"),
        ('["acme::new"]', '"acme::new"', 34, "`unfilled`: expected a list of strings"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_table_of_operations(tmp_path: Path, old: str, new: str, line: int, expected: str) -> None:
    """It is told by its line; misspelt words are told the nearest that are known."""
    effects = [rule.slug for rule in write_rules(tmp_path / "rules").rules]
    file = write(tmp_path / "operations.toml", OPERATIONS, old, new)
    with pytest.raises(UsageError) as error:
        load_catalogue(file, effects=effects)
    assert str(error.value).startswith(f"{file}:{line}: "), error.value
    assert expected in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "line", "expected"),
    [
        ('"context"', '"contxt"', 3, "`form`: `contxt` is not one of context, begin, end, callable, decorator, com"),
        ('"context"', '"contxt"', 3, "did you mean `context`?"),
        ("telling", "teling", 10, "unknown key `teling`; did you mean `telling`?"),
        ("telling = true", 'telling = "yes"', 10, "`telling`: expected a boolean, found a string"),
        ('form = "context"\n', "", 1, "key `form` of this entry is missing"),
        ('names = ["other.end"]', "", 13, "key `names` of this entry is missing"),
        ('names = ["other.end"]', "names = []", 13, "key `names` of this entry is missing"),
        ('["other.end"]', '"other.end"', 16, "`names`: expected a list, found a string"),
        ('["other.end"]', '["end"]', 16, "`names`: `end` is no qualified name"),
        ('["other.end"]', '["other.end()"]', 16, "`names`: `other.end()` is no qualified name"),
        ('marks = ["acme"]', "", 1, 'no file is searched for `acme.captured`; write `marks = ["captured"]`'),
        ('marks = ["acme"]', 'marks = [""]', 5, "`marks`: expected a list of strings, none of them empty"),
        ('["acme.begin"]', '["other.begin"]', 7, 'no file is searched for `other.begin`; write `marks = ["begin"]`'),
        ("graphing = { mode = [\"fast\"] }", "", 18, "key `graphing` of this entry is missing"),
        ("{ mode = [\"fast\"] }", "[\"fast\"]", 23, "`graphing`: expected a table, found a list"),
        ("[\"fast\"]", "[false]", 23, "`mode`: expected a list of strings, none of them empty"),
        ("[\"fast\"]", "\"fast\"", 23, "`mode`: expected a list of strings"),
        ("takes = [\"function\"]", "takes = [1]", 22, "`takes`: expected a list of strings"),
        ("runs = \"acme.models.*:*Model.forward\"", "", 25, "key `runs` of this target is missing"),
        ("\"acme.models.*:*Model.forward\"", "1", 27, "`runs`: expected a list of strings"),
        ("\"acme.models.*:*Model.forward\"", "[]", 25, "key `runs` of this target is missing"),
        ("acme.models.*:*Model.forward", "acme.models", 27, "`runs`: `acme.models` is not `module:qualname`"),
        ("acme.heads:Head.forward", "acme.heads:[Head", 31, "`runs`: `acme.heads:[Head` is not a valid glob"),
        ("[\"acme.heads:Head.forward\"]\n", "[\"a:b\", 1]\n", 31, "`runs`: expected a list of strings"),
        ("call = \"self.head\"", "call = 1", 32, "`call`: expected a string, found `1`"),
        ("\"self.head\"", "\"self.head()\"", 32, "`call`: `self.head()` is not how a callee is spelt"),
        ("call = ", "calls = ", 32, "unknown key `calls`; did you mean `call`?"),
        ("of = [\"acme.Attention\"]\n", "", 34, "key `of` of this contract is missing"),
        ("\"acme.Attention\"", "\"Attention\"", 35, "`of`: `Attention` is no qualified name"),
        ("prepare = [\"plan\"]\n", "", 34, "asks for nothing: it has none of mode, prepare, tensors, warm_up"),
        ("[\"plan\"]", "\"plan\"", 36, "`prepare`: expected a list, found a string"),
        ("[\"paged\"]", "\"paged\"", 37, "`kind`: expected a list of strings, none of them empty"),
        ("{ kind = [\"paged\"] }", "\"paged\"", 37, "`when`: expected a table, found a string"),
        ("prepare =", "prepares =", 36, "unknown key `prepares`; did you mean `prepare`?"),
        ("[[entry]]\nkind = \"acme.captured\"", "[[region]]\nkind = \"acme.captured\"", 1, "unknown key `region`"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_table_of_regions(tmp_path: Path, old: str, new: str, line: int, expected: str) -> None:
    """A form, a key, a name or a mark: none of them is overlooked."""
    file = write(tmp_path / "regions.toml", REGIONS, old, new)
    with pytest.raises(UsageError) as error:
        load_entries(file)
    assert str(error.value).startswith(f"{file}:{line}: "), error.value
    assert expected in str(error.value)


def test_tables_without_a_mistake_are_read(tmp_path: Path) -> None:
    """The tables that the mistakes above are made in are right, and say what they say."""
    effects = [rule.slug for rule in write_rules(tmp_path / "rules").rules]
    catalogue = load_catalogue(write(tmp_path / "operations.toml", OPERATIONS), effects=effects)
    drain = catalogue.find("acme.drain")
    assert drain is not None
    assert ["scalar-readback", "tensor-printing", "tensor-printing"] == [effect.name for effect in drain.effects]
    flush, level = catalogue.find("torch.ops.acme.flush_.default"), catalogue.find("torch.ops.acme.level.default")
    assert flush is not None and ["tensor-printing"] == [effect.name for effect in flush.effects]
    assert level is catalogue.find("acme.level")
    assert {"acme::new"} == catalogue.families["unfilled"] and not catalogue.families["asking"]
    entries = load_entries(write(tmp_path / "regions.toml", REGIONS))
    assert entries.find("acme.graphs.captured") is entries.find("acme.captured") is not None
    assert ["acme"] == entries.marks
    at = "acme.runner:Runner.capture"
    model, head = ("acme.models.*:*Model.forward",), ("acme.heads:Head.forward",)
    assert (Target(at, model), Target(at, head, "self.head")) == entries.targets
    assert entries.contracts.find("acme.layers.Attention") == Contract(
        ("acme.Attention",), prepare=("plan",), when=(("kind", ("paged",)),)
    )
    assert entries.contracts.find("other.Attention") is None


def test_a_later_table_of_operations_adds_and_replaces(tmp_path: Path) -> None:
    """By qualified name: a signature, effects, another name; everything else stays."""
    later = """\
    [effects]
    "torch.Tensor.item" = [{ effect = "tensor-printing", when = "always" }]
    [operators]
    "aten::_unique2" = [{ effect = "tensor-printing" }]
    "aten::index(indices)" = "torch.sum"
    [families]
    unfilled = ["acme::new"]
    [aliases]
    "acme.sum" = "torch.sum"
    [operations."torch"]
    bool-tensor = '''
    abs(input, strictly)
    '''
    """
    builtin = builtin_rules() / "operations.toml"
    before, after = load_catalogue(builtin), load_catalogue(builtin, write(tmp_path / "operations.toml", later))
    assert ["tensor-printing"] == [effect.name for effect in after.find("torch.Tensor.item").effects]  # type: ignore
    assert "bool-tensor" == after.find("torch.abs").returns  # type: ignore
    assert after.find("acme.sum") is after.find("torch.sum") is after.find("torch.ops.aten.index.Tensor")
    assert ["tensor-printing"] == [effect.name for effect in after.find("torch.ops.aten._unique2").effects]  # type: ignore
    assert {"acme::new"} == after.families["unfilled"] - before.families["unfilled"]
    assert before.families["unfilled"] < after.families["unfilled"]
    assert set(before) == set(after)
    assert before.find("torch.sum") == after.find("torch.sum")
    assert (before.telling, before.views) == (after.telling, after.views)


def test_a_later_table_of_regions_adds_and_replaces(tmp_path: Path) -> None:
    """By qualified name: of one entry, some names may be replaced and others stay."""
    later = """\
    [[entry]]
    kind = "ours"
    form = "callable"
    names = ["torch.cuda.graph", "acme.run"]
    marks = ["acme"]
    """
    builtin = builtin_rules() / "regions.toml"
    entries = load_entries(builtin, write(tmp_path / "regions.toml", later))
    kinds = {name: entries.by_name[name].kind for name in ("torch.cuda.graph", "acme.run", "torch.cuda.graphs.graph")}
    assert {"torch.cuda.graph": "ours", "acme.run": "ours", "torch.cuda.graphs.graph": "torch.cuda.graph"} == kinds
    assert "acme" in entries.marks
