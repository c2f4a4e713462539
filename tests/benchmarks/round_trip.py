"""A baseline on a real package: the wheel of timm 1.0.29 in, what is new and what is gone after some changes out.

    pip download --no-deps timm==1.0.29 && python tests/benchmarks/round_trip.py timm-1.0.29-py3-none-any.whl

Two of its models are declared as regions and what is found there is taken down. Then lines move, one bug is added
and one finding is fixed. Ends with an error unless exactly the bug is reported and exactly the fix is named.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

REGIONS = ("timm.models.convit:ConVit.forward", "timm.models.csatv2:CSATv2.forward")
MOVED = ("convit", "csatv2")
BUG = ("convit", "        attn = self.get_attention(x)\n", "        attn = self.get_attention(x) / x.max().item()\n")
FIX = ("csatv2", "x = x[:, :, self.permutation]", "x = x.flip(2)")


class Tree:
    """The package, unpacked, with a baseline beside it."""

    def __init__(self, wheel: Path, folder: Path) -> None:
        self.folder = folder
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)

    def check(self, *options: str) -> tuple[set[str], str]:
        """The findings as `CODE in FUNCTION`, and what is said besides."""
        regions = [part for region in REGIONS for part in ("--region", region)]
        command = [sys.executable, "-m", "graphlint", "check", "timm", "--format", "json", *regions, *options]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parent.parent.parent)}
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)
        if done.returncode == 2:
            sys.exit(done.stderr)
        found = json.loads(done.stdout)["findings"] if done.stdout.startswith("{") else []
        return {f"{one['code']} in {one['function']}" for one in found}, done.stderr

    def change(self, model: str, old: str, new: str) -> None:
        """Replace a text that stands in the file of a model."""
        file = self.folder / "timm" / "models" / f"{model}.py"
        text = file.read_text(encoding="utf-8")
        if old not in text:
            sys.exit(f"{file.name} of this version has no line `{old.strip()}`")
        file.write_text(text.replace(old, new, 1), encoding="utf-8")


def main(wheel: Path) -> None:
    """Adopt, move, add one, fix one."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(wheel, Path(folder))
        known, _ = tree.check()
        tree.check("--write-baseline", "known.json")
        for model in MOVED:
            tree.change(model, "import torch\n", "# one line\n# and another\nimport torch\n")
        moved = tree.check("--baseline", "known.json")
        tree.change(*BUG)
        tree.change(*FIX)
        new, gone = tree.check("--baseline", "known.json")
    print(f"known: {len(known)}\n" + "".join(f"  {one}\n" for one in sorted(known)), end="")
    print(
        f"new after lines moved: {len(moved[0])}\nnew after one bug and one fix: {', '.join(sorted(new))}\n{gone}",
        end="",
    )
    if moved != (set(), "") or new != {"GL101 in timm.models.convit:GPSA.forward"} or gone.count("fixed") != 1:
        sys.exit("the round trip fails")


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
