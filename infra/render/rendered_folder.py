"""The folder of rendered files. Only one process at a time writes the folder, atomically, after a change of its inputs.

The module uses only the standard library, so that the inputs can be compared quickly.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from chalicelib.website import rendered_files
from infra.repository import ROOT

_INPUTS = ("Makefile", "pyproject.toml", "requirements-dev.txt", "chalicelib", "docs", "infra", "sdk")
_SUFFIXES = frozenset({".md", ".py", ".toml", ".yaml"})
_BUILD = "build"
"""The folder for the lock and for new files before the rename, on the same disk as the rendered files."""


def compute_fingerprint(root: Path = ROOT) -> str:
    """Compute the fingerprint of all inputs of the rendered files."""
    found = hashlib.sha256()
    for file in _input_files(root):
        content = Path(file).read_bytes()
        found.update(f"{os.path.relpath(file, root)} {len(content)}\n".encode())
        found.update(content)
    return found.hexdigest()


def is_current(fingerprint: str, folder: Path = rendered_files.FOLDER) -> bool:
    """Return whether the folder was rendered from inputs with this fingerprint."""
    try:
        return (folder / rendered_files.FINGERPRINT).read_text("utf-8") == fingerprint
    except FileNotFoundError:
        return False


def update(build: Callable[[], Mapping[str, str]], root: Path = ROOT, folder: Path = rendered_files.FOLDER) -> bool:
    """Write the files that ``build`` returns, unless the inputs are unchanged. Return whether the files were written.

    If another process renders at the same time, this process waits and does not render again. A concurrent reader sees
    the old folder, the new folder or, during the rename, no folder.

    Args:
        build: returns file contents by path, relative to ``folder``.
    """
    if is_current(compute_fingerprint(root), folder):
        return False
    with _lock(root / _BUILD):
        fingerprint = compute_fingerprint(root)  # before rendering: a change meanwhile is rendered the next time
        if is_current(fingerprint, folder):
            return False
        _replace(folder, {**build(), rendered_files.FINGERPRINT: fingerprint}, root / _BUILD)
    return True


def _input_files(root: Path) -> list[str]:
    found = [str(root / name) for name in _INPUTS if (root / name).is_file()]
    for name in _INPUTS:
        for place, folders, files in os.walk(root / name):
            folders[:] = [each for each in folders if each not in {"__pycache__", rendered_files.FOLDER.name}]
            found += [os.path.join(place, file) for file in files if os.path.splitext(file)[1] in _SUFFIXES]  # noqa: PTH118, PTH122 - a thousand of them
    return sorted(found)


def _replace(folder: Path, texts: Mapping[str, str], build: Path) -> None:
    """Write a new folder at a temporary location, then replace the old folder. Requires the lock."""
    new, old = build / "rendered-new", build / "rendered-old"
    for left in (new, old):
        shutil.rmtree(left, ignore_errors=True)
    for name, text in texts.items():
        file = new / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    if folder.exists():
        folder.rename(old)
    new.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


@contextmanager
def _lock(build: Path) -> Iterator[None]:
    build.mkdir(exist_ok=True)
    with (build / "rendered.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
