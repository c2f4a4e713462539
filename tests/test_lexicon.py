"""Tables of names in; what the names mean out, and one error with file and line for each mistake."""

from __future__ import annotations

import textwrap
import warnings
from pathlib import Path

import pytest

from graphlint.errors import UsageError
from graphlint.rulebook import builtin_rules, load_rulebook
from graphlint.rulebook.lexicon import KINDS, Factory, Lexicon, load_lexicon
from graphlint.rulebook.schema import RETURNS
from graphlint.static.models.results import plain
from graphlint.values import FALSE, NONE, TRUE, UNKNOWN, Host, Place

BUILTIN = builtin_rules() / "lexicon.toml"
LEXICON = load_lexicon(BUILTIN)
CATALOGUE = load_rulebook(builtin_rules()).catalogue
TABLE = """\
    [dtypes]
    int128 = ["acme.huge"]

    [devices]
    device = ["acme"]

    [types]
    "acme.Shape" = "shape"
    "arrays.*" = "host-array"

    [guards]
    "acme.is_quiet" = true
    "acme.state" = { outside = "none", capturing = false }

    [named]
    "acme.module" = "acme.gpu"

    [surroundings]
    "acme.watched" = "strictly"

    [factories]
    "acme.grid" = { rank = 2, dtype = "int128" }

    [presets]
    "acme.Lock.set_default_checked" = "checked"

    [compiled]
    "acme.checked" = false

    [numbers]
    "acme.most" = inf
"""


def load(tmp_path: Path, old: str = "", new: str = "") -> Lexicon:
    """The lexicon of the table in which one piece of text is replaced."""
    text = textwrap.dedent(TABLE)
    assert text.count(old) == 1 or not old
    file = tmp_path / "lexicon.toml"
    file.write_text(text.replace(old, new) if old else text, encoding="utf-8")
    return load_lexicon(BUILTIN, file)


@pytest.mark.parametrize(
    ("old", "new", "line", "expected"),
    [
        ("[dtypes]", "[dtype]", 1, "unknown key `dtype`; did you mean `dtypes`"),
        ('["acme.huge"]', '"acme.huge"', 2, "`int128`: expected a list of strings"),
        ('["acme.huge"]', "[1]", 2, "`int128`: expected a list of strings"),
        ("device =", "devcie =", 5, "unknown key `devcie`; did you mean `device`?"),
        ('"shape"', '"shap"', 8, "`shap` is not one of bool, device"),
        ('"shape"', '"shap"', 8, "did you mean `shape`?"),
        ('"shape"', "[]", 8, "`acme.Shape`: expected a string, found a list"),
        ("true", '"yes"', 12, "`acme.is_quiet`: `yes` is no answer; write true, false or"),
        ("true", "1", 12, "`acme.is_quiet`: `1` is no answer"),
        ("true", "[true]", 12, "`acme.is_quiet`: `[True]` is no answer"),
        ("capturing", "captured", 13, "unknown key `captured`; did you mean `capturing`?"),
        ('"none"', '"nothing"', 13, "`acme.state`: `nothing` is no answer"),
        ('"acme.gpu"', "true", 16, "`acme.module`: expected a string, found a boolean"),
        ('"strictly"', "1", 19, "`acme.watched`: expected a string, found `1`"),
        ("rank", "rnak", 22, "unknown key `rnak`; did you mean `rank`?"),
        ("= 2", '= "2"', 22, "`rank`: `2` is no int"),
        ("= 2", "= true", 22, "`rank`: `True` is no int"),
        ("rank = 2", 'data = "moved"', 22, "`moved` is not one of copied, shared"),
        ('{ rank = 2, dtype = "int128" }', "2", 22, "`acme.grid`: expected a table, found `2`"),
        ('dtype = "int128"', 'dtype = "int129"', 22, "`int129` is not one of bfloat16, bool"),
        ('checked" = false', 'checked" = 0', 28, "`acme.checked`: expected a boolean, found `0`"),
        ("= inf", "= 1", 31, "`acme.most`: expected a number with a point, found `1`"),
        ('= "checked"', "= true", 25, "`acme.Lock.set_default_checked`: expected a string, found a boolean"),
        ("[types]", "[types", 7, "not valid TOML"),
    ],
)
def test_a_mistake_is_told_by_its_line(tmp_path: Path, old: str, new: str, line: int, expected: str) -> None:
    """Misspelt words are told the nearest that are known."""
    with pytest.raises(UsageError) as error:
        load(tmp_path, old, new)
    assert str(error.value).startswith(f"{tmp_path / 'lexicon.toml'}:{line}: "), error.value
    assert expected in str(error.value)


def test_a_later_table_adds_and_replaces(tmp_path: Path) -> None:
    """Its rows lie on top of the built-in ones, which stay as they are."""
    lexicon = load(tmp_path)
    assert {"int128"} == {lexicon.dtypes[name] for name in ("torch.int128", "acme.huge")}
    assert (Place.DEVICE, Place.DEVICE, None) == (lexicon.place("acme"), lexicon.place("cuda"), lexicon.place("meta"))
    assert (Place.DEVICE, None) == (lexicon.place_asked("is_acme"), lexicon.place_asked("acme"))
    assert ["shape", "host-array", None] == [lexicon.promised(name) for name in ("acme.Shape", "arrays.A", "acme.A")]
    assert (TRUE, TRUE, TRUE) == lexicon.guards["acme.is_quiet"]
    assert (NONE, FALSE, Host("bool")) == lexicon.guards["acme.state"]
    assert Factory(rank=2, dtype="int128") == lexicon.factories["acme.grid"]
    assert "checked" == lexicon.presets["acme.Lock.set_default_checked"]
    assert lexicon.compiled["acme.checked"] is False
    assert LEXICON.dtypes.items() <= lexicon.dtypes.items() and LEXICON.guards.items() <= lexicon.guards.items()


def test_a_list_of_a_later_table_is_added(tmp_path: Path) -> None:
    """A dtype has another name then, and keeps those that it has; a guard has one answer, the last."""
    changed = load(tmp_path, 'int128 = ["acme.huge"]', 'int128 = []\nint64 = ["acme.big"]')
    assert {"int64"} == {changed.dtypes[name] for name in ("acme.big", "torch.long")}
    changed = load(tmp_path, '"acme.is_quiet" = true', '"torch.jit.is_tracing" = true')
    assert ((TRUE, TRUE, TRUE), (FALSE, FALSE, FALSE)) == (
        changed.guards["torch.jit.is_tracing"],
        LEXICON.guards["torch.jit.is_tracing"],
    )


def test_nothing_is_known_without_a_table() -> None:
    """No name of torch stands in the code that reads it, but the package that dtypes stand in."""
    empty = load_lexicon()
    assert not any((empty.dtypes, empty.guards, empty.devices, empty.callables, empty.containers, empty.methods))
    assert not empty.is_module("torch.nn.Linear") and not empty.is_catalogued("torch.abs")
    assert LEXICON.is_module("torch.nn.Linear") and LEXICON.is_catalogued("torch.abs")


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_of_annotation_is_one_of_the_catalogue(kind: str) -> None:
    """Both tables use the same words for kinds of values, and the static half knows what each is."""
    assert kind in RETURNS
    assert plain(kind) != UNKNOWN or kind == "object"


def test_the_lexicon_speaks_of_operations_under_their_own_names() -> None:
    """What the catalogue knows under another name has no row of its own."""
    told = [*LEXICON.guards, *LEXICON.containers, *LEXICON.factories, *LEXICON.surroundings, *LEXICON.named]
    told += [name for name, kind in LEXICON.callables.items() if kind != "applied"]
    told += LEXICON.tensors["parameters"]
    assert [name for name in told if CATALOGUE.named(name) != name] == []


@pytest.mark.parametrize("section", ["factories", "presets", "surroundings"])
def test_a_name_in_torch_is_one_of_the_catalogue(section: str) -> None:
    """What is said of an operation of torch is said of one that there is."""
    given = [name for name in getattr(LEXICON, section) if LEXICON.is_catalogued(name)]
    names = [name.rpartition("._")[0] or name for name in given]  # an attribute is one of a class that there is
    assert names
    assert [name for name in names if CATALOGUE.find(name) is None] == []


def test_methods_of_modules_are_those_of_the_catalogue() -> None:
    """What a method does to a module is said of one that every module has; those that make one are of libraries.

    What moves a module moves tensors as well, and some that do have only these.
    """
    (base,) = LEXICON.modules["base"]
    owners = {"moves": (base, "torch.Tensor"), "makes": ()}
    told = [(name, owners.get(does, (base,))) for name, does in LEXICON.methods.items()]
    assert [name for name, of in told if of and not any(CATALOGUE.find(f"{one}.{name}") for one in of)] == []


def test_modules_that_hold_parameters_are_known_by_their_names() -> None:
    """Each class of torch that comes with some, when it is made of small numbers."""
    torch = pytest.importorskip("torch")
    classes = [one for one in vars(torch.nn).values() if isinstance(one, type) and issubclass(one, torch.nn.Module)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what some of them say of these numbers
        with_parameters = [one for one in classes if any(_has_parameters(one, *[2] * count) for count in range(1, 4))]
    assert len(with_parameters) > 40
    assert [one for one in with_parameters if not LEXICON.is_trained(f"torch.nn.{one.__name__}")] == []
    assert not any(map(LEXICON.is_trained, ("torch.nn.MSELoss", "torch.nn.ReLU", "torch.nn.modules.dropout.Dropout")))


def _has_parameters(cls: type, *sizes: int) -> bool:
    try:
        return any(True for _ in cls(*sizes).parameters())  # type: ignore[attr-defined]
    except (AssertionError, AttributeError, NotImplementedError, TypeError, ValueError):
        return False


@pytest.mark.parametrize(("group", "is_attribute"), [("attributes", True), ("methods", False)])
def test_what_is_enough_to_go_by_is_one_of_tensors(group: str, is_attribute: bool) -> None:
    """The attributes and methods that stand for those of a tensor where the object is not known."""
    for name in LEXICON.unknown[group]:
        operation = CATALOGUE.method(name)
        assert operation is not None and operation.attribute is is_attribute, name
        assert plain(operation.returns) != UNKNOWN
