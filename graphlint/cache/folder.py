"""Texts by name in, a folder that keeps them out: shared by processes, and never needed.

Writing is atomic, and whatever goes wrong with the disk is no error: then the text is not kept.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from graphlint.errors import UsageError
from graphlint.reading.reads import CACHE

VARIABLE = "GRAPHLINT_CACHE_DIR"
OFF = "GRAPHLINT_NO_CACHE"
TAG = "CACHEDIR.TAG"
_SIGNATURE = "Signature: 8a477f597d28d172789f06886806bc55\n# What graphlint has found before; it can be removed.\n"
_MOST = 64  # entries that are kept, the youngest ones
_STALE = 3600.0  # seconds after which a half-written file is nobody's any more
_PROJECT_FILE = "pyproject.toml"


class Folder:
    """A folder of texts by name."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def prepare(self) -> None:
        """Make the folder, with what tells others to leave it out."""
        with contextlib.suppress(OSError):
            self.path.mkdir(parents=True, exist_ok=True)
            for name, text in ((TAG, _SIGNATURE), (".gitignore", "*\n")):
                if not (self.path / name).exists():
                    self.write(name, text)

    def read(self, name: str) -> str | None:
        """The text of that name; None if there is none that can be read."""
        try:
            return (self.path / name).read_bytes().decode()
        except (OSError, ValueError):
            return None

    def write(self, name: str, text: str) -> None:
        """Keep a text, if the disk lets it be kept."""
        written = self.path / f".{name}.{os.getpid()}"
        try:
            with open(written, "xb") as file:
                file.write(text.encode())
            os.replace(written, self.path / name)
        except OSError:
            with contextlib.suppress(OSError):
                written.unlink()

    def tidy(self, suffix: str) -> None:
        """Remove all but the youngest texts of a suffix, and what was never written to its end."""
        with contextlib.suppress(OSError):
            now = time.time()
            there = [name for name in os.listdir(self.path) if suffix in name]
            ages = {name: now - os.path.getmtime(self.path / name) for name in there}
            kept = sorted((name for name in there if name.endswith(suffix)), key=ages.__getitem__)
            half_written = [name for name in there if not name.endswith(suffix) and ages[name] > _STALE]
            for name in (*kept[_MOST:], *half_written):
                os.unlink(self.path / name)

    def is_own(self) -> bool:
        """Whether this is a folder that `prepare` has made."""
        return self.read(TAG) == _SIGNATURE


def cache_folder(start: Path, given: Path | None) -> Folder:
    """The folder that is given, or named by the environment, or else that of the project. Raises UsageError.

    The project is where the nearest pyproject.toml at or above `start` lies; if there is none, where the command runs.
    """
    named = given or (Path(variable) if (variable := os.environ.get(VARIABLE)) else None)
    if named is None:
        start = start.absolute()
        root = next((one for one in (start, *start.parents) if (one / _PROJECT_FILE).is_file()), Path.cwd())
        return Folder(root / CACHE)
    folder = Folder(named.absolute())
    if named.exists() and not folder.is_own() and not _is_empty(named):
        where = "--cache-dir" if given else VARIABLE
        raise UsageError(f"{where}: {named} holds something else; name a folder that is empty or not there yet")
    return folder


def is_off() -> bool:
    """Whether the environment says that nothing is kept."""
    return bool(os.environ.get(OFF))


def remove(folder: Folder) -> bool:
    """Remove a folder with all that it keeps; whether there was one. Raises UsageError."""
    import shutil

    if not folder.path.exists():
        return False
    if not folder.is_own():
        raise UsageError(f"{folder.path} was not made by graphlint; remove it by hand if nobody needs it")
    try:
        shutil.rmtree(folder.path)
    except OSError as error:
        raise UsageError(f"cannot remove {folder.path}: {error.strerror}") from error
    return True


def _is_empty(path: Path) -> bool:
    try:
        return path.is_dir() and not os.listdir(path)
    except OSError:
        return False
