"""A run of `check` in, every path below some folders that it looks at and keeps no record of out.

    python watched.py FOLDER FOLDERS... < options as JSON

Prints them as JSON, with how many paths were looked at. Reading is seen by the audit events of Python, and `stat`,
which has none, by standing in for it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphlint import checking
from graphlint.paths import normal
from graphlint.reading import reads
from graphlint.static.index import parallel

EVENTS = ("open", "os.listdir", "os.scandir", "os.readlink")
STANDING_IN = ("stat", "lstat", "readlink", "access")


def main() -> None:
    folder, *below = sys.argv[1:]
    options = json.load(sys.stdin)
    options["rules"] = tuple(Path(one) for one in options.get("rules", ()))
    looked_at: set[str] = set()
    is_on = False

    def note(path: object) -> None:
        if is_on and isinstance(path, (str, os.PathLike)):
            looked_at.add(str(normal(Path(path))))

    def standing_in(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *args: Any, **kwargs: Any) -> Any:
            note(path)
            return function(path, *args, **kwargs)

        return call

    sys.addaudithook(lambda event, args: note(args[0]) if event in EVENTS else None)
    for name in STANDING_IN:
        setattr(os, name, standing_in(getattr(os, name)))
    parallel.can_fork = lambda: False  # what another process looks at is not seen here
    empty = {"follow_installed": (), "regions": (), "select": (), "ignore": (), "config_file": None, "confidence": None}
    given = {name: tuple(one) if isinstance(one, list) else one for name, one in options.items()}
    with reads.recorded() as record:
        is_on = True
        checking.find_out((Path(folder),), start=Path(folder), **empty | given)
        is_on = False
    parents = {str(parent) for path in record.links for parent in Path(path).parents}  # may be links as well
    paths = {*record.files, *record.folders, *record.names, *record.endings, *record.kinds, *record.links, *parents}
    known = {str(normal(Path(path))) for path in paths}
    inside = {path for path in looked_at if any(f"{path}{os.sep}".startswith(f"{one}{os.sep}") for one in below)}
    past = {path for path in inside - known if "__pycache__" not in path}
    print(json.dumps({"looked_at": len(inside), "past": sorted(past)}))


if __name__ == "__main__":
    main()
