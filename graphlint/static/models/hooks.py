"""Hooks of modules in, their calls out: what is registered on a module is called whenever that is."""

from __future__ import annotations

from dataclasses import replace

from graphlint.static.domain.contexts import Frame
from graphlint.static.domain.evaluator import Evaluator
from graphlint.static.domain.program import Instance
from graphlint.static.syntax import ir
from graphlint.values import NONE, UNKNOWN, Arguments, Const, ExternalObject, Mapping, Sequence, Value, members, union
from graphlint.values.queries import truth

_BEFORE, _AFTER = "pre_hooks", "hooks"  # the methods that register them, in the words of the lexicon
_KEPT = {(kind, named): f"<{kind}{' with keywords' * named}>" for kind in (_BEFORE, _AFTER) for named in (False, True)}
_HANDLE = "<hook>"  # what registering gives, and its method
_REMOVE = "remove"


class Hooks:
    """What is hooked to modules: objects of the program keep it as attributes, those of torch as arguments."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.is_used = False
        self.removed: set[Value] = set()

    def call_method(
        self, method: str, receiver: Value, arguments: Arguments, node: ir.Call | None, frame: Frame
    ) -> Value | None:
        """Register a hook or remove it; None if a method does neither."""
        kind = self.evaluator.lexicon.methods.get(method)
        if method == _REMOVE and isinstance(receiver, ExternalObject) and receiver.cls == _HANDLE:
            self.removed.update(members(receiver.argument("hook") or NONE))
            return NONE
        hook = arguments.positional[0] if arguments.positional else arguments.keyword("hook")
        if kind not in (_BEFORE, _AFTER) or hook is None or node is None or not isinstance(node.func, ir.Attribute):
            return None
        self.is_used = True
        self.evaluator.hooked(hook)
        name = _KEPT[kind, truth(arguments.keyword("with_kwargs") or NONE) is True]
        self.removed.difference_update(members(hook))
        if isinstance(receiver, Instance):
            self.evaluator.write_attribute(receiver, name, hook, node, frame)
        elif isinstance(receiver, ExternalObject):
            others = tuple(held for held in receiver.arguments if held[0] != name)
            hooks = union((hook, *members(receiver.argument(name) or hook)))
            self.evaluator.put_back(node.func.value, replace(receiver, arguments=(*others, (name, hooks))), frame)
        return ExternalObject(_HANDLE, (("hook", hook),))

    def run(
        self, module: Instance | ExternalObject, arguments: Arguments, result: Value, node: ir.Call | None, frame: Frame
    ) -> Value:
        """Call what is hooked to a module that has been called; gives what comes out in the end."""
        if not self.is_used or not frame.in_region:
            return result
        held = self.evaluator.held(module) if isinstance(module, Instance) else dict(module.arguments)
        given = Sequence("tuple", arguments.positional) if arguments.star is None else UNKNOWN
        named = Mapping(tuple((Const(name), value) for name, value in arguments.keywords))
        for (kind, takes_keywords), name in _KEPT.items():
            for hook in members(held.get(name, NONE)):
                if hook != NONE and hook not in self.removed:
                    values = [
                        module,
                        given,
                        *([named] if takes_keywords else []),
                        *([result] if kind == _AFTER else []),
                    ]
                    changed = self.evaluator.call(hook, Arguments(tuple(values)), node, frame)
                    result = _replaced(result, changed) if kind == _AFTER else result
        return result


def _replaced(result: Value, given: Value) -> Value:
    """What comes out of a module behind a hook: what that gives, unless it may be nothing."""
    known = [member for member in members(given) if member != NONE]
    is_sure = known == list(members(given)) and UNKNOWN not in known
    return given if is_sure else union((result, *known))
