"""Paths in, Python files out: what is found, what is left out, what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from graphlint.discovery import discover
from graphlint.errors import UsageError


def plant(root: Path, *files: str) -> Path:
    """Empty files below a root."""
    for file in files:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).touch()
    return root


def found(root: Path, *paths: Path, exclude: tuple[str, ...] = ()) -> list[str]:
    """The discovered files, relative to the root."""
    return [path.relative_to(root).as_posix() for path in discover(paths or (root,), exclude, root)]


def test_python_files_are_found_at_every_depth(tmp_path: Path) -> None:
    """The list is sorted, absolute, and holds Python files and notebooks only."""
    plant(tmp_path, "b.py", "a/x.py", "a/b/c/y.py", "a/data.json", "a/x.pyc", "a/x.pyi", "a/x.ipynb", "empty.py/x.py")
    assert ["a/b/c/y.py", "a/x.ipynb", "a/x.py", "b.py", "empty.py/x.py"] == found(tmp_path)
    assert all(path.is_absolute() for path in discover([tmp_path], (), tmp_path))


def test_a_path_given_twice_is_found_once(tmp_path: Path) -> None:
    """A folder, a file inside it, and the same file by a detour are one."""
    plant(tmp_path, "a/x.py")
    assert ["a/x.py"] == found(tmp_path, tmp_path, tmp_path / "a" / "x.py", tmp_path / "a" / ".." / "a")


def test_relative_paths_are_taken_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is typed need not be absolute."""
    plant(tmp_path, "a/x.py", "a/y.py")
    monkeypatch.chdir(tmp_path / "a")
    assert [tmp_path / "a" / "x.py", tmp_path / "a" / "y.py"] == discover([Path(), Path("../a/x.py")], (), Path(".."))


def test_a_missing_path_is_refused(tmp_path: Path) -> None:
    """A misspelt path is an error and not an empty run."""
    with pytest.raises(UsageError, match="`nowhere` does not exist"):
        discover([Path("nowhere")], (), tmp_path)


def test_folders_without_sources_of_the_project_are_left_out(tmp_path: Path) -> None:
    """Environments, caches and build products are skipped; a folder of such a name that is given is not."""
    plant(tmp_path, "a.py", ".venv/lib/site-packages/p/m.py", "build/lib/a.py", "node_modules/x.py", "__pycache__/x.py")
    assert ["a.py"] == found(tmp_path)
    assert ["build/lib/a.py"] == found(tmp_path, tmp_path / "build")
    packages = tmp_path / ".venv" / "lib" / "site-packages"
    assert [".venv/lib/site-packages/p/m.py"] == found(tmp_path, packages)
    assert [".venv/lib/site-packages/p/m.py"] == found(tmp_path, packages / "p")
    assert [".venv/lib/site-packages/p/m.py"] == found(tmp_path, packages / "p" / "m.py")


def test_an_excluded_folder_can_be_brought_back(tmp_path: Path) -> None:
    """A negated glob outweighs the defaults."""
    plant(tmp_path, "a.py", "build/b.py", "dist/d.py")
    assert ["a.py", "build/b.py"] == found(tmp_path, exclude=("!build/",))


def test_exclude_globs_are_relative_to_the_root(tmp_path: Path) -> None:
    """Names match anywhere, paths from the root; what is given is looked at nevertheless."""
    plant(tmp_path, "a.py", "a_pb2.py", "src/b_pb2.py", "src/vendor/c.py", "vendor/d.py", "vendor/e_pb2.py")
    exclude = ("*_pb2.py", "/vendor")
    assert ["a.py", "src/vendor/c.py"] == found(tmp_path, exclude=exclude)
    assert ["vendor/d.py"] == found(tmp_path, tmp_path / "vendor", exclude=exclude)
    assert ["vendor/e_pb2.py"] == found(tmp_path, tmp_path / "vendor" / "e_pb2.py", exclude=exclude)


def test_gitignore_files_are_honoured_at_every_level(tmp_path: Path) -> None:
    """The nearest file decides, and patterns with a slash are relative to their own folder."""
    plant(tmp_path, "a.py", "gen.py", "out/x.py", "src/gen.py", "src/local/y.py", "src/deep/local/z.py", "src/out/k.py")
    (tmp_path / ".gitignore").write_text("gen.py\nout/\n\n# comment\n!\n[\n", encoding="utf-8")
    (tmp_path / "src" / ".gitignore").write_text("/local\n!gen.py\n", encoding="utf-8")
    assert ["a.py", "src/deep/local/z.py", "src/gen.py"] == found(tmp_path)


def test_gitignore_files_above_the_given_folder_are_honoured(tmp_path: Path) -> None:
    """They are read from the top of the repository down, and none from beyond it."""
    repository = plant(tmp_path / "repository", "src/a.py", "src/gen.py", "src/far.py", ".git/HEAD")
    (tmp_path / ".gitignore").write_text("far.py\n", encoding="utf-8")
    (repository / ".gitignore").write_text("gen.py\n", encoding="utf-8")
    expected = [repository / "src" / "a.py", repository / "src" / "far.py"]
    assert expected == discover([repository / "src"], (), tmp_path)


def test_a_given_folder_is_looked_at_although_git_ignores_it(tmp_path: Path) -> None:
    """Only the patterns that match the folder itself are set aside."""
    plant(tmp_path, ".git/HEAD", "unpacked/pkg/a.py", "unpacked/pkg/gen.py", "b.py")
    (tmp_path / ".gitignore").write_text("unpacked/\ngen.py\n", encoding="utf-8")
    assert ["b.py"] == found(tmp_path)
    assert ["unpacked/pkg/a.py"] == found(tmp_path, tmp_path / "unpacked")
    assert ["unpacked/pkg/a.py"] == found(tmp_path, tmp_path / "unpacked" / "pkg")
    assert ["unpacked/pkg/gen.py"] == found(tmp_path, tmp_path / "unpacked" / "pkg" / "gen.py")


def test_links_to_folders_are_not_followed(tmp_path: Path) -> None:
    """A loop of links ends; a link to a file counts, a broken one does not."""
    plant(tmp_path, "a/x.py")
    (tmp_path / "a" / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "b.py").symlink_to(tmp_path / "a" / "x.py")
    (tmp_path / "broken.py").symlink_to(tmp_path / "absent.py")
    assert ["a/x.py", "b.py"] == found(tmp_path)


def test_a_link_that_is_given_is_walked(tmp_path: Path) -> None:
    """The files keep the name that the user typed."""
    plant(tmp_path, "a/x.py")
    (tmp_path / "link").symlink_to(tmp_path / "a", target_is_directory=True)
    assert ["link/x.py"] == found(tmp_path, tmp_path / "link")


def test_unusual_names_are_found(tmp_path: Path) -> None:
    """Spaces, other scripts, and bytes that are not UTF-8 are parts of names."""
    strange = os.fsdecode(b"caf\xe9.py")
    plant(tmp_path, "with space/größe 模型.py", strange)
    assert sorted(["with space/größe 模型.py", strange]) == found(tmp_path)


def test_a_folder_that_cannot_be_read_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder whose entries cannot be listed stands in the list itself."""
    plant(tmp_path, "a.py", "locked/b.py")
    scan = os.scandir

    def refuse(path: str) -> os._ScandirIterator[str]:
        if path.endswith("locked"):
            raise PermissionError(path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert ["a.py", "locked"] == found(tmp_path)
