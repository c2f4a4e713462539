"""[tool.graphlint] and the command's options in, a Config out: what is read, extended and refused."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from examples import write_page, write_rules
from jsonschema import Draft202012Validator

from graphlint import config
from graphlint.choices import ALLOCATIONS, CONFIDENCES
from graphlint.config import READERS, Config, check_codes, extend_config, load_config, load_rules
from graphlint.errors import UsageError
from graphlint.finding import Confidence
from graphlint.targets import TARGET, TARGET_REQUIRED, Target

SCHEMA: dict[str, Any] = json.loads((Path(config.__file__).parent / "schema.json").read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)
EVERY_KEY = """
[tool.graphlint]
regions = ["serve.model:Decoder.step", "serve.*:*.forward"]
select = ["GL1"]
ignore = ["GL102"]
exclude = ["third_party/"]
follow-installed = ["transformers"]
allocations = "strict"
confidence = "low"
rules = ["lint"]
[tool.graphlint.per-file-ignores]
"tests/" = ["GL301"]
[[tool.graphlint.targets]]
at = "serve.runner:Runner.capture"
call = "self.model"
runs = "serve.models.*:*.forward"
[[tool.graphlint.targets]]
at = "serve.runner:Runner.capture"
runs = ["serve.heads:Head", "serve.tails:Tail"]
"""
WRONG = [
    ('regoins = ["a:b"]', "unknown key `regoins` in [tool.graphlint]"),
    ('regoins = ["a:b"]', "did you mean `regions`?"),
    ('per_file_ignores = {"a" = ["GL1"]}', "did you mean `per-file-ignores`?"),
    ('regions = "a:b"', "`regions` in [tool.graphlint]"),
    ('regions = "a:b"', "expected a list of strings, found a string"),
    ("regions = [1]", "expected a list of strings, found `1` in it"),
    ('regions = ["serve.model"]', "`serve.model` is not `module:qualname`"),
    ('regions = ["a:[b"]', "`a:[b` is not a valid glob"),
    ('targets = "a:b"', "`targets` in [tool.graphlint]"),
    ('targets = "a:b"', "expected a list of tables, found a string"),
    ("targets = [1]", "expected a list of tables, found `1` in it"),
    ('targets = [{at = "a:b"}]', "key `runs` of a target is missing"),
    ('targets = [{at = "a:b", runs = []}]', "key `runs` of a target is missing"),
    ('targets = [{at = "a", runs = "a:b"}]', "`at` of `targets` in [tool.graphlint]"),
    ('targets = [{at = "a", runs = "a:b"}]', "`a` is not `module:qualname`"),
    ('targets = [{at = 1, runs = "a:b"}]', "expected a list of strings, found `1` in it"),
    ('targets = [{at = "a:b", runs = ["a:[b"]}]', "`a:[b` is not a valid glob"),
    ('targets = [{at = "a:b", runs = "a:b", call = "f()"}]', "`f()` is not how a callee is spelt"),
    ('targets = [{at = "a:b", runs = "a:b", call = 1}]', "expected a string, found `1`"),
    ('targets = [{at = "a:b", run = "a:b"}]', "unknown key `run` in `targets`"),
    ('targets = [{at = "a:b", run = "a:b"}]', "did you mean `runs`?"),
    ("select = true", "`select` in [tool.graphlint]"),
    ("ignore = {}", "expected a list of strings, found a table"),
    ('exclude = ["["]', "`exclude` in [tool.graphlint]"),
    ('exclude = ["["]', "`[` is not a valid glob"),
    ('exclude = [""]', "`` is not a valid glob"),
    ('exclude = ["[z-a].py"]', "`[z-a].py` is not a valid glob"),
    ('follow-installed = ["trans formers"]', "`follow-installed` in [tool.graphlint]"),
    ('allocations = "lax"', "`allocations` in [tool.graphlint]"),
    ('allocations = "lax"', 'expected one of "default", "strict", found "lax"'),
    ("confidence = 1", 'expected one of "low", "medium", "high", found `1`'),
    ('per-file-ignores = ["GL1"]', "expected a table of globs and codes, found a list"),
    ('per-file-ignores = {"a/[" = ["GL1"]}', "`per-file-ignores` in [tool.graphlint]"),
    ('per-file-ignores = {"!a" = ["GL1"]}', "`!a` is negated"),
    ('per-file-ignores = {"a" = "GL1"}', "`a`: expected a list of strings, found a string"),
    ('rules = ["nowhere"]', "`rules` in [tool.graphlint]"),
    ('rules = ["nowhere"]', "nowhere is not a directory"),
]
BEYOND = (  # what no schema can know: whether a glob compiles, a directory is there, a callee is spelt as one
    'regions = ["a:[b"]',
    'targets = [{at = "a:b", runs = ["a:[b"]}]',
    'targets = [{at = "a:b", runs = "a:b", call = "f()"}]',
    'exclude = ["["]',
    'exclude = ["[z-a].py"]',
    'per-file-ignores = {"a/[" = ["GL1"]}',
    'rules = ["nowhere"]',
)


def configure(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    return folder


def test_every_key_is_read(tmp_path: Path) -> None:
    """The keys of the README arrive in the Config."""
    (tmp_path / "lint").mkdir()
    configure(tmp_path, EVERY_KEY)
    expected = Config(
        root=tmp_path,
        regions=("serve.model:Decoder.step", "serve.*:*.forward"),
        targets=(
            Target("serve.runner:Runner.capture", ("serve.models.*:*.forward",), "self.model"),
            Target("serve.runner:Runner.capture", ("serve.heads:Head", "serve.tails:Tail")),
        ),
        select=("GL1",),
        ignore=("GL102",),
        per_file_ignores=(("tests/", ("GL301",)),),
        exclude=("third_party/",),
        follow_installed=("transformers",),
        allocations="strict",
        confidence=Confidence.LOW,
        rules=(tmp_path / "lint",),
    )
    assert expected == load_config(tmp_path)


def test_the_nearest_project_file_counts(tmp_path: Path) -> None:
    """The walk upwards ends at the first pyproject.toml, from a folder as from a file."""
    configure(tmp_path, '[tool.graphlint]\nselect = ["GL1"]\n')
    inner = configure(tmp_path / "inner", '[tool.graphlint]\nselect = ["GL3"]\n')
    (inner / "src").mkdir()
    (inner / "src" / "model.py").touch()
    assert ("GL3",) == load_config(inner / "src").select
    assert ("GL3",) == load_config(inner / "src" / "model.py").select
    assert ("GL1",) == load_config(tmp_path).select
    assert inner == load_config(inner / "src").root


def test_defaults_hold_without_a_table(tmp_path: Path) -> None:
    """A project file that says nothing of graphlint gives the defaults."""
    configure(tmp_path, '[project]\nname = "x"\n')
    assert Config(root=tmp_path) == load_config(tmp_path)
    assert Confidence.MEDIUM == load_config(tmp_path).confidence


def test_a_named_file_takes_the_place_of_the_nearest(tmp_path: Path) -> None:
    """`--config FILE` is read instead, and must have the table."""
    configure(tmp_path, '[tool.graphlint]\nselect = ["GL1"]\n')
    other = configure(tmp_path / "other", '[tool.graphlint]\nselect = ["GL3"]\n')
    assert ("GL3",) == load_config(tmp_path, other / "pyproject.toml").select
    assert other == load_config(tmp_path, other / "pyproject.toml").root
    (tmp_path / "empty.toml").touch()
    with pytest.raises(UsageError, match=r"has no \[tool.graphlint\] table"):
        load_config(tmp_path, tmp_path / "empty.toml")
    with pytest.raises(UsageError, match=r"cannot read .*absent.toml: No such file"):
        load_config(tmp_path, tmp_path / "absent.toml")


@pytest.mark.parametrize(("line", "expected"), WRONG)
def test_a_wrong_value_is_named_by_its_key(tmp_path: Path, line: str, expected: str) -> None:
    """The error names the key, the file, and what is wrong."""
    configure(tmp_path, f"[tool.graphlint]\n{line}\n")
    with pytest.raises(UsageError) as error:
        load_config(tmp_path)
    assert expected in str(error.value)
    assert str(tmp_path / "pyproject.toml") in str(error.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("[tool.graphlint", "is not valid TOML", id="syntax"),
        pytest.param("[tool]\ngraphlint = 1\n", "expected a table, found `1`", id="no table"),
    ],
)
def test_a_broken_project_file_is_one_error(tmp_path: Path, text: str, expected: str) -> None:
    """A file that cannot be understood is never taken for an empty one."""
    configure(tmp_path, text)
    with pytest.raises(UsageError, match=expected):
        load_config(tmp_path)


def test_bytes_that_do_not_decode_are_one_error(tmp_path: Path) -> None:
    """A project file that is not UTF-8 is refused by name."""
    (tmp_path / "pyproject.toml").write_bytes(b"[tool.graphlint]\n# \xff\n")
    with pytest.raises(UsageError, match=r"pyproject.toml is not valid TOML"):
        load_config(tmp_path)


def test_options_extend_the_configuration(tmp_path: Path) -> None:
    """Lists grow, single values are replaced."""
    config = Config(tmp_path, regions=("a:b",), ignore=("GL1",), follow_installed=("timm",))
    extended = extend_config(
        config,
        regions=("c:d",),
        ignore=("GL2",),
        follow_installed=("vllm",),
        allocations="strict",
        confidence=Confidence.HIGH,
        rules=(tmp_path,),
    )
    assert ("a:b", "c:d") == extended.regions
    assert ("GL1", "GL2") == extended.ignore
    assert ("timm", "vllm") == extended.follow_installed
    assert ("strict", Confidence.HIGH, (tmp_path,)) == (extended.allocations, extended.confidence, extended.rules)
    assert config == extend_config(config)


def test_a_selection_on_the_command_line_starts_anew(tmp_path: Path) -> None:
    """`--select` takes the place of what the project selects and ignores."""
    config = Config(tmp_path, select=("GL1",), ignore=("GL301",))
    assert (("GL3",), ()) == (
        extend_config(config, select=("GL3",)).select,
        extend_config(config, select=("GL3",)).ignore,
    )


def test_an_option_is_named_when_its_value_is_wrong(tmp_path: Path) -> None:
    """The error about a region names the option that gave it."""
    with pytest.raises(UsageError, match=r"^--region: `serve` is not `module:qualname`"):
        extend_config(Config(tmp_path), regions=("serve",))


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"select": ("GL9",)}, "unknown code `GL9` in `select`"),
        ({"ignore": ("GL901",)}, "unknown code `GL901` in `ignore`"),
        ({"per_file_ignores": (("tests/", ("GL9",)),)}, "unknown code `GL9` in `per-file-ignores.tests/`"),
    ],
)
def test_an_unknown_code_is_named_with_its_key(tmp_path: Path, config: dict[str, tuple[str]], expected: str) -> None:
    """Codes are known once the rules are loaded."""
    rulebook = write_rules(tmp_path)
    with pytest.raises(UsageError, match=expected):
        check_codes(Config(tmp_path, **config), rulebook)  # type: ignore[arg-type]
    check_codes(Config(tmp_path, select=("GL1",), per_file_ignores=(("a", ("GL3",)),)), rulebook)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/test_model.py", ("GL1", "GL301")),
        ("tests/deep/test_model.py", ("GL1",)),
        ("src/tests/test_model.py", ("GL1", "GL2")),
        ("src/model.py", ("GL301", "GL2")),
        ("model.py", ()),
    ],
)
def test_codes_are_ignored_per_file(tmp_path: Path, path: str, expected: tuple[str, ...]) -> None:
    """Globs are those of a .gitignore, relative to the project file; those that match add up."""
    config = Config(tmp_path, per_file_ignores=(("tests/", ("GL1",)), ("/*/*.py", ("GL301",)), ("/src/**", ("GL2",))))
    assert expected == config.ignored_in(tmp_path / path)


def test_a_file_outside_of_the_project_has_no_exceptions(tmp_path: Path) -> None:
    """What lies elsewhere is not matched by the project's globs."""
    config = Config(tmp_path / "project", per_file_ignores=(("*.py", ("GL1",)),))
    assert () == config.ignored_in(tmp_path / "model.py")
    assert ("GL1",) == config.ignored_in(tmp_path / "project" / "model.py")


def test_python_comes_from_the_command_line_alone(tmp_path: Path) -> None:
    """A directory of the configuration brings data; one that is given by hand as well may bring a detector."""
    file = write_page(tmp_path / "lint", "XX901", "house-rule").with_suffix(".py")
    (tmp_path / "pyproject.toml").write_text('[tool.graphlint]\nrules = ["lint"]\n', encoding="utf-8")
    assert load_rules(load_config(tmp_path)).rule("XX901").detector is None
    file.write_text("raise AssertionError", encoding="utf-8")
    with pytest.raises(UsageError, match=r"xx901_house_rule\.py:1: a configuration names data and runs no code"):
        load_rules(load_config(tmp_path))
    given = (tmp_path / "lint" / ".." / "lint",)
    config = extend_config(load_config(tmp_path), rules=given)
    assert file.samefile(load_rules(config, given).rule("XX901").detector or "")


def test_the_schema_is_one() -> None:
    """Of the draft that it names."""
    Draft202012Validator.check_schema(SCHEMA)


def test_the_keys_and_choices_are_those_of_the_configuration() -> None:
    """None is missing, and there is no other."""
    properties = SCHEMA["properties"]
    assert set(READERS) == set(properties)
    assert (list(ALLOCATIONS), list(CONFIDENCES)) == (
        properties["allocations"]["enum"],
        properties["confidence"]["enum"],
    )
    target = properties["targets"]["items"]
    assert (set(TARGET), set(TARGET_REQUIRED)) == (set(target["properties"]), set(target["required"]))
    assert all("description" in one for one in properties.values())


@pytest.mark.parametrize("line", sorted({line for line, _ in WRONG}))
def test_what_the_command_refuses_is_refused(line: str) -> None:
    """As far as a schema can know."""
    assert VALIDATOR.is_valid(tomllib.loads(line)) == (line in BEYOND)


def test_what_the_command_takes_is_taken() -> None:
    """All keys, as they are tested."""
    VALIDATOR.validate(tomllib.loads(EVERY_KEY)["tool"]["graphlint"])
