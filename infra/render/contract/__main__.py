"""Writes the contract of each API: one line for each operation, member and value.

Changes since the last release are marked with ``+`` for a new line and ``-`` for a removed line. With ``--check``, the
command only lists the outdated files.
"""

from __future__ import annotations

import sys
from pathlib import Path

from infra import command
from infra.local import stackfile
from infra.render.contract import marks
from infra.render.contract.lines import contract
from infra.render.generated_files import update_files
from infra.render.openapi.documents import DOCUMENTS, load
from infra.repository import ROOT

PLACE = ROOT / "contract"


def texts(folder: Path) -> dict[Path, str]:
    """Return the content of the contract file of each document. Changes are marked relative to the released lines in
    ``folder``.
    """
    files = {folder / f"{name}.txt": contract(load(name)) for name in DOCUMENTS}
    return {file: marks.join_lines(marks.mark_changes(_released_lines(file), lines)) for file, lines in files.items()}


def _released_lines(file: Path) -> list[str]:
    return marks.released_lines(file.read_text("utf-8")) if file.exists() else []


def main(arguments: list[str] | None = None) -> int:
    """Run the command. Returns the exit code."""
    parser = command.parser("infra.render.contract", __doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file is out of date")
    options = parser.parse_args(arguments)
    outdated = update_files(texts(PLACE), check=options.check)
    for file in outdated:
        place = stackfile.display_path(file)
        print(
            f"{place} is out of date: make contract" if options.check else place,
            file=sys.stderr if options.check else sys.stdout,
        )
    return 1 if outdated and options.check else 0


if __name__ == "__main__":
    command.run(main)
