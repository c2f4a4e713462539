"""A fact about torch stands once, in a table of `rules/`: the static half names what it is about nowhere."""

from __future__ import annotations

import ast
import builtins
import collections
import re
import sys
import tomllib
import types
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from graphlint.rulebook import TABLES, builtin_rules, lexicon, load_rulebook, schema

CHECKOUT = Path(__file__).resolve().parent.parent
STATIC = CHECKOUT / "graphlint" / "static"
RULEBOOK = load_rulebook(builtin_rules())

# Words that name something of torch, with the reason why no other release needs another word.
ALLOWED = {
    "apply": "what an autograd function is run by, as `__call__` runs others",
    "autocast": "the context manager whose cache graphed callables refuse",
    "backend": "a parameter of functions that make process groups",
    "bfloat16": "the method that casts a module",
    "bias": "the argument by which a module adds nothing to what it is given",
    "Buffer": "how names of buffers end",
    "capture_begin": "the method that begins a capture by hand",
    "clone": "the method that copies",
    "copy_": "the method that spreads one row over several",
    "cpu": "the method that moves to the host",
    "cudagraph_mark_step_begin": "the call that begins a step of what is compiled",
    "data_ptr": "the method that gives an address, by which tables of the host are kept",
    "deepcopy": "a function of Python's `copy`",
    "dynamic": "the keyword that says whether what is compiled takes any size",
    "destroy_process_group": "what waits for graphs that hold collectives",
    "detach": "the method that looks into a tensor",
    "dim": "a parameter in the rows of the catalogue",
    "disable": "how the names of functions end that switch a setting off",
    "double": "the method that casts a module",
    "enable": "how the names of functions end that switch a setting on",
    "exception": "a word of an event",
    "ExternalStream": "the class of streams of other libraries, by how their names end",
    "forward": "the method that a module or an autograd function brings",
    "full": "how the names of functions begin that make a tensor of one number",
    "grad": "the attribute that holds a gradient",
    "grad_fn": "an attribute of tensors",
    "H": "an attribute that looks into a tensor",
    "half": "the method that casts a module",
    "inf": "what Python calls a number that is not finite",
    "init_process_group": "what makes the first process group",
    "int64": "the dtype of positions, which kinds of results in the catalogue speak of",
    "is_leaf": "an attribute of tensors",
    "kernel": "a word of an event",
    "load_state_dict": "the method that loads weights",
    "make_graphed_callables": "the kind of a region",
    "manual_seed": "how the names of functions begin that set a seed",
    "memory_format": "a parameter in the rows of the catalogue",
    "mode": "a parameter of `train`",
    "Module": "how names of modules end",
    "momentum": "what schedules sweep beside the learning rate",
    "mT": "an attribute that looks into a tensor",
    "named_modules": "a method that leads to every child of a module",
    "narrow": "the method that gives a part",
    "ndim": "the rank, which values have",
    "new_group": "what makes another process group",
    "current_device": "a function that gives a number of the host, of which there is one for each device",
    "numel": "a method of `torch.Size`, which is a tuple",
    "param_groups": "the attribute of an optimizer whose values schedules change",
    "Parameter": "how names of parameters end",
    "params": "the parameter of an optimizer that has what it trains, and the key of that in its groups",
    "pin_memory": "a parameter in the rows of the catalogue",
    "record": "a method of events",
    "record_event": "a method of streams",
    "register_buffer": "a method that gives a module a tensor",
    "register_forward_hook": "a method that gives a module a hook",
    "register_forward_pre_hook": "a method that gives a module a hook",
    "register_full_backward_hook": "a method that gives a module a hook",
    "register_generator_state": "a method that tells a graph of a generator",
    "requires_grad": "a keyword of what makes tensors",
    "requires_grad_": "a method with the name of one that works in place, which leaves the values as they are",
    "reset": "a method of graphs",
    "resize_": "the method that gives a tensor other memory",
    "seed": "a parameter of functions that set one",
    "set_": "the method that gives a tensor other memory",
    "set_device": "what makes a device current",
    "set_stream": "what makes a stream current",
    "size": "a parameter in the rows of the catalogue",
    "step": "the method of an optimizer, behind which weights are others",
    "Size": "the class of shapes, by how its name ends",
    "stream": "a parameter of what captures, and of events",
    "synchronize": "a method of streams and events, and a function",
    "T": "an attribute that looks into a tensor",
    "to": "the method that moves and casts",
    "tolist": "the method that reads back",
    "train": "the method that switches a module's mode",
    "unbind": "the method that gives parts",
    "view": "the method that looks into a tensor",
    "wait": "a method of events and handles",
    "wait_event": "a method of streams",
    "wait_stream": "a method of streams",
    "Work": "the class of handles of collectives, by how its name ends",
    "zero_": "the method that resets",
    "zero_grad": "a method of optimizers and modules",
}
# Words that happen to name something of torch as well, with what they mean.
OTHERS = {
    "inference_mode": "a context manager that rehearsals follow by its last name",
    "*": "an argument with a star",
    "@": "an operator",
    "": "nothing",
    "Generator": "typing",
    "__post_init__": "a method of dataclasses",
    "__set_name__": "a method of descriptors",
    "check": "a command of graphlint",
    "cuda_graph": "a keyword of what captures",
    "func": "a word that says nothing of a callee",
    "function": "a word that says nothing of a callee",
    "graph": "part of the names of tables of graphs",
    "ignore": "how warnings are filtered, and bytes decoded",
    "item": "what is read of a container",
    "mark": "where a statement of the IR stands",
    "matmul": "`__matmul__`",
    "module": "a word that says nothing of a callee",
    "mul": "`__mul__`",
    "name": "a keyword of `register_buffer` and its like",
    "put": "the method that gives a queue something",
    "replay": "a method that launches a graph",
    "searchsorted": "the search in sizes that NumPy has, as `bisect` is that of Python",
    "sub": "`__sub__`",
}


def strings(source: str) -> Iterator[tuple[int, str]]:
    """The string literals of a module and their lines; those in braces too, docstrings left out."""
    tree = ast.parse(source)
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, holders) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.lineno, node.value


def words(data: object) -> Iterator[str]:
    """All keys and strings of a table."""
    if isinstance(data, dict):
        yield from data
        yield from words(list(data.values()))
    elif isinstance(data, list):
        for one in data:
            yield from words(one)
    elif isinstance(data, str):
        yield data


def told() -> set[str]:
    """Everything that the tables of names and regions, and the rows and aliases of the catalogue, speak of."""
    _, names, regions = (tomllib.loads((builtin_rules() / table).read_text("utf-8")) for table in TABLES)
    graphing = [entry["graphing"] for entry in regions["entry"] if "graphing" in entry]
    return {
        *RULEBOOK.catalogue,
        *RULEBOOK.catalogue.aliases,
        *RULEBOOK.entries.by_name,
        *words(graphing),
        *words(list(names.values())),
    }


NAMES = told()
PACKAGES = {name.partition(".")[0] for name in NAMES if "." in name} - sys.stdlib_module_names - {"builtins"}
PYTHON = {
    *dir(builtins),
    *sys.stdlib_module_names,
    *(n for t in (list, dict, set, str, int, float, type, types.FunctionType, collections.deque) for n in dir(t)),
}
TABLES_OWN = {*schema.RETURNS, *lexicon.KINDS, *lexicon.MOMENTS, *lexicon.FACTORY, *lexicon.DATA}
TABLES_OWN |= {*lexicon.SECTIONS, *(word for kinds in lexicon.LISTS.values() for word in kinds)}
LAST_NAMES = {name.rpartition(".")[2] for name in NAMES} - PYTHON - TABLES_OWN
QUALIFIED = re.compile(rf"(?<![\w.])(?:{'|'.join(sorted(PACKAGES | {'aten', 'vllm', 'transformers'}))})(?:\.|::|$)")


def qualified(source: str) -> list[str]:
    """The literals of a module that hold the name of a package, or of something in it."""
    return [text for _, text in strings(source) if QUALIFIED.search(text)]


def last_names(source: str) -> set[str]:
    """The literals of a module that are the last name of something in the tables."""
    return {text for _, text in strings(source)} & LAST_NAMES


def modules() -> Iterable[Path]:
    return sorted(STATIC.rglob("*.py"))


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.relative_to(STATIC).as_posix())
def test_the_static_half_holds_no_name_of_a_library(module: Path) -> None:
    """Neither of torch nor of another; names of Python's own modules are the language."""
    assert [] == qualified(module.read_text(encoding="utf-8"))


def test_words_that_name_something_of_torch_have_a_reason() -> None:
    """Those that stand in the static half, and no others."""
    found = set().union(*(last_names(module.read_text(encoding="utf-8")) for module in modules()))
    assert found == ALLOWED.keys() | OTHERS.keys()


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('if name == "torch.vmap": pass', ["torch.vmap"]),
        ('NAMES = {"torch": 1}', ["torch"]),
        ('find(f"torch.Tensor.{name}")', ["torch.Tensor."]),
        ('name.startswith("aten::")', ["aten::"]),
        ('name == "numpy.ndarray"', ["numpy.ndarray"]),
        ('re.compile(r"from torch.nn import")', ["from torch.nn import"]),
        ('"""What `torch.vmap` does."""', []),
        ('name == "functools.cache"', []),
        ('name == "torchlike"', []),
        ('name == "pytorch"', []),
    ],
)
def test_a_name_of_a_library_is_seen(source: str, expected: list[str]) -> None:
    """Whole, in pieces and within a longer text; what Python brings and what docstrings say is left alone."""
    assert expected == qualified(source)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('if member == "ModuleList": pass', {"ModuleList"}),
        ('NAMES = frozenset({"is_current_stream_capturing", "x"})', {"is_current_stream_capturing"}),
        ('mode == "reduce-overhead"', {"reduce-overhead"}),
        ('dtype == "bfloat16"', {"bfloat16"}),
        ('name == "save_on_cpu"', {"save_on_cpu"}),
        ('device == "cuda"', {"cuda"}),
        ('name == "item"', {"item"}),
        ('name == "append"', set()),
        ('does == "registers"', set()),
    ],
)
def test_the_last_part_of_a_name_is_seen(source: str, expected: set[str]) -> None:
    """Of a function, a method, a class, a dtype, a mode or a device; the words of the tables themselves are none."""
    assert expected == last_names(source)
