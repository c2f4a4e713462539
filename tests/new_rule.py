"""The name of a rule in; its page, two fixtures and, if it is asked for, a detector out, which wait to be filled.

    python -m tests.new_rule growing-doubt --family GL5 [--detector]

Nothing else has to be edited to add a rule. Wherever it says TODO, something is missing, and the tests that the last
lines name fail until it is there.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from pathlib import Path
from string import Template

ROOT = Path(__file__).resolve().parent.parent
FAMILIES = {
    "GL1": "waiting for the device",
    "GL2": "host transfers and host memory",
    "GL3": "data-dependent control flow and shapes",
    "GL4": "host state frozen at capture",
    "GL5": "memory: allocation, addresses, lifetime",
    "GL6": "warm-up, streams, capture modes, random state",
    "GL7": "autograd, optimizers, graphed callables",
    "GL8": "buckets, pools, collectives, framework runners",
    "GL9": "no benefit, and process state",
}
PAGE = Template("""\
# $code $slug

```toml
summary  = "TODO: what is found, as part of a sentence"
severity = "error"
outcome  = "capture-error"
witness  = ["check", "verify"]
message  = "`{operation}` TODO: does what"
help     = "TODO: what to write instead"
why      = "TODO: why a graph cannot hold it"
fix      = "none"
since    = "$since"
status   = "preview"
```

## What it finds

TODO

## Why capture cannot do this

TODO

## What to write instead

TODO

## When it is silent, and when it is wrong

TODO

## Programs

```python bad
import torch


def step(x):
    return x * 2  # expect: $code


static_x = torch.ones(8, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = step(static_x)
```

```python good
import torch


def step(x):
    return x * 2


static_x = torch.ones(8, device="cuda")
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    y = step(static_x)
```
""")
DETECTOR = '''\
"""TODO: what it looks at, and when it reports that."""

from __future__ import annotations

from collections.abc import Iterator

from graphlint.rule import OperationCall, Hit


def detect(event: OperationCall) -> Iterator[Hit]:
    yield from ()  # TODO
'''
FIXTURE = Template('''\
"""TODO: $about"""
# outcome: $outcome
# needs: 1 gpu

import torch


def step(x):
    return x * 2$mark


def main():
    static_x = torch.rand(4, 4, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = step(static_x)
    graph.replay()
    torch.testing.assert_close(y, static_x * 2)


if __name__ == "__main__":
    main()
''')
FAILING = {
    "tests/test_rulebook.py": "the files say TODO",
    "tests/test_fixtures.py": "`graphlint check` does not report the lines that are marked",
    "tests/test_evidence.py": "no GPU has run the programs: `pytest --prove -k {stem}` does",
    "tests/test_verified.py": "`graphlint verify` has not looked at them there either",
    "tests/test_readme.py": "the table of rules lacks it: `pytest --bless` writes it",
}


def next_code(family: str, rules: Iterable[Path]) -> str:
    """The code behind the last one of a family; one that was given up is not used again."""
    codes = [int(page.name[3:5]) for page in rules if page.name.upper().startswith(family)]
    return f"{family}{max(codes, default=0) + 1:02}"


def files(code: str, slug: str, since: str, *, has_detector: bool) -> dict[str, str]:
    """The texts of a new rule by path."""
    stem = f"{code.lower()}_{slug.replace('-', '_')}"
    bad = {"about": "how it goes wrong.", "outcome": "capture-error", "mark": f"  # expect: {code}"}
    clean = {"about": "the same without the mistake.", "outcome": "clean", "mark": ""}
    found = {
        f"rules/{stem}.md": PAGE.substitute(code=code, slug=slug, since=since),
        f"fixtures/{stem}/first.py": FIXTURE.substitute(bad),
        f"fixtures/{stem}/first_clean.py": FIXTURE.substitute(clean),
    }
    return found | ({f"rules/{stem}.py": DETECTOR} if has_detector else {})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("slug", help="the rule's name, and that of its effect, as `growing-memory`")
    about = "; ".join(f"{family}: {words}" for family, words in FAMILIES.items())
    parser.add_argument("--family", required=True, choices=FAMILIES, metavar="GLn", help=about)
    parser.add_argument("--detector", action="store_true", help="the tables cannot express it, so it is code as well")
    arguments = parser.parse_args()
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", arguments.slug):
        parser.error(f"`{arguments.slug}` is no name of a rule, as `growing-memory` is one")
    pages = list((ROOT / "rules").glob("*_*.md"))
    if any(page.stem[6:] == arguments.slug.replace("-", "_") for page in pages):
        parser.error(f"there is a rule `{arguments.slug}`")
    code = next_code(arguments.family, pages)
    since = ".".join(re.findall(r"\d+", (ROOT / "graphlint" / "version.py").read_text("utf-8"))[:2])
    for path, text in files(code, arguments.slug, since, has_detector=arguments.detector).items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text, "utf-8")
        print(path)
    print("\nfails until it is filled:")
    for test, reason in FAILING.items():
        print(f"{test}: {reason.format(stem=code.lower())}")


if __name__ == "__main__":
    main()
