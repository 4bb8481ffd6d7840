"""Zip files of compiled Python modules. Equal sources yield identical files.

Compiled modules are stored next to their sources, with unchecked hashes. In Lambda, folders are read-only and
timestamps differ from the build's, so Python would otherwise compile every module again at each cold start.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

_COMPILE = """
import py_compile, sys
from pathlib import Path
folder, place = Path(sys.argv[1]), sys.argv[2]
for source in sorted(folder.rglob("*.py")):
    inside = source.relative_to(folder).as_posix()
    py_compile.compile(str(source), dfile=f"{place}/{inside}", doraise=True,
                       invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
"""
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest timestamp that a zip file can store, used for every entry."""
_MODE = 0o644 << 16


class CompileFailed(Exception):
    """A module cannot be compiled. The message is Python's error message."""


def compile_modules(folder: Path, place: str) -> None:
    """Compile every module of ``folder``. Tracebacks contain paths below ``place``. Raises: CompileFailed.

    A separate process compiles the modules in a fixed order, because the bytes of a compiled module depend on earlier
    compilations in the same process.
    """
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _COMPILE, str(folder), place], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise CompileFailed(done.stderr.strip().splitlines()[-1])


def write_zip(folder: Path, file: Path, prefix: str = "", comment: str = "") -> None:
    """Write all files of ``folder`` into a zip file, below ``prefix``, sorted by name."""
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_suffix(".unfinished")
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as target:
        target.comment = comment.encode()
        for source in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(prefix + source.relative_to(folder).as_posix(), _EPOCH)
            entry.external_attr, entry.compress_type = _MODE, zipfile.ZIP_DEFLATED
            target.writestr(entry, source.read_bytes(), compresslevel=9)
    unfinished.rename(file)


def comment_of(file: Path) -> str | None:
    """Return the comment of a zip file; ``None`` if the file is missing or damaged."""
    try:
        with zipfile.ZipFile(file) as found:
            return found.comment.decode()
    except (FileNotFoundError, zipfile.BadZipFile):
        return None
