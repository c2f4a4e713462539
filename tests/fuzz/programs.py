"""Choices in, programs out: templates are filled with templates, and repeated or put into themselves many times.

In a template, `$e` is an expression, `$t` a target, `$n` a name, `$m` a method, `$f` a function of torch, `$u` one of
Python's own, `$d` the parameters of a definition, and `$b` a block, `$l` that of a loop, `$r` that of a function.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[str]], str]

PRELUDE = """\
import torch, functools, itertools, copy
from torch import nn

x = torch.ones(4, device="cuda")
graph = torch.cuda.CUDAGraph()
"""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


MANY = (1, 1, 1, 1, 2, 3, 12, 60)  # times
DEEP = (0, 0, 0, 1, 2, 12, 40)
LONGEST = 4_000  # characters of a statement

NAMES = _words("a b c f g x n graph self C odd")
METHODS = _words(
    "append extend insert pop update items keys values get setdefault copy add clear index count sort remove join"
    " format replace split strip center encode item sum cuda cpu to copy_ tolist numel size shape view any nonzero"
    " fill_ resize_ backward grad data step zero_grad state_dict capture_begin capture_end replay pool forward train"
    " eval register_buffer register_forward_hook parameters __len__ __getitem__ __iter__ __enter__ __class__ __dict__ m"
)
PYTHON = _words(
    "range len list tuple dict set frozenset sorted zip map filter enumerate min max sum abs int float str bool bytes"
    " isinstance issubclass getattr setattr hasattr delattr type iter next print reversed id super vars slice round"
    " divmod pow any all open repr callable functools.partial functools.reduce functools.lru_cache itertools.chain"
    " itertools.product itertools.repeat copy.deepcopy copy.copy property staticmethod classmethod object exec locals"
)
TORCH = _words(
    "tensor ones zeros_like empty cat stack where nonzero arange as_tensor full randn manual_seed no_grad compile"
    " cuda.graph cuda.stream cuda.Stream cuda.Event cuda.synchronize cuda.make_graphed_callables cuda.CUDAGraph"
    " cuda.graph_pool_handle cuda.current_stream cuda.is_current_stream_capturing device jit.script optim.Adam"
    " optim.SGD nn.Linear nn.Sequential nn.ModuleList nn.ModuleDict nn.Parameter nn.functional.one_hot"
    " autograd.Function utils.checkpoint.checkpoint distributed.all_reduce cuda.amp.GradScaler Generator"
)
CONSTANTS = _words(
    "0 1 -1 2 3 1.5 1e308 -0.0 1j True False None ... 'a' '' b'a' '%s' '{}' '{0[a]}' '{:{}}' '%*d' 'a.b' '__init__'"
    " 'cuda' 'cpu' '\\x1b[31m' '\\ud800' '\\0' 10**9 99999999999999999999 1<<40 [] () {} slice(None) x.device"
)

EXPRESSIONS = """\
[$e, $e]
($e, $e)
{$e, $e}
{$e: $e, 'k': $e}
{**$e, **$e, 'k': $e}
[*$e, *$e]
[$e for $n in $e]
[$e for $n in $e for $t in $e if $e]
{$n: $e for $n in $e}
{$e for $n in $e}
($e for $n in $e)
($e + $e)
($e * $e)
($e - $e)
($e // $e)
($e % $e)
($e ** $e)
($e << $e)
($e @ $e)
($e | $e)
($e < $e <= $e)
($e in $e)
($e is not $e)
($e and $e)
($e or $e)
(not $e)
(-$e)
(~$e)
($e if $e else $e)
(lambda $n: $e)
(lambda *a, **k: $e)
(n := $e)
$n($e)
$n($e, $e)
$n(*$e, **$e)
$n(a=$e)
$n.$m
$n.$m()
$n.$m($e)
$n.$m($e, $e)
$n.$m(*$e)
$e[$e]
$e[$e:$e]
$e[..., None, $e]
$e.$m
$e($e)
f'{$n}{$n.$m}'
f'{$n!r:>10}{$n:{n}}'
$u()
$u($e)
$u($e, $e)
$u(*$e)
torch.$f()
torch.$f($e)
torch.$f($e, $e)
torch.$f(*$e, **$e)
torch.$f($e, device='cuda')
torch.$f($e, capturable=$e)
super().$m($e)
""".splitlines()
SIMPLE = """\
$t = $e
$t = $t = $e
$n, *c = $e
$n: $e = $e
$n += $e
$n *= $e
$n.$m -= $e
$e
assert $e, $e
del $t
import odd as $n
from odd import $n
import $n.$m
pass
""".splitlines()
_BLOCKS = """\
with torch.cuda.graph(graph):
    $b

with torch.cuda.graph($e, stream=$e):
    $b

with torch.cuda.stream($e) as $t:
    $b

with $e as $t, $e:
    $b

if $e:
    $b

if $e:
    $b
elif $e:
    $b
else:
    $b

for $t in $e:
    $l
else:
    $b

for $n in range($e):
    $l

while $e:
    $l

try:
    $b
except $e as c:
    $b
finally:
    $b

match $e:
    case [$n, *c]:
        $b
    case {'k': $n, **c}:
        $b
    case C($n, m=$n):
        $b
    case 1 | 'a' | None if $e:
        $b
    case _:
        $b

def $n($d):
    $r

@$e
def $n($d):
    $r

async def $n($d):
    $r

class C($e):
    $b

@$e
class C(nn.Module):
    m = $e
    def __init__(self, $d):
        $r
    def forward(self, $d):
        $r

class C(torch.autograd.Function):
    @staticmethod
    def forward(ctx, $d):
        $r"""
IN_FUNCTIONS = (
    "return $e", "return $e, $e", "yield $e", "$n = yield $e", "yield from $e", "raise $e", "global g", "return",
)  # fmt: skip
IN_LOOPS = ("break", "continue")
TARGETS = ("$n", "$n", "$n", "$n.$m", "$n[$e]", "$n, $n", "[$n, $n]", "$n[$e:$e]", "($n, ($n, $n))")
PARAMETERS = ("", "a", "a, b=$e", "*a, **k", "a, /, b, *, c=$e", "a: $e, b: 'C' = $e", "self, x")


COMPOUND = _BLOCKS.split("\n\n")
_HOLE = re.compile(r"^( *)\$([blr])$|\$([etnmfud])", re.MULTILINE)
_PARTS = {"t": TARGETS, "d": PARAMETERS}
_WORDS = {"n": NAMES, "m": METHODS, "u": PYTHON, "f": TORCH}


class Grammar:
    """Fills templates by what `choose` gives of several."""

    def __init__(self, choose: Callable[[Sequence[Any]], Any], size: int) -> None:
        self._choose = choose
        self._left = size  # templates; what is left open then, words fill

    def program(self) -> str:
        """A module with a region."""
        top = [self._statement("") for _ in range(self._choose((0, 1, 2, 4)))]
        return "\n".join([PRELUDE, *top, "with torch.cuda.graph(graph):", self._block("    ", ""), ""])

    def _block(self, indent: str, inside: str) -> str:
        """Statements; `inside` says where: in a loop (`l`), a function (`r`)."""
        made = [self._statement(inside) for _ in range(self._choose((1, 1, 2, 3)))]
        return textwrap.indent("\n".join(made), indent)

    def _statement(self, inside: str) -> str:
        """One, often many times over: as it is, or inside itself."""
        self._left -= 1
        more = (*(IN_LOOPS if "l" in inside else ()), *(IN_FUNCTIONS if "r" in inside else ()))
        template = self._choose(SIMPLE if self._left < 0 else (*SIMPLE, *COMPOUND, *COMPOUND, *more))
        made = self._filled(template, inside)
        if template in COMPOUND:
            for _ in range(self._choose(DEEP) if self._left > 0 else 0):
                made = self._around(template, made, inside)
            return made
        return "\n".join([made] * (self._choose(MANY) if len(made) < LONGEST // 10 else 1))

    def _around(self, template: str, inner: str, inside: str) -> str:
        """A statement with another one as its blocks."""
        if len(inner) > LONGEST:
            return inner
        return _HOLE.sub(
            lambda hole: textwrap.indent(inner, hole[1]) if hole[2] else self._fill(hole, inside), template
        )

    def _expression(self) -> str:
        self._left -= 1
        if self._left < 0 or self._choose((True, False)):
            return self._choose(self._choose((NAMES, CONSTANTS)))
        template = self._choose(EXPRESSIONS)
        made = self._filled(template, "")
        for _ in range(self._choose(DEEP) if self._left > 0 else 0):
            if len(made) < LONGEST:
                made = self._filled(template.replace("$e", made, self._choose((1, 2))), "")
        return made

    def _filled(self, template: str, inside: str) -> str:
        return _HOLE.sub(lambda hole: self._fill(hole, inside), template)

    def _fill(self, hole: re.Match[str], inside: str) -> str:
        if hole[2]:
            return self._block(hole[1], {"l": inside + "l", "r": "r"}.get(hole[2], inside))
        if hole[3] in _WORDS:
            return self._choose(_WORDS[hole[3]])
        return self._expression() if hole[3] == "e" else self._filled(self._choose(_PARTS[hole[3]]), inside)


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Programs that open a region."""
    return Grammar(lambda words: draw(st.sampled_from(words)), draw(st.sampled_from((4, 12, 40)))).program()
