"""What is known about a value, and where a line can be reached at all, decides what is reported about it.

In these programs `x` lies on the device, `host` on the host, `unknown` may be anything, and `number` is an int.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis import analyse, in_region

GUARDS = {
    "capturing": """
        if torch.cuda.is_current_stream_capturing():
            x.item()  # expect: GL101
        else:
            x.item()
        """,
    "not capturing": """
        if not torch.cuda.is_current_stream_capturing():
            x.item()
        """,
    "an early return": """
        if torch.cuda.is_current_stream_capturing():
            return x
        x.item()
        """,
    "an early return of the other polarity": """
        if not torch.cuda.is_current_stream_capturing():
            return x
        x.item()  # expect: GL101
        """,
    "a guard in a name": """
        capturing = torch.cuda.is_current_stream_capturing()
        if capturing:
            x = x + 1
        if not capturing:
            x.item()
        """,
    "a guard with more to it": """
        if number > 3 and not torch.cuda.is_current_stream_capturing():
            x.item()
        if number > 3 or torch.cuda.is_current_stream_capturing():
            x.item()  # expect: GL101
        if torch.cuda.is_current_stream_capturing() or x.item() > 0:
            pass
        """,
    "compiling": """
        if torch.compiler.is_compiling():
            x.item()
        else:
            x.item()  # expect: GL101
        """,
    "compiling, imported": """
        from torch.compiler import is_compiling as compiling
        if not compiling():
            x.item()  # expect: GL101
            return x
        x.item()
        """,
    "a ternary": """
        y = x if torch.cuda.is_current_stream_capturing() else x.item()
        z = x.item() if torch.cuda.is_current_stream_capturing() else x  # expect: GL101
        """,
    "tracing and scripting": """
        if torch.jit.is_scripting() or torch.jit.is_tracing():
            x.item()
        """,
    "assert": "assert torch.cuda.is_current_stream_capturing() or x.item()",
    "while": """
        while not torch.cuda.is_current_stream_capturing():
            x.item()
        """,
    "an exception": """
        if torch.cuda.is_current_stream_capturing():
            raise RuntimeError(f"not for capture: {x.item()}")
        x.item()
        """,
}
WRAPPED = {
    "a wrapper": "def capturing():\n    return torch.cuda.is_current_stream_capturing()\n",
    "a wrapper with a condition": "def capturing():\n    return torch.cuda.is_available() and "
    "torch.cuda.is_current_stream_capturing()\n",
    "a wrapper that may fail": "def capturing():\n    try:\n        return torch.cuda.is_current_stream_capturing()\n"
    "    except Exception:\n        return False\n",
    "an alias": "capturing = torch.cuda.is_current_stream_capturing\n",
    "a static method": "class Guards:\n    @staticmethod\n    def capturing():\n"
    "        return torch.cuda.is_current_stream_capturing()\ncapturing = Guards.capturing\n",
    "a cached module": "import torch.cuda as c\ndef capturing():\n    if c.is_current_stream_capturing():\n"
    "        return True\n    return False\n",
}

NONE_AND_TYPES = {
    "is None": """
        def scaled(y, scale=None):
            if scale is None:
                return y.item()  # expect: GL101
            return scale.item()
        scaled(x)
        """,
    "is not None": """
        def scaled(y, scale=None):
            if scale is not None:
                return y.item()
            return y
        scaled(x)
        """,
    "a value where None was possible": """
        def scaled(y, scale=None):
            if scale is None:
                y.item()
            return y
        scaled(x, x)
        """,
    "the truth of None": """
        scale = None
        if scale:
            x.item()
        if not scale:
            x.tolist()  # expect: GL101
        """,
    "None or a tensor": """
        scale = x if number else None
        if scale is not None:
            scale.item()  # expect: GL101
        """,
    "isinstance of a tensor": """
        if isinstance(x, torch.Tensor):
            x.item()  # expect: GL101
        else:
            x.item()
        """,
    "isinstance of a number": """
        if isinstance(number, torch.Tensor):
            number = number.item()
        if isinstance(number, (int, float)):
            x.item()  # expect: GL101
        """,
    "isinstance of the unknown": """
        if isinstance(unknown, torch.Tensor):
            unknown.item()  # expect: GL101
            return
        if torch.is_tensor(unknown):
            return
        """,
    "what only a tensor can do": """
        unknown.weight.repeat_interleave(x.to(unknown.weight.device))  # expect: GL303
        unknown.weight.repeat_interleave(2)
        unknown.weight.repeat(x)
        """,
    "isinstance of either": """
        scale = x if unknown else 2.0
        if isinstance(scale, float):
            return x * scale
        scale.item()  # expect: GL101
        """,
    "isinstance of what holds others": """
        for held in ([x, x], {"x": x}):
            if isinstance(held, (str, int, float, bool, type(None))):
                print(held)
            elif isinstance(held, (list, tuple)):
                print(held)  # expect: GL102
        """,
    "isinstance of a string": """
        name = "max"
        if isinstance(name, str):
            x.item()  # expect: GL101
        if not isinstance(name, str):
            x.item()
        """,
    "None on one side, a tensor on the other": """
        y = x if number else None
        if y is None:
            print(y)
        else:
            print(y)  # expect: GL102
        if y is not None:
            print(y)  # expect: GL102
        else:
            print(y)
        if not (y is not None):
            print(y)
        if y == None and number:
            print(y)
        """,
    "None behind an early return": """
        y = x if number else None
        if y is not None:
            return y
        print(y)
        """,
    "None behind an assertion": """
        y = x if number else None
        assert y is None
        print(y)
        """,
    "None in an operand": """
        y = x if number else None
        y is None and print(y)
        y is not None and print(y)  # expect: GL102
        y is None or print(y)  # expect: GL102
        y is not None or print(y)
        print(y) if y is None else None
        """,
    "None bound in the condition": """
        if (y := x if number else None) is None:
            print(y)
        """,
    "None in a loop": """
        y = x if number else None
        while y is None:
            print(y)
            y = x
        [print(z) for z in [y] if z is None]
        """,
    "None of an attribute": """
        box = Box()
        box.value = x if number else None
        if box.value is None:
            print(box.value)
        else:
            print(box.value)  # expect: GL102
        """,
    "a type on each side": """
        scale = x if number else 2.0
        if isinstance(scale, float):
            print(scale)
        else:
            print(scale)  # expect: GL102
        if not isinstance(scale, torch.Tensor):
            print(scale)
        if torch.is_tensor(scale):
            print(scale)  # expect: GL102
        print(scale if isinstance(scale, (int, float)) else "a tensor")
        """,
    "hasattr": """
        if hasattr(x, "item"):
            x.item()  # expect: GL101
        """,
}

CONSTANTS = {
    "arithmetic": """
        if 2 * 3 + 1 == 8:
            x.item()
        if 7 // 2 == 3:
            x.tolist()  # expect: GL101
        """,
    "strings": """
        mode = "fast" + "est"
        if mode == "slow" or mode.startswith("slow"):
            x.item()
        if mode in ("fastest", "slow"):
            x.tolist()  # expect: GL101
        """,
    "a constant of the module": """
        if DEBUG:
            x.item()
        if not DEBUG:
            x.tolist()  # expect: GL101
        """,
    "a parameter": """
        def scaled(y, synchronous=False):
            if synchronous:
                y.item()  # expect: GL101
        scaled(x)
        scaled(x, synchronous=True)
        """,
    "a parameter that is never true": """
        def scaled(y, synchronous=False):
            if synchronous:
                y.item()
        scaled(x)
        """,
    "lengths": """
        if len((1, 2, 3)) > 5:
            x.item()
        if not []:
            x.tolist()  # expect: GL101
        """,
    "comparisons in a row": """
        if 1 < 2 < 1:
            x.item()
        """,
    "an unknown condition takes both ways": """
        if number > 3:
            x.item()  # expect: GL101
        else:
            x.tolist()  # expect: GL101
        """,
    "an unknown truth is silent": """
        if unknown:
            pass
        while unknown > 3:
            unknown = unknown - 1
        """,
}

TENSORS = {
    "what the host knows of a tensor": """
        if x.is_cuda:
            y = x + 1
        if x.device.type == "cuda" and x.dtype == torch.float32 and x.ndim == 2:
            y = x + 1
        for index in range(x.shape[0]):
            y = x[index]
        if x.size(0) > 3 or x.numel() == 4 or len(x) == 1 or x.dim() > 2 or x.shape == (4,):
            y = x.view(x.size(0), -1)
        if x.requires_grad or x.is_contiguous() or x.stride(0) == 1 or x.is_floating_point():
            y = int(x.shape[0]) + float(x.size(-1)) + bool(x.ndim)
        print(x.shape, f"{x.dtype} {x.device}", str(x.ndim))
        assert x.shape[0] == host.shape[0], x.shape
        if x is None or x is host or torch.is_tensor(x) or x.device == host.device:
            pass
        """,
    "a device tensor decides": """
        if x.any():  # expect: GL301
            pass
        if x.sum() > 0:  # expect: GL301
            pass
        y = 1 if x.max() == 3 else 2  # expect: GL301
        while x.sum() > 0:  # expect: GL302
            x = x - 1
        assert x.min() > 0  # expect: GL301
        """,
    "and, or, not": """
        if number and x.any():  # expect: GL301
            pass
        if not x.any():  # expect: GL301
            pass
        y = x.any() or number  # expect: GL301
        z = number or x.any()
        if False and x.any():
            pass
        if True or x.any():
            pass
        """,
    "a tensor on the host": """
        host.item()
        host.tolist()
        float(host)
        print(host)
        if host.sum() > 0:
            pass
        for row in host:
            row.item()
        torch.zeros(4).sum().item()
        torch.tensor([1, 2]).tolist()
        torch.ones(4, device="cpu").item()
        (host + 1).max().item()
        """,
    "a tensor on the device": """
        torch.zeros(4, device="cuda").item()  # expect: GL101
        torch.zeros(4, device=x.device).item()  # expect: GL101
        torch.zeros(4, device=torch.device("cuda", 0)).item()  # expect: GL101
        torch.zeros_like(x).item()  # expect: GL101
        x.new_zeros(4).item()  # expect: GL101
        (x + host.sum().item()).item()  # expect: GL101
        x[0].item()  # expect: GL101
        x.T.reshape(-1).float().item()  # expect: GL101
        """,
    "on the cpu, said by a condition": """
        if x.device.type == "cpu":
            x.item()
        if not x.is_cuda:
            x.item()
        if x.is_cpu:
            x.item()
        """,
    "on the cpu, said of the unknown": """
        if unknown.device.type == "cpu":
            unknown.item()
        if not unknown.is_cuda:
            unknown.item()
        """,
    "where both ways of that condition have met again": """
        if not unknown.is_cuda:
            unknown = unknown + 1
        x.copy_(unknown)
        unknown[:1] += x[:1]
        """,
    "an unknown place": "unknown.item()  # expect: GL101",
    "an object of another kind": """
        {"a": 1}.items()
        "text".count("t")
        [3, 4].index(4)
        number.bit_length()
        """,
    "numbers": """
        y = int(number) + round(2.5) + max(3, number)
        if y > 3:
            pass
        float("3")
        """,
    "converted": """
        float(x.sum())  # expect: GL101
        int(x[0])  # expect: GL101
        bool(x.any())  # expect: GL301
        """,
    "printed with %": 'y = "%s" % x  # expect: GL102',
    "a device object of the host": """
        torch.ones(4, device=torch.device("cpu")).item()
        torch.ones(4).to(torch.device("cpu")).item()
        """,
    "moved": """
        unknown.to("cpu").item()
        x = host.cuda()  # expect: GL202
        x.item()  # expect: GL101
        """,
    "printed": """
        print(x)  # expect: GL102
        y = f"{x}"  # expect: GL102
        y = f"{x.shape} {x.ndim!r:>10} {number}"
        y = "{}".format(x)  # expect: GL102
        y = f"{x.sum().item():.2f}"  # expect: GL101
        y = f"{number:{number}} {host}"
        """,
}

FLOW = {
    "after raise": "raise ValueError('no')\nx.item()",
    "after return": "return x\nx.item()",
    "after both ways return": "if number:\n    return x\nelse:\n    raise ValueError\nx.item()",
    "after an endless loop": "while True:\n    x = x + 1\nx.item()",
    "after a loop that is left": "while True:\n    if number:\n        break\nx.item()  # expect: GL101",
    "after continue and break": """
        for index in range(number):
            if index:
                continue
                x.item()
            break
            x.item()
        x.tolist()  # expect: GL101
        """,
    "loops over constants": """
        for scale in (None, 2.0):
            if scale is None:
                x.item()  # expect: GL101
        for name in ("a", "b"):
            if name == "c":
                x.item()
        for name in ():
            x.item()
        else:
            x.tolist()  # expect: GL101
        """,
    "loops": """
        for index in range(number):
            x.item()  # expect: GL101
        for part in [host, host]:
            part.item()
        for part in [x, host]:
            part.item()  # expect: GL101
        for index, part in enumerate([x]):
            part.item()  # expect: GL101
        for left, right in zip([x], [host]):
            left.item()  # expect: GL101
            right.item()
        for key, value in {"a": x}.items():
            value.item()  # expect: GL101
        while number > 3:
            x.item()  # expect: GL101
            number -= 1
        while False:
            x.item()
        """,
    "a value that a loop changes": """
        scale = host
        for index in range(number):
            scale.item()  # expect: GL101
            scale = x
        """,
    "try": """
        try:
            y = host
            torch.relu(x)
        except ValueError as error:
            print(error)
            x.item()  # expect: GL101
            y = x
        else:
            x.tolist()  # expect: GL101
        finally:
            x.cpu()  # expect: GL201
        y.item()  # expect: GL101
        """,
    "a failure before a line of the body or behind it": """
        changed, kept, both = host, x, host
        try:
            changed = x
            kept = host
            both = host + 1
        except ValueError:
            changed.item()  # expect: GL101
            kept.item()  # expect: GL101
            both.item()
        """,
    "try that always returns": """
        try:
            return x
        finally:
            x.item()  # expect: GL101
        x.item()
        """,
    "match": """
        match "mean":
            case "mean":
                x.item()  # expect: GL101
            case "max":
                x.item()
        match number:
            case 1:
                x.item()  # expect: GL101
            case 2 | 3 if number:
                x.tolist()  # expect: GL101
            case [first, *rest]:
                pass
            case {"key": value, **others}:
                pass
            case _:
                x.cpu()  # expect: GL201
        """,
    "match of a tensor": """
        match (x, host):
            case (first, second):
                first.item()  # expect: GL101
                second.item()
        match x:
            case y:
                y.item()  # expect: GL101
        """,
    "a match that may fit nowhere": """
        match unknown:
            case [first]:
                return x
            case torch.Size():
                return x
        x.item()  # expect: GL101
        """,
    "after a match that always leaves": """
        match number:
            case 1:
                return x
            case _:
                raise ValueError
        x.item()
        """,
    "comprehensions": """
        [row.item() for row in x]  # expect: GL101
        {row.item() for row in host}
        {key: value.item() for key, value in {"a": x}.items()}  # expect: GL101
        sum(part.item() for part in [x, x])  # expect: GL101
        [1 for row in [x] if row.any()]  # expect: GL301
        [x for x in [host]][0].item()
        x.item()  # expect: GL101
        """,
    "a comprehension keeps its names": """
        row = host
        [row for row in [x]]
        row.item()
        """,
    "a comprehension over nothing gives nothing": """
        def read(*rows, **named):
            kept = {name: row for name, row in named.items() if name not in SKIPPED}
            for row in kept.values():
                row.cpu()  # expect: GL201
            for row in [row for row in rows if row is not None]:
                row.item()
        def skip(*rows, **named):
            for row in {name: row for name, row in named.items() if name not in SKIPPED}.values():
                row.cpu()
            any(row.item() for row in rows)
        read(row=x)
        skip()
        """,
    "what is repeated is alike": """
        rows = [(unknown, number)] * number
        sizes = [row[0] for row in rows]
        if not all(sizes[0] == size for size in sizes):
            x.item()
        if not all(size == sizes[-1] for size in sizes):
            x.item()
        others = [row[0] for row in rows if row[1]]
        if not all(others[0] == size for size in sizes):
            x.tolist()  # expect: GL101
        sizes.append(unknown)
        if not all(sizes[0] == size for size in sizes):
            x.item()  # expect: GL101
        """,
    "what may differ is not alike": """
        for sizes in ([number, unknown] * number, [unknown.get(row) for row in [number] * number], unknown * number):
            if not all(sizes[0] == size for size in sizes):
                x.item()  # expect: GL101
        """,
    "walrus": """
        if (y := x.sum()) is not None:
            y.item()  # expect: GL101
        if (n := number) and (z := host) is not None:
            z.item()
        """,
    "ternary": """
        (x if number else host).item()  # expect: GL101
        (host if True else x).item()
        """,
    "and and or give values": """
        (None or x).item()  # expect: GL101
        (number and host).item()
        """,
    "assert": """
        assert number, x.item()
        assert isinstance(unknown, torch.Tensor)
        unknown.item()  # expect: GL101
        """,
    "del": "y = x\ndel y\nx.item()  # expect: GL101",
    "global": """
        global KEPT
        KEPT = host
        KEPT.item()
        KEPT = x
        KEPT.item()  # expect: GL101
        """,
    "unpacking": """
        first, second = x, host
        first.item()  # expect: GL101
        second.item()
        (a, [b, *c]) = (host, [x, x, x])
        a.item()
        b.item()  # expect: GL101
        c[0].item()  # expect: GL101
        first, second = second, first
        first.item()
        second.item()  # expect: GL101
        """,
    "containers": """
        pair = (x, host)
        pair[0].item()  # expect: GL101
        pair[1].item()
        named = {"device": x, "host": host}
        named["host"].item()
        named["device"].item()  # expect: GL101
        named.get("host").item()
        parts = []
        parts.append(x)
        parts[-1].item()  # expect: GL101
        """,
    "augmented assignment": """
        total = host
        total += 1
        total.item()
        total = total + x
        total.item()  # expect: GL101
        """,
    "attributes": """
        class Holder:
            pass
        holder = Box()
        holder.value = x
        holder.value.item()  # expect: GL101
        holder.value = host
        holder.value.item()
        """,
    "with": """
        with torch.no_grad():
            x.item()  # expect: GL101
        with open("f") as file, torch.autocast("cuda"):
            x.item()  # expect: GL101
            file.read()
        """,
    "lambda": "(lambda y: y.item())(x)  # expect: GL101\n(lambda y: y.item())(host)",
    "yield": """
        def rows():
            yield host
            yield x
        for row in rows():
            row.item()  # expect: GL101
        """,
    "several in one line": "x.item(); host.item(); x.tolist()  # expect: GL101, GL101",
    "several lines in one statement": """
        y = torch.stack([
            x,
            x * x.item(),  # expect: GL101
        ]).reshape(
            int(x.max()),  # expect: GL101
        )
        """,
}
AROUND = "DEBUG = False\nKEPT = None\nSKIPPED = ['grid']\nclass Box:\n    value = None\n"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(body, id=f"{table}: {name}")
        for table, bodies in {
            "guard": GUARDS, "type": NONE_AND_TYPES, "constant": CONSTANTS, "tensor": TENSORS, "flow": FLOW,
        }.items()
        for name, body in bodies.items()
    ],
)  # fmt: skip
def test_a_line_is_judged_by_the_values_on_it(tmp_path: Path, body: str) -> None:
    """What is marked is reported, and nothing else."""
    analysis = analyse(tmp_path, in_region(body, AROUND))
    assert analysis.expected == analysis.found


@pytest.mark.parametrize("wrapper", WRAPPED.values(), ids=WRAPPED)
def test_a_guard_may_be_wrapped(tmp_path: Path, wrapper: str) -> None:
    """Both polarities of a function of the program that answers whether a capture is under way."""
    body = "if capturing():\n    x.tolist()  # expect: GL101\nelse:\n    x.item()\nif not capturing():\n    x.item()\n"
    analysis = analyse(tmp_path, in_region(body, wrapper))
    assert analysis.expected == analysis.found


@pytest.mark.parametrize("guard", ["torch.compiler.is_compiling()", "torch._dynamo.is_compiling()"])
def test_compiled_code_is_compiling(tmp_path: Path, guard: str) -> None:
    """In a compiled region the guard answers the other way."""
    program = f"""
        import torch
        @torch.compile(mode="reduce-overhead")
        def step(x):
            if {guard}:
                return x.item()  # expect: GL101
            return x.tolist()
        """
    analysis = analyse(tmp_path, program)
    assert analysis.expected == analysis.found


@pytest.mark.parametrize("line", ["x.item()", "print(x)", "if x.any(): pass", "x.cpu()", "torch.cuda.synchronize()"])
def test_only_the_region_is_judged(tmp_path: Path, line: str) -> None:
    """The same line is silent before the region and behind it, and reported inside."""
    program = """
        import torch
        def main(x: torch.Tensor, graph):
            {before}
            with torch.cuda.graph(graph):
                {inside}
            {behind}
        """
    found = [
        analyse(tmp_path, program.format(**({"before": "x + 1", "inside": "x + 1", "behind": "x + 1"} | {place: line})))
        for place in ("before", "inside", "behind")
    ]
    assert [[], [6], []] == [[line for _, line, _ in analysis.found] for analysis in found]


@pytest.mark.parametrize(
    ("body", "confidence"),
    [
        ("x.item()", "high"),
        ("unknown.item()", "medium"),
        ("host.cuda().item()", "high"),
    ],
)
def test_confidence_follows_what_is_known(tmp_path: Path, body: str, confidence: str) -> None:
    """High for a tensor on the device, medium where it may lie elsewhere or be something else."""
    analysis = analyse(tmp_path, in_region(body), select=("GL101",))
    assert confidence == str(analysis.finding.confidence)


@pytest.mark.parametrize(
    ("order", "asked", "is_told"),
    [
        ("2", "float(order) == inf", False),
        ("2.0", "order == math.inf", False),
        ("inf", "order == inf", True),
        ("inf", "order == math.inf", True),
    ],
)
def test_a_constant_of_a_module_is_the_number_that_it_is(tmp_path: Path, order: str, asked: str, is_told: bool) -> None:
    """A norm of another order takes no maximum."""
    around = f"import math\nfrom torch import inf\n\ndef norm(x, order={order}):\n    if {asked}:\n"
    around += "        return x.max().item()\n    return x\n"
    assert bool(analyse(tmp_path, in_region("norm(x)", around)).report.findings) is is_told


@pytest.mark.parametrize(
    ("made", "is_moved"),
    [("torch.zeros(4)", True), ("torch.arange(4)", True), ("torch.randn(4)", False)],
)
def test_a_compiler_makes_on_the_device_what_is_moved_there(tmp_path: Path, made: str, is_moved: bool) -> None:
    """What is drawn on the host stays there, and a graph of one's own moves both."""
    step = f"def step(x):\n    return x + {made}.to(x.device)\n"
    compiled = f"import torch\n{step}run = torch.compile(step, mode='reduce-overhead')\n"
    compiled += "run(torch.ones(4, device='cuda'))\n"
    assert bool(analyse(tmp_path, compiled).report.findings) is not is_moved
    assert analyse(tmp_path, in_region("step(x)", step)).report.findings
