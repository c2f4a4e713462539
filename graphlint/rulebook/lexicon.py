"""Tables of names in, what they mean out: dtypes, guards, containers and the like; of calls, the catalogue speaks."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fnmatch import translate
from pathlib import Path
from typing import Any

from graphlint.errors import nearest
from graphlint.rulebook.tables import Table, read_table
from graphlint.values import FALSE, NONE, TRUE, Host, Place, Value

MOMENTS = ("outside", "capturing", "compiled")  # at which a guard is asked
ANSWERS: Mapping[object, Value] = {True: TRUE, False: FALSE, "none": NONE}
PLACES: Mapping[str, Place] = {"device": Place.DEVICE, "host": Place.HOST}
KINDS = ("bool", "device", "dtype", "float", "host-array", "int", "list", "none", "number", "object", "shape", "str")
LISTS: Mapping[str, tuple[str, ...]] = {
    "tensors": ("every", "some", "parameters", "called", "interfaces", "tests", "never", "fields", "single", "arrays"),
    "devices": ("device", "host", "neither", "other"),
    "decorators": ("properties", "kept"),
    "callables": ("applied", "called", "recomputed", "saving", "branches", "backward", "default_device", "kernels"),
    "compilers": ("literals", "validating"),
    "containers": ("dict", "list", "sequential"),
    "modules": ("attributes", "base", "called", "functions", "general", "namespaces", "optimizers", "steps", "trained"),
    "methods": (
        "children", "evaluates", "hooks", "makes", "moves", "named_children", "named_parameters", "parameters",
        "pre_hooks", "registers", "registers_tensors", "states", "trains",
    ),
    "phases": (
        "brings", "calibrates", "checks", "compares", "draws", "eager", "export", "failures", "feeds", "files",
        "graphs", "interacts", "launches", "losses", "manages", "measures", "media", "of_host", "openers",
        "optimizes", "prepares", "prompt", "references", "replays", "reports", "setup", "shown", "stopwatch",
        "timed", "token",
    ),
    "statuses": ("idle", "capturing"),
    "unknown": ("attributes", "methods", "counts"),
    "life": (
        "adding", "apart", "arrays", "batched", "benchmark", "biased", "buffers", "casting", "choosing", "collective",
        "compiling", "convolution", "counting", "current", "default", "drawing", "environment", "filling", "foreign",
        "generators", "gradients", "hooks", "indexing", "inferring", "kernels", "lasting", "launches",
        "launching", "lazy", "loaders", "modal", "ordering", "pairs", "parameters", "placing", "posting", "product",
        "ranking", "reducing", "replays", "scripting", "selecting", "settings", "single", "sized", "skipping",
        "stateful", "states", "streams", "telling", "training", "transform", "turning", "unfilled", "uploads",
        "varying", "waiting", "weak",
    ),
    "libraries": ("catalogued", "familiar", "host"),
    "host_state": (
        "caches", "captures", "clocks", "constructs", "copies", "draws", "generators", "grows", "hooks", "looks",
        "mutators", "optimizers", "prepares", "releases", "replays", "resets", "schedulers", "seeds", "shows", "sweeps",
        "waits",
    ),
    "operators": ("describes", "implements", "own"),
}  # fmt: skip
SECTIONS = (
    "dtypes", *LISTS, "types", "guards", "named", "numbers", "surroundings", "presets", "compiled",
    "factories",
)  # fmt: skip
ROWS: Mapping[str, type] = {"compiled": bool, "numbers": float}
FACTORY: Mapping[str, type] = {"rank": int, "dtype": str, "data": str, "pinned": bool}
DATA = ("copied", "shared")


@dataclass(frozen=True, slots=True)
class Factory:
    """What a factory makes, beyond a tensor of the sizes that it is given; `data` is `copied` or `shared`."""

    rank: int | None = None
    dtype: str | None = None
    data: str | None = None
    pinned: bool = False


class Lexicon:
    """What names mean; `rules/lexicon.toml` says what its sections are."""

    def __init__(self, sections: Mapping[str, Mapping[str, Any]]) -> None:
        self.dtypes = {name: dtype for dtype, names in sections["dtypes"].items() for name in (spelled(dtype), *names)}
        self.guards = {name: _answers(row) for name, row in sections["guards"].items()}
        self._guards: dict[str, tuple[Value, ...] | None] = {**self.guards}  # and other names that were asked for
        self._globs = {re.compile(translate(name)): answers for name, answers in self.guards.items() if "*" in name}
        self.named: Mapping[str, str] = sections["named"]
        self.numbers: Mapping[str, float] = sections["numbers"]
        self.surroundings: Mapping[str, str] = sections["surroundings"]
        self.presets: Mapping[str, str] = sections["presets"]
        self.compiled: Mapping[str, bool] = sections["compiled"]
        self.factories = {name: Factory(**row) for name, row in sections["factories"].items()}
        self.tensors, self.modules, self.unknown, self.life, self.libraries, self.statuses, self.compilers = (
            {kind: frozenset(names) for kind, names in sections[section].items()}
            for section in ("tensors", "modules", "unknown", "life", "libraries", "statuses", "compilers")
        )
        self.devices, self.callables, self.containers, self.methods = (
            {name: kind for kind, names in sections[section].items() for name in names}
            for section in ("devices", "callables", "containers", "methods")
        )
        self.host_state, self.phases, self.operators, self._decorators = (
            {kind: re.compile("|".join(map(translate, names)) or "(?!)") for kind, names in sections[section].items()}
            for section in ("host_state", "phases", "operators", "decorators")
        )
        self.applied = frozenset(name.rpartition(".")[2] for name, does in self.callables.items() if does == "applied")
        self.tensor_classes = self.tensors["every"] | self.tensors["some"] | self.tensors["parameters"]
        self.tensor_tests = {name.rpartition(".")[2] for name in self.tensors["tests"]}
        self._types: Mapping[str, str] = sections["types"]
        self.device_types = frozenset(name for name, kind in self._types.items() if kind == "device")
        self._never = re.compile("|".join(map(translate, self.tensors["never"])))
        self._trained = re.compile("|".join(map(translate, self.modules["trained"])))
        self._namespaces = tuple(f"{namespace}." for namespace in self.modules["namespaces"])

    def promised(self, name: str) -> str | None:
        """The kind of value that a class or package stands for in an annotation."""
        return self._types.get(name) or self._types.get(f"{package_of(name)}.*")

    def guard(self, name: str) -> tuple[Value, ...] | None:
        """What a function of this name, or an attribute, answers at each moment, if it is a guard."""
        if name not in self._guards:
            told = (answers for pattern, answers in self._globs.items() if pattern.match(name))
            self._guards[name] = next(told, None)
        return self._guards[name]

    def property_made_by(self, decorator: str) -> str | None:
        """Whether a decorator of this name makes a method one of `properties`, or one whose value is `kept`."""
        return next((kind for kind in ("kept", "properties") if self._decorators[kind].match(decorator)), None)

    def takes_no_tensor(self, function: str) -> bool:
        """Whether a function takes numbers, or lists of them, and hardly ever tensors of the device."""
        return self._never.match(function) is not None

    def place(self, device: object) -> Place | None:
        """Where the data of tensors lies on devices of a `type`."""
        return PLACES.get(self.devices.get(device, "")) if isinstance(device, str) else None

    def place_asked(self, attribute: str) -> Place | None:
        """The place that an attribute of a tensor asks for, as `is_cuda` does."""
        return self.place(attribute.removeprefix("is_")) if attribute.startswith("is_") else None

    def place_named(self, function: str) -> Place | None:
        """The place that the name of a function says it is for, as `copy_cpu` does."""
        return self.place(function.rpartition("_")[2]) if "_" in function else None

    @property
    def base_module(self) -> str:
        """The class that modules derive from."""
        return str(next(iter(self.modules["base"])))

    def is_module(self, cls: str) -> bool:
        """Whether a class is one of modules, to judge by where it stands."""
        return cls.startswith(self._namespaces)

    def is_trained(self, cls: str) -> bool:
        """Whether a class is one of modules that may hold parameters, to judge by its name."""
        return self.is_module(cls) and self._trained.match(cls) is not None

    def is_optimizer(self, cls: str) -> bool:
        """Whether a class is one of torch's optimizers, to judge by where it stands."""
        named = self.host_state
        return named["optimizers"].match(cls) is not None and not self.is_scheduler(cls)

    def is_scheduler(self, cls: str) -> bool:
        """Whether a class changes the learning rate of an optimizer, to judge by its name."""
        last = cls.rpartition(".")[2]
        return any(self.host_state[kind].match(last) for kind in ("schedulers", "sweeps"))

    def owners(self, cls: str) -> tuple[str, ...]:
        """A class outside the project, and the one whose methods it has as well if it is one of modules."""
        return (cls, *self.modules["base"]) if self.is_module(cls) else (cls,)

    def is_catalogued(self, name: str) -> bool:
        """Whether the tables speak for what has this name."""
        return package_of(name) in self.libraries["catalogued"]

    def is_familiar(self, name: str) -> bool:
        """Whether a call of something outside the project that nobody knows is no hole."""
        return package_of(name) in self.libraries["familiar"] or self.is_catalogued(name)


def load_lexicon(*files: Path) -> Lexicon:
    """Read the tables; a later one adds to lists, and its other rows take the place of earlier. Raises UsageError."""
    sections: dict[str, dict[str, Any]] = {name: dict.fromkeys(LISTS.get(name, ()), ()) for name in SECTIONS}
    for file in files:
        table = read_table(file)
        check_names(table)
        for section, rows in table.data.items():
            known = sections[section]
            for name, row in rows.items():
                known[name] = (*known.get(name, ()), *row) if isinstance(row, list) else row
        _check_dtypes(table, sections["dtypes"])
    return Lexicon(sections)


def spelled(dtype: str) -> str:
    """The qualified name of a dtype."""
    return f"torch.{dtype}"


def package_of(name: str) -> str:
    return name.partition(".")[0]


def _answers(row: object) -> tuple[Value, ...]:
    """What a guard answers at each moment."""
    told = row if isinstance(row, dict) else dict.fromkeys(MOMENTS, row)
    return tuple(ANSWERS[told[moment]] if moment in told else Host("bool") for moment in MOMENTS)


def check_names(table: Table) -> None:
    """Raises UsageError for the first row that nobody would understand."""
    table.known(table.data, SECTIONS)
    for section, rows in table.data.items():
        table.expect(rows, dict, section)
        if section in LISTS:
            table.known(rows, LISTS[section], section)
        for name, row in rows.items():
            if section in LISTS or section == "dtypes":
                table.strings(row, section, name)
            elif section == "guards":
                _check_guard(table, name, row)
            elif section == "factories":
                _check_factory(table, name, row)
            else:
                table.expect(row, ROWS.get(section, str), section, name)
            if section == "types":
                _check_word(table, row, KINDS, section, name)


def _check_guard(table: Table, name: str, row: object) -> None:
    if isinstance(row, dict):
        table.known(row, MOMENTS, "guards", name)
    for answer in row.values() if isinstance(row, dict) else (row,):
        if not isinstance(answer, (bool, str)) or answer not in ANSWERS:
            said = f'`{name}`: `{answer}` is no answer; write true, false or "none", or a table of them'
            raise table.error(said, "guards", name)


def _check_factory(table: Table, name: str, row: dict[str, object]) -> None:
    table.expect(row, dict, "factories", name)
    table.known(row, FACTORY, "factories", name)
    for key, value in row.items():
        if type(value) is not FACTORY[key]:
            raise table.error(f"`{key}`: `{value}` is no {FACTORY[key].__name__}", "factories", name, at=key)
    _check_word(table, row.get("data"), DATA, "factories", name)


def _check_dtypes(table: Table, known: Collection[str]) -> None:
    """Raises UsageError for a factory of a dtype that no table has."""
    for name, row in table.data.get("factories", {}).items():
        _check_word(table, row.get("dtype"), known, "factories", name)


def _check_word(table: Table, word: object, known: Collection[str], *path: str) -> None:
    if word is not None and word not in known:
        raise table.error(f"`{word}` is not one of {', '.join(known)}{nearest(str(word), known)}", *path)
