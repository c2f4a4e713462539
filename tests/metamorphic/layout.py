"""Edits of what nobody runs: spaces, line breaks, quotes, comments and blank lines."""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Iterator

from metamorphic.sources import Change, Source, Sources

_WORDS = (tokenize.NAME, tokenize.NUMBER, tokenize.STRING)
_LINE_ENDS = {tokenize.NEWLINE, tokenize.NL, tokenize.COMMENT, tokenize.ENDMARKER, tokenize.INDENT, tokenize.DEDENT}
_CODE_LIKE = (
    "self.{0} = None",
    "self.{0}=None",
    "{0}.copy_({0})",
    "{0}[0] = {0}",
    '{0}["key"] = {0}',
    "{0} += 1",
    '{0}.to("cuda")',
    "{0}.append({0})",
    "global {0}",
)


def squeezed(sources: Sources) -> Iterator[Change]:
    """`self.scale=f('x',dim=0)`: no space that is not needed, and `'...'` for `"..."`."""
    for source in sources:
        yield from _other_quotes(source)
        for left, right, _ in _gaps(source):
            start, end = source.token_at(left.end), source.token_at(right.start)
            if start < end and not (left.type in _WORDS and right.type in _WORDS):
                yield source.change(start, end, "")


def spread_out(sources: Sources) -> Iterator[Change]:
    """Spaces around operators, a line for each argument and for each method of a chain, and blank lines, spaces and
    empty comments between all statements."""
    for source in sources:
        for statement in source.statements:
            yield source.before(statement, "\n    \n#\n\n")
        for left, right, depth in _gaps(source):
            start, end = source.token_at(left.end), source.token_at(right.start)
            if (depth and left.type == tokenize.OP and left.string in "([{,") or (
                depth and left.string == ")" and right.string == "."
            ):
                yield source.change(start, end, "\n" + " " * 8)
            elif "=" in (left.string, right.string) or left.string == "," or right.string == "(":
                yield source.change(start, end, "  ")
        yield from _parenthesised(source)


def comments(sources: Sources) -> Iterator[Change]:
    """Comments and strings that nobody reads with assignments, changes in place and stores under the names around."""
    for source in sources:
        for node in [source.tree, *source.definitions()]:
            first = next((s for s in node.body if s in source.statements and not _is_future(s)), None)
            if first is not None:
                indent = source.indent(first)
                lines = [line.format(name) for name in _names_in(node) for line in _CODE_LIKE]
                note = "".join(f"{indent}# {line}\n" for line in lines)
                string = "".join(f"{indent}{line}\n" for line in lines)
                yield source.before(first, f"{note}{indent}'''\n{string}{indent}'''\n")


def _gaps(source: Source) -> Iterator[tuple[tokenize.TokenInfo, tokenize.TokenInfo, int]]:
    """Neighbours on a line, outside of strings and comments, with the number of brackets that are open."""
    depth = strings = 0
    for left, right in zip(source.tokens, source.tokens[1:], strict=False):
        kind = tokenize.tok_name[left.type]
        strings += (kind == "FSTRING_START") - (kind == "FSTRING_END")
        if left.type == tokenize.OP and not strings:
            depth += (left.string in "([{") - (left.string in ")]}")
        if not strings and left.end[0] == right.start[0] and not {left.type, right.type} & _LINE_ENDS:
            yield left, right, depth


def _other_quotes(source: Source) -> Iterator[Change]:
    for token in source.tokens:
        text = token.string
        simple = token.type == tokenize.STRING and text[0] == text[-1] == '"' and text[:2] != '""'
        if simple and not set("'\\\n") & set(text):
            start = source.token_at(token.start)
            yield source.change(start, start + len(text), f"'{text[1:-1]}'")


def _parenthesised(source: Source) -> Iterator[Change]:
    """`x = (\\n f(y)\\n)`."""
    for statement in source.simple:
        value = getattr(statement, "value", None)
        if isinstance(statement, (ast.Assign, ast.Return)) and isinstance(value, (ast.Call, ast.BinOp, ast.Attribute)):
            yield from source.around(value, "(\n        ", "\n    )")


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _names_in(node: ast.AST) -> list[str]:
    """The names that stand in it, those of attributes among them, in order."""
    nodes = list(ast.walk(node))
    names = {n.attr for n in nodes if isinstance(n, ast.Attribute)}
    return sorted(names | {n.id for n in nodes if isinstance(n, ast.Name)})
