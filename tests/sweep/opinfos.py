"""Samples of the OpInfo database: an entry in, its samples spelled as statements out."""

from __future__ import annotations

import functools
import itertools
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo, SampleInput

from tests.sweep.sample import Program, Sample, Trial, fresh
from tests.sweep.spelling import Speller, describe

DTYPES = (torch.float32, torch.complex64, torch.int64, torch.bool, torch.float16, torch.bfloat16)
SCANNED = 200  # a few entries have thousands of samples
SPELLED_OTHERWISE = 2  # samples that are observed in every form

# Entries whose callable takes its arguments in another order than the operation, or does something more.
TEMPLATES = {
    "einsum": "torch.einsum({1}, {0})",
    "linalg.lstsq.grad_oriented": "torch.linalg.lstsq({all})[:2]",
    "linalg.pinv.singular": "torch.linalg.pinv({0} @ {1}.mT{rest})",
    "nn.functional.embedding": "torch.nn.functional.embedding({1}, {0}{rest})",
    "nn.functional.embedding_bag": "torch.nn.functional.embedding_bag({1}, {0}{rest})",
    "normal.number_mean": "torch.normal({1}, {0}{rest})",
    "pca_lowrank": "torch.pca_lowrank({0} @ {1}.mT{rest})",
    "resize_": "{0}.clone().resize_({1}{rest})",
    "resize_as_": "{0}.clone().resize_as_({1}{rest})",
    "svd_lowrank": "torch.svd_lowrank({0} @ {1}.mT{rest})",
    "where": "torch.where({1}, {0}{rest})",
    "zero_": "torch.zero_({0}.clone())",
} | {
    name: f"torch.{prefix}polygamma({{1}}, {{0}})"
    for prefix in ("", "special.")
    for name in [f"{prefix}polygamma.{prefix.replace('.', '_')}polygamma_n_{n}" for n in range(5)]
}
NAMESAKES = {"max_pool2d_with_indices_backward"}  # computes something else than the operator of that name
SYMBOLS = {
    "add": "+", "and_": "&", "eq": "==", "floordiv": "//", "ge": ">=", "gt": ">", "le": "<=", "lshift": "<<", "lt": "<",
    "matmul": "@", "mod": "%", "mul": "*", "ne": "!=", "or_": "|", "pow": "**", "rshift": ">>", "sub": "-",
    "truediv": "/", "xor": "^", "abs": "abs", "invert": "~", "neg": "-",
}  # fmt: skip


def entries() -> dict[str, OpInfo]:
    return {entry_name(op): op for op in op_db}


def entry_name(op: OpInfo) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def samples(op: OpInfo, device: str, count: int) -> Iterator[Sample]:
    supported = op.supported_dtypes(device)
    dtype = next((one for one in DTYPES if one in supported), None) or min(supported, key=str, default=None)
    if dtype is None:
        return
    for number, given in chosen(op, device, dtype, count, requires_grad=False):
        yield from forms(op, given, number, SPELLED_OTHERWISE > number, number == 0)
    if op.supports_autograd and dtype.is_floating_point:
        for number, given in chosen(op, device, dtype, count, requires_grad=True):
            yield function_form(op, given, number, backward=True)


def chosen(
    op: OpInfo, device: str, dtype: torch.dtype, count: int, *, requires_grad: bool
) -> Iterator[tuple[int, SampleInput]]:
    """Some samples, evenly spread, so that the patterns of arguments vary; the same ones every time."""
    torch.manual_seed(0)
    np.random.seed(0)
    random.seed(0)
    found = list(itertools.islice(op.sample_inputs(device, dtype, requires_grad=requires_grad), SCANNED))
    picked = {len(found) * number // min(count, len(found)) for number in range(min(count, len(found)))}
    return enumerate(found[place] for place in sorted(picked))


def forms(op: OpInfo, given: SampleInput, number: int, every: bool, aliases: bool) -> Iterator[Sample]:
    yield function_form(op, given, number)
    leaf = op.name.rpartition(".")[2]
    positional, keywords = (given.input, *given.args), given.kwargs
    is_tensor = isinstance(given.input, torch.Tensor)
    if every and is_tensor and op.get_method() is not None and not qualified(op)[1] and hasattr(torch.Tensor, leaf):
        yield method_form(op, leaf, given, number, "method")
    if every and is_tensor and op.get_inplace() is not None and not given.broadcasts_input and leaf[-1] != "_":
        if hasattr(torch.Tensor, f"{leaf}_"):
            yield method_form(op, f"{leaf}_", given, number, "inplace")
        elif op.name.startswith("nn.functional."):
            speller = Speller()
            text = speller.call(f"torch.{op.name}", positional, keywords | {"inplace": True})
            yield spelled(op, f"torch.{op.name}", text, speller, number, "inplace")
    operator = getattr(op.operator_variant, "__name__", "")
    if every and is_tensor and operator in SYMBOLS and not keywords and len(positional) <= 2:
        speller = Speller()
        parts = [speller.value(one) for one in positional]
        symbol = SYMBOLS[operator]
        text = f" {symbol} ".join(parts) if len(parts) == 2 else f"{symbol}({parts[0]})"
        yield spelled(op, f"operator.{operator}", text, speller, number, "operator")
    for alias in op.aliases if aliases else ():
        speller = Speller()
        text = speller.call(f"torch.{alias.name}", positional, keywords)
        yield spelled(op, f"torch.{alias.name}", text, speller, number, f"alias {alias.name}")


def function_form(op: OpInfo, given: SampleInput, number: int, *, backward: bool = False) -> Sample:
    operation, is_method = qualified(op)
    positional, keywords = (given.input, *given.args), given.kwargs
    speller = Speller()
    template = TEMPLATES.get(entry_name(op))
    if template:
        parts = [speller.value(one) for one in positional]
        rest = speller.arguments(positional[len(set(re.findall(r"{(\d)}", template))) :], keywords)
        everything = speller.arguments(positional, keywords)
        text = template.format(*parts, rest=f", {rest}" if rest else "", all=everything)
    elif op.name == "__getitem__":
        text = f"{speller.value(given.input)}[{speller.index(given.args[0])}]"
    elif op.name.startswith("__r") and isinstance(given.args[0], int | float | complex):
        operand = speller.value(given.input)
        symbol = SYMBOLS.get({"div": "truediv", "and": "and_", "or": "or_"}.get(op.name[3:-2], op.name[3:-2]))
        text = f"{speller.value(given.args[0])} {symbol} {operand}"
    elif is_method:
        leaf = operation.rpartition(".")[2]
        receiver = speller.value(given.input)
        is_called = callable(getattr(torch.Tensor, leaf))
        text = f"{receiver}.{leaf}" + (f"({speller.arguments(given.args, keywords)})" if is_called else "")
    else:
        text = speller.call(operation or "op", positional, keywords)

    by_callable = Speller()
    plain = by_callable.call("op", positional, keywords)
    by_callable.complete = False
    otherwise = spelled(op, operation, plain, by_callable, number, "function", given, backward=backward)
    if not operation:
        return otherwise
    sample = spelled(op, operation, text, speller, number, "function", given, backward=backward)
    return replace(sample, otherwise=replace(otherwise, facts=sample.facts | {"spelled": False}))


def method_form(op: OpInfo, leaf: str, given: SampleInput, number: int, form: str) -> Sample:
    speller = Speller()
    receiver = speller.value(given.input)
    text = f"{receiver}.{leaf}({speller.arguments(given.args, given.kwargs)})"
    return spelled(op, f"torch.Tensor.{leaf}", text, speller, number, form)


def spelled(
    op: OpInfo,
    operation: str,
    text: str,
    speller: Speller,
    number: int,
    form: str,
    given: SampleInput | None = None,
    *,
    backward: bool = False,
) -> Sample:
    kind = "backward" if backward else "forward"
    program = Program(text)
    operands = dict(speller.operands)

    def make() -> Trial:
        namespace = {name: fresh(value) for name, value in operands.items()}
        leaves = [name for name, value in operands.items() if getattr(value, "requires_grad", False) and backward]
        wanted = tuple(namespace[name].requires_grad_() for name in leaves)
        namespace |= {"torch": torch, "op": op.op}
        if backward:
            return Trial(program, namespace, wanted, given.output_process_fn_grad)
        return Trial(program, namespace)

    facts: dict[str, object] = {
        "operation": operation or op.name,
        "statement": text if operation else op.name + text.removeprefix("op"),
        "spelled": speller.complete,
        "form": form.partition(" ")[0],
        "pass": kind,
        "opinfo": entry_name(op),
        "operands": {name: describe(value) for name, value in operands.items()},
    }
    if not operation:
        facts["unresolved"] = True
    return Sample(f"{entry_name(op)}/{form}/{kind}/{number}", facts, make)


def qualified(op: OpInfo) -> tuple[str, bool]:
    """The public name of an entry's operation, empty where there is none, and whether it is a method."""
    in_place = entry_name(op) == "normal.in_place"
    if not in_place and callable(resolve(op.name)):
        return f"torch.{op.name.removeprefix('torch.')}", False
    for leaf in [f"{op.name}_"] if in_place else [op.name, f"{op.name}_"]:
        if hasattr(torch.Tensor, leaf):
            return f"torch.Tensor.{leaf}", True
    if op.name not in NAMESAKES and callable(resolve(f"ops.aten.{op.name}")):
        return f"torch.ops.aten.{op.name}", False
    return "", False


def resolve(path: str) -> object:
    names: Sequence[str] = path.removeprefix("torch.").split(".")
    return functools.reduce(lambda owner, name: getattr(owner, name, None), names, torch)
