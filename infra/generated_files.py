"""Commands that write generated files. With ``--check``, they list the outdated files instead."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from infra import command
from infra.local import stackfile


def run(module: str, docstring: str | None, update: Callable[[bool], list[Path]], arguments: list[str] | None) -> int:
    """Run the command ``module``. ``update`` gets ``--check`` and returns the outdated files. Returns the exit code."""
    parser = command.parser(module, docstring)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file is out of date")
    check = parser.parse_args(arguments).check
    outdated = update(check)
    for file in outdated:
        if check:
            print(f"{stackfile.display_path(file)} is out of date: make docs", file=sys.stderr)
        else:
            print(stackfile.display_path(file))
    return 1 if outdated and check else 0


def update_files(texts: Mapping[Path, str], obsolete: Sequence[Path] = (), *, check: bool) -> list[Path]:
    """Write the files that differ and delete the ``obsolete`` ones, unless ``check``. Returns both."""
    outdated = [file for file, text in texts.items() if not file.exists() or file.read_text("utf-8") != text]
    if not check:
        for file in outdated:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(texts[file], encoding="utf-8")
        for file in obsolete:
            file.unlink()
    return [*outdated, *obsolete]


def update_folder(folder: Path, texts: Mapping[Path, str], *, check: bool) -> list[Path]:
    """Write ``texts`` to ``folder`` and delete other files there, unless ``check``. Returns the files that differ."""
    obsolete = [file for file in folder.rglob("*") if file.is_file() and file not in texts]
    return update_files(texts, obsolete, check=check)
