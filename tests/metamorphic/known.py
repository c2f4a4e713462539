"""What the edits know of code outside of a program: names of members, modules, and the parameters of functions."""

from __future__ import annotations

import tomllib
from functools import cache

from graphlint.rulebook import builtin_rules

# Members of modules, optimizers, functions and graphs of torch that the catalogue of operations does not list.
_OTHERS = """
add_module apply backward bias buffers capture_begin capture_end data device dtype enable_timing eval exc_info
extra_repr forward grad grad_fn grad_sample grads graph hidden_size in_features is_leaf jvp keys load_state_dict lr
mark_dirty modules named_parameters needs_input_grad next out_features param_groups parameters pool ready
register_buffer register_forward_hook register_full_backward_hook register_parameter replay requires_grad reset
reset_parameters running_mean running_var save_for_backward saved_tensors setup_context shape size state state_dict
step stream strides synchronize to train training value values vjp weight zero_grad
"""


@cache
def signatures() -> dict[str, tuple[str, ...]]:
    """The parameters of operations by qualified name, where all can be given by keyword."""
    found = {}
    for name, signature in _operations():
        parameters = tuple(part.partition(":")[0] for part in signature.split(", ") if part)
        if signature and not any(parameter.startswith(("*", "...")) for parameter in parameters):
            found[name] = parameters
    return found


@cache
def tensor_methods() -> dict[str, tuple[str, ...]]:
    """The parameters of the methods that only tensors have."""
    methods = {name.rpartition(".")[2]: p for name, p in signatures().items() if name.startswith("torch.Tensor.")}
    others = {name.rpartition(".")[2] for name, _ in _operations() if not name.startswith(("torch.Tensor.", "torch."))}
    return {name: p for name, p in methods.items() if name not in others | builtin_members()}


@cache
def members() -> frozenset[str]:
    """Names after a dot that somebody outside of a program gives."""
    return frozenset({name.rpartition(".")[2] for name, _ in _operations()} | builtin_members() | set(_OTHERS.split()))


@cache
def builtin_members() -> frozenset[str]:
    kinds = (str, bytes, list, tuple, dict, set, int, float, object, type, type(open))
    return frozenset(name for kind in kinds for name in dir(kind))


def module_length(names: list[str]) -> int:
    """How many of the parts of a dotted name are modules."""
    found = max((n for n in range(1, len(names) + 1) if ".".join(names[:n]) in _namespaces()), default=1)
    return found if names[found - 1].islower() else found - 1


@cache
def _namespaces() -> frozenset[str]:
    return frozenset(_read()["operations"])


@cache
def _operations() -> list[tuple[str, str]]:
    """Each operation with its parameters as they are written; an attribute has none."""
    found = []
    for namespace, blocks in _read()["operations"].items():
        for kind, block in blocks.items():
            for line in block.split("\n") if kind != "base" else ():
                name, parenthesis, rest = line.partition("(")
                if name:
                    found.append((f"{namespace}.{name}", rest.removesuffix(")") if parenthesis else ""))
    return found


@cache
def _read() -> dict:
    return tomllib.loads((builtin_rules() / "operations.toml").read_text("utf-8"))
