"""Whether what is kept of a run is ever believed where it does not hold: a tree and a number of random edits in.

    python tests/random_edits.py TREE [NUMBER] [SEED] [--region MODULE:QUALNAME]... [--part FOLDER]

The tree is copied, and edited there: bodies, signatures, imports, classes, regions, renamed names, moved, new and
deleted files, broken files, ignore comments, patterns, configuration, and edits that are taken back. After each edit
`check` runs with what is kept and without; JSON, status and errors have to be the same. Printed are the edits after
which they were not, how many answers were read back, and the processor time that both have taken. Status 1 if one
differed.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

FUNCTION = re.compile(r"^([ \t]*)def (\w+)\((.*?)\).*:\n", re.MULTILINE)
IMPORT = re.compile(r"^(?:from [\w.]+ )?import .*\n", re.MULTILINE)
CLASS = re.compile(r"^class (\w+)(\(.*\))?:\n", re.MULTILINE)
REGION = "\n\ndef captured_{n}(x, g):\n    import torch\n\n    with torch.cuda.graph(g):\n        return x.item()\n"
CONFIGURATIONS = (
    "",
    '[tool.graphlint]\nselect = ["GL1", "GL2"]\n',
    '[tool.graphlint]\nconfidence = "low"\n',
    '[tool.graphlint]\nexclude = ["*_utils.py"]\n',
    '[tool.graphlint]\nallocations = "strict"\n',
    '[tool.graphlint]\nselect = ["GL1"\n',
    "[tool.other]\nx = 1\n",
)


@dataclass
class Tree:
    """A copy of a tree that is edited at random."""

    root: Path
    chance: random.Random
    number: int = 0
    before: list[tuple[Path, bytes]] = field(default_factory=list)

    @property
    def files(self) -> list[Path]:
        return sorted(self.root.rglob("*.py"))

    def any_file(self) -> Path:
        """A file; those with regions are edited as often as all others."""
        files = self.files
        if self.chance.random() < 0.5:
            marked = [path for path in files if b"graph" in path.read_bytes()]
            files = marked or files
        return self.chance.choice(files)

    def change(self, path: Path, text: str) -> None:
        if path.exists():
            self.before.append((path, path.read_bytes()))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogateescape"))

    def text(self, path: Path) -> str:
        return path.read_bytes().decode("utf-8", "surrogateescape")

    def at_a_match(self, pattern: re.Pattern[str], made: Callable[[re.Match[str]], str]) -> Path:
        """Replace one match of a pattern in some file."""
        for _ in range(50):
            path = self.any_file()
            matches = list(pattern.finditer(text := self.text(path)))
            if matches:
                match = self.chance.choice(matches)
                self.change(path, text[: match.start()] + made(match) + text[match.end() :])
                return path
        return self.any_file()

    def body(self) -> Path:
        lines = ("{i}x_{n} = 1\n", "{i}if {a}:\n{i}    print({a})\n", "{i}{a}.item()\n", "{i}return {a}\n", "{i}pass\n")
        line = self.chance.choice(lines)

        def made(match: re.Match[str]) -> str:
            first = match[3].split(",")[-1].split(":")[0].split("=")[0].strip(" *") or "None"
            return match[0] + line.format(i=match[1] + "    ", n=self.number, a=first)

        return self.at_a_match(FUNCTION, made)

    def signature(self) -> Path:
        return self.at_a_match(FUNCTION, lambda m: m[0].replace(f"def {m[2]}(", f"def {m[2]}(added_{self.number}=0, "))

    def renamed(self) -> Path:
        return self.at_a_match(FUNCTION, lambda m: m[0].replace(f"def {m[2]}(", f"def {m[2]}_{self.number}("))

    def imports(self) -> Path:
        return self.at_a_match(IMPORT, lambda m: self.chance.choice(["", f"{m[0]}import json\n", "import torch\n"]))

    def bases(self) -> Path:
        names = [m[1] for m in CLASS.finditer(self.text(self.any_file()))] or ["object"]
        return self.at_a_match(CLASS, lambda m: f"class {m[1]}({self.chance.choice(names)}):\n")

    def region(self) -> Path:
        path = self.any_file()
        self.change(path, self.text(path) + REGION.format(n=self.number))
        return path

    def comment(self) -> Path:
        path = self.any_file()
        lines = self.text(path).split("\n")
        lines[self.chance.randrange(len(lines))] += "  # graphlint: ignore"
        self.change(path, "\n".join(lines))
        return path

    def broken(self) -> Path:
        path = self.any_file()
        self.change(path, self.text(path)[: self.chance.randrange(2000)])
        return path

    def layout(self) -> Path:
        path = self.any_file()
        self.change(path, "\n" + self.text(path))
        return path

    def new(self) -> Path:
        path = self.any_file().with_name(f"new_{self.number}.py")
        self.change(path, self.chance.choice(["", "import torch\n", REGION.format(n=self.number)]))
        return path

    def package(self) -> Path:
        path = self.any_file().parent / f"inner_{self.number}" / self.chance.choice(["__init__.py", "inside.py"])
        self.change(path, "def f(x):\n    return x\n")
        return path

    def deleted(self) -> Path:
        path = self.any_file()
        self.before.append((path, path.read_bytes()))
        path.unlink()
        return path

    def moved(self) -> Path:
        path = self.any_file()
        other = self.chance.choice([path.with_name(f"moved_{self.number}.py"), self.any_file().parent / path.name])
        if not other.exists():
            path.rename(other)
        return other

    def copied(self) -> Path:
        """As an editor that writes another file and moves it, with the times of the first one."""
        path = self.any_file()
        other = path.with_name("written.tmp")
        shutil.copy2(path, other)
        other.write_bytes(other.read_bytes() + b"# more\n")
        shutil.copystat(path, other)
        other.replace(path)
        return path

    def ignored(self) -> Path:
        path = self.any_file()
        patterns = path.parent / ".gitignore"
        self.change(patterns, self.chance.choice(["", f"{path.name}\n", "*_test.py\n", "!x\n"]))
        return patterns

    def configuration(self) -> Path:
        path = self.root.parent / "pyproject.toml"
        self.change(path, self.chance.choice(CONFIGURATIONS))
        return path

    def other(self) -> Path:
        names = ["README.md", "data.json", ".x.py.swp", "__pycache__/a.pyc"]
        path = self.any_file().parent / self.chance.choice(names)
        self.change(path, str(self.number))
        return path

    def taken_back(self) -> Path:
        if not self.before:
            return self.layout()
        path, text = self.before.pop()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
        return path

    def edit(self) -> str:
        """Do something to the tree; what it was, and where."""
        self.number += 1
        often = [self.body, self.body, self.body, self.imports, self.taken_back, self.taken_back]
        edits = [*often, self.signature, self.renamed, self.bases, self.region, self.comment, self.broken, self.layout]
        edits += [self.new, self.package, self.deleted, self.moved, self.copied, self.ignored, self.configuration]
        made = self.chance.choice([*edits, self.other])
        return f"{made.__name__} {made()}"


def check(folder: Path, *options: str) -> tuple[tuple[int, str, str], float]:
    """What a run says, but for the time that it took, and its processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "graphlint", "check", folder.name, "--format", "json", *options]
    done = subprocess.run(command, cwd=folder.parent, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = re.sub(r'"seconds": .*', "", done.stdout)
    return (done.returncode, out, done.stderr), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path)
    parser.add_argument("number", type=int, nargs="?", default=100)
    parser.add_argument("seed", type=int, nargs="?", default=0)
    parser.add_argument("--region", action="append", default=[])
    parser.add_argument("--part", default="", help="the folder of the tree that is looked at")
    given = parser.parse_args()
    os.environ.pop("GRAPHLINT_NO_CACHE", None)
    options = [part for region in given.region for part in ("--region", region)]
    made, differing, back = Counter[str](), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / given.tree.name
        shutil.copytree(given.tree / given.part, root)
        tree = Tree(root, random.Random(given.seed))
        spent = [0.0, 0.0]
        for _ in range(given.number):
            edit = tree.edit()
            made[edit.split()[0]] += 1
            (kept, warm), (anew, cold) = check(root, *options), check(root, "--no-cache", *options)
            spent = [spent[0] + warm, spent[1] + cold]
            back += warm < cold / 2
            if kept != anew:
                differing += 1
                print(f"differs after {edit}", flush=True)
            if sum(made.values()) % 10 == 0:
                print(f"{sum(made.values())} edits, {differing} differ, {back} read back", flush=True)
    print(f"{given.number} edits ({', '.join(f'{count} {name}' for name, count in sorted(made.items()))})")
    print(f"{differing} differ, {back} read back; {spent[0]:.0f} s with what is kept, {spent[1]:.0f} s without")
    sys.exit(bool(differing))


if __name__ == "__main__":
    main()
